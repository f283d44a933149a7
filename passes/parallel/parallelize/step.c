/*
 * A step as a problem of split/problem.h: a node for each op that computes or is read from outside,
 * with the choices of choices.c; an edge for each value that one makes and another
 * reads, which costs what reshard needs between their layouts. A param is a node, too: how it is
 * stored; an edge leads from its new value, or from its gradient, to it. So gathers of sharded
 * params and scatters of their gradients are ordinary edges.
 *
 *     param w ──────────> matmul ──────────> ...      reads: the layout that the matmul wants of w
 *        ^                                            update(w, n): the layout in which w is stored
 *        └─────── n = sub(w, g)
 *
 * Ops that are alike share their choices, and edges between such ops their tables.
 */
#include "ir/base/alloc.h"
#include "ir/base/mix.h"
#include "ir/cluster/cluster.h"
#include "ir/ops/form.h"
#include "passes/analysis/cost/internal.h"
#include "passes/parallel/parallelize/parallelize.h"

#include <string.h>

struct table_entry {
	const struct parallel_lines *line[2]; /* the first ops that have these layouts */
	struct split_table *table;
};

struct builder {
	struct parallel_step *s;
	struct map map;
	struct VEC(struct table_entry) table;
	struct VEC(struct split_node) node;
	struct VEC(const double *) bytes;
	struct VEC(struct split_edge) edge;
	struct VEC(bool) hidden;
};

/* Compares params by symbol, to find the param of a gradient's output. */
MAP_SAME(same_symbol, struct ir_op *, char, list[i]->symbol == key)

static void
find_trained(struct parallel_step *s, const struct ir_block *main)
{
	static const char prefix[] = "grad."; /* of the outputs that are read by an optimizer */
	const size_t n = sizeof prefix - 1;
	struct VEC(struct ir_op *) param = {0};
	struct map map = {0};

	IR_FOR_OPS (op, main)
		if (op->code == OP_param) {
			map_add(s, &map, mix_pointer(op->symbol), same_symbol, param.at,
				op->symbol);
			VEC_PUSH(s, &param, op);
		}
	IR_FOR_OPS (op, main) {
		if (op->code != OP_output || strncmp(op->symbol, prefix, n))
			continue;
		const char *name = ir_name(s->m->ctx, op->symbol + n);
		const uint32_t i = map_find(&map, mix_pointer(name), same_symbol, param.at, name);
		if (i != MAP_NONE &&
			ir_type_same_meaning(param.at[i]->result[0].type, ir_operand_type(op, 0)))
			s->trained[op->id] = param.at[i];
	}
}

bool
parallel_is_free(const struct ir_op *op)
{
	return !op->noperands && op_is(op, TRAIT_PURE);
}

/* Its results are its operands, in the same layout. */
static bool
passes_on(const struct ir_op *op)
{
	return op->code == OP_barrier || op_is(op, TRAIT_COPY);
}

const struct ir_value *
parallel_made(const struct ir_value *v)
{
	while (v->op && passes_on(v->op))
		v = ir_operand(v->op, (int)v->index);
	return v;
}

static bool
decides(const struct parallel_step *s, const struct ir_op *op)
{
	return !passes_on(op) && !parallel_is_free(op) && op->code != OP_update &&
	       op->code != OP_release && !s->trained[op->id];
}

/* Inputs, params and states, and values of the forward pass that the backward pass or the optimizer
 * reads, except those that wait in host memory. */
static void
find_kept(struct parallel_step *s, const struct ir_block *main)
{
	bool *forward = s->forward;

	for (const struct ir_op *op = main->last; op; op = op->prev) {
		bool needed = op->code == OP_output && !s->trained[op->id], late = false;
		for (int i = 0; i < op->nresults; i++)
			IR_FOR_USES (u, &op->result[i]) {
				needed = needed || forward[u->op->id];
				late = late || !(forward[u->op->id] || op_is(u->op, TRAIT_COPY));
			}
		forward[op->id] = needed;
		s->kept[op->id] = (needed && late) || (op_is(op, TRAIT_NAMED) && op->nresults);
	}
}

/* Values that depend on params but on no input can be made, and sent, before they are read; and for
 * values on which no product depends, there is time, too. */
static void
find_slack(struct parallel_step *s, const struct ir_block *main)
{
	bool *fixed = ARRAY_ZERO(s, bool, s->m->op_ids);

	IR_FOR_OPS (op, main) {
		bool of_inputs = op->code == OP_input, of_params = op_is(op, TRAIT_NAMED);
		for (int k = 0; k < op->noperands; k++) {
			const struct ir_op *from = parallel_made(ir_operand(op, k))->op;
			of_inputs = of_inputs || !(s->early[from->id] || fixed[from->id]);
			of_params = of_params || s->early[from->id];
		}
		s->early[op->id] = of_params && !of_inputs;
		fixed[op->id] = !of_params && !of_inputs;
	}
	array_free(fixed);
	for (const struct ir_op *op = main->last; op; op = op->prev) {
		s->late[op->id] = !cost_is_product(op);
		for (int i = 0; i < op->nresults; i++)
			IR_FOR_USES (u, &op->result[i])
				s->late[op->id] = s->late[op->id] && s->late[u->op->id];
	}
}

/* Values that loops must read or write: see parallel_costs_least. If a value has several readers,
 * the first one counts. */
static void
find_parts(struct parallel_step *s, const struct ir_block *main)
{
	/* By op->id, for its only result: does a product read it, is it written to memory, has a
	 * reader been counted? */
	bool *multiplied = ARRAY_ZERO(s, bool, s->m->op_ids),
	     *written = ARRAY_ZERO(s, bool, s->m->op_ids),
	     *counted = ARRAY_ZERO(s, bool, s->m->op_ids);

	IR_FOR_OPS (op, main)
		for (int k = 0; k < op->noperands; k++) {
			const uint32_t from = parallel_made(ir_operand(op, k))->op->id;
			multiplied[from] = multiplied[from] || cost_is_product(op);
			written[from] =
				written[from] || cost_is_product(op) || op->code == OP_update;
		}
	IR_FOR_OPS (op, main) {
		struct parallel_part *part = &s->part[op->id];
		if (cost_is_product(op) || op->nresults != 1 || s->inside[op->id])
			continue;
		part->writes = written[op->id];
		for (int k = 0; k < op->noperands && k < 64; k++) {
			const struct ir_op *from = parallel_made(ir_operand(op, k))->op;
			const bool stored = cost_is_product(from) || op_is(from, TRAIT_NAMED);
			if (!stored || multiplied[from->id] || counted[from->id])
				continue;
			counted[from->id] = true;
			part->reads |= 1ull << k;
		}
	}
	array_free(multiplied);
	array_free(written);
	array_free(counted);
}

/* Further properties that distinguish ops: whether results are kept and late, and for ops of the
 * forward pass where that matters; the memory traffic; and which operands are early or made by any
 * device for itself, as these cannot be partial. */
static uint64_t
word_of(void *data, const struct ir_op *op)
{
	const struct parallel_step *s = data;
	if (op->block->parent) /* in the body of a while, which is not split */
		return 0;
	const struct parallel_part *part = &s->part[op->id];
	const bool forward = s->indices == PARALLEL_OUTPUTS && s->forward[op->id];
	uint64_t word = mix_word(
		mix_word(0, part->reads), 16u * part->counts + 8u * forward + 4u * part->writes +
						  2u * s->kept[op->id] + s->late[op->id]);

	for (int k = 0; k < op->noperands; k++) {
		const struct ir_op *from = parallel_made(ir_operand(op, k))->op;
		word = 3 * word + s->early[from->id] + parallel_is_free(from);
	}
	return word;
}

/* --- tables ----------------------------------------------------------------------------------- */

static bool
same_lines(const struct parallel_lines *a, const struct parallel_lines *b)
{
	return a == b || (a->n == b->n && !memcmp(a->type, b->type, a->n * sizeof *a->type));
}

MAP_SAME(same_table, struct builder, struct table_entry,
	same_lines(list->table.at[i].line[0], key->line[0]) &&
		same_lines(list->table.at[i].line[1], key->line[1]))

/* Types are interned. */
static uint64_t
hash_lines(const struct parallel_lines *l)
{
	return mix_bytes(l->n, l->type, l->n * sizeof *l->type);
}

/* Layouts change in device memory: before copies to the host, after copies back. */
static const struct ir_type **
on_device(struct builder *b, const struct parallel_lines *l)
{
	const struct ir_type **t = ARRAY_NEW(b->s, const struct ir_type *, l->n);

	for (uint32_t i = 0; i < l->n; i++)
		t[i] = ir_type_in(b->s->m->ctx, l->type[i], IR_DEVICE);
	return t;
}

static struct split_table *
make_table(struct builder *b, const struct table_entry *k)
{
	struct split_table *t = NEW(b->s, struct split_table);
	const struct ir_type **from = on_device(b, k->line[0]), **to = on_device(b, k->line[1]);
	const uint32_t rows = k->line[0]->n, columns = k->line[1]->n;
	double *cost = ARRAY_NEW(b->s, double, rows *columns),
	       *flipped = ARRAY_NEW(b->s, double, rows *columns);

	for (uint32_t i = 0; i < rows; i++)
		for (uint32_t j = 0; j < columns; j++)
			cost[i * columns + j] = flipped[j * rows + i] =
				parallel_costs_reshard(b->s->costs, from[i], to[j]);
	*t = (struct split_table){rows, columns, cost, flipped};
	return t;
}

/* Adds an edge from the node that makes v to a node that wants it as `lines` say. */
static void
add_edge(struct builder *b, const struct ir_value *v, uint32_t to,
	const struct parallel_lines *lines)
{
	const struct ir_value *source = parallel_made(v);
	const uint32_t from = b->s->node[source->op->id];

	if (from == PARALLEL_NONE || from == to)
		return;
	const struct parallel_lines *out =
		&parallel_step_choices(b->s, from)->result[source->index];
	const struct table_entry key = {{out, lines}, NULL};
	const uint32_t i = map_add(
		b->s, &b->map, mix_word(hash_lines(out), hash_lines(lines)), same_table, b, &key);
	if (i == b->table.n) {
		VEC_PUSH(b->s, &b->table, key);
		b->table.at[i].table = make_table(b, &key);
	}
	VEC_PUSH(b->s, &b->hidden,
		b->s->early[source->op->id] || b->s->late[b->s->op.at[to]->id] ||
			!b->s->op.at[to]->noperands);
	VEC_PUSH(b->s, &b->edge,
		(struct split_edge){{from, to}, {out->line, lines->line}, b->table.at[i].table});
}

/* --- nodes ------------------------------------------------------------------------------------ */

/* Excludes types that no device can have: partial, where every device makes the whole value. */
static void
forbid_partial(const struct parallel_step *s, struct parallel_choices *c, const struct ir_op *op)
{
	for (uint32_t k = 0; k < c->noperands; k++)
		for (uint32_t x = 0;
			x < c->n && parallel_is_free(parallel_made(ir_operand(op, (int)k))->op);
			x++)
			for (int i = 0; i < s->axes.n; i++)
				if (c->operand[k]
						.type[c->operand[k].line[x]]
						->axis[s->axes.axis[i]]
						.kind == IR_PARTIAL)
					c->seconds[x] = SPLIT_NEVER;
}

/* Is the op split on the axis over an index of the product that f->indices excludes? */
static bool
is_excluded(const struct parallel_step *s, const struct form *f, const struct parallel_choices *c,
	uint32_t x, int axis)
{
	const struct ir_state result = c->result[0].type[c->result[0].line[x]]->axis[axis];
	bool partial = false;

	if (result.kind == IR_SPLIT) {
		bool shared = result.dim > 0;
		for (int k = 0; k < f->ninputs; k++)
			shared = shared && form_access_has(&f->in[k], f->out.index[result.dim]);
		return shared;
	}
	for (uint32_t k = 0; k < c->noperands; k++)
		partial = partial ||
			  c->operand[k].type[c->operand[k].line[x]]->axis[axis].kind == IR_PARTIAL;
	return result.kind == IR_PARTIAL && !partial && s->indices == PARALLEL_OUTPUTS &&
	       s->forward[c->op->id];
}

static void
exclude_indices(struct parallel_step *s, struct parallel_choices *c)
{
	struct form f;

	if (s->indices == PARALLEL_ALL_INDICES || !cost_is_product(c->op) || c->op->nresults != 1 ||
		!form_exists((enum op_code)c->op->code) ||
		!form_shape(s->m, c->op, c->op->result[0].type, &f, NULL))
		return;
	for (uint32_t x = 0; x < c->n; x++)
		for (int i = 0; i < s->axes.n; i++)
			if (is_excluded(s, &f, c, x, s->axes.axis[i])) {
				s->excludes = s->excludes || c->seconds[x] < SPLIT_NEVER;
				c->seconds[x] = SPLIT_NEVER;
			}
}

static void
add_node(struct builder *b, const struct ir_op *op)
{
	struct parallel_step *s = b->s;
	struct parallel_choices **c = &s->of[s->alike->number[op->id]];

	if (!*c) {
		*c = parallel_choices_create(s, s->costs, op, s->part[op->id], &s->axes);
		for (uint32_t x = 0; x < (*c)->n && !s->kept[op->id]; x++)
			(*c)->bytes[x] = 0;
		forbid_partial(s, *c, op);
		exclude_indices(s, *c);
	}
	s->node[op->id] = (uint32_t)s->op.n;
	VEC_PUSH(s, &s->op, op);
	VEC_PUSH(s, &b->node, (struct split_node){(*c)->n, (*c)->seconds});
	VEC_PUSH(s, &b->bytes, (*c)->bytes);
}

/* A param or state gets its next value, and an optimizer its gradient, in its own layout. */
static void
add_return(struct builder *b, const struct ir_value *next, const struct ir_value *stored)
{
	const uint32_t to = b->s->node[parallel_made(stored)->op->id];

	if (to != PARALLEL_NONE)
		add_edge(b, next, to, &parallel_step_choices(b->s, to)->result[0]);
}

struct parallel_step *
parallel_step_create(const void *owner, struct parallel_costs *costs, struct ir_module *m,
	const struct parallel_axes *axes, enum parallel_indices indices)
{
	struct parallel_step *s = NEW(owner, struct parallel_step);
	struct ir_block *main = &ir_func_find(m, "main")->body;
	struct builder b = {.s = s};

	s->m = m;
	s->costs = costs;
	s->axes = *axes;
	s->indices = indices;
	s->excludes = false;
	s->trained = ARRAY_ZERO(s, struct ir_op *, m->op_ids);
	s->forward = ARRAY_ZERO(s, bool, m->op_ids);
	s->kept = ARRAY_ZERO(s, bool, m->op_ids);
	s->early = ARRAY_ZERO(s, bool, m->op_ids);
	s->late = ARRAY_ZERO(s, bool, m->op_ids);
	s->inside = ARRAY_ZERO(s, bool, m->op_ids);
	s->several = ARRAY_ZERO(s, bool, m->op_ids);
	s->part = ARRAY_ZERO(s, struct parallel_part, m->op_ids);
	find_slack(s, main);
	parallel_find_inside(s);
	find_trained(s, main);
	find_kept(s, main);
	const struct device *d = parallel_costs_device(costs);
	if (d && !d->reached)
		parallel_find_bytes(s, d);
	else
		find_parts(s, main);
	s->alike = alike_create_by(s, m, main, word_of, s);
	s->of = ARRAY_ZERO(s, struct parallel_choices *, s->alike->n);
	s->node = ARRAY_NEW(s, uint32_t, m->op_ids);
	for (uint32_t i = 0; i < m->op_ids; i++)
		s->node[i] = PARALLEL_NONE;
	IR_FOR_OPS (op, main)
		if (decides(s, op))
			add_node(&b, op);
	IR_FOR_OPS (op, main) {
		const uint32_t node = s->node[op->id];
		const struct ir_op *trained = s->trained[op->id];
		for (int k = 0; k < op->noperands && node != PARALLEL_NONE; k++)
			add_edge(&b, ir_operand(op, k), node,
				&parallel_step_choices(s, node)->operand[k]);
		if (op->code == OP_update)
			add_return(&b, ir_operand(op, 1), ir_operand(op, 0));
		else if (trained)
			add_return(&b, ir_operand(op, 0), &trained->result[0]);
	}
	s->bytes = b.bytes.at;
	s->hidden = b.hidden.at;
	s->problem = (struct split_problem){
		b.node.at, b.edge.at, (uint32_t)b.node.n, (uint32_t)b.edge.n};
	return s;
}
