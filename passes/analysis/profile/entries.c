/* Entries of the profile database: rows into and out of its tables. */
#include "passes/analysis/profile/columns.h"
#include "passes/analysis/profile/internal.h"

#include "ir/base/vec.h"

#include <string.h>
#include <talloc.h>
#include <time.h>

const char *
profile_buffers_name(enum profile_buffers b)
{
	static const char *const name[] = {"step", "rotate"};
	return name[b];
}

/* Binds a value of an entry; `n`: its number in the statement. */
static void
bind_column(sqlite3_stmt *s, int n, const struct profile_column *c, const void *entry)
{
	const void *at = (const char *)entry + c->at;
	const char *text = NULL;

	switch (c->type) {
	case COLUMN_NUMBER: sqlite3_bind_double(s, n, *(const double *)at); return;
	case COLUMN_COUNT: sqlite3_bind_int(s, n, *(const int *)at); return;
	case COLUMN_NODES: sqlite3_bind_int(s, n, *(const int *)at ? *(const int *)at : 1); return;
	case COLUMN_TIME:
		sqlite3_bind_int64(
			s, n, *(const int64_t *)at ? *(const int64_t *)at : (int64_t)time(NULL));
		return;
	case COLUMN_COLLECTIVE: text = rt_coll_name(*(const enum rt_coll_kind *)at); break;
	case COLUMN_BUFFERS: text = profile_buffers_name(*(const enum profile_buffers *)at); break;
	case COLUMN_TEXT:
	case COLUMN_OPTIONAL: text = *(const char *const *)at;
	}
	sqlite3_bind_text(s, n, text ? text : "", -1, SQLITE_TRANSIENT);
}

/* The kind of collective that an entry is of, for messages; NULL: none. */
static const struct profile_column *
collective_column(const struct profile_table *t)
{
	for (const struct profile_column *c = t->column; c->name; c++)
		if (c->type == COLUMN_COLLECTIVE)
			return c;
	return NULL;
}

/* Rejects entries that could not be read again. */
static bool
is_fine(struct profile *p, enum profile_kind kind, const void *entry)
{
	const struct profile_table *t = profile_table(kind);
	const char *fault = profile_fault(kind, entry);

	if (fault) {
		const struct profile_column *c = collective_column(t);
		const enum rt_coll_kind *coll =
			c ? (const void *)((const char *)entry + c->at) : NULL;
		char *text = profile_describe(NULL, kind, entry, coll ? rt_coll_name(*coll) : "");
		diag_error(p->diag, LOC_NONE, "profile %s: table %s, %s: %s", p->path, t->name,
			text, fault);
		talloc_free(text);
	}
	return !fault;
}

/* The statement that writes an entry of a kind, kept for the next; NULL: reported. */
static sqlite3_stmt *
put_statement(struct profile *p, enum profile_kind kind)
{
	const struct profile_table *t = profile_table(kind);

	if (p->put[kind])
		return p->put[kind];
	char *names = TEXT(NULL, "%s", ""), *marks = TEXT(names, "%s", "");
	for (const struct profile_column *c = t->column; c->name; c++) {
		names = text_append_end(names, ", %s", c->name);
		marks = text_append_end(marks, ", ?");
	}
	p->put[kind] = profile_prepare(p,
		TEXT(names, "INSERT OR REPLACE INTO %s(device, backend%s) VALUES(?, ?%s)", t->name,
			names, marks),
		0, NULL);
	talloc_free(names);
	return p->put[kind];
}

bool
profile_put(struct profile *p, const char *device, enum profile_kind kind, const void *entry)
{
	const struct profile_column *c = profile_table(kind)->column;
	sqlite3_stmt *s = is_fine(p, kind, entry) ? put_statement(p, kind) : NULL;
	int n = 0;

	if (!s)
		return false;
	sqlite3_bind_text(s, ++n, device, -1, SQLITE_TRANSIENT);
	sqlite3_bind_text(
		s, ++n, p->backend ? p->backend : profile_backend(false), -1, SQLITE_TRANSIENT);
	for (; c->name; c++)
		bind_column(s, ++n, c, entry);
	const bool good = sqlite3_step(s) == SQLITE_DONE || profile_fail(p, "write to it");
	sqlite3_reset(s);
	return good;
}

bool
profile_put_op(struct profile *p, const char *device, const struct profile_op *op)
{
	return profile_put(p, device, PROFILE_OP, op);
}

bool
profile_put_collective(struct profile *p, const char *device, const struct profile_collective *c)
{
	return profile_put(p, device, PROFILE_COLLECTIVE, c);
}

bool
profile_put_link(struct profile *p, const char *device, const struct profile_link *l)
{
	return profile_put(p, device, PROFILE_LINK, l);
}

bool
profile_put_field(struct profile *p, const char *device, const struct profile_field *f)
{
	return profile_put(p, device, PROFILE_FIELD, f);
}

/* A list that is being read. */
struct reader {
	struct profile *profile;
	const char *device;
	enum profile_kind kind;
	sqlite3_stmt *s;
	char *list;
	bool failed;
};

/* Fills *entry from the current row; texts are owned by r->list. */
typedef void read_row(struct reader *r, void *entry);

static char *
column_text(const struct reader *r, int column)
{
	const unsigned char *t = sqlite3_column_text(r->s, column);
	return TEXT(r->list, "%s", t ? (const char *)t : "");
}

/* A value that is not a number becomes one that no entry may have. */
static double
column_number(const struct reader *r, int column)
{
	int type = sqlite3_column_type(r->s, column);
	bool number = type == SQLITE_INTEGER || type == SQLITE_FLOAT;
	return number ? sqlite3_column_double(r->s, column) : -1;
}

static int
column_int(const struct reader *r, int column)
{
	double x = column_number(r, column);
	return x >= 0 && x <= INT32_MAX ? (int)x : -1;
}

static enum profile_buffers
column_buffers(const struct reader *r, int column)
{
	const char *name = column_text(r, column);
	int b = 0;

	while (b < PROFILE_NBUFFERS && strcmp(name, profile_buffers_name((enum profile_buffers)b)))
		b++;
	return (enum profile_buffers)b;
}

static enum rt_coll_kind
column_collective(const struct reader *r, int column)
{
	const char *t = (const char *)sqlite3_column_text(r->s, column);
	return t ? rt_coll_find(t, strlen(t)) : RT_COLL_KINDS;
}

static void
row_entry(struct reader *r, void *entry)
{
	const struct profile_table *t = profile_table(r->kind);
	const char *collective = "";

	for (int i = 0; t->column[i].name; i++) {
		void *at = (char *)entry + t->column[i].at;
		switch (t->column[i].type) {
		case COLUMN_TEXT:
		case COLUMN_OPTIONAL: *(const char **)at = column_text(r, i); break;
		case COLUMN_COUNT:
		case COLUMN_NODES: *(int *)at = column_int(r, i); break;
		case COLUMN_NUMBER: *(double *)at = column_number(r, i); break;
		case COLUMN_BUFFERS: *(enum profile_buffers *)at = column_buffers(r, i); break;
		case COLUMN_TIME: *(int64_t *)at = sqlite3_column_int64(r->s, i); break;
		case COLUMN_COLLECTIVE:
			*(enum rt_coll_kind *)at = column_collective(r, i);
			collective = column_text(r, i);
		}
	}
	const char *fault = profile_fault(r->kind, entry);
	if (!fault)
		return;
	diag_error(r->profile->diag, LOC_NONE, "profile %s: table %s, device %s, %s: %s",
		r->profile->path, t->name, r->device,
		profile_describe(r->list, r->kind, entry, collective), fault);
	r->failed = true;
}

static void
row_text(struct reader *r, void *entry)
{
	*(char **)entry = column_text(r, 0);
}

/* All rows of a statement with `n` texts bound. */
static int
get(const void *owner, struct reader *r, const char *sql, int n, const char *const *text,
	size_t size, read_row *row, void **list)
{
	r->s = profile_prepare(r->profile, sql, n, text);
	if (!r->s)
		return -1;
	int count = 0, code;
	r->list = list_room(owner, NULL, 1, size);
	while ((code = sqlite3_step(r->s)) == SQLITE_ROW) {
		r->list = list_room(owner, r->list, (size_t)count + 1, size);
		char *entry = r->list + size * (size_t)count++;
		memset(entry, 0, size);
		row(r, entry);
	}
	if (code != SQLITE_DONE)
		r->failed = !profile_fail(r->profile, "read it");
	sqlite3_finalize(r->s);
	if (r->failed) {
		talloc_free(r->list);
		return -1;
	}
	*list = r->list;
	return count;
}

int
profile_entries(const void *owner, struct profile *p, const char *device, enum profile_kind kind,
	void **list)
{
	const struct profile_table *t = profile_table(kind);
	struct reader r = {.profile = p, .device = device, .kind = kind};
	char *scratch = profile_chosen_backend(NULL, p, t->name, device);
	const char *const transport =
		*t->transports ? profile_chosen_transport(scratch, p, device, scratch) : NULL;
	const char *const texts[] = {device, scratch, transport, transport};
	char *names = TEXT(scratch, "%s", t->column->name);
	for (const struct profile_column *c = t->column + 1; c->name; c++)
		names = text_append_end(names, ", %s", c->name);
	int n = get(owner, &r,
		TEXT(scratch, "SELECT %s FROM %s WHERE device = ? AND backend = ?%s ORDER BY %s",
			names, t->name, t->transports, t->order),
		transport ? 4 : 2, texts, t->size, row_entry, list);
	talloc_free(scratch);
	return n;
}

int
profile_ops(const void *owner, struct profile *p, const char *device, struct profile_op **list)
{
	return profile_entries(owner, p, device, PROFILE_OP, (void **)list);
}

int
profile_collectives(
	const void *owner, struct profile *p, const char *device, struct profile_collective **list)
{
	return profile_entries(owner, p, device, PROFILE_COLLECTIVE, (void **)list);
}

int
profile_links(const void *owner, struct profile *p, const char *device, struct profile_link **list)
{
	return profile_entries(owner, p, device, PROFILE_LINK, (void **)list);
}

int
profile_fields(
	const void *owner, struct profile *p, const char *device, struct profile_field **list)
{
	return profile_entries(owner, p, device, PROFILE_FIELD, (void **)list);
}

int
profile_devices(const void *owner, struct profile *p, char ***list)
{
	struct reader r = {.profile = p};
	return get(owner, &r,
		"SELECT device FROM op UNION SELECT device FROM collective UNION SELECT device "
		"FROM link UNION SELECT device FROM field ORDER BY 1",
		0, NULL, sizeof **list, row_text, (void **)list);
}

int
profile_backends(const void *owner, struct profile *p, const char *device, char ***list)
{
	struct reader r = {.profile = p};
	const char *const texts[] = {device, device, device, device};
	return get(owner, &r,
		"SELECT backend FROM op WHERE device = ? UNION "
		"SELECT backend FROM collective WHERE device = ? UNION "
		"SELECT backend FROM link WHERE device = ? UNION "
		"SELECT backend FROM field WHERE device = ? ORDER BY 1",
		4, texts, sizeof **list, row_text, (void **)list);
}
