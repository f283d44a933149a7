/* A driver for one text: what the options name is set up, and the module is read. */
#include "passes/tools/dopt/driver.h"

#include "ir/base/alloc.h"
#include "ir/base/suggest.h"
#include "ir/memory/issue.h"
#include "parser/stablehlo/import/import.h"
#include "passes/tools/dopt/checks.h"
#include "passes/tools/dopt/crash.h"
#include "passes/tools/input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>

/* "B=128" */
static bool
read_define(const void *owner, const char *text, struct parse_define *define)
{
	const char *equals = strchr(text, '=');
	char *end;

	if (equals && equals > text) {
		errno = 0;
		define->name = text_copy_n(owner, text, (size_t)(equals - text));
		define->value = strtoll(equals + 1, &end, 10);
		if (equals[1] && !*end && !errno)
			return true;
	}
	driver_error("option -D: expected NAME=N, found '%s'", text);
	return false;
}

/* Checks that every name in the list is a pass, or "all", or `special`. */
static bool
check_pass_names(const void *owner, const struct pass_registry *r, const char *option,
	const char *list, const char *special)
{
	char *copy = text_copy(owner, list ? list : ""), *word;

	while (list && (word = strsep(&copy, ","))) {
		if (!strcmp(word, "all") || !strcmp(word, special) || pass_registry_find(r, word))
			continue;
		struct suggestion near = suggestion_for(word);
		for (int i = 0; i < pass_registry_count(r); i++)
			suggestion_add(&near, pass_registry_get(r, i)->name);
		if (pass_renamed(word))
			driver_error("option -%s: pass '%s' is now called '%s'", option, word,
				pass_renamed(word));
		else
			driver_error("option -%s: unknown pass '%s'%s", option, word,
				suggestion_text(owner, &near));
		return false;
	}
	return true;
}

bool
driver_load_plugins(const struct driver_options *o, struct pass_registry *r, struct diag *d)
{
	for (int i = 0; i < o->load.n; i++) {
		crash_doing(o->note, "while loading plugin %s", o->load.item[i]);
		if (!pass_plugin_load(r, d, o->load.item[i]))
			return false;
	}
	return true;
}

/* Plugins, pipelines, names of passes: options that need the registry. */
static enum driver_exit
set_up_passes(struct driver *t)
{
	const struct driver_options *o = t->o;
	bool ok = true;

	if (!driver_load_plugins(o, t->manager->registry, t->ctx->diag))
		return DRIVER_INPUT;
	for (int i = 0; i < o->pass.n; i++)
		ok &= pass_pipeline_parse(t->pipeline, t->manager, "pipeline", o->pass.item[i]);
	ok &= driver_budget_read(t);
	ok &= driver_storage_create(t);
	ok &= driver_search_read(t);
	ok &= driver_whatif_read(t);
	ok &= check_pass_names(
		t->pipeline, t->manager->registry, "print-before", o->print_before, "all");
	ok &= check_pass_names(
		t->pipeline, t->manager->registry, "print-after", o->print_after, "changed");
	return ok ? DRIVER_OK : DRIVER_USAGE;
}

/* StableHLO, by the name of the file or by its first words. */
static bool
is_mlir(const struct driver_input *in)
{
	size_t n = strlen(in->name);

	return (n > 5 && !strcmp(in->name + n - 5, ".mlir")) || mlir_is_text(in->text, in->length);
}

static struct ir_module *
import_module(struct driver *t, const struct driver_input *in)
{
	const struct driver_options *o = t->o;
	struct import_size *size =
		ZERO_ARRAY(t->manager, struct import_size, (size_t)t->reads.ndefines + 1);
	const struct import_options io = {.carry = o->carry,
		.replicas = o->replicas,
		.entry = o->entry,
		.expect = o->expect,
		.size = size,
		.nsizes = t->reads.ndefines,
		.used = t->reads.used,
		.outcome = t->checks ? driver_checks_outcome(t->checks) : NULL};

	for (int i = 0; i < t->reads.ndefines; i++)
		size[i] = (struct import_size){t->reads.define[i].name, t->reads.define[i].value};
	struct mlir_file *file = mlir_read_lent(t->manager, t->ctx, in->name, in->text, in->length);
	struct ir_module *m = file ? stablehlo_import(t->manager, file, &io) : NULL;
	for (int i = 0; m && i < t->reads.ndefines; i++)
		if (!t->reads.used[i]) {
			driver_error("option -D: no argument of '%s' has an open size %s", in->name,
				t->reads.define[i].name);
			m = NULL;
		}
	talloc_free(file);
	return m;
}

bool
driver_read_options(const void *owner, const struct driver_options *o, struct parse_options *reads)
{
	struct parse_define *define =
		ZERO_ARRAY(owner, struct parse_define, (size_t)o->define.n + 1);

	*reads = (struct parse_options){.define = define,
		.ndefines = o->define.n,
		.used = ZERO_ARRAY(owner, bool, (size_t)o->define.n + 1),
		.text_stays = true};
	for (int i = 0; i < o->define.n; i++)
		if (!read_define(define, o->define.item[i], &define[i]))
			return false;
	return true;
}

/* Other forms of a step, by how they begin, and what makes StableHLO text of them. */
static bool
refuse_other_form(const struct driver_input *in)
{
	static const struct {
		const char *begins, *what, *text;
	} forms[] = {
		{"ML\xefR", "MLIR bytecode",
			"python3 -c 'from jaxlib.mlir import ir; from jaxlib.mlir.dialects import stablehlo as s; "
			"print(s.deserialize_portable_artifact(ir.Context(), open(\"FILE\", \"rb\").read()))', or "
			"mlir_module() of a jax.export.Exported"},
		{"HloModule", "HLO text, which XLA writes after its own passes",
			"jax.jit(step).lower(...).as_text()"},
	};

	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
		if (in->length >= strlen(forms[i].begins) &&
			!strncmp(in->text, forms[i].begins, strlen(forms[i].begins))) {
			driver_error("'%s' is %s; StableHLO text, which is read, comes from %s",
				in->name, forms[i].what, forms[i].text);
			return true;
		}
	return false;
}

struct ir_module *
driver_read_module(struct driver *t, const struct driver_input *in)
{
	if (refuse_other_form(in))
		return NULL;
	crash_doing(t->o->note, "while reading %s", in->name);
	struct ir_module *m = is_mlir(in) ? import_module(t, in)
					  : parse_module(t->manager, t->ctx, in->name, in->text,
						    in->length, &t->reads);
	if (!m || (t->o->mesh && !driver_mesh_add(m, t->o->mesh)))
		return NULL;
	return ir_verify(m) && issue_check(m) ? m : NULL;
}

struct driver
driver_create(void *scratch, const struct driver_options *o)
{
	struct driver t = {.o = o, .ctx = ir_context_create(scratch)};

	crash_diag(o->note, t.ctx->diag);
	t.manager = pass_manager_create(scratch, t.ctx);
	t.manager->verify_each = o->verify_each;
	t.manager->seed = (uint64_t)o->seed;
	t.manager->instead = o->instead;
	t.manager->explain = o->explain;
	t.manager->explained = NEW(scratch, bool);
	t.pipeline = pass_pipeline_create(scratch);
	if (o->stats || o->time || o->whatif || o->emit == DRIVER_EMIT_REPORT ||
		o->keep == DRIVER_KEEP_BETTER)
		t.stats = NEW(scratch, struct driver_stats);
	return t;
}

enum driver_exit
driver_read(struct driver *t, const struct driver_input *in, struct ir_module **m)
{
	const enum driver_exit exit = set_up_passes(t);

	t->in = in;
	if (exit != DRIVER_OK)
		return exit;
	if (!driver_read_options(t->pipeline, t->o, &t->reads) || !driver_cost_create(t))
		return DRIVER_INPUT;
	if (t->o->defined)
		t->reads.ndefines = 0;
	if (!(*m = driver_read_module(t, in)))
		return DRIVER_INPUT;
	return pass_pipeline_check(t->pipeline, t->manager, *m) ? DRIVER_OK : DRIVER_INPUT;
}
