/* `dopt -measure`: adds the times that the cost model lacks for a module to a profile. */
#ifndef PASSES_DRIVER_MEASURE_H
#define PASSES_DRIVER_MEASURE_H

#include "ir/base/diag.h"
#include "ir/memory/storage.h"

#include <stdio.h>

/* Quality of the measured times, for warnings. */
struct measure_quality {
	double seconds;      /* sum of the kernels' times */
	double wide_seconds; /* of those that vary widely */
	double took, ran;    /* duration of rounds of kernels, and how long their rank had a
				processor; of each run those of the rank that had the least */
};

struct measure_options {
	const char *profile; /* the file; created if missing; with a program NULL: none */
	const char *program; /* only build it under this name, to be run elsewhere; NULL: run it */
	const char *mpi;     /* starts the ranks: "mpirun -n 2"; NULL: threads */
	const char *arguments; /* of the measuring program: "-link 1GB/s,20us"; NULL: none */
	bool lacking;          /* build the program only if the profile lacks something */
	bool all;              /* measure also entries of the profile */
	bool again;            /* the same for kernels only, keeping the mean of both */
	bool rotate;           /* measure kernels alone, on copies used in turn */
	bool library;          /* collectives between processes are MPI's own */
	bool cuda;             /* the kernels of that target */
	const struct storage_target *storage; /* how it places tensors */
	double limit; /* seconds for each kernel and message at most; 0: those of runtime/measure */
	double until; /* clock_seconds at which measuring ends with the results so far; 0: never */
	struct measure_quality *quality; /* accumulated; NULL: driver_measure itself warns */
	bool verbose;                    /* show the commands */
	const char *when;                /* "after opfuse", for the summary line; NULL: omitted */
	int *stored; /* receives the number of kernels that were measured, or that a program
			measures; may be NULL */
};

/*
 * Times the kernels and collectives of @main missing from the profile for this device and backend,
 * with one rank per device of the module at once, and stores each as soon as it is measured. No
 * calls may be left in the module. Prints a summary line. False: reported; earlier measurements
 * remain in the profile.
 */
bool driver_measure(struct ir_module *m, const struct measure_options *o, FILE *out);

/* Warns, at most once, if times vary widely or other processes ran during measurements, and gives
 * advice: with `kept`, if the times stay in a profile, to measure again. */
void driver_measure_warn(struct diag *d, const struct measure_quality *q, bool kept);

#endif
