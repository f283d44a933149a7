/*
 * A lower bound on the step of any plan on a mesh, however kernels are fused and messages grouped.
 *
 * Kernels of a device run one after another, and so do its messages. With kernels C and messages M,
 * T >= a C + (1 - a) M for any a from 0 to 1 (split/overlap.h). What counts is the least that each
 * adds:
 *
 *  - An op: parallel_costs_least, and which of its bytes count without reached rates: roofline.c.
 *  - What loops read more than once: traffic.c.
 *  - Products that kernels of several products, or too little memory, have computed again:
 *    inside.c, memory.c.
 *  - A change of layout of a value with n readers that want it alike: an n-th for each of them, as
 *    it is made once. If the value depends on params alone, all its readers count as alike, as
 *    prefetch and unshard gather it once for several of them.
 *  - A message: its bytes at the rate of the largest messages, as tensorfuse and prefetch send
 *    several as one, whose latency is that of one.
 *
 * Nor does everything overlap. Let v be the last product of the forward pass. On each device, what v
 * depends on is done before v starts, as every device takes part in every op: kernels C1 of
 * products, as other ops may be in kernels of their readers, and messages M1. What depends on v is
 * done after that, v included: kernels C2, and messages M2 of values that depend on v, such as all
 * gradients. So for any a and b from 0 to 1
 *
 *	T >= max(C1, M1) + max(C2, M2) >= b C1 + (1 - b) M1 + a C2 + (1 - a) M2.
 *
 * A value that readers of both parts want is counted in the first alone, unless it is made in the
 * second.
 *
 * In each part there are paths from or to v on which nothing overlaps, each message with its latency:
 * chain.c. What they take together, H1 and H2, gets a weight like C1 and M1.
 */
#include "ir/base/alloc.h"
#include "ir/base/map.h"
#include "ir/base/mix.h"
#include "ir/base/vec.h"
#include "passes/analysis/cost/internal.h"
#include "passes/manager/pipeline.h"
#include "passes/parallel/parallelize/parallelize.h"
#include "passes/parallel/split/overlap.h"

#include <math.h>
#include <string.h>
#include <talloc.h>

/* Their problems need no proof: a few sweeps bring them near enough. */
enum { BOUND_SWEEPS = 6 };

/* Each further path is a smaller share of all. After that many that do not make the bound better by that
 * share of it, no more are searched for. */
enum { MOST_PATHS = 12, MOST_WORSE = 3 };
static const double path_gain = 0.001;
static const double bound_gap = 0.01;

/* --- the least of ops and messages ------------------------------------------------------------ */

struct bounder {
	const struct parallel_step *s;
	void *scratch;
	bool *before, *after; /* by node: v depends on it, or is it; it depends on v, or is it */
	uint32_t last;        /* the node of v; PARALLEL_NONE: there is none */
	struct parallel_traffic loops;
	struct parallel_paths paths;
	const uint16_t *usual; /* choices of a cheap plan of the sum */
	double bound;          /* the best so far */
	struct map map;
	struct VEC(struct least_table) table;
};

struct least_table {
	const struct split_table *of;
	double factor, path; /* of what the change adds to messages, and to the path */
	struct split_table *table;
};

MAP_SAME(same_table, struct bounder, struct least_table,
	list->table.at[i].of == key->of && list->table.at[i].factor == key->factor &&
		list->table.at[i].path == key->path)

/* The layouts of one end of an edge. */
static const struct parallel_lines *
lines_of(const struct parallel_step *s, const struct split_edge *e, int end)
{
	const struct parallel_choices *c = parallel_step_choices(s, e->end[end]);

	for (uint32_t i = 0; end && i < c->noperands; i++)
		if (c->operand[i].line == e->line[end])
			return &c->operand[i];
	for (uint32_t i = 0; i < c->nresults; i++)
		if (c->result[i].line == e->line[end])
			return &c->result[i];
	return NULL;
}

/* Seconds of a change of layout with these weights. */
static double
weigh_change(struct bounder *b, const struct least_table *k, const struct ir_type *from,
	const struct ir_type *to)
{
	struct parallel_costs *c = b->s->costs;
	double seconds = 0;

	from = ir_type_in(b->s->m->ctx, from, IR_DEVICE);
	to = ir_type_in(b->s->m->ctx, to, IR_DEVICE);
	if (k->factor > 0)
		seconds += k->factor * parallel_costs_least_reshard(c, from, to);
	if (k->path > 0)
		seconds += k->path * parallel_costs_path_reshard(c, from, to);
	return seconds;
}

static struct split_table *
make_table(struct bounder *b, const struct split_edge *e, const struct least_table *k)
{
	const struct parallel_lines *from = lines_of(b->s, e, 0), *to = lines_of(b->s, e, 1);
	const uint32_t rows = e->table->rows, columns = e->table->columns;
	struct split_table *t = NEW(b->scratch, struct split_table);
	double *cost = ARRAY_ZERO(b->scratch, double, rows *columns),
	       *flipped = ARRAY_ZERO(b->scratch, double, rows *columns);

	for (uint32_t i = 0; i < rows; i++)
		for (uint32_t j = 0; j < columns; j++) {
			double seconds = e->table->cost[i * columns + j];
			if (seconds < SPLIT_NEVER)
				seconds = from && to
						  ? weigh_change(b, k, from->type[i], to->type[j])
						  : 0;
			cost[i * columns + j] = flipped[j * rows + i] = seconds;
		}
	*t = (struct split_table){rows, columns, cost, flipped};
	return t;
}

/* The edge with the least of its messages times a factor, and its time on the path. Edges that share a
 * table still do. */
static struct split_edge
least_edge(struct bounder *b, const struct split_edge *e, double factor, double path)
{
	const struct least_table key = {e->table, factor, path, NULL};
	const uint64_t hash = mix_bytes(
		mix_bytes(mix_pointer(e->table), &factor, sizeof factor), &path, sizeof path);
	const uint32_t i = map_add(b->scratch, &b->map, hash, same_table, b, &key);
	struct split_edge least = *e;

	if (i == b->table.n) {
		struct split_table *made = make_table(b, e, &key);
		VEC_PUSH(b->scratch, &b->table,
			((struct least_table){e->table, factor, path, made}));
	}
	least.table = b->table.at[i].table;
	return least;
}

/* The least of an op times a weight, for each choice. */
static struct split_node
least_node(const struct bounder *b, uint32_t node, double weight)
{
	const struct parallel_choices *c = parallel_step_choices(b->s, node);
	double *cost = COPY_ARRAY(b->scratch, double, c->least, c->n);

	for (uint32_t x = 0; x < c->n; x++)
		cost[x] = c->seconds[x] < SPLIT_NEVER ? weight * cost[x] : SPLIT_NEVER;
	return (struct split_node){c->n, cost};
}

/* --- what comes before, and after, the last product of the forward pass ------------------------ */

static void
find_order(struct bounder *b)
{
	const struct split_problem *p = &b->s->problem;

	b->before = ARRAY_ZERO(b->scratch, bool, p->nnodes);
	b->after = ARRAY_ZERO(b->scratch, bool, p->nnodes);
	b->last = PARALLEL_NONE;
	for (uint32_t i = 0; i < p->nnodes; i++)
		if (b->s->forward[b->s->op.at[i]->id] && cost_is_product(b->s->op.at[i]))
			b->last = i;
	if (b->last == PARALLEL_NONE)
		return;
	b->before[b->last] = b->after[b->last] = true;
	/* Nodes are in the order of the text; the other edges lead back to params. */
	struct split_half *half;
	uint32_t *first;
	split_halves(b->scratch, p, &half, &first);
	for (uint32_t i = b->last; i < p->nnodes; i++)
		for (uint32_t k = first[i]; k < first[i + 1] && b->after[i]; k++)
			if (!half[k].side && half[k].other > i)
				b->after[half[k].other] = true;
	for (uint32_t i = b->last + 1; i-- > 0;)
		for (uint32_t k = first[i]; k < first[i + 1] && b->before[i]; k++)
			if (half[k].side && half[k].other < i)
				b->before[half[k].other] = true;
}

/* Parts of the step: all of it, or what is before the start of v and what is after; none: what does
 * not count. */
enum part { PART_ALL, PART_FIRST, PART_SECOND, PART_NONE };

/* Ops of the optimizer read params as they are stored: they have no share in a gather. */
static enum part
part_of_edge(const struct bounder *b, const struct split_edge *e, bool ordered)
{
	const struct parallel_step *s = b->s;

	if (s->early[s->op.at[e->end[0]]->id] && s->late[s->op.at[e->end[1]]->id])
		return PART_NONE;
	if (!ordered)
		return PART_ALL;
	return b->after[e->end[0]] ? PART_SECOND : b->before[e->end[1]] ? PART_FIRST : PART_NONE;
}

/* Other ops may be in kernels of their readers. */
static bool
is_kernel(const struct bounder *b, const struct ir_op *op)
{
	return cost_is_product(op) || b->s->part[op->id].counts == PARALLEL_WHOLE;
}

static enum part
part_of_node(const struct bounder *b, uint32_t node, bool ordered)
{
	return !ordered                                             ? PART_ALL
	       : b->after[node]                                     ? PART_SECOND
	       : b->before[node] && is_kernel(b, b->s->op.at[node]) ? PART_FIRST
								    : PART_NONE;
}

/* Is a message made once for the readers of both edges, from one node? */
static bool
is_shared(const struct bounder *b, const struct split_edge *one, const struct split_edge *two)
{
	return one->line[0] == two->line[0] || b->s->early[b->s->op.at[one->end[0]]->id];
}

/* By edge: the number of edges of the same part that share its message. */
static uint32_t *
count_readers(const struct bounder *b, bool ordered)
{
	const struct split_problem *p = &b->s->problem;
	uint32_t *readers = ARRAY_ZERO(b->scratch, uint32_t, p->nedges), *first;
	struct split_half *half;

	split_halves(b->scratch, p, &half, &first);
	for (uint32_t i = 0; i < p->nnodes; i++)
		for (uint32_t j = first[i]; j < first[i + 1]; j++)
			for (uint32_t k = first[i]; k < first[i + 1] && !half[j].side; k++) {
				const struct split_edge *one = &p->edge[half[j].edge],
							*two = &p->edge[half[k].edge];
				readers[half[j].edge] += !half[k].side && is_shared(b, one, two) &&
							 part_of_edge(b, one, ordered) ==
								 part_of_edge(b, two, ordered);
			}
	return readers;
}

/* Weights of kernels and of the path in each part; messages have the rest. */
struct weights {
	double of[PART_NONE], path[PART_NONE];
};

/* The part of the path to which a node belongs. */
static enum part
part_of_path(const struct bounder *b, uint32_t node)
{
	return b->after[node] ? PART_SECOND : PART_FIRST;
}

/* The node with the time that it takes on the path, times a weight, in addition. */
static struct split_node
path_node(struct bounder *b, const struct split_node *least, uint32_t node, double weight)
{
	double *cost = COPY_ARRAY(b->scratch, double, least->cost, least->n);

	for (uint32_t x = 0; x < least->n; x++)
		if (cost[x] < SPLIT_NEVER)
			cost[x] += weight * parallel_path_seconds(b->s, node, x);
	return (struct split_node){least->n, cost};
}

/* Makes b->bound the bound with these weights if that is better; returns the choices of the solution, or
 * those of a plan that costs less than b->bound, so that this cannot be. */
static const uint16_t *
try_weights(struct bounder *b, const uint32_t *readers, const struct weights *w, bool ordered)
{
	struct split_problem p = b->s->problem;
	struct split_node *node = ARRAY_NEW(b->scratch, struct split_node, p.nnodes);
	struct split_edge *edge = ARRAY_NEW(b->scratch, struct split_edge, p.nedges);
	struct split_node *known[PART_NONE + 1]; /* by alike number */

	for (int part = 0; part <= PART_NONE; part++)
		known[part] = ARRAY_ZERO(b->scratch, struct split_node, b->s->alike->n);
	for (uint32_t i = 0; i < p.nnodes; i++) {
		const enum part part = part_of_node(b, i, ordered);
		struct split_node *k = &known[part][b->s->alike->number[b->s->op.at[i]->id]];
		if (!k->n)
			*k = least_node(b, i, part == PART_NONE ? 0 : w->of[part]);
		const double path = ordered ? b->paths.node[i] * w->path[part_of_path(b, i)] : 0;
		node[i] = path > 0 ? path_node(b, k, i, path) : *k;
	}
	for (uint32_t e = 0; e < p.nedges; e++) {
		const enum part part = part_of_edge(b, &p.edge[e], ordered);
		const double rest = part == PART_NONE ? 0 : 1 - w->of[part] - w->path[part],
			     path = ordered ? b->paths.edge[e] *
						      w->path[part_of_path(b, p.edge[e].end[0])]
					    : 0;
		/* what is left of 1 by rounding is nothing */
		edge[e] = least_edge(b, &p.edge[e], rest > 1e-9 ? rest / readers[e] : 0, path);
	}
	p.node = node;
	p.edge = edge;
	const double loops =
		ordered ? w->of[PART_FIRST] * b->loops.first + w->of[PART_SECOND] * b->loops.second
			: w->of[PART_ALL] * b->loops.all;
	if (loops + split_cost(&p, b->usual) <= b->bound)
		return b->usual;
	const struct split_solution found =
		split_solve(b->scratch, &p, BOUND_SWEEPS, bound_gap, INFINITY);
	b->bound = fmax(b->bound, loops + found.bound);
	return found.choice;
}

/* Every op in the layout in which it takes least, and no messages. */
static double
least_kernels(const struct bounder *b)
{
	double bound = b->loops.all;

	for (uint32_t i = 0; i < b->s->problem.nnodes; i++) {
		const struct split_node node = least_node(b, i, 1);
		double least = INFINITY;
		for (uint32_t x = 0; x < node.n; x++)
			least = fmin(least, node.cost[x]);
		bound += least;
	}
	return bound;
}

/* What kernels take in addition to the least of each op; products that are computed again are so after
 * v has started, as they count as usual before. */
static void
find_more(struct bounder *b, struct parallel_memory memory)
{
	const struct device *d = parallel_costs_device(b->s->costs);
	double again = 0;

	if (d && d->reached) {
		b->loops = parallel_traffic(b->s, d, b->before, b->after);
		again = parallel_repeated_products(b->s, d);
	}
	if (isfinite(memory.bytes))
		again += parallel_forced_products(
			b->s, b->before, b->after, memory.host, memory.bytes);
	b->loops.all += again;
	b->loops.second += again;
}

/* Paths are added to those before, as long as that makes the bound better. */
static void
try_paths(struct bounder *b, const uint32_t *readers)
{
	static const double most = 0.99, half = 0.495;
	/* The rest is the weight of messages, which keeps params where their next values are made. */
	const struct weights mix[] = {{.path = {0, most, 0}, .of = {0, 0, most}},
		{.path = {0, most, half}, .of = {0, 0, half}},
		{.path = {0, half, 0}, .of = {0, half, most}}};

	for (size_t i = 0; i < sizeof mix / sizeof *mix; i++) {
		const uint16_t *choice = b->usual;
		b->paths = parallel_paths_create(b->scratch, b->s);
		for (int k = 1, worse = 0; k <= MOST_PATHS && worse < MOST_WORSE; k++) {
			const double before = b->bound;
			parallel_paths_add(&b->paths, b->s, choice, b->before, b->after, b->last,
				2.0 / (k + 1));
			choice = try_weights(b, readers, &mix[i], true);
			worse = b->bound > before * (1 + path_gain) ? 0 : worse + 1;
			if (choice == b->usual)
				break;
		}
	}
}

double
parallel_bound(const struct parallel_step *s, struct parallel_memory memory)
{
	static const double few = 0.05, half = 0.5, most = 0.95;
	const struct weights whole[] = {{.of = {few}}, {.of = {half}}, {.of = {0.65}},
		{.of = {0.8}}, {.of = {0.9}}, {.of = {0.99}}};
	const struct weights parts[] = {{.of = {0, few, few}}, {.of = {0, half, few}},
		{.of = {0, most, few}}, {.of = {0, half, half}}, {.of = {0, most, half}},
		{.of = {0, few, most}}, {.of = {0, half, most}}, {.of = {0, most, most}}};
	struct bounder b = {.s = s, .scratch = alloc_scratch(NULL)};

	find_order(&b);
	if (b.last != PARALLEL_NONE)
		find_more(&b, memory);
	b.usual = split_solve(b.scratch, &s->problem, BOUND_SWEEPS, bound_gap, INFINITY).choice;
	b.paths = parallel_paths_create(b.scratch, s);
	b.bound = least_kernels(&b);
	const uint32_t *readers = count_readers(&b, false);
	for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
		try_weights(&b, readers, &whole[i], false);
	if (b.last != PARALLEL_NONE) {
		readers = count_readers(&b, true);
		for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
			try_weights(&b, readers, &parts[i], true);
		try_paths(&b, readers);
	}
	talloc_free(b.scratch);
	return b.bound;
}

double
parallel_module_bound(struct pass_run *run, const struct cost_model *model, struct ir_module *m,
	struct parallel_memory memory)
{
	struct parallel_costs *costs =
		parallel_costs_create(run->scratch, model, m, run->manager->memo);
	const uint32_t used = parallel_axes_in_use(m);
	struct parallel_axes axes = {0};

	for (int a = 0; a < m->naxes; a++) {
		if (m->axis[a].time || m->axis[a].size == 1)
			continue;
		if (used >> a & 1)
			return 0;
		axes.axis[axes.n++] = a;
	}
	if (!costs || axes.n > PARALLEL_MOST_AXES)
		return 0;
	return parallel_bound(
		parallel_step_create(run->scratch, costs, m, &axes, PARALLEL_ALL_INDICES), memory);
}
