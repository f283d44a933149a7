/* Sizes and written types of templates: evaluation. */
#include "ir/template.h"

#include "ir/base/alloc.h"
#include "ir/base/suggest.h"

#include <inttypes.h>
#include <string.h>
#include <talloc.h>

enum { NAMES_SHOWN = 20 }; /* of lets and of axes, in a message */

#define SIZE_FAIL(scope, loc, ...) (diag_error((scope)->m->ctx->diag, loc, __VA_ARGS__), false)

/* "B, T, D": the names of the lets, or of the axes, of a module; or "none". */
static char *
names_text(const void *owner, const struct ir_module *m, bool lets)
{
	const int n = lets ? m->nlets : m->naxes;
	char *text = text_copy(owner, n ? "" : "none");

	for (int i = 0; i < n && i < NAMES_SHOWN; i++)
		text = text_append(
			text, i ? ", %s" : "%s", lets ? m->let[i].name : m->axis[i].name);
	return n > NAMES_SHOWN ? text_append(text, " ...") : text;
}

/* Reports a name without a value, and lists those that have one. */
static bool
size_unknown(const struct ir_size_scope *scope, const struct ir_size *s)
{
	const struct ir_module *m = scope->m;
	struct suggestion near = suggestion_for(s->name);
	void *scratch = alloc_scratch(NULL);

	for (int i = 0; i < m->nlets; i++)
		suggestion_add(&near, m->let[i].name);
	diag_error(m->ctx->diag, s->loc, "the size '%s' has no value%s", s->name,
		suggestion_text(scratch, &near));
	diag_note(m->ctx->diag, s->loc,
		"expected a let%s; lets of the module: %s; its axes, which split a dim after its "
		"size: %s",
		scope->call ? " or an attribute of the call" : "", names_text(scratch, m, true),
		names_text(scratch, m, false));
	talloc_free(scratch);
	return false;
}

static bool
size_name(const struct ir_size_scope *scope, const struct ir_size *s, int64_t *value)
{
	const struct ir_attr *a = scope->call ? ir_attr_find(scope->call, s->name) : NULL;

	if (a && a->kind == ATTR_INT) {
		*value = a->i;
		return true;
	}
	if (a && a->kind == ATTR_FLOAT)
		return SIZE_FAIL(scope, s->loc, "'%s' is %g; expected an integer", s->name, a->f);
	const struct ir_let *let = ir_let_find(scope->m, s->name);
	if (let) {
		*value = let->value;
		return true;
	}
	if (ir_axis_find(scope->m, s->name) >= 0)
		return SIZE_FAIL(scope, s->loc,
			"'%s' is an axis: it can only be used to split a dim, after its size",
			s->name);
	return size_unknown(scope, s);
}

/* Dimension `at` of a type, counted from the end where negative. */
static bool
size_dim(const struct ir_size_scope *scope, const struct ir_size *s, int64_t at, int64_t *value)
{
	const struct ir_type *t = scope->type_of ? scope->type_of(scope->data, s->name) : NULL;

	if (!t)
		return SIZE_FAIL(scope, s->loc, "the type of %%%s is not known here", s->name);
	int64_t dim = at < 0 ? at + t->rank : at;
	if (dim < 0 || dim >= t->rank)
		return SIZE_FAIL(scope, s->loc, "%%%s has rank %d; dim %" PRId64 " does not exist",
			s->name, t->rank, at);
	*value = t->dim[dim];
	return true;
}

static bool
size_divide(const struct ir_size_scope *scope, const struct ir_size *s, int64_t x, int64_t y,
	int64_t *value)
{
	if (y == 0)
		return SIZE_FAIL(scope, s->loc, "division by 0");
	if (y == -1 ? x == INT64_MIN : x % y != 0)
		return SIZE_FAIL(scope, s->loc, "%" PRId64 " is not a multiple of %" PRId64, x, y);
	*value = x / y;
	return true;
}

bool
ir_size_join(enum size_kind kind, int64_t x, int64_t y, int64_t *to)
{
	switch (kind) {
	case SIZE_NEG: return !__builtin_sub_overflow((int64_t)0, x, to);
	case SIZE_ADD: return !__builtin_add_overflow(x, y, to);
	case SIZE_SUB: return !__builtin_sub_overflow(x, y, to);
	case SIZE_MUL: return !__builtin_mul_overflow(x, y, to);
	default:
		if (kind != SIZE_DIV || y == 0 || y == -1 || x % y != 0)
			return false;
		*to = x / y;
		return true;
	}
}

double
ir_size_join_real(enum size_kind kind, double x, double y)
{
	switch (kind) {
	case SIZE_NEG: return -x;
	case SIZE_ADD: return x + y;
	case SIZE_SUB: return x - y;
	case SIZE_MUL: return x * y;
	default: return x / y;
	}
}

bool
ir_size_eval(const struct ir_size_scope *scope, const struct ir_size *s, int64_t *value)
{
	int64_t x = 0, y = 0;
	bool fits = true;

	for (int i = 0; i < 2; i++)
		if (s->arg[i] && !ir_size_eval(scope, s->arg[i], i ? &y : &x))
			return false;
	switch ((enum size_kind)s->kind) {
	case SIZE_INT: *value = s->i; break;
	case SIZE_NAME: return size_name(scope, s, value);
	case SIZE_DIM: return size_dim(scope, s, x, value);
	case SIZE_DIV: return size_divide(scope, s, x, y, value);
	default: fits = ir_size_join((enum size_kind)s->kind, x, y, value);
	}
	return fits || SIZE_FAIL(scope, s->loc, "the size does not fit in 64 bits");
}

/* Does the call give a name in the expression a number with a fraction? */
static bool
size_has_fraction(const struct ir_size_scope *scope, const struct ir_size *s)
{
	const struct ir_attr *a =
		s->kind == SIZE_NAME && scope->call ? ir_attr_find(scope->call, s->name) : NULL;

	return (a && a->kind == ATTR_FLOAT) || (s->arg[0] && size_has_fraction(scope, s->arg[0])) ||
	       (s->arg[1] && size_has_fraction(scope, s->arg[1]));
}

/* Evaluates in floating point; parts without fractions are evaluated as integers. */
static bool
size_real(const struct ir_size_scope *scope, const struct ir_size *s, double *value)
{
	double x = 0, y = 0;
	int64_t i = 0;

	if (s->kind == SIZE_NAME && size_has_fraction(scope, s)) {
		*value = ir_attr_find(scope->call, s->name)->f;
		return true;
	}
	if (s->kind == SIZE_INT || s->kind == SIZE_NAME || s->kind == SIZE_DIM) {
		const bool ok = ir_size_eval(scope, s, &i);
		*value = (double)i;
		return ok;
	}
	if (!size_real(scope, s->arg[0], &x) || (s->arg[1] && !size_real(scope, s->arg[1], &y)))
		return false;
	*value = ir_size_join_real((enum size_kind)s->kind, x, y);
	return y != 0 || s->kind != SIZE_DIV || SIZE_FAIL(scope, s->loc, "division by 0");
}

bool
ir_size_number(
	const struct ir_size_scope *scope, const struct ir_size *s, double *value, bool *fraction)
{
	int64_t i = 0;

	*fraction = size_has_fraction(scope, s);
	if (*fraction)
		return size_real(scope, s, value);
	if (!ir_size_eval(scope, s, &i))
		return false;
	*value = (double)i;
	return true;
}

/* Gives axis `name` its state in the type; an axis has one state only. */
static struct ir_state *
resolve_axis(
	const struct ir_size_scope *scope, struct ir_type *t, const char *name, struct ir_loc loc)
{
	int axis = ir_axis_find(scope->m, name);

	if (axis < 0) {
		diag_error(scope->m->ctx->diag, loc, "'%s' is not an axis of the module", name);
		return NULL;
	}
	if (t->axis[axis].kind != IR_COPIED) {
		diag_error(scope->m->ctx->diag, loc, "axis '%s' appears twice in one type", name);
		return NULL;
	}
	return &t->axis[axis];
}

/* Splits "64/dp/mb" into the size 64 and the axes; the one written first is the outermost. */
static bool
resolve_dim(const struct ir_size_scope *scope, struct ir_type *t, int dim, const struct ir_size *s)
{
	const struct ir_size *axis[IR_MAX_AXES + 1];
	int n = 0;

	while (n <= IR_MAX_AXES && s->kind == SIZE_DIV && s->arg[1]->kind == SIZE_NAME &&
		ir_axis_find(scope->m, s->arg[1]->name) >= 0) {
		axis[n++] = s->arg[1];
		s = s->arg[0];
	}
	if (!ir_size_eval(scope, s, &t->dim[dim]))
		return false;
	if (t->dim[dim] < 1)
		return SIZE_FAIL(
			scope, s->loc, "a size must be at least 1, not %" PRId64, t->dim[dim]);
	for (int order = 0; order < n; order++) {
		const struct ir_size *name = axis[n - 1 - order];
		struct ir_state *state = resolve_axis(scope, t, name->name, name->loc);
		if (!state)
			return false;
		*state = (struct ir_state){IR_SPLIT, (uint8_t)dim, (uint16_t)order};
	}
	return true;
}

static bool
resolve_suffix(
	const struct ir_size_scope *scope, struct ir_type *t, const struct ir_type_suffix *suffix)
{
	struct ir_state *state = resolve_axis(scope, t, suffix->axis, suffix->loc);
	int64_t place;

	if (!state)
		return false;
	if (!suffix->place) {
		state->kind = IR_PARTIAL;
		return true;
	}
	int32_t size = ir_axis_stages(&scope->m->axis[state - t->axis]);
	if (!ir_size_eval(scope, suffix->place, &place))
		return false;
	if (place < 0 || place >= size)
		return SIZE_FAIL(scope, suffix->loc,
			"axis '%s' has positions 0 to %d, not %" PRId64, suffix->axis, size - 1,
			place);
	*state = (struct ir_state){IR_SINGLE, 0, (uint16_t)place};
	return true;
}

/* Parts that only types in rules have: a letter, given by the call, and dims in front. */
static bool
resolve_rule(const struct ir_size_scope *scope, const struct ir_type_text *text, struct ir_type *t)
{
	const struct ir_attr *letter =
				     text->letter ? ir_attr_find(scope->call, text->letter) : NULL,
			     *dots = text->dots ? ir_attr_find(scope->call, "..") : NULL;

	if ((text->letter && !letter) || (text->dots && !dots))
		return SIZE_FAIL(scope, text->loc, "the type is not known here");
	if (letter)
		t->dtype = (uint8_t)letter->i;
	if (!dots)
		return true;
	if (dots->n + text->rank > IR_MAX_RANK)
		return SIZE_FAIL(scope, text->loc, "a type has at most %d dims", IR_MAX_RANK);
	t->rank = (uint8_t)(dots->n + text->rank);
	for (int i = 0; i < dots->n; i++)
		t->dim[i] = dots->list[i].i;
	return true;
}

const struct ir_type *
ir_type_resolve(const struct ir_size_scope *scope, const struct ir_type_text *text)
{
	struct ir_type t;

	memset(&t, 0, sizeof t);
	t.dtype = (uint8_t)text->dtype;
	t.rank = (uint8_t)text->rank;
	t.memory = (uint8_t)text->memory;
	if ((text->letter || text->dots) && !resolve_rule(scope, text, &t))
		return NULL;
	for (int i = 0; i < text->rank; i++)
		if (!resolve_dim(scope, &t, t.rank - text->rank + i, text->dim[i]))
			return NULL;
	for (int i = 0; i < text->nsuffixes; i++)
		if (!resolve_suffix(scope, &t, &text->suffix[i]))
			return NULL;
	if (!ir_type_check(scope->m, &t, text->loc, "the written type"))
		return NULL;
	return ir_type_intern(scope->m->ctx, &t);
}

void
ir_size_names(const struct ir_size *s, ir_see_name *see, void *data)
{
	if (s->kind == SIZE_NAME)
		see(data, s->name);
	for (int i = 0; i < 2; i++)
		if (s->arg[i])
			ir_size_names(s->arg[i], see, data);
}

void
ir_attr_names(const struct ir_attr *a, ir_see_name *see, void *data)
{
	if (a->kind == ATTR_SIZE)
		ir_size_names(a->size, see, data);
	for (int i = 0; a->kind == ATTR_LIST && i < a->n; i++)
		ir_attr_names(&a->list[i], see, data);
}

static void
names_of_block(const struct ir_block *b, ir_see_name *see, void *data)
{
	IR_FOR_OPS (op, b) {
		for (int i = 0; i < op->nattrs; i++)
			ir_attr_names(&op->attr[i], see, data);
		for (const struct ir_type_text *t = op->written; t; t = t->next) {
			for (int i = 0; i < t->rank; i++)
				ir_size_names(t->dim[i], see, data);
			for (int i = 0; i < t->nsuffixes; i++)
				if (t->suffix[i].place)
					ir_size_names(t->suffix[i].place, see, data);
		}
		if (op->body)
			names_of_block(op->body, see, data);
	}
}

void
ir_template_names(const struct ir_func *f, ir_see_name *see, void *data)
{
	names_of_block(&f->body, see, data);
}
