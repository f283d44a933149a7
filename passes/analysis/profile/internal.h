/* What the files of the profile database share. */
#ifndef PASSES_ANALYSIS_PROFILE_INTERNAL_H
#define PASSES_ANALYSIS_PROFILE_INTERNAL_H

#include "passes/analysis/profile/columns.h"

#include <sqlite3.h>

struct profile {
	sqlite3 *db;
	sqlite3_stmt *put[PROFILE_NENTRIES]; /* what writes an entry; NULL: not yet */
	struct diag *diag;
	char *path;
	char *backend, *transport; /* NULL: chosen from the existing entries */
	char *warned;              /* the device whose backend was last warned about */
	bool begun;                /* the savepoint is a transaction of its own */
};

/* Reports what SQLite says about the last call; false. */
bool profile_fail(struct profile *p, const char *doing);

/*
 * A transaction that may be nested in another; `keep`: commit its writes, else roll back. If it is
 * not, it waits for other writers at once: SQLite fails, and does not wait, where a transaction has
 * read what another process then changes, and writes after that.
 */
bool profile_savepoint(struct profile *p);
bool profile_release(struct profile *p, bool keep);

/* A statement with its first texts bound; NULL after reporting. sqlite3_finalize ends it. */
sqlite3_stmt *profile_prepare(struct profile *p, const char *sql, int n, const char *const *text);

/* The backend and the transport whose entries in a table are read; owned by `owner`. */
char *profile_chosen_backend(
	const void *owner, struct profile *p, const char *table, const char *device);
char *profile_chosen_transport(
	const void *owner, struct profile *p, const char *device, const char *backend);

#endif
