/*
 * Each op is done by its actions, once per iteration of the loops that its types require, on all
 * ranks that hold a result and on no others where that can be determined; copies move what the
 * layouts require, within the bounds of their source and target.
 */
#include "lower/plan/check.h"

#include "ir/base/alloc.h"

#include <inttypes.h>

struct walk {
	struct check *c;
	const struct issue_loop *loop; /* the current loop, or NULL */
	int32_t last;                  /* moment of the previous action */
	int kernels, moves;            /* so far: indices of their rows */
	bool *done;                    /* [nvalues] a result was made */
};

uint32_t
check_long_axes(const struct ir_module *m, uint32_t axes)
{
	for (int a = 0; a < m->naxes; a++)
		if (m->axis[a].size == 1)
			axes &= ~(1u << a);
	return axes;
}

/*
 * The same question as storage_is_view in ir/memory/share.c, answered independently, from the types
 * alone. The duplication is on purpose: a checker that called the planner's function would repeat
 * its mistakes.
 */
bool
check_is_view(const struct ir_module *m, const struct ir_op *op)
{
	if (op->code == OP_reshape || op->code == OP_stop_gradient || op->code == OP_barrier)
		return true;
	if (op->code == OP_convert)
		return op->result[0].type == ir_operand_type(op, 0);
	if (!op_is(op, TRAIT_PARALLEL))
		return false;
	const int axis = check_axis(op);
	const struct ir_state from = ir_operand_type(op, 0)->axis[axis],
			      to = op->result[0].type->axis[axis];
	if (m->axis[axis].size == 1)
		return true;
	/* A value that exists once over time is available to all later ops. */
	if (m->axis[axis].time)
		return from.kind == IR_SINGLE && (to.kind == IR_SINGLE || to.kind == IR_COPIED);
	return from.kind == IR_SINGLE && to.kind == IR_SINGLE &&
	       ir_axis_place(&m->axis[axis], from.order) == ir_axis_place(&m->axis[axis], to.order);
}

bool
check_is_collective(const struct ir_module *m, const struct ir_op *op)
{
	if (!op_is(op, TRAIT_PARALLEL) || check_is_view(m, op))
		return false;
	const int axis = check_axis(op);
	return !m->axis[axis].time && ir_operand_type(op, 0)->axis[axis].kind != IR_COPIED;
}

bool
check_is_kernel(const struct ir_module *m, const struct ir_op *op)
{
	return op->nresults > 0 &&
	       !op_is(op, TRAIT_EFFECT | TRAIT_NAMED | TRAIT_PARALLEL | TRAIT_TERMINATOR |
				  TRAIT_CALLS | TRAIT_COPY) &&
	       !check_is_view(m, op);
}

/* Time axes over which the op is done in every iteration; a view is, if what it is a view of is. */
static uint32_t
axes_of(const struct ir_module *m, const struct ir_op *op)
{
	const struct ir_op *made = op;
	while (made->code == OP_reshape && ir_operand(made, 0)->op)
		made = ir_operand(made, 0)->op;
	const int64_t each = op_is(made, TRAIT_PARALLEL) ? ir_attr_int(made, "each", -1) : -1;
	uint32_t axes = each < 0 ? 0 : 1u << each;

	if (op_is(op, TRAIT_EFFECT | TRAIT_NAMED))
		return 0;
	for (int i = 0; i < op->noperands; i++)
		axes |= issue_axes(m, ir_operand_type(op, i));
	for (int i = 0; i < op->nresults; i++)
		axes |= issue_axes(m, op->result[i].type);
	return check_long_axes(m, axes);
}

static void
check_loop(const struct walk *w, const struct lower_action *a)
{
	const struct check *c = w->c;
	const uint32_t over = w->loop ? check_long_axes(c->p->module, w->loop->over) : 0,
		       last = check_long_axes(c->p->module, a->last);

	if (a->kind != LOWER_WAIT && axes_of(c->p->module, a->op) != (over & ~last))
		FAULT(w->c, a->op, "%s is not executed once for each iteration of its time axes",
			check_op_name(a->op));
}

static unsigned
place_of(const struct ir_module *m, const struct ir_type *t, int axis)
{
	return t->axis[axis].kind == IR_SINGLE ? ir_axis_place(&m->axis[axis], t->axis[axis].order)
					       : t->axis[axis].order;
}

/* Does every rank that holds the value meet the condition? */
static bool
holds(const struct ir_module *m, const struct ir_type *t, int axis, unsigned place)
{
	return t->axis[axis].kind == IR_SINGLE && place_of(m, t, axis) == place;
}

/* A written value must be written on all ranks that hold it. */
static void
check_written(
	struct walk *w, const struct lower_action *a, const struct ir_type *t, const char *what)
{
	const struct lower_guard *g = &a->guard;

	for (int i = 0; i < g->n; i++)
		if (!holds(w->c->p->module, t, g->axis[i], g->place[i]))
			FAULT(w->c, a->op,
				"%s of %s is only executed at %s=%d, but other "
				"ranks also hold the result",
				what, check_op_name(a->op), w->c->p->module->axis[g->axis[i]].name,
				g->place[i]);
}

/* If all results of an op exist at one coordinate of an axis only, its action has a guard for it:
 * other ranks hold no operands to read. */
static void
check_needless(struct walk *w, const struct lower_action *a)
{
	const struct ir_module *m = w->c->p->module;

	for (int x = 0; x < m->naxes; x++) {
		const struct ir_type *t =
			a->op->nresults ? a->op->result[0].type : ir_operand_type(a->op, 0);
		bool guarded = false, all = !m->axis[x].time && t->axis[x].kind == IR_SINGLE;
		for (int r = 1; r < a->op->nresults && all; r++)
			all = holds(m, a->op->result[r].type, x, place_of(m, t, x));
		for (int i = 0; i < a->guard.n; i++)
			guarded |= a->guard.axis[i] == x;
		if (all && !guarded)
			FAULT(w->c, a->op, "%s is executed on ranks that do not hold its result",
				check_op_name(a->op));
	}
}

/* A result must be made by exactly one action. */
static void
make(struct walk *w, const struct lower_action *a, int32_t value)
{
	if (w->done[value])
		FAULT(w->c, a->op, "a result of %s is computed twice", check_op_name(a->op));
	w->done[value] = true;
}

static void
check_kernel(struct walk *w, const struct lower_action *a)
{
	bool whole = a->scheme->kernel == a->op;

	for (int r = 0; r < a->op->nresults; r++) {
		check_written(w, a, a->op->result[r].type, "the kernel");
		make(w, a, check_number(w->c->p, &a->op->result[r]));
	}
	if (!whole || a->kernel != w->kernels++)
		FAULT(w->c, a->op, "the kernel of %s belongs to another op", check_op_name(a->op));
}

/* Local elements of dims [from, to). */
static int64_t
extent(const struct ir_module *m, const struct ir_type *t, int from, int to)
{
	int64_t n = 1;

	for (int d = from; d < to; d++)
		n *= ir_type_local_dim(m, t, d);
	return n;
}

/* A tensor is copied whole. */
static void
check_whole(struct walk *w, const struct lower_action *a, const struct ir_type *t)
{
	const struct lower_copy *x = &a->copy;
	const uint64_t bytes = (uint64_t)ir_type_local_bytes(w->c->p->module, t);

	if (x->outer != 1 || x->bytes != bytes || x->src_stride != bytes ||
		x->dst_stride != bytes || x->slice_axis != -1 || x->slice_bytes || x->slice_src)
		FAULT(w->c, a->op,
			"a copy of %" PRId64 " x %" PRIu64
			" bytes of a tensor whose size is %" PRIu64,
			x->outer, x->bytes, bytes);
}

/*
 * Between a whole and slice number coord[axis] of it along a dim, a block contains the inner dims;
 * a whole has one block per slice of the axis in a row.
 */
static void
check_slice(struct walk *w, const struct lower_action *a, const struct ir_type *whole,
	const struct ir_type *slice, bool take)
{
	const struct ir_module *m = w->c->p->module;
	const struct lower_copy *x = &a->copy;
	const int axis = check_axis(a->op), dim = slice->axis[axis].dim;
	const uint64_t slices = (uint64_t)m->axis[axis].size,
		       block = (uint64_t)extent(m, slice, dim, slice->rank) *
			       ir_dtype_bytes((enum ir_dtype)slice->dtype),
		       src = take ? slices * block : block, dst = take ? block : slices * block;

	if (slice->axis[axis].kind != IR_SPLIT || x->outer != extent(m, slice, 0, dim) ||
		x->bytes != block || x->src_stride != src || x->dst_stride != dst ||
		x->slice_axis != axis || x->slice_bytes != block || x->slice_src != take ||
		(uint64_t)ir_type_local_bytes(m, whole) !=
			slices * (uint64_t)ir_type_local_bytes(m, slice))
		FAULT(w->c, a->op, "a copy that is not of a rank's slice along %s",
			m->axis[axis].name);
}

/* A next value of a param, or a copy of an output: one side is not an entry of a value. */
static void
check_effect_copy(struct walk *w, const struct lower_action *a)
{
	const struct lower_plan *p = w->c->p;
	const bool update = a->op->code == OP_update;
	const struct ir_value *from = ir_operand(a->op, update ? 1 : 0);
	const struct lower_value *src = &p->value[a->src], *dst = &p->value[a->dst];

	check_whole(w, a, from->type);
	check_written(w, a, from->type, "the copy");
	if ((src->value && src->value != from) || (!src->value && !update) ||
		(dst->value && (!update || dst->value != ir_operand(a->op, 0))) ||
		(!src->value && !dst->value))
		FAULT(w->c, a->op, "a copy of %s is between the wrong tensors",
			check_op_name(a->op));
}

/* Result r of an op is made from its operand r by copying or adding. */
static int
check_move(struct walk *w, const struct lower_action *a)
{
	const struct lower_plan *p = w->c->p;
	const int r = check_result_of(p, a->op, a->dst);

	if (r < 0 || r >= a->op->noperands || !op_is(a->op, TRAIT_PARALLEL) ||
		a->src != check_number(w->c->p, ir_operand(a->op, r))) {
		FAULT(w->c, a->op, "%s moves the wrong tensors", check_op_name(a->op));
		return -1;
	}
	check_written(w, a, a->op->result[r].type, "the chunk");
	return r;
}

static void
check_copy(struct walk *w, const struct lower_action *a)
{
	const struct ir_module *m = w->c->p->module;

	if (a->kernel != w->c->p->nkernels + w->moves++)
		FAULT(w->c, a->op, "the bucket of a copy belongs to another op");
	if (a->op->code == OP_output || a->op->code == OP_update) {
		check_effect_copy(w, a);
		return;
	}
	const int r = check_move(w, a);
	if (r < 0)
		return;
	make(w, a, a->dst);
	const int axis = check_axis(a->op);
	const struct ir_type *from = ir_operand_type(a->op, r), *to = a->op->result[r].type;
	const bool time = m->axis[axis].time, take = to->axis[axis].kind == IR_SPLIT,
		   put = from->axis[axis].kind == IR_SPLIT;
	if (take == put || (put && !time) ||
		(take && from->axis[axis].kind != IR_COPIED &&
			!(time && from->axis[axis].kind == IR_SINGLE)))
		FAULT(w->c, a->op, "%s is not a copy", check_op_name(a->op));
	else
		check_slice(w, a, take ? from : to, take ? to : from, take);
}

static void
check_add(struct walk *w, const struct lower_action *a)
{
	const struct ir_module *m = w->c->p->module;
	const int r = check_move(w, a);

	if (a->kernel != w->c->p->nkernels + w->moves++)
		FAULT(w->c, a->op, "the bucket of a sum over time belongs to another op");
	if (r < 0)
		return;
	make(w, a, a->dst);
	const int axis = check_axis(a->op);
	const struct ir_type *from = ir_operand_type(a->op, r), *to = a->op->result[r].type;
	if (!m->axis[axis].time || a->over != 1u << axis || from->dtype != to->dtype ||
		from->axis[axis].kind != IR_PARTIAL || to->axis[axis].kind == IR_PARTIAL ||
		ir_type_local_elements(m, from) != ir_type_local_elements(m, to))
		FAULT(w->c, a->op, "a sum over time that is not over the axis of its %s",
			check_op_name(a->op));
}

static void
check_pack(struct walk *w, const struct lower_action *a)
{
	const int r = check_move(w, a);

	if (r >= 0)
		check_whole(w, a, a->op->result[r].type);
}

/* The guard has no condition on the axis, or the condition that the coordinate is `place`. */
static bool
guard_is(const struct lower_guard *g, int axis, int place)
{
	int n = 0;

	for (int i = 0; i < g->n; i++)
		if (g->axis[i] == axis) {
			n++;
			if (g->place[i] != place)
				return false;
		}
	return n == (place >= 0);
}

/* The coordinate on the axis of all ranks that hold results of the op; -1: they differ. */
static int
common_place(const struct ir_module *m, const struct ir_op *op, int axis)
{
	for (int r = 0; r < op->nresults; r++)
		if (m->axis[axis].time ||
			!holds(m, op->result[r].type, axis, place_of(m, op->result[0].type, axis)))
			return -1;
	return (int)place_of(m, op->result[0].type, axis);
}

/*
 * Along its axis all ranks take part in a collective, or those that do would wait for the others.
 * On the other axes the ranks that hold its results take part, in complete rows of its axis: on
 * other ranks those bytes may be in use for other values.
 */
static void
check_post_guard(struct walk *w, const struct lower_action *a)
{
	const struct lower_coll *coll = &w->c->p->coll[a->coll];
	const struct ir_module *m = w->c->p->module;
	struct cell_message message;
	/* For a message between stages only the receiver waits, before it reads. */
	const int waits =
		a->kind == LOWER_WAIT && lower_is_message(w->c->p, coll, &message) ? coll->to : -1;

	for (int x = 0; x < m->naxes; x++) {
		if (!coll->transfer && x == coll->axis && !guard_is(&a->guard, x, waits))
			FAULT(w->c, a->op,
				"only some ranks post this %s; the others would wait forever",
				check_op_name(a->op));
		else if ((coll->transfer || x != coll->axis) &&
			 !guard_is(&a->guard, x, common_place(m, a->op, x)))
			FAULT(w->c, a->op,
				"the ranks that post this %s are not those of axis %s that hold its "
				"results",
				check_op_name(a->op), m->axis[x].name);
	}
}

static void
check_post(struct walk *w, const struct lower_action *a)
{
	if (w->c->p->coll[a->coll].op != a->op) {
		FAULT(w->c, a->op, "%s is a different collective", check_op_name(a->op));
		return;
	}
	check_post_guard(w, a);
	if (a->kind == LOWER_POST)
		for (int r = 0; r < a->op->nresults; r++)
			make(w, a, check_number(w->c->p, &a->op->result[r]));
}

/* The moment at which an action is done; for a wait: the moment before the next action. */
static int32_t
moment_of(const struct walk *w, int i)
{
	const struct lower_plan *p = w->c->p;
	const struct issue *o = p->storage->order;
	const struct lower_action *a = &p->action[i];
	int next = i;

	while (next < p->nactions && p->action[next].kind == LOWER_WAIT)
		next++;
	if (a->kind == LOWER_WAIT)
		return next < p->nactions ? p->action[next].at - 1 : (int32_t)(2 * o->n + 1);
	return (int32_t)(a->op->code == OP_update ? 2 * o->n + 1 : 2 * o->position[a->op->id] + 1);
}

static void
check_moment(struct walk *w, int i)
{
	const struct lower_action *a = &w->c->p->action[i];

	if (a->op && a->at != moment_of(w, i))
		FAULT(w->c, a->op, "action %d is at time %d; expected %d", i, a->at,
			moment_of(w, i));
	if (a->at < w->last)
		FAULT(w->c, a->op, "action %d is at time %d, after an action at %d", i, a->at,
			w->last);
	w->last = a->at > w->last ? a->at : w->last;
}

/* A loop of the actions must be a loop of the order of issue. */
static void
check_loop_ends(struct walk *w, const struct lower_action *a)
{
	const struct issue *o = w->c->p->storage->order;
	const bool begins = a->kind == LOWER_LOOP, inside = a->at >= 0 && a->at / 2 < (int)o->n;
	const struct issue_loop *l = !begins  ? w->loop
				     : inside ? &o->loop[o->loop_of[a->at / 2]]
					      : NULL;

	if (!l || l->over != a->over || a->at != (int32_t)(2 * (begins ? l->first : l->end)))
		FAULT(w->c, NULL, "unexpected loop that %s at time %d", begins ? "begins" : "ends",
			a->at);
	w->loop = begins ? l : NULL;
}

static void
check_action(struct walk *w, int i)
{
	const struct lower_action *a = &w->c->p->action[i];

	check_moment(w, i);
	if (a->op)
		check_loop(w, a);
	switch (a->kind) {
	case LOWER_KERNEL: check_kernel(w, a); break;
	case LOWER_COPY: check_copy(w, a); break;
	case LOWER_ADD: check_add(w, a); break;
	case LOWER_PACK: check_pack(w, a); break;
	case LOWER_POST:
	case LOWER_WAIT: check_post(w, a); return;
	case LOWER_LOOP:
	case LOWER_END: check_loop_ends(w, a); return;
	}
	check_needless(w, a);
}

/* Values that must be made in the step: all except those that exist before it, and constants in
 * kernels. */
static void
check_all_done(const struct walk *w)
{
	const struct lower_plan *p = w->c->p;

	IR_FOR_OPS (op, &p->main->body)
		for (int r = 0; r < op->nresults; r++) {
			const int32_t i = check_number(w->c->p, &op->result[r]);
			if (!op_is(op, TRAIT_NAMED) && !check_is_view(p->module, op) &&
				p->value[i].buffer >= 0 && !w->done[i])
				FAULT(w->c, op, "no action computes result %d of %s", r + 1,
					check_op_name(op));
		}
	if (w->kernels != p->nkernels || w->moves != p->nmoves)
		FAULT(w->c, NULL, "found %d kernels and %d moves, but the plan counts %d and %d",
			w->kernels, w->moves, p->nkernels, p->nmoves);
}

void
check_actions(struct check *c)
{
	struct walk w = {.c = c};

	w.done = ARRAY_ZERO(NULL, bool, (size_t)c->p->nvalues + 1);
	for (int i = 0; i < c->p->nactions; i++)
		check_action(&w, i);
	check_all_done(&w);
	array_free(w.done);
}
