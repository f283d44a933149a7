/* What becomes of an op with complex operands or results: complex.def. */
#include "parser/stablehlo/import/complex.h"

#include "ir/base/alloc.h"

#include <string.h>
#include <talloc.h>

/* Both parts of a new value take the place of the op's result. */
static void
give(struct complex *c, const struct mlir_op *op, struct mlir_value *re, struct mlir_value *im)
{
	complex_set(c, &op->result[0], re, im);
}

static struct complex_parts
operand(const struct complex *c, const struct mlir_op *op, uint32_t i)
{
	return complex_get(c, op->operand[i]);
}

static bool
takes(const struct mlir_op *op, uint32_t noperands)
{
	return op->noperands == noperands && op->nresults == 1;
}

/* --- parts --- */

static void
join(struct complex *c, struct mlir_op *op)
{
	const struct mlir_type *t = complex_part_type(c, op->result[0].type);

	if (!takes(op, 2) || !import_same_type(op->operand[0]->type, t) ||
		!import_same_type(op->operand[1]->type, t))
		complex_refuse(c, op);
	else
		give(c, op, operand(c, op, 0).part[0], operand(c, op, 1).part[0]);
}

static void
take_part(struct complex *c, struct mlir_op *op, int part)
{
	if (!takes(op, 1) ||
		!import_same_type(op->result[0].type, complex_part_type(c, op->operand[0]->type))) {
		complex_refuse(c, op);
		return;
	}
	struct mlir_value *v = operand(c, op, 0).part[part];
	give(c, op, v, v);
}

static void
take_real(struct complex *c, struct mlir_op *op)
{
	take_part(c, op, 0);
}

static void
take_imag(struct complex *c, struct mlir_op *op)
{
	take_part(c, op, 1);
}

static void
conjugate(struct complex *c, struct mlir_op *op)
{
	if (!takes(op, 1) || !import_same_type(op->operand[0]->type, op->result[0].type)) {
		complex_refuse(c, op);
		return;
	}
	const struct complex_parts p = operand(c, op, 0);
	give(c, op, p.part[0],
		complex_new(c, op, "stablehlo.negate", &p.part[1], 1, p.part[1]->type));
}

/* Zeros of the type of v, whose sizes may be open. */
static struct mlir_value *
zeros(struct complex *c, const struct mlir_op *op, struct mlir_value *v)
{
	const bool open = !import_is_static(v->type);
	struct mlir_value *zero = complex_new(
		c, op, open ? "chlo.constant_like" : "stablehlo.constant", &v, open, v->type);
	struct mlir_attr *a = ARENA_NEW(c->im->arena, struct mlir_attr);

	*a = (struct mlir_attr){
		.name = ir_name(c->im->module->ctx, "value"), .kind = MLIR_FLOAT, .loc = op->loc};
	if (!open) {
		struct mlir_dense *d = ARENA_NEW(c->im->arena, struct mlir_dense);
		*d = (struct mlir_dense){.type = v->type,
			.splat = true,
			.n = 1,
			.is_float = true,
			.number = ARENA_NEW(c->im->arena, union mlir_number)};
		a->kind = MLIR_DENSE;
		a->dense = d;
	}
	zero->op->attr = a;
	zero->op->nattrs = 1;
	return zero;
}

/* The op gives the real part; the imaginary part is 0. */
static void
real_only(struct complex *c, struct mlir_op *op)
{
	struct mlir_op *re = complex_copy(c, op, COMPLEX_RE);

	give(c, op, re->result, zeros(c, op, re->result));
}

static void
each(struct complex *c, struct mlir_op *op)
{
	const struct mlir_op *re = complex_copy(c, op, COMPLEX_RE),
			     *im = complex_copy(c, op, COMPLEX_IM);

	for (uint32_t i = 0; i < op->nresults; i++)
		complex_set(c, &op->result[i], &re->result[i],
			complex_is(op->result[i].type) ? &im->result[i] : &re->result[i]);
}

static void
first_part(struct complex *c, struct mlir_op *op)
{
	const struct mlir_op *re = complex_copy(c, op, COMPLEX_RE);

	for (uint32_t i = 0; i < op->nresults; i++)
		complex_set(c, &op->result[i], &re->result[i], &re->result[i]);
}

static void
convert(struct complex *c, struct mlir_op *op)
{
	if (!takes(op, 1))
		complex_refuse(c, op);
	else if (!complex_is(op->operand[0]->type))
		real_only(c, op);
	else if (complex_is(op->result[0].type))
		each(c, op);
	else
		first_part(c, op);
}

/* --- truth values of both parts --- */

static void
combine(struct complex *c, struct mlir_op *op, const char *name)
{
	struct mlir_value *v[2];

	v[0] = complex_copy(c, op, COMPLEX_RE)->result;
	v[1] = complex_copy(c, op, COMPLEX_IM)->result;
	v[0] = complex_new(c, op, name, v, 2, op->result[0].type);
	give(c, op, v[0], v[0]);
}

static void
all_parts(struct complex *c, struct mlir_op *op)
{
	if (takes(op, 1))
		combine(c, op, "stablehlo.and");
	else
		complex_refuse(c, op);
}

static void
compare(struct complex *c, struct mlir_op *op)
{
	const struct mlir_attr *a = mlir_attr_find(op, "comparison_direction");
	const char *how = a && a->kind == MLIR_WORD ? a->s : "";

	if (takes(op, 2) && !strcmp(how, "EQ"))
		combine(c, op, "stablehlo.and");
	else if (takes(op, 2) && !strcmp(how, "NE"))
		combine(c, op, "stablehlo.or");
	else
		complex_refuse(c, op);
}

/* --- products --- */

/* An op that is linear in operands 0 and 1. */
static void
product(struct complex *c, struct mlir_op *op)
{
	enum { RE_RE, IM_IM, RE_IM, IM_RE, N };
	/* bit i: the imaginary part of operand i */
	static const uint32_t mask[N] = {[RE_RE] = 0, [IM_IM] = 3, [RE_IM] = 2, [IM_RE] = 1};
	const struct mlir_type *t = complex_part_type(c, op->result[0].type);
	struct mlir_value *v[N];

	if (op->nresults != 1 || op->noperands < 2 || t == op->result[0].type ||
		!complex_is(op->operand[0]->type) || !complex_is(op->operand[1]->type)) {
		complex_refuse(c, op);
		return;
	}
	for (int i = 0; i < N; i++)
		v[i] = complex_copy(c, op, mask[i])->result;
	struct mlir_value *re = complex_new(c, op, "stablehlo.subtract", &v[RE_RE], 2, t);
	give(c, op, re, complex_new(c, op, "stablehlo.add", &v[RE_IM], 2, t));
}

/* --- regions --- */

/* Is the region, if there is one, the same for both parts? */
static bool
same_for_parts(const struct mlir_op *op)
{
	if (!op->nregions)
		return true;
	const enum import_monoid m = import_region_monoid(&op->region[0]);
	return op->nregions == 1 && (m == MONOID_ADD || m == MONOID_SECOND);
}

static void
each_or_refuse(struct complex *c, struct mlir_op *op)
{
	if (same_for_parts(op))
		each(c, op);
	else
		complex_refuse(c, op);
}

static void
fold(struct complex *c, struct mlir_op *op)
{
	if (same_for_parts(op))
		each(c, op);
	else
		complex_through(c, op);
}

/*
 * The comparator of a sort has the arguments a, b for each operand: a.re, b.re, a.im, b.im for a
 * complex one.
 */
static void
sort(struct complex *c, struct mlir_op *op)
{
	struct mlir_block *b = op->nregions == 1 ? &op->region[0] : NULL;
	const struct mlir_value *old = b ? b->arg : NULL;
	const uint32_t n = b ? b->nargs : 0;

	if (b)
		b->arg = complex_expand(c, b->arg, n, &b->nargs);
	for (uint32_t i = 0; i + 1 < n; i += 2) {
		if (!complex_is(old[i].type) || !complex_is(old[i + 1].type))
			continue;
		struct mlir_value *v = complex_get(c, &old[i]).part[0], im = v[1];
		v[1] = v[2];
		v[2] = im;
		complex_set(c, &old[i], &v[0], &v[2]);
		complex_set(c, &old[i + 1], &v[1], &v[3]);
	}
	complex_through(c, op);
}

/* --- other ops --- */

/* Checks compare parts; other targets know nothing of them. */
static void
custom_call(struct complex *c, struct mlir_op *op)
{
	const struct mlir_attr *a = mlir_attr_find(op, "call_target_name");

	if (a && a->kind == MLIR_STRING && !strncmp(a->s, "check.", strlen("check.")))
		each(c, op);
	else
		complex_refuse(c, op);
}

/* The row for the op on parts has a name of its own. */
static void
formula(struct complex *c, struct mlir_op *op)
{
	complex_through(c, op);
	char *name = TEXT(NULL, IMPORT_COMPLEX "%s", op->name);
	op->name = ir_name(c->im->module->ctx, name);
	talloc_free(name);
}

static const struct rule {
	const char *name;
	void (*run)(struct complex *c, struct mlir_op *op);
} rules[] = {
#define RULE(name, function) {name, function},
#define EACH(name) {name, each_or_refuse},
#define FOLD(name) {name, fold},
#define THROUGH(name) {name, complex_through},
#define FORMULA(name, function, operands, results) {name, formula},
#include "parser/stablehlo/import/complex.def"
#undef RULE
#undef EACH
#undef FOLD
#undef THROUGH
#undef FORMULA
};

void
complex_by_rule(struct complex *c, struct mlir_op *op)
{
	if (!c->rules) {
		c->rules = ptr_map_create(c->im->missing);
		for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
			ptr_map_set(
				c->rules, ir_name(c->im->module->ctx, rules[i].name), &rules[i]);
	}
	const struct rule *rule = ptr_map_get(c->rules, op->name);
	if (rule)
		rule->run(c, op);
	else
		complex_refuse(c, op);
}
