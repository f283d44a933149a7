/*
 * Crashes. The work is done in a child process, so that the parent survives to report any crash of
 * dopt, of a pass or of a plugin, by any signal.
 *
 *     dopt --fork--> child: records what it is doing, and on a crash the current op
 *      | waits         |
 *      | <--- the note, in memory that both share
 *     "killed by signal 11 (Segmentation fault) in pass 'cse'", exit status 3
 */
#ifndef PASSES_DRIVER_CRASH_H
#define PASSES_DRIVER_CRASH_H

#include "ir/base/diag.h"
#include "passes/tools/dopt/driver.h"

struct crash_note;

/*
 * Runs `work` in a child and returns its result. DRIVER_BUG if it was killed, after reporting what
 * it was doing. Signals that request termination (SIGINT, SIGTERM, SIGHUP) end both.
 */
enum driver_exit crash_guarded(const void *scratch, struct driver_options *o,
	enum driver_exit (*work)(const void *scratch, const struct driver_options *o));

/* The activity from now on, for the message: "in pass 'cse'". printf-like. `n` may be NULL. */
void crash_doing(struct crash_note *n, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Used from now on to look up locations of ops; NULL before it is freed. `n` may be NULL. */
void crash_diag(struct crash_note *n, const struct diag *d);

#endif
