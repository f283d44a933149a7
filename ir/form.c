/*
 * Makes the form of an op: matches the row's index notation with the shapes of the operands.
 * Groups come first among the indices, then letters in order of appearance.
 */
#include "ir/form.h"

#include "ir/row.h"
#include "runtime/rng.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

struct matcher {
	struct ir_module *m;
	const struct ir_op *op;
	const struct ir_row *row;
	const struct ir_type *written;
	struct form *f;
	int dots_rank, star_rank, dots, star; /* ranks, and the first index of each group */
	int8_t letter[128];                   /* index of each letter, -1: none yet */
	int8_t fixed[FORM_MAX_INDICES]; /* sizes that an attribute gives: they do not stretch */
};

bool
form_exists(enum op_code code)
{
	static const char *const notation[] = {
#define OP(name, types, notation, ...) notation,
#include "ir/ops.def"
#undef OP
	};

	return notation[code][0] != '@' || code == OP_contract;
}

#define FAIL(mt, ...) (diag_error((mt)->m->ctx->diag, (mt)->op->loc, __VA_ARGS__), false)

static int
new_index(struct matcher *mt, int64_t size)
{
	assert(mt->f->nindices < FORM_MAX_INDICES);
	mt->f->size[mt->f->nindices] = size;
	return mt->f->nindices++;
}

/* Letters of a side. */
static int
side_letters(const struct pattern_side *s)
{
	int n = 0;

	for (int i = 0; i < s->nitems; i++)
		n += s->item[i].name != '.' && s->item[i].name != '*';
	return n;
}

static const struct pattern_item *
side_group(const struct pattern_side *s, char name)
{
	for (int i = 0; i < s->nitems; i++)
		if (s->item[i].name == name)
			return &s->item[i];
	return NULL;
}

/*
 * A list of dims from an attribute: negative ones count from the end, none twice. Returns how many,
 * -1 where the attribute is absent, -2 after an error.
 */
static int
dims_attr(struct matcher *mt, const char *key, int rank, int64_t dims[IR_MAX_RANK])
{
	const struct ir_attr *attr = ir_attr_find(mt->op, key);
	int n = ir_attr_ints(mt->op, key, dims, IR_MAX_RANK);
	unsigned seen = 0;

	for (int i = 0; i < n; i++) {
		int64_t d = dims[i] < 0 ? dims[i] + rank : dims[i];
		if (d < 0 || d >= rank) {
			diag_error(mt->m->ctx->diag,
				attr->list[i].loc.begin ? attr->list[i].loc : mt->op->loc,
				"%s: dim %" PRId64 " in %s is not one of the %d dims",
				mt->row->name, dims[i], key, rank);
			return -2;
		}
		if (seen >> d & 1) {
			diag_error(mt->m->ctx->diag, mt->op->loc,
				"%s: dim %" PRId64 " is twice in %s", mt->row->name, d, key);
			return -2;
		}
		seen |= 1u << d;
		dims[i] = d;
	}
	return n;
}

/* A side with both groups: the dots are as many as elsewhere, the star takes what is left. */
static bool
match_both_groups(struct matcher *mt)
{
	const struct pattern *p = mt->row->pattern;

	for (int j = 0; j < p->ninputs; j++) {
		int left =
			ir_operand_type(mt->op, j)->rank - side_letters(&p->in[j]) - mt->dots_rank;
		if (!side_group(&p->in[j], '.') || !side_group(&p->in[j], '*'))
			continue;
		if (left < 0)
			return FAIL(mt, "%s: operand %d has %d dims, it needs at least %d",
				mt->row->name, j + 1, ir_operand_type(mt->op, j)->rank,
				side_letters(&p->in[j]) + mt->dots_rank);
		mt->star_rank = left;
	}
	return true;
}

/* The rank of the dots group, and sizes where an attribute or the written type gives them. */
static bool
match_groups(struct matcher *mt)
{
	const struct pattern *p = mt->row->pattern;
	const struct pattern_item *out = side_group(&p->out, '.');
	int64_t shape[IR_MAX_RANK];

	for (int j = 0; j < p->ninputs; j++) {
		int left = ir_operand_type(mt->op, j)->rank - side_letters(&p->in[j]);
		const struct pattern_item *dots = side_group(&p->in[j], '.'),
					  *star = side_group(&p->in[j], '*');
		if (left < 0 || (left > 0 && p->in[j].nitems == side_letters(&p->in[j])))
			return FAIL(mt, "%s: operand %d has %d dims, it needs %s%d", mt->row->name,
				j + 1, ir_operand_type(mt->op, j)->rank,
				left < 0 ? "at least " : "", side_letters(&p->in[j]));
		if (dots && !star && dots->how != ':' && left > mt->dots_rank)
			mt->dots_rank = left;
		if (star && !dots)
			mt->star_rank = left;
	}
	if (!match_both_groups(mt))
		return false;
	if (out && out->how == '=') {
		mt->dots_rank = ir_attr_ints(mt->op, out->attr, shape, IR_MAX_RANK);
	} else if (!p->ninputs) {
		mt->dots_rank = mt->written->rank;
		memcpy(shape, mt->written->dim, sizeof shape);
	}
	if (side_letters(&p->out) + mt->dots_rank + mt->star_rank > IR_MAX_RANK)
		return FAIL(mt, "%s: the result would have more than %d dims", mt->row->name,
			IR_MAX_RANK);
	bool given = (out && out->how == '=') || !p->ninputs;
	mt->dots = mt->f->nindices;
	for (int i = 0; i < mt->dots_rank; i++) {
		int index = new_index(mt, given ? shape[i] : 1);
		mt->fixed[index] = given;
		if (given && shape[i] < 0)
			return FAIL(
				mt, "%s: size %" PRId64 " is negative", mt->row->name, shape[i]);
	}
	mt->star = mt->f->nindices;
	for (int i = 0; i < mt->star_rank; i++)
		new_index(mt, -1);
	return true;
}

/* Which positions of the dots group the dims of a side stand for: the last ones, or as an attribute
 * says. */
static bool
group_positions(
	struct matcher *mt, const struct pattern_item *item, int rank, int position[IR_MAX_RANK])
{
	int64_t dims[IR_MAX_RANK];
	int n = item->how == ':' ? dims_attr(mt, item->attr, mt->dots_rank, dims) : -1;

	if (n == -2)
		return false;
	if (n >= 0 && n != rank)
		return FAIL(
			mt, "%s: %s has %d dims, it needs %d", mt->row->name, item->attr, n, rank);
	for (int d = 0; d < rank; d++)
		position[d] = n >= 0 ? (int)dims[d] : mt->dots_rank - rank + d;
	return true;
}

/* A dimension of operand j meets an index of a group: sizes agree, or one of them is 1. */
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
	return FAIL(mt, "%s: operand %d does not broadcast: size %" PRId64 " meets %" PRId64,
		mt->row->name, j + 1, size, *have);
}

static bool
match_letter(struct matcher *mt, int j, char name, int index, int64_t size)
{
	int64_t *have = &mt->f->size[index];

	if (*have < 0)
		*have = size;
	if (*have == size)
		return true;
	return FAIL(mt, "%s: sizes of %c differ: %" PRId64 " and %" PRId64 " (operand %d)",
		mt->row->name, name, *have, size, j + 1);
}

/* The dims of operand j against the items of its side: fills the access. */
static bool
match_operand(struct matcher *mt, int j)
{
	const struct pattern_side *side = &mt->row->pattern->in[j];
	const struct ir_type *t = ir_operand_type(mt->op, j);
	struct form_access *access = &mt->f->in[j];
	int position[IR_MAX_RANK], d = 0;

	access->rank = t->rank;
	for (int i = 0; i < side->nitems; i++) {
		const struct pattern_item *item = &side->item[i];
		int rest = t->rank - side_letters(side);
		if (item->name == '.') {
			rest -= side_group(side, '*') ? mt->star_rank : 0;
			if (rest > mt->dots_rank)
				return FAIL(mt,
					"%s: operand %d has %d dims, more than the %d of the shape",
					mt->row->name, j + 1, rest, mt->dots_rank);
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
				if (!match_letter(mt, j, '*', access->index[d], t->dim[d]))
					return false;
			}
		} else {
			int8_t *index = &mt->letter[(int)item->name];
			if (*index < 0)
				*index = (int8_t)new_index(mt, -1);
			access->index[d] = *index;
			if (!match_letter(mt, j, item->name, *index, t->dim[d++]))
				return false;
		}
	}
	return true;
}

/* A dimension of size 1 that meets a larger index is read at 0. */
static void
mark_broadcasts(struct matcher *mt)
{
	for (int j = 0; j < mt->f->ninputs; j++)
		for (int d = 0; d < mt->f->in[j].rank; d++) {
			int8_t *index = &mt->f->in[j].index[d];
			if (ir_operand_type(mt->op, j)->dim[d] == 1 && mt->f->size[*index] != 1)
				*index = -1;
		}
}

static bool
match_reduced(struct matcher *mt)
{
	const struct pattern *p = mt->row->pattern;
	int64_t dims[IR_MAX_RANK];

	mt->f->reduce = (uint8_t)p->reduce;
	for (int i = 0; i < p->over.nitems; i++) {
		const struct pattern_item *item = &p->over.item[i];
		if (item->name && item->name != '.') {
			mt->f->reduced |= 1u << mt->letter[(int)item->name];
			continue;
		}
		int n = item->name ? -1 : dims_attr(mt, item->attr, mt->dots_rank, dims);
		if (n == -2)
			return false;
		for (int d = 0; d < (n < 0 ? mt->dots_rank : n); d++)
			mt->f->reduced |= 1u << (mt->dots + (n < 0 ? d : dims[d]));
	}
	return true;
}

static void
out_append(struct form *f, int index)
{
	f->out.index[f->out.rank++] = (int8_t)index;
}

/* transpose without perm reverses; a group with dims left out keeps them as size 1 where `keep`
 * says so. */
static bool
match_out_dots(struct matcher *mt, const struct pattern_item *item)
{
	bool keep = ir_attr_int(mt->op, "keep", 0) != 0;
	int64_t order[IR_MAX_RANK];
	int n = item->how == ':' ? dims_attr(mt, item->attr, mt->dots_rank, order) : 0;

	if (n == -2)
		return false;
	if (n > 0 && n != mt->dots_rank)
		return FAIL(mt, "%s: %s has %d dims, it needs %d", mt->row->name, item->attr, n,
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

static bool
match_out(struct matcher *mt)
{
	const struct pattern_side *side = &mt->row->pattern->out;

	for (int i = 0; i < side->nitems; i++) {
		const struct pattern_item *item = &side->item[i];
		if (item->name == '.') {
			if (!match_out_dots(mt, item))
				return false;
		} else if (item->name == '*') {
			for (int k = 0; k < mt->star_rank; k++)
				out_append(mt->f, mt->star + k);
		} else {
			int8_t *index = &mt->letter[(int)item->name];
			if (*index < 0 && item->how == '=') {
				int64_t size = ir_attr_int(mt->op, item->attr, -1);
				if (size < 0)
					return FAIL(mt, "%s: %s is negative", mt->row->name,
						item->attr);
				*index = (int8_t)new_index(mt, size);
			}
			out_append(mt->f, *index);
		}
	}
	return true;
}

/* position(): row-major number of the element in the whole result. */
static const struct expr *
position_expr(struct matcher *mt, struct arena *a)
{
	const struct form *f = mt->f;
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
key_expr(struct matcher *mt, struct arena *a)
{
	const uint64_t seed = (uint64_t)ir_attr_int(mt->op, "seed", 0);
	const uint64_t key = rt_key(0, seed, mt->op->symbol ? mt->op->symbol : "");

	return expr_const(a, IR_i64, (double)(key >> 11));
}

static double
reduced_size(const struct form *f)
{
	double n = 1;

	for (int i = 0; i < f->nindices; i++)
		if (f->reduced >> i & 1)
			n *= (double)f->size[i];
	return n;
}

static const struct expr *
attr_expr(struct matcher *mt, struct arena *a, const char *key)
{
	const struct ir_attr *attr = ir_attr_find(mt->op, key);

	if (!attr)
		attr = &row_attr_find(mt->row, key)->otherwise;
	if (attr->kind == ATTR_FLOAT || attr->kind == ATTR_QUANTITY)
		return expr_const(a, IR_f64, attr->f);
	return expr_const(a, attr->kind == ATTR_BOOL ? IR_bool : IR_i64, (double)attr->i);
}

static const struct expr *
body_expr(struct matcher *mt, struct arena *a, const struct term *t)
{
	const struct pattern *p = mt->row->pattern;
	const struct expr *arg[3] = {NULL, NULL, NULL};

	switch (t->kind) {
	case TERM_CONST: return expr_const(a, IR_f64, t->value);
	case TERM_ATTR: return attr_expr(mt, a, t->name);
	case TERM_SIZE: return expr_const(a, IR_f64, reduced_size(mt->f));
	case TERM_POSITION: return position_expr(mt, a);
	case TERM_KEY: return key_expr(mt, a);
	case TERM_AT: {
		int64_t dim = ir_attr_int(mt->op, t->name, 0);
		return expr_index(a, mt->dots + (int)(dim < 0 ? dim + mt->dots_rank : dim));
	}
	case TERM_NAME:
		for (int j = 0; j < p->ninputs; j++)
			if (t->name == p->name[j])
				return expr_load(
					a, (enum ir_dtype)ir_operand_type(mt->op, j)->dtype, j);
		return expr_index(a, mt->letter[(int)*t->name]);
	case TERM_CALL: break;
	}
	for (int i = 0; i < t->nargs; i++)
		arg[i] = body_expr(mt, a, t->arg[i]);
	return expr_call(a, (enum scalar_fn)t->fn, arg[0], arg[1], arg[2]);
}

/* A row's `at(dim)` needs a dim that exists. */
static bool
check_at(struct matcher *mt)
{
	int64_t dim = ir_attr_int(mt->op, "dim", 0);

	if (mt->op->code != OP_iota || (dim >= -mt->dots_rank && dim < mt->dots_rank))
		return true;
	return FAIL(mt, "%s: dim %" PRId64 " is not one of the %d dims", mt->row->name, dim,
		mt->dots_rank);
}

bool
form_shape(struct ir_module *m, const struct ir_op *op, const struct ir_type *written,
	struct form *f, struct arena *a)
{
	struct matcher mt = {
		.m = m, .op = op, .row = op_row(m->ctx, op), .written = written, .f = f};
	const struct pattern *p = mt.row->pattern;

	memset(f, 0, sizeof *f);
	memset(mt.letter, -1, sizeof mt.letter);
	if (op->code == OP_contract)
		return form_contract(m, op, f, a);
	f->ninputs = (uint8_t)p->ninputs;
	if (!match_groups(&mt))
		return false;
	for (int j = 0; j < p->ninputs; j++)
		if (!match_operand(&mt, j))
			return false;
	mark_broadcasts(&mt);
	if (!match_reduced(&mt) || !match_out(&mt) || !check_at(&mt))
		return false;
	if (a)
		f->body = body_expr(&mt, a, p->body);
	return true;
}

bool
form_make(struct ir_module *m, struct arena *a, const struct ir_op *op,
	const struct ir_type *written, struct form *f)
{
	if (!form_exists((enum op_code)op->code))
		return false;
	if (!written && op->nresults)
		written = op->result[0].type;
	if (!form_shape(m, op, written, f, a))
		return false;
	f->dtype = written ? written->dtype : ir_operand_type(op, op->noperands - 1)->dtype;
	f->body = expr_convert(a, (enum ir_dtype)f->dtype, f->body);
	return true;
}

bool
form_guard(const struct form *f, int *load, int *index)
{
	const struct expr *e = expr_skip_convert(f->body);

	if (e->kind != EXPR_CALL || e->id != FN_select || !expr_is_const(e->arg[2], 0))
		return false;
	const struct expr *guard = expr_skip_convert(e->arg[0]);
	if (guard->kind != EXPR_CALL || guard->id != FN_eq)
		return false;
	const struct expr *x = expr_skip_convert(guard->arg[0]), *y = guard->arg[1];
	if (x->kind != EXPR_LOAD || y->kind != EXPR_INDEX)
		return false;
	*load = x->id;
	*index = y->id;
	return true;
}
