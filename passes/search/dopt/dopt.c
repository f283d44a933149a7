/*
 * Engine dopt. A plan is made, then improved; everything is judged by replay.
 *
 *     constructed   kernels       the largest saving is fused first, then copied     fuse.c
 *                   collectives   the best grouping for when gradients are ready     pack.c
 *                   order         forward-backward scheduling on both streams        order.c
 *                   collectives and order alternately until neither improves, since each depends
 *                   on the other
 *     improved      collectives, one change after another                            sweep.c
 *                   random changes, at first also to worse plans; occasionally the collectives
 *                   and the order are constructed anew                               walk.c
 *
 * Two searchers improve plans in parallel, each with its own random numbers and its own quota of
 * evaluations. At the end of each round both continue from the better of the two plans. The result
 * does not depend on the number of threads or their speed.
 */
#include "passes/search/dopt/impl.h"

#include "ir/base/alloc.h"
#include "ir/base/clock.h"

#include <pthread.h>
#include <talloc.h>

enum dopt_limit {
	DOPT_SEARCHERS = 2,
	DOPT_CLOCK = 16,      /* evaluations between reads of the clock: < 1 ms */
	DOPT_ROUND = 4000,    /* evaluations of a searcher per round: a tenth of a second */
	DOPT_ROUND_NODE = 64, /* and for each node, if that is less */
	DOPT_PATIENCE = 40,   /* the search ends after this many rounds without improvement */
	DOPT_TURNS = 6,       /* rounds of order and messages */
	DOPT_SWEEPS = 12,     /* the first of two searchers sweeps kernels up to that round */
	DOPT_TIE = 64,        /* see dopt_score */
	DOPT_NOISE = 64,      /* in 1/1024: noise of the other searcher's fusions */
	DOPT_SMALL = 64,      /* larger steps are not constructed again */
	DOPT_RESTART_NOISE = 1000,
};

/* --- a searcher --- */

/* Creates a searcher on p, and replays p; owned by `owner`. */
static struct dopt *
dopt_create(const void *owner, struct plan *p, const struct search_options *o, uint64_t seed)
{
	struct dopt *d = NEW(owner, struct dopt);

	*d = (struct dopt){.p = p, .o = o, .random = {seed}, .room = plan_room(p)};
	d->nops = plan_ops(p);
	d->reader = ARRAY_NEW(d, uint32_t, d->room + 1);
	d->list = ARRAY_NEW(d, uint32_t, d->room + 1);
	d->colour = ARRAY_NEW(d, uint32_t, d->nops);
	d->best_time = INT64_MAX;
	dopt_colour(d);
	d->near = dopt_near_create(d);
	return d;
}

bool
dopt_over(struct dopt *d)
{
	if (d->over || d->tick++ % DOPT_CLOCK)
		return d->over;
	d->over = (d->deadline > 0 && clock_seconds() >= d->deadline) ||
		  (d->o->interrupted && *d->o->interrupted);
	return d->over;
}

uint64_t
dopt_evaluations(const struct dopt *d)
{
	return plan_counts(d->p).replays;
}

bool
dopt_more(struct dopt *d)
{
	return dopt_evaluations(d) < d->quota && !dopt_over(d);
}

/*
 * Of two plans that take equally long, the one that does less work is better, as its slack may let
 * another change help. So the sums of times count a little, too.
 */
void
dopt_refresh(struct dopt *d)
{
	d->now = plan_replay(d->p);
	d->score = d->now + (plan_compute(d->p) + plan_communication(d->p)) / DOPT_TIE;
}

void
dopt_evaluate(struct dopt *d)
{
	dopt_refresh(d);
	if (d->now >= d->best_time)
		return;
	d->best_time = d->now;
	talloc_free(d->best);
	d->best = plan_save(d, d->p);
}

bool
dopt_keep(struct dopt *d, uint32_t mark, replay_time limit)
{
	replay_time now = d->now, before = d->score;

	dopt_evaluate(d);
	if (d->score <= limit)
		return true;
	plan_undo(d->p, mark);
	d->now = now;
	d->score = before;
	return false;
}

static void
go_on_from(struct dopt *d, const struct plan_save *s)
{
	plan_load(d->p, s);
	dopt_refresh(d);
}

/* --- what it does --- */

/* Alternates between messages and order. */
static void
coordinate(struct dopt *d)
{
	for (int turn = 0; turn < DOPT_TURNS && dopt_more(d); turn++) {
		bool packed = dopt_pack_all(d),
		     ordered = dopt_order_all(d, DOPT_INSERT | DOPT_DISPATCH);
		plan_forget(d->p);
		if (!packed && !ordered)
			break;
	}
}

/*
 * If messages are packed first, they follow the given order of gradients; if the order is made
 * first, it is for unpacked messages. Which is better depends on the step.
 */
static void
make(struct dopt *d, uint32_t noise, bool alike)
{
	dopt_fuse_all(d, noise, false);
	dopt_inline_all(d);
	dopt_fuse_all(d, noise, alike);
	dopt_part_all(d);
	dopt_evaluate(d);
	plan_forget(d->p);
	struct plan_save *fused = plan_save(NULL, d->p);
	coordinate(d);
	for (unsigned ways = DOPT_INSERT; ways <= DOPT_DISPATCH; ways++) {
		go_on_from(d, fused);
		dopt_order_all(d, ways);
		coordinate(d);
	}
	talloc_free(fused);
}

/* Once without fusing kernels that have only their shape in common, and once with it. */
static void
make_all(struct dopt *d, uint32_t noise)
{
	struct plan_save *before = plan_save(NULL, d->p);

	make(d, noise, false);
	if (dopt_more(d)) {
		go_on_from(d, before);
		make(d, noise, true);
	}
	talloc_free(before);
}

/* --- rounds --- */

struct team {
	struct search *s;
	struct dopt *d[DOPT_SEARCHERS];
	uint32_t round;
	struct plan_save *first; /* the plan that the search was given */
	uint32_t unchanged;      /* rounds without improvement */
	bool small;              /* see DOPT_SMALL */
};

struct task {
	struct team *team;
	uint32_t first; /* runs searchers first, first + workers ... */
	uint32_t workers;
};

static void
work(struct team *t, uint32_t i)
{
	static const uint8_t cold[] = {14, 13, 12, 14, 11, 14, 10};
	struct dopt *d = t->d[i];

	if (t->round == 0) {
		make_all(d, i ? DOPT_NOISE : 0);
		return; /* the best of them, from which all continue */
	}
	if (t->round == 1) {
		dopt_sweep_messages(d);
		dopt_sweep_anew(d);
		return;
	}
	if (i == 1 && t->round % 2 && t->small) {
		go_on_from(d, t->first);
		make_all(d, DOPT_RESTART_NOISE);
	}
	if (i == 0 && t->round < DOPT_SWEEPS) {
		dopt_sweep_kernels(d, true);
		dopt_sweep_kernels(d, false);
	}
	if (t->round % 4 == 1)
		coordinate(d);
	d->cold = cold[(t->round + i) % (sizeof cold / sizeof *cold)];
	dopt_walk(d);
}

static void *
thread_main(void *data)
{
	const struct task *k = data;

	for (uint32_t i = k->first; i < DOPT_SEARCHERS; i += k->workers)
		work(k->team, i);
	return NULL;
}

/* Runs all searchers; this thread runs those that have no thread of their own. */
static void
run_round(struct team *t, uint32_t workers)
{
	pthread_t thread[DOPT_SEARCHERS];
	struct task task[DOPT_SEARCHERS];
	bool started[DOPT_SEARCHERS] = {false};

	workers = workers < 1 ? 1 : workers > DOPT_SEARCHERS ? DOPT_SEARCHERS : workers;
	for (uint32_t w = 0; w < workers; w++)
		task[w] = (struct task){t, w, workers};
	for (uint32_t w = 1; w < workers; w++)
		started[w] = !pthread_create(&thread[w], NULL, thread_main, &task[w]);
	thread_main(&task[0]);
	for (uint32_t w = 1; w < workers; w++) {
		if (started[w])
			pthread_join(thread[w], NULL);
		else
			thread_main(&task[w]);
	}
}

/* Small steps need fewer evaluations before the searchers compare their plans. */
static uint64_t
round_of(const struct team *t)
{
	uint64_t n = DOPT_ROUND_NODE * (uint64_t)plan_count(t->s->plan);

	return n < DOPT_ROUND ? n : DOPT_ROUND;
}

/* Divides the remaining evaluations into quotas; false: none are left. */
static bool
share_quota(struct team *t)
{
	uint64_t limit = t->s->o->evaluations, used, round = round_of(t);

	if (!search_more(t->s))
		return false;
	used = t->s->r.evaluations;
	if (limit && (limit - used) / DOPT_SEARCHERS < round)
		round = used < limit ? (limit - used) / DOPT_SEARCHERS : 0;
	for (uint32_t i = 0; i < DOPT_SEARCHERS; i++)
		t->d[i]->quota = dopt_evaluations(t->d[i]) + round;
	if (!round)
		t->s->r.end = SEARCH_EVALUATIONS;
	return round > 0;
}

/* All searchers continue from the best plan, which also becomes the plan of the search. */
static void
exchange(struct team *t)
{
	const struct dopt *best = t->d[0];

	for (uint32_t i = 1; i < DOPT_SEARCHERS; i++)
		if (t->d[i]->best && (!best->best || t->d[i]->best_time < best->best_time))
			best = t->d[i];
	t->s->elsewhere = 0;
	for (uint32_t i = 1; i < DOPT_SEARCHERS; i++)
		t->s->elsewhere += plan_counts(t->d[i]->p).replays;
	t->unchanged++;
	if (!best->best)
		return;
	for (uint32_t i = 0; i < DOPT_SEARCHERS; i++)
		go_on_from(t->d[i], best->best);
	if (search_found(t->s, plan_replay(t->s->plan)))
		t->unchanged = 0;
}

/* The first searcher has the best of the starting plans: all continue from it, unless the plan made
 * from the given one is better. */
static void
begin_with_best(struct team *t)
{
	struct dopt *d = t->d[0];

	if (t->s->r.after >= t->s->r.before)
		return;
	go_on_from(d, t->s->best);
	dopt_evaluate(d);
	go_on_from(d, t->first);
}

void
search_dopt(struct search *s)
{
	struct team t = {.s = s, .first = plan_save(NULL, s->plan)};

	t.small = plan_count(s->plan) <= DOPT_SMALL;
	for (uint32_t i = 0; i < DOPT_SEARCHERS; i++) {
		/* Separate talloc trees: a thread may allocate only in its own. */
		struct plan *p = i ? plan_clone(NULL, s->plan) : s->plan;
		t.d[i] = dopt_create(NULL, p, s->o, s->o->seed + i);
		if (s->o->time_limit > 0)
			t.d[i]->deadline = s->started + s->o->time_limit;
		dopt_refresh(t.d[i]);
	}
	begin_with_best(&t);
	for (; t.unchanged < DOPT_PATIENCE && share_quota(&t); t.round++) {
		/* Each replay of such a plan makes a module, in a context that threads share. */
		run_round(&t, plan_is_whole(s->plan) ? 1 : s->o->workers);
		exchange(&t);
	}
	talloc_free(t.first);
	for (uint32_t i = 0; i < DOPT_SEARCHERS; i++) {
		if (i)
			talloc_free(t.d[i]->p);
		talloc_free(t.d[i]);
	}
}
