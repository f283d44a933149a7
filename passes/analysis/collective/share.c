/*
 * How sends that start at once share links: max-min fairly, each weighted with its bytes. The link
 * that needs longest for its load is busy all that time; the sends on it end together when it is
 * done, and the others share the rest of their links in the same way.
 *
 * For sends of equal size that is max-min fairness, and the last send of all ends when the most
 * loaded link is done: n sends of s bytes on a link of bandwidth b get b/n each there, at least as
 * much everywhere else. Sends of different sizes (parameter servers of uneven nodes) would share
 * with equal rates, and large ones may be slow because a link becomes free for them too late: the
 * result here is the minimum for any sharing.
 */
#include "ir/base/alloc.h"
#include "passes/analysis/collective/build.h"

#include <math.h>

/* Sharing is computed level by level, from the most loaded link on; the sends left after this many
 * levels take the time of their own most loaded link. Rounds of real algorithms have one to three
 * levels: between nodes, inside nodes, and slower nodes. */
enum { LEVELS = 16 };

/* Links whose times have at least this ratio, 1 except for rounding, finish together. */
#define SAME (1 - 1e-9)

struct share {
	struct cluster *cluster;
	struct share_link {
		double load, room; /* bytes of sends without a rate, bandwidth left for them */
		double total;      /* seconds of all rounds, for share_fullest */
		uint32_t count;    /* number of sends without a rate */
		bool full;
	} * link;
	uint32_t *used, nused; /* links of this round */
	uint32_t *open;        /* sends without a rate */
	struct cluster_route *route;
	double *seconds;
	uint32_t room;
};

struct share *
share_create(const void *owner, struct cluster *c)
{
	struct share *s = NEW(owner, struct share);
	s->cluster = c;
	s->link = NEW_ARRAY(s, struct share_link, c->nlinks);
	s->used = NEW_ARRAY(s, uint32_t, c->nlinks);
	for (uint32_t i = 0; i < c->nlinks; i++)
		s->link[i] = (struct share_link){0};
	return s;
}

static void
make_room(struct share *s, uint32_t n)
{
	if (n <= s->room)
		return;
	s->room = n;
	s->open = RESIZE(s, s->open, uint32_t, n);
	s->route = RESIZE(s, s->route, struct cluster_route, n);
	s->seconds = RESIZE(s, s->seconds, double, n);
}

/* Computes the routes of all sends and their load on links. */
static bool
load_links(struct share *s, const struct collective_send *send, uint32_t n)
{
	make_room(s, n);
	for (uint32_t i = 0; i < s->nused; i++)
		s->link[s->used[i]].count = 0;
	s->nused = 0;
	for (uint32_t i = 0; i < n; i++) {
		struct cluster_route *r = &s->route[i];
		if (!cluster_route(s->cluster, send[i].from, send[i].to, r))
			return false;
		for (uint32_t k = 0; k < r->nlinks; k++) {
			struct share_link *l = &s->link[r->link[k]];
			if (l->count++ == 0) {
				s->used[s->nused++] = r->link[k];
				l->load = 0;
				l->room = s->cluster->link[r->link[k]].bandwidth;
				l->full = false;
			}
			l->load += send[i].bytes;
		}
	}
	return true;
}

/* Seconds of the most loaded link; marks all links that need as long. */
static double
mark_full(struct share *s)
{
	double longest = 0;
	for (uint32_t i = 0; i < s->nused; i++) {
		const struct share_link *l = &s->link[s->used[i]];
		if (l->count)
			longest = fmax(longest, l->load / l->room);
	}
	for (uint32_t i = 0; i < s->nused; i++) {
		struct share_link *l = &s->link[s->used[i]];
		l->full = l->count && l->load / l->room >= longest * SAME;
	}
	return longest;
}

static bool
meets_full(const struct share *s, const struct cluster_route *r)
{
	for (uint32_t k = 0; k < r->nlinks; k++)
		if (s->link[r->link[k]].full)
			return true;
	return false;
}

/* Fixes the rate of a send: the rest of its links is left for others. */
static void
settle(struct share *s, const struct cluster_route *r, double bytes, double seconds)
{
	for (uint32_t k = 0; k < r->nlinks; k++) {
		struct share_link *l = &s->link[r->link[k]];
		l->count--;
		l->load -= bytes;
		l->room -= bytes / seconds;
	}
}

static double
own_fullest(const struct share *s, const struct cluster_route *r)
{
	double longest = 0;
	for (uint32_t k = 0; k < r->nlinks; k++) {
		const struct share_link *l = &s->link[r->link[k]];
		longest = fmax(longest, l->load / l->room);
	}
	return longest;
}

/* Fixes the sends on the most loaded links; returns how many are left. */
static uint32_t
settle_level(struct share *s, const struct collective_send *send, uint32_t open)
{
	double seconds = mark_full(s);
	uint32_t left = 0;
	for (uint32_t j = 0; j < open; j++) {
		uint32_t i = s->open[j];
		if (meets_full(s, &s->route[i])) {
			s->seconds[i] = seconds;
			settle(s, &s->route[i], send[i].bytes, seconds);
		} else {
			s->open[left++] = i;
		}
	}
	return left;
}

bool
share_round(struct share *s, const struct collective_send *send, uint32_t n,
	struct share_result *result)
{
	uint32_t open = 0;
	if (!load_links(s, send, n))
		return false;
	for (uint32_t i = 0; i < n; i++) {
		s->seconds[i] = 0;
		if (s->route[i].nlinks && send[i].bytes > 0)
			s->open[open++] = i;
	}
	for (int level = 0; open && level < LEVELS; level++)
		open = settle_level(s, send, open);
	for (uint32_t j = 0; j < open; j++)
		s->seconds[s->open[j]] = own_fullest(s, &s->route[s->open[j]]);
	*result = (struct share_result){s->route, s->seconds};
	return true;
}

double
share_fullest(struct share *s, const struct collective_send *send, uint32_t n, uint32_t repeat,
	struct share_result *result, double *total)
{
	double longest = 0;
	if (!load_links(s, send, n))
		return -1;
	for (uint32_t i = 0; i < s->nused; i++) {
		struct share_link *l = &s->link[s->used[i]];
		double seconds = l->load / l->room;
		l->total += repeat * seconds;
		longest = fmax(longest, seconds);
		*total = fmax(*total, l->total);
	}
	*result = (struct share_result){s->route, s->seconds};
	return longest;
}
