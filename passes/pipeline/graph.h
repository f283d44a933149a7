/*
 * Which actions wait for which in a schedule. A node is an action, or a message, which combines a
 * send and its receive; idle cells have none.
 *
 *     rank 0   0F0 ──> 0F1 ──> 0I0            order of a rank
 *               │       │       ^
 *               v       v       │             messages; without sends and receives, directly
 *     rank 1   1F0 ──> 1I0 ──> 1F1
 */
#ifndef PASSES_PIPELINE_GRAPH_H
#define PASSES_PIPELINE_GRAPH_H

#include "passes/pipeline/schedule.h"

/* The actions of a stage and a micro-batch: numbers of actions, -1: none. */
struct schedule_place {
	int at[SCHEDULE_RECV_B + 1]; /* by kind */
};

enum {
	WAIT_ORDER,    /* the previous action of the rank; for a message, of the sender */
	WAIT_RECEIVER, /* for a message: the previous action of the receiver */
	WAIT_QUEUE,    /* for a message: the previous one in the sender's queue */
	WAIT_RECEIVER_QUEUE,
	WAIT_VALUE = WAIT_RECEIVER, /* for an action: what makes its operand, or its message */
	WAITS = 4,
};

struct schedule_node {
	int wait[WAITS]; /* nodes; -1: none */
};

struct schedule_graph {
	const struct schedule *s;
	int n;
	const struct schedule_action **action; /* by number, rank after rank, without idle cells */
	int *rank;                             /* of each action */
	int *node;                             /* of each action; a receive has its send's node */
	int *receive;                          /* of each send: the receive, or -1 */
	struct schedule_place *place;          /* by stage * nsteps + micro-batch */
	struct schedule_node *wait;            /* of each node */
	int *order;                            /* topological order of the nodes */
	int norder;
	int *cycle; /* nodes; each waits for the next, the last for the first */
	int ncycle;
};

/* The graph of a schedule, after the checks of schedule_verify; NULL, reported, if one fails. */
struct schedule_graph *graph_verified(
	const void *owner, const struct schedule *s, struct diag *diag, enum schedule_waits how);

/* Numbers the actions of a schedule; places and waits are not filled in. */
struct schedule_graph *graph_create(const void *owner, const struct schedule *s);

/* "2F0"; "rank 1, cell 4: '2F0'"; owned by the graph. */
char *graph_text(const struct schedule_graph *g, int i);
char *graph_where(const struct schedule_graph *g, int i);

/* Reports the cycle as a deadlock, with a note for each wait but the first. */
void graph_report_cycle(const struct schedule_graph *g, struct diag *diag);

/* The number of the action of that kind, stage and micro-batch, or -1. Needs g->place. */
static inline int
graph_at(const struct schedule_graph *g, enum schedule_kind kind, int stage, int step)
{
	return g->place[(int64_t)stage * g->s->nsteps + step].at[kind];
}

/* The backward that gives the gradients of the stage's inputs: its I or its B. */
static inline int
graph_backward(const struct schedule_graph *g, int stage, int step)
{
	const int i = graph_at(g, SCHEDULE_INPUT, stage, step);
	return i < 0 ? graph_at(g, SCHEDULE_BACKWARD, stage, step) : i;
}

/* The action of another stage that makes the value read by action i, or the message with it; -1:
 * none. */
int graph_value(const struct schedule_graph *g, int i);

/*
 * Fills in the waits, and the order or, if there is one, a cycle. The schedule must be complete, as
 * schedule_verify checks before. False: there is a cycle.
 */
bool graph_finish(struct schedule_graph *g, enum schedule_waits how);

#endif
