/*
 * Runs an op by its form. The body becomes a program over registers, each a strip of cells along
 * one index:
 *
 *     for the other indices                     the odometer
 *       for strips of at most INTERP_STRIP      along a long index
 *         registers = loads, constants, calls   the program
 *         out (+)= last register
 *
 * A computed index is not a loop: its position is the value of a register. A load outside the local
 * tensor gives the operand's fill, a store there is dropped.
 *
 * A sum of products of two float operands goes to gemm.c.
 */
#include "ir/interp/internal.h"
#include "ir/base/alloc.h"
#include "ir/ops/error.h"
#include "ir/ops/literal.h"

#include <assert.h>
#include <math.h>
#include <string.h>
#include <talloc.h>

enum {
	MAX_REGISTERS =
		256 /* nodes of one op's body: the longest row has 7, a derivative some tens */
};

struct insn {
	const struct expr *e;
	int arg[3];                /* registers */
	bool varies;               /* along the strip */
	bool repeated;             /* does not, and is read at every element of the strip */
	const union cell *element; /* of a literal, all of its elements */
};

struct form_plan {
	struct form f;
	struct form_offset offset[FORM_MAX_INDICES];
	struct insn *insn;              /* instruction i writes register i */
	int ninsns, value;              /* the register of the body */
	int strip;                      /* the index along which registers extend; -1: none */
	int position[FORM_MAX_INDICES]; /* register that holds the position of a computed index */
	struct form_scan scan;          /* prefix sum along an index, done at the end */
	double divisor;                 /* of the complete sum; 0: none */
	int product[2];                 /* loads of a sum of products; -1: it is not one */
	bool rounds;                    /* results may differ from the exact ones */
};

/* --- making a plan ------------------------------------------------------------------------------
 */

static const union cell *
elements_of(struct arena *a, const struct ir_op *literal)
{
	const struct ir_type *t = literal->result[0].type;
	const int64_t n = ir_type_elements(t);
	union cell *cell = ARENA_ARRAY(a, union cell, n);
	unsigned char *bytes = literal_bytes(NULL, literal);

	for (int64_t i = 0; i < n; i++) {
		const union ir_number v = literal_read((enum ir_dtype)t->dtype, bytes, i);
		if (ir_dtype_class((enum ir_dtype)t->dtype) == IR_FLOAT)
			cell[i].f = v.f;
		else
			cell[i].i = v.i;
	}
	array_free(bytes);
	return cell;
}

static int
compile(struct form_plan *p, struct arena *a, const struct expr *e)
{
	for (int i = 0; i < p->ninsns; i++)
		if (p->insn[i].e == e)
			return i;
	struct insn in = {.e = e};
	for (int i = 0; i < e->nargs; i++)
		in.arg[i] = compile(p, a, e->arg[i]);
	if (e->kind == EXPR_CALL && e->id == FN_element)
		in.element = elements_of(a, e->literal);
	assert(p->ninsns < MAX_REGISTERS);
	p->insn[p->ninsns] = in;
	return p->ninsns++;
}

/* Is the index reduced, with another reduced one after it? A strip along it would then reduce in
 * another order than that of the indices, which equal computations of other sizes should share. */
static bool
is_outer_reduced(const struct form *f, int index)
{
	bool outer = false;

	for (int i = index + 1; i < f->nindices; i++)
		outer |= f->reduced >> i & 1 && f->size[i] > 1;
	return outer && f->reduced >> index & 1;
}

/* Does a computed index of the access depend on the index of the strip? */
static bool
position_varies(const struct form_plan *p, const struct form_access *access)
{
	for (int d = 0; d < access->rank; d++) {
		const int i = access->index[d];
		if (i >= 0 && p->f.at[i] && p->insn[p->position[i]].varies)
			return true;
	}
	return false;
}

/* Is the position of an element in the operand, or in the result, another one all along the strip? */
static bool
access_varies(const struct form_plan *p, const struct form_access *access)
{
	return form_access_has(access, p->strip) || position_varies(p, access);
}

static void
mark_varying(struct form_plan *p)
{
	for (int i = 0; i < p->ninsns; i++) {
		struct insn *in = &p->insn[i];
		const struct expr *e = in->e;

		in->varies = e->kind == EXPR_INDEX  ? e->id == p->strip
			     : e->kind == EXPR_LOAD ? access_varies(p, &p->f.in[e->id])
						    : false;
		for (int j = 0; j < e->nargs; j++)
			in->varies |= p->insn[in->arg[j]].varies;
	}
}

/* Of an access, in moves of an element from one array to another that is next to the last one. */
static double
access_cost(const struct form_plan *p, const struct form_access *access)
{
	const double strided = 1, computed = 8;

	if (position_varies(p, access))
		return computed;
	const int dim = form_access_dim(access, p->strip);
	return dim >= 0 && dim < access->rank - 1 ? strided : 0;
}

/* What an element costs in strips along p->strip, in such moves. */
static double
strip_cost(const struct form_plan *p)
{
	const double a_strip = 16, an_insn = 2;
	double cost = (a_strip + an_insn * p->ninsns) / (double)p->f.size[p->strip] +
		      access_cost(p, &p->f.out);

	for (int i = 0; i < p->ninsns; i++) {
		const struct insn *in = &p->insn[i];
		cost += in->varies;
		if (in->varies && in->e->kind == EXPR_LOAD)
			cost += access_cost(p, &p->f.in[in->e->id]);
	}
	return cost;
}

/* Which registers with one value are read as if they had one an element? */
static void
mark_repeated(struct form_plan *p)
{
	bool computed = form_is_scatter(&p->f); /* is any position another one along the strip? */

	for (int i = 0; i < p->f.nindices; i++)
		computed |= p->f.at[i] && p->insn[p->position[i]].varies;
	for (int i = 0; i < p->f.nindices; i++)
		if (computed && p->f.at[i])
			p->insn[p->position[i]].repeated = true;
	for (int i = 0; i < p->ninsns; i++)
		for (int j = 0; p->insn[i].varies && j < p->insn[i].e->nargs; j++)
			p->insn[p->insn[i].arg[j]].repeated = true;
	p->insn[p->value].repeated = true;
	for (int i = 0; i < p->ninsns; i++)
		p->insn[i].repeated &= !p->insn[i].varies;
}

static void
choose_strip(struct form_plan *p)
{
	int best = -1;
	double least = INFINITY;

	for (int i = 0; i < p->f.nindices; i++) {
		if (!form_is_loop(&p->f, i) || is_outer_reduced(&p->f, i))
			continue;
		p->strip = i;
		mark_varying(p);
		const double cost = strip_cost(p);
		if (cost <= least) {
			best = i;
			least = cost;
		}
	}
	p->strip = best;
	mark_varying(p);
	mark_repeated(p);
}

static void
find_product(struct form_plan *p)
{
	const struct expr *e = p->f.body;
	p->product[0] = p->product[1] = -1;
	if (p->f.reduce != REDUCE_SUM || form_has_computed(&p->f) || e->kind != EXPR_CALL ||
		e->id != FN_mul)
		return;
	if (e->arg[0]->kind != EXPR_LOAD || e->arg[1]->kind != EXPR_LOAD ||
		ir_dtype_class(e->dtype) != IR_FLOAT)
		return;
	p->product[0] = e->arg[0]->id;
	p->product[1] = e->arg[1]->id;
}

/* Functions that move or select elements do not round. */
static bool
is_rounded(const struct ir_op *op, const struct form *f)
{
	const struct op_error e = op_error((enum op_code)op->code);

	return e.stated ? e.f64 > 0 : f->reduce == REDUCE_SUM || f->reduce == REDUCE_PROD;
}

struct form_plan *
form_plan_make(struct interp *it, const struct ir_op *op)
{
	struct form_plan *p = ARENA_NEW(it->arena, struct form_plan);
	const unsigned errors = diag_errors(it->m->ctx->diag);
	const struct ir_type *written = op->nresults ? op->result[0].type : NULL;
	if (!form_make(it->m, it->arena, op, written, &p->f)) {
		if (diag_errors(it->m->ctx->diag) == errors)
			diag_error(it->m->ctx->diag, op->loc,
				"%s: the interpreter does not support this op",
				op_name((enum op_code)op->code));
		return NULL;
	}
	if (it->o.mode == INTERP_LAYOUT)
		form_localize(it->m, op, &p->f, p->offset);
	p->scan = form_take_scan(it->arena, &p->f, p->offset);
	p->insn = ARENA_ARRAY(it->arena, struct insn, MAX_REGISTERS);
	for (int i = 0; i < p->f.nindices; i++)
		if (p->f.at[i])
			p->position[i] = compile(p, it->arena, p->f.at[i]);
	p->divisor = form_take_divisor(&p->f);
	p->value = compile(p, it->arena, p->f.body);
	choose_strip(p);
	find_product(p);
	p->rounds = is_rounded(op, &p->f);
	return p;
}

/* --- running it ---------------------------------------------------------------------------------
 */

/* One run at one place. */
struct run {
	const struct form_plan *p;
	const struct interp *it;
	struct tensor *const *in;
	struct tensor *out;
	int64_t start[FORM_MAX_INDICES]; /* where the place's range of an index starts */
	int64_t stride[FORM_MAX_INPUTS + 1][FORM_MAX_INDICES]; /* the last: of the result */
	int64_t at[FORM_MAX_INDICES];                          /* odometer */
	union cell (*reg)[INTERP_STRIP];
	union cell *best; /* for argmax or argmin: the value at the resulting position; else NULL */
};

static void
access_strides(const struct form *f, const struct form_access *access, const struct tensor *t,
	int64_t *stride)
{
	int64_t of_dim[IR_MAX_RANK];
	tensor_strides(t, of_dim);
	assert(access->rank == t->rank);
	for (int d = 0; d < access->rank; d++) {
		const int i = access->index[d];
		assert(t->dim[d] == (i < 0 ? 1 : f->size[i]));
		if (i >= 0)
			stride[i] += of_dim[d];
	}
}

static int64_t
base_of(const struct run *r, const int64_t *stride)
{
	int64_t base = 0;
	for (int i = 0; i < r->p->f.nindices; i++)
		if (form_is_loop(&r->p->f, i))
			base += r->at[i] * stride[i];
	return base;
}

/*
 * The sum of the offsets of the computed indices of an access at strip element k; -1 if one of them
 * is outside the local tensor.
 */
static int64_t
computed_offset(const struct run *r, const struct form_access *access, const int64_t *stride, int k)
{
	const struct form *f = &r->p->f;
	int64_t offset = 0;
	for (int d = 0; d < access->rank; d++) {
		const int i = access->index[d];
		if (i < 0 || !f->at[i])
			continue;
		const int64_t at = r->reg[r->p->position[i]][k].i - r->start[i];
		if (at < 0 || at >= f->size[i])
			return -1;
		offset += at * stride[i];
	}
	return offset;
}

/* The value of a read outside operand j. */
static union cell
fill_of(const struct run *r, int j)
{
	const enum ir_dtype t = r->in[j]->dtype;
	const double v = r->p->f.fill[j];
	union cell c;
	if (ir_dtype_class(t) == IR_FLOAT)
		c.f = r->it->o.f64 ? v : ir_dtype_round(t, v);
	else
		c.i = ir_dtype_fill(t, v);
	return c;
}

static void
run_computed_load(const struct run *r, int operand, union cell *reg, int n)
{
	const int64_t *stride = r->stride[operand];
	const union cell fill = fill_of(r, operand),
			 *src = r->in[operand]->data + base_of(r, stride);
	const int64_t step = r->p->strip < 0 ? 0 : stride[r->p->strip];
	for (int k = 0; k < n; k++) {
		const int64_t at = computed_offset(r, &r->p->f.in[operand], stride, k);
		reg[k] = at < 0 ? fill : src[k * step + at];
	}
}

static void
run_load(const struct run *r, int operand, union cell *reg, int n)
{
	const struct form_access *access = &r->p->f.in[operand];
	const int64_t *stride = r->stride[operand];
	const int64_t step = r->p->strip < 0 ? 0 : stride[r->p->strip];
	if (position_varies(r->p, access)) {
		run_computed_load(r, operand, reg, n);
		return;
	}
	const int64_t at =
		form_is_computed(&r->p->f, access) ? computed_offset(r, access, stride, 0) : 0;
	if (at < 0) {
		const union cell fill = fill_of(r, operand);
		for (int k = 0; k < n; k++)
			reg[k] = fill;
		return;
	}
	const union cell *src = r->in[operand]->data + base_of(r, stride) + at;
	if (step == 1)
		memcpy(reg, src, (size_t)n * sizeof *reg);
	for (int k = 0; step != 1 && k < n; k++)
		reg[k] = src[k * step];
}

static void
run_index(const struct run *r, int index, union cell *reg, int n)
{
	for (int k = 0; k < n; k++)
		reg[k].i = r->start[index] + r->at[index] + (index == r->p->strip ? k : 0);
}

static void
run_const(const struct run *r, const struct expr *e, union cell *reg, int n)
{
	union cell c;
	if (ir_dtype_class(e->dtype) != IR_FLOAT)
		c.i = ir_dtype_wrap(e->dtype, e->whole);
	else
		c.f = r->it->o.f64 ? e->value
				   : ir_dtype_round(expr_const_dtype(e, r->p->f.body), e->value);
	for (int k = 0; k < n; k++)
		reg[k] = c;
}

static void
run_insn(const struct run *r, const struct insn *in, union cell *reg, int n)
{
	const struct expr *e = in->e;
	switch (e->kind) {
	case EXPR_LOAD:
		run_load(r, e->id, reg, n);
		if (r->p->f.reduce == REDUCE_SUM || r->p->f.reduce == REDUCE_PROD)
			scalar_flush((enum ir_dtype)e->dtype, &r->it->o, reg, n);
		return;
	case EXPR_INDEX: run_index(r, e->id, reg, n); return;
	case EXPR_CONST: run_const(r, e, reg, n); return;
	}
	/* select's type of arguments is that of its branches; a comparison's that of what it
	 * compares */
	const enum ir_dtype arg = (enum ir_dtype)e->arg[0]->dtype;
	const union cell *x = r->reg[in->arg[0]];
	const union cell *y = e->nargs > 1 ? r->reg[in->arg[1]] : x;
	const union cell *z = e->nargs > 2 ? r->reg[in->arg[2]] : x;
	for (int k = 0; in->element && k < n; k++)
		reg[k] = in->element[x[k].i];
	if (in->element)
		return;
	scalar_run((enum scalar_fn)e->id, (enum ir_dtype)e->dtype, arg, &r->it->o, reg, x, y, z, n);
}

static void
reduce_cell(union cell *out, union cell v, enum form_reduce how, enum ir_dtype t, bool isfloat)
{
	switch (how) {
	case REDUCE_NONE: *out = v; return;
	case REDUCE_SUM:
		if (isfloat)
			out->f += v.f;
		else
			out->i = (int64_t)((uint64_t)out->i + (uint64_t)v.i);
		return;
	case REDUCE_MAX:
		if (isfloat)
			out->f = v.f != v.f || v.f > out->f ? v.f : out->f;
		else
			out->i = ir_dtype_less(t, out->i, v.i) ? v.i : out->i;
		return;
	case REDUCE_MIN:
		if (isfloat)
			out->f = v.f != v.f || v.f < out->f ? v.f : out->f;
		else
			out->i = ir_dtype_less(t, v.i, out->i) ? v.i : out->i;
		return;
	case REDUCE_ARGMAX: /* run_place */
	case REDUCE_ARGMIN: return;
	case REDUCE_PROD:
		if (isfloat)
			out->f *= v.f;
		else
			out->i = (int64_t)((uint64_t)out->i * (uint64_t)v.i);
		return;
	}
}

/* reduce_cell for what is not reduced, and for sums of floats, which are most of what is. */
static void
copy_strip(union cell *out, int64_t step, const union cell *reg, int n)
{
	if (step == 1)
		memcpy(out, reg, (size_t)n * sizeof *out);
	for (int k = 0; step != 1 && k < n; k++)
		out[k * step] = reg[k];
}

static void
add_strip(union cell *out, int64_t step, const union cell *reg, int n)
{
	double sum = out->f;

	for (int k = 0; step == 0 && k < n; k++)
		sum += reg[k].f;
	if (step == 0)
		out->f = sum;
	for (int k = 0; step != 0 && k < n; k++)
		out[k * step].f += reg[k].f;
}

static void
run_store(const struct run *r, const union cell *reg, int n)
{
	const struct form *f = &r->p->f;
	const int64_t *stride = r->stride[FORM_MAX_INPUTS];
	union cell *out = r->out->data + base_of(r, stride);
	const int64_t step = r->p->strip < 0 ? 0 : stride[r->p->strip];
	const bool scatter = form_is_scatter(f);
	const enum form_reduce how = (enum form_reduce)f->reduce;
	const enum ir_dtype t = (enum ir_dtype)f->dtype;
	const bool isfloat = ir_dtype_class(t) == IR_FLOAT;
	if (!scatter && how == REDUCE_NONE) {
		copy_strip(out, step, reg, n);
		return;
	}
	if (!scatter && how == REDUCE_SUM && isfloat) {
		add_strip(out, step, reg, n);
		return;
	}
	for (int k = 0; k < n; k++) {
		const int64_t at = scatter ? computed_offset(r, &f->out, stride, k) : 0;
		if (at >= 0)
			reduce_cell(out + k * step + at, reg[k], how, t, isfloat);
	}
}

/* Does v replace `best`? NaN precedes all others; the first of equals is kept. */
static bool
is_better(union cell v, union cell best, enum ir_dtype t, bool largest, bool first)
{
	if (ir_dtype_class(t) != IR_FLOAT)
		return v.i == best.i ? first : ir_dtype_less(t, best.i, v.i) == largest;
	if (v.f != v.f || best.f != best.f)
		return v.f != v.f && (best.f == best.f || first);
	return v.f == best.f ? first : (v.f > best.f) == largest;
}

/* Positions of reduced elements, -1 before the first: loops may come in any order. */
static void
run_place(const struct run *r, const union cell *reg, int n)
{
	const struct form *f = &r->p->f;
	const int64_t *stride = r->stride[FORM_MAX_INPUTS], base = base_of(r, stride);
	for (int k = 0; k < n; k++) {
		int64_t place = 0;
		for (int i = 0; i < f->nindices; i++)
			if (f->reduced >> i & 1)
				place = place * f->size[i] + r->at[i] + (i == r->p->strip ? k : 0);
		const int64_t at = base + (r->p->strip < 0 ? 0 : k * stride[r->p->strip]);
		union cell *out = &r->out->data[at];
		if (out->i >= 0 && !is_better(reg[k], r->best[at], (enum ir_dtype)f->body->dtype,
					   f->reduce == REDUCE_ARGMAX, place < out->i))
			continue;
		out->i = place;
		r->best[at] = reg[k];
	}
}

static void
run_strips(struct run *r)
{
	const int s = r->p->strip;
	const int64_t length = s < 0 ? 1 : r->p->f.size[s];
	for (int64_t done = 0; done < length; done += INTERP_STRIP) {
		const int n = (int)(length - done < INTERP_STRIP ? length - done : INTERP_STRIP);
		if (s >= 0)
			r->at[s] = done;
		for (int i = 0; i < r->p->ninsns; i++) {
			const struct insn *in = &r->p->insn[i];
			run_insn(r, in, r->reg[i], in->varies ? n : 1);
			for (int k = 1; k < n && in->repeated; k++)
				r->reg[i][k] = r->reg[i][0];
		}
		(r->best ? run_place : run_store)(r, r->reg[r->p->value], n);
	}
	if (s >= 0)
		r->at[s] = 0;
}

static void
run_all(struct run *r)
{
	const struct form *f = &r->p->f;
	for (;;) {
		run_strips(r);
		int i = f->nindices - 1;
		for (; i >= 0; i--) {
			if (i == r->p->strip || f->at[i])
				continue;
			if (++r->at[i] < f->size[i])
				break;
			r->at[i] = 0;
		}
		if (i < 0)
			return;
	}
}

/* The initial value of a reduction. */
static void
fill_identity(struct tensor *t, enum form_reduce how)
{
	static const double f[] = {
		[REDUCE_MAX] = -INFINITY, [REDUCE_MIN] = INFINITY, [REDUCE_PROD] = 1};
	const int64_t low = ir_dtype_lowest(t->dtype);
	const int64_t i[] = {[REDUCE_MAX] = low,
		[REDUCE_MIN] = ir_dtype_wrap(t->dtype, ~low),
		[REDUCE_PROD] = 1,
		[REDUCE_ARGMAX] = -1,
		[REDUCE_ARGMIN] = -1};
	const int64_t n = tensor_elements(t);
	if (how == REDUCE_NONE || how == REDUCE_SUM)
		return;
	for (int64_t k = 0; k < n; k++)
		if (ir_dtype_class(t->dtype) == IR_FLOAT)
			t->data[k].f = f[how];
		else
			t->data[k].i = i[how];
}

/* Is the result a sum, maximum or minimum? These are never -0. */
static bool
drops_sign(const struct form_plan *p)
{
	return p->f.reduce == REDUCE_SUM || p->f.reduce == REDUCE_MAX ||
	       p->f.reduce == REDUCE_MIN || p->scan.found;
}

/* Sums up along the index of a scan. */
static void
run_scan(const struct run *r)
{
	const struct form_scan *s = &r->p->scan;
	const int64_t n = r->p->f.size[s->index], stride = r->stride[FORM_MAX_INPUTS][s->index],
		      all = tensor_elements(r->out);
	union cell *data = r->out->data;
	const bool isfloat = ir_dtype_class(r->out->dtype) == IR_FLOAT;
	for (int64_t k = 0; k < all; k++) {
		/* in either direction, preceding elements are complete */
		const int64_t at = s->reverse ? all - 1 - k : k, i = at / stride % n;
		if (i != (s->reverse ? n - 1 : 0))
			reduce_cell(&data[at], data[s->reverse ? at + stride : at - stride],
				REDUCE_SUM, r->out->dtype, isfloat);
	}
}

static bool
run_product(const struct run *r)
{
	const struct form *f = &r->p->f;
	const int a = r->p->product[0], b = r->p->product[1];
	if (a < 0)
		return false;
	struct product_index index[FORM_MAX_INDICES];
	for (int i = 0; i < f->nindices; i++)
		index[i] = (struct product_index){f->size[i], r->stride[a][i], r->stride[b][i],
			r->stride[FORM_MAX_INPUTS][i]};
	return product_run(index, f->nindices, r->in[a]->data, r->in[b]->data, r->out->data);
}

struct tensor *
form_plan_run(const struct interp *it, const struct form_plan *p, const void *owner,
	struct tensor *const *in, const struct ir_type *result, int64_t place)
{
	int64_t dim[IR_MAX_RANK];
	interp_local_shape(it, result, dim);
	struct run r = {.p = p, .it = it, .in = in};
	r.out = tensor_create(owner, (enum ir_dtype)result->dtype, result->rank, dim);
	for (int j = 0; j < p->f.ninputs; j++)
		access_strides(&p->f, &p->f.in[j], in[j], r.stride[j]);
	access_strides(&p->f, &p->f.out, r.out, r.stride[FORM_MAX_INPUTS]);
	for (int i = 0; i < p->f.nindices; i++)
		if (p->offset[i].type)
			r.start[i] = p->f.size[i] * ir_type_slice(it->m, p->offset[i].type,
							    p->offset[i].dim, it->coord[place]);
	if (!run_product(&r)) {
		fill_identity(r.out, (enum form_reduce)p->f.reduce);
		r.reg = alloc_array(NULL, (size_t)p->ninsns, sizeof *r.reg, "registers");
		if (form_reduce_is_place((enum form_reduce)p->f.reduce))
			r.best = NEW_ARRAY(r.out, union cell, (size_t)tensor_elements(r.out));
		run_all(&r);
		talloc_free(r.reg);
	}
	if (p->scan.found)
		run_scan(&r);
	for (int64_t i = 0; p->divisor != 0 && i < tensor_elements(r.out); i++)
		r.out->data[i].f /= p->divisor;
	if (it->noise && p->rounds)
		tensor_add_noise(r.out, it->noise);
	tensor_settle(r.out, it->o.f64);
	if (drops_sign(p))
		tensor_add_zero(r.out);
	return r.out;
}
