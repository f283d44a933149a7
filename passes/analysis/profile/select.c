/*
 * Selects entries of a profile: the backend whose code made them, the transport, and the entry
 * nearest to a request. Also defines which values an entry may have.
 */
#include "passes/analysis/profile/internal.h"

#include "dopt_backend.h"
#include "ir/base/alloc.h"
#include "runtime/machine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>

const char *
profile_backend(bool cuda)
{
	return cuda ? DOPT_BACKEND_CUDA : DOPT_BACKEND_HOST;
}

char *
profile_this_device(const void *owner)
{
	char name[256];
	rt_machine_name(name, sizeof name);
	return TEXT(owner, "%s", name);
}

void
profile_select(struct profile *p, const char *backend, const char *transport)
{
	char *old[] = {p->backend, p->transport};
	p->backend = backend ? TEXT(p, "%s", backend) : NULL;
	p->transport = transport ? TEXT(p, "%s", transport) : NULL;
	talloc_free(old[0]);
	talloc_free(old[1]);
}

sqlite3_stmt *
profile_prepare(struct profile *p, const char *sql, int n, const char *const *text)
{
	sqlite3_stmt *s = NULL;
	if (sqlite3_prepare_v2(p->db, sql, -1, &s, NULL) != SQLITE_OK) {
		profile_fail(p, "read it");
		return NULL;
	}
	for (int i = 0; i < n; i++)
		sqlite3_bind_text(s, i + 1, text[i] ? text[i] : "", -1, SQLITE_TRANSIENT);
	return s;
}

/* The first column of the first row as text, owned by `owner`; NULL: no row, or reported. */
static char *
profile_query(const void *owner, struct profile *p, const char *sql, int n, const char *const *text)
{
	sqlite3_stmt *s = profile_prepare(p, sql, n, text);
	char *result = NULL;
	int code = s ? sqlite3_step(s) : SQLITE_DONE;
	if (code == SQLITE_ROW && sqlite3_column_text(s, 0))
		result = TEXT(owner, "%s", (const char *)sqlite3_column_text(s, 0));
	else if (code != SQLITE_ROW && code != SQLITE_DONE)
		profile_fail(p, "read it");
	sqlite3_finalize(s);
	return result;
}

/* Measured by another build of dopt? Figures of other programs do not go stale. */
static bool
is_stale(const char *backend)
{
	return strncmp(backend, "host ", 5) == 0 || strncmp(backend, "cuda ", 5) == 0;
}

static void
warn(struct profile *p, const char *device, const char *backend)
{
	if (p->warned && strcmp(p->warned, device) == 0)
		return;
	talloc_free(p->warned);
	p->warned = TEXT(p, "%s", device);
	diag_report(p->diag, DIAG_WARNING, LOC_NONE,
		"profile %s: the times of device %s were measured with another "
		"backend; -measure measures them again",
		p->path, device);
	diag_note(p->diag, LOC_NONE, "the profile was measured with %s", backend);
	diag_note(p->diag, LOC_NONE, "this is %s",
		profile_backend(strncmp(backend, "cuda ", 5) == 0));
}

char *
profile_chosen_backend(const void *owner, struct profile *p, const char *table, const char *device)
{
	if (p->backend)
		return TEXT(owner, "%s", p->backend);
	char *sql = TEXT(NULL,
		"SELECT backend FROM %s WHERE device = ? GROUP BY backend "
		"ORDER BY backend IN (?, ?) DESC, max(time) DESC, backend",
		table);
	const char *const texts[] = {device, DOPT_BACKEND_HOST, DOPT_BACKEND_CUDA};
	char *found = profile_query(owner, p, sql, 3, texts);
	talloc_free(sql);
	if (found && is_stale(found) && strcmp(found, DOPT_BACKEND_HOST) != 0 &&
		strcmp(found, DOPT_BACKEND_CUDA) != 0)
		warn(p, device, found);
	return found ? found : TEXT(owner, "%s", DOPT_BACKEND_HOST);
}

char *
profile_chosen_transport(
	const void *owner, struct profile *p, const char *device, const char *backend)
{
	if (p->transport)
		return TEXT(owner, "%s", p->transport);
	const char *const texts[] = {device, backend, device, backend};
	char *found = profile_query(owner, p,
		"SELECT transport FROM (SELECT transport FROM collective WHERE device = ? AND "
		"backend = ? UNION SELECT transport FROM link WHERE device = ? AND backend = ?) "
		"ORDER BY transport = 'threads' DESC, transport",
		4, texts);
	return found ? found : TEXT(owner, "threads");
}

static int
compare_op(const struct profile_op *op, const char *key)
{
	return strcmp(op->key, key);
}

const struct profile_op *
profile_find_op(const struct profile_op *list, int n, const char *key, int64_t ranks)
{
	int low = 0, high = n;
	while (low < high) {
		int middle = low + (high - low) / 2;
		if (compare_op(&list[middle], key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	const struct profile_op *best = NULL;
	for (; low < n && compare_op(&list[low], key) == 0; low++)
		if (!best || list[low].buffers < best->buffers ||
			(list[low].buffers == best->buffers &&
				llabs(list[low].ranks - ranks) < llabs(best->ranks - ranks)))
			best = &list[low];
	return best;
}

/* In the order of the list: by the kind's name, then places, then bytes. */
static int
compare_collective(
	const struct profile_collective *c, enum rt_coll_kind kind, int places, double bytes)
{
	int order = strcmp(rt_coll_name(c->kind), rt_coll_name(kind));
	if (order == 0)
		order = (c->places > places) - (c->places < places);
	return order ? order : (c->bytes > bytes) - (c->bytes < bytes);
}

const struct profile_collective *
profile_find_collective(const struct profile_collective *list, int n, enum rt_coll_kind kind,
	int places, double bytes)
{
	int low = 0, high = n;
	while (low < high) {
		int middle = low + (high - low) / 2;
		if (compare_collective(&list[middle], kind, places, bytes) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	bool found = low < n && compare_collective(&list[low], kind, places, bytes) == 0;
	return found ? &list[low] : NULL;
}

/* Comparisons are written so that NaN fails them. */
static bool
is_time(double x)
{
	return x > 0 && x < INFINITY;
}

static bool
is_amount(double x)
{
	return x >= 0 && x < INFINITY;
}

const char *
profile_op_fault(const struct profile_op *op)
{
	if (!*op->key || strchr(op->key, '\n'))
		return "the key is not one line";
	if (op->buffers >= PROFILE_NBUFFERS)
		return "buffers is not step or rotate";
	if (!is_time(op->median))
		return "the median is not a time above 0";
	if (!is_amount(op->spread))
		return "the spread is not a number of at least 0";
	if (op->runs < 1)
		return "runs is not at least 1";
	if (op->ranks < 1)
		return "ranks is not at least 1";
	if (!is_amount(op->flops) || !is_amount(op->bytes))
		return "flops and bytes are not numbers of at least 0";
	return NULL;
}

const char *
profile_collective_fault(const struct profile_collective *c)
{
	if (c->kind == RT_COLL_KINDS)
		return "this is not a kind of collective";
	if (!is_time(c->median))
		return "the median is not a time above 0";
	if (!is_amount(c->spread))
		return "the spread is not a number of at least 0";
	if (c->runs < 1)
		return "runs is not at least 1";
	if (c->places < 1 || c->nodes < 0 || c->nodes > c->places)
		return "there is not at least one rank on every node";
	return is_amount(c->bytes) ? NULL : "bytes is not a number of at least 0";
}

const char *
profile_link_fault(const struct profile_link *l)
{
	if (l->kind == RT_COLL_KINDS)
		return "this is not a kind of collective";
	if (l->places < 1 || l->nodes < 0 || l->nodes > l->places)
		return "there is not at least one rank on every node";
	if (!is_amount(l->alpha))
		return "alpha is not a time of at least 0";
	if (!(l->beta > 0))
		return "beta is not a bandwidth above 0";
	return is_amount(l->error) ? NULL : "the error is not a number of at least 0";
}

const char *
profile_field_fault(const struct profile_field *f)
{
	enum fits { ABOVE_0, FROM_0, FROM_1, FLAG };
	static const struct {
		const char *name;
		enum fits fits;
	} fields[] = {
#define DEVICE(name, unit, value, fits, why) {#name, fits},
#include "ir/cluster/device.def"
#undef DEVICE
	};
	static const char *const fault[] = {"the value is not above 0", NULL,
		"the value is not at least 1", "the value is neither 0 nor 1"};
	if (!is_amount(f->value))
		return "the value is not a number of at least 0";
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
		if (strcmp(fields[i].name, f->name) != 0)
			continue;
		const bool fit[] = {
			f->value > 0, true, f->value >= 1, f->value == 0 || f->value == 1};
		return fit[fields[i].fits] ? NULL : fault[fields[i].fits];
	}
	return NULL;
}
