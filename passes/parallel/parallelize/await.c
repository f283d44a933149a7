/*
 * Limits what messages in flight hold in memory. Gradients are summed and scattered while the
 * backward pass goes on, and the next op that reads the slices is mostly that of the optimizer, at
 * the end of the step: until then nothing waits for the message, and the whole gradient is in memory.
 * Where the messages hold more than `most` bytes, the next product waits for the oldest of them:
 *
 *     %s = reducescatter(%d)                  %s = reducescatter(%d)
 *     ...                                     ...
 *     %h = matmul(%x, %w)           --->      %x1, %s1 = barrier(%x, %s)
 *     ...                                     %h = matmul(%x1, %w)
 *     %n = sub(%w, %s)                        %n = sub(%w, %s1)
 *
 * Right because a barrier changes no value. Products wait, as they write their operands and results to
 * memory in any case, so that no kernel is lost.
 */
#include "ir/base/alloc.h"
#include "ir/memory/storage.h"
#include "passes/analysis/cost/internal.h"
#include "passes/parallel/parallelize/parallelize.h"

/* Consecutive changes of layout of a value, each the only reader of the one before. */
struct flight {
	struct ir_value *end; /* the result of the last one */
	int64_t bytes;        /* the most that an operand of one takes */
	uint32_t at, read;    /* positions: of the last one, and of the first reader of `end` */
};

static bool
has_time(const struct ir_module *m)
{
	for (int a = 0; a < m->naxes; a++)
		if (m->axis[a].time && m->axis[a].size > 1)
			return true;
	return false;
}

static bool
is_change(const struct ir_op *op)
{
	return op_is(op, TRAIT_PARALLEL) && op->noperands == 1 && op->nresults == 1;
}

/* The change of layout that is the only reader of the value; NULL: there is none. */
static const struct ir_op *
next_change(const struct ir_value *v)
{
	return v->uses && !v->uses->next && is_change(v->uses->op) ? v->uses->op : NULL;
}

static uint32_t
first_reader(const uint32_t *position, const struct ir_value *v)
{
	uint32_t first = UINT32_MAX;

	IR_FOR_USES (u, v)
		if (position[u->op->id] < first)
			first = position[u->op->id];
	return first;
}

/* The changes that begin with op; bytes: 0 if none of them is a message. */
static struct flight
flight_from(const struct ir_module *m, const uint32_t *position, struct ir_op *op)
{
	struct flight f = {&op->result[0], 0, 0, 0};

	for (const struct ir_op *at = op; at; at = next_change(f.end)) {
		const int64_t bytes =
			storage_is_view(m, at) ? 0 : ir_type_local_bytes(m, ir_operand_type(at, 0));
		f.bytes = bytes > f.bytes ? bytes : f.bytes;
		f.end = (struct ir_value *)&at->result[0];
	}
	f.at = position[f.end->op->id];
	f.read = first_reader(position, f.end);
	return f;
}

struct flights VEC(struct flight);

/* All readers of `end` come after the op. */
static void
wait_for(struct ir_module *m, struct ir_op *op, struct ir_value *end)
{
	struct ir_builder b = {.m = m, .block = op->block, .before = op, .loc = op->loc};
	struct ir_value *all[] = {ir_operand(op, 0), end};
	struct ir_value *r = ir_build_barrier(&b, all, 2);

	ir_replace_uses(end, &r[1]);
	ir_set_operand(r->op, 1, end);
	ir_set_operand(op, 0, &r[0]);
}

/* The op waits for the oldest messages, so that those that stay in flight hold at most that much. Changes
 * that end after the op hold nothing yet, or wait for another op. */
static void
limit_at(struct ir_module *m, const uint32_t *position, struct flights *list, struct ir_op *op,
	double most)
{
	const uint32_t here = position[op->id];
	double held = 0;
	int64_t n = 0;

	for (int64_t i = 0; i < list->n; i++) {
		if (list->at[i].read > here)
			list->at[n++] = list->at[i];
		if (list->at[i].read > here && list->at[i].at < here)
			held += (double)list->at[i].bytes;
	}
	list->n = n;
	n = 0;
	for (int64_t i = 0; i < list->n; i++) {
		const struct flight *f = &list->at[i];
		if (f->at > here || held <= most) {
			list->at[n++] = *f;
			continue;
		}
		wait_for(m, op, f->end);
		held -= (double)f->bytes;
	}
	list->n = n;
}

void
parallel_await(const void *scratch, struct ir_module *m, double most)
{
	struct ir_block *main = &ir_func_find(m, "main")->body;
	uint32_t *position = ARRAY_ZERO(scratch, uint32_t, m->op_ids), now = 0;
	struct flights list = {0};

	if (has_time(m))
		return;
	IR_FOR_OPS (op, main)
		position[op->id] = now++;
	IR_FOR_OPS_SAFE (op, main) {
		if (is_change(op) && !is_change(ir_operand(op, 0)->op)) {
			const struct flight f = flight_from(m, position, op);
			if (f.bytes > 0)
				VEC_PUSH(scratch, &list, f);
		} else if (cost_is_product(op)) {
			limit_at(m, position, &list, op, most);
		}
	}
}
