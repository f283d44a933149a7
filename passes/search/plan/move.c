/* The moves of a plan: see plan.h. Each is checked before anything changes, or undone. */
#include "passes/search/plan/impl.h"

#include <assert.h>

static bool
refuse(struct plan *p)
{
	p->counts.refused++;
	return false;
}

static bool
done(struct plan *p)
{
	p->counts.moves++;
	return true;
}

static bool
exists(const struct plan *p, uint32_t node)
{
	return node < p->base->room && p->node[node].position != PLAN_NONE;
}

/* --- the order --- */

static bool
reads_stamped(const struct plan *p, const struct plan_state *s)
{
	for (uint32_t k = 0; k < s->npreds; k++)
		if (p->stamp[p->pool[s->pred + k]] == p->now)
			return true;
	return false;
}

static bool
reads_node(const struct plan *p, const struct plan_state *s, uint32_t node)
{
	for (uint32_t k = 0; k < s->npreds; k++)
		if (p->pool[s->pred + k] == node)
			return true;
	return false;
}

/*
 * Stamps `from` and the nodes between it and `to` that depend on it. False: `to` depends on one of
 * these other than `from` itself.
 */
static bool
stamp_between(struct plan *p, uint32_t from, uint32_t to)
{
	uint32_t low = p->node[from].position, high = p->node[to].position;

	p->stamp[from] = ++p->now;
	for (uint32_t i = low + 1; i < high; i++)
		if (reads_stamped(p, &p->node[p->order[i]]))
			p->stamp[p->order[i]] = p->now;
	p->stamp[from] = 0;
	bool path = reads_stamped(p, &p->node[to]);
	p->stamp[from] = p->now;
	return !path;
}

/* --- members --- */

/* Merges both lists, ascending, without PLAN_OUT; an op that is at home in either node is not a
 * copy. */
static uint32_t
unite(const struct plan *p, const struct plan_state *a, const struct plan_state *b, uint32_t *to)
{
	uint32_t i = 0, j = 0, n = 0;

	while (i < a->nops || j < b->nops) {
		uint32_t x = i < a->nops ? p->pool[a->op + i] & ~PLAN_OUT : PLAN_NONE;
		uint32_t y = j < b->nops ? p->pool[b->op + j] & ~PLAN_OUT : PLAN_NONE;
		uint32_t ox = x == PLAN_NONE ? x : x & PLAN_OP,
			 oy = y == PLAN_NONE ? y : y & PLAN_OP;
		if (ox == oy) {
			to[n++] = ox | (x & y & PLAN_COPY);
			i++;
			j++;
		} else if (ox < oy) {
			to[n++] = x;
			i++;
		} else {
			to[n++] = y;
			j++;
		}
	}
	return n;
}

/* Does an op of one node read an op of the other through a view, which a kernel would not
 * compute? */
static bool
view_between(const struct plan *p, const struct plan_state *reader, uint32_t node)
{
	for (uint32_t i = 0; i < reader->nops; i++) {
		const struct plan_op *o = &p->base->op[p->pool[reader->op + i] & PLAN_OP];
		for (uint32_t k = 0; k < o->ndeps; k++) {
			uint32_t dep = p->base->dep.at[o->first_dep + k];
			if ((dep & PLAN_THROUGH_VIEW) && p->home[dep & ~PLAN_THROUGH_VIEW] == node)
				return true;
		}
	}
	return false;
}

/* Keeps those members that node b has, and the members that they read, directly or not. */
static uint32_t
keep_needed(struct plan *p, uint32_t b, uint32_t *member, uint32_t n)
{
	bool *needed = p->flag; /* by op: needed by a kept member */
	uint32_t kept = 0;

	for (uint32_t i = 0; i < n; i++)
		needed[member[i] & PLAN_OP] = plan_holds(p, b, member[i] & PLAN_OP);
	for (uint32_t i = n; i-- > 0;) {
		const struct plan_op *o = &p->base->op[member[i] & PLAN_OP];
		for (uint32_t k = 0; needed[member[i] & PLAN_OP] && k < o->ndeps; k++)
			needed[p->base->dep.at[o->first_dep + k] & ~PLAN_THROUGH_VIEW] = true;
	}
	for (uint32_t i = 0; i < n; i++)
		if (needed[member[i] & PLAN_OP])
			member[kept++] = member[i];
	return kept;
}

/* Writes the ops of a kernel fused of both to op[]; returns how many, 0: not possible. */
static uint32_t
fused_ops(
	struct plan *p, uint32_t a, uint32_t b, enum plan_fuse how, uint32_t *member, uint32_t *op)
{
	const struct plan_state *x = &p->node[a], *y = &p->node[b];
	uint32_t first_x = p->pool[x->op] & PLAN_OP, first_y = p->pool[y->op] & PLAN_OP;

	if (a == b || x->message || y->message ||
		p->base->op[first_x].over != p->base->op[first_y].over || view_between(p, x, b) ||
		view_between(p, y, a))
		return 0;
	uint32_t n = unite(p, x, y, member);
	if (how == PLAN_FUSE_COPY)
		n = keep_needed(p, b, member, n);
	for (uint32_t i = 0; i < n; i++)
		op[i] = member[i] & PLAN_OP;
	return fuse_check(p->base->fuse, op, n, false) == FUSE_POSSIBLE ? n : 0;
}

static void
find_preds_again(struct plan *p, uint32_t node, uint32_t except)
{
	if (node != PLAN_NONE && node != except)
		plan_find_preds(p, node);
}

/* Updates the readers of these ops, which now read them from another node. */
static void
tell_readers(struct plan *p, const uint32_t *member, uint32_t n, uint32_t except)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct plan_op *o = &p->base->op[member[i] & PLAN_OP];
		for (uint32_t k = 0; !(member[i] & PLAN_COPY) && k < o->nreaders; k++) {
			uint32_t reader = p->base->reader[o->first_reader + k];
			find_preds_again(p, p->home[reader], except);
			for (uint32_t h = p->copies[reader]; h != PLAN_NONE; h = p->holder[h].next)
				find_preds_again(p, p->holder[h].node, except);
		}
	}
}

/* The homes of ops that the node has copies of may have lost their last reader. */
static void
settle_homes(struct plan *p, const uint32_t *member, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t home = p->home[member[i] & PLAN_OP];
		if ((member[i] & PLAN_COPY) && home != PLAN_NONE)
			plan_settle(p, home);
	}
}

/* Moves the homes of ops, and the copies, in `from` to `to`. */
static void
take_over(struct plan *p, uint32_t from, uint32_t to)
{
	const struct plan_state *s = &p->node[from];

	for (uint32_t i = 0; i < s->nops; i++) {
		uint32_t op = p->pool[s->op + i] & PLAN_OP;
		bool has_copy = p->home[op] != to && plan_holds(p, to, op);
		if (!(p->pool[s->op + i] & PLAN_COPY)) {
			if (has_copy)
				plan_drop_copy(p, op, to);
			plan_set_home(p, op, to);
			continue;
		}
		plan_drop_copy(p, op, from);
		if (!has_copy && p->home[op] != to)
			plan_add_copy(p, op, to);
	}
}

/*
 * Merges node a into b, whose members are then member[n], and which gets the position of the later
 * of the two. False: a path leads from one through others to the other.
 */
static bool
merge(struct plan *p, uint32_t a, uint32_t b, const uint32_t *member, uint32_t n)
{
	bool a_first = p->node[a].position < p->node[b].position;
	uint32_t low = a_first ? a : b, high = a_first ? b : a, *moved = p->moved;

	if (!stamp_between(p, low, high))
		return false;
	uint32_t nmoved = p->node[a].nops;
	plan_copy(moved, &p->pool[p->node[a].op], nmoved);
	plan_put_behind(p, p->node[low].position, p->node[high].position);
	take_over(p, a, b);
	plan_remove(p, a);
	plan_set_members(p, b, member, n);
	plan_settle(p, b);
	tell_readers(p, moved, nmoved, b);
	return true;
}

/* --- kernels --- */

static bool
fuse_copy(struct plan *p, uint32_t a, uint32_t b, uint32_t *member, uint32_t n)
{
	if (!reads_node(p, &p->node[b], a))
		return false;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t op = member[i] & PLAN_OP;
		if (plan_holds(p, b, op)) {
			member[i] = op | (p->home[op] == b ? 0 : PLAN_COPY);
			continue;
		}
		member[i] = op | PLAN_COPY;
		plan_add_copy(p, op, b);
	}
	plan_set_members(p, b, member, n);
	plan_settle(p, b);
	settle_homes(p, member, n);
	return true;
}

bool
plan_fuse(struct plan *p, uint32_t a, uint32_t b, enum plan_fuse how)
{
	uint32_t *member = p->member;

	assert(exists(p, a) && exists(p, b));
	uint32_t n = fused_ops(p, a, b, how, member, p->scratch);
	if (!n)
		return refuse(p);
	if (how == PLAN_FUSE_COPY)
		return fuse_copy(p, a, b, member, n) ? done(p) : refuse(p);
	if (!merge(p, a, b, member, n))
		return refuse(p);
	settle_homes(p, member, n);
	return done(p);
}

replay_time
plan_fused_time(struct plan *p, uint32_t a, uint32_t b)
{
	uint32_t *op = p->scratch, n = fused_ops(p, a, b, PLAN_FUSE, p->member, op);

	if (!n)
		return -1;
	for (uint32_t i = 0; i < n; i++)
		p->flag[i] = !(p->member[i] & PLAN_COPY) && plan_read_outside(p, op[i], a, b);
	return replay_from_seconds(estimator_seconds(p->estimator, op, n, p->flag));
}

/* --- splitting --- */

/* The members of a node that are (or, without `among`, are not) in op[n], which is ascending. */
static uint32_t
pick(const struct plan *p, uint32_t node, const uint32_t *op, uint32_t n, bool among, uint32_t *to)
{
	const struct plan_state *s = &p->node[node];
	uint32_t k = 0, found = 0;

	for (uint32_t i = 0; i < s->nops; i++) {
		uint32_t member = p->pool[s->op + i] & ~PLAN_OUT;
		while (k < n && op[k] < (member & PLAN_OP))
			k++;
		if ((k < n && op[k] == (member & PLAN_OP)) == among)
			to[found++] = member;
	}
	return found;
}

static bool
reads_any(const struct plan *p, const uint32_t *reader, uint32_t n, const uint32_t *op, uint32_t m)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct plan_op *o = &p->base->op[reader[i] & PLAN_OP];
		for (uint32_t k = 0; k < o->ndeps; k++)
			for (uint32_t j = 0; j < m; j++)
				if ((p->base->dep.at[o->first_dep + k] & ~PLAN_THROUGH_VIEW) ==
					(op[j] & PLAN_OP))
					return true;
	}
	return false;
}

/* Does the node follow all nodes that it reads? */
static bool
stands_right(const struct plan *p, uint32_t node)
{
	const struct plan_state *s = &p->node[node];

	for (uint32_t k = 0; k < s->npreds; k++)
		if (p->node[p->pool[s->pred + k]].position >= s->position)
			return false;
	return true;
}

static uint32_t
new_node(struct plan *p, uint32_t like, uint32_t position)
{
	plan_log_sizes(p);
	uint32_t node = p->free[--p->nfree];
	plan_log_node(p, node);
	p->node[node] = (struct plan_state){.position = position,
		.parts = p->node[like].parts,
		.message = p->node[like].message};
	plan_insert(p, node, position);
	return node;
}

/* Copies that a new node would have are dropped and read from their homes, and moved to the end of
 * the list; copies without a home become homes. Returns how many members are at home in the
 * node. */
static uint32_t
take_home(struct plan *p, uint32_t *member, uint32_t n, uint32_t from, uint32_t to)
{
	uint32_t kept = 0, ndropped = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t op = member[i] & PLAN_OP;
		if (member[i] & PLAN_COPY)
			plan_drop_copy(p, op, from);
		if ((member[i] & PLAN_COPY) && p->home[op] != PLAN_NONE) {
			p->scratch[ndropped++] = member[i];
			continue;
		}
		plan_set_home(p, op, to);
		member[kept++] = op;
	}
	plan_copy(member + kept, p->scratch, ndropped);
	return kept;
}

/* If ops that move away read copies that stay, and no node is their home, this node becomes their
 * home. */
static void
promote(struct plan *p, const uint32_t *away, uint32_t n, uint32_t node, uint32_t *rest, uint32_t m)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct plan_op *o = &p->base->op[away[i] & PLAN_OP];
		for (uint32_t k = 0; k < o->ndeps; k++) {
			uint32_t dep = p->base->dep.at[o->first_dep + k] & ~PLAN_THROUGH_VIEW;
			for (uint32_t j = 0; p->home[dep] == PLAN_NONE && j < m; j++)
				if ((rest[j] & PLAN_OP) == dep) {
					plan_drop_copy(p, dep, node);
					plan_set_home(p, dep, node);
					rest[j] = dep;
				}
		}
	}
}

static uint32_t
take_out(struct plan *p, uint32_t node, uint32_t *away, uint32_t naway, uint32_t *rest,
	uint32_t nrest)
{
	uint32_t mark = plan_mark(p);
	bool first = reads_any(p, rest, nrest, away, naway);

	/* No number is free if every op has its own node. */
	if (!p->nfree || (first && reads_any(p, away, naway, rest, nrest)))
		return PLAN_NONE;
	bool before = first || p->node[node].message;
	uint32_t to = new_node(p, node, p->node[node].position + !before);
	uint32_t nhome = take_home(p, away, naway, node, to), ndropped = naway - nhome;
	naway = nhome;
	promote(p, away, naway, node, rest, nrest);
	plan_set_members(p, node, rest, nrest);
	if (!naway) {
		plan_undo(p, mark);
		return PLAN_NONE;
	}
	plan_set_members(p, to, away, naway);
	plan_settle(p, to);
	if (exists(p, node))
		plan_settle(p, node);
	settle_homes(p, away + naway, ndropped);
	/* Ops that moved away now read copies that stay from their homes, which have to write
	 * them. */
	settle_homes(p, rest, nrest);
	if (!exists(p, node) || !exists(p, to) || !stands_right(p, node) || !stands_right(p, to)) {
		plan_undo(p, mark);
		return PLAN_NONE;
	}
	tell_readers(p, away, naway, node);
	return to;
}

static uint32_t
split_off(struct plan *p, uint32_t node, const uint32_t *op, uint32_t n)
{
	uint32_t *away = p->member, *rest = p->moved;
	uint32_t naway = pick(p, node, op, n, true, away),
		 nrest = pick(p, node, op, n, false, rest);
	uint32_t to = PLAN_NONE;

	if (naway == n && nrest > 0)
		to = take_out(p, node, away, naway, rest, nrest);
	if (to == PLAN_NONE)
		refuse(p);
	else
		done(p);
	return to;
}

uint32_t
plan_unfuse(struct plan *p, uint32_t node, const uint32_t *op, uint32_t n)
{
	assert(exists(p, node) && !p->node[node].message);
	return split_off(p, node, op, n);
}

/* --- messages --- */

bool
plan_packs(const struct plan *p, uint32_t a, uint32_t b)
{
	const struct plan_state *x = &p->node[a], *y = &p->node[b];
	const struct plan_op *first = &p->base->op[p->pool[x->op] & PLAN_OP];

	return a != b && x->message && y->message && op_is(first->op, TRAIT_VARIADIC) &&
	       first->like == p->base->op[p->pool[y->op] & PLAN_OP].like;
}

static uint32_t
count_tensors(const struct plan *p, const struct plan_state *s)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->nops; i++)
		n += p->base->op[p->pool[s->op + i] & PLAN_OP].op->noperands;
	return n;
}

bool
plan_pack(struct plan *p, uint32_t a, uint32_t b)
{
	assert(exists(p, a) && exists(p, b));
	/* Two messages may depend on each other through a barrier only. */
	if (!plan_packs(p, a, b) || reads_node(p, &p->node[a], b) ||
		reads_node(p, &p->node[b], a) ||
		count_tensors(p, &p->node[a]) + count_tensors(p, &p->node[b]) > IR_MAX_LIST)
		return refuse(p);
	uint32_t n = unite(p, &p->node[a], &p->node[b], p->member);
	return merge(p, a, b, p->member, n) ? done(p) : refuse(p);
}

uint32_t
plan_unpack(struct plan *p, uint32_t node, const uint32_t *op, uint32_t n)
{
	assert(exists(p, node) && p->node[node].message);
	return split_off(p, node, op, n);
}

replay_time
plan_packed_time(struct plan *p, uint32_t a, uint32_t b, uint32_t parts)
{
	const struct plan_state *x = &p->node[a], *y = &p->node[b];

	return plan_time_of_message(p, p->base->op[p->pool[x->op] & PLAN_OP].like,
		x->bytes + y->bytes, x->nops + y->nops, parts);
}

replay_time
plan_message_time(struct plan *p, uint32_t node, uint32_t parts)
{
	const struct plan_state *s = &p->node[node];

	return plan_time_of_message(
		p, p->base->op[p->pool[s->op] & PLAN_OP].like, s->bytes, s->nops, parts);
}

/* Does the collective have an attribute `parts` (see its row in ir/ops/ops.def)? */
static bool
goes_in_parts(const struct ir_op *op)
{
	return op->code == OP_allreduce || op->code == OP_allgather || op->code == OP_reducescatter;
}

bool
plan_part(struct plan *p, uint32_t node, uint32_t parts)
{
	assert(exists(p, node));
	const struct ir_op *op = p->base->op[p->pool[p->node[node].op] & PLAN_OP].op;
	if (!p->node[node].message || parts < 1 || !goes_in_parts(op))
		return refuse(p);
	plan_log_node(p, node);
	p->node[node].parts = parts;
	plan_settle(p, node);
	return done(p);
}

/* --- place --- */

bool
plan_move(struct plan *p, uint32_t node, uint32_t position)
{
	uint32_t from = p->node[node].position;

	assert(exists(p, node));
	if (position >= p->count)
		return refuse(p);
	for (uint32_t i = from + 1; i <= position; i++)
		if (reads_node(p, &p->node[p->order[i]], node))
			return refuse(p);
	const struct plan_state *s = &p->node[node];
	for (uint32_t k = 0; k < s->npreds; k++)
		if (p->node[p->pool[s->pred + k]].position >= position)
			return refuse(p);
	plan_shift(p, from, position);
	return done(p);
}
