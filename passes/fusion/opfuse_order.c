/*
 * Joins two kernels where no path through others leads from one to the other.
 *
 * All kernels stand in an order in which each comes after those that it reads. A path from one to
 * another stays between them, so what the first leads to and what the second depends on are
 * searched there alone, in turns, each side as far as the other has come:
 *
 *     ... a ──> readers ──>     meet: a path    <── operands <── b ...
 *
 * Where one side ends without meeting the other, they are joined: with what a leads to moved behind
 * b, or what b depends on moved before a, all are in order again (Pearce, Kelly, "A Dynamic
 * Topological Sort Algorithm for Directed Acyclic Graphs", 2006, with two sides and lists of labels
 * in place of numbers). So neither a step of a million ops nor what is far from both costs anything.
 */
#include "passes/fusion/opfuse.h"

#include "ir/base/alloc.h"

#include <stdlib.h>

/* The kernels that one side has met. */
struct side {
	struct opfuse_list list;
	int64_t next;    /* of the list, to be searched from */
	size_t steps;    /* between kernels that were looked at */
	uint32_t *stamp; /* [nops] == now: it is in the list */
};

struct opfuse_order {
	uint64_t *label;          /* [nops + 1] ascending in the order; that of its end at nops */
	uint32_t *before, *after; /* [nops + 1] in the order, a ring through its end */
	struct side ahead, behind;
	uint32_t now;
	uint64_t low, high; /* labels of the two kernels between which is searched */
};

/* ---- the order ---- */

static void
put_after(struct opfuse_order *o, uint32_t at, uint32_t k)
{
	o->before[k] = at;
	o->after[k] = o->after[at];
	o->before[o->after[k]] = k;
	o->after[at] = k;
}

static void
take_out(struct opfuse_order *o, uint32_t k)
{
	o->after[o->before[k]] = o->after[k];
	o->before[o->after[k]] = o->before[k];
}

/* Labels as far apart as there is room for. */
static void
label_all(const struct opfuse *u, struct opfuse_order *o)
{
	const uint64_t apart = UINT64_MAX / (u->nops + 2u);
	uint64_t label = 0;

	o->label[u->nops] = 0;
	for (uint32_t k = o->after[u->nops]; k != u->nops; k = o->after[k])
		o->label[k] = label += apart;
}

/* Kernel k, which is in the order nowhere, comes after `at`. */
static void
insert_after(const struct opfuse *u, struct opfuse_order *o, uint32_t at, uint32_t k)
{
	const uint32_t next = o->after[at];
	const uint64_t low = o->label[at], high = next == u->nops ? UINT64_MAX : o->label[next];

	put_after(o, at, k);
	if (high - low < 2)
		label_all(u, o);
	else
		o->label[k] = low + (high - low) / 2;
}

/* ---- the search ---- */

/* One side meets a kernel, which counts where it is between the two. Has the other one met it? */
static bool
meet(struct opfuse *u, struct side *side, const struct side *other, uint32_t kernel)
{
	const struct opfuse_order *o = u->order;
	const uint64_t label = o->label[kernel];

	side->steps++;
	if (label <= o->low || label >= o->high || side->stamp[kernel] == o->now)
		return false;
	side->stamp[kernel] = o->now;
	VEC_PUSH(u, &side->list, kernel);
	return other->stamp[kernel] == o->now;
}

/* The kernels that `reader` is in, where they do not have op themselves. */
static bool
meet_reader(struct opfuse *u, uint32_t op, uint32_t reader)
{
	struct opfuse_order *o = u->order;
	const size_t copies = opfuse_ncopies(u, reader);
	bool met = false;

	for (size_t c = 0; c <= copies && !met; c++) {
		const uint32_t in = c < copies ? opfuse_copy_at(u, reader, c) : u->home[reader];
		if (in != OPFUSE_NONE && !opfuse_has(u, in, op))
			met = meet(u, &o->ahead, &o->behind, in);
	}
	return met;
}

static bool
look_ahead(struct opfuse *u, uint32_t kernel)
{
	const struct opfuse_kernel *k = &u->kernel[kernel];

	for (uint32_t i = 0; i < k->n; i++) {
		const uint32_t op = k->op[i];
		if (u->home[op] != kernel)
			continue;
		for (uint32_t r = u->first[op]; r < u->first[op + 1]; r++)
			if (meet_reader(u, op, u->reader[r]))
				return true;
	}
	return false;
}

static bool
look_behind(struct opfuse *u, uint32_t kernel)
{
	struct opfuse_order *o = u->order;
	uint32_t n;
	const uint32_t *operand = opfuse_operands(u, kernel, &n);

	for (uint32_t i = 0; i < n; i++)
		if (meet(u, &o->behind, &o->ahead, u->home[operand[i]]))
			return true;
	return false;
}

/* Does a path through others lead from a to b, which comes after it? */
static bool
has_path(struct opfuse *u, uint32_t a, uint32_t b)
{
	struct opfuse_order *o = u->order;
	struct side *ahead = &o->ahead, *behind = &o->behind;

	o->now++;
	o->low = o->label[a];
	o->high = o->label[b];
	ahead->list.n = ahead->next = behind->list.n = behind->next = 0;
	ahead->steps = behind->steps = 0;
	if (look_ahead(u, a) || look_behind(u, b))
		return true;
	while (ahead->next < ahead->list.n && behind->next < behind->list.n) {
		const bool first = ahead->steps <= behind->steps;
		if (first ? look_ahead(u, ahead->list.at[ahead->next++])
			  : look_behind(u, behind->list.at[behind->next++]))
			return true;
	}
	return false;
}

/* ---- the first order ---- */

/* The other kernels that read from k, one after the other, some more than once. */
struct readers {
	uint32_t i, r, c; /* op of the kernel, reader of it, copy of that */
};

static uint32_t
next_reader(const struct opfuse *u, uint32_t k, struct readers *at)
{
	const struct opfuse_kernel *own = &u->kernel[k];

	for (; at->i < own->n; at->i++, at->r = 0) {
		const uint32_t op = own->op[at->i];
		if (u->home[op] != k)
			continue;
		for (; at->r < u->first[op + 1] - u->first[op]; at->r++, at->c = 0) {
			const uint32_t reader = u->reader[u->first[op] + at->r];
			const size_t copies = opfuse_ncopies(u, reader);
			while (at->c <= copies) {
				const uint32_t c = at->c++;
				const uint32_t in =
					c < copies ? opfuse_copy_at(u, reader, c) : u->home[reader];
				if (in != OPFUSE_NONE && !opfuse_has(u, in, op))
					return in;
			}
		}
	}
	return OPFUSE_NONE;
}

/* Sorts the kernels: those whose operands all stand in the order already come next. */
static void
sort_kernels(struct opfuse *u, struct opfuse_order *o)
{
	uint32_t *waits = ARRAY_ZERO(o, uint32_t, u->nops + 1u), in;
	const uint32_t end = u->nops;

	o->before[end] = o->after[end] = end;
	for (uint32_t k = 0; k < u->nops; k++)
		for (struct readers at = {0}; (in = next_reader(u, k, &at)) != OPFUSE_NONE;)
			waits[in]++;
	for (uint32_t k = 0; k < u->nops; k++)
		if (u->kernel[k].n && !waits[k])
			put_after(o, o->before[end], k);
	for (uint32_t k = o->after[end]; k != end; k = o->after[k])
		for (struct readers at = {0}; (in = next_reader(u, k, &at)) != OPFUSE_NONE;)
			if (!--waits[in])
				put_after(o, o->before[end], in);
	label_all(u, o);
	array_free(waits);
}

static struct opfuse_order *
order_of(struct opfuse *u)
{
	if (u->order)
		return u->order;
	struct opfuse_order *o = u->order = NEW(u, struct opfuse_order);
	o->label = ARRAY_ZERO(o, uint64_t, u->nops + 1u);
	o->before = ARRAY_NEW(o, uint32_t, u->nops + 1u);
	o->after = ARRAY_NEW(o, uint32_t, u->nops + 1u);
	o->ahead.stamp = ARRAY_ZERO(o, uint32_t, u->nops);
	o->behind.stamp = ARRAY_ZERO(o, uint32_t, u->nops);
	sort_kernels(u, o);
	return o;
}

/* ---- joining ---- */

static int
by_label(const void *a, const void *b, void *data)
{
	const struct opfuse_order *o = data;
	const uint64_t x = o->label[*(const uint32_t *)a], y = o->label[*(const uint32_t *)b];

	return x < y ? -1 : x > y;
}

/* The kernels of the list come after `at`, in the order that they had. */
static void
move_after(struct opfuse *u, const struct opfuse_list *list, uint32_t at)
{
	struct opfuse_order *o = u->order;

	if (list->n)
		qsort_r(list->at, (size_t)list->n, sizeof *list->at, by_label, o);
	for (int64_t i = 0; i < list->n; at = list->at[i++]) {
		take_out(o, list->at[i]);
		insert_after(u, o, at, list->at[i]);
	}
}

bool
opfuse_join_apart(struct opfuse *u, uint32_t a, uint32_t b, uint32_t place)
{
	struct opfuse_order *o = order_of(u);
	const bool in_order = o->label[a] < o->label[b];
	const uint32_t x = in_order ? a : b, y = in_order ? b : a;

	if (has_path(u, x, y))
		return false;
	const bool to_end = o->ahead.next == o->ahead.list.n;
	if (to_end)
		move_after(u, &o->ahead.list, y);
	else
		move_after(u, &o->behind.list, o->before[x]);
	/* The joined kernel is b, where y was or where x was. */
	const uint32_t at = to_end ? y : x;
	if (at != b) {
		take_out(o, b);
		insert_after(u, o, at, b);
	}
	take_out(o, a);
	opfuse_join(u, a, b, place);
	return true;
}
