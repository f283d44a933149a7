/*
 * What a block of a step keeps in memory, so that the peak of a step of many blocks follows from that of
 * a few:
 *
 *     peak(more blocks) = peak(few) + (more - few) x what a block keeps
 *
 * Peaks of two steps do not tell it: that of the shorter one is at another op, such as the gradient of an
 * embedding at the end, where blocks keep nothing, and by what gathers and scores happen to be in memory
 * they differ by more than a block keeps. So the buffers of a block in the middle are counted that live when the
 * last block has computed its values, which the backward pass reads, or when the first block has computed its
 * gradients: of the block that is farthest from these, as what others have in memory may be gathers that
 * are early, or gradients on their way. Names tell the block.
 */
#include "ir/base/alloc.h"
#include "passes/plan/plan.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* The number of the block that a name tells, "adam.m.block3.w"; -1: none. */
static int64_t
block_of_name(const char *name)
{
	for (const char *at = name; *at; at++) {
		if (!isdigit((unsigned char)*at))
			continue;
		char *end;
		const long long number = strtoll(at, &end, 10);
		if (*end == '.')
			return number;
		at = end - 1;
	}
	return -1;
}

/* The block of an op: by the name of a result, or that of an operand. */
static int64_t
block_of(const struct ir_op *op, const int64_t *block)
{
	for (int i = 0; i < op->nresults; i++)
		if (op->result[i].name)
			return block_of_name(op->result[i].name);
	for (int i = 0; i < op->noperands; i++) {
		const struct ir_op *maker = ir_operand(op, i)->op;
		if (maker && block[maker->id] >= 0)
			return block[maker->id];
	}
	return -1;
}

static bool
is_gradient(const char *name)
{
	return !strncmp(name, "d_", 2);
}

/* Is it a value of the forward pass, not a copy that is computed again, h_1? */
static bool
is_of_forward(const char *name)
{
	const char *end = strrchr(name, '_');

	return !is_gradient(name) && (!end || end[1 + strspn(end + 1, "0123456789")]);
}

/* Bytes that the first, or else the last, of the blocks in the middle that have any has in memory at that time. */
static void
count(struct plan_kept *k, const struct storage *s, const int64_t *block, int32_t time, bool first)
{
	double *of = ARRAY_ZERO(NULL, double, k->blocks), bytes = 0;

	for (uint32_t i = 0; i < s->nbuffers; i++) {
		const struct storage_buffer *b = &s->buffer[i];
		const struct ir_op *op = b->op ? b->op : b->value ? b->value->op : NULL;
		const int64_t at = op ? block[op->id] : -1;
		if (at > 0 && at < k->blocks - 1 && b->memory == IR_DEVICE &&
			storage_counts(s, b) && b->first <= time && time <= b->last)
			of[at] += (double)storage_bytes(s, b);
	}
	for (int64_t i = 1; i < k->blocks - 1 && !(first && bytes > 0); i++)
		bytes = of[i] > 0 ? of[i] : bytes;
	k->bytes = bytes > k->bytes ? bytes : k->bytes;
	array_free(of);
}

void
plan_kept_read(void *data, const struct storage *s)
{
	struct plan_kept *k = data;
	const struct issue *o = s->order;
	int64_t *block = ARRAY_NEW(NULL, int64_t, s->module->op_ids + 1u);
	int32_t turn = -1, end = -1;

	memset(block, 0xff, sizeof *block * (s->module->op_ids + 1u));
	for (uint32_t p = 0; p < o->n; p++) {
		const struct ir_op *op = o->op[p];
		const char *name = op->nresults ? op->result[0].name : NULL;
		const int64_t at = block[op->id] = block_of(op, block);
		if (name && at == k->blocks - 1 && is_of_forward(name))
			turn = 2 * (int32_t)p + 1;
		if (name && at == 0 && is_gradient(name))
			end = 2 * (int32_t)p + 1;
	}
	k->bytes = 0;
	count(k, s, block, turn, true);
	count(k, s, block, end, false);
	array_free(block);
}
