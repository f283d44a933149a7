/*
 * Changes of layout, one axis at a time, with the only op whose row leads from the current state to
 * the wanted state. A split can be put on or taken off only as the innermost of its dimension: axes
 * that cannot move yet are skipped, and when none can move, an innermost split is gathered to make
 * way and split again later.
 */
#include "passes/parallel/reshard.h"

#include <talloc.h>

struct resharder {
	struct ir_builder *b;
	struct ir_value *v;
	const struct ir_type *want;
};

static bool
state_equal(struct ir_state a, struct ir_state b)
{
	return a.kind == b.kind && a.dim == b.dim && a.order == b.order;
}

/* Is the state on this axis good enough? For time axes see the header. */
static bool
satisfied(const struct resharder *r, int axis)
{
	struct ir_state have = r->v->type->axis[axis], want = r->want->axis[axis];
	const struct ir_axis *a = &r->b->m->axis[axis];

	if (state_equal(have, want))
		return true;
	bool last = have.kind == IR_SINGLE && have.order == a->size - 1;
	return a->time && (last || have.kind == IR_COPIED) &&
	       (want.kind == IR_COPIED || want.kind == IR_SINGLE);
}

static bool
step(struct resharder *r, enum op_code code, int axis, const char *key1, int64_t v1,
	const char *key2, int64_t v2)
{
	struct ir_context *ctx = r->b->m->ctx;
	struct ir_attr attr[3] = {ir_make_axis(ctx, "axis", axis)};
	int n = 1;

	if (key1)
		attr[n++] = ir_make_int(ctx, key1, v1);
	if (key2)
		attr[n++] = ir_make_int(ctx, key2, v2);
	r->v = ir_build(r->b, code, &r->v, 1, attr, n);
	return r->v != NULL;
}

static bool
complain(struct resharder *r, int axis)
{
	char *have = ir_state_text(NULL, r->v->type->axis[axis]),
	     *want = ir_state_text(NULL, r->want->axis[axis]);

	diag_error(r->b->m->ctx->diag, r->b->loc,
		"no parallelization op converts %s to %s on axis %s", have, want,
		r->b->m->axis[axis].name);
	talloc_free(have);
	talloc_free(want);
	r->b->failed = true;
	r->v = NULL;
	return false;
}

/*
 * No op of the table leads from copied to single, since nothing is moved: one iteration keeps its
 * copy. A product with a 1 that is single there expresses it without a message.
 */
static bool
keep_one_copy(struct resharder *r, int axis, int place)
{
	struct ir_context *ctx = r->b->m->ctx;
	struct ir_type t = {.dtype = r->v->type->dtype};
	const struct ir_attr one = ir_make_float(ctx, "value", 1);

	t.axis[axis] = (struct ir_state){.kind = IR_SINGLE, .order = (uint16_t)place};
	r->v = ir_build2(r->b, OP_mul, r->v,
		ir_build_typed(r->b, OP_constant, NULL, NULL, 0, &one, 1, ir_type_intern(ctx, &t)));
	return r->v != NULL;
}

/* The only op from state to state. Splits are innermost, and a new one becomes the innermost. */
static bool
move_axis(struct resharder *r, int axis)
{
	struct ir_state have = r->v->type->axis[axis], want = r->want->axis[axis];
	const bool time = r->b->m->axis[axis].time;

	/* On a time axis, the loop that makes the terms or the slices ends first; its result is
	 * then split. */
	if (time && have.kind == IR_PARTIAL && want.kind != IR_SINGLE)
		return step(r, OP_reduce, axis, NULL, 0, NULL, 0);
	if (time && have.kind == IR_SPLIT && want.kind == IR_SPLIT)
		return step(r, OP_combine, axis, NULL, 0, NULL, 0);

	switch ((enum ir_state_kind)want.kind) {
	case IR_COPIED:
		if (have.kind == IR_SPLIT)
			return step(r, OP_allgather, axis, NULL, 0, NULL, 0);
		if (have.kind == IR_SINGLE)
			return step(r, OP_replicate, axis, NULL, 0, NULL, 0);
		return step(r, OP_allreduce, axis, NULL, 0, NULL, 0);
	case IR_SPLIT:
		if (have.kind == IR_PARTIAL)
			return step(r, OP_reducescatter, axis, "dim", want.dim, NULL, 0);
		if (have.kind == IR_SPLIT)
			return step(r, OP_alltoall, axis, "from", have.dim, "to", want.dim);
		return step(r, OP_partition, axis, "dim", want.dim, NULL, 0);
	case IR_SINGLE:
		if (have.kind == IR_PARTIAL)
			return step(r, OP_reduce, axis, "to", want.order, NULL, 0);
		if (have.kind == IR_SPLIT)
			return step(r, OP_combine, axis, "to", want.order, NULL, 0);
		if (have.kind == IR_SINGLE)
			return step(r, OP_send, axis, "from", have.order, "to", want.order);
		return keep_one_copy(r, axis, want.order);
	case IR_PARTIAL: break;
	}
	return complain(r, axis);
}

/* Are the axes that split the dim in their wanted states? Otherwise one of them must be removed
 * first. */
static bool
others_stay(const struct resharder *r, int dim)
{
	for (int i = 0; i < r->b->m->naxes; i++)
		if (r->v->type->axis[i].kind == IR_SPLIT && r->v->type->axis[i].dim == dim &&
			!satisfied(r, i))
			return false;
	return true;
}

/* May this axis move now: can its split be removed, and is its new split the next one in order? */
static bool
may_move(const struct resharder *r, int axis)
{
	const struct ir_type *t = r->v->type;
	struct ir_state have = t->axis[axis], want = r->want->axis[axis];

	if (have.kind == IR_SPLIT && have.order != ir_type_split_depth(t, have.dim) - 1)
		return false;
	if (want.kind != IR_SPLIT)
		return true;
	int there =
		ir_type_split_depth(t, want.dim) - (have.kind == IR_SPLIT && have.dim == want.dim);
	return want.order == there && !(have.kind == IR_SPLIT && have.dim == want.dim) &&
	       others_stay(r, want.dim);
}

/* No axis may move: gathers an innermost split that is in the way. */
static bool
make_way(struct resharder *r)
{
	const struct ir_type *t = r->v->type;

	for (int i = 0; i < r->b->m->naxes; i++)
		if (!satisfied(r, i) && t->axis[i].kind == IR_SPLIT &&
			t->axis[i].order == ir_type_split_depth(t, t->axis[i].dim) - 1)
			return step(r, OP_allgather, i, NULL, 0, NULL, 0);
	for (int i = 0; i < r->b->m->naxes; i++)
		if (t->axis[i].kind == IR_SPLIT &&
			t->axis[i].order == ir_type_split_depth(t, t->axis[i].dim) - 1)
			return step(r, OP_allgather, i, NULL, 0, NULL, 0);
	return false;
}

/*
 * The axis to move next, -1 if none may; *done if all are right. Sums over time come first: a value
 * that is accumulated over the micro-batches is communicated once, not once for each of them.
 */
static int
next_axis(const struct resharder *r, bool *done)
{
	int next = -1;

	*done = true;
	for (int i = 0; i < r->b->m->naxes; i++) {
		if (satisfied(r, i))
			continue;
		*done = false;
		if (!may_move(r, i))
			continue;
		if (r->b->m->axis[i].time && r->v->type->axis[i].kind == IR_PARTIAL)
			return i;
		if (next < 0)
			next = i;
	}
	return next;
}

struct ir_value *
reshard(struct ir_builder *b, struct ir_value *v, const struct ir_type *want)
{
	struct resharder r = {b, v, want};

	/* The split of each axis is removed and added at most twice. */
	for (int turn = 0; turn < 4 * IR_MAX_AXES; turn++) {
		bool done;
		int next = next_axis(&r, &done);
		if (done)
			return r.v;
		if (!(next >= 0 ? move_axis(&r, next) : make_way(&r)))
			return NULL;
	}
	complain(&r, 0);
	return NULL;
}

const struct ir_type *
gradient_type(struct ir_module *m, const struct ir_type *t)
{
	struct ir_type g = *t;

	for (int i = 0; i < m->naxes; i++)
		if (g.axis[i].kind == IR_PARTIAL)
			g.axis[i] = (struct ir_state){.kind = IR_COPIED};
	return ir_type_intern(m->ctx, &g);
}
