/*
 * Slices, pads and updates at positions that constants decide, as loops leave them that were unrolled: a result of T steps
 * is stacked row by row,
 *
 *     %y1 = dynamic_update_slice(%y0, %r0, 0)  %y2 = dynamic_update_slice(%y1, %r1, 1) ...    -->   concat(%r0, %r1, ...)
 *
 * where each update copies all rows: T^2 in place of T. The gradient of a tensor that is read row by row is a sum of T
 * pads, which is a concat likewise. What is read of a stack is read of the row, or of what was there before. A position that is out of range is moved into it, as the ops do. All of it moves elements and computes
 * nothing, so results are the same to the bit.
 */
#include "ir/build_try.h"
#include "ir/ops/form.h"
#include "ir/ops/literal.h"
#include "passes/prepare/canonicalize.h"

#include <string.h>

enum {
	UPDATES_MOST = 4096,   /* updates that become one concat */
	UPDATES_SIZE = 65536,  /* of the dim: it is looked at position by position */
	UPDATES_BEFORE = 4096, /* updates that a slice is looked for in, one after the other */
	PADS_FEW =
		FORM_MAX_INPUTS, /* pads whose sum stays: a kernel reads as many tensors at once */
};

/* The part of a dim that an op reads or writes. */
struct range {
	int dim;
	int64_t start, size;
};

static int
dim_of(const struct ir_op *op, const struct ir_type *t)
{
	const int dim = (int)ir_attr_int(op, "dim", 0);

	return dim < 0 ? dim + t->rank : dim;
}

/* The position that operand i says, moved into [0, most]. False: no constant says it. */
static bool
position_of(const struct ir_op *op, int i, int64_t most, int64_t *start)
{
	const struct ir_op *from = canon_made_by(op, i, OP_constant),
			   *wide = canon_made_by(op, i, OP_convert);

	/* Importers widen positions. */
	if (wide && ir_dtype_bits((enum ir_dtype)wide->result[0].type->dtype) >=
			    ir_dtype_bits((enum ir_dtype)ir_operand_type(wide, 0)->dtype))
		from = canon_made_by(wide, 0, OP_constant);
	if (!from || ir_dtype_class((enum ir_dtype)from->result[0].type->dtype) == IR_FLOAT)
		return false;
	const int64_t at = literal_of_constant(from).i;
	*start = at < 0 ? 0 : at > most ? most : at;
	return true;
}

/* Is it an update at a known position of a dim that no axis splits? */
static bool
is_update(const struct ir_op *op, struct range *r)
{
	if (!op || op->code != OP_dynamic_update_slice)
		return false;
	const struct ir_type *t = op->result[0].type, *u = ir_operand_type(op, 1);
	r->dim = dim_of(op, t);
	r->size = u->dim[r->dim];
	return !ir_type_split_depth(t, r->dim) &&
	       position_of(op, 2, t->dim[r->dim] - r->size, &r->start);
}

/* Elements of a range of x. */
static struct ir_value *
build_slice(struct canon *c, struct ir_value *x, struct range r)
{
	const struct ir_type *t = x->type;
	int64_t start[IR_MAX_RANK] = {0}, limit[IR_MAX_RANK];

	if (r.start == 0 && r.size == t->dim[r.dim])
		return x;
	memcpy(limit, t->dim, sizeof limit);
	start[r.dim] = r.start;
	limit[r.dim] = r.start + r.size;
	const struct ir_attr attr[] = {ir_make_ints(c->m, "start", start, t->rank),
		ir_make_ints(c->m, "limit", limit, t->rank)};
	return ir_build_try(&c->b, OP_slice, x, attr, 2, NULL);
}

static struct ir_value *
static_slice(struct canon *c, struct ir_op *op)
{
	const struct ir_type *t = ir_operand_type(op, 0);
	struct range r = {.dim = dim_of(op, t)};

	r.size = op->result[0].type->dim[r.dim];
	if (ir_type_split_depth(t, r.dim) || !position_of(op, 1, t->dim[r.dim] - r.size, &r.start))
		return NULL;
	return build_slice(c, ir_operand(op, 0), r);
}

static struct ir_value *
static_pad(struct canon *c, struct ir_op *op)
{
	const struct ir_type *t = op->result[0].type, *x = ir_operand_type(op, 0);
	int64_t low[IR_MAX_RANK] = {0}, high[IR_MAX_RANK] = {0};
	const int dim = dim_of(op, t);
	const int64_t rest = t->dim[dim] - x->dim[dim];

	if (ir_type_split_depth(t, dim) || !position_of(op, 1, rest, &low[dim]))
		return NULL;
	high[dim] = rest - low[dim];
	const struct ir_attr attr[] = {
		ir_make_ints(c->m, "low", low, t->rank), ir_make_ints(c->m, "high", high, t->rank)};
	return ir_build_try(&c->b, OP_pad, ir_operand(op, 0), attr, 2, NULL);
}

/* The dim of which a slice without steps takes a range, the others whole; false: it takes another form. */
static bool
is_range(const struct ir_op *op, struct range *r)
{
	const struct ir_type *t = ir_operand_type(op, 0), *to = op->result[0].type;
	int64_t start[IR_MAX_RANK] = {0}, step[IR_MAX_RANK], given[IR_MAX_RANK];
	const int nsteps = ir_attr_ints(op, "step", step, IR_MAX_RANK),
		  ngiven = ir_attr_ints(op, "dims", given, IR_MAX_RANK);
	int dims = 0;

	ir_attr_ints(op, "start", start, IR_MAX_RANK);
	/* Item i of the lists is about dim i, or about dim given[i]. */
	for (int i = 0; i < (ngiven > 0 ? ngiven : t->rank); i++) {
		const int d = ngiven > 0 ? (int)given[i] + (given[i] < 0 ? t->rank : 0) : i;
		if (i < nsteps && step[i] != 1)
			return false;
		if (to->dim[d] == t->dim[d])
			continue;
		*r = (struct range){d, start[i], to->dim[d]};
		dims++;
	}
	return dims == 1;
}

/* What a slice reads was written by one of the updates before, or by none of them. */
static struct ir_value *
slice_of_update(struct canon *c, struct ir_op *op)
{
	struct ir_value *x = ir_operand(op, 0);
	struct range want = {0}, written;

	if (!is_range(op, &want))
		return NULL;
	for (int i = 0; i < UPDATES_BEFORE && is_update(x->op, &written); i++) {
		if (written.dim != want.dim)
			break;
		const int64_t end = want.start + want.size, last = written.start + written.size;
		if (want.start >= written.start && end <= last) {
			want.start -= written.start;
			return build_slice(c, ir_operand(x->op, 1), want);
		}
		if (want.start < last && end > written.start)
			break;
		x = ir_operand(x->op, 0);
	}
	return x == ir_operand(op, 0) ? NULL : build_slice(c, x, want);
}

/* A range of a concat that lies in one of its operands. */
static struct ir_value *
slice_of_concat(struct canon *c, struct ir_op *op)
{
	struct ir_value *x = ir_operand(op, 0);
	struct range want = {0};

	if (!is_range(op, &want))
		return NULL;
	while (x->op && x->op->code == OP_concat && dim_of(x->op, x->type) == want.dim &&
		!ir_type_split_depth(x->type, want.dim)) {
		struct ir_value *part = NULL;
		int64_t from = want.start;
		for (int i = 0; i < x->op->noperands && !part && from >= 0; i++) {
			const int64_t size = ir_operand_type(x->op, i)->dim[want.dim];
			if (from < size)
				part = from + want.size <= size ? ir_operand(x->op, i) : NULL;
			if (from < size && !part)
				break;
			from -= part ? 0 : size;
		}
		if (!part)
			break;
		want.start = from;
		x = part;
	}
	return x == ir_operand(op, 0) ? NULL : build_slice(c, x, want);
}

/* Is the value read by nothing but one more update of the same dim, which replaces a part of it? */
static bool
is_updated_only(const struct ir_value *v, int dim)
{
	const struct ir_use *u = v->uses;
	struct range r;

	return u && !u->next && ir_operand(u->op, 0) == v && is_update(u->op, &r) &&
	       ir_operand(u->op, 1) != v && r.dim == dim;
}

/* Updates, the last one first, of which each but the last is read by the next alone: together a concat of what they wrote
 * and of ranges that none of them did. */
static struct ir_value *
join_updates(struct canon *c, struct ir_op *op)
{
	struct ir_value *base = &op->result[0], *part[UPDATES_MOST];
	struct range r;
	int n = 0, nparts = 0;

	if (!is_update(op, &r) || is_updated_only(base, r.dim) ||
		op->result[0].type->dim[r.dim] > UPDATES_SIZE)
		return NULL;
	const int dim = r.dim;
	const int64_t extent = op->result[0].type->dim[dim];
	/* By position, the update that wrote it; NULL: none. */
	struct ir_op **owner = ARRAY_ZERO(c->run->scratch, struct ir_op *, extent);
	while (n < UPDATES_MOST && is_update(base->op, &r) && r.dim == dim &&
		(n == 0 || is_updated_only(base, dim))) {
		int64_t free = 0;
		for (int64_t k = r.start; k < r.start + r.size; k++)
			free += !owner[k];
		if (free && free != r.size)
			break; /* partly written over later */
		for (int64_t k = r.start; free && k < r.start + r.size; k++)
			owner[k] = base->op;
		n++;
		base = ir_operand(base->op, 0);
	}
	if (n < 2)
		return NULL;
	for (int64_t k = 0; k < extent;) {
		struct range gap = {dim, k, 1};
		if (nparts == UPDATES_MOST)
			return NULL;
		if (owner[k]) {
			part[nparts] = ir_operand(owner[k], 1);
			k += part[nparts++]->type->dim[dim];
			continue;
		}
		while (k + gap.size < extent && !owner[k + gap.size])
			gap.size++;
		part[nparts] = build_slice(c, base, gap);
		if (!part[nparts++])
			return NULL;
		k += gap.size;
	}
	return ir_build_concat(&c->b, part, nparts, dim);
}

/* Does op add zeros around its operand in one dim, which no axis splits? */
static bool
is_zero_pad(const struct ir_op *op, struct range *r)
{
	const struct ir_type *t = op ? op->result[0].type : NULL;
	int64_t low[IR_MAX_RANK] = {0}, inside[IR_MAX_RANK] = {0};
	int dims = 0;

	if (!op || op->code != OP_pad || ir_attr_find(op, "dims") || ir_attr_find(op, "value"))
		return false;
	ir_attr_ints(op, "low", low, IR_MAX_RANK);
	ir_attr_ints(op, "interior", inside, IR_MAX_RANK);
	for (int d = 0; d < t->rank; d++) {
		if (inside[d] || (low[d] && t->dim[d] == ir_operand_type(op, 0)->dim[d]))
			return false;
		if (t->dim[d] == ir_operand_type(op, 0)->dim[d])
			continue;
		*r = (struct range){d, low[d], ir_operand_type(op, 0)->dim[d]};
		dims++;
	}
	return dims == 1 && r->start >= 0 && r->start + r->size <= t->dim[r->dim] &&
	       !ir_type_split_depth(t, r->dim);
}

/* Is v only read by an addition of a pad? Then what follows may be one sum with it. */
static bool
is_summed_on(const struct ir_value *v)
{
	const struct ir_op *add = v->uses && !v->uses->next ? v->uses->op : NULL;
	bool pads = false;

	for (int j = 0; add && add->code == OP_add && j < 2; j++) {
		const struct ir_op *from = ir_operand(add, j)->op;
		pads |= from && (from->code == OP_pad || from->code == OP_dynamic_pad);
	}
	return pads;
}

/* The pads at the end of a chain of additions, all in one dim, into pad[UPDATES_MOST]; *rest: what they are added to. */
static int
find_pads(struct ir_op *op, struct ir_op **pad, struct ir_value **rest)
{
	const struct ir_value *sum = &op->result[0];
	struct range first = {0}, r;
	int n = 0;

	for (*rest = &op->result[0]; n + 2 <= UPDATES_MOST;) {
		op = (*rest)->op;
		if (n && is_zero_pad(op, &r) && r.dim == first.dim) {
			pad[n++] = op;
			*rest = NULL;
			break;
		}
		if (!op || op->code != OP_add || (n && (*rest)->uses->next))
			break;
		const int j = is_zero_pad(ir_operand(op, 1)->op, &r) ? 1 : 0;
		struct ir_value *x = ir_operand(op, j);
		if (!is_zero_pad(x->op, &r) || x->type != sum->type || (n && r.dim != first.dim) ||
			ir_operand_type(op, 1 - j) != sum->type)
			break;
		first = n ? first : r;
		pad[n++] = x->op;
		*rest = ir_operand(op, 1 - j);
	}
	return n;
}

/*
 * Many pads that are added, no two at one place: a concat of what they pad, and of zeros elsewhere. Each element has one
 * summand other than +0; one more +0 makes 0 of a -0, as theirs do.
 */
static struct ir_value *
join_pads(struct canon *c, struct ir_op *op)
{
	struct ir_op *pad[UPDATES_MOST];
	struct ir_value *rest, *part[UPDATES_MOST];
	struct ir_type t = *op->result[0].type;
	const enum ir_dtype dtype = (enum ir_dtype)t.dtype;
	struct range r = {0};
	int n, nparts = 0;

	if (is_summed_on(&op->result[0]) || (n = find_pads(op, pad, &rest)) <= PADS_FEW)
		return NULL;
	for (int i = 0; i < c->m->naxes; i++)
		if (t.axis[i].kind == IR_PARTIAL)
			return NULL;
	is_zero_pad(pad[0], &r);
	const int dim = r.dim;
	const int64_t extent = t.dim[dim];
	if (extent > UPDATES_SIZE)
		return NULL;
	/* By position, the pad that has an element there; NULL: none. */
	struct ir_op **owner = ARRAY_ZERO(c->run->scratch, struct ir_op *, extent);
	for (int i = 0; i < n; i++) {
		is_zero_pad(pad[i], &r);
		for (int64_t k = r.start; k < r.start + r.size; k++) {
			if (owner[k])
				return NULL;
			owner[k] = pad[i];
		}
	}
	for (int64_t k = 0; k < extent; k += part[nparts++]->type->dim[dim]) {
		if (nparts == UPDATES_MOST)
			return NULL;
		if (owner[k]) {
			part[nparts] = ir_operand(owner[k], 0);
			continue;
		}
		for (t.dim[dim] = 0; k + t.dim[dim] < extent && !owner[k + t.dim[dim]];)
			t.dim[dim]++;
		const struct ir_attr zero = ir_make_float(c->m->ctx, "value", 0);
		part[nparts] = ir_build_try(
			&c->b, OP_constant, NULL, &zero, 1, ir_type_intern(c->m->ctx, &t));
		if (!part[nparts])
			return NULL;
	}
	struct ir_value *v = ir_build_concat(&c->b, part, nparts, dim);
	v = v ? ir_build2(&c->b, OP_add, v, ir_build_scalar(&c->b, dtype, 0)) : NULL;
	return v && rest ? ir_build2(&c->b, OP_add, rest, v) : v;
}

static const char known[] = "position(s) known", joined[] = "update(s) joined or passed";

const struct rewrite canon_updates[] = {
	{OP_dynamic_slice, static_slice, known},
	{OP_dynamic_pad, static_pad, known},
	{OP_slice, slice_of_update, joined},
	{OP_slice, slice_of_concat, joined},
	{OP_dynamic_update_slice, join_updates, joined},
	{OP_add, join_pads, joined},
	{0},
};
