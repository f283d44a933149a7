/*
 * Lowering: a module becomes the sources of a program, and they are compiled and linked.
 *
 *     @main --plan/plan.c--> buffers and actions --plan/check.c--> the same, proven sound
 *           --host/, cuda/--> C and CUDA sources --build.c--> train
 *
 * All ranks run the same step function; they differ in their coordinates on the device axes.
 */
#ifndef LOWER_LOWER_H
#define LOWER_LOWER_H

#include "ir/memory/storage.h"

#include <stdbool.h>

struct cluster;
struct diag;

enum lower_target { LOWER_HOST, LOWER_CUDA };

struct lower_options {
	enum lower_target target;
	const struct storage_target *storage; /* NULL: lower_storage_target(target) */
	const char
		*without; /* the forms that `storage` lacks, for the program's traces; NULL: none */
	/* cuda: which of the library's candidates computes the product or convolution of that key
	 * (runtime/cuda/candidate.h); NULL: the first one. */
	int (*candidate)(void *data, const char *key);
	void *candidate_data;
	const char *output; /* the executable, e.g. "train"; its sources go to "train.src/".
				   * Both get these names when they are complete */
	bool sources_only;  /* write the sources, do not compile */
	bool verbose;       /* print the compiler's command lines on stderr */
	const char *cflags; /* further compiler flags, appended to the others; NULL: none */
	/* cuda: architectures of the kernels, "sm_80,sm_90"; NULL: lower/cuda/cuda.h */
	const char *arch;
	bool library;                  /* processes use MPI's own collectives: struct rt_program */
	double predicted;              /* seconds per step, for the program's report; 0: unknown */
	bool predicted_generic;        /* these are of the cluster `generic`, the default */
	uint64_t predicted_bytes;      /* allocated by a rank on its device; 0: unknown */
	uint64_t predicted_host_bytes; /* and in host memory */
	const char *entry; /* NULL: a program with a main. Else the name of a `const struct
			    * rt_program` instead of main, and prefix of the kernels, so that
			    * several can be linked into one program; cuda: also an `int
			    * NAME_main(int, char **)`, with kernels compiled by the caller */
};

/*
 * Writes and builds the program of @main. The module must be verified and must not contain calls
 * (inline first). Reports errors at their ops and returns false; sources that do not compile are
 * kept.
 */
bool lower_emit_program(const struct ir_module *m, const struct lower_options *o);

/* The rules by which a target's programs place tensors in memory: ir/memory/storage.h. */
const struct storage_target *lower_storage_target(enum lower_target t);

/* Switches forms of kernels off, "parts,bundles". False: one is unknown, reported. */
bool lower_without(struct diag *d, struct storage_target *t, const char *list);

/* What the driver and libraries take of the memory of the cluster's devices, of the kind with the
 * most; NULL: no cluster is known. */
struct storage_libraries lower_libraries(enum lower_target t, const struct cluster *c);

/* The target of that name, "host" or "cuda"; -1: unknown. */
int lower_target_find(const char *name);

#endif
