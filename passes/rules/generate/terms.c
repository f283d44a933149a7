/*
 * Terms by size. The operands of a term are representatives, so that no rule is found again within
 * a context: no proper part of a term is equal to an earlier term. The size of a term is its number
 * of ops; a shared op counts once.
 */
#include "passes/rules/generate/generate.h"

#include "ir/base/mix.h"

#include <string.h>

/* --- tables -------------------------------------------------------------------------------------
 */

static uint64_t
term_hash(const struct gen_term *t)
{
	return mix_word(
		mix_word((uint64_t)(t->op + 1), (uint64_t)t->arg[0]), (uint64_t)t->arg[1] + 1);
}

MAP_SAME(same_term, struct gen_term, struct gen_term,
	list[i].op == key->op && list[i].arg[0] == key->arg[0] && list[i].arg[1] == key->arg[1])

int32_t
gen_term_add(struct gen *g, const struct gen_term *t)
{
	const uint32_t i = map_add(g, &g->term_map, term_hash(t), same_term, g->term.at, t);

	if (i == g->term.n)
		VEC_PUSH(g, &g->term, *t);
	return (int32_t)i;
}

int32_t
gen_term_find(const struct gen *g, int32_t op, int32_t x, int32_t y)
{
	const bool swap = g->op.at[op].row->commutes && x > y;
	const struct gen_term t = {.op = op, .arg = {swap ? y : x, swap ? x : y}};
	const uint32_t i = map_find(&g->term_map, term_hash(&t), same_term, g->term.at, &t);

	return i == MAP_NONE ? -1 : (int32_t)i;
}

MAP_SAME(same_class, uint64_t, uint64_t, list[i] == *key)

int32_t
gen_class_of(struct gen *g, int32_t type, int32_t term)
{
	const uint64_t hash = mix_bytes(
		(uint64_t)type, g->scratch, sizeof *g->scratch * (size_t)gen_elements(g, type));
	const uint32_t i = map_add(g, &g->class_map, hash, same_class, g->fingerprint.at, &hash);

	if (i == g->rep.n) {
		VEC_PUSH(g, &g->fingerprint, hash);
		VEC_PUSH(g, &g->rep, term);
	}
	return g->rep.at[i];
}

/* --- a term -------------------------------------------------------------------------------------
 */

/* The union of the ops of two terms; returns how many, -1: too many. */
static int
join_parts(const struct gen_term *x, const struct gen_term *y, int most, int32_t *to)
{
	int i = 0, j = 0, n = 0;

	while (i < x->size || j < y->size) {
		const int32_t a = i < x->size ? x->part[i] : INT32_MAX,
			      b = j < y->size ? y->part[j] : INT32_MAX;
		if (n == most)
			return -1;
		to[n++] = a < b ? a : b;
		i += a <= b;
		j += b <= a;
	}
	return n;
}

static void
use(struct gen *g, int32_t term, int32_t operand)
{
	VEC_PUSH(g, &g->user, (struct gen_user){term, g->term.at[operand].users});
	g->term.at[operand].users = (int32_t)g->user.n - 1;
}

static void
try_term(struct gen *g, int32_t op, int32_t x, int32_t y, int size)
{
	static const struct gen_term none = {0};
	const struct gen_op *o = &g->op.at[op];
	const int32_t id = (int32_t)g->term.n;
	struct gen_term t = {.op = op, .arg = {x, y}, .users = -1, .values = -1};

	if (o->row->commutes && x > y)
		return;
	const struct gen_term *tx = &g->term.at[x], *ty = y >= 0 ? &g->term.at[y] : &none;
	if (join_parts(tx, ty, size - 1, t.part) != size - 1)
		return;
	t.type = gen_type_of(g, o, tx->type, y >= 0 ? ty->type : -1);
	if (t.type < 0)
		return;
	t.size = size;
	t.part[size - 1] = id;
	t.inputs = tx->inputs | ty->inputs;
	if (gen_term_add(g, &t) != id)
		return;
	g->terms++;
	gen_evaluate(g, o, t.type, t.arg);
	struct gen_term *made = &g->term.at[id];
	made->rep = gen_class_of(g, t.type, id);
	if (made->rep != id) {
		gen_candidate(g, id);
		return;
	}
	made->derived = true;
	VEC_PUSH(g, &g->level[size], id);
	if (size == g->max_size)
		return; /* it is not an operand of any term */
	made->values = g->value.n;
	VEC_PUSH_ALL(g, &g->value, g->scratch, gen_elements(g, t.type));
	use(g, id, x);
	if (y >= 0 && y != x)
		use(g, id, y);
}

/* --- all of them --------------------------------------------------------------------------------
 */

static void
try_both(struct gen *g, int32_t op, int32_t x, int32_t y, int size)
{
	try_term(g, op, x, y, size);
	if (x != y)
		try_term(g, op, y, x, size);
}

/* For operands that share ops, the shared op is one of them, or an operand of the other one as
 * well. */
static void
try_shared(struct gen *g, int32_t op, int32_t x, int size)
{
	const struct gen_term t = g->term.at[x];

	for (int i = 0; i < t.size; i++) {
		try_both(g, op, x, t.part[i], size);
		for (int32_t u = g->term.at[t.part[i]].users; u >= 0; u = g->user.at[u].next)
			if (g->user.at[u].term < x)
				try_both(g, op, x, g->user.at[u].term, size);
	}
}

void
gen_enumerate(struct gen *g, int size)
{
	for (int32_t op = 0; op < g->op.n; op++) {
		if (gen_operands(&g->op.at[op]) == 1) {
			for (int64_t i = 0; i < g->level[size - 1].n; i++)
				try_term(g, op, g->level[size - 1].at[i], -1, size);
			continue;
		}
		for (int a = 0; a < size; a++)
			for (int64_t i = 0; i < g->level[a].n; i++)
				for (int64_t k = 0; k < g->level[size - 1 - a].n; k++)
					try_term(g, op, g->level[a].at[i],
						g->level[size - 1 - a].at[k], size);
		for (int a = 1; a < size; a++)
			for (int64_t i = 0; i < g->level[a].n; i++)
				try_shared(g, op, g->level[a].at[i], size);
	}
}
