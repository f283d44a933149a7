/* What the files of -trial share. */
#ifndef PASSES_DRIVER_TRIAL_IMPL_H
#define PASSES_DRIVER_TRIAL_IMPL_H

#include "lower/job.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	/* Rounds of a trial: medians of fewer runs are told apart by chance. Plans that are close
	 * then have more, until one is alone or they have had so many. */
	TRIAL_ROUNDS = 7,
	TRIAL_ROUNDS_MOST = 15,
	/* Steps of the first run, by which it is known how many fill the time. */
	TRIAL_STEPS = 10,
	/* A run that has not ended then hangs. */
	TRIAL_SECONDS = 120,
};

/* Seconds that the rounds take at most where nobody asked for a trial; one round is always run. */
#define TRIAL_FIRST_SECONDS 20
/* Seconds of a run: a few hundred steps of most programs. */
#define TRIAL_RUN_SECONDS 0.4
/* Who is so many times as slow as the fastest after a run each, or after half of the rounds, is not
 * run any more: that is further apart than runs of one program were on a machine that is shared. */
#define TRIAL_FAR 1.25
#define TRIAL_NEAR 1.05
/* Close are plans whose medians are no further apart: about what medians of all rounds differ by
 * for one program. */
#define TRIAL_CLOSE 1.02

struct trial_run {
	double seconds;   /* of a step: the median that the program says */
	double predicted; /* 0: it does not say */
};

/*
 * Runs a shell command that starts a program, and reads what it says of its steps. False: it
 * failed, hung, or said nothing; *why is then what to tell, owned by `owner`.
 */
bool trial_start(
	const void *owner, struct job *j, const char *command, struct trial_run *run, char **why);

/* The command: of `how`, with the program where it has {}, or in front. */
char *trial_command(const void *owner, const char *how, const char *program, int64_t steps);

/* The median of n > 0 times, which it sorts. */
double trial_median(double *seconds, int n);

#endif
