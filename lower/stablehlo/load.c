/*
 * Operands of a form; those at computed positions by the cheapest ops that produce them:
 *
 *     c + s * i, constants    pad if read outside, slice, reverse if s < 0
 *     exact(i - c, s)         pad between elements
 *     base + i, always inside dynamic_slice
 *     anything else           gather, and select the fill value for reads outside
 */
#include "ir/loops/scheme.h"
#include "lower/stablehlo/hlo.h"

#include <string.h>

/* --- positions ----------------------------------------------------------------------------------
 */

/* The position base + step * (value of a loop); loop -1: a constant. */
struct affine {
	int loop;
	int64_t base, step;
};

static bool
affine_add(const struct affine *a, const struct affine *b, int64_t sign, struct affine *r)
{
	if (a->loop >= 0 && b->loop >= 0 && a->loop != b->loop)
		return false;
	r->loop = a->loop >= 0 ? a->loop : b->loop;
	r->base = a->base + sign * b->base;
	r->step = a->step + sign * b->step;
	return true;
}

static bool
affine_of(const struct hlo_nests *x, const struct expr *e, struct affine *r)
{
	struct affine a, b;

	if (e->kind == EXPR_CONST) {
		*r = (struct affine){-1, (int64_t)e->value, 0};
		return true;
	}
	if (e->kind == EXPR_INDEX) {
		*r = (struct affine){e->id, 0, 1};
		return form_is_loop(&x->f, e->id) && !x->offset[e->id].type;
	}
	if (e->kind != EXPR_CALL || e->nargs > 2 || !affine_of(x, e->arg[0], &a) ||
		(e->nargs == 2 && !affine_of(x, e->arg[1], &b)))
		return false;
	switch ((enum scalar_fn)e->id) {
	case FN_convert:
		*r = a;
		return ir_dtype_class((enum ir_dtype)e->dtype) == IR_INT && e->dtype == IR_i64;
	case FN_neg: *r = (struct affine){a.loop, -a.base, -a.step}; return true;
	case FN_add: return affine_add(&a, &b, 1, r);
	case FN_sub: return affine_add(&a, &b, -1, r);
	case FN_mul:
		if (b.loop < 0 && b.step == 0)
			*r = (struct affine){a.loop, a.base * b.base, a.step * b.base};
		else if (a.loop < 0 && a.step == 0)
			*r = (struct affine){b.loop, b.base * a.base, b.step * a.base};
		else
			return false;
		return true;
	default: return false;
	}
}

struct hlo_value
hlo_positions(struct hlo_nests *x, const int *computed, int n, const int8_t *loops, int nloops)
{
	struct hlo_value part[IR_MAX_RANK];

	for (int k = 0; k < n; k++) {
		const int i = computed[k];
		const struct form_offset *at = &x->offset[i];
		struct hlo_nest p = hlo_eval(x, x->f.at[i]);
		if (x->failed)
			return p.v;
		p = hlo_spread(x, &p, loops, nloops);
		if (at->type) { /* relative to the range of this replica */
			struct hlo_nest start = {.v = hlo_slice_number(x->h, at->type, at->dim)};
			start.v = hlo_two(x->h, "stablehlo.multiply", start.v,
				hlo_integer(x->h, start.v, x->f.size[i]));
			start = hlo_spread(x, &start, loops, nloops);
			p.v = hlo_two(x->h, "stablehlo.subtract", p.v, start.v);
		}
		p.v.dim[p.v.rank] = 1;
		part[k] = hlo_reshape(x->h, p.v, p.v.rank + 1, p.v.dim);
	}
	return hlo_concat(x->h, part, n, nloops);
}

/* --- by slices ----------------------------------------------------------------------------------
 */

static union cell
fill_cell(const struct hlo_nests *x, int j)
{
	const enum ir_dtype t = (enum ir_dtype)x->in[j].dtype;
	const double v = x->f.fill[j];

	if (ir_dtype_class(t) == IR_FLOAT)
		return (union cell){.f = v};
	return (union cell){.i = ir_dtype_fill(t, v)};
}

static struct hlo_value
fill_scalar(struct hlo_nests *x, int j)
{
	return hlo_constant(
		x->h, hlo_type((enum ir_dtype)x->in[j].dtype, 0, NULL), fill_cell(x, j));
}

struct edges {
	int64_t low[HLO_MAX_RANK], high[HLO_MAX_RANK], interior[HLO_MAX_RANK];
};

static struct hlo_value
pad_dim(struct hlo_nests *x, int j, struct hlo_value v, int dim, int64_t low, int64_t high,
	int64_t interior)
{
	struct edges e = {0};

	e.low[dim] = low, e.high[dim] = high, e.interior[dim] = interior;
	if (!low && !high && !interior)
		return v;
	return hlo_pad(x->h, v, fill_scalar(x, j), e.low, e.high, e.interior);
}

static struct hlo_value
slice_dim(struct hlo_nests *x, struct hlo_value v, int dim, int64_t start, int64_t limit,
	int64_t stride)
{
	int64_t from[HLO_MAX_RANK] = {0}, step[HLO_MAX_RANK];

	for (int d = 0; d < v.rank; d++)
		step[d] = d == dim ? stride : 1;
	from[dim] = start;
	if (!start && limit == v.dim[dim] && stride == 1)
		return v;
	const int64_t all = v.dim[dim];
	v.dim[dim] = limit;
	int64_t to[HLO_MAX_RANK];
	memcpy(to, v.dim, sizeof to);
	v.dim[dim] = all;
	return hlo_slice(x->h, v, from, to, step);
}

/* Elements base, base + step ... of a dim: n of them. */
static struct hlo_value
walk_dim(struct hlo_nests *x, int j, struct hlo_value v, int dim, const struct affine *a, int64_t n)
{
	const int64_t last = a->base + a->step * (n - 1), size = v.dim[dim];
	const int64_t low = a->step < 0 ? last : a->base, high = a->step < 0 ? a->base : last;
	const int64_t stride = a->step < 0 ? -a->step : a->step;
	const int64_t before = low < 0 ? -low : 0, behind = high >= size ? high - size + 1 : 0;

	if (stride == 1 && (before || behind)) {
		v = pad_dim(x, j, v, dim, -low, high + 1 - size, 0);
	} else {
		v = pad_dim(x, j, v, dim, before, behind, 0);
		v = slice_dim(x, v, dim, low + before, high + before + 1, stride ? stride : 1);
	}
	if (a->step >= 0)
		return v;
	return hlo_make(x->h, "stablehlo.reverse", &v, 1,
		hlo_text(x->h, "dimensions = array<i64: %d>", dim), v);
}

/* A position made of constants and one loop that occurs nowhere else in the nest. */
static bool
load_affine(struct hlo_nests *x, int j, struct hlo_nest *n, int dim)
{
	const struct expr *at = x->f.at[n->index[dim]];
	const bool exact = at->kind == EXPR_CALL && at->id == FN_exact &&
			   at->arg[1]->kind == EXPR_CONST && at->arg[1]->value >= 1;
	struct affine a;

	if (x->offset[n->index[dim]].type || !affine_of(x, exact ? at->arg[0] : at, &a) ||
		a.loop < 0 || a.step == 0 || memchr(n->index, a.loop, n->v.rank))
		return false;
	const int64_t size = x->f.size[a.loop];
	if (exact && a.step != 1)
		return false;
	if (exact) {
		const int64_t between = (int64_t)at->arg[1]->value - 1;
		const int64_t all = n->v.dim[dim] ? (n->v.dim[dim] - 1) * (between + 1) + 1 : 0;
		n->v = pad_dim(x, j, n->v, dim, -a.base, size + a.base - all, between);
	} else {
		n->v = walk_dim(x, j, n->v, dim, &a, size);
	}
	n->index[dim] = (int8_t)a.loop;
	return true;
}

static bool
is_inside(const struct hlo_nests *x, int index)
{
	struct scheme_op o = {.f = x->f};

	memcpy(o.offset, x->offset, sizeof o.offset);
	return scheme_is_inside(&o, index);
}

/* minimum(maximum(s, 0), size - n) + i: a clamped start, so the positions are inside. */
static bool
is_clamped(const struct expr *base, int64_t size, int64_t n)
{
	if (base->kind != EXPR_CALL || base->id != FN_minimum)
		return false;
	const struct expr *low = base->arg[0], *most = base->arg[1];
	if (low->kind != EXPR_CALL || low->id != FN_maximum)
		return false;
	return most->kind == EXPR_CONST && most->value <= (double)(size - n) &&
	       low->arg[1]->kind == EXPR_CONST && low->arg[1]->value >= 0;
}

/* A number of the data plus a loop. */
static bool
load_dynamic(struct hlo_nests *x, struct hlo_nest *n, int dim)
{
	const int index = n->index[dim];
	const struct expr *at = x->f.at[index];

	if (x->offset[index].type || at->kind != EXPR_CALL || at->id != FN_add ||
		at->arg[1]->kind != EXPR_INDEX)
		return false;
	const int loop = at->arg[1]->id;
	if (!form_is_loop(&x->f, loop) || x->offset[loop].type ||
		memchr(n->index, loop, n->v.rank) ||
		!is_clamped(at->arg[0], n->v.dim[dim], x->f.size[loop]))
		return false;
	const struct hlo_nest base = hlo_eval(x, at->arg[0]);
	if (x->failed || base.lazy || base.v.rank)
		return false;
	struct hlo_value in[1 + HLO_MAX_RANK] = {n->v}, type = n->v;
	for (int d = 0; d < n->v.rank; d++)
		in[1 + d] = d == dim ? base.v : hlo_integer(x->h, hlo_like(base.v, IR_i64), 0);
	type.dim[dim] = x->f.size[loop];
	n->v = hlo_make(x->h, "stablehlo.dynamic_slice", in, 1 + n->v.rank,
		hlo_text(x->h, "slice_sizes = %s", hlo_array(x->h, type.dim, type.rank)), type);
	n->index[dim] = (int8_t)loop;
	return true;
}

/* --- by gather ----------------------------------------------------------------------------------
 */

/* The description of a gather of some computed dims of a nest. */
struct lookup {
	int computed[IR_MAX_RANK], n; /* indices, in order of the dims */
	uint32_t dims;                /* of the nest: those that are looked up */
	int8_t loops[HLO_MAX_RANK];   /* of the positions */
	int nloops;
};

/* The first computed dim, and all others whose positions share a loop with it. */
static struct lookup
find_lookup(struct hlo_nests *x, const struct hlo_nest *n)
{
	struct lookup l = {0};
	uint32_t set = 0;

	for (int d = 0; d < n->v.rank; d++) {
		const int i = n->index[d];
		if (!x->f.at[i])
			continue;
		const struct hlo_nest at = hlo_eval(x, x->f.at[i]);
		const uint32_t walks = hlo_loops(&at);
		if (l.n && !(walks & set))
			continue;
		set |= walks;
		l.computed[l.n++] = i;
		l.dims |= 1u << d;
	}
	l.nloops = hlo_ordered(x, set, l.loops);
	return l;
}

static const char *
gather_attrs(struct hlo_nests *x, const struct hlo_nest *n, const struct lookup *l)
{
	int64_t offset[HLO_MAX_RANK], collapsed[HLO_MAX_RANK], batch[HLO_MAX_RANK],
		batch_at[HLO_MAX_RANK], size[HLO_MAX_RANK];
	int noffset = 0, ncollapsed = 0, nbatch = 0;
	struct hlo *h = x->h;

	for (int d = 0; d < n->v.rank; d++) {
		const int8_t *at =
			l->nloops ? memchr(l->loops, n->index[d], (size_t)l->nloops) : NULL;
		size[d] = l->dims >> d & 1 || at ? 1 : n->v.dim[d];
		if (l->dims >> d & 1) {
			collapsed[ncollapsed++] = d;
		} else if (at) {
			batch_at[nbatch] = at - l->loops;
			batch[nbatch++] = d;
		} else {
			offset[noffset] = l->nloops + noffset;
			noffset++;
		}
	}
	const char *s =
		noffset ? hlo_text(h, "offset_dims = %s, ", hlo_list(h, offset, noffset)) : "";
	s = hlo_text(h, "%scollapsed_slice_dims = %s, ", s, hlo_list(h, collapsed, ncollapsed));
	if (nbatch)
		s = hlo_text(h, "%soperand_batching_dims = %s, start_indices_batching_dims = %s, ",
			s, hlo_list(h, batch, nbatch), hlo_list(h, batch_at, nbatch));
	return hlo_text(h,
		"dimension_numbers = #stablehlo.gather<%sstart_index_map = %s, index_vector_dim "
		"= %d>, slice_sizes = %s, indices_are_sorted = false",
		s, hlo_list(h, collapsed, ncollapsed), l->nloops, hlo_array(h, size, n->v.rank));
}

/* Where all of these positions are inside the range of this replica; false: they always are. */
static bool
inside_mask(
	struct hlo_nests *x, const struct lookup *l, struct hlo_value at, struct hlo_value *mask)
{
	struct hlo *h = x->h;
	bool any = false;

	for (int k = 0; k < l->n; k++) {
		if (is_inside(x, l->computed[k]))
			continue;
		int64_t from[HLO_MAX_RANK] = {0}, to[HLO_MAX_RANK], step[HLO_MAX_RANK];
		for (int d = 0; d < at.rank; d++)
			to[d] = at.dim[d], step[d] = 1;
		from[l->nloops] = k, to[l->nloops] = k + 1;
		struct hlo_value p = l->n == 1 ? at : hlo_slice(h, at, from, to, step);
		p = hlo_reshape(h, p, l->nloops, p.dim);
		const struct hlo_value low = hlo_compare(h, "GE", p, hlo_integer(h, p, 0));
		struct hlo_value in = hlo_integer(h, p, x->f.size[l->computed[k]]);
		in = hlo_two(h, "stablehlo.and", low, hlo_compare(h, "LT", p, in));
		*mask = any ? hlo_two(h, "stablehlo.and", *mask, in) : in;
		any = true;
	}
	return any;
}

static void
load_gather(struct hlo_nests *x, int j, struct hlo_nest *n)
{
	const struct lookup l = find_lookup(x, n);
	struct hlo *h = x->h;
	if (x->failed)
		return;
	const struct hlo_value at = hlo_positions(x, l.computed, l.n, l.loops, l.nloops);
	if (x->failed)
		return;
	struct hlo_nest r = {.v = hlo_type((enum ir_dtype)n->v.dtype, l.nloops, at.dim)};
	memcpy(r.index, l.loops, (size_t)l.nloops);
	for (int d = 0; d < n->v.rank; d++) {
		if (l.dims >> d & 1 || (l.nloops && memchr(l.loops, n->index[d], (size_t)l.nloops)))
			continue;
		r.index[r.v.rank] = n->index[d];
		r.v.dim[r.v.rank++] = n->v.dim[d];
	}
	r.v = hlo_make(h, "stablehlo.gather", (struct hlo_value[]){n->v, at}, 2,
		gather_attrs(x, n, &l), r.v);
	struct hlo_nest mask = {.v = at};
	if (inside_mask(x, &l, at, &mask.v)) {
		/* dims of the nest have computed positions, so their sizes are its own */
		int64_t dims[HLO_MAX_RANK];
		memcpy(mask.index, l.loops, (size_t)l.nloops);
		for (int d = 0; d < l.nloops; d++)
			dims[d] = d;
		if (mask.v.rank < r.v.rank)
			mask.v = hlo_make(h, "stablehlo.broadcast_in_dim", &mask.v, 1,
				hlo_text(h, "broadcast_dimensions = %s",
					hlo_array(h, dims, l.nloops)),
				hlo_like(r.v, IR_bool));
		r.v = hlo_select(h, mask.v, r.v, hlo_constant(h, r.v, fill_cell(x, j)));
	}
	*n = r;
}

/* --- operands -----------------------------------------------------------------------------------
 */

static int
next_computed(const struct hlo_nests *x, const struct hlo_nest *n)
{
	for (int d = 0; d < n->v.rank; d++)
		if (x->f.at[n->index[d]])
			return d;
	return -1;
}

struct hlo_nest
hlo_load(struct hlo_nests *x, int j)
{
	const struct form_access *access = &x->f.in[j];
	struct hlo_nest n = {.v = x->in[j]};
	int64_t dim[IR_MAX_RANK];
	int rank = 0;

	for (int d = 0; d < access->rank; d++) {
		if (access->index[d] < 0)
			continue;
		n.index[rank] = access->index[d];
		dim[rank++] = x->in[j].dim[d];
	}
	for (int d = 0; d < rank; d++)
		if (!dim[d] && x->f.at[n.index[d]]) { /* no element is inside */
			n.v = fill_scalar(x, j);
			return n;
		}
	n.v = hlo_reshape(x->h, n.v, rank, dim);
	for (int d; !x->failed && (d = next_computed(x, &n)) >= 0;)
		if (!load_affine(x, j, &n, d) && !load_dynamic(x, &n, d))
			load_gather(x, j, &n);
	return n;
}
