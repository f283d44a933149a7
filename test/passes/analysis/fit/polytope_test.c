/*
 * Linear programs of two and three variables against all vertices: every set of as many rows as
 * there are variables meets in at most one point, and the best of those that violate no row is the
 * optimum.
 */
#include "passes/analysis/fit/polytope.h"
#include "test/unit.h"

#include <math.h>
#include <stdlib.h>

enum { PROGRAMS = 3000, MOST_ROWS = 9, MOST_VARIABLES = 3 };

static const double box = 100;

struct program {
	struct polytope p;
	struct polytope_row row[MOST_ROWS];
	double box[MOST_VARIABLES];
	double all[MOST_ROWS + 2 * MOST_VARIABLES][MOST_VARIABLES + 1]; /* dense, with the box */
	int n;
};

static double
uniform(uint64_t *state, double low, double high)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return low + (high - low) * (double)(*state >> 11) / 9007199254740992.0;
}

static void
make(struct program *x, uint64_t *state, bool feasible)
{
	const int nv = 2 + (int)uniform(state, 0, 2), rows = 1 + (int)uniform(state, 0, MOST_ROWS);

	x->n = 0;
	for (int i = 0; i < rows; i++) {
		struct polytope_row *r = &x->row[i];
		*r = (struct polytope_row){.variable = {-1, -1, -1, -1}};
		for (int v = 0; v < nv; v++) {
			r->variable[v] = v;
			r->a[v] = round(uniform(state, -3, 3));
			x->all[x->n][v] = r->a[v];
		}
		r->b = feasible ? uniform(state, 0.5, 20) : uniform(state, -20, 10);
		x->all[x->n++][nv] = r->b;
	}
	for (int v = 0; v < nv; v++)
		for (int side = -1; side <= 1; side += 2) {
			for (int k = 0; k < nv; k++)
				x->all[x->n][k] = k == v ? side : 0;
			x->all[x->n++][nv] = box;
		}
	for (int v = 0; v < nv; v++)
		x->box[v] = box;
	x->p = (struct polytope){.nvariables = nv,
		.nrows = (uint32_t)rows,
		.row = x->row,
		.box = x->box,
		.slack = 1e-9};
}

static double
determinant(double m[3][3])
{
	return m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) -
	       m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]) +
	       m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);
}

/* The point where rows meet, by Cramer's rule; two variables as three of which the last is 0. */
static bool
meet(const struct program *x, const int *row, double *point)
{
	const int nv = x->p.nvariables;
	double m[3][3] = {{0}}, b[3] = {0};

	for (int i = 0; i < nv; i++) {
		for (int v = 0; v < nv; v++)
			m[i][v] = x->all[row[i]][v];
		b[i] = x->all[row[i]][nv];
	}
	if (nv == 2)
		m[2][2] = 1;
	const double d = determinant(m);
	if (fabs(d) < 1e-9)
		return false;
	for (int v = 0; v < nv; v++) {
		double c[3][3];
		for (int i = 0; i < 9; i++)
			c[i / 3][i % 3] = i % 3 == v ? b[i / 3] : m[i / 3][i % 3];
		point[v] = determinant(c) / d;
	}
	return true;
}

static bool
allowed(const struct program *x, const double *point)
{
	for (int i = 0; i < x->n; i++) {
		double sum = 0;
		for (int v = 0; v < x->p.nvariables; v++)
			sum += x->all[i][v] * point[v];
		if (sum > x->all[i][x->p.nvariables] + 1e-6)
			return false;
	}
	return true;
}

/* The greatest c.x of all vertices; -infinity: there is none. */
static double
best_vertex(const struct program *x, const double *c)
{
	const int nv = x->p.nvariables;
	double best = -INFINITY, point[3];

	for (int i = 0; i < x->n; i++)
		for (int k = i + 1; k < x->n; k++)
			for (int l = nv == 3 ? k + 1 : 0; l < (nv == 3 ? x->n : 1); l++) {
				const int row[] = {i, k, l};
				double value = 0;
				if (!meet(x, row, point) || !allowed(x, point))
					continue;
				for (int v = 0; v < nv; v++)
					value += c[v] * point[v];
				best = value > best ? value : best;
			}
	return best;
}

/* The rows of a proof, weighted, have nothing on the left and less than nothing on the right. */
static void
check_proof(const struct program *x, const struct polytope_proof *proof)
{
	double left[MOST_VARIABLES] = {0}, right = 0;
	const int nv = x->p.nvariables;

	for (int i = 0; i < proof->n; i++) {
		assert_true(proof->weight[i] > 0);
		const uint32_t r = proof->row[i], side = r - x->p.nrows;
		if (r < x->p.nrows) {
			for (int v = 0; v < nv; v++)
				left[v] += proof->weight[i] * x->all[r][v];
			right += proof->weight[i] * x->all[r][nv];
		} else {
			left[side % (uint32_t)nv] +=
				side < (uint32_t)nv ? proof->weight[i] : -proof->weight[i];
			right += proof->weight[i] * box;
		}
	}
	for (int v = 0; v < nv; v++)
		assert_true(fabs(left[v]) < 1e-6);
	assert_true(right < 0);
}

static void
the_optimum_is_the_best_vertex(void **state)
{
	uint64_t random = 42;
	int empty = 0;

	(void)state;
	for (int i = 0; i < PROGRAMS; i++) {
		struct program x;
		double c[MOST_VARIABLES], at[MOST_VARIABLES], weight[MOST_VARIABLES + 1], value = 0;
		uint32_t row[MOST_VARIABLES + 1];
		struct polytope_proof proof = {row, weight, 0};
		make(&x, &random, i % 2);
		for (int v = 0; v < x.p.nvariables; v++)
			c[v] = round(uniform(&random, -5, 5));
		const enum polytope_result result = polytope_maximize(&x.p, c, at, &proof);
		const double best = best_vertex(&x, c);
		assert_int_not_equal(result, POLYTOPE_LOST);
		if (result == POLYTOPE_EMPTY) {
			assert_true(best == -INFINITY);
			check_proof(&x, &proof);
			empty++;
			continue;
		}
		for (int v = 0; v < x.p.nvariables; v++)
			value += c[v] * at[v];
		assert_true(allowed(&x, at));
		assert_true(fabs(value - best) < 1e-6);
	}
	assert_in_range(empty, PROGRAMS / 20, PROGRAMS / 2);
}

static void
a_line_ends_at_the_first_row(void **state)
{
	const struct polytope_row row[] = {
		{{1, -1}, 3, {0, 1, -1, -1}}, {{-1}, 2, {0, -1, -1, -1}}};
	const double sides[] = {10, 10}, x[] = {0, 0}, v[] = {1, 0};
	const struct polytope p = {2, 2, row, sides, 0};
	double low = -1e9, high = 1e9;

	(void)state;
	polytope_line(&p, x, v, &low, &high);
	assert_true(low == -2 && high == 3);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_optimum_is_the_best_vertex),
		cmocka_unit_test(a_line_ends_at_the_first_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
