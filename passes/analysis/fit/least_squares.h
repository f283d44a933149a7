/*
 * Nonlinear least squares by the method of Levenberg (1944) and Marquardt (1963), with derivatives
 * by differences. Deterministic.
 */
#ifndef PASSES_ANALYSIS_FIT_LEAST_SQUARES_H
#define PASSES_ANALYSIS_FIT_LEAST_SQUARES_H

#include <stdint.h>

/* Writes the residuals of the n observations for these parameters. */
typedef void residuals_of(void *data, const double *parameter, double *residual);

/*
 * Moves the parameters, which are a first guess, to where the sum of the squares of the residuals
 * is least nearby. Parameters should be of the order of 1. Returns that sum.
 */
double least_squares(
	residuals_of *f, void *data, double *parameter, uint32_t nparameters, uint32_t n);

#endif
