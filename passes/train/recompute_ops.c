/* Recomputation of values: see recompute_ops.h. */
#include "passes/train/recompute_ops.h"

#include "ir/base/alloc.h"
#include "ir/base/vec.h"
#include "ir/memory/issue.h"
#include "ir/memory/storage.h"
#include "ir/numbering.h"

#include <string.h>
#include <talloc.h>

/* --- properties of the ops -------------------------------------------------------------------- */

static struct recompute_op *
op_of(const struct recompute_ops *a, const struct ir_op *op)
{
	const uint32_t i = op ? ir_number(a->ops, op) : IR_NO_NUMBER;

	return i == IR_NO_NUMBER ? NULL : &a->op[i];
}

/* Is it the last op of the backward pass: an output of a gradient, the next value of a param? */
static bool
ends_backward(const struct ir_op *op)
{
	if (op->code == OP_update)
		return ir_operand(op, 0)->op && ir_operand(op, 0)->op->code == OP_param;
	return op->code == OP_output && strncmp(op->symbol, "grad.", 5) == 0;
}

/* Gives `side` to the producers of the op's operands that have none yet. */
static void
spread(const struct recompute_ops *a, const struct ir_op *op, enum recompute_side side)
{
	for (int j = 0; j < op->noperands; j++) {
		struct recompute_op *maker = op_of(a, ir_operand(op, j)->op);
		if (maker && maker->side == RECOMPUTE_OTHER)
			maker->side = (uint8_t)side;
	}
}

static void
find_sides(struct recompute_ops *a, const struct ir_op *loss)
{
	spread(a, loss, RECOMPUTE_FORWARD);
	for (uint32_t i = a->ops->n; i-- > 0;)
		if (a->op[i].side == RECOMPUTE_FORWARD)
			spread(a, a->ops->op[i], RECOMPUTE_FORWARD);
	for (uint32_t i = a->ops->n; i-- > 0;)
		if (a->op[i].side == RECOMPUTE_BACKWARD || ends_backward(a->ops->op[i]))
			spread(a, a->ops->op[i], RECOMPUTE_BACKWARD);
	for (uint32_t i = 0; i < a->ops->n; i++)
		a->trains = a->trains ||
			    (a->op[i].side == RECOMPUTE_BACKWARD && a->ops->op[i]->noperands);
}

/* Are all operands computed from constants? */
static bool
is_fixed(const struct recompute_ops *a, const struct ir_op *op)
{
	if (op_is(op, TRAIT_NAMED | TRAIT_EFFECT))
		return false;
	for (int j = 0; j < op->noperands; j++) {
		const struct recompute_op *maker = op_of(a, ir_operand(op, j)->op);
		if (!maker || !maker->fixed)
			return false;
	}
	return true;
}

/* Is it a statistic of the rows of a batch, of the same width and much smaller, or computed from
 * one? Keeping it takes negligible memory, and if devices share the rows, recomputing it takes a
 * message. */
enum { STATISTIC_SHARE = 1000, STATISTIC_BYTES = 64000 };

static bool
is_statistic(const struct recompute_ops *a, const struct ir_module *m, const struct ir_op *op)
{
	const struct ir_type *t = op->nresults == 1 ? op->result[0].type : NULL;
	const uint64_t bytes = t ? ir_type_local_bytes(m, t) : 0;
	bool statistic = false;

	for (int k = 0; k < op->noperands; k++) {
		const struct ir_type *of = ir_operand_type(op, k);
		const struct recompute_op *maker = op_of(a, ir_operand(op, k)->op);
		const bool as_wide =
			t && t->rank && of->rank && t->dim[t->rank - 1] == of->dim[of->rank - 1];
		statistic = statistic || (maker && maker->statistic) ||
			    (as_wide && bytes <= (uint64_t)ir_type_local_bytes(m, of) /
							 STATISTIC_SHARE);
	}
	return statistic && bytes && bytes <= STATISTIC_BYTES;
}

/* Ops that run once stay outside of the loops over micro-batches. */
static bool
is_copyable(const struct ir_module *m, const struct ir_op *op, bool loops, bool collectives)
{
	if (!op_is(op, TRAIT_PURE) || op_is(op, TRAIT_NAMED) || !op->noperands || op->body)
		return false;
	/* A received value is kept: its sender is past its forward pass and cannot resend it. */
	if (op->code == OP_send || (storage_is_message(m, op) && !collectives))
		return false;
	return !loops || issue_op_axes(m, op);
}

static bool
reads_backward(const struct recompute_ops *a, const struct ir_module *m, const struct ir_value *v)
{
	IR_FOR_USES (u, v) {
		const struct recompute_op *reader = op_of(a, u->op);
		if (reader && reader->side == RECOMPUTE_BACKWARD)
			return true;
		if (u->op->nresults && storage_is_view(m, u->op) &&
			reads_backward(a, m, &u->op->result[u - u->op->operand]))
			return true;
	}
	return false;
}

static void
describe(struct recompute_ops *a, const struct ir_module *m, uint32_t i, bool loops,
	bool collectives)
{
	const struct ir_op *op = a->ops->op[i];
	struct recompute_op *o = &a->op[i];

	o->fixed = is_fixed(a, op);
	o->statistic = !o->fixed && is_statistic(a, m, op);
	o->copyable = o->side == RECOMPUTE_FORWARD && !o->fixed && !o->statistic &&
		      is_copyable(m, op, loops, collectives);
	for (int r = 0; r < op->nresults; r++) {
		o->saved = o->saved ||
			   (o->side == RECOMPUTE_FORWARD && reads_backward(a, m, &op->result[r]));
		if (!storage_is_view(m, op))
			o->bytes += ir_type_local_bytes(m, op->result[r].type);
	}
}

struct recompute_ops *
recompute_read(
	const void *owner, const struct ir_module *m, const struct ir_op *loss, bool collectives)
{
	const struct ir_func *main = ir_func_find(m, "main");
	struct recompute_ops *a = NEW(owner, struct recompute_ops);
	struct ir_numbering *ops = ir_numbering_create(a, m, &main->body);
	const bool loops = issue_has_loops(m);

	a->ops = ops;
	a->op = ARRAY_ZERO(a, struct recompute_op, ops->n + 1u);
	find_sides(a, loss);
	for (uint32_t i = 0; i < ops->n; i++)
		describe(a, m, i, loops, collectives);
	return a;
}

/* --- which ops are copied --------------------------------------------------------------------- */

struct copier {
	const struct recompute_ops *a;
	struct ir_module *m;
	struct ir_numbering *ops; /* of m */
	int32_t *group;           /* [ops->n] */
	uint32_t *last;           /* [groups] number of its last op */
	bool *copied;             /* [ops->n] */
	struct ir_value **made;   /* by value->id: the replacement of a value in the current
				     group */
	struct VEC(uint32_t) set; /* ids of values with a replacement */
	struct VEC(struct ir_value *) input; /* of the current group: operands of its barrier */
	int64_t alone; /* params and inputs that it reads: each has its own barrier */
};

static uint32_t
number_of(const struct copier *c, const struct ir_value *v)
{
	return v->op ? ir_number(c->ops, v->op) : IR_NO_NUMBER;
}

static bool
is_backward(const struct copier *c, const struct ir_op *op)
{
	const uint32_t i = ir_number(c->ops, op);

	return i != IR_NO_NUMBER && c->a->op[i].side == RECOMPUTE_BACKWARD;
}

/*
 * An op of the backward pass that comes after all ops of the group: ops that only gradients need
 * may run in the forward pass, as a gather of a layer's output does, if nothing is recomputed.
 */
static bool
is_behind(const struct copier *c, const struct ir_op *op, int32_t group)
{
	return is_backward(c, op) && ir_number(c->ops, op) > c->last[group];
}

static bool
backward_reads(const struct copier *c, const struct ir_value *v, int32_t group)
{
	IR_FOR_USES (u, v)
		if (is_behind(c, u->op, group))
			return true;
	return false;
}

/* Finds the ops that the backward pass reads, and their producers within their group. */
static void
find_needed(struct copier *c)
{
	memset(c->copied, 0, sizeof *c->copied * c->ops->n);
	for (uint32_t i = c->ops->n; i-- > 0;) {
		const struct ir_op *op = c->ops->op[i];
		if (c->group[i] == RECOMPUTE_KEPT)
			continue;
		for (int r = 0; r < op->nresults; r++)
			c->copied[i] =
				c->copied[i] || backward_reads(c, &op->result[r], c->group[i]);
		for (int j = 0; c->copied[i] && j < op->noperands; j++) {
			const uint32_t maker = number_of(c, ir_operand(op, j));
			if (maker != IR_NO_NUMBER && c->group[maker] == c->group[i])
				c->copied[maker] = true;
		}
	}
}

/* Operands of copied ops that belong to another group stay in memory and are not computed again. */
static void
keep_shared(struct copier *c)
{
	for (uint32_t i = 0; i < c->ops->n; i++)
		for (int j = 0; c->copied[i] && j < c->ops->op[i]->noperands; j++) {
			const uint32_t maker = number_of(c, ir_operand(c->ops->op[i], j));
			if (maker != IR_NO_NUMBER && c->group[maker] != c->group[i])
				c->group[maker] = RECOMPUTE_KEPT;
		}
}

/* --- the copies ------------------------------------------------------------------------------- */

/* The first op of the backward pass that reads what the group computes. */
static struct ir_op *
first_reader(const struct copier *c, const uint32_t *member, int64_t n)
{
	uint32_t first = IR_NO_NUMBER;

	for (int64_t k = 0; k < n; k++) {
		struct ir_op *op = c->ops->op[member[k]];
		for (int r = 0; r < op->nresults; r++)
			IR_FOR_USES (u, &op->result[r])
				if (is_behind(c, u->op, c->group[member[k]]) &&
					ir_number(c->ops, u->op) < first)
					first = ir_number(c->ops, u->op);
	}
	return first == IR_NO_NUMBER ? NULL : c->ops->op[first];
}

/* Is the use redirected to the copies: by an op of the backward pass from `at` on? */
static bool
moves(const struct copier *c, const struct ir_use *u, const struct ir_op *at)
{
	return is_backward(c, u->op) && ir_number(c->ops, u->op) >= ir_number(c->ops, at);
}

/* The newest gradient that ops from `at` on read; NULL: there is none. */
static struct ir_value *
newest_gradient(const struct copier *c, const struct ir_op *at)
{
	for (struct ir_op *op = at->prev; op; op = op->prev) {
		const uint32_t i = ir_number(c->ops, op);
		if (i == IR_NO_NUMBER || !is_backward(c, op) || c->a->op[i].fixed ||
			op->nresults != 1 || !op->result[0].type->rank)
			continue;
		IR_FOR_USES (u, &op->result[0])
			if (moves(c, u, at))
				return &op->result[0];
	}
	return NULL;
}

/* Records the replacement of a value in the current group. */
static void
put(struct copier *c, const struct ir_value *v, struct ir_value *made)
{
	if (!c->made[v->id])
		VEC_PUSH(c, &c->set, v->id);
	c->made[v->id] = made;
}

/* A param or an input is in memory anyway and waits for nothing: its barrier is separate, so that a
 * param that is sharded later is gathered where it is read. */
static void
add_input(struct copier *c, struct ir_value *v, struct ir_builder *b)
{
	const uint32_t i = number_of(c, v);

	if (c->made[v->id] || i == IR_NO_NUMBER || c->a->op[i].fixed)
		return;
	put(c, v, v); /* until the barrier exists */
	if (op_is(v->op, TRAIT_NAMED)) {
		put(c, v, ir_build_barrier(b, &v, 1));
		c->alone++;
	} else {
		VEC_PUSH(c, &c->input, v);
	}
}

/* Inserts before `at` a barrier over the operands that the members do not compute themselves and
 * the newest gradient. If they read only params and inputs, returns the last barrier of those. */
static struct ir_op *
make_barrier(struct copier *c, const uint32_t *member, int64_t n, struct ir_op *at)
{
	struct ir_builder b = {.m = c->m, .block = at->block, .before = at, .loc = at->loc};
	struct ir_value *gradient = newest_gradient(c, at);

	c->input.n = c->alone = 0;
	while (c->set.n)
		c->made[VEC_POP(&c->set)] = NULL;
	for (int64_t k = 0; k < n; k++)
		for (int j = 0; j < c->ops->op[member[k]]->noperands; j++) {
			struct ir_value *v = ir_operand(c->ops->op[member[k]], j);
			const uint32_t maker = number_of(c, v);
			if (maker == IR_NO_NUMBER || !c->copied[maker] ||
				c->group[maker] != c->group[member[k]])
				add_input(c, v, &b);
		}
	if (gradient)
		add_input(c, gradient, &b);
	if (!c->input.n)
		return at->prev;
	struct ir_value *result = ir_build_barrier(&b, c->input.at, (int)c->input.n);
	for (int64_t i = 0; i < c->input.n; i++)
		put(c, c->input.at[i], &result[i]);
	return result->op;
}

static void
copy_op(struct copier *c, const struct ir_op *op, struct ir_op *before)
{
	struct ir_value **v = NEW_ARRAY(NULL, struct ir_value *, op->noperands + 1u);

	for (int j = 0; j < op->noperands; j++) {
		struct ir_value *from = ir_operand(op, j);
		v[j] = c->made[from->id] ? c->made[from->id] : from;
	}
	struct ir_op *copy = ir_op_clone(c->m, op, v);
	ir_insert_before(before, copy);
	for (int r = 0; r < op->nresults; r++)
		put(c, &op->result[r], &copy->result[r]);
	talloc_free(v);
}

/* Makes the backward pass from `at` on read the replacement of the value. */
static bool
hand_over(struct copier *c, struct ir_value *v, const struct ir_op *at)
{
	bool any = false;

	for (struct ir_use *u = v->uses, *next; u; u = next) {
		next = u->next;
		if (!moves(c, u, at))
			continue;
		ir_set_operand(u->op, (int)(u - u->op->operand), c->made[v->id]);
		any = true;
	}
	return any;
}

static void
copy_group(struct copier *c, const uint32_t *member, int64_t n, struct recompute_group *result)
{
	struct ir_op *at = first_reader(c, member, n);

	*result = (struct recompute_group){0};
	if (!at)
		return;
	struct ir_op *barrier = make_barrier(c, member, n, at);
	for (int64_t k = 0; k < n; k++)
		copy_op(c, c->ops->op[member[k]], at);
	for (int64_t i = 0; i < c->input.n; i++)
		if (is_backward(c, c->input.at[i]->op))
			hand_over(c, c->input.at[i], at);
	for (int64_t k = 0; k < n; k++) {
		struct ir_op *op = c->ops->op[member[k]];
		for (int r = 0; r < op->nresults; r++)
			result->values += hand_over(c, &op->result[r], at);
		result->bytes += c->a->op[member[k]].saved ? c->a->op[member[k]].bytes : 0;
	}
	result->at = barrier;
	result->ops = n;
	result->inputs = c->input.n + c->alone;
}

struct numbers VEC(uint32_t);

void
recompute_copy(const struct recompute_ops *a, struct ir_module *m, const int32_t *group,
	struct recompute_group *result, int32_t n)
{
	struct copier *c = NEW(NULL, struct copier);
	struct numbers *member = ARRAY_ZERO(c, struct numbers, (size_t)n + 1);

	*c = (struct copier){.a = a, .m = m};
	c->ops = ir_numbering_create(c, m, &ir_func_find(m, "main")->body);
	c->group = ARRAY_NEW(c, int32_t, c->ops->n + 1u);
	c->last = ARRAY_ZERO(c, uint32_t, (size_t)n + 1);
	for (uint32_t i = 0; i < c->ops->n; i++)
		if ((c->group[i] = a->op[i].copyable ? group[i] : RECOMPUTE_KEPT) != RECOMPUTE_KEPT)
			c->last[c->group[i]] = i;
	c->copied = ARRAY_ZERO(c, bool, c->ops->n + 1u);
	find_needed(c);
	keep_shared(c);
	find_needed(c);
	for (uint32_t i = 0; i < c->ops->n; i++)
		if (c->copied[i])
			VEC_PUSH(c, &member[c->group[i]], i);
	c->made = ARRAY_ZERO(c, struct ir_value *, m->value_ids);
	for (int32_t g = 0; g < n; g++)
		copy_group(c, member[g].at, member[g].n, &result[g]);
	talloc_free(c);
}
