/*
 * Bounds and solutions of random problems, against an enumeration of all choices.
 */
#include "ir/base/alloc.h"
#include "ir/base/mix.h"
#include "passes/parallel/split/mix.h"
#include "passes/parallel/split/overlap.h"
#include "passes/parallel/split/published.h"
#include "passes/parallel/split/reduce.h"
#include "passes/parallel/split/solve.h"
#include "passes/parallel/split/within.h"
#include "test/unit.h"

#include <math.h>
#include <string.h>

enum { PROBLEMS = 100, MOST_NODES = 7, MOST_CHOICES = 4, MOST_EDGES = 24, ENTRIES = 1 << 20 };

/* Sums of a few numbers, in another order. */
static const double rounding = 1e-9;

static double
draw_cost(uint64_t *random, bool may_be_never)
{
	if (may_be_never && mix64_below(random, 12) == 0)
		return SPLIT_NEVER;
	return mix64_below(random, 1000) * 1e-3;
}

/* One of its entries can be. */
static struct split_table *
draw_table(void *owner, uint64_t *random, uint32_t rows, uint32_t columns, uint32_t row,
	uint32_t column)
{
	struct split_table *t = NEW(owner, struct split_table);
	double *cost = NEW_ARRAY(owner, double, rows *columns),
	       *flipped = NEW_ARRAY(owner, double, rows *columns);

	for (uint32_t i = 0; i < rows; i++)
		for (uint32_t j = 0; j < columns; j++)
			cost[i * columns + j] = flipped[j * rows + i] =
				draw_cost(random, i != row || j != column);
	*t = (struct split_table){rows, columns, cost, flipped};
	return t;
}

/* Lines of choices: mostly fewer than there are choices. */
static uint16_t *
draw_lines(void *owner, uint64_t *random, uint32_t choices, uint32_t lines)
{
	uint16_t *line = NEW_ARRAY(owner, uint16_t, choices);

	for (uint32_t x = 0; x < choices; x++)
		line[x] = (uint16_t)mix64_below(random, lines);
	return line;
}

static struct split_problem
draw_problem(void *owner, uint64_t seed)
{
	uint64_t random = seed;
	const uint32_t n = 2 + mix64_below(&random, MOST_NODES - 1),
		       edges = mix64_below(&random, MOST_EDGES + 1);
	struct split_node *node = NEW_ARRAY(owner, struct split_node, n);
	struct split_edge *edge = NEW_ARRAY(owner, struct split_edge, edges);

	for (uint32_t s = 0; s < n; s++) {
		const uint32_t choices = 1 + mix64_below(&random, MOST_CHOICES);
		double *cost = NEW_ARRAY(owner, double, choices);
		for (uint32_t x = 0; x < choices; x++)
			cost[x] = draw_cost(&random, false);
		node[s] = (struct split_node){choices, cost};
	}
	for (uint32_t e = 0; e < edges; e++) {
		const uint32_t rows = 1 + mix64_below(&random, MOST_CHOICES),
			       columns = 1 + mix64_below(&random, MOST_CHOICES);
		const uint32_t a = mix64_below(&random, n - 1),
			       b = a + 1 + mix64_below(&random, n - 1 - a);
		const uint16_t *line[2] = {draw_lines(owner, &random, node[a].n, rows),
			draw_lines(owner, &random, node[b].n, columns)};
		/* The first choices fit each other, as every op can be what it is. */
		edge[e] = (struct split_edge){{a, b}, {line[0], line[1]},
			draw_table(owner, &random, rows, columns, line[0][0], line[1][0])};
	}
	return (struct split_problem){node, edge, n, edges};
}

/* What is least. */
enum measure { SUM, LARGER };

/* The least sum over all choices, or the least of the larger one of nodes and edges, that need at most so many bytes
 * (NULL: none do), written here without anything of the solver's; infinite where none fit. */
static double
enumerate_by(
	const struct split_problem *p, const double *const *bytes, double limit, enum measure by)
{
	uint16_t choice[MOST_NODES] = {0};
	double least = INFINITY;

	for (;;) {
		double nodes = 0, edges = 0, need = 0;
		for (uint32_t s = 0; s < p->nnodes; s++) {
			nodes += p->node[s].cost[choice[s]];
			need += bytes ? bytes[s][choice[s]] : 0;
		}
		for (uint32_t e = 0; e < p->nedges; e++) {
			const struct split_edge *d = &p->edge[e];
			const uint16_t row = d->line[0][choice[d->end[0]]],
				       column = d->line[1][choice[d->end[1]]];
			edges += d->table->cost[row * d->table->columns + column];
		}
		const double sum = by == SUM ? nodes + edges : fmax(nodes, edges);
		least = need <= limit && sum < least ? sum : least;
		uint32_t s = 0;
		while (s < p->nnodes && ++choice[s] == p->node[s].n)
			choice[s++] = 0;
		if (s == p->nnodes)
			return least;
	}
}

static double
enumerate(const struct split_problem *p)
{
	return enumerate_by(p, NULL, INFINITY, SUM);
}

static void
the_optimum_is_between_bound_and_solution(void **state)
{
	void *scratch = alloc_scratch(NULL);
	int tight = 0;
	(void)state;

	for (uint64_t seed = 0; seed < PROBLEMS; seed++) {
		const struct split_problem p = draw_problem(scratch, seed);
		const double best = enumerate(&p), room = rounding * (1 + best);
		const struct split_solution s = split_solve(scratch, &p, 50, 0, INFINITY);
		assert_true(s.bound <= best + room);
		assert_true(s.cost >= best - room);
		assert_true(fabs(split_cost(&p, s.choice) - s.cost) <= room);
		tight += s.cost <= best + room;
	}
	/* Small problems without structure are the hard ones. */
	assert_true(tight >= PROBLEMS * 3 / 4);
	talloc_free(scratch);
}

static void
no_sweep_lowers_the_bound(void **state)
{
	void *scratch = alloc_scratch(NULL);
	(void)state;

	for (uint64_t seed = 0; seed < PROBLEMS; seed++) {
		const struct split_problem p = draw_problem(scratch, seed);
		struct split_solver *s = split_solver_create(scratch, &p);
		double before = split_solver_bound(s);
		for (int i = 0; i < 20; i++) {
			const double bound = split_solver_sweep(s),
				     room = rounding * (1 + fabs(bound));
			assert_true(bound >= before - room);
			assert_true(fabs(split_solver_bound(s) - bound) <= room);
			before = bound;
		}
	}
	talloc_free(scratch);
}

static void
elimination_finds_the_optimum(void **state)
{
	void *scratch = alloc_scratch(NULL);
	(void)state;

	for (uint64_t seed = 0; seed < PROBLEMS; seed++) {
		const struct split_problem p = draw_problem(scratch, seed);
		const double best = enumerate(&p);
		struct split_solution s;
		assert_true(split_exhaust(scratch, &p, ENTRIES, &s));
		assert_true(fabs(s.cost - best) <= rounding * (1 + best));
		assert_true(fabs(split_cost(&p, s.choice) - best) <= rounding * (1 + best));
	}
	talloc_free(scratch);
}

static void
elimination_says_where_tables_are_too_large(void **state)
{
	void *scratch = alloc_scratch(NULL);
	int refused = 0;
	(void)state;

	for (uint64_t seed = 0; seed < PROBLEMS; seed++) {
		const struct split_problem p = draw_problem(scratch, seed);
		struct split_solution s;
		refused += !split_exhaust(scratch, &p, 0, &s);
		assert_true(s.bound <= s.cost + rounding * (1 + s.cost));
	}
	assert_true(refused > 0);
	talloc_free(scratch);
}

/* What a choice is said to cost at least, it costs at least: the node with that choice alone. */
static void
choices_cost_at_least_what_is_said(void **state)
{
	void *scratch = alloc_scratch(NULL);
	(void)state;

	for (uint64_t seed = 0; seed < PROBLEMS; seed++) {
		struct split_problem p = draw_problem(scratch, seed);
		struct split_solver *s = split_solver_create(scratch, &p);
		double least[MOST_CHOICES];
		split_solver_sweep(s);
		split_solver_least(s, 0, least);
		for (uint32_t x = 0; x < p.node[0].n; x++) {
			double only[MOST_CHOICES];
			struct split_node node[MOST_NODES];
			struct split_problem q = p;
			memcpy(node, p.node, p.nnodes * sizeof *node);
			for (uint32_t y = 0; y < p.node[0].n; y++)
				only[y] = y == x ? p.node[0].cost[y] : 100 * SPLIT_NEVER;
			node[0].cost = only;
			q.node = node;
			assert_true(least[x] <= enumerate(&q) + rounding * SPLIT_NEVER);
		}
	}
	talloc_free(scratch);
}

/* What is left has the same optimum, and is expanded to choices that cost as much. */
static void
a_reduced_problem_has_the_same_optimum(void **state)
{
	void *scratch = alloc_scratch(NULL);
	uint32_t nodes = 0, left = 0;
	(void)state;

	for (uint64_t seed = 0; seed < 3 * PROBLEMS; seed++) {
		const struct split_problem p = draw_problem(scratch, seed);
		const struct split_reduced *r = split_reduce(scratch, &p);
		const double best = enumerate(&p), room = rounding * (1 + best);
		uint16_t reduced[MOST_NODES] = {0}, choice[MOST_NODES];
		assert_true(fabs(enumerate(&r->problem) + r->fixed - best) <= room);
		/* Some choices that are left, not the best ones. */
		uint64_t random = seed;
		for (uint32_t i = 0; i < r->problem.nnodes; i++)
			reduced[i] = (uint16_t)mix64_below(&random, r->problem.node[i].n);
		const double cost = split_cost(&r->problem, reduced) + r->fixed;
		split_expand(r, reduced, choice);
		for (uint32_t i = 0; i < r->problem.nnodes; i++)
			assert_int_equal(choice[r->node[i]], r->choice[i][reduced[i]]);
		if (cost < SPLIT_NEVER)
			assert_true(fabs(split_cost(&p, choice) - cost) <= rounding * (1 + cost));
		nodes += p.nnodes;
		left += r->problem.nnodes;
	}
	assert_true(left > 0 && left < nodes / 2);
	talloc_free(scratch);
}

static void
descent_never_costs_more(void **state)
{
	void *scratch = alloc_scratch(NULL);
	(void)state;

	for (uint64_t seed = 0; seed < PROBLEMS; seed++) {
		const struct split_problem p = draw_problem(scratch, seed);
		uint16_t choice[MOST_NODES];
		uint64_t random = seed + 1000;
		for (uint32_t i = 0; i < p.nnodes; i++)
			choice[i] = (uint16_t)mix64_below(&random, p.node[i].n);
		const double before = split_cost(&p, choice);
		split_descend(&p, choice);
		assert_true(split_cost(&p, choice) <= before);
	}
	talloc_free(scratch);
}

static const double **
draw_bytes(const void *owner, const struct split_problem *p, uint64_t *random)
{
	const double **bytes = NEW_ARRAY(owner, const double *, p->nnodes);

	for (uint32_t i = 0; i < p->nnodes; i++) {
		double *of = NEW_ARRAY(owner, double, p->node[i].n);
		for (uint32_t x = 0; x < p->node[i].n; x++)
			of[x] = mix64_below(random, 8);
		bytes[i] = of;
	}
	return bytes;
}

/* Limits from what hardly anything fits to what everything does, several on one problem. */
static void
what_fits_is_found_and_bounded(void **state)
{
	void *scratch = alloc_scratch(NULL);
	int fitting = 0, found = 0;
	double price = 0; /* of the problems before */
	(void)state;

	for (uint64_t seed = 0; seed < 2 * PROBLEMS; seed++) {
		const struct split_problem p = draw_problem(scratch, seed);
		uint64_t random = seed;
		const double **bytes = draw_bytes(scratch, &p, &random);
		struct split_priced *w = split_priced_create(scratch, &p, bytes);
		for (int k = 0; k < 3; k++) {
			const double limit = mix64_below(&random, 5 * p.nnodes);
			const double best = enumerate_by(&p, bytes, limit, SUM);
			struct split_solution s;
			const bool fits = split_priced_solve(
				scratch, w, limit, 20, 0, seed % 2 ? &price : NULL, &s);
			assert_true(
				fabs(split_cost(&p, s.choice) - s.cost) <= rounding * (1 + s.cost));
			if (fits) {
				assert_true(split_bytes(&p, bytes, s.choice) <= limit);
				assert_true(s.cost >= best - rounding * (1 + s.cost));
			}
			if (best < SPLIT_NEVER) {
				assert_true(s.bound <= best + rounding * (1 + best));
				assert_true(split_least_bytes(&p, bytes) <= limit);
			}
			fitting += best < SPLIT_NEVER;
			found += fits && s.cost < SPLIT_NEVER;
		}
		const double best = enumerate(&p);
		const struct split_solution s = split_priced_free(scratch, w, 20, 0);
		assert_true(s.bound <= best + rounding * (1 + best));
		assert_true(s.cost >= best - rounding * (1 + best));
	}
	/* Prices do not reach all that fits, but most. */
	assert_true(fitting > 3 * PROBLEMS && found <= fitting && found >= fitting * 9 / 10);
	talloc_free(scratch);
}

/* A limit that has been tried takes no further sweep. */
static void
known_prices_are_not_solved_again(void **state)
{
	void *scratch = alloc_scratch(NULL);
	(void)state;

	for (uint64_t seed = 0; seed < PROBLEMS; seed++) {
		const struct split_problem p = draw_problem(scratch, seed);
		uint64_t random = seed;
		const double **bytes = draw_bytes(scratch, &p, &random);
		struct split_priced *w = split_priced_create(scratch, &p, bytes);
		struct split_solution s[2];
		const double limit = 3 * p.nnodes;
		double price = 1e-3; /* one price after the first that fits */
		for (int k = 0; k < 2; k++)
			split_priced_solve(scratch, w, limit, 20, 1, &price, &s[k]);
		assert_true(s[0].sweeps > 0 && s[1].sweeps == 0);
		assert_true(s[0].cost == s[1].cost && s[0].bound == s[1].bound);
		assert_memory_equal(s[0].choice, s[1].choice, p.nnodes * sizeof *s[0].choice);
	}
	talloc_free(scratch);
}

/* Between two solutions: what a mix is said to save is what it saves, and it needs no more than the
 * limit. With room for all of the other solution it costs at most as much as either. */
static void
a_mix_fits_and_saves_what_it_says(void **state)
{
	void *scratch = alloc_scratch(NULL);
	int mixed = 0;
	(void)state;

	for (uint64_t seed = 0; seed < 4 * PROBLEMS; seed++) {
		const struct split_problem p = draw_problem(scratch, seed);
		uint64_t random = seed;
		const double **bytes = draw_bytes(scratch, &p, &random);
		const struct split_problem q = split_combine(scratch, &p, 1, bytes, 0.1);
		const struct split_solution slim = split_solve(scratch, &q, 20, 0, INFINITY),
					    other = split_solve(scratch, &p, 20, 0, INFINITY);
		const double least = split_bytes(&p, bytes, slim.choice),
			     room = rounding * (1 + fabs(other.cost));
		uint16_t choice[MOST_NODES], all[MOST_NODES];
		memcpy(choice, slim.choice, p.nnodes * sizeof *choice);
		memcpy(all, slim.choice, p.nnodes * sizeof *all);
		const double before = split_cost(&p, choice),
			     limit = least + (double)mix64_below(&random, 5),
			     saved = split_mix(&p, bytes, limit, other.choice, choice);
		assert_true(split_bytes(&p, bytes, choice) <= limit);
		assert_true(saved >= 0 && fabs(before - split_cost(&p, choice) - saved) <= room);
		split_mix(&p, bytes, INFINITY, other.choice, all);
		assert_true(split_cost(&p, all) <= fmin(before, other.cost) + room);
		mixed += saved > 0;
	}
	assert_true(mixed > 20);
	talloc_free(scratch);
}

/* Equal layers all change at the same price of a byte. With room for the fast choice in some of them,
 * a mix has it in exactly these. */
static void
some_of_equal_layers_change(void **state)
{
	enum { LAYERS = 9, ROOM = 4 };
	static const double cost[] = {1, 3}, needs[] = {10, 2};
	struct split_node node[LAYERS];
	const double *bytes[LAYERS];
	const struct split_problem p = {node, NULL, LAYERS, 0};
	const double limit = 2 * LAYERS + 8 * ROOM + 1;
	struct split_solution s, mixed;
	(void)state;

	for (int i = 0; i < LAYERS; i++) {
		node[i] = (struct split_node){2, cost};
		bytes[i] = needs;
	}
	struct split_priced *w = split_priced_create(NULL, &p, bytes);
	assert_true(split_priced_solve(w, w, limit, 20, 0, NULL, &s));
	assert_true(s.cost == 3 * LAYERS);
	assert_true(split_priced_mix(w, w, limit, &mixed));
	assert_true(mixed.cost == 3 * LAYERS - 2 * ROOM && mixed.cost >= mixed.bound);
	assert_true(split_bytes(&p, bytes, mixed.choice) == 2 * LAYERS + 8 * ROOM);
	assert_false(split_priced_mix(w, w, 2 * LAYERS + 7, &mixed));
	assert_false(split_priced_mix(w, w, 2 * LAYERS - 1, &mixed));
	talloc_free(w);
}

/* Without a sweep: between two prices, messages in between give the bound in between. */
static void
messages_in_between_give_the_bound_in_between(void **state)
{
	void *scratch = alloc_scratch(NULL);
	int shapes = 0;
	(void)state;

	for (uint64_t seed = 0; seed < PROBLEMS; seed++) {
		const struct split_problem p = draw_problem(scratch, seed);
		uint64_t random = seed;
		const double **bytes = draw_bytes(scratch, &p, &random);
		struct split_messages m[2] = {{0}, {0}};
		struct split_solution s[2];
		for (int k = 0; k < 2; k++) {
			const struct split_problem q =
				split_combine(scratch, &p, 1, bytes, 0.1 * k);
			s[k] = split_solve_from(scratch, &q, 20, 0, INFINITY, &m[k]);
		}
		if (m[0].shape != m[1].shape)
			continue;
		for (int k = 0; k <= 4; k++) {
			const double share = 0.25 * k,
				     chord = s[0].bound + share * (s[1].bound - s[0].bound);
			const struct split_problem q =
				split_combine(scratch, &p, 1, bytes, 0.1 * share);
			struct split_messages between =
				split_messages_between(scratch, &m[0], &m[1], share);
			const double bound =
				split_solve_from(scratch, &q, 0, 0, INFINITY, &between).bound;
			assert_true(bound >= chord - rounding * SPLIT_NEVER);
		}
		shapes++;
	}
	assert_true(shapes > PROBLEMS / 2);
	talloc_free(scratch);
}

static void
the_larger_sum_is_bounded(void **state)
{
	void *scratch = alloc_scratch(NULL);
	double bounds = 0, costs = 0, bests = 0;
	(void)state;

	for (uint64_t seed = 0; seed < 2 * PROBLEMS; seed++) {
		const struct split_problem p = draw_problem(scratch, seed);
		const double best = enumerate_by(&p, NULL, INFINITY, LARGER),
			     room = rounding * (1 + best);
		const struct split_solution s = split_solve_overlap(scratch, &p, 20, 0);
		assert_true(fabs(split_overlapped(&p, s.choice) - s.cost) <= room);
		assert_true(s.bound <= best + room);
		assert_true(s.cost >= best - room);
		bounds += s.bound;
		costs += s.cost;
		bests += best;
	}
	/* Of some choices no mixture is as good as its weights: close, but no proof. */
	assert_true(bounds >= 0.8 * bests && costs <= 1.2 * bests);
	talloc_free(scratch);
}

/* All nodes lead, or some. Of small problems they mostly find the optimum. */
static void
published_searches_end_between_optimum_and_start(void **state)
{
	void *scratch = alloc_scratch(NULL);
	int optima[2] = {0};
	(void)state;

	for (uint64_t seed = 0; seed < PROBLEMS; seed++) {
		const struct split_problem p = draw_problem(scratch, seed);
		const double best = enumerate(&p), room = rounding * (1 + best);
		for (int unity = 0; unity < 2; unity++) {
			uint16_t choice[MOST_NODES] = {0};
			bool leads[MOST_NODES];
			for (uint32_t i = 0; i < MOST_NODES; i++)
				leads[i] = seed % 2 || i % 3;
			const double start = split_cost(&p, choice);
			struct split_published s = {&p, leads, 5000, choice, 0};
			if (unity)
				split_unity(&s);
			else
				split_mcmc(&s, seed);
			assert_true(s.cost == split_cost(&p, choice));
			assert_true(s.cost >= best - room && s.cost <= start + room);
			optima[unity] += s.cost <= best + room;
		}
	}
	assert_true(optima[0] >= PROBLEMS / 2 && optima[1] >= PROBLEMS / 2);
	talloc_free(scratch);
}

static void
the_same_problem_has_the_same_solution(void **state)
{
	void *scratch = alloc_scratch(NULL);
	(void)state;

	for (uint64_t seed = 0; seed < PROBLEMS; seed++) {
		const struct split_problem p = draw_problem(scratch, seed),
					   q = draw_problem(scratch, seed);
		const struct split_solution a = split_solve(scratch, &p, 20, 0, INFINITY),
					    b = split_solve(scratch, &q, 20, 0, INFINITY);
		assert_memory_equal(a.choice, b.choice, p.nnodes * sizeof *a.choice);
		assert_memory_equal(&a.bound, &b.bound, sizeof a.bound);
		assert_int_equal(a.sweeps, b.sweeps);
	}
	talloc_free(scratch);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_optimum_is_between_bound_and_solution),
		cmocka_unit_test(no_sweep_lowers_the_bound),
		cmocka_unit_test(elimination_finds_the_optimum),
		cmocka_unit_test(elimination_says_where_tables_are_too_large),
		cmocka_unit_test(choices_cost_at_least_what_is_said),
		cmocka_unit_test(a_reduced_problem_has_the_same_optimum),
		cmocka_unit_test(descent_never_costs_more),
		cmocka_unit_test(what_fits_is_found_and_bounded),
		cmocka_unit_test(known_prices_are_not_solved_again),
		cmocka_unit_test(a_mix_fits_and_saves_what_it_says),
		cmocka_unit_test(some_of_equal_layers_change),
		cmocka_unit_test(messages_in_between_give_the_bound_in_between),
		cmocka_unit_test(the_larger_sum_is_bounded),
		cmocka_unit_test(published_searches_end_between_optimum_and_start),
		cmocka_unit_test(the_same_problem_has_the_same_solution),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
