/* Agreement among ranks, and ranks as threads: see world.h. */
#include "runtime/comm/world.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

bool
rt_agree(struct rt_world *w, struct rt_status *st)
{
	const size_t bytes = (size_t)w->nranks * sizeof *st;
	struct rt_status *all = malloc(bytes);
	if (!all)
		rt_abort(w, RT_EXIT_RUN);
	w->ops->allgather(w, st, all, sizeof *st);
	for (int r = w->nranks - 1; r >= 0; r--)
		if (all[r].code)
			*st = all[r];
	free(all);
	return !st->code;
}

void
rt_meet(struct rt_world *w)
{
	const char mine = 0;
	char *all = malloc((size_t)w->nranks);
	if (!all)
		rt_abort(w, RT_EXIT_RUN);
	w->ops->allgather(w, &mine, all, sizeof mine);
	free(all);
}

/* One message between two threads: the sender publishes its memory and waits until it has been
 * read. */
struct mailbox {
	const void *bytes;
	bool full;
};

struct shared {
	pthread_barrier_t barrier;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	const void **mine;     /* [nranks], of an allgather */
	struct mailbox *boxes; /* [to * nranks + from] */
	struct rt_board board; /* of all ranks */
};

static void
threads_allgather(struct rt_world *w, const void *mine, void *all, size_t bytes)
{
	struct shared *s = w->shared;
	s->mine[w->rank] = mine;
	rt_activity_wait(w->activity, RT_WAIT_ALL, -1);
	pthread_barrier_wait(&s->barrier);
	for (int r = 0; r < w->nranks; r++)
		memcpy((char *)all + (size_t)r * bytes, s->mine[r], bytes);
	pthread_barrier_wait(&s->barrier);
	rt_activity_go_on(w->activity);
}

static void
threads_send(struct rt_world *w, const void *from, size_t bytes, int to)
{
	(void)bytes;
	struct shared *s = w->shared;
	struct mailbox *box = &s->boxes[to * w->nranks + w->rank];
	rt_activity_wait(w->activity, RT_WAIT_ONE, to);
	pthread_mutex_lock(&s->lock);
	*box = (struct mailbox){from, true};
	pthread_cond_broadcast(&s->changed);
	while (box->full)
		pthread_cond_wait(&s->changed, &s->lock);
	pthread_mutex_unlock(&s->lock);
	rt_activity_go_on(w->activity);
}

static void
threads_receive(struct rt_world *w, void *to, size_t bytes, int from)
{
	struct shared *s = w->shared;
	struct mailbox *box = &s->boxes[w->rank * w->nranks + from];
	rt_activity_wait(w->activity, RT_WAIT_ONE, from);
	pthread_mutex_lock(&s->lock);
	while (!box->full)
		pthread_cond_wait(&s->changed, &s->lock);
	memcpy(to, box->bytes, bytes);
	box->full = false;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	rt_activity_go_on(w->activity);
}

static const struct rt_world_ops threads_ops = {threads_allgather, threads_send, threads_receive};

static struct rt_activity *
new_board(size_t n)
{
	const size_t bytes = n * sizeof(struct rt_activity);
	struct rt_activity *ranks = aligned_alloc(_Alignof(struct rt_activity), bytes);
	if (!ranks)
		return NULL;
	memset(ranks, 0, bytes);
	for (size_t r = 0; r < n; r++)
		RT_PUT(ranks[r].rank, (int32_t)r);
	return ranks;
}

struct rt_world *
rt_threads_world(int nranks)
{
	const size_t n = (size_t)nranks;
	struct shared *s = calloc(1, sizeof *s);
	struct rt_world *worlds = calloc(n, sizeof *worlds);
	if (s) {
		s->mine = calloc(n, sizeof *s->mine);
		s->boxes = calloc(n * n, sizeof *s->boxes);
		s->board = (struct rt_board){new_board(n), nranks, 0, nranks};
	}
	if (!s || !worlds || !s->mine || !s->boxes || !s->board.ranks) {
		if (s) {
			free(s->mine);
			free(s->boxes);
			free(s->board.ranks);
		}
		free(s);
		free(worlds);
		return NULL;
	}
	pthread_barrier_init(&s->barrier, NULL, (unsigned)nranks);
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	for (int r = 0; r < nranks; r++)
		worlds[r] = (struct rt_world){.ops = &threads_ops,
			.rank = r,
			.nranks = nranks,
			.local = r,
			.nlocal = nranks,
			.activity = &s->board.ranks[r],
			.board = &s->board,
			.shared = s};
	return worlds;
}

void
rt_threads_world_free(struct rt_world *worlds)
{
	struct shared *s = worlds->shared;
	pthread_barrier_destroy(&s->barrier);
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->changed);
	free(s->mine);
	free(s->boxes);
	free(s->board.ranks);
	free(s);
	free(worlds);
}
