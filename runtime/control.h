/* What happens between the steps of a run: saves on the way, signals, values that are no numbers.
 *
 *	-save-every N     after every N-th step: each rank counts
 *	-save-every TIME  when rank 0's clock says so
 *	SIGUSR1           saves; of any process, at any time
 *	SIGTERM, SIGINT   saves -save FILE and ends the run with RT_EXIT_STOPPED
 *	-stop-on-nan      ends it with RT_EXIT_RUN, and nothing is saved any more
 *
 * All but the first are known to one rank only, and every rank must save after the same step. So
 * the ranks confer: an allgather of a few bytes, after every so many steps that it costs next to
 * nothing (CONFER_NS), and before every save. Without -save and -stop-on-nan they never do. */
#ifndef RUNTIME_CONTROL_H
#define RUNTIME_CONTROL_H

#include "runtime/rank.h"

/* Why to save: bits. */
enum { RT_SAVE_BY_CLOCK = 1, RT_SAVE_BY_SIGNAL = 2 };

/* What a rank knows that the others do not. */
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
	int64_t next;     /* the ranks confer when so many steps are done, ... */
	int64_t interval; /* ... so many after the last time */
	int64_t since;    /* ns: when the steps of this interval began */
	int64_t due;      /* ns: the next save by the clock, on rank 0; 0: none */
	struct rt_word mine;
	struct rt_word *all; /* [nranks] */
};

/* All ranks call it together and agree. Release it with rt_control_close in any case. */
bool rt_control_open(struct rt_control *c, struct rt_rank *r);
void rt_control_close(struct rt_control *c);

/* To be called after each step; `done` counts them, with those of runs before. Saves where that is
 * due. False, with the same status on all ranks, if the run ends here. */
bool rt_control_after(struct rt_control *c, struct rt_rank *r, int64_t done);

/* Is this output of the program one number that is printed? */
bool rt_is_scalar_output(const struct rt_program *p, const struct rt_tensor *t);

#endif
