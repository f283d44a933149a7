/*
 * sink-transpose: moves a transpose past the ops that can do without it, until it meets one that
 * undoes it or an op that reads any order. A step with images [N,H,W,C] has a transpose on both
 * sides of each convolution after import; all pointwise ops and sums between them work on [N,C,H,W]
 * as well.
 *
 *     %t = transpose(%x) {perm = [0,2,3,1]}       %y = relu(%x)
 *     %y = relu(%t)                               %t = transpose(%y) {perm = [0,2,3,1]}
 *
 * An op is recreated on the inputs of its transposed operands, if every other operand can follow
 * without a transpose of its own: a scalar, a tensor whose dims larger than 1 keep their order (a
 * reshape), a constant, a broadcast. In the end transposes of such tensors become reshapes. The dims of a sum are renumbered, and a transpose remains only if the
 * remaining dims are in another order. It is correct because an op's form is the same nest with its
 * indices renamed; slices, pads and concats name their dims.
 *
 * Each op is recreated at most once, so the walk is O(ops).
 */
#include "ir/build_try.h"
#include "ir/ops/row.h"
#include "ir/product.h"
#include "passes/prepare/canonicalize.h"

#include <string.h>

struct sink {
	struct ir_module *m;
	struct ir_builder b;
	int rank;                  /* of the transposed value */
	int64_t perm[IR_MAX_RANK]; /* dim i of the transposed value is dim perm[i] of its source */
	bool reordered;            /* a reduction reads its terms in another order */
};

/* The source of the transpose that makes v, and its perm; NULL: not a transpose. */
static struct ir_value *
transposed(const struct ir_value *v, int64_t perm[IR_MAX_RANK])
{
	const struct ir_op *op = v->op;

	if (!op || op->code != OP_transpose)
		return NULL;
	transpose_order(op, perm);
	return ir_operand(op, 0);
}

/* The type of a value of type t, matched from the right, before the transpose. */
static const struct ir_type *
type_before(const struct sink *s, const struct ir_type *t)
{
	const int missing = s->rank - t->rank;
	struct ir_type r = *t;

	r.rank = (uint8_t)s->rank;
	for (int i = 0; i < s->rank; i++)
		r.dim[s->perm[i]] = i < missing ? 1 : t->dim[i - missing];
	for (int a = 0; a < s->m->naxes; a++)
		if (r.axis[a].kind == IR_SPLIT)
			r.axis[a].dim = (uint8_t)s->perm[r.axis[a].dim + missing];
	return ir_type_intern(s->m->ctx, &r);
}

/* Does a transpose of such a tensor move no element in memory? */
static bool
keeps_order(const struct ir_type *t, const int64_t perm[IR_MAX_RANK])
{
	int64_t last = -1;

	for (int d = 0; d < t->rank; d++) {
		if (t->dim[perm[d]] == 1)
			continue;
		if (perm[d] < last)
			return false;
		last = perm[d];
	}
	return true;
}

/* An operand next to a transposed one, as it was before the transpose; NULL: that needs another.
 */
static struct ir_value *
follow(struct sink *s, struct ir_value *v)
{
	const struct ir_type *t = v->type;
	int64_t perm[IR_MAX_RANK], dims[IR_MAX_RANK];
	struct ir_value *x = transposed(v, perm);

	if (x && t->rank == s->rank && !memcmp(perm, s->perm, (size_t)s->rank * sizeof *perm))
		return x;
	if (!t->rank)
		return v;
	const struct ir_type *want = type_before(s, t);
	if (v->op && v->op->code == OP_constant)
		return ir_build_try(&s->b, OP_constant, NULL, v->op->attr, v->op->nattrs, want);
	if (v->op && v->op->code == OP_broadcast) {
		x = ir_operand(v->op, 0);
		const int n = ir_attr_ints(v->op, "dims", dims, IR_MAX_RANK);
		for (int j = 0; j < x->type->rank; j++) {
			const int64_t at = n < 0         ? t->rank - x->type->rank + j
					   : dims[j] < 0 ? dims[j] + t->rank
							 : dims[j];
			dims[j] = s->perm[at + s->rank - t->rank];
		}
		const struct ir_attr attr[] = {ir_make_ints(s->m, "shape", want->dim, want->rank),
			ir_make_ints(s->m, "dims", dims, x->type->rank)};
		return ir_build_try(&s->b, OP_broadcast, x, attr, 2, want);
	}
	const struct ir_attr shape = ir_make_ints(s->m, "shape", want->dim, want->rank);
	x = keeps_order(want, s->perm) ? ir_build_try(&s->b, OP_reshape, v, &shape, 1, NULL) : NULL;
	return x && x->type == want ? x : NULL;
}

/* Dims of an attribute before the transpose. Without it the op applies to all dims. */
static void
renumber(struct sink *s, struct ir_op *copy, const char *key)
{
	int64_t dim[IR_MAX_RANK];
	const int n = ir_attr_ints(copy, key, dim, IR_MAX_RANK);

	if (n < 0)
		return;
	for (int i = 0; i < n; i++)
		dim[i] = s->perm[dim[i] < 0 ? dim[i] + s->rank : dim[i]];
	const struct ir_attr attr = ir_make_ints(s->m, key, dim, n);
	ir_attr_set(s->m, copy, &attr);
}

/* A pool of images whose channels are the last dim before the transpose: it has such a form. */
static bool
renumber_pool(struct sink *s, struct ir_op *copy)
{
	const struct ir_attr attr = ir_make_bool(s->m->ctx, "channels_last", true);

	if (copy->code == OP_conv2d || copy->code == OP_conv2d_data ||
		copy->code == OP_conv2d_filter || ir_attr_int(copy, "channels_last", 0))
		return false;
	ir_attr_set(s->m, copy, &attr);
	for (int d = 0; d < s->rank; d++)
		if (s->perm[d] !=
			(d < s->rank - 3 ? d : s->rank + row_image_dim(copy, d - s->rank)))
			return false;
	return true;
}

/* The attributes of an op before the transpose; false if it has no such form. */
static bool
renumber_all(struct sink *s, struct ir_op *copy, const struct form *f)
{
	switch (copy->code) {
	case OP_sum:
	case OP_mean:
	case OP_max:
	case OP_min:
	case OP_prod:
	case OP_any:
	case OP_all: renumber(s, copy, "dims"); return true;
	case OP_slice:
	case OP_pad:
	case OP_reverse: renumber(s, copy, "dims"); return ir_attr_find(copy, "dims") != NULL;
	case OP_concat: {
		const int64_t d = ir_attr_int(copy, "dim", 0);
		const struct ir_attr attr =
			ir_make_int(s->m->ctx, "dim", s->perm[d < 0 ? d + s->rank : d]);
		ir_attr_set(s->m, copy, &attr);
		return true;
	}
	default: break;
	}
	if (row_attr_find(op_row(s->m->ctx, copy), "channels_last"))
		return renumber_pool(s, copy);
	for (int i = 0; i < f->nindices; i++)
		if (f->at[i])
			return false;
	return f->reduce == REDUCE_NONE && f->out.rank == s->rank && !op_is(copy, TRAIT_KEYED) &&
	       copy->code != OP_broadcast && copy->code != OP_transpose &&
	       copy->code != OP_contract && copy->code != OP_matmul;
}

/* The perm from the result of the copy to that of the op. */
static int
perm_behind(const struct sink *s, const struct ir_op *op, int64_t perm[IR_MAX_RANK])
{
	int64_t dim[IR_MAX_RANK];
	uint32_t gone = 0;
	int n = op->result[0].type->rank, k = 0;

	if (n == s->rank) {
		memcpy(perm, s->perm, sizeof s->perm);
		return n;
	}
	if (!n)
		return 0;
	n = ir_attr_ints(op, "dims", dim, IR_MAX_RANK);
	for (int i = 0; i < n; i++)
		gone |= 1u << (dim[i] < 0 ? dim[i] + s->rank : dim[i]);
	uint32_t before = 0; /* removed dims, before the transpose */
	for (int i = 0; i < s->rank; i++)
		before |= gone >> i & 1 ? 1u << s->perm[i] : 0;
	for (int i = 0; i < s->rank; i++)
		if (!(gone >> i & 1))
			perm[k++] =
				s->perm[i] - __builtin_popcount(before & ((1u << s->perm[i]) - 1));
	return k;
}

static bool
sink_op(struct sink *s, struct ir_op *op)
{
	struct ir_value *v[FORM_MAX_INPUTS];
	int64_t perm[IR_MAX_RANK];
	struct form f;
	bool any = false;

	for (int k = 0; k < op->noperands && !any; k++)
		if ((any = transposed(ir_operand(op, k), s->perm) != NULL))
			s->rank = ir_operand_type(op, k)->rank;
	if (!any || !form_shape(s->m, op, op->result[0].type, &f, NULL))
		return false;
	for (int k = 0; k < op->noperands; k++)
		if (ir_operand_type(op, k)->rank > s->rank ||
			!(v[k] = follow(s, ir_operand(op, k))))
			return false;
	struct ir_op *copy = ir_op_clone(s->m, op, v);
	const bool before = diag_mute(s->m->ctx->diag, true);
	const bool fits = renumber_all(s, copy, &f) && ir_infer(s->m, copy, NULL);
	diag_mute(s->m->ctx->diag, before);
	if (!fits) {
		ir_op_erase(copy);
		return false;
	}
	ir_insert_before(op, copy);
	bool idle = true;
	const int n = perm_behind(s, op, perm);
	for (int i = 0; i < n; i++)
		idle = idle && perm[i] == i;
	const struct ir_attr attr = ir_make_ints(s->m, "perm", perm, n);
	struct ir_value *r = &copy->result[0];
	if (!idle)
		r = ir_build_try(&s->b, OP_transpose, r, &attr, 1, NULL);
	if (!r || r->type != op->result[0].type)
		return false;
	copy->result[0].name = op->result[0].name;
	ir_replace_uses(&op->result[0], r);
	s->reordered = s->reordered || f.reduce != REDUCE_NONE;
	return true;
}

/* Two consecutive transposes become none, or one. */
static bool
join(struct sink *s, struct ir_op *op)
{
	struct canon c = {.m = s->m, .b = s->b};
	struct ir_value *r = canon_transpose_twice(&c, op);

	if (!r || r->type != op->result[0].type)
		return false;
	ir_replace_uses(&op->result[0], r);
	return true;
}

/* The reshape that a transpose is; false: elements move. */
static bool
as_reshape(struct sink *s, struct ir_op *op)
{
	const struct ir_type *t = op->result[0].type;
	const struct ir_attr shape = ir_make_ints(s->m, "shape", t->dim, t->rank);
	int64_t perm[IR_MAX_RANK];

	transpose_order(op, perm);
	if (!keeps_order(ir_operand_type(op, 0), perm))
		return false;
	struct ir_value *r = ir_build_try(&s->b, OP_reshape, ir_operand(op, 0), &shape, 1, NULL);
	if (!r || r->type != t)
		return false;
	r->name = op->result[0].name;
	ir_replace_uses(&op->result[0], r);
	return true;
}

static bool
run(struct pass_run *run, struct ir_module *m)
{
	struct ir_block *b = &ir_func_find(m, "main")->body;
	struct sink s = {.m = m};

	IR_FOR_OPS_SAFE (op, b) {
		s.b = (struct ir_builder){.m = m, .block = b, .before = op, .loc = op->loc};
		if (op->nresults != 1 || !op_is(op, TRAIT_PURE) ||
			(op_is(op, TRAIT_PARALLEL) && op->code != OP_allreduce) ||
			op_is(op, TRAIT_OWN) || op->body || op->noperands < 1 ||
			op->noperands > FORM_MAX_INPUTS)
			continue;
		if (op->code == OP_transpose)
			pass_count(run, "transpose(s) merged", join(&s, op));
		else if (form_exists((enum op_code)op->code))
			pass_count(run, "op(s) moved above a transpose", sink_op(&s, op));
	}
	if (s.reordered)
		pass_reorders(run);
	for (struct ir_op *op = b->last, *prev; op; op = prev) {
		prev = op->prev;
		s.b = (struct ir_builder){.m = m, .block = b, .before = op, .loc = op->loc};
		if (op->code == OP_transpose)
			pass_count(run, "transpose(s) of dims of size 1", as_reshape(&s, op));
		if (op->nresults == 1 && !op->result[0].uses && op_is(op, TRAIT_PURE))
			ir_op_erase(op);
	}
	return true;
}

const struct pass pass_sink_transpose = {
	.name = "sink-transpose",
	.family = "prepare",
	.summary = "sink transposes through layout-agnostic ops until they cancel",
	.needs = "no-calls",
	.conflicts = "fused",
	.run = run,
	.keeps_bits = true,
};
