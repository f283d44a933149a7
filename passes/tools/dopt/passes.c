/* Runs the pipeline, and the actions that options request around every pass. */
#include "passes/tools/dopt/driver.h"

#include "ir/cluster/framework.h"
#include "ir/base/alloc.h"
#include "ir/template.h"
#include "passes/tools/dopt/crash.h"
#include "passes/tools/dopt/measure.h"
#include "passes/manager/facts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>
#include <unistd.h>

char *
driver_module_text(const void *owner, const struct ir_module *m)
{
	char *buffer = NULL;
	size_t size = 0;
	FILE *f = text_stream(&buffer, &size);

	ir_print(f, m);
	fclose(f);
	char *text = text_copy_n(owner, buffer, size);
	free(buffer);
	return text;
}

/* Is the pass in a comma-separated list of names, in which "all" is every pass? NULL: none. */
static bool
driver_names_pass(const char *list, const char *name)
{
	const char *word;
	size_t n;

	while (pass_fact_next(&list, &word, &n))
		if ((strlen(name) == n && !memcmp(word, name, n)) ||
			(n == 3 && !memcmp(word, "all", 3)))
			return true;
	return false;
}

static void
print_module(const char *when, const struct pass_entry *e, const char *text)
{
	fprintf(stderr, "// ----- %s pass '%s'\n%s", when, e->pass->name, text);
}

/* A shell word, in single quotes if necessary. */
static void
shell_word(FILE *out, const char *s)
{
	if (*s && !strpbrk(s, " \t\n'\"\\$`*?[]{}()<>|&;#~!")) {
		fputs(s, out);
		return;
	}
	fputc('\'', out);
	for (; *s; s++)
		if (*s == '\'')
			fputs("'\\''", out);
		else
			fputc(*s, out);
	fputc('\'', out);
}

static void
reproducer_option(FILE *out, const char *name, const char *value)
{
	if (!value)
		return;
	fprintf(out, " -%s=", name);
	shell_word(out, value);
}

/*
 * Writes the input of the pass and the command that runs it, before it runs, so that the file
 * exists even if the pass crashes. It is removed after the last pass.
 */
static bool
reproducer_write(const struct driver *t, const struct pass_entry *e, const struct ir_module *m)
{
	const struct driver_options *o = t->o;
	FILE *out = fopen(o->reproducer, "w");

	if (!out) {
		driver_error("cannot write '%s': %s", o->reproducer, strerror(errno));
		return false;
	}
	fputs("// dopt", out);
	for (int i = 0; i < o->load.n; i++)
		reproducer_option(out, "load", o->load.item[i]);
	reproducer_option(out, "cluster", o->cluster);
	for (int i = 0; i < o->define.n; i++)
		if (t->reads.used[i]) /* those of the module are in its text */
			reproducer_option(out, "D", o->define.item[i]);
	if (o->tf32)
		fputs(" -tf32", out);
	reproducer_option(out, "framework", framework_name((enum framework)o->framework));
	reproducer_option(out, "profile", o->profile);
	if (o->seed)
		fprintf(out, " -seed=%lld", (long long)o->seed);
	if (o->check) {
		fprintf(out, " -check -steps=%lld", (long long)o->steps);
		reproducer_option(out, "data", o->data);
	}
	reproducer_option(out, "pass", e->text);
	fputc(' ', out);
	shell_word(out, o->reproducer);
	fputc('\n', out);
	ir_print(out, m);
	if (!fclose(out))
		return true;
	driver_error("cannot write '%s': %s", o->reproducer, strerror(errno));
	return false;
}

static bool
before_pass(void *data, const struct pass_entry *e, struct ir_module *m)
{
	struct driver *t = data;
	const char *after = t->o->print_after;

	crash_doing(t->o->note, "in pass '%s'", e->pass->name);
	if (t->o->reproducer && !reproducer_write(t, e, m))
		return false;
	if (driver_names_pass(t->o->print_before, e->pass->name)) {
		char *text = driver_module_text(t->pipeline, m);
		print_module("before", e, text);
		talloc_free(text);
	}
	if (after && !strcmp(after, "changed"))
		t->before = driver_module_text(t->pipeline, m);
	return true;
}

static void
print_after_pass(struct driver *t, const struct pass_entry *e, const struct ir_module *m)
{
	const char *names = t->o->print_after;

	if (!names)
		return;
	bool changed = !strcmp(names, "changed");
	if (!changed && !driver_names_pass(names, e->pass->name))
		return;
	char *text = driver_module_text(t->pipeline, m);
	if (!changed || strcmp(text, t->before) != 0)
		print_module("after", e, text);
	talloc_free(text);
	talloc_free((char *)t->before);
	t->before = NULL;
}

struct interp_options
driver_interp_options(const struct driver_options *o)
{
	return (struct interp_options){.mode = o->layout ? INTERP_LAYOUT : INTERP_MEANING,
		.f64 = o->f64,
		.subnormals = o->subnormals,
		.no_shuffle = o->no_shuffle,
		.seed = (uint64_t)o->seed,
		.steps = o->steps,
		.load = o->initial,
		.save = o->save,
		.data = o->data};
}

/* In doubles: with the rounding of floats a comparison of two sums may come out either way. */
static struct interp_options
check_options(const struct driver *t)
{
	struct interp_options o = driver_interp_options(t->o);

	o.f64 = true;
	o.perturb = true;
	o.load = NULL;
	return o;
}

/* Can the module be interpreted? One that is too large for that is not the fault of a pass. */
static bool
can_check(struct driver *t, struct ir_module *m)
{
	struct interp_options o = check_options(t);

	o.mode = INTERP_LAYOUT;
	struct interp *it = interp_create(NULL, m, &o);
	if (!it)
		diag_note(t->ctx->diag, LOC_NONE,
			"option -check runs the module in the interpreter before and after each pass");
	talloc_free(it);
	return it != NULL;
}

/* Does every value have the meaning that its layout states? In a verified module it must. */
static bool
check_layouts(struct driver *t, struct ir_module *m)
{
	struct interp_options o = check_options(t);

	return interp_check_layout(m, &o);
}

/* Since -check computes in doubles, rounding in programs is mentioned once, for the last module. */
static void
warn_of_sums(struct driver *t, struct ir_module *m)
{
	const struct interp_options o = check_options(t);

	interp_warn_sums(m, &o);
}

/* A module that is printed as before was checked before. */
static bool
is_unchanged(const struct ir_module *input, const struct ir_module *m)
{
	char *before = driver_module_text(NULL, input), *after = driver_module_text(before, m);
	const bool same = strcmp(before, after) == 0;

	talloc_free(before);
	return same;
}

/*
 * Does the step still compute the same, and so do its layouts? A pass that preserves bits is
 * checked for that, in the types of the module: folding without the rounding of ops is invisible in
 * doubles. A run that was asked to change the step is not compared.
 */
static bool
check_meaning(struct driver *t, const struct pass_run *run, const struct pass_entry *e,
	struct ir_module *input, struct ir_module *m)
{
	struct interp_options o = check_options(t);
	const bool bits = e->pass->keeps_bits && !run->rounded;

	if (is_unchanged(input, m))
		return true;
	diag_progress(t->ctx->diag, "checking %s", e->pass->name);
	const bool same = run->redefined || (bits ? interp_check_bits(input, m, run->reordered, &o)
						  : interp_check_modules(input, m, &o));

	const bool layouts = same && check_layouts(t, m);
	diag_progress(t->ctx->diag, NULL);
	if (layouts)
		return true;
	diag_error(t->ctx->diag, e->loc, "bug in pass '%s': it changed what the module computes",
		e->pass->name);
	t->bug = true;
	return false;
}

/* Compares the new row with the last one that was kept. */
static bool
is_worse(const struct driver_stats *s)
{
	const struct driver_row *now = &s->row[s->n - 1], *old = now - 1;

	while (old->dropped)
		old--;
	if (now->cost.fits != old->cost.fits)
		return !now->cost.fits;
	return now->cost.iteration > old->cost.iteration;
}

/*
 * A pass that provides a fact is run for that, whatever it costs, and later passes may need it:
 * grad always makes the step slower.
 */
static bool
may_drop(const struct pass_entry *e)
{
	return !e->pass->provides;
}

static bool
measures_each(const struct driver *t)
{
	return t->o->measure == DRIVER_MEASURE_EACH;
}

static bool
after_pass(void *data, const struct pass_run *run, const struct pass_entry *e,
	struct ir_module *input, struct ir_module *m, double seconds, bool *drop)
{
	struct driver *t = data;

	if (t->o->check && (!can_check(t, m) || !check_meaning(t, run, e, input, m)))
		return false;
	if (measures_each(t) && !driver_measure_each(t, m, e->pass->name))
		return false;
	if (t->stats && !driver_stats_add(t, m, run, e, seconds))
		return false;
	if (t->o->keep == DRIVER_KEEP_BETTER && may_drop(e) && is_worse(t->stats)) {
		*drop = true;
		t->stats->row[t->stats->n - 1].dropped = true;
	}
	print_after_pass(t, e, *drop ? input : m);
	return true;
}

/* Output is always verified: after each pass, or here. */
static bool
verify_last(const struct driver *t, struct ir_module *m)
{
	if (t->o->verify_each || ir_verify(m))
		return true;
	driver_error("bug in a pass: the result is an invalid module; -verify-each names the pass");
	return false;
}

/* Inlining this many ops takes tenths of a second; of more, only a pass does it. */
#define SEEN_OPS 100000

/* Calls that stay must not hide names that collide once they are inlined. */
static bool
can_inline(struct driver *t, struct ir_module *m)
{
	void *scratch = alloc_scratch(t->ctx);
	const struct ir_func *f = ir_func_find(m, "main");
	const bool ok = ir_ops_inlined(m, f) > SEEN_OPS || driver_without_calls(scratch, t, m);

	talloc_free(scratch);
	return ok;
}

enum driver_exit
driver_passes_run(struct driver *t, struct ir_module **m)
{
	const struct driver_options *o = t->o;
	struct pass_hooks hooks = {.data = t,
		.keep_input = o->check || o->keep == DRIVER_KEEP_BETTER,
		.before = before_pass,
		.after = after_pass};

	if (measures_each(t) && !driver_measure_each(t, *m, NULL))
		return DRIVER_INPUT;
	if (t->stats && !driver_stats_add(t, *m, NULL, NULL, 0))
		return DRIVER_INPUT;
	if (o->check && !can_check(t, *m))
		return DRIVER_INPUT;
	if (o->check && !check_layouts(t, *m))
		return DRIVER_BUG;
	enum pass_status status = pass_pipeline_run(t->pipeline, t->manager, m, &hooks);
	crash_doing(o->note, "after the passes");
	if (t->quality)
		driver_measure_warn(t->ctx->diag, t->quality, true);
	if (status == PASS_BUG || t->bug)
		return DRIVER_BUG;
	if (status == PASS_FAILED)
		return DRIVER_INPUT;
	if (!verify_last(t, *m))
		return DRIVER_BUG;
	if (!can_inline(t, *m))
		return DRIVER_INPUT;
	if (o->check)
		warn_of_sums(t, *m);
	if (o->reproducer && t->pipeline->n)
		rt_write_remove(o->reproducer);
	return DRIVER_OK;
}
