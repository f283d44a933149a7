/* Ops whose pretty forms have their own grammar rules: module, func, while, reduce, scan, mesh,
 * manual_computation; and the generic form. */
#include "ir/base/number.h"
#include "parser/stablehlo/mlir/parser.h"

#include <string.h>

static void
attr_string(struct mlir_parser *p, const char *name, const char *s, struct ir_loc loc)
{
	mlir_attr_push(
		p, (struct mlir_attr){
			   .name = ir_name(p->ctx, name), .kind = MLIR_STRING, .loc = loc, .s = s});
}

static const char *
text(struct mlir_parser *p, const char *s)
{
	return ir_name(p->ctx, s);
}

/* --- the generic form --- */

struct mlir_head
mlir_generic_head(
	struct mlir_parser *p, struct mlir_symbol *name, uint32_t operands, uint32_t props)
{
	const char *s = mlir_symbol_name(p, name);

	/* An op without regions does not affect the next region: mlir_generic. */
	p->isolated = !strcmp(s, "func.func") || !strcmp(s, "builtin.module");
	return (struct mlir_head){name, operands, props};
}

/* A bare `return` is that of functions. */
void
mlir_return(struct mlir_parser *p, struct mlir_symbol *name, struct ir_loc loc,
	struct mlir_counts n, struct mlir_sig sig)
{
	const char *s = mlir_symbol_name(p, name);

	mlir_op_form(p, !strcmp(s, "return") ? text(p, "func.return") : s, loc, n, 0, sig);
}

void
mlir_generic(struct mlir_parser *p, struct mlir_head head, struct ir_loc loc, uint32_t regions,
	uint32_t attrs, struct mlir_sig sig)
{
	p->isolated = false;
	mlir_op_form(p, mlir_symbol_name(p, head.name), loc,
		(struct mlir_counts){head.noperands, head.nprops + attrs}, regions, sig);
	if (sig.arrow)
		return;
	mlir_error(p, sig.loc, "expected a type of a function, (operands) -> results");
	p->pending.failed = true;
}

/* --- module and func --- */

uint32_t
mlir_module_head(struct mlir_parser *p, struct mlir_symbol *name, struct ir_loc loc, uint32_t attrs)
{
	p->isolated = true;
	if (name)
		attr_string(p, "sym_name", mlir_symbol_name(p, name), loc);
	return attrs + (name != NULL);
}

void
mlir_module(struct mlir_parser *p, struct ir_loc loc, uint32_t attrs)
{
	mlir_op_form(p, text(p, "builtin.module"), loc, (struct mlir_counts){0, attrs}, 1,
		(struct mlir_sig){.arrow = true, .loc = loc});
}

/* On the stacks: the parameters, the types of the results, a dictionary for each, the attributes.
 */
uint32_t
mlir_func_head(struct mlir_parser *p, const struct mlir_func_text *f)
{
	const struct mlir_param *param = VEC_TOP(&p->param, f->params);
	const struct mlir_item *out = VEC_TOP(&p->item, f->attrs + f->outputs);
	struct mlir_attr *dict = ARENA_ARRAY(p->arena, struct mlir_attr, f->outputs);
	bool any = false, is_public = !f->visibility;

	for (uint32_t i = 0; i < f->outputs; i++) {
		dict[i] = out[i].attr;
		any = any || dict[i].n;
	}
	struct mlir_item *item = VEC_TOP(&p->item, f->attrs + f->outputs);
	if (f->attrs)
		memmove(item, item + f->outputs, f->attrs * sizeof *item);
	p->item.n -= f->outputs;

	for (uint32_t i = 0; i < f->params; i++)
		VEC_PUSH(p, &p->type, param[i].type);
	const struct mlir_type **type = VEC_TOP(&p->type, f->params + f->outputs);
	const struct mlir_type **sorted =
		ARENA_ARRAY(p->scratch, const struct mlir_type *, f->params + f->outputs);
	if (f->params)
		memcpy(sorted, type + f->outputs, f->params * sizeof *sorted);
	if (f->outputs)
		memcpy(sorted + f->params, type, f->outputs * sizeof *sorted);
	p->type.n -= f->params + f->outputs;
	mlir_attr_push(p, (struct mlir_attr){.name = text(p, "function_type"),
				  .kind = MLIR_TYPE,
				  .loc = f->name_loc,
				  .type = mlir_type_function(p, sorted, f->params, f->outputs)});
	attr_string(p, "sym_name", mlir_symbol_name(p, f->name), f->name_loc);
	uint32_t n = f->attrs + 2;
	if (!is_public) {
		const char *word = mlir_symbol_name(p, f->visibility);
		if (strcmp(word, "public") != 0 && strcmp(word, "private") != 0 &&
			strcmp(word, "nested") != 0)
			mlir_error(p, f->visibility_loc, "expected public or private, found '%s'",
				word);
		attr_string(p, "sym_visibility", word, f->visibility_loc);
		n++;
	}
	if (any) {
		struct mlir_attr list =
			mlir_make_list(p, "res_attrs", dict, f->outputs, f->name_loc);
		mlir_attr_push(p, list);
		n++;
	}
	p->isolated = true;
	p->params = f->params;
	return n;
}

void
mlir_func(struct mlir_parser *p, struct ir_loc loc, uint32_t attrs, uint32_t regions)
{
	p->isolated = false;
	p->params = 0;
	mlir_op_form(p, text(p, "func.func"), loc, (struct mlir_counts){0, attrs}, regions,
		(struct mlir_sig){.arrow = true, .loc = loc});
}

/* The generic form has the attributes of arguments in one list: they go to the arguments. */
static void
func_arg_attrs(struct mlir_parser *p, struct mlir_op *op)
{
	const struct mlir_attr *list = mlir_attr_find(op, "arg_attrs");

	if (!list)
		return;
	struct mlir_attr *rest = ARENA_ARRAY(p->arena, struct mlir_attr, op->nattrs);
	uint32_t n = 0;
	for (uint32_t i = 0; i < op->nattrs; i++)
		if (&op->attr[i] != list)
			rest[n++] = op->attr[i];
	uint32_t nargs = op->nregions ? op->region[0].nargs : 0;
	if (list->kind != MLIR_LIST || (nargs && list->n != nargs))
		mlir_error(p, list->loc,
			"expected a list of %u dictionaries, one for each argument", nargs);
	for (uint32_t i = 0; list->kind == MLIR_LIST && i < nargs && i < list->n; i++) {
		op->region[0].arg[i].attr = list->item[i].item;
		op->region[0].arg[i].nattrs = list->item[i].kind == MLIR_DICT ? list->item[i].n : 0;
	}
	op->attr = rest;
	op->nattrs = n;
}

void
mlir_func_finish(struct mlir_parser *p, struct mlir_op *op)
{
	func_arg_attrs(p, op);
	if (op->nregions == 1 && !op->region[0].first && !op->region[0].nargs)
		op->nregions = 0; /* it is declared */
}

/* --- while --- */

void
mlir_while_arg(struct mlir_parser *p, struct mlir_named name, struct ir_loc loc,
	struct mlir_named from, struct ir_loc from_loc)
{
	mlir_operand_push(p, from, from_loc);
	VEC_PUSH(p, &p->param, (struct mlir_param){.name = name.name, .loc = loc});
}

/* `n` arguments and `n` types, which are those of operands and results. */
uint32_t
mlir_while_head(struct mlir_parser *p, uint32_t n, uint32_t types, struct ir_loc types_loc)
{
	struct mlir_param *param = VEC_TOP(&p->param, n);
	const struct mlir_type **type = VEC_TOP(&p->type, types);

	if (types != n)
		mlir_error(p, types_loc, "expected %u type%s, one for each argument, found %u", n,
			number_plural(n), types);
	for (uint32_t i = 0; i < n; i++)
		param[i].type = i < types ? type[i] : &p->bad_type;
	p->type.n -= types;
	return n;
}

void
mlir_while(struct mlir_parser *p, struct ir_loc loc, uint32_t n, uint32_t attrs)
{
	for (int pass = 0; pass < 2; pass++)
		for (uint32_t i = 0; i < n; i++) {
			const struct mlir_type *t = VEC_TOP(&p->param, n)[i].type;
			VEC_PUSH(p, &p->type, t);
		}
	mlir_op_form(p, text(p, "stablehlo.while"), loc, (struct mlir_counts){n, attrs}, 2,
		(struct mlir_sig){n, n, .arrow = true, .loc = loc});
}

/* --- reduce --- */

/* (x0 init: i0), (x1 init: i1) become the operands x0, x1, i0, i1. */
static void
sort_pairs(struct mlir_parser *p, uint32_t n)
{
	struct mlir_operand *v = VEC_TOP(&p->operand, 2 * n);
	struct mlir_operand *copy = ARENA_ARRAY(p->scratch, struct mlir_operand, 2 * n);

	memcpy(copy, v, 2 * n * sizeof *copy);
	for (uint32_t i = 0; i < n; i++) {
		v[i] = copy[2 * i];
		v[n + i] = copy[2 * i + 1];
	}
}

/* As the operands: (a0, b0) (a1, b1) are the arguments a0, a1, b0, b1. */
void
mlir_reducer(struct mlir_parser *p, uint32_t n)
{
	struct mlir_param *v = VEC_TOP(&p->param, 2 * n);
	struct mlir_param *copy = ARENA_ARRAY(p->scratch, struct mlir_param, 2 * n);

	memcpy(copy, v, 2 * n * sizeof *copy);
	for (uint32_t i = 0; i < n; i++) {
		v[i] = copy[2 * i];
		v[n + i] = copy[2 * i + 1];
	}
	p->params = 2 * n;
}

void
mlir_reduce(
	struct mlir_parser *p, struct ir_loc loc, uint32_t n, uint32_t attrs, struct mlir_sig sig)
{
	sort_pairs(p, n);
	mlir_op_form(p, text(p, "stablehlo.reduce"), loc, (struct mlir_counts){2 * n, attrs + 1}, 1,
		sig);
}

/* The type of one element of a tensor, as a tensor. */
static const struct mlir_type *
scalar_of(struct mlir_parser *p, const struct mlir_type *t)
{
	if (t->kind != MLIR_TENSOR)
		return t;
	size_t n = strlen(t->element);
	char *s = arena_alloc(p->scratch, n + 9);
	memcpy(s, "tensor<", 7);
	memcpy(s + 7, t->element, n);
	memcpy(s + 7 + n, ">", 2);
	return mlir_type_make(p, s);
}

static struct mlir_op *
body_op(struct mlir_parser *p, struct mlir_block *b, const char *name, struct ir_loc loc,
	uint32_t noperands)
{
	struct mlir_op *op = ARENA_NEW(p->arena, struct mlir_op);
	struct ir_loc *locs = ARENA_ARRAY(p->arena, struct ir_loc, noperands);

	for (uint32_t i = 0; i < noperands; i++)
		locs[i] = loc;
	*op = (struct mlir_op){.name = name,
		.loc = loc,
		.block = b,
		.operand = ARENA_ARRAY(p->arena, struct mlir_value *, noperands),
		.operand_loc = locs,
		.noperands = noperands};
	if (b->last)
		b->last->next = op;
	else
		b->first = op;
	b->last = op;
	p->file->nops++;
	return op;
}

/* The region that `applies stablehlo.add` abbreviates: (a, b) -> return add(a, b). */
static struct mlir_block *
applied_body(struct mlir_parser *p, const char *name, struct ir_loc loc, const struct mlir_type *t)
{
	static const char *const arg[] = {"applied.lhs", "applied.rhs"};
	struct mlir_block *b = ARENA_NEW(p->arena, struct mlir_block);

	b->nargs = 2;
	b->arg = ARENA_ARRAY(p->arena, struct mlir_value, 2);
	for (uint32_t i = 0; i < 2; i++)
		b->arg[i] = (struct mlir_value){
			.name = text(p, arg[i]), .type = t, .block = b, .index = i, .loc = loc};
	struct mlir_op *op = body_op(p, b, name, loc, 2);
	struct mlir_value **operand = (struct mlir_value **)op->operand;
	operand[0] = &b->arg[0];
	operand[1] = &b->arg[1];
	op->nresults = 1;
	op->result = ARENA_ARRAY(p->arena, struct mlir_value, 1);
	op->result[0] =
		(struct mlir_value){.name = text(p, "applied"), .type = t, .op = op, .loc = loc};
	struct mlir_op *back = body_op(p, b, text(p, "stablehlo.return"), loc, 1);
	((struct mlir_value **)back->operand)[0] = op->result;
	return b;
}

void
mlir_reduce_applies(struct mlir_parser *p, struct ir_loc loc, uint32_t n, struct mlir_symbol *name,
	struct ir_loc name_loc, uint32_t attrs, struct mlir_sig sig)
{
	if (n != 1)
		mlir_error(p, name_loc, "`applies` is for one input, found %u; write a reducer", n);
	const struct mlir_type *t = sig.nin + sig.nout
					    ? VEC_TOP(&p->type, sig.nin + sig.nout)[sig.nin > 1]
					    : &p->bad_type;
	struct mlir_block *b =
		applied_body(p, mlir_symbol_name(p, name), name_loc, scalar_of(p, t));
	VEC_PUSH(p, &p->region, b);
	mlir_reduce(p, loc, n, attrs, sig);
}

/* --- scan --- */

static void
segments(struct mlir_parser *p, const char *name, uint32_t a, uint32_t b, struct ir_loc loc)
{
	struct mlir_attr *item = ARENA_ARRAY(p->arena, struct mlir_attr, 2);

	item[0] = mlir_make_int(p, NULL, a, loc);
	item[1] = mlir_make_int(p, NULL, b, loc);
	mlir_attr_push(p, mlir_make_list(p, name, item, 2, loc));
}

void
mlir_scan_op(struct mlir_parser *p, struct ir_loc loc, uint32_t inputs, uint32_t inits,
	uint32_t attrs, struct mlir_sig sig)
{
	segments(p, "operandSegmentSizes", inputs, inits, loc);
	segments(p, "resultSegmentSizes", sig.nout > inits ? sig.nout - inits : 0, inits, loc);
	mlir_op_form(p, text(p, "chlo.scan"), loc, (struct mlir_counts){inputs + inits, attrs + 3},
		1, sig);
}

/* --- sdy --- */

/* The mesh is on the stack; pushes its name. */
void
mlir_mesh(struct mlir_parser *p, struct mlir_symbol *name, struct ir_loc name_loc)
{
	struct mlir_attr *a = &VEC_LAST(&p->item).attr;

	if (a->kind == MLIR_LIST) {
		mlir_mesh_attr(p, 0, a->loc);
		a = &VEC_LAST(&p->item).attr;
	}
	a->name = text(p, "mesh");
	attr_string(p, "sym_name", mlir_symbol_name(p, name), name_loc);
}

void
mlir_mesh_op(struct mlir_parser *p, struct ir_loc loc, uint32_t attrs)
{
	mlir_op_form(p, text(p, "sdy.mesh"), loc, (struct mlir_counts){0, 2 + attrs}, 0,
		(struct mlir_sig){.arrow = true, .loc = loc});
}

void
mlir_manual(struct mlir_parser *p, struct ir_loc loc, uint32_t operands, uint32_t attrs,
	struct mlir_sig sig)
{
	struct mlir_item *item = VEC_TOP(&p->item, attrs);

	for (uint32_t i = 0; i < attrs; i++)
		if (item[i].attr.kind == MLIR_LIST ||
			(item[i].attr.kind == MLIR_DICT && !item[i].attr.n)) {
			item[i].attr.kind = MLIR_LIST;
			item[i].attr.dialect = NULL;
		}
	mlir_op_form(p, text(p, "sdy.manual_computation"), loc,
		(struct mlir_counts){operands, attrs}, 1, sig);
}
