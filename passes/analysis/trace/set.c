/*
 * The traces of one run. Ranks meet in collectives: those of one communicator (an axis, and a group
 * of ranks along it) are numbered by each member in the same order, so axis, group and number tell
 * which events belong together.
 */
#include "ir/base/vec.h"
#include "ir/base/sort.h"
#include "passes/analysis/trace/trace.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <talloc.h>

bool
trace_symmetric(const struct trace_collective *c)
{
	return rt_coll_symmetric(c->kind);
}

bool
trace_depends(const struct trace_collective *c, int64_t from, int64_t to)
{
	return rt_coll_gives(c->kind, c->from, c->to, from, to);
}

static bool
add_file(struct trace_set *s, struct diag *d, const char *path)
{
	struct trace *t = trace_read(s, d, path);

	if (!t)
		return false;
	LIST_PUSH(s, s->trace, s->n, t);
	return true;
}

/* rank-N.json */
static int
is_trace(const struct dirent *e)
{
	static const char begin[] = "rank-", end[] = ".json";
	const size_t n = strlen(e->d_name);

	return n > strlen(begin) + strlen(end) && !strncmp(e->d_name, begin, strlen(begin)) &&
	       !strcmp(e->d_name + n - strlen(end), end);
}

static bool
add_folder(struct trace_set *s, struct diag *d, const char *path)
{
	struct dirent **list;
	const int n = scandir(path, &list, is_trace, versionsort);
	bool ok = true;

	if (n < 0) {
		diag_error(d, LOC_NONE, "cannot read '%s': %s", path, strerror(errno));
		return false;
	}
	for (int i = 0; i < n; i++) {
		ok &= add_file(s, d, TEXT(s, "%s/%s", path, list[i]->d_name));
		free(list[i]);
	}
	free(list);
	if (n == 0)
		diag_error(d, LOC_NONE, "'%s' has no traces: there is no file rank-N.json", path);
	return ok && n > 0;
}

ORDER_POINTERS_BY(by_rank, struct trace, UP(rank))

static bool
same_tables(const struct trace *a, const struct trace *b)
{
	if (a->nkernels != b->nkernels || a->ncollectives != b->ncollectives ||
		a->naxes != b->naxes)
		return false;
	for (uint32_t i = 0; i < a->ncollectives; i++)
		if (a->collective[i].kind != b->collective[i].kind ||
			a->collective[i].axis != b->collective[i].axis ||
			a->collective[i].from != b->collective[i].from ||
			a->collective[i].to != b->collective[i].to)
			return false;
	for (uint32_t i = 0; i < a->naxes; i++)
		if (a->axis[i].size != b->axis[i].size || a->axis[i].time != b->axis[i].time)
			return false;
	return true;
}

/* Are they of the same run? */
static bool
check_same(struct diag *d, const struct trace *a, const struct trace *b)
{
	const char *what = NULL;

	if (strcmp(a->program, b->program) != 0 || strcmp(a->build, b->build) != 0 ||
		a->ranks != b->ranks || !same_tables(a, b))
		what = "another program";
	else if (a->run != b->run)
		what = "another run of the program";
	else if (a->rank == b->rank)
		what = "the same rank again";
	if (!what)
		return true;
	trace_report(d, DIAG_ERROR, b->path, b->at, "this is a trace of %s (%s, build %s, rank %u)",
		what, b->program, *b->build ? b->build : "unknown", b->rank);
	trace_report(d, DIAG_NOTE, a->path, a->at, "the first is of %s, build %s, rank %u",
		a->program, *a->build ? a->build : "unknown", a->rank);
	return false;
}

/* The missing ranks, the first few of them by number. */
static char *
missing_ranks(struct trace_set *s)
{
	enum { NAMED = 8 };
	char *text = TEXT(s, "%s", "");
	uint32_t missing = 0, at = 0;

	for (uint32_t rank = 0; rank < s->trace[0]->ranks && missing <= NAMED; rank++) {
		if (at < s->n && s->trace[at]->rank == rank) {
			at++;
			continue;
		}
		if (missing++ < NAMED)
			text = text_append_end(text, "%s%u", missing > 1 ? ", " : "", rank);
	}
	return missing > NAMED ? text_append(text, " ...") : text;
}

static bool
check_set(struct trace_set *s, struct diag *d, const char *folder)
{
	for (uint32_t i = 1; i < s->n; i++)
		if (!check_same(d, s->trace[i - 1], s->trace[i]))
			return false;
	s->complete = s->n == s->trace[0]->ranks;
	if (s->complete || !folder)
		return true;
	diag_error(d, LOC_NONE, "%s: %u of %u ranks are missing: %s", folder,
		s->trace[0]->ranks - s->n, s->trace[0]->ranks, missing_ranks(s));
	return false;
}

/* A collective's event with its identifying fields. */
struct ref {
	uint32_t axis, group, sequence;
	struct trace_member member;
};

ORDER_BY(by_key, struct ref, UP(sequence), UP(axis), UP(group), UP(member.trace))

static struct ref *
list_collectives(struct trace_set *s)
{
	struct ref *ref = NEW_ARRAY(s, struct ref, s->nmembers), *at = ref;

	for (uint32_t i = 0; i < s->n; i++) {
		const struct trace *t = s->trace[i];
		for (uint32_t e = t->ncompute; e < t->n; e++) {
			const struct trace_event *v = &t->event[e];
			*at++ = (struct ref){(uint32_t)t->collective[v->index].axis, v->group,
				v->sequence, {i, e}};
		}
	}
	qsort(ref, s->nmembers, sizeof *ref, by_key);
	return ref;
}

/* Do two events with one number belong to one collective of one step, by different ranks? */
static bool
check_members(const struct trace_set *s, struct diag *d, const struct ref *a, const struct ref *b)
{
	const struct trace *ta = s->trace[a->member.trace], *tb = s->trace[b->member.trace];
	const struct trace_event *x = &ta->event[a->member.event], *y = &tb->event[b->member.event];

	if (x->index == y->index && x->step == y->step && ta != tb)
		return true;
	trace_report(d, DIAG_ERROR, tb->path, y->at,
		"collective %u of the group of rank %u on axis %s is %s of step %u, but "
		"for rank %u it is %s of step %u",
		b->sequence, b->group, tb->axis[b->axis].name, trace_event_name(tb, y), y->step,
		ta->rank, trace_event_name(ta, x), x->step);
	trace_report(d, DIAG_NOTE, ta->path, x->at, "the event of rank %u", ta->rank);
	return false;
}

/* Events with the same key become an instance. */
static bool
match(struct trace_set *s, struct diag *d)
{
	for (uint32_t i = 0; i < s->n; i++)
		s->nmembers += s->trace[i]->n - s->trace[i]->ncompute;
	struct ref *ref = list_collectives(s);
	s->member = NEW_ARRAY(s, struct trace_member, s->nmembers);
	s->instance = NEW_ARRAY(s, struct trace_instance, s->nmembers);
	for (uint32_t i = 0; i < s->nmembers; i++) {
		const struct ref *a = &ref[i], *b = &ref[i ? i - 1 : 0];
		s->member[i] = a->member;
		if (i && a->sequence == b->sequence && a->axis == b->axis && a->group == b->group) {
			if (!check_members(s, d, b, a))
				return false;
			s->instance[s->ninstances - 1].n++;
		} else
			s->instance[s->ninstances++] = (struct trace_instance){i, 1, false};
	}
	for (uint32_t i = 0; i < s->ninstances; i++) {
		const struct ref *a = &ref[s->instance[i].first];
		s->instance[i].whole = s->instance[i].n == s->trace[0]->axis[a->axis].size;
	}
	talloc_free(ref);
	return true;
}

/* If events were dropped, the first step of a stream may be incomplete. */
static void
find_steps(struct trace_set *s)
{
	s->end_step = UINT32_MAX;
	for (uint32_t i = 0; i < s->n; i++) {
		const struct trace *t = s->trace[i];
		const struct trace_event *e = t->event;
		uint32_t first = t->nsteps ? e[0].step : 0;
		const uint32_t end = t->nsteps ? e[t->nsteps - 1].step + 1 : 0;
		if (t->dropped && t->ncompute > t->nsteps && e[t->nsteps].step + 1 > first)
			first = e[t->nsteps].step + 1;
		if (t->dropped && t->n > t->ncompute && e[t->ncompute].step + 1 > first)
			first = e[t->ncompute].step + 1;
		s->first_step = first > s->first_step ? first : s->first_step;
		s->end_step = end < s->end_step ? end : s->end_step;
	}
	if (s->end_step < s->first_step)
		s->end_step = s->first_step;
}

static bool
read_all(struct trace_set *s, struct diag *d, const char *const *path, int npaths,
	const char **folder)
{
	struct stat st;
	bool ok = true;

	for (int i = 0; i < npaths; i++) {
		if (!stat(path[i], &st) && S_ISDIR(st.st_mode)) {
			*folder = path[i];
			ok &= add_folder(s, d, path[i]);
		} else
			ok &= add_file(s, d, path[i]);
	}
	return ok;
}

struct trace_set *
trace_set_read(const void *owner, struct diag *d, const char *const *path, int npaths)
{
	struct trace_set *s = NEW(owner, struct trace_set);
	const char *folder = NULL;

	if (read_all(s, d, path, npaths, &folder)) {
		qsort(s->trace, s->n, sizeof(struct trace *), by_rank);
		if (check_set(s, d, folder) && match(s, d)) {
			find_steps(s);
			return s;
		}
	}
	talloc_free(s);
	return NULL;
}
