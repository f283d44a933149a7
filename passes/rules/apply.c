/* Builds the right side of a match before its roots, replaces the roots, and erases unused ops. */
#include "passes/rules/matcher.h"

#include <string.h>

enum { SPAN = 1000 }; /* most ops between the roots of one match: they are scanned one by one */

struct building {
	struct ir_module *m;
	int side;
	const struct rule_match *match;
	struct ir_op *before;
	const struct ir_type *like;
	bool reuse;    /* reuse ops that the left side already has */
	uint32_t base; /* id of the first value of the side */
	struct ir_value *value[RULE_MAX_VALUES];
};

/* --- attributes and types of the right side --------------------------------------------------- */

static bool
make_number(const struct building *x, const struct row_attr *r, struct ir_attr *a)
{
	const struct ir_size *size = a->size;
	struct rule_number n;

	if (!rule_number_of_side(x->match, x->side, x->value, size, &n))
		return false;
	if (r->type == ROW_FLOAT || n.fraction) {
		a->kind = ATTR_FLOAT;
		a->f = n.f;
		return r->type == ROW_FLOAT || r->type == ROW_SCALAR || r->type == ROW_NUMBERS;
	}
	a->kind = ATTR_INT;
	a->i = n.i;
	return true;
}

static const struct ir_attr *
meaning_of(const struct rule_match *match, const char *name, bool is_type)
{
	const struct rule_name *found = rule_name_find(match, name, is_type);

	return found ? &found->value : NULL;
}

static bool
is_default(const struct row_attr *r, const struct ir_attr *a)
{
	struct rule_number x, y;

	return r->has_default && rule_number_of(&r->otherwise, &x) && rule_number_of(a, &y) &&
	       rule_number_equal(x, y);
}

/* *absent: the op should leave the attribute out. */
static bool
make_attr(const struct building *x, const struct row_attr *r, struct ir_attr *a, bool *absent)
{
	if (a->kind == ATTR_NAME) {
		const struct ir_attr *value = meaning_of(x->match, a->s, r->type == ROW_DTYPE);
		const char *key = a->key;
		if (!value)
			return false;
		*absent = value->kind == RULE_ABSENT;
		*a = *value;
		a->key = key;
	}
	if (a->kind == ATTR_LIST) {
		struct ir_attr *list = ARENA_ARRAY(x->m->arena, struct ir_attr, a->n);
		for (int i = 0; i < a->n; i++) {
			list[i] = a->list[i];
			if (list[i].kind == ATTR_SIZE && !make_number(x, r, &list[i]))
				return false;
		}
		a->list = list;
	}
	if (a->kind == ATTR_SIZE && !make_number(x, r, a))
		return false;
	*absent = *absent || is_default(r, a);
	return true;
}

/* Takes the splits of a tensor with the same dims: the tensor that it is combined with. */
static const struct ir_type *
make_type(struct ir_module *m, const struct rule_match *match, const struct ir_type *like,
	const struct ir_type_text *text)
{
	const struct ir_attr *letter = text->letter ? meaning_of(match, text->letter, true) : NULL;
	const int lead = text->dots && match->ndots > 0 ? match->ndots : 0;
	struct ir_type t;

	memset(&t, 0, sizeof t);
	if ((text->letter && !letter) || lead + text->rank > IR_MAX_RANK)
		return NULL;
	t.dtype = (uint8_t)(letter ? letter->i : (int64_t)text->dtype);
	t.rank = (uint8_t)(lead + text->rank);
	memcpy(t.dim, match->dots, (size_t)lead * sizeof *t.dim);
	for (int i = 0; i < text->rank; i++) {
		struct rule_number n;
		if (!rule_number(match, text->dim[i], &n) || n.fraction || n.i < 0)
			return NULL;
		t.dim[lead + i] = n.i;
	}
	if (like && t.rank == like->rank && memcmp(t.dim, like->dim, sizeof t.dim) == 0)
		for (int a = 0; a < m->naxes; a++)
			if (like->axis[a].kind == IR_SPLIT || like->axis[a].kind == IR_SINGLE)
				t.axis[a] = like->axis[a];
	return ir_type_check(m, &t, (struct ir_loc){0}, "") ? ir_type_intern(m->ctx, &t) : NULL;
}

/* --- ops of the right side -------------------------------------------------------------------- */

static struct ir_value **
made(struct building *x, const struct ir_value *v)
{
	return &x->value[v->id - x->base];
}

static bool
build_op(struct building *x, const struct ir_op *want)
{
	const struct ir_row *row = op_row(x->m->ctx, want);
	struct ir_value *operand[RULE_MAX_VALUES];
	struct ir_attr attr[ROW_MAX_ATTRS];
	const struct ir_type *written[RULE_MAX_RESULTS];
	const uint8_t same = x->match->pattern->same[want->result[0].id - x->base];
	int n = 0;

	if (x->reuse && same) {
		*made(x, &want->result[0]) = x->match->value[same - 1];
		return true;
	}
	if (want->noperands > RULE_MAX_VALUES || want->nresults > RULE_MAX_RESULTS)
		return false;
	for (int i = 0; i < want->nattrs && i < ROW_MAX_ATTRS; i++) {
		const struct row_attr *r = row_attr_find(row, want->attr[i].key);
		bool absent = false;
		attr[n] = want->attr[i];
		attr[n].loc = (struct ir_loc){0};
		if (!r || !make_attr(x, r, &attr[n], &absent))
			return false;
		n += !absent;
	}
	for (int i = 0; i < want->noperands; i++)
		operand[i] = *made(x, ir_operand(want, i));
	const struct ir_type_text *text = op_is(want, TRAIT_WRITTEN) ? want->written : NULL;
	for (int i = 0; text && i < want->nresults; i++, text = text->next)
		if (!(written[i] = make_type(x->m, x->match, x->like, text)))
			return false;
	struct ir_op *op = ir_op_create(x->m, (enum op_code)want->code, x->before->loc, operand,
		want->noperands, attr, n, want->nresults);
	ir_insert_before(x->before, op);
	if (!ir_infer(x->m, op, op_is(want, TRAIT_WRITTEN) ? written : NULL))
		return false;
	for (int i = 0; i < want->nresults; i++)
		*made(x, &want->result[i]) = &op->result[i];
	return true;
}

/* The value or attribute that a parameter stands for. */
static struct ir_value *
make_param(struct building *x, struct ir_value *v)
{
	struct ir_value *operand[RULE_MAX_VALUES];
	const int n = v->id == RULE_REST ? v->op->noperands - (int)v->index : 0;

	if (!n || n > RULE_MAX_VALUES)
		return n ? NULL : v;
	for (int i = 0; i < n; i++)
		operand[i] = ir_operand(v->op, (int)v->index + i);
	struct ir_op *op = ir_op_create(
		x->m, OP_concat, x->before->loc, operand, n, v->op->attr, v->op->nattrs, 1);
	ir_insert_before(x->before, op);
	return ir_infer(x->m, op, NULL) ? &op->result[0] : NULL;
}

static bool
build_side(struct ir_module *m, const struct rule_match *match, int side, bool reuse,
	struct ir_op *before, const struct ir_type *like, struct ir_value *result[RULE_MAX_RESULTS])
{
	const struct rule_pattern *p = match->pattern;
	const struct ir_rule *r = p->rule;
	const struct ir_block *body = &r->side[side]->body, *left = &r->side[RULE_LEFT]->body;
	const struct ir_op *ret = ir_rule_return(r, side);
	struct building x = {.m = m,
		.side = side,
		.match = match,
		.before = before,
		.like = like,
		.reuse = reuse,
		.base = side == RULE_LEFT ? p->value_base : p->right_base};
	const bool mute = diag_mute(m->ctx->diag, true);
	bool fits = true;

	for (uint32_t i = 0; fits && i < body->nargs; i++) {
		struct ir_value **to = made(&x, &body->arg[i]);
		*to = match->value[rule_value_number(p, &left->arg[i])];
		if (body->arg[i].uses)
			fits = (*to = make_param(&x, *to));
	}
	for (const struct ir_op *op = body->first; fits && op != ret; op = op->next)
		fits = build_op(&x, op);
	diag_mute(m->ctx->diag, mute);
	for (int i = 0; fits && i < ret->noperands; i++)
		result[i] = *made(&x, ir_operand(ret, i));
	return fits;
}

bool
rule_instance(struct ir_module *m, const struct rule_match *match, int side, struct ir_op *before,
	const struct ir_type *like, struct ir_value *result[RULE_MAX_RESULTS])
{
	return build_side(m, match, side, false, before, like, result);
}

/* --- where it is built ------------------------------------------------------------------------ */

static int
root_number(const struct rule_built *b, const struct ir_value *v)
{
	for (int i = 0; i < b->n; i++)
		if (b->from[i] == v)
			return i;
	return -1;
}

static bool
is_root_op(const struct rule_built *b, const struct ir_op *op)
{
	for (int i = 0; i < b->n; i++)
		if (b->from[i]->op == op)
			return true;
	return false;
}

/* The root that is issued first; NULL: the roots are too far from each other. */
static struct ir_op *
first_root(const struct rule_built *b)
{
	struct ir_op *first = b->from[0]->op, *up = first, *down = first;
	int left = 0;

	for (int i = 0; i < b->n; i++) {
		bool counted = b->from[i]->op == first;
		for (int j = 0; j < i; j++)
			counted = counted || b->from[j]->op == b->from[i]->op;
		left += !counted;
	}
	for (int k = 0; k < SPAN && left; k++) {
		up = up ? up->prev : NULL;
		down = down ? down->next : NULL;
		if (up && is_root_op(b, up)) {
			first = up;
			left--;
		}
		left -= down && is_root_op(b, down);
	}
	return left ? NULL : first;
}

/* Is the op at `at` or at most 2 * SPAN ops after it, as ops between the roots are? */
static bool
is_behind(const struct ir_op *at, const struct ir_op *op)
{
	for (int k = 0; at && k < 2 * SPAN; k++, at = at->next)
		if (at == op)
			return true;
	return false;
}

/* Moves an op before `at`, together with its operands: params, and ops computed from them. */
static bool
hoist(struct rule_built *b, struct ir_op *at, struct ir_op *op)
{
	if (!op || !is_behind(at, op))
		return true;
	const bool moves = !op_is(op, TRAIT_EFFECT | TRAIT_PARALLEL) && !op->body &&
			   (op_is(op, TRAIT_PURE) || !op->noperands);
	if (!moves || is_root_op(b, op) || b->nmoved == RULE_MAX_MOVED)
		return false;
	for (int i = 0; i < op->noperands; i++)
		if (!hoist(b, at, ir_operand(op, i)->op))
			return false;
	if (b->nmoved == RULE_MAX_MOVED)
		return false;
	b->moved[b->nmoved].op = op;
	b->moved[b->nmoved++].next = op->next;
	ir_op_unlink(op);
	ir_insert_before(at, op);
	return true;
}

static void
move_back(struct rule_built *b)
{
	while (b->nmoved) {
		struct ir_op *op = b->moved[--b->nmoved].op;
		ir_op_unlink(op);
		ir_insert_before(b->moved[b->nmoved].next, op);
	}
}

/* The first root, after moving all operands of the right side before it; NULL: not possible. */
static struct ir_op *
find_place(struct rule_built *b)
{
	const struct rule_match *match = b->match;
	const struct ir_rule *r = match->pattern->rule;
	const struct ir_block *left = &r->side[RULE_LEFT]->body,
			      *right = &r->side[RULE_RIGHT]->body;
	struct ir_op *at = first_root(b);

	for (uint32_t i = 0; at && b->n > 1 && i < left->nargs; i++) {
		const struct ir_value *v =
			match->value[rule_value_number(match->pattern, &left->arg[i])];
		if (right->arg[i].uses && !hoist(b, at, v->op)) {
			move_back(b);
			return NULL;
		}
	}
	return at;
}

bool
rule_build(struct ir_module *m, const struct rule_match *match, struct rule_built *b)
{
	const struct ir_op *old = ir_rule_return(match->pattern->rule, RULE_LEFT);
	bool fits;

	*b = (struct rule_built){.match = match, .block = match->at->block, .n = old->noperands};
	for (int i = 0; i < b->n; i++)
		b->from[i] = match->value[rule_value_number(match->pattern, ir_operand(old, i))];
	b->after = find_place(b);
	if (!b->after)
		return false;
	b->before = b->after->prev;
	fits = build_side(m, match, RULE_RIGHT, true, b->after, b->from[0]->type, b->to);
	for (int i = 0; fits && i < b->n; i++)
		fits = b->to[i]->type == b->from[i]->type && root_number(b, b->to[i]) < 0;
	if (!fits)
		rule_undo(b);
	return fits;
}

void
rule_undo(struct rule_built *b)
{
	while (b->after->prev != b->before)
		ir_op_erase(b->after->prev);
	move_back(b);
}

/* --- erasing the left side -------------------------------------------------------------------- */

static bool
is_listed(struct ir_op *const *list, int n, const struct ir_op *op)
{
	for (int i = 0; i < n; i++)
		if (list[i] == op)
			return true;
	return false;
}

static bool
is_dead(const struct rule_built *b, struct ir_op *const *dead, int n, const struct ir_op *op)
{
	for (int i = 0; i < op->nresults; i++) {
		for (int k = 0; k < b->n; k++)
			if (b->to[k] == &op->result[i])
				return false;
		if (root_number(b, &op->result[i]) >= 0)
			continue;
		IR_FOR_USES (u, &op->result[i])
			if (!is_listed(dead, n, u->op))
				return false;
	}
	return true;
}

int
rule_dead(const struct rule_built *b, struct ir_op *dead[RULE_MAX_VALUES])
{
	const struct rule_pattern *p = b->match->pattern;
	int n = 0;

	for (const struct ir_op *want = ir_rule_return(p->rule, RULE_LEFT)->prev; want;
		want = want->prev) {
		struct ir_op *op = b->match->value[rule_value_number(p, &want->result[0])]->op;
		if (!is_listed(dead, n, op) && is_dead(b, dead, n, op))
			dead[n++] = op;
	}
	return n;
}

struct ir_op *
rule_next_op(const struct rule_built *b, const struct ir_op *op)
{
	struct ir_op *dead[RULE_MAX_VALUES], *next = op->next;
	const int n = rule_dead(b, dead);

	while (next && is_listed(dead, n, next))
		next = next->next;
	return next;
}

void
rule_commit(struct rule_built *b)
{
	struct ir_op *dead[RULE_MAX_VALUES];
	const int n = rule_dead(b, dead);

	for (int i = 0; i < b->n; i++) {
		if (b->to[i]->op && !b->to[i]->name)
			b->to[i]->name = b->from[i]->name;
		ir_replace_uses(b->from[i], b->to[i]);
	}
	for (int i = 0; i < n; i++)
		ir_op_erase(dead[i]);
}
