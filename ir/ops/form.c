/*
 * Makes the form of an op: matches the row's index notation with the shapes of the operands.
 * Groups come first among the indices, then letters in order of appearance.
 */
#include "ir/ops/form_match.h"

#include "ir/base/alloc.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>
#include <talloc.h>

typedef bool form_maker(
	const struct ir_module *m, const struct ir_op *op, struct form *f, struct arena *a);

/* Rows whose notation depends on the number of operands. */
static form_maker *const by_code[OP_NCODES] = {
	[OP_contract] = form_contract,
	[OP_concat] = form_concat,
	[OP_gather_nd] = form_gather_nd,
	[OP_scatter_nd] = form_scatter_nd,
	[OP_window] = form_window,
};

bool
form_exists(enum op_code code)
{
	static const char *const notation[] = {
#define OP(name, types, notation, ...) notation,
#include "ir/ops/ops.def"
#undef OP
	};

	return notation[code][0] != '@' || by_code[code];
}

int
form_new_index(struct matcher *mt, int64_t size)
{
	assert(mt->f->nindices < FORM_MAX_INDICES);
	mt->f->size[mt->f->nindices] = size;
	return mt->f->nindices++;
}

int
dims_attr(struct matcher *mt, const char *key, int rank, int64_t dims[IR_MAX_RANK])
{
	const struct ir_attr *attr = ir_attr_find(mt->op, key);
	int n = ir_attr_ints(mt->op, key, dims, IR_MAX_RANK);
	unsigned seen = 0;

	if (mt->failed)
		return -2;
	for (int i = 0; i < n; i++) {
		int64_t d = dims[i] < 0 ? dims[i] + rank : dims[i];
		if (d < 0 || d >= rank) {
			diag_error(mt->m->ctx->diag,
				attr->list[i].loc.begin ? attr->list[i].loc : mt->op->loc,
				"%s: dim %" PRId64 " in %s is not one of the %d dims",
				mt->row->name, dims[i], key, rank);
			mt->failed = true;
			return -2;
		}
		if (seen >> d & 1) {
			diag_error(mt->m->ctx->diag, mt->op->loc,
				"%s: dim %" PRId64 " appears twice in %s", mt->row->name, d, key);
			mt->failed = true;
			return -2;
		}
		seen |= 1u << d;
		dims[i] = d;
	}
	return n;
}

/* A side with both groups: `..` has as many dims as elsewhere, `*` takes the rest. */
static bool
match_both_groups(struct matcher *mt)
{
	const struct pattern *p = mt->pattern;

	for (int j = 0; j < p->ninputs; j++) {
		int left = ir_operand_type(mt->op, j)->rank - row_side_letters(&p->in[j]) -
			   mt->dots_rank;
		if (!row_side_group(&p->in[j], '.') || !row_side_group(&p->in[j], '*'))
			continue;
		if (left < 0)
			return FAIL(mt, "%s: operand %d has rank %d; expected at least %d",
				mt->row->name, j + 1, ir_operand_type(mt->op, j)->rank,
				row_side_letters(&p->in[j]) + mt->dots_rank);
		mt->star_rank = left;
	}
	return true;
}

/* The rank of the dots group, and sizes that an attribute or the written type gives. */
static bool
match_groups(struct matcher *mt)
{
	const struct pattern *p = mt->pattern;
	const struct pattern_item *out = row_side_group(&p->out, '.');
	int64_t shape[IR_MAX_RANK];

	for (int j = 0; j < p->ninputs; j++) {
		int left = ir_operand_type(mt->op, j)->rank - row_side_letters(&p->in[j]);
		const struct pattern_item *dots = row_side_group(&p->in[j], '.'),
					  *star = row_side_group(&p->in[j], '*');
		if (left < 0 || (left > 0 && p->in[j].nitems == row_side_letters(&p->in[j])))
			return FAIL(mt, "%s: operand %d has rank %d; expected %s%d", mt->row->name,
				j + 1, ir_operand_type(mt->op, j)->rank,
				left < 0 ? "at least " : "", row_side_letters(&p->in[j]));
		if (dots && !star && dots->how != ':' && left > mt->dots_rank)
			mt->dots_rank = left;
		if (star && !dots)
			mt->star_rank = left;
	}
	if (!match_both_groups(mt) || !term_check(mt))
		return false;
	if (out && out->size) {
		for (int d = 0; d < mt->dots_rank && !mt->failed; d++)
			shape[d] = term_size(
				mt, out->size, &(struct computed){.dim = d, .here = d, .which = d});
		if (mt->failed)
			return false;
	} else if (out && out->how == '=') {
		mt->dots_rank = ir_attr_ints(mt->op, out->attr, shape, IR_MAX_RANK);
	} else if (!p->ninputs) {
		mt->dots_rank = mt->written->rank;
		memcpy(shape, mt->written->dim, sizeof shape);
	}
	if (row_side_letters(&p->out) + mt->dots_rank + mt->star_rank > IR_MAX_RANK)
		return FAIL(mt, "%s: the result would have more than %d dims", mt->row->name,
			IR_MAX_RANK);
	bool given = (out && (out->how == '=' || out->size)) || !p->ninputs;
	mt->dots = mt->f->nindices;
	for (int i = 0; i < mt->dots_rank; i++) {
		int index = form_new_index(mt, given ? shape[i] : 1);
		mt->fixed[index] = given;
		if (given && shape[i] < 1)
			return FAIL(mt,
				"%s: dim %d of the result would be empty or "
				"outside the operand (size %" PRId64 ")",
				mt->row->name, i, shape[i]);
	}
	mt->star = mt->f->nindices;
	for (int i = 0; i < mt->star_rank; i++)
		form_new_index(mt, -1);
	return true;
}

/* The positions in the dots group of the dims of a side: the last ones, or from an attribute. */
static bool
group_positions(
	struct matcher *mt, const struct pattern_item *item, int rank, int position[IR_MAX_RANK])
{
	int64_t dims[IR_MAX_RANK];
	int n = item->how == ':' ? dims_attr(mt, item->attr, mt->dots_rank, dims) : -1;

	if (n == -2)
		return false;
	if (n >= 0 && n != rank)
		return FAIL(mt, "%s: %s lists %d dims; expected %d", mt->row->name, item->attr, n,
			rank);
	for (int d = 0; d < rank; d++)
		position[d] = n >= 0 ? (int)dims[d] : mt->dots_rank - rank + d;
	return true;
}

/* Matches a dimension of operand j with an index of a group: sizes are equal, or one is 1. */
static bool
match_dots_dim(struct matcher *mt, int j, int index, int64_t size)
{
	int64_t *have = &mt->f->size[index];

	if (*have == size || size == 1)
		return true;
	if (*have == 1 && !mt->fixed[index]) {
		*have = size;
		return true;
	}
	return FAIL(mt, "%s: operand %d does not broadcast: size %" PRId64 " against %" PRId64,
		mt->row->name, j + 1, size, *have);
}

/* Would the op take its two operands in the other order? */
static bool
fits_swapped(const struct ir_module *m, const struct ir_op *op)
{
	struct ir_use use[2];
	struct ir_op swapped = *op;
	struct form f;

	if (op->noperands != 2)
		return false;
	use[0] = op->operand[1];
	use[1] = op->operand[0];
	swapped.operand = use;
	return form_shape(m, &swapped, NULL, &f, NULL);
}

bool
form_sizes_differ(const struct ir_module *m, const struct ir_op *op, struct ir_loc loc, char name,
	int64_t a, int64_t b)
{
	struct diag *d = m->ctx->diag;

	/* Messages are already muted: by the caller, or in the attempt of fits_swapped. */
	if (diag_mute(d, true))
		return false;
	const bool swapped = fits_swapped(m, op);
	diag_mute(d, false);
	void *scratch = alloc_scratch(NULL);
	char *types = text_copy(scratch, "");
	for (int j = 0; j < op->noperands; j++)
		types = text_append(types, j ? " and %s" : "%s",
			ir_type_text(scratch, m, ir_operand_type(op, j)));
	diag_error(d, loc, "%s: sizes of %c differ: %" PRId64 " and %" PRId64 "; operands are %s%s",
		op_name((enum op_code)op->code), name, a, b, types,
		swapped ? "; they fit in the other order" : "");
	talloc_free(scratch);
	return false;
}

static bool
match_letter(struct matcher *mt, char name, int index, int64_t size)
{
	int64_t *have = &mt->f->size[index];

	if (*have < 0)
		*have = size;
	if (*have == size)
		return true;
	return form_sizes_differ(mt->m, mt->op, mt->op->loc, name, *have, size);
}

static void
add_computed(struct matcher *mt, const struct pattern_item *item, int operand, int dim, int which)
{
	assert(mt->ncomputed < FORM_MAX_INDICES);
	mt->computed[mt->ncomputed++] =
		(struct computed){item, operand, dim, which < 0 ? -1 : mt->dots + which, which};
}

/* A group of `rank` dims of operand j from dim d on, each read at a computed position. */
static bool
match_computed_group(struct matcher *mt, const struct pattern_item *item, int j, int d, int rank)
{
	if (rank != mt->dots_rank)
		return FAIL(mt, "%s: operand %d has rank %d; expected %d", mt->row->name, j + 1,
			ir_operand_type(mt->op, j)->rank,
			ir_operand_type(mt->op, j)->rank - rank + mt->dots_rank);
	for (int k = 0; k < rank; k++) {
		mt->f->in[j].index[d + k] = -1;
		add_computed(mt, item, j, d + k, k);
	}
	return true;
}

/* Matches the dims of operand j with the items of its side: fills the access. */
static bool
match_operand(struct matcher *mt, int j)
{
	const struct pattern_side *side = &mt->pattern->in[j];
	const struct ir_type *t = ir_operand_type(mt->op, j);
	struct form_access *access = &mt->f->in[j];
	int position[IR_MAX_RANK], d = 0;

	access->rank = t->rank;
	for (int i = 0; i < side->nitems; i++) {
		const struct pattern_item *item = &side->item[i];
		int rest = t->rank - row_side_letters(side);
		if (item->name == '.') {
			rest -= row_side_group(side, '*') ? mt->star_rank : 0;
			if (rest > mt->dots_rank)
				return FAIL(mt,
					"%s: operand %d has rank %d, more than the "
					"shape, which has rank %d",
					mt->row->name, j + 1, rest, mt->dots_rank);
			if (item->at) {
				if (!match_computed_group(mt, item, j, d, rest))
					return false;
				d += rest;
				continue;
			}
			if (!group_positions(mt, item, rest, position))
				return false;
			for (int k = 0; k < rest; k++, d++) {
				access->index[d] = (int8_t)(mt->dots + position[k]);
				if (!match_dots_dim(mt, j, access->index[d], t->dim[d]))
					return false;
			}
		} else if (item->name == '*') {
			for (int k = 0; k < mt->star_rank; k++, d++) {
				access->index[d] = (int8_t)(mt->star + k);
				if (!match_letter(mt, '*', access->index[d], t->dim[d]))
					return false;
			}
		} else if (item->at) {
			access->index[d] = -1;
			add_computed(mt, item, j, d++, -1);
		} else {
			int8_t *index = &mt->letter[(int)item->name];
			if (*index < 0)
				*index = (int8_t)form_new_index(mt, -1);
			access->index[d] = *index;
			if (!match_letter(mt, item->name, *index, t->dim[d++]))
				return false;
		}
	}
	return true;
}

/* A dimension of size 1 matched with a larger index is read at 0. */
static void
mark_broadcasts(struct matcher *mt)
{
	for (int j = 0; j < mt->f->ninputs; j++)
		for (int d = 0; d < mt->f->in[j].rank; d++) {
			int8_t *index = &mt->f->in[j].index[d];
			if (*index >= 0 && ir_operand_type(mt->op, j)->dim[d] == 1 &&
				mt->f->size[*index] != 1)
				*index = -1;
		}
}

static bool
match_reduced(struct matcher *mt)
{
	const struct pattern *p = mt->pattern;
	int64_t dims[IR_MAX_RANK];

	mt->f->reduce = (uint8_t)p->reduce;
	for (int i = 0; i < p->over.nitems; i++) {
		const struct pattern_item *item = &p->over.item[i];
		if (item->name && item->name != '.') {
			int8_t *index = &mt->letter[(int)item->name];
			if (*index < 0)
				*index =
					(int8_t)form_new_index(mt, term_size(mt, item->size, NULL));
			mt->f->reduced |= 1u << mt->letter[(int)item->name];
			continue;
		}
		int n = item->name ? -1 : dims_attr(mt, item->attr, mt->dots_rank, dims);
		if (n == -2)
			return false;
		for (int d = 0; d < (n < 0 ? mt->dots_rank : n); d++)
			mt->f->reduced |= 1u << (mt->dots + (n < 0 ? d : dims[d]));
	}
	if ((p->reduce == REDUCE_ARGMAX || p->reduce == REDUCE_ARGMIN) &&
		form_reduced_size(mt->f) > INT32_MAX)
		return FAIL(mt, "%s: %.0f elements are too many for positions of type i32",
			mt->row->name, form_reduced_size(mt->f));
	return true;
}

static void
out_append(struct form *f, int index)
{
	f->out.index[f->out.rank++] = (int8_t)index;
}

/* transpose without perm reverses the dims; a group with dims left out keeps them, with size 1, if
 * `keep` is set. */
static bool
match_out_dots(struct matcher *mt, const struct pattern_item *item)
{
	bool keep = ir_attr_int(mt->op, "keep", 0) != 0;
	int64_t order[IR_MAX_RANK];
	int n = item->how == ':' ? dims_attr(mt, item->attr, mt->dots_rank, order) : 0;

	if (n == -2)
		return false;
	if (item->how == ':' && n >= 0 && n != mt->dots_rank)
		return FAIL(mt, "%s: %s lists %d dims; expected %d", mt->row->name, item->attr, n,
			mt->dots_rank);
	for (int i = 0; i < mt->dots_rank; i++) {
		int at = item->how != ':' ? i : n < 0 ? mt->dots_rank - 1 - i : (int)order[i];
		if (item->how != '-' || !(mt->f->reduced >> (mt->dots + at) & 1))
			out_append(mt->f, mt->dots + at);
		else if (keep)
			out_append(mt->f, -1);
	}
	return true;
}

/* An index that only the result has: an attribute or a term gives its size. */
static bool
new_out_index(struct matcher *mt, const struct pattern_item *item, int8_t *index)
{
	int64_t size =
		item->size ? term_size(mt, item->size, NULL) : ir_attr_int(mt->op, item->attr, -1);

	if (mt->failed)
		return false;
	if (size < 1 && item->attr)
		return FAIL(mt, "%s: %s must be at least 1, not %" PRId64, mt->row->name,
			item->attr, size);
	if (size < 1)
		return FAIL(mt,
			"%s: the operand is too small: dim %d of the result would have size %" PRId64,
			mt->row->name, mt->f->out.rank, size);
	*index = (int8_t)form_new_index(mt, size);
	return true;
}

static bool
match_out(struct matcher *mt)
{
	const struct pattern_side *side = &mt->pattern->out;

	for (int i = 0; i < side->nitems; i++) {
		const struct pattern_item *item = &side->item[i];
		if (item->name == '.') {
			if (!match_out_dots(mt, item))
				return false;
		} else if (item->name == '*') {
			for (int k = 0; k < mt->star_rank; k++)
				out_append(mt->f, mt->star + k);
		} else {
			int8_t none = -1, *index = item->at ? &none : &mt->letter[(int)item->name];
			if (*index < 0 && !new_out_index(mt, item, index))
				return false;
			if (item->at)
				add_computed(mt, item, -1, mt->f->out.rank, -1);
			out_append(mt->f, *index);
		}
	}
	return true;
}

/* The form of the row with sizes; expressions come from mt->a. */
static bool
match(struct matcher *mt)
{
	const struct pattern *p = mt->pattern;

	if (!match_groups(mt))
		return false;
	for (int j = 0; j < p->ninputs; j++)
		if (!match_operand(mt, j))
			return false;
	mark_broadcasts(mt);
	return match_reduced(mt) && match_out(mt) && (!p->has_terms || term_resolve(mt));
}

/*
 * The summand for elements that are not selected, in a sum of which at most one element is. -0
 * changes nothing, not even the sign of a zero; if none is selected, because the position is
 * outside, the sum must be +0.
 */
static const struct expr *
nothing_of(struct arena *a, const struct form *f, int index)
{
	const enum ir_dtype t = (enum ir_dtype)f->body->dtype;
	const struct expr *at = f->at[index], *zero = expr_const(a, t, 0);

	if (form_access_has(&f->out, index) || f->reduce != REDUCE_NONE ||
		ir_dtype_class(t) != IR_FLOAT)
		return zero;
	const struct expr *low = expr_call(a, FN_ge, at, expr_const(a, IR_i64, 0), NULL);
	const struct expr *high =
		expr_call(a, FN_lt, at, expr_const(a, IR_i64, (double)f->size[index]), NULL);
	return expr_call(
		a, FN_select, expr_call(a, FN_and, low, high, NULL), expr_const(a, t, -0.0), zero);
}

void
form_open(struct arena *a, struct form *f, int index)
{
	const struct expr *hit = expr_call(a, FN_eq, f->at[index], expr_index(a, index), NULL);
	const struct expr *nothing = nothing_of(a, f, index);

	if (!form_access_has(&f->out, index)) {
		f->reduced |= 1u << index;
		f->reduce = REDUCE_SUM;
	}
	f->body = expr_call(a, FN_select, hit, f->body, nothing);
	f->at[index] = NULL;
}

void
form_forget(struct form *f)
{
	static const struct expr somewhere = {.kind = EXPR_CONST, .dtype = IR_i64};

	for (int i = 0; i < f->nindices; i++)
		if (f->at[i])
			f->at[i] = &somewhere;
	f->body = NULL;
}

bool
form_shape(const struct ir_module *m, const struct ir_op *op, const struct ir_type *written,
	struct form *f, struct arena *a)
{
	struct matcher mt = {
		.m = m, .op = op, .row = op_row(m->ctx, op), .written = written, .f = f, .a = a};
	const struct pattern *p = mt.row->last && ir_attr_int(op, "channels_last", 0)
					  ? mt.row->last
					  : mt.row->pattern;
	const bool borrow = !a && p && (p->has_terms || op->code == OP_iota);

	memset(f, 0, sizeof *f);
	memset(mt.letter, -1, sizeof mt.letter);
	mt.pattern = p;
	if (!p)
		return by_code[op->code](m, op, f, a);
	f->ninputs = (uint8_t)p->ninputs;
	if (borrow)
		mt.a = arena_create(m->ctx); /* the module of an instance is not a talloc chunk */
	bool ok = match(&mt);
	if (ok && mt.a) {
		f->body = term_expr(&mt, p->body, NULL, false);
		ok = !mt.failed;
	}
	if (borrow) {
		form_forget(f);
		talloc_free(mt.a);
	}
	return ok;
}

bool
form_make(const struct ir_module *m, struct arena *a, const struct ir_op *op,
	const struct ir_type *written, struct form *f)
{
	if (!form_exists((enum op_code)op->code))
		return false;
	if (!written && op->nresults)
		written = op->result[0].type;
	if (!form_shape(m, op, written, f, a))
		return false;
	f->dtype = written ? written->dtype : ir_operand_type(op, op->noperands - 1)->dtype;
	if (!form_reduce_is_place((enum form_reduce)f->reduce))
		f->body = expr_convert(a, (enum ir_dtype)f->dtype, f->body);
	return true;
}

double
form_take_divisor(struct form *f)
{
	const struct expr *e = f->body;

	if (f->reduce != REDUCE_SUM || form_is_scatter(f) || e->kind != EXPR_CALL ||
		e->id != FN_div || e->arg[1]->kind != EXPR_CONST ||
		ir_dtype_class((enum ir_dtype)e->dtype) != IR_FLOAT)
		return 0;
	f->body = e->arg[0];
	return e->arg[1]->value;
}

const struct expr *
form_place(struct arena *a, const struct form *f)
{
	const struct expr *e = expr_const(a, IR_i64, 0);

	for (int i = 0; i < f->nindices; i++) {
		if (!(f->reduced >> i & 1))
			continue;
		e = expr_call(a, FN_mul, e, expr_const(a, IR_i64, (double)f->size[i]), NULL);
		e = expr_call(a, FN_add, e, expr_index(a, i), NULL);
	}
	return e;
}
