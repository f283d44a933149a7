/*
 * -largest=NAME: the largest multiple of a let's value with which the step fits into -budget, or
 * else into the memory of the cluster's device. The step is compiled with one number after another,
 * without output: doubled until it does not fit, then bisected. A number with which it does not
 * compile, as when a tensor has too many elements, counts as too large. Memory is assumed not to
 * fall as the number grows.
 */
#include "passes/tools/dopt/driver.h"

#include "ir/base/alloc.h"
#include "ir/base/number.h"
#include "ir/base/suggest.h"
#include "ir/cluster/device.h"

#include <inttypes.h>
#include <string.h>
#include <talloc.h>

/* A step that fits with a million times the batch does not depend on it. */
enum { LARGEST_MULTIPLE = 1 << 20 };

struct largest {
	const void *scratch;
	const struct driver_options *o;
	const struct driver_input *in;
	int64_t unit; /* the value of the let, 0: not known yet */
	double room;  /* bytes that a step may use */
};

/* The result of a compilation. */
struct outcome {
	enum driver_exit exit;
	bool fits;
	double bytes;
};

/* The options with one more -D; the last one counts. */
static struct driver_options
options_with(const struct largest *l, int64_t value)
{
	struct driver_options o = *l->o;

	o.define.item = NEW_ARRAY(l->scratch, const char *, o.define.n + 1);
	for (int i = 0; i < o.define.n; i++)
		o.define.item[i] = l->o->define.item[i];
	o.define.item[o.define.n++] = TEXT(l->scratch, "%s=%" PRId64, o.largest, value);
	o.largest = NULL;
	return o;
}

/* The options without output. */
static struct driver_options
quiet(struct driver_options o)
{
	o.emit = DRIVER_EMIT_NONE;
	o.stats = o.measure = 0;
	o.time = o.run = o.check = false;
	o.remarks = o.whatif = o.print_before = o.print_after = o.reproducer = NULL;
	o.progress = DRIVER_PROGRESS_NEVER;
	o.first = NULL;
	o.is_trial = true;
	return o;
}

static bool
find_unit(struct largest *l, struct driver *t, const struct ir_module *m)
{
	const struct ir_let *let = NULL;

	for (int i = 0; i < m->nlets; i++)
		if (!strcmp(m->let[i].name, l->o->largest))
			let = &m->let[i];
	l->room = t->manager->budget ? (double)t->manager->budget
				     : cost_model_device(t->cost)->memory;
	if (let && let->value > 0) {
		l->unit = let->value;
		return true;
	}
	struct suggestion near = suggestion_for(l->o->largest);
	for (int i = 0; i < m->nlets; i++)
		suggestion_add(&near, m->let[i].name);
	char *text = suggestion_text(NULL, &near);
	if (let)
		driver_error("option -largest: %s is %" PRId64
			     "; multiples of a positive number are tried",
			let->name, let->value);
	else
		driver_error("option -largest: the module has no let '%s'%s", l->o->largest, text);
	talloc_free(text);
	return false;
}

/* Compiles with `times` the value; 1: as given, the only run whose messages are shown. */
static struct outcome
compile(struct largest *l, int64_t times)
{
	void *scratch = alloc_scratch(l->scratch);
	const struct driver_options o =
		quiet(times == 1 ? *l->o : options_with(l, times * l->unit));
	struct driver t = driver_create(scratch, &o);
	struct outcome done = {DRIVER_INPUT, false, 0};
	struct cost_report r;
	struct ir_module *m;

	diag_mute(t.ctx->diag, times > 1);
	done.exit = driver_read(&t, l->in, &m);
	if (done.exit == DRIVER_OK && !l->unit && !find_unit(l, &t, m))
		done.exit = DRIVER_USAGE;
	if (done.exit == DRIVER_OK)
		done.exit = driver_passes_run(&t, &m);
	if (done.exit == DRIVER_OK && !driver_evaluate(&t, m, &r))
		done.exit = DRIVER_INPUT;
	if (done.exit == DRIVER_OK) {
		done.bytes = r.peak_bytes;
		done.fits = r.peak_bytes <= l->room;
	}
	talloc_free(scratch);
	return done;
}

static void
tell(const struct largest *l, int64_t times, double bytes, const struct outcome *next)
{
	char needs[NUMBER_TEXT], room[NUMBER_TEXT], more[NUMBER_TEXT];
	const char *name = l->o->largest;

	fprintf(stderr, "largest %s: %" PRId64 ", with ", name, times * l->unit);
	for (int i = 0; i < l->o->pass.n; i++)
		fprintf(stderr, "%s%s", i ? "," : "-pass='", l->o->pass.item[i]);
	fprintf(stderr, "%sneeds %s of %s; ", l->o->pass.n ? "' " : "no passes ",
		number_bytes(needs, bytes), number_bytes(room, l->room));
	if (next->exit == DRIVER_OK)
		fprintf(stderr, "%" PRId64 " needs %s\n", (times + 1) * l->unit,
			number_bytes(more, next->bytes));
	else
		fprintf(stderr, "%" PRId64 " does not compile\n", (times + 1) * l->unit);
}

enum driver_exit
driver_largest(const void *scratch, const struct driver_options *o, const struct driver_input *in,
	struct driver_options *with)
{
	struct largest l = {.scratch = scratch, .o = o, .in = in};
	struct outcome low = compile(&l, 1), high = {0};
	int64_t fits = 1, over = 2;

	if (low.exit != DRIVER_OK)
		return low.exit;
	if (!low.fits) {
		char needs[NUMBER_TEXT], room[NUMBER_TEXT];
		driver_error("option -largest: even %s=%" PRId64 " needs %s of %s", o->largest,
			l.unit, number_bytes(needs, low.bytes), number_bytes(room, l.room));
		if (l.unit > 1)
			fprintf(stderr,
				"dopt: note: multiples of %" PRId64
				" are tried; -D %s=1 tries all batches that are smaller, too\n",
				l.unit, o->largest);
		return DRIVER_INPUT;
	}
	for (; over <= LARGEST_MULTIPLE; over *= 2) {
		high = compile(&l, over);
		if (!high.fits)
			break;
		low = high;
		fits = over;
	}
	if (over > LARGEST_MULTIPLE) {
		driver_error("option -largest: the step still fits with %s=%" PRId64, o->largest,
			fits * l.unit);
		return DRIVER_INPUT;
	}
	while (over - fits > 1) {
		const int64_t middle = fits + (over - fits) / 2;
		const struct outcome done = compile(&l, middle);
		*(done.fits ? &low : &high) = done;
		*(done.fits ? &fits : &over) = middle;
	}
	tell(&l, fits, low.bytes, &high);
	*with = options_with(&l, fits * l.unit);
	return DRIVER_OK;
}
