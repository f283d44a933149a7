/*
 * Finds candidates that follow from known rules: a term that matches the left side of a rule is
 * equal to the right side with the same operands; if that is known to be equal to the
 * representative, the candidate adds nothing. Operands of commutative ops may be exchanged, axes
 * are renamed, and a cut is where the operands of the instance have it.
 */
#include "passes/rules/generate/generate.h"

#include <string.h>

enum {
	COMMUTING_MOST = 8
}; /* most ops of a pattern, shared ones counted for each occurrence: 256 orders */

/* Bindings of the names of a rule; -1: none yet. */
struct meaning {
	int32_t input[GEN_MAX_INPUTS];
	int8_t axis[GEN_MAX_AXES], cut[GEN_MAX_UNITS];
	uint32_t swaps; /* a set: commutative ops, as visited, whose operands are exchanged */
	int ncommute;
};

static bool
bind(int8_t *name, int is)
{
	if (*name < 0)
		*name = (int8_t)is;
	return *name == is;
}

static bool
match(const struct gen *g, int32_t pattern, int32_t term, struct meaning *m)
{
	const struct gen_term *p = &g->term.at[pattern], *t = &g->term.at[term];

	if (p->op < 0) {
		int32_t *is = &m->input[p->arg[0]];
		if (*is < 0)
			*is = term;
		return *is == term;
	}
	if (t->op < 0)
		return false;
	const struct gen_op *op = &g->op.at[p->op], *other = &g->op.at[t->op];
	if (op->family != other->family || !bind(&m->axis[op->axis], other->axis) ||
		!bind(&m->cut[op->cut], other->cut))
		return false;
	if (p->arg[1] < 0)
		return match(g, p->arg[0], t->arg[0], m);
	const bool swap = op->row->commutes && m->swaps >> m->ncommute++ & 1;
	return match(g, p->arg[0], t->arg[swap], m) && match(g, p->arg[1], t->arg[!swap], m);
}

/* The number of commutative ops of a pattern, in the order in which match visits them. */
static int
commuting(const struct gen *g, int32_t pattern)
{
	const struct gen_term *p = &g->term.at[pattern];

	if (p->op < 0)
		return 0;
	return g->op.at[p->op].row->commutes + commuting(g, p->arg[0]) +
	       (p->arg[1] < 0 ? 0 : commuting(g, p->arg[1]));
}

/* Calls match for every order of operands, until match and `accept` succeed. */
static bool
match_any(const struct gen *g, int32_t pattern, int32_t term,
	bool (*accept)(const struct gen *g, const struct meaning *m, const void *data),
	const void *data)
{
	const int n = commuting(g, pattern);
	struct meaning m;

	for (uint32_t swaps = 0; swaps < 1u << (n < COMMUTING_MOST ? n : COMMUTING_MOST); swaps++) {
		memset(&m, -1, sizeof m);
		m.swaps = swaps;
		m.ncommute = 0;
		if (match(g, pattern, term, &m) && accept(g, &m, data))
			return true;
	}
	return false;
}

/* The op of a right side with the bindings of the instance; -1: it is not an enumerated op. */
static int32_t
op_meant(const struct gen *g, int32_t op, const struct meaning *m)
{
	const struct gen_op *o = &g->op.at[op];
	const int axis = m->axis[o->axis] < 0 ? o->axis : m->axis[o->axis],
		  cut = m->cut[o->cut] < 0 ? o->cut : m->cut[o->cut];

	for (int32_t i = op; i >= 0 && g->op.at[i].family == o->family; i--)
		if (g->op.at[i].axis == axis && g->op.at[i].cut == cut)
			return i;
	for (int32_t i = op; i < g->op.n && g->op.at[i].family == o->family; i++)
		if (g->op.at[i].axis == axis && g->op.at[i].cut == cut)
			return i;
	return -1;
}

/* The term that the right side becomes; `reduced`: with each part replaced by its representative,
 * as far as rules prove them equal. -1: a part is not an enumerated term. */
static int32_t
build(const struct gen *g, int32_t pattern, const struct meaning *m, bool reduced)
{
	const struct gen_term *p = &g->term.at[pattern];

	if (p->op < 0)
		return m->input[p->arg[0]];
	const int32_t op = op_meant(g, p->op, m), x = build(g, p->arg[0], m, reduced),
		      y = p->arg[1] < 0 ? -1 : build(g, p->arg[1], m, reduced);
	if (op < 0 || x < 0 || (p->arg[1] >= 0 && y < 0))
		return -1;
	const int32_t made = gen_term_find(g, op, x, y);
	if (made < 0 || !reduced)
		return made;
	return g->term.at[made].derived ? g->term.at[made].rep : -1;
}

/* The instance of a rule that is being looked for. */
struct instance {
	int32_t pattern, right;
	bool reduced;
};

static bool
is_right(const struct gen *g, const struct meaning *m, const void *data)
{
	const struct instance *i = data;

	return build(g, i->pattern, m, i->reduced) == i->right;
}

static bool
is_instance(
	const struct gen *g, const struct gen_rule *r, int32_t left, int32_t right, bool reduced)
{
	const struct instance i = {r->side[RULE_RIGHT], right, reduced};

	return match_any(g, r->side[RULE_LEFT], left, is_right, &i);
}

static bool
is_any(const struct gen *g, const struct meaning *m, const void *data)
{
	(void)g, (void)m, (void)data;
	return true;
}

bool
gen_matches(const struct gen *g, int32_t pattern, int32_t term)
{
	return match_any(g, pattern, term, is_any, NULL);
}

static int
family_of(const struct gen *g, int32_t term)
{
	return g->op.at[g->term.at[term].op].family;
}

const struct gen_rule *
gen_derive(const struct gen *g, int32_t term)
{
	const int family = family_of(g, term);
	const struct gen_rule *not_proven = NULL;

	for (int64_t i = 0; i < g->by_family[family].n; i++) {
		const struct gen_rule *r = &g->rule.at[g->by_family[family].at[i]];
		if ((r->text || !not_proven) &&
			is_instance(g, r, term, g->term.at[term].rep, r->text != NULL)) {
			if (r->text)
				return r;
			not_proven = r;
		}
	}
	return not_proven;
}

void
gen_drop_instances(struct gen *g)
{
	for (int64_t i = 0; i < g->rule.n; i++) {
		struct gen_rule *r = &g->rule.at[i];
		if (!r->text || r->pair >= 0)
			continue;
		const int family = family_of(g, r->side[RULE_LEFT]);
		for (int64_t k = 0; k < g->by_family[family].n && !r->dropped; k++) {
			const struct gen_rule *by = &g->rule.at[g->by_family[family].at[k]];
			r->dropped =
				by != r && by->text && !by->dropped &&
				is_instance(g, by, r->side[RULE_LEFT], r->side[RULE_RIGHT], false);
		}
	}
}
