/* Ranks as MPI processes: see runtime/world.h. The main thread calls MPI here, the communication
 * thread in transport_mpi.c; never both at a time (MPI_THREAD_SERIALIZED). */
#include "runtime/world.h"
#include <mpi.h>
#include <stdlib.h>

/* MPI counts in int: longer messages go in pieces of this many bytes. */
#define PIECE ((size_t)1 << 30)
/* Tag of transfers outside of a step, which have MPI_COMM_WORLD to themselves. */
#define TAG 1

static void
mpi_allgather(struct rt_world *w, const void *mine, void *all, size_t bytes)
{
	(void)w;
	MPI_Allgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, MPI_COMM_WORLD);
}

static void
mpi_send(struct rt_world *w, const void *from, size_t bytes, int to)
{
	(void)w;
	for (size_t at = 0; at < bytes; at += PIECE)
		MPI_Send((const char *)from + at, (int)(bytes - at < PIECE ? bytes - at : PIECE),
			MPI_BYTE, to, TAG, MPI_COMM_WORLD);
}

static void
mpi_receive(struct rt_world *w, void *to, size_t bytes, int from)
{
	(void)w;
	for (size_t at = 0; at < bytes; at += PIECE)
		MPI_Recv((char *)to + at, (int)(bytes - at < PIECE ? bytes - at : PIECE), MPI_BYTE,
			from, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static const struct rt_world_ops mpi_ops = {mpi_allgather, mpi_send, mpi_receive};

bool
rt_mpi_started(void)
{
	/* What Open MPI's mpirun, a PMIx starter (srun --mpi=pmix) and a PMI one (Hydra) set. */
	static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (getenv(names[i]))
			return true;
	return false;
}

bool
rt_mpi_world(struct rt_world *w, struct rt_status *st)
{
	int level = MPI_THREAD_SINGLE;
	if (MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level) != MPI_SUCCESS)
		return rt_fail(st, RT_EXIT_RUN, "MPI does not start");
	*w = (struct rt_world){.ops = &mpi_ops};
	MPI_Comm_rank(MPI_COMM_WORLD, &w->rank);
	MPI_Comm_size(MPI_COMM_WORLD, &w->nranks);
	MPI_Comm here;
	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, w->rank, MPI_INFO_NULL, &here);
	MPI_Comm_rank(here, &w->local);
	MPI_Comm_size(here, &w->nlocal);
	MPI_Comm_free(&here);
	if (level < MPI_THREAD_SERIALIZED)
		return rt_fail(st, RT_EXIT_RUN, "this MPI cannot be called by two threads in turn");
	return true;
}

void
rt_mpi_finish(void)
{
	MPI_Finalize();
}

_Noreturn void
rt_abort(const struct rt_world *w, int code)
{
	if (w->ops == &mpi_ops)
		MPI_Abort(MPI_COMM_WORLD, code);
	_Exit(code);
}
