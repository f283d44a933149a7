/*
 * An op by its form: its body as ops over the loops, then a reduction or a scatter. Ops without a
 * function of their own in rows.c are converted here, including new ops of the table.
 *
 *     y[..] = a[..] + b      add(a, broadcast_in_dim(b))
 *     y[r] = sum(c) x[r,c]   reduce(x)                           over the loops that are reduced
 *     t[{i},*]               gather                              load.c
 *     sum(k) a[m,k] b[k,n]   dot_general                         product.c
 *     [{i},*] = sum(..) u    scatter into the identity
 *
 * An expression is written over exactly the loops that it depends on, and repeated
 * (broadcast_in_dim) when combined with one over more loops.
 */
#include "lower/stablehlo/hlo.h"

#include "ir/base/vec.h"

#include <assert.h>
#include <string.h>

uint32_t
hlo_loops(const struct hlo_nest *n)
{
	uint32_t set = 0;

	for (int d = 0; d < n->v.rank; d++)
		set |= 1u << n->index[d];
	return set;
}

int
hlo_ordered(const struct hlo_nests *x, uint32_t set, int8_t *index)
{
	int n = 0;

	for (int k = 0; k < x->norder; k++)
		if (set >> x->order[k] & 1)
			index[n++] = x->order[k];
	return n;
}

/* --- shapes of nests ----------------------------------------------------------------------------
 */

static struct hlo_value
type_over(const struct hlo_nests *x, enum ir_dtype t, const int8_t *index, int rank)
{
	struct hlo_value v = hlo_type(t, 0, NULL);

	v.rank = (uint8_t)rank;
	for (int d = 0; d < rank; d++)
		v.dim[d] = x->f.size[index[d]];
	return v;
}

/* A number of a constant expression, rounded to its element type. */
static union cell
constant_cell(const struct expr *e)
{
	const enum ir_dtype t = (enum ir_dtype)e->dtype;

	if (ir_dtype_class(t) == IR_FLOAT)
		return (union cell){.f = e->value};
	return (union cell){.i = ir_dtype_wrap(t, e->whole)};
}

/* Position of a loop in the whole tensor; this replica's range is added to a start of 0. */
static struct hlo_value
write_iota(struct hlo_nests *x, struct hlo_value type, int dim)
{
	return hlo_make(x->h, "stablehlo.iota", NULL, 0,
		hlo_text(x->h, "iota_dimension = %d : i64", dim), type);
}

static struct hlo_nest
write_lazy(struct hlo_nests *x, const struct expr *e, const int8_t *index, int rank)
{
	struct hlo_nest n = {.v = type_over(x, (enum ir_dtype)e->dtype, index, rank)};

	if (rank)
		memcpy(n.index, index, (size_t)rank);
	if (e->kind == EXPR_CONST)
		n.v = hlo_constant(x->h, n.v, constant_cell(e));
	else
		n.v = write_iota(
			x, n.v, (int)((const int8_t *)memchr(index, e->id, (size_t)rank) - index));
	return n;
}

/* The dims in the order in which `index` has them. */
static struct hlo_nest
reorder(struct hlo_nests *x, const struct hlo_nest *n, const int8_t *index, int rank)
{
	int64_t perm[HLO_MAX_RANK];
	struct hlo_nest r = *n;
	int k = 0;

	for (int d = 0; d < rank; d++) {
		const int8_t *at = n->v.rank ? memchr(n->index, index[d], n->v.rank) : NULL;
		if (!at)
			continue;
		r.index[k] = index[d];
		perm[k++] = at - n->index;
	}
	assert(k == n->v.rank);
	r.v = hlo_transpose(x->h, n->v, perm);
	return r;
}

struct hlo_nest
hlo_spread(struct hlo_nests *x, const struct hlo_nest *n, const int8_t *index, int rank)
{
	if (n->lazy)
		return write_lazy(x, n->lazy, index, rank);
	struct hlo_nest r = reorder(x, n, index, rank);
	if (r.v.rank == rank)
		return r;
	int64_t dims[HLO_MAX_RANK];
	for (int d = 0, k = 0; d < rank; d++)
		if (k < r.v.rank && r.index[k] == index[d])
			dims[k++] = d;
	r.v = hlo_make(x->h, "stablehlo.broadcast_in_dim", &r.v, 1,
		hlo_text(x->h, "broadcast_dimensions = %s", hlo_array(x->h, dims, r.v.rank)),
		type_over(x, (enum ir_dtype)r.v.dtype, index, rank));
	memcpy(r.index, index, (size_t)rank);
	return r;
}

struct hlo_nest
hlo_reduce_nest(struct hlo_nests *x, const struct hlo_nest *n, uint32_t set, enum form_reduce how)
{
	int64_t dims[HLO_MAX_RANK];
	struct hlo_nest r = *n;
	int ndims = 0, kept = 0;

	for (int d = 0; d < n->v.rank; d++)
		if (set >> n->index[d] & 1)
			dims[ndims++] = d;
		else
			r.index[kept++] = n->index[d];
	r.v = hlo_reduce(x->h, n->v, dims, ndims, how);
	return r;
}

/* --- expressions --------------------------------------------------------------------------------
 */

/* An index: its positions, in the whole tensor. */
static struct hlo_nest
eval_index(struct hlo_nests *x, const struct expr *e)
{
	const struct form_offset *at = &x->offset[e->id];
	const int8_t index = (int8_t)e->id;
	struct hlo_nest n = {.v = type_over(x, IR_i64, &index, 1), .index = {index}, .lazy = e};

	assert(form_is_loop(&x->f, e->id));
	if (!at->type)
		return n;
	struct hlo_value start = hlo_slice_number(x->h, at->type, at->dim);
	start = hlo_two(x->h, "stablehlo.multiply", start,
		hlo_integer(x->h, hlo_like(start, IR_i64), x->f.size[e->id]));
	const struct hlo_nest scalar = {.v = start};
	n = write_lazy(x, e, &index, 1);
	n.v = hlo_two(x->h, "stablehlo.add", n.v, hlo_spread(x, &scalar, &index, 1).v);
	return n;
}

static struct hlo_nest
eval_call(struct hlo_nests *x, const struct expr *e)
{
	struct hlo_nest arg[3];
	struct hlo_value v[3];
	uint32_t set = 0;
	int8_t index[HLO_MAX_RANK];
	const struct hlo_nest *first = NULL;
	bool same = true;

	for (int i = 0; i < e->nargs; i++) {
		arg[i] = hlo_eval(x, e->arg[i]);
		set |= hlo_loops(&arg[i]);
		if (x->failed)
			return arg[i];
	}
	for (int i = 0; i < e->nargs; i++) {
		if (arg[i].lazy || hlo_loops(&arg[i]) != set)
			continue;
		same = same && (!first || !memcmp(first->index, arg[i].index, first->v.rank));
		first = first ? first : &arg[i];
	}
	/* if operands have all loops in one order, no transpose is needed */
	int rank = first && same ? first->v.rank : hlo_ordered(x, set, index);
	if (first && same)
		memcpy(index, first->index, sizeof index);
	for (int i = 0; i < e->nargs; i++)
		v[i] = hlo_spread(x, &arg[i], index, rank).v;
	struct hlo_nest r = {.v = v[0]};
	memcpy(r.index, index, sizeof index);
	x->failed = !hlo_scalar(x->h, e, v, &r.v);
	if (x->failed)
		hlo_unsupported(x->h, x->op, fn_name((enum scalar_fn)e->id));
	return r;
}

struct hlo_nest
hlo_eval(struct hlo_nests *x, const struct expr *e)
{
	struct hlo_nest n = {.v = hlo_type((enum ir_dtype)e->dtype, 0, NULL)};

	for (int i = 0; i < x->nmemo; i++)
		if (x->memo[i].e == e)
			return x->memo[i].nest;
	switch (e->kind) {
	case EXPR_CONST: n.lazy = e; break;
	case EXPR_INDEX: n = eval_index(x, e); break;
	case EXPR_LOAD: n = hlo_load(x, e->id); break;
	case EXPR_CALL: n = eval_call(x, e); break;
	}
	LIST_PUSH(x->h->scratch, x->memo, x->nmemo, (struct hlo_memo){e, n});
	return n;
}

/* --- reductions ---------------------------------------------------------------------------------
 */

/* The type of the accumulator: sums of narrow floats are rounded once, at the end. */
static enum ir_dtype
wide_type(const struct form *f)
{
	const enum ir_dtype t = (enum ir_dtype)f->dtype;
	const bool sums = f->reduce == REDUCE_SUM || f->reduce == REDUCE_PROD;

	return sums && (t == IR_f16 || t == IR_bf16) ? IR_f32 : t;
}

/* The body over all reduced loops, and the other loops that it depends on. */
static struct hlo_nest
eval_body(struct hlo_nests *x, enum ir_dtype wide, uint32_t also)
{
	struct hlo_nest n =
		hlo_eval(x, expr_convert(x->h->arena, (enum ir_dtype)x->f.dtype, x->f.body));
	int8_t index[HLO_MAX_RANK];

	if (x->failed)
		return n;
	const int rank = hlo_ordered(x, hlo_loops(&n) | also, index);
	n = hlo_spread(x, &n, index, rank);
	n.v = hlo_convert(x->h, wide, n.v);
	return n;
}

/* The first position of the largest (smallest) reduced element; a NaN precedes all others. */
static struct hlo_nest
eval_place(struct hlo_nests *x)
{
	const struct form *f = &x->f;
	const bool largest = f->reduce == REDUCE_ARGMAX;
	int8_t index[HLO_MAX_RANK];
	struct hlo_nest body = hlo_eval(x, f->body);
	if (x->failed)
		return body;
	const int rank = hlo_ordered(x, hlo_loops(&body) | f->reduced, index);
	body = hlo_spread(x, &body, index, rank);
	struct hlo_nest best =
		hlo_reduce_nest(x, &body, f->reduced, largest ? REDUCE_MAX : REDUCE_MIN);
	best = hlo_spread(x, &best, index, rank);
	struct hlo *h = x->h;
	struct hlo_value is = hlo_compare(h, "EQ", body.v, best.v);
	if (ir_dtype_class((enum ir_dtype)body.v.dtype) == IR_FLOAT)
		is = hlo_two(h, "stablehlo.or", is, hlo_compare(h, "NE", body.v, body.v));
	struct hlo_nest place = hlo_eval(x, form_place(h->arena, f));
	place = hlo_spread(x, &place, index, rank);
	place.v = hlo_convert(h, IR_i32, place.v);
	const struct hlo_value none = hlo_constant(h, place.v, hlo_identity(REDUCE_MIN, IR_i32));
	place.v = hlo_select(h, is, place.v, none);
	return hlo_reduce_nest(x, &place, f->reduced, REDUCE_MIN);
}

/* Adds up along the index of a scan: a window over all elements up to each. */
static struct hlo_value
add_up(struct hlo_nests *x, struct hlo_value v, int dim, bool reverse)
{
	struct hlo *h = x->h;
	const enum ir_dtype t = (enum ir_dtype)v.dtype;
	int64_t window[HLO_MAX_RANK], padding[2 * HLO_MAX_RANK] = {0};

	for (int d = 0; d < v.rank; d++)
		window[d] = 1;
	window[dim] = v.dim[dim];
	padding[2 * dim + (reverse ? 1 : 0)] = v.dim[dim] - 1;
	const struct hlo_value in[] = {
		v, hlo_constant(h, hlo_type(t, 0, NULL), hlo_identity(REDUCE_SUM, t))};
	hlo_write(
		h, &(struct hlo_op){.name = "stablehlo.reduce_window",
			   .in = in,
			   .nin = 2,
			   .attrs = hlo_text(h, "window_dimensions = %s, padding = %s",
				   hlo_array(h, window, v.rank), hlo_matrix(h, padding, v.rank, 2)),
			   .region = hlo_region(h, hlo_monoid(REDUCE_SUM, t), t),
			   .out = &v,
			   .nout = 1});
	return v;
}

static struct hlo_nest
eval_result(struct hlo_nests *x, enum ir_dtype wide)
{
	const struct form *f = &x->f;
	struct hlo_nest n;

	if (form_reduce_is_place((enum form_reduce)f->reduce))
		return eval_place(x);
	if (f->reduce == REDUCE_SUM && hlo_product(x, wide, &n))
		return n;
	if (f->reduce == REDUCE_NONE)
		return hlo_eval(x, expr_convert(x->h->arena, (enum ir_dtype)f->dtype, f->body));
	n = eval_body(x, wide, f->reduced);
	return x->failed ? n : hlo_reduce_nest(x, &n, f->reduced, (enum form_reduce)f->reduce);
}

/* --- the result ---------------------------------------------------------------------------------
 */

/* The loops of the result, in order of its dims, without those of size 1 that no loop walks. */
static int
result_loops(const struct form *f, int8_t *index)
{
	int n = 0;

	for (int d = 0; d < f->out.rank; d++)
		if (f->out.index[d] >= 0)
			index[n++] = f->out.index[d];
	return n;
}

static struct hlo_value
gathered(struct hlo_nests *x, const struct form_scan *scan)
{
	const enum ir_dtype wide = scan->found ? IR_f32 : wide_type(&x->f);
	const double divisor = form_take_divisor(&x->f);
	int8_t index[IR_MAX_RANK];
	struct hlo_nest n = eval_result(x, wide);
	struct hlo *h = x->h;

	if (x->failed)
		return n.v;
	const int rank = result_loops(&x->f, index);
	n = hlo_spread(x, &n, index, rank);
	if (scan->found) {
		const bool narrow = n.v.dtype == IR_f16 || n.v.dtype == IR_bf16;
		n.v = hlo_convert(h, narrow ? IR_f32 : (enum ir_dtype)n.v.dtype, n.v);
		n.v = add_up(x, n.v,
			(int)((int8_t *)memchr(index, scan->index, (size_t)rank) - index),
			scan->reverse);
	}
	if (divisor != 0)
		n.v = hlo_two(h, "stablehlo.divide", n.v, hlo_number(h, n.v, divisor));
	return hlo_convert(h, (enum ir_dtype)x->f.dtype, n.v);
}

static void
append(int64_t *list, int *n, int64_t v)
{
	list[(*n)++] = v;
}

/* Dimension numbers of a scatter, from the loops of its updates: first `nloops` of the positions.
 */
static const char *
scatter_numbers(const struct hlo_nests *x, const int8_t *loops, int nloops)
{
	const struct form *f = &x->f;
	int64_t window[HLO_MAX_RANK], inserted[HLO_MAX_RANK], batch[HLO_MAX_RANK],
		batch_at[HLO_MAX_RANK], to[HLO_MAX_RANK];
	int nwindow = 0, ninserted = 0, nbatch = 0, nbatch_at = 0, nto = 0, dim = 0;

	for (int d = 0; d < f->out.rank; d++) {
		const int i = f->out.index[d];
		if (i < 0)
			continue;
		const int8_t *at = nloops ? memchr(loops, i, (size_t)nloops) : NULL;
		if (f->at[i]) {
			append(inserted, &ninserted, dim);
			append(to, &nto, dim);
		} else if (at) {
			append(batch, &nbatch, dim);
			append(batch_at, &nbatch_at, at - loops);
		} else {
			append(window, &nwindow, nloops + nwindow);
		}
		dim++;
	}
	struct hlo *h = x->h;
	const char *s = "";
	if (nwindow)
		s = hlo_text(h, "update_window_dims = %s, ", hlo_list(h, window, nwindow));
	s = hlo_text(h, "%sinserted_window_dims = %s, ", s, hlo_list(h, inserted, ninserted));
	if (nbatch)
		s = hlo_text(h, "%sinput_batching_dims = %s, scatter_indices_batching_dims = %s, ",
			s, hlo_list(h, batch, nbatch), hlo_list(h, batch_at, nbatch));
	return hlo_text(h,
		"scatter_dimension_numbers = #stablehlo.scatter<%sscatter_dims_to_operand_dims = "
		"%s, index_vector_dim = %d>, indices_are_sorted = false, unique_indices = false",
		s, hlo_list(h, to, nto), nloops);
}

/* Elements are written at computed positions. */
static struct hlo_value
scattered(struct hlo_nests *x)
{
	const struct form *f = &x->f;
	const enum ir_dtype wide = wide_type(f);
	struct hlo *h = x->h;
	int8_t loops[HLO_MAX_RANK], out[IR_MAX_RANK], walked[HLO_MAX_RANK];
	int computed[IR_MAX_RANK], ncomputed = 0, nloops;
	uint32_t positions = 0, window = 0;

	const int nout = result_loops(f, out);
	for (int d = 0; d < nout; d++) {
		if (f->at[out[d]]) {
			const struct hlo_nest at = hlo_eval(x, f->at[out[d]]);
			positions |= hlo_loops(&at);
			computed[ncomputed++] = out[d];
		} else {
			window |= 1u << out[d];
		}
	}
	struct hlo_nest u = eval_body(x, wide, positions | window | f->reduced);
	if (x->failed)
		return u.v;
	u = hlo_reduce_nest(x, &u, f->reduced & ~positions, (enum form_reduce)f->reduce);
	nloops = hlo_ordered(x, positions, loops);
	memcpy(walked, loops, sizeof walked);
	int n = nloops;
	for (int d = 0; d < nout; d++)
		if (window >> out[d] & 1 & ~(positions >> out[d]))
			walked[n++] = out[d];
	u = hlo_spread(x, &u, walked, n);
	struct hlo_value type = type_over(x, wide, out, nout);
	const enum form_reduce how = (enum form_reduce)f->reduce;
	const struct hlo_value start = hlo_constant(h, type, hlo_identity(how, wide)),
			       at = hlo_positions(x, computed, ncomputed, loops, nloops);
	const struct hlo_value in[] = {start, at, u.v};
	if (x->failed)
		return type;
	hlo_write(h, &(struct hlo_op){.name = "stablehlo.scatter",
			     .in = in,
			     .nin = 3,
			     .attrs = scatter_numbers(x, loops, nloops),
			     .region = hlo_region(h, hlo_monoid(how, wide), wide),
			     .out = &type,
			     .nout = 1});
	return hlo_convert(h, (enum ir_dtype)f->dtype, type);
}

static void
find_loops(struct hlo_nests *x)
{
	const struct form *f = &x->f;

	memset(x->rank, -1, sizeof x->rank);
	for (int pass = 0; pass < 2; pass++)
		for (int k = 0; k < (pass ? f->nindices : f->out.rank); k++) {
			const int i = pass ? k : f->out.index[k];
			if (!form_is_loop(f, i) || x->rank[i] >= 0)
				continue;
			x->rank[i] = (int8_t)x->norder;
			x->order[x->norder++] = (int8_t)i;
		}
}

enum hlo_done
hlo_form(struct hlo *h, const struct ir_op *op, const struct hlo_value *in, struct hlo_value *out)
{
	struct hlo_nests *x = NEW(h->scratch, struct hlo_nests);
	struct hlo_value held[FORM_MAX_INPUTS];

	x->h = h;
	x->op = op;
	if (!form_make(h->m, h->arena, op, op->result[0].type, &x->f))
		return HLO_FAILED;
	form_localize(h->m, op, &x->f, x->offset);
	const struct form_scan scan = form_take_scan(h->arena, &x->f, x->offset);
	for (int j = 0; j < x->f.ninputs; j++) {
		held[j] = in[j];
		for (int a = 0; a < h->m->naxes; a++)
			if (ir_operand_type(op, j)->axis[a].kind == IR_SINGLE &&
				op->result[0].type->axis[a].kind != IR_SINGLE) {
				held[j] = hlo_held(h, ir_operand_type(op, j), in[j]);
				break;
			}
	}
	x->in = held;
	find_loops(x);
	struct hlo_value v = form_is_scatter(&x->f) ? scattered(x) : gathered(x, &scan);
	if (x->failed)
		return HLO_FAILED;
	const struct hlo_value type = hlo_local_type(h, op->result[0].type);
	*out = hlo_reshape(h, v, type.rank, type.dim);
	return HLO_DONE;
}
