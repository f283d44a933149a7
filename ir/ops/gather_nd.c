/*
 * gather_nd(%a, %i, %j, ...) {dims, batch} and scatter_nd(%u, %i, %j, ...) {dims, sizes, batch,
 * how}: elements by several numbers at once, an operand for each indexed dim. With b = batch and n
 * the other dims of the numbers they are
 *
 *     gather_nd    a[b..,{i},{j},rest..], i[b..,n..], j[b..,n..] -> [b..,n..,rest..] = a
 *     scatter_nd   u[b..,n..,rest..], i[b..,n..], j[b..,n..] -> [b..,{i},{j},rest..]
 *                                                                     = reduce(n..) u
 *
 * where {i}, {j} ... are at the dims in `dims`, by default those after the batch.
 */
#include "ir/ops/form.h"
#include "ir/ops/reduce_how.h"

#include <inttypes.h>
#include <string.h>
#include <talloc.h>

#define FAIL(m, op, ...) (diag_error((m)->ctx->diag, (op)->loc, __VA_ARGS__), false)

struct numbers {
	const struct ir_module *m;
	const struct ir_op *op;
	const char *name;
	int n, batch;                /* looked up dims; batch dims */
	int rank;                    /* of the tensor that has them */
	int which[IR_MAX_RANK];      /* index operand of each dim; -1: none */
	const struct ir_type *shape; /* of the numbers */
};

static bool
check_operands(struct numbers *x)
{
	if (x->n < 1 || x->n >= FORM_MAX_INPUTS)
		return FAIL(x->m, x->op, "%s: expected 1 to %d index operands, found %d", x->name,
			FORM_MAX_INPUTS - 1, x->n);
	x->shape = ir_operand_type(x->op, 1);
	for (int k = 1; k < x->n; k++) {
		const struct ir_type *t = ir_operand_type(x->op, k + 1);
		if (t->rank != x->shape->rank || memcmp(t->dim, x->shape->dim, sizeof t->dim) != 0)
			return FAIL(x->m, x->op,
				"%s: operand %d differs in shape from operand 2; all index "
				"operands must have the same shape",
				x->name, k + 2);
	}
	if (x->batch < 0 || x->batch > x->shape->rank)
		return FAIL(x->m, x->op, "%s: batch is %d, but the index operands have rank %d",
			x->name, x->batch, x->shape->rank);
	return true;
}

/* Which dims are looked up. */
static bool
read_dims(struct numbers *x)
{
	int64_t dims[IR_MAX_RANK];
	int n = ir_attr_ints(x->op, "dims", dims, IR_MAX_RANK);

	if (x->rank > IR_MAX_RANK || x->batch + x->n > x->rank)
		return FAIL(x->m, x->op,
			"%s: %d batch dims and %d index operands do not fit an operand of rank %d",
			x->name, x->batch, x->n, x->rank);
	if (n >= 0 && n != x->n)
		return FAIL(x->m, x->op,
			"%s: the number of dims is %d, but that of index operands is %d", x->name,
			n, x->n);
	for (int d = 0; d < IR_MAX_RANK; d++)
		x->which[d] = -1;
	for (int k = 0; k < x->n; k++) {
		const int64_t d = n < 0 ? x->batch + k : dims[k] < 0 ? dims[k] + x->rank : dims[k];
		if (d < x->batch || d >= x->rank || x->which[d] >= 0)
			return FAIL(x->m, x->op,
				"%s: dim %" PRId64
				" in dims is a batch dim, a duplicate, or not one of the %d dims",
				x->name, n < 0 ? d : dims[k], x->rank);
		x->which[d] = k;
	}
	return true;
}

static int
add_index(struct form *f, int64_t size)
{
	f->size[f->nindices] = size;
	return f->nindices++;
}

/* A computed index of that size at the number of operand k + 1. */
static int
add_lookup(struct form *f, struct arena *a, const struct numbers *x, int k, int64_t size)
{
	const int index = add_index(f, size);

	f->at[index] = expr_convert(a, IR_i64,
		expr_load(a, (enum ir_dtype)ir_operand_type(x->op, k + 1)->dtype, k + 1));
	return index;
}

static void
append(struct form_access *access, int index)
{
	access->index[access->rank++] = (int8_t)index;
}

/* The indices of the numbers, and every operand of numbers at them. */
static void
add_numbers(struct form *f, const struct numbers *x)
{
	f->ninputs = (uint8_t)(x->n + 1);
	for (int d = 0; d < x->shape->rank; d++)
		append(&f->in[1], add_index(f, x->shape->dim[d]));
	for (int k = 1; k < x->n; k++)
		f->in[k + 1] = f->in[1];
}

static bool
check_batch(const struct numbers *x, const struct ir_type *t)
{
	for (int d = 0; d < x->batch; d++)
		if (t->dim[d] != x->shape->dim[d])
			return FAIL(x->m, x->op,
				"%s: batch dim %d has size %" PRId64
				", but the index operands have %" PRId64,
				x->name, d, t->dim[d], x->shape->dim[d]);
	return true;
}

static bool
gather(struct form *f, struct arena *a, struct numbers *x)
{
	const struct ir_type *t = ir_operand_type(x->op, 0);

	x->rank = t->rank;
	if (!read_dims(x) || !check_batch(x, t))
		return false;
	if (x->shape->rank + x->rank - x->batch - x->n > IR_MAX_RANK)
		return FAIL(x->m, x->op, "%s: the result would have more than %d dims", x->name,
			IR_MAX_RANK);
	add_numbers(f, x);
	f->out = f->in[1];
	for (int d = 0; d < t->rank; d++) {
		const bool looked_up = x->which[d] >= 0;
		const int index = d < x->batch ? d
				  : looked_up  ? add_lookup(f, a, x, x->which[d], t->dim[d])
					       : add_index(f, t->dim[d]);
		append(&f->in[0], index);
		if (d >= x->batch && !looked_up)
			append(&f->out, index);
	}
	f->body = expr_load(a, (enum ir_dtype)t->dtype, 0);
	return true;
}

static bool
scatter(struct form *f, struct arena *a, struct numbers *x)
{
	const struct ir_type *t = ir_operand_type(x->op, 0);
	int64_t sizes[IR_MAX_RANK];
	const int nsizes = ir_attr_ints(x->op, "sizes", sizes, IR_MAX_RANK);

	x->rank = t->rank - x->shape->rank + x->batch + x->n;
	if (t->rank < x->shape->rank)
		return FAIL(x->m, x->op,
			"%s: operand 1 has rank %d, but the index operands have rank %d", x->name,
			t->rank, x->shape->rank);
	if (nsizes != x->n)
		return FAIL(x->m, x->op,
			"%s: the number of sizes is %d, but that of index operands is %d", x->name,
			nsizes, x->n);
	if (!read_dims(x) || !reduce_how(x->m, x->op, f))
		return false;
	add_numbers(f, x);
	f->in[0] = f->in[1];
	for (int d = 0; d < x->shape->rank; d++) {
		if (t->dim[d] != x->shape->dim[d])
			return FAIL(x->m, x->op,
				"%s: dim %d of operand 1 has size %" PRId64
				", but the index operands have %" PRId64,
				x->name, d, t->dim[d], x->shape->dim[d]);
		if (d >= x->batch)
			f->reduced |= 1u << d;
	}
	for (int d = 0; d < x->rank; d++) {
		const int k = x->which[d];
		if (k >= 0 && sizes[k] < 1)
			return FAIL(x->m, x->op, "%s: a size must be at least 1, not %" PRId64,
				x->name, sizes[k]);
		const int index = d < x->batch ? d
				  : k >= 0     ? add_lookup(f, a, x, k, sizes[k])
					       : add_index(f, t->dim[f->in[0].rank]);
		append(&f->out, index);
		if (d >= x->batch && k < 0)
			append(&f->in[0], index);
	}
	if (!f->reduced && f->reduce == REDUCE_SUM)
		f->reduce = REDUCE_NONE; /* the others do not leave 0 where nothing is written */
	f->body = expr_load(a, (enum ir_dtype)t->dtype, 0);
	return true;
}

/* The numbers of a form are expressions even if only its shape is needed. */
static bool
with_arena(const struct ir_module *m, const struct ir_op *op, struct form *f, struct arena *a,
	bool (*make)(struct form *, struct arena *, struct numbers *))
{
	struct numbers x = {.m = m,
		.op = op,
		.name = op_name((enum op_code)op->code),
		.n = op->noperands - 1,
		.batch = (int)ir_attr_int(op, "batch", 0)};

	if (!check_operands(&x))
		return false;
	struct arena *mine = a ? NULL : arena_create(m->ctx);
	const bool ok = make(f, a ? a : mine, &x);
	if (!a) {
		form_forget(f);
		talloc_free(mine);
	}
	return ok;
}

bool
form_gather_nd(const struct ir_module *m, const struct ir_op *op, struct form *f, struct arena *a)
{
	return with_arena(m, op, f, a, gather);
}

bool
form_scatter_nd(const struct ir_module *m, const struct ir_op *op, struct form *f, struct arena *a)
{
	return with_arena(m, op, f, a, scatter);
}
