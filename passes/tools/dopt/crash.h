/*
 * Crashes. The work is done in a child process, so that there is a process left to say what
 * happened: of dopt, of a pass, of a plugin, by whatever signal.
 *
 *     dopt --fork--> child: notes what it is doing, and on a crash which op was at hand
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
 * Runs `work` in a child and returns what it returned. DRIVER_BUG, after saying what it was doing,
 * where it was killed. Signals that ask for an end (SIGINT, SIGTERM, SIGHUP) end both.
 */
enum driver_exit crash_guarded(const void *scratch, struct driver_options *o,
	enum driver_exit (*work)(const void *scratch, const struct driver_options *o));

/* What is being done from now on, for the message: "in pass 'cse'". printf-like. `n` may be NULL. */
void crash_doing(struct crash_note *n, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Where locations of ops are looked up from now on; NULL before it is freed. `n` may be NULL. */
void crash_diag(struct crash_note *n, const struct diag *d);

#endif
