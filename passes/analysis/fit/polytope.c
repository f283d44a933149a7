/*
 * The dual simplex method (Lemke 1954). A vertex is the intersection of as many rows as there are
 * variables; at first these are sides of the box, chosen so that no other vertex of the box is
 * better. While some row is violated, the worst one replaces the row of the vertex whose multiplier
 * allows it: the vertex stays optimal for the rows seen so far, and its value falls. When none is
 * violated, it is the optimum. If no row may leave, the violated row is a sum of rows of the vertex
 * with negative factors: together they say 0 <= something negative.
 *
 * With few variables the equations are solved from scratch at every vertex, so that errors do not
 * add up.
 */
#include "passes/analysis/fit/polytope.h"

#include "ir/base/alloc.h"

#include <float.h>
#include <math.h>
#include <string.h>
#include <talloc.h>

/* Maximum number of vertices: the hardest of a thousand random problems needed hundreds. */
static const int max_vertices = 20000;
/* A factor, or the rest of a pivot, below this is rounding. */
static const double tiny = 1e-11;
/* A row with a smaller factor does not leave: the remaining rows would be nearly dependent. */
static const double least_pivot = 1e-7;
/* Multipliers that differ by less count as equal: those of the objective are about 1. */
static const double about = 1e-9;

struct simplex {
	const struct polytope *p;
	int n;
	uint32_t *basis; /* [n] intersecting rows */
	double *matrix;  /* [n * n] scratch */
	double *y;       /* [n] multipliers */
	double *z;       /* [n] the violated row as a combination of the basis */
};

/* a.x of a row. */
static double
polytope_row_value(const struct polytope_row *r, const double *x)
{
	double sum = 0;
	for (int i = 0; i < POLYTOPE_TERMS && r->variable[i] >= 0; i++)
		sum += r->a[i] * x[r->variable[i]];
	return sum;
}

/* Row r with all its zeros, and its right side: rows, then x_v <= box_v, then -x_v <= box_v. */
static double
dense_row(const struct polytope *p, uint32_t r, double *a)
{
	memset(a, 0, sizeof *a * (size_t)p->nvariables);
	if (r >= p->nrows) {
		const uint32_t side = r - p->nrows, v = side % (uint32_t)p->nvariables;
		a[v] = side < (uint32_t)p->nvariables ? 1 : -1;
		return p->box[v];
	}
	for (int i = 0; i < POLYTOPE_TERMS && p->row[r].variable[i] >= 0; i++)
		a[p->row[r].variable[i]] += p->row[r].a[i];
	return p->row[r].b;
}

/* Solves m.x = b in place by elimination with pivots; false: singular. */
static bool
solve(double *m, double *b, int n)
{
	for (int k = 0; k < n; k++) {
		int pivot = k;
		for (int i = k + 1; i < n; i++)
			if (fabs(m[i * n + k]) > fabs(m[pivot * n + k]))
				pivot = i;
		if (fabs(m[pivot * n + k]) < tiny)
			return false;
		for (int j = 0; j < n && pivot != k; j++) {
			const double t = m[k * n + j];
			m[k * n + j] = m[pivot * n + j];
			m[pivot * n + j] = t;
		}
		const double t = b[k];
		b[k] = b[pivot];
		b[pivot] = t;
		for (int i = k + 1; i < n; i++) {
			const double f = m[i * n + k] / m[k * n + k];
			for (int j = k; j < n && f != 0; j++)
				m[i * n + j] -= f * m[k * n + j];
			b[i] -= f * b[k];
		}
	}
	for (int k = n - 1; k >= 0; k--) {
		for (int j = k + 1; j < n; j++)
			b[k] -= m[k * n + j] * b[j];
		b[k] /= m[k * n + k];
	}
	return true;
}

/* The intersection of the rows of the basis. */
static bool
vertex(struct simplex *s, double *x)
{
	for (int i = 0; i < s->n; i++)
		x[i] = dense_row(s->p, s->basis[i], s->matrix + i * s->n);
	return solve(s->matrix, x, s->n);
}

/* `right` as a combination of the rows of the basis: their factors, in place. */
static bool
by_basis(struct simplex *s, double *right, double *row)
{
	for (int i = 0; i < s->n; i++) {
		dense_row(s->p, s->basis[i], row);
		for (int j = 0; j < s->n; j++)
			s->matrix[j * s->n + i] = row[j];
	}
	return solve(s->matrix, right, s->n);
}

/* The most violated row, and by how much. */
static uint32_t
worst_row(const struct polytope *p, const double *x, double *by)
{
	uint32_t worst = 0;

	*by = -DBL_MAX;
	for (uint32_t r = 0; r < p->nrows; r++) {
		const double over = polytope_row_value(&p->row[r], x) - p->row[r].b;
		if (over > *by) {
			*by = over;
			worst = r;
		}
	}
	for (int v = 0; v < p->nvariables; v++)
		for (int side = 0; side < 2; side++) {
			const double over = (side ? -x[v] : x[v]) - p->box[v];
			if (over > *by) {
				*by = over;
				worst = p->nrows + (uint32_t)(v + side * p->nvariables);
			}
		}
	return worst;
}

/*
 * The row of the basis that leaves: the one whose multiplier reaches zero first; of those that do
 * so at about the same time, the one with the largest factor, so that the remaining rows are far
 * from dependent (Harris 1973). -1: none.
 */
static int
leaving(const struct simplex *s)
{
	double least = DBL_MAX;
	int best = -1;

	for (int i = 0; i < s->n; i++)
		if (s->z[i] > least_pivot && (fmax(s->y[i], 0) + about) / s->z[i] < least)
			least = (fmax(s->y[i], 0) + about) / s->z[i];
	for (int i = 0; i < s->n; i++)
		if (s->z[i] > least_pivot && fmax(s->y[i], 0) / s->z[i] <= least &&
			(best < 0 || s->z[i] > s->z[best]))
			best = i;
	return best;
}

static void
prove(const struct simplex *s, uint32_t row, struct polytope_proof *proof)
{
	proof->n = 0;
	proof->row[proof->n] = row;
	proof->weight[proof->n++] = 1;
	for (int i = 0; i < s->n; i++)
		if (s->z[i] < -least_pivot) {
			proof->row[proof->n] = s->basis[i];
			proof->weight[proof->n++] = -s->z[i];
		}
}

static enum polytope_result
climb(struct simplex *s, const double *c, double *x, struct polytope_proof *proof, double *row)
{
	for (int turn = 0; turn < max_vertices; turn++) {
		double by;
		memcpy(s->y, c, sizeof *c * (size_t)s->n);
		if (!vertex(s, x) || !by_basis(s, s->y, row))
			return POLYTOPE_LOST;
		const uint32_t worst = worst_row(s->p, x, &by);
		if (by <= s->p->slack)
			return POLYTOPE_OPTIMAL;
		dense_row(s->p, worst, s->z);
		if (!by_basis(s, s->z, row))
			return POLYTOPE_LOST;
		const int out = leaving(s);
		if (out < 0) {
			prove(s, worst, proof);
			return POLYTOPE_EMPTY;
		}
		s->basis[out] = worst;
	}
	return POLYTOPE_LOST;
}

enum polytope_result
polytope_maximize(
	const struct polytope *p, const double *c, double *x, struct polytope_proof *proof)
{
	const int n = p->nvariables;
	void *scratch = alloc_scratch(NULL);
	struct simplex s = {.p = p,
		.n = n,
		.basis = NEW_ARRAY(scratch, uint32_t, n),
		.matrix = NEW_ARRAY(scratch, double, n *n),
		.y = NEW_ARRAY(scratch, double, n),
		.z = NEW_ARRAY(scratch, double, n)};

	for (int v = 0; v < n; v++)
		s.basis[v] = p->nrows + (uint32_t)(c[v] < 0 ? v + n : v);
	const enum polytope_result result = climb(&s, c, x, proof, NEW_ARRAY(scratch, double, n));
	talloc_free(scratch);
	return result;
}

/* a + s b <= limit narrows the range of s. */
static void
narrow(double a, double b, double limit, double *low, double *high)
{
	const double s = (limit - a) / b;

	if (b > 0 && s < *high)
		*high = s > 0 ? s : 0;
	else if (b < 0 && s > *low)
		*low = s < 0 ? s : 0;
}

void
polytope_line(const struct polytope *p, const double *x, const double *v, double *low, double *high)
{
	for (uint32_t r = 0; r < p->nrows; r++) {
		const double slope = polytope_row_value(&p->row[r], v);
		if (fabs(slope) > tiny)
			narrow(polytope_row_value(&p->row[r], x), slope, p->row[r].b, low, high);
	}
	for (int i = 0; i < p->nvariables; i++)
		if (fabs(v[i]) > tiny) {
			narrow(x[i], v[i], p->box[i], low, high);
			narrow(-x[i], -v[i], p->box[i], low, high);
		}
}
