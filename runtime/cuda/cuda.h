/* The state of a rank on its CUDA device, for the files of this folder. */
#ifndef RUNTIME_CUDA_CUDA_H
#define RUNTIME_CUDA_CUDA_H

#include "runtime/cuda/args.h"
#include "runtime/cuda/rt_cuda.h"
#include "runtime/device.h"
#include "runtime/comm/region.h"

#include <cublasLt.h>
#include <cuda_runtime_api.h>

/* Alignment of parts of memory that belongs to messages. */
#define RT_CUDA_ALIGN 256

/* Blocks of a support kernel at most: enough to fill any device, each loops. */
#define RT_CUDA_SUPPORT_GRID 2048

/* What the program passed to rt_main hangs from rt_program.target. */
struct rt_cuda_target {
	const struct rt_program *prog; /* as generated: its step puts work into streams */
	const struct rt_cuda_program *cuda;
};

/* What cuBLASLt is told of the matrices of a product, and its algorithm for them. */
struct rt_cuda_batch {
	cublasLtMatrixLayout_t a, b, c;
	cublasLtMatmulAlgo_t algorithm;
	uint32_t alignment[3]; /* of a, b and c, bytes, that the algorithm relies on */
};

/* Operands and a result that a product has had, and where the addresses of their matrices are: for each step of the loops
 * that add, those of b, a and c, in that order. */
struct rt_cuda_site {
	const void *a, *b, *c;
	size_t at; /* bytes from rt_cuda.addresses */
};

/* A matrix product prepared for cuBLASLt. */
struct rt_cuda_product {
	bool ready;
	cublasLtMatmulDesc_t operation;
	struct rt_cuda_batch strided, addressed;
	bool unknown; /* it has one loop, or the library has no algorithm that takes addresses */
	struct rt_cuda_site *sites;
	int nsites;
};

/* Something that was put into a stream between two events. */
struct rt_cuda_span {
	cudaEvent_t begin, end;
	enum rt_track track;
	enum rt_event_kind kind;
	int32_t index;
	int64_t posted;
	uint32_t sequence;
};

struct rt_cuda {
	int number; /* of the device */
	cudaStream_t compute, communication;
	cudaStream_t to_host, to_device; /* transfers: a GPU has a copy engine for each */
	cudaLibrary_t library;
	cudaKernel_t *kernels;                /* of the program's table */
	cudaKernel_t sum[RT_DTYPES], move[9]; /* by bytes of an element */
	cublasLtHandle_t blas;
	void *workspace;
	void *addresses; /* RT_CUDA_ADDRESSES bytes, of which `addressed` are used */
	size_t addressed;
	void *collectives; /* RT_CUDA_ROOM bytes, where the program has any */
	struct rt_cuda_product *products;
	struct rt_cuda_convs *convs; /* of conv.c; NULL: none yet */
	const struct rt_cuda_target *target;
	struct rt_world *world; /* to end all ranks */
	struct rt_probe *probe; /* of the step at work; NULL: nothing is timed */
	struct rt_trace *trace;
	struct rt_cuda_span *spans; /* their events are used again */
	int nspans, room;
	cudaEvent_t base; /* the first event of a timed step, and the host's clock there */
	int64_t base_ns;
	bool needs_host; /* collectives wait for other threads: the step cannot be captured */
	bool capturing;
	cudaGraphExec_t graph; /* the whole step, NULL: not yet */
	_Atomic int64_t began,
		longest; /* ns: start of the step at work, 0: none; the longest step so far */
	int64_t steps;   /* that ran without timing */
};

static inline struct rt_cuda *
rt_cuda_of(const struct rt_ctx *ctx)
{
	return ctx->device;
}

/* Ends all ranks with a message if a call has failed. */
void rt_cuda_check(const struct rt_cuda *d, cudaError_t error, const char *what);

/* The same for a failure with a text of its own. */
_Noreturn void rt_cuda_fatal(const struct rt_cuda *d, const char *what, const char *why);

/* Loads the image and makes what needs the program; the device is current. module.c */
bool rt_cuda_load(struct rt_cuda *d, const struct rt_engine_setup *setup, struct rt_status *st);
/* Before the carrier goes: a communicator waits for the graphs that have captured its collectives. */
void rt_cuda_drop_graph(struct rt_cuda *d);
void rt_cuda_unload(struct rt_cuda *d);

/* Puts a sum or a move into a stream. */
void rt_cuda_put_sum(
	const struct rt_cuda *d, cudaStream_t stream, enum rt_dtype t, struct dopt_sum_args *args);
void rt_cuda_put_move(const struct rt_cuda *d, cudaStream_t stream, size_t bytes, const void *from,
	const struct rt_region *from_region, void *to, const struct rt_region *to_region);
/* Moves elements `at` to `at + n` of a region of `base` to a row, or from it. */
void rt_cuda_put_range(const struct rt_cuda *d, cudaStream_t stream, size_t bytes, void *base,
	const struct rt_region *region, int64_t at, int64_t n, void *row, bool to_row);

/* Frees the memory of addresses of matrices, where nothing that uses it is on its way. gemm.c */
void rt_cuda_forget_addresses(struct rt_cuda *d);
/* Frees what the matrix products of a program hold. gemm.c */
void rt_cuda_free_products(struct rt_cuda *d);

/* Timing. A span begins and ends in a stream; its times are added to the trace when the streams are
 * idle. Without a probe nothing happens and rt_cuda_span_begin gives -1. timing.c */
int rt_cuda_span_begin(struct rt_cuda *d, cudaStream_t stream, const struct rt_cuda_span *what);
void rt_cuda_span_end(struct rt_cuda *d, cudaStream_t stream, int span);
void rt_cuda_resolve_spans(struct rt_cuda *d);
/* The compute stream waits for an event, in a span of its own. */
void rt_cuda_wait_event(
	struct rt_cuda *d, cudaEvent_t event, enum rt_event_kind kind, int32_t index);
void rt_cuda_free_spans(struct rt_cuda *d);

/* Collectives: rt_device.engine. engine.c */
extern const struct rt_engine_ops rt_cuda_engine;

/* Transfers: rt_device.transfers. transfers.c */
extern const struct rt_transfers_ops rt_cuda_transfers;

/* Who carries them: puts one into the communication stream, which waits for the compute stream's
 * part. */
struct rt_cuda_carrier {
	const struct rt_cuda_carrier_ops *ops;
	struct rt_cuda *device;
	const struct rt_engine_setup *setup;
};

struct rt_cuda_carrier_ops {
	void (*run)(struct rt_cuda_carrier *c, const struct rt_coll *coll);
	void (*free)(struct rt_cuda_carrier *c);
	/* Ends collectives that are on their way, from another thread; NULL: they end by themselves
	 * or with the process. */
	void (*end)(struct rt_cuda_carrier *c);
	/* Ends the run with the reason if a collective on its way has failed, from another thread;
	 * NULL: nothing can fail so. */
	void (*look)(struct rt_cuda_carrier *c);
};

/* NCCL, a communicator an axis (one rank a GPU); and ranks of one process that see each other's
 * memory. All ranks call it together. NULL and a status on failure. */
struct rt_cuda_carrier *rt_cuda_nccl(
	struct rt_cuda *d, const struct rt_engine_setup *setup, struct rt_status *st);
struct rt_cuda_carrier *rt_cuda_peers(
	struct rt_cuda *d, const struct rt_engine_setup *setup, struct rt_status *st);

/* The places of this rank's group on an axis: their number, the place of this one, the world's rank
 * of place 0 and the distance of the others. */
struct rt_cuda_group {
	int places, me, first, stride;
};

struct rt_cuda_group rt_cuda_group_of(const struct rt_engine_setup *setup, int axis);

/* A region that is one run of elements? */
static inline bool
rt_cuda_is_run(const struct rt_region *r)
{
	return r->counts[0] * r->counts[1] * r->counts[2] == 1;
}

#endif
