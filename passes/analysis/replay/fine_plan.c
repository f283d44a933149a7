/* Turns sends and their classes into plans: the stops of every place. See fine_plan.h. */
#include "passes/analysis/replay/fine_plan.h"

#include "ir/base/vec.h"

#include <string.h>
#include <talloc.h>

#define NONE UINT32_MAX

/* More than any tensor, as elements are counted in 63 bits; an amount has 128. */
#define BYTES_MAX 1e20

/* Makes every send, place and link a class of its own. */
static struct fine_classes *
classes_apart(const void *owner, const struct fine_raw *raw)
{
	struct fine_classes *f = NEW(owner, struct fine_classes);
	*f = (struct fine_classes){raw->nsends, raw->nplaces, raw->nlinks,
		NEW_ARRAY(f, uint32_t, raw->nsends), NEW_ARRAY(f, uint32_t, raw->nplaces),
		NEW_ARRAY(f, uint32_t, raw->nlinks)};
	for (uint32_t i = 0; i < raw->nsends; i++)
		f->send[i] = i;
	for (uint32_t i = 0; i < raw->nplaces; i++)
		f->place[i] = i;
	for (uint32_t i = 0; i < raw->nlinks; i++)
		f->link[i] = i;
	return f;
}

struct build {
	const struct fine_raw *raw;
	const struct fine_classes *classes;
	struct fine_plans *plans;
	uint32_t nuses;
	uint32_t *members, *link_members; /* of each class of sends, of links */
	uint32_t *place;                  /* by class of places: its number in its plan, or NONE */
	uint32_t *seen;                   /* by class of links: 1 + the last plan that listed it */
	bool *taken;                      /* by class of sends: it is in its plan */
	uint32_t **member;                /* by plan and send of it: the first raw send */
};

static uint32_t *
count_members(const void *owner, const uint32_t *class, uint32_t n, uint32_t nclasses)
{
	uint32_t *members = NEW_ARRAY(owner, uint32_t, nclasses);
	memset(members, 0, nclasses * sizeof *members);
	for (uint32_t i = 0; i < n; i++)
		members[class[i]]++;
	return members;
}

/* One of the links of the send: all links of its class carry equally many sends of its class. */
static void
build_use(struct build *b, struct fine_send *send, uint32_t class, uint32_t link)
{
	struct fine_use *use = b->plans->use;
	for (uint32_t k = send->first_use; k < b->nuses; k++)
		if (use[k].link == link) {
			use[k].weight += b->members[class];
			return;
		}
	LIST_PUSH(b->plans, b->plans->use, b->nuses, (struct fine_use){link, b->members[class]});
	send->nuses++;
}

static uint32_t
build_place(struct build *b, struct fine_plan *plan, uint32_t place)
{
	uint32_t *number = &b->place[b->classes->place[place]];
	if (*number == NONE)
		*number = plan->nplaces++;
	return *number;
}

static void
build_send(struct build *b, struct fine_plan *plan, uint32_t i)
{
	const struct fine_raw_send *raw = &b->raw->send[i];
	uint32_t class = b->classes->send[i];
	struct fine_send *s = &plan->send[plan->nsends++];
	*s = (struct fine_send){.latency = raw->latency, .first_use = b->nuses};
	s->from = build_place(b, plan, raw->from);
	s->to = build_place(b, plan, raw->to);
	for (uint32_t k = 0; k < raw->nlinks; k++)
		build_use(b, s, class, b->classes->link[b->raw->way[raw->first_link + k]]);
	struct fine_use *use = b->plans->use;
	s->bound = INT64_MAX;
	for (uint32_t k = s->first_use; k < b->nuses; k++) {
		use[k].weight /= b->link_members[use[k].link];
		int64_t most = b->plans->capacity[use[k].link] / use[k].weight;
		s->bound = most < s->bound ? most : s->bound;
	}
	s->bound = s->bound > 1 ? s->bound : 1;
	if (s->nuses > b->plans->max_uses)
		b->plans->max_uses = s->nuses;
}

/* The links of a plan, each once. */
static void
build_links(struct build *b, struct fine_plan *plan, uint32_t number, uint32_t first_use)
{
	plan->link = NEW_ARRAY(b->plans, uint32_t, b->nuses - first_use);
	for (uint32_t k = first_use; k < b->nuses; k++) {
		uint32_t link = b->plans->use[k].link;
		if (b->seen[link] == number + 1)
			continue;
		b->seen[link] = number + 1;
		plan->link[plan->nlinks++] = link;
	}
}

/* The stops of all places; round_of: the round of each send of the plan. */
struct stops {
	uint32_t *round, *next; /* by place: of its newest stop; the stop after that */
};

/* The stop of a place in a round, made if it is new. */
static uint32_t
stop_of(struct fine_plan *plan, struct stops *at, uint32_t place, uint32_t number,
	const struct collective_round *round)
{
	if (at->round[place] != number) {
		struct fine_stop *stop = &plan->stop[at->next[place]++];
		at->round[place] = number;
		stop->repeat = round->repeat;
		stop->stage = round->stage;
	}
	return at->next[place] - 1;
}

/* The number of stops of each place: first[p + 1] for place p, then summed up. */
static void
count_stops(struct fine_plan *plan, struct stops *at, const uint32_t *round_of)
{
	uint32_t *first = plan->place_first;
	memset(first, 0, (plan->nplaces + 1) * sizeof *first);
	memset(at->round, 0xff, plan->nplaces * sizeof *at->round);
	for (uint32_t i = 0; i < plan->nsends; i++) {
		const uint32_t end[] = {plan->send[i].from, plan->send[i].to};
		for (int k = 0; k < 2; k++) {
			if (at->round[end[k]] == round_of[i])
				continue;
			at->round[end[k]] = round_of[i];
			first[end[k] + 1]++;
		}
	}
	for (uint32_t p = 0; p < plan->nplaces; p++) {
		at->next[p] = first[p];
		first[p + 1] += first[p];
	}
	plan->nstops = first[plan->nplaces];
}

/* The lists of sends of each stop, outgoing ones first. */
static void
list_sends(struct fine_plan *plan)
{
	uint32_t n = 0;
	for (uint32_t j = 0; j < plan->nstops; j++) {
		struct fine_stop *stop = &plan->stop[j];
		stop->first_out = n;
		stop->first_in = n += stop->nout;
		n += stop->nin;
		stop->nout = stop->nin = 0;
	}
	for (uint32_t i = 0; i < plan->nsends; i++) {
		const struct fine_send *s = &plan->send[i];
		struct fine_stop *from = &plan->stop[s->from_stop], *to = &plan->stop[s->to_stop];
		plan->at_stop[from->first_out + from->nout++] = i;
		plan->at_stop[to->first_in + to->nin++] = i;
	}
}

static void
build_stops(struct build *b, struct fine_plan *plan, const struct collective_schedule *s,
	const uint32_t *round_of)
{
	struct stops at = {
		NEW_ARRAY(b, uint32_t, plan->nplaces), NEW_ARRAY(b, uint32_t, plan->nplaces)};
	plan->place_first = NEW_ARRAY(b->plans, uint32_t, plan->nplaces + 1);
	count_stops(plan, &at, round_of);
	for (uint32_t p = 0; p < plan->nplaces; p++)
		at.next[p] = plan->place_first[p];
	plan->stop = NEW_ARRAY(b->plans, struct fine_stop, plan->nstops);
	memset(plan->stop, 0, plan->nstops * sizeof *plan->stop);
	memset(at.round, 0xff, plan->nplaces * sizeof *at.round);
	plan->at_stop = NEW_ARRAY(b->plans, uint32_t, 2 * plan->nsends);
	for (uint32_t i = 0; i < plan->nsends; i++) {
		struct fine_send *send = &plan->send[i];
		const struct collective_round *round = &s->round[round_of[i]];
		send->from_stop = stop_of(plan, &at, send->from, round_of[i], round);
		send->to_stop = stop_of(plan, &at, send->to, round_of[i], round);
		plan->stop[send->from_stop].nout++;
		plan->stop[send->to_stop].nin++;
	}
	list_sends(plan);
	talloc_free(at.round);
	talloc_free(at.next);
}

/* The sends of each place in each stage, if parts follow one another. */
static void
count_stages(struct build *b, struct fine_plan *plan, const struct collective_schedule *s)
{
	if (plan->parts < 2)
		return;
	plan->nstages = s->nrounds ? s->round[s->nrounds - 1].stage + 1 : 1;
	size_t n = (size_t)plan->nplaces * plan->nstages;
	plan->in_stage = ZERO_ARRAY(b->plans, uint32_t, n ? n : 1);
	for (uint32_t p = 0; p < plan->nplaces; p++)
		for (uint32_t j = plan->place_first[p]; j < plan->place_first[p + 1]; j++) {
			const struct fine_stop *stop = &plan->stop[j];
			plan->in_stage[(size_t)p * plan->nstages + stop->stage] +=
				(stop->nout + stop->nin) * stop->repeat;
		}
}

/* The bytes of each send: those of the first member of its class, relative to the first send. */
static void
fill_amounts(struct fine_plan *plan, const struct fine_shape *shape, const uint32_t *member)
{
	const struct fine_bytes *run = shape->bytes;
	uint32_t end = run ? run->n : 0;
	for (uint32_t k = 0; k < plan->nsends; k++) {
		while (member[k] >= end)
			end += (++run)->n;
		double bytes = run->bytes < BYTES_MAX ? run->bytes : BYTES_MAX;
		plan->send[k].amount = (fine_amount)(bytes / FINE_RATE_UNIT * 1e12);
	}
}

/* The plan of a request that has its own sends. */
static void
build_plan(struct build *b, uint32_t number, const struct fine_shape *shape)
{
	struct fine_plan *plan = &b->plans->plan[number];
	uint32_t first_use = b->nuses, n = shape->end - shape->first;
	*plan = (struct fine_plan){.chunks = shape->chunks, .parts = shape->parts, .alone = -1};
	plan->send = NEW_ARRAY(b->plans, struct fine_send, n);
	uint32_t *round_of = NEW_ARRAY(b, uint32_t, n);
	uint32_t *member = b->member[number] = NEW_ARRAY(b, uint32_t, n);
	for (uint32_t i = shape->first; i < shape->end; i++) {
		if (b->taken[b->classes->send[i]])
			continue;
		b->taken[b->classes->send[i]] = true;
		round_of[plan->nsends] = b->raw->send[i].round;
		member[plan->nsends] = i - shape->first;
		build_send(b, plan, i);
	}
	plan->send = RESIZE(b->plans, plan->send, struct fine_send, plan->nsends);
	fill_amounts(plan, shape, member);
	build_links(b, plan, number, first_use);
	build_stops(b, plan, shape->schedule, round_of);
	count_stages(b, plan, shape->schedule);
	talloc_free(round_of);
}

/* The plan of a request that shares the sends of another, with bytes of its own. */
static void
copy_plan(struct build *b, uint32_t number, const struct fine_shape *shape)
{
	struct fine_plan *plan = &b->plans->plan[number];
	*plan = b->plans->plan[shape->base];
	plan->send = NEW_ARRAY(b->plans, struct fine_send, plan->nsends);
	memcpy(plan->send, b->plans->plan[shape->base].send, plan->nsends * sizeof *plan->send);
	fill_amounts(plan, shape, b->member[shape->base]);
}

static struct fine_plans *
build_plans(const struct fine_gathered *g, const struct fine_classes *classes, uint32_t n)
{
	const struct fine_raw *raw = &g->raw;
	struct build *b = NEW(NULL, struct build);
	struct fine_plans *plans = NEW(b, struct fine_plans);
	*b = (struct build){.raw = raw, .classes = classes, .plans = plans};
	plans->plan = NEW_ARRAY(plans, struct fine_plan, n);
	plans->nlinks = classes->nlinks;
	plans->capacity = NEW_ARRAY(plans, int64_t, classes->nlinks);
	for (uint32_t i = 0; i < raw->nlinks; i++)
		plans->capacity[classes->link[i]] = raw->capacity[i];
	b->members = count_members(b, classes->send, raw->nsends, classes->nsends);
	b->link_members = count_members(b, classes->link, raw->nlinks, classes->nlinks);
	b->place = NEW_ARRAY(b, uint32_t, classes->nplaces);
	memset(b->place, 0xff, classes->nplaces * sizeof *b->place);
	b->seen = NEW_ARRAY(b, uint32_t, classes->nlinks);
	memset(b->seen, 0, classes->nlinks * sizeof *b->seen);
	b->taken = NEW_ARRAY(b, bool, classes->nsends);
	memset(b->taken, 0, classes->nsends * sizeof *b->taken);
	b->member = NEW_ARRAY(b, uint32_t *, n);
	for (uint32_t i = 0; i < n; i++) {
		if (g->shape[i].base == i)
			build_plan(b, i, &g->shape[i]);
		else
			copy_plan(b, i, &g->shape[i]);
	}
	talloc_steal(NULL, plans);
	talloc_free(b);
	return plans;
}

struct fine_plans *
fine_plans_create(const void *owner, struct cluster *c, const struct fine_request *requests,
	uint32_t n, bool classes, enum fine_status *status, uint32_t *culprit)
{
	struct fine_gathered *g = fine_gather(NULL, c, requests, n, status, culprit);
	if (!g)
		return NULL;
	const struct fine_classes *found =
		classes ? fine_classes_find(g, &g->raw) : classes_apart(g, &g->raw);
	struct fine_plans *plans = talloc_steal(owner, build_plans(g, found, n));
	talloc_free(g);
	return plans;
}
