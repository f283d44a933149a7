/*
 * Converts a plan to IR. Each node is built while the ops that it stands for still exist: a kernel
 * of several ops as a fuse of copies, a message of several collectives as one variadic collective.
 * Then uses are redirected, the old ops are erased, and the block is rebuilt in the order of the
 * plan. Ops that do no work (views, constants) are appended once their operands are in the block,
 * except views in loops over time: a loop may end at one (ir/memory/issue.h), so each stays after
 * the work that precedes it in the module, or is put before the first op that reads it. A plan that
 * was not changed thus has the loops of its module.
 */
#include "ir/base/sort.h"
#include "passes/search/plan/impl.h"

#include "ir/base/vec.h"
#include "ir/memory/issue.h"

#include <stdlib.h>
#include <talloc.h>

struct maker {
	const struct plan *p;
	struct ir_module *m;
	struct ir_block *block;
	struct ir_numbering *ops; /* of the block before the change */
	struct ir_op **op;        /* [nops] by number; NULL: it has been erased */
	struct ir_op **made;      /* [count] by position: the op of the node */
	uint32_t *follows;        /* [nops] the node that a view in a loop follows; room: before all
	                           * nodes; PLAN_NONE: not such a view */
	bool *passed;             /* [room + 1] a node and the views after it are in the block */
	uint32_t *waits; /* by op->id: operands not in the block yet; PUT: op is in the block */
	uint32_t n;      /* number of ops that do no work */
	const struct ir_op *wrong; /* an op that was placed before its operands, or not at all */
};

static struct ir_op *
make_kernel(struct maker *k, const struct plan_state *s)
{
	const struct plan *p = k->p;
	struct ir_op **op = NEW_ARRAY(k, struct ir_op *, s->nops);
	uint32_t *number = NEW_ARRAY(op, uint32_t, s->nops);
	bool *out = NEW_ARRAY(op, bool, s->nops);

	for (uint32_t i = 0; i < s->nops; i++) {
		number[i] = p->pool[s->op + i] & PLAN_OP;
		op[i] = k->op[number[i]];
		out[i] = p->pool[s->op + i] & PLAN_OUT;
	}
	struct ir_op *fuse =
		fuse_make(k->m, op, s->nops, out, fuse_product(p->base->fuse, number, s->nops));
	talloc_free(op);
	return fuse;
}

static struct ir_op *
make_message(struct maker *k, const struct plan_state *s)
{
	const struct plan *p = k->p;
	const struct ir_op *last = k->op[p->pool[s->op + s->nops - 1] & PLAN_OP];
	struct ir_value *operand[IR_MAX_LIST];
	int n = 0, at = 0;

	for (uint32_t i = 0; i < s->nops; i++) {
		const struct ir_op *op = k->op[p->pool[s->op + i] & PLAN_OP];
		for (int j = 0; j < op->noperands; j++)
			operand[n++] = ir_operand(op, j);
	}
	struct ir_op *one = ir_op_create(
		k->m, (enum op_code)last->code, last->loc, operand, n, last->attr, last->nattrs, n);
	for (uint32_t i = 0; i < s->nops; i++) {
		const struct ir_op *op = k->op[p->pool[s->op + i] & PLAN_OP];
		for (int j = 0; j < op->nresults; j++, at++) {
			one->result[at].type = op->result[j].type;
			one->result[at].name = op->result[j].name;
		}
	}
	return one;
}

static void
make_nodes(struct maker *k)
{
	for (uint32_t i = 0; i < k->p->count; i++) {
		const struct plan_state *s = &k->p->node[k->p->order[i]];
		struct ir_op *first = k->op[k->p->pool[s->op] & PLAN_OP];
		if (s->nops == 1)
			k->made[i] = first;
		else
			k->made[i] = s->message ? make_message(k, s) : make_kernel(k, s);
		if (s->message)
			ir_set_parts(k->m, k->made[i], s->parts);
	}
}

/* Redirects all uses of the ops that a node stands for to the op that was made for it. */
static void
tell_readers(struct maker *k)
{
	for (uint32_t i = 0; i < k->p->count; i++) {
		const struct plan_state *s = &k->p->node[k->p->order[i]];
		int at = 0;
		for (uint32_t j = 0; s->nops > 1 && j < s->nops; j++) {
			uint32_t member = k->p->pool[s->op + j];
			struct ir_op *op = k->op[member & PLAN_OP];
			if (!s->message && !(member & PLAN_OUT))
				continue;
			for (int r = 0; r < op->nresults; r++)
				ir_replace_uses(&op->result[r], &k->made[i]->result[at++]);
		}
	}
}

/* Is the op a view (of a view ...) of a result of an op that is erased? Such views have no readers.
 * Neither do such barriers: if one result of a barrier is read, all of its operands stay. */
static bool
views_gone(const struct maker *k, const struct ir_op *op, const bool *stays)
{
	struct awaited a = {0};
	bool gone = false;

	if (!op->nresults || !op->noperands)
		return false;
	awaited_add(k, &a, k->m, &op->result[0]);
	for (int64_t j = 0; j < a.value.n && !gone; j++) {
		const struct ir_op *maker = a.value.at[j]->op;
		const uint32_t i = maker ? ir_number(k->ops, maker) : IR_NO_NUMBER;
		gone = i != IR_NO_NUMBER && k->p->base->op[i].work && !stays[i];
	}
	awaited_free(&a);
	return gone;
}

/* Erases ops that are now in fuses and messages, and ops without readers, the last first. */
static void
erase_old(struct maker *k)
{
	bool *stays = ARRAY_ZERO(k, bool, k->p->base->nops + 1);

	for (uint32_t i = 0; i < k->p->count; i++) {
		const struct plan_state *s = &k->p->node[k->p->order[i]];
		if (s->nops == 1)
			stays[k->p->pool[s->op] & PLAN_OP] = true;
	}
	for (uint32_t i = k->p->base->nops; i-- > 0;)
		if (k->p->base->op[i].work ? !stays[i] : views_gone(k, k->op[i], stays)) {
			ir_op_erase(k->op[i]);
			k->op[i] = NULL;
		}
}

/* Kernels have their own copies of scalar constants. */
static void
erase_constants(struct maker *k)
{
	for (uint32_t i = 0; i < k->p->base->nops; i++)
		if (k->op[i] && k->op[i]->code == OP_constant && !k->op[i]->result[0].uses) {
			ir_op_erase(k->op[i]);
			k->op[i] = NULL;
		}
}

/* --- the order --- */

enum { PUT = UINT32_MAX };

/* An op waits for its operands, and a release for all other ops that read its value. */
static uint32_t
count_waits(const struct ir_op *op)
{
	uint32_t n = op->noperands;

	for (int j = 0; j < op->noperands && op->code == OP_release; j++)
		IR_FOR_USES (use, ir_operand(op, j))
			n += use->op->code != OP_release;
	return n;
}

static bool
is_ready(const struct maker *k, const struct ir_op *op)
{
	return k->waits[op->id] == 0;
}

static bool
is_work(const struct maker *k, const struct ir_op *op)
{
	return cost_op_kind(k->m, op) != COST_NONE;
}

static bool
is_home(const struct maker *k, uint32_t number)
{
	return k->p->base->op[number].work && k->p->home[number] != PLAN_NONE;
}

static void
find_behind(struct maker *k)
{
	const struct plan_base *b = k->p->base;
	uint32_t last = b->room;

	k->follows = ARRAY_NEW(k, uint32_t, b->nops);
	k->passed = ARRAY_ZERO(k, bool, b->room + 1);
	for (uint32_t i = 0; i < b->nops; i++) {
		const bool view = !b->op[i].work && issue_op_axes(b->m, b->op[i].op);
		last = is_home(k, i) ? k->p->home[i] : last;
		k->follows[i] = view ? last : PLAN_NONE;
	}
}

static bool
has_passed(const struct maker *k, const struct ir_op *op)
{
	const uint32_t follows = k->follows[ir_number(k->ops, op)];

	return follows == PLAN_NONE || k->passed[follows];
}

/* Numbers of ops that do no work and whose operands are in the block. */
struct ready VEC(uint32_t);

/* One of the values that the op waits for is in the block now. */
static void
arrive(struct maker *k, struct ready *r, struct ir_op *op)
{
	k->waits[op->id]--;
	if (!is_ready(k, op) || is_work(k, op) || !has_passed(k, op))
		return;
	VEC_PUSH(k, r, ir_number(k->ops, op));
}

static void
arrive_all(struct maker *k, struct ready *r, const struct ir_op *op)
{
	for (int i = 0; i < op->nresults; i++)
		IR_FOR_USES (use, &op->result[i])
			arrive(k, r, use->op);
	for (int j = 0; j < op->noperands && op->code != OP_release; j++)
		IR_FOR_USES (use, ir_operand(op, j))
			if (use->op->code == OP_release)
				arrive(k, r, use->op);
}

/* Appends an op to the block, followed by the ops that do no work and now have all their
 * operands. */
static void
put(struct maker *k, struct ir_op *op)
{
	struct ready r = {0};

	if (!is_ready(k, op)) {
		k->wrong = k->wrong ? k->wrong : op;
		return;
	}
	k->waits[op->id] = PUT;
	ir_block_append(k->block, op);
	arrive_all(k, &r, op);
	if (r.n)
		sort_uint32(r.at, (size_t)r.n);
	for (int64_t i = 0; i < r.n; i++)
		put(k, k->op[r.at[i]]);
	VEC_FREE(&r);
}

/* Takes all ops out of the block, and counts what each waits for. Returns those that do no work. */
static struct ir_op **
take_all(struct maker *k)
{
	struct ir_op **op = ARRAY_NEW(k, struct ir_op *, k->p->base->nops);
	uint32_t n = 0;

	k->waits = ARRAY_ZERO(k, uint32_t, k->m->op_ids);
	for (uint32_t i = 0; i < k->p->base->nops; i++)
		if (k->op[i]) {
			k->waits[k->op[i]->id] = count_waits(k->op[i]);
			ir_op_unlink(k->op[i]);
			if (!k->p->base->op[i].work)
				op[n++] = k->op[i];
		}
	for (uint32_t i = 0; i < k->p->count; i++)
		k->waits[k->made[i]->id] = count_waits(k->made[i]);
	k->n = n;
	return op;
}

/* Appends the views that follow a node, from number `first` on, in the order of the module. */
static void
put_views(struct maker *k, uint32_t first, uint32_t node)
{
	for (uint32_t i = first; i < k->p->base->nops && !is_home(k, i); i++)
		if (k->op[i] && k->follows[i] == node && is_ready(k, k->op[i]))
			put(k, k->op[i]);
}

/* Appends views that the op reads without waiting for their nodes. */
static void
put_needed(struct maker *k, const struct ir_op *op)
{
	for (int j = 0; j < op->noperands; j++) {
		struct ir_op *maker = ir_operand(op, j)->op;
		if (!maker || k->waits[maker->id] == PUT || is_work(k, maker))
			continue;
		put_needed(k, maker);
		if (is_ready(k, maker))
			put(k, maker);
	}
}

/* May a message be issued before kernels that precede it in the plan? */
static bool
is_carried(const struct plan *p, const struct plan_state *s, const bool *issued)
{
	for (uint32_t i = 0; i < s->npreds; i++)
		if (!issued[p->pool[s->pred + i]])
			return false;
	return s->npreds && !s->packing;
}

/* The first message at or after position i; count: there is none. */
static uint32_t
next_message(const struct plan *p, uint32_t i)
{
	while (i < p->count && !p->node[p->order[i]].message)
		i++;
	return i;
}

/*
 * Positions of the plan in the order in which its nodes are issued. If kernels are queued ahead, a
 * message starts after all kernels that are issued before it (replay/events.h). So it is issued as
 * soon as its operands, and the previous message, have been issued, and does not wait for other
 * kernels. Copies into a message are work between the kernels, and stay there.
 */
static uint32_t *
issue_order(const void *owner, const struct plan *p)
{
	uint32_t *order = ARRAY_NEW(owner, uint32_t, p->count + 1), n = 0;
	bool *issued = ARRAY_ZERO(owner, bool, p->base->room + 1);
	const bool ahead = p->base->async && !p->base->whole;

	for (uint32_t i = 0, next = next_message(p, 0); i < p->count; i++) {
		if (issued[p->order[i]])
			continue;
		issued[p->order[order[n++] = i]] = true;
		next = i == next ? next_message(p, next + 1) : next;
		for (; ahead && next < p->count && is_carried(p, &p->node[p->order[next]], issued);
			next = next_message(p, next + 1))
			issued[p->order[order[n++] = next]] = true;
	}
	return order;
}

static void
put_node(struct maker *k, uint32_t position)
{
	const uint32_t node = k->p->order[position];
	const struct plan_state *s = &k->p->node[node];

	put_needed(k, k->made[position]);
	put(k, k->made[position]);
	for (uint32_t i = 0; i < s->nops; i++)
		if (!(k->p->pool[s->op + i] & PLAN_COPY))
			put_views(k, (k->p->pool[s->op + i] & PLAN_OP) + 1, node);
	k->passed[node] = true;
}

static void
put_all(struct maker *k)
{
	struct ir_op **rest = take_all(k);

	find_behind(k);
	for (uint32_t i = 0; i < k->n; i++)
		if (!rest[i]->noperands && has_passed(k, rest[i]))
			put(k, rest[i]);
	put_views(k, 0, k->p->base->room);
	k->passed[k->p->base->room] = true;
	const uint32_t *order = issue_order(k, k->p);
	for (uint32_t i = 0; i < k->p->count; i++)
		put_node(k, order[i]);
	for (uint32_t i = 0; i < k->n && !k->wrong; i++)
		if (k->waits[rest[i]->id] != PUT)
			k->wrong = rest[i];
}

bool
plan_apply(const struct plan *p, struct ir_module *m, const struct ir_op **wrong)
{
	plan_split_views(m);
	struct maker *k = NEW(NULL, struct maker);
	struct ir_func *main = ir_func_find(m, "main");

	*k = (struct maker){.p = p, .m = m, .block = &main->body};
	k->ops = ir_numbering_create(k, m, k->block);
	k->op = k->ops->op;
	k->made = ARRAY_NEW(k, struct ir_op *, p->count);
	make_nodes(k);
	tell_readers(k);
	erase_old(k);
	erase_constants(k);
	put_all(k);
	const struct ir_op *missing = k->wrong;
	talloc_free(k);
	if (wrong)
		*wrong = missing;
	return !missing;
}

/* Work is placed in the block in the issue order of the plan, except for what the issue order of
 * loops requires. */
uint32_t *
plan_nodes_of(const void *owner, const struct plan *p, struct ir_module *m)
{
	uint32_t *node = ARRAY_NEW(owner, uint32_t, m->op_ids), i = 0;
	const uint32_t *order = issue_order(owner, p);

	IR_FOR_OPS (op, &ir_func_find(m, "main")->body)
		node[op->id] = cost_op_kind(m, op) == COST_NONE ? PLAN_NONE : p->order[order[i++]];
	return node;
}
