/*
 * foldbatch: a dim of replicas in front of the batch becomes part of it. What a process of an SPMD
 * program has is f32[4/dp,32,784] after import, which is the batch f32[128/dp,784] in parts that
 * are split: the same elements, in the same order, at the same places.
 *
 *     %x : f32[4/dp,32,784]                          %x : f32[4/dp,32,784]
 *     %h = matmul(%x, %w) : f32[4/dp,32,512]         %y = reshape(%x) : f32[128/dp,784]
 *     %s = sum(%h) {dims = [0, 1]}                   %h = matmul(%y, %w) : f32[128/dp,512]
 *                                                    %s = sum(%h) {dims = [0]}
 *
 * First sums over replicas are joined with sums over the batch in front (foldbatch_sums.c). Then,
 * op by op in order from the inputs on: if an operand is a folded value taken apart again, and the
 * op's form has the two dims beside each other wherever it has them, the op is made anew on folded
 * operands, and its result is taken apart for those who cannot do with it folded. An operand that
 * has one of the two dims, or none where it is broadcast, is repeated. A reshape in place remains
 * where an op keeps the dims apart: at inputs and outputs, and around reductions of one of them.
 *
 * Right because an op's form is a loop nest over indices, and the nest over i < R and j < n with i
 * * n
 * + j for (i, j) everywhere is the same nest. Ops whose form computes with the two indices, or
 * reads at computed positions there, are left alone.
 */
#include "passes/foldbatch.h"

#include "ir/form.h"

#include <string.h>
#include <talloc.h>

/* A value that is `whole` with dim `at` taken apart in two. */
struct folded {
	struct ir_value *whole;
	int at;
};

struct foldbatch {
	struct pass_run *run;
	struct ir_module *m;
	struct folded *folded; /* by value->mark - 1; talloc array */
	uint32_t n;
	struct ir_builder b;
};

/* The two indices of the op at work that become one. */
struct pair {
	int first, second;
	int64_t nfirst, nsecond;
	const struct ir_type *like; /* of an operand that has the pair */
	int at;                     /* and where */
};

static const struct folded *
folded_of(const struct foldbatch *p, const struct ir_value *v)
{
	const struct folded *f = v->mark && v->mark <= p->n ? &p->folded[v->mark - 1] : NULL;

	return f && f->whole ? f : NULL;
}

/* Builds an op, or nothing where its operands do not fit. */
static struct ir_value *
try_build(struct foldbatch *p, enum op_code code, struct ir_value *x, const struct ir_attr *attr,
	int nattrs, const struct ir_type *type)
{
	const bool before = diag_mute(p->m->ctx->diag, true);
	struct ir_value *v =
		ir_build_typed(&p->b, code, NULL, x ? &x : NULL, x ? 1 : 0, attr, nattrs, type);

	diag_mute(p->m->ctx->diag, before);
	p->b.failed = false;
	return v;
}

static struct ir_value *
reshape(struct foldbatch *p, struct ir_value *x, const int64_t *dim, int rank)
{
	const struct ir_attr shape = ir_make_ints(p->m, "shape", dim, rank);

	if (!x || (x->type->rank == rank && !memcmp(x->type->dim, dim, (size_t)rank * sizeof *dim)))
		return x;
	return try_build(p, OP_reshape, x, &shape, 1, NULL);
}

/* The sizes of t with dims `at` and the next as one. */
static int
merged(const struct ir_type *t, int at, int64_t dim[IR_MAX_RANK])
{
	int n = 0;

	for (int d = 0; d < t->rank; d++)
		if (d == at + 1)
			dim[n - 1] *= t->dim[d];
		else
			dim[n++] = t->dim[d];
	return n;
}

static void
remember(struct foldbatch *p, struct ir_value *apart, struct ir_value *whole, int at)
{
	p->folded = talloc_realloc(p->run->scratch, p->folded, struct folded, p->n + 1);
	if (!p->folded)
		out_of_memory();
	p->folded[p->n++] = (struct folded){whole, at};
	apart->mark = p->n;
}

/* Puts v in the place of its op's result: v is old with dims at, at + 1 as one. */
static bool
take_apart(struct foldbatch *p, struct ir_value *old, struct ir_value *v, int at)
{
	struct ir_value *apart = reshape(p, v, old->type->dim, old->type->rank);

	if (!apart || apart->type != old->type)
		return false;
	if (!v->name)
		v->name = old->name;
	ir_replace_uses(old, apart);
	if (apart == v)
		return true;
	remember(p, apart, v, at);
	return true;
}

/* --- operands --------------------------------------------------------------------------------- */

/* Where the pair stands in an operand of that rank, by the dims of the result matched from the
 * right; may be negative. */
static int
aligned(int at, int rank_out, int rank)
{
	return at - (rank_out - rank);
}

/*
 * A value that is the same for all of the pair, or lacks one of its dims, repeated to have both.
 * `at` is where the second dim of the pair stands in it or would, matched from the right.
 */
static struct ir_value *
repeat(struct foldbatch *p, struct ir_value *v, int at, const struct pair *pair)
{
	int64_t dim[IR_MAX_RANK], to[IR_MAX_RANK];
	const struct ir_type *t = v->type;
	struct ir_type type = *t;
	struct ir_value *x = v;
	int n = 0;

	/* The pair as one dim, in front of what is behind it; what is in front has size 1. */
	for (int d = 0; d < at; d++)
		if (t->dim[d] != 1)
			return NULL;
	if (at >= 0 && t->dim[at] != 1 && t->dim[at] != pair->nsecond)
		return NULL;
	dim[n++] = pair->nfirst * pair->nsecond;
	for (int d = at + 1; d < t->rank; d++)
		dim[n++] = t->dim[d];
	memset(type.dim, 0, sizeof type.dim);
	memcpy(type.dim, dim, (size_t)n * sizeof *dim);
	type.rank = (uint8_t)n;
	for (int a = 0; a < p->m->naxes; a++) {
		const struct ir_state s = pair->like->axis[a];
		if (t->axis[a].kind == IR_SPLIT)
			return NULL; /* slices of slices: leave it */
		if (s.kind != IR_SPLIT || s.dim != pair->at)
			continue;
		if (t->axis[a].kind != IR_COPIED)
			return NULL;
		type.axis[a] = (struct ir_state){IR_SPLIT, 0, s.order};
	}
	const struct ir_type *want = ir_type_intern(p->m->ctx, &type);
	if (v->op && v->op->code == OP_constant)
		return try_build(p, OP_constant, NULL, v->op->attr, v->op->nattrs, want);
	if (at >= 0 && t->dim[at] != 1) {
		/* A broadcast along the batch is one along both. */
		int64_t dims[IR_MAX_RANK];
		const struct ir_op *op = v->op;
		const bool broadcast = op && op->code == OP_broadcast;
		const int k = broadcast ? ir_attr_ints(op, "dims", dims, IR_MAX_RANK) : 0;
		const int have = broadcast ? ir_operand_type(op, 0)->rank : 0;
		bool fits = broadcast;
		for (int d = 0; d < have; d++) {
			const int go = k < 0 ? t->rank - have + d
					     : (int)(dims[d] < 0 ? dims[d] + t->rank : dims[d]);
			fits = fits &&
			       (go > at || (ir_operand_type(op, 0)->dim[d] == 1 && go == at));
			to[d] = go - at;
		}
		if (!fits) {
			/* [n,..] to [R,n,..], and those as one */
			int64_t apart[IR_MAX_RANK + 1] = {pair->nfirst};
			struct ir_type both = type;
			if (t->rank - at + 1 > IR_MAX_RANK)
				return NULL;
			for (int d = at; d < t->rank; d++) {
				apart[d - at + 1] = t->dim[d];
				to[d - at] = d - at + 1;
			}
			both.rank = (uint8_t)(t->rank - at + 1);
			memcpy(both.dim, apart, (size_t)both.rank * sizeof *apart);
			x = reshape(p, v, t->dim + at, t->rank - at);
			const struct ir_attr attr[] = {
				ir_make_ints(p->m, "shape", apart, both.rank),
				ir_make_ints(p->m, "dims", to, t->rank - at)};
			x = x ? try_build(p, OP_broadcast, x, attr, 2,
					ir_type_intern(p->m->ctx, &both))
			      : NULL;
			return reshape(p, x, dim, n);
		}
		x = ir_operand(op, 0);
		const struct ir_attr attr[] = {
			ir_make_ints(p->m, "shape", dim, n), ir_make_ints(p->m, "dims", to, have)};
		return try_build(p, OP_broadcast, x, attr, 2, want);
	}
	return NULL;
}

/*
 * Operand k of the op with the pair as one dim. Ops other than pointwise ones match it by position
 * as well: their leading dims.
 */
static struct ir_value *
fold_operand(struct foldbatch *p, struct ir_op *op, const struct form *f, int k,
	const struct pair *pair, int at_out)
{
	struct ir_value *v = ir_operand(op, k);
	const struct folded *have = folded_of(p, v);
	const int first = form_access_dim(&f->in[k], pair->first),
		  second = form_access_dim(&f->in[k], pair->second);
	int64_t dim[IR_MAX_RANK];

	if (have && have->at == first && second == first + 1)
		return have->whole;
	if (first >= 0 && second == first + 1)
		return reshape(p, v, dim, merged(v->type, first, dim));
	if (first >= 0 && second >= 0)
		return NULL;
	const bool by_letter = op->code == OP_contract;
	if (by_letter)
		return first < 0 && second < 0 ? v : NULL;
	if (at_out < 0)
		return first < 0 && second < 0 ? v : NULL;
	const int at = aligned(at_out + 1, f->out.rank, v->type->rank);
	if (first < 0 && second < 0) {
		/* Dims of size 1 in the place of the pair become one. */
		return at <= 0 || op->code == OP_matmul
			       ? v
			       : reshape(p, v, dim, merged(v->type, at - 1, dim));
	}
	if (first < 0)
		return repeat(p, v, second, pair);
	/* The first alone, with size 1 in the place of the second: repeated along the batch. */
	if (second < 0 && at == first + 1 && v->type->dim[at] == 1) {
		struct ir_type t = *v->type;
		t.dim[at] = pair->nsecond;
		const struct ir_attr attr[] = {ir_make_ints(p->m, "shape", t.dim, t.rank)};
		struct ir_value *x = try_build(p, OP_broadcast, v, attr, 1, NULL);
		return x ? reshape(p, x, dim, merged(x->type, first, dim)) : NULL;
	}
	return NULL;
}

/* --- attributes ------------------------------------------------------------------------------- */

/* Dim d of operand or result where `at` and the next become one; -1: it is the second. */
static int64_t
renumber(int64_t d, int rank, int at)
{
	d = d < 0 ? d + rank : d;
	return d <= at ? d : d - 1;
}

/* dims of a reduction: both of the pair or none. */
static bool
fold_dims(struct foldbatch *p, struct ir_op *copy, const char *key, int rank, int at, bool both)
{
	int64_t dim[IR_MAX_RANK], out[IR_MAX_RANK];
	const int n = ir_attr_ints(copy, key, dim, IR_MAX_RANK);
	bool first = false, second = false;
	int k = 0;

	if (n < 0)
		return both;
	for (int i = 0; i < n; i++) {
		const int64_t d = dim[i] < 0 ? dim[i] + rank : dim[i];
		first = first || d == at;
		second = second || d == at + 1;
		if (d != at + 1)
			out[k++] = renumber(d, rank, at);
	}
	if (first != second || (first && !both))
		return false;
	const struct ir_attr attr = ir_make_ints(p->m, key, out, k);
	ir_attr_set(p->m, copy, &attr);
	return true;
}

static bool
fold_dim(struct foldbatch *p, struct ir_op *copy, const char *key, int rank, int at)
{
	const struct ir_attr *a = ir_attr_find(copy, key);
	const int64_t otherwise =
		copy->code == OP_sort || copy->code == OP_topk || copy->code == OP_split ? -1 : 0;
	int64_t d = a ? a->i : otherwise;

	d = d < 0 ? d + rank : d;
	if (d == at || d == at + 1)
		return false;
	const struct ir_attr attr = ir_make_int(p->m->ctx, key, renumber(d, rank, at));
	ir_attr_set(p->m, copy, &attr);
	return true;
}

/* perm of a transpose that keeps the pair together; shape and dims of a broadcast that does. */
static bool
fold_perm(struct foldbatch *p, struct ir_op *copy, int rank, int at)
{
	int64_t perm[IR_MAX_RANK], out[IR_MAX_RANK];
	const int n = ir_attr_ints(copy, "perm", perm, IR_MAX_RANK);
	int k = 0;

	for (int i = 0; i < rank; i++) {
		perm[i] = n < 0 ? rank - 1 - i : perm[i] < 0 ? perm[i] + rank : perm[i];
		if (perm[i] != at + 1)
			out[k++] = renumber(perm[i], rank, at);
	}
	const struct ir_attr attr = ir_make_ints(p->m, "perm", out, k);
	ir_attr_set(p->m, copy, &attr);
	return true;
}

static bool
fold_broadcast(struct foldbatch *p, struct ir_op *copy, const struct ir_op *op, int at, int at_out)
{
	const struct ir_type *t = ir_operand_type(op, 0), *r = op->result[0].type;
	int64_t dims[IR_MAX_RANK], shape[IR_MAX_RANK], out[IR_MAX_RANK];
	const int n = ir_attr_ints(op, "dims", dims, IR_MAX_RANK);
	int k = 0;

	for (int d = 0; d < t->rank; d++) {
		const int64_t to = n < 0 ? r->rank - t->rank + d : dims[d];
		if (d != at + 1)
			out[k++] = renumber(to, r->rank, at_out);
	}
	const struct ir_attr attr[] = {ir_make_ints(p->m, "shape", shape, merged(r, at_out, shape)),
		ir_make_ints(p->m, "dims", out, k)};
	ir_attr_set(p->m, copy, &attr[0]);
	ir_attr_set(p->m, copy, &attr[1]);
	return true;
}

/* The spec with the letter of the pair's first dim left out. */
static bool
fold_spec(struct foldbatch *p, struct ir_op *copy, const struct form *f, const struct pair *pair)
{
	char spec[(FORM_MAX_INPUTS + 1) * (IR_MAX_RANK + 2)];
	int n = 0;

	for (int k = 0; k <= f->ninputs; k++) {
		const struct form_access *x = k < f->ninputs ? &f->in[k] : &f->out;
		if (k)
			spec[n++] = k == f->ninputs ? '-' : ',';
		if (k == f->ninputs)
			spec[n++] = '>';
		for (int d = 0; d < x->rank; d++)
			if (x->index[d] != pair->first)
				spec[n++] = (char)('a' + x->index[d]);
	}
	spec[n] = '\0';
	const struct ir_attr attr = ir_make_string(p->m->ctx, "spec", spec);
	ir_attr_set(p->m, copy, &attr);
	return true;
}

/* Attributes that speak of dims, of the operand that has the pair at `at`. */
static bool
fold_attrs(struct foldbatch *p, struct ir_op *copy, const struct ir_op *op, const struct form *f,
	const struct pair *pair, int at, int at_out)
{
	const int rank = ir_operand_type(op, 0)->rank;

	switch (op->code) {
	case OP_contract: return fold_spec(p, copy, f, pair);
	case OP_sum:
	case OP_mean:
	case OP_max:
	case OP_min:
	case OP_prod:
	case OP_any:
	case OP_all: return fold_dims(p, copy, "dims", rank, at, true);
	case OP_argmax:
	case OP_argmin:
	case OP_reverse: return fold_dims(p, copy, "dims", rank, at, false);
	case OP_slice:
	case OP_pad: return ir_attr_find(op, "dims") && fold_dims(p, copy, "dims", rank, at, false);
	case OP_transpose: return fold_perm(p, copy, rank, at);
	case OP_broadcast: return fold_broadcast(p, copy, op, at, at_out);
	case OP_split:
	case OP_concat:
	case OP_cumsum:
	case OP_dynamic_slice:
	case OP_dynamic_update_slice:
	case OP_dynamic_pad: return fold_dim(p, copy, "dim", rank, at);
	case OP_matmul: /* by position from the right: leading dims alone */
	case OP_conv2d:
	case OP_conv2d_data:
	case OP_conv2d_filter:
	case OP_avg_pool:
	case OP_avg_pool_grad:
	case OP_max_pool:
	case OP_max_pool_count:
	case OP_max_pool_pick:
	case OP_max_pool_grad:
	case OP_pick:
	case OP_put:
	case OP_gather:
	case OP_scatter_add:
	case OP_one_hot: return true;
	case OP_gather_nd:
	case OP_scatter_nd: return false;
	default: return f->reduce == REDUCE_NONE; /* pointwise */
	}
}

/* --- ops -------------------------------------------------------------------------------------- */

/* The pair of an op, from its first folded operand; *at is where it stands there. */
static bool
find_pair(const struct foldbatch *p, const struct ir_op *op, const struct form *f,
	struct pair *pair, int *operand)
{
	for (int k = 0; k < f->ninputs; k++) {
		const struct folded *have = folded_of(p, ir_operand(op, k));
		if (!have)
			continue;
		pair->first = f->in[k].index[have->at];
		pair->second = f->in[k].index[have->at + 1];
		*operand = k;
		if (pair->first < 0 || pair->second < 0 || f->at[pair->first] ||
			f->at[pair->second])
			return false;
		pair->nfirst = f->size[pair->first];
		pair->nsecond = f->size[pair->second];
		pair->like = ir_operand_type(op, k);
		pair->at = have->at;
		return true;
	}
	return false;
}

/* Both summed away, or both of the result and beside each other; false: neither. */
static bool
result_fits(const struct form *f, const struct pair *pair, int *at_out)
{
	*at_out = form_access_dim(&f->out, pair->first);
	const int second = form_access_dim(&f->out, pair->second);

	return *at_out < 0 ? second < 0 : second == *at_out + 1;
}

/* Does the op compute with the position in the pair's dims? */
static bool
uses_position(struct foldbatch *p, const struct ir_op *op, const struct pair *pair)
{
	struct arena *a = arena_create(p->run->scratch);
	struct form f;
	bool uses = true;

	if (form_make(p->m, a, op, op->result[0].type, &f)) {
		uses = expr_uses_index(f.body, pair->first) ||
		       expr_uses_index(f.body, pair->second);
		for (int i = 0; i < f.nindices; i++)
			uses = uses || (f.at[i] && (expr_uses_index(f.at[i], pair->first) ||
							   expr_uses_index(f.at[i], pair->second)));
	}
	talloc_free(a);
	return uses;
}

static bool
fold_form(struct foldbatch *p, struct ir_op *op)
{
	struct ir_value *in[FORM_MAX_INPUTS];
	struct pair pair;
	struct form f;
	int operand, at_out;

	if (op->nresults != 1 || !form_shape(p->m, op, op->result[0].type, &f, NULL) ||
		!find_pair(p, op, &f, &pair, &operand) || !result_fits(&f, &pair, &at_out) ||
		uses_position(p, op, &pair))
		return false;
	for (int k = 0; k < f.ninputs; k++)
		if (!(in[k] = fold_operand(p, op, &f, k, &pair, at_out)))
			return false;
	struct ir_op *copy = ir_op_clone(p->m, op, in);
	const struct ir_type *t = op->result[0].type;
	int64_t dim[IR_MAX_RANK];
	const int rank = at_out < 0 ? t->rank : merged(t, at_out, dim);
	const bool before = diag_mute(p->m->ctx->diag, true);
	bool ok = fold_attrs(p, copy, op, &f, &pair, form_access_dim(&f.in[operand], pair.first),
			  at_out) &&
		  ir_infer(p->m, copy, NULL);
	diag_mute(p->m->ctx->diag, before);
	ok = ok && copy->result[0].type->rank == rank &&
	     (at_out < 0 ? copy->result[0].type == t
			 : !memcmp(copy->result[0].type->dim, dim, (size_t)rank * sizeof *dim));
	if (!ok) {
		ir_op_erase(copy);
		return false;
	}
	ir_insert_before(op, copy);
	if (at_out >= 0)
		return take_apart(p, &op->result[0], &copy->result[0], at_out);
	copy->result[0].name = op->result[0].name;
	ir_replace_uses(&op->result[0], &copy->result[0]);
	return true;
}

/* Is the first dim split down to one element? */
static bool
is_replicas(const struct foldbatch *p, const struct ir_type *t)
{
	return t->rank > 1 && t->dim[0] > 1 && ir_type_split_factor(p->m, t, 0) == t->dim[0];
}

/* Does the reshape make a dim of replicas and a batch of a batch that is split over the axis? */
static bool
takes_apart(const struct foldbatch *p, const struct ir_op *op)
{
	const struct ir_type *from = ir_operand_type(op, 0), *to = op->result[0].type;
	int64_t dim[IR_MAX_RANK];

	if (to->rank < 2 || to->dim[1] == 1 || merged(to, 0, dim) != from->rank ||
		memcmp(dim, from->dim, from->rank * sizeof *dim))
		return false;
	return is_replicas(p, to);
}

/* A reshape, or several, that leave the pair and what is in front of it. */
static bool
fold_reshape(struct foldbatch *p, struct ir_op *op)
{
	const struct ir_type *to = op->result[0].type;
	const struct ir_value *from = ir_operand(op, 0);
	int64_t dim[IR_MAX_RANK];

	while (!folded_of(p, from) && from->op && from->op->code == OP_reshape)
		from = ir_operand(from->op, 0);
	const struct folded *have = folded_of(p, from);
	if (!have && takes_apart(p, op)) {
		remember(p, &op->result[0], ir_operand(op, 0), 0);
		return true;
	}
	if (!have || to->rank < have->at + 2)
		return false;
	for (int d = 0; d <= have->at + 1; d++)
		if (from->type->dim[d] != to->dim[d])
			return false;
	struct ir_value *v = reshape(p, have->whole, dim, merged(to, have->at, dim));
	return v && take_apart(p, &op->result[0], v, have->at);
}

/* Collectives along an axis that neither name a dim nor are of the axis that splits the pair. */
static bool
fold_parallel(struct foldbatch *p, struct ir_op *op)
{
	const struct folded *have = op->noperands == 1 ? folded_of(p, ir_operand(op, 0)) : NULL;

	if (!have || (op->code != OP_allgather && op->code != OP_allreduce))
		return false;
	struct ir_value *x = have->whole;
	const int at = have->at;
	const bool before = diag_mute(p->m->ctx->diag, true);
	struct ir_value *v = ir_build(&p->b, (enum op_code)op->code, &x, 1, op->attr, op->nattrs);
	diag_mute(p->m->ctx->diag, before);
	p->b.failed = false;
	return v && take_apart(p, &op->result[0], v, at);
}

/*
 * Where folding starts: an input whose first dim is split down to one element, and the first larger
 * dim behind it. Dims of size 1 between are taken out.
 */
static void
start_at(struct foldbatch *p, struct ir_value *v)
{
	const struct ir_type *t = v->type;
	int64_t dim[IR_MAX_RANK], close[IR_MAX_RANK];
	int at = -1, n = 0, k = 0;

	if (is_replicas(p, t))
		at = 1;
	while (at > 0 && at < t->rank && t->dim[at] == 1)
		at++;
	if (at < 1 || at == t->rank || !v->uses)
		return;
	for (int d = 0; d < t->rank; d++)
		if (d == 0 || d >= at)
			close[k++] = t->dim[d];
	dim[n++] = t->dim[0] * t->dim[at];
	for (int d = at + 1; d < t->rank; d++)
		dim[n++] = t->dim[d];
	bool open = false; /* else all who read it have it folded */
	IR_FOR_USES (u, v)
		open = open || u->op->code != OP_reshape || u->op->result[0].type->rank != n ||
		       memcmp(u->op->result[0].type->dim, dim, (size_t)n * sizeof *dim) != 0;
	if (!open)
		return;
	p->b = (struct ir_builder){
		.m = p->m, .block = v->op->block, .before = v->op->next, .loc = v->op->loc};
	struct ir_value *whole = reshape(p, v, dim, n);
	struct ir_value *apart = reshape(p, whole, close, k),
			*back = reshape(p, apart, t->dim, t->rank);
	if (!back || back == v || back->type != t)
		return;
	for (struct ir_use *u = v->uses, *next; u; u = next) {
		next = u->next;
		if (u->op != whole->op)
			ir_set_operand(u->op, (int)(u - u->op->operand), back);
	}
	remember(p, apart, whole, 0);
}

/* An input, or what a reshape makes of one. */
static bool
is_start(const struct ir_op *op)
{
	const struct ir_op *from = op->code == OP_reshape ? ir_operand(op, 0)->op : NULL;

	return op->code == OP_input || (from && from->code == OP_input);
}

static bool
fold_op(struct foldbatch *p, struct ir_op *op)
{
	if (!op->nresults || !op_is(op, PURE) || op->body || !op->noperands ||
		op->noperands > FORM_MAX_INPUTS)
		return false;
	p->b = (struct ir_builder){.m = p->m, .block = op->block, .before = op, .loc = op->loc};
	if (op->code == OP_reshape)
		return fold_reshape(p, op);
	if (op_is(op, PARALLEL))
		return fold_parallel(p, op);
	return form_exists((enum op_code)op->code) && fold_form(p, op);
}

/* Folds one dim of replicas everywhere; how many ops that changed. */
static int64_t
fold_once(struct foldbatch *p, struct ir_block *b)
{
	int64_t changed = 0;

	p->n = 0;
	IR_FOR_OPS (op, b)
		for (int i = 0; i < op->nresults; i++)
			op->result[i].mark = 0;
	IR_FOR_OPS_SAFE (op, b) {
		const bool done = fold_op(p, op);
		changed += done;
		if (!done && is_start(op))
			start_at(p, &op->result[0]);
	}
	for (struct ir_op *op = b->last, *prev; op; op = prev) {
		prev = op->prev;
		if (op->nresults == 1 && !op->result[0].uses && op_is(op, PURE))
			ir_op_erase(op);
	}
	return changed;
}

static bool
run(struct pass_run *run, struct ir_module *m)
{
	struct foldbatch p = {.run = run, .m = m};
	struct ir_block *b = &ir_func_find(m, "main")->body;
	int64_t changed = 1;

	if (!foldbatch_join_sums(run, m, b))
		return false;
	for (int i = 0; i < m->naxes && changed; i++) {
		changed = fold_once(&p, b);
		pass_count(run, "ops on the whole batch", changed);
	}
	return true;
}

const struct pass pass_foldbatch = {
	.name = "foldbatch",
	.family = "parallelize",
	.summary = "fold a leading dim of replicas into the batch behind it",
	.needs = "no-calls",
	.conflicts = "fused",
	.run = run,
};
