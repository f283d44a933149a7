/* -trial: several plans of a step are built and run in turn; the fastest is kept. */
#ifndef PASSES_DRIVER_TRIAL_H
#define PASSES_DRIVER_TRIAL_H

#include "passes/tools/dopt/driver.h"
#include "passes/tools/input.h"

/*
 * Makes the plans that o->trial names, and the one that the passes make without any, with
 * `transform`; builds and runs each. *best, owned by `owner`, becomes the text of the one that was
 * fastest. Says on stderr what each took.
 */
enum driver_exit driver_trial(const void *owner, const struct driver_options *o,
	const struct driver_input *in, driver_transform *transform, struct driver_input *best);

/* The options for that text: it is transformed already. */
struct driver_options driver_trial_rest(const struct driver_options *o);

#endif
