/* The part of NCCL that libdopt_rt_cuda calls, over MPI: what is in a group runs at its end. A
 * communicator's ranks are those that were given one id, in which the rank that made it has written
 * its number. */
#include <mpi.h>
#include <nccl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CALLS = 4096 };

struct ncclComm {
	MPI_Comm comm;
	int rank;
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
};

static struct call calls[MOST_CALLS];
static int ncalls;
static _Atomic bool aborted; /* by any thread */
static int nids; /* made by this process: all processes make them together */

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
	int number[2], size;
	struct ncclComm *c = malloc(sizeof *c);
	memcpy(number, &id, sizeof number);
	MPI_Comm_split(MPI_COMM_WORLD, number[0], rank, &c->comm);
	MPI_Comm_size(c->comm, &size);
	c->rank = rank;
	*comm = c;
	return size == nranks && number[1] == nids - 1 ? ncclSuccess : ncclInvalidArgument;
}

ncclResult_t
ncclCommDestroy(ncclComm_t comm)
{
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
	(void)stream;
	return add((struct call){ALLREDUCE, from, to, count, type, op, 0, comm});
}

ncclResult_t
ncclReduce(const void *from, void *to, size_t count, ncclDataType_t type, ncclRedOp_t op, int root,
	ncclComm_t comm, cudaStream_t stream)
{
	(void)stream;
	return add((struct call){REDUCE, from, to, count, type, op, root, comm});
}

ncclResult_t
ncclBroadcast(const void *from, void *to, size_t count, ncclDataType_t type, int root,
	ncclComm_t comm, cudaStream_t stream)
{
	(void)stream;
	return add((struct call){BROADCAST, from, to, count, type, ncclSum, root, comm});
}

ncclResult_t
ncclAllGather(const void *from, void *to, size_t count, ncclDataType_t type, ncclComm_t comm,
	cudaStream_t stream)
{
	(void)stream;
	return add((struct call){ALLGATHER, from, to, count, type, ncclSum, 0, comm});
}

ncclResult_t
ncclReduceScatter(const void *from, void *to, size_t count, ncclDataType_t type, ncclRedOp_t op,
	ncclComm_t comm, cudaStream_t stream)
{
	(void)stream;
	return add((struct call){REDUCESCATTER, from, to, count, type, op, 0, comm});
}

ncclResult_t
ncclSend(const void *from, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
	cudaStream_t stream)
{
	(void)stream;
	return add((struct call){SEND, from, NULL, count, type, ncclSum, peer, comm});
}

ncclResult_t
ncclRecv(
	void *to, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream)
{
	(void)stream;
	return add((struct call){RECEIVE, NULL, to, count, type, ncclSum, peer, comm});
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

static void
run(const struct call *c, MPI_Request *request)
{
	const MPI_Datatype type = type_of(c->type);
	const MPI_Op op = c->op == ncclSum ? MPI_SUM : MPI_MAX;
	const int count = (int)c->count;
	const bool same = c->from == c->to;
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
		MPI_Iallgather(c->from, count, type, c->to, count, type, c->comm->comm, request);
		break;
	case REDUCESCATTER:
		MPI_Ireduce_scatter_block(c->from, c->to, count, type, op, c->comm->comm, request);
		break;
	case SEND: MPI_Isend(c->from, count, type, c->other, 0, c->comm->comm, request); break;
	case RECEIVE: MPI_Irecv(c->to, count, type, c->other, 0, c->comm->comm, request); break;
	}
}

ncclResult_t
ncclGroupEnd(void)
{
	static MPI_Request requests[MOST_CALLS];
	for (int i = 0; i < ncalls; i++) {
		requests[i] = MPI_REQUEST_NULL;
		run(&calls[i], &requests[i]);
	}
	for (int done = 0; !done;) {
		MPI_Testall(ncalls, requests, &done, MPI_STATUSES_IGNORE);
		if (atomic_load(&aborted))
			return ncclInternalError;
		sched_yield();
	}
	return ncclSuccess;
}
