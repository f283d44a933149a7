/*
 * Values that are kept for all micro-batches. An op that reads both a slice of the batch and a
 * result of all micro-batches cannot run in the loop that makes this result:
 *
 *     loop { %x  %h  %p = mean(%h) : +mb }  %s = reduce(%p) : @mb=1  loop { %y = mul(%h, %s) }
 *
 * A value of the first loop that the second loop reads, here %h, has a slot for each micro-batch
 * (ir/memory/storage.h), so that memory grows with their number. A balance loss over the whole
 * batch has this effect on the backward pass; accumulate{loss=microbatch} avoids it.
 */
#include "passes/parallel/kept.h"

#include "ir/base/alloc.h"
#include "ir/base/number.h"
#include "ir/memory/issue.h"
#include "ir/memory/storage.h"
#include "passes/parallel/microbatch.h"

#include <inttypes.h>

static const char *
name_of(const void *owner, const struct ir_value *v)
{
	return v->name ? TEXT(owner, "%%%s", v->name) : op_name((enum op_code)v->op->code);
}

/* The first loop after the one that makes v in which v is read; NULL: none. */
static const struct issue_loop *
later_loop(const struct issue *o, const struct ir_value *v)
{
	const struct issue_loop *made = issue_loop_of(o, v->op), *later = NULL;

	IR_FOR_USES (u, v) {
		const struct issue_loop *l = issue_loop_of(o, u->op);
		if (l > made && l->over && (!later || l < later))
			later = l;
	}
	return later;
}

/* The result of a loop that v is, or is computed from outside of loops; NULL: none that has not
 * been seen. seen: by op->id. */
static const struct ir_value *
complete_of(const struct ir_module *m, const struct ir_value *v, bool *seen)
{
	if (!v->op || issue_axes(m, v->type) || seen[v->op->id])
		return NULL;
	seen[v->op->id] = true;
	if (issue_op_axes(m, v->op))
		return v;
	for (int i = 0; i < v->op->noperands; i++) {
		const struct ir_value *found = complete_of(m, ir_operand(v->op, i), seen);
		if (found)
			return found;
	}
	return NULL;
}

/* The first value that loop l needs of all iterations of an earlier one; NULL: none. */
static const struct ir_value *
needed_by(const struct storage *s, const struct issue_loop *l)
{
	const struct issue *o = s->order;
	bool *seen = ARRAY_ZERO(s, bool, s->module->op_ids);

	for (uint32_t i = l->first; i < l->end; i++)
		seen[o->op[i]->id] = true;
	for (uint32_t i = l->first; i < l->end; i++)
		for (int j = 0; j < o->op[i]->noperands; j++) {
			const struct ir_value *found =
				complete_of(s->module, ir_operand(o->op[i], j), seen);
			if (found)
				return found;
		}
	return NULL;
}

/* The name of the value that a reduction combines: the reduction's own name is a number. */
static const struct ir_value *
summed(const struct ir_value *v)
{
	return !v->name && v->op->noperands == 1 ? ir_operand(v->op, 0) : v;
}

static bool
is_kept(const struct storage_buffer *b)
{
	return b->role == STORAGE_TEMP && b->slots > 1;
}

/* The peak of live bytes of kept values. */
static uint64_t
most_live(const struct storage *s)
{
	const int32_t end = 2 * (int32_t)s->order->n + 3; /* of times: see storage.h */
	int64_t *change = ARRAY_ZERO(s, int64_t, end + 1), live = 0, most = 0;

	for (uint32_t i = 0; i < s->nbuffers; i++) {
		const struct storage_buffer *b = &s->buffer[i];
		if (!is_kept(b) || b->first < 0)
			continue;
		change[b->first] += (int64_t)storage_bytes(s, b);
		change[b->last + 1] -= (int64_t)storage_bytes(s, b);
	}
	for (int32_t t = 0; t <= end; t++) {
		live += change[t];
		most = live > most ? live : most;
	}
	return (uint64_t)most;
}

static const struct storage_buffer *
largest(const struct storage *s)
{
	const struct storage_buffer *found = NULL;

	for (uint32_t i = 0; i < s->nbuffers; i++) {
		const struct storage_buffer *b = &s->buffer[i];
		if (is_kept(b) && (!found || storage_bytes(s, b) > storage_bytes(s, found)))
			found = b;
	}
	return found;
}

/* Suggests how to avoid the second loop, where a term of the loss may be the cause. */
static const char *
advice(struct pass_run *run, const struct ir_module *m)
{
	for (int a = 0; a < m->naxes; a++)
		if (m->axis[a].time && microbatch_term(run->scratch, m, a))
			return "; accumulate{loss=microbatch} computes terms of the loss by "
			       "micro-batch instead, which changes the loss";
	return "";
}

void
kept_remark(struct pass_run *run, struct ir_module *m)
{
	if (!pass_remarks_wanted(run) || !issue_has_loops(m))
		return;
	const struct storage *s = storage_create_unplaced(
		run->scratch, m, ir_func_find(m, "main"), &storage_host, NULL);
	const struct storage_buffer *b = largest(s);
	const struct issue_loop *later = b ? later_loop(s->order, b->value) : NULL;
	const struct ir_value *whole = later ? needed_by(s, later) : NULL;
	char all[NUMBER_TEXT], one[NUMBER_TEXT];

	if (!whole)
		return;
	pass_remark(run, b->op, PASS_MISSED,
		"%s of values are kept for all %" PRId64 " micro-batches, %s of it %s: a second "
		"loop reads them, after %s is complete over all of them%s",
		number_bytes(all, (double)most_live(s)), b->slots,
		number_bytes(one, (double)storage_bytes(s, b)), name_of(run->scratch, b->value),
		name_of(run->scratch, summed(whole)), advice(run, m));
}
