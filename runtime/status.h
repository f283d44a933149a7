/* An error and its exit code. A status is filled once, by the first failure; ranks agree on one
 * (rt_agree in runtime/comm/world.h) and rank 0 prints it. */
#ifndef RUNTIME_STATUS_H
#define RUNTIME_STATUS_H

#include <stdbool.h>

/* Exit codes. */
#define RT_EXIT_RUN 1   /* failed while running: out of memory, cannot write */
#define RT_EXIT_USAGE 2 /* invalid options, data or number of ranks */
/* SIGTERM or SIGINT ended the run before its last step, and its position is saved: EX_TEMPFAIL of
 * sysexits.h, "try again". Not 143, which a shell reports for a process that was killed. */
#define RT_EXIT_STOPPED 75

/* Longest message: two file names and a sentence. Longer ones are cut. */
#define RT_STATUS_TEXT 1024

struct rt_status {
	int code; /* 0: success */
	char text[RT_STATUS_TEXT];
};

/* Records a failure, unless there is one already. Returns false, so that a caller can return it. */
bool rt_fail(struct rt_status *st, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* rt_fail for a failed allocation of `bytes` for `what`. */
bool rt_fail_memory(struct rt_status *st, unsigned long long bytes, const char *what);

/* What goes before a message: on a terminal, the sequence that removes the line of progress, where
 * the cursor is; else "". Async-signal-safe. */
const char *rt_line_start(void);

#endif
