/* Types over affine sizes: the counterpart of the shape matching in ir/ops/form.c. */
#include "passes/rules/meaning_impl.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

static bool
too_many_dims(struct rule_case *c)
{
	return c->dots == ANY_RANK ? unknown(c, "too many dims")
				   : (case_stop(c, STOP_RANK, NULL), false);
}

static int
new_index(struct rule_case *c, struct sym_op *s, term_id size)
{
	if (s->nindices == FORM_MAX_INDICES)
		return case_stop(c, STOP_UNKNOWN, "too many indices");
	s->size[s->nindices] = size;
	return s->nindices++;
}

/* Goes on where a requirement of the left side, e >= 0, is open; e = 0: it is another question. */
static bool
put_off(struct rule_case *c, term_id e)
{
	return c->side == RULE_LEFT && case_put_off(c, e);
}

static bool
is_some(struct rule_case *c, term_id size)
{
	if (case_is_at_least(c, size, 1))
		return true;
	const term_id e = linear_add(c->t, size, linear_constant(c->t, 1), -1);
	const int some = case_at_least(c, e);

	return some < 0 ? put_off(c, e) : some || ill(c, "a dim would be empty");
}

/* Does a condition of a row hold, or may we go on as if it did? As sym_truth_term. */
static int
requirement(
	struct rule_case *c, const struct sym_op *s, const struct term *t, const struct spot *at)
{
	const bool order = t->kind == TERM_CALL &&
			   (t->fn == FN_lt || t->fn == FN_le || t->fn == FN_gt || t->fn == FN_ge);

	if (t->kind == TERM_CALL && t->fn == FN_and) {
		const int first = requirement(c, s, t->arg[0], at);
		return first == 1 ? requirement(c, s, t->arg[1], at) : first;
	}
	const term_id e = order ? sym_comparison(c, s, t, at) : 0;
	const int holds = !order ? sym_truth_term(c, s, t, at) : e ? case_at_least(c, e) : -1;
	return holds < 0 && put_off(c, e) ? 1 : holds;
}

static bool
check_conditions(struct rule_case *c, const struct sym_op *s)
{
	for (int i = 0; i < s->p->nwhere; i++)
		for (int d = 0; d < (s->p->where[i].each ? s->dots_rank : 1); d++) {
			const struct condition *w = &s->p->where[i];
			const struct spot at = {NULL, 0, d, d, d};
			const int holds = requirement(c, s, w->holds, w->each ? &at : NULL);
			if (holds < 0)
				return false;
			if (holds == 2)
				return unknown(c, "a condition that is not known");
			if (!holds)
				return ill(c, w->words);
		}
	return true;
}

static bool
type_groups(struct rule_case *c, struct sym_op *s, const struct sym_value *written)
{
	const struct pattern *p = s->p;
	const struct pattern_item *out = row_side_group(&p->out, '.');
	term_id shape[IR_MAX_RANK];

	for (int j = 0; j < p->ninputs; j++) {
		const int left = s->in[j]->rank - row_side_letters(&p->in[j]);
		const struct pattern_item *dots = row_side_group(&p->in[j], '.'),
					  *star = row_side_group(&p->in[j], '*');
		if (left < 0 && s->in[j]->grouped)
			return unknown(c, "an op that names a dim of '..'");
		if (left < 0 || (left > 0 && !dots && !star))
			return ill(c, "the rank");
		if (dots && !star && dots->how != ':' && left > s->dots_rank)
			s->dots_rank = left;
		if (star && !dots)
			s->star_rank = left;
	}
	for (int j = 0; j < p->ninputs; j++)
		if (row_side_group(&p->in[j], '.') && row_side_group(&p->in[j], '*')) {
			s->star_rank = s->in[j]->rank - row_side_letters(&p->in[j]) - s->dots_rank;
			if (s->star_rank < 0)
				return ill(c, "the rank");
		}
	if (!check_conditions(c, s))
		return false;
	const bool given = (out && (out->how == '=' || out->size)) || !p->ninputs;
	if (out && out->size) {
		for (int d = 0; d < s->dots_rank; d++) {
			const struct spot at = {NULL, 0, d, d, d};
			if (s->grouped && d == 0 && !ir_attr_find(s->op, "dims") &&
				!ir_attr_find(s->op, "dim") && s->op->code != OP_reverse)
				return unknown(c, "dims of '..' without dims");
			if (!(shape[d] = sym_linear_term(c, s, out->size, &at)))
				return false;
		}
	} else if (out && out->how == '=') {
		const struct ir_attr *a = ir_attr_find(s->op, out->attr);
		if (!a || a->kind != ATTR_LIST || a->n > IR_MAX_RANK)
			return unknown(c, "a shape that is not known");
		s->dots_rank = a->n;
		for (int d = 0; d < a->n; d++)
			if (!(shape[d] = sym_attr_affine(c, &a->list[d])))
				return false;
		if (s->grouped)
			return unknown(c, "a shape of a tensor with '..'");
	} else if (!p->ninputs) {
		s->dots_rank = written->rank;
		memcpy(shape, written->dim, sizeof shape);
	}
	s->dots = s->nindices;
	for (int i = 0; i < s->dots_rank; i++) {
		const int index = new_index(c, s, given ? shape[i] : linear_constant(c->t, 1));
		if (index < 0)
			return false;
		s->fixed[index] = given;
		if (given && !is_some(c, shape[i]))
			return false;
	}
	s->star = s->nindices;
	for (int i = 0; i < s->star_rank; i++)
		if (new_index(c, s, 0) < 0)
			return false;
	return true;
}

/* Matches a dim of an operand with an index of a group: they are equal, or one of them is 1. */
static bool
meet_dots(struct rule_case *c, struct sym_op *s, int index, term_id size)
{
	const term_id one = linear_constant(c->t, 1);
	term_id *have = &s->size[index];

	if (*have == size || size == one)
		return true;
	if (*have == one && !s->fixed[index]) {
		*have = size;
		return true;
	}
	const int same = case_equal(c, *have, size);
	if (same)
		return same == 1;
	const int single = case_equal(c, size, one);
	if (single)
		return single == 1;
	const int was = s->fixed[index] ? 0 : case_equal(c, *have, one);
	if (was == 1)
		*have = size;
	return was < 0 ? false : was == 1 || ill(c, "sizes differ");
}

static bool
meet_letter(struct rule_case *c, struct sym_op *s, int index, term_id size)
{
	if (!s->size[index])
		s->size[index] = size;
	const int same = case_equal(c, s->size[index], size);
	return same < 0 ? false : same == 1 || ill(c, "sizes differ");
}

static bool
type_operand(struct rule_case *c, struct sym_op *s, int j)
{
	const struct pattern_side *side = &s->p->in[j];
	const struct sym_value *v = s->in[j];
	int d = 0;

	for (int i = 0; i < side->nitems; i++) {
		const struct pattern_item *item = &side->item[i];
		int rest = v->rank - row_side_letters(side), dims[IR_MAX_RANK];
		if (v->grouped && d == 0 && item->name != '.')
			return unknown(c, "an op that names a dim of '..'");
		if (item->name == '.') {
			rest -= row_side_group(side, '*') ? s->star_rank : 0;
			if (rest > s->dots_rank || (item->at && rest != s->dots_rank))
				return ill(c, "the rank");
			if (v->grouped && !item->at && item->how != ':' && rest < s->dots_rank)
				return unknown(c, "'..' beside dims of its own");
			int n = item->how == ':' ? sym_dims_of(c, s, item->attr, s->dots_rank, dims)
						 : -1;
			if (n == -2)
				return false;
			if (n >= 0 && n != rest)
				return ill(c, "a list of another length");
			if (n < 0 && item->how == ':' && strcmp(item->attr, "perm") == 0 &&
				s->grouped)
				return unknown(c, "all dims of '..' in reverse");
			for (int k = 0; k < rest; k++, d++) {
				if (item->at) {
					s->access[j][d] = COMPUTED;
					s->at[j][d] = item;
					s->which[j][d] = (int8_t)k;
					continue;
				}
				s->access[j][d] =
					(int8_t)(s->dots +
						 (n >= 0 ? dims[k] : s->dots_rank - rest + k));
				if (s->grouped && !v->grouped && s->access[j][d] == s->dots &&
					v->dim[d] != linear_constant(c->t, 1))
					return unknown(c, "a dim beside '..'");
				if (!meet_dots(c, s, s->access[j][d], v->dim[d]))
					return false;
			}
		} else if (item->name == '*') {
			for (int k = 0; k < s->star_rank; k++, d++) {
				s->access[j][d] = (int8_t)(s->star + k);
				if (!meet_letter(c, s, s->access[j][d], v->dim[d]))
					return false;
			}
		} else if (item->at) {
			s->access[j][d] = COMPUTED;
			s->which[j][d] = -1;
			s->at[j][d++] = item;
		} else {
			int8_t *index = &s->letter[(int)item->name];
			if (*index < 0) {
				const int made = new_index(c, s, 0);
				if (made < 0)
					return false;
				*index = (int8_t)made;
			}
			s->access[j][d] = *index;
			if (!meet_letter(c, s, *index, v->dim[d++]))
				return false;
		}
	}
	return true;
}

static bool
type_reduced(struct rule_case *c, struct sym_op *s)
{
	s->reduce = (enum form_reduce)s->p->reduce;
	for (int i = 0; i < s->p->over.nitems; i++) {
		const struct pattern_item *item = &s->p->over.item[i];
		int dims[IR_MAX_RANK];
		if (item->name && item->name != '.') {
			int8_t *index = &s->letter[(int)item->name];
			if (*index < 0) {
				const term_id size = sym_linear_term(c, s, item->size, NULL);
				const int made = size ? new_index(c, s, size) : -1;
				if (made < 0)
					return false;
				*index = (int8_t)made;
			}
			s->reduced |= 1u << *index;
			continue;
		}
		const int n = item->name ? -1 : sym_dims_of(c, s, item->attr, s->dots_rank, dims);
		if (n == -2)
			return false;
		for (int d = 0; d < (n < 0 ? s->dots_rank : n); d++)
			s->reduced |= 1u << (s->dots + (n < 0 ? d : dims[d]));
	}
	return true;
}

static bool
type_out(struct rule_case *c, struct sym_op *s, struct sym_value *v)
{
	const struct pattern_side *side = &s->p->out;
	const struct ir_attr *keep = ir_attr_find(s->op, "keep");

	for (int i = 0; i < side->nitems; i++) {
		const struct pattern_item *item = &side->item[i];
		int order[IR_MAX_RANK];
		if (item->name == '.') {
			const int n = item->how == ':'
					      ? sym_dims_of(c, s, item->attr, s->dots_rank, order)
					      : 0;
			if (n == -2)
				return false;
			if (n < 0 && s->grouped)
				return unknown(c, "all dims of '..' in reverse");
			if (n > 0 && n != s->dots_rank)
				return ill(c, "a list of another length");
			for (int k = 0; k < s->dots_rank; k++) {
				const int at = item->how != ':' ? k
					       : n < 0          ? s->dots_rank - 1 - k
								: order[k];
				const bool left =
					item->how != '-' || !(s->reduced >> (s->dots + at) & 1);
				if (!left && !(keep && keep->i))
					continue;
				if (v->rank == IR_MAX_RANK)
					return too_many_dims(c);
				s->out[v->rank++] = left ? (int8_t)(s->dots + at) : NO_INDEX;
			}
		} else if (item->name == '*') {
			for (int k = 0; k < s->star_rank; k++) {
				if (v->rank == IR_MAX_RANK)
					return too_many_dims(c);
				s->out[v->rank++] = (int8_t)(s->star + k);
			}
		} else {
			int8_t none = -1, *index = item->at ? &none : &s->letter[(int)item->name];
			if (*index < 0) {
				const struct ir_attr *a =
					item->size ? NULL : ir_attr_find(s->op, item->attr);
				const term_id size =
					item->size ? sym_linear_term(c, s, item->size, NULL)
					: a        ? sym_attr_affine(c, a)
						   : unknown(c, "a size that is not given");
				const int made =
					size && is_some(c, size) ? new_index(c, s, size) : -1;
				if (made < 0)
					return false;
				*index = (int8_t)made;
			}
			if (v->rank == IR_MAX_RANK)
				return too_many_dims(c);
			if (item->at)
				s->out_at[v->rank] = item;
			s->out[v->rank++] = *index;
		}
	}
	for (int d = 0; d < v->rank; d++)
		v->dim[d] = s->out[d] < 0 ? linear_constant(c->t, 1) : s->size[s->out[d]];
	return true;
}

static bool
type_by_row(struct rule_case *c, struct sym_op *s, struct sym_value *v)
{
	const term_id one = linear_constant(c->t, 1);

	if (!type_groups(c, s, v))
		return false;
	if (!op_is(s->op, TRAIT_PARALLEL) && row_attr_find(s->row, "dim") &&
		sym_dim_of(c, s, "dim", s->dots_rank) < 0)
		return false;
	v->rank = 0;
	for (int j = 0; j < s->p->ninputs; j++)
		if (!type_operand(c, s, j))
			return false;
	for (int j = 0; j < s->p->ninputs; j++) /* a dim of size 1 that matches a larger one */
		for (int d = 0; d < s->in[j]->rank; d++) {
			int8_t *index = &s->access[j][d];
			if (*index >= 0 && s->size[*index] != s->in[j]->dim[d] &&
				case_affine(c, s->size[*index]) != case_affine(c, s->in[j]->dim[d]))
				*index = NO_INDEX;
			else if (*index >= 0 && s->in[j]->dim[d] == one && s->size[*index] != one)
				*index = NO_INDEX;
		}
	return type_reduced(c, s) && type_out(c, s, v);
}

static bool
type_concat(struct rule_case *c, struct sym_op *s, struct sym_value *v)
{
	s->dim = sym_dim_of(c, s, "dim", s->in[0]->rank);
	if (s->dim < 0)
		return false;
	v->rank = s->in[0]->rank;
	memcpy(v->dim, s->in[0]->dim, sizeof v->dim);
	for (int j = 1; j < s->nin; j++) {
		if (s->in[j]->rank != v->rank)
			return ill(c, "the rank");
		for (int d = 0; d < v->rank; d++) {
			const int same =
				d == s->dim ? 1 : case_equal(c, v->dim[d], s->in[j]->dim[d]);
			if (same < 0)
				return false;
			if (!same)
				return ill(c, "sizes differ");
		}
		v->dim[s->dim] = linear_add(c->t, v->dim[s->dim], s->in[j]->dim[s->dim], 1);
	}
	return true;
}

static bool
type_contract(struct rule_case *c, struct sym_op *s, struct sym_value *v)
{
	const struct ir_attr *spec = ir_attr_find(s->op, "spec");
	const char *p = spec->s;
	uint32_t kept = 0;

	for (int j = 0; j < s->nin; j++, p += *p == ',') {
		int d = 0;
		if (s->in[j]->grouped)
			return unknown(c, "a letter for a dim of '..'");
		for (; islower((unsigned char)*p); p++, d++) {
			int8_t *index = &s->letter[(int)*p];
			if (d == s->in[j]->rank)
				return ill(c, "the rank");
			if (*index < 0) {
				const int made = new_index(c, s, s->in[j]->dim[d]);
				if (made < 0)
					return false;
				*index = (int8_t)made;
			}
			s->access[j][d] = *index;
			if (!meet_letter(c, s, *index, s->in[j]->dim[d]))
				return false;
		}
		if (d != s->in[j]->rank)
			return ill(c, "the rank");
	}
	if (strncmp(p, "->", 2) != 0)
		return ill(c, "the spec");
	for (p += 2; *p; p++) {
		const int8_t index = s->letter[(int)*p & 127];
		if (index < 0 || v->rank == IR_MAX_RANK)
			return ill(c, "the spec");
		s->out[v->rank] = index;
		v->dim[v->rank++] = s->size[index];
		kept |= 1u << index;
	}
	s->reduced = ((1u << s->nindices) - 1) & ~kept;
	s->reduce = REDUCE_SUM;
	return true;
}

static bool
type_reshape(struct rule_case *c, struct sym_op *s, struct sym_value *v)
{
	const struct ir_attr *shape = ir_attr_find(s->op, "shape");
	const term_id one = linear_constant(c->t, 1);
	term_id a = one, b = one;
	int open = -1; /* the dim whose size is -1: the others leave it */

	if (!shape || shape->kind != ATTR_LIST || shape->n > IR_MAX_RANK)
		return unknown(c, "a shape that is not known");
	if (s->grouped)
		return unknown(c, "a shape of a tensor with '..'");
	v->rank = shape->n;
	for (int d = 0; d < v->rank; d++) {
		if (!(v->dim[d] = sym_attr_affine(c, &shape->list[d])))
			return false;
		int size = case_at_least(c, v->dim[d]);
		if (!size && open < 0) {
			size = case_equal(c, v->dim[d], linear_constant(c->t, -1));
			v->dim[d] = size == 1 ? one : v->dim[d];
			open = d;
		}
		if (size != 1)
			return size < 0 ? false : ill(c, "a size that is negative");
		if (!(b = linear_product(c->t, b, v->dim[d])))
			return unknown(c, c->t->failed);
	}
	for (int d = 0; d < s->in[0]->rank; d++)
		if (!(a = linear_product(c->t, a, s->in[0]->dim[d])))
			return unknown(c, c->t->failed);
	if (open >= 0)
		return (v->dim[open] = case_quotient(c, a, b, true)) != 0;
	const int same = case_equal(c, a, b);
	return same < 0 ? false : same == 1 || ill(c, "another number of elements");
}

/* Are the element types equal, as far as the rule says? */
static bool
same_type(const struct value_type *a, const struct value_type *b)
{
	return a->letter == b->letter && (a->letter || a->dtype == b->dtype);
}

/* The classes that a letter in a row of ops or in a rule stands for: a set of 1 << enum
 * ir_dclass. */
static unsigned
classes_of(char letter)
{
	static const enum ir_dtype one[] = {
		[IR_FLOAT] = IR_f32, [IR_INT] = IR_i32, [IR_UINT] = IR_u8, [IR_BOOL] = IR_bool};
	unsigned classes = 0;

	for (int i = 0; i < (int)(sizeof one / sizeof *one); i++)
		classes |= (unsigned)row_letter_fits(letter, one[i]) << i;
	return classes;
}

/* The left side determines the element types; the right side must accept them all. `classes`: those
 * that an op takes. */
static bool
accept_classes(struct rule_case *c, const struct value_type *t, unsigned classes)
{
	int i = 0;

	if (!t->letter)
		return classes >> ir_dtype_class((enum ir_dtype)t->dtype) & 1 ||
		       ill(c, "an element type that an op does not take");
	while (i < c->nletters && c->letter[i].name != t->letter)
		i++;
	if (i == CASE_LETTERS)
		return unknown(c, "too many element types");
	if (i == c->nletters) {
		c->letter[i].name = t->letter;
		c->letter[i].classes = classes_of(*t->letter);
		c->nletters++;
	}
	if (c->side == RULE_LEFT)
		c->letter[i].classes &= classes;
	return (c->letter[i].classes && !(c->letter[i].classes & ~classes)) ||
	       ill(c, "an element type that an op does not take");
}

static bool
accept_type(struct rule_case *c, const struct value_type *t, char letter)
{
	return accept_classes(c, t, classes_of(letter));
}

/* Is the number representable in the type? Of a letter, in all types of a class. */
static bool
accept_number(struct rule_case *c, const struct value_type *t, double x)
{
	const double bits = x == floor(x) ? fabs(x) : INFINITY;
	unsigned classes = 1u << IR_FLOAT;

	if (bits <= INT8_MAX)
		classes |= 1u << IR_INT | (x >= 0) << IR_UINT | (x == 0 || x == 1) << IR_BOOL;
	else if (t->letter ? c->side == RULE_LEFT : bits < INFINITY)
		classes |= 1u << IR_INT | (x >= 0) << IR_UINT; /* of some types of the class */
	return accept_classes(c, t, classes);
}

static bool
type_elements(struct rule_case *c, struct sym_op *s, struct sym_value *v)
{
	const char *letters = s->row->operand_types, *result = s->row->result_type;
	const struct value_type bool_type = {IR_bool, NULL}, i32 = {IR_i32, NULL};
	const int n = (int)strlen(letters);
	const bool any = n > 3 && strcmp(letters + n - 3, "...") == 0;

	for (int i = 0; i < s->nin; i++)
		if (!accept_type(c, &s->in[i]->type, letters[any && i >= n - 3 ? n - 4 : i]))
			return false;

	for (int i = 0; i < s->nin; i++)
		for (int j = 0; j < i; j++) {
			const char a = letters[any && i >= n - 3 ? n - 4 : i],
				   b = letters[any && j >= n - 3 ? n - 4 : j];
			if (a == b && a != 'I' && a != '*' &&
				!same_type(&s->in[i]->type, &s->in[j]->type))
				return ill(c, "element types differ");
		}
	for (int i = 0; i < s->nin; i++)
		if (letters[i] == 'b' && !same_type(&s->in[i]->type, &bool_type))
			return ill(c, "a condition that is not bool");
	if (strcmp(result, "b") == 0) {
		v->type = bool_type;
	} else if (strcmp(result, "i32") == 0) {
		v->type = i32;
	} else if (strcmp(result, "to") == 0) {
		const struct ir_attr *to = sym_attr_or_default(s, "to");
		if (!to)
			return unknown(c, "a type that is not given");
		v->type = to->kind == ATTR_NAME ? (struct value_type){-1, to->s}
						: (struct value_type){(int)to->i, NULL};
	} else if (strcmp(result, "written") != 0) {
		for (int i = 0; i < s->nin; i++)
			if (letters[any && i >= n - 3 ? n - 4 : i] == *result)
				v->type = s->in[i]->type;
	}
	return true;
}

static bool
type_written(struct rule_case *c, const struct ir_type_text *text, struct sym_value *v)
{
	v->type = (struct value_type){text->letter ? -1 : (int)text->dtype, text->letter};
	const int dots = !text->dots ? 0 : c->dots == ANY_RANK ? 1 : c->dots;
	v->grouped = text->dots && c->dots == ANY_RANK;
	v->rank = dots + text->rank;
	if (v->rank > IR_MAX_RANK)
		return too_many_dims(c);
	for (int d = 0; d < dots; d++) {
		const struct ir_size size = {
			.kind = SIZE_NAME, .name = v->grouped ? case_dots : case_dots_dim[d]};
		if (!(v->dim[d] = case_size(c, &size)))
			return false;
	}
	for (int d = 0; d < text->rank; d++)
		if (!(v->dim[dots + d] = case_size(c, text->dim[d])))
			return false;
	for (int d = 0; d < v->rank; d++)
		if (!is_some(c, v->dim[d]))
			return false;
	return true;
}

/* --- shapes that are names -------------------------------------------------------------------- */

enum { MOVED_SIZE = 1 << 20 }; /* in place of the size: too many positions to be expanded */

/* Does the op only move elements, by a list that is a name? */
static bool
moves_by_name(const struct ir_op *op)
{
	bool name = false;

	for (int i = 0; i < op->nattrs; i++)
		name = name || op->attr[i].kind == ATTR_NAME;
	return name &&
	       (op->code == OP_broadcast || op->code == OP_reshape || op->code == OP_transpose ||
		       op->code == OP_slice || op->code == OP_reverse);
}

static bool
same_attr(const struct ir_attr *a, const struct ir_attr *b)
{
	return a->key == b->key &&
	       (a->kind == ATTR_NAME ? b->kind == ATTR_NAME && a->s == b->s : ir_attr_equal(a, b));
}

bool
sym_same_moved(const struct sym_op *a, const struct sym_op *b)
{
	bool same =
		a == b ||
		(a && b && a->op->code == b->op->code && a->op->nattrs == b->op->nattrs &&
			a->in[0]->rank == b->in[0]->rank && a->in[0]->grouped == b->in[0]->grouped);

	for (int i = 0; same && a && i < a->op->nattrs; i++)
		same = same_attr(&a->op->attr[i], &b->op->attr[i]);
	for (int d = 0; same && a && d < a->in[0]->rank; d++)
		same = a->in[0]->dim[d] == b->in[0]->dim[d];
	return same;
}

/* Such a result has one dim, of a size that nothing depends on: see type_of_moved. */
static bool
type_moved(struct rule_case *c, struct sym_op *s, struct sym_value *v)
{
	if (s->in[0]->moved)
		return unknown(c, "a shape that is not known");
	v->moved = s;
	v->grouped = s->moves = true;
	v->rank = 1;
	v->dim[0] = linear_constant(c->t, MOVED_SIZE);
	return true;
}

/* Nothing is known of such dims but that they are equal: they are read by elementwise ops. */
static bool
type_of_moved(struct rule_case *c, struct sym_op *s, struct sym_value *v)
{
	bool fits = row_is_pointwise(s->row);

	for (int j = 0; j < s->nin; j++) {
		if (s->in[j]->moved && !v->moved)
			v->moved = s->in[j]->moved;
		fits = fits && (!s->in[j]->rank || sym_same_moved(v->moved, s->in[j]->moved));
	}
	return fits || unknown(c, "a shape that is not known");
}

static bool
type_op(struct rule_case *c, const struct ir_op *op)
{
	struct sym_op *s = ARENA_NEW(c->arena, struct sym_op);
	struct sym_value *v;
	bool ok, moved = false;

	if (op->nresults != 1 || op->body)
		return unknown(c, "an op with a body, or with several results");
	v = &c->value[op->result[0].id - c->first];
	*v = (struct sym_value){.input = -1, .op = s};
	s->op = op;
	s->row = op_row(c->rules->m->ctx, op);
	s->p = s->row->pattern;
	memset(s->letter, -1, sizeof s->letter);
	if (op->noperands > FORM_MAX_INPUTS)
		return unknown(c, "an op with many operands");
	for (int j = 0; j < op->noperands; j++) {
		s->in[j] = case_value(c, ir_operand(op, j));
		v->grouped = v->grouped || s->in[j]->grouped;
		moved = moved || s->in[j]->moved;
	}
	s->nin = op->noperands;
	s->grouped = v->grouped;
	if (op_is(op, TRAIT_WRITTEN)) {
		if (!op->written)
			return ill(c, "a type is missing");
		if (!type_written(c, op->written, v))
			return false;
		s->grouped = v->grouped;
		const struct ir_attr *a = ir_attr_find(op, "value");
		if (op->code == OP_constant && a &&
			(a->kind == ATTR_INT || a->kind == ATTR_FLOAT) &&
			!accept_number(c, &v->type, a->kind == ATTR_INT ? (double)a->i : a->f))
			return false;
	}
	if (moves_by_name(op))
		return type_moved(c, s, v) && type_elements(c, s, v);
	if (moved && !type_of_moved(c, s, v))
		return false;
	switch (op->code) {
	case OP_concat: ok = type_concat(c, s, v); break;
	case OP_contract: ok = type_contract(c, s, v); break;
	case OP_reshape: ok = type_reshape(c, s, v); break;
	default:
		if (!s->p || op_is(op, TRAIT_NAMED | TRAIT_KEYED | TRAIT_CALLS | TRAIT_EFFECT))
			return unknown(c, "an op that index notation does not define");
		ok = type_by_row(c, s, v);
	}
	if (!ok)
		return c->stop != STOP_NONE ? false : unknown(c, c->t->failed);
	/* A reduction over the dims of `..` removes them all. */
	if (v->grouped && s->p && s->reduced & 1u << s->dots)
		v->grouped = false;
	return type_elements(c, s, v);
}

void
case_side(struct rule_case *c, int side)
{
	c->side = side;
	c->value = c->typed[side].value;
	c->first = c->typed[side].first;
}

bool
case_types(struct rule_case *c, int side)
{
	const struct ir_func *f = c->rule->side[side];
	uint32_t last = 0;

	c->side = side;
	c->first = f->body.nargs ? f->body.arg[0].id : UINT32_MAX;
	IR_FOR_OPS (op, &f->body)
		for (int i = 0; i < op->nresults; i++) {
			c->first = op->result[i].id < c->first ? op->result[i].id : c->first;
			last = op->result[i].id > last ? op->result[i].id : last;
		}
	for (uint32_t i = 0; i < f->body.nargs; i++) {
		c->first = f->body.arg[i].id < c->first ? f->body.arg[i].id : c->first;
		last = f->body.arg[i].id > last ? f->body.arg[i].id : last;
	}
	const uint32_t n = last < c->first ? 0 : last - c->first + 1;
	c->value = ARENA_ARRAY(c->arena, struct sym_value, n + 1);
	c->typed[side] = (struct case_values){c->value, c->first};
	for (uint32_t i = 0; i < f->body.nargs; i++) {
		struct sym_value *v = &c->value[f->body.arg[i].id - c->first];
		v->input = (int)i;
		if (!type_written(c, c->rule->param[i], v))
			return false;
	}
	for (const struct ir_op *op = f->body.first; op != c->end[side]; op = op->next)
		if (!type_op(c, op))
			return false;
	return true;
}
