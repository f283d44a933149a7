/* The part of NCCL that libdopt_rt_cuda calls, over MPI: a group is put into its stream at its end.
 * A communicator's ranks are those that were given one id, in which the rank that created it has
 * written its number; an unused id is an error. Sums of 16-bit floats are rounded at each hop. With
 * SHIM_NCCL_FAIL=N the N-th group of this process fails, as a network does: it never ends, and the
 * communicator reports an error when asked. */
#include "runtime/kernel/half.h"
#include "streams.h"

#include <mpi.h>
#include <nccl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CALLS = 4096 };

struct ncclComm {
	MPI_Comm comm;
	int rank;
	int graphs; /* that have captured a group of it */
	_Atomic ncclResult_t error;
};

struct call {
	enum { ALLREDUCE, REDUCE, BROADCAST, ALLGATHER, REDUCESCATTER, SEND, RECEIVE } kind;
	const void *from;
	void *to;
	size_t count;
	ncclDataType_t type;
	ncclRedOp_t op;
	int other;
	ncclComm_t comm;
	cudaStream_t stream;
};

static _Thread_local struct call calls[MOST_CALLS];
static _Thread_local int ncalls;
static _Atomic bool aborted, failed; /* set by any thread */
static int nids, nfirst; /* ids created by this process; communicators in which it is place 0 */
static int ngroups;      /* begun by this process */

const char *
ncclGetErrorString(ncclResult_t result)
{
	return result == ncclSuccess ? "no error" : "an error of the shim";
}

ncclResult_t
ncclGetUniqueId(ncclUniqueId *id)
{
	int number[2] = {0, nids++};
	MPI_Comm_rank(MPI_COMM_WORLD, &number[0]);
	memset(id, 0, sizeof *id);
	memcpy(id, number, sizeof number);
	return ncclSuccess;
}

ncclResult_t
ncclCommInitRank(ncclComm_t *comm, int nranks, ncclUniqueId id, int rank)
{
	int number[2], low, high, size;
	struct ncclComm *c = calloc(1, sizeof *c);
	memcpy(number, &id, sizeof number);
	MPI_Comm_split(MPI_COMM_WORLD, number[0], rank, &c->comm);
	MPI_Comm_size(c->comm, &size);
	MPI_Allreduce(&number[1], &low, 1, MPI_INT, MPI_MIN, c->comm);
	MPI_Allreduce(&number[1], &high, 1, MPI_INT, MPI_MAX, c->comm);
	nfirst += rank == 0;
	c->rank = rank;
	*comm = c;
	return size == nranks && low == high && nids == nfirst ? ncclSuccess : ncclInvalidArgument;
}

/* NCCL waits for ever until the graphs that have captured a communicator are destroyed. */
ncclResult_t
ncclCommDestroy(ncclComm_t comm)
{
	if (comm->graphs) {
		fprintf(stderr, "shim: ncclCommDestroy waits for %d groups in graphs\n",
			comm->graphs);
		abort();
	}
	MPI_Barrier(comm->comm);
	MPI_Comm_free(&comm->comm);
	free(comm);
	return ncclSuccess;
}

ncclResult_t
ncclCommAbort(ncclComm_t comm)
{
	(void)comm;
	atomic_store(&aborted, true);
	return ncclSuccess;
}

ncclResult_t
ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error)
{
	*error = atomic_load(&comm->error);
	return ncclSuccess;
}

const char *
ncclGetLastError(ncclComm_t comm)
{
	(void)comm;
	return atomic_load(&failed) ? "the network of the shim is down" : "";
}

ncclResult_t
ncclGroupStart(void)
{
	ncalls = 0;
	return ncclSuccess;
}

static ncclResult_t
add(struct call c)
{
	if (ncalls == MOST_CALLS)
		return ncclInternalError;
	calls[ncalls++] = c;
	return ncclSuccess;
}

ncclResult_t
ncclAllReduce(const void *from, void *to, size_t count, ncclDataType_t type, ncclRedOp_t op,
	ncclComm_t comm, cudaStream_t stream)
{
	return add((struct call){ALLREDUCE, from, to, count, type, op, 0, comm, stream});
}

ncclResult_t
ncclReduce(const void *from, void *to, size_t count, ncclDataType_t type, ncclRedOp_t op, int root,
	ncclComm_t comm, cudaStream_t stream)
{
	return add((struct call){REDUCE, from, to, count, type, op, root, comm, stream});
}

ncclResult_t
ncclBroadcast(const void *from, void *to, size_t count, ncclDataType_t type, int root,
	ncclComm_t comm, cudaStream_t stream)
{
	return add((struct call){BROADCAST, from, to, count, type, ncclSum, root, comm, stream});
}

ncclResult_t
ncclAllGather(const void *from, void *to, size_t count, ncclDataType_t type, ncclComm_t comm,
	cudaStream_t stream)
{
	return add((struct call){ALLGATHER, from, to, count, type, ncclSum, 0, comm, stream});
}

ncclResult_t
ncclReduceScatter(const void *from, void *to, size_t count, ncclDataType_t type, ncclRedOp_t op,
	ncclComm_t comm, cudaStream_t stream)
{
	return add((struct call){REDUCESCATTER, from, to, count, type, op, 0, comm, stream});
}

ncclResult_t
ncclSend(const void *from, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
	cudaStream_t stream)
{
	return add((struct call){SEND, from, NULL, count, type, ncclSum, peer, comm, stream});
}

ncclResult_t
ncclRecv(
	void *to, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream)
{
	return add((struct call){RECEIVE, NULL, to, count, type, ncclSum, peer, comm, stream});
}

static MPI_Datatype
type_of(ncclDataType_t type)
{
	switch (type) {
	case ncclFloat64: return MPI_DOUBLE;
	case ncclFloat32: return MPI_FLOAT;
	case ncclInt64: return MPI_INT64_T;
	case ncclInt32: return MPI_INT32_T;
	case ncclInt8: return MPI_INT8_T;
	case ncclUint8: return MPI_UINT8_T;
	default: return MPI_UINT16_T; /* half floats are moved, not added */
	}
}

/* Sums of 16-bit floats, with f32 between two hops. */
static void
add_f16(void *from, void *to, int *n, MPI_Datatype *type)
{
	const uint16_t *x = from;
	uint16_t *sum = to;
	(void)type;
	for (int i = 0; i < *n; i++)
		sum[i] = rt_f32_to_f16(rt_f16_to_f32(sum[i]) + rt_f16_to_f32(x[i]));
}

static void
add_bf16(void *from, void *to, int *n, MPI_Datatype *type)
{
	const uint16_t *x = from;
	uint16_t *sum = to;
	(void)type;
	for (int i = 0; i < *n; i++)
		sum[i] = rt_f32_to_bf16(rt_bf16_to_f32(sum[i]) + rt_bf16_to_f32(x[i]));
}

static MPI_Op
sum_of(const struct call *c)
{
	static MPI_Op f16 = MPI_OP_NULL, bf16 = MPI_OP_NULL;
	if (f16 == MPI_OP_NULL) {
		MPI_Op_create(add_f16, 1, &f16);
		MPI_Op_create(add_bf16, 1, &bf16);
	}
	if (c->op != ncclSum)
		return MPI_MAX;
	return c->type == ncclFloat16 ? f16 : c->type == ncclBfloat16 ? bf16 : MPI_SUM;
}

static void
run(const struct call *c, MPI_Request *request)
{
	const MPI_Datatype type = type_of(c->type);
	const MPI_Op op = sum_of(c);
	const int count = (int)c->count;
	bool same = c->from == c->to;
	int bytes = 0;
	switch (c->kind) {
	case ALLREDUCE:
		MPI_Iallreduce(same ? MPI_IN_PLACE : c->from, c->to, count, type, op, c->comm->comm,
			request);
		break;
	case REDUCE:
		MPI_Ireduce(same && c->comm->rank == c->other ? MPI_IN_PLACE : c->from,
			c->comm->rank == c->other ? c->to : NULL, count, type, op, c->other,
			c->comm->comm, request);
		break;
	case BROADCAST:
		if (c->comm->rank == c->other && !same)
			MPI_Sendrecv(c->from, count, type, 0, 1, c->to, count, type, 0, 1,
				MPI_COMM_SELF, MPI_STATUS_IGNORE);
		MPI_Ibcast(c->to, count, type, c->other, c->comm->comm, request);
		break;
	case ALLGATHER:
		MPI_Type_size(type, &bytes);
		same = c->from == (const char *)c->to + (ptrdiff_t)c->comm->rank * count * bytes;
		MPI_Iallgather(same ? MPI_IN_PLACE : c->from, count, type, c->to, count, type,
			c->comm->comm, request);
		break;
	case REDUCESCATTER:
		MPI_Ireduce_scatter_block(c->from, c->to, count, type, op, c->comm->comm, request);
		break;
	case SEND: MPI_Isend(c->from, count, type, c->other, 0, c->comm->comm, request); break;
	case RECEIVE: MPI_Irecv(c->to, count, type, c->other, 0, c->comm->comm, request); break;
	}
}

struct group {
	int n;
	struct call call[];
};

static void
run_group(void *data)
{
	const struct group *g = data;
	const char *fails = getenv("SHIM_NCCL_FAIL");
	MPI_Request *requests = malloc((size_t)g->n * sizeof *requests);
	if (!requests)
		abort();
	const bool fails_now = fails && ++ngroups == atoi(fails);
	if (fails_now) {
		atomic_store(&failed, true);
		atomic_store(&g->call[0].comm->error, ncclRemoteError);
	}
	for (int i = 0; i < g->n; i++) {
		requests[i] = MPI_REQUEST_NULL;
		if (!fails_now)
			run(&g->call[i], &requests[i]);
	}
	for (int done = 0; !done && !atomic_load(&aborted);) {
		MPI_Testall(g->n, requests, &done, MPI_STATUSES_IGNORE);
		done &= !fails_now;
		sched_yield();
	}
	free(requests);
}

ncclResult_t
ncclGroupEnd(void)
{
	const size_t bytes = (size_t)ncalls * sizeof *calls;
	struct group *g = malloc(sizeof *g + bytes);
	if (!g)
		return ncclSystemError;
	g->n = ncalls;
	memcpy(g->call, calls, bytes);
	cudaError_t error = cudaSuccess;
	for (int i = 0; i < ncalls; i++) {
		shim_hold(calls[i].stream, &calls[i].comm->graphs);
		if (calls[i].stream != calls[0].stream)
			error = cudaErrorInvalidValue;
	}
	if (ncalls && error == cudaSuccess)
		error = shim_put(calls[0].stream, run_group, g, sizeof *g + bytes);
	free(g);
	return error == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}
