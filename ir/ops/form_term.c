/* The terms of a row as expressions, once sizes and attributes are known. */
#include "ir/ops/form_match.h"

#include "runtime/kernel/rng.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MESSAGE_MAX = 400 }; /* words of a condition with its numbers */
enum { SPATIAL_DIMS = 2 };  /* of convolution and pooling: entries of lists read as $list.0, .1 */

/* row-major number of the element in the whole result */
static const struct expr *
position_expr(struct matcher *mt)
{
	const struct form *f = mt->f;
	struct arena *a = mt->a;
	const struct expr *e = expr_const(a, IR_i64, 0);

	for (int d = 0; d < f->out.rank; d++) {
		int64_t size = f->out.index[d] < 0 ? 1 : f->size[f->out.index[d]];
		e = expr_call(a, FN_mul, e, expr_const(a, IR_i64, (double)size), NULL);
		if (f->out.index[d] >= 0)
			e = expr_call(a, FN_add, e, expr_index(a, f->out.index[d]), NULL);
	}
	return e;
}

/* key(): of the op's random numbers. A constant is a double, which holds 53 bits. */
static const struct expr *
key_expr(struct matcher *mt)
{
	const uint64_t seed = (uint64_t)ir_attr_int(mt->op, "seed", 0);
	const uint64_t key = rt_key(0, seed, mt->op->symbol ? mt->op->symbol : "");

	return expr_const(mt->a, IR_i64, (double)(key >> 11));
}

double
form_reduced_size(const struct form *f)
{
	double n = 1;

	for (int i = 0; i < f->nindices; i++)
		if (f->reduced >> i & 1)
			n *= (double)f->size[i];
	return n;
}

static const struct expr *
fail_const(struct matcher *mt)
{
	mt->failed = true;
	return expr_const(mt->a, IR_i64, 0);
}

/* The entry of a list for dim `which`; -1: the list names dims, but not this one. */
static int
entry_of_dim(struct matcher *mt, int which)
{
	int64_t dims[IR_MAX_RANK];

	if (mt->failed) /* and said so */
		return -1;
	const int n = dims_attr(mt, "dims", mt->dots_rank, dims);
	if (n == -2)
		mt->failed = true;
	for (int i = 0; i < n; i++)
		if (dims[i] == which)
			return i;
	return n == -1 ? which : -1;
}

/* Does a list have the entries it needs: one for each of `dims`, or of the operand's dims? */
static bool
check_list(struct matcher *mt, const struct ir_attr *list, const struct term *t)
{
	int64_t dims[IR_MAX_RANK];
	int need = SPATIAL_DIMS;

	if (mt->failed)
		return false;
	if (t->entry == TERM_WHOLE) {
		need = dims_attr(mt, "dims", mt->dots_rank, dims);
		need = need < 0 ? mt->dots_rank : need;
	}
	if (list->n == need || mt->failed)
		return !mt->failed;
	diag_error(mt->m->ctx->diag, list->loc.begin ? list->loc : mt->op->loc,
		"%s: %s has %d %s; expected %d", mt->row->name, list->key, list->n,
		list->n == 1 ? "entry" : "entries", need);
	return false;
}

/* An attribute's number; the row's default or `otherwise` if it is absent. */
static const struct expr *
attr_expr(struct matcher *mt, const struct term *t, const struct computed *at)
{
	const struct ir_attr *attr = ir_attr_find(mt->op, t->name);
	const struct row_attr *row = row_attr_find(mt->row, t->name);
	const bool list = row->type == ROW_INTS || row->type == ROW_SIZES;

	if (attr && list) {
		const int entry = t->entry >= 0 ? t->entry : entry_of_dim(mt, at->which);
		if (!check_list(mt, attr, t))
			return fail_const(mt);
		if (entry >= 0)
			return expr_const_int(mt->a, IR_i64, attr->list[entry].i);
		attr = NULL;
	}
	if (!attr && t->kind == TERM_GIVEN)
		return term_expr(mt, t->arg[0], at, true);
	if (!attr)
		attr = &row->otherwise;
	if (attr->kind == ATTR_FLOAT || attr->kind == ATTR_QUANTITY)
		return expr_const(mt->a, IR_f64, attr->f);
	return expr_const_int(mt->a, attr->kind == ATTR_BOOL ? IR_bool : IR_i64, attr->i);
}

/* The dim in attribute `name`, of the `rank` dims of the group. */
static int
dim_attr(struct matcher *mt, const char *name, int rank)
{
	const int64_t dim = ir_attr_int(mt->op, name,
		row_attr_find(mt->row, name) ? row_attr_find(mt->row, name)->otherwise.i : 0);

	if (dim >= -rank && dim < rank)
		return (int)(dim < 0 ? dim + rank : dim);
	if (!mt->failed)
		diag_error(mt->m->ctx->diag, mt->op->loc,
			"%s: %s %" PRId64 " is not one of the %d dims", mt->row->name, name, dim,
			rank);
	mt->failed = true;
	return -1;
}

static int
operand_named(const struct matcher *mt, const char *name)
{
	const struct pattern *p = mt->pattern;

	for (int j = 0; j < p->ninputs; j++)
		if (name == p->name[j])
			return j;
	return -1;
}

static const struct expr *
extent_expr(struct matcher *mt, const struct term *t, const struct computed *at)
{
	int operand = at ? at->operand : 0, dim = at ? at->dim : 0;

	if (t->name) {
		operand = operand_named(mt, t->name);
		const int rank = ir_operand_type(mt->op, operand)->rank;
		const int entry = mt->row->last && !t->each && !t->along
					  ? row_image_dim(mt->op, t->entry)
					  : t->entry;
		dim = t->each    ? at->which
		      : t->along ? dim_attr(mt, "dim", rank)
				 : entry + (entry < 0 ? rank : 0);
	}
	if (dim < 0)
		return fail_const(mt);
	const struct ir_type *type = ir_operand_type(mt->op, operand < 0 ? 0 : operand);
	/* If the rank is too low, matching, which comes next, reports it. */
	return expr_const(mt->a, IR_i64, dim < type->rank ? (double)type->dim[dim] : 1);
}

static const struct expr *
index_expr(struct matcher *mt, int index, bool integral)
{
	if (integral && mt->f->size[index] == 1)
		return expr_const(mt->a, IR_i64, 0);
	return expr_index(mt->a, index);
}

static const struct expr *
name_expr(struct matcher *mt, const struct term *t, bool integral)
{
	const int operand = operand_named(mt, t->name);

	if (operand < 0)
		return index_expr(mt, mt->letter[(int)*t->name], integral);
	return expr_load(mt->a, (enum ir_dtype)ir_operand_type(mt->op, operand)->dtype, operand);
}

static const struct expr *
size_expr(struct matcher *mt, const struct term *t)
{
	const bool letter = t->name[1] == '\0';

	return letter ? expr_const(
				mt->a, IR_i64, (double)mt->f->size[(int)mt->letter[(int)*t->name]])
		      : expr_const(mt->a, IR_f64, form_reduced_size(mt->f));
}

const struct expr *
term_expr(struct matcher *mt, const struct term *t, const struct computed *at, bool integral)
{
	const struct expr *arg[3] = {NULL, NULL, NULL};

	switch (t->kind) {
	case TERM_CONST: return expr_const(mt->a, integral ? IR_i64 : IR_f64, t->value);
	case TERM_ATTR:
		if (t->name == ir_name(mt->m->ctx, "dim"))
			return expr_const(
				mt->a, IR_i64, (double)dim_attr(mt, t->name, mt->dots_rank));
		return attr_expr(mt, t, at);
	case TERM_GIVEN: return attr_expr(mt, t, at);
	case TERM_LISTED: return expr_const(mt->a, IR_bool, entry_of_dim(mt, at->which) >= 0);
	case TERM_SIZE: return size_expr(mt, t);
	case TERM_POSITION: return position_expr(mt);
	case TERM_KEY: return key_expr(mt);
	case TERM_AT: {
		const int dim = dim_attr(mt, t->name, mt->dots_rank);
		return dim < 0 ? fail_const(mt) : expr_index(mt->a, mt->dots + dim);
	}
	case TERM_EXTENT: return extent_expr(mt, t, at);
	case TERM_HERE: return index_expr(mt, at->here, integral);
	case TERM_WHICH: return expr_const(mt->a, IR_i64, at->which);
	case TERM_NAME: return name_expr(mt, t, integral);
	case TERM_CALL: break;
	}
	for (int i = 0; i < t->nargs; i++)
		arg[i] = term_expr(mt, t->arg[i], at, integral);
	if (t->fn == FN_bitcast)
		return expr_bitcast(mt->a, (enum ir_dtype)ir_attr_find(mt->op, "to")->i, arg[0]);
	if (t->fn == FN_element)
		return expr_element(mt->a, (enum ir_dtype)mt->written->dtype,
			expr_convert(mt->a, IR_i64, arg[0]), mt->op);
	return expr_call(mt->a, (enum scalar_fn)t->fn, arg[0], arg[1], arg[2]);
}

int64_t
term_size(struct matcher *mt, const struct term *t, const struct computed *at)
{
	const struct expr *e = term_expr(mt, t, at, true);

	assert(e->kind == EXPR_CONST); /* the row gives sizes in terms of sizes */
	return ir_dtype_truncated(IR_i64, e->value);
}

/* Is the position just an index of the size of the dim? Then it is not computed. */
static bool
is_plain(struct matcher *mt, const struct expr *e, int64_t size, int *index)
{
	if (e->kind == EXPR_CONST && e->value == 0 && size == 1) {
		*index = -1;
		return true;
	}
	*index = e->kind == EXPR_INDEX ? e->id : -1;
	return e->kind == EXPR_INDEX && mt->f->size[e->id] == size;
}

static bool
resolve(struct matcher *mt, const struct computed *c)
{
	struct form *f = mt->f;
	struct form_access *access = c->operand < 0 ? &f->out : &f->in[c->operand];
	const struct expr *e = term_expr(mt, c->item->at, c, true);
	int index;

	if (c->operand < 0) { /* its index exists already: the result has a size */
		f->at[access->index[c->dim]] = expr_convert(mt->a, IR_i64, e);
		return !mt->failed;
	}
	const int64_t size = ir_operand_type(mt->op, c->operand)->dim[c->dim];
	if (!is_plain(mt, e, size, &index)) {
		const struct pattern_item *out = &mt->pattern->out.item[0];
		if (e->kind == EXPR_INDEX && c->here >= 0 && !out->size)
			return FAIL(mt,
				"%s: dim %d of operand %d has size %" PRId64 "; expected %" PRId64,
				mt->row->name, c->dim, c->operand + 1, size, f->size[e->id]);
		index = form_new_index(mt, size);
		f->at[index] = expr_convert(mt->a, IR_i64, e);
	}
	access->index[c->dim] = (int8_t)index;
	return !mt->failed;
}

/* The words of a condition that does not hold, with their numbers. */
static bool
fail_condition(struct matcher *mt, const struct condition *c, const struct computed *at)
{
	char text[MESSAGE_MAX];
	size_t n = 0;
	int number = 0;

	for (const char *w = c->words; *w && n + 1 < sizeof text; w++)
		if (*w == '%')
			n += (size_t)snprintf(text + n, sizeof text - n, "%" PRId64,
				term_size(mt, c->number[number++], at));
		else
			text[n++] = *w;
	text[n < sizeof text ? n : sizeof text - 1] = '\0';
	mt->failed = true;
	return FAIL(mt, "%s: %s", mt->row->name, text);
}

bool
term_check(struct matcher *mt)
{
	const struct pattern *p = mt->pattern;

	for (int i = 0; i < p->nwhere; i++)
		for (int d = 0; d < (p->where[i].each ? mt->dots_rank : 1); d++) {
			const struct condition *c = &p->where[i];
			const struct computed dim = {.dim = d, .here = -1, .which = d},
					      *at = c->each ? &dim : NULL;
			const bool holds = term_size(mt, c->holds, at) != 0;
			if (mt->failed)
				return false;
			if (!holds)
				return fail_condition(mt, c, at);
		}
	return true;
}

bool
term_resolve(struct matcher *mt)
{
	const struct pattern *p = mt->pattern;

	for (int i = 0; i < mt->ncomputed; i++)
		if (!resolve(mt, &mt->computed[i]))
			return false;
	for (int j = 0; j < p->ninputs; j++)
		if (p->fill[j])
			mt->f->fill[j] = term_expr(mt, p->fill[j], NULL, false)->value;
	return !mt->failed;
}
