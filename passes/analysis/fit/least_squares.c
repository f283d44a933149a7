/* Levenberg and Marquardt's method. See least_squares.h. */
#include "passes/analysis/fit/least_squares.h"

#include "ir/base/alloc.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>
#include <talloc.h>

enum {
	MAX_STEPS = 200,
	MAX_TRIES = 20, /* per step, each try shorter than the one before */
};

static const double DIFFERENCE = 1e-6; /* of a parameter, for its derivative */
static const double ENOUGH = 1e-10;    /* stop when a step gains less than this share of the sum */

struct problem {
	residuals_of *f;
	void *data;
	uint32_t np, n;
	double *residual, *moved;       /* [n] */
	double *slope;                  /* [np][n] */
	uint32_t *met;                  /* [n] the residuals that a parameter changes: mostly few */
	double *normal, *factor;        /* [np][np] J^T J, and its factor */
	double *gradient, *step, *next; /* [np] */
};

static double
sum_of_squares(const double *v, uint32_t n)
{
	double sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += v[i] * v[i];
	return sum;
}

static double
dot(const double *a, const double *b, uint32_t n)
{
	double sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += a[i] * b[i];
	return sum;
}

/* As dot, of an `a` that is 0 but at the n places of `at`. */
static double
dot_at(const double *a, const double *b, const uint32_t *at, uint32_t n)
{
	double sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += a[at[i]] * b[at[i]];
	return sum;
}

/* The slopes, and the normal equations. */
static void
linearize(struct problem *p, double *parameter)
{
	for (uint32_t j = 0; j < p->np; j++) {
		const double before = parameter[j];
		parameter[j] += DIFFERENCE;
		memcpy(p->moved, p->residual, sizeof *p->moved * p->n);
		p->f(p->data, parameter, (int)j, p->moved);
		parameter[j] = before;
		double *slope = p->slope + (size_t)j * p->n;
		uint32_t n = 0;
		for (uint32_t i = 0; i < p->n; i++) {
			slope[i] = (p->moved[i] - p->residual[i]) / DIFFERENCE;
			if (slope[i] != 0)
				p->met[n++] = i;
		}
		p->gradient[j] = dot_at(slope, p->residual, p->met, n);
		for (uint32_t k = 0; k <= j; k++)
			p->normal[j * p->np + k] =
				dot_at(slope, p->slope + (size_t)k * p->n, p->met, n);
	}
}

/* Cholesky's factor of the normal matrix with its diagonal raised; false: not positive. */
static bool
factorize(struct problem *p, double damping)
{
	const uint32_t n = p->np;
	double *l = p->factor;

	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = 0; j <= i; j++) {
			double sum = p->normal[i * n + j] - dot(l + i * n, l + j * n, j);
			if (i != j) {
				l[i * n + j] = sum / l[j * n + j];
				continue;
			}
			sum += damping * (p->normal[i * n + i] + 1e-9);
			if (!(sum > 0))
				return false;
			l[i * n + i] = sqrt(sum);
		}
	return true;
}

/* The step given by the factor. */
static void
solve(struct problem *p)
{
	const uint32_t n = p->np;
	const double *l = p->factor;
	double *x = p->step;

	for (uint32_t i = 0; i < n; i++)
		x[i] = (-p->gradient[i] - dot(l + i * n, x, i)) / l[i * n + i];
	for (uint32_t i = n; i-- > 0;) {
		for (uint32_t k = i + 1; k < n; k++)
			x[i] -= l[k * n + i] * x[k];
		x[i] /= l[i * n + i];
	}
}

/* One descending step; returns the new sum, or the old one if no step is found. */
static double
descend(struct problem *p, double *parameter, double sum, double *damping)
{
	linearize(p, parameter);
	for (int try = 0; try < MAX_TRIES; try++, *damping *= 4) {
		if (!factorize(p, *damping))
			continue;
		solve(p);
		for (uint32_t j = 0; j < p->np; j++)
			p->next[j] = parameter[j] + p->step[j];
		p->f(p->data, p->next, MOVED_ALL, p->moved);
		const double lower = sum_of_squares(p->moved, p->n);
		if (!(lower < sum))
			continue;
		memcpy(parameter, p->next, sizeof *parameter * p->np);
		memcpy(p->residual, p->moved, sizeof *p->residual * p->n);
		*damping /= 8;
		return lower;
	}
	return sum;
}

double
least_squares(residuals_of *f, void *data, double *parameter, uint32_t nparameters, uint32_t n)
{
	void *scratch = alloc_scratch(NULL);
	const uint32_t np = nparameters;
	struct problem p = {.f = f, .data = data, .np = np, .n = n};
	double damping = 1e-2;

	p.residual = NEW_ARRAY(scratch, double, n + 1);
	p.moved = NEW_ARRAY(scratch, double, n + 1);
	p.slope = NEW_ARRAY(scratch, double, (size_t)np *n + 1);
	p.met = NEW_ARRAY(scratch, uint32_t, n + 1);
	p.normal = ZERO_ARRAY(scratch, double, np *np + 1);
	p.factor = ZERO_ARRAY(scratch, double, np *np + 1);
	p.gradient = NEW_ARRAY(scratch, double, np + 1);
	p.step = NEW_ARRAY(scratch, double, np + 1);
	p.next = NEW_ARRAY(scratch, double, np + 1);
	f(data, parameter, MOVED_ALL, p.residual);
	double sum = sum_of_squares(p.residual, n), before;
	int steps = 0;
	do {
		before = sum;
		sum = descend(&p, parameter, sum, &damping);
	} while (sum < before * (1 - ENOUGH) && ++steps < MAX_STEPS);
	talloc_free(scratch);
	return sum;
}
