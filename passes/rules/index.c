/*
 * The index of rules:
 *
 *     first[code of the root] -> rules, sorted by the codes of the ops of its operands
 *
 * An op is compared with the keys of its code, three numbers each, and matched with the rules whose
 * keys fit: the 640 rules of FlexFlow have 209 keys, with 3 rules on average and at most 17. If
 * none of its operands' ops occurs in these keys, it is not compared with them.
 */
#include "ir/base/alloc.h"
#include "ir/base/sort.h"
#include "ir/ops/literal.h"
#include "passes/rules/matcher.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct rule_index {
	struct rule_pattern *pattern;      /* by number */
	const struct rule_pattern **order; /* [n] usable patterns, by key, then number */
	int n;
	int first[OP_NCODES + 1]; /* range in `order`, by code of the root */
	/* By code of the root: the set of op codes one of which must make an operand; OP_NCODES:
	 * any. */
	uint64_t wanted[OP_NCODES][OP_NCODES / 64 + 1];
};

/* --- the pattern of a rule -------------------------------------------------------------------- */

static const char *
check_ops(const struct ir_rule *r, int side)
{
	uint32_t values = r->side[side]->body.nargs;
	int goals = 0;

	IR_FOR_OPS (op, &r->side[side]->body) {
		if (op->code == OP_return)
			continue;
		if (!op_is(op, TRAIT_PURE) || op_is(op, TRAIT_KEYED) || op->symbol || op->body)
			return "it has an op whose result is not a function of operands and "
			       "attributes";
		values += op->nresults;
		goals += op->noperands + 1;
	}
	if (values > RULE_MAX_VALUES || goals > MATCHER_GOALS)
		return "it has too many values";
	return ir_rule_return(r, side)->noperands > RULE_MAX_RESULTS ? "it has too many results"
								     : NULL;
}

/* Marks the values of the left side that the matcher finds from the first root. */
static void
find_reached(const struct rule_pattern *p, bool reached[RULE_MAX_VALUES])
{
	const struct ir_func *left = p->rule->side[RULE_LEFT];
	bool more = true;

	memset(reached, 0, RULE_MAX_VALUES * sizeof *reached);
	reached[rule_value_number(p, ir_operand(ir_rule_return(p->rule, RULE_LEFT), 0))] = true;
	while (more) {
		more = false;
		IR_FOR_OPS (op, &left->body) {
			const int n = op->code == OP_return ? 0 : op->noperands + op->nresults;
			bool any = false, all = true;
			for (int k = 0; k < n; k++) {
				const bool is = reached[rule_value_number(p, ir_op_value(op, k))];
				any = any || is;
				all = all && is;
			}
			for (int k = 0; any && k < n; k++)
				reached[rule_value_number(p, ir_op_value(op, k))] = true;
			more = more || (any && !all);
		}
	}
}

static const char *
check_reached(const struct rule_pattern *p)
{
	const struct ir_rule *r = p->rule;
	const struct ir_block *left = &r->side[RULE_LEFT]->body,
			      *right = &r->side[RULE_RIGHT]->body;
	const struct ir_op *ret = ir_rule_return(r, RULE_LEFT);
	bool reached[RULE_MAX_VALUES];

	find_reached(p, reached);
	for (int i = 0; i < ret->noperands; i++) {
		if (!ir_operand(ret, i)->op)
			return "its left side returns a parameter";
		if (!reached[rule_value_number(p, ir_operand(ret, i))])
			return "its left side has roots that share no value";
	}
	for (uint32_t i = 0; i < right->nargs; i++)
		if (right->arg[i].uses && !reached[rule_value_number(p, &left->arg[i])])
			return "its right side has a parameter that the left side lacks";
	return NULL;
}

struct names {
	const char *name[RULE_MAX_NAMES];
	int n;
	bool more; /* there are more names than fit */
};

static void
see_name(void *data, const char *name)
{
	struct names *s = data;

	for (int i = 0; i < s->n; i++)
		if (s->name[i] == name)
			return;
	if (s->n == RULE_MAX_NAMES)
		s->more = true;
	else
		s->name[s->n++] = name;
}

static void
see_type(struct names *s, const struct ir_type_text *t)
{
	if (t->letter)
		see_name(s, t->letter);
	for (int i = 0; i < t->rank; i++)
		ir_size_names(t->dim[i], see_name, s);
}

/* Names of sizes, lists, axes and element types that a side uses. */
static void
see_side(struct names *s, const struct ir_rule *r, int side)
{
	const struct ir_block *b = &r->side[side]->body;

	ir_template_names(r->side[side], see_name, s);
	IR_FOR_OPS (op, b) {
		for (int i = 0; i < op->nattrs; i++)
			if (op->attr[i].kind == ATTR_NAME)
				see_name(s, op->attr[i].s);
		for (const struct ir_type_text *t = op->written; t; t = t->next)
			see_type(s, t);
	}
	for (uint32_t i = 0; side == RULE_LEFT && i < b->nargs; i++)
		if (b->arg[i].uses)
			see_type(s, r->param[i]);
}

static const char *
check_names(const struct ir_rule *r)
{
	struct names s = {.n = 0};

	see_side(&s, r, RULE_LEFT);
	const int n = s.n;
	if (s.more)
		return "it has too many names";
	see_side(&s, r, RULE_RIGHT);
	return s.n > n || s.more ? "its right side has a name that the left side lacks" : NULL;
}

/* Ids of a side's values are consecutive; *first is the first one; returns their number. */
static uint32_t
number_values(const struct ir_block *b, uint32_t *base)
{
	uint32_t low = UINT32_MAX, high = 0;

	for (uint32_t i = 0; i < b->nargs; i++) {
		const uint32_t id = b->arg[i].id;
		low = id < low ? id : low;
		high = id > high ? id : high;
	}
	IR_FOR_OPS (op, b)
		for (int i = 0; i < op->nresults; i++) {
			const uint32_t id = op->result[i].id;
			low = id < low ? id : low;
			high = id > high ? id : high;
		}
	*base = low;
	return high - low + 1;
}

static bool
has_any_dims(const struct ir_type_text *t)
{
	return !t || (t->dots && !t->rank);
}

/* A pointwise rule also holds for operands that are broadcast: as if they were larger. */
static bool
is_pointwise(const struct ir_rule *r)
{
	bool all = ir_rule_return(r, RULE_LEFT)->noperands == 1;

	for (uint32_t i = 0; i < r->side[RULE_LEFT]->body.nargs; i++)
		all = all && has_any_dims(r->param[i]);
	for (int side = 0; side < 2; side++)
		IR_FOR_OPS (op, &r->side[side]->body)
			if (op->code != OP_return)
				all = all && !op_is(op, TRAIT_PARALLEL) &&
				      has_any_dims(op->written) &&
				      row_is_pointwise(op_row(r->side[side]->module->ctx, op));
	return all;
}

/* The value of the left side that equals a value of the right side; NULL: none. */
static const struct ir_value *
left_of(const struct rule_pattern *p, const struct ir_value *right)
{
	const uint32_t i = right->id - p->right_base;
	const struct ir_block *left = &p->rule->side[RULE_LEFT]->body;

	if (!right->op)
		return &left->arg[right->index];
	IR_FOR_OPS (op, left)
		if (p->same[i] && op->result[0].id - p->value_base == p->same[i] - 1u)
			return &op->result[0];
	return NULL;
}

static bool
same_attrs(const struct ir_op *a, const struct ir_op *b)
{
	bool same = a->nattrs == b->nattrs;

	for (int i = 0; same && i < a->nattrs; i++) {
		const struct ir_attr *x = &a->attr[i], *y = &b->attr[i];
		const bool names = x->key == y->key && x->kind == ATTR_SIZE &&
				   y->kind == ATTR_SIZE && x->size->kind == SIZE_NAME &&
				   y->size->kind == SIZE_NAME && x->size->name == y->size->name;
		same = names || ir_attr_equal(x, y);
	}
	return same;
}

/* The dims of a constant do not matter if it is broadcast. */
static bool
same_types(const struct rule_pattern *p, const struct ir_type_text *a, const struct ir_type_text *b)
{
	return (!a && !b) ||
	       (a && b && p->pointwise && a->letter == b->letter && a->dtype == b->dtype);
}

static bool
is_same(const struct rule_pattern *p, const struct ir_op *left, const struct ir_op *right)
{
	bool same = left->code == right->code && left->nresults == 1 &&
		    left->noperands == right->noperands &&
		    same_types(p, left->written, right->written) && same_attrs(left, right);

	for (int i = 0; same && i < left->noperands; i++)
		same = left_of(p, ir_operand(right, i)) == ir_operand(left, i);
	return same;
}

/* Finds ops of the right side that also exist on the left side, other than its root. */
static void
find_same(struct rule_pattern *p)
{
	const struct ir_op *ret = ir_rule_return(p->rule, RULE_LEFT);

	if (ret->noperands != 1)
		return;
	IR_FOR_OPS (right, &p->rule->side[RULE_RIGHT]->body)
		IR_FOR_OPS (left, &p->rule->side[RULE_LEFT]->body)
			if (left != ret && left != ir_operand(ret, 0)->op &&
				is_same(p, left, right))
				p->same[right->result[0].id - p->right_base] =
					(uint8_t)(rule_value_number(p, &left->result[0]) + 1);
}

static int
depth_of(const struct ir_value *v)
{
	int depth = 0;

	for (int i = 0; v->op && i < v->op->noperands; i++) {
		const int below = depth_of(ir_operand(v->op, i));
		depth = below > depth ? below : depth;
	}
	return v->op ? depth + 1 : 0;
}

static void
fill(struct rule_pattern *p)
{
	const struct ir_value *root = ir_operand(ir_rule_return(p->rule, RULE_LEFT), 0);

	p->why_not = check_ops(p->rule, RULE_LEFT);
	if (!p->why_not)
		p->why_not = check_ops(p->rule, RULE_RIGHT);
	p->nvalues = number_values(&p->rule->side[RULE_LEFT]->body, &p->value_base);
	const uint32_t nright = number_values(&p->rule->side[RULE_RIGHT]->body, &p->right_base);
	if (!p->why_not && (p->nvalues > RULE_MAX_VALUES || nright > RULE_MAX_VALUES))
		p->why_not = "it has too many values";
	if (!p->why_not)
		p->why_not = check_reached(p);
	if (!p->why_not)
		p->why_not = check_names(p->rule);
	if (p->why_not)
		return;
	for (int i = 0; i < ir_rule_return(p->rule, RULE_LEFT)->noperands; i++) {
		const int depth = depth_of(ir_operand(ir_rule_return(p->rule, RULE_LEFT), i));
		p->depth = depth > p->depth ? depth : p->depth;
	}
	p->pointwise = is_pointwise(p->rule);
	find_same(p);
	p->code = root->op->code;
	for (int i = 0; i < RULE_KEY_OPERANDS; i++) {
		const struct ir_op *from =
			i < root->op->noperands ? ir_operand(root->op, i)->op : NULL;
		struct rule_number n;
		p->key[i] = from ? from->code : (uint16_t)OP_NCODES;
		p->constant[i] =
			p->key[i] == OP_constant && rule_number_of(from->attr, &n) ? n.f : NAN;
	}
}

/* --- the index -------------------------------------------------------------------------------- */

ORDER_POINTERS_BY(
	by_key, struct rule_pattern, UP(code), memcmp(x->key, y->key, sizeof x->key), UP(number))

static void
want_operands(struct rule_index *index, const struct rule_pattern *p)
{
	bool any = true;

	for (int i = 0; i < RULE_KEY_OPERANDS; i++) {
		any = any && p->key[i] == OP_NCODES;
		if (p->key[i] != OP_NCODES)
			index->wanted[p->code][p->key[i] / 64] |= 1ull << p->key[i] % 64;
	}
	if (any)
		index->wanted[p->code][OP_NCODES / 64] |= 1ull << OP_NCODES % 64;
}

struct rule_index *
rule_index_create(const void *owner, const struct rule_pattern *rule, int n)
{
	struct rule_index *index = NEW(owner, struct rule_index);
	int at = 0;

	index->pattern = COPY_ARRAY(index, struct rule_pattern, rule, n);
	index->order = NEW_ARRAY(index, const struct rule_pattern *, n);
	for (int i = 0; i < n; i++) {
		struct rule_pattern *p = &index->pattern[i];
		p->number = i;
		fill(p);
		if (!p->why_not)
			index->order[index->n++] = p;
	}
	if (index->n)
		qsort(index->order, (size_t)index->n, sizeof *index->order, by_key);
	for (int i = 0; i < index->n; i++)
		want_operands(index, index->order[i]);
	for (int code = 0; code <= OP_NCODES; code++) {
		while (at < index->n && index->order[at]->code < code)
			at++;
		index->first[code] = at;
	}
	return index;
}

const struct rule_pattern *
rule_index_pattern(const struct rule_index *index, int i)
{
	return &index->pattern[i];
}

/* For floats only: integers wrap. */
static bool
is_other_number(const struct ir_op *constant, double number)
{
	return !isnan(number) &&
	       ir_dtype_class((enum ir_dtype)constant->result[0].type->dtype) == IR_FLOAT &&
	       literal_of_constant(constant).f != number;
}

/* Can operand i of op match operand k of the rule's root? */
static bool
operand_fits(const struct rule_pattern *p, int k, const struct ir_op *op, int i)
{
	const struct ir_op *from = ir_operand(op, i)->op;

	return p->key[k] == OP_NCODES ||
	       (from && from->code == p->key[k] &&
		       (from->code != OP_constant || !is_other_number(from, p->constant[k])));
}

/* Do the ops of the operands fit the key? */
static bool
fits_key(const struct rule_pattern *p, const struct ir_op *op)
{
	const int n = op->noperands < RULE_KEY_OPERANDS ? op->noperands : RULE_KEY_OPERANDS;
	bool fits = true;

	for (int i = 0; i < n; i++)
		fits = fits && operand_fits(p, i, op, i);
	return fits || (n == 2 && op_is(op, TRAIT_COMMUTES) && operand_fits(p, 1, op, 0) &&
			       operand_fits(p, 0, op, 1));
}

/* Is an operand made by one of the ops that the rules require? */
static bool
has_wanted(const struct rule_index *index, const struct ir_op *op)
{
	const uint64_t *wanted = index->wanted[op->code];
	const int n = op->noperands < RULE_KEY_OPERANDS ? op->noperands : RULE_KEY_OPERANDS;
	bool has = wanted[OP_NCODES / 64] >> OP_NCODES % 64 & 1;

	for (int i = 0; i < n; i++) {
		const struct ir_op *from = ir_operand(op, i)->op;
		has = has || (from && wanted[from->code / 64] >> from->code % 64 & 1);
	}
	return has;
}

void
rule_match_copy(struct rule_match *to, const struct rule_match *from)
{
	*to = *from;
	for (int i = 0; i < to->nnames; i++)
		if (to->name[i].value.kind == ATTR_LIST)
			to->name[i].value.list = to->item + (from->name[i].value.list - from->item);
}

int
rule_index_depth(const struct rule_index *index)
{
	int depth = 0;

	for (int i = 0; i < index->n; i++)
		depth = index->order[i]->depth > depth ? index->order[i]->depth : depth;
	return depth;
}

bool
rule_match_one(const struct rule_index *index, struct ir_module *m, struct ir_op *root, int i,
	struct rule_match *match)
{
	const struct rule_pattern *p = &index->pattern[i];
	struct matcher x;

	return !p->why_not && p->code == root->code && fits_key(p, root) &&
	       matcher_run(&x, m, p, root, match);
}

bool
rule_match_next(const struct rule_index *index, struct ir_module *m, struct ir_op *root,
	struct rule_next *next, struct rule_match *match)
{
	const int begin = index->first[root->code], end = index->first[root->code + 1];
	struct matcher x;

	if (begin == end || !has_wanted(index, root))
		return false;
	while (begin + next->at < end) {
		const struct rule_pattern *p = index->order[begin + next->at++];
		if (!fits_key(p, root))
			continue;
		if (matcher_run(&x, m, p, root, match))
			return true;
	}
	return false;
}
