/*
 * The profile database on SQLite. Write-ahead logging lets readers continue while one process
 * writes; a writer waits for another one up to BUSY_MS.
 */
#include "passes/analysis/profile/internal.h"

#include "ir/base/alloc.h"
#include "passes/analysis/profile/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <talloc.h>
#include <unistd.h>

enum {
	BUSY_MS = 10000,   /* a writer holds the file for milliseconds: 10 s mean a stuck one */
	BUSY_STEP_MS = 10, /* between tries if SQLite does not wait by itself */
	APPLICATION = 0x646f7074 /* "dopt": distinguishes our files from other SQLite files */
};

static const char schema[] =
	"CREATE TABLE op(device TEXT, backend TEXT, key TEXT, ranks INTEGER, buffers TEXT, "
	"median REAL, spread REAL, runs INTEGER, flops REAL, bytes REAL, time INTEGER, PRIMARY "
	"KEY(device, backend, key, ranks, buffers)) WITHOUT ROWID;CREATE TABLE collective(device "
	"TEXT, backend TEXT, transport TEXT, kind TEXT, places INTEGER, nodes INTEGER, bytes "
	"REAL, median REAL, spread REAL, runs INTEGER, time INTEGER, PRIMARY KEY(device, "
	"backend, transport, kind, places, bytes, nodes)) WITHOUT ROWID;CREATE TABLE link(device "
	"TEXT, backend TEXT, transport TEXT, kind TEXT, places INTEGER, nodes INTEGER, alpha "
	"REAL, beta REAL, error REAL, time INTEGER, PRIMARY KEY(device, backend, transport, "
	"kind, places, nodes)) WITHOUT ROWID;CREATE TABLE field(device TEXT, backend TEXT, "
	"transport TEXT, name TEXT, value REAL, time INTEGER, PRIMARY KEY(device, backend, "
	"transport, name)) WITHOUT ROWID;";

static int
profile_close(struct profile *p)
{
	for (int kind = 0; kind < PROFILE_NENTRIES; kind++)
		sqlite3_finalize(p->put[kind]);
	sqlite3_close(p->db);
	return 0;
}

bool
profile_fail(struct profile *p, const char *doing)
{
	int code = sqlite3_errcode(p->db);
	const char *what = sqlite3_errmsg(p->db);
	if (code == SQLITE_BUSY || code == SQLITE_LOCKED)
		what = "another process has been writing to it for 10 seconds";
	diag_error(p->diag, LOC_NONE, "profile %s: cannot %s: %s", p->path, doing, what);
	return false;
}

static bool
execute(struct profile *p, const char *sql, const char *doing)
{
	return sqlite3_exec(p->db, sql, NULL, NULL, NULL) == SQLITE_OK || profile_fail(p, doing);
}

/* The integer result of a pragma; -1 after reporting a failure. */
static int64_t
pragma(struct profile *p, const char *sql)
{
	sqlite3_stmt *s = NULL;
	int64_t v = -1;
	bool good = sqlite3_prepare_v2(p->db, sql, -1, &s, NULL) == SQLITE_OK &&
		    sqlite3_step(s) == SQLITE_ROW;
	if (good)
		v = sqlite3_column_int64(s, 0);
	else
		profile_fail(p, "read it");
	sqlite3_finalize(s);
	return v;
}

/* Creates the tables in a new, empty file; called with the write lock. */
static bool
make_tables(struct profile *p)
{
	char *mark =
		must_have(sqlite3_mprintf("PRAGMA application_id = %d; PRAGMA user_version = %d",
			APPLICATION, PROFILE_SCHEMA));
	bool good =
		execute(p, schema, "create its tables") && execute(p, mark, "create its tables");
	sqlite3_free(mark);
	return good;
}

static bool
check_version(struct profile *p, int64_t application, int64_t version)
{
	if (application < 0 || version < 0)
		return false;
	if (application != APPLICATION)
		diag_error(p->diag, LOC_NONE, "%s is a database of another program, not a profile",
			p->path);
	else if (version != PROFILE_SCHEMA)
		diag_error(p->diag, LOC_NONE,
			"profile %s has schema %d; expected schema %d: measure again", p->path,
			(int)version, PROFILE_SCHEMA);
	return application == APPLICATION && version == PROFILE_SCHEMA;
}

/* Another process may be creating the tables: if the first mark exists, so does the second. */
static bool
is_ours(struct profile *p)
{
	int64_t application = pragma(p, "PRAGMA application_id");
	return check_version(p, application, pragma(p, "PRAGMA user_version"));
}

/* Creates the tables in an empty file; two processes may try at the same time. */
static bool
prepare_for_writing(struct profile *p)
{
	int code = SQLITE_BUSY; /* when changing the mode, SQLite does not always wait */
	for (int ms = 0; code == SQLITE_BUSY && ms < BUSY_MS; ms += BUSY_STEP_MS) {
		code = sqlite3_exec(p->db, "PRAGMA journal_mode = WAL", NULL, NULL, NULL);
		if (code == SQLITE_BUSY)
			sqlite3_sleep(BUSY_STEP_MS);
	}
	if (code != SQLITE_OK)
		return profile_fail(p, "open it for writing");
	/* A crash of the program loses nothing; one of the machine only the last entries.
	 */
	if (!execute(p, "PRAGMA synchronous = NORMAL", "write to it") ||
		!execute(p, "BEGIN IMMEDIATE", "write to it"))
		return false;
	bool good = true;
	if (pragma(p, "PRAGMA application_id") == 0 && pragma(p, "PRAGMA schema_version") == 0)
		good = make_tables(p);
	if (good)
		return execute(p, "COMMIT", "write to it");
	sqlite3_exec(p->db, "ROLLBACK", NULL, NULL, NULL);
	return false;
}

/* A foreign file must not be changed, not even its mode. */
static bool
is_foreign(struct profile *p)
{
	int64_t tables = pragma(p, "SELECT count(*) FROM sqlite_master");
	if (tables <= 0)
		return tables < 0;
	return !is_ours(p);
}

/* Is it text? Anything else is left to SQLite. */
static bool
is_text(const char *path)
{
	char head[sizeof PROFILE_TEXT_MARK] = "";
	FILE *f = fopen(path, "rb");
	if (!f)
		return false;
	size_t n = fread(head, 1, strlen(PROFILE_TEXT_MARK), f);
	fclose(f);
	return n == strlen(PROFILE_TEXT_MARK) && strcmp(head, PROFILE_TEXT_MARK) == 0;
}

/* A database in memory with the entries of a text. */
static bool
open_text(struct profile *p)
{
	if (sqlite3_open(":memory:", &p->db) != SQLITE_OK)
		return profile_fail(p, "open it");
	char *text;
	return make_tables(p) && profile_text_read_file(p, p->diag, p->path, &text) &&
	       profile_text_load(p, p->diag, p->path, text, strlen(text));
}

/*
 * Creates the file with its tables atomically: under a temporary name, which is then linked to the
 * final one. If several processes do so, one is first, and the others open its file. If the file
 * system has no links, the tables are created in place (prepare_for_writing).
 */
static bool
create(struct profile *p)
{
	if (access(p->path, F_OK) == 0)
		return true;
	struct profile *made = NEW(p, struct profile);
	*made = (struct profile){.diag = p->diag, .path = TEXT(made, "%s.XXXXXX", p->path)};
	talloc_set_destructor(made, profile_close);
	const int fd = mkstemp(made->path);
	const mode_t mask = umask(0);
	umask(mask);
	if (fd < 0) {
		talloc_free(made);
		return true; /* opening it reports the reason */
	}
	fchmod(fd, 0666 & ~mask);
	close(fd);
	char *name = TEXT(p, "%s", made->path);
	bool good = sqlite3_open_v2(name, &made->db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK
			    ? prepare_for_writing(made)
			    : profile_fail(made, "open it");
	talloc_free(made); /* its log is freed with it */
	if (good)
		link(name, p->path);
	unlink(name);
	talloc_free(name);
	return good;
}

/* "file:/a/b%3f?immutable=1" */
static char *
uri_of(const void *owner, const char *path, const char *query)
{
	char *real = realpath(path, NULL), *uri = TEXT(owner, "file:");

	for (const char *s = real ? real : path; *s; s++)
		uri = text_append_end(uri, strchr("?#%", *s) ? "%%%02x" : "%c", *s);
	free(real);
	return text_append_end(uri, "?%s", query);
}

static bool
has_log(const struct profile *p)
{
	struct stat st;
	char *name = TEXT(NULL, "%s-wal", p->path);
	const bool found = stat(name, &st) == 0 && st.st_size > 0;

	talloc_free(name);
	return found;
}

/*
 * Opens a file again if neither it nor its folder can be written: SQLite needs extra files there
 * for databases that are read during writes. Here no process can write it. A log left by another
 * process is read into memory, which SQLite does in exclusive mode; without a log the file is
 * complete.
 */
static bool
open_immutable(struct profile *p)
{
	const bool log = has_log(p);
	char *uri = uri_of(p, p->path, log ? "vfs=unix-none" : "immutable=1");

	sqlite3_close(p->db);
	p->db = NULL;
	const int code = sqlite3_open_v2(uri, &p->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL);
	talloc_free(uri);
	if (code != SQLITE_OK)
		return profile_fail(p, "open it");
	return !log || execute(p, "PRAGMA locking_mode = EXCLUSIVE", "read it");
}

/* Fails at the first read, as opening reads nothing. */
static bool
can_read(struct profile *p)
{
	return sqlite3_exec(p->db, "SELECT count(*) FROM sqlite_master", NULL, NULL, NULL) ==
	       SQLITE_OK;
}

static bool
is_write_protected(const struct profile *p)
{
	const int code = sqlite3_errcode(p->db);

	return (code == SQLITE_CANTOPEN || code == SQLITE_READONLY) && access(p->path, R_OK) == 0;
}

static bool
open_file(struct profile *p, enum profile_mode mode)
{
	if (mode == PROFILE_WRITE && !create(p))
		return false;
	int flags = SQLITE_OPEN_READWRITE | (mode == PROFILE_WRITE ? SQLITE_OPEN_CREATE : 0);
	if (sqlite3_open_v2(p->path, &p->db, flags, NULL) != SQLITE_OK)
		return profile_fail(p, "open it");
	sqlite3_busy_timeout(p->db, BUSY_MS);
	if (mode == PROFILE_READ && !can_read(p) && is_write_protected(p) && !open_immutable(p))
		return false;
	if (is_foreign(p) || (mode == PROFILE_WRITE && !prepare_for_writing(p)))
		return false;
	return is_ours(p);
}

struct profile *
profile_open(const void *owner, struct diag *d, const char *path, enum profile_mode mode)
{
	struct profile *p = NEW(NULL, struct profile);
	p->diag = d;
	p->path = TEXT(p, "%s", path);
	talloc_set_destructor(p, profile_close);
	bool good = true, text = is_text(path);
	if (text && mode == PROFILE_WRITE) {
		diag_error(d, LOC_NONE,
			"profile %s is text, which is read-only: load it into a database "
			"with dopt-profile load %s FILE",
			path, path);
		good = false;
	}
	good = good && (text ? open_text(p) : open_file(p, mode));
	if (!good) {
		talloc_free(p);
		return NULL;
	}
	return talloc_steal(owner, p);
}

bool
profile_begin(struct profile *p)
{
	return execute(p, "BEGIN IMMEDIATE", "write to it");
}

bool
profile_commit(struct profile *p)
{
	return execute(p, "COMMIT", "write to it");
}

bool
profile_savepoint(struct profile *p)
{
	p->begun = sqlite3_get_autocommit(p->db);
	return p->begun ? profile_begin(p) : execute(p, "SAVEPOINT load", "write to it");
}

bool
profile_release(struct profile *p, bool keep)
{
	if (p->begun)
		return keep ? profile_commit(p) : execute(p, "ROLLBACK", "write to it");
	if (!keep)
		sqlite3_exec(p->db, "ROLLBACK TO load", NULL, NULL, NULL);
	return execute(p, "RELEASE load", "write to it");
}
