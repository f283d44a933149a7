/* What the files of -trial share. */
#ifndef PASSES_DRIVER_TRIAL_IMPL_H
#define PASSES_DRIVER_TRIAL_IMPL_H

#include "lower/job.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	/* Rounds of a trial: medians of fewer runs differ by chance. Plans that are close then get
	 * more rounds, until one is fastest or the maximum is reached. */
	TRIAL_ROUNDS = 7,
	TRIAL_ROUNDS_MOST = 15,
	/* Steps of the first run, which determines how many steps fill the time; the minimum. */
	TRIAL_STEPS = 10,
	/* A run that takes longer than this, or than so many times -trial-limit, is considered hung:
	 * programs also start, and slow down where others run. */
	TRIAL_SECONDS = 120,
	TRIAL_TIMES = 4,
	TRIAL_SECONDS_MOST = 1000000, /* in milliseconds an int */
};

/* Maximum seconds for all rounds if -trial was not given; one round is always run. */
#define TRIAL_FIRST_SECONDS 20
/* Seconds of a run without -trial-limit: a few hundred steps of most programs. */
#define TRIAL_RUN_SECONDS 0.4
/* A plan slower than the fastest by this factor after one run each, or after half of the rounds, is
 * not run any more: runs of one program differed less, even on a shared machine. */
#define TRIAL_FAR 1.25
#define TRIAL_NEAR 1.05
/* Plans whose medians differ by at most this are close: about the difference between medians of all
 * rounds of one program. */
#define TRIAL_CLOSE 1.02

struct trial_run {
	double seconds;   /* per step: the median that the program reports */
	double predicted; /* 0: not reported */
};

/*
 * Runs a shell command that starts a program, for `most` seconds at most, and reads the step times
 * that it reports. False: it failed, hung, or reported nothing; *why is then the explanation, owned by `owner`.
 */
bool trial_start(const void *owner, struct job *j, const char *command, int most,
	struct trial_run *run, char **why);

/* The command: `how` with the program in place of {}, or the program after it. */
char *trial_command(const void *owner, const char *how, const char *program, int64_t steps);

/* The median of n > 0 times, which it sorts. */
double trial_median(double *seconds, int n);

#endif
