/*
 * Classes by colour refinement: initially all have colours from their own properties; then each
 * colour is repeatedly hashed with the colours around it, until the number of classes stays the
 * same. (Berkholz, Bonsma, Grohe 2017 on the partition; sums of hashes stand for the sets of
 * colours.) Colours are hashes of 64 bits: the chance that two different ones of a million collide
 * is 1 in 37 million.
 */
#include "passes/analysis/replay/fine_plan.h"

#include "ir/base/map.h"
#include "ir/base/mix.h"
#include "ir/base/vec.h"

#include <string.h>
#include <talloc.h>

struct colours {
	uint64_t *send, *place, *link;
	uint64_t *place_sum, *link_sum;
};

static uint64_t
mix_two(uint64_t a, uint64_t b)
{
	return mix64(a ^ mix64(b));
}

static void
colour_first(const struct fine_raw *raw, struct colours *c)
{
	for (uint32_t i = 0; i < raw->nsends; i++) {
		const struct fine_raw_send *s = &raw->send[i];
		uint64_t bytes;
		memcpy(&bytes, &s->bytes, sizeof bytes);
		uint64_t where = mix64((uint64_t)s->request << 32 | s->round);
		c->send[i] = mix_two(mix_two(where, bytes), (uint64_t)s->latency);
	}
	for (uint32_t i = 0; i < raw->nplaces; i++)
		c->place[i] = mix64(raw->request_of[i]);
	for (uint32_t i = 0; i < raw->nlinks; i++)
		c->link[i] = mix64((uint64_t)raw->capacity[i]);
}

static void
colour_again(const struct fine_raw *raw, struct colours *c)
{
	memset(c->place_sum, 0, raw->nplaces * sizeof *c->place_sum);
	memset(c->link_sum, 0, raw->nlinks * sizeof *c->link_sum);
	for (uint32_t i = 0; i < raw->nsends; i++) {
		const struct fine_raw_send *s = &raw->send[i];
		const uint32_t *way = &raw->way[s->first_link];
		uint64_t links = 0, colour = mix_two(c->send[i], c->place[s->from]);
		for (uint32_t k = 0; k < s->nlinks; k++)
			links += mix64(c->link[way[k]]);
		colour = mix_two(mix_two(colour, c->place[s->to]), links);
		c->send[i] = colour;
		c->place_sum[s->from] += mix64(colour);
		c->place_sum[s->to] += mix64(~colour);
		for (uint32_t k = 0; k < s->nlinks; k++)
			c->link_sum[way[k]] += mix64(colour);
	}
	for (uint32_t i = 0; i < raw->nplaces; i++)
		c->place[i] = mix_two(c->place[i], c->place_sum[i]);
	for (uint32_t i = 0; i < raw->nlinks; i++)
		c->link[i] = mix_two(c->link[i], c->link_sum[i]);
}

struct colour_list VEC(uint64_t);

struct numbering {
	const void *owner;
	struct map map;
	struct colour_list colour; /* by number */
};

MAP_SAME(same_colour, struct colour_list, uint64_t, list->at[i] == *key)

/* Numbers the colours by first occurrence; returns the number of different ones. */
static uint32_t
number(struct numbering *t, const uint64_t *colour, uint32_t n, uint32_t *class)
{
	map_clear(&t->map);
	t->colour.n = 0;
	for (uint32_t i = 0; i < n; i++) {
		class[i] =
			map_add(t->owner, &t->map, colour[i], same_colour, &t->colour, &colour[i]);
		if (class[i] == t->colour.n)
			VEC_PUSH(t->owner, &t->colour, colour[i]);
	}
	return (uint32_t)t->colour.n;
}

struct fine_classes *
fine_classes_find(const void *owner, const struct fine_raw *raw)
{
	struct fine_classes *f = NEW(owner, struct fine_classes);
	f->send = NEW_ARRAY(f, uint32_t, raw->nsends);
	f->place = NEW_ARRAY(f, uint32_t, raw->nplaces);
	f->link = NEW_ARRAY(f, uint32_t, raw->nlinks);
	struct colours *c = NEW(NULL, struct colours);
	*c = (struct colours){NEW_ARRAY(c, uint64_t, raw->nsends),
		NEW_ARRAY(c, uint64_t, raw->nplaces), NEW_ARRAY(c, uint64_t, raw->nlinks),
		NEW_ARRAY(c, uint64_t, raw->nplaces), NEW_ARRAY(c, uint64_t, raw->nlinks)};
	struct numbering t = {.owner = c};
	colour_first(raw, c);
	for (uint64_t before = 0, now = 1; now > before;) {
		before = now;
		colour_again(raw, c);
		f->nsends = number(&t, c->send, raw->nsends, f->send);
		f->nplaces = number(&t, c->place, raw->nplaces, f->place);
		f->nlinks = number(&t, c->link, raw->nlinks, f->link);
		now = (uint64_t)f->nsends + f->nplaces + f->nlinks + 1;
	}
	talloc_free(c);
	return f;
}
