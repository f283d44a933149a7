/* Sources of the host target. */
#ifndef LOWER_HOST_H
#define LOWER_HOST_H

#include "lower/lower.h"
#include "lower/plan/plan.h"

/*
 * Writes kernels.h, kernels_0.c ... and step.c of a checked plan into `folder`. `nfiles` receives
 * the number of kernel files. Reports and returns false if a file cannot be written.
 */
bool host_write(
	const struct lower_plan *p, const struct lower_options *o, const char *folder, int *nfiles);

#endif
