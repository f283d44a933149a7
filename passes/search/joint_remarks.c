/* What was tried for messages that are still exposed: see joint.h. */
#include "passes/search/joint.h"
#include "ir/base/sort.h"

#include "ir/base/number.h"
#include "ir/base/alloc.h"

#include <stdlib.h>
#include <talloc.h>

enum {
	MOST = 10,     /* messages that are reported */
	TEXT_ROOM = 64 /* length of the text of one attempt */
};

struct exposed {
	uint32_t node;
	replay_time time;
};

/*
 * How long each message communicates while no kernel runs: its span less the kernels that overlap
 * it. Both streams are in order, so one sweep over both finds it.
 */
static uint32_t
find_exposed(const struct plan *p, struct exposed *e)
{
	uint32_t n = 0, k = 0, count = plan_count(p);

	for (uint32_t i = 0; i < count; i++) {
		struct plan_node message = plan_node(p, plan_at(p, i));
		if (message.kind != PLAN_MESSAGE)
			continue;
		replay_time covered = 0;
		for (uint32_t j = k; j < count; j++) {
			struct plan_node kernel = plan_node(p, plan_at(p, j));
			if (kernel.kind != PLAN_KERNEL)
				continue;
			if (kernel.start >= message.end)
				break;
			if (kernel.end <= message.start) {
				k = j;
				continue;
			}
			replay_time from =
				kernel.start > message.start ? kernel.start : message.start;
			replay_time to = kernel.end < message.end ? kernel.end : message.end;
			covered += to - from;
		}
		e[n++] = (struct exposed){plan_at(p, i), message.end - message.start - covered};
	}
	return n;
}

ORDER_BY(by_time, struct exposed, DOWN(time), UP(node))

/* The time of the step with a change compared with that without, as text; then the change is
 * undone. */
static char *
outcome(struct plan *p, char *text, const char *what, bool possible, uint32_t mark, replay_time now)
{
	if (!possible)
		text = text_append(text, "; %s: not possible", what);
	else
		text = text_append(
			text, "; %s: %+.4g us", what, replay_seconds(plan_replay(p) - now) * 1e6);
	plan_undo(p, mark);
	return text;
}

/* The nearest message to position i, in that direction, that it can be packed with; PLAN_NONE:
 * none. */
static uint32_t
neighbour(const struct plan *p, uint32_t node, int step)
{
	for (int64_t i = (int64_t)plan_node(p, node).position + step;
		i >= 0 && i < (int64_t)plan_count(p); i += step) {
		uint32_t other = plan_at(p, (uint32_t)i);
		if (plan_node(p, other).kind == PLAN_MESSAGE && plan_packs(p, node, other))
			return other;
	}
	return PLAN_NONE;
}

static char *
try_pack(struct plan *p, char *text, uint32_t node, int step, replay_time now)
{
	uint32_t mark = plan_mark(p), other = neighbour(p, node, step);
	const char *what = step < 0 ? "merged with the previous collective"
				    : "merged with the next collective";

	if (other == PLAN_NONE)
		return text;
	return outcome(p, text, what, plan_pack(p, node, other), mark, now);
}

/* The last tensor of the message becomes a message of its own. */
static char *
try_unpack(struct plan *p, char *text, uint32_t node, replay_time now)
{
	struct plan_node n = plan_node(p, node);
	uint32_t mark = plan_mark(p);

	if (n.nops < 2)
		return text;
	uint32_t last = PLAN_OP_OF(n.op[n.nops - 1]);
	return outcome(p, text, "its last tensor separate",
		plan_unpack(p, node, &last, 1) != PLAN_NONE, mark, now);
}

static char *
try_parts(struct plan *p, char *text, uint32_t node, replay_time now)
{
	char what[TEXT_ROOM];
	uint32_t mark = plan_mark(p), parts = 2 * plan_node(p, node).parts;

	snprintf(what, sizeof what, "in %u chunks", parts);
	return outcome(p, text, what, plan_part(p, node, parts), mark, now);
}

/* The op whose result the message carries becomes a kernel apart from the ops fused with it. */
static char *
try_producer(struct plan *p, char *text, uint32_t node, replay_time now)
{
	struct plan_node n = plan_node(p, node);
	uint32_t mark = plan_mark(p), rest[2], latest = PLAN_NONE;

	for (uint32_t i = 0; i < n.npreds; i++)
		if (latest == PLAN_NONE || plan_node(p, n.pred[i]).end > plan_node(p, latest).end)
			latest = n.pred[i];
	if (latest == PLAN_NONE || plan_node(p, latest).kind != PLAN_KERNEL ||
		plan_node(p, latest).nops < 2)
		return text;
	struct plan_node kernel = plan_node(p, latest);
	rest[0] = PLAN_OP_OF(kernel.op[kernel.nops - 1]);
	return outcome(p, text, "the last op of its producer separate",
		plan_unfuse(p, latest, rest, 1) != PLAN_NONE, mark, now);
}

static void
tell_of(struct pass_run *run, struct plan *p, const struct exposed *e, replay_time now)
{
	struct plan_node n = plan_node(p, e->node);
	const struct ir_op *op = plan_op(p, PLAN_OP_OF(n.op[n.nops - 1]));
	char *text = text_copy(run->scratch, ""), bytes[NUMBER_TEXT], time[NUMBER_TEXT];

	text = try_pack(p, text, e->node, -1, now);
	text = try_pack(p, text, e->node, 1, now);
	text = try_unpack(p, text, e->node, now);
	text = try_parts(p, text, e->node, now);
	text = try_producer(p, text, e->node, now);
	plan_replay(p);
	pass_remark(run, op, PASS_MISSED, "%s of %s, %s, is exposed for %s%s",
		op_name((enum op_code)op->code), number_count(run->scratch, n.nops, "tensor(s)"),
		number_bytes(bytes, n.bytes), number_seconds(time, replay_seconds(e->time)), text);
}

void
joint_remarks(struct pass_run *run, struct plan *p)
{
	if (!pass_remarks_wanted(run))
		return;
	struct exposed *e = NEW_ARRAY(run->scratch, struct exposed, plan_count(p));
	replay_time now = plan_replay(p);
	uint32_t n = find_exposed(p, e);

	qsort(e, n, sizeof *e, by_time);
	for (uint32_t i = 0; i < n && i < MOST && e[i].time > 0; i++)
		tell_of(run, p, &e[i], now);
	talloc_free(e);
}
