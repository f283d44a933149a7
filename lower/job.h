/*
 * Jobs: a temporary folder, and the commands that work in it. Neither outlives this process,
 * however it ends:
 *
 *     dopt ---- socket ----> guard       a process of its own, which waits for the socket to close
 *      |                       |
 *      +--> sh, cc ... <-------+         each command is a process group known to the guard,
 *           folder     <-------+         which then ends the group and removes the folder
 *
 * The kernel closes the socket when dopt exits, is killed by any signal or crashes, so there is one
 * way to clean up and no signal handler.
 */
#ifndef LOWER_JOB_H
#define LOWER_JOB_H

#include "ir/base/diag.h"

#include <stdbool.h>
#include <sys/types.h>

struct job;

/*
 * Creates the folder PREFIX.XXXXXX. NULL: reported. When the job is freed, or its owner, a running
 * command is ended and the folder is removed.
 */
struct job *job_create(const void *owner, struct diag *d, const char *prefix);

/* The same in $TMPDIR, or /tmp. */
struct job *job_create_temporary(const void *owner, struct diag *d, const char *name);

/* The path of the folder, absolute. */
const char *job_folder(const struct job *j);

/*
 * Starts a shell command in a process group of its own, without standard input; at most one at a
 * time. Its output goes to the files `out` and `err`. Returns its process id, or -1 with errno.
 */
pid_t job_start(struct job *j, const char *command, int out, int err);

/* Waits for the command to end; with `kill` ends its group first. Returns its status as waitpid
 * does. */
int job_wait(struct job *j, pid_t pid, bool kill);

/* Runs a shell command in the folder, which is also its $TMPDIR. False: it failed, which is
 * reported. `verbose`: prints the command first. */
bool job_run(struct job *j, const char *command, bool verbose);

/*
 * Gives the results their names, each in one step: the folder becomes OUTPUT.src and its file
 * `program` becomes OUTPUT; `program` NULL: only the folder is published. Files in OUTPUT.src that
 * dopt did not write are kept. False: failed, which is reported.
 */
bool job_publish(struct job *j, struct diag *d, const char *program, const char *output);

/* Could job_publish succeed? Reports before a long build what would fail after it. */
bool job_can_publish(struct diag *d, const char *output);

/* The path of OUTPUT.src, links resolved: a job that will be published is created in the same
 * folder. */
char *job_sources(const void *owner, const char *output);

#endif
