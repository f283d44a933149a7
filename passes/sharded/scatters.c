#include "passes/sharded/scatters.h"
#include "passes/sharded/updates.h"

#include "ir/base/alloc.h"
#include "ir/memory/issue.h"
#include "ir/numbering.h"
#include "passes/parallel/collectives.h"

#include <talloc.h>

/* Most ops between a reducescatter and the optimizer: a reduce, a conversion, a reshape. */
enum { TAIL_MAX = 16 };

/* A chain of ops from one result of a collective, each the only reader of the one before. */
struct tail {
	struct ir_op *op[TAIL_MAX];
	int n;
	const struct ir_op *scatter;
	const struct ir_value *value; /* result of the last op or, without ops, of the collective */
	uint64_t bytes;               /* of the collective's operand for it */
	struct ir_op *reader;         /* the first reader of `value` */
};

#define NO_LOOP UINT32_MAX

struct placer {
	const struct ir_module *m;
	uint64_t most; /* limit on waiting bytes */
	const struct ir_numbering *order;
	const struct issue *issue; /* NULL: there are no loops */
	bool *in_tail;             /* by op->id */
	struct tail *tail;         /* [n] in order of the block; tails from `first` on wait */
	uint32_t n, first;
	uint64_t waiting;        /* bytes of the waiting tails */
	uint32_t moved;          /* number of tails moved */
	struct updates *updates; /* to be moved where gradients arrive; NULL: stay at the end */
	uint32_t loop;           /* loop of the waiting tails, in `issue`; NO_LOOP: done once */
};

static bool
is_scatter(const struct ir_module *m, const struct ir_op *op)
{
	return op->code == OP_reducescatter && !m->axis[ir_attr_int(op, "axis", 0)].time;
}

/* May the op be issued later: is it a pure op of one tensor that sends nothing? */
static bool
may_wait(const struct ir_module *m, const struct ir_op *op)
{
	if (op->noperands != 1 || op->nresults != 1 || op->body || !op_is(op, TRAIT_PURE))
		return false;
	return !op_is(op, TRAIT_PARALLEL) || m->axis[ir_attr_int(op, "axis", 0)].time;
}

static bool
is_done_once(const struct placer *p, const struct ir_op *op)
{
	return !issue_op_axes(p->m, op);
}

static struct ir_op *
first_reader(const struct placer *p, const struct ir_value *v)
{
	struct ir_op *first = NULL;

	IR_FOR_USES (u, v)
		if (!first || ir_number(p->order, u->op) < ir_number(p->order, first))
			first = u->op;
	return first;
}

/* The chain of ops that read v and may wait, all inside or all outside of loops. */
static struct tail
find_tail(struct placer *p, const struct ir_value *v)
{
	const struct ir_module *m = p->m;
	struct tail t = {.scatter = v->op};

	while (t.n < TAIL_MAX && v->uses && !v->uses->next) {
		struct ir_op *reader = v->uses->op;
		if (!may_wait(m, reader) ||
			(t.n && is_done_once(p, reader) != is_done_once(p, t.op[0])))
			break;
		p->in_tail[reader->id] = true;
		t.op[t.n++] = reader;
		v = &reader->result[0];
	}
	t.value = v;
	t.reader = first_reader(p, v);
	return t;
}

/* Issues the ops of a tail, and then the updates that depend on it, before op `at`; or the tail
 * before its reader, if that comes first. */
static void
issue_before(struct placer *p, const struct tail *t, struct ir_op *at)
{
	const bool late = !at || ir_number(p->order, t->reader) < ir_number(p->order, at);

	at = late ? t->reader : at;
	if (t->n)
		p->moved += t->op[t->n - 1]->next != at;
	for (int i = 0; i < t->n; i++) {
		ir_op_unlink(t->op[i]);
		ir_insert_before(at, t->op[i]);
	}
	if (p->updates && !late)
		updates_arrive(p->updates, t->value, at);
}

/* The last op of the loop that is not in a tail. */
static struct ir_op *
last_of_loop(const struct placer *p)
{
	const struct issue_loop *loop = &p->issue->loop[p->loop];
	uint32_t last = loop->end;

	while (last > loop->first && p->in_tail[p->issue->op[last - 1]->id])
		last--;
	return p->order->op[ir_number(p->order, p->issue->op[last - 1])];
}

/* Issues the waiting tails: at the end of their loop, or before their readers. */
static void
end(struct placer *p)
{
	struct ir_op *at = p->loop != NO_LOOP && p->first < p->n ? last_of_loop(p) : NULL;
	const uint32_t last = at ? ir_number(p->order, at) : 0;

	for (; p->first < p->n; p->first++) {
		const struct tail *t = &p->tail[p->first];
		if (!at || ir_number(p->order, t->reader) <= last) {
			issue_before(p, t, NULL);
			continue;
		}
		p->moved++;
		for (int i = 0; i < t->n; i++) {
			ir_op_unlink(t->op[i]);
			ir_insert_after(at, t->op[i]);
			at = t->op[i];
		}
	}
	p->waiting = 0;
}

/* The first op after a collective that does not move; NULL: none. */
static struct ir_op *
after(const struct placer *p, const struct ir_op *scatter)
{
	struct ir_op *at = scatter->next;

	while (at && (p->in_tail[at->id] || (p->updates && updates_has(p->updates, at))))
		at = at->next;
	return at;
}

/* Adds a waiting tail, and issues the oldest ones while more bytes wait than may. */
static void
wait(struct placer *p, const struct tail *t)
{
	p->tail[p->n++] = *t;
	p->waiting += t->bytes;
	while (p->waiting > p->most && p->tail[p->first].scatter != t->scatter) {
		const struct tail *oldest = &p->tail[p->first++];
		p->waiting -= oldest->bytes;
		issue_before(p, oldest, after(p, t->scatter));
	}
}

static void
place_tail(struct placer *p, const struct ir_op *op, int i)
{
	struct tail t = find_tail(p, &op->result[i]);

	t.bytes = (uint64_t)ir_type_local_bytes(p->m, ir_operand_type(op, i));
	if (!t.reader || (!t.n && !p->updates))
		return;
	const bool once = !t.n || is_done_once(p, t.op[0]);
	const uint32_t loop = once ? NO_LOOP : p->issue->loop_of[p->issue->position[t.op[0]->id]];
	if (loop != p->loop)
		end(p);
	p->loop = loop;
	wait(p, &t);
}

/*
 * Ops outside of a loop may be written between its ops, and are issued after it if they read its
 * results. This puts the block in issue order, in which no such reader precedes the end of the
 * loop.
 */
static void
write_in_order(struct ir_module *m, struct ir_block *block)
{
	void *scratch = alloc_scratch(NULL);
	const struct issue *issue = issue_create(scratch, m, block);
	const struct ir_numbering *text = ir_numbering_create(scratch, m, block);

	for (uint32_t i = 0; i < issue->n; i++) {
		struct ir_op *op = text->op[ir_number(text, issue->op[i])];
		ir_op_unlink(op);
		ir_block_append(block, op);
	}
	talloc_free(scratch);
}

uint32_t
scatters_delay(struct ir_module *m, uint64_t most, bool early)
{
	void *scratch = alloc_scratch(NULL);
	struct ir_block *block = &ir_func_find(m, "main")->body;

	if (issue_has_loops(m))
		write_in_order(m, block);
	struct placer p = {.m = m,
		.most = most,
		.loop = NO_LOOP,
		.order = ir_numbering_create(scratch, m, block),
		.issue = issue_has_loops(m) ? issue_create(scratch, m, block) : NULL};

	p.in_tail = ARRAY_ZERO(scratch, bool, m->op_ids);
	p.updates = early ? updates_create(scratch, m, p.order) : NULL;
	p.tail = ARRAY_NEW(scratch, struct tail, p.order->n);
	for (uint32_t i = 0; i < p.order->n; i++)
		for (int k = 0; k < p.order->op[i]->nresults; k++)
			if (is_scatter(m, p.order->op[i]))
				place_tail(&p, p.order->op[i], k);
	end(&p);
	talloc_free(scratch);
	return p.moved;
}

uint32_t
scatters_fuse(struct ir_module *m, scatter_bucket *bucket, void *data)
{
	void *scratch = alloc_scratch(NULL);
	const struct ir_block *block = &ir_func_find(m, "main")->body;
	struct ir_op **member = ARRAY_NEW(scratch, struct ir_op *, m->op_ids);
	uint32_t n = 0, fused = 0, last = 0;

	scatters_delay(m, UINT64_MAX, false);
	for (struct ir_op *op = block->first, *next; op; op = next) {
		next = op->next;
		if (!is_scatter(m, op))
			continue;
		const uint32_t in = bucket(data, op);
		if (in != last) {
			fused += collectives_fuse_kinds(m, member, n);
			n = 0;
		}
		last = in;
		member[n++] = op;
	}
	fused += collectives_fuse_kinds(m, member, n);
	talloc_free(scratch);
	return fused;
}
