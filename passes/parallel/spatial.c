/*
 * spatial: splits the height of images over a device axis. A convolution or pooling over a split
 * image needs rows of its neighbours, the halo. First the computation is rewritten on whole
 * tensors. With S devices, an image of S blocks of h rows is
 *
 *     x[.., C, H, W]  ->  blocks[.., C, S, h, W]         reshape
 *     above[.., s, :] = the last rows of block s - 1     slice, pad {low = 1, high = -1}
 *     below[.., s, :] = the first rows of block s + 1    slice, pad {low = -1, high = 1}
 *     windows over [above; block; below],
 *         without padding in height                      concat, conv2d or pool
 *
 * which is the same result whatever the layout. Then the split is propagated as dp does it: S is
 * the split dim, the shift by one block gives each device's border rows to its neighbour (partial,
 * then reducescatter), everything else is local. Gradients are made by grad, which runs after this
 * pass.
 *
 * An op that does not divide evenly (S does not divide the height, no window starts where a block
 * starts, or the halo is larger than a block) is left as it is and gets a whole image.
 */
#include "passes/parallel/dp.h"

#include <float.h>
#include <inttypes.h>
#include <string.h>

struct windows {
	struct pass_run *run;
	struct ir_builder b;
	struct ir_op *op;
	int64_t places, rows, above,
		below; /* rows of a block, of the halo; below may be negative */
	int height;    /* dim of the height in the operand */
};

static int64_t
first_of(const struct ir_op *op, const char *key, int64_t otherwise)
{
	int64_t list[IR_MAX_RANK];

	return ir_attr_ints(op, key, list, IR_MAX_RANK) > 0 ? list[0] : otherwise;
}

static bool
is_windowed(const struct ir_op *op)
{
	return (op->code == OP_conv2d || op->code == OP_max_pool || op->code == OP_avg_pool) &&
	       !ir_attr_int(op, "channels_last", 0);
}

/* Block sizes and halo; false if the windows do not align with blocks. */
static bool
measure(struct windows *w)
{
	const struct ir_type *in = ir_operand_type(w->op, 0), *out = w->op->result[0].type;
	const bool conv = w->op->code == OP_conv2d;
	const int64_t kernel = conv ? ir_operand_type(w->op, 1)->dim[2]
				    : first_of(w->op, "window", 1),
		      stride = first_of(w->op, "stride", 1),
		      reach = (kernel - 1) * first_of(w->op, "dilation", 1) + 1;

	w->height = in->rank - 2;
	w->rows = in->dim[w->height] / w->places;
	w->above = first_of(w->op, "low", 0);
	w->below = reach - stride - w->above;
	const int64_t results = out->dim[out->rank - 2] / w->places;
	return in->rank < IR_MAX_RANK && w->rows * w->places == in->dim[w->height] &&
	       results * w->places == out->dim[out->rank - 2] && results > 0 &&
	       results * stride == w->rows && w->above >= 0 && w->above <= w->rows &&
	       w->below <= w->rows && w->rows + w->below > 0 &&
	       ir_dtype_class((enum ir_dtype)in->dtype) == IR_FLOAT;
}

static struct ir_value *
build_ints(struct windows *w, enum op_code code, struct ir_value *v, const char *const *key,
	const int64_t *value)
{
	struct ir_attr attr[4];
	int n = 0;

	for (; key[n]; n++)
		attr[n] = ir_make_ints(w->b.m, key[n], &value[n], 1);
	return v ? ir_build(&w->b, code, &v, 1, attr, n) : NULL;
}

/* Rows [start, limit) of every block. */
static struct ir_value *
build_rows(struct windows *w, struct ir_value *blocks, int64_t start, int64_t limit)
{
	static const char *const key[] = {"dims", "start", "limit", NULL};
	const int64_t value[] = {w->height, start, limit};

	return build_ints(w, OP_slice, blocks, key, value);
}

/* Every block's rows, at the next block (by = 1) or the previous one (by = -1); 0 at the ends. */
static struct ir_value *
build_shift(struct windows *w, struct ir_value *rows, int64_t by)
{
	static const char *const key[] = {"dims", "low", "high", NULL};
	const int64_t value[] = {w->height - 1, by, -by};

	return build_ints(w, OP_pad, rows, key, value);
}

/* The lowest number instead of 0 where a block has no neighbour: the padding of a maximum. */
static struct ir_value *
build_lowest(struct windows *w, struct ir_value *rows, int64_t block)
{
	static const double lowest[] = {[IR_f64] = -DBL_MAX,
		[IR_f32] = -FLT_MAX,
		[IR_f16] = -65504,
		[IR_bf16] = -0x1.FEp127};
	struct ir_module *m = w->b.m;
	struct ir_type t = {.dtype = IR_i32, .rank = 3, .dim = {w->places, 1, 1}};
	struct ir_attr dim = ir_make_int(m->ctx, "dim", 0);

	if (!rows)
		return NULL;
	struct ir_value *at =
		ir_build_typed(&w->b, OP_iota, NULL, NULL, 0, &dim, 1, ir_type_intern(m->ctx, &t));
	struct ir_value *end = ir_build_scalar(&w->b, IR_i32, (double)block);
	struct ir_value *hit = ir_build2(&w->b, OP_eq, at, end);
	struct ir_value *low =
		ir_build_scalar(&w->b, (enum ir_dtype)rows->type->dtype, lowest[rows->type->dtype]);
	return hit ? ir_build(&w->b, OP_select, (struct ir_value *[]){hit, low, rows}, 3, NULL, 0)
		   : NULL;
}

/* The blocks with their halos: [.., S, above + rows + below, W]. */
static struct ir_value *
build_halo(struct windows *w)
{
	struct ir_value *x = ir_operand(w->op, 0), *part[3];
	const struct ir_type *t = x->type;
	const bool max = w->op->code == OP_max_pool;
	int64_t shape[IR_MAX_RANK];
	int n = 0;

	memcpy(shape, t->dim, sizeof shape);
	shape[w->height] = w->places;
	shape[w->height + 1] = w->rows;
	shape[w->height + 2] = t->dim[w->height + 1];
	struct ir_attr attr = ir_make_ints(w->b.m, "shape", shape, t->rank + 1);
	struct ir_value *blocks = ir_build(&w->b, OP_reshape, &x, 1, &attr, 1);
	w->height++;
	if (w->above > 0) {
		part[n] = build_shift(w, build_rows(w, blocks, w->rows - w->above, w->rows), 1);
		part[n] = max ? build_lowest(w, part[n], 0) : part[n];
		n++;
	}
	part[n++] = w->below < 0 ? build_rows(w, blocks, 0, w->rows + w->below) : blocks;
	if (w->below > 0) {
		part[n] = build_shift(w, build_rows(w, blocks, 0, w->below), -1);
		part[n] = max ? build_lowest(w, part[n], w->places - 1) : part[n];
		n++;
	}
	for (int i = 0; i < n; i++)
		if (!part[i])
			return NULL;
	struct ir_attr dim = ir_make_int(w->b.m->ctx, "dim", w->height);
	return n > 1 ? ir_build(&w->b, OP_concat, part, n, &dim, 1) : part[0];
}

/* Exchanges channels and blocks: a convolution takes [.., S, C, h, W]. */
static struct ir_value *
build_swap(struct windows *w, struct ir_value *v)
{
	int64_t perm[IR_MAX_RANK];
	const int rank = v ? v->type->rank : 0;

	for (int d = 0; d < rank; d++)
		perm[d] = d == rank - 4 ? rank - 3 : d == rank - 3 ? rank - 4 : d;
	struct ir_attr attr = ir_make_ints(w->b.m, "perm", perm, rank);
	return v ? ir_build(&w->b, OP_transpose, &v, 1, &attr, 1) : NULL;
}

/* The op over blocks, with no padding in height. */
static struct ir_value *
build_windows(struct windows *w, struct ir_value *v)
{
	static const char *const padding[] = {"low", "high"};
	struct ir_value *arg[2] = {v, w->op->noperands > 1 ? ir_operand(w->op, 1) : NULL};
	struct ir_attr attr[8];
	int n = 0;

	for (int i = 0; i < w->op->nattrs; i++)
		if (strcmp(w->op->attr[i].key, "low") && strcmp(w->op->attr[i].key, "high"))
			attr[n++] = w->op->attr[i];
	for (int i = 0; i < 2; i++) {
		int64_t both[2] = {0, 0};
		ir_attr_ints(w->op, padding[i], both, 2);
		both[0] = 0;
		attr[n++] = ir_make_ints(w->b.m, padding[i], both, 2);
	}
	return v ? ir_build(&w->b, (enum op_code)w->op->code, arg, w->op->noperands, attr, n)
		 : NULL;
}

static bool
rewrite(struct windows *w)
{
	const struct ir_type *out = w->op->result[0].type;
	const bool conv = w->op->code == OP_conv2d;
	struct ir_value *v = build_halo(w);

	v = build_windows(w, conv ? build_swap(w, v) : v);
	v = conv ? build_swap(w, v) : v;
	if (!v)
		return false;
	struct ir_attr shape = ir_make_ints(w->b.m, "shape", out->dim, out->rank);
	struct ir_value *y = ir_build(&w->b, OP_reshape, &v, 1, &shape, 1);
	if (!y)
		return false;
	y->name = w->op->result[0].name;
	ir_replace_uses(&w->op->result[0], y);
	ir_op_erase(w->op);
	return true;
}

static bool
run(struct pass_run *run, struct ir_module *m)
{
	const int axis = pass_axis(run, "axis");
	struct ir_func *f = ir_func_find(m, "main");

	IR_FOR_OPS_SAFE (op, &f->body) {
		struct windows w = {.run = run,
			.b = {.m = m, .block = &f->body, .before = op, .loc = op->loc},
			.op = op,
			.places = m->axis[axis].size};
		if (!is_windowed(op) || w.places == 1)
			continue;
		if (!measure(&w)) {
			pass_remark(run, op, PASS_MISSED,
				"%s: its windows cannot be split into %" PRId64
				" blocks of rows; it reads the whole image",
				op_name((enum op_code)op->code), w.places);
			continue;
		}
		pass_count(run, "window(s) split into blocks", 1);
		if (!rewrite(&w))
			return false;
	}
	return dp_split(run, m, 2, 4);
}

static const struct pass_option options[] = {
	{"axis", PASS_AXIS, NULL, "device axis over which the height is split", NULL, 0, 0},
	{0},
};

const struct pass pass_spatial = {
	.name = "spatial",
	.family = "parallelize",
	.summary = "spatial parallelism: split the height of images over an axis; convolution "
		   "and pooling exchange border rows",
	.options = options,
	.needs = "no-calls",
	.conflicts = "grad,fused",
	.run = run,
	.keeps_bits = true,
};
