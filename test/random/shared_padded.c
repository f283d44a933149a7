/* Random programs: padded rows. See gen_padded in generate.h. */
#include "test/random/generate.h"

/* The value, of floats between -1 and 1. */
static struct ir_value *
bounded_source(struct gen *g, enum ir_dtype dtype, int rank, const int64_t *dim)
{
	struct ir_value *v = gen_source(g, dtype, rank, dim).v;
	return gen_build(g, OP_tanh, 1, &v, 0, NULL);
}

static struct ir_value *
build2(struct gen *g, enum op_code code, struct ir_value *a, struct ir_value *b)
{
	return gen_build(g, code, 2, (struct ir_value *[]){a, b}, 0, NULL);
}

/* exp(v) / sum over the rows exp(v) */
static struct ir_value *
shares(struct gen *g, struct ir_value *v)
{
	const struct ir_attr over[] = {
		ir_make_ints(g->m, "dims", &(int64_t){1}, 1), ir_make_bool(g->ctx, "keep", true)};
	struct ir_value *e = gen_build(g, OP_exp, 1, &v, 0, NULL);
	return build2(g, OP_div, e, gen_build(g, OP_sum, 1, &e, 2, over));
}

/* Values between -1 and 1 of such values. */
static struct ir_value *
step(struct gen *g, struct ir_value *v, enum ir_dtype dtype, const int64_t *row)
{
	struct ir_value *a = NULL;

	switch (gen_below(g, 5)) {
	case 0: return gen_build(g, OP_neg, 1, &v, 0, NULL);
	case 1: return gen_build(g, OP_sigmoid, 1, &v, 0, NULL);
	case 2: return shares(g, v);
	case 3: return build2(g, OP_mul, v, v);
	default:
		a = build2(g, OP_add, v, bounded_source(g, dtype, 1, row));
		return gen_build(g, OP_tanh, 1, &a, 0, NULL);
	}
}

void
gen_padded(struct gen *g)
{
	static const enum ir_dtype types[] = {IR_f32, IR_f64, IR_bf16, IR_f16};
	static const int64_t rows[] = {65, 33, 131, 129}; /* of each type */
	const int k = gen_below(g, g->wide ? 2 : 4);
	const int64_t left[] = {1 + gen_below(g, 4), 2 + gen_below(g, 7)},
		      right[] = {left[1], rows[k]};
	const struct ir_attr spec = ir_make_string(g->ctx, "spec", "ab,cb->ac");
	struct ir_value *w = bounded_source(g, types[k], 2, right);
	struct ir_value *v = build2(g, OP_matmul, bounded_source(g, types[k], 2, left), w);

	v = gen_build(g, OP_tanh, 1, &v, 0, NULL);
	for (int n = 1 + gen_below(g, 3); n > 0; n--)
		v = step(g, v, types[k], &right[1]);
	v = gen_build(g, OP_contract, 2, (struct ir_value *[]){v, w}, 1, &spec);
	gen_add(g, (struct pooled){.v = gen_build(g, OP_tanh, 1, &v, 0, NULL), .bound = 1});
}
