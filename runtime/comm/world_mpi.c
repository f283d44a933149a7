/* Ranks as MPI processes: see world.h. The main thread calls MPI here, the communication
 * thread in transport_mpi.c; never both at a time (MPI_THREAD_SERIALIZED). */
#include "runtime/comm/world.h"
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

/* MPI counts in int: longer messages are sent in pieces of this many bytes. */
#define PIECE ((size_t)1 << 30)
/* Tag of transfers outside of a step, the only messages on MPI_COMM_WORLD. */
#define TAG 1
/* Least seconds allowed to MPI for its start or its end: MPI works in them too, which takes seconds
 * on a loaded machine. */
#define MPI_SECONDS 20

static void
mpi_allgather(struct rt_world *w, const void *mine, void *all, size_t bytes)
{
	rt_activity_wait(w->activity, RT_WAIT_ALL, -1);
	MPI_Allgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, MPI_COMM_WORLD);
	rt_activity_go_on(w->activity);
}

static void
mpi_send(struct rt_world *w, const void *from, size_t bytes, int to)
{
	rt_activity_wait(w->activity, RT_WAIT_ONE, to);
	for (size_t at = 0; at < bytes; at += PIECE)
		MPI_Send((const char *)from + at, (int)(bytes - at < PIECE ? bytes - at : PIECE),
			MPI_BYTE, to, TAG, MPI_COMM_WORLD);
	rt_activity_go_on(w->activity);
}

static void
mpi_receive(struct rt_world *w, void *to, size_t bytes, int from)
{
	rt_activity_wait(w->activity, RT_WAIT_ONE, from);
	for (size_t at = 0; at < bytes; at += PIECE)
		MPI_Recv((char *)to + at, (int)(bytes - at < PIECE ? bytes - at : PIECE), MPI_BYTE,
			from, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	rt_activity_go_on(w->activity);
}

static const struct rt_world_ops mpi_ops = {mpi_allgather, mpi_send, mpi_receive};

bool
rt_mpi_started(void)
{
	/* Set by Open MPI's mpirun, by a PMIx launcher (srun --mpi=pmix) and by a PMI one
	 * (Hydra). */
	static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (getenv(names[i]))
			return true;
	return false;
}

/* Resources of the ranks of one machine: their board, in shared memory. */
struct machine {
	MPI_Comm ranks;
	MPI_Win window; /* MPI_WIN_NULL: no shared memory, a board for this rank alone */
	void *memory;   /* then */
	struct rt_board board;
};

/* The first cache line in a window, which has room for one more. */
static struct rt_activity *
aligned(void *memory)
{
	const uintptr_t line = _Alignof(struct rt_activity);
	return (struct rt_activity *)(((uintptr_t)memory + line - 1) / line * line);
}

static bool
share_board(struct machine *m, const struct rt_world *w)
{
	const size_t bytes = ((size_t)w->nlocal + 1) * sizeof(struct rt_activity);
	void *own, *first;
	MPI_Aint size;
	int unit;
	MPI_Comm_set_errhandler(m->ranks, MPI_ERRORS_RETURN);
	if (MPI_Win_allocate_shared(w->local ? 0 : (MPI_Aint)bytes, 1, MPI_INFO_NULL, m->ranks,
		    &own, &m->window) != MPI_SUCCESS) {
		m->window = MPI_WIN_NULL;
		return false;
	}
	MPI_Win_shared_query(m->window, 0, &size, &unit, &first);
	m->board = (struct rt_board){aligned(first), w->nlocal, w->local, 1};
	return true;
}

/* A board for this rank, cleared before any thread reads it. */
static bool
make_board(struct machine *m, struct rt_world *w)
{
	if (!share_board(m, w)) {
		m->memory = malloc(2 * sizeof(struct rt_activity));
		if (!m->memory)
			return false;
		m->board = (struct rt_board){aligned(m->memory), 1, 0, 1};
	}
	w->board = &m->board;
	w->activity = &m->board.ranks[m->board.own];
	memset(w->activity, 0, sizeof *w->activity);
	RT_PUT(w->activity->rank, w->rank);
	MPI_Barrier(m->ranks);
	return true;
}

static void
on_alarm(int number)
{
	static const char text[] = "error: MPI has waited too long for other ranks at its start "
				   "or end (-timeout): the run ends\n";
	(void)number;
	const ssize_t written = write(STDERR_FILENO, text, sizeof text - 1);
	(void)written;
	_exit(RT_EXIT_RUN);
}

/* Ends the process after this many seconds, but at least MPI_SECONDS; 0: cancels that. */
static void
set_alarm(double seconds)
{
	if (seconds > 0 && seconds < MPI_SECONDS)
		seconds = MPI_SECONDS;
	struct itimerval t = {.it_value = {(time_t)seconds,
				      (suseconds_t)((seconds - (double)(time_t)seconds) * 1e6)}};
	signal(SIGALRM, seconds > 0 ? on_alarm : SIG_DFL);
	setitimer(ITIMER_REAL, &t, NULL);
}

bool
rt_mpi_world(struct rt_world *w, double seconds, struct rt_status *st)
{
	int level = MPI_THREAD_SINGLE;
	*w = (struct rt_world){.ops = NULL};
	set_alarm(seconds);
	if (MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level) != MPI_SUCCESS)
		return rt_fail(st, RT_EXIT_RUN, "MPI_Init_thread failed");
	struct machine *m = calloc(1, sizeof *m);
	*w = (struct rt_world){.ops = &mpi_ops, .shared = m};
	MPI_Comm_rank(MPI_COMM_WORLD, &w->rank);
	MPI_Comm_size(MPI_COMM_WORLD, &w->nranks);
	if (!m)
		rt_abort(w, RT_EXIT_RUN);
	MPI_Comm_split_type(
		MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, w->rank, MPI_INFO_NULL, &m->ranks);
	MPI_Comm_rank(m->ranks, &w->local);
	MPI_Comm_size(m->ranks, &w->nlocal);
	if (!make_board(m, w))
		rt_abort(w, RT_EXIT_RUN);
	set_alarm(0);
	if (level < MPI_THREAD_SERIALIZED)
		return rt_fail(
			st, RT_EXIT_RUN, "this MPI library does not support MPI_THREAD_SERIALIZED");
	return true;
}

void
rt_mpi_finish(struct rt_world *w, double seconds)
{
	struct machine *m = w->shared;
	set_alarm(seconds);
	w->activity = NULL;
	w->board = NULL;
	if (m->window != MPI_WIN_NULL)
		MPI_Win_free(&m->window);
	MPI_Comm_free(&m->ranks);
	free(m->memory);
	free(m);
	MPI_Finalize();
	set_alarm(0);
}

_Noreturn void
rt_abort(const struct rt_world *w, int code)
{
	if (w->ops == &mpi_ops)
		MPI_Abort(MPI_COMM_WORLD, code);
	_Exit(code);
}
