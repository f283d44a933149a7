/* The op profiler: a program of kernels and collectives to be timed instead of a step to be
 *trained. `dopt -measure` generates the tables and the kernels, and rt_measure_main does the rest
 *on as many ranks as will run at once, so that they share caches, memory and the clock as they do
 *in training.
 *
 *	kernels      all of them one after another in the order of the step, on operands that lie
 *where the step has them: each finds in the caches what the one before has left there collectives
 *one at a time, all ranks starting together: from the last post to the last end */
#ifndef RUNTIME_MEASURE_H
#define RUNTIME_MEASURE_H

#include "runtime/rt_program.h"

typedef void rt_measure_fn(
	void *const *operand, void *const *result, void *scratch, const int64_t *coord);

/* One call of a kernel. Several calls may be of one kernel. */
struct rt_measure_call {
	rt_measure_fn *fn;
	int32_t kernel; /* number of the kernel, 0 .. nkernels-1 */
	int32_t noperands, nresults;
	const int64_t *offset; /* of operands, then results, in the arena; -1: none */
	int64_t scratch;       /* offset, -1: none */
};

/* Tensors of floats that get other values than zero: the params and inputs of the step. */
struct rt_measure_fill {
	int64_t offset, elements;
	enum rt_dtype dtype;
};

struct rt_measure_coll {
	enum rt_coll_kind kind;
	int64_t bytes; /* of the message, a multiple of 4 * places */
};

struct rt_measure {
	int32_t ranks, places; /* groups of `places` ranks; places divides ranks */
	int32_t nkernels, ncalls, nfills, ncolls;
	const struct rt_measure_call *calls;
	const struct rt_measure_fill *fills;
	const struct rt_measure_coll *colls;
	int64_t arena_bytes; /* of the calls */
	const char *result;  /* a file, written at the end: see rt_measure_main */
};

/* Measures and writes the result, a line each, times in seconds:
 *	kernel NUMBER MEDIAN SPREAD RUNS
 *	collective NUMBER MEDIAN SPREAD RUNS
 *	beside NUMBER MEDIAN SPREAD RUNS      what it adds to computation between post and wait
 *	field NAME VALUE
 * SPREAD is the distance between the quartiles over the median. Returns the exit code. */
int rt_measure_main(const struct rt_measure *m);

#endif
