/* Entries of the profile database: rows into and out of its tables. */
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

/* Binds the values of a put: one letter per value. */
struct binder {
	sqlite3_stmt *s;
	int n;
};

static void
bind_text(struct binder *b, const char *text)
{
	sqlite3_bind_text(b->s, ++b->n, text ? text : "", -1, SQLITE_TRANSIENT);
}

static void
bind_int(struct binder *b, int64_t i)
{
	sqlite3_bind_int64(b->s, ++b->n, i);
}

static void
bind_double(struct binder *b, double x)
{
	sqlite3_bind_double(b->s, ++b->n, x);
}

static void
bind_time(struct binder *b, int64_t t)
{
	bind_int(b, t ? t : (int64_t)time(NULL));
}

/* A statement that writes a row, its device and backend bound; s NULL: reported. */
static struct binder
begin_put(struct profile *p, const char *device, const char *sql)
{
	const char *backend = p->backend ? p->backend : profile_backend(false);
	const char *const texts[] = {device, backend};
	return (struct binder){profile_prepare(p, sql, 2, texts), 2};
}

static bool
end_put(struct profile *p, struct binder *b)
{
	bool good = sqlite3_step(b->s) == SQLITE_DONE || profile_fail(p, "write to it");
	sqlite3_finalize(b->s);
	return good;
}

/* Rejects entries that could not be read again. */
static bool
is_fine(struct profile *p, const char *table, const char *key, const char *fault)
{
	if (fault)
		diag_error(p->diag, LOC_NONE, "profile %s: table %s, %s: %s", p->path, table, key,
			fault);
	return !fault;
}

bool
profile_put_op(struct profile *p, const char *device, const struct profile_op *op)
{
	if (!is_fine(p, "op", op->key, profile_op_fault(op)))
		return false;
	struct binder b =
		begin_put(p, device, "INSERT OR REPLACE INTO op VALUES(?,?,?,?,?,?,?,?,?,?,?)");
	if (!b.s)
		return false;
	bind_text(&b, op->key);
	bind_int(&b, op->ranks);
	bind_text(&b, profile_buffers_name(op->buffers));
	bind_double(&b, op->median);
	bind_double(&b, op->spread);
	bind_int(&b, op->runs);
	bind_double(&b, op->flops);
	bind_double(&b, op->bytes);
	bind_time(&b, op->time);
	return end_put(p, &b);
}

bool
profile_put_collective(struct profile *p, const char *device, const struct profile_collective *c)
{
	if (!is_fine(p, "collective", rt_coll_name(c->kind), profile_collective_fault(c)))
		return false;
	struct binder b = begin_put(
		p, device, "INSERT OR REPLACE INTO collective VALUES(?,?,?,?,?,?,?,?,?,?,?)");
	if (!b.s)
		return false;
	bind_text(&b, c->transport);
	bind_text(&b, rt_coll_name(c->kind));
	bind_int(&b, c->places);
	bind_int(&b, c->nodes ? c->nodes : 1);
	bind_double(&b, c->bytes);
	bind_double(&b, c->median);
	bind_double(&b, c->spread);
	bind_int(&b, c->runs);
	bind_time(&b, c->time);
	return end_put(p, &b);
}

bool
profile_put_link(struct profile *p, const char *device, const struct profile_link *l)
{
	if (!is_fine(p, "link", rt_coll_name(l->kind), profile_link_fault(l)))
		return false;
	struct binder b =
		begin_put(p, device, "INSERT OR REPLACE INTO link VALUES(?,?,?,?,?,?,?,?,?,?)");
	if (!b.s)
		return false;
	bind_text(&b, l->transport);
	bind_text(&b, rt_coll_name(l->kind));
	bind_int(&b, l->places);
	bind_int(&b, l->nodes ? l->nodes : 1);
	bind_double(&b, l->alpha);
	bind_double(&b, l->beta);
	bind_double(&b, l->error);
	bind_time(&b, l->time);
	return end_put(p, &b);
}

bool
profile_put_field(struct profile *p, const char *device, const struct profile_field *f)
{
	if (!is_fine(p, "field", f->name, profile_field_fault(f)))
		return false;
	struct binder b = begin_put(p, device, "INSERT OR REPLACE INTO field VALUES(?,?,?,?,?,?)");
	if (!b.s)
		return false;
	bind_text(&b, f->transport);
	bind_text(&b, f->name);
	bind_double(&b, f->value);
	bind_time(&b, f->time);
	return end_put(p, &b);
}

/* A list that is being read. */
struct reader {
	struct profile *profile;
	const char *table, *device;
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

static void
report_entry(struct reader *r, const char *key, const char *fault)
{
	if (!fault)
		return;
	diag_error(r->profile->diag, LOC_NONE, "profile %s: table %s, device %s, %s: %s",
		r->profile->path, r->table, r->device, key, fault);
	r->failed = true;
}

static void
row_op(struct reader *r, void *entry)
{
	struct profile_op *op = entry;
	const char *buffers = column_text(r, 2);
	*op = (struct profile_op){.key = column_text(r, 0),
		.ranks = column_int(r, 1),
		.median = column_number(r, 3),
		.spread = column_number(r, 4),
		.runs = column_int(r, 5),
		.flops = column_number(r, 6),
		.bytes = column_number(r, 7),
		.time = sqlite3_column_int64(r->s, 8)};
	while (op->buffers < PROFILE_NBUFFERS &&
		strcmp(buffers, profile_buffers_name(op->buffers)) != 0)
		op->buffers++;
	report_entry(r, op->key,
		op->buffers == PROFILE_NBUFFERS ? "buffers is not step or rotate"
						: profile_op_fault(op));
}

static enum rt_coll_kind
column_collective(const struct reader *r, int column)
{
	const char *t = (const char *)sqlite3_column_text(r->s, column);
	return t ? rt_coll_find(t, strlen(t)) : RT_COLL_KINDS;
}

static void
row_collective(struct reader *r, void *entry)
{
	struct profile_collective *c = entry;
	*c = (struct profile_collective){column_text(r, 0), column_collective(r, 1),
		column_int(r, 2), column_number(r, 3), column_number(r, 4), column_number(r, 5),
		column_int(r, 6), column_int(r, 7), sqlite3_column_int64(r->s, 8)};
	report_entry(r,
		TEXT(r->list, "%s %s, %d ranks, %.0f bytes", c->transport, column_text(r, 1),
			c->places, c->bytes),
		profile_collective_fault(c));
}

static void
row_link(struct reader *r, void *entry)
{
	struct profile_link *l = entry;
	*l = (struct profile_link){column_text(r, 0), column_collective(r, 1), column_int(r, 2),
		column_number(r, 3), column_number(r, 4), column_number(r, 5), column_int(r, 6),
		sqlite3_column_int64(r->s, 7)};
	report_entry(r,
		TEXT(r->list, "%s %s, %d ranks", l->transport, column_text(r, 1), l->places),
		profile_link_fault(l));
}

static void
row_field(struct reader *r, void *entry)
{
	struct profile_field *f = entry;
	*f = (struct profile_field){column_text(r, 0), column_number(r, 1), column_text(r, 2),
		sqlite3_column_int64(r->s, 3)};
	report_entry(r, f->name, profile_field_fault(f));
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
profile_ops(const void *owner, struct profile *p, const char *device, struct profile_op **list)
{
	struct reader r = {.profile = p, .table = "op", .device = device};
	char *backend = profile_chosen_backend(NULL, p, "op", device);
	const char *const texts[] = {device, backend};
	/* Names of buffers: "step" sorts after "rotate" but comes first. */
	int n = get(owner, &r,
		"SELECT key, ranks, buffers, median, spread, runs, flops, bytes, time FROM op "
		"WHERE device = ? AND backend = ? ORDER BY key, ranks, buffers DESC",
		2, texts, sizeof **list, row_op, (void **)list);
	talloc_free(backend);
	return n;
}

/* The rows of a table that belong to a device, the chosen backend and the chosen transport. */
static int
get_of_transport(const void *owner, struct profile *p, const char *table, const char *device,
	const char *sql, size_t size, read_row *row, void **list)
{
	struct reader r = {.profile = p, .table = table, .device = device};
	char *backend = profile_chosen_backend(NULL, p, table, device);
	char *transport = profile_chosen_transport(backend, p, device, backend);
	const char *const texts[] = {device, backend, transport, transport};
	int n = get(owner, &r, sql, 4, texts, size, row, list);
	talloc_free(backend);
	return n;
}

int
profile_collectives(
	const void *owner, struct profile *p, const char *device, struct profile_collective **list)
{
	return get_of_transport(owner, p, "collective", device,
		"SELECT transport, kind, places, bytes, median, spread, runs, nodes, time "
		"FROM collective WHERE device = ? AND backend = ? AND (? = '*' OR transport = ?) "
		"ORDER BY transport, kind, places, bytes, nodes",
		sizeof **list, row_collective, (void **)list);
}

int
profile_links(const void *owner, struct profile *p, const char *device, struct profile_link **list)
{
	return get_of_transport(owner, p, "link", device,
		"SELECT transport, kind, places, alpha, beta, error, nodes, time "
		"FROM link WHERE device = ? AND backend = ? AND (? = '*' OR transport = ?) "
		"ORDER BY transport, kind, places, nodes",
		sizeof **list, row_link, (void **)list);
}

int
profile_fields(
	const void *owner, struct profile *p, const char *device, struct profile_field **list)
{
	return get_of_transport(owner, p, "field", device,
		"SELECT name, value, transport, time FROM field WHERE device = ? AND backend = ? "
		"AND (? = '*' OR transport = ? OR transport = '') ORDER BY transport, name",
		sizeof **list, row_field, (void **)list);
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
