/* Fine replay of a step: its collectives as requests to fine.h. */
#include "passes/analysis/cost/internal.h"

#include "ir/base/map.h"
#include "ir/base/mix.h"
#include "ir/base/vec.h"
#include "passes/analysis/replay/fine.h"

#include <stddef.h>
#include <string.h>
#include <talloc.h>

/*
 * The requests of a step, each once: layers repeat, and the cost of a request grows with the number
 * of places.
 */
struct requests {
	struct cost_step *s;
	struct map map;
	struct VEC(struct fine_request) list;
	struct VEC(const struct event *) first; /* by request: its first event */
	uint32_t *of_event, *leader;            /* [graph.n] */
	uint32_t *last;                         /* by op->id: the newest request of the op */
};

/* A request of an event. */
struct needed {
	const struct fine_request *request;
	uint32_t group; /* of the event */
};

static bool
same(const void *list, uint32_t i, const void *key)
{
	const struct requests *q = list;
	const struct needed *r = key;
	const struct collective_request *a = &q->list.at[i].request, *b = &r->request->request;

	return q->first.at[i]->group == r->group && a->kind == b->kind && a->bytes == b->bytes &&
	       a->from == b->from && a->to == b->to && a->parts == b->parts &&
	       q->list.at[i].alone == r->request->alone;
}

static uint32_t
hash(const struct fine_request *r, uint32_t group)
{
	uint64_t h = mix_word(group, r->request.kind);

	h = mix_word(mix_word(h, r->request.from), r->request.to);
	h = mix_word(mix_word(h, r->request.parts), (uint64_t)r->request.bytes);
	return (uint32_t)mix_word(h, (uint64_t)r->alone);
}

static uint32_t
request_add(struct requests *q, uint32_t e)
{
	struct cost_step *s = q->s;
	const struct event *v = &s->events->event[e];
	replay_time duration = s->events->graph.duration[e];
	void *scratch = alloc_scratch(q);
	/* As in the coarse replay, measured or changed; 0 would mean the links' own time. */
	struct fine_request r = {
		.algorithm = s->model->algorithm, .alone = duration > 0 ? duration : 1};

	r.request = cost_collective_request(
		scratch, s->m, v->op, &s->events->group[v->group], s->device);
	const struct needed needed = {&r, v->group};
	const uint32_t i = map_add(q, &q->map, hash(&r, v->group), same, q, &needed);
	if (i == q->list.n) {
		talloc_steal(q, r.request.device);
		VEC_PUSH(q, &q->list, r);
		VEC_PUSH(q, &q->first, v);
	}
	talloc_free(scratch);
	return i;
}

/* The request of a collective; usually the last one of its op. */
static uint32_t
request_of(struct requests *q, uint32_t e)
{
	const struct event *v = &q->s->events->event[e];
	uint32_t *last = &q->last[v->op->id];

	if (v->leader != e)
		return q->of_event[v->leader];
	if (*last == FINE_NO_REQUEST || q->first.at[*last]->group != v->group)
		*last = request_add(q, e);
	return *last;
}

static struct requests *
list_requests(struct cost_step *s)
{
	struct requests *q = NEW(s, struct requests);
	const uint32_t n = s->events->graph.n, nids = s->m->op_ids;

	q->s = s;
	q->of_event = ARRAY_NEW(q, uint32_t, n);
	q->leader = ARRAY_NEW(q, uint32_t, n);
	q->last = ARRAY_NEW(q, uint32_t, nids);
	memset(q->last, 0xff, nids * sizeof *q->last);
	for (uint32_t e = 0; e < n; e++) {
		const struct event *v = &s->events->event[e];
		q->leader[e] = v->leader;
		q->of_event[e] = v->kind == EVENT_COLLECTIVE ? request_of(q, e) : FINE_NO_REQUEST;
	}
	return q;
}

/* A field of device.def of each device, by its offset in struct device. */
static double *
factors(const struct cost_step *s, const void *owner, size_t field)
{
	uint32_t n = s->events->ndevices;
	double *factor = ARRAY_NEW(owner, double, n);

	for (uint32_t d = 0; d < n; d++) {
		uint16_t kind = s->kind_of[s->events->first_place[d]];
		const char *device = (const char *)s->model->cluster->kind[kind];
		memcpy(&factor[d], device + field, sizeof *factor);
	}
	return factor;
}

static replay_time *
message_delays(const struct cost_step *s, const void *owner)
{
	const double *seconds = factors(s, owner, offsetof(struct device, message_delay));
	replay_time *delay = ARRAY_NEW(owner, replay_time, s->events->ndevices);

	for (uint32_t d = 0; d < s->events->ndevices; d++)
		delay[d] = replay_from_seconds(seconds[d]);
	return delay;
}

static bool
report(const struct requests *q, enum fine_status status, uint32_t culprit)
{
	const struct cost_step *s = q->s;
	struct diag *d = s->m->ctx->diag;

	if (status == FINE_STUCK)
		diag_error(d, s->events->event[culprit].op->loc,
			"deadlock: devices issue their collectives in different orders");
	else if (status == FINE_NO_ROUTE)
		diag_error(d, q->first.at[culprit]->op->loc,
			"cluster %s has no route between two of the devices that communicate here",
			s->model->cluster->name);
	else if (status == FINE_NO_SCHEDULE)
		cost_report_algorithm(s, q->first.at[culprit]->op);
	return status == FINE_OK;
}

bool
cost_replay_fine(struct cost_step *s)
{
	const struct replay_graph *g = &s->events->graph;
	struct requests *q = list_requests(s);
	const struct fine_step step = {.graph = g,
		.request = q->of_event,
		.leader = q->leader,
		.requests = q->list.at,
		.nrequests = (uint32_t)q->list.n,
		.cluster = s->model->cluster,
		.slowdown = factors(s, q, offsetof(struct device, slowdown)),
		.message_delay = message_delays(s, q),
		.message_slowdown = factors(s, q, offsetof(struct device, message_slowdown))};
	struct fine_result r = {.start = s->r.start, .end = s->r.end, .busy = s->r.busy};
	bool good = report(q, fine_replay(&step, &r), r.culprit);

	s->r.makespan = r.makespan;
	talloc_free(q);
	return good;
}
