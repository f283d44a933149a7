/* The header of a trace: "otherData", with the tables of kernels and collectives. */
#include "ir/base/vec.h"
#include "passes/analysis/trace/impl.h"
#include "runtime/trace/trace.h"

#include <string.h>

/* An element of a table that is being read. */
struct row {
	struct trace_axis axis;
	struct trace_kernel kernel;
	struct trace_collective collective;
	struct trace_copy copy;
	const char *kind, *axis_name, *copy_to;
	int64_t op;
	const char *where[TRACE_MAX_FIELDS];
};

#define AT(field) offsetof(struct row, field)

static const struct trace_field axis_field[] = {
	{"name", FIELD_TEXT, AT(axis.name), NULL, NULL},
	{"size", FIELD_INT, AT(axis.size), NULL, NULL},
	{"time", FIELD_BOOL, AT(axis.time), NULL, NULL},
	{"place", FIELD_INT, AT(axis.place), NULL, NULL},
};
static const struct trace_field kernel_field[] = {
	{"op", FIELD_INT, AT(op), NULL, NULL},
	{"name", FIELD_TEXT, AT(kernel.name), NULL, NULL},
	{"text", FIELD_TEXT, AT(kernel.text), NULL, NULL},
	{"flops", FIELD_REAL, AT(kernel.flops), NULL, NULL},
	{"bytes", FIELD_REAL, AT(kernel.bytes), NULL, NULL},
};
static const struct trace_field collective_field[] = {
	{"op", FIELD_INT, AT(op), NULL, NULL},
	{"name", FIELD_TEXT, AT(collective.name), NULL, NULL},
	{"kind", FIELD_TEXT, AT(kind), NULL, NULL},
	{"axis", FIELD_TEXT, AT(axis_name), NULL, NULL},
	{"bytes", FIELD_REAL, AT(collective.bytes), NULL, NULL},
	{"from", FIELD_INT, AT(collective.from), NULL, NULL},
	{"to", FIELD_INT, AT(collective.to), NULL, NULL},
	{"text", FIELD_TEXT, AT(collective.text), NULL, NULL},
};

static const struct trace_field copy_field[] = {
	{"op", FIELD_INT, AT(op), NULL, NULL},
	{"name", FIELD_TEXT, AT(copy.name), NULL, NULL},
	{"to", FIELD_TEXT, AT(copy_to), NULL, NULL},
	{"bytes", FIELD_REAL, AT(copy.bytes), NULL, NULL},
	{"text", FIELD_TEXT, AT(copy.text), NULL, NULL},
};

/* Required fields: all but the text of collectives and copies, which older traces do not have. */
enum {
	ALL_AXIS = (1 << 4) - 1,
	ALL_KERNEL = (1 << 5) - 1,
	ALL_COLLECTIVE = (1 << 7) - 1,
	ALL_COPY = (1 << 4) - 1,
};

static const struct trace_fields axis_fields = {"an axis", axis_field, 4, AT(where)};
static const struct trace_fields kernel_fields = {"a kernel", kernel_field, 5, AT(where)};
static const struct trace_fields collective_fields = {
	"a collective", collective_field, 8, AT(where)};
static const struct trace_fields copy_fields = {"a copy", copy_field, 5, AT(where)};

/* A row with all its fields, `op` a number of an op. */
static bool
read_row(struct trace_reader *r, const struct trace_fields *f, struct row *row, uint32_t all)
{
	rt_json_next(&r->json, '{');
	const char *at = r->json.at;
	*row = (struct row){0};
	if (!trace_read_fields(r, f, row) || !trace_need(r, f, row, all, at))
		return false;
	if (row->op >= 0 && row->op <= UINT32_MAX)
		return true;
	return trace_fail(r, row->where[0], "%s: op %lld is not one", f->what, (long long)row->op);
}

static bool
axis_item(struct trace_reader *r, void *base)
{
	struct trace_file *f = base;
	struct trace *t = &f->t;
	struct row row;

	if (!read_row(r, &axis_fields, &row, ALL_AXIS))
		return false;
	const struct trace_axis *a = &row.axis;
	if (a->size < 1 || a->place < 0 || a->place >= a->size)
		return trace_fail(r, row.where[3],
			"coordinate %lld on axis %s, which has size %lld", (long long)a->place,
			a->name, (long long)a->size);
	LIST_PUSH(f->trace, t->axis, t->naxes, *a);
	return true;
}

static bool
kernel_item(struct trace_reader *r, void *base)
{
	struct trace_file *f = base;
	struct trace *t = &f->t;
	struct row row;

	if (!read_row(r, &kernel_fields, &row, ALL_KERNEL))
		return false;
	row.kernel.op = (uint32_t)row.op;
	LIST_PUSH(f->trace, t->kernel, t->nkernels, row.kernel);
	return true;
}

/* We write axes before the collectives; in files with another order the axes are unknown. */
static bool
find_axis(struct trace_reader *r, const struct trace *t, struct row *row)
{
	for (uint32_t a = 0; a < t->naxes; a++)
		if (!t->axis[a].time && strcmp(t->axis[a].name, row->axis_name) == 0) {
			row->collective.axis = (int)a;
			return true;
		}
	return trace_fail(
		r, row->where[3], "there is no axis '%s' above, in \"axes\"", row->axis_name);
}

static bool
check_places(struct trace_reader *r, const struct trace *t, const struct row *row)
{
	const struct trace_collective *c = &row->collective;
	const int64_t size = t->axis[c->axis].size;

	for (int i = 0; i < 2; i++) {
		const int64_t place = i ? c->to : c->from;
		if (place < 0 || place >= size)
			return trace_fail(r, row->where[5 + i],
				"coordinate %lld on axis %s, which has size %lld", (long long)place,
				row->axis_name, (long long)size);
	}
	return true;
}

static bool
collective_item(struct trace_reader *r, void *base)
{
	struct trace_file *f = base;
	struct trace *t = &f->t;
	struct row row;

	if (!read_row(r, &collective_fields, &row, ALL_COLLECTIVE))
		return false;
	const enum rt_coll_kind kind = rt_coll_find(row.kind, strlen(row.kind));
	if (kind == RT_COLL_KINDS)
		return trace_fail(r, row.where[2], "unknown kind of collective '%s'", row.kind);
	if (!find_axis(r, t, &row) || !check_places(r, t, &row))
		return false;
	row.collective.kind = kind;
	row.collective.op = (uint32_t)row.op;
	LIST_PUSH(f->trace, t->collective, t->ncollectives, row.collective);
	return true;
}

static bool
copy_item(struct trace_reader *r, void *base)
{
	struct trace_file *f = base;
	struct row row;

	if (!read_row(r, &copy_fields, &row, ALL_COPY))
		return false;
	row.copy.to_host = strcmp(row.copy_to, "host") == 0;
	if (!row.copy.to_host && strcmp(row.copy_to, "device") != 0)
		return trace_fail(r, row.where[2], "a copy to '%s'; expected 'host' or 'device'",
			row.copy_to);
	row.copy.op = (uint32_t)row.op;
	LIST_PUSH(f->trace, f->t.copy, f->t.ncopies, row.copy);
	return true;
}

#undef AT
#define AT(field) offsetof(struct trace_file, field)

static const struct trace_field header_field[] = {
	{"format", FIELD_TEXT, AT(header.format), NULL, NULL},
	{"version", FIELD_INT, AT(header.version), NULL, NULL},
	{"rank", FIELD_INT, AT(header.rank), NULL, NULL},
	{"ranks", FIELD_INT, AT(header.ranks), NULL, NULL},
	{"run", FIELD_INT, AT(t.run), NULL, NULL},
	{"program", FIELD_TEXT, AT(t.program), NULL, NULL},
	{"build", FIELD_TEXT, AT(t.build), NULL, NULL},
	{"host", FIELD_TEXT, AT(t.host), NULL, NULL},
	{"clock", FIELD_TEXT, AT(t.clock), NULL, NULL},
	{"anchor_ns", FIELD_INT, AT(t.anchor), NULL, NULL},
	{"wall_ns", FIELD_INT, AT(t.wall), NULL, NULL},
	{"clock_error_ns", FIELD_INT, AT(t.clock_error), NULL, NULL},
	{"predicted_us", FIELD_REAL, AT(t.predicted), NULL, NULL},
	{"arena_bytes", FIELD_REAL, AT(t.arena_bytes), NULL, NULL},
	{"dropped", FIELD_INT, AT(header.dropped), NULL, NULL},
	{"axes", FIELD_ITEMS, 0, NULL, axis_item},
	{"kernels", FIELD_ITEMS, 0, NULL, kernel_item},
	{"collectives", FIELD_ITEMS, 0, NULL, collective_item},
	{"transfers", FIELD_ITEMS, 0, NULL, copy_item},
	{"processors", FIELD_INT, AT(t.processors), NULL, NULL},
	{"target", FIELD_TEXT, AT(t.target), NULL, NULL},
	{"without", FIELD_TEXT, AT(t.without), NULL, NULL},
};

/* The last four are optional: programs without copies write no table of them, older ones do not know
 * their processors or their target, and only those of a GPU have forms of kernels. */
enum { OPTIONAL_HEADER = 4 };

const struct trace_fields trace_header_fields = {
	"a header", header_field, sizeof header_field / sizeof *header_field, AT(header.where)};

/* Is it a dopt trace, of one rank, of this version? */
static bool
check_format(struct trace_reader *r, const struct trace_header *h, const char *at)
{
	static const char merged[] = "dopt-trace-merged";

	if (h->where[0] && strcmp(h->format, merged) == 0)
		return trace_fail(r, h->where[0],
			"this is a merged trace; expected the files that "
			"it was made from, one per rank");
	if (!h->where[0] || strcmp(h->format, "dopt-trace") != 0)
		return trace_fail(r, h->where[0] ? h->where[0] : at,
			"not a trace of a dopt program: \"otherData\" has "
			"no \"format\" of \"dopt-trace\"");
	if (!h->where[1] || h->version != RT_TRACE_VERSION)
		return trace_fail(r, h->where[1] ? h->where[1] : at,
			"the format has version %lld; this tool reads version %d",
			(long long)h->version, RT_TRACE_VERSION);
	return true;
}

/* Is the rank the one at its coordinates? */
static bool
check_ranks(struct trace_reader *r, const struct trace_file *f)
{
	const struct trace_header *h = &f->header;
	int64_t ranks = 1, rank = 0;

	for (uint32_t a = 0; a < f->t.naxes && ranks <= INT32_MAX; a++) {
		if (f->t.axis[a].time)
			continue;
		if (f->t.axis[a].size > INT32_MAX)
			return trace_fail(r, h->where[15], "the axes have more than 2^31 devices");
		ranks *= f->t.axis[a].size;
		rank = rank * f->t.axis[a].size + f->t.axis[a].place;
	}
	if (h->ranks != ranks || ranks > INT32_MAX)
		return trace_fail(r, h->where[3],
			"there are %lld ranks, but the axes have %lld devices", (long long)h->ranks,
			(long long)ranks);
	if (h->rank != rank)
		return trace_fail(r, h->where[2],
			"this is rank %lld, but its coordinates on the axes are those of rank %lld",
			(long long)h->rank, (long long)rank);
	return true;
}

/* No value is negative, and times leave room for sums. */
static bool
check_numbers(struct trace_reader *r, const struct trace_file *f)
{
	const struct trace_header *h = &f->header;
	const struct trace *t = &f->t;

	if (t->clock_error < 0 || t->clock_error > TRACE_MAX_TIME)
		return trace_fail(r, h->where[11], "the error of the clock is negative");
	if (t->anchor < 0 || t->wall < 0)
		return trace_fail(r, h->where[t->anchor < 0 ? 9 : 10], "the time is negative");
	if (t->predicted < 0)
		return trace_fail(r, h->where[12], "the prediction is negative");
	if (t->arena_bytes < 0)
		return trace_fail(r, h->where[13], "the memory is negative");
	if (h->dropped < 0)
		return trace_fail(r, h->where[14], "the number of dropped events is negative");
	return true;
}

bool
trace_header_check(struct trace_reader *r, struct trace_file *f)
{
	const char *at = f->where[0];
	const uint32_t all = (1u << (trace_header_fields.n - OPTIONAL_HEADER)) - 1;

	if (!at)
		return trace_fail(r, r->json.begin,
			"not a trace of a dopt program: there is no \"otherData\"");
	if (!check_format(r, &f->header, at) || !trace_need(r, &trace_header_fields, f, all, at) ||
		!check_ranks(r, f) || !check_numbers(r, f))
		return false;
	f->t.rank = (uint32_t)f->header.rank;
	f->t.ranks = (uint32_t)f->header.ranks;
	f->t.dropped = (uint64_t)f->header.dropped;
	f->t.predicted /= 1e6;
	f->t.at = (uint32_t)(at - r->json.begin);
	f->checked = true;
	return true;
}
