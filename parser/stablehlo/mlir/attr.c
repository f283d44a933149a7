/* Attributes: each is pushed on the stack of items; lists and dictionaries take theirs off it. */
#include "parser/stablehlo/mlir/parser.h"

#include "parser/stablehlo/mlir/number.h"

#include <string.h>

void
mlir_attr_push(struct mlir_parser *p, struct mlir_attr a)
{
	VEC_PUSH(p, &p->item, (struct mlir_item){.attr = a, .loc = a.loc});
}

static struct mlir_item *
top(struct mlir_parser *p)
{
	return &VEC_LAST(&p->item);
}

void
mlir_attr_symbol(
	struct mlir_parser *p, enum mlir_attr_kind kind, struct mlir_symbol *s, struct ir_loc loc)
{
	mlir_attr_push(
		p, (struct mlir_attr){.kind = kind, .loc = loc, .s = mlir_symbol_name(p, s)});
}

void
mlir_attr_word(struct mlir_parser *p, struct mlir_symbol *s, struct ir_loc loc)
{
	enum mlir_attr_kind kind = s->n == 4 && !memcmp(s->text, "unit", 4) ? MLIR_UNIT : MLIR_WORD;

	mlir_attr_symbol(p, kind, s, loc);
}

/* The type on top of its stack becomes an attribute. */
void
mlir_attr_of_type(struct mlir_parser *p, struct ir_loc loc)
{
	const struct mlir_type *t = VEC_POP(&p->type);

	mlir_attr_push(p, (struct mlir_attr){.kind = MLIR_TYPE, .loc = loc, .type = t});
}

void
mlir_attr_function(struct mlir_parser *p, uint32_t nin, uint32_t nout, struct ir_loc loc)
{
	const struct mlir_type *t = mlir_type_function(p, VEC_TOP(&p->type, nin + nout), nin, nout);

	p->type.n -= nin + nout;
	mlir_attr_push(p, (struct mlir_attr){.kind = MLIR_TYPE, .loc = loc, .type = t});
}

/* Its elements are read once the type after it is known. */
void
mlir_attr_dense(struct mlir_parser *p, struct ir_loc loc)
{
	mlir_attr_push(p, (struct mlir_attr){.kind = MLIR_DENSE, .loc = loc});
}

/* `0x7F800000 : f32` is a float. */
static void
type_number(struct mlir_attr *a, const struct mlir_type *t, const char *text)
{
	if (t->kind != MLIR_SCALAR || a->kind != MLIR_INT)
		return;
	const struct mlir_element e = mlir_element_of(t->element);
	if (e.kind != ELEMENT_FLOAT)
		return;
	a->kind = MLIR_FLOAT;
	if (text[0] == '0' && text[1] == 'x')
		a->f = mlir_float_of_bits(&e, (uint64_t)a->i);
	else
		a->f = (double)a->i;
}

void
mlir_attr_typed(struct mlir_parser *p, struct ir_loc loc, struct ir_loc type_loc)
{
	const struct mlir_type *t = VEC_POP(&p->type);
	struct mlir_attr *a = &top(p)->attr;

	if (t == &p->bad_type)
		return;
	if (a->kind == MLIR_DENSE && !a->dense)
		a->dense = mlir_dense_read(p, loc, t, type_loc);
	else if (a->kind == MLIR_INT)
		type_number(a, t, mlir_text_at(p, loc));
	else if (a->kind == MLIR_FLOAT && t->kind == MLIR_SCALAR &&
		 mlir_element_of(t->element).kind != ELEMENT_FLOAT)
		mlir_error(p, loc, "a number with a fraction cannot be of type %s", t->text);
}

const struct mlir_attr *
mlir_attrs_take(struct mlir_parser *p, uint32_t n)
{
	struct mlir_attr *a = n ? ARENA_ARRAY(p->arena, struct mlir_attr, n) : NULL;
	const struct mlir_item *from = VEC_TOP(&p->item, n);

	for (uint32_t i = 0; i < n; i++) {
		a[i] = from[i].attr;
		if (a[i].kind == MLIR_DENSE && !a[i].dense) {
			mlir_error(p, a[i].loc, "expected ':' and a type after dense<>");
			a[i].kind = MLIR_UNIT;
		}
	}
	p->item.n -= n;
	return a;
}

void
mlir_attr_group(struct mlir_parser *p, enum mlir_attr_kind kind, uint32_t n, const char *dialect,
	struct ir_loc loc)
{
	const struct mlir_item *from = VEC_TOP(&p->item, n);
	uint32_t depth = 0;

	for (uint32_t i = 0; i < n; i++)
		depth = from[i].depth > depth ? from[i].depth : depth;
	if (depth == MLIR_MAX_DEPTH)
		mlir_error(p, loc, "nested too deeply");
	const struct mlir_attr *item = mlir_attrs_take(p, n);
	mlir_attr_push(
		p, (struct mlir_attr){
			   .kind = kind, .n = n, .loc = loc, .dialect = dialect, .item = item});
	top(p)->depth = depth + 1;
}

void
mlir_attr_key(struct mlir_parser *p, struct mlir_symbol *key, struct ir_loc loc)
{
	struct mlir_item *item = top(p);

	item->key = key;
	item->attr.name = mlir_symbol_name(p, key);
	item->loc = loc;
}

void
mlir_attr_number(struct mlir_parser *p, struct mlir_number_token n, struct ir_loc loc)
{
	mlir_attr_push(p,
		(struct mlir_attr){
			.kind = n.is_float ? MLIR_FLOAT : MLIR_INT, .loc = loc, .i = n.number.i});
}

void
mlir_attr_range(struct mlir_parser *p, uint32_t n, struct ir_loc loc)
{
	mlir_attr_group(p, MLIR_LIST, n, ":", loc);
}

void
mlir_attr_alias(struct mlir_parser *p, struct mlir_symbol *s, struct ir_loc loc)
{
	if (s->alias) {
		mlir_attr_push(p, *s->alias);
		top(p)->attr.loc = loc;
		top(p)->attr.name = NULL;
		return;
	}
	/* An attribute without parameters, or a location, which has no meaning here. */
	if (!memchr(s->text, '.', s->n) && strncmp(s->text, "#loc", 4) != 0)
		mlir_error(p, loc, "%.*s is not defined", (int)s->n, s->text);
	mlir_attr_push(
		p, (struct mlir_attr){
			   .kind = MLIR_OPAQUE, .loc = loc, .s = ir_name_n(p->ctx, s->text, s->n)});
}

void
mlir_attr_define(struct mlir_parser *p, struct mlir_symbol *s, struct ir_loc loc)
{
	if (s->alias)
		mlir_error(p, loc, "%.*s is already defined", (int)s->n, s->text);
	s->alias = mlir_attrs_take(p, 1);
}

/* All four lists of #stablehlo.dot<..>: those that are empty need not be written. */
static void
whole_dot(struct mlir_parser *p, struct mlir_attr *dot)
{
	static const char *const name[] = {"lhs_batching_dimensions", "rhs_batching_dimensions",
		"lhs_contracting_dimensions", "rhs_contracting_dimensions"};
	struct mlir_attr *item = ARENA_ARRAY(p->arena, struct mlir_attr, 4);

	for (int i = 0; i < 4; i++) {
		const struct mlir_attr *a = mlir_item_find(dot, name[i]);
		item[i] = a ? *a : mlir_make_list(p, name[i], NULL, 0, dot->loc);
	}
	dot->item = item;
	dot->n = 4;
}

void
mlir_attr_dialect(struct mlir_parser *p, struct mlir_symbol *s, struct ir_loc loc)
{
	const char *dialect = mlir_symbol_name(p, s);

	if (!strcmp(dialect, "sdy.mesh") && top(p)->attr.kind == MLIR_LIST)
		mlir_mesh_attr(p, 0, loc);
	struct mlir_attr *a = &top(p)->attr;
	if (!strcmp(dialect, "stablehlo.dot") && a->kind == MLIR_DICT)
		whole_dot(p, a);
	a->dialect = dialect;
	a->loc = loc;
}

/* `<a, b = 1>` is a dictionary; `<DEFAULT>`, one word, is that word. */
void
mlir_attr_entries(struct mlir_parser *p, uint32_t n, struct ir_loc loc)
{
	struct mlir_attr *a = &top(p)->attr;

	if (n == 1 && a->kind == MLIR_UNIT) {
		*a = (struct mlir_attr){.kind = MLIR_WORD, .loc = loc, .s = a->name};
		top(p)->key = NULL;
		return;
	}
	mlir_attr_group(p, MLIR_DICT, n, NULL, loc);
}

/* `<precision DEFAULT>` is DEFAULT; `<raw a = 1, b = 2>` a dictionary. */
void
mlir_attr_named(struct mlir_parser *p, struct mlir_symbol *word, uint32_t n, struct ir_loc loc)
{
	(void)word;
	mlir_attr_entries(p, n, loc);
}

static void
named_number(struct mlir_parser *p, const char *name, struct mlir_number_token n, struct ir_loc loc)
{
	mlir_attr_number(p, n, loc);
	top(p)->attr.name = ir_name(p->ctx, name);
}

/* "x"=2 in a mesh. */
void
mlir_axis_size(struct mlir_parser *p, struct mlir_symbol *name, struct ir_loc name_loc,
	struct mlir_number_token size, struct ir_loc loc)
{
	mlir_attr_symbol(p, MLIR_STRING, name, name_loc);
	top(p)->attr.name = ir_name(p->ctx, "name");
	named_number(p, "size", size, loc);
	mlir_attr_group(p, MLIR_DICT, 2, NULL, loc);
}

/* "x":(1)2, a part of an axis. */
void
mlir_axis_part(struct mlir_parser *p, struct mlir_symbol *name, struct ir_loc name_loc,
	struct mlir_number_token before, struct mlir_number_token size, struct ir_loc loc)
{
	mlir_attr_symbol(p, MLIR_STRING, name, name_loc);
	top(p)->attr.name = ir_name(p->ctx, "name");
	named_number(p, "pre_size", before, loc);
	named_number(p, "size", size, loc);
	mlir_attr_group(p, MLIR_DICT, 3, NULL, loc);
}

struct mlir_attr
mlir_make_list(struct mlir_parser *p, const char *name, const struct mlir_attr *item, uint32_t n,
	struct ir_loc loc)
{
	return (struct mlir_attr){
		.name = ir_name(p->ctx, name), .kind = MLIR_LIST, .n = n, .loc = loc, .item = item};
}

struct mlir_attr
mlir_make_int(struct mlir_parser *p, const char *name, int64_t i, struct ir_loc loc)
{
	return (struct mlir_attr){
		.name = name ? ir_name(p->ctx, name) : NULL, .kind = MLIR_INT, .loc = loc, .i = i};
}

/* One of the three lists of a convolution: two words, and numbers for the spatial dims. */
static void
conv_side(struct mlir_parser *p, const struct mlir_attr *list, const char *first,
	const char *first_name, const char *second, const char *second_name, const char *spatial)
{
	struct mlir_attr *space = ARENA_ARRAY(p->arena, struct mlir_attr, list->n + 1);
	int64_t at[2] = {-1, -1};
	uint32_t nspace = 0;
	bool ok = list->kind == MLIR_LIST;

	for (uint32_t i = 0; i < list->n; i++)
		space[i].i = -1;
	for (uint32_t i = 0; ok && i < list->n; i++) {
		const struct mlir_attr *a = &list->item[i];
		if (a->kind == MLIR_WORD && !strcmp(a->s, first) && at[0] < 0) {
			at[0] = i;
		} else if (a->kind == MLIR_WORD && !strcmp(a->s, second) && at[1] < 0) {
			at[1] = i;
		} else if (a->kind == MLIR_INT && a->i >= 0 && a->i < (int64_t)list->n &&
			   space[a->i].i < 0) {
			space[a->i] = mlir_make_int(p, NULL, i, a->loc);
			nspace++;
		} else {
			ok = false;
		}
	}
	for (uint32_t i = 0; i < nspace; i++)
		ok = ok && space[i].i >= 0;
	if (!ok || at[0] < 0 || at[1] < 0)
		mlir_error(p, list->loc,
			"expected %s, %s and the numbers of the spatial dims, each once", first,
			second);
	mlir_attr_push(p, mlir_make_int(p, first_name, at[0], list->loc));
	mlir_attr_push(p, mlir_make_int(p, second_name, at[1], list->loc));
	mlir_attr_push(p, mlir_make_list(p, spatial, space, nspace, list->loc));
}

void
mlir_attr_conv(struct mlir_parser *p, struct ir_loc loc)
{
	const struct mlir_attr *side = mlir_attrs_take(p, 3);

	conv_side(p, &side[0], "b", "input_batch_dimension", "f", "input_feature_dimension",
		"input_spatial_dimensions");
	conv_side(p, &side[1], "i", "kernel_input_feature_dimension", "o",
		"kernel_output_feature_dimension", "kernel_spatial_dimensions");
	conv_side(p, &side[2], "b", "output_batch_dimension", "f", "output_feature_dimension",
		"output_spatial_dimensions");
	mlir_attr_group(p, MLIR_DICT, 9, ir_name(p->ctx, "stablehlo.conv"), loc);
}
