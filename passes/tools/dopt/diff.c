/*
 * -diff=FILE: compares the step with that of another module: where the time goes, and which types
 * differ.
 *
 *     before: data.dir
 *     after: megatron.dir
 *
 *                                   before                after
 *     iteration                     2.52ms               1.75ms     -769us
 *     ...
 *     kind of op                    before                after difference
 *     allreduce along card      3   1.10ms           4    310us     -790us
 *     ...
 *     types that differ
 *     param h*.wq (32)              f32[64,64] -> f32[64,64/card]
 */
#include "passes/tools/dopt/driver.h"
#include "ir/base/sort.h"
#include "passes/tools/input.h"
#include "passes/tools/report/report.h"

#include "ir/base/map.h"
#include "ir/base/mix.h"
#include "ir/base/vec.h"
#include "ir/type.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>

enum {
	DIFF_KINDS = 20, /* kinds of ops shown; the rest is summed up in one line */
	/* and so are kinds that change the iteration by less than 1/1000 */
	DIFF_SHARE = 1000,
	DIFF_LAYOUTS = 50, /* classes of values shown */
	DIFF_NAME = 36,    /* columns of a name: longer ones shift their line */
};

/* A value of a module with the name by which it is found in the other one. */
struct named {
	const char *name; /* "param wq", "%h" */
	const struct ir_type *type;
};

struct names_of {
	struct VEC(struct named);
	struct map map;
};

/* Values with similar names whose layouts change in the same way. */
struct change {
	const char *name;     /* with * for digits */
	const char *was, *is; /* types; NULL: the module has no such value */
	int64_t n;
};

struct changes {
	struct VEC(struct change);
	struct map map;
};

static bool
is_named(const void *list, uint32_t i, const void *key)
{
	return !strcmp(((const struct names_of *)list)->at[i].name, key);
}

static bool
same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool
is_change(const void *list, uint32_t i, const void *key)
{
	const struct change *a = &((const struct changes *)list)->at[i], *b = key;

	return !strcmp(a->name, b->name) && same_text(a->was, b->was) && same_text(a->is, b->is);
}

/* Params, inputs and states by their symbol, other values by their name in the text; NULL: values
 * with only a number. */
static const char *
name_of(const void *owner, const struct view *v, const struct ir_value *x)
{
	uint32_t number;

	if (x->op->symbol)
		return talloc_asprintf(owner, "%s %s", op_name(x->op->code), x->op->symbol);
	const char *name = names_find(v->names, x, &number);
	return name ? talloc_asprintf(owner, "%%%s", name) : NULL;
}

static void
collect(void *owner, const struct view *v, const struct ir_block *b, struct names_of *all)
{
	IR_FOR_OPS (op, b) {
		for (uint32_t i = 0; i < op->nresults; i++) {
			const struct ir_value *x = &op->result[i];
			const char *name = name_of(owner, v, x);
			if (!name)
				continue;
			uint32_t at = map_add(owner, &all->map, mix_text(name, strlen(name)),
				is_named, all, name);
			if (at == all->n)
				VEC_PUSH(owner, all, (struct named){name, x->type});
		}
		if (op->body)
			collect(owner, v, op->body, all);
	}
}

static void
add_change(void *owner, struct changes *all, const char *name, const char *was, const char *is)
{
	const struct change c = {text_pattern(owner, name), was, is, 0};
	const uint64_t hash = mix_text(c.name, strlen(c.name));
	uint32_t at = map_add(owner, &all->map, hash, is_change, all, &c);

	if (at == all->n)
		VEC_PUSH(owner, all, c);
	all->at[at].n++;
}

static const char *
type_text(const void *owner, const struct view *v, const struct ir_type *t)
{
	return t ? ir_type_text(owner, v->m, t) : NULL;
}

static const struct named *
find(const struct names_of *all, const char *name)
{
	uint32_t at = map_find(&all->map, mix_text(name, strlen(name)), is_named, all, name);

	return at == MAP_NONE ? NULL : &all->at[at];
}

/* Is this a value named by the user, which both modules should have? */
static bool
is_leaf(const char *name)
{
	return *name != '%';
}

static void
print_layouts(FILE *out, void *owner, const struct view *before, const struct view *after)
{
	struct names_of was = {0}, is = {0};
	struct changes all = {0};
	int64_t alike = 0;

	collect(owner, before, &before->main->body, &was);
	collect(owner, after, &after->main->body, &is);
	for (int64_t i = 0; i < is.n; i++) {
		const struct named *other = find(&was, is.at[i].name);
		const char *now = type_text(owner, after, is.at[i].type);
		const char *then = other ? type_text(owner, before, other->type) : NULL;
		if (same_text(now, then))
			alike++;
		else if (then || is_leaf(is.at[i].name))
			add_change(owner, &all, is.at[i].name, then, now);
	}
	for (int64_t i = 0; i < was.n; i++)
		if (is_leaf(was.at[i].name) && !find(&is, was.at[i].name))
			add_change(owner, &all, was.at[i].name,
				type_text(owner, before, was.at[i].type), NULL);
	fprintf(out, "\n%s\n", all.n ? "types that differ" : "no type differs");
	for (int64_t i = 0; i < all.n && i < DIFF_LAYOUTS; i++) {
		const struct change *c = &all.at[i];
		char *name = c->n > 1 ? talloc_asprintf(owner, "%s (%" PRId64 ")", c->name, c->n)
				      : text_copy(owner, c->name);
		fprintf(out, "%-*s  %s -> %s\n", DIFF_NAME, name, c->was ? c->was : "none",
			c->is ? c->is : "none");
	}
	if (all.n > DIFF_LAYOUTS)
		fprintf(out, "and %" PRId64 " more\n", all.n - DIFF_LAYOUTS);
	fprintf(out, "%" PRId64 " named value%s with the same type in both\n", alike,
		number_plural(alike));
}

/* A kind of op in both steps. */
struct pair {
	const char *name;
	struct view_kind before, after;
};

static double
gain(const struct pair *p)
{
	return p->after.seconds - p->before.seconds;
}

ORDER_BY(pair_larger, struct pair, ORDER_UP(fabs(gain(y)), fabs(gain(x))), strcmp(x->name, y->name))

/* "+1.2ms", "-3.4MB", or "0", also for mere rounding of sums. */
static const char *
difference(char d[NUMBER_TEXT + 1], double was, double is, const char *text(char *, double))
{
	const double by = fabs(is - was) > 1e-9 * fmax(was, is) ? is - was : 0;

	d[0] = by < 0 ? '-' : '+';
	text(d + (by != 0), fabs(by));
	return d;
}

static void
print_pair(FILE *out, const struct pair *p)
{
	char a[NUMBER_TEXT], b[NUMBER_TEXT], d[NUMBER_TEXT + 1];

	fprintf(out, "%-*s %6" PRIu32 " %10s %6" PRIu32 " %10s %10s\n", DIFF_NAME, p->name,
		p->before.count, number_seconds(a, p->before.seconds), p->after.count,
		number_seconds(b, p->after.seconds),
		difference(d, p->before.seconds, p->after.seconds, number_seconds));
}

static void
add_side(void *owner, struct pair **pair, int *n, const struct view *v, bool after)
{
	for (const struct view_kind *k = view_kinds(owner, v, NULL, NULL); k->count; k++) {
		const char *name = view_kind_text(owner, k);
		int at = 0;
		while (at < *n && strcmp((*pair)[at].name, name) != 0)
			at++;
		if (at == *n)
			LIST_PUSH(owner, *pair, *n, (struct pair){.name = name});
		*(after ? &(*pair)[at].after : &(*pair)[at].before) = *k;
	}
}

static void
print_kinds(FILE *out, void *owner, const struct view *before, const struct view *after)
{
	struct pair *pair = NULL, rest = {0};
	const double least = fmax(before->total.iteration, after->total.iteration) / DIFF_SHARE;
	int n = 0, shown = 0;

	add_side(owner, &pair, &n, before, false);
	add_side(owner, &pair, &n, after, true);
	if (n)
		qsort(pair, (size_t)n, sizeof *pair, pair_larger);
	fprintf(out, "\n%-*s %17s %17s %10s\n", DIFF_NAME, "kind of op", "before", "after",
		"difference");
	while (shown < n && shown < DIFF_KINDS && fabs(gain(&pair[shown])) >= least)
		print_pair(out, &pair[shown++]);
	for (int i = shown; i < n; i++) {
		rest.before.count += pair[i].before.count;
		rest.after.count += pair[i].after.count;
		rest.before.seconds += pair[i].before.seconds;
		rest.after.seconds += pair[i].after.seconds;
	}
	if (n > shown) {
		rest.name = talloc_asprintf(owner, "%d %s", n - shown, shown ? "more" : "kinds");
		print_pair(out, &rest);
	}
}

/* A row of the totals. */
static void
print_total(FILE *out, const char *name, double was, double is, const char *text(char *, double))
{
	char a[NUMBER_TEXT], b[NUMBER_TEXT], d[NUMBER_TEXT + 1];

	fprintf(out, "%-*s %17s %17s %10s", DIFF_NAME, name, text(a, was), text(b, is),
		difference(d, was, is, text));
	if (was > 0)
		fprintf(out, " %+8.1f %%", 100 * (is / was - 1));
	fputc('\n', out);
}

static void
print_totals(FILE *out, const struct cost_report *was, const struct cost_report *is)
{
	fprintf(out, "%-*s %17s %17s %10s\n", DIFF_NAME, "", "before", "after", "difference");
	print_total(out, "iteration", was->iteration, is->iteration, number_seconds);
	print_total(out, "compute", was->compute, is->compute, number_seconds);
	print_total(out, "communication", was->communication, is->communication, number_seconds);
	print_total(out, "exposed", was->exposed, is->exposed, number_seconds);
	if (was->copies > 0 || is->copies > 0)
		print_total(out, "copies", was->copies, is->copies, number_seconds);
	print_total(out, "memory", was->peak_bytes, is->peak_bytes, number_bytes);
	if (was->host_bytes > 0 || is->host_bytes > 0)
		print_total(out, "host memory", was->host_bytes, is->host_bytes, number_bytes);
}

bool
driver_diff(struct driver *t, struct ir_module *other, struct ir_module *m, FILE *out)
{
	void *scratch = alloc_scratch(NULL);
	struct ir_module *was = driver_without_calls(scratch, t, other);
	struct ir_module *is = driver_without_calls(scratch, t, m);
	struct view *before = was ? view_create(scratch, t->cost, was) : NULL;
	struct view *after = is && before ? view_create(scratch, t->cost, is) : NULL;

	if (after) {
		fprintf(out, "before: %s\nafter: %s%s\n\n", t->o->diff, t->in->name,
			t->o->pass.n ? ", after its passes" : "");
		print_totals(out, &before->total, &after->total);
		print_kinds(out, scratch, before, after);
		print_layouts(out, scratch, before, after);
	}
	talloc_free(scratch);
	return after != NULL;
}
