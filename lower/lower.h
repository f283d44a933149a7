/*
 * Lowering: a module becomes the sources of a program, and they are compiled and linked.
 *
 *     @main --plan.c--> buffers and actions --check.c--> the same, proven sound
 *           --host.c, cuda.c--> C and CUDA sources --build.c--> train
 *
 * All ranks run the same step function; they differ in their coordinates on the device axes.
 */
#ifndef LOWER_LOWER_H
#define LOWER_LOWER_H

#include "ir/memory/storage.h"

#include <stdbool.h>

enum lower_target { LOWER_HOST, LOWER_CUDA };

struct lower_options {
	enum lower_target target;
	const struct storage_target *storage; /* NULL: lower_storage_target(target) */
	const char *output;       /* the executable, e.g. "train"; its sources go to "train.src/".
				   * Both get these names when they are complete */
	bool sources_only;        /* write the sources, do not compile */
	bool verbose;             /* print the compiler's command lines on stderr */
	const char *cflags;       /* further flags of the compiler, behind the others; NULL: none */
	double predicted;         /* seconds an iteration, for the program's report; 0: unknown */
	uint64_t predicted_bytes; /* that a rank allocates on its device; 0: unknown */
	const char *entry;        /* NULL: a program with a main. Else no main, but a `const struct
				   * rt_program` of that  name, which also begins the names of the kernels:
				   * to link many into one;  cuda: and an `int NAME_main(int, char **)`,
				   * the  kernels by whoever links it */
};

/*
 * Writes and builds the program of @main. The module must be verified and hold no calls (inline
 * first). Reports what is wrong at its op and returns false; sources that do not compile stay.
 */
bool lower_emit_program(struct ir_module *m, const struct lower_options *o);

/* Where a target's programs put their tensors: ir/memory/storage.h. */
const struct storage_target *lower_storage_target(enum lower_target t);

/* The name of a target, or -1: "host", "cuda". */
int lower_target_find(const char *name);

#endif
