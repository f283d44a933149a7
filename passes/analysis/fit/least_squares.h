/*
 * Nonlinear least squares by the method of Levenberg (1944) and Marquardt (1963), with derivatives
 * by differences. Deterministic.
 */
#ifndef PASSES_ANALYSIS_FIT_LEAST_SQUARES_H
#define PASSES_ANALYSIS_FIT_LEAST_SQUARES_H

#include <stdint.h>

enum { MOVED_ALL = -1 };

/*
 * Writes the residuals of the n observations for these parameters. `moved`: the only one that has
 * changed since residual[] was written, so that the observations it does not matter to can be left
 * out; or MOVED_ALL.
 */
typedef void residuals_of(void *data, const double *parameter, int moved, double *residual);

/*
 * Moves the parameters, which are a first guess, to where the sum of the squares of the residuals
 * is least nearby. Parameters should be of the order of 1. Returns that sum.
 */
double least_squares(
	residuals_of *f, void *data, double *parameter, uint32_t nparameters, uint32_t n);

#endif
