/*
 * A step as a search changes it: the events of a replay_graph that can be fused, split, moved and
 * given other durations, replayed from the first change on until nothing is different, and undone.
 *
 *     make once        step_create(graph)
 *     a candidate      step_merge(s, into, from, time), step_move ... false: not possible
 *                      step_replay(s) -> makespan, what replay_run says of the whole, to the bit
 *     not better       step_undo(s, mark) -> all as it was, times included, without a replay
 *
 * An event that is merged into another runs as a part of it. Edges are not rewritten for that: what
 * waited for a member waits for the event that runs. No call but step_create and step_snapshot
 * allocates, save that the list of what can be undone grows.
 */
#ifndef PASSES_ANALYSIS_STEP_H
#define PASSES_ANALYSIS_STEP_H

#include "passes/analysis/replay/replay.h"

struct step;

/*
 * A copy of the graph with room for `extra` events more, which step_split takes; replayed. The
 * graph must pass replay_check. Owned by `owner`.
 */
struct step *step_create(const void *owner, const struct replay_graph *g, uint32_t extra);

/* --- changes; events are those of the graph, and those that step_split made --- */

/* The event runs (it is not merged into another) and takes that long from now on. */
void step_set_duration(struct step *s, uint32_t event, replay_time duration);

/*
 * `from` becomes a part of `into`, which waits for what both waited for, stays where it is in the
 * order and takes `duration`: ops that are fused, or tensors that one collective carries. Both run,
 * on the same stream. False, and nothing changes, where something would have to be issued before
 * what it waits for.
 */
bool step_merge(struct step *s, uint32_t into, uint32_t from, replay_time duration);

/*
 * `from`, which was merged into another event, runs by itself again, with all that was merged into
 * it before; in the order it stands where it did. False, and nothing changes, where the order does
 * not allow that any more.
 */
bool step_unmerge(struct step *s, uint32_t from, replay_time rest_duration, replay_time duration);

/*
 * Cuts an event that runs into n parts, the last of which is the event itself; the others stand
 * before it in the order, wait for what it waits for, and it waits for them. Their numbers go to
 * part[n - 1]. False, and nothing changes, where there is no room: it takes n events.
 */
bool step_split(
	struct step *s, uint32_t event, uint32_t n, const replay_time *duration, uint32_t *part);

/*
 * The event, which runs, gets that position in the order; those between move by one. Events that
 * are merged into others keep a position. False, and nothing changes, where it does not come behind
 * all that it waits for and before all that wait for it.
 */
bool step_move(struct step *s, uint32_t event, uint32_t position);

/* --- replay --- */

/* The makespan after all changes. */
replay_time step_replay(struct step *s);

/*
 * Partial replay: only as far as the event in the order; returns its end, and all that is issued
 * before it has its times too. The rest waits for the next replay.
 */
replay_time step_replay_to(struct step *s, uint32_t event);

/*
 * Partial replay of a few events that run, as of the sends and the collective of one tensor: start
 * and end (either may be NULL) of event[i] go to start[i], end[i], with all other events as they
 * were replayed last. Changes nothing. Where no other event that comes before them has changed, it
 * is what step_replay would say.
 */
void step_replay_set(
	struct step *s, const uint32_t *event, uint32_t n, replay_time *start, replay_time *end);

/* Of the last replay; of an event that is merged into another, when that ends. */
replay_time step_end(const struct step *s, uint32_t event);

/* --- undo --- */

/* Now. */
uint32_t step_mark(const struct step *s);

/* Undoes all changes and replays since then, the newest first. */
void step_undo(struct step *s, uint32_t mark);

/* Nothing before now can be undone; marks are void. */
void step_forget(struct step *s);

/* --- what it is now --- */

/* Numbers of events and positions are below that. */
uint32_t step_events(const struct step *s);

/* The event that it runs as: itself, unless it was merged. */
uint32_t step_runs_as(const struct step *s, uint32_t event);

uint32_t step_position(const struct step *s, uint32_t event);

/* The step as a graph in issue order, owned by `owner`; event[i] is the number here of event i. */
struct step_snapshot {
	struct replay_graph graph;
	uint32_t *event;
};

struct step_snapshot *step_snapshot(const void *owner, const struct step *s);

#endif
