/*
 * The profile data base on SQLite. Write-ahead logging lets readers go on while one process writes;
 * a writer waits for another one up to BUSY_MS.
 */
#include "passes/analysis/profile.h"

#include "passes/analysis/alloc.h"

#include <math.h>
#include <sqlite3.h>
#include <string.h>
#include <time.h>

enum {
	BUSY_MS = 10000,   /* a writer holds the file for milliseconds: 10 s mean a stuck one */
	BUSY_STEP_MS = 10, /* between tries where SQLite does not wait by itself */
	APPLICATION = 0x646f7074 /* "dopt": tells our files from other SQLite files */
};

static const char schema[] =
	"CREATE TABLE op(device TEXT, ranks INTEGER, key TEXT, median REAL, spread REAL, runs "
	"INTEGER,"
	" flops REAL, bytes REAL, time INTEGER, PRIMARY KEY(device, key, ranks)) WITHOUT ROWID;"
	"CREATE TABLE collective(device TEXT, transport TEXT, kind TEXT, places INTEGER, bytes "
	"REAL,"
	" median REAL, spread REAL, runs INTEGER, time INTEGER,"
	" PRIMARY KEY(device, transport, kind, places, bytes)) WITHOUT ROWID;"
	"CREATE TABLE link(device TEXT, transport TEXT, kind TEXT, places INTEGER, alpha REAL,"
	" beta REAL, error REAL, time INTEGER,"
	" PRIMARY KEY(device, transport, kind, places)) WITHOUT ROWID;"
	"CREATE TABLE field(device TEXT, name TEXT, value REAL, time INTEGER,"
	" PRIMARY KEY(device, name)) WITHOUT ROWID;";

struct profile {
	sqlite3 *db;
	struct diag *diag;
	char *path;
};

static int
profile_close(struct profile *p)
{
	sqlite3_close(p->db);
	return 0;
}

static bool
fail(struct profile *p, const char *doing)
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
	return sqlite3_exec(p->db, sql, NULL, NULL, NULL) == SQLITE_OK || fail(p, doing);
}

/* The integer that a pragma answers; -1 after reporting a failure. */
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
		fail(p, "read it");
	sqlite3_finalize(s);
	return v;
}

/* Makes the tables in a new, empty file; called with the write lock. */
static bool
make_tables(struct profile *p)
{
	char *mark = sqlite3_mprintf("PRAGMA application_id = %d; PRAGMA user_version = %d",
		APPLICATION, PROFILE_SCHEMA);
	must_have(mark);
	bool good = execute(p, schema, "make its tables") && execute(p, mark, "make its tables");
	sqlite3_free(mark);
	return good;
}

static bool
check_version(struct profile *p, int64_t application, int64_t version)
{
	if (application < 0 || version < 0)
		return false;
	if (application != APPLICATION)
		diag_error(p->diag, LOC_NONE, "%s is a data base of another program, not a profile",
			p->path);
	else if (version != PROFILE_SCHEMA)
		diag_error(p->diag, LOC_NONE,
			"profile %s has schema %d; expected schema %d: measure anew", p->path,
			(int)version, PROFILE_SCHEMA);
	return application == APPLICATION && version == PROFILE_SCHEMA;
}

/* An empty file gets its tables; two processes may try at the same time. */
static bool
prepare_for_writing(struct profile *p)
{
	int code = SQLITE_BUSY; /* for changing the mode SQLite does not always wait */
	for (int ms = 0; code == SQLITE_BUSY && ms < BUSY_MS; ms += BUSY_STEP_MS) {
		code = sqlite3_exec(p->db, "PRAGMA journal_mode = WAL", NULL, NULL, NULL);
		if (code == SQLITE_BUSY)
			sqlite3_sleep(BUSY_STEP_MS);
	}
	if (code != SQLITE_OK)
		return fail(p, "open it for writing");
	if (!execute(p, "BEGIN IMMEDIATE", "write to it"))
		return false;
	bool good = true;
	if (pragma(p, "PRAGMA application_id") == 0 && pragma(p, "PRAGMA schema_version") == 0)
		good = make_tables(p);
	if (good)
		return execute(p, "COMMIT", "write to it");
	sqlite3_exec(p->db, "ROLLBACK", NULL, NULL, NULL);
	return false;
}

/* A file that is not ours must not be changed, not even its mode. */
static bool
is_foreign(struct profile *p)
{
	int64_t tables = pragma(p, "SELECT count(*) FROM sqlite_master");
	if (tables <= 0)
		return tables < 0;
	return !check_version(
		p, pragma(p, "PRAGMA application_id"), pragma(p, "PRAGMA user_version"));
}

struct profile *
profile_open(const void *owner, struct diag *d, const char *path, enum profile_mode mode)
{
	struct profile *p = NEW(NULL, struct profile);
	p->diag = d;
	p->path = TEXT(p, "%s", path);
	talloc_set_destructor(p, profile_close);
	int flags = SQLITE_OPEN_READWRITE | (mode == PROFILE_WRITE ? SQLITE_OPEN_CREATE : 0);
	bool good = sqlite3_open_v2(path, &p->db, flags, NULL) == SQLITE_OK || fail(p, "open it");
	if (good) {
		sqlite3_busy_timeout(p->db, BUSY_MS);
		good = !is_foreign(p);
	}
	if (good && mode == PROFILE_WRITE)
		good = prepare_for_writing(p);
	if (good)
		good = check_version(
			p, pragma(p, "PRAGMA application_id"), pragma(p, "PRAGMA user_version"));
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

/*
 * Runs a statement whose parameters are given by a letter each: t text, i int, d double, and w for
 * "when", the present time in seconds since 1970.
 */
static bool
put(struct profile *p, const char *sql, const char *types, ...)
{
	sqlite3_stmt *s = NULL;
	if (sqlite3_prepare_v2(p->db, sql, -1, &s, NULL) != SQLITE_OK)
		return fail(p, "write to it");
	va_list args;
	va_start(args, types);
	for (int i = 0; types[i]; i++) {
		switch (types[i]) {
		case 't':
			sqlite3_bind_text(
				s, i + 1, va_arg(args, const char *), -1, SQLITE_TRANSIENT);
			break;
		case 'i': sqlite3_bind_int(s, i + 1, va_arg(args, int)); break;
		case 'd': sqlite3_bind_double(s, i + 1, va_arg(args, double)); break;
		default: sqlite3_bind_int64(s, i + 1, (sqlite3_int64)time(NULL));
		}
	}
	va_end(args);
	bool good = sqlite3_step(s) == SQLITE_DONE || fail(p, "write to it");
	sqlite3_finalize(s);
	return good;
}

bool
profile_put_op(struct profile *p, const char *device, const struct profile_op *op)
{
	return put(p, "INSERT OR REPLACE INTO op VALUES(?,?,?,?,?,?,?,?,?)", "titddiddw", device,
		op->ranks, op->key, op->median, op->spread, op->runs, op->flops, op->bytes);
}

bool
profile_put_collective(struct profile *p, const char *device, const struct profile_collective *c)
{
	return put(p, "INSERT OR REPLACE INTO collective VALUES(?,?,?,?,?,?,?,?,?)", "tttidddiw",
		device, c->transport, collective_name(c->kind), c->places, c->bytes, c->median,
		c->spread, c->runs);
}

bool
profile_put_link(struct profile *p, const char *device, const struct profile_link *l)
{
	return put(p, "INSERT OR REPLACE INTO link VALUES(?,?,?,?,?,?,?,?)", "tttidddw", device,
		l->transport, collective_name(l->kind), l->places, l->alpha, l->beta, l->error);
}

bool
profile_put_field(struct profile *p, const char *device, const struct profile_field *f)
{
	return put(p, "INSERT OR REPLACE INTO field VALUES(?,?,?,?)", "ttdw", device, f->name,
		f->value);
}

/* Row by row: fills *entry (zeroed), texts owned by `owner`; false leaves the row out. */
typedef bool read_row(const void *owner, sqlite3_stmt *s, void *entry);

static int
get(const void *owner, struct profile *p, const char *sql, const char *device, size_t size,
	read_row *row, void **list)
{
	sqlite3_stmt *s = NULL;
	if (sqlite3_prepare_v2(p->db, sql, -1, &s, NULL) != SQLITE_OK) {
		fail(p, "read it");
		return -1;
	}
	if (device)
		sqlite3_bind_text(s, 1, device, -1, SQLITE_TRANSIENT);
	int n = 0, room = 16, code;
	char *array = NEW_ARRAY(owner, char, size *(size_t)room);
	while ((code = sqlite3_step(s)) == SQLITE_ROW) {
		if (n == room) {
			room *= 2;
			array = RESIZE(owner, array, char, size *(size_t)room);
		}
		memset(array + size * (size_t)n, 0, size);
		n += row(array, s, array + size * (size_t)n);
	}
	if (code != SQLITE_DONE)
		fail(p, "read it");
	sqlite3_finalize(s);
	if (code != SQLITE_DONE) {
		talloc_free(array);
		return -1;
	}
	*list = array;
	return n;
}

static char *
column_text(const void *owner, sqlite3_stmt *s, int column)
{
	const unsigned char *t = sqlite3_column_text(s, column);
	return TEXT(owner, "%s", t ? (const char *)t : "");
}

static bool
row_op(const void *owner, sqlite3_stmt *s, void *entry)
{
	*(struct profile_op *)entry = (struct profile_op){column_text(owner, s, 0),
		sqlite3_column_int(s, 1), sqlite3_column_double(s, 2), sqlite3_column_double(s, 3),
		sqlite3_column_int(s, 4), sqlite3_column_double(s, 5), sqlite3_column_double(s, 6)};
	return true;
}

int
profile_ops(const void *owner, struct profile *p, const char *device, struct profile_op **list)
{
	return get(owner, p,
		"SELECT key, ranks, median, spread, runs, flops, bytes FROM op WHERE device = ? "
		"ORDER BY key, ranks",
		device, sizeof **list, row_op, (void **)list);
}

static enum collective
column_collective(sqlite3_stmt *s, int column)
{
	const char *t = (const char *)sqlite3_column_text(s, column);
	int c = 0;
	while (t && c < COLL_NKINDS && strcmp(collective_name((enum collective)c), t) != 0)
		c++;
	return t ? (enum collective)c : COLL_NKINDS;
}

static bool
row_collective(const void *owner, sqlite3_stmt *s, void *entry)
{
	*(struct profile_collective *)entry = (struct profile_collective){column_text(owner, s, 0),
		column_collective(s, 1), sqlite3_column_int(s, 2), sqlite3_column_double(s, 3),
		sqlite3_column_double(s, 4), sqlite3_column_double(s, 5), sqlite3_column_int(s, 6)};
	return column_collective(s, 1) != COLL_NKINDS;
}

int
profile_collectives(
	const void *owner, struct profile *p, const char *device, struct profile_collective **list)
{
	return get(owner, p,
		"SELECT transport, kind, places, bytes, median, spread, runs FROM collective "
		"WHERE device = ? ORDER BY transport, kind, places, bytes",
		device, sizeof **list, row_collective, (void **)list);
}

static bool
row_link(const void *owner, sqlite3_stmt *s, void *entry)
{
	*(struct profile_link *)entry = (struct profile_link){column_text(owner, s, 0),
		column_collective(s, 1), sqlite3_column_int(s, 2), sqlite3_column_double(s, 3),
		sqlite3_column_double(s, 4), sqlite3_column_double(s, 5)};
	return column_collective(s, 1) != COLL_NKINDS;
}

int
profile_links(const void *owner, struct profile *p, const char *device, struct profile_link **list)
{
	return get(owner, p,
		"SELECT transport, kind, places, alpha, beta, error FROM link WHERE device = ? "
		"ORDER BY transport, kind, places",
		device, sizeof **list, row_link, (void **)list);
}

static bool
row_field(const void *owner, sqlite3_stmt *s, void *entry)
{
	*(struct profile_field *)entry =
		(struct profile_field){column_text(owner, s, 0), sqlite3_column_double(s, 1)};
	return true;
}

int
profile_fields(
	const void *owner, struct profile *p, const char *device, struct profile_field **list)
{
	return get(owner, p, "SELECT name, value FROM field WHERE device = ? ORDER BY name", device,
		sizeof **list, row_field, (void **)list);
}

static bool
row_device(const void *owner, sqlite3_stmt *s, void *entry)
{
	*(char **)entry = column_text(owner, s, 0);
	return true;
}

int
profile_devices(const void *owner, struct profile *p, char ***list)
{
	return get(owner, p,
		"SELECT device FROM op UNION SELECT device FROM collective UNION SELECT device "
		"FROM link "
		"UNION SELECT device FROM field ORDER BY 1",
		NULL, sizeof **list, row_device, (void **)list);
}
