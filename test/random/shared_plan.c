/* Random programs: parallelization ops. See generate.h. */
#include "test/random/generate.h"

static int
dim_of(struct gen *g, const struct ir_value *v)
{
	return v->type->rank ? gen_below(g, v->type->rank) : 0;
}

/* An op on a state on the axis, and its attributes in addition to the axis. */
static enum op_code
choose_move(struct gen *g, const struct ir_value *v, int axis, struct ir_attr *attr, int *nattrs)
{
	const struct ir_state s = v->type->axis[axis];
	const bool time = g->m->axis[axis].time;
	const int size = g->m->axis[axis].size, how = gen_below(g, 3);
	const struct ir_attr dim = ir_make_int(g->ctx, "dim", dim_of(g, v));
	const struct ir_attr to = ir_make_int(g->ctx, "to", gen_below(g, size));
	switch (s.kind) {
	case IR_SPLIT:
		if (time || how == 0) {
			if (gen_chance(g, 50))
				attr[(*nattrs)++] = to;
			return OP_combine;
		}
		if (how == 1)
			return OP_allgather;
		attr[(*nattrs)++] = ir_make_int(g->ctx, "from", s.dim);
		attr[(*nattrs)++] = ir_make_int(g->ctx, "to", dim_of(g, v));
		return OP_alltoall;
	case IR_PARTIAL:
		if (time || how == 0) {
			if (gen_chance(g, 50))
				attr[(*nattrs)++] = to;
			return OP_reduce;
		}
		if (how == 1)
			return OP_allreduce;
		attr[(*nattrs)++] = dim;
		return OP_reducescatter;
	case IR_SINGLE:
		if (how == 0)
			return OP_replicate;
		if (how == 1 && !time) {
			attr[(*nattrs)++] = ir_make_int(g->ctx, "from", s.order);
			attr[(*nattrs)++] = to;
			return OP_send;
		}
		break;
	default: break;
	}
	attr[(*nattrs)++] = dim;
	return OP_partition;
}

/* Another value that can travel in the same message, or NULL. */
static struct pooled *
companion(struct gen *g, const struct ir_value *v, int axis)
{
	for (int i = 0; i < 6; i++) {
		struct pooled *p = &g->pool[gen_below(g, g->npool)];
		if (p->v != v && p->v->type->axis[axis].kind == v->type->axis[axis].kind &&
			p->v->type->dtype == v->type->dtype)
			return p;
	}
	return NULL;
}

static bool
is_summed(const struct ir_value *v, int axis)
{
	return v->type->axis[axis].kind == IR_PARTIAL && ir_dtype_class(v->type->dtype) == IR_FLOAT;
}

static bool
build_two(struct gen *g, enum op_code code, struct pooled *p, struct pooled *q, int axis,
	const struct ir_attr *attr, int nattrs)
{
	struct ir_op *op = ir_op_create(
		g->m, code, LOC_NONE, (struct ir_value *[]){p->v, q->v}, 2, attr, nattrs, 2);
	if (!ir_infer(g->m, op, NULL)) {
		ir_op_erase(op);
		return false;
	}
	ir_block_append(g->b.block, op);
	const struct pooled a = {
		&op->result[0], p->bound, p->low, p->exact && !is_summed(p->v, axis)};
	const struct pooled b = {
		&op->result[1], q->bound, q->low, q->exact && !is_summed(q->v, axis)};
	gen_add(g, a);
	gen_add(g, b);
	return true;
}

/* Sometimes sends the message in chunks, if it may; returns the number of attributes. */
static int
add_parts(struct gen *g, enum op_code code, int axis, struct ir_attr *attr, int n)
{
	const bool may = code == OP_allreduce || code == OP_allgather || code == OP_reducescatter;
	if (may && !g->m->axis[axis].time && gen_chance(g, 25))
		attr[n++] = ir_make_int(g->ctx, "parts", 2 + gen_below(g, 6));
	return n;
}

void
gen_parallel(struct gen *g)
{
	struct pooled p = gen_operand(g, 'T');
	int axis = gen_below(g, g->m->naxes);
	for (int i = 0; i < 4 && p.v->type->axis[axis].kind == IR_COPIED; i++)
		axis = gen_below(g, g->m->naxes);
	struct ir_attr attr[4] = {ir_make_axis(g->ctx, "axis", axis)};
	int nattrs = 1;
	const enum op_code code = choose_move(g, p.v, axis, attr, &nattrs);
	nattrs = add_parts(g, code, axis, attr, nattrs);
	struct pooled *q = (op_traits(code) & TRAIT_VARIADIC) && gen_chance(g, 40)
				   ? companion(g, p.v, axis)
				   : NULL;
	if (q && build_two(g, code, &p, &(struct pooled){q->v, q->bound, q->low, q->exact}, axis,
			 attr, nattrs))
		return;
	const bool summed = is_summed(p.v, axis);
	struct ir_value *r = gen_build(g, code, 1, &p.v, nattrs, attr);
	gen_add(g, (struct pooled){r, p.bound, p.low, p.exact && !summed});
}

static struct ir_value *
move(struct gen *g, enum op_code code, struct ir_value *v, int axis, int dim)
{
	struct ir_attr attr[3] = {ir_make_axis(g->ctx, "axis", axis)};
	int nattrs = 1;
	if (dim >= 0)
		attr[nattrs++] = ir_make_int(g->ctx, "dim", dim);
	nattrs = add_parts(g, code, axis, attr, nattrs);
	return gen_build(g, code, 1, &v, nattrs, attr);
}

/* Takes the innermost split of a dim off. */
static struct ir_value *
unsplit(struct gen *g, struct ir_value *v, int dim)
{
	int list[IR_MAX_AXES];
	const int axis = list[ir_type_split_axes(v->type, dim, list) - 1];
	return move(g, g->m->axis[axis].time ? OP_combine : OP_allgather, v, axis, -1);
}

/* The sum of a partial value, which may be split instead. */
static struct ir_value *
summed(struct gen *g, struct ir_value *v, int axis)
{
	if (g->m->axis[axis].time)
		return move(g, OP_reduce, v, axis, -1);
	if (v->type->rank && gen_chance(g, 40)) {
		struct ir_value *r = move(g, OP_reducescatter, v, axis, dim_of(g, v));
		if (r)
			return r;
	}
	return move(g, OP_allreduce, v, axis, -1);
}

struct ir_value *
gen_settle(struct gen *g, struct ir_value *v)
{
	for (int x = 0; v && x < g->m->naxes; x++) {
		const bool time = g->m->axis[x].time;
		if (v->type->axis[x].kind == IR_PARTIAL)
			v = summed(g, v, x);
		while (v && time && v->type->axis[x].kind == IR_SPLIT)
			v = unsplit(g, v, v->type->axis[x].dim);
	}
	return v;
}

struct ir_value *
gen_relayout(struct gen *g, struct ir_value *v, const struct ir_type *to)
{
	for (int x = 0; v && x < g->m->naxes; x++) {
		if (v->type->axis[x].kind == IR_PARTIAL)
			v = move(g, g->m->axis[x].time ? OP_reduce : OP_allreduce, v, x, -1);
		while (v && v->type->axis[x].kind == IR_SPLIT)
			v = unsplit(g, v, v->type->axis[x].dim);
	}
	for (int x = 0; v && x < g->m->naxes; x++)
		if (v->type->axis[x].kind == IR_SINGLE)
			v = move(g, OP_replicate, v, x, -1);
	for (int d = 0; v && d < to->rank; d++) {
		int list[IR_MAX_AXES];
		const int n = ir_type_split_axes(to, d, list);
		for (int i = 0; v && i < n; i++)
			v = move(g, OP_partition, v, list[i], d);
	}
	return v;
}
