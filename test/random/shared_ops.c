/* Random programs: ops whose operands must fit together in ways that random guesses seldom do. See
 * generate.h. */
#include "test/random/generate.h"

#include <stdio.h>
#include <string.h>

static void
try_convert(struct gen *g)
{
	const struct pooled p = gen_operand(g, 'T');
	const enum ir_dtype to = (enum ir_dtype)gen_below(g, IR_NDTYPES);
	if (g->wide && ir_dtype_class(to) == IR_FLOAT && to != IR_f32)
		return;
	const struct ir_attr attr = ir_make_dtype(g->ctx, "to", to);
	if (p.bound <= 100) /* integers that do not fit differ between layouts */
		gen_finish(g, gen_build(g, OP_convert, 1, &p.v, 1, &attr), &p);
}

static void
try_matmul(struct gen *g)
{
	struct pooled in[2] = {gen_operand(g, 'N')};
	const struct ir_type *t = in[0].v->type;
	if (t->rank < 2)
		return;
	int64_t dim[IR_MAX_RANK] = {0};
	int rank = 0, of[IR_MAX_RANK];
	if (gen_chance(g, 30))
		while (rank < t->rank - 2) {
			dim[rank] = gen_chance(g, 20) ? 1 : t->dim[rank];
			of[rank] = rank;
			rank++;
		}
	of[rank] = t->rank - 1;
	dim[rank++] = t->dim[t->rank - 1];
	of[rank] = -1;
	dim[rank++] = 1 + gen_below(g, 8);
	in[1] = gen_matching(g, rank, dim, t, of);
	struct ir_value *v[] = {in[0].v, in[1].v};
	gen_finish(g, gen_build(g, OP_matmul, 2, v, 0, NULL), in);
}

static void
append(char *s, char c)
{
	const size_t n = strlen(s);
	s[n] = c;
	s[n + 1] = '\0';
}

/* Letters: of the first operand in order; of the second some of those and a new one, shuffled; of
 * the result some of all. */
static void
try_contract(struct gen *g)
{
	struct pooled in[2] = {gen_operand(g, 'N')};
	const struct ir_type *t = in[0].v->type;
	char a[16] = "", b[16] = "", out[16] = "", spec[64];
	int64_t dim[IR_MAX_RANK];
	int rank = 0, of[IR_MAX_RANK];
	for (int d = t->rank - 1; d >= 0; d--) {
		if (!gen_chance(g, 60))
			continue;
		of[rank] = d;
		dim[rank++] = t->dim[d];
		append(b, (char)('a' + d));
	}
	of[rank] = -1;
	dim[rank++] = 1 + gen_below(g, 6);
	append(b, 'z');
	for (int d = 0; d < t->rank; d++)
		append(a, (char)('a' + d));
	if (gen_chance(g, 70))
		append(out, 'z');
	for (int d = 0; d < t->rank; d++)
		if (gen_chance(g, 50))
			append(out, (char)('a' + d));
	snprintf(spec, sizeof spec, "%s,%s->%s", a, b, out);
	in[1] = gen_matching(g, rank, dim, t, of);
	struct ir_value *v[] = {in[0].v, in[1].v};
	const struct ir_attr attr = ir_make_string(g->ctx, "spec", spec);
	gen_finish(g, gen_build(g, OP_contract, 2, v, 1, &attr), in);
}

static void
try_broadcast(struct gen *g)
{
	const struct pooled p = gen_operand(g, 'T');
	const struct ir_type *t = p.v->type;
	int64_t shape[IR_MAX_RANK], dims[IR_MAX_RANK];
	int rank = 0;
	for (int d = 0; d <= t->rank && rank < 5; d++) {
		if (gen_chance(g, 30))
			shape[rank++] = 2 + 2 * gen_below(g, 2);
		if (d == t->rank)
			break;
		dims[d] = rank;
		shape[rank++] = t->dim[d] == 1 && gen_chance(g, 50) ? 4 : t->dim[d];
	}
	const struct ir_attr attr[2] = {ir_make_ints(g->m, "shape", shape, rank),
		ir_make_ints(g->m, "dims", dims, t->rank)};
	gen_finish(g, gen_build(g, OP_broadcast, 1, &p.v, 2, attr), &p);
}

/* Merges the elements into a shape of random factors. */
static void
try_reshape(struct gen *g)
{
	const struct pooled p = gen_operand(g, 'T');
	int64_t left = ir_type_elements(p.v->type), shape[IR_MAX_RANK];
	int rank = 0;
	while (left > 1 && rank < 4) {
		int64_t f = 1 + gen_below(g, (int)left);
		while (left % f)
			f--;
		if (gen_chance(g, 50) && rank < p.v->type->rank && left % p.v->type->dim[rank] == 0)
			f = p.v->type->dim[rank];
		shape[rank++] = f;
		left /= f;
	}
	if (left > 1 || gen_chance(g, 20))
		shape[rank++] = left;
	const struct ir_attr attr = ir_make_ints(g->m, "shape", shape, rank);
	gen_finish(g, gen_build(g, OP_reshape, 1, &p.v, 1, &attr), &p);
}

/* gather, pick: a table and indices of one of its dims. */
static void
try_lookup(struct gen *g, enum op_code code)
{
	struct pooled in[2] = {gen_operand(g, 'N')};
	const struct ir_type *t = in[0].v->type;
	int64_t dim[IR_MAX_RANK];
	if (t->rank < 1)
		return;
	const int last = t->rank - 1;
	int rank = code == OP_gather ? gen_shape(g, dim) : last;
	if (code != OP_gather)
		memcpy(dim, t->dim, sizeof *dim * (size_t)last);
	in[1] = gen_indices(g, rank, dim, (int)t->dim[code == OP_gather ? 0 : last]);
	struct ir_value *v[] = {in[0].v, in[1].v};
	gen_finish(g, gen_build(g, code, 2, v, 0, NULL), in);
}

/* sort, topk: their values. Positions change if two elements are equal up to rounding. */
static void
try_order(struct gen *g, enum op_code code)
{
	const struct pooled p = gen_operand(g, 'N');
	const struct ir_type *t = p.v->type;
	if (t->rank < 1 || (g->smooth && !p.exact))
		return;
	const int dim = gen_below(g, t->rank);
	const struct ir_attr attr[2] = {ir_make_int(g->ctx, "dim", dim),
		code == OP_topk ? ir_make_int(g->ctx, "k", 1 + gen_below(g, (int)t->dim[dim]))
				: ir_make_bool(g->ctx, "descending", gen_chance(g, 50))};
	gen_finish(g, gen_build(g, code, 1, &p.v, 2, attr), &p);
}

/* scatter_add, put, one_hot: a new dim; it may be split as written. */
static void
try_spread(struct gen *g, enum op_code code)
{
	struct pooled in[2] = {gen_operand(g, 'N')};
	const struct ir_type *t = in[0].v->type;
	const int size = 2 + 2 * gen_below(g, 3);
	int rank = code == OP_scatter_add ? gen_below(g, t->rank + 1) : t->rank;
	in[1] = gen_indices(g, rank, t->dim, size);
	struct ir_value *v[] = {in[0].v, in[1].v};
	struct ir_attr attr[2] = {
		ir_make_int(g->ctx, "size", size), ir_make_dtype(g->ctx, "to", IR_f32)};
	if (code == OP_one_hot)
		gen_finish(g, gen_build(g, code, 1, &v[1], 2, attr), in + 1);
	else
		gen_finish(g, gen_build(g, code, 2, v, 1, attr), in);
}

/* Some values, followed by the same again. */
static void
try_barrier(struct gen *g)
{
	enum { MOST = 3 };
	struct pooled p[MOST];
	struct ir_value *v[MOST];
	const int n = 1 + gen_below(g, MOST);
	for (int i = 0; i < n; i++) {
		p[i] = gen_operand(g, 'T');
		v[i] = p[i].v;
	}
	struct ir_value *r = ir_build_barrier(&g->b, v, n);
	for (int i = 0; i < n; i++)
		gen_add(g, (struct pooled){&r[i], p[i].bound, p[i].low, p[i].exact});
}

/* --- choice -------------------------------------------------------------------------------------
 */

static void
try_op(struct gen *g, enum op_code code)
{
	if (g->body && !ir_body_allows(OP_while, code))
		return;
	switch (code) {
	case OP_convert: try_convert(g); return;
	case OP_matmul: try_matmul(g); return;
	case OP_contract: try_contract(g); return;
	case OP_broadcast: try_broadcast(g); return;
	case OP_reshape: try_reshape(g); return;
	case OP_gather:
	case OP_pick: try_lookup(g, code); return;
	case OP_barrier: try_barrier(g); return;
	case OP_while: gen_loop(g); return;
	case OP_sort:
	case OP_topk: try_order(g, code); return;
	case OP_scatter_add:
	case OP_put:
	case OP_one_hot: try_spread(g, code); return;
	default:
		if (gen_is_pointwise(&g->ctx->row[code]))
			gen_pointwise(g, code);
		else
			gen_row(g, code);
	}
}

void
gen_op(struct gen *g)
{
	enum op_code code = (enum op_code)gen_below(g, OP_NCODES);
	/* ops that make partial values, and ops that every model has */
	static const enum op_code frequent[] = {OP_matmul, OP_matmul, OP_contract, OP_contract,
		OP_sum, OP_sum, OP_mean, OP_reshape, OP_add, OP_mul, OP_convert, OP_div};
	enum { FREQUENT = sizeof frequent / sizeof *frequent };
	const int how = gen_below(g, 100);
	if (how < 35)
		code = frequent[gen_below(g, FREQUENT)];
	/* most attempts are refused: layouts do not fit */
	int tries = 6;
	if (how >= 90) {
		code = g->favourite;
		tries = 40;
	}
	/* The favourite is tried, with the sources that were made for it, until it is accepted. */
	enum { INSISTED = 8 };
	const struct ir_op *before = g->b.block->last;
	for (int i = 0, n = g->npool; i < tries; i++) {
		const struct ir_op *last = g->b.block->last;
		const bool made = last != before && last->code == code;
		if (made || (g->npool != n && (code != g->favourite || i >= INSISTED)))
			break;
		try_op(g, code);
	}
}
