/*
 * Schedules of pipelines: for each rank the order of its actions. The text is the CSV that
 * torch.distributed.pipelining reads and writes, a line for each rank:
 *
 *     0F0,0F1,0B0,,0B1          stage, kind, micro-batch; an empty cell is an idle step
 *     1F0,1B0,1F1,1B1
 *     (0F7;7B3)OVERLAP_F_B      a forward and a backward of one rank that may overlap
 *     0UNSHARD,0RESHARD         without a micro-batch
 *
 * A stage is a piece of the model, the first is 0; a rank has one stage or several. The backward of
 * a stage is one action (B), or the gradients of its inputs (I), which the stage before needs, and
 * of its weights (W), which nothing needs. Older files have B and W for I and W: such a B is read
 * as I.
 *
 * Without sends and receives a schedule says when to compute; schedule_lower adds them.
 */
#ifndef PASSES_PIPELINE_SCHEDULE_H
#define PASSES_PIPELINE_SCHEDULE_H

#include "ir/base/diag.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* ROW(enumerator, text, of a micro-batch). */
#define SCHEDULE_KINDS(ROW)                                                                        \
	ROW(FORWARD, "F", true)                                                                    \
	ROW(INPUT, "I", true)                                                                      \
	ROW(WEIGHT, "W", true)                                                                     \
	ROW(BACKWARD, "B", true)                                                                   \
	ROW(SEND_F, "SEND_F", true)                                                                \
	ROW(RECV_F, "RECV_F", true)                                                                \
	ROW(SEND_B, "SEND_B", true)                                                                \
	ROW(RECV_B, "RECV_B", true)                                                                \
	ROW(UNSHARD, "UNSHARD", false)                                                             \
	ROW(RESHARD, "RESHARD", false)                                                             \
	ROW(REDUCE_GRAD, "REDUCE_GRAD", false)

enum schedule_kind {
#define SCHEDULE_KIND(code, text, step) SCHEDULE_##code,
	SCHEDULE_KINDS(SCHEDULE_KIND)
#undef SCHEDULE_KIND
		SCHEDULE_IDLE, /* an empty cell */
};

/* Limit on the numbers of stages and micro-batches: both fit in half a word of a key. */
#define SCHEDULE_MOST (1 << 20)
/* Limit on the cells of a text: their tables stay below the 256 MiB of a talloc chunk. */
#define SCHEDULE_CELLS_MOST (1 << 21)

struct schedule_action {
	uint8_t kind;      /* enum schedule_kind */
	bool overlapped;   /* shares its cell, an OVERLAP_F_B, with adjacent actions */
	bool old_input;    /* an I that is written as B */
	int32_t stage;     /* SEND_F and SEND_B: of the sender; RECV_F and RECV_B: the receiver */
	int32_t step;      /* micro-batch; -1: none */
	int32_t cell;      /* position in the line, from 0 */
	struct ir_loc loc; /* none if the schedule was not read from a text */
};

struct schedule_rank {
	struct schedule_action *action; /* owned by the schedule */
	int n;
};

struct schedule {
	struct schedule_rank *rank;
	int nranks, nstages, nsteps;
	int *rank_of; /* for each stage: the first rank with an action of it, or -1 */
};

/* Is it F, I, W or B? */
bool schedule_computes(enum schedule_kind kind);

/* Does the schedule have sends or receives? */
bool schedule_has_messages(const struct schedule *s);

/* "2F0", as in the text; owned by `owner`. */
char *schedule_action_text(const void *owner, const struct schedule_action *a);

/*
 * Reads a text. The largest numbers in it determine how many stages and micro-batches there are;
 * schedule_verify checks that none is missing. NULL, with an error at each bad cell. Owned by
 * `owner`.
 */
struct schedule *schedule_read(
	const void *owner, struct diag *diag, const char *name, const char *text, size_t length);

/* Writes the text that schedule_read reads. A schedule that was read is written with the same
 * cells. */
void schedule_write(FILE *out, const struct schedule *s);

/* Creates an empty schedule, owned by `owner`; schedule_add appends actions, and schedule_finish
 * completes it as if it had been read. */
struct schedule *schedule_create(const void *owner, int nranks);
void schedule_add(struct schedule *s, int rank, enum schedule_kind kind, int stage, int step);
void schedule_finish(struct schedule *s);

/* How the sends and receives of a schedule wait for each other. */
enum schedule_waits {
	/* The messages between two ranks, in both directions, form one queue: the k-th of one rank
	 * must be the k-th of the other. Ranks compute meanwhile. This is NCCL with one
	 * communicator for each two ranks. */
	SCHEDULE_QUEUED,
	/* Each message is matched with its receive, as MPI_Isend and MPI_Irecv with distinct
	 * tags. */
	SCHEDULE_TAGGED,
	/* A rank waits in each send and each receive until both ranks have arrived: MPI_Ssend. */
	SCHEDULE_BLOCKING,
	/* Without sends and receives: ranks run their k-th cells at the same time, then exchange
	 * the results. This is PipelineScheduleMulti of PyTorch, which hangs if an idle cell is
	 * missing. */
	SCHEDULE_LOCKSTEP,
};

/*
 * Is the schedule complete and free of deadlocks? It reports each error with rank, cell and reason:
 *
 *   - each stage of each micro-batch has F once, and B once or I and W once, all on one rank, and
 *     no number is left out
 *   - F comes before B or I, and I before W
 *   - sends and receives, if there are any: one of each for each dependence between ranks, a send
 *     after the action that makes the value, a receive before the one that reads it
 *   - no rank waits for itself through others: F waits for F of the stage before, B and I for B or
 *     I of the stage after. The message of a deadlock has a note for each action of the cycle
 *   - in lockstep: what an action waits for is in an earlier cell
 *
 * Any number of micro-batches is allowed, also fewer than ranks.
 */
bool schedule_verify(const struct schedule *s, struct diag *diag, enum schedule_waits how);

/*
 * The same schedule with sends and receives, as torch.distributed.pipelining makes them: a send
 * right after the action that makes the value, and at the same time the receive at the current
 * position of the other rank, so that both have their messages in the same order. Idle cells are
 * left out. With `join`, as in PyTorch, an I directly before its W becomes a B, and the previous
 * stage waits for both. NULL, reported: the schedule fails schedule_verify, or already has sends or
 * receives.
 */
struct schedule *schedule_lower(
	const void *owner, const struct schedule *s, struct diag *diag, bool join);

/*
 * The same schedule with idle cells, so that it runs in lockstep, in the fewest cells; existing
 * idle cells are left out first. NULL, reported, as for schedule_lower.
 */
struct schedule *schedule_align(const void *owner, const struct schedule *s, struct diag *diag);

/* Times and memory of a stage, in any unit of time and any unit of memory. */
struct schedule_stage {
	double forward, input, weight; /* F, I, W; B is I and W */
	double message;                /* from the stage to the next one, or back */
	double live;                   /* memory that F keeps, until W or B ... */
	double kept;                   /* ... of which I leaves this share, 0 to 1 */
};

/* A rank in the simulation. */
struct schedule_use {
	double busy;       /* time spent computing */
	double begin, end; /* of its first and of its last action */
	double bubble;     /* idle time between `begin` and `end` */
	double peak;       /* largest sum of the memory that its stages keep */
	double *start;     /* of each of its actions; idle cells: that of the next action */
	double *finish;
};

struct schedule_cost {
	double makespan;     /* end of the last rank */
	double bubble, peak; /* the largest of any rank */
	struct schedule_use *rank;
};

/*
 * Simulates a schedule: each action starts once its rank is free and what it waits for is done. A
 * rank runs overlapped actions one after the other; sends and receives take no time of a rank,
 * unless `how` is SCHEDULE_BLOCKING. `stage` has times and memory of each stage. NULL, reported:
 * the schedule fails schedule_verify.
 */
struct schedule_cost *schedule_cost(const void *owner, const struct schedule *s, struct diag *diag,
	enum schedule_waits how, const struct schedule_stage *stage);

/*
 * Times and memory of each of nstages stages of a model whose n pieces take `piece`: a stage has
 * several pieces, or a piece is divided evenly into several stages. The message of a stage is that
 * of its last piece. One of n and nstages must divide the other.
 */
struct schedule_stage *schedule_divide(
	const void *owner, const struct schedule_stage *piece, int n, int nstages);

/* The named schedules; rows for the choices of an option. */
#define SCHEDULE_NAMES(ROW)                                                                        \
	ROW(SCHEDULE_GPIPE, "gpipe")                                                               \
	ROW(SCHEDULE_1F1B, "1f1b")                                                                 \
	ROW(SCHEDULE_INTERLEAVED, "interleaved")                                                   \
	ROW(SCHEDULE_ZB1P, "zb1p")                                                                 \
	ROW(SCHEDULE_ZB2P, "zb2p")                                                                 \
	ROW(SCHEDULE_ZBV, "zbv")                                                                   \
	ROW(SCHEDULE_VHALF, "vhalf")                                                               \
	ROW(SCHEDULE_VMIN, "vmin")                                                                 \
	ROW(SCHEDULE_DUALPIPEV, "dualpipev")

enum schedule_name {
#define SCHEDULE_NAME(code, text) code,
	SCHEDULE_NAMES(SCHEDULE_NAME)
#undef SCHEDULE_NAME
		SCHEDULE_NNAMES
};

const char *schedule_name_text(enum schedule_name name);

/* Stages of each rank in a schedule of that name; 0: any number. */
int schedule_per_rank(enum schedule_name name);

/*
 * A schedule by its name, for nranks ranks with `per_rank` stages each (0: its usual number;
 * interleaved has 2) and nsteps micro-batches. It does not depend on the times of stages. NULL,
 * reported: the schedule does not allow that number of stages, or it would have more than
 * SCHEDULE_CELLS_MOST cells.
 */
struct schedule *schedule_make(const void *owner, struct diag *diag, enum schedule_name name,
	int nranks, int per_rank, int nsteps);

/* The input of schedule_search. */
struct schedule_request {
	int nranks, nsteps;
	int per_rank; /* stages per rank; 0: 1 or 2, whichever gives the shortest time */
	const struct schedule_stage *piece; /* pieces of the model, in order: see schedule_divide */
	int npieces;                        /* a multiple of nranks */
	double memory;                      /* limit on what a rank keeps; infinite: none */
};

struct schedule_found {
	struct schedule *schedule; /* has the same owner as this struct */
	double makespan;
	double bound;             /* no schedule with the placements tried is shorter */
	enum schedule_name named; /* the best named schedule that fits, or SCHEDULE_NNAMES */
	double named_makespan;
};

/*
 * A short schedule for the given times and memory: never longer than the schedules of schedule_make
 * that fit. It tries settings of the list scheduler and then exchanges actions; work is limited by
 * a count, so that the result is the same every time. NULL, reported: one micro-batch does not fit,
 * the pieces cannot be divided, or there are too many cells.
 */
struct schedule_found *schedule_search(
	const void *owner, struct diag *diag, const struct schedule_request *request);

/* An SVG picture, a row for each rank: F, I, W, B and idle times, with numbers of micro-batches. */
void schedule_draw(FILE *out, const struct schedule *s, const struct schedule_cost *cost);

#endif
