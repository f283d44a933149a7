/*
 * The sends of all requests, with their links. Steps have hundreds of collectives that differ only
 * in their bytes; the sends of these are stored once.
 */
#include "passes/analysis/replay/fine_plan.h"

#include "ir/base/vec.h"

#include <math.h>
#include <string.h>
#include <talloc.h>

#define NONE UINT32_MAX

/* Larger bandwidths are not realistic; sums of shares stay within 63 bits. */
#define CAPACITY_MAX 9e18

/* Bytes of two requests are proportional, except for rounding. */
#define SAME 1e-12

struct gather {
	struct fine_gathered *out;
	struct cluster *cluster;
	uint32_t *place_of;  /* by lane and device: in the current request, or NONE */
	uint32_t *number_of; /* by link of the cluster, or NONE */
	uint32_t ndevices;   /* the devices in place_of */
	uint32_t *base, nbases;
};

static uint32_t
place_of(struct gather *g, uint32_t request, uint32_t lane, uint32_t device)
{
	struct fine_raw *raw = &g->out->raw;
	uint32_t *place = &g->place_of[(size_t)lane * g->ndevices + device];
	if (*place != NONE)
		return *place;
	*place = raw->nplaces;
	LIST_PUSH(g->out, raw->request_of, raw->nplaces, request);
	return *place;
}

static void
add_way(struct gather *g, uint32_t link)
{
	struct fine_raw *raw = &g->out->raw;
	uint32_t *number = &g->number_of[link];
	if (*number == NONE) {
		double units = g->cluster->link[link].bandwidth / FINE_RATE_UNIT;
		units = units < CAPACITY_MAX ? units : CAPACITY_MAX;
		*number = raw->nlinks;
		LIST_PUSH(g->out, raw->capacity, raw->nlinks, units < 1 ? 1 : llrint(units));
	}
	LIST_PUSH(g->out, raw->way, raw->nways, *number);
}

static bool
gather_send(struct gather *g, uint32_t request, uint32_t round, uint32_t lane,
	const struct collective_send *s, uint32_t chunks)
{
	struct fine_raw *raw = &g->out->raw;
	struct cluster_route route;
	if (s->from >= g->ndevices || s->to >= g->ndevices ||
		!cluster_route(g->cluster, s->from, s->to, &route))
		return false;
	const struct fine_raw_send send = {request, round, place_of(g, request, lane, s->from),
		place_of(g, request, lane, s->to), s->bytes / chunks,
		replay_from_seconds(route.latency), raw->nways, route.nlinks};
	LIST_PUSH(g->out, raw->send, raw->nsends, send);
	for (uint32_t k = 0; k < route.nlinks; k++)
		add_way(g, route.link[k]);
	return true;
}

static bool
gather_request(
	struct gather *g, uint32_t request, const struct collective_schedule *s, uint32_t chunks)
{
	uint32_t lanes = s->lanes > 1 ? s->lanes : 1;
	g->place_of = RESIZE(g, g->place_of, uint32_t, (size_t)lanes * g->ndevices);
	memset(g->place_of, 0xff, (size_t)lanes * g->ndevices * sizeof *g->place_of);
	for (uint32_t k = 0; k < s->nrounds; k++) {
		const struct collective_round *round = &s->round[k];
		for (uint32_t i = 0; round->repeat && i < round->n; i++)
			if (!gather_send(g, request, k, (uint32_t)((uint64_t)i * lanes / round->n),
				    &s->send[round->first + i], chunks))
				return false;
	}
	return true;
}

/* The sends of all rounds, one after another. */
static void
gather_bytes(
	struct fine_gathered *out, struct fine_shape *shape, const struct collective_schedule *s)
{
	for (uint32_t k = 0; k < s->nrounds; k++)
		for (uint32_t i = 0; s->round[k].repeat && i < s->round[k].n; i++) {
			double bytes = s->send[s->round[k].first + i].bytes / shape->chunks;
			if (shape->nbytes && shape->bytes[shape->nbytes - 1].bytes == bytes) {
				shape->bytes[shape->nbytes - 1].n++;
				continue;
			}
			LIST_PUSH(out, shape->bytes, shape->nbytes, (struct fine_bytes){bytes, 1});
		}
}

static bool
same_bytes(const struct fine_shape *a, const struct fine_shape *b)
{
	if (a->nbytes != b->nbytes || a->chunks != b->chunks || a->parts != b->parts)
		return false;
	double ratio = a->nbytes && a->bytes->bytes > 0 ? b->bytes->bytes / a->bytes->bytes : 1;
	for (uint32_t i = 0; i < a->nbytes; i++)
		if (a->bytes[i].n != b->bytes[i].n ||
			fabs(a->bytes[i].bytes * ratio - b->bytes[i].bytes) >
				SAME * b->bytes[i].bytes)
			return false;
	return true;
}

static bool
same_sends(const struct collective_schedule *a, const struct collective_schedule *b)
{
	if (a->nrounds != b->nrounds || a->nsends != b->nsends || a->lanes != b->lanes)
		return false;
	for (uint32_t k = 0; k < a->nrounds; k++)
		if (a->round[k].first != b->round[k].first || a->round[k].n != b->round[k].n ||
			a->round[k].repeat != b->round[k].repeat ||
			a->round[k].stage != b->round[k].stage)
			return false;
	for (uint32_t i = 0; i < a->nsends; i++)
		if (a->send[i].from != b->send[i].from || a->send[i].to != b->send[i].to)
			return false;
	return true;
}

/* An earlier request that differs only in its bytes; else the request itself. */
static uint32_t
base_of(struct gather *g, uint32_t request)
{
	const struct fine_shape *shape = g->out->shape;
	for (uint32_t k = 0; k < g->nbases; k++)
		if (same_bytes(&shape[g->base[k]], &shape[request]) &&
			same_sends(shape[g->base[k]].schedule, shape[request].schedule))
			return g->base[k];
	g->base[g->nbases++] = request;
	return request;
}

static enum fine_status
gather_shape(struct gather *g, uint32_t i, const struct fine_request *q)
{
	struct fine_shape *shape = &g->out->shape[i];
	struct collective_schedule *own = NULL;
	const struct collective_schedule *s = q->schedule;
	if (!s)
		s = own = collective_schedule(g->out, g->cluster, &q->request, q->algorithm, NULL);
	if (!s)
		return FINE_NO_SCHEDULE;
	*shape = (struct fine_shape){.parts = s->parts > 1 ? s->parts : 1, .schedule = s};
	shape->chunks = shape->parts * (s->chunks > 1 ? s->chunks : 1);
	gather_bytes(g->out, shape, s);
	shape->base = base_of(g, i);
	if (shape->base != i) {
		const struct fine_shape *base = &g->out->shape[shape->base];
		shape->first = base->first;
		shape->end = base->end;
		shape->schedule = base->schedule;
		talloc_free(own);
		return FINE_OK;
	}
	shape->first = g->out->raw.nsends;
	bool good = gather_request(g, i, s, shape->chunks);
	shape->end = g->out->raw.nsends;
	return good ? FINE_OK : FINE_NO_ROUTE;
}

struct fine_gathered *
fine_gather(const void *owner, struct cluster *c, const struct fine_request *requests, uint32_t n,
	enum fine_status *status, uint32_t *culprit)
{
	struct gather *g = NEW(NULL, struct gather);
	*g = (struct gather){.out = NEW(g, struct fine_gathered),
		.cluster = c,
		.ndevices = c->ndevices + c->nhosts};
	g->number_of = NEW_ARRAY(g, uint32_t, c->nlinks);
	memset(g->number_of, 0xff, c->nlinks * sizeof *g->number_of);
	g->base = NEW_ARRAY(g, uint32_t, n);
	g->out->shape = NEW_ARRAY(g->out, struct fine_shape, n);
	*status = FINE_OK;
	for (uint32_t i = 0; *status == FINE_OK && i < n; i++) {
		*culprit = i;
		*status = gather_shape(g, i, &requests[i]);
	}
	struct fine_gathered *out = *status == FINE_OK ? talloc_steal(owner, g->out) : NULL;
	talloc_free(g);
	return out;
}
