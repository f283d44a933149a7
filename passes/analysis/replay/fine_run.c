/*
 * A running collective: the progress of each of its places. A place enters a stop, a turn of a
 * round in which it sends or receives, once it has left the previous stop, and its sends of this
 * stop for the previous chunk are out; it leaves the stop when its sends are out and its receives
 * are complete. A sender may be turns ahead of the receiver: done[] of a send counts how often it
 * was received. The first chunk of a part enters a stop once all sends and receives of the place
 * for the previous part, in the stage of that stop, are complete: to_come[] counts them.
 */
#include "passes/analysis/replay/fine_net.h"

#include "ir/base/vec.h"

#include <string.h>
#include <talloc.h>

static struct fine_place *
place_of(const struct fine_run *run, uint32_t place, uint32_t chunk)
{
	return &run->place[(size_t)place * run->plan->chunks + chunk];
}

static void
todo(struct fine_net *net, struct fine_todo t)
{
	VEC_PUSH(net, &net->todo, t);
}

static void
may_enter(struct fine_net *net, struct fine_run *run, uint32_t place, uint32_t chunk)
{
	todo(net, (struct fine_todo){run, place, chunk, FINE_NO_SEND, FINE_UNDER_WAY});
}

static uint32_t *
to_come(const struct fine_run *run, uint32_t place, uint32_t chunk, uint32_t stage)
{
	const struct fine_plan *plan = run->plan;
	return &run->to_come[((size_t)place * plan->chunks + chunk) * plan->nstages + stage];
}

/* Is the chunk the first one of a part other than the first? */
static bool
follows_a_part(const struct fine_plan *plan, uint32_t chunk)
{
	return chunk && plan->parts > 1 && chunk % (plan->chunks / plan->parts) == 0;
}

/* The next chunk may be waiting for this one. */
static void
wake_next_chunk(struct fine_net *net, struct fine_run *run, uint32_t place, uint32_t chunk)
{
	const struct fine_place *next = place_of(run, place, chunk) + 1;
	if (chunk + 1 < run->plan->chunks && !next->entered &&
		next->stop < run->plan->place_first[place + 1])
		may_enter(net, run, place, chunk + 1);
}

/* Are the sends of the previous chunk out at the stop that `at` wants to enter? */
static bool
chunk_before_is_out(const struct fine_place *at)
{
	const struct fine_place *before = at - 1;
	if (before->stop == at->stop && before->turn == at->turn)
		return before->entered && !before->missing_out;
	return before->stop > at->stop || (before->stop == at->stop && before->turn > at->turn);
}

/* Does the previous chunk allow a place to enter its next stop? */
static bool
is_free(const struct fine_run *run, uint32_t place, uint32_t chunk)
{
	const struct fine_plan *plan = run->plan;
	const struct fine_place *at = place_of(run, place, chunk);
	if (follows_a_part(plan, chunk))
		return !*to_come(run, place, chunk - 1, plan->stop[at->stop].stage);
	return !chunk || chunk_before_is_out(at);
}

static void
leave(struct fine_net *net, struct fine_run *run, uint32_t place, uint32_t chunk)
{
	const struct fine_plan *plan = run->plan;
	struct fine_place *at = place_of(run, place, chunk);
	at->entered = false;
	if (++at->turn == plan->stop[at->stop].repeat) {
		at->turn = 0;
		at->stop++;
	}
	if (at->stop < plan->place_first[place + 1]) {
		may_enter(net, run, place, chunk);
	} else if (--run->live == 0) {
		run->next_ended = net->ended;
		net->ended = run;
	}
	wake_next_chunk(net, run, place, chunk);
}

static void
enter(struct fine_net *net, replay_time now, struct fine_run *run, uint32_t place, uint32_t chunk)
{
	const struct fine_plan *plan = run->plan;
	struct fine_place *at = place_of(run, place, chunk);
	if (at->entered || at->stop == plan->place_first[place + 1] || !is_free(run, place, chunk))
		return;
	const struct fine_stop *stop = &plan->stop[at->stop];
	at->entered = true;
	at->missing = at->missing_out = stop->nout;
	for (uint32_t k = 0; k < stop->nin; k++) {
		size_t in = plan->at_stop[stop->first_in + k];
		at->missing += run->done[in * plan->chunks + chunk] <= at->turn;
	}
	if (!stop->nout)
		wake_next_chunk(net, run, place, chunk);
	if (!at->missing)
		leave(net, run, place, chunk);
	for (uint32_t k = 0; k < stop->nout; k++) {
		uint32_t send = plan->at_stop[stop->first_out + k];
		enum fine_progress progress = fine_net_send(net, now, run, send, chunk);
		if (progress != FINE_UNDER_WAY)
			todo(net, (struct fine_todo){run, place, chunk, send, progress});
	}
}

/* Counts a completed send that a place waits for to leave its stop. */
static void
arrive(struct fine_net *net, struct fine_run *run, uint32_t place, uint32_t chunk)
{
	if (--place_of(run, place, chunk)->missing == 0)
		leave(net, run, place, chunk);
}

static void
sent(struct fine_net *net, struct fine_run *run, uint32_t send, uint32_t chunk)
{
	uint32_t from = run->plan->send[send].from;
	if (--place_of(run, from, chunk)->missing_out == 0)
		wake_next_chunk(net, run, from, chunk);
	arrive(net, run, from, chunk);
}

/* Counts a completed send or receive of a place. */
static void
count_come(
	struct fine_net *net, struct fine_run *run, uint32_t place, uint32_t stop, uint32_t chunk)
{
	if (--*to_come(run, place, chunk, run->plan->stop[stop].stage) == 0 &&
		follows_a_part(run->plan, chunk + 1))
		wake_next_chunk(net, run, place, chunk);
}

static void
received(struct fine_net *net, struct fine_run *run, uint32_t send, uint32_t chunk)
{
	const struct fine_send *s = &run->plan->send[send];
	if (run->plan->nstages) {
		count_come(net, run, s->from, s->from_stop, chunk);
		count_come(net, run, s->to, s->to_stop, chunk);
	}
	const struct fine_place *to = place_of(run, s->to, chunk);
	uint32_t done = ++run->done[(size_t)send * run->plan->chunks + chunk];
	if (to->entered && to->stop == s->to_stop && to->turn == done - 1)
		arrive(net, run, s->to, chunk);
}

static void
do_todo(struct fine_net *net, replay_time now)
{
	while (net->todo.n) {
		struct fine_todo t = VEC_POP(&net->todo);
		if (t.send == FINE_NO_SEND) {
			enter(net, now, t.run, t.place, t.chunk);
			continue;
		}
		sent(net, t.run, t.send, t.chunk);
		if (t.progress == FINE_RECEIVED)
			received(net, t.run, t.send, t.chunk);
	}
}

void
fine_run_happens(struct fine_net *net, replay_time now, uint32_t number)
{
	struct fine_cause f;
	bool out;
	enum fine_progress progress = fine_net_happens(net, now, number, &f, &out);
	if (out)
		sent(net, f.run, f.send, f.chunk);
	if (progress == FINE_RECEIVED)
		received(net, f.run, f.send, f.chunk);
	do_todo(net, now);
}

struct fine_run *
fine_run_begin(
	struct fine_net *net, replay_time now, const struct fine_plan *plan, uint32_t instance)
{
	struct fine_run *run = NEW(net, struct fine_run);
	run->plan = plan;
	run->instance = instance;
	run->live = plan->nplaces * plan->chunks;
	size_t chunks = plan->chunks, places = plan->nplaces * chunks,
	       sends = plan->nsends * chunks;
	run->place = ZERO_ARRAY(run, struct fine_place, places ? places : 1);
	run->done = ZERO_ARRAY(run, uint32_t, sends ? sends : 1);
	size_t nstages = plan->nstages;
	run->to_come = nstages ? NEW_ARRAY(run, uint32_t, places * nstages) : NULL;
	for (uint32_t p = 0; p < plan->nplaces; p++)
		for (uint32_t c = 0; c < chunks; c++) {
			place_of(run, p, c)->stop = plan->place_first[p];
			if (nstages)
				memcpy(to_come(run, p, c, 0), &plan->in_stage[p * nstages],
					nstages * sizeof *run->to_come);
		}
	if (!run->live) {
		run->next_ended = net->ended;
		net->ended = run;
	}
	for (uint32_t p = 0; p < plan->nplaces; p++)
		may_enter(net, run, p, 0);
	do_todo(net, now);
	return run;
}

/* Handles everything at the earliest moment of the heap; returns that moment. */
static replay_time
next_moment(struct fine_net *net)
{
	replay_time now = net->heap.entry[0].time;
	while (net->heap.n && net->heap.entry[0].time == now)
		fine_run_happens(net, now, fine_heap_pop(&net->heap));
	fine_net_share(net, now);
	return now;
}

void
fine_run_until(struct fine_net *net, replay_time now, replay_time until)
{
	fine_net_share(net, now);
	while (net->heap.n && net->heap.entry[0].time < until)
		next_moment(net);
}

replay_time
fine_run_alone(struct fine_net *net, const struct fine_plan *plan)
{
	replay_time end = 0;
	struct fine_run *run = fine_run_begin(net, 0, plan, 0);
	fine_net_share(net, 0);
	while (!net->ended)
		end = next_moment(net);
	net->ended = NULL;
	talloc_free(run);
	return end;
}
