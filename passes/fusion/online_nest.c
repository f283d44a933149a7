/*
 * The kernels of a chain. Its ends, in the order of the block, join the first kernel that
 *   - goes over the same indices, rows or columns;
 *   - no path leads from, through other ops, to what the end reads;
 *   - has only reductions that the end may read in the same pass (online_separable.c).
 * An end that joins no kernel gets a kernel of its own. A kernel computes the wide values that its
 * ends read, and the narrow ones between a reduction of its own and the wide values that read it.
 */
#include "passes/fusion/online.h"

#include "ir/base/sort.h"

#include <string.h>

static bool
nest_has(const struct online_nest *k, uint32_t op)
{
	return online_lists(&k->end, op) || online_lists(&k->between, op) ||
	       online_lists(&k->wide, op);
}

static bool
nest_leaves(const struct online_nest *k, uint32_t op)
{
	return online_lists(&k->end, op) || online_lists(&k->between, op);
}

static bool
is_new(struct online *o, uint32_t op)
{
	const bool fresh = o->seen[op] != o->now;

	o->seen[op] = o->now;
	return fresh;
}

/* Adds the wide values that an end reads, directly or through other wide values. */
static void
add_wide(struct online *o, struct online_nest *k, uint32_t end)
{
	uint32_t reader = end;

	for (int64_t next = k->wide.n;; reader = k->wide.at[next++]) {
		for (uint32_t j = 0; j < opfuse_noperands(o->u, reader); j++) {
			const uint32_t maker = opfuse_maker(o->u, reader, j);
			if (online_is_wide(o, maker) && !online_lists(&k->wide, maker))
				VEC_PUSH(o, &k->wide, maker);
		}
		if (next == k->wide.n)
			return;
	}
}

/* Is op in the `between` list of a kernel that the chain already has? */
static bool
is_between(const struct online *o, uint32_t op)
{
	for (int i = 0; i < o->nnests; i++)
		if (online_lists(&o->nest[i].between, op))
			return true;
	return false;
}

/* Does op depend on an end of the kernel through narrow values only? If so, those values are added
 * to `between`. */
static bool
add_between(struct online *o, struct online_nest *k, uint32_t op, int depth)
{
	const struct opfuse *u = o->u;
	bool any = false;

	if (op == OPFUSE_NONE || online_is_wide(o, op))
		return false;
	if (nest_leaves(k, op))
		return true;
	if (!k->end.n || op < k->end.at[0] || depth > FUSE_MAX_OPS || o->op[op].chain == o->chain ||
		!is_new(o, op))
		return false;
	if (fuse_table_role(u->table, op)->kind != FUSE_MAP || o->op[op].joined ||
		is_between(o, op))
		return false;
	for (uint32_t j = 0; j < opfuse_noperands(u, op); j++)
		any |= add_between(o, k, opfuse_maker(u, op, j), depth + 1);
	if (any)
		VEC_PUSH(o, &k->between, op);
	return any;
}

static void
add_all_between(struct online *o, struct online_nest *k)
{
	o->now++;
	for (int64_t i = 0; i < k->wide.n; i++)
		for (uint32_t j = 0; j < opfuse_noperands(o->u, k->wide.at[i]); j++)
			add_between(o, k, opfuse_maker(o->u, k->wide.at[i], j), 0);
}

/* A copy of the kernel with one more end. */
static struct online_nest
with_end(struct online *o, const struct online_nest *k, uint32_t end)
{
	struct online_nest more = {.side = k->side};

	VEC_PUSH_ALL(o, &more.end, k->end.at, k->end.n);
	VEC_PUSH_ALL(o, &more.between, k->between.at, k->between.n);
	VEC_PUSH_ALL(o, &more.wide, k->wide.at, k->wide.n);
	add_wide(o, &more, end);
	add_all_between(o, &more);
	VEC_PUSH(o, &more.end, end);
	return more;
}

/* --- paths ---------------------------------------------------------------------------------- */

struct search {
	struct online *o;
	const struct online_nest *k; /* paths through its results do not count */
	struct opfuse_list list;     /* ops reached so far */
	uint32_t last;               /* no op after this one leads back */
};

static void
push_readers(struct search *s, uint32_t op)
{
	const struct opfuse *u = s->o->u;

	for (uint32_t r = u->first[op]; r < u->first[op + 1]; r++)
		if (u->reader[r] <= s->last && !nest_leaves(s->k, u->reader[r]) &&
			is_new(s->o, u->reader[r]))
			VEC_PUSH(s->o, &s->list, u->reader[r]);
}

static void
push_all_readers(struct search *s, const uint32_t *op, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		push_readers(s, op[i]);
}

/* An op in a kernel reaches all results that the kernel writes. */
static void
push_kernels(struct search *s, uint32_t op)
{
	const struct online *o = s->o;
	const struct opfuse *u = o->u;

	for (int i = 0; i < o->nnests; i++)
		if (&o->nest[i] != s->k && nest_has(&o->nest[i], op)) {
			push_all_readers(s, o->nest[i].end.at, o->nest[i].end.n);
			push_all_readers(s, o->nest[i].between.at, o->nest[i].between.n);
		}
	for (size_t c = 0; c <= opfuse_ncopies(u, op); c++) {
		const uint32_t k = c ? opfuse_copy_at(u, op, c - 1) : u->home[op];
		if (k == OPFUSE_NONE || u->kernel[k].n == 1)
			continue;
		for (uint32_t i = 0; i < u->kernel[k].n; i++)
			if (u->home[u->kernel[k].op[i]] == k)
				push_readers(s, u->kernel[k].op[i]);
	}
}

/* The last op outside of the kernel that the kernel reads. */
static uint32_t
last_operand(const struct online *o, const struct online_nest *k)
{
	const struct opfuse_list *list[] = {&k->end, &k->between, &k->wide};
	uint32_t last = 0;

	for (int l = 0; l < 3; l++)
		for (int64_t i = 0; i < list[l]->n; i++)
			for (uint32_t j = 0; j < opfuse_noperands(o->u, list[l]->at[i]); j++) {
				const uint32_t maker = opfuse_maker(o->u, list[l]->at[i], j);
				if (maker != OPFUSE_NONE && !nest_has(k, maker) && maker > last)
					last = maker;
			}
	return last;
}

static uint32_t
first_that_leaves(const struct online_nest *k)
{
	uint32_t first = k->end.at[0];

	for (int64_t i = 0; i < k->between.n; i++)
		first = k->between.at[i] < first ? k->between.at[i] : first;
	return first;
}

static uint32_t
last_of(const struct online_nest *k)
{
	const struct opfuse_list *list[] = {&k->end, &k->between, &k->wide};
	uint32_t last = 0;

	for (int l = 0; l < 3; l++)
		for (int64_t i = 0; i < list[l]->n; i++)
			last = list[l]->at[i] > last ? list[l]->at[i] : last;
	return last;
}

/*
 * The last op from which a path may lead to one of the ops up to `last`. An op leads to later ones
 * only, except in a kernel: there it leads to all results of the kernel.
 */
static uint32_t
last_before(const struct online *o, uint32_t last)
{
	for (uint32_t was = UINT32_MAX; was != last;) {
		was = last;
		last = o->far[last];
		for (int i = 0; i < o->nnests; i++)
			if (first_that_leaves(&o->nest[i]) <= last && last_of(&o->nest[i]) > last)
				last = last_of(&o->nest[i]);
	}
	return last;
}

/* Records a kernel that stays: far[i] is the last op of the kernels that have a result at or before
 * op i. */
static void
note_far(struct online *o, const struct online_nest *k)
{
	const uint32_t last = last_of(k);

	for (uint32_t i = first_that_leaves(k); i < last; i++)
		o->far[i] = o->far[i] > last ? o->far[i] : last;
}

static bool
reads(const struct online *o, const struct online_nest *k, uint32_t op)
{
	for (uint32_t r = o->u->first[op]; r < o->u->first[op + 1]; r++)
		if (nest_has(k, o->u->reader[r]))
			return true;
	return false;
}

/* Does a path lead from the results of the kernel, through other kernels, back into it? */
static bool
has_path(struct online *o, const struct online_nest *k)
{
	struct search s = {.o = o, .k = k, .last = last_before(o, last_operand(o, k))};

	o->now++;
	push_all_readers(&s, k->end.at, k->end.n);
	push_all_readers(&s, k->between.at, k->between.n);
	for (int64_t i = 0; i < s.list.n; i++) {
		const uint32_t op = s.list.at[i];
		/* The kernel computes its own copy of a wide value; other kernels may have copies
		 * too. */
		if (i == ONLINE_MAX_PATH || (!online_lists(&k->wide, op) && reads(o, k, op)))
			return true;
		push_readers(&s, op);
		push_kernels(&s, op);
	}
	return false;
}

/* --- joining -------------------------------------------------------------------------------- */

/* Which indices has the result? A result without indices, or with batch indices only, is summed up
 * with rows. */
static enum online_side
side_of_end(const struct online *o, uint32_t end)
{
	const struct ir_type *t = o->u->op[end]->result[0].type;
	const enum online_side side = online_side_of(o, o->op[end].cls, t->rank);

	return side == ONLINE_BATCH ? ONLINE_ROWS : side;
}

/* Does an end read another end of the kernel, or a `between` op? */
static bool
reads_end(const struct online *o, const struct online_nest *k, uint32_t end)
{
	for (int64_t i = -1; i < k->wide.n; i++) {
		const uint32_t op = i < 0 ? end : k->wide.at[i];
		for (uint32_t j = 0; j < opfuse_noperands(o->u, op); j++) {
			const uint32_t maker = opfuse_maker(o->u, op, j);
			if (maker != OPFUSE_NONE && maker != end && nest_leaves(k, maker))
				return true;
		}
	}
	return false;
}

static bool
join(struct online *o, struct online_nest *k, uint32_t end)
{
	struct online_nest more = with_end(o, k, end);

	if (more.end.n + more.between.n + more.wide.n > FUSE_MAX_OPS || has_path(o, &more) ||
		!online_separable(o, &more, end))
		return false;
	more.passes_on = k->passes_on || (fuse_table_role(o->u->table, end)->kind == FUSE_STARTS &&
						 reads_end(o, &more, end));
	*k = more;
	return true;
}

bool
online_plan(struct online *o)
{
	bool any = false;

	o->nnests = 0;
	memset(o->nest, 0, sizeof o->nest);
	for (int64_t i = 0; i < o->end.n; i++) {
		const enum online_side side = side_of_end(o, o->end.at[i]);
		int at = 0;
		while (at < o->nnests &&
			(o->nest[at].side != side || !join(o, &o->nest[at], o->end.at[i])))
			at++;
		if (at < o->nnests)
			continue;
		const struct online_nest none = {.side = (uint8_t)side};
		o->nest[o->nnests++] = with_end(o, &none, o->end.at[i]);
	}
	for (int i = 0; i < o->nnests; i++)
		any |= o->nest[i].passes_on;
	return any;
}

void
online_commit(struct online *o)
{
	struct opfuse *u = o->u;

	for (int i = 0; i < o->nnests; i++) {
		const struct online_nest *k = &o->nest[i];
		const uint32_t home = k->end.at[0], place = last_operand(o, k);
		for (int64_t j = 1; j < k->end.n; j++)
			opfuse_join(u, k->end.at[j], home, home);
		for (int64_t j = 0; j < k->between.n; j++)
			opfuse_join(u, k->between.at[j], home, home);
		for (int64_t j = 0; j < k->wide.n; j++)
			opfuse_copy(u, k->wide.at[j], home);
		u->kernel[home].place = place;
		note_far(o, k);
	}
}
