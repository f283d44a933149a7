/* Collectives that connect clocks: see meet.h. */
#include "passes/analysis/trace/meet.h"
#include "ir/base/sort.h"

#include "ir/base/vec.h"

#include <stdlib.h>
#include <string.h>
#include <talloc.h>

static const struct trace_collective *
collective_of(const struct trace_set *s, const struct trace_member *m)
{
	return &s->trace[m->trace]->collective[trace_member_event(s, m)->index];
}

static int64_t
place_of(const struct trace_set *s, const struct trace_member *m)
{
	const struct trace *t = s->trace[m->trace];

	return t->axis[t->collective[t->event[m->event].index].axis].place;
}

static void
name_clocks(
	struct trace_alignment *a, const struct trace_set *s, const struct trace_align_options *o)
{
	uint32_t *first = NEW_ARRAY(a, uint32_t, s->n); /* trace that a clock was seen in */

	for (uint32_t i = 0; i < s->n; i++) {
		uint32_t c = 0;
		while (c < a->nclocks &&
			(o->by_rank || strcmp(s->trace[first[c]]->clock, s->trace[i]->clock) != 0))
			c++;
		if (c == a->nclocks) {
			first[a->nclocks++] = i;
			a->clock[c].name = o->by_rank ? TEXT(a, "rank %u", s->trace[i]->rank)
						      : text_copy(a, s->trace[i]->host);
		}
		a->clock[c].nranks++;
		a->clock_of[i] = c;
	}
	talloc_free(first);
}

/* For a clock without events in common with the reference: uses the wall clocks of both. */
static void
base_by_wall(struct trace_alignment *a, const struct trace_set *s, uint32_t clock)
{
	const struct trace *zero = s->trace[0], *t = zero;

	for (uint32_t i = s->n; i-- > 0;)
		if (a->clock_of[i] == clock)
			t = s->trace[i];
	a->clock[clock].base = a->clock[0].base + zero->wall - zero->anchor - t->wall + t->anchor;
	a->clock[clock].link = TRACE_LINK_WALL;
}

/* Bases of clocks that share collectives with those that have one, so that the ends agree. */
static void
spread_bases(struct trace_alignment *a, const struct trace_set *s, bool *known)
{
	for (bool changed = true; changed;) {
		changed = false;
		for (uint32_t i = 0; i < s->ninstances; i++) {
			const struct trace_member *m = &s->member[s->instance[i].first];
			const struct trace_member *from = NULL;
			for (uint32_t k = 0; k < s->instance[i].n && !from; k++)
				if (known[a->clock_of[m[k].trace]])
					from = &m[k];
			for (uint32_t k = 0; k < s->instance[i].n && from; k++) {
				const uint32_t c = a->clock_of[m[k].trace];
				if (known[c])
					continue;
				a->clock[c].base = trace_member_event(s, &m[k])->end -
						   (trace_member_event(s, from)->end -
							   a->clock[a->clock_of[from->trace]].base);
				a->clock[c].link = TRACE_LINK_MESSAGES;
				known[c] = changed = true;
			}
		}
	}
}

static void
find_middle(struct trace_alignment *a, const struct trace_set *s)
{
	for (uint32_t i = 0; i < s->nmembers; i++) {
		const double end = (double)(trace_member_event(s, &s->member[i])->end -
					    a->clock[a->clock_of[s->member[i].trace]].base);
		a->middle = end / 2e3 > a->middle ? end / 2e3 : a->middle;
	}
}

void
meet_clocks(
	struct trace_alignment *a, const struct trace_set *s, const struct trace_align_options *o)
{
	a->clock = ZERO_ARRAY(a, struct trace_clock, s->n);
	a->clock_of = NEW_ARRAY(a, uint32_t, s->n);
	name_clocks(a, s, o);
	bool *known = ZERO_ARRAY(a, bool, a->nclocks);
	a->clock[0].base = s->trace[0]->n ? s->trace[0]->event[0].begin : 0;
	for (uint32_t c = 0; c < a->nclocks; c++) {
		if (known[c])
			continue;
		if (c)
			base_by_wall(a, s, c);
		known[c] = true;
		spread_bases(a, s, known);
	}
	talloc_free(known);
	find_middle(a, s);
}

/* A time of a member, us after the base of its clock. */
static double
time_of(const struct trace_alignment *a, const struct trace_member *m, int64_t t)
{
	return (double)(t - a->clock[a->clock_of[m->trace]].base) / 1e3;
}

struct meeting {
	struct diag *d;
	const struct trace_set *s;
	const struct trace_alignment *a;
	struct meets *m;
	uint32_t (*key)[3]; /* [m->n] collective, group, receiver + 1 or 0 */
};

static struct meet_part *
part_of(struct meeting *b, struct meet *x, uint32_t clock)
{
	for (uint32_t p = x->first; p < x->first + x->n; p++)
		if (b->m->part[p].clock == clock)
			return &b->m->part[p];
	x->n++;
	LIST_PUSH(b->m, b->m->part, b->m->nparts, (struct meet_part){.clock = clock});
	return &b->m->part[b->m->nparts - 1];
}

static void
add_begin(struct meeting *b, struct meet *x, uint32_t member)
{
	const struct trace_member *m = &b->s->member[member];
	struct meet_part *p = part_of(b, x, b->a->clock_of[m->trace]);
	const double begin = time_of(b->a, m, trace_member_event(b->s, m)->begin);

	if (p->begins && p->begin >= begin)
		return;
	p->begins = true;
	p->begin = begin;
	p->begin_member = member;
}

static void
add_end(struct meeting *b, struct meet *x, uint32_t member)
{
	const struct trace_member *m = &b->s->member[member];
	struct meet_part *p = part_of(b, x, b->a->clock_of[m->trace]);
	const double end = time_of(b->a, m, trace_member_event(b->s, m)->end);

	if (!p->ends || end < p->earliest) {
		p->earliest = end;
		p->end_member = member;
	}
	const double off = end - p->end;
	p->end += off / ++p->ends;
	p->scatter += off * (end - p->end); /* Welford 1962 */
}

/* By the clock that both read: does every end come after the begin on which it depends? */
static bool
check_part(struct meeting *b, const struct meet_part *p)
{
	const struct trace_member *m[2] = {
		&b->s->member[p->end_member], &b->s->member[p->begin_member]};
	const struct trace *t[2] = {b->s->trace[m[0]->trace], b->s->trace[m[1]->trace]};

	if (!p->begins || !p->ends || p->begin <= p->earliest + meet_tolerance(b->s, m[0], m[1]))
		return true;
	trace_report(b->d, DIAG_ERROR, t[0]->path, trace_member_event(b->s, m[0])->at,
		"rank %u ends this %.3f us before rank %u, on the same clock, starts it",
		t[0]->rank, p->begin - p->earliest, t[1]->rank);
	trace_report(b->d, DIAG_NOTE, t[1]->path, trace_member_event(b->s, m[1])->at,
		"rank %u starts it here", t[1]->rank);
	return false;
}

/* The meet of an instance, of all members or of one receiver, unless one clock has all of it. */
static bool
add_meet(struct meeting *b, const struct trace_instance *in, uint32_t receiver)
{
	const struct trace_collective *c = collective_of(b->s, &b->s->member[in->first]);
	const bool all = receiver == UINT32_MAX;
	struct meet x = {.first = b->m->nparts};

	for (uint32_t k = in->first; k < in->first + in->n; k++) {
		const int64_t place = place_of(b->s, &b->s->member[k]);
		if (all || k == receiver)
			add_end(b, &x, k);
		if (all || k == receiver ||
			trace_depends(c, place, place_of(b->s, &b->s->member[receiver])))
			add_begin(b, &x, k);
	}
	for (uint32_t i = x.first; i < x.first + x.n; i++)
		if (!check_part(b, &b->m->part[i]))
			return false;
	if (x.n < 2) {
		b->m->nparts = x.first;
		return true;
	}
	const struct trace_event *e = trace_member_event(b->s, &b->s->member[in->first]);
	const uint32_t key[3] = {
		e->index, e->group, all ? 0 : b->s->trace[b->s->member[receiver].trace]->rank + 1};
	LIST_ROOM(b->m, b->key, b->m->n + 1);
	memcpy(b->key[b->m->n], key, sizeof key);
	LIST_PUSH(b->m, b->m->meet, b->m->n, x);
	return true;
}

/* Does a member receive from others? A sending root does not. */
static bool
gets(const struct trace_collective *c, int64_t place)
{
	if (c->kind == RT_BROADCAST || c->kind == RT_SCATTER)
		return place != c->from;
	return place == c->to;
}

static bool
add_instance(struct meeting *b, const struct trace_instance *in)
{
	const struct trace_collective *c = collective_of(b->s, &b->s->member[in->first]);

	if (!in->whole)
		return true;
	if (trace_symmetric(c))
		return add_meet(b, in, UINT32_MAX);
	for (uint32_t k = in->first; k < in->first + in->n; k++)
		if (gets(c, place_of(b->s, &b->s->member[k])) && !add_meet(b, in, k))
			return false;
	return true;
}

/* A key and its meet. */
struct keyed {
	uint32_t key[3], meet;
};

ORDER_BY(by_key, struct keyed, UP(key[0]), UP(key[1]), UP(key[2]), UP(meet))

static void
number_families(struct meeting *b)
{
	struct keyed *list = NEW_ARRAY(b->m, struct keyed, b->m->n);

	for (uint32_t i = 0; i < b->m->n; i++) {
		memcpy(list[i].key, b->key[i], sizeof list[i].key);
		list[i].meet = i;
	}
	qsort(list, b->m->n, sizeof *list, by_key);
	for (uint32_t i = 0; i < b->m->n; i++) {
		if (i && memcmp(list[i].key, list[i - 1].key, sizeof list[i].key) != 0)
			b->m->nfamilies++;
		b->m->meet[list[i].meet].family = b->m->nfamilies;
	}
	b->m->nfamilies += b->m->n > 0;
	talloc_free(list);
}

struct meets *
meet_create(const void *owner, struct diag *d, const struct trace_set *s,
	const struct trace_alignment *a)
{
	struct meeting b = {.d = d, .s = s, .a = a, .m = NEW(owner, struct meets)};

	for (uint32_t i = 0; i < s->ninstances; i++)
		if (!add_instance(&b, &s->instance[i])) {
			talloc_free(b.m);
			return NULL;
		}
	number_families(&b);
	talloc_free(b.key);
	return b.m;
}
