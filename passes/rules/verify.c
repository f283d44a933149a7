/* Decides rules: an undecided condition splits a case of the sizes, until every case is decided. */
#include "passes/rules/verify.h"

#include "ir/base/alloc.h"
#include "ir/base/intern.h"
#include "ir/ops/row.h"
#include "passes/rules/decision.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>

enum {
	CASES_MOST = 2000,   /* limit on the cases of a rule: the hardest published rule has 31 */
	REFUTE_TRIES = 2000, /* draws for a counterexample, and */
	REFUTE_RUNS = 400,   /* how many of them are run: a tenth of a second */
	UNTYPED_TRIES =
		50, /* where a proof says that the left side has no type for letters of any types */
	EQUATION_TRIES = 50, /* to find that sizes must be equal: the first draws mostly show it */
	EQUATION_RUNS = 2,
	EQUATION_CASES = 20, /* for the same */
};

struct rule_prover {
	struct decision d;
	struct rule_samples samples; /* of the rule as it is written */
};

/* --- one case --- */

static void
note(struct decision *d, const struct rule_case *c, bool holds, bool typed)
{
	struct outcome o = {.holds = holds, .typed = typed, .ntrail = c->ntrail};

	if (!holds)
		decision_sample(d, c);
	memcpy(o.trail, c->trail, sizeof o.trail);
	VEC_PUSH(NULL, &d->outcome, o);
}

/* Do the current results have the same type in this case? 1 yes, 0 no, -1 undecided. */
static int
compare_types(struct rule_case *c, const struct sym_value *x, const struct sym_value *y)
{
	if (!sym_same_moved(x->moved, y->moved))
		return case_stop(c, STOP_UNKNOWN, "a shape that is not known"), -1;
	if (x->rank != y->rank || x->type.letter != y->type.letter ||
		(!x->type.letter && x->type.dtype != y->type.dtype) || x->grouped != y->grouped)
		return 0;
	for (int k = 0; k < x->rank; k++) {
		const int same = case_equal(c, x->dim[k], y->dim[k]);
		if (same != 1)
			return same;
	}
	return 1;
}

/* An application that `is` accepts by its words, anywhere in x; 0: there is none. */
static term_id
find_apply(const struct terms *t, term_id x, bool (*is)(const struct terms *, const int64_t *))
{
	const struct node *node = &t->node.at[x];
	const int64_t *w = term_words(t, x);
	term_id found = 0;

	if (node->kind == NODE_APPLY && is(t, w))
		return x;
	if (node->kind == NODE_POLYNOMIAL)
		for (int i = 0; i < node->n && !found; i += 3)
			found = find_apply(t, (term_id)w[i], is);
	if (node->kind == NODE_MONOMIAL)
		for (int i = 1 + 2 * (int)w[0]; i < node->n && !found; i++)
			found = find_apply(t, (term_id)w[i], is);
	if (node->kind == NODE_APPLY && w[0] != APPLY_OPAQUE)
		for (int i = 1; i < node->n && !found; i++)
			found = find_apply(t, (term_id)w[i], is);
	return found;
}

/* Does it say whether a position computed from an element is in range? */
static bool
is_fact(const struct terms *t, const int64_t *w)
{
	(void)t;
	return w[0] == APPLY_IN_RANGE;
}

static bool
divides_by_zero(const struct terms *t, const int64_t *w)
{
	return (w[0] == APPLY_RECIPROCAL && poly_is_integer(t, (term_id)w[1], 0)) ||
	       ((w[0] == FN_div || w[0] == FN_rem) && poly_is_integer(t, (term_id)w[2], 0));
}

/* The types of both sides, which only a split of sizes changes: 1; 0: the case is decided; -1:
 * c->stop is set. */
static int
type_case(struct decision *d, struct rule_case *c)
{
	if (c->is_typed)
		return 1;
	for (int i = 0; i < d->rule->nwhere; i++) {
		const int holds = case_condition(c, &d->rule->where[i]);
		if (holds < 0 ? !case_put_off(c, 0) : holds != 1)
			return holds;
	}
	const bool typed = case_types(c, RULE_LEFT);
	if (c->is_put_off && (typed || (c->stop == STOP_CUT && c->cut.kind != CUT_SIGN))) {
		c->cut = c->put_off;
		c->stop = STOP_CUT;
		return -1;
	}
	if (!typed)
		return -1;
	if (!case_types(c, RULE_RIGHT)) {
		if (c->stop != STOP_ILL) /* of such a rank, the rule is applied nowhere */
			return -1;
		c->stop = STOP_NONE;
		d->why = c->why;
		note(d, c, false, false);
		return 0;
	}
	c->is_typed = true;
	return 1;
}

static const struct sym_value *
result_of(const struct decision *d, struct rule_case *c, int side, int r)
{
	case_side(c, side);
	return case_value(c, d->same[side].at[r]);
}

/* Decides result `r` of the rule in a case; -1: c->stop is set. */
static int
decide_case(struct decision *d, struct rule_case *c, int r)
{
	struct terms *t = &d->t;
	term_id at[IR_MAX_RANK], p[2];
	const int typed = type_case(d, c);

	if (typed != 1)
		return typed;
	const struct sym_value *left = result_of(d, c, RULE_LEFT, r),
			       *right = result_of(d, c, RULE_RIGHT, r);
	const int same = compare_types(c, left, right);
	if (same < 0)
		return -1;
	if (!same) {
		d->why = "the right side has another type";
		note(d, c, false, false);
		return 0;
	}
	for (int k = 0; k < left->rank; k++) {
		int64_t n;
		const term_id size = case_affine(c, left->dim[k]);
		const int32_t v = d->index[k];
		if (!size)
			return -1;
		if (!c->high[v])
			c->high[v] = size;
		const bool constant = linear_is_constant(t, size, &n);
		at[k] = constant && n == 1 ? linear_constant(t, 0)
					   : case_affine(c, linear_var(t, v));
		if (!c->by[v] && constant && n > 1 && case_expands(c, n)) {
			c->cut = (struct cut){CUT_EACH, 0, v, n, 0};
			return case_stop(c, STOP_CUT, NULL);
		}
	}
	for (int side = RULE_RIGHT; side >= RULE_LEFT; side--) {
		const struct sym_value *value = result_of(d, c, side, r);
		p[side] = poly_canonical(t, case_element(c, value, at));
		if (!p[side] && side == RULE_RIGHT && c->stop == STOP_ILL) {
			c->stop = STOP_NONE;
			d->why = c->why;
			note(d, c, false, false);
			return 0;
		}
		if (!p[side])
			return c->stop == STOP_NONE ? case_stop(c, STOP_UNKNOWN, t->failed) : -1;
	}
	if (p[0] == p[1]) {
		note(d, c, true, true);
		return 1;
	}
	if (c->nmet && !c->nforced) { /* again, with all sums split in the same way */
		memcpy(c->forced, c->met, sizeof c->forced);
		c->nforced = c->nmet;
		return 2;
	}
	for (int k = 0; k < 2; k++) {
		const term_id open = find_apply(t, p[k], is_fact);
		if (open && !d->t.bitwise) {
			c->cut = (struct cut){CUT_TRUTH, open, 0, 0, 0};
			return case_stop(c, STOP_CUT, NULL);
		}
	}
	if (!d->form[0])
		memcpy(d->form, p, sizeof p);
	d->why = "the two sides have different normal forms, and no counterexample was found";
	note(d, c, false, true);
	return 0;
}

/* Solves e >= 0, or e = 0 if `zero`, for a variable that occurs in e once and may have that
 * value. */
static bool
solve(struct decision *d, struct rule_case *c, term_id e, bool zero)
{
	struct terms *t = &d->t;

	for (int i = 0; i < linear_nvars(t, e); i++) {
		int64_t k;
		const int32_t v = linear_var_at(t, e, i, &k);
		const struct var var = t->var.at[v];
		if ((k != 1 && !(zero && k == -1)) ||
			(var.kind != VAR_INTEGER && var.kind != VAR_SIZE && var.kind != VAR_REAL) ||
			(var.kind != VAR_REAL && case_is_real(c, e)))
			continue;
		const term_id rest = linear_scale(t, linear_add(t, e, linear_var(t, v), -k), -k);
		if (term_uses(t, rest, v) ||
			(var.kind == VAR_SIZE &&
				!case_is_at_least(c, rest, 0))) /* 0 suffices: types require 1 */
			continue;
		const int32_t more =
			zero ? 0
			     : decision_fresh(
				       d, var.kind == VAR_REAL ? VAR_NOT_NEGATIVE : VAR_SIZE, 0, 0);
		if (more < 0)
			return false;
		decision_put(d, c, v, zero ? rest : linear_add(t, rest, linear_var(t, more), 1));
		return true;
	}
	return false;
}

/* Solves the conditions of the rule that can be solved, so that they need no cases. */
static void
assume_conditions(struct decision *d, struct rule_case *c)
{
	struct terms *t = &d->t;

	for (int round = 0; round < 2; round++)
		for (int i = 0; i < d->rule->nwhere; i++) {
			const struct ir_rule_condition *w = &d->rule->where[i];
			const bool less = w->compare == RULE_LT || w->compare == RULE_LE;
			struct rule_case probe = *c;
			probe.arena = d->scratch;
			const term_id x = case_size(&probe, w->arg[less]),
				      y = x ? case_size(&probe, w->arg[!less]) : 0,
				      one = linear_constant(t,
					      y && !case_is_real(&probe, linear_add(t, x, y, -1)));
			if (!y || w->compare == RULE_NE)
				continue;
			term_id e = linear_add(t, x, y, -1);
			if (w->compare == RULE_LT || w->compare == RULE_GT)
				e = linear_add(t, e, one, -1);
			if (w->compare == RULE_EQ ? case_equal(&probe, x, y) != 1
						  : case_at_least(&probe, e) != 1)
				solve(d, c, e, w->compare == RULE_EQ);
		}
}

/* An index with a range of 1 is 0. */
static void
settle(struct rule_case *c)
{
	term_id by[CASE_VARS] = {0};
	int64_t n;
	bool any = false;

	for (int32_t v = 0; v < c->t->var.n && v < CASE_VARS; v++) {
		if (c->by[v] || !c->high[v] || c->t->var.at[v].kind != VAR_INDEX ||
			!linear_is_constant(c->t, c->high[v], &n) || n != 1)
			continue;
		by[v] = c->by[v] = linear_constant(c->t, 0);
		any = true;
	}
	for (int32_t v = 0; any && v < c->t->var.n && v < CASE_VARS; v++)
		c->by[v] = c->by[v] ? linear_replace(c->t, c->by[v], by, CASE_VARS) : 0;
}

/* Does a split by this question leave all sizes as they are? */
static bool
cut_keeps_types(const struct terms *t, const struct cut *cut)
{
	switch (cut->kind) {
	case CUT_AT:
	case CUT_EACH:
	case CUT_TRUTH: return true;
	case CUT_RADIX: return t->var.at[cut->v].kind == VAR_INDEX;
	default: return false;
	}
}

/* A case of the same sizes as another one: the types of its values are known. */
static void
inherit_types(struct rule_case *to, const struct rule_case *from)
{
	if (!from->is_typed)
		return;
	to->is_typed = true;
	memcpy(to->typed, from->typed, sizeof to->typed);
	memcpy(to->assumed, from->assumed, sizeof to->assumed);
	to->nassumed = from->nassumed;
	memcpy(to->letter, from->letter, sizeof to->letter);
	to->nletters = from->nletters;
}

/* Has a case been decided that makes the others superfluous? */
static bool
is_enough(const struct decision *d)
{
	const struct outcome *o = d->outcome.n ? &d->outcome.at[d->outcome.n - 1] : NULL;

	if (!o || o->holds)
		return false;
	return d->until == UNTIL_FAILS || (d->until == UNTIL_DIFFERS && o->typed) ||
	       (!d->expands && d->expandable);
}

/* The cases into which one is split by the question that it leaves open. False: none. */
static bool
split(struct decision *d, const struct rule_case *start, const struct rule_case *c)
{
	const int64_t before = d->todo.n;

	if (c->stop != STOP_CUT || !decision_split(d, start, c))
		return false;
	const bool types = cut_keeps_types(&d->t, &c->cut);
	for (int64_t i = before; i < d->todo.n; i++) {
		d->todo.at[i]->vars = d->t.var.n;
		if (types)
			inherit_types(d->todo.at[i], c);
	}
	return true;
}

/* Decides a case of a result, or splits it. False: not decided, reason in d->why. */
static bool
decide_or_split(struct decision *d, struct rule_case *start, int r)
{
	struct rule_case now, *c = &now;

	d->t.var.n = start->vars;
	if (++d->cases > d->most) {
		d->why = "too many cases";
		return false;
	}
	arena_reset(d->scratch);
	assume_conditions(d, start);
	if (d->t.var.n > CASE_VARS) {
		d->why = "too many sizes";
		return false;
	}
	settle(start);
	now = *start;
	c->arena = d->arena;
	c->nmet = 0;
	c->is_put_off = false;
	c->nassumed = c->is_typed ? c->nassumed : 0;
	c->stop = STOP_NONE;
	const int how = decide_case(d, c, r);
	if (how == 2) {
		struct rule_case *again = decision_case(d, start);
		memcpy(again->forced, c->forced, sizeof again->forced);
		again->nforced = c->nforced;
		again->vars = d->t.var.n; /* conditions may have made some */
		inherit_types(again, c);
		VEC_PUSH(NULL, &d->todo, again);
	}
	d->expandable = d->expandable || c->expandable;
	if (is_enough(d))
		return false;
	/* The left side has no type here, or a side has none of this rank. */
	if (how >= 0 || c->stop == STOP_ILL || c->stop == STOP_RANK || split(d, start, c))
		return true;
	decision_sample(d, c);
	const bool truth = c->stop == STOP_CUT && c->cut.kind == CUT_TRUTH; /* not an affine form */
	d->cut = c->stop == STOP_CUT && !truth ? c->cut.e : 0;
	d->why = truth                 ? "a comparison of elements that cases do not decide"
		 : c->stop == STOP_CUT ? "a condition on sizes that cases do not decide"
		 : c->why              ? c->why
				       : "a term that is not known";
	return false;
}

/* Decides all cases of a result. False: not decided, reason in d->why. */
static bool
decide_result(struct decision *d, const struct rule_case *first, int r)
{
	bool decided = true;

	VEC_PUSH(NULL, &d->todo, decision_case(d, first));
	while (d->todo.n) {
		struct rule_case *start = VEC_POP(&d->todo);
		decided = decided && decide_or_split(d, start, r);
		VEC_PUSH(NULL, &d->free, start);
	}
	return decided;
}

static void
see_name(void *data, const char *name)
{
	struct rule_case *c = data;

	for (int i = 0; i < c->nnames; i++)
		if (c->name[i].name == name)
			return;
	if (c->nnames == (int)(sizeof c->name / sizeof *c->name))
		return;
	c->name[c->nnames].v = var_new(c->t, VAR_INTEGER, 0, name);
	c->name[c->nnames++].name = name;
}

/* The names of a size of the rule: sizes. */
static void
see_size(struct rule_case *c, const struct ir_size *s)
{
	const int before = c->nnames;

	ir_size_names(s, see_name, c);
	for (int i = before; i < c->nnames; i++) {
		c->t->var.at[c->name[i].v].kind = VAR_SIZE;
		c->t->var.at[c->name[i].v].low = 1;
	}
}

/* Gives names in an op's attributes and written type a kind: numbers, or other values. */
static void
see_attributes(struct rule_case *c, const struct ir_op *op, bool real)
{
	const int before = c->nnames;
	const struct ir_type_text *w = op->written;
	const bool integer = w && (w->letter ? *w->letter == 'Z' || *w->letter == 'I'
					     : ir_dtype_class(w->dtype) != IR_FLOAT);

	for (int i = 0; i < op->nattrs; i++) {
		const struct ir_attr *a = &op->attr[i];
		const struct row_attr *row = row_attr_find(op_row(c->rules->m->ctx, op), a->key);
		const bool number =
			row && !integer && (row->type == ROW_SCALAR || row->type == ROW_FLOAT);
		if (number != real)
			continue;
		ir_attr_names(a, see_name, c);
	}
	for (int i = before; real && i < c->nnames; i++)
		c->t->var.at[c->name[i].v].kind = VAR_REAL;
	if (!real && op->written)
		for (int k = 0; k < op->written->rank; k++)
			ir_size_names(op->written->dim[k], see_name, c);
}

static void
first_case(struct decision *d, struct rule_case *c)
{
	c->t = &d->t;
	c->dots = d->dots;
	c->expands = d->expands;
	c->rules = d->rules;
	c->rule = d->rule;
	memcpy(c->end, d->end, sizeof c->end);
	for (int k = 0; k < (d->dots == ANY_RANK ? 1 : d->dots); k++) {
		const struct ir_size size = {.kind = SIZE_NAME,
			.name = d->dots == ANY_RANK ? case_dots : case_dots_dim[k]};
		see_size(c, &size);
	}
	for (uint32_t i = 0; i < d->rule->side[RULE_LEFT]->body.nargs; i++)
		for (int k = 0; k < d->rule->param[i]->rank; k++)
			see_size(c, d->rule->param[i]->dim[k]);
	/* Names of attributes that are sizes or positions come first: those are integers. */
	for (int real = 0; real < 2; real++)
		for (int side = 0; side < 2; side++)
			IR_FOR_OPS (op, &d->rule->side[side]->body)
				see_attributes(c, op, real);
	for (int i = 0; i < d->rule->nwhere; i++) /* others are in conditions alone: any integers */
		for (int k = 0; k < 2; k++)
			ir_size_names(d->rule->where[i].arg[k], see_name, c);
	for (int i = 0; i < c->nnames; i++)
		d->root[c->name[i].v] = linear_var(&d->t, c->name[i].v);
	for (int k = 0; k < IR_MAX_RANK; k++)
		d->index[k] = var_new(&d->t, VAR_INDEX, 0, NULL);
	c->vars = d->t.var.n;
}

/* --- what has to be equal --- */

static void
compare_results(struct decision *d)
{
	for (int side = 0; side < 2; side++) {
		d->end[side] = ir_rule_return(d->rule, side);
		d->same[side].n = 0;
		for (int i = 0; i < d->end[side]->noperands; i++)
			VEC_PUSH(NULL, &d->same[side], ir_operand(d->end[side], i));
	}
}

static bool
has_dim(const struct ir_size *s)
{
	return s && (s->kind == SIZE_DIM || has_dim(s->arg[0]) || has_dim(s->arg[1]));
}

/* Is it a dim of a value, which each side has by its names? */
static bool
is_of_side(const struct ir_attr *a)
{
	for (int i = 0; a->kind == ATTR_LIST && i < a->n; i++)
		if (is_of_side(&a->list[i]))
			return true;
	return a->kind == ATTR_SIZE && has_dim(a->size);
}

/* Are these the same function of their operands? */
static bool
are_same_function(const struct ir_op *a, const struct ir_op *b)
{
	for (int i = 0; i < a->nattrs; i++)
		if (is_of_side(&a->attr[i]))
			return false;
	return a->code == b->code && a->noperands == b->noperands && op_is(a, TRAIT_PURE) &&
	       !op_is(a, TRAIT_PARALLEL) && a->nresults == 1 && !a->written && !a->body &&
	       ir_attrs_equal(a, b);
}

/*
 * If both sides end in the same op, compares its operands in place of its results: that suffices, and an op after a shape or
 * rank that is not known has no type. False: they do not.
 */
static bool
compare_operands(struct decision *d)
{
	const struct ir_op *op[2] = {d->end[0]->prev, d->end[1]->prev};
	bool found = false;

	if (!op[0] || !op[1] || !are_same_function(op[0], op[1]))
		return false;
	for (int64_t i = 0; i < d->same[0].n; i++) {
		const bool here = d->same[0].at[i] == &op[0]->result[0];
		if (here != (d->same[1].at[i] == &op[1]->result[0]))
			return false;
		found = found || here;
	}
	for (int side = 0; side < 2; side++) {
		int64_t n = 0;
		for (int64_t i = 0; i < d->same[side].n; i++)
			if (d->same[side].at[i] != &op[side]->result[0])
				d->same[side].at[n++] = d->same[side].at[i];
		d->same[side].n = n;
		for (int i = 0; found && i < op[side]->noperands; i++)
			VEC_PUSH(NULL, &d->same[side], ir_operand(op[side], i));
		d->end[side] = op[side];
	}
	return true;
}

/* --- verdicts --- */

static bool
only_integers(const struct ir_rule *r)
{
	for (uint32_t i = 0; i < r->side[RULE_LEFT]->body.nargs; i++) {
		const struct ir_type_text *p = r->param[i];
		if (p->letter ? *p->letter != 'Z' && *p->letter != 'I'
			      : ir_dtype_class(p->dtype) == IR_FLOAT)
			return false;
	}
	for (int side = 0; side < 2; side++)
		IR_FOR_OPS (op, &r->side[side]->body) {
			const struct ir_attr *to = ir_attr_find(op, "to");
			if (to && (to->kind != ATTR_DTYPE ||
					  ir_dtype_class((enum ir_dtype)to->i) == IR_FLOAT))
				return false;
			if (op->written && !op->written->letter &&
				ir_dtype_class(op->written->dtype) == IR_FLOAT)
				return false;
		}
	return r->side[RULE_LEFT]->body.nargs > 0;
}

static void
count(const struct decision *d, int *holds, int *ill, int *differ)
{
	*holds = *ill = *differ = 0;
	for (int i = 0; i < d->outcome.n; i++)
		if (d->outcome.at[i].holds)
			++*holds;
		else if (d->outcome.at[i].typed)
			++*differ;
		else
			++*ill;
}

static bool
decide_results(struct decision *d, bool bitwise)
{
	struct rule_case first = {0};

	arena_reset(d->arena);
	terms_clear(&d->t);
	memset(d->root, 0, sizeof d->root);
	d->t.bitwise = bitwise;
	d->outcome.n = d->cases = d->samples.n = 0;
	d->why = NULL;
	d->cut = d->form[0] = 0;
	first_case(d, &first);
	for (int r = 0; r < d->same[RULE_LEFT].n; r++)
		if (!decide_result(d, &first, r))
			return false;
	return true;
}

/*
 * Decides all results in all cases, or until a case is found that ends it. False: not decided.
 * Constant ranges are expanded only if there is no proof without: a filter of three by three makes
 * nine terms of a convolution, and a case of each row that the padding of one of them leaves out.
 */
static bool
decide(struct decision *d, bool bitwise, enum until until)
{
	int holds, ill, differ;

	d->until = until;
	d->expands = d->expandable = false;
	bool decided = decide_results(d, bitwise);
	count(d, &holds, &ill, &differ);
	if (d->expandable && (!decided || ill || differ)) {
		d->expands = true;
		decided = decide_results(d, bitwise);
	}
	return decided;
}

/* Does the rule hold in all cases, under its conditions? */
static bool
holds_everywhere(struct decision *d, bool bitwise)
{
	int holds, ill, differ;

	const bool decided = decide(d, bitwise, UNTIL_FAILS);
	count(d, &holds, &ill, &differ);
	return decided && holds && !ill && !differ;
}

static bool
has_trait(const struct ir_rule *r, unsigned trait)
{
	for (int side = 0; side < 2; side++)
		IR_FOR_OPS (op, &r->side[side]->body)
			if (op_is(op, trait))
				return true;
	return false;
}

/* Proven to the bit, in all cases and without further conditions: no law of arithmetic is needed. */
static bool
decide_bits(struct decision *d)
{
	return !has_trait(d->rule, TRAIT_SUMS) && holds_everywhere(d, true);
}

static bool
is_proven(struct decision *d)
{
	return decide_bits(d) || holds_everywhere(d, false);
}

static bool
has_dots(const struct ir_rule *r)
{
	for (uint32_t i = 0; i < r->side[RULE_LEFT]->body.nargs; i++)
		if (r->param[i]->dots)
			return true;
	IR_FOR_OPS (op, &r->side[RULE_LEFT]->body)
		if (op->written && op->written->dots)
			return true;
	return false;
}

/*
 * Proves a rule with `..` for each rank that a tensor may have. For all ranks at once, `..` is one
 * dim, which nothing can name; an attribute that names one of its dims is decided rank by rank.
 * *untyped: the left side has no type for any of them.
 */
static bool
prove_ranks(struct decision *d, struct rule_proof *proof, bool *untyped)
{
	bool some = false, holds = true, bits = true;
	unsigned assumes = 0;

	for (d->dots = 0; d->dots <= IR_MAX_RANK && holds; d->dots++) {
		if (decide_bits(d)) {
			some = true;
		} else if (!decide(d, false, UNTIL_FAILS) || d->outcome.n) {
			some = true;
			bits = false;
			holds = holds_everywhere(d, false);
			assumes |= d->t.assumes;
		}
	}
	d->dots = ANY_RANK;
	*untyped = !some;
	if (!holds || !some)
		return false;
	bits = bits || only_integers(d->rule);
	*proof = (struct rule_proof){.verdict = RULE_PROVEN, .why = "", .bitwise = bits};
	proof->assumes = bits ? 0 : assumes;
	return true;
}

/* Are two parameters the same operand of ops with the same code, such as two filters? */
static bool
are_alike(const struct ir_rule *r, uint32_t i, uint32_t k)
{
	const struct ir_value *arg = r->side[RULE_LEFT]->body.arg;
	const struct ir_use *x = arg[i].uses, *y = arg[k].uses;

	return x && y && x->op->code == y->op->code && x - x->op->operand == y - y->op->operand;
}

/* Adds equations of dims at the same position; false: there are too many. */
static bool
equate_dims(const struct ir_rule *r, const struct ir_type_text *x, const struct ir_type_text *y,
	struct ir_rule_condition *all, int *n)
{
	for (int at = 0; x->rank == y->rank && at < x->rank; at++) {
		const struct ir_size *a = x->dim[at], *b = y->dim[at];
		bool known = a->kind != SIZE_NAME || b->kind != SIZE_NAME || a->name == b->name;
		for (int i = r->nwhere; i < *n && !known; i++)
			known = all[i].arg[0]->name == a->name && all[i].arg[1]->name == b->name;
		if (known)
			continue;
		if (*n == r->nwhere + WHERE_MOST)
			return false;
		all[(*n)++] = (struct ir_rule_condition){RULE_EQ, {a, b}, r->loc};
	}
	return true;
}

/* Does the rule hold, judged by a few cases and, if these do not suffice, by a few draws? */
static bool
may_hold(struct decision *d)
{
	int typed;

	d->most = EQUATION_CASES;
	const bool holds = is_proven(d), open = d->cases > EQUATION_CASES;
	d->most = CASES_MOST;
	if (holds || !open)
		return holds;
	char *example = rule_refute(
		NULL, d->rules, d->rule, NULL, EQUATION_TRIES, EQUATION_RUNS, 1, &typed);
	talloc_free(example);
	return !example;
}

/* Drops equations that are not needed, according to proofs or to may_hold, which is much faster and
 * mostly right. */
static void
drop_equations(struct decision *d, struct ir_rule *more, struct ir_rule_condition *all, int first,
	bool proofs)
{
	for (int i = more->nwhere - 1; i >= first; i--) {
		const struct ir_rule_condition without = all[i];
		const size_t after = sizeof *all * (size_t)(more->nwhere - i - 1);
		memmove(&all[i], &all[i + 1], after);
		more->nwhere--;
		if (proofs ? is_proven(d) : may_hold(d))
			continue;
		memmove(&all[i + 1], &all[i], after);
		all[i] = without;
		more->nwhere++;
	}
}

/*
 * If the right side has no type for some sizes, it may have one if sizes of parameters are equal,
 * which a single question may not show, for example with groups. All dims at the same position in
 * parameters of the same rank are made equal. If the rule then holds, unneeded equations are
 * dropped, starting with the last ones, which are those of parameters that are used in different
 * ways. `more` is the rule with the remaining equations, which are written to `where`; returns how
 * many, -1: it does not hold.
 */
static int
equal_sizes(struct decision *d, struct arena *a, struct ir_rule *more,
	struct ir_rule_condition where[WHERE_MOST])
{
	const struct ir_rule *r = d->rule;
	struct ir_rule_condition *all =
		ARENA_ARRAY(a, struct ir_rule_condition, r->nwhere + WHERE_MOST);
	const uint32_t nargs = r->side[RULE_LEFT]->body.nargs;
	int n = r->nwhere;

	for (int i = 0; i < n; i++)
		all[i] = r->where[i];
	for (int alike = 1; alike >= 0; alike--)
		for (uint32_t i = 0; i < nargs; i++)
			for (uint32_t k = i + 1; k < nargs; k++)
				if (are_alike(r, i, k) == alike &&
					!equate_dims(r, r->param[i], r->param[k], all, &n))
					return -1;
	if (n == r->nwhere)
		return -1;
	struct ir_rule_condition *kept = ARENA_ARRAY(a, struct ir_rule_condition, n);
	bool holds = false;
	for (int proofs = 0; proofs < 2 && !holds; proofs++) {
		memcpy(kept, all, sizeof *all * (size_t)n);
		*more = *r;
		more->where = kept;
		more->nwhere = n;
		d->rule = more;
		if (proofs && !is_proven(d))
			return -1;
		drop_equations(d, more, kept, r->nwhere, proofs);
		holds = is_proven(d);
	}
	n = more->nwhere - r->nwhere;
	memcpy(where, kept + r->nwhere, sizeof *where * (size_t)n);
	return holds ? n : -1;
}

/* Why the verdict is unknown, with the terms in question. */
static const char *
unknown_text(const void *owner, const struct decision *d)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = must_have(open_memstream(&text, &size));

	fputs(d->why ? d->why : "it holds for some sizes only", out);
	if (d->cut) {
		fputs(": ", out);
		linear_print(out, &d->t, d->cut);
	} else if (d->form[0]) {
		fputs(": ", out);
		poly_print(out, &d->t, d->form[0]);
		fputs(" and ", out);
		poly_print(out, &d->t, d->form[1]);
	}
	fclose(out);
	char *copy = text_copy(owner, text);
	free(text);
	return copy;
}

static const char *
where_text(const void *owner, const struct ir_rules *rules, const struct ir_rule_condition *where,
	int n)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = must_have(open_memstream(&text, &size));

	ir_print_conditions(out, rules->m, where, n);
	fclose(out);
	char *copy = text_copy(owner, text);
	free(text);
	return copy;
}

/*
 * For the proof, parallelization ops do not change values; the layouts that they accept are found
 * by trying. False: none was found. A counterexample becomes the verdict.
 */
static bool
try_layouts(const void *owner, const struct ir_rules *rules, const struct ir_rule *r,
	struct rule_proof *proof)
{
	char *example;
	const bool fits = rule_refute_layouts(owner, rules, r, &example);

	if (example) {
		proof->verdict = RULE_REFUTED;
		proof->why = example;
	}
	return fits;
}

static const char no_layouts[] = "no sizes and layouts were found that both sides take";

/* Does the rule hold under these conditions, too? They were found from decisions, not proven. */
static bool
holds_within(struct decision *d, struct arena *a, const struct ir_rule_condition *where, int n)
{
	const struct ir_rule *r = d->rule;
	struct ir_rule *more = ARENA_NEW(a, struct ir_rule);
	struct ir_rule_condition *all = ARENA_ARRAY(a, struct ir_rule_condition, r->nwhere + n);

	for (int i = 0; i < r->nwhere + n; i++)
		all[i] = i < r->nwhere ? r->where[i] : where[i - r->nwhere];
	*more = *r;
	more->where = all;
	more->nwhere = r->nwhere + n;
	d->rule = more;
	const bool holds = holds_everywhere(d, false);
	d->rule = r;
	return holds;
}

struct rule_prover *
rule_prover_create(const void *owner)
{
	struct rule_prover *prover = NEW(owner, struct rule_prover);
	struct decision *d = &prover->d;

	d->arena = arena_create(prover);
	d->scratch = arena_create(prover);
	d->cases_arena = arena_create(prover);
	VEC_ROOM(prover, &d->todo, 64);
	VEC_ROOM(prover, &d->free, 64);
	VEC_ROOM(prover, &d->outcome, 64);
	for (int side = 0; side < 2; side++)
		VEC_ROOM(prover, &d->same[side], 8);
	terms_init(prover, &d->t);
	return prover;
}

/* Decides whether the values in d->same are equal; a counterexample is looked for if `refutes`. */
static void
verify(const void *owner, struct rule_prover *prover, const struct ir_rules *rules,
	const struct ir_rule *r, bool refutes, struct rule_proof *proof)
{
	struct decision *d = &prover->d;
	struct ir_rule_condition where[WHERE_MOST];
	struct arena *kept = arena_create(owner);
	int holds, ill, differ, n = 0, other, typed;
	bool bounds = true, fits = true;
	const char *why = NULL; /* it is not decided */

	*proof = (struct rule_proof){.verdict = RULE_UNKNOWN, .why = ""};
	d->rule = r;
	d->most = CASES_MOST;
	d->dots = ANY_RANK;
	const bool bits = decide_bits(d);
	bool decided = bits || decide(d, false, UNTIL_ALL);
	proof->branches = d->cases;
	bool untyped = decided && !d->outcome.n;
	count(d, &holds, &ill, &differ);
	if (decided && holds && (ill || differ))
		n = decision_conditions(d, kept, where, &bounds);
	if (!decided)
		why = unknown_text(owner, d); /* before other ranks and sizes are tried */
	const bool undefined =
		d->form[0] && (find_apply(&d->t, d->form[0], divides_by_zero) ||
				      find_apply(&d->t, d->form[1], divides_by_zero));
	if (!decided && has_dots(r) && prove_ranks(d, proof, &untyped)) {
		if (has_trait(r, TRAIT_PARALLEL) && !try_layouts(owner, rules, r, proof))
			*proof = (struct rule_proof){.verdict = RULE_UNUSABLE, .why = no_layouts};
		return;
	}
	prover->samples = d->samples;
	if (!decided || (n < 0 && !differ)) {
		struct ir_rule *more = ARENA_NEW(kept, struct ir_rule);
		why = why ? why : unknown_text(owner, d);
		const int equal = equal_sizes(d, kept, more, where);
		if (equal >= 0) {
			decided = true;
			n = equal;
			count(d, &holds, &ill, &differ);
		}
	}
	bool proven = decided && holds && n >= 0 && (!differ || bounds);
	if (proven && n > 0 && d->rule == r)
		proven = holds_within(d, kept, where, n);
	if (has_trait(r, TRAIT_PARALLEL))
		fits = try_layouts(owner, rules, r, proof);
	if (proof->verdict == RULE_REFUTED)
		return;
	if (proven && fits) {
		proof->verdict = RULE_PROVEN;
		proof->assumes = d->t.assumes;
		proof->nwhere = n;
		if (n) {
			struct ir_rule_condition *copy =
				ARENA_ARRAY(kept, struct ir_rule_condition, n);
			memcpy(copy, where, sizeof *copy * (size_t)n);
			proof->where = copy;
		}
		proof->bitwise = bits || only_integers(r);
		if (!proof->bitwise && n && !has_trait(r, TRAIT_SUMS) &&
			decide(d, true, UNTIL_DIFFERS)) {
			count(d, &holds, &ill, &other);
			proof->bitwise = holds && !other;
		}
		if (proof->bitwise)
			proof->assumes = 0;
		return;
	}
	if (!refutes)
		return;
	typed = 0;
	char *example = proven || !fits ? NULL
					: rule_refute(owner, rules, r, &prover->samples,
						  untyped ? UNTYPED_TRIES : REFUTE_TRIES,
						  REFUTE_RUNS, 1, &typed);
	if (!example && !typed) {
		proof->verdict = RULE_UNUSABLE;
		proof->why = untyped ? "the left side has no type for any sizes" : no_layouts;
	} else if (!example && (undefined || untyped)) {
		proof->verdict = RULE_UNUSABLE;
		proof->why =
			undefined
				? "a side divides by 0"
				: "the left side has a type only for some of the element types that its letters stand for";
	} else if (example) {
		proof->verdict = RULE_REFUTED;
		proof->why = decided && holds && n > 0 ? text_append(example, "; it holds%s",
								 where_text(owner, rules, where, n))
						       : example;
	} else {
		proof->why = why ? why : unknown_text(owner, d);
	}
}

void
rule_verify(const void *owner, struct rule_prover *prover, const struct ir_rules *rules,
	const struct ir_rule *r, struct rule_proof *proof)
{
	struct decision *d = &prover->d;

	d->rules = rules;
	d->rule = r;
	compare_results(d);
	verify(owner, prover, rules, r, true, proof);
	while (proof->verdict == RULE_UNKNOWN && compare_operands(d)) {
		struct rule_proof of_operands;
		verify(owner, prover, rules, r, false, &of_operands);
		if (of_operands.verdict == RULE_PROVEN)
			*proof = of_operands;
	}
}
