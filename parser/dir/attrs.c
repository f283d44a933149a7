/*
 * Attributes. The row of the op defines the meaning of a bare word (an axis, an element type, true
 * or false, a size) and the valid values. In a template sizes that are not plain numbers stay
 * expressions.
 */
#include "parser/dir/parser.h"

#include "ir/base/suggest.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <talloc.h>

struct ir_attr
attr_of_size(struct parser *p, struct size_value s, struct ir_loc loc)
{
	if (s.minimum) /* reported when the number is needed */
		return (struct ir_attr){
			.kind = ATTR_SIZE, .loc = loc, .size = size_tree(p, s, loc)};
	if (!s.tree)
		return (struct ir_attr){.kind = ATTR_INT, .loc = loc, .i = s.i};
	if (s.tree->kind == SIZE_NAME)
		return (struct ir_attr){.kind = ATTR_NAME, .loc = loc, .s = s.tree->name};
	return (struct ir_attr){.kind = ATTR_SIZE, .loc = loc, .size = s.tree};
}

struct ir_attr
attr_of_product(struct parser *p, struct size_value s, struct ir_attr quantity,
	struct ir_loc of_size, struct ir_loc loc)
{
	int64_t factor = 1;

	if (!size_number(p, s, of_size, &factor))
		p->stmt.poisoned = true;
	quantity.f *= (double)factor;
	quantity.loc = loc;
	return quantity;
}

struct ir_attr
attr_of_list(struct parser *p, int n, struct ir_loc loc)
{
	struct ir_attr *list = ARENA_ARRAY(p->m->arena, struct ir_attr, n);

	p->item.n -= n;
	for (int i = 0; i < n; i++)
		list[i] = p->item.at[p->item.n + i];
	if (n > PARSE_MAX_LIST) {
		PARSE_ERROR(p, loc, "a list has at most %d items", PARSE_MAX_LIST);
		p->stmt.poisoned = true;
		n = 0;
	}
	return (struct ir_attr){.kind = ATTR_LIST, .n = (uint16_t)n, .loc = loc, .list = list};
}

void
attr_push(struct parser *p, struct named key, struct ir_attr value)
{
	value.key = key.name;
	for (int i = 0; i < p->attr.n; i++) {
		if (p->attr.at[i].key != value.key)
			continue;
		PARSE_ERROR(p, key.loc, "'%s' is given twice", value.key);
		p->stmt.poisoned = true;
	}
	VEC_PUSH(p, &p->attr, value);
	VEC_PUSH(p, &p->key, key.loc);
}

/* The kind of a value, for messages. */
static const char *
attr_words(const struct ir_attr *a)
{
	switch ((enum attr_kind)a->kind) {
	case ATTR_INT:
	case ATTR_SIZE: return "an integer";
	case ATTR_FLOAT: return "a number with a fraction";
	case ATTR_STRING: return "a string";
	case ATTR_QUANTITY: return "a quantity with a unit";
	case ATTR_LIST: return "a list";
	default: return "a word";
	}
}

static bool
attr_misfit(struct parser *p, const char *what, const char *want, const struct ir_attr *a)
{
	if (a->kind == ATTR_NAME)
		PARSE_ERROR(p, a->loc, "%s must be %s, not '%s'", what, want, a->s);
	else
		PARSE_ERROR(p, a->loc, "%s must be %s, not %s", what, want, attr_words(a));
	return false;
}

/* An integer: a number, or an expression, which a template keeps. */
static bool
attr_to_int(struct parser *p, const char *what, const char *want, struct ir_attr *a)
{
	struct size_value s = {0};

	if (a->kind == ATTR_INT)
		return true;
	if (a->kind == ATTR_NAME && (p->template || ir_let_find(p->m, a->s))) {
		s = size_name(p, a->s, a->loc);
	} else if (a->kind == ATTR_SIZE) {
		s.tree = a->size;
	} else {
		return attr_misfit(p, what, want, a);
	}
	if (p->template) {
		a->kind = ATTR_SIZE;
		a->size = s.tree;
		return true;
	}
	a->kind = ATTR_INT;
	return size_number(p, s, a->loc, &a->i);
}

/* "inf", "nan" and "-inf" are words for the grammar. */
static bool
attr_is_special(const struct ir_attr *a, double *value)
{
	bool minus = a->kind == ATTR_SIZE && a->size->kind == SIZE_NEG &&
		     a->size->arg[0]->kind == SIZE_NAME;
	const char *name = a->kind == ATTR_NAME ? a->s : minus ? a->size->arg[0]->name : "";

	if (strcmp(name, "inf") != 0 && strcmp(name, "nan") != 0)
		return false;
	*value = *name == 'n' ? NAN : minus ? -INFINITY : INFINITY;
	return true;
}

static bool
attr_to_number(struct parser *p, const char *what, enum row_attr_type type, struct ir_attr *a)
{
	double special;
	bool word = a->kind == ATTR_NAME && type == ROW_SCALAR;

	if (a->kind == ATTR_FLOAT || a->kind == ATTR_QUANTITY)
		return true;
	if (attr_is_special(a, &special)) {
		a->kind = ATTR_FLOAT;
		a->f = special;
		return true;
	}
	if (word && (strcmp(a->s, "true") == 0 || strcmp(a->s, "false") == 0)) {
		a->kind = ATTR_INT;
		a->i = *a->s == 't';
		return true;
	}
	if (!attr_to_int(p, what, row_attr_type_name(type), a))
		return false;
	if (type == ROW_FLOAT && a->kind == ATTR_INT) {
		a->kind = ATTR_FLOAT;
		a->f = (double)a->i;
	}
	return true;
}

static bool
attr_to_axis(struct parser *p, const char *what, struct ir_attr *a)
{
	if (a->kind != ATTR_NAME)
		return attr_misfit(p, what, "an axis", a);
	if (p->rules)
		return true;
	int axis = ir_axis_find(p->m, a->s);
	if (axis < 0) {
		struct suggestion near = suggestion_for(a->s);
		for (int i = 0; i < p->m->naxes; i++)
			suggestion_add(&near, p->m->axis[i].name);
		char *text = suggestion_text(NULL, &near);
		PARSE_ERROR(p, a->loc, "'%s' is not an axis of the module%s", a->s, text);
		talloc_free(text);
		return false;
	}
	a->kind = ATTR_AXIS;
	a->i = axis;
	return true;
}

static bool
attr_to_dtype(struct parser *p, const char *what, struct ir_attr *a)
{
	int t = a->kind == ATTR_NAME ? ir_dtype_find(a->s) : -1;

	if (p->rules && t < 0 && a->kind == ATTR_NAME && type_letter(a->s))
		return true;
	if (t < 0)
		return attr_misfit(p, what, "an element type such as f32", a);
	a->kind = ATTR_DTYPE;
	a->i = t;
	return true;
}

static bool
attr_to_bool(struct parser *p, const char *what, struct ir_attr *a)
{
	if (a->kind != ATTR_NAME || (strcmp(a->s, "true") != 0 && strcmp(a->s, "false") != 0))
		return attr_misfit(p, what, "true or false", a);
	a->i = *a->s == 't';
	a->kind = ATTR_BOOL;
	return true;
}

static bool
attr_to_list(struct parser *p, const char *what, enum row_attr_type type, struct ir_attr *a)
{
	struct ir_attr *list = (struct ir_attr *)(uintptr_t)a->list; /* attr_of_list made it */
	bool ok = true;

	if (a->kind == ATTR_NAME && p->rules) /* any list */
		return true;
	if (a->kind != ATTR_LIST)
		return attr_misfit(p, what, row_attr_type_name(type), a);
	for (int i = 0; i < a->n; i++)
		ok = (type == ROW_NUMBERS
				     ? attr_to_number(p, what, ROW_SCALAR, &list[i])
				     : attr_to_int(p, what, row_attr_type_name(type), &list[i])) &&
		     ok;
	return ok;
}

static bool
attr_convert(struct parser *p, const char *what, enum row_attr_type type, struct ir_attr *a)
{
	switch (type) {
	case ROW_INT: return attr_to_int(p, what, row_attr_type_name(type), a);
	case ROW_FLOAT:
	case ROW_SCALAR: return attr_to_number(p, what, type, a);
	case ROW_BOOL: return attr_to_bool(p, what, a);
	case ROW_AXIS: return attr_to_axis(p, what, a);
	case ROW_DTYPE: return attr_to_dtype(p, what, a);
	case ROW_INTS:
	case ROW_SIZES:
	case ROW_NUMBERS: return attr_to_list(p, what, type, a);
	case ROW_STRING:
		return a->kind == ATTR_STRING || attr_misfit(p, what, "a string in quotes", a);
	}
	return false;
}

static bool
attr_unknown(struct parser *p, const struct ir_row *row, const struct ir_attr *a, struct ir_loc loc)
{
	struct suggestion near = suggestion_for(a->key);

	for (int i = 0; i < row->nattrs; i++)
		suggestion_add(&near, row->attr[i].key);
	char *text = suggestion_text(NULL, &near);
	PARSE_ERROR(p, loc, "%s has no attribute '%s'%s", row->name, a->key, text);
	talloc_free(text);
	return false;
}

bool
attrs_resolve(struct parser *p, const struct ir_row *row)
{
	bool ok = true;

	for (int i = 0; i < p->attr.n; i++) {
		struct ir_attr *a = &p->attr.at[i];
		const struct row_attr *def = row_attr_find(row, a->key);
		if (def)
			ok = attr_convert(p, a->key, def->type, a) && ok;
		else if (row->more_attrs)
			ok = (a->kind == ATTR_FLOAT ||
				     attr_to_int(p, a->key, "a size or a number", a)) &&
			     ok;
		else
			ok = attr_unknown(p, row, a, p->key.at[i]) && ok;
	}
	return ok;
}
