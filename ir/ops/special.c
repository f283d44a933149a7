/* Ops whose meaning is not an index expression, and ops of data that outlives a step. */
#include "ir/ops/special.h"

#include "ir/base/alloc.h"
#include "ir/ops/order.h"
#include "ir/ops/while.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <talloc.h>

#define FAIL(m, op, ...) (diag_error((m)->ctx->diag, (op)->loc, __VA_ARGS__), false)

/* The shape attribute with one -1 filled in. */
static bool
reshape_shape(const struct ir_module *m, const struct ir_op *op, struct ir_type *result)
{
	const struct ir_type *t = ir_operand_type(op, 0);
	int64_t known = 1, elements = ir_type_elements(t);
	bool fits = true;
	int rank = ir_attr_ints(op, "shape", result->dim, IR_MAX_RANK), open = -1;

	result->rank = (uint8_t)rank;
	for (int i = 0; i < rank; i++) {
		if (result->dim[i] == -1 && open < 0)
			open = i;
		else if (result->dim[i] < 0)
			return FAIL(m, op, "reshape: size %" PRId64 " of dim %d is negative",
				result->dim[i], i);
		else
			fits = !__builtin_mul_overflow(known, result->dim[i], &known) && fits;
	}
	if (!fits)
		return FAIL(m, op,
			"reshape: %" PRId64 " elements do not fit a shape of 2^63 or more",
			elements);
	if (open >= 0 && known > 0 && elements % known == 0) {
		result->dim[open] = elements / known;
		known = elements;
	}
	if (known == elements && (open < 0 || elements % (known ? known : 1) == 0))
		return true;
	return FAIL(m, op, "reshape: %" PRId64 " elements do not fit a shape of %" PRId64, elements,
		known);
}

/*
 * A split by n, after `before` outer positions, of dim `dim` of t: the dim of the result that this
 * split divides next. It may follow dims in front that are already split down to one element each.
 * -1 if there is none; *near is then a dim that starts there and is not divisible, or -1.
 *
 *     f32[2/x,12/y] -> f32[24/x/y], f32[4/x/y,6]        f32[24/x/y] -> f32[2/x,12/y]
 */
static int
reshape_partner(const struct ir_type *t, int dim, int64_t before, int64_t n,
	const struct ir_type *result, const int64_t *factor, int *near)
{
	int64_t other = 1;

	*near = -1;
	for (int d = 0; d < result->rank; d++) {
		const bool starts = other * factor[d] == before;
		if (starts && (result->dim[d] != 1 || t->dim[dim] == 1)) {
			if (result->dim[d] % (factor[d] * n) == 0)
				return d;
			if (factor[d] == 1)
				*near = d;
		}
		other *= result->dim[d];
	}
	return -1;
}

/* Which axis splits dim `dim` as the k-th, outermost first; -1: none. */
static int
nth_split(const struct ir_module *m, const struct ir_type *t, int dim, int k)
{
	for (int i = 0; i < m->naxes; i++)
		if (t->axis[i].kind == IR_SPLIT && t->axis[i].dim == dim && t->axis[i].order == k)
			return i;
	return -1;
}

/*
 * Splits of the result: dims outermost first, and the axes of each dim. The slice of a place is
 * then reshaped without moving data.
 */
static bool
reshape_splits(const struct ir_module *m, const struct ir_op *op, struct ir_type *result)
{
	const struct ir_type *t = ir_operand_type(op, 0);
	int64_t factor[IR_MAX_RANK], before = 1;
	int count[IR_MAX_RANK] = {0}, near;

	for (int d = 0; d < IR_MAX_RANK; d++)
		factor[d] = 1;
	for (int dim = 0; dim < t->rank; before *= t->dim[dim++]) {
		int64_t at = before;
		for (int k = 0, i; (i = nth_split(m, t, dim, k)) >= 0; k++) {
			const int64_t n = m->axis[i].size;
			const int partner = reshape_partner(t, dim, at, n, result, factor, &near);
			if (partner < 0 && near >= 0)
				return FAIL(m, op,
					"reshape: axis %s splits dim %d of the operand, but "
					"does not divide dim %d of size %" PRId64,
					m->axis[i].name, dim, near, result->dim[near]);
			if (partner < 0)
				return FAIL(m, op,
					"reshape: dim %d is split on axis %s and merged after "
					"another dim, so its slices would not be contiguous "
					"(allgather first)",
					dim, m->axis[i].name);
			result->axis[i].dim = (uint8_t)partner;
			result->axis[i].order = (uint16_t)count[partner]++;
			factor[partner] *= n;
			at *= n;
		}
	}
	return true;
}

bool
special_reshape(const struct ir_module *m, const struct ir_op *op, struct ir_type *result)
{
	*result = *ir_operand_type(op, 0);
	memset(result->dim, 0, sizeof result->dim);
	return reshape_shape(m, op, result) && reshape_splits(m, op, result);
}

bool
special_update(const struct ir_module *m, const struct ir_op *op)
{
	const struct ir_type *old = ir_operand_type(op, 0), *new = ir_operand_type(op, 1);
	const struct ir_op *source = ir_operand(op, 0)->op;

	if (!source || !op_is(source, TRAIT_PERSISTENT))
		return FAIL(m, op, "update: the first operand must be a param or a state");
	struct ir_type want = *new;
	for (int i = 0; i < m->naxes; i++) {
		struct ir_state *s = &want.axis[i];
		if (m->axis[i].time && s->kind == IR_SINGLE && s->order == m->axis[i].size - 1)
			*s = (struct ir_state){
				.kind = IR_COPIED}; /* the value once all micro-batches are done */
	}
	if (ir_type_intern(m->ctx, &want) == old)
		return true;
	char *a = ir_type_text(NULL, m, old), *b = ir_type_text(NULL, m, new);
	diag_error(m->ctx->diag, op->loc, "update: the new value is %s but %%%s is %s", b,
		ir_operand(op, 0)->name ? ir_operand(op, 0)->name : "?", a);
	talloc_free(a);
	talloc_free(b);
	return false;
}

/* The attribute `shape`: is t the list of that many elements? */
static bool
shape_check(const struct ir_module *m, const struct ir_op *op, const struct ir_type *t)
{
	int64_t dim[IR_MAX_RANK], n = 1;
	const int rank = ir_file_shape(op, t, dim);
	bool fits = true;

	if (!ir_attr_find(op, "shape"))
		return true;
	for (int d = 0; d < rank; d++)
		fits = fits && dim[d] >= 0 && !__builtin_mul_overflow(n, dim[d], &n);
	if (fits && t->rank == 1 && t->dim[0] == n)
		return true;
	char *text = ir_type_text(NULL, m, t);
	diag_error(m->ctx->diag, op->loc,
		"%s: with 'shape', the type must have one dim with as many elements as the shape, "
		"found %s",
		op_name((enum op_code)op->code), text);
	talloc_free(text);
	return false;
}

bool
special_output(const struct ir_module *m, const struct ir_op *op)
{
	const struct ir_type *t = ir_operand_type(op, 0);

	for (int i = 0; i < m->naxes; i++) {
		struct ir_state s = t->axis[i];
		if (s.kind == IR_PARTIAL)
			return FAIL(m, op,
				"output: the value is partial on axis %s; "
				"allreduce or reduce it first",
				m->axis[i].name);
		if (m->axis[i].time && s.kind == IR_SPLIT)
			return FAIL(m, op,
				"output: the value is split on time axis %s; combine it first",
				m->axis[i].name);
	}
	return shape_check(m, op, t);
}

/* "zeros, ones, ... or xavier", owned by `owner`. */
static char *
init_names(const void *owner)
{
	char *text = text_copy(owner, "");

	for (int i = 0; i < RT_INITS; i++)
		text = text_append(text, "%s%s",
			i == 0              ? ""
			: i == RT_INITS - 1 ? " or "
					    : ", ",
			rt_init_info((enum rt_init)i)->name);
	return text;
}

enum rt_init
special_init(const struct ir_module *m, const struct ir_op *op)
{
	const char *init = ir_attr_string(op, "init", "zeros");
	const enum rt_init kind = rt_init_find(init);

	if (kind == RT_INITS) {
		char *names = init_names(NULL);
		diag_error(m->ctx->diag, op->loc, "%s: init is \"%s\"; it can be %s",
			op_name((enum op_code)op->code), init, names);
		talloc_free(names);
	}
	return kind;
}

/* Checks initial values: of a known kind, from finite numbers. */
static bool
init_check(const struct ir_module *m, const struct ir_op *op)
{
	static const char *const numbers[] = {"value", "scale"};

	if (special_init(m, op) == RT_INITS)
		return false;
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		if (!isfinite(ir_attr_float(op, numbers[i], 0)))
			return FAIL(m, op, "%s: %s must be a finite number",
				op_name((enum op_code)op->code), numbers[i]);
	return true;
}

bool
special_written(const struct ir_module *m, const struct ir_op *op, const struct ir_type *t)
{
	if (t->memory == IR_HOST && !op_is(op, TRAIT_PERSISTENT))
		return FAIL(m, op, "%s: only params and states can be in host memory",
			op_name((enum op_code)op->code));
	for (int i = 0; i < m->naxes; i++) {
		if (t->axis[i].kind == IR_PARTIAL)
			return FAIL(m, op, "%s: the written type must not be partial (axis %s)",
				op_name((enum op_code)op->code), m->axis[i].name);
		if (m->axis[i].time && t->axis[i].kind != IR_COPIED && op_is(op, TRAIT_PERSISTENT))
			return FAIL(m, op,
				"%s: a tensor that persists across steps must be "
				"copied on a time axis, not %s",
				op_name((enum op_code)op->code),
				t->axis[i].kind == IR_SPLIT ? "split" : "single");
	}
	return !op_is(op, TRAIT_PERSISTENT) || (init_check(m, op) && shape_check(m, op, t));
}

/* Values as order_infer says, positions of i32. */
static bool
infer_order(const struct ir_module *m, const struct ir_op *op, struct ir_type *result)
{
	if (!order_infer(m, op, &result[0]))
		return false;
	result[1] = result[0];
	result[1].dtype = IR_i32;
	return true;
}

const struct special_op *
special_op(enum op_code code)
{
	static const struct special_op order = {infer_order, order_run, order_flops, order_scratch};
	static const struct special_op loop = {.scratch = while_scratch};
	static const struct special_op *const table[OP_NCODES] = {
		[OP_sort] = &order,
		[OP_topk] = &order,
		[OP_while] = &loop,
	};

	return table[code];
}
