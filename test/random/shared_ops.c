/* Random programs: the ops of the table. See generate.h. */
#include "test/random/generate.h"
#include "ir/row.h"

#include <stdio.h>
#include <string.h>

/* No element grows beyond: of a sum of such f64 leaves ten digits, f32 five. */
static double
largest(const struct gen *g)
{
	return g->wide ? 100 : 1e6;
}

/* --- operands that keep results bounded ---------------------------------------------------------
 */

static bool
is_float(const struct ir_value *v)
{
	return ir_dtype_class((enum ir_dtype)v->type->dtype) == IR_FLOAT;
}

/* tanh of a float, so that it is below 1; the value itself where inference does not allow that. */
static struct pooled
tamed(struct gen *g, struct pooled p)
{
	if (!is_float(p.v) || p.bound <= 1)
		return p;
	struct ir_value *r = gen_build(g, OP_tanh, 1, &p.v, 0, NULL);
	return r ? (struct pooled){r, 1, p.exact} : (struct pooled){0};
}

/* exp(tanh(x)), which is between 1/e and e. */
static struct pooled
positive(struct gen *g, struct pooled p)
{
	p = tamed(g, p);
	return p.v ? (struct pooled){gen_build(g, OP_exp, 1, &p.v, 0, NULL), 2.72, p.exact} : p;
}

/* Sets of ops; the others take any operand. */
static bool
needs_positive(enum op_code code, int operand)
{
	return code == OP_log || code == OP_sqrt || code == OP_rsqrt || code == OP_log2 ||
	       code == OP_log1p || code == OP_cbrt || (code == OP_pow && operand == 0) ||
	       (code == OP_div && operand == 1);
}

static bool
grows_linearly(enum op_code code)
{
	static const enum op_code list[] = {OP_add, OP_sub, OP_mul, OP_maximum, OP_minimum,
		OP_select, OP_neg, OP_abs, OP_relu, OP_stop_gradient};
	for (size_t i = 0; i < sizeof list / sizeof list[0]; i++)
		if (code == list[i])
			return true;
	return false;
}

/* They lose all digits at the ends of their domain, or a result has no bound. */
static bool
needs_care(enum op_code code)
{
	return code == OP_asin || code == OP_acos || code == OP_acosh || code == OP_atanh ||
	       code == OP_atan2 || code == OP_shift_left;
}

/* They jump themselves: a rounding before is a whole number behind. */
static bool
has_steps(const struct ir_row *row, enum op_code code)
{
	static const enum op_code list[] = {OP_floor, OP_ceil, OP_round, OP_trunc, OP_sign, OP_rem};
	for (size_t i = 0; i < sizeof list / sizeof list[0]; i++)
		if (code == list[i])
			return true;
	return strcmp(row->result_type, "b") == 0;
}

/* Their derivative jumps where an operand is 0, or where two are equal. */
static bool
has_kink(enum op_code code)
{
	return code == OP_abs || code == OP_relu || code == OP_maximum || code == OP_minimum ||
	       code == OP_max || code == OP_min;
}

static double
bound_of(enum op_code code, const struct pooled *in, int n)
{
	double sum = 0, product = 1;
	for (int i = 0; i < n; i++) {
		sum += in[i].bound;
		product *= in[i].bound;
	}
	if (code == OP_mul || code == OP_matmul || code == OP_contract)
		return product;
	return grows_linearly(code) ? sum : 3 * sum + 3;
}

static bool
all_exact(const struct pooled *in, int n)
{
	for (int i = 0; i < n; i++)
		if (!in[i].exact)
			return false;
	return true;
}

/* May the op have steps? On partial values inference must refuse it anyway. */
static bool
may_step(const struct gen *g, const struct pooled *in, int n)
{
	for (int i = 0; i < n; i++)
		if (gen_is_partial(g, in[i].v))
			return true;
	return all_exact(in, n);
}

/* Sums round: what a float is summed over is not the same to the bit in every layout. */
static bool
sums(struct gen *g, const struct ir_value *r)
{
	if (!is_float(r))
		return false;
	for (int x = 0; x < g->m->naxes; x++)
		if (r->type->axis[x].kind == IR_PARTIAL)
			return true;
	const struct pattern *p = g->ctx->row[r->op->code].pattern;
	return !p || (p->reduce && r->op->code != OP_max && r->op->code != OP_min);
}

static void
finish(struct gen *g, struct ir_value *r, const struct pooled *in, int n, double times)
{
	if (!r)
		return;
	gen_add(g, (struct pooled){r, bound_of((enum op_code)r->op->code, in, n) * times,
			   all_exact(in, n) && !sums(g, r) && !(g->wide && is_float(r))});
}

/* --- pointwise ops ------------------------------------------------------------------------------
 */

static bool
only_dots(const struct pattern_side *s)
{
	return s->nitems == 1 && s->item[0].name == '.' && !s->item[0].how;
}

static bool
is_pointwise(const struct ir_row *row)
{
	if (!row->pattern || (row->traits & PARALLEL) || row->noperands < 1 ||
		row->pattern->reduce || row->nattrs)
		return false;
	for (int j = 0; j < row->noperands; j++)
		if (!only_dots(&row->pattern->in[j]))
			return false;
	return only_dots(&row->pattern->out);
}

/* A shape that broadcasts with another: leading dims gone, some dims 1. */
static int
broadcasting_shape(struct gen *g, const struct ir_type *t, int64_t *dim)
{
	const int skip = gen_chance(g, 25) ? gen_below(g, t->rank + 1) : 0;
	for (int d = skip; d < t->rank; d++)
		dim[d - skip] = gen_chance(g, 10) ? 1 : t->dim[d];
	return t->rank - skip;
}

/* Another operand for a pointwise op: a pooled value of a shape that may fit, or a new source. */
static struct pooled
partner(struct gen *g, char letter, const struct ir_value *first)
{
	const int from = gen_below(g, g->npool), how = gen_below(g, 100);
	for (int i = 0; i < g->npool && how < 70 && letter != 'b'; i++) {
		const struct pooled p = g->pool[(from + i) % g->npool];
		if (how < 50 ? p.v->type == first->type
			     : p.v->type->dtype == first->type->dtype &&
					p.v->type->rank == first->type->rank)
			return p;
	}
	int64_t dim[IR_MAX_RANK];
	int of[IR_MAX_RANK];
	const int rank = broadcasting_shape(g, first->type, dim);
	for (int d = 0; d < rank; d++)
		of[d] = d + first->type->rank - rank;
	if (letter == 'b' || first->type->dtype == IR_bool)
		return gen_source(g, letter == 'b' || letter == 'L' ? IR_bool : IR_f32, rank, dim);
	return gen_matching(g, rank, dim, first->type, of);
}

static bool
compares(const struct ir_row *row)
{
	return strcmp(row->result_type, "b") == 0;
}

static void
pointwise(struct gen *g, enum op_code code)
{
	const struct ir_row *row = &g->ctx->row[code];
	struct pooled in[3];
	struct ir_value *v[3];
	if (needs_care(code))
		return;
	for (int j = 0; j < row->noperands; j++) {
		const char letter = row->operand_types[j];
		in[j] = j ? partner(g, letter, in[j - 1].v) : gen_operand(g, letter);
		if (needs_positive(code, j) && is_float(in[j].v))
			in[j] = positive(g, in[j]);
		else if (!grows_linearly(code) && !compares(row) && code != OP_div)
			in[j] = tamed(g, in[j]);
		if (!(v[j] = in[j].v))
			return;
	}
	if (bound_of(code, in, row->noperands) > largest(g) ||
		(has_steps(row, code) && !may_step(g, in, row->noperands)))
		return;
	if (g->smooth && has_kink(code) && !all_exact(in, row->noperands))
		return;
	finish(g, gen_build(g, code, row->noperands, v, 0, NULL), in, row->noperands, 1);
}

/* --- the others ---------------------------------------------------------------------------------
 */

static void
try_convert(struct gen *g)
{
	const struct pooled p = gen_operand(g, 'T');
	const enum ir_dtype to = (enum ir_dtype)gen_below(g, IR_NDTYPES);
	if (g->wide && ir_dtype_class(to) == IR_FLOAT && to != IR_f32)
		return;
	const struct ir_attr attr = ir_make_dtype(g->ctx, "to", to);
	/* steps of a float that was rounded differently, and integers that do not fit, are not the
	 * same */
	if ((is_float(p.v) && ir_dtype_class(to) != IR_FLOAT && !may_step(g, &p, 1)) ||
		p.bound > 100)
		return;
	finish(g, gen_build(g, OP_convert, 1, &p.v, 1, &attr), &p, 1, 1);
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
	const double times = (double)t->dim[t->rank - 1];
	if (bound_of(OP_matmul, in, 2) * times < largest(g))
		finish(g, gen_build(g, OP_matmul, 2, v, 0, NULL), in, 2, times);
}

static void
append(char *s, char c)
{
	const size_t n = strlen(s);
	s[n] = c;
	s[n + 1] = '\0';
}

/* Letters of the first operand in order; of the second some of those and a new one, shuffled; of
 * the result some of all. */
static void
try_contract(struct gen *g)
{
	struct pooled in[2] = {gen_operand(g, 'N')};
	const struct ir_type *t = in[0].v->type;
	char a[16] = "", b[16] = "", out[16] = "", spec[64];
	int64_t dim[IR_MAX_RANK];
	int rank = 0, of[IR_MAX_RANK];
	double times = 1;
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
	else
		times *= (double)dim[rank - 1];
	for (int d = 0; d < t->rank; d++)
		if (gen_chance(g, 50))
			append(out, (char)('a' + d));
		else
			times *= (double)t->dim[d];
	snprintf(spec, sizeof spec, "%s,%s->%s", a, b, out);
	in[1] = gen_matching(g, rank, dim, t, of);
	struct ir_value *v[] = {in[0].v, in[1].v};
	const struct ir_attr attr = ir_make_string(g->ctx, "spec", spec);
	if (bound_of(OP_contract, in, 2) * times < largest(g))
		finish(g, gen_build(g, OP_contract, 2, v, 1, &attr), in, 2, times);
}

static void
try_reduction(struct gen *g, enum op_code code)
{
	const struct pooled p = gen_operand(g, code == OP_mean ? 'F' : 'N');
	struct ir_attr attr[2];
	int nattrs = 0, n = 0;
	int64_t dims[IR_MAX_RANK];
	for (int d = 0; d < p.v->type->rank; d++)
		if (gen_chance(g, 50))
			dims[n++] = gen_chance(g, 20) ? d - p.v->type->rank : d;
	if (n && gen_chance(g, 80))
		attr[nattrs++] = ir_make_ints(g->m, "dims", dims, n);
	if (gen_chance(g, 30))
		attr[nattrs++] = ir_make_bool(g->ctx, "keep", true);
	const double times = code == OP_sum ? (double)ir_type_elements(p.v->type) : 1;
	if (p.bound * times < largest(g) && !(g->smooth && has_kink(code) && !p.exact))
		finish(g, gen_build(g, code, 1, &p.v, nattrs, attr), &p, 1, times);
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
	finish(g, gen_build(g, OP_broadcast, 1, &p.v, 2, attr), &p, 1, 1);
}

static void
try_transpose(struct gen *g)
{
	const struct pooled p = gen_operand(g, 'T');
	int64_t perm[IR_MAX_RANK];
	for (int d = 0; d < p.v->type->rank; d++) {
		const int at = gen_below(g, d + 1);
		perm[d] = perm[at];
		perm[at] = d;
	}
	const struct ir_attr attr = ir_make_ints(g->m, "perm", perm, p.v->type->rank);
	finish(g, gen_build(g, OP_transpose, 1, &p.v, gen_chance(g, 80), &attr), &p, 1, 1);
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
	finish(g, gen_build(g, OP_reshape, 1, &p.v, 1, &attr), &p, 1, 1);
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
	int rank = code == OP_gather ? gen_shape(g, dim) : t->rank - 1;
	if (code == OP_pick)
		memcpy(dim, t->dim, sizeof *dim * (size_t)rank);
	in[1] = gen_indices(g, rank, dim, (int)t->dim[code == OP_gather ? 0 : rank]);
	struct ir_value *v[] = {in[0].v, in[1].v};
	finish(g, gen_build(g, code, 2, v, 0, NULL), in, 1, 1);
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
	const double times = code == OP_scatter_add ? (double)ir_type_elements(t) : 1;
	if (in[0].bound * times > largest(g))
		return;
	if (code == OP_one_hot)
		finish(g, gen_build(g, code, 1, &v[1], 2, attr), in + 1, 1, 1);
	else
		finish(g, gen_build(g, code, 2, v, 1, attr), in, 1, times);
}

/* --- choice -------------------------------------------------------------------------------------
 */

static void
try_op(struct gen *g, enum op_code code)
{
	switch (code) {
	case OP_convert: try_convert(g); return;
	case OP_matmul: try_matmul(g); return;
	case OP_contract: try_contract(g); return;
	case OP_sum:
	case OP_mean:
	case OP_max:
	case OP_min: try_reduction(g, code); return;
	case OP_broadcast: try_broadcast(g); return;
	case OP_transpose: try_transpose(g); return;
	case OP_reshape: try_reshape(g); return;
	case OP_gather:
	case OP_pick: try_lookup(g, code); return;
	case OP_scatter_add:
	case OP_put:
	case OP_one_hot: try_spread(g, code); return;
	default:
		if (is_pointwise(&g->ctx->row[code]))
			pointwise(g, code);
	}
}

void
gen_op(struct gen *g)
{
	enum op_code code = (enum op_code)gen_below(g, OP_NCODES);
	static const enum op_code frequent[] = {OP_matmul, OP_contract, OP_sum, OP_mean, OP_reshape,
		OP_add, OP_mul, OP_convert, OP_div, OP_matmul};
	if (gen_chance(g, 35))
		code = frequent[gen_below(g, 10)];
	/* most tries are refused: layouts do not fit */
	for (int i = 0, n = g->npool; i < 6 && g->npool == n; i++)
		try_op(g, code);
}
