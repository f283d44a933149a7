/* The op profiler: a program that times kernels and collectives instead of training. `dopt
 * -measure` generates the tables and the kernels, and rt_measure_main does the rest on as many
 * ranks as will run at once, so that they share caches, memory and the clock as they do in
 * training.
 *
 *	kernels      in the order of the step, on operands that lie where the step has them: each
 *	             finds the caches as the previous one has left them; or each alone, on
 *	             copies used in turn that together are several times the cache that a core
 *	             has to itself
 *	collectives  one at a time, all ranks starting together: from the last post to the last end
 *	transfers    the link to host memory in each direction, all ranks together
 *
 * Every result is written as soon as it is known, as a line of a profile as text
 * (passes/analysis/profile/text.h), to standard output or to the file given by -o. */
#ifndef RUNTIME_MEASURE_H
#define RUNTIME_MEASURE_H

#include "runtime/rt_program.h"

typedef void rt_measure_fn(
	struct rt_ctx *ctx, void *const *operand, void *const *result, void *scratch);

/* An operand, then a result, of a kernel. */
struct rt_measure_tensor {
	int64_t elements; /* 0: unused */
	enum rt_dtype dtype;
	int64_t range; /* integers: drawn from 0 .. range-1, like inputs; 0: left unchanged */
};

/*
 * A kernel that is not timed, because its time is known, has no function, unless its result decides
 * the work of others, as indices do: where the step calls it, its operands are touched and its
 * results are filled with random numbers, so that the other kernels find the caches, and numbers,
 * as in training.
 */
struct rt_measure_kernel {
	rt_measure_fn *fn; /* NULL: only touched */
	bool known;        /* not timed */
	const char *key;   /* its name in a profile */
	double flops, bytes;
	int32_t noperands, nresults;
	const struct rt_measure_tensor *tensor; /* [noperands + nresults] */
	int64_t scratch_bytes;
};

/* One call of a kernel in the step. Several calls may be of one kernel. */
struct rt_measure_call {
	int32_t kernel;
	const int64_t *offset; /* of operands, then results, in the arena; -1: none */
	int64_t scratch;       /* offset, -1: none */
};

/* Tensors that are set before the step: its params, states and inputs. */
struct rt_measure_fill {
	int64_t offset;
	struct rt_measure_tensor tensor;
	double mean, spread; /* of its floats: those of the initial values; 0 and 1 for inputs */
};

struct rt_measure_coll {
	enum rt_coll_kind kind;
	const char *name; /* of the collective's kind, in a profile */
	int32_t axis;
	int64_t bytes; /* of the message in the profile; it is sent rounded up to elements */
};

struct rt_measure {
	const char *backend; /* in the profile */
	bool rotate;         /* measure kernels alone; else in the step */
	bool library;        /* as in struct rt_program */
	int32_t naxes;
	const struct rt_axis *axes; /* of the module whose ranks these are */
	int32_t nkernels, ncalls, nfills, ncolls;
	const struct rt_measure_kernel *kernels;
	const struct rt_measure_call *calls;
	const struct rt_measure_fill *fills;
	const struct rt_measure_coll *colls;
	int64_t arena_bytes; /* for the calls */
	int64_t limit_ns;    /* limit for each kernel and message; 0: the limits of impl.h */
	bool transfers;      /* also measure the link to host memory */
};

/* Measures on the host. Returns the exit code. */
int rt_measure_main(const struct rt_measure *m, int argc, char **argv);

#endif
