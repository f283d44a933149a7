/* -trial: several plans of a step are built and run in turns; the fastest is kept. */
#ifndef PASSES_DRIVER_TRIAL_H
#define PASSES_DRIVER_TRIAL_H

#include "passes/tools/dopt/driver.h"
#include "passes/tools/input.h"

/*
 * Makes the plans that o->trial names, and the plan of the passes without any of them, with
 * `transform`; builds and runs each. *best, owned by `owner`, becomes the text of the fastest one.
 * Prints the times on stderr.
 */
enum driver_exit driver_trial(const void *owner, const struct driver_options *o,
	const struct driver_input *in, driver_transform *transform, struct driver_input *best);

/* The options for that text, which is already transformed. */
struct driver_options driver_trial_rest(const struct driver_options *o);

#endif
