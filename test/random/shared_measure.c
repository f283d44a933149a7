/*
 * Random programs: how large the results of an op are, where it is defined, whether it has steps or
 * kinks. None of this is written down for any op: each is run by the interpreter, alone, on numbers
 * that show it. See generate.h.
 */
#include "ir/interp/interp.h"
#include "ir/ops/row.h"
#include "runtime/kernel/rng.h"
#include "test/random/generate.h"

#include <math.h>
#include <string.h>
#include <talloc.h>

/* --- one op in a module of its own --------------------------------------------------------------
 */

enum { MOST_OPERANDS = 8 };

struct bench {
	struct ir_module *m;
	struct interp *it;
	struct tensor *in[MOST_OPERANDS];
	int n, nresults;
	uint64_t random;
};

static const char *
numbered(struct ir_context *ctx, char letter, int i)
{
	const char text[] = {letter, (char)('0' + i), '\0'};
	return ir_name(ctx, text);
}

/* The op on inputs of those types; NULL if inference or the interpreter refuses it. */
static struct bench *
bench_create(struct ir_context *ctx, enum op_code code, const struct ir_type *const *type, int n,
	const struct ir_attr *attr, int nattrs, int nresults)
{
	struct bench *b = talloc_zero(NULL, struct bench);
	b->m = ir_module_create(b, ctx, "bench");
	b->n = n;
	b->nresults = nresults;
	struct ir_builder build = {
		.m = b->m, .block = &ir_func_create(b->m, "main", LOC_NONE)->body};
	struct ir_value *v[MOST_OPERANDS];
	for (int j = 0; j < n; j++) {
		v[j] = ir_build_typed(&build, OP_input, numbered(ctx, 'x', j), NULL, 0, NULL, 0,
			ir_type_meaning(ctx, type[j]));
		b->in[j] = tensor_create(
			b, (enum ir_dtype)type[j]->dtype, type[j]->rank, type[j]->dim);
	}
	struct ir_op *op = ir_op_create(b->m, code, LOC_NONE, v, n, attr, nattrs, nresults);
	op->symbol = op_is(op, TRAIT_KEYED) ? ir_name(ctx, "key") : NULL;
	bool fits = ir_infer(b->m, op, NULL);
	if (fits)
		ir_block_append(build.block, op);
	for (int r = 0; r < nresults && fits; r++) {
		struct ir_value *result = &op->result[r];
		struct ir_op *out = ir_op_create(b->m, OP_output, LOC_NONE, &result, 1, NULL, 0, 0);
		out->symbol = numbered(ctx, 'r', r);
		ir_block_append(build.block, out);
	}
	const struct interp_options o = {.mode = INTERP_MEANING, .f64 = true};
	b->it = fits ? interp_create(b, b->m, &o) : NULL;
	if (b->it)
		return b;
	talloc_free(b);
	return NULL;
}

static bool
bench_run(struct bench *b)
{
	for (int j = 0; j < b->n; j++)
		if (!interp_set_input(b->it, numbered(b->m->ctx, 'x', j), b->in[j]))
			return false;
	return interp_step(b->it, 0);
}

static const struct tensor *
bench_result(const struct bench *b, int r)
{
	return interp_output(b->it, numbered(b->m->ctx, 'r', r));
}

/* -1 to 1 */
static double
bench_random(struct bench *b)
{
	return (double)(rt_mix64(++b->random) >> 11) * 0x1p-52 - 1;
}

static void
set_element(struct tensor *t, int64_t i, double x)
{
	switch (ir_dtype_class(t->dtype)) {
	case IR_FLOAT: t->data[i].f = x; break;
	case IR_BOOL: t->data[i].i = x > 0; break;
	case IR_UINT: t->data[i].i = (int64_t)fabs(x); break;
	default: t->data[i].i = (int64_t)x;
	}
}

/* --- the size of results ------------------------------------------------------------------------
 */

/* The largest |result|; infinity where one is not finite. */
static double
largest_result(const struct bench *b)
{
	double most = 0;
	for (int r = 0; r < b->nresults; r++) {
		const struct tensor *t = bench_result(b, r);
		const bool isfloat = ir_dtype_class(t->dtype) == IR_FLOAT;
		for (int64_t i = 0; i < tensor_elements(t); i++) {
			const double x = isfloat ? t->data[i].f : (double)t->data[i].i;
			if (!isfinite(x))
				return INFINITY;
			most = fmax(most, fabs(x));
		}
	}
	return most;
}

/* Operands all at the bound; with alternating signs; random. */
enum { SAMPLES = 4 };

static double
sampled(struct bench *b, int sample, int operand, const struct pooled *p)
{
	const double low = p->low > 0 ? p->low : -p->bound;
	switch (sample) {
	case 0: return p->bound;
	case 1: return operand & 1 ? low : p->bound;
	default: return low + (p->bound - low) * (bench_random(b) + 1) / 2;
	}
}

double
gen_measure(struct ir_context *ctx, const struct ir_op *op, const struct pooled *in)
{
	const struct ir_type *type[MOST_OPERANDS];
	double most = 0;
	if (op->noperands > MOST_OPERANDS)
		return INFINITY;
	for (int j = 0; j < op->noperands; j++)
		type[j] = ir_operand((struct ir_op *)op, j)->type;
	struct bench *b = bench_create(ctx, (enum op_code)op->code, type, op->noperands, op->attr,
		op->nattrs, op->nresults);
	for (int s = 0; b && s < SAMPLES; s++) {
		for (int j = 0; j < b->n; j++)
			for (int64_t i = 0; i < tensor_elements(b->in[j]); i++) {
				set_element(b->in[j], i, sampled(b, s, j, &in[j]));
			}
		if (!bench_run(b))
			most = INFINITY;
		else
			most = fmax(most, largest_result(b));
	}
	const bool known = b;
	talloc_free(b);
	return known ? most : INFINITY;
}

bool
gen_has_kink(struct ir_context *ctx, const struct ir_op *op)
{
	static const double h = 1e-3;
	const struct ir_type *type[MOST_OPERANDS];
	double bend = 0;
	if (op->noperands > MOST_OPERANDS)
		return true;
	for (int j = 0; j < op->noperands; j++)
		type[j] = ir_operand((struct ir_op *)op, j)->type;
	struct bench *b = bench_create(ctx, (enum op_code)op->code, type, op->noperands, op->attr,
		op->nattrs, op->nresults);
	if (!b)
		return true;
	/* If all are equal, ops that select elements switch between them: the second difference is
	 * then of first order, not of second. */
	double *sum = NULL;
	int64_t n = 0;
	for (int way = -1; way <= 1; way += 2) {
		b->random = 0;
		for (int j = 0; j < b->n; j++)
			for (int64_t i = 0; i < tensor_elements(b->in[j]); i++)
				set_element(b->in[j], i, 0.5 + way * h * bench_random(b));
		if (!bench_run(b)) {
			talloc_free(b);
			return true;
		}
		const struct tensor *r = bench_result(b, 0);
		n = tensor_elements(r);
		if (!sum)
			sum = talloc_zero_array(b, double, (size_t)n);
		for (int64_t i = 0; i < n; i++)
			sum[i] += r->data[i].f / 2;
	}
	for (int j = 0; j < b->n; j++)
		for (int64_t i = 0; i < tensor_elements(b->in[j]); i++)
			set_element(b->in[j], i, 0.5);
	if (bench_run(b))
		for (int64_t i = 0; i < n; i++)
			bend = fmax(bend, fabs(sum[i] - bench_result(b, 0)->data[i].f));
	talloc_free(b);
	return bend > 20 * h * h;
}

/* --- pointwise ops ------------------------------------------------------------------------------
 */

enum {
	LINE = 256,      /* points at which an op is evaluated */
	BISECTIONS = 26, /* from 16 / LINE down to 1e-9 */
};

static const struct {
	double low, high;
} ranges[] = {[GEN_ANY] = {-8, 8},
	[GEN_UNIT] = {-1, 1},
	[GEN_HALF] = {-0.5, 0.5},
	[GEN_POSITIVE] = {0.36, 2.72},
	[GEN_ABOVE] = {1.86, 4.22}};

/* A point of the range; the first half of the line is evenly spaced, so that poles are met. */
static double
point(struct bench *b, enum gen_range r, int i)
{
	const double u = i < LINE / 2 ? (i + 0.5) / (LINE / 2) : bench_random(b) / 2 + 0.5;
	return ranges[r].low + (ranges[r].high - ranges[r].low) * u;
}

/* Sets operands at the points and stores the results there in y. */
static bool
line(struct bench *b, double x[][LINE], double *y)
{
	for (int j = 0; j < b->n; j++)
		for (int i = 0; i < LINE; i++)
			set_element(b->in[j], i, x[j][i]);
	if (!bench_run(b))
		return false;
	const struct tensor *r = bench_result(b, 0);
	const bool isfloat = ir_dtype_class(r->dtype) == IR_FLOAT;
	for (int i = 0; i < LINE; i++)
		y[i] = isfloat ? r->data[i].f : (double)r->data[i].i;
	return true;
}

/* Bounded and without steep places: does the op fit any values, or only small ones? */
static bool
is_tame(struct bench *b, const enum gen_range *range)
{
	static const double h = 1e-6;
	double x[MOST_OPERANDS][LINE], y[LINE], z[LINE];
	b->random = 0;
	for (int j = 0; j < b->n; j++)
		for (int i = 0; i < LINE; i++)
			/* the last operand runs the other way, the others at random */
			x[j][i] = point(b, range[j], (i * (2 * j + 1)) % LINE);
	if (!line(b, x, y))
		return false;
	for (int i = 0; i < LINE; i++) {
		double sum = 3;
		for (int j = 0; j < b->n; j++)
			sum += fabs(x[j][i]);
		if (!isfinite(y[i]) || fabs(y[i]) > 3 * sum)
			return false;
	}
	for (int j = 0; j < b->n; j++) {
		for (int i = 0; i < LINE; i++)
			x[j][i] += h;
		if (!line(b, x, z))
			return false;
		for (int i = 0; i < LINE; i++) {
			x[j][i] -= h;
			if (!(fabs(z[i] - y[i]) < 10 * h) && fabs(z[i] - y[i]) < 0.1)
				return false;
		}
	}
	return true;
}

/* A jump between two adjacent points that does not get smaller as they approach each other. */
static bool
has_jump(struct bench *b, const enum gen_range *range, int operand)
{
	double low[MOST_OPERANDS][LINE], high[MOST_OPERANDS][LINE], mid[MOST_OPERANDS][LINE];
	double at_low[LINE], at_high[LINE], at_mid[LINE];
	b->random = 7;
	for (int j = 0; j < b->n; j++)
		for (int i = 0; i < LINE; i++) {
			low[j][i] = high[j][i] = point(b, range[j], LINE - 1);
			if (j == operand) {
				const double width = ranges[range[j]].high - ranges[range[j]].low;
				low[j][i] = ranges[range[j]].low + width * i / LINE;
				high[j][i] = low[j][i] + width / LINE;
			}
		}
	if (!line(b, low, at_low) || !line(b, high, at_high))
		return true;
	for (int k = 0; k < BISECTIONS; k++) {
		memcpy(mid, low, sizeof mid);
		for (int i = 0; i < LINE; i++)
			mid[operand][i] = (low[operand][i] + high[operand][i]) / 2;
		if (!line(b, mid, at_mid))
			return true;
		for (int i = 0; i < LINE; i++)
			if (fabs(at_mid[i] - at_low[i]) > fabs(at_high[i] - at_mid[i])) {
				high[operand][i] = mid[operand][i];
				at_high[i] = at_mid[i];
			} else {
				low[operand][i] = mid[operand][i];
				at_low[i] = at_mid[i];
			}
	}
	for (int i = 0; i < LINE; i++)
		if (fabs(at_high[i] - at_low[i]) > 1e-4)
			return true;
	return false;
}

/* The same of the slope. */
static bool
has_bend(struct bench *b, const enum gen_range *range, int operand)
{
	static const double h = 1e-4;
	double x[MOST_OPERANDS][LINE], y[3][LINE];
	b->random = 7;
	const double low = ranges[range[operand]].low, high = ranges[range[operand]].high;
	/* around every quarter, where bends are: 0, 1, -0.5 ...; and where operands are equal */
	for (int k = 0; k < 3; k++) {
		for (int i = 0; i < LINE; i++) {
			const double at =
				ceil(low * 4) / 4 + fmin(i / 2 * 0.25, floor((high - low) * 4) / 4);
			for (int j = 0; k == 0 && j < b->n; j++)
				x[j][i] = i & 1 ? point(b, range[j], LINE - 1) : at;
			x[operand][i] = at + (k - 1) * h;
		}
		if (!line(b, x, y[k]))
			return true;
	}
	for (int i = 0; i < LINE; i++)
		if (fabs(y[0][i] + y[2][i] - 2 * y[1][i]) > 100 * h * h)
			return true;
	return false;
}

/* Is there a place, in the range or outside, at which a small step has a large effect, or leaves
 * the domain? Those are at quarters: 0, 1, -1. */
static bool
is_steep(struct bench *b)
{
	static const double h = 1e-6;
	double x[MOST_OPERANDS][LINE], y[2][LINE];
	for (int k = 0; k < 2; k++) {
		for (int j = 0; j < b->n; j++)
			for (int i = 0; i < LINE; i++)
				x[j][i] = (i / 2 - LINE / 4) * 0.25 + (k ? 0 : i & 1 ? h : -h);
		if (!line(b, x, y[k]))
			return true;
	}
	for (int i = 0; i < LINE; i++)
		if (!(fabs(y[0][i] - y[1][i]) < 100 * h * (1 + fabs(y[1][i]))))
			return true;
	return false;
}

/* Finds the ranges of operands, tried in this order: the first in which the op is tame. */
static const enum gen_range choices[][3] = {
	{GEN_ANY, GEN_ANY, GEN_ANY},
	{GEN_UNIT, GEN_UNIT, GEN_UNIT},
	{GEN_ANY, GEN_POSITIVE, GEN_ANY},
	{GEN_POSITIVE, GEN_ANY, GEN_ANY},
	{GEN_UNIT, GEN_POSITIVE, GEN_UNIT},
	{GEN_POSITIVE, GEN_UNIT, GEN_UNIT},
	{GEN_POSITIVE, GEN_POSITIVE, GEN_POSITIVE},
	{GEN_HALF, GEN_HALF, GEN_HALF},
	{GEN_ABOVE, GEN_ABOVE, GEN_ABOVE},
};

struct gen_domain
gen_probe(struct ir_context *ctx, enum op_code code, const struct ir_attr *attr, int nattrs)
{
	const struct ir_row *row = &ctx->row[code];
	struct gen_domain s = {.defined = true};
	const struct ir_type *type[MOST_OPERANDS];
	bool floats = false;
	for (int j = 0; j < row->noperands; j++) {
		const bool isfloat = strchr("NFT", row->operand_types[j]);
		struct ir_type t = {.rank = 1, .dim = {LINE}};
		t.dtype = isfloat ? IR_f64 : row->operand_types[j] == 'b' ? IR_bool : IR_i32;
		type[j] = ir_type_intern(ctx, &t);
		floats = floats || isfloat;
	}
	if (!floats)
		return s;
	struct bench *b = bench_create(ctx, code, type, row->noperands, attr, nattrs, 1);
	size_t c = 0;
	const size_t n = sizeof choices / sizeof *choices;
	while (b && c < n && !is_tame(b, choices[c]))
		c++;
	s.defined = b && c < n;
	if (s.defined)
		memcpy(s.range, choices[c], sizeof s.range);
	for (int j = 0; s.defined && j < row->noperands; j++)
		if (strchr("NFT", row->operand_types[j])) {
			s.steps = s.steps || has_jump(b, s.range, j);
			s.bends = s.bends || has_bend(b, s.range, j);
		}
	s.steep = s.defined && is_steep(b);
	talloc_free(b);
	return s;
}
