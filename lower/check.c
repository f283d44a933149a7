/*
 * The checker: runs the actions on a model of the arena in which every buffer is valid or not. A
 * write makes its buffer valid and all others that share bytes with it invalid; a read needs a
 * valid one. Loop bodies run twice, so that what one iteration leaves behind meets the next.
 * Nothing here relies on how the planner came to its lives and offsets.
 */
#include "lower/plan.h"

#include "ir/issue.h"

#include <inttypes.h>
#include <stdlib.h>
#include <talloc.h>

/* Other buffers that share bytes with one. */
struct meetings {
	int *other, n, room;
};

struct checker {
	const struct lower_plan *p;
	struct diag *diag;
	bool *valid;
	int *written_in; /* the loop (its first action) in which a buffer was last written, -1: none
			  */
	int loop;        /* the one at work */
	struct meetings *meets; /* of each buffer */
	int *pending, npending;
	struct lower_access *list, *other;
	unsigned faults;
};

enum { CHECK_MAX_FAULTS = 20 }; /* a broken plan is broken everywhere */

static struct ir_loc
loc_of(const struct lower_action *a)
{
	return a->op ? a->op->loc : LOC_NONE;
}

static const char *
name_of(const struct lower_plan *p, int buffer)
{
	const struct ir_value *v = p->buffer[buffer].value;

	return v && v->name ? v->name : "(unnamed)";
}

#define FAULT(c, a, ...)                                                                           \
	((c)->faults++ < CHECK_MAX_FAULTS                                                          \
			? diag_error((c)->diag, loc_of(a), "lowered plan: " __VA_ARGS__)           \
			: (void)0)

static uint64_t
end_of(const struct storage_buffer *b)
{
	return b->offset + b->bytes * (uint64_t)b->slots;
}

static bool
share_bytes(const struct storage_buffer *a, const struct storage_buffer *b)
{
	return a->offset < end_of(b) && b->offset < end_of(a);
}

static void
add_meeting(struct checker *c, int buffer, int other)
{
	struct meetings *m = &c->meets[buffer];

	if (m->n == m->room) {
		m->room = m->room ? 2 * m->room : 8;
		m->other = talloc_realloc(c->meets, m->other, int, (size_t)m->room);
		if (!m->other)
			out_of_memory();
	}
	m->other[m->n++] = other;
}

static void
check_pair(struct checker *c, int i, int k)
{
	const struct storage_buffer *x = &c->p->buffer[i], *y = &c->p->buffer[k];
	const struct lower_action none = {.op = NULL};
	const int low = i < k ? i : k, high = i < k ? k : i;

	add_meeting(c, i, k);
	add_meeting(c, k, i);
	if (x->first <= y->last && y->first <= x->last)
		FAULT(c, &none, "buffers %d (%%%s) and %d (%%%s) share bytes while both live", low,
			name_of(c->p, low), high, name_of(c->p, high));
}

struct place {
	uint64_t offset;
	int buffer;
};

static int
by_offset(const void *x, const void *y)
{
	const struct place *a = x, *b = y;

	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return a->buffer - b->buffer;
}

/* Lives, offsets, alignment, and the table of neighbours. */
static void
check_buffers(struct checker *c)
{
	const struct lower_plan *p = c->p;
	const struct lower_action none = {.op = NULL};
	struct place *place = talloc_array(c->meets, struct place, (size_t)p->nbuffers + 1);
	int n = 0;

	if (!place)
		out_of_memory();
	for (int i = 0; i < p->nbuffers; i++) {
		const struct storage_buffer *x = &p->buffer[i];
		if (x->first < 0)
			continue;
		if (x->offset % p->storage->align || end_of(x) > p->arena_bytes)
			FAULT(c, &none,
				"buffer %d (%%%s) lies at %" PRIu64
				", outside the arena or not aligned",
				i, name_of(p, i), x->offset);
		place[n++] = (struct place){x->offset, i};
	}
	qsort(place, (size_t)n, sizeof *place, by_offset);
	for (int i = 0; i < n; i++) {
		const uint64_t end = end_of(&p->buffer[place[i].buffer]);
		for (int k = i + 1; k < n && place[k].offset < end; k++)
			if (share_bytes(&p->buffer[place[i].buffer], &p->buffer[place[k].buffer]))
				check_pair(c, place[i].buffer, place[k].buffer);
	}
	talloc_free(place);
}

/* Do accesses x and y harm each other when done at once? */
static bool
harmful(const struct checker *c, struct lower_access x, struct lower_access y)
{
	return (x.write || y.write) && (x.buffer == y.buffer || share_bytes(&c->p->buffer[x.buffer],
									&c->p->buffer[y.buffer]));
}

/* The collectives on their way must not notice the action. */
static void
check_pending(struct checker *c, const struct lower_action *a, int n)
{
	for (int i = 0; i < c->npending; i++) {
		const struct lower_action post = {.kind = LOWER_POST, .coll = c->pending[i]};
		const int m = lower_accesses(c->p, &post, c->other);
		for (int k = 0; k < n; k++)
			for (int l = 0; l < m; l++)
				if (harmful(c, c->list[k], c->other[l]))
					FAULT(c, a,
						"action %s buffer %%%s while a posted %s uses %%%s",
						c->list[k].write ? "writes" : "reads",
						name_of(c->p, c->list[k].buffer),
						op_name((enum op_code)c->p->coll[c->pending[i]]
								.op->code),
						name_of(c->p, c->other[l].buffer));
	}
}

/* Results and operands of one kernel in one place: only where the kernel works element by element.
 */
static void
check_kernel(struct checker *c, const struct lower_action *a)
{
	const struct lower_plan *p = c->p;

	for (int r = 0; r < a->op->nresults; r++) {
		const int to = lower_value_of(p, &a->op->result[r])->buffer;
		for (int j = 0; j < a->op->noperands; j++) {
			const int from = lower_value_of(p, ir_operand(a->op, j))->buffer;
			if (from < 0 ||
				(from != to && !share_bytes(&p->buffer[from], &p->buffer[to])))
				continue;
			if (from != to || !a->in_place || !scheme_in_place(a->scheme, j, r))
				FAULT(c, a,
					"result %d of %s is written over operand %d, which it "
					"still reads",
					r + 1, op_name((enum op_code)a->op->code), j + 1);
		}
		for (int k = 0; k < r; k++)
			if (lower_value_of(p, &a->op->result[k])->buffer == to)
				FAULT(c, a, "results %d and %d lie in one buffer", k + 1, r + 1);
	}
}

static void
check_life(struct checker *c, const struct lower_action *a, int number, int buffer)
{
	const struct storage_buffer *b = &c->p->buffer[buffer];

	if (a->at < b->first || a->at > b->last)
		FAULT(c, a,
			"action %d, at moment %d, uses buffer %d (%%%s) outside its life [%d, %d]",
			number, a->at, buffer, name_of(c->p, buffer), b->first, b->last);
}

/* Does the buffer hold one slice in time of its value, another one in every iteration? */
static bool
is_slice(const struct lower_plan *p, int buffer)
{
	const struct storage_buffer *b = &p->buffer[buffer];

	return b->slots == 1 && b->value && b->value->op && issue_axes(p->module, b->value->type);
}

static void
perform(struct checker *c, int at, int n)
{
	const struct lower_action *a = &c->p->action[at];

	for (int k = 0; k < n; k++) {
		const int b = c->list[k].buffer;
		check_life(c, a, at, b);
		if (!c->list[k].write && !c->valid[b])
			FAULT(c, a,
				"action %d reads buffer %d (%%%s), which nothing has written or "
				"something else overwrote",
				at, b, name_of(c->p, b));
		if (!c->list[k].write && is_slice(c->p, b) && c->written_in[b] != c->loop)
			FAULT(c, a,
				"action %d reads buffer %d (%%%s), which holds the slice of "
				"another loop's last iteration",
				at, b, name_of(c->p, b));
	}
	for (int k = 0; k < n; k++) {
		const int b = c->list[k].buffer;
		if (!c->list[k].write)
			continue;
		c->valid[b] = true;
		c->written_in[b] = c->loop;
		for (int i = 0; i < c->meets[b].n; i++)
			c->valid[c->meets[b].other[i]] = false;
	}
}

/* Until now the collective used its buffers. */
static void
check_waited(struct checker *c, const struct lower_action *a, int at)
{
	const struct lower_action post = {.kind = LOWER_POST, .coll = a->coll};
	const int n = lower_accesses(c->p, &post, c->other);

	for (int k = 0; k < n; k++)
		check_life(c, a, at, c->other[k].buffer);
}

static void
finish_collective(struct checker *c, int coll)
{
	for (int i = 0; i < c->npending; i++)
		if (c->pending[i] == coll)
			c->pending[i--] = c->pending[--c->npending];
}

/* What earlier iterations have put into a sum or a whole must still be there. */
static void
check_kept(struct checker *c, const struct lower_action *a)
{
	const bool keeps = a->kind == LOWER_ADD ||
			   (a->kind == LOWER_COPY && a->copy.slice_axis >= 0 && !a->copy.slice_src);

	if (keeps && !c->valid[c->p->value[a->dst].buffer])
		FAULT(c, a,
			"what earlier iterations put into %%%s is overwritten before the next adds "
			"to it",
			name_of(c->p, c->p->value[a->dst].buffer));
}

static void
check_action(struct checker *c, int at, bool again)
{
	const struct lower_action *a = &c->p->action[at];
	const int n = lower_accesses(c->p, a, c->list);

	if (a->kind == LOWER_WAIT) {
		check_waited(c, a, at);
		finish_collective(c, a->coll);
		return;
	}
	check_pending(c, a, n);
	if (again)
		check_kept(c, a);
	if (a->kind == LOWER_KERNEL)
		check_kernel(c, a);
	perform(c, at, n);
	if (a->kind != LOWER_POST)
		return;
	if (a->guard.n)
		FAULT(c, a, "only some places post this %s, the others would wait for ever",
			op_name((enum op_code)a->op->code));
	c->pending[c->npending++] = a->coll;
}

/* The end of the loop that begins at `begin`; -1 without one. */
static int
loop_end(const struct lower_plan *p, int begin)
{
	for (int i = begin + 1; i < p->nactions; i++) {
		if (p->action[i].kind == LOWER_LOOP)
			return -1;
		if (p->action[i].kind == LOWER_END)
			return i;
	}
	return -1;
}

static void
check_actions(struct checker *c)
{
	const struct lower_plan *p = c->p;

	for (int i = 0; i < p->nactions; i++) {
		const int end = p->action[i].kind == LOWER_LOOP ? loop_end(p, i) : i;
		if (end < 0 || p->action[i].kind == LOWER_END) {
			FAULT(c, &p->action[i],
				"action %d: a loop without its end, or an end without its loop", i);
			return;
		}
		const int passes = p->action[i].kind == LOWER_LOOP ? 2 : 1;
		c->loop = passes > 1 ? i : -1;
		for (int pass = 0; pass < passes; pass++)
			for (int k = i; k <= end; k++)
				if (p->action[k].kind != LOWER_LOOP &&
					p->action[k].kind != LOWER_END)
					check_action(c, k, pass > 0);
		i = end;
	}
}

static void
check_end(struct checker *c)
{
	const struct lower_action none = {.op = NULL};

	for (int i = 0; i < c->npending; i++)
		FAULT(c, &none, "the step ends without a wait for a posted %s",
			op_name((enum op_code)c->p->coll[c->pending[i]].op->code));
	for (int i = 0; i < c->p->nbuffers; i++) {
		const struct storage_buffer *b = &c->p->buffer[i];
		if (b->first >= 0 && b->role != STORAGE_TEMP && !c->valid[i])
			FAULT(c, &none,
				"buffer %d (%%%s), which outlives the step, is overwritten in it",
				i, name_of(c->p, i));
	}
}

/* Buffers that share bytes of the message's range: its own, which fill it up to their alignment. */
static void
check_row(struct checker *c, const struct lower_coll *coll)
{
	const struct lower_plan *p = c->p;
	const struct lower_action post = {.op = coll->op};
	const struct lower_row row = lower_row_of(p, coll);
	uint64_t bytes = 0;

	for (int i = 0; i < coll->nbufs; i++) {
		const struct lower_value *v = &p->value[coll->buf[i].dst];
		bytes += storage_bytes(p->storage, &p->buffer[v->buffer]);
		if (coll->buf[i].src != coll->buf[i].dst || v->time)
			FAULT(c, &post, "result %d of the %s does not lie in the message's row",
				i + 1, op_name((enum op_code)coll->op->code));
		for (int k = 0; k < i; k++)
			if (p->value[coll->buf[k].dst].buffer == v->buffer)
				FAULT(c, &post, "results %d and %d of the %s lie in one buffer",
					k + 1, i + 1, op_name((enum op_code)coll->op->code));
	}
	if (row.bytes > bytes || bytes - row.bytes >= p->storage->align)
		FAULT(c, &post,
			"the %s is a message of %" PRIu64 " bytes from %" PRIu64
			" on, but its buffers need %" PRIu64,
			op_name((enum op_code)coll->op->code), row.bytes, row.offset, bytes);
}

bool
lower_check(const struct lower_plan *p)
{
	void *scratch = talloc_new(NULL);
	struct checker c = {.p = p, .diag = p->module->ctx->diag};

	c.valid = talloc_zero_array(scratch, bool, (size_t)p->nbuffers + 1);
	c.meets = talloc_zero_array(scratch, struct meetings, (size_t)p->nbuffers + 1);
	c.pending = talloc_array(scratch, int, 2 * (size_t)p->nactions + 1);
	c.list = talloc_array(scratch, struct lower_access, (size_t)lower_most_accesses(p));
	c.other = talloc_array(scratch, struct lower_access, (size_t)lower_most_accesses(p));
	c.written_in = talloc_zero_array(scratch, int, (size_t)p->nbuffers + 1);
	if (!c.valid || !c.written_in || !c.meets || !c.pending || !c.list || !c.other)
		out_of_memory();
	for (int i = 0; i < p->nbuffers; i++)
		c.valid[i] = p->buffer[i].role == STORAGE_INPUT ||
			     p->buffer[i].role == STORAGE_PERSISTENT;
	check_buffers(&c);
	for (int i = 0; i < p->ncolls; i++)
		if (p->coll[i].in_row)
			check_row(&c, &p->coll[i]);
	check_actions(&c);
	check_end(&c);
	talloc_free(scratch);
	return c.faults == 0;
}
