/*
 * The values of a plan, and undoing their changes: old values are written to a log of words, each
 * record followed by its kind, index and length, and restored from the newest on. Lists are never
 * changed in place but written again at the end of the pool, so that undo only restores where a
 * node's list begins. For the order, moves are logged and undone by moving back: the positions
 * after a move may be the whole step.
 */
#include "passes/search/plan/impl.h"

#include <string.h>

enum plan_log {
	LOG_NODE,
	LOG_HOME,
	LOG_COPIES,
	LOG_HOLDER,
	LOG_TAKEN,  /* the node at index was removed from the order */
	LOG_PUT,    /* a node was inserted into the order at index */
	LOG_SHIFT,  /* the node at index was moved to another position */
	LOG_BEHIND, /* nodes from index on were moved after another one: plan_put_behind */
	LOG_FREE,
	LOG_SIZES,
};

enum { RECORD_END = 3 /* words after a record: kind, index, length */ };

/* --- the log --- */

/* Appends n words of `from` to the log as a record. */
static void
log_words(struct plan *p, enum plan_log kind, uint32_t index, const void *from, uint32_t n)
{
	const uint32_t end[RECORD_END] = {kind, index, n};

	VEC_ROOM(p, &p->log, p->log.n + n + RECORD_END);
	VEC_PUSH_ALL(p, &p->log, from, n);
	VEC_PUSH_ALL(p, &p->log, end, RECORD_END);
}

#define WORDS(type) ((uint32_t)(sizeof(type) / sizeof(uint32_t)))

void
plan_log_node(struct plan *p, uint32_t node)
{
	log_words(p, LOG_NODE, node, &p->node[node], WORDS(struct plan_state));
}

void
plan_set_home(struct plan *p, uint32_t op, uint32_t node)
{
	log_words(p, LOG_HOME, op, &p->home[op], 1);
	p->home[op] = node;
}

static void
set_copies(struct plan *p, uint32_t op, uint32_t holder)
{
	log_words(p, LOG_COPIES, op, &p->copies[op], 1);
	p->copies[op] = holder;
}

void
plan_log_sizes(struct plan *p)
{
	const uint32_t sizes[] = {p->npool, p->nholders, p->nfree};
	log_words(p, LOG_SIZES, 0, sizes, 3);
}

void
plan_dirty(struct plan *p, uint32_t position)
{
	p->replayed = false; /* also if the node is last and the times of the others stay valid */
	if (position < p->clean)
		p->clean = position;
}

/* --- the order, not logged --- */

/* Updates the positions of nodes low ... high - 1 of the order. */
static void
number(struct plan *p, uint32_t low, uint32_t high)
{
	for (uint32_t i = low; i < high; i++)
		p->node[p->order[i]].position = i;
	plan_dirty(p, low);
}

static void
close_gap(struct plan *p, uint32_t at)
{
	p->count--;
	memmove(&p->order[at], &p->order[at + 1], (p->count - at) * sizeof *p->order);
	number(p, at, p->count);
}

static void
open_gap(struct plan *p, uint32_t at, uint32_t node)
{
	memmove(&p->order[at + 1], &p->order[at], (p->count - at) * sizeof *p->order);
	p->order[at] = node;
	p->count++;
	number(p, at, p->count);
}

static void
shift(struct plan *p, uint32_t from, uint32_t to)
{
	const uint32_t node = p->order[from], low = from < to ? from : to,
		       high = from < to ? to : from;

	if (from < to)
		memmove(&p->order[from], &p->order[from + 1], (to - from) * sizeof *p->order);
	else
		memmove(&p->order[to + 1], &p->order[to], (from - to) * sizeof *p->order);
	p->order[to] = node;
	number(p, low, high + 1);
}

/*
 * Moves the last n nodes of low ... high to the ascending positions at[n]; the others keep their
 * order.
 */
static void
put_before(struct plan *p, uint32_t low, uint32_t high, const uint32_t *at, uint32_t n)
{
	uint32_t *late = p->late, from = high + 1 - n, k = n;

	plan_copy(late, &p->order[from], n);
	for (uint32_t i = high + 1; i-- > low && k;)
		p->order[i] = at[k - 1] == i ? late[--k] : p->order[--from];
	number(p, low, high + 1);
}

static void
put_back(struct plan *p, enum plan_log kind, uint32_t index, const uint32_t *word, uint32_t n)
{
	switch (kind) {
	case LOG_NODE:
		memcpy(&p->node[index], word, sizeof p->node[index]);
		if (p->node[index].position != PLAN_NONE)
			plan_dirty(p, p->node[index].position);
		break;
	case LOG_HOME: p->home[index] = *word; break;
	case LOG_COPIES: p->copies[index] = *word; break;
	case LOG_HOLDER: p->holder[index].next = *word; break;
	case LOG_TAKEN: open_gap(p, index, *word); break;
	case LOG_PUT: close_gap(p, index); break;
	case LOG_SHIFT: shift(p, *word, index); break;
	case LOG_BEHIND: put_before(p, index, word[0], &word[1], n - 1); break;
	case LOG_FREE: p->free[index] = *word; break;
	case LOG_SIZES:
		p->npool = word[0];
		p->nholders = word[1];
		p->nfree = word[2];
		break;
	}
}

uint32_t
plan_mark(const struct plan *p)
{
	return (uint32_t)p->log.n;
}

void
plan_undo(struct plan *p, uint32_t mark)
{
	while (p->log.n > mark) {
		const uint32_t *end = VEC_TOP(&p->log, RECORD_END);
		p->log.n -= RECORD_END + end[2];
		put_back(p, (enum plan_log)end[0], end[1], &p->log.at[p->log.n], end[2]);
	}
	if (p->clean > p->count)
		p->clean = p->count;
}

/* --- lists --- */

uint32_t
plan_pool(struct plan *p, uint32_t n)
{
	ARRAY_ROOM(p, p->pool, p->npool + n);
	p->npool += n;
	return p->npool - n;
}

/* The same for lists of copies. */
static void
tidy_holders(struct plan *p)
{
	uint32_t n = 0;

	if (p->nholders < 2 * p->base->nops + 1024)
		return;
	struct plan_holder *to = ARRAY_NEW(p, struct plan_holder, p->nholders);
	for (uint32_t op = 0; op < p->base->nops; op++) {
		uint32_t *link = &p->copies[op];
		for (uint32_t h = *link; h != PLAN_NONE; h = p->holder[h].next) {
			to[n] = (struct plan_holder){p->holder[h].node, PLAN_NONE};
			*link = n;
			link = &to[n++].next;
		}
	}
	array_free(p->holder);
	p->holder = to;
	p->nholders = n;
}

/* Once most of the pool is unused, compacts the lists in use. */
static void
plan_tidy(struct plan *p)
{
	uint32_t n = 0;

	tidy_holders(p);
	for (uint32_t i = 0; i < p->count; i++)
		n += p->node[p->order[i]].nops + p->node[p->order[i]].npreds;
	if (p->npool < 4 * n + 1024)
		return;
	uint32_t *pool = ARRAY_NEW(p, uint32_t, 2 * p->npool), at = 0;
	for (uint32_t i = 0; i < p->count; i++) {
		struct plan_state *s = &p->node[p->order[i]];
		plan_copy(&pool[at], &p->pool[s->op], s->nops);
		s->op = at;
		at += s->nops;
		plan_copy(&pool[at], &p->pool[s->pred], s->npreds);
		s->pred = at;
		at += s->npreds;
	}
	array_free(p->pool);
	p->pool = pool;
	p->npool = at;
}

void
plan_forget(struct plan *p)
{
	p->log.n = 0;
	plan_tidy(p);
}

void
plan_add_copy(struct plan *p, uint32_t op, uint32_t node)
{
	ARRAY_PUSH(p, p->holder, p->nholders, (struct plan_holder){node, p->copies[op]});
	set_copies(p, op, p->nholders - 1);
}

void
plan_drop_copy(struct plan *p, uint32_t op, uint32_t node)
{
	uint32_t at = p->copies[op], before = PLAN_NONE;

	while (p->holder[at].node != node) {
		before = at;
		at = p->holder[at].next;
	}
	if (before == PLAN_NONE) {
		set_copies(p, op, p->holder[at].next);
		return;
	}
	log_words(p, LOG_HOLDER, before, &p->holder[before].next, 1);
	p->holder[before].next = p->holder[at].next;
}

/* Searches the list of members rather than that of copies: in searches with large kernels, ops have
 * hundreds of copies, in lists scattered over memory. */
bool
plan_holds(const struct plan *p, uint32_t node, uint32_t op)
{
	if (p->home[op] == node)
		return true;
	if (p->copies[op] == PLAN_NONE)
		return false;
	const uint32_t *member = p->pool + p->node[node].op;
	uint32_t low = 0, high = p->node[node].nops;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		if ((member[middle] & PLAN_OP) < op)
			low = middle + 1;
		else
			high = middle;
	}
	return low < p->node[node].nops && (member[low] & PLAN_OP) == op;
}

/* --- the order --- */

void
plan_remove(struct plan *p, uint32_t node)
{
	uint32_t at = p->node[node].position;

	log_words(p, LOG_TAKEN, at, &node, 1);
	plan_log_sizes(p);
	plan_log_node(p, node);
	close_gap(p, at);
	p->node[node].position = PLAN_NONE;
	log_words(p, LOG_FREE, p->nfree, &p->free[p->nfree], 1);
	p->free[p->nfree++] = node;
}

void
plan_insert(struct plan *p, uint32_t node, uint32_t position)
{
	log_words(p, LOG_PUT, position, NULL, 0);
	open_gap(p, position, node);
}

/* Moves the node at position `from` to position `to`; the nodes between them move by one. */
void
plan_shift(struct plan *p, uint32_t from, uint32_t to)
{
	log_words(p, LOG_SHIFT, from, &to, 1);
	shift(p, from, to);
}

void
plan_put_behind(struct plan *p, uint32_t low, uint32_t high)
{
	uint32_t *late = p->late, *was = &p->late[p->base->room], n = 0, at = low;

	was[0] = high;
	for (uint32_t i = low; i <= high; i++) {
		const uint32_t node = p->order[i];
		if (p->stamp[node] == p->now && i != high) {
			late[n++] = node;
			was[n] = i;
		} else {
			p->order[at++] = node;
		}
	}
	plan_copy(&p->order[at], late, n);
	log_words(p, LOG_BEHIND, low, was, n + 1);
	number(p, low, high + 1);
}
