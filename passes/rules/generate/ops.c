/*
 * Ops on small tensors over a prime field. Functions that are not polynomials are pseudo-random
 * tables that satisfy the laws to be found: relu and maximum compare the representatives of
 * numbers, tanh is odd. Layouts are inferred by the compiler, so there are no layout rules here.
 */
#include "passes/rules/generate/generate.h"

#include "ir/base/mix.h"
#include "ir/base/suggest.h"

#include <string.h>
#include <talloc.h>

/* --- the table ----------------------------------------------------------------------------------
 */

/* Name in .dir, kind, commutes, rank, element of x and y. */
#define GEN_ROWS(ROW)                                                                              \
	ROW(relu, GEN_UNARY, false, 0, x > GEN_P / 2 ? 0 : x + 0 * y)                              \
	ROW(neg, GEN_UNARY, false, 0, GEN_P - x + 0 * y)                                           \
	ROW(exp, GEN_UNARY, false, 0, mix64(x) + 0 * y)                                            \
	ROW(sigmoid, GEN_UNARY, false, 0, mix64(x + GEN_P) + 0 * y)                                \
	ROW(tanh, GEN_UNARY, false, 0, odd(x) + 0 * y)                                             \
	ROW(add, GEN_BINARY, true, 0, x + y)                                                       \
	ROW(sub, GEN_BINARY, false, 0, x + GEN_P - y)                                              \
	ROW(mul, GEN_BINARY, true, 0, x *y)                                                        \
	ROW(maximum, GEN_BINARY, true, 0, x > y ? x : y)                                           \
	ROW(matmul, GEN_MATMUL, false, 0, x *y)                                                    \
	ROW(contract, GEN_LINEAR, false, 3, x *y)                                                  \
	ROW(conv2d, GEN_CONV, false, 4, x *y)                                                      \
	ROW(concat, GEN_CONCAT, false, 0, x + 0 * y)                                               \
	ROW(slice, GEN_SLICE, false, 0, x + 0 * y)                                                 \
	ROW(transpose, GEN_TRANSPOSE, false, 0, x + 0 * y)                                         \
	ROW(partition, GEN_SPLITTING, false, 0, x + 0 * y)                                         \
	ROW(reducescatter, GEN_SPLITTING, false, 0, x + 0 * y)                                     \
	ROW(combine, GEN_ON_AXIS, false, 0, x + 0 * y)                                             \
	ROW(replicate, GEN_ON_AXIS, false, 0, x + 0 * y)                                           \
	ROW(reduce, GEN_ON_AXIS, false, 0, x + 0 * y)                                              \
	ROW(allreduce, GEN_ON_AXIS, false, 0, x + 0 * y)                                           \
	ROW(allgather, GEN_ON_AXIS, false, 0, x + 0 * y)

static uint64_t
odd(uint64_t x)
{
	if (x <= GEN_P / 2)
		return x ? mix64(x + 2 * GEN_P) % GEN_P : 0;
	return GEN_P - mix64(GEN_P - x + 2 * GEN_P) % GEN_P;
}

#define ROW_ELEMENT(name, kind, commutes, rank, value)                                             \
	static uint64_t element_##name(uint64_t x, uint64_t y)                                     \
	{                                                                                          \
		return (value) % GEN_P;                                                            \
	}
GEN_ROWS(ROW_ELEMENT)
#define ROW_ENTRY(name, kind, commutes, rank, value) {#name, kind, commutes, rank, element_##name},
static const struct gen_row gen_rows[] = {GEN_ROWS(ROW_ENTRY)};
enum { ROWS = sizeof gen_rows / sizeof *gen_rows };

int
gen_operands(const struct gen_op *op)
{
	const enum gen_kind kind = op->row->kind;

	return kind == GEN_BINARY || kind == GEN_MATMUL || kind == GEN_LINEAR || kind == GEN_CONV ||
			       kind == GEN_CONCAT
		       ? 2
		       : 1;
}

/* The size of an input: kernels of convolutions are 3 x 3. */
int
gen_unit(const struct gen *g, int dim)
{
	return g->rank == 2 || (g->rank == 4 && dim >= 2) ? 3 : 2;
}

/* --- the ops of a run ---------------------------------------------------------------------------
 */

static void
add_op(struct gen *g, const struct gen_row *row, int family, int dim, int part, int cut, int axis)
{
	VEC_PUSH(g, &g->op, (struct gen_op){row, family, dim, part, cut, axis});
}

/* Adds an op for each choice of its attributes. */
static void
add_row(struct gen *g, const struct gen_row *row, int *family)
{
	const bool has_dim =
		row->kind == GEN_CONCAT || row->kind == GEN_SLICE || row->kind == GEN_SPLITTING;
	const int dims = has_dim ? g->rank : 1, parts = row->kind == GEN_SLICE ? 2 : 1,
		  cuts = row->kind == GEN_SLICE ? GEN_MAX_UNITS - 1 : 1,
		  axes = row->kind == GEN_ON_AXIS || row->kind == GEN_SPLITTING ? g->naxes : 1;

	for (int dim = 0; dim < dims; dim++)
		for (int part = 0; part < parts; part++, ++*family)
			for (int cut = 1; cut <= cuts; cut++)
				for (int axis = 0; axis < axes; axis++)
					add_op(g, row, *family, dim, part, cut, axis);
}

static const struct gen_row *
find_row(const char *name, size_t n)
{
	for (int i = 0; i < ROWS; i++)
		if (strlen(gen_rows[i].name) == n && !strncmp(gen_rows[i].name, name, n))
			return &gen_rows[i];
	return NULL;
}

static const char *
unknown_op(struct gen *g, const char *name, size_t n)
{
	char *text = talloc_strndup(g, name, n);
	struct suggestion near = suggestion_for(text);

	for (int i = 0; i < ROWS; i++)
		suggestion_add(&near, gen_rows[i].name);
	return TEXT(
		g, "-ops: rules with '%s' are not generated%s", text, suggestion_text(text, &near));
}

const char *
gen_ops_read(struct gen *g)
{
	const struct gen_row *row[ROWS];
	int n = 0, family = 0;

	g->rank = 2;
	for (const char *s = g->o->ops; *s;) {
		const size_t length = strcspn(s, ",");
		const struct gen_row *r = find_row(s, length);
		if (!r)
			return unknown_op(g, s, length);
		for (int i = 0; i < n; i++)
			if (row[i] == r)
				return TEXT(g, "-ops: '%s' is there twice", r->name);
		row[n++] = r;
		if (r->rank && g->rank != 2 && g->rank != r->rank)
			return "-ops: contract has tensors of 3 dims, conv2d of 4";
		if (r->rank)
			g->rank = r->rank;
		if (r->kind == GEN_ON_AXIS || r->kind == GEN_SPLITTING)
			g->naxes = (int)g->o->axes;
		s += length + (s[length] == ',');
	}
	for (int i = 0; i < n; i++)
		add_row(g, row[i], &family);
	return n ? NULL : "-ops names no op";
}

/* --- layouts ------------------------------------------------------------------------------------
 */

static int32_t
layout_intern(struct gen *g, const struct gen_layout *l)
{
	for (int32_t i = 0; i < g->layout.n; i++)
		if (!memcmp(&g->layout.at[i], l, sizeof *l))
			return i;
	VEC_PUSH(g, &g->layout, *l);
	return (int32_t)g->layout.n - 1;
}

/* For layouts, whole sizes are four times as large, so that axes of size 2 can split them. */
static int64_t
whole(const struct gen *g, int dim, int size)
{
	return g->rank == 4 && dim >= 2 ? size : 4 * size;
}

static const struct ir_type *
whole_type(struct gen *g, const struct gen_type *t)
{
	struct ir_type type = {.dtype = IR_f32, .rank = (uint8_t)g->rank};

	for (int d = 0; d < g->rank; d++)
		type.dim[d] = whole(g, d, t->dim[d]);
	memcpy(type.axis, g->layout.at[t->layout].axis, sizeof g->layout.at[0].axis);
	return ir_type_intern(g->ctx, &type);
}

static int
op_attributes(struct gen *g, struct ir_module *m, const struct gen_op *op, const struct gen_type *x,
	const struct gen_type *y, struct ir_attr a[4])
{
	struct ir_context *ctx = g->ctx;
	const int64_t one[2] = {1, 1}, dim = op->dim,
		      swapped[][4] = {{1, 0}, {0, 2, 1}, {0, 1, 3, 2}};
	int n = 0;

	switch (op->row->kind) {
	case GEN_UNARY:
	case GEN_BINARY:
	case GEN_MATMUL: break;
	case GEN_LINEAR: a[n++] = ir_make_string(ctx, "spec", "rmk,rnk->rmn"); break;
	case GEN_CONV:
		a[n++] = ir_make_ints(m, "low", one, 2);
		a[n++] = ir_make_ints(m, "high", one, 2);
		a[n++] = ir_make_int(ctx, "groups", x->dim[1] / y->dim[1]);
		break;
	case GEN_CONCAT: a[n++] = ir_make_int(ctx, "dim", dim); break;
	case GEN_SLICE: {
		const int64_t at = whole(g, op->dim, op->cut * gen_unit(g, op->dim)),
			      start = op->part ? at : 0,
			      limit = op->part ? whole(g, op->dim, x->dim[op->dim]) : at;
		a[n++] = ir_make_ints(m, "start", &start, 1);
		a[n++] = ir_make_ints(m, "limit", &limit, 1);
		a[n++] = ir_make_ints(m, "dims", &dim, 1);
		break;
	}
	case GEN_TRANSPOSE: a[n++] = ir_make_ints(m, "perm", swapped[g->rank - 2], g->rank); break;
	case GEN_SPLITTING: a[n++] = ir_make_int(ctx, "dim", dim); /* fall through */
	case GEN_ON_AXIS: a[n++] = ir_make_axis(ctx, "axis", op->axis); break;
	}
	return n;
}

/* The number of the inferred layout; -1: the op does not allow it. */
static int32_t
infer_layout(
	struct gen *g, const struct gen_op *op, const struct gen_type *x, const struct gen_type *y)
{
	struct ir_module *m = ir_module_create(g, g->ctx, "layout");
	struct ir_func *f = ir_func_create(m, "main", LOC_NONE);
	struct ir_builder b = {.m = m, .block = &f->body};
	const struct gen_type *const type[2] = {x, y};
	struct ir_value *in[2];
	struct ir_attr attr[4];
	const int n = gen_operands(op);
	int32_t found = -1;

	for (int i = 0; i < g->naxes; i++)
		m->axis[m->naxes++] =
			(struct ir_axis){.name = ir_name(g->ctx, i ? "q" : "p"), .size = 2};
	for (int i = 0; i < n; i++) {
		const struct ir_type *t = whole_type(g, type[i]);
		in[i] = ir_build_typed(
			&b, OP_input, i ? "y" : "x", NULL, 0, NULL, 0, ir_type_meaning(g->ctx, t));
		in[i]->type = t;
	}
	struct ir_op *made = ir_op_create(m, (enum op_code)op_find(op->row->name), LOC_NONE, in, n,
		attr, op_attributes(g, m, op, x, y, attr), 1);
	ir_block_append(&f->body, made);
	const bool muted = diag_mute(g->ctx->diag, true);
	if (ir_infer(m, made, NULL)) {
		struct gen_layout l = {0};
		memcpy(l.axis, made->result[0].type->axis, sizeof l.axis);
		found = layout_intern(g, &l);
	}
	diag_mute(g->ctx->diag, muted);
	talloc_free(m);
	return found;
}

MAP_SAME(same_fact, struct gen_layout_fact, struct gen_layout_fact,
	list[i].op == key->op && list[i].x == key->x && list[i].y == key->y)

/* The layout of a result depends only on those of the operands, so it is inferred once. */
static int32_t
layout_of(
	struct gen *g, const struct gen_op *op, const struct gen_type *x, const struct gen_type *y)
{
	struct gen_layout_fact f = {(int32_t)(op - g->op.at), x->layout, y ? y->layout : -1, 0};

	if (!g->naxes)
		return 0;
	uint64_t hash = mix_word(mix_word((uint64_t)f.op, (uint64_t)f.x), (uint64_t)f.y + 1);
	const uint32_t i = map_add(g, &g->fact_map, hash, same_fact, g->fact.at, &f);
	if (i == g->fact.n) {
		f.result = infer_layout(g, op, x, y);
		VEC_PUSH(g, &g->fact, f);
	}
	return g->fact.at[i].result;
}

/* --- types --------------------------------------------------------------------------------------
 */

MAP_SAME(same_type, struct gen_type, struct gen_type, !memcmp(list + i, key, sizeof *key))

static int32_t
type_intern(struct gen *g, const struct gen_type *t)
{
	const uint32_t i =
		map_add(g, &g->type_map, mix_bytes(1, t, sizeof *t), same_type, g->type.at, t);

	if (i == g->type.n)
		VEC_PUSH(g, &g->type, *t);
	return (int32_t)i;
}

int
gen_elements(const struct gen *g, int32_t type)
{
	int n = 1;

	for (int d = 0; d < g->rank; d++)
		n *= g->type.at[type].dim[d];
	return n;
}

static void
take_dim(struct gen_type *to, int dim, const struct gen_type *from, int of)
{
	to->dim[dim] = from->dim[of];
	to->joined[dim] = from->joined[of];
}

/* Sizes of a result; false: the op is not valid. */
static bool
shape_of(const struct gen *g, const struct gen_op *op, const struct gen_type *x,
	const struct gen_type *y, struct gen_type *to)
{
	const int last = g->rank - 1, d = op->dim;

	*to = *x;
	switch (op->row->kind) {
	case GEN_UNARY:
	case GEN_ON_AXIS:
	case GEN_SPLITTING: break;
	case GEN_BINARY:
		for (int i = 0; i <= last; i++) {
			if (x->dim[i] != y->dim[i])
				return false;
			to->joined[i] = x->joined[i] | y->joined[i];
		}
		break;
	case GEN_MATMUL:
		if (x->dim[last] != y->dim[last - 1])
			return false;
		for (int i = 0; i < last - 1; i++) {
			if (x->dim[i] != y->dim[i])
				return false;
			to->joined[i] = x->joined[i] | y->joined[i];
		}
		take_dim(to, last, y, last);
		break;
	case GEN_LINEAR:
		if (x->dim[2] != y->dim[2] || x->dim[0] != y->dim[0])
			return false;
		to->joined[0] = x->joined[0] | y->joined[0];
		take_dim(to, 2, y, 1);
		break;
	case GEN_CONV:
		if (y->dim[2] != 3 || y->dim[3] != 3 || x->dim[1] % y->dim[1] ||
			y->dim[0] % (x->dim[1] / y->dim[1]))
			return false;
		take_dim(to, 1, y, 0);
		break;
	case GEN_CONCAT: {
		const int unit = gen_unit(g, d), at = x->dim[d] / unit;
		if ((x->dim[d] + y->dim[d]) / unit > GEN_MAX_UNITS)
			return false;
		for (int i = 0; i <= last; i++) {
			if (i != d && x->dim[i] != y->dim[i])
				return false;
			to->joined[i] = x->joined[i] | y->joined[i];
		}
		to->dim[d] = (uint8_t)(x->dim[d] + y->dim[d]);
		to->joined[d] = (uint8_t)(x->joined[d] | 1 << at | y->joined[d] << at);
		break;
	}
	case GEN_SLICE: {
		const int at = op->cut * gen_unit(g, d);
		if (!(x->joined[d] >> op->cut & 1) || x->dim[d] <= at)
			return false;
		to->dim[d] = (uint8_t)(op->part ? x->dim[d] - at : at);
		to->joined[d] = (uint8_t)(op->part ? x->joined[d] >> op->cut & ~1
						   : x->joined[d] & ((1 << op->cut) - 1));
		break;
	}
	case GEN_TRANSPOSE:
		take_dim(to, last, x, last - 1);
		take_dim(to, last - 1, x, last);
		break;
	}
	return true;
}

int32_t
gen_type_of(struct gen *g, const struct gen_op *op, int32_t x, int32_t y)
{
	const struct gen_type *tx = &g->type.at[x], *ty = y >= 0 ? &g->type.at[y] : NULL;
	struct gen_type to;

	if (!shape_of(g, op, tx, ty, &to))
		return -1;
	to.layout = layout_of(g, op, tx, ty);
	if (to.layout < 0)
		return -1;
	const int32_t made = type_intern(g, &to);
	return gen_elements(g, made) <= GEN_MAX_ELEMENTS ? made : -1;
}

/* --- values -------------------------------------------------------------------------------------
 */

/* Numbers of elements in front of a dim and after it. */
static void
around(const struct gen *g, const struct gen_type *t, int dim, int *outer, int *inner)
{
	*outer = *inner = 1;
	for (int d = 0; d < g->rank; d++) {
		*outer *= d < dim ? t->dim[d] : 1;
		*inner *= d > dim ? t->dim[d] : 1;
	}
}

/* z[r,m,n] = sum(k) x[r,m,k] y[r,k,n], or y[r,n,k]; r is all dims in front. */
static void
product(const struct gen *g, const struct gen_type *tx, const uint32_t *x, const uint32_t *y, int n,
	bool transposed, uint32_t *z)
{
	const int last = g->rank - 1, m = tx->dim[last - 1], k = tx->dim[last];
	int r, inner;

	around(g, tx, last - 1, &r, &inner);
	for (int b = 0; b < r; b++, x += m * k, y += n * k)
		for (int i = 0; i < m; i++)
			for (int j = 0; j < n; j++) {
				uint64_t sum = 0;
				for (int l = 0; l < k; l++)
					sum += (uint64_t)x[i * k + l] *
					       y[transposed ? j * k + l : l * n + j] % GEN_P;
				*z++ = (uint32_t)(sum % GEN_P);
			}
}

/* A convolution of 3 x 3 with zeros around the images. */
static void
convolve(const struct gen_type *tx, const struct gen_type *ty, const uint32_t *x, const uint32_t *y,
	uint32_t *z)
{
	const int n = tx->dim[0], c = tx->dim[1], h = tx->dim[2], w = tx->dim[3], f = ty->dim[0],
		  k = ty->dim[1], per = f / (c / k);

	for (int b = 0; b < n; b++)
		for (int o = 0; o < f; o++)
			for (int at = 0; at < h * w; at++) {
				const uint32_t *image = x + (b * c + o / per * k) * h * w;
				uint64_t sum = 0;
				for (int i = 0; i < k * 9; i++) {
					const int row = at / w + i % 9 / 3 - 1,
						  column = at % w + i % 3 - 1;
					if (row >= 0 && row < h && column >= 0 && column < w)
						sum += (uint64_t)image[i / 9 * h * w + row * w +
								       column] *
						       y[o * k * 9 + i] % GEN_P;
				}
				*z++ = (uint32_t)(sum % GEN_P);
			}
}

static uint32_t *
copy(uint32_t *to, const uint32_t *from, int n)
{
	memcpy(to, from, sizeof *to * (size_t)n);
	return to + n;
}

void
gen_evaluate(struct gen *g, const struct gen_op *op, int32_t type, const int32_t arg[2])
{
	const struct gen_term *ax = &g->term.at[arg[0]],
			      *ay = arg[1] >= 0 ? &g->term.at[arg[1]] : ax;
	const struct gen_type *tx = &g->type.at[ax->type], *ty = &g->type.at[ay->type],
			      *to = &g->type.at[type];
	const uint32_t *x = g->value.at + ax->values, *y = g->value.at + ay->values;
	const int n = gen_elements(g, type), last = g->rank - 1, d = op->dim;
	uint32_t *z = g->scratch;
	int outer, inner;

	around(g, to, op->row->kind == GEN_TRANSPOSE ? last : d, &outer, &inner);
	switch (op->row->kind) {
	case GEN_UNARY:
	case GEN_BINARY:
		for (int i = 0; i < n; i++)
			z[i] = (uint32_t)op->row->element(x[i], y[i]);
		break;
	case GEN_ON_AXIS:
	case GEN_SPLITTING: copy(z, x, n); break;
	case GEN_MATMUL: product(g, tx, x, y, ty->dim[last], false, z); break;
	case GEN_LINEAR: product(g, tx, x, y, ty->dim[1], true, z); break;
	case GEN_CONV: convolve(tx, ty, x, y, z); break;
	case GEN_CONCAT:
		for (int i = 0; i < outer; i++) {
			z = copy(z, x + i * tx->dim[d] * inner, tx->dim[d] * inner);
			z = copy(z, y + i * ty->dim[d] * inner, ty->dim[d] * inner);
		}
		break;
	case GEN_SLICE:
		x += op->part ? op->cut * gen_unit(g, d) * inner : 0;
		for (int i = 0; i < outer; i++)
			z = copy(z, x + i * tx->dim[d] * inner, to->dim[d] * inner);
		break;
	case GEN_TRANSPOSE:
		for (int i = 0; i < n; i++) {
			const int column = i % to->dim[last],
				  row = i / to->dim[last] % to->dim[last - 1],
				  matrix = i / (to->dim[last] * to->dim[last - 1]);
			z[i] = x[(matrix * to->dim[last] + column) * to->dim[last - 1] + row];
		}
		break;
	}
}

/* --- inputs -------------------------------------------------------------------------------------
 */

static void
add_inputs(struct gen *g, struct ir_state state, int64_t n)
{
	struct gen_layout l = {0};
	struct gen_type t = {0};

	l.axis[0] = state;
	t.layout = layout_intern(g, &l);
	for (int d = 0; d < g->rank; d++)
		t.dim[d] = (uint8_t)gen_unit(g, d);
	for (int64_t i = 0; i < n && g->term.n < GEN_MAX_INPUTS; i++) {
		const int32_t id = (int32_t)g->term.n;
		const struct gen_term in = {.op = -1,
			.arg = {id, -1},
			.type = type_intern(g, &t),
			.rep = id,
			.users = -1,
			.inputs = 1u << id,
			.derived = true,
			.values = g->value.n};
		const int elements = gen_elements(g, in.type);
		for (int k = 0; k < elements; k++)
			g->scratch[k] =
				(uint32_t)(mix64((uint64_t)id * GEN_MAX_ELEMENTS + (uint64_t)k) %
					   GEN_P);
		VEC_PUSH_ALL(g, &g->value, g->scratch, elements);
		gen_class_of(g, in.type, id);
		gen_term_add(g, &in);
	}
}

void
gen_inputs(struct gen *g)
{
	const int64_t n = g->o->inputs, few = n < 2 ? n : 2; /* of other layouts: for one sum */

	add_inputs(g, (struct ir_state){.kind = IR_COPIED}, n);
	if (!g->naxes)
		return;
	add_inputs(g, (struct ir_state){.kind = IR_PARTIAL}, few);
	add_inputs(g, (struct ir_state){.kind = IR_SINGLE}, few);
	for (int d = 0; d < g->rank && whole(g, d, gen_unit(g, d)) % 2 == 0; d++)
		add_inputs(g, (struct ir_state){.kind = IR_SPLIT, .dim = (uint8_t)d}, few);
}
