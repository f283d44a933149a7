/*
 * Gradients of ops that read at computed positions: values are written back to where they were
 * read, which is again an op that reads from the other tensor.
 *
 *     slice <-> pad, split -> pad, concat -> slice, reverse, cumsum: themselves
 *     dynamic_slice <-> dynamic_pad, gather_nd <-> scatter_nd
 *     conv2d, conv2d_data, conv2d_filter: bilinear, each the gradient of the others
 *     avg_pool <-> avg_pool_grad
 *     max_pool -> max_pool_grad, in equal shares for several maxima
 */
#include "ir/ops/row.h"
#include "passes/train/adjoint_internal.h"

#include <string.h>

struct lists {
	int64_t low[IR_MAX_RANK], high[IR_MAX_RANK], step[IR_MAX_RANK];
};

static struct ir_value *
build_pad(struct adjoint *x, struct ir_value *v, const struct lists *l)
{
	int64_t interior[IR_MAX_RANK];
	const int rank = v ? v->type->rank : 0;

	for (int d = 0; d < rank; d++)
		interior[d] = l->step[d] - 1;
	struct ir_attr attr[3] = {ir_make_ints(x->b->m, "low", l->low, rank),
		ir_make_ints(x->b->m, "high", l->high, rank),
		ir_make_ints(x->b->m, "interior", interior, rank)};
	return v ? ir_build(x->b, OP_pad, &v, 1, attr, 3) : NULL;
}

static struct ir_value *
build_slice(struct adjoint *x, struct ir_value *v, const int64_t *start, const int64_t *limit,
	const int64_t *step)
{
	const int rank = v ? v->type->rank : 0;
	struct ir_attr attr[3] = {ir_make_ints(x->b->m, "start", start, rank),
		ir_make_ints(x->b->m, "limit", limit, rank),
		ir_make_ints(x->b->m, "step", step, rank)};

	return v ? ir_build(x->b, OP_slice, &v, 1, attr, 3) : NULL;
}

/* Entry of list attribute `key` for dim d: at the position of d in `dims`, or at d. */
static int64_t
entry(const struct ir_op *op, const char *key, int d, int64_t otherwise)
{
	int64_t list[IR_MAX_RANK], dims[IR_MAX_RANK];
	const int n = ir_attr_ints(op, key, list, IR_MAX_RANK),
		  ndims = ir_attr_ints(op, "dims", dims, IR_MAX_RANK),
		  rank = ir_operand_type(op, 0)->rank;

	if (n < 0)
		return otherwise;
	if (ndims < 0)
		return list[d];
	for (int i = 0; i < ndims; i++)
		if ((dims[i] < 0 ? dims[i] + rank : dims[i]) == d)
			return list[i];
	return otherwise;
}

static int
dim_of(const struct ir_op *op, int64_t otherwise)
{
	const int64_t d = ir_attr_int(op, "dim", otherwise);

	return (int)(d < 0 ? d + ir_operand_type(op, 0)->rank : d);
}

/* The attributes with these names that the op has. */
static int
copy_attrs(const struct ir_op *op, const char *const *key, struct ir_attr *attr)
{
	int n = 0;

	for (; *key; key++) {
		const struct ir_attr *a = ir_attr_find(op, *key);
		if (a)
			attr[n++] = *a;
	}
	return n;
}

/* Pads g with zeros to the operand's size: elements `step` apart from `low` on. */
static struct ir_value *
pad_to_operand(struct adjoint *x, struct lists *l)
{
	for (int d = 0; d < x->type->rank; d++) {
		const int64_t n = x->g->type->dim[d];
		l->high[d] =
			x->type->dim[d] - l->low[d] - n - (n > 0 ? n - 1 : 0) * (l->step[d] - 1);
	}
	return build_pad(x, x->g, l);
}

static struct ir_value *
slice_rule(struct adjoint *x, bool *none)
{
	struct lists l = {{0}, {0}, {0}};

	(void)none;
	for (int d = 0; d < x->type->rank; d++) {
		l.low[d] = entry(x->op, "start", d, 0);
		l.step[d] = entry(x->op, "step", d, 1);
	}
	return pad_to_operand(x, &l);
}

static struct ir_value *
split_rule(struct adjoint *x, bool *none)
{
	struct lists l = {{0}, {0}, {0}};
	const int dim = dim_of(x->op, -1);

	(void)none;
	for (int d = 0; d < x->type->rank; d++)
		l.step[d] = 1;
	l.low[dim] = ir_attr_int(x->op, "index", 0) * x->g->type->dim[dim];
	return pad_to_operand(x, &l);
}

static struct ir_value *
pad_rule(struct adjoint *x, bool *none)
{
	struct lists l = {{0}, {0}, {0}};
	int64_t start[IR_MAX_RANK] = {0}, limit[IR_MAX_RANK], step[IR_MAX_RANK];
	bool apart = false;

	(void)none;
	for (int d = 0; d < x->type->rank; d++) {
		l.low[d] = -entry(x->op, "low", d, 0);
		l.high[d] = -entry(x->op, "high", d, 0);
		l.step[d] = 1;
		step[d] = entry(x->op, "interior", d, 0) + 1;
		limit[d] = x->g->type->dim[d] + l.low[d] + l.high[d];
		apart = apart || step[d] != 1;
	}
	struct ir_value *v = build_pad(x, x->g, &l);
	return apart ? build_slice(x, v, start, limit, step) : v;
}

static struct ir_value *
reverse_rule(struct adjoint *x, bool *none)
{
	const struct ir_attr *dims = ir_attr_find(x->op, "dims");

	(void)none;
	return ir_build(x->b, OP_reverse, &x->g, 1, dims, dims != NULL);
}

static struct ir_value *
concat_rule(struct adjoint *x, bool *none)
{
	int64_t start[IR_MAX_RANK] = {0}, limit[IR_MAX_RANK], step[IR_MAX_RANK];
	const int dim = dim_of(x->op, 0);

	(void)none;
	for (int d = 0; d < x->type->rank; d++) {
		limit[d] = x->type->dim[d];
		step[d] = 1;
	}
	for (int j = 0; j < x->operand; j++)
		start[dim] += ir_operand_type(x->op, j)->dim[dim];
	limit[dim] += start[dim];
	return build_slice(x, x->g, start, limit, step);
}

/* g from the position of operand `at` on, along the op's dim. */
static struct ir_value *
build_dynamic(struct adjoint *x, enum op_code code, struct ir_value *v, int at, int64_t size)
{
	struct ir_attr attr[2] = {ir_make_int(x->b->m->ctx, "size", size),
		ir_make_int(x->b->m->ctx, "dim", dim_of(x->op, 0))};
	struct ir_value *arg[2] = {v, ir_operand(x->op, at)};

	return v ? ir_build(x->b, code, arg, 2, attr, 2) : NULL;
}

static struct ir_value *
dynamic_slice_rule(struct adjoint *x, bool *none)
{
	(void)none;
	return build_dynamic(x, OP_dynamic_pad, x->g, 1, x->type->dim[dim_of(x->op, 0)]);
}

static struct ir_value *
dynamic_pad_rule(struct adjoint *x, bool *none)
{
	(void)none;
	return build_dynamic(x, OP_dynamic_slice, x->g, 1, x->type->dim[dim_of(x->op, 0)]);
}

/* By the update: the slice of g where it was written; by the whole: g without that slice. */
/*
 * Zeros of the shape of operand 1, with a layout in which they can replace a slice of a tensor laid
 * out as g: copied where g is split along dim. NULL without a report if g is partial, which zeros
 * cannot be.
 */
static struct ir_value *
zeros_beside(struct adjoint *x, int dim)
{
	const struct ir_type *g = x->g->type;
	struct ir_type t = *ir_operand_type(x->op, 1);
	struct ir_attr zero = ir_make_float(x->b->m->ctx, "value", 0);

	t.dtype = g->dtype;
	for (int a = 0; a < x->b->m->naxes; a++) {
		if (g->axis[a].kind == IR_PARTIAL)
			return NULL;
		const bool along = g->axis[a].kind == IR_SPLIT && g->axis[a].dim == dim;
		t.axis[a] = along ? (struct ir_state){.kind = IR_COPIED} : g->axis[a];
	}
	return ir_build_typed(
		x->b, OP_constant, NULL, NULL, 0, &zero, 1, ir_type_intern(x->b->m->ctx, &t));
}

static struct ir_value *
dynamic_update_rule(struct adjoint *x, bool *none)
{
	const int dim = dim_of(x->op, 0);
	struct ir_value *zeros = x->operand == 0 ? zeros_beside(x, dim) : NULL;

	(void)none;
	if (zeros) {
		const struct ir_attr attr = ir_make_int(x->b->m->ctx, "dim", dim);
		struct ir_value *arg[] = {x->g, zeros, ir_operand(x->op, 2)};
		return ir_build(x->b, OP_dynamic_update_slice, arg, 3, &attr, 1);
	}
	struct ir_value *part =
		build_dynamic(x, OP_dynamic_slice, x->g, 2, ir_operand_type(x->op, 1)->dim[dim]);

	if (x->operand == 1)
		return part;
	struct ir_value *back =
		build_dynamic(x, OP_dynamic_pad, part, 2, ir_operand_type(x->op, 0)->dim[dim]);
	return back ? ir_build2(x->b, OP_sub, x->g, back) : NULL;
}

static struct ir_value *
cumsum_rule(struct adjoint *x, bool *none)
{
	struct ir_context *ctx = x->b->m->ctx;
	struct ir_attr attr[3] = {ir_make_int(ctx, "dim", dim_of(x->op, 0)),
		ir_make_bool(ctx, "exclusive", ir_attr_int(x->op, "exclusive", 0) != 0),
		ir_make_bool(ctx, "reverse", ir_attr_int(x->op, "reverse", 0) == 0)};

	(void)none;
	return ir_build(x->b, OP_cumsum, &x->g, 1, attr, 3);
}

/*
 * For a sum: i stride + k dilation - low = p base is p base + k dilation - ((size - 1) dilation -
 * low) = i stride with k from the other end, so p sees the results through a window that steps by
 * base over elements that are stride apart. `high` gives it the operand's size.
 */
static struct ir_value *
window_rule(struct adjoint *x, bool *none)
{
	struct ir_context *ctx = x->b->m->ctx;
	const struct ir_op *op = x->op;
	const int dim = dim_of(op, 0);
	const int64_t size = ir_attr_int(op, "size", 1), stride = ir_attr_int(op, "stride", 1),
		      dilation = ir_attr_int(op, "dilation", 1), base = ir_attr_int(op, "base", 1),
		      reach = (size - 1) * dilation, low = reach - ir_attr_int(op, "low", 0),
		      behind = low + (x->g->type->dim[dim] - 1) * stride,
		      high = (x->type->dim[dim] - 1) * base + reach - behind;
	const struct ir_attr attr[] = {ir_make_int(ctx, "dim", dim), ir_make_int(ctx, "size", size),
		ir_make_int(ctx, "stride", base), ir_make_int(ctx, "low", low),
		ir_make_int(ctx, "high", high), ir_make_int(ctx, "dilation", dilation),
		ir_make_int(ctx, "base", stride)};

	(void)none;
	return ir_build(x->b, OP_window, &x->g, 1, attr, 7);
}

/* ---- several numbers ---- */

/* The numbers of x's op followed by `v`. */
static struct ir_value *
build_numbers(struct adjoint *x, enum op_code code, struct ir_value *v)
{
	struct ir_value *arg[FORM_MAX_INPUTS] = {v};
	struct ir_attr attr[4];
	int64_t sizes[IR_MAX_RANK];
	static const char *const keys[] = {"dims", "batch", NULL};
	int n = copy_attrs(x->op, keys, attr);

	if (!v)
		return NULL;
	for (int j = 1; j < x->op->noperands; j++)
		arg[j] = ir_operand(x->op, j);
	if (code == OP_scatter_nd && x->op->code == OP_scatter_nd) {
		attr[n++] = *ir_attr_find(x->op, "sizes");
	} else if (code == OP_scatter_nd) {
		int64_t dims[IR_MAX_RANK];
		const int given = ir_attr_ints(x->op, "dims", dims, IR_MAX_RANK),
			  batch = (int)ir_attr_int(x->op, "batch", 0);
		for (int k = 0; k + 1 < x->op->noperands; k++) {
			const int64_t d = given < 0 ? batch + k : dims[k];
			sizes[k] = x->type->dim[d < 0 ? d + x->type->rank : d];
		}
		attr[n++] = ir_make_ints(x->b->m, "sizes", sizes, x->op->noperands - 1);
	}
	return ir_build(x->b, code, arg, x->op->noperands, attr, n);
}

static struct ir_value *
gather_nd_rule(struct adjoint *x, bool *none)
{
	(void)none;
	return build_numbers(x, OP_scatter_nd, x->g);
}

/* For max and min: equal shares to all elements that attain it, as in a reduction. */
static struct ir_value *
extremum_shares(struct adjoint *x)
{
	struct ir_value *u = ir_operand(x->op, 0),
			*there = build_numbers(x, OP_gather_nd, &x->op->result[0]);
	struct ir_value *hit = ir_build2(x->b, OP_eq, u, there);
	struct ir_attr to = ir_make_dtype(x->b->m->ctx, "to", (enum ir_dtype)x->type->dtype);
	struct ir_value *ones = ir_build(x->b, OP_convert, &hit, 1, &to, 1),
			*count = build_numbers(x, OP_scatter_nd, ones),
			*share = ir_build2(x->b, OP_div, x->g, count),
			*back = build_numbers(x, OP_gather_nd, share);
	struct ir_value *zero = ir_build_scalar(x->b, (enum ir_dtype)x->type->dtype, 0);

	return back ? ir_build(x->b, OP_select, (struct ir_value *[]){hit, back, zero}, 3, NULL, 0)
		    : NULL;
}

static struct ir_value *
scatter_nd_rule(struct adjoint *x, bool *none)
{
	const char *how = ir_attr_string(x->op, "how", "add");

	(void)none;
	if (strcmp(how, "add") == 0)
		return build_numbers(x, OP_gather_nd, x->g);
	return extremum_shares(x);
}

/* ---- convolution and pooling: images a, filters f, results g ---- */

static const char *const conv_keys[] = {
	"stride", "low", "dilation", "groups", "channels_last", NULL};
static const char *const pool_keys[] = {"window", "stride", "low", "channels_last", NULL};

/* Height (0) or width (1) of images. */
static int64_t
image_size(const struct adjoint *x, const struct ir_type *t, int i)
{
	return t->dim[t->rank + row_image_dim(x->op, i - 2)];
}

/* Those of a type as attributes: of filters, too, whose last two dims they are without channels_last. */
static int
add_size(struct adjoint *x, const struct ir_type *t, struct ir_attr *attr, int n)
{
	attr[n] = ir_make_int(x->b->m->ctx, "height", image_size(x, t, 0));
	attr[n + 1] = ir_make_int(x->b->m->ctx, "width", image_size(x, t, 1));
	return n + 2;
}

static struct ir_value *
build_conv_grad(struct adjoint *x, enum op_code code, struct ir_value *u, struct ir_value *v,
	const struct ir_type *size)
{
	struct ir_attr attr[8];
	const int n = add_size(x, size, attr, copy_attrs(x->op, conv_keys, attr));

	return ir_build(x->b, code, (struct ir_value *[]){u, v}, 2, attr, n);
}

/* `high` such that windows over `in` give results of `out`; the window has `window` dims. */
static struct ir_attr
high_attr(struct adjoint *x, const struct ir_type *in, const struct ir_type *out,
	const int64_t window[2])
{
	int64_t high[2], stride[2] = {1, 1}, low[2] = {0, 0}, dilation[2] = {1, 1};

	ir_attr_ints(x->op, "stride", stride, 2);
	ir_attr_ints(x->op, "low", low, 2);
	ir_attr_ints(x->op, "dilation", dilation, 2);
	for (int i = 0; i < 2; i++)
		high[i] = (image_size(x, out, i) - 1) * stride[i] + dilation[i] * (window[i] - 1) +
			  1 - low[i] - image_size(x, in, i);
	return ir_make_ints(x->b->m, "high", high, 2);
}

static struct ir_value *
build_conv(struct adjoint *x, struct ir_value *a, struct ir_value *f, const struct ir_type *out)
{
	struct ir_attr attr[8];
	int n = copy_attrs(x->op, conv_keys, attr);

	const int64_t window[] = {image_size(x, f->type, 0), image_size(x, f->type, 1)};
	attr[n++] = high_attr(x, a->type, out, window);
	return ir_build(x->b, OP_conv2d, (struct ir_value *[]){a, f}, 2, attr, n);
}

static struct ir_value *
conv_rule(struct adjoint *x, bool *none)
{
	struct ir_value *a = ir_operand(x->op, 0), *f = ir_operand(x->op, 1);

	(void)none;
	if (x->operand == 0)
		return build_conv_grad(x, OP_conv2d_data, x->g, f, x->type);
	return build_conv_grad(x, OP_conv2d_filter, a, x->g, x->type);
}

static struct ir_value *
conv_data_rule(struct adjoint *x, bool *none)
{
	(void)none;
	if (x->operand == 0)
		return build_conv(x, x->g, ir_operand(x->op, 1), x->type);
	return build_conv_grad(x, OP_conv2d_filter, x->g, ir_operand(x->op, 0), x->type);
}

static struct ir_value *
conv_filter_rule(struct adjoint *x, bool *none)
{
	(void)none;
	if (x->operand == 1)
		return build_conv(x, ir_operand(x->op, 0), x->g, x->type);
	return build_conv_grad(x, OP_conv2d_data, ir_operand(x->op, 1), x->g, x->type);
}

static struct ir_value *
avg_pool_rule(struct adjoint *x, bool *none)
{
	struct ir_attr attr[8];
	const int n = add_size(x, x->type, attr, copy_attrs(x->op, pool_keys, attr));

	(void)none;
	return ir_build(x->b, OP_avg_pool_grad, &x->g, 1, attr, n);
}

static struct ir_value *
avg_pool_grad_rule(struct adjoint *x, bool *none)
{
	struct ir_attr attr[8];
	int64_t window[2] = {1, 1};
	int n = copy_attrs(x->op, pool_keys, attr);

	(void)none;
	ir_attr_ints(x->op, "window", window, 2);
	attr[n++] = high_attr(x, x->g->type, x->type, window);
	return ir_build(x->b, OP_avg_pool, &x->g, 1, attr, n);
}

static struct ir_value *
build_pool(struct adjoint *x, enum op_code code, struct ir_value *a, struct ir_value *m,
	struct ir_value *u)
{
	struct ir_attr attr[8];
	const int n = copy_attrs(x->op, pool_keys, attr);
	struct ir_value *arg[3] = {a, m, u};

	return ir_build(x->b, code, arg, u ? 3 : 2, attr, n);
}

static struct ir_value *
max_pool_rule(struct adjoint *x, bool *none)
{
	struct ir_value *a = ir_operand(x->op, 0), *m = &x->op->result[0],
			*count = build_pool(x, OP_max_pool_count, a, m, NULL),
			*share = count ? ir_build2(x->b, OP_div, x->g, count) : NULL;

	(void)none;
	return share ? build_pool(x, OP_max_pool_grad, a, m, share) : NULL;
}

/* A small step does not change which elements are the maxima. */
static struct ir_value *
max_pool_count_rule(struct adjoint *x, bool *none)
{
	(void)x;
	*none = true;
	return NULL;
}

static struct ir_value *
max_pool_pick_rule(struct adjoint *x, bool *none)
{
	*none = x->operand < 2;
	return *none ? NULL
		     : build_pool(x, OP_max_pool_grad, ir_operand(x->op, 0), ir_operand(x->op, 1),
			       x->g);
}

static struct ir_value *
max_pool_grad_rule(struct adjoint *x, bool *none)
{
	*none = x->operand < 2;
	return *none ? NULL
		     : build_pool(x, OP_max_pool_pick, ir_operand(x->op, 0), ir_operand(x->op, 1),
			       x->g);
}

/* v with dims `a` and `b` exchanged. */
static struct ir_value *
build_exchange(struct adjoint *x, struct ir_value *v, int a, int b)
{
	int64_t perm[IR_MAX_RANK];

	if (a == b || !v)
		return v;
	for (int d = 0; d < v->type->rank; d++)
		perm[d] = d == a ? b : d == b ? a : d;
	struct ir_attr attr = ir_make_ints(x->b->m, "perm", perm, v->type->rank);
	return ir_build(x->b, OP_transpose, &v, 1, &attr, 1);
}

/* For sort and topk: each value's gradient goes back to where the value was. */
static struct ir_value *
order_rule(struct adjoint *x, bool *none)
{
	const struct ir_op *op = x->op;
	const int last = x->type->rank - 1;
	const int64_t d = ir_attr_int(op, "dim", -1);
	const int dim = (int)(d < 0 ? d + last + 1 : d);
	const struct ir_attr attr[] = {ir_make_int(x->b->m->ctx, "batch", last),
		ir_make_ints(x->b->m, "sizes", &x->type->dim[dim], 1)};
	struct ir_value *g = build_exchange(x, x->g, dim, last);
	struct ir_value *at = build_exchange(x, &x->op->result[1], dim, last);
	struct ir_value *v =
		ir_build(x->b, OP_scatter_nd, (struct ir_value *[]){g, at}, 2, attr, 2);

	(void)none;
	return build_exchange(x, v, dim, last);
}

adjoint_rule *
adjoint_rule_of(enum op_code code)
{
	static adjoint_rule *const rule[OP_NCODES] = {
		[OP_slice] = slice_rule,
		[OP_split] = split_rule,
		[OP_pad] = pad_rule,
		[OP_reverse] = reverse_rule,
		[OP_concat] = concat_rule,
		[OP_dynamic_slice] = dynamic_slice_rule,
		[OP_dynamic_pad] = dynamic_pad_rule,
		[OP_dynamic_update_slice] = dynamic_update_rule,
		[OP_cumsum] = cumsum_rule,
		[OP_window] = window_rule,
		[OP_gather_nd] = gather_nd_rule,
		[OP_scatter_nd] = scatter_nd_rule,
		[OP_conv2d] = conv_rule,
		[OP_conv2d_data] = conv_data_rule,
		[OP_conv2d_filter] = conv_filter_rule,
		[OP_avg_pool] = avg_pool_rule,
		[OP_avg_pool_grad] = avg_pool_grad_rule,
		[OP_max_pool] = max_pool_rule,
		[OP_max_pool_count] = max_pool_count_rule,
		[OP_max_pool_pick] = max_pool_pick_rule,
		[OP_max_pool_grad] = max_pool_grad_rule,
		[OP_sort] = order_rule,
		[OP_topk] = order_rule,
	};

	return rule[code];
}

const char *
adjoint_lacks(const struct ir_op *op)
{
	const char *how = ir_attr_string(op, "how", "add");

	if (op->code == OP_window && strcmp(how, "add") != 0)
		return "only sums are differentiable";
	if (op->code == OP_scatter_nd && strcmp(how, "mul") == 0)
		return "only sums, maxima and minima are differentiable";
	return NULL;
}

bool
adjoint_has_rule(enum op_code code)
{
	return adjoint_rule_of(code) != NULL;
}
