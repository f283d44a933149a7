/* `dopt -measure`: puts into a profile what the cost model lacks for a module. */
#ifndef PASSES_DRIVER_MEASURE_H
#define PASSES_DRIVER_MEASURE_H

#include "ir/ir.h"

#include <stdio.h>

struct measure_options {
	const char *profile; /* the file; made if it is not there */
	bool all;            /* measure also what the profile has */
	bool verbose;        /* show the commands */
};

/*
 * Times the kernels and collectives of @main that the profile does not have on this machine, with
 * as many ranks at once as the module has devices, and stores them. No calls may be left in the
 * module. Prints a line on what it did. False: reported.
 */
bool driver_measure(struct ir_module *m, const struct measure_options *o, FILE *out);

/* The name of this machine in a profile: its processor, the backend and the version of its kernels.
 */
char *driver_measure_device(const void *owner);

#endif
