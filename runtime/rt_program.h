/* The interface between a generated program and the runtime: tables of its axes, tensors, kernels
 * and collectives, and the function that runs one training step.
 *
 *	generated file                        libdopt_rt
 *	const struct rt_program dopt_program  rt_main: options, ranks, data, parameters, step loop,
 *	static void step(struct rt_ctx *)     collectives, evaluation, saving, traces
 *	int main(...) { return rt_main(&dopt_program, &rt_device_host, argc, argv); }
 *
 * All tables are `static const`; in every array fields that are not named are zero, and zero always
 * means "none". All ranks run the same tables; they differ in their coordinates on the axes, in
 * rt_ctx.
 *
 * Ranks. A rank has one coordinate on each device axis. Its number is row-major over the device
 * axes in declared order, the last one innermost; it is the MPI rank or the thread number, and the
 * number of ranks is the product of the device axes' sizes. Time axes are not part of it: the
 * generated code loops over them. */
#ifndef RUNTIME_RT_PROGRAM_H
#define RUNTIME_RT_PROGRAM_H

#include "runtime/comm/collective.h"
#include "runtime/kernel/dtype.h"
#include "runtime/kernel/init_kind.h"
#include "runtime/machine.h"
#include <stdbool.h>

/* Raised whenever a struct below changes; rt_main refuses a program built for another one. */
#define RT_ABI_VERSION 13
/* Most dimensions of a tensor, most axes of a program: limits of the language. */
#define RT_MAX_RANK 8
#define RT_MAX_AXES 16
/* Upper bound of random integers for inputs without a range: valid indices of any table with two
 * rows, and valid booleans. */
#define RT_RANDOM_RANGE 2
/* Alignment in bytes of every arena; tensors should start at multiples of it. */
#define RT_ARENA_ALIGN 64

struct rt_axis {
	const char *name;
	int64_t size;
	bool is_time; /* steps [...], not mesh [...] */
};

enum rt_role { RT_INPUT, RT_PARAM, RT_STATE, RT_OUTPUT };

/* The axes that split one dimension, the most significant first: with axes a, b the slice number is
 * coord[a] * size(b) + coord[b], and slices are equally long. */
struct rt_split {
	uint8_t n;
	uint8_t axis[RT_MAX_AXES];
};

/* A tensor that outlives a step, or is an input or output of it. Its local dims are dims[] divided
 * by the sizes of the axes that split them. A tensor (input or output) that is split over time axes
 * keeps all its slices one after another: [T][local], T = the product of those time axes, row-major
 * in declared order. Parameters and states are split over device axes only, and are updated in
 * place by the generated code. */
struct rt_tensor {
	const char *name; /* as in input("x"): the data file's train.x and test.x */
	enum rt_role role;
	enum rt_dtype dtype;
	int32_t rank;
	int64_t dims[RT_MAX_RANK]; /* global */
	struct rt_split split[RT_MAX_RANK];
	/* rank is 1 and these are the elements, in order, of a tensor of this shape: files and
	 * initial values are of that shape. file_rank 0: no, it is dims. */
	int32_t file_rank;
	int64_t file_dims[RT_MAX_RANK];
	/* For each axis 1 + k if only coordinate k holds the tensor, 0 if all do or it is split. On
	 * a time axis it has no effect: the value is at `offset` when the step ends. */
	int32_t single[RT_MAX_AXES];
	enum rt_init init; /* parameters and states */
	double scale, mean;
	uint64_t seed; /* of this tensor: combined with the program's seed and the name */
	bool has_test; /* a state that has the value `test` during evaluation */
	double test;
	int64_t range; /* integer inputs: values are 0 .. range-1; 0: not checked, and random values
		        * are below RT_RANDOM_RANGE */
	bool on_host;  /* in host memory; parameters and states only */
	size_t offset; /* bytes from the start of the arena, or of host memory */
};

/* One buffer of a collective. Offsets are bytes into the arena, extents are elements. With P the
 * size of the axis, "slice" [outer][n][inner] and "whole" [outer][P*n][inner]:
 *	allreduce, reduce, broadcast, send: src and dst are slices (outer*n*inner elements in a row)
 *	allgather, gather:                  src is a slice, dst a whole
 *	scatter, reducescatter:             src is a whole, dst a slice
 *	alltoall: with first_split,
 *	          src [outer][d1/P][mid][d2][inner], dst [outer][d1][mid][d2/P][inner];
 *	          without, src [outer][d1][mid][d2/P][inner], dst [outer][d1/P][mid][d2][inner]
 * src and dst are the same or do not overlap; the same only where both are slices. A rank that does
 * not receive (gather, reduce, send) does not write its dst, and one that does not send (broadcast,
 * scatter, send) does not read its src: the offsets must be valid nevertheless. */
struct rt_buf {
	size_t src, dst;
	int64_t outer, n, inner;
	int64_t d1, mid, d2; /* alltoall only; d1 and d2 as if the axis did not split them */
	bool first_split;
	int64_t stride; /* of a whole: elements between the slices of two ranks; 0: n*inner, the
			 * slices fill the whole. The stride of outer is P times as large. */
};

/* A collective in each group of ranks that differ only in their coordinate on `axis`. All buffers
 * are sent as one message. Sums are computed in the order of coordinates 0 .. P-1 on every
 * transport, except by a library: rt_program.library. */
struct rt_coll {
	const char *name;
	enum rt_coll_kind kind;
	uint8_t axis;
	enum rt_dtype dtype; /* of all buffers */
	int32_t from;        /* coordinate that has the tensor before: broadcast, scatter, send */
	int32_t to;          /* coordinate that has it afterwards: reduce, gather, send */
	int32_t nbufs;
	const struct rt_buf *bufs;
	size_t bytes; /* of the message: slices, or wholes if there are any; for alltoall src */
	int32_t op;   /* index of its op in the lowered module: traces */
	/* allreduce, allgather, reducescatter: number of chunks of nearly equal size that are sent
	 * one after another; 0: 1. It is complete when the last chunk is. */
	int32_t parts;
	const char *text; /* the op as printed in the language: traces */
};

/* A copy between the arena and the rank's host memory: offload (to the host) or reload. */
struct rt_transfer {
	const char *name;
	bool to_host;
	size_t device, host; /* bytes from the start of the arena, and of host memory */
	size_t bytes;
	int32_t op;       /* index of its op in the lowered module: traces */
	const char *text; /* the op as printed in the language: traces */
};

/* A kernel, for traces and reports only. */
struct rt_kernel {
	const char *name;
	const char *op; /* the op as printed in the language */
	double flops, bytes;
	int32_t order; /* of the op in the lowered module, like rt_coll.op */
};

struct rt_ctx;

struct rt_program {
	uint32_t abi;        /* RT_ABI_VERSION */
	uint32_t extensions; /* RT_EXTENSIONS_USED where the program was compiled */
	const char *name;
	const char *build; /* digest of the source module: 16 hex digits; NULL: unknown */
	int32_t naxes;
	const struct rt_axis *axes;
	int32_t ntensors;
	const struct rt_tensor *tensors;
	int32_t nkernels;
	const struct rt_kernel *kernels;
	int32_t ncolls;
	const struct rt_coll *colls;
	int32_t ntransfers;
	const struct rt_transfer *transfers;
	size_t arena_bytes; /* of each rank; if ranks differ, the maximum */
	/* If ranks have different stages, by their coordinate on that axis; NULL: all have
	 * arena_bytes. */
	int32_t stage_axis;
	const size_t *arena_of;
	size_t host_bytes;      /* of host memory for each rank; 0: the program uses none */
	int64_t batch;          /* rows of a step: dims[0] of every input; 0: no inputs */
	double predicted;       /* seconds per step; 0: unknown */
	bool predicted_generic; /* for the cluster `generic`, as neither a cluster nor a profile
				   was given */
	/* Bytes that a rank was predicted to allocate on its device; 0: unknown. */
	size_t predicted_bytes;
	size_t predicted_host_bytes; /* of host_bytes, where predicted_bytes is known */
	/* Part of the arena that is free between steps: staging of slices that are moved between
	 * ranks, if the arena is host memory. 0 bytes: none. */
	size_t stage, stage_bytes;
	/* Processes use the collectives of the MPI library, or of NCCL, where it has them. Their
	 * sums have an order of their own (with NCCL, 16-bit sums are rounded at each hop), so
	 * results may differ in their last bits. */
	bool library;
	void (*step)(struct rt_ctx *ctx);
	/* The generator of the program's code: dopt's version and code, compilers and libraries. If
	 * they differ, the same module may round differently. NULL: unknown. */
	const char *generator;
	const char *
		without; /* of a CUDA program: the forms of kernels that it lacks, as in -without; NULL: on the host */
	const void *target; /* for the device's backend; NULL on the host */
};

/* Argument of a step function. One for each rank; only that rank's thread uses it. */
struct rt_ctx {
	unsigned char *arena; /* on the device, RT_ARENA_ALIGN aligned */
	unsigned char *host;  /* host memory, aligned alike; NULL: none */
	int64_t coord
		[RT_MAX_AXES]; /* of this rank; entries of time axes are set by the generated code */
	int64_t step;          /* 0, 1, ... */
	uint64_t seed;         /* of the program: -seed */
	const struct rt_program *prog;
	void *device;           /* for the device's backend; NULL on the host */
	struct rt_probe *probe; /* NULL in steps whose kernels are not timed */
	struct rt_rank *rank;   /* for the runtime */
};

/* Slow path of the two functions below. */
void rt_probe_begin(struct rt_ctx *ctx, int32_t kernel);
void rt_probe_end(struct rt_ctx *ctx, int32_t kernel);

/* Begin and end of a kernel: `kernel` is its index in rt_program.kernels. A test and a branch if
 * the step is not timed. Kernels are not nested. */
static inline void
rt_kernel_begin(struct rt_ctx *ctx, int32_t kernel)
{
	if (__builtin_expect(ctx->probe != NULL, 0))
		rt_probe_begin(ctx, kernel);
}

static inline void
rt_kernel_end(struct rt_ctx *ctx, int32_t kernel)
{
	if (__builtin_expect(ctx->probe != NULL, 0))
		rt_probe_end(ctx, kernel);
}

/* Starts a collective (its index in rt_program.colls) and returns at once. Until the matching
 * rt_wait its sources must not be written and its results must not be accessed. Every rank posts
 * the same collectives in the same order; they run one after another in that order. The same
 * collective may be posted again before it has been waited for. */
void rt_post(struct rt_ctx *ctx, int32_t coll);

/* Returns when the last post of this collective is complete; at once if it was never posted. */
void rt_wait(struct rt_ctx *ctx, int32_t coll);

/* Starts a transfer (its index in rt_program.transfers) and returns at once. Until the matching
 * rt_transfer_wait its source must not be written and its target must not be accessed. Transfers of
 * one direction run one after another in the order of their posts, overlapping with kernels,
 * collectives and transfers in the other direction. The same transfer may be posted again before it
 * has been waited for. */
void rt_transfer_post(struct rt_ctx *ctx, int32_t transfer);

/* Returns when the last post of this transfer is complete; at once if it was never posted. */
void rt_transfer_wait(struct rt_ctx *ctx, int32_t transfer);

struct rt_device;
extern const struct rt_device rt_device_host;

/* The whole program: options, ranks, data, steps. Returns the exit code: see status.h. See
 * options.h and main.c for options and the lines that are printed. */
int rt_main(const struct rt_program *prog, const struct rt_device *device, int argc, char **argv);

#endif
