/* Ops, their operands and results, and the regions around them. */
#include "ir/base/number.h"
#include "parser/stablehlo/mlir/parser.h"

#include <string.h>

void
mlir_operand_push(struct mlir_parser *p, struct mlir_named name, struct ir_loc loc)
{
	VEC_PUSH(p, &p->operand, (struct mlir_operand){mlir_symbol_value(p, name, loc), loc});
}

void
mlir_result_push(struct mlir_parser *p, struct mlir_named name, struct ir_loc loc)
{
	VEC_PUSH(p, &p->result, (struct mlir_result){name, loc});
}

void
mlir_param_push(struct mlir_parser *p, const char *name, struct ir_loc loc, uint32_t nattrs,
	struct mlir_symbol *location)
{
	const struct mlir_attr *attr = mlir_attrs_take(p, nattrs);
	const struct mlir_type *type = VEC_POP(&p->type);

	VEC_PUSH(p, &p->param, (struct mlir_param){name, loc, type, attr, nattrs, location});
}

/* Sets `debug_name`, and `place` unless it is NULL, to those of a location, once all locations are
 * known. */
static void
set_located(struct mlir_parser *p, const char **debug_name, const char **place,
	struct mlir_symbol *location)
{
	if (location)
		VEC_PUSH(p, &p->located, (struct mlir_located){debug_name, place, location});
}

/* The last n parameters become the arguments of the current block. */
static void
block_arguments(struct mlir_parser *p, uint32_t n)
{
	const struct mlir_param *param = VEC_TOP(&p->param, n);
	struct mlir_block *b = p->block;

	b->arg = ARENA_ARRAY(p->arena, struct mlir_value, n);
	b->nargs = n;
	for (uint32_t i = 0; i < n; i++) {
		struct mlir_value *v = &b->arg[i];
		if (!param[i].name) {
			mlir_error(p, param[i].loc, "an argument of a region needs a name");
			continue;
		}
		*v = (struct mlir_value){.name = param[i].name,
			.type = param[i].type,
			.block = b,
			.index = i,
			.loc = param[i].loc,
			.attr = param[i].attr,
			.nattrs = param[i].nattrs};
		set_located(p, &v->debug_name, NULL, param[i].location);
		mlir_symbol_define(p, param[i].name, param[i].loc, v, 1);
	}
}

static void
save_heights(struct mlir_parser *p, struct mlir_frame *f)
{
	f->heights = (struct mlir_heights){
		p->operand.n, p->item.n, p->type.n, p->result.n, p->param.n, p->region.n};
}

/* Resets all stacks to their heights when the current region was opened. */
static void
mlir_stacks_drop(struct mlir_parser *p)
{
	const struct mlir_heights *h = &VEC_LAST(&p->frame).heights;

	p->operand.n = h->operand;
	p->item.n = h->item;
	p->type.n = h->type;
	p->result.n = h->result;
	p->param.n = h->param;
	p->region.n = h->region;
}

void
mlir_region_open(struct mlir_parser *p, struct ir_loc loc)
{
	struct mlir_frame f = {.block = p->block, .undo = p->values.undo.n, .loc = loc};

	if (p->frame.n == MLIR_MAX_DEPTH) {
		mlir_error(p, loc, "regions are nested too deeply");
		p->stop = true;
	}
	f.scope = p->isolated ? scope_open(&p->values) : p->values.scope;
	save_heights(p, &f);
	VEC_PUSH(p, &p->frame, f);
	p->block = ARENA_NEW(p->arena, struct mlir_block);
	if (p->params)
		block_arguments(p, p->params);
	p->params = 0;
	p->isolated = false;
}

void
mlir_region_block(struct mlir_parser *p, uint32_t params, struct ir_loc loc)
{
	if (p->block->nargs)
		mlir_error(p, loc, "the arguments of this region are already given before it");
	else if (params)
		block_arguments(p, params);
	p->param.n -= params;
}

void
mlir_region_close(struct mlir_parser *p)
{
	const struct mlir_frame f = VEC_LAST(&p->frame);

	mlir_stacks_drop(p);
	p->frame.n--;
	scope_close(&p->values, f.scope, f.undo);
	VEC_PUSH(p, &p->region, p->block);
	p->block = f.block;
}

/* A pretty form was abandoned after its head: its region is dropped. */
void
mlir_region_abandon(struct mlir_parser *p)
{
	mlir_region_close(p);
	p->region.n--;
}

void
mlir_op_give_up(struct mlir_parser *p)
{
	const struct mlir_heights *h = &VEC_LAST(&p->frame).heights;

	for (uint32_t i = h->result; i < p->result.n; i++)
		mlir_symbol_poison(p, p->result.at[i].name.name);
	mlir_stacks_drop(p);
	p->params = 0;
	p->isolated = false;
}

void
mlir_op_form(struct mlir_parser *p, const char *name, struct ir_loc loc, struct mlir_counts n,
	uint32_t regions, struct mlir_sig sig)
{
	p->pending = (struct mlir_pending){.name = name,
		.loc = loc,
		.noperands = n.operands,
		.nattrs = n.attrs,
		.nregions = regions,
		.sig = sig};
}

static const struct mlir_type *
type_at(const struct mlir_parser *p, const struct mlir_pending *op, uint32_t i)
{
	return VEC_TOP(&p->type, op->sig.nin + op->sig.nout)[i];
}

/* Checks that the operands have the types of the signature. */
static bool
check_operands(struct mlir_parser *p, const struct mlir_pending *op)
{
	const struct mlir_operand *operand = VEC_TOP(&p->operand, op->noperands);
	bool ok = true;

	if (op->sig.nin != op->noperands) {
		mlir_error(p, op->sig.loc, "%s has %u operand%s, but its signature has %u",
			op->name, op->noperands, number_plural(op->noperands), op->sig.nin);
		return false;
	}
	for (uint32_t i = 0; i < op->noperands; i++) {
		const struct mlir_value *v = operand[i].value;
		const struct mlir_type *t = type_at(p, op, i);
		if (mlir_type_same(p, v->type, t))
			continue;
		mlir_error(p, operand[i].loc, "%%%s is used as %s, but is %s", v->name, t->text,
			v->type->text);
		mlir_note(p, v->loc, "defined here");
		ok = false;
	}
	return ok;
}

static void
fill_operands(struct mlir_parser *p, struct mlir_op *op, uint32_t n)
{
	const struct mlir_operand *from = VEC_TOP(&p->operand, n);
	struct mlir_value **value = ARENA_ARRAY(p->arena, struct mlir_value *, n);
	struct ir_loc *loc = ARENA_ARRAY(p->arena, struct ir_loc, n);

	for (uint32_t i = 0; i < n; i++) {
		value[i] = from[i].value;
		loc[i] = from[i].loc;
	}
	op->operand = value;
	op->operand_loc = loc;
	op->noperands = n;
}

/* The blocks of an op are an array: updates all pointers to the blocks' former addresses. */
static void
fill_regions(struct mlir_parser *p, struct mlir_op *op, uint32_t n)
{
	struct mlir_block **from = VEC_TOP(&p->region, n);

	op->nregions = n;
	op->region = n == 1 ? from[0] : ARENA_ARRAY(p->arena, struct mlir_block, n);
	for (uint32_t i = 0; i < n; i++) {
		struct mlir_block *b = &op->region[i];
		if (n > 1) {
			*b = *from[i];
			for (struct mlir_op *inner = b->first; inner; inner = inner->next)
				inner->block = b;
			for (uint32_t k = 0; k < b->nargs; k++)
				b->arg[k].block = b;
		}
		b->parent = op;
	}
}

static void
fill_results(struct mlir_parser *p, struct mlir_op *op, const struct mlir_pending *pending)
{
	uint32_t n = pending->sig.nout;

	op->result = ARENA_ARRAY(p->arena, struct mlir_value, n);
	op->nresults = n;
	for (uint32_t i = 0; i < n; i++)
		op->result[i] = (struct mlir_value){.name = ir_name_n(p->ctx, "", 0),
			.type = type_at(p, pending, pending->sig.nin + i),
			.op = op,
			.index = i,
			.loc = pending->loc};
}

/* Binds the last n names to the results. */
static bool
name_results(struct mlir_parser *p, struct mlir_op *op, uint32_t n)
{
	const struct mlir_result *name = VEC_TOP(&p->result, n);
	uint32_t total = 0;

	for (uint32_t i = 0; i < n; i++)
		total += name[i].name.n ? name[i].name.n : 1;
	if (n && total != op->nresults) {
		mlir_error(p, name[0].loc, "%s has %u result%s, but %u %s named", op->name,
			op->nresults, number_plural(op->nresults), total,
			total == 1 ? "is" : "are");
		return false;
	}
	for (uint32_t i = 0, at = 0; i < n; i++) {
		uint32_t count = name[i].name.n ? name[i].name.n : 1;
		const char *text = name[i].name.name;
		for (uint32_t k = 0; k < count; k++) {
			op->result[at + k].name = text;
			op->result[at + k].loc = name[i].loc;
		}
		mlir_symbol_define(p, text, name[i].loc, &op->result[at], count);
		at += count;
	}
	return true;
}

static void
append(struct mlir_block *b, struct mlir_op *op)
{
	op->block = b;
	if (b->last)
		b->last->next = op;
	else
		b->first = op;
	b->last = op;
}

static bool
make_op(struct mlir_parser *p, struct mlir_pending *pending, uint32_t results,
	struct mlir_symbol *location)
{
	if (pending->failed)
		return false;
	if (pending->form && !mlir_pretty_decode(p, pending, results))
		return false;
	if (!check_operands(p, pending))
		return false;
	struct mlir_op *op = ARENA_NEW(p->arena, struct mlir_op);
	op->name = pending->name;
	op->loc = pending->loc;
	fill_operands(p, op, pending->noperands);
	op->nattrs = pending->nattrs;
	op->attr = mlir_attrs_take(p, pending->nattrs);
	fill_regions(p, op, pending->nregions);
	fill_results(p, op, pending);
	if (!name_results(p, op, results))
		return false;
	if (op->nattrs && !strcmp(op->name, "func.func"))
		mlir_func_finish(p, op);
	set_located(p, &op->debug_name, &op->place, location);
	append(p->block, op);
	p->file->nops++;
	return true;
}

void
mlir_op_finish(struct mlir_parser *p, uint32_t results, struct mlir_symbol *location)
{
	const struct mlir_result *name = VEC_TOP(&p->result, results);

	if (!make_op(p, &p->pending, results, location))
		for (uint32_t i = 0; i < results; i++)
			mlir_symbol_poison(p, name[i].name.name);
	mlir_stacks_drop(p);
}
