/* What happens between the steps of a run: periodic saves, signals, values that are not finite.
 *
 *	-save-every N     after every N-th step: each rank counts
 *	-save-every TIME  when rank 0's clock says so
 *	SIGUSR1           saves; of any process, at any time
 *	SIGTERM, SIGINT   saves -save FILE and ends the run with RT_EXIT_STOPPED
 *	-stop-on-nan      ends it with RT_EXIT_RUN, and nothing is saved any more
 *	-keep-step        the same, and writes the step with the NaN: so params and states are copied
 *	                  before each step, and the ranks confer after each
 *
 * All but the first are known to one rank only, and every rank must save after the same step. So
 * the ranks confer: an allgather of a few bytes, at intervals so long that its cost is negligible
 * (CONFER_NS), and before every save. Without -save and -stop-on-nan they never do. */
#ifndef RUNTIME_CONTROL_H
#define RUNTIME_CONTROL_H

#include "runtime/rank.h"

/* Reasons to save: bits. */
enum { RT_SAVE_BY_CLOCK = 1, RT_SAVE_BY_SIGNAL = 2 };

/* What a rank knows and the others do not. */
struct rt_word {
	int32_t save;
	int32_t stop;       /* the signal: SIGTERM, SIGINT; 0: none */
	int32_t bad_tensor; /* the first output that was not finite, ... */
	int64_t bad_step;   /* ... and its step, from 1; 0: none */
	double bad_value;
	int64_t interval; /* of rank 0: steps until the ranks confer again */
};

struct rt_control {
	bool confers;
	int64_t next;     /* the ranks confer after this many steps, ... */
	int64_t interval; /* ... which is this many steps after the last time */
	int64_t since;    /* ns: when the steps of this interval began */
	int64_t due;      /* ns: the next save by the clock, on rank 0; 0: none */
	struct rt_word mine;
	struct rt_word *all; /* [nranks] */
	char *before;        /* params and states before the step; NULL: not kept */
};

/* All ranks call it together and agree. Call rt_control_close in any case. */
bool rt_control_open(struct rt_control *c, struct rt_rank *r);
void rt_control_close(struct rt_control *c);

/* To be called before each step. */
void rt_control_before(struct rt_control *c, struct rt_rank *r);

/* To be called after each step; `done` is the number of steps, including previous runs. Saves if
 * that is due. False, with the same status on all ranks, if the run ends here. */
bool rt_control_after(struct rt_control *c, struct rt_rank *r, int64_t done);

/* Is this output of the program a single number that is printed? */
bool rt_is_scalar_output(const struct rt_program *p, const struct rt_tensor *t);

#endif
