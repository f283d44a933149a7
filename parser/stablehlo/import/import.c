/*
 * From StableHLO to a module: the entry function becomes @main. An argument that a result replaces
 * is a param (floating point) or a state (the others) with an update, the rest are inputs and
 * outputs. Functions that it calls are inlined.
 */
#include "ir/base/alloc.h"
#include "ir/ops/row.h"
#include "parser/stablehlo/import/block.h"
#include "parser/stablehlo/spmd/spmd.h"

#include <string.h>
#include <talloc.h>

/* --- functions --- */

/* All functions by name. A module may be the only thing in a module. */
static bool
read_functions(struct import *im, const struct mlir_op *module)
{
	const struct mlir_op *first = module->nregions ? module->region[0].first : NULL;

	if (first && !first->next && !strcmp(first->name, "builtin.module"))
		return read_functions(im, first);
	for (const struct mlir_op *op = first; op; op = op->next) {
		if (strcmp(op->name, "func.func"))
			continue;
		const char *name = ir_name(im->module->ctx, import_function_name(op));
		if (ptr_map_get(im->funcs, name))
			return import_error(im, op, "function @%s is defined twice", name);
		if (op->nregions != 1)
			return import_error(im, op, "@%s has no body", name);
		ptr_map_set(im->funcs, name, op);
	}
	return true;
}

static bool
is_private(const struct mlir_op *func)
{
	const struct mlir_attr *a = mlir_attr_find(func, "sym_visibility");

	return a && (a->kind == MLIR_STRING || a->kind == MLIR_WORD) && !strcmp(a->s, "private");
}

/* -entry, else main, else the only public one, else the first. */
static const struct mlir_op *
find_entry(struct import *im)
{
	const struct mlir_op *module = im->file->module, *first = NULL, *pub = NULL;
	const struct mlir_op *op = module->nregions ? module->region[0].first : NULL;
	const char *entry = im->options->entry;
	int npublic = 0;

	while (op && !op->next && !strcmp(op->name, "builtin.module"))
		op = op->nregions ? op->region[0].first : NULL;
	for (; op; op = op->next) {
		if (strcmp(op->name, "func.func"))
			continue;
		first = first ? first : op;
		if (!is_private(op)) {
			pub = op;
			npublic++;
		}
	}
	const struct mlir_op *found = import_func(im, entry ? entry : "main");
	if (!found && !entry)
		found = npublic == 1 ? pub : first;
	if (!found && entry)
		diag_error(im->diag, module->loc, "there is no function @%s", entry);
	else if (!found)
		diag_error(im->diag, module->loc, "there is no function to import");
	return found;
}

/* --- the step --- */

struct step {
	const struct mlir_op *func;
	struct mlir_block *b;
	int *carried; /* by argument */
	struct import_value *in, *out;
	uint32_t nresults;
};

/* The op that argument i becomes. */
static bool
make_argument(struct import *im, struct step *s, uint32_t i)
{
	struct mlir_value *arg = &s->b->arg[i];
	const struct mlir_type *t = import_sized(im, s->func, i);
	struct import_value v = {.type = t};
	enum op_code code = OP_input;

	if (!t) {
		v.type = arg->type;
		v.failed = true;
		import_bind(im, arg, &v);
		return false;
	}

	if (t->kind == MLIR_OTHER || import_is_empty(t)) {
		import_bind(im, arg, &v); /* a token, or nothing */
		return true;
	}
	v.varies = spmd_argument(im, s->func, s->carried, i);
	const struct ir_type *type = spmd_layout(im, s->func, i);
	im->builder.loc = arg->loc;
	if (!type)
		type = import_type(im, s->func, t, v.varies);
	struct ir_attr attr[ROW_MAX_ATTRS];
	int nattrs, written = import_written(im, arg->attr, arg->nattrs, type, attr, &nattrs);
	if (type && s->carried[i] >= 0)
		code = ir_dtype_class((enum ir_dtype)type->dtype) == IR_FLOAT ? OP_param : OP_state;
	if (written >= 0 && (s->carried[i] < 0 || written != OP_input))
		code = (enum op_code)written;
	else
		nattrs = 0;
	if (type) {
		const char *text = import_argument_text(arg),
			   *name = import_symbol(im, text, "argument");
		/* a name written by dopt is kept unchanged */
		const char *symbol = written >= 0 && text ? ir_name(im->module->ctx, text) : name;
		if (symbol != name && ptr_map_get(im->symbols, symbol))
			symbol = name;
		ptr_map_set(im->symbols, symbol, (const void *)(uintptr_t)1);
		v.value = ir_build_typed(&im->builder, code, symbol, NULL, 0, attr, nattrs, type);
		if (v.value && !v.value->name)
			v.value->name = name;
	}
	v.failed = !v.value;
	s->in[i] = v;
	v.value = v.value && !v.varies ? spmd_allgather(im, v.value, spmd_axes(im)) : v.value;
	import_bind(im, arg, &v);
	return !v.failed;
}

static bool
make_update(struct import *im, const struct step *s, uint32_t i)
{
	struct import_value pair[2] = {s->in[i], s->out[s->carried[i]]};

	if (!pair[0].value || !pair[1].value)
		return true;
	if (pair[1].varies & ~pair[0].varies)
		return import_error(im, s->func,
			"argument %u is the same in all processes, but its "
			"next value, result %d, is not",
			i, s->carried[i]);
	import_align(im, pair, 2, true);
	pair[1].value = spmd_split_as(im, pair[1].value, pair[0].value);
	if (!pair[1].value)
		return false;
	struct ir_op *op = ir_op_create(im->module, OP_update, s->b->last->loc,
		(struct ir_value *[]){pair[0].value, pair[1].value}, 2, NULL, 0, 0);
	if (!ir_infer(im->module, op, NULL))
		return false;
	ir_block_append(im->builder.block, op);
	return true;
}

static bool
make_results(struct import *im, const struct step *s)
{
	bool *carried = ARRAY_ZERO(im->missing, bool, (size_t)s->nresults + 1), ok = true;

	im->builder.loc = s->b->last->loc;
	im->symbols = ptr_map_create(im->missing); /* outputs may be called as arguments are */
	for (uint32_t i = 0; i < s->b->nargs; i++)
		if (s->carried[i] >= 0) {
			carried[s->carried[i]] = true;
			ok = make_update(im, s, i) && ok;
		}
	for (uint32_t r = 0; r < s->nresults; r++) {
		const struct mlir_attr *of = import_result_attrs(s->func, r);
		const struct ir_type *type = s->out[r].value ? s->out[r].value->type : NULL;
		struct ir_attr attr[ROW_MAX_ATTRS];
		int nattrs = 0;
		char otherwise[32];
		snprintf(otherwise, sizeof otherwise, "result.%u", r);
		const char *text = import_result_text(s->func, r);
		if (carried[r])
			continue;
		if (of)
			import_written(im, of->item, of->n, type, attr, &nattrs);
		ok = import_output(im, text ? text : otherwise, &s->out[r], attr, nattrs) && ok;
	}
	return ok;
}

static bool
make_step(struct import *im, const struct mlir_op *func)
{
	struct step s = {.func = func, .b = &func->region[0]};
	bool ok = true;

	if (!s.b->last)
		return import_error(im, func, "@%s has no body", import_function_name(func));
	s.nresults = s.b->last->noperands;
	s.in = ARRAY_ZERO(im->missing, struct import_value, (size_t)s.b->nargs + 1);
	s.out = ARRAY_ZERO(im->missing, struct import_value, (size_t)s.nresults + 1);
	s.carried = ARRAY_ZERO(im->missing, int, (size_t)s.b->nargs + 1);
	if (!import_carried(im, func, s.carried) || !spmd_begin(im, func))
		return false;
	import_open_sizes(im, s.b);
	for (uint32_t i = 0; i < s.b->nargs; i++)
		ok = make_argument(im, &s, i) && ok;
	ok = import_block(im, func, s.b, s.out, (int)s.nresults) && ok;
	return ok && !im->failed && make_results(im, &s);
}

static const char *
module_name(struct import *im, const struct mlir_file *file)
{
	const struct mlir_attr *a = mlir_attr_find(file->module, "sym_name");
	const char *name = a && (a->kind == MLIR_STRING || a->kind == MLIR_SYMBOL) ? a->s : "";
	const char *clean = import_symbol(im, name, "step");

	im->symbols = ptr_map_create(im->missing); /* it takes no name away */
	return clean;
}

/* The name of the entry function, or of the module if that is main. */
static const char *
program_name(struct import *im, const struct mlir_op *entry)
{
	const struct mlir_attr *a = mlir_attr_find(im->file->module, "sym_name");
	const char *name = import_function_name(entry);

	if (!strcmp(name, "main") && a && (a->kind == MLIR_STRING || a->kind == MLIR_SYMBOL))
		name = a->s;
	return ir_name(im->module->ctx, name);
}

struct ir_module *
stablehlo_import(
	const void *owner, const struct mlir_file *file, const struct import_options *options)
{
	static const struct import_options plain;
	void *scratch = alloc_scratch(NULL);
	struct import im = {.file = file,
		.options = options ? options : &plain,
		.module = ir_module_create(scratch, file->ctx, "step"),
		.diag = file->ctx->diag,
		.arena = arena_create(scratch),
		.missing = import_missing_create(scratch)};
	unsigned before = diag_errors(im.diag);

	im.known = import_known_create(scratch);
	im.funcs = ptr_map_create(im.missing);
	im.templates = ptr_map_create(im.missing);
	im.symbols = ptr_map_create(im.missing);
	import_rows(&im);
	im.module->name = module_name(&im, file);
	const bool typed = import_constraints(&im);
	if (typed)
		import_complex(&im);
	const struct mlir_op *entry = read_functions(&im, file->module) ? find_entry(&im) : NULL;
	if (entry && typed) {
		struct ir_func *f = ir_func_create(im.module, "main", entry->loc);
		im.builder =
			(struct ir_builder){.m = im.module, .block = &f->body, .loc = entry->loc};
		im.failed = !make_step(&im, entry) || im.failed;
		import_sweep(&f->body, NULL);
	}
	bool wrong = diag_errors(im.diag) != before;
	import_missing_report(&im);
	if (im.options->outcome)
		*im.options->outcome =
			(struct import_outcome){.name = entry ? program_name(&im, entry) : NULL,
				.unsupported = !wrong && diag_errors(im.diag) != before,
				.checks = im.nchecks};
	struct ir_module *m = NULL;
	if (entry && typed && !im.failed && diag_errors(im.diag) == before) {
		ir_module_renumber(im.module); /* ops needed only during the import were erased */
		m = talloc_steal(owner, im.module);
	} else if (diag_errors(im.diag) == before) {
		diag_error(im.diag, file->module->loc, "the program cannot be imported");
	}
	talloc_free(scratch);
	return m;
}
