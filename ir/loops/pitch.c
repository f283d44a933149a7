/*
 * Which values have padded rows: see pitch.h. A value is looked at together with those that are the
 * same bytes: reshapes that keep its last dim, and arguments and results of fuses. All get padded
 * rows or none.
 */
#include "ir/loops/pitch.h"

#include "ir/base/arena.h"
#include "ir/base/mix.h"
#include "ir/base/vec.h"
#include "ir/loops/scheme.h"

#include <talloc.h>

enum {
	/* Tensor cores load 16 bytes at a time; libraries use narrower loads for other rows. */
	PITCH_ALIGN = 16,
	/* Bytes of a row: of shorter ones, padding would be more than 1 / 16. */
	PITCH_LEAST = 256,
};

/* Values that are the same bytes. */
struct group {
	const struct ir_module *m;
	struct arena *arena;
	struct VEC(const struct ir_value *) value;
	bool product; /* reads or writes the rows */
};

static int64_t
row_of(const struct ir_module *m, const struct ir_value *v)
{
	return ir_type_local_dim(m, v->type, v->type->rank - 1);
}

/* The padded row of a value of such a type; 0: it is aligned, short, or no matrix of floats. */
static int64_t
padded(const struct ir_module *m, const struct ir_value *v)
{
	const struct ir_type *t = v->type;
	const enum ir_dtype dtype = (enum ir_dtype)t->dtype;

	if (t->rank < 2 || t->memory != IR_DEVICE || ir_dtype_class(dtype) != IR_FLOAT)
		return 0;
	const int64_t each = PITCH_ALIGN / (int64_t)ir_dtype_bytes(dtype), row = row_of(m, v);
	return row % each == 0 || row < PITCH_LEAST / PITCH_ALIGN * each
		       ? 0
		       : (row + each - 1) / each * each;
}

/* Do loops compute the op, which address each element by its dims? */
static bool
has_loops(const struct ir_op *op)
{
	switch (op->code) {
	case OP_constant: /* part of the code of its readers */
	case OP_stop_gradient:
	case OP_barrier: /* views of other values */
	case OP_conv2d:
	case OP_conv2d_data:
	case OP_conv2d_filter:
	case OP_dynamic_update_slice: return false; /* blocks of memory */
	case OP_convert:
		if (op->result[0].type == ir_operand_type(op, 0))
			return false;
		break;
	default: break;
	}
	return !op_is(op, TRAIT_EFFECT | TRAIT_TERMINATOR | TRAIT_NAMED | TRAIT_PARALLEL |
				  TRAIT_CALLS | TRAIT_COPY | TRAIT_OWN) &&
	       form_exists((enum op_code)op->code);
}

static struct scheme_tensor
tensor_of(const struct ir_module *m, const struct ir_value *v, bool pitch)
{
	struct scheme_tensor t = {
		.value = v, .rank = v->type->rank, .row = pitch ? padded(m, v) : 0};

	for (int d = 0; d < t.rank; d++)
		t.dim[d] = ir_type_local_dim(m, v->type, d);
	return t;
}

/* Is the op a call of the library of products? With the rows of all its tensors padded, or none. */
static bool
is_product(const struct group *g, const struct ir_op *op, const struct form *f, bool pitch,
	struct scheme_gemm *x)
{
	struct scheme_tensor tensor[FORM_MAX_INPUTS + 1];
	struct scheme_op o = {.op = op, .f = *f, .out = op->noperands};
	const struct scheme s = {.module = g->m, .arena = g->arena, .tensor = tensor};

	for (int j = 0; j < op->noperands; j++) {
		o.in[j] = j;
		tensor[j] = tensor_of(g->m, ir_operand(op, j), pitch);
	}
	tensor[o.out] = tensor_of(g->m, &op->result[0], pitch);
	return !form_has_computed(f) && scheme_find_gemm(&s, &o, x);
}

/* The same; *rows: are the rows of v those of its matrix? *sums: does it add the results of several
 * products? Dims that are one loop without padding may be two with it, and which of its tensors will have
 * padding is not known here, so all count as padded for that. */
static bool
find_product(const struct group *g, const struct ir_op *op, const struct form *f,
	const struct ir_value *v, bool *rows, bool *sums)
{
	struct scheme_gemm gemm, *x = &gemm;

	if (!is_product(g, op, f, true, x))
		return false;
	*sums = x->nsum > 0;
	if (!is_product(g, op, f, false, x))
		return false;
	const int64_t row = row_of(g->m, v);
	*rows = (ir_operand(op, x->first) == v && x->lda == row) ||
		(ir_operand(op, x->second) == v && x->ldb == row) ||
		(&op->result[0] == v && x->ldc == row);
	return true;
}

/* Can the loops of the op, which reads or makes v, have padded rows? A sum in memory has further
 * accumulators beside its result, without padding. */
static bool
fits(struct group *g, const struct ir_op *op, const struct ir_value *v)
{
	const bool makes = v->op == op;
	struct form f;
	struct form_offset offset[FORM_MAX_INDICES];
	bool rows = false, sums = false;

	if (!has_loops(op) || !form_make(g->m, g->arena, op, op->result[0].type, &f))
		return false;
	form_localize(g->m, op, &f, offset);
	if (form_is_scatter(&f))
		return false;
	const bool product = find_product(g, op, &f, v, &rows, &sums);
	g->product |= rows;
	return !makes || f.reduce == REDUCE_NONE || (product && !sums);
}

/* A kernel of several products may go over tiles instead (stream.h). */
static bool
has_one_product(const struct ir_op *fuse)
{
	int n = 0;

	IR_FOR_OPS (op, fuse->body)
		n += op->code == OP_contract || op->code == OP_matmul;
	return n <= 1;
}

static bool
add(struct group *g, const struct ir_value *v, const struct ir_value *like)
{
	for (int64_t i = 0; i < g->value.n; i++)
		if (g->value.at[i] == v)
			return true;
	VEC_PUSH(g->arena, &g->value, v);
	return v->type->rank && v->type->dtype == like->type->dtype &&
	       row_of(g->m, v) == row_of(g->m, like) && padded(g->m, v);
}

/* What v is made of, or the value that is the same bytes. */
static bool
visit_maker(struct group *g, const struct ir_value *v)
{
	const struct ir_value *outside = ir_value_outside(v);
	const struct ir_op *op = v->op;

	if (!op)
		return outside != v && add(g, outside, v);
	if (op->code == OP_reshape)
		return add(g, ir_operand(op, 0), v);
	if (op->code == OP_fuse)
		return has_one_product(op) && add(g, ir_operand(op->body->last, (int)v->index), v);
	return fits(g, op, v);
}

static bool
visit_use(struct group *g, const struct ir_value *v, const struct ir_use *u)
{
	const struct ir_op *op = u->op;
	const ptrdiff_t i = u - op->operand;

	if (op->code == OP_reshape)
		return add(g, &op->result[0], v);
	if (op->code == OP_fuse)
		return has_one_product(op) && add(g, &op->body->arg[i], v);
	if (op->code != OP_yield)
		return fits(g, op, v);
	/* what is not made in the body, or a result twice, is copied as it is */
	if (op->block->parent->code != OP_fuse || !v->op || v->op->code == OP_reshape)
		return false;
	IR_FOR_USES (other, v)
		if (other != u && other->op == op)
			return false;
	return add(g, &op->block->parent->result[i], v);
}

int64_t
pitch_row(const struct ir_module *m, const struct ir_value *v)
{
	const int64_t row = padded(m, v);

	if (!row)
		return 0;
	struct group g = {.m = m, .arena = arena_create(NULL)};
	bool all = true;
	VEC_PUSH(g.arena, &g.value, v);
	for (int64_t i = 0; i < g.value.n && all; i++) {
		all = visit_maker(&g, g.value.at[i]);
		IR_FOR_USES (u, g.value.at[i])
			all = all && visit_use(&g, g.value.at[i], u);
	}
	talloc_free(g.arena);
	return all && g.product ? row : 0;
}

int64_t
pitch_bytes(const struct ir_module *m, const struct ir_value *v)
{
	const int64_t bytes = ir_type_local_bytes(m, v->type), row = pitch_row(m, v);

	return row ? bytes / row_of(m, v) * row : bytes;
}

uint64_t
pitch_word(const struct ir_module *m, const struct ir_op *op)
{
	uint64_t word = 0;

	for (int j = 0; j < op->noperands + op->nresults; j++)
		if (pitch_row(m, ir_op_value(op, j)))
			word = mix_word(word, (uint64_t)j + 1);
	return word;
}
