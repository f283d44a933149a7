/*
 * tensorpart: a collective is sent in k chunks, each a message (tensor partition: BytePS, Jiang and
 * others 2020; dPRO, section 5.1). Where an algorithm passes stages that use different links, as
 * push and pull do, a chunk is in one stage while the next chunk is in the stage before; each chunk
 * costs the latencies of a message. Values and the rest of the step do not change, so a partition
 * is judged by time alone:
 *
 *  - replay: t_sync(s, k), the cost model's time of a message of s bytes in k chunks, is least at
 *    k*, which is found by trying every k (dPRO, Theorem 2 and its grid search). The messages that
 *    are exposed longest come first; k* is kept if it shortens the replay of the whole step.
 *  - byteps: chunks of at most `size` bytes. BYTEPS_PARTITION_BYTES of bytedance/byteps,
 *    docs/env.md, is 4096000 by default.
 *  - fixed: the same number for all.
 *  - joint: the search of `joint` with this move alone.
 */
#include "ir/base/alloc.h"
#include "ir/base/sort.h"
#include "ir/base/number.h"
#include "passes/analysis/cost/cost.h"
#include "passes/search/joint.h"

#include <math.h>
#include <stdlib.h>

#define POLICIES(ROW)                                                                              \
	ROW(REPLAY, "replay") ROW(BYTEPS, "byteps") ROW(FIXED, "fixed") ROW(JOINT, "joint")

enum policy { POLICIES(CHOICE_CODE) };

/* A message that may be sent in chunks. */
struct message {
	struct ir_op *op;
	struct cost_collective of;
	double exposed; /* seconds, over all iterations */
	uint32_t parts; /* the number of chunks to set */
};

struct parter {
	struct pass_run *run;
	struct ir_module *m;
	struct message *message; /* [n] in order of the block */
	uint32_t n;
};

static bool
may_part(const struct ir_op *op)
{
	return op->code == OP_allreduce || op->code == OP_allgather || op->code == OP_reducescatter;
}

static void
list_messages(struct parter *p, struct ir_block *b)
{
	p->message = ARRAY_ZERO(p->run->scratch, struct message, p->m->op_ids);
	IR_FOR_OPS (op, b) {
		struct message *x = &p->message[p->n];
		if (may_part(op) && cost_op_collective(p->m, op, &x->of)) {
			x->op = op;
			x->parts = x->of.parts;
			p->n++;
		}
	}
}

/* Sets the number of chunks of each message. */
static void
set_parts(struct parter *p)
{
	for (uint32_t i = 0; i < p->n; i++) {
		const struct message *x = &p->message[i];
		if (x->parts == x->of.parts)
			continue;
		ir_set_parts(p->m, x->op, x->parts);
		pass_count(p->run, "collective(s) chunked", 1);
	}
}

/* --- by size, by number --- */

/* Elements that a device sends to one other device: there are at most that many chunks. */
static double
elements_of(const struct message *x)
{
	const double wholes = x->of.kind == RT_ALLREDUCE ? 1 : x->of.places;

	return x->of.bytes / wholes / ir_dtype_bytes(ir_operand_type(x->op, 0)->dtype);
}

static void
part_into(struct parter *p, struct message *x, double parts)
{
	const double most = fmin(elements_of(x), IR_MAX_PARTS);

	x->parts = (uint32_t)fmax(fmin(parts, most), 1);
	char bytes[NUMBER_TEXT];
	if (x->parts != x->of.parts)
		pass_remark(p->run, x->op, PASS_APPLIED, "%s split into %s",
			number_bytes(bytes, x->of.bytes),
			number_count(p->run->scratch, x->parts, "chunk(s)"));
}

static bool
part_by_number(struct parter *p, enum policy policy)
{
	const double size = (double)pass_size(p->run, "size");

	for (uint32_t i = 0; i < p->n; i++) {
		struct message *x = &p->message[i];
		part_into(p, x,
			policy == FIXED ? (double)pass_int(p->run, "parts")
					: ceil(x->of.bytes / size));
	}
	set_parts(p);
	return true;
}

/* --- by replay --- */

/* Equal ones are in the order of the block. */
ORDER_POINTERS_BY(by_exposed, struct message, DOWN(exposed), ORDER_UP(x, y))

/* Time in which the device computes nothing while a message is in flight. */
static bool
find_exposed(struct parter *p, const struct cost_model *model)
{
	const struct cost_timeline *t = cost_timeline(p->run->scratch, model, p->m);

	for (uint32_t i = 0; t && i < t->n; i++) {
		const struct cost_event *e = &t->event[i];
		for (uint32_t k = 0; e->communication && k < p->n; k++)
			if (p->message[k].op == e->op)
				p->message[k].exposed += e->exposed;
	}
	return t != NULL;
}

/* The k with the least t_sync(s, k); of equal ones, the smallest. */
static uint32_t
best_parts(struct parter *p, struct plan *plan, const struct message *x, uint32_t node)
{
	const uint32_t most = (uint32_t)fmin((double)pass_int(p->run, "max"), elements_of(x));
	uint32_t best = x->of.parts;
	replay_time least = plan_message_time(plan, node, best);

	for (uint32_t k = 1; k <= most; k++) {
		const replay_time t = plan_message_time(plan, node, k);
		if (t < least || (t == least && k < best)) {
			least = t;
			best = k;
		}
	}
	return best;
}

/* Sets k* if the step then takes less than `step`; returns the time of the step afterwards. */
static replay_time
part_one(struct parter *p, struct plan *plan, struct message *x, replay_time step)
{
	const double ms = 1e3;
	const uint32_t node = plan_home(plan, plan_number(plan, x->op)), now = x->of.parts;
	const uint32_t best = best_parts(p, plan, x, node), mark = plan_mark(plan);
	const double before = replay_seconds(plan_message_time(plan, node, now)) * ms,
		     after = replay_seconds(plan_message_time(plan, node, best)) * ms;
	const char *as_now = number_count(p->run->scratch, now, "chunk(s)"),
		   *as_best = number_count(p->run->scratch, best, "chunk(s)");

	if (best == now) {
		pass_remark(p->run, x->op, PASS_MISSED,
			"%s: %.6g ms; no other number of chunks up to %lld is faster", as_now,
			before, (long long)pass_int(p->run, "max"));
		return step;
	}
	const replay_time t = plan_part(plan, node, best) ? plan_replay(plan) : step;
	if (t >= step) {
		plan_undo(plan, mark);
		pass_remark(p->run, x->op, PASS_MISSED,
			"stays at %s: %s take %.6g ms instead of %.6g ms, "
			"but the step is not faster",
			as_now, as_best, after, before);
		return step;
	}
	x->parts = best;
	pass_remark(p->run, x->op, PASS_APPLIED,
		"%s: %.6g ms, %.6g ms with %s; the step takes %.6g ms, %.6g ms before", as_best,
		after, before, as_now, replay_seconds(t) * ms, replay_seconds(step) * ms);
	return t;
}

static bool
part_by_replay(struct parter *p)
{
	const struct cost_options generic = {0};
	struct pass_run *run = p->run;
	const struct cost_model *model =
		run->cost ? run->cost : cost_model_create(run->scratch, run->ctx->diag, &generic);
	struct plan *plan = model ? plan_create(run->scratch, model, p->m) : NULL;

	if (!plan || !find_exposed(p, model))
		return false;
	struct message **order = ARRAY_NEW(run->scratch, struct message *, p->n + 1);
	for (uint32_t i = 0; i < p->n; i++)
		order[i] = &p->message[i];
	qsort(order, p->n, sizeof *order, by_exposed);
	replay_time step = plan_replay(plan);
	for (uint32_t i = 0; i < p->n; i++)
		step = part_one(p, plan, order[i], step);
	set_parts(p);
	return true;
}

static bool
part_by_search(struct pass_run *run, struct ir_module *m)
{
	struct search_options o = search_defaults();

	o.moves = SEARCH_PART;
	return joint_run(run, m, o);
}

static bool
run(struct pass_run *run, struct ir_module *m)
{
	const enum policy policy = (enum policy)pass_enum(run, "policy");
	struct parter p = {.run = run, .m = m};

	if (policy == JOINT)
		return part_by_search(run, m);
	list_messages(&p, &ir_func_find(m, "main")->body);
	if (policy != REPLAY)
		return part_by_number(&p, policy);
	return !p.n || part_by_replay(&p);
}

static const struct pass_option options[] = {
	{"policy", PASS_ENUM, "replay",
		"how to choose the number of chunks: replay (fastest predicted step), "
		"byteps (size), fixed, joint (search)",
		CHOICE_LIST(POLICIES), 0, 0},
	{"size", PASS_SIZE, "4096KB",
		"byteps: size of the largest chunk, as BYTEPS_PARTITION_BYTES", NULL, 1, 1e15},
	{"parts", PASS_INT, "4", "fixed: number of chunks of every collective", NULL, 1,
		IR_MAX_PARTS},
	{"max", PASS_INT, "64", "replay: largest number of chunks to try", NULL, 1, IR_MAX_PARTS},
	{0},
};

const struct pass pass_tensorpart = {
	.name = "tensorpart",
	.family = "fusion",
	.summary = "split collectives into chunks, which pass the stages "
		   "of the collective as a pipeline",
	.options = options,
	.needs = "no-calls",
	.run = run,
	.keeps_bits = true,
};
