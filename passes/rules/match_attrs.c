/*
 * Attributes of rules against those of ops. Both are brought to one form: an attribute that is left
 * out has its default, dims count from 0, and one number for a list is that number for each entry.
 * An attribute that the rule does not mention must have its default.
 */
#include "ir/ops/literal.h"
#include "passes/rules/matcher.h"

#include <string.h>

/* An attribute in normal form. */
struct plain {
	enum { NOTHING, SINGLE, LIST, NAME } form;
	struct ir_attr single;
	struct ir_attr list[IR_MAX_RANK];
	int n;
};

static bool
names_dims(const struct ir_op *op, const char *key)
{
	return strcmp(key, "dims") == 0 || strcmp(key, "perm") == 0 || strcmp(key, "dim") == 0 ||
	       (op->code == OP_alltoall && (strcmp(key, "from") == 0 || strcmp(key, "to") == 0));
}

/* The tensor to whose dims attributes refer. */
static const struct ir_type *
named_type(const struct ir_op *op)
{
	const bool of_result =
		!op->noperands || op->code == OP_broadcast || op->code == OP_scatter_nd;

	return of_result ? op->result[0].type : ir_operand_type(op, 0);
}

static struct ir_attr
entry(int64_t i)
{
	return (struct ir_attr){.kind = ATTR_INT, .i = i};
}

/* The value of a list that an op leaves out. */
static void
plain_absent(const struct ir_op *op, const char *key, struct plain *to)
{
	const struct ir_type *t = named_type(op);
	int64_t dims[IR_MAX_RANK];

	if (strcmp(key, "start") == 0) {
		to->form = SINGLE;
		to->single = entry(0);
	} else if (strcmp(key, "perm") == 0) {
		to->form = LIST;
		for (to->n = 0; to->n < t->rank; to->n++)
			to->list[to->n] = entry(t->rank - 1 - to->n);
	} else if (strcmp(key, "dims") == 0 && op->code != OP_gather_nd &&
		   op->code != OP_scatter_nd) {
		const int n = op->code == OP_broadcast ? ir_operand_type(op, 0)->rank : t->rank;
		to->form = LIST;
		for (to->n = 0; to->n < n; to->n++)
			to->list[to->n] = entry(t->rank - n + to->n);
	} else if (strcmp(key, "limit") == 0) {
		const int n = ir_attr_ints(op, "dims", dims, IR_MAX_RANK);
		to->form = LIST;
		to->n = n < 0 ? t->rank : n;
		for (int i = 0; i < to->n; i++) {
			const int64_t d = n < 0 ? i : dims[i] < 0 ? dims[i] + t->rank : dims[i];
			to->list[i] = entry(t->dim[d]);
		}
	}
}

/* Numbers of a constant are compared after conversion to its element type: -1 is 255 as u8, 0.999
 * is 1 as bf16. */
static void
round_numbers(const struct ir_op *op, struct plain *want, struct plain *have)
{
	const enum ir_dtype t = (enum ir_dtype)op->result[0].type->dtype;
	struct rule_number n;

	if (!rule_number_of(&want->single, &n))
		return;
	if (ir_dtype_class(t) == IR_FLOAT)
		have->single = (struct ir_attr){.kind = ATTR_FLOAT, .f = literal_of_constant(op).f};
	else if (!n.fraction)
		want->single = entry(ir_dtype_wrap(t, n.i));
}

/* An attribute of `op`, or of the rule's op that is matched against it; NULL: left out. */
static void
plain_of(
	const struct ir_op *op, const struct row_attr *r, const struct ir_attr *a, struct plain *to)
{
	const int rank = names_dims(op, r->key) ? named_type(op)->rank : 0;

	*to = (struct plain){.form = NOTHING};
	if (!a && r->has_default) {
		a = &r->otherwise;
	} else if (!a) {
		plain_absent(op, r->key, to);
		return;
	}
	if (a->kind == ATTR_NAME) {
		to->form = NAME;
		to->single = *a;
	} else if (a->kind == ATTR_LIST && a->n <= IR_MAX_RANK) {
		to->form = LIST;
		for (to->n = 0; to->n < a->n; to->n++)
			to->list[to->n] = a->list[to->n];
	} else {
		to->form = SINGLE;
		to->single = *a;
	}
	for (int i = 0; i < to->n; i++)
		if (rank && to->list[i].kind == ATTR_INT && to->list[i].i < 0)
			to->list[i].i += rank;
	if (rank && to->single.kind == ATTR_INT && to->single.i < 0)
		to->single.i += rank;
}

/* Sorts the dims of reductions and of reverse, whose order does not matter. */
static void
sort_dims(const struct ir_context *ctx, const struct ir_op *op, const char *key, struct plain *p)
{
	const struct ir_row *row = op_row(ctx, op);
	bool over = op->code == OP_reverse;

	for (int i = 0; row->pattern && i < row->pattern->out.nitems; i++)
		over = over || (row->pattern->out.item[i].how == '-' &&
				       row->pattern->out.item[i].attr == key);
	for (int i = 0; i < p->n; i++)
		over = over && p->list[i].kind == ATTR_INT;
	for (int i = 1; over && i < p->n; i++)
		for (int j = i; j > 0 && p->list[j - 1].i > p->list[j].i; j--) {
			const struct ir_attr a = p->list[j];
			p->list[j] = p->list[j - 1];
			p->list[j - 1] = a;
		}
}

/* Are both specs equal up to letters, like "bshd,bthd->bhst" and "abcd,aecd->acbe"? */
static bool
same_spec(const char *a, const char *b)
{
	unsigned char there[256] = {0}, back[256] = {0};

	for (; *a && *b; a++, b++) {
		const unsigned char x = (unsigned char)*a, y = (unsigned char)*b;
		if (!there[x] && !back[y]) {
			there[x] = y;
			back[y] = x;
		}
		if (there[x] != y || back[y] != x)
			return false;
		if (strchr(",->.", *a) && *a != *b)
			return false;
	}
	return *a == *b;
}

static bool
match_entry(struct matcher *x, const struct row_attr *r, const struct ir_attr *want,
	const struct ir_attr *have)
{
	struct rule_number a, b;

	if (want->kind == ATTR_SIZE)
		return rule_number_of(have, &b) && matcher_size(x, want->size, b);
	if (rule_number_of(want, &a))
		return rule_number_of(have, &b) && rule_number_equal(a, b);
	if (want->kind != have->kind)
		return false;
	switch (want->kind) {
	case ATTR_STRING:
		return want->s == have->s ||
		       (strcmp(r->key, "spec") == 0 && same_spec(want->s, have->s));
	case ATTR_AXIS:
	case ATTR_DTYPE: return want->i == have->i;
	default: return ir_attr_equal(want, have);
	}
}

/* A name stands for a whole list, an axis, an element type. */
static bool
match_name(struct matcher *x, const struct row_attr *r, const char *name, const struct plain *have)
{
	struct rule_match *match = x->match;
	struct ir_attr value = have->single;

	if (r->type == ROW_AXIS || r->type == ROW_DTYPE) {
		if (have->form != SINGLE)
			return false;
		if (r->type == ROW_DTYPE && !row_letter_fits(*name, (enum ir_dtype)value.i))
			return false;
		return matcher_name(x, name, r->type == ROW_DTYPE, value);
	}
	if (have->form != LIST)
		return matcher_name(x, name, false, (struct ir_attr){.kind = RULE_ABSENT});
	if (match->nitems + have->n > RULE_MAX_ITEMS)
		return false;
	struct ir_attr *list = &match->item[match->nitems];
	for (int i = 0; i < have->n; i++)
		list[i] = have->list[i];
	match->nitems += have->n;
	return matcher_name(x, name, false,
		(struct ir_attr){.kind = ATTR_LIST, .n = (uint16_t)have->n, .list = list});
}

/* One number for all entries of a list of n. */
static void
spread(struct plain *p, int n)
{
	for (p->n = 0; p->n < n; p->n++)
		p->list[p->n] = p->single;
	p->form = LIST;
}

static bool
match_attr(struct matcher *x, const struct row_attr *r, const struct ir_op *want,
	const struct ir_op *have)
{
	struct plain w, h;

	plain_of(have, r, ir_attr_find(want, r->key), &w);
	plain_of(have, r, ir_attr_find(have, r->key), &h);
	if (have->code == OP_constant)
		round_numbers(have, &w, &h);
	sort_dims(x->m->ctx, have, r->key, &w);
	sort_dims(x->m->ctx, have, r->key, &h);
	if (w.form == NAME)
		return match_name(x, r, w.single.s, &h);
	if (w.form == NOTHING || h.form == NOTHING)
		return w.form == h.form;
	if (w.form == SINGLE && h.form == LIST)
		spread(&w, h.n);
	else if (w.form == LIST && h.form == SINGLE)
		spread(&h, w.n);
	if (w.form == SINGLE)
		return match_entry(x, r, &w.single, &h.single);
	for (int i = 0; i < w.n && w.n == h.n; i++)
		if (!match_entry(x, r, &w.list[i], &h.list[i]))
			return false;
	return w.n == h.n;
}

/* --- slices and pads of all dims -------------------------------------------------------------- */

/* An op that names the dims that it changes, in place of one with lists for all dims. */
struct few_dims {
	struct ir_attr attr[ROW_MAX_ATTRS + 1], item[ROW_MAX_ATTRS + 1][IR_MAX_RANK];
	struct ir_op op; /* without results */
};

/* Would the dim be the same if the op had no such entry of a list? */
static bool
is_whole(const struct ir_type *t, const char *key, int dim, const struct ir_attr *entry)
{
	return entry->kind == ATTR_INT && entry->i == (strcmp(key, "limit") == 0 ? t->dim[dim]
							      : strcmp(key, "step") == 0 ? 1
											 : 0);
}

/* The dims that lists of a slice or pad change; returns how many, -1: it has no lists for all dims. */
static int
changed_dims(const struct ir_op *op, int dim[IR_MAX_RANK])
{
	const struct ir_type *t = ir_operand_type(op, 0);
	int n = 0;

	for (int i = 0; i < op->nattrs; i++)
		if (op->attr[i].kind == ATTR_LIST && op->attr[i].n != t->rank)
			return -1;
	for (int d = 0; d < t->rank; d++) {
		bool whole = true;
		for (int i = 0; i < op->nattrs; i++)
			if (op->attr[i].kind == ATTR_LIST)
				whole = whole &&
					is_whole(t, op->attr[i].key, d, &op->attr[i].list[d]);
		if (!whole)
			dim[n++] = d;
	}
	if (!n && t->rank)
		dim[n++] = 0; /* none, and so any one */
	return n;
}

/* The op as one that names dims, if the rule's does so. */
static const struct ir_op *
name_dims(const struct ir_op *want, const struct ir_op *have, struct few_dims *few)
{
	const struct ir_attr *dims =
		have->code == OP_slice || have->code == OP_pad ? ir_attr_find(want, "dims") : NULL;
	int dim[IR_MAX_RANK];

	if (!dims || dims->kind != ATTR_LIST || ir_attr_find(have, "dims") ||
		have->nattrs > ROW_MAX_ATTRS || changed_dims(have, dim) != dims->n)
		return have;
	few->op = *have;
	few->op.attr = few->attr;
	few->op.nattrs = (uint16_t)(have->nattrs + 1);
	for (int i = 0; i <= have->nattrs; i++) {
		struct ir_attr *a = &few->attr[i];
		*a = i < have->nattrs ? have->attr[i] : *dims;
		if (a->kind != ATTR_LIST)
			continue;
		for (int k = 0; k < dims->n; k++)
			few->item[i][k] = i < have->nattrs ? a->list[dim[k]] : entry(dim[k]);
		a->list = few->item[i];
		a->n = dims->n;
	}
	return &few->op;
}

bool
matcher_attrs(struct matcher *x, const struct ir_op *want, const struct ir_op *have)
{
	const struct ir_row *row = op_row(x->m->ctx, have);
	struct few_dims few;

	have = name_dims(want, have, &few);
	for (int i = 0; i < row->nattrs; i++)
		if (!match_attr(x, &row->attr[i], want, have))
			return false;
	return true;
}
