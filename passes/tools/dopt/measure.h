/* `dopt -measure`: puts into a profile what the cost model lacks for a module. */
#ifndef PASSES_DRIVER_MEASURE_H
#define PASSES_DRIVER_MEASURE_H

#include "ir/base/diag.h"
#include "ir/memory/storage.h"

#include <stdio.h>

/* How good the times are that were measured: what warnings are about. */
struct measure_quality {
	double seconds;      /* sum of the kernels' times */
	double wide_seconds; /* of those that vary widely */
	double took, ran;    /* what rounds of kernels took, and how long of that their rank had a
			     processor; of each run those of the rank that had the least */
};

struct measure_options {
	const char *profile; /* the file; made if it is not there; with a program NULL: none */
	const char *program; /* only build it, under this name, to be run elsewhere; NULL: run it */
	const char *mpi;     /* starts the ranks: "mpirun -n 2"; NULL: threads */
	const char *arguments; /* of the program that measures: "-link 1GB/s,20us"; NULL: none */
	bool all;              /* measure also what the profile has */
	bool again;            /* the same of kernels, and keep the mean of both */
	bool rotate;           /* kernels alone, on copies used in turn */
	bool library;          /* collectives between processes are MPI's own */
	bool cuda;             /* the kernels of that target */
	const struct storage_target *storage; /* where it puts tensors */
	double limit; /* seconds for each kernel and message at most; 0: those of runtime/measure */
	double until; /* of clock_seconds: measuring ends then, with what it has; 0: never */
	struct measure_quality *quality; /* is added to; NULL: driver_measure itself warns */
	bool verbose;                    /* show the commands */
	const char *when; /* "after opfuse", for the line on what was done; NULL: nothing */
	int *stored;      /* receives how many kernels were measured; NULL: nobody asks */
};

/*
 * Times the kernels and collectives of @main that the profile does not have of this device and
 * backend, with as many ranks at once as the module has devices, and stores each as soon as it is
 * measured. No calls may be left in the module. Prints a line on what it did. False: reported; what
 * was measured until then is in the profile.
 */
bool driver_measure(struct ir_module *m, const struct measure_options *o, FILE *out);

/* Warns, at most once, where times vary widely or other processes ran while they were measured, and
 * says what to do: with `kept`, where the times stay in a profile, to measure again. */
void driver_measure_warn(struct diag *d, const struct measure_quality *q, bool kept);

#endif
