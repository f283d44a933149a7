/*
 * In which order each device of a pipeline runs the iterations of its stages: a line of cells each.
 *
 *     stage 0   F0 F1 F2 F3 B0 B1 B2 B3          {schedule = "gpipe"}: all forward, then all backward
 *     stage 1      F0 F1 F2 F3 B0 B1 B2 B3
 *
 *     stage 0   F0 F1       B0 F2 B1 F3 B2 B3    {schedule = "1f1b"}: alternately forward and
 *     stage 1      F0 B0 F1 B1 F2 B2 F3 B3       backward, once a micro-batch is back
 *
 * Any other schedule is a table: devices are separated by ';' and cells by ','. A cell is a stage,
 * F or B, and a micro-batch: "0F0,0F1,0B0,0B1;1F0,1B0,1F1,1B1", the text of a rank in
 * passes/pipeline/schedule.h. B can be divided into I, which the previous stage waits for, and W,
 * the gradients of params: "1F0,1F1,1I0,1I1,1W0,1W1". Within a stage F, I and W are each in
 * ascending order, in which sums over micro-batches are accumulated. A device can have several
 * stages: "0F0,3F0,3B0,0B0;1F0,2F0,2B0,1B0".
 */
#ifndef IR_MEMORY_CELLS_H
#define IR_MEMORY_CELLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Without I and W in the table the backward pass is one phase, and CELL_WEIGHT is empty. */
enum cell_phase { CELL_FORWARD, CELL_BACKWARD, CELL_WEIGHT, CELL_PHASES };

struct stage_cell {
	uint8_t phase; /* enum cell_phase */
	uint8_t last;  /* last phase, included: B is CELL_BACKWARD and CELL_WEIGHT */
	uint16_t stage;
	uint32_t iteration;
};

/* Does the cell include the phase? */
static inline bool
cell_does(const struct stage_cell *c, uint32_t phase)
{
	return c->phase <= phase && phase <= c->last;
}

/* A cell as written, also read by passes/pipeline/text.c. "12SEND_F3": stage, kind, micro-batch. */
struct cell_text {
	int64_t stage, iteration; /* -1: absent; at most CELL_NUMBER_MOST */
	const char *kind;         /* [length] letters and _ */
	size_t length;
};

#define CELL_NUMBER_MOST (UINT32_MAX - 1)

/* Reads one that begins at `at`, up to `end`; returns the text after it. */
const char *cell_text_read(const char *at, const char *end, struct cell_text *t);

/* Which device has which stage. */
struct cell_places {
	uint32_t devices, stages;
	const uint16_t *of; /* [stages]; NULL: each its own */
};

/* Most stages of a device: the readers of a value are a 64-bit set of phases of its stages. */
enum { CELL_STAGES_MOST = 64 / CELL_PHASES };

struct cells {
	uint32_t devices, stages, iterations;
	bool divided;            /* there are I and W */
	uint32_t *device;        /* [stages] the device of each */
	uint32_t *number;        /* [stages] index among those of its device */
	uint32_t *n;             /* [devices] cells of its line */
	uint32_t most;           /* cells of a line at most */
	struct stage_cell *cell; /* [devices][most] */
	uint32_t *at; /* [stages][CELL_PHASES][iterations] position in the line of its device */
	/* [devices][most] if F, I and W take 1, B takes 2, and messages nothing */
	uint32_t *begin, *end;
};

/* Owned by `owner`. NULL: the schedule is invalid; *why is the reason, owned by `owner`. */
struct cells *cells_create(const void *owner, const char *schedule, struct cell_places places,
	uint32_t iterations, const char **why);

static inline const struct stage_cell *
cells_line(const struct cells *c, uint32_t device)
{
	return &c->cell[(size_t)device * c->most];
}

/* Have devices several stages? */
static inline bool
cells_are_several(const struct cells *c)
{
	return c->stages > c->devices;
}

static inline uint32_t
cells_at(const struct cells *c, uint32_t stage, uint32_t phase, uint32_t iteration)
{
	return c->at[(stage * CELL_PHASES + phase) * c->iterations + iteration];
}

/* Phases of the stages of a device, a set: the member for a phase of a stage. */
static inline uint64_t
cells_member(const struct cells *c, uint32_t stage, uint32_t phase)
{
	return UINT64_C(1) << (c->number[stage] * CELL_PHASES + phase);
}

/*
 * The number of slots, used cyclically, that a value needs: how many iterations of it are live at
 * once if phase `made` of `stage` makes it and the phases in the set `read` of its device use it.
 */
uint32_t cells_ring(const struct cells *c, uint32_t stage, uint32_t made, uint64_t read);

/* A value sent from a stage to one on another device at the end of a phase, in every iteration. */
struct cell_message {
	uint32_t from, to;
	uint8_t phase; /* that makes it and, at the receiver, first reads it */
	uint64_t read; /* set of phases that read it, of the stages of the receiving device */
	bool sent_on;  /* to a third device, from where it was received */
	bool late;     /* the receiver has other collectives, which would wait for it */
};

/* The same for the receiver of a message: a slot must be free when the message is sent. A value
 * that is sent on has a slot for each iteration, as the end of that send is not known. */
uint32_t cells_message_ring(const struct cells *c, const struct cell_message *m);

/* A line with messages: what a device runs. */
struct cell_item {
	struct stage_cell cell; /* or the iteration of a message, whose phase is CELL_PHASES */
	uint32_t message;       /* its number */
};

struct cell_lines {
	struct cell_item **item; /* [devices][n[device]] */
	uint32_t *n;
};

/*
 * Posts of messages between the cells: the sender posts right after the cell that makes the value,
 * the receiver as soon as a slot is free, or, if the message is `late`, after the cells that begin
 * before it is sent: collectives of a cell, those of tensor parallelism, queue behind a message that
 * was posted before them. All devices post messages in the same order, that of sending, so that there
 * is no deadlock. Owned by `owner`.
 */
struct cell_lines *cells_lines(const void *owner, const struct cells *c,
	const struct cell_message *message, uint32_t nmessages);

#endif
