/*
 * Linear programs with few variables and many sparse rows: max c.x, so that a.x <= b for each row
 * and |x_v| <= box_v. Exact up to rounding.
 */
#ifndef PASSES_ANALYSIS_POLYTOPE_H
#define PASSES_ANALYSIS_POLYTOPE_H

#include <stdbool.h>
#include <stdint.h>

enum {
	POLYTOPE_TERMS = 4, /* of a row: two clocks, an offset and a drift each */
};

struct polytope_row {
	double a[POLYTOPE_TERMS], b;
	int32_t variable[POLYTOPE_TERMS]; /* -1: this term and all later ones are unused */
};

struct polytope {
	int nvariables;
	uint32_t nrows;
	const struct polytope_row *row;
	const double *box; /* [nvariables], positive */
	double slack;      /* allowed violation of each row */
};

enum polytope_result {
	POLYTOPE_OPTIMAL,
	POLYTOPE_EMPTY, /* no point satisfies all rows */
	POLYTOPE_LOST,  /* no optimum was found because of rounding */
};

/* Rows, or sides of the box, that prove an answer: r < nrows is row r, larger numbers are sides. */
struct polytope_proof {
	uint32_t *row; /* [nvariables + 1], array of the caller */
	double *weight;
	int n;
};

/*
 * Fills x[nvariables] if the result is OPTIMAL. EMPTY: the weighted sum of the rows in `proof` (not
 * NULL) has 0 on its left side and less than zero on its right side.
 */
enum polytope_result polytope_maximize(
	const struct polytope *p, const double *c, double *x, struct polytope_proof *proof);

/* The values of s, around 0, for which x + s v is in the polytope: narrows [*low, *high]. */
void polytope_line(
	const struct polytope *p, const double *x, const double *v, double *low, double *high);

#endif
