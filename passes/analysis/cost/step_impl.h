/* What step.c and step_change.c share. */
#ifndef PASSES_ANALYSIS_STEP_IMPL_H
#define PASSES_ANALYSIS_STEP_IMPL_H

#include "ir/base/vec.h"
#include "passes/analysis/cost/step.h"

#define STEP_NONE UINT32_MAX

/* What a replay reads of an event. */
struct step_event {
	replay_time end, duration; /* the end of all members is that of the event which runs */
	uint32_t prev;             /* on its stream; STEP_NONE: it does not run */
	uint32_t first, n;         /* edges: what it waits for */
	uint32_t member;           /* the next one that runs as a part of the same event */
};

/* What changes read besides. */
struct step_place {
	uint32_t next;     /* on its stream, or STEP_NONE */
	uint32_t position; /* in the order */
	uint32_t group;    /* the event that it runs as */
	uint32_t into;     /* the event that it was merged into, or STEP_NONE */
	uint32_t tail;     /* the last of the members that came with it */
	uint32_t reader;   /* the first edge by which somebody waits for it, or STEP_NONE */
	uint16_t stream;
};

struct step_edge {
	uint32_t of, on;      /* `of` waits for `on` */
	uint32_t next_reader; /* of `on` */
};

/* Values that the log puts back as they are: a name, and where in a step number i of it is. */
#define STEP_TIMES(TIME)                                                                           \
	TIME(END, event[i].end)                                                                    \
	TIME(DURATION, event[i].duration)

#define STEP_NUMBERS(NUMBER)                                                                       \
	NUMBER(PREV, event[i].prev)                                                                \
	NUMBER(MEMBER, event[i].member)                                                            \
	NUMBER(NEXT, place[i].next)                                                                \
	NUMBER(GROUP, place[i].group)                                                              \
	NUMBER(INTO, place[i].into)                                                                \
	NUMBER(TAIL, place[i].tail)                                                                \
	NUMBER(READER, place[i].reader)                                                            \
	NUMBER(LAST, last[i])                                                                      \
	NUMBER(SOURCE, source[i])

#define STEP_LOG_CODE(name, where) STEP_LOG_##name,

enum step_log_kind {
	STEP_TIMES(STEP_LOG_CODE) STEP_NUMBERS(STEP_LOG_CODE) STEP_LOG_MAKESPAN,
	STEP_LOG_DIRTY,  /* low and high */
	STEP_LOG_MOVE,   /* index: position now, and the one before */
	STEP_LOG_INSERT, /* index: position, and how many */
	STEP_LOG_SIZE,   /* events and edges */
};

/* The value before, of what `kind` and `index` name. */
struct step_log {
	uint32_t kind, index;
	union {
		replay_time time;
		struct {
			uint32_t a, b;
		} number;
	} old;
};

/*
 * Events n .. room-1 are free; behind them stands a head for each stream, which ends at 0 and comes
 * before all events of the stream. Edges inside of what runs as one lead to the first head.
 */
struct step {
	uint32_t n, room, nstreams, nedges, edges_room;
	uint32_t norder; /* positions: those that stand in the order, running or not */
	struct step_event *event;
	struct step_place *place;
	struct step_edge *edge;
	uint32_t *source; /* [nedges] edge.on, or a head where the edge does not count */
	uint32_t *order;
	uint32_t *last;     /* [nstreams] the event or head after which a stream ends */
	uint32_t low, high; /* positions to replay at least; low STEP_NONE: none */
	replay_time makespan;
	struct VEC(struct step_log) log;
};

static inline struct step_log *
step_log_add(struct step *s, enum step_log_kind kind, uint32_t index)
{
	VEC_ROOM(s, &s->log, s->log.n + 1);
	struct step_log *l = &s->log.at[s->log.n++];
	l->kind = kind;
	l->index = index;
	return l;
}

static inline void
step_log_number(struct step *s, enum step_log_kind kind, uint32_t index, uint32_t a, uint32_t b)
{
	struct step_log *l = step_log_add(s, kind, index);
	l->old.number.a = a;
	l->old.number.b = b;
}

static inline void
step_log_time(struct step *s, enum step_log_kind kind, uint32_t index, replay_time old)
{
	step_log_add(s, kind, index)->old.time = old;
}

#endif
