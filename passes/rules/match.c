/*
 * Matching: the left side of a rule is walked from its roots to its parameters, together with the
 * ops of the step. Pairs still to be compared form a list of goals. For commutative ops both orders
 * of operands are tried, and further roots are looked for among the uses of values that are bound
 * already. So an existing match is always found, except beyond the limit RULE_MAX_USES.
 */
#include "passes/rules/matcher.h"

#include <string.h>

enum { PARAM_OPS = 1000 }; /* most ops visited to see whether a value depends on params alone */

/* The lengths of all stacks, to undo a try. */
struct mark {
	int ngoals, nbound, nlater, nnames, nitems, ndots;
};

static struct mark
mark(const struct matcher *x)
{
	const struct rule_match *m = x->match;

	return (struct mark){x->ngoals, x->nbound, x->nlater, m->nnames, m->nitems, m->ndots};
}

static void
rewind_to(struct matcher *x, struct mark to)
{
	struct rule_match *m = x->match;

	while (x->nbound > to.nbound)
		m->value[x->bound[--x->nbound]] = NULL;
	x->ngoals = to.ngoals;
	x->nlater = to.nlater;
	m->nnames = to.nnames;
	m->nitems = to.nitems;
	m->ndots = to.ndots;
}

static struct ir_value **
binding(struct matcher *x, const struct ir_value *want)
{
	return &x->match->value[rule_value_number(x->match->pattern, want)];
}

static void
bind(struct matcher *x, const struct ir_value *want, struct ir_value *have)
{
	*binding(x, want) = have;
	x->bound[x->nbound++] = (uint8_t)rule_value_number(x->match->pattern, want);
}

static void
push_goal(struct matcher *x, const struct ir_value *want, struct ir_value *have)
{
	x->goal[x->ngoals].want = want;
	x->goal[x->ngoals++].have = have;
}

/* Is the value computed from params and constants alone? *left: how many ops may still be
 * visited. */
static bool
of_params(const struct ir_value *v, int *left)
{
	if (!v->op || --*left < 0)
		return false;
	if (v->op->code == OP_param)
		return true;
	if (!op_is(v->op, TRAIT_PURE) || op_is(v->op, TRAIT_KEYED))
		return false;
	for (int i = 0; i < v->op->noperands; i++)
		if (!of_params(ir_operand(v->op, i), left))
			return false;
	return true;
}

static bool
match_param(struct matcher *x, const struct ir_value *want, struct ir_value *have)
{
	const struct ir_type_text *t = x->match->pattern->rule->param[want->index];
	int left = PARAM_OPS;

	bind(x, want, have);
	return matcher_type(x, t, have->type) && (!t->param || of_params(have, &left));
}

/* Does concat `have` join more values than `want`? Then the last operand of `want`, a parameter,
 * stands for the rest of them. */
static bool
has_rest(const struct ir_op *want, const struct ir_op *have)
{
	return want->code == OP_concat && have->noperands > want->noperands &&
	       !ir_operand(want, want->noperands - 1)->op;
}

/* Operands of a concat from number `first` on, as one value: see RULE_REST. */
static struct ir_value *
rest_of(const struct ir_module *m, struct ir_op *concat, int first)
{
	struct ir_value *rest = ARENA_NEW(m->arena, struct ir_value);
	struct ir_type t = *ir_operand_type(concat, first);
	const struct ir_attr *attr = ir_attr_find(concat, "dim");
	const int64_t at = attr ? attr->i : 0, dim = at < 0 ? at + t.rank : at;

	for (int i = first + 1; i < concat->noperands; i++)
		t.dim[dim] += ir_operand_type(concat, i)->dim[dim];
	*rest = (struct ir_value){.type = ir_type_intern(m->ctx, &t),
		.op = concat,
		.index = (uint32_t)first,
		.id = RULE_REST};
	return rest;
}

/* Operand i in the rule's numbering. */
static struct ir_value *
operand_of(const struct matcher *x, const struct ir_op *want, struct ir_op *have, int i)
{
	return i + 1 == want->noperands && has_rest(want, have) ? rest_of(x->m, have, i)
								: ir_operand(have, i);
}

/* Matches the op itself: its operands become goals. */
static bool
match_op(struct matcher *x, const struct ir_op *want, struct ir_op *have)
{
	const struct ir_type_text *t = want->written;

	if (have->code != want->code ||
		(have->noperands != want->noperands && !has_rest(want, have)) ||
		have->nresults != want->nresults || have->block != x->match->at->block)
		return false;
	for (int i = 0; i < want->nresults; i++) {
		bind(x, &want->result[i], &have->result[i]);
		if (t && !matcher_type(x, t, have->result[i].type))
			return false;
		t = t ? t->next : NULL;
	}
	return matcher_attrs(x, want, have);
}

static bool next_root(struct matcher *x);

/* Solves the goals from number `at` on. */
static bool
solve(struct matcher *x, int at)
{
	if (at == x->ngoals)
		return next_root(x);
	const struct ir_value *want = x->goal[at].want;
	struct ir_value *have = x->goal[at].have, *known = *binding(x, want);
	if (known)
		return known == have && solve(x, at + 1);
	if (!want->op)
		return match_param(x, want, have) && solve(x, at + 1);
	if (!have->op || have->index != want->index || !match_op(x, want->op, have->op))
		return false;
	const int n = want->op->noperands,
		  orders = n == 2 && op_is(want->op, TRAIT_COMMUTES) ? 2 : 1;
	for (int order = 0; order < orders; order++) {
		const struct mark before = mark(x);
		for (int i = 0; i < n; i++)
			push_goal(x, ir_operand(want->op, i),
				operand_of(x, want->op, have->op, order ? 1 - i : i));
		if (solve(x, at + 1))
			return true;
		rewind_to(x, before);
	}
	return false;
}

/* All values are bound. Rejects roots that are the same value, which would be replaced twice. */
static bool
finish(struct matcher *x)
{
	const struct ir_op *ret = ir_rule_return(x->match->pattern->rule, RULE_LEFT);
	const struct mark before = mark(x);

	for (int i = 0; i < ret->noperands; i++)
		for (int j = 0; j < i; j++)
			if (*binding(x, ir_operand(ret, i)) == *binding(x, ir_operand(ret, j)))
				return false;
	if (matcher_finish_sizes(x))
		return true;
	rewind_to(x, before);
	return false;
}

/* An unbound op of the left side that reads a bound value. */
static const struct ir_op *
open_op(struct matcher *x, int *operand)
{
	IR_FOR_OPS (op, &x->match->pattern->rule->side[RULE_LEFT]->body) {
		if (!op->nresults || *binding(x, &op->result[0]))
			continue;
		for (int i = 0; i < op->noperands; i++)
			if (*binding(x, ir_operand(op, i))) {
				*operand = i;
				return op;
			}
	}
	return NULL;
}

static bool
next_root(struct matcher *x)
{
	int operand, looked = 0;
	const struct ir_op *want = open_op(x, &operand);

	if (!want)
		return finish(x);
	const struct ir_value *shared = *binding(x, ir_operand(want, operand));
	IR_FOR_USES (u, shared) {
		const struct mark before = mark(x);
		if (++looked > RULE_MAX_USES)
			return false;
		if (u->op->code != want->code)
			continue;
		push_goal(x, &want->result[0], &u->op->result[0]);
		if (solve(x, x->ngoals - 1))
			return true;
		rewind_to(x, before);
	}
	return false;
}

bool
matcher_run(struct matcher *x, struct ir_module *m, const struct rule_pattern *p,
	struct ir_op *root, struct rule_match *match)
{
	const struct ir_value *want = ir_operand(ir_rule_return(p->rule, RULE_LEFT), 0);

	if (want->index >= root->nresults)
		return false;
	x->m = m;
	x->match = match;
	x->ngoals = x->nbound = x->nlater = 0;
	match->pattern = p;
	match->at = root;
	match->nnames = match->nitems = 0;
	match->ndots = -1;
	if (p->pointwise) {
		const struct ir_type *t = root->result[0].type;
		match->ndots = t->rank;
		memcpy(match->dots, t->dim, sizeof match->dots);
	}
	memset(match->value, 0, p->nvalues * sizeof *match->value);
	push_goal(x, want, &root->result[want->index]);
	return solve(x, 0);
}
