/* The state of a rank on its CUDA device, for the files of this folder. */
#ifndef RUNTIME_CUDA_CUDA_H
#define RUNTIME_CUDA_CUDA_H

#include "runtime/cuda/args.h"
#include "runtime/cuda/rt_cuda.h"
#include "runtime/device.h"
#include "runtime/comm/region.h"

#include <cublasLt.h>
#include <cuda_runtime_api.h>

/* Alignment of the parts of memory for messages. */
#define RT_CUDA_ALIGN 256

/* Most blocks of a support kernel: enough to fill any device; each block loops. */
#define RT_CUDA_SUPPORT_GRID 2048

/* Data that the program passed to rt_main in rt_program.target. */
struct rt_cuda_target {
	const struct rt_program *prog; /* as generated: its step function enqueues work */
	const struct rt_cuda_program *cuda;
};

/* The descriptions of a product's matrices for cuBLASLt, and its algorithm. */
struct rt_cuda_batch {
	cublasLtMatrixLayout_t a, b, c;
	cublasLtMatmulAlgo_t algorithm;
	uint32_t alignment[3]; /* of a, b and c: bytes that the algorithm relies on */
};

/* Operands and a result of an earlier call of a product, and where the addresses of its matrices
 * are: for each step of the loops that add, those of b, a and c, in that order. */
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
	const void *a, *b; /* the operands of the last call */
	void *c;
	int32_t candidate; /* the algorithm; candidates that the library had */
	int found;
};

/* The most bytes that a thread moves at once: the widest access. */
enum { RT_CUDA_MOVE = 16 };

/* A piece of work in a stream between two events. */
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
	cudaKernel_t *kernels;                               /* of the program's table */
	cudaKernel_t sum[RT_DTYPES], move[RT_CUDA_MOVE + 1]; /* by bytes of an element */
	cublasLtHandle_t blas;
	void *workspace;
	void *addresses; /* RT_CUDA_ADDRESSES bytes, of which `addressed` are used */
	size_t addressed;
	void *collectives; /* RT_CUDA_ROOM bytes, where the program has any */
	struct rt_cuda_product *products;
	struct rt_cuda_convs *convs; /* for conv.c; NULL: none yet */
	const struct rt_cuda_target *target;
	struct rt_world *world; /* to end all ranks */
	struct rt_probe *probe; /* of the current step; NULL: it is not timed */
	struct rt_trace *trace;
	struct rt_cuda_span *spans; /* their events are reused */
	int nspans, room;
	cudaEvent_t base; /* the first event of a timed step, and the host's clock there */
	int64_t base_ns;
	bool needs_host; /* collectives wait for other threads, or a loop for its condition: the
			    step cannot be captured */
	bool capturing;
	cudaGraphExec_t graph; /* the whole step, NULL: not yet */
	_Atomic int64_t began,
		longest; /* ns: start of the current step, 0: none; the longest step so far */
	int64_t steps;   /* steps that ran without timing */
};

static inline struct rt_cuda *
rt_cuda_of(const struct rt_ctx *ctx)
{
	return ctx->device;
}

/* Ends all ranks with a message if a call has failed. */
void rt_cuda_check(const struct rt_cuda *d, cudaError_t error, const char *what);

/* Did a call that prepares a rank succeed? Reports a failure in the status. */
bool rt_cuda_try(struct rt_status *st, const char *what, cudaError_t error);

/* n events without times, which rt_cuda_free_events destroys, also after a failure, reported in the
 * status. device.c */
bool rt_cuda_make_events(cudaEvent_t **events, int n, struct rt_status *st);
void rt_cuda_free_events(cudaEvent_t *events, int n);

/* The same as rt_cuda_check for a failure with its own message. */
_Noreturn void rt_cuda_fatal(const struct rt_cuda *d, const char *what, const char *why);

/* Loads the image and creates what needs the program; the device must be current. module.c */
bool rt_cuda_load(struct rt_cuda *d, const struct rt_engine_setup *setup, struct rt_status *st);
/* Called before the carrier is destroyed: a communicator waits for graphs that captured its
 * collectives. */
void rt_cuda_drop_graph(struct rt_cuda *d);
void rt_cuda_unload(struct rt_cuda *d);

/* Enqueues a sum or a move in a stream. */
void rt_cuda_put_sum(
	const struct rt_cuda *d, cudaStream_t stream, enum rt_dtype t, struct dopt_sum_args *args);
void rt_cuda_put_move(const struct rt_cuda *d, cudaStream_t stream, size_t bytes, const void *from,
	const struct rt_region *from_region, void *to, const struct rt_region *to_region);
/* Moves elements `at` to `at + n` of a region of `base` to a row, or back. */
void rt_cuda_put_range(const struct rt_cuda *d, cudaStream_t stream, size_t bytes, void *base,
	const struct rt_region *region, int64_t at, int64_t n, void *row, bool to_row);

/* Frees the memory for addresses of matrices; no work that uses it may be in flight. gemm.c */
void rt_cuda_forget_addresses(struct rt_cuda *d);
/* Frees what the matrix products of a program hold. gemm.c */
/* The last call of a product again, by one of the library's candidates; false: it was not called, or
 * the library has fewer. */
bool rt_cuda_gemm_again(struct rt_cuda *d, int32_t gemm, int32_t candidate);

void rt_cuda_free_products(struct rt_cuda *d);

/* Timing. A span begins and ends in a stream; its times are added to the trace when the streams are
 * idle. Without a probe nothing is recorded and rt_cuda_span_begin returns -1. timing.c */
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

/* What carries collectives: enqueues one in the communication stream, which waits for the compute
 * stream. */
struct rt_cuda_carrier {
	const struct rt_cuda_carrier_ops *ops;
	struct rt_cuda *device;
	const struct rt_engine_setup *setup;
};

struct rt_cuda_carrier_ops {
	void (*run)(struct rt_cuda_carrier *c, const struct rt_coll *coll);
	void (*free)(struct rt_cuda_carrier *c);
	/* Ends collectives in flight, called from another thread; NULL: they end by themselves or
	 * with the process. */
	void (*end)(struct rt_cuda_carrier *c);
	/* Ends the run with the reason if a collective in flight has failed, called from another
	 * thread; NULL: it cannot fail so. */
	void (*look)(struct rt_cuda_carrier *c);
};

/* NCCL, one communicator per axis (one rank per GPU); ranks of one process that read each other's
 * memory. All ranks call it together. NULL and a status on failure. */
struct rt_cuda_carrier *rt_cuda_nccl(
	struct rt_cuda *d, const struct rt_engine_setup *setup, struct rt_status *st);
struct rt_cuda_carrier *rt_cuda_peers(
	struct rt_cuda *d, const struct rt_engine_setup *setup, struct rt_status *st);

/* The places of this rank's group on an axis: their number, this rank's place, the world's rank of
 * place 0 and the distance between neighbours. */
struct rt_cuda_group {
	int places, me, first, stride;
};

struct rt_cuda_group rt_cuda_group_of(const struct rt_engine_setup *setup, int axis);

/* Is the region one run of elements? */
static inline bool
rt_cuda_is_run(const struct rt_region *r)
{
	return r->counts[0] * r->counts[1] * r->counts[2] == 1;
}

#endif
