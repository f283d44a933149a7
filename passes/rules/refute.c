/*
 * Counterexamples to rules: random small sizes, attributes, element types, layouts and elements, on
 * which the interpreter runs both sides. Sizes grow with the tries, so that the first
 * counterexample is a small one. Elements are mostly small integers, on which sums and products are
 * exact in any order.
 *
 * Proofs assume that elements are finite, divisors are not 0 and roots and logarithms have positive
 * arguments. So a difference does not count if an op makes infinities or NaNs of operands without
 * them.
 */
#include "passes/rules/verify.h"

#include "ir/base/alloc.h"
#include "ir/base/mix.h"
#include "ir/base/vec.h"
#include "ir/instance.h"
#include "ir/interp/interp.h"
#include "ir/ops/row.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <string.h>
#include <talloc.h>

enum {
	MAX_SIZE = 4,         /* of a dim: the smallest with two different factors, 2 and 4 / 2 */
	MAX_DOTS = 2,         /* dims that `..` stands for: none, one, several */
	AXIS_SIZE = 2,        /* of a mesh axis */
	MAX_LIST = 4,         /* items of a list */
	MAX_NUMBER = 256,     /* values below it, some of which sums of bytes cannot have */
	MAX_ELEMENTS = 4096,  /* of a tensor, which such a number may make large */
	MAX_PARAMS = 32,      /* of a rule; the longest published ones have 8 */
	SAMPLE_TRIES = 4,     /* element types and elements for each sample */
	LAYOUT_DRAWS = 2000,  /* of attributes and sizes; all layouts are tried for each */
	LAYOUT_SIZE = 4,      /* of a dim there: two axes of AXIS_SIZE split it */
	LAYOUTS_MOST = 20000, /* limit on tries, for rules of many operands */
};

/* The value of a name. */
enum draw_kind {
	DRAW_SIZE,
	DRAW_INT,
	DRAW_NUMBER, /* an integer or a fraction */
	DRAW_INTS,
	DRAW_SIZES,
	DRAW_AXIS,
	DRAW_DTYPE,
	DRAW_DOTS,
};

struct draw {
	const char *name;
	enum draw_kind kind;
};

/* Kinds of elements. */
enum style { STYLE_SMALL, STYLE_NOT_NEGATIVE, STYLE_POSITIVE, STYLE_FINE };

struct refuter {
	const struct ir_rule *rule;
	struct ir_context *ctx;
	struct VEC(struct draw) draw;
	bool layouts; /* the rule has parallelization ops, so its operands have layouts */
	uint64_t random;
	int most; /* size of a dim in this try */
	int list; /* items of most lists in it, as those of one op are of the same length */
	struct ir_op *call; /* the attributes have been drawn */
	struct ir_attr *attr;
	const struct ir_type *type[MAX_PARAMS];
	const struct rule_sample *sample; /* NULL: all values are drawn */
	char *said;                       /* the last error on the second side */
};

static int64_t
below(struct refuter *r, int n)
{
	return mix64_below(&r->random, (uint32_t)n);
}

/* --- names --------------------------------------------------------------------------------------
 */

/* A name with two roles has the one listed first. */
static void
see(struct refuter *r, const char *name, enum draw_kind kind)
{
	for (int64_t i = 0; i < r->draw.n; i++)
		if (r->draw.at[i].name == name) {
			if (kind < r->draw.at[i].kind)
				r->draw.at[i].kind = kind;
			return;
		}
	VEC_PUSH(r->call, &r->draw, (struct draw){name, kind});
}

static void
see_size(struct refuter *r, const struct ir_size *s, enum draw_kind kind)
{
	if (s->kind == SIZE_NAME)
		see(r, s->name, kind);
	for (int i = 0; i < 2; i++)
		if (s->arg[i])
			see_size(r, s->arg[i], kind);
}

static void
see_type(struct refuter *r, const struct ir_type_text *t)
{
	if (t->dots)
		see(r, ir_name(r->ctx, ".."), DRAW_DOTS);
	if (t->letter)
		see(r, t->letter, DRAW_DTYPE);
	for (int i = 0; i < t->rank; i++)
		see_size(r, t->dim[i], DRAW_SIZE);
}

static enum draw_kind
kind_of(enum row_attr_type type, bool item)
{
	switch (type) {
	case ROW_FLOAT:
	case ROW_SCALAR:
	case ROW_NUMBERS: return DRAW_NUMBER;
	case ROW_SIZES: return item ? DRAW_SIZE : DRAW_SIZES;
	case ROW_INTS: return item ? DRAW_INT : DRAW_INTS;
	case ROW_AXIS: return DRAW_AXIS;
	case ROW_DTYPE: return DRAW_DTYPE;
	default: return DRAW_INT;
	}
}

static void
see_attr(struct refuter *r, enum row_attr_type type, const struct ir_attr *a, bool item)
{
	if (a->kind == ATTR_SIZE)
		see_size(r, a->size, kind_of(type, item));
	if (a->kind == ATTR_NAME)
		see(r, a->s, kind_of(type, false));
	for (int i = 0; a->kind == ATTR_LIST && i < a->n; i++)
		see_attr(r, type, &a->list[i], true);
}

static void
see_block(struct refuter *r, const struct ir_block *b)
{
	IR_FOR_OPS (op, b) {
		const struct ir_type_text *w = op->written;
		const bool integer = w && (w->letter ? *w->letter == 'Z' || *w->letter == 'I'
						     : ir_dtype_class(w->dtype) != IR_FLOAT);
		r->layouts = r->layouts || op_is(op, TRAIT_PARALLEL);
		for (int i = 0; i < op->nattrs; i++) {
			const struct row_attr *row =
				row_attr_find(op_row(r->ctx, op), op->attr[i].key);
			if (row)
				see_attr(r,
					integer && row->type == ROW_SCALAR ? ROW_INT : row->type,
					&op->attr[i], false);
		}
		for (const struct ir_type_text *t = op->written; t; t = t->next)
			see_type(r, t);
		if (op->body)
			see_block(r, op->body);
	}
}

/* In the order in which they appear. */
static void
see_rule(struct refuter *r)
{
	const struct ir_block *left = &r->rule->side[RULE_LEFT]->body;

	for (uint32_t i = 0; i < left->nargs; i++)
		see_type(r, r->rule->param[i]);
	for (int side = RULE_LEFT; side <= RULE_RIGHT; side++)
		see_block(r, &r->rule->side[side]->body);
	for (int i = 0; i < r->rule->nwhere; i++)
		for (int k = 0; k < 2; k++)
			see_size(r, r->rule->where[i].arg[k], DRAW_INT);
}

/* --- draws --------------------------------------------------------------------------------------
 */

static enum ir_dtype
draw_dtype(struct refuter *r, char letter)
{
	static const enum ir_dtype any[] = {IR_f64, IR_i64, IR_bool, IR_u8},
				   number[] = {IR_f64, IR_f64, IR_i64, IR_u8},
				   integer[] = {IR_i64, IR_u8, IR_i8, IR_i32},
				   logical[] = {IR_bool, IR_i64, IR_bool, IR_u8},
				   index[] = {IR_i32, IR_i32, IR_u8, IR_i64};
	const int64_t k = below(r, r->most == 2 ? 2 : 4); /* usual types first */

	switch (letter) {
	case 'T': return any[k];
	case 'N': return number[k];
	case 'Z': return integer[k];
	case 'L': return logical[k];
	case 'I': return index[k];
	default: return IR_f64;
	}
}

/* A list attribute of an op: dims in some order, some dims, or any integers. */
static int
draw_list(struct refuter *r, enum draw_kind kind, int64_t *item)
{
	const int64_t how = kind == DRAW_SIZES ? -1 : below(r, 4);
	const int rank = below(r, 4) ? r->list : (int)below(r, MAX_LIST + 1);
	int n = 0;

	for (int i = 0; i < rank; i++) {
		if (how < 0) {
			item[n++] = 1 + below(r, r->most);
		} else if (how < 2) {
			const int64_t at = below(r, i + 1);
			item[n++] = item[at];
			item[at] = i;
		} else if (how == 3) {
			item[n++] = below(r, 6) - 2;
		} else if (below(r, 2)) {
			item[n++] = i;
		}
	}
	return n;
}

static void
draw_name(struct refuter *r, struct ir_module *m, const struct draw *d, struct ir_attr *a)
{
	int64_t item[MAX_LIST];

	switch (d->kind) {
	case DRAW_SIZE: *a = ir_make_int(r->ctx, d->name, 1 + below(r, r->most)); break;
	case DRAW_NUMBER:
		if (!below(r, 4)) {
			*a = ir_make_float(r->ctx, d->name, (double)(below(r, 9) - 4) / 2);
			break;
		}
		/* fall through */
	case DRAW_INT:
		*a = ir_make_int(r->ctx, d->name,
			r->most > 2 && !below(r, 4) ? below(r, MAX_NUMBER)
						    : below(r, 7) - (below(r, 2) ? 3 : 0));
		break;
	case DRAW_INTS:
	case DRAW_SIZES: *a = ir_make_ints(m, d->name, item, draw_list(r, d->kind, item)); break;
	case DRAW_DTYPE: *a = ir_make_dtype(r->ctx, d->name, draw_dtype(r, *d->name)); break;
	case DRAW_DOTS:
		for (int i = 0; i < MAX_DOTS; i++)
			item[i] = 1 + below(r, r->most);
		*a = ir_make_ints(m, d->name, item, (int)below(r, MAX_DOTS + 1));
		break;
	case DRAW_AXIS: /* two names may stand for one axis */
		if (!m->naxes || (m->naxes < IR_MAX_AXES && below(r, 4)))
			m->axis[m->naxes++] = (struct ir_axis){.name = d->name, .size = AXIS_SIZE};
		*a = ir_make_axis(r->ctx, d->name, (int)below(r, m->naxes));
		break;
	}
}

/* Puts the value of a sample in place of what was drawn. */
static void
put_sample(struct refuter *r, struct ir_module *m, const struct draw *d, struct ir_attr *a)
{
	const struct rule_sample *s = r->sample;

	if (d->kind == DRAW_DOTS)
		*a = ir_make_ints(m, d->name, s->dots, s->ndots);
	for (int i = 0; i < s->n && d->kind <= DRAW_NUMBER; i++)
		if (s->value[i].name == d->name)
			*a = ir_make_int(r->ctx, d->name, s->value[i].number);
}

static void
draw_names(struct refuter *r, struct ir_module *m)
{
	r->list = (int)below(r, MAX_LIST + 1);
	for (int64_t i = 0; i < r->draw.n; i++) {
		draw_name(r, m, &r->draw.at[i], &r->attr[i]);
		if (r->sample)
			put_sample(r, m, &r->draw.at[i], &r->attr[i]);
	}
	r->call->attr = r->attr;
	r->call->nattrs = (uint16_t)r->draw.n;
}

static bool
holds(enum ir_rule_compare compare, double x, double y)
{
	switch (compare) {
	case RULE_EQ: return x == y;
	case RULE_NE: return x != y;
	case RULE_LT: return x < y;
	case RULE_LE: return x <= y;
	case RULE_GT: return x > y;
	case RULE_GE: return x >= y;
	}
	return false;
}

static bool
conditions_hold(const struct ir_rule *rule, const struct ir_size_scope *scope)
{
	for (int i = 0; i < rule->nwhere; i++) {
		const struct ir_rule_condition *c = &rule->where[i];
		double v[2];
		bool fraction;
		for (int k = 0; k < 2; k++)
			if (!ir_size_number(scope, c->arg[k], &v[k], &fraction))
				return false;
		if (!holds(c->compare, v[0], v[1]))
			return false;
	}
	return true;
}

enum { ALL_STATES = 1 << IR_COPIED | 1 << IR_SPLIT | 1 << IR_PARTIAL | 1 << IR_SINGLE };

/* The states on an axis, as a set of 1 << enum ir_state_kind, from which all ops that read a value convert it to another
 * one. What ops over other axes make of it has the same state. */
static unsigned
states_wanted(const struct refuter *r, const struct ir_value *v, int axis)
{
	unsigned states = ALL_STATES;

	IR_FOR_USES (u, v) {
		const struct ir_attr *a = op_is(u->op, TRAIT_PARALLEL) ? ir_attr_find(u->op, "axis")
								       : NULL,
				     *drawn = a && a->kind == ATTR_NAME
						      ? ir_attr_find(r->call, a->s)
						      : NULL;
		if (drawn)
			states &= drawn->i == axis
					  ? op_row(r->ctx, u->op)->from
					  : states_wanted(
						    r, &u->op->result[u - u->op->operand], axis);
	}
	return states;
}

/* A layout on every axis. If no op requires another one, half of the states are copied. */
static void
draw_layout(struct refuter *r, const struct ir_module *m, const struct ir_value *param,
	struct ir_type *t)
{
	for (int a = 0; a < m->naxes; a++) {
		const unsigned wanted = states_wanted(r, param, a);
		const bool any = wanted == ALL_STATES;
		int64_t k = !any ? below(r, 3 + t->rank) : below(r, 2) ? 2 : below(r, 3 + t->rank);
		const enum ir_state_kind kind = k == 0   ? IR_PARTIAL
						: k == 1 ? IR_SINGLE
						: k == 2 ? IR_COPIED
							 : IR_SPLIT;
		if (!(wanted >> kind & 1))
			k = wanted >> IR_COPIED & 1    ? 2
			    : wanted >> IR_PARTIAL & 1 ? 0
			    : wanted >> IR_SINGLE & 1  ? 1
			    : t->rank                  ? 3 + below(r, t->rank)
						       : 2;
		if (k == 0)
			t->axis[a] = (struct ir_state){.kind = IR_PARTIAL};
		else if (k == 1)
			t->axis[a] = (struct ir_state){
				.kind = IR_SINGLE, .order = (uint16_t)below(r, AXIS_SIZE)};
		else if (k >= 3)
			t->axis[a] = (struct ir_state){IR_SPLIT, (uint8_t)(k - 3),
				(uint16_t)ir_type_split_depth(t, (int)(k - 3))};
	}
}

/* Types of the parameters; false: not valid. */
static bool
draw_types(struct refuter *r, const struct ir_module *m, const struct ir_size_scope *scope)
{
	const struct ir_block *left = &r->rule->side[RULE_LEFT]->body;

	for (uint32_t i = 0; i < left->nargs; i++) {
		const struct ir_type *whole = ir_type_resolve(scope, r->rule->param[i]);
		if (!whole)
			return false;
		struct ir_type t = *whole;
		draw_layout(r, m, &left->arg[i], &t);
		if (!ir_type_check(m, &t, r->rule->loc, "operand"))
			return false;
		r->type[i] = ir_type_intern(r->ctx, &t);
	}
	return true;
}

/* A number of the type: most integers are small, some have all bits. */
static union cell
draw_element(struct refuter *r, enum ir_dtype t, enum style style)
{
	const bool is_float = ir_dtype_class(t) == IR_FLOAT;
	union cell c;
	int64_t i = below(r, 7) - 3;
	double fraction = 0;

	if (style == STYLE_NOT_NEGATIVE)
		i = below(r, 4);
	else if (style == STYLE_POSITIVE)
		i = 1 + below(r, 4);
	else if (style == STYLE_FINE && is_float)
		fraction = ldexp((double)below(r, 1 << 20), -30 + (int)below(r, 11));
	else if (style == STYLE_FINE)
		i = (int64_t)mix64_next(&r->random);
	if (is_float)
		c.f = ir_dtype_round(t, (double)i + fraction);
	else
		c.i = ir_dtype_wrap(t, i);
	return c;
}

/* --- a try --------------------------------------------------------------------------------------
 */

/* Both sides on the same inputs, in @main of a module. */
struct sides {
	struct ir_module *m;
	struct ir_func *main;
	struct ir_builder b;
	struct ir_value **arg, **result[2];
	int nargs, nresults;
};

static struct sides
sides_create(struct refuter *r, struct ir_module *m)
{
	struct sides s = {.m = m, .main = ir_func_create(m, "main", LOC_NONE)};

	s.b = (struct ir_builder){.m = m, .block = &s.main->body};
	s.nargs = (int)r->rule->side[RULE_LEFT]->body.nargs;
	s.nresults = ir_rule_return(r->rule, RULE_LEFT)->noperands;
	s.arg = ARENA_ARRAY(m->arena, struct ir_value *, s.nargs);
	for (int k = 0; k < 2; k++)
		s.result[k] = ARENA_ARRAY(m->arena, struct ir_value *, s.nresults);
	for (int i = 0; i < s.nargs; i++) {
		s.arg[i] =
			ir_build_typed(&s.b, OP_input, r->rule->side[RULE_LEFT]->body.arg[i].name,
				NULL, 0, NULL, 0, ir_type_meaning(r->ctx, r->type[i]));
		s.arg[i]->type = r->type[i]; /* the state of an input is never partial */
	}
	return s;
}

static bool
side_make(const struct refuter *r, struct sides *s, int side)
{
	const struct instance_place end = {&s->main->body, NULL, ""};

	return instance_make(s->m, &end, r->call, r->rule->side[side], s->arg, s->result[side]);
}

static void
keep_message(void *data, const struct diag_message *message)
{
	struct refuter *r = data;

	if (message->level != DIAG_ERROR)
		return;
	talloc_free(r->said);
	r->said = text_copy(r->call, message->text);
}

/* Why the right side has no type. */
static const char *
reason(struct refuter *r, struct sides *s)
{
	diag_mute(r->ctx->diag, false);
	side_make(r, s, RULE_RIGHT);
	diag_mute(r->ctx->diag, true);
	return r->said ? r->said : "";
}

/* Not inferred: an output of a program is never partial. */
static void
add_output(struct sides *s, struct ir_value *v, const char *kind, int i)
{
	char *name = TEXT(NULL, "%s%d", kind, i);
	struct ir_op *op = ir_op_create(s->m, OP_output, LOC_NONE, &v, 1, NULL, 0, 0);

	op->symbol = ir_name(s->m->ctx, name);
	ir_block_append(&s->main->body, op);
	talloc_free(name);
}

static const struct tensor *
output_of(const struct interp *it, const char *kind, int i)
{
	char *name = TEXT(NULL, "%s%d", kind, i);
	const struct tensor *t = interp_output(it, name);

	talloc_free(name);
	return t;
}

/* Runs the module on these inputs; NULL if the interpreter cannot. */
static struct interp *
run(const struct sides *s, struct tensor *const *in, bool f64)
{
	const struct interp_options o = {.mode = INTERP_MEANING, .subnormals = true, .f64 = f64};
	struct interp *it = interp_create(s->m, s->m, &o);

	if (!it)
		return NULL;
	for (int i = 0; i < s->nargs; i++)
		interp_set_input(it, s->arg[i]->op->symbol, in[i]);
	if (interp_step(it, 0))
		return it;
	talloc_free(it);
	return NULL;
}

/* 0: all elements are finite; 1: some are infinite; 2: some are NaN. */
static int
worst_element(const struct tensor *t)
{
	int worst = 0;

	if (ir_dtype_class(t->dtype) != IR_FLOAT)
		return 0;
	for (int64_t i = 0; i < tensor_elements(t); i++) {
		const int here = isnan(t->data[i].f) ? 2 : isinf(t->data[i].f) ? 1 : 0;
		worst = here > worst ? here : worst;
	}
	return worst;
}

/* Does an op make infinities or NaNs from operands without them? */
static bool
is_outside(struct sides *s, struct tensor *const *in)
{
	int n = 0;
	bool outside = false;
	const struct ir_op *last = s->main->body.last;

	IR_FOR_OPS (op, &s->main->body) {
		for (int i = 0; i < op->nresults; i++)
			add_output(s, &op->result[i], "value", (int)op->result[i].id);
		if (op == last)
			break;
	}
	struct interp *it = run(s, in, false);
	IR_FOR_OPS (op, &s->main->body) {
		n = 0;
		for (int i = 0; it && i < op->noperands; i++) {
			const int of =
				worst_element(output_of(it, "value", (int)ir_operand(op, i)->id));
			n = of > n ? of : n;
		}
		for (int i = 0; it && op->noperands && i < op->nresults; i++)
			outside = outside ||
				  worst_element(output_of(it, "value", (int)op->result[i].id)) > n;
	}
	return outside;
}

/* --- the answer ---------------------------------------------------------------------------------
 */

static char *
append_name(char *text, const struct ir_attr *a)
{
	text = text_append(text, "%s%s = ", *text ? ", " : "", a->key);
	switch ((enum attr_kind)a->kind) {
	case ATTR_FLOAT: return text_append(text, "%g", a->f);
	case ATTR_DTYPE: return text_append(text, "%s", ir_dtype_name((enum ir_dtype)a->i));
	case ATTR_LIST:
		text = text_append(text, "[");
		for (int i = 0; i < a->n; i++)
			text = text_append(text, "%s%" PRId64, i ? "," : "", a->list[i].i);
		return text_append(text, "]");
	default: return text_append(text, "%" PRId64, a->i);
	}
}

/* "m = 2, k = 1: ", with the types of the operands where they have layouts. */
static char *
situation(const struct refuter *r, const void *owner, const struct ir_module *m)
{
	char *text = text_copy(owner, "");

	for (int64_t i = 0; i < r->draw.n; i++) {
		const bool is_usual = r->draw.at[i].kind == DRAW_DTYPE && r->attr[i].i == IR_f64;
		if (r->draw.at[i].kind != DRAW_AXIS && !is_usual)
			text = append_name(text, &r->attr[i]);
	}
	for (uint32_t i = 0; r->layouts && i < r->rule->side[RULE_LEFT]->body.nargs; i++) {
		char *type = ir_type_text(NULL, m, r->type[i]);
		text = text_append(text, "%s%%%s : %s", *text ? ", " : "",
			r->rule->side[RULE_LEFT]->body.arg[i].name, type);
		talloc_free(type);
	}
	return *text ? text_append(text, ": ") : text;
}

static char *
append_element(char *text, const struct tensor *t, int64_t i)
{
	switch (ir_dtype_class(t->dtype)) {
	case IR_FLOAT: return text_append(text, "%.9g", t->data[i].f);
	case IR_BOOL: return text_append(text, "%s", t->data[i].i ? "true" : "false");
	case IR_UINT: return text_append(text, "%" PRIu64, (uint64_t)t->data[i].i);
	default: return text_append(text, "%" PRId64, t->data[i].i);
	}
}

/* Names the result if there are several. */
static char *
append_result(char *text, const struct sides *s, int i)
{
	return s->nresults > 1 ? text_append(text, " of result %d", i + 1) : text;
}

/* Are the results the same tensors on the same devices, where they are comparable? */
static bool
layouts_fit(const struct sides *s)
{
	for (int i = 0; i < s->nresults; i++) {
		const struct ir_type *left = s->result[RULE_LEFT][i]->type,
				     *right = s->result[RULE_RIGHT][i]->type;
		if (left != right && ir_type_same_meaning(left, right))
			return false;
	}
	return true;
}

/* Compares the types of the results. NULL: they are equal. */
static char *
compare_types(const struct refuter *r, const void *owner, const struct sides *s)
{
	for (int i = 0; i < s->nresults; i++) {
		const struct ir_type *left = s->result[RULE_LEFT][i]->type,
				     *right = s->result[RULE_RIGHT][i]->type;
		if (left == right)
			continue;
		char *text = text_append(situation(r, owner, s->m), "the type"),
		     *a = ir_type_text(NULL, s->m, right), *b = ir_type_text(NULL, s->m, left);
		text = text_append(append_result(text, s, i), " is %s, not %s", a, b);
		talloc_free(a);
		talloc_free(b);
		return text;
	}
	return NULL;
}

/* Are results that differ equal in doubles, so that only rounding differs? A conversion to another
 * floating-point type is there to round. */
static bool
rounding_differs(const struct sides *s, struct tensor *const *in)
{
	struct tensor_diff d;
	bool same = true;

	IR_FOR_OPS (op, &s->main->body)
		if (op->code == OP_convert &&
			ir_dtype_class((enum ir_dtype)ir_operand(op, 0)->type->dtype) == IR_FLOAT &&
			ir_dtype_class((enum ir_dtype)op->result[0].type->dtype) == IR_FLOAT)
			return false;
	struct interp *it = run(s, in, true);
	for (int i = 0; it && same && i < s->nresults; i++)
		same = tensor_compare(output_of(it, "left", i), output_of(it, "right", i),
			tensor_tolerance(IR_f64, true), &d);
	same = same && it;
	talloc_free(it);
	return same;
}

/* Compares the results. NULL: they are equal but for rounding, or an op makes infinities or NaNs. */
static char *
compare_values(const struct refuter *r, const void *owner, struct sides *s,
	struct tensor *const *in, const struct interp *it)
{
	struct tensor_diff d;

	for (int i = 0; i < s->nresults; i++) {
		const struct tensor *left = output_of(it, "left", i),
				    *right = output_of(it, "right", i);
		if (tensor_compare(left, right, tensor_tolerance(left->dtype, false), &d))
			continue;
		if (is_outside(s, in) || rounding_differs(s, in))
			return NULL;
		char *index = tensor_index_text(NULL, left, d.first),
		     *text = text_append(situation(r, owner, s->m), "element %s", index);
		text = text_append(append_result(text, s, i), " is ");
		text = text_append(append_element(text, right, d.first), ", not ");
		talloc_free(index);
		return append_element(text, left, d.first);
	}
	return NULL;
}

/* Is a tensor too large to be worth the time? */
static bool
is_large(const struct sides *s)
{
	IR_FOR_OPS (op, &s->main->body)
		for (int i = 0; i < op->nresults; i++)
			if (ir_type_elements(op->result[i].type) > MAX_ELEMENTS)
				return true;
	return false;
}

static char *
run_sides(struct refuter *r, const void *owner, struct sides *s, bool *ran)
{
	static const enum style style[] = {STYLE_SMALL, STYLE_SMALL, STYLE_SMALL, STYLE_SMALL,
		STYLE_NOT_NEGATIVE, STYLE_POSITIVE, STYLE_FINE, STYLE_FINE};
	const enum style here =
		style[below(r, r->most == 2 ? 4 : (int)(sizeof style / sizeof *style))];
	struct tensor *in[MAX_PARAMS];

	for (int i = 0; i < s->nargs; i++) {
		const struct ir_type *t = r->type[i];
		in[i] = tensor_create(s->m, (enum ir_dtype)t->dtype, t->rank, t->dim);
		for (int64_t k = 0; k < tensor_elements(in[i]); k++)
			in[i]->data[k] = draw_element(r, in[i]->dtype, here);
	}
	for (int i = 0; i < s->nresults; i++) {
		add_output(s, s->result[RULE_LEFT][i], "left", i);
		add_output(s, s->result[RULE_RIGHT][i], "right", i);
	}
	struct interp *it = run(s, in, false);
	*ran = it != NULL;
	return it ? compare_values(r, owner, s, in, it) : NULL;
}

/*
 * One try. *typed: the left side has a type, and both sides ran or already differ in type. A rule
 * with parallelization ops applies only where layouts fit, so other layouts do not count as tries.
 */
static char *
attempt(struct refuter *r, const void *owner, struct ir_module *m, bool *typed)
{
	draw_names(r, m);
	const struct ir_size_scope scope = {m, r->call, NULL, NULL};
	*typed = false;
	if (!conditions_hold(r->rule, &scope) || !draw_types(r, m, &scope))
		return NULL;
	struct sides s = sides_create(r, m);
	if (!side_make(r, &s, RULE_LEFT))
		return NULL;
	*typed = true;
	if (!side_make(r, &s, RULE_RIGHT)) {
		*typed = !r->layouts;
		return r->layouts ? NULL
				  : text_append(situation(r, owner, m),
					    "the right side is not valid: %s", reason(r, &s));
	}
	if (!layouts_fit(&s) || is_large(&s)) {
		*typed = false;
		return NULL;
	}
	char *text = compare_types(r, owner, &s);
	return text ? text : run_sides(r, owner, &s, typed);
}

/* --- all layouts --------------------------------------------------------------------------------
 */

/*
 * The layouts of the parameters, as the digits of a number that is counted up, the last one first.
 * Where an op has no type, the digits of parameters that it does not depend on are left out.
 */
struct layouts {
	int n, order[MAX_PARAMS]; /* parameters by digit: those that ops read first come first */
	int reached; /* most ops of both sides, one after the other, of which all but the last had a type */
	struct {
		struct VEC(const struct ir_type *) type;
		int64_t at;
	} of[MAX_PARAMS]; /* by parameter */
};

/* Lists the layouts of a type over this axis and those after it. A dim may be split by it outside or
 * inside other axes. */
static void
list_layouts(struct refuter *r, const struct ir_module *m, const struct ir_value *param, int axis,
	struct ir_type t, struct layouts *l)
{
	const unsigned wanted = axis < m->naxes ? states_wanted(r, param, axis) : 0;

	if (axis == m->naxes) {
		if (ir_type_check(m, &t, r->rule->loc, "operand"))
			VEC_PUSH(r->call, &l->of[param->index].type, ir_type_intern(r->ctx, &t));
		return;
	}
	for (int k = -3; k < t.rank; k++) {
		const enum ir_state_kind kind = k == -3   ? IR_COPIED
						: k == -2 ? IR_PARTIAL
						: k == -1 ? IR_SINGLE
							  : IR_SPLIT;
		const int depth = k < 0 ? 0 : ir_type_split_depth(&t, k);
		if (!(wanted >> kind & 1))
			continue;
		for (int at = 0; at <= depth; at++) {
			struct ir_type more = t;
			for (int a = 0; k >= 0 && a < axis; a++)
				if (t.axis[a].kind == IR_SPLIT && t.axis[a].dim == k)
					more.axis[a].order += t.axis[a].order >= at;
			more.axis[axis] =
				(struct ir_state){kind, k < 0 ? 0 : (uint8_t)k, (uint16_t)at};
			list_layouts(r, m, param, axis + 1, more, l);
		}
	}
}

/* The parameters that a value depends on, a bit each. */
static uint32_t
params_of(const struct ir_value *v)
{
	uint32_t set = 0;

	for (int i = 0; v->op && i < v->op->noperands; i++)
		set |= params_of(ir_operand(v->op, i));
	return v->op ? set : 1u << v->index;
}

static void
order_params(const struct refuter *r, struct layouts *l)
{
	uint32_t seen = 0;

	for (int side = RULE_LEFT; side <= RULE_RIGHT; side++)
		IR_FOR_OPS (op, &r->rule->side[side]->body)
			for (int i = 0; i < op->noperands; i++) {
				const uint32_t new = params_of(ir_operand(op, i)) & ~seen;
				for (int p = 0; new >> p; p++)
					if (new >> p & 1)
						l->order[l->n++] = p;
				seen |= new;
			}
}

/* The next layouts in which one of these parameters has another one; false: there are none. */
static bool
next_layouts(struct layouts *l, uint32_t params)
{
	int i = l->n - 1;

	while (i >= 0 && !(params >> l->order[i] & 1))
		l->of[l->order[i--]].at = 0;
	for (; i >= 0; i--) {
		const int p = l->order[i];
		if (++l->of[p].at < l->of[p].type.n)
			return true;
		l->of[p].at = 0;
	}
	return false;
}

/* The parameters of the first op of the side that could not be made, after n others. */
static uint32_t
params_of_op(const struct ir_func *side, int n)
{
	uint32_t set = 0;
	const struct ir_op *op = side->body.first;

	for (; n > 0; n--)
		op = op->next;
	for (int i = 0; i < op->noperands; i++)
		set |= params_of(ir_operand(op, i));
	return set;
}

static int
ops_made(const struct sides *s)
{
	int n = 0;

	IR_FOR_OPS (op, &s->main->body)
		n++;
	return n;
}

/* Tries one choice of layouts. False: it does not fit; *change: another one of these is needed. */
static bool
try_choice(struct refuter *r, const void *owner, struct ir_module *m, struct layouts *l,
	uint32_t *change, char **text)
{
	struct sides s = sides_create(r, m);
	int before = s.nargs;
	bool ran;

	for (int side = RULE_LEFT; side <= RULE_RIGHT; side++) {
		if (!side_make(r, &s, side)) {
			const int made = ops_made(&s);
			*change = params_of_op(r->rule->side[side], made - before);
			l->reached = made - s.nargs < l->reached ? l->reached : made - s.nargs + 1;
			return false;
		}
		before = ops_made(&s);
	}
	*change = UINT32_MAX;
	l->reached = INT_MAX;
	if (!layouts_fit(&s))
		return false;
	*text = compare_types(r, owner, &s);
	if (!*text)
		*text = run_sides(r, owner, &s, &ran);
	return true;
}

/* Tries all layouts at the sizes that were drawn. */
static bool
try_layouts(struct refuter *r, const void *owner, struct ir_module *m, int *left, int *reached,
	char **text)
{
	const struct ir_size_scope scope = {m, r->call, NULL, NULL};
	const struct ir_block *body = &r->rule->side[RULE_LEFT]->body;
	struct layouts l = {0};
	bool fits = false, more = true;

	*reached = INT_MAX;

	for (uint32_t i = 0; i < body->nargs; i++) {
		const struct ir_type *whole = ir_type_resolve(&scope, r->rule->param[i]);
		if (!whole)
			return false;
		list_layouts(r, m, &body->arg[i], 0, *whole, &l);
		if (!l.of[i].type.n)
			return false;
	}
	order_params(r, &l);
	while (more && !fits && --*left > 0) {
		struct ir_module *here = ir_module_create(r->call, r->ctx, "rule");
		uint32_t change;
		here->naxes = m->naxes;
		memcpy(here->axis, m->axis, sizeof here->axis);
		for (uint32_t i = 0; i < body->nargs; i++)
			r->type[i] = l.of[i].type.at[l.of[i].at];
		fits = try_choice(r, owner, here, &l, &change, text);
		more = fits || next_layouts(&l, change);
		talloc_free(here);
	}
	*reached = l.reached;
	return fits;
}

/* Which names of axes stand for the same one: an axis for each, by name. */
struct same_axes {
	int n, axis[IR_MAX_AXES];
};

/* How many axes, in the order of draws, do the ops of the left side have, or the first n of both sides? */
static int
axes_of_ops(const struct refuter *r, int n)
{
	int most = 0;

	for (int side = RULE_LEFT; side <= RULE_RIGHT; side++)
		for (const struct ir_op *op = r->rule->side[side]->body.first;
			op && op->code != OP_return && (n > 0 || side == RULE_LEFT);
			op = op->next, n--)
			for (int i = 0; i < op->nattrs; i++)
				for (int64_t k = 0, at = 0; k < r->draw.n; k++) {
					at += r->draw.at[k].kind == DRAW_AXIS;
					if (op->attr[i].kind == ATTR_NAME && at > most &&
						op->attr[i].s == r->draw.at[k].name)
						most = (int)at;
				}
	return most;
}

/* From one for all names to all different ones, as few axes have few layouts; the first n of them change. False: there are no
 * more. */
static bool
next_axes(struct same_axes *s, int n)
{
	for (int i = s->n - 1; i > 0; i--) {
		int most = 0;
		for (int k = 0; k < i; k++)
			most = s->axis[k] > most ? s->axis[k] : most;
		if (i < n && s->axis[i] <= most) {
			s->axis[i]++;
			return true;
		}
		s->axis[i] = 0;
	}
	return false;
}

static void
put_axes(struct refuter *r, struct ir_module *m, const struct same_axes *s)
{
	int n = 0;

	m->naxes = 0;
	for (int64_t i = 0; i < r->draw.n; i++) {
		if (r->draw.at[i].kind != DRAW_AXIS)
			continue;
		const int axis = s->axis[n++];
		if (axis == m->naxes)
			m->axis[m->naxes++] =
				(struct ir_axis){.name = r->draw.at[i].name, .size = AXIS_SIZE};
		r->attr[i] = ir_make_axis(r->ctx, r->draw.at[i].name, axis);
	}
}

/* Draws sizes and attributes, of which sizes are all the same at first. */
static bool
draw_fitting(struct refuter *r, struct ir_module *m, bool first)
{
	const struct ir_size_scope scope = {m, r->call, NULL, NULL};

	m->naxes = 0;
	draw_names(r, m);
	for (int64_t k = 0; first && k < r->draw.n; k++)
		if (r->draw.at[k].kind == DRAW_SIZE)
			r->attr[k].i = LAYOUT_SIZE;
	return conditions_hold(r->rule, &scope);
}

/* Has the rule no names but those of sizes, axes and element types, and no conditions? */
static bool
only_sizes(const struct refuter *r)
{
	for (int64_t i = 0; i < r->draw.n; i++)
		if (r->draw.at[i].kind != DRAW_SIZE && r->draw.at[i].kind != DRAW_AXIS &&
			r->draw.at[i].kind != DRAW_DTYPE)
			return false;
	return !r->rule->nwhere;
}

/* --- the search --------------------------------------------------------------------------------
 */

/* Prepares the search and mutes messages; returns who gets them, for the context when it is over. */
static struct diag *
refuter_begin(struct refuter *f, const void *scratch)
{
	struct diag *const outer = f->ctx->diag;

	f->call = NEW(scratch, struct ir_op);
	f->call->code = OP_call;
	f->ctx->diag = diag_create(scratch);
	diag_set_handler(f->ctx->diag, keep_message, f);
	diag_mute(f->ctx->diag, true);
	see_rule(f);
	f->attr = NEW_ARRAY(scratch, struct ir_attr, f->draw.n);
	return outer;
}

bool
rule_refute_layouts(
	const void *owner, const struct ir_rules *rules, const struct ir_rule *r, char **text)
{
	void *scratch = alloc_scratch(NULL);
	struct refuter f = {.rule = r, .ctx = rules->m->ctx, .random = 1};
	bool fits = false;
	int left = LAYOUTS_MOST;

	*text = NULL;
	if (r->side[RULE_LEFT]->body.nargs <= MAX_PARAMS) {
		struct diag *const outer = refuter_begin(&f, scratch);
		struct ir_module *m = ir_module_create(scratch, f.ctx, "rule");
		const int draws = only_sizes(&f) ? 1 : LAYOUT_DRAWS;
		f.most = LAYOUT_SIZE;
		for (int i = 0; i < draws && !fits; i++) {
			struct same_axes axes = {0};
			for (int64_t k = 0; k < f.draw.n; k++)
				axes.n += f.draw.at[k].kind == DRAW_AXIS;
			bool more = axes.n <= IR_MAX_AXES && draw_fitting(&f, m, i == 0);
			while (more && !fits) {
				int reached;
				put_axes(&f, m, &axes);
				fits = try_layouts(&f, owner, m, &left, &reached, text);
				/* Names of axes of later ops do not matter if there is no type before. */
				more = next_axes(&axes, axes_of_ops(&f, reached));
			}
		}
		f.ctx->diag = outer;
	}
	talloc_free(scratch);
	return fits;
}

char *
rule_refute(const void *owner, const struct ir_rules *rules, const struct ir_rule *r,
	const struct rule_samples *samples, int tries, int enough, uint64_t seed, int *typed)
{
	void *scratch = alloc_scratch(NULL);
	struct ir_context *ctx = rules->m->ctx;
	struct refuter f = {.rule = r, .ctx = ctx, .random = seed};
	char *text = NULL;

	*typed = 0;
	if (r->side[RULE_LEFT]->body.nargs > MAX_PARAMS)
		return NULL;
	struct diag *const outer = refuter_begin(&f, scratch);
	const int first = samples ? samples->n * SAMPLE_TRIES : 0;
	for (int i = -first; i < tries && *typed < enough && !text; i++) {
		bool here;
		f.sample = i < 0 ? &samples->at[(i + first) / SAMPLE_TRIES] : NULL;
		f.most = i < 0 ? MAX_SIZE : 2 + i / (1 + tries / 8);
		f.most = f.most > MAX_SIZE ? MAX_SIZE : f.most;
		struct ir_module *m = ir_module_create(scratch, ctx, "rule");
		text = attempt(&f, owner, m, &here);
		*typed += here;
		talloc_free(m);
	}
	ctx->diag = outer;
	talloc_free(scratch);
	return text;
}
