/*
 * propagate: layouts that are given at a few values, inputs and params say, carried through the
 * step. A module in which split values are gathered at once is correct, but does all work on every
 * device:
 *
 *     %x = input("x") : f32[32/dp,8]               %x = input("x") : f32[32/dp,8]
 *     %g = allgather(%x) {axis = dp} : f32[32,8]   %y = matmul(%x, %w) : f32[32/dp,4]
 *     %y = matmul(%g, %w) : f32[32,4]              %g = allgather(%y) {axis = dp} : f32[32,4]
 *
 * This pass moves the allgathers down, op by op in order, on one axis after another. For the index
 * that is split before an allgather, the op's rule (ir/ops/layout.c) says what the other operands
 * must be: split there, which takes a partition of a copied value, or copied. The result is split
 * and followed by an allgather, or partial and followed by an allreduce. If several indices are
 * possible, the one with the fewest bytes of messages is taken; if a result is partial only because
 * other operands were sliced to fit, the op stays as it is if its gathers send less than the
 * allreduce. Ties go to the first operand.
 *
 * A broadcast to more elements stays before its gather, and is made in slices where a slice of it
 * is needed. Outputs report split values. Right because parallelization ops do not change the value
 * of a tensor, and the verifier infers every layout again. Each op is made anew at most once an
 * axis: O(ops x axes).
 *
 * After GSPMD (Y. Xu et al., "GSPMD: General and Scalable Parallelization for ML Computation
 * Graphs", 2021), forwards alone and with the index rules of the op table in place of rules by op.
 */
#include "ir/ops/form.h"
#include "passes/parallel/propagate.h"

#include <string.h>

struct propagate {
	struct pass_run *run;
	struct ir_module *m;
	int axis;           /* the current axis */
	struct ir_op *made; /* replacements of the results of the current op */
};

/* --- values ----------------------------------------------------------------------------------- */

static struct ir_state
state_of(const struct propagate *p, const struct ir_value *v)
{
	return v->type->axis[p->axis];
}

/* The operand of the op that makes v, if it is an op of that code on the current axis; NULL: it is
 * not. */
static struct ir_value *
made_of(const struct propagate *p, const struct ir_value *v, enum op_code code)
{
	const struct ir_op *op = v->op;

	if (!op || op->code != code || op->noperands != 1 || ir_attr_int(op, "axis", -1) != p->axis)
		return NULL;
	return ir_operand(op, 0);
}

/* Is v a broadcast to more elements? */
static bool
repeats(const struct ir_value *v)
{
	return v->op && v->op->code == OP_broadcast &&
	       ir_type_elements(v->type) > ir_type_elements(ir_operand_type(v->op, 0));
}

/* The dim of the result that dim d of the broadcast operand becomes. */
static int
broadcast_dim(const struct ir_op *op, int d)
{
	int64_t dims[IR_MAX_RANK];
	const int n = ir_attr_ints(op, "dims", dims, IR_MAX_RANK), rank = op->result[0].type->rank;

	if (n < 0)
		return rank - ir_operand_type(op, 0)->rank + d;
	return (int)(dims[d] < 0 ? dims[d] + rank : dims[d]);
}

/*
 * For a value that is copied on the axis and gathered from slices: the dim along which it is
 * gathered, and the order of the split there. -1: it is not such a value. *bytes is the size of the
 * message.
 */
static int
gathered(const struct propagate *p, const struct ir_value *v, int *order, int64_t *bytes)
{
	const struct ir_value *x = made_of(p, v, OP_allgather);

	*bytes = 0;
	if (x) {
		*order = state_of(p, x).order;
		*bytes = ir_type_local_bytes(p->m, v->type);
		return state_of(p, x).dim;
	}
	if (!repeats(v) || state_of(p, v).kind != IR_COPIED)
		return -1;
	const int d = gathered(p, ir_operand(v->op, 0), order, bytes);
	if (d < 0 || ir_operand_type(v->op, 0)->dim[d] == 1)
		return -1;
	return broadcast_dim(v->op, d);
}

static void
drop_dead(struct ir_value *v)
{
	struct ir_op *op = v->op;

	if (v->uses || !op || !op->block || op->nresults != 1 || !op_is(op, TRAIT_PURE) ||
		!(op_is(op, TRAIT_PARALLEL) || op->code == OP_broadcast || op->code == OP_constant))
		return;
	struct ir_value *from = op->noperands == 1 ? ir_operand(op, 0) : NULL;
	ir_op_erase(op);
	if (from)
		drop_dead(from);
}

static struct ir_builder
builder_after(struct propagate *p, struct ir_value *v)
{
	return (struct ir_builder){
		.m = p->m, .block = v->op->block, .before = v->op->next, .loc = v->op->loc};
}

static struct ir_value *
change(struct propagate *p, struct ir_value *v, enum op_code code, struct ir_value *x,
	const char *key1, int64_t v1, const char *key2, int64_t v2)
{
	struct ir_context *ctx = p->m->ctx;
	struct ir_builder b = builder_after(p, v);
	struct ir_attr attr[3] = {ir_make_axis(ctx, "axis", p->axis)};
	int n = 1;

	if (key1)
		attr[n++] = ir_make_int(ctx, key1, v1);
	if (key2)
		attr[n++] = ir_make_int(ctx, key2, v2);
	return ir_build(&b, code, &x, 1, attr, n);
}

static const struct ir_type *
split_type(const struct propagate *p, const struct ir_type *t, int dim)
{
	struct ir_type want = *t;

	want.axis[p->axis] =
		(struct ir_state){IR_SPLIT, (uint8_t)dim, (uint16_t)ir_type_split_depth(t, dim)};
	return ir_type_intern(p->m->ctx, &want);
}

static bool
divides(const struct propagate *p, const struct ir_type *t, int dim)
{
	return ir_type_local_dim(p->m, t, dim) % p->m->axis[p->axis].size == 0;
}

static struct ir_value *slice(struct propagate *p, struct ir_value *v, int dim);

/* A source made in slices from the start: a broadcast of slices, or of all along a new dim. */
static struct ir_value *
slice_of_op(struct propagate *p, struct ir_value *v, int dim)
{
	struct ir_op *op = v->op;
	const struct ir_type *type = split_type(p, v->type, dim);
	struct ir_value *x = op->noperands ? ir_operand(op, 0) : NULL;

	if (op->code != OP_constant && op->code != OP_iota && !repeats(v))
		return NULL;
	for (int d = 0; x && d < x->type->rank; d++)
		if (broadcast_dim(op, d) == dim && x->type->dim[d] == v->type->dim[dim]) {
			x = slice(p, x, d);
			break;
		}
	if (op->noperands && !x)
		return NULL;
	struct ir_op *copy = ir_op_clone(p->m, op, x ? &x : NULL);
	const bool before = diag_mute(p->m->ctx->diag, true);
	const bool fits = ir_infer(p->m, copy, &type);
	diag_mute(p->m->ctx->diag, before);
	if (!fits) {
		ir_op_erase(copy);
		return NULL;
	}
	ir_insert_after(op, copy);
	return &copy->result[0];
}

/* v, which is copied on the axis, in slices along dim: the slices that it was gathered from, or a
 * partition. */
static struct ir_value *
slice(struct propagate *p, struct ir_value *v, int dim)
{
	struct ir_value *x = made_of(p, v, OP_allgather), *sum = made_of(p, v, OP_allreduce);
	const bool alone = v->uses && !v->uses->next;

	if (!v->op)
		return NULL;
	if (x && state_of(p, x).dim == dim)
		return x;
	if (!divides(p, v->type, dim))
		return NULL;
	if (x && alone)
		return change(p, v, OP_alltoall, x, "from", state_of(p, x).dim, "to", dim);
	if (sum && alone)
		return change(p, v, OP_reducescatter, sum, "dim", dim, NULL, 0);
	IR_FOR_USES (u, v) /* already sliced */
		if (u->op->code == OP_partition &&
			made_of(p, &u->op->result[0], OP_partition) == v &&
			state_of(p, &u->op->result[0]).dim == dim) {
			ir_op_unlink(u->op);
			ir_insert_after(v->op, u->op);
			return &u->op->result[0];
		}
	struct ir_value *made = slice_of_op(p, v, dim);
	return made ? made : change(p, v, OP_partition, v, "dim", dim, NULL, 0);
}

/* --- which index ------------------------------------------------------------------------------ */

struct choice {
	int index;    /* of the form */
	bool partial; /* it is summed away */
	bool natural; /* no operand has to be sliced to fit */
	int64_t cost; /* bytes of messages that remain or are added */
};

/* The cost of the op if `index` is split on the axis; false if operand k forbids it. */
static bool
judge_operand(const struct propagate *p, const struct ir_op *op, const struct form *f, int k,
	struct choice *c)
{
	const struct ir_value *v = ir_operand(op, k);
	const int dim = form_access_dim(&f->in[k], c->index);
	int order;
	int64_t bytes;
	const int have = gathered(p, v, &order, &bytes);

	if (state_of(p, v).kind != IR_COPIED)
		return false;
	if (dim < 0) {
		c->cost += have >= 0 ? bytes : 0;
		return true;
	}
	if (have == dim)
		return true;
	c->natural = false;
	if (have >= 0) /* exchanged, or gathered and sliced */
		c->cost += made_of(p, v, OP_allgather) ? bytes / p->m->axis[p->axis].size : bytes;
	return divides(p, v->type, dim);
}

static bool
judge(const struct propagate *p, const struct ir_op *op, const struct form *f, struct choice *c)
{
	c->cost = 0;
	c->natural = true;
	for (int k = 0; k < f->ninputs; k++)
		if (!judge_operand(p, op, f, k, c))
			return false;
	c->partial = (f->reduced >> c->index & 1) || f->at[c->index] != NULL;
	if (c->partial)
		c->cost += 2 * ir_type_local_bytes(p->m, op->result[0].type);
	return true;
}

/* The bytes of the messages before the op as it is now. */
static int64_t
cost_of_staying(const struct propagate *p, const struct ir_op *op)
{
	int64_t cost = 0, bytes;
	int order;

	for (int k = 0; k < op->noperands; k++)
		if (gathered(p, ir_operand(op, k), &order, &bytes) >= 0)
			cost += bytes;
	return cost;
}

static bool
form_of(const struct propagate *p, const struct ir_op *op, struct form *f)
{
	const bool before = diag_mute(p->m->ctx->diag, true);
	const bool ok = form_shape(p->m, op, op->result[0].type, f, NULL);

	diag_mute(p->m->ctx->diag, before);
	return ok;
}

/* --- an op ------------------------------------------------------------------------------------ */

/* The copy of the op on those operands, if its layout can be gathered again. */
static struct ir_op *
try_op(struct propagate *p, const struct ir_op *op, struct ir_value *const *operand,
	const struct ir_type *guess)
{
	struct ir_op *copy = ir_op_clone(p->m, op, operand);
	const bool before = diag_mute(p->m->ctx->diag, true);
	bool fits = (guess && ir_infer(p->m, copy, &guess)) || ir_infer(p->m, copy, NULL);

	diag_mute(p->m->ctx->diag, before);
	for (int i = 0; fits && i < copy->nresults; i++) {
		const struct ir_type *t = copy->result[i].type;
		struct ir_type back = *t;
		const struct ir_state s = t->axis[p->axis];
		back.axis[p->axis] = (struct ir_state){IR_COPIED, 0, 0};
		fits = ir_type_equal(&back, op->result[i].type) &&
		       (s.kind == IR_PARTIAL ||
			       (s.kind == IR_SPLIT &&
				       s.order == ir_type_split_depth(t, s.dim) - 1));
	}
	if (fits)
		return copy;
	ir_op_erase(copy);
	return NULL;
}

/* Puts the copy in the op's place, followed by ops that gather its results. */
static bool
replace(struct propagate *p, struct ir_op *op, struct ir_op *copy)
{
	struct ir_value *old[FORM_MAX_INPUTS];
	const int n = op->noperands;

	ir_insert_before(op, copy);
	p->made = copy;
	for (int i = 0; i < copy->nresults; i++) {
		struct ir_value *v = &copy->result[i];
		const bool partial = state_of(p, v).kind == IR_PARTIAL;
		if (!op->result[i].uses)
			continue;
		struct ir_builder b = {.m = p->m, .block = op->block, .before = op, .loc = op->loc};
		const struct ir_attr axis = ir_make_axis(p->m->ctx, "axis", p->axis);
		struct ir_value *whole =
			ir_build(&b, partial ? OP_allreduce : OP_allgather, &v, 1, &axis, 1);
		if (!whole)
			return false;
		ir_replace_uses(&op->result[i], whole);
		pass_count(p->run, partial ? "op(s) made partial" : "op(s) split", 1);
	}
	for (int k = 0; k < n && k < FORM_MAX_INPUTS; k++)
		old[k] = ir_operand(op, k);
	ir_op_erase(op);
	for (int k = 0; k < n && k < FORM_MAX_INPUTS; k++) {
		bool seen = false;
		for (int j = 0; j < k; j++)
			seen = seen || old[j] == old[k];
		if (!seen)
			drop_dead(old[k]);
	}
	return true;
}

static bool
split_at(struct propagate *p, struct ir_op *op, const struct form *f, const struct choice *c)
{
	struct ir_value *operand[FORM_MAX_INPUTS];
	struct ir_type guess = *op->result[0].type;

	for (int k = 0; k < f->ninputs; k++) {
		const int dim = form_access_dim(&f->in[k], c->index);
		operand[k] = ir_operand(op, k);
		if (dim >= 0 && !(operand[k] = slice(p, operand[k], dim)))
			return false;
	}
	if (!c->partial) {
		const int dim = form_access_dim(&f->out, c->index);
		guess.axis[p->axis] = (struct ir_state){
			IR_SPLIT, (uint8_t)dim, (uint16_t)ir_type_split_depth(&guess, dim)};
	} else
		guess.axis[p->axis] = (struct ir_state){.kind = IR_PARTIAL};
	struct ir_op *copy = try_op(p, op, operand, ir_type_intern(p->m->ctx, &guess));
	if (!copy) {
		for (int k = 0; k < f->ninputs; k++)
			drop_dead(operand[k]);
		return false;
	}
	return replace(p, op, copy);
}

static bool
push_form(struct propagate *p, struct ir_op *op)
{
	struct choice best = {.index = -1};
	struct form f;

	if (op->nresults != 1 || repeats(&op->result[0]) || !form_of(p, op, &f))
		return false;
	for (int k = 0; k < f.ninputs; k++) {
		int order;
		int64_t bytes;
		const int dim = gathered(p, ir_operand(op, k), &order, &bytes);
		struct choice c = {.index = dim < 0 ? -1 : f.in[k].index[dim]};
		if (c.index < 0 || !judge(p, op, &f, &c))
			continue;
		if (c.partial && !c.natural && c.cost > cost_of_staying(p, op))
			continue;
		if (best.index < 0 || c.cost < best.cost)
			best = c;
	}
	return best.index >= 0 && split_at(p, op, &f, &best);
}

/* Ops with layout rules of their own run on existing slices if the rules allow it. */
static bool
push_other(struct propagate *p, struct ir_op *op)
{
	struct ir_value *x =
		op->noperands == 1 ? made_of(p, ir_operand(op, 0), OP_allgather) : NULL;
	struct ir_op *copy = x ? try_op(p, op, &x, NULL) : NULL;

	return copy && replace(p, op, copy);
}

/* partition: single or copied -> split. If the value is split already, it is dropped or becomes an
 * exchange. */
static bool
push_partition(struct propagate *p, struct ir_op *op)
{
	struct ir_value *v = ir_operand(op, 0), *result = &op->result[0];
	const struct ir_value *x = made_of(p, v, OP_allgather);

	if (!x && !made_of(p, v, OP_allreduce))
		return false;
	const bool alone = !v->uses->next, same = x && x->type == result->type;
	if (!alone && !same)
		return false;
	struct ir_value *new = slice(p, v, state_of(p, result).dim);
	if (!new || new->type != result->type)
		return false;
	ir_replace_uses(result, new);
	ir_op_erase(op);
	drop_dead(v);
	pass_count(p->run, "partition op(s) removed", 1);
	return true;
}

/* Is the axis free for the op: are all operands and results laid out without it? */
static bool
axis_is_free(const struct propagate *p, const struct ir_op *op)
{
	for (int k = 0; k < op->noperands; k++)
		if (ir_operand_type(op, k)->axis[p->axis].kind != IR_COPIED)
			return false;
	for (int i = 0; i < op->nresults; i++)
		if (op->result[i].type->axis[p->axis].kind != IR_COPIED)
			return false;
	return true;
}

static bool
push_axis(struct propagate *p, struct ir_op *op)
{
	const bool own = op_is(op, TRAIT_PARALLEL) && ir_attr_int(op, "axis", -1) == p->axis;

	if (own)
		return op->code == OP_partition && push_partition(p, op);
	const bool barrier = op->code == OP_barrier && op->noperands == 1;
	/* Two adjacent allgathers are not exchanged. */
	if (op->code == OP_allgather || !op->nresults || (!op_is(op, TRAIT_PURE) && !barrier) ||
		op->body || op->noperands < 1 || op->noperands > FORM_MAX_INPUTS ||
		!axis_is_free(p, op))
		return false;
	return form_exists((enum op_code)op->code) && !op_is(op, TRAIT_PARALLEL)
		       ? push_form(p, op)
		       : push_other(p, op);
}

/* A report of slices is also a report of the whole value. */
static void
push_output(struct propagate *p, struct ir_op *op, uint32_t axes)
{
	struct ir_value *v = ir_operand(op, 0);

	while (v->op && v->op->code == OP_allgather && v->op->noperands == 1 &&
		(axes >> ir_attr_int(v->op, "axis", 0) & 1)) {
		struct ir_value *x = ir_operand(v->op, 0);
		ir_set_operand(op, 0, x);
		drop_dead(v);
		v = x;
		pass_count(p->run, "output(s) split", 1);
	}
}

bool
propagate_over(struct pass_run *run, struct ir_module *m, uint32_t axes)
{
	struct propagate p = {.run = run, .m = m};
	struct ir_func *f = ir_func_find(m, "main");

	for (struct ir_op *op = f->body.first, *next; op; op = next) {
		bool moved = false;
		p.made = NULL;
		next = op->next;
		if (op->code == OP_output) {
			push_output(&p, op, axes);
			continue;
		}
		for (p.axis = 0; p.axis < m->naxes && !moved; p.axis++)
			moved = (axes >> p.axis & 1) && push_axis(&p, op);
		/* Its replacement may be split over another axis, too. */
		if (moved && p.made)
			next = p.made;
	}
	return true;
}

static bool
run(struct pass_run *run, struct ir_module *m)
{
	uint32_t devices = 0;

	for (int a = 0; a < m->naxes; a++)
		devices |= m->axis[a].time ? 0 : 1u << a;
	return propagate_over(run, m, devices);
}

const struct pass pass_propagate = {
	.name = "propagate",
	.family = "parallelize",
	.summary = "propagate given layouts through the step: move allgathers after "
		   "the ops that can work on shards",
	.needs = "no-calls",
	.conflicts = "fused",
	.run = run,
	.keeps_bits = true,
};
