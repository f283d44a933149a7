/*
 * Random programs: loops. A while counts, and ends after at most MOST_TRIPS iterations, or earlier
 * where its data say so. Of what else it carries, some values change, and some are only read:
 *
 *     while(go, count, changed ..., read ...)
 *       ops of the generator on these, fuses and loops among them
 *       yield(count < trips [and a comparison of exact numbers], count + 1, next ..., read ...)
 *
 * What changes keeps the bound, and is exact only if all of its next values are. See generate.h.
 */
#include "test/random/generate.h"
#include "ir/base/alloc.h"

#include <math.h>
#include <talloc.h>

enum {
	MOST_TRIPS = 4,
	MOST_CHANGED = 3,
	MOST_READ = 3,
	MOST_CARRIED = 2 + MOST_CHANGED + MOST_READ,
	MOST_STEPS = 6, /* attempts for a body */
	MOST_DEPTH = 2, /* of loops in each other */
};

/* A loop that is being made: [i] of what it carries, and that in its body. */
struct loop {
	struct ir_type where; /* the layout of all that it carries */
	struct pooled in[MOST_CARRIED], arg[MOST_CARRIED];
	int n, changed; /* in[2] to in[changed - 1] change */
	int trips;
};

static bool
is_float(const struct ir_value *v)
{
	return ir_dtype_class((enum ir_dtype)v->type->dtype) == IR_FLOAT;
}

/* Does the value depend on a param, so that it must not get into a loop? grad does not go through
 * one. */
static bool
is_trained(const struct gen *g, const struct ir_value *v)
{
	bool *is = ARRAY_ZERO(NULL, bool, g->m->value_ids);

	IR_FOR_OPS (op, g->b.block) {
		bool any = op->code == OP_param;
		for (int i = 0; i < op->noperands; i++)
			any = any || is[ir_operand(op, i)->id];
		for (int r = 0; r < op->nresults; r++)
			is[op->result[r].id] = any && op->code != OP_stop_gradient;
	}
	const bool answer = is[v->id];
	array_free(is);
	return answer;
}

/* Is all of it on the same devices in all micro-batches? */
static bool
is_whole(const struct gen *g, const struct ir_type *t)
{
	for (int x = 0; x < g->m->naxes; x++)
		if (t->axis[x].kind != IR_COPIED && t->axis[x].kind != IR_SINGLE)
			return false;
	return true;
}

static bool
has_layout(const struct gen *g, const struct ir_type *t, const struct ir_type *like)
{
	for (int x = 0; x < g->m->naxes; x++)
		if (t->axis[x].kind != like->axis[x].kind ||
			t->axis[x].order != like->axis[x].order)
			return false;
	return true;
}

/* The value in a layout that the loop carries, in a range that repeated ops do not leave. NULL:
 * there is none. */
static struct pooled
carried(struct gen *g, const struct loop *l, struct pooled p)
{
	const bool gradient = g->smooth && p.v && !g->body && is_trained(g, p.v);

	if (p.v && !has_layout(g, p.v->type, &l->where)) {
		const struct ir_type *whole = ir_type_meaning(g->ctx, p.v->type);
		p.exact = p.exact && !gen_is_partial(g, p.v);
		p.v = has_layout(g, whole, &l->where) ? gen_relayout(g, p.v, whole) : NULL;
	}
	if (p.v && is_float(p.v) && p.bound > 1)
		p = gen_in_range(g, p, GEN_UNIT);
	/* a few are refused by grad, which names the loop */
	if (p.v && gradient && !gen_chance(g, 5))
		p.v = gen_build(g, OP_stop_gradient, 1, &p.v, 0, NULL);
	return p;
}

/* A scalar where the loop is. */
static struct ir_value *
scalar(struct gen *g, const struct loop *l, enum ir_dtype dtype, int x)
{
	struct ir_type t = l->where;
	const struct ir_attr value = ir_make_int(g->ctx, "value", x);

	t.dtype = (uint8_t)dtype;
	t.rank = 0;
	return ir_build_typed(
		&g->b, OP_constant, NULL, NULL, 0, &value, 1, ir_type_intern(g->ctx, &t));
}

static void
choose_carried(struct gen *g, struct loop *l)
{
	const int changed = 1 + gen_below(g, MOST_CHANGED), read = gen_below(g, MOST_READ + 1);
	const struct pooled first = gen_operand(g, 'T');

	l->trips = gen_below(g, MOST_TRIPS + 1);
	l->where = *ir_type_meaning(g->ctx, first.v->type);
	if (is_whole(g, first.v->type))
		l->where = *first.v->type;
	l->in[0] = (struct pooled){scalar(g, l, IR_bool, l->trips > 0), 1, 0, true};
	l->in[1] = (struct pooled){scalar(g, l, IR_i32, 0), l->trips, 0, true};
	l->n = 2;
	for (int i = 0; i < changed + read; i++) {
		const struct pooled p =
			carried(g, l, i ? gen_operand(g, gen_chance(g, 70) ? 'N' : 'T') : first);
		if (i == changed)
			l->changed = l->n;
		if (p.v)
			l->in[l->n++] = p;
	}
	if (!read)
		l->changed = l->n;
	/* data may skip the loop */
	const struct ir_type *flag = l->in[0].v->type;
	for (int i = 0; i < g->npool && gen_chance(g, 30); i++)
		if (g->pool[i].v->type == flag && g->pool[i].exact)
			l->in[0] = carried(g, l, g->pool[i]);
}

/* What the body begins with: its arguments but for the condition. */
static void
add_arguments(struct gen *g, struct loop *l, const struct ir_block *body)
{
	for (int i = 0; i < l->n; i++) {
		struct pooled p = l->in[i];
		p.v = &body->arg[i];
		if (i >= 2 && i < l->changed) {
			p.bound = fmax(p.bound, is_float(p.v) ? 1 : 8);
			p.low = 0;
			if (is_float(p.v) && (g->program || gen_chance(g, 40)))
				p.exact = false;
		}
		l->arg[i] = p;
		if (i)
			gen_add(g, p);
	}
}

/* The next value of what changes. */
static struct ir_value *
next_value(struct gen *g, const struct pooled *now)
{
	for (int i = 0; i < 12; i++) {
		struct pooled p = g->pool[g->npool - 1 - gen_below(g, g->npool)];
		if (p.v->type != now->v->type || (now->exact && !p.exact))
			continue;
		if (p.bound > now->bound && is_float(p.v))
			p = gen_in_range(g, p, GEN_UNIT);
		if (p.v && p.bound <= now->bound && (p.v != now->v || gen_chance(g, 20)))
			return p.v;
	}
	return now->v;
}

/* A comparison of exact numbers of the body: the same in every layout. NULL: there are none. */
static struct ir_value *
data_condition(struct gen *g)
{
	for (int i = 0; i < 6; i++) {
		const struct pooled p = g->pool[gen_below(g, g->npool)];
		const enum ir_dtype t = (enum ir_dtype)p.v->type->dtype;
		if (!p.exact)
			continue;
		struct ir_value *v = p.v;
		if (p.v->type->rank)
			v = gen_build(g, t == IR_bool ? OP_any : OP_max, 1, &v, 0, NULL);
		if (!v || t == IR_bool)
			return v;
		struct ir_value *pair[] = {v, ir_build_scalar(&g->b, t, gen_below(g, 4))};
		return gen_build(g, gen_chance(g, 50) ? OP_gt : OP_le, 2, pair, 0, NULL);
	}
	return NULL;
}

static void
fill_body(struct gen *g, struct loop *l)
{
	struct ir_value *next[MOST_CARRIED];

	for (int i = gen_below(g, MOST_STEPS) + 1; i > 0; i--)
		gen_op(g);
	struct ir_value *one = ir_build_scalar(&g->b, IR_i32, 1),
			*most = ir_build_scalar(&g->b, IR_i32, l->trips);
	next[1] = ir_build2(&g->b, OP_add, l->arg[1].v, one);
	next[0] = ir_build2(&g->b, OP_lt, next[1], most);
	struct ir_value *data = gen_chance(g, 40) ? data_condition(g) : NULL;
	if (data)
		next[0] = ir_build2(&g->b, OP_and, next[0], data);
	for (int i = 2; i < l->n; i++)
		next[i] = i < l->changed ? next_value(g, &l->arg[i]) : l->arg[i].v;
	ir_block_append(g->b.block, ir_op_create(g->m, OP_yield, LOC_NONE, next, l->n, NULL, 0, 0));
}

/* The body, made by a generator of its own: no layouts, and nothing from outside. */
static void
make_body(struct gen *g, struct loop *l, struct ir_op *op)
{
	struct gen in = *g;

	in.body = op;
	in.depth++;
	in.b = (struct ir_builder){.m = g->m, .block = ir_op_make_body(g->m, op)};
	in.parallel = in.smooth = false;
	in.pool = NULL;
	in.npool = 0;
	add_arguments(&in, l, op->body);
	fill_body(&in, l);
	if (g->fuse)
		gen_fuse(&in);
	talloc_free(in.pool);
	g->state = in.state;
	g->nnames = in.nnames;
}

void
gen_loop(struct gen *g)
{
	struct loop l = {0};
	struct ir_value *v[MOST_CARRIED];

	if (g->depth == MOST_DEPTH)
		return;
	choose_carried(g, &l);
	for (int i = 0; i < l.n; i++)
		if (!(v[i] = l.in[i].v))
			return;
	const struct ir_attr attr = ir_make_int(g->ctx, "trips", l.trips);
	struct ir_op *op =
		ir_op_create(g->m, OP_while, LOC_NONE, v, l.n, &attr, gen_chance(g, 50), l.n);
	make_body(g, &l, op);
	ir_block_append(g->b.block, op);
	if (!ir_infer(g->m, op, NULL)) {
		ir_op_erase(op);
		return;
	}
	const bool used = gen_chance(g, 90);
	for (int r = 0; r < l.n && used; r++)
		if (gen_chance(g, r < 2 ? 20 : 80))
			gen_add(g, (struct pooled){&op->result[r], fmax(l.arg[r].bound, 1),
					   l.arg[r].low, l.arg[r].exact});
}
