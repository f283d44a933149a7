/*
 * The groups of a request that its time depends on: see request_distinct. Groups with members on
 * the same node belong together, and so do those that belong with a third. What belongs together is
 * a part, which is alike another if its groups have members of the same numbers within their nodes,
 * counted from the first node of the part.
 *
 *     node 0   node 1   node 2   node 3      groups a b c d, on axes of 2 x 2 devices a node:
 *     a a b b  c c d d  e e f f  g g h h     four parts, all alike: a and b are enough
 *     a b c d  a b c d  e f g h  e f g h     two parts: a, b, c and d are enough
 */
#include "ir/base/alloc.h"
#include "passes/analysis/collective/build.h"

#include <string.h>
#include <talloc.h>

/* Parts that are compared with later ones. Meshes have one kind of parts. */
enum { PARTS_MAX = 16 };

struct groups {
	struct cluster *c;
	const struct collective_request *q;
	uint32_t *part;  /* [ngroups] the first group of its part */
	uint32_t *next;  /* [ngroups] the next group of its part, or UINT32_MAX */
	uint32_t *first; /* [nnodes] the first group there, or UINT32_MAX */
	uint32_t *rank;  /* [nnodes] number of the node in its part */
	uint32_t *base;  /* [nnodes] its first device */
};

static uint32_t
part_of(struct groups *s, uint32_t g)
{
	while (s->part[g] != g)
		g = s->part[g] = s->part[s->part[g]];
	return g;
}

static uint32_t
node_of_member(const struct groups *s, uint32_t g, uint32_t i)
{
	return s->c->node_of[s->q->device[(size_t)g * s->q->places + i]];
}

static void
join(struct groups *s, uint32_t g, uint32_t node)
{
	const uint32_t a = part_of(s, g),
		       b = s->first[node] == UINT32_MAX ? a : part_of(s, s->first[node]);

	s->part[a > b ? a : b] = a > b ? b : a;
	if (s->first[node] == UINT32_MAX)
		s->first[node] = g;
}

static void
find_parts(struct groups *s)
{
	const uint32_t n = s->q->ngroups;
	uint32_t *last = NEW_ARRAY(s->part, uint32_t, n), *nodes = ZERO_ARRAY(s->part, uint32_t, n);

	for (uint32_t g = 0; g < n; g++)
		s->part[g] = g;
	memset(s->first, 0xff, s->c->nnodes * sizeof *s->first);
	for (uint32_t g = 0; g < n; g++)
		for (uint32_t i = 0; i < s->q->places; i++)
			join(s, g, node_of_member(s, g, i));
	for (uint32_t g = 0; g < n; g++) {
		const uint32_t part = part_of(s, g);
		s->next[g] = UINT32_MAX;
		if (part != g)
			s->next[last[part]] = g;
		last[part] = g;
	}
	for (uint32_t node = 0; node < s->c->nnodes; node++)
		if (s->first[node] != UINT32_MAX)
			s->rank[node] = nodes[part_of(s, s->first[node])]++;
	for (uint32_t i = s->c->ndevices; i-- > 0;)
		s->base[s->c->node_of[i]] = i;
}

static bool
same_place(const struct groups *s, uint32_t d, uint32_t e)
{
	const uint32_t m = s->c->node_of[d], n = s->c->node_of[e];

	return s->rank[m] == s->rank[n] && d - s->base[m] == e - s->base[n];
}

static bool
parts_alike(const struct groups *s, uint32_t g, uint32_t h)
{
	const uint32_t places = s->q->places;

	for (; g != UINT32_MAX && h != UINT32_MAX; g = s->next[g], h = s->next[h])
		for (uint32_t i = 0; i < places; i++)
			if (!same_place(s, s->q->device[(size_t)g * places + i],
				    s->q->device[(size_t)h * places + i]))
				return false;
	return g == h;
}

/* The parts that are not alike an earlier one: their groups' devices, one after another. */
static uint32_t
copy_distinct(const struct groups *s, uint32_t *device)
{
	const uint32_t places = s->q->places;
	uint32_t kept[PARTS_MAX], nkept = 0, n = 0;

	for (uint32_t g = 0; g < s->q->ngroups; g++) {
		uint32_t k = 0;
		if (s->part[g] != g)
			continue;
		while (k < nkept && !parts_alike(s, kept[k], g))
			k++;
		if (k < nkept)
			continue;
		if (nkept < PARTS_MAX)
			kept[nkept++] = g;
		for (uint32_t h = g; h != UINT32_MAX; h = s->next[h])
			memcpy(&device[(size_t)n++ * places], &s->q->device[(size_t)h * places],
				places * sizeof *device);
	}
	return n;
}

struct collective_request
request_distinct(const void *owner, struct cluster *c, const struct collective_request *q)
{
	const size_t n = (size_t)q->ngroups * q->places;
	struct collective_request r = *q;
	uint32_t *device;

	for (size_t i = 0; i < n; i++)
		if (q->device[i] >= c->ndevices)
			return r;
	if (q->ngroups < 2 || !cluster_uniform(c))
		return r;
	void *scratch = alloc_scratch(NULL);
	struct groups s = {c, q, NEW_ARRAY(scratch, uint32_t, q->ngroups),
		NEW_ARRAY(scratch, uint32_t, q->ngroups), NEW_ARRAY(scratch, uint32_t, c->nnodes),
		NEW_ARRAY(scratch, uint32_t, c->nnodes), NEW_ARRAY(scratch, uint32_t, c->nnodes)};
	find_parts(&s);
	r.device = device = NEW_ARRAY(owner, uint32_t, n);
	r.ngroups = copy_distinct(&s, device);
	talloc_free(scratch);
	return r;
}
