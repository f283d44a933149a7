/* Linked into a program with -Wl,--wrap=FUNCTION for each function below: STUCK_IN names the one
 * in which rank 1 stops, as by a signal, or for rt_data_train never comes back in step 6. Every
 * step takes 10 ms, so that programs run for as long on any machine. */
#include "runtime/data/data.h"
#include "runtime/comm/world.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool
is_stuck(const char *function, const struct rt_world *w)
{
	const char *wanted = getenv("STUCK_IN");
	return w->rank == 1 && wanted && !strcmp(wanted, function);
}

void __real_rt_data_train(const struct rt_data *d, struct rt_rank *r, int64_t step);
void __wrap_rt_data_train(const struct rt_data *d, struct rt_rank *r, int64_t step);

void
__wrap_rt_data_train(const struct rt_data *d, struct rt_rank *r, int64_t step)
{
	usleep(10000);
	while (step == 5 && is_stuck("rt_data_train", r->world))
		pause();
	__real_rt_data_train(d, r, step);
}

/* What a rank sends when a file is written. */
const void *__real_rt_rank_view(struct rt_rank *r, const struct rt_tensor *t, int64_t slice);
const void *__wrap_rt_rank_view(struct rt_rank *r, const struct rt_tensor *t, int64_t slice);

const void *
__wrap_rt_rank_view(struct rt_rank *r, const struct rt_tensor *t, int64_t slice)
{
	if (is_stuck("rt_rank_view", r->world))
		raise(SIGSTOP);
	return __real_rt_rank_view(r, t, slice);
}

void __real_rt_mpi_finish(struct rt_world *w, double seconds);
void __wrap_rt_mpi_finish(struct rt_world *w, double seconds);

void
__wrap_rt_mpi_finish(struct rt_world *w, double seconds)
{
	if (is_stuck("rt_mpi_finish", w))
		raise(SIGSTOP);
	__real_rt_mpi_finish(w, seconds);
}
