/*
 * The events of a step around their collectives: see fine.h. A clock advances from one event to the
 * next; everything at one moment is processed before bandwidth is shared again.
 */
#include "passes/analysis/replay/fine.h"

#include "ir/base/alloc.h"
#include "passes/analysis/replay/fine_net.h"

#include <math.h>
#include <string.h>
#include <talloc.h>

#define NONE UINT32_MAX

/* Progress of a computation per picosecond; slowdowns are rounded to it. */
#define FULL_SPEED ((int64_t)1 << 30)

/* A larger slowdown is starvation: a wrong measurement. */
#define SLOWDOWN_MAX 1000.0

/* A compute stream. */
struct unit {
	uint32_t event;            /* the running event, or NONE */
	int64_t slow;              /* its speed while its device communicates */
	replay_time message_delay; /* of a collective that starts while it computes */
	int64_t message_slow;      /* speed of a collective while it computes */
	uint32_t carries;          /* the instance that its device takes part in, or NONE */
	int64_t speed;             /* now */
	fine_amount left;          /* at time `since`, in speed times picoseconds */
	replay_time since;
	bool communicates;
};

/* A running collective, identified by the event that leads it. */
struct instance {
	uint32_t leader;
	struct fine_run *run; /* NULL: its links carry no other traffic */
	/* For a collective that shares no links: */
	uint32_t computing; /* of its devices */
	int64_t slow;       /* its speed while one of them does */
	replay_time delay;  /* at its start, if one of them does */
	int64_t speed;      /* now */
	fine_amount left;   /* at time `since`, in speed times picoseconds */
	replay_time since;
};

struct machine {
	const struct fine_step *s;
	struct fine_result *r;
	const struct replay_graph *g;
	struct fine_plans *plans;
	struct fine_net *net, *alone;
	uint32_t *waits;        /* [n] number of events that it waits for */
	uint32_t *reader_first; /* [n + 1] */
	uint32_t *reader;       /* the events that wait for an event, including the next one of its
				   stream */
	uint32_t *parties;      /* [n] by leader: number that are not ready */
	uint32_t *next_party;   /* [n] the next event of the same collective, or NONE */
	uint32_t *ready, nready;
	uint32_t *running;         /* [nstreams] the event, or the leader of the collective */
	struct unit *unit;         /* [ndevices] */
	struct instance *instance; /* [nstreams] by stream of the leader */
	uint32_t *alone_on;        /* [nlinks] the instance that has the link to itself, or NONE */
	uint32_t *users;           /* [nlinks] instances */
	uint32_t ended;            /* events */
	replay_time now;
};

static uint32_t
at_position(const struct machine *m, uint32_t p)
{
	return m->g->order ? m->g->order[p] : p;
}

static bool
is_collective(const struct machine *m, uint32_t e)
{
	return m->s->request[e] != FINE_NO_REQUEST;
}

static uint32_t
leader_of(const struct machine *m, uint32_t e)
{
	return m->s->leader ? m->s->leader[e] : e;
}

/* The dependencies between events, streams included. */
static void
link_events(struct machine *m)
{
	const struct replay_graph *g = m->g;
	uint32_t *last = NEW_ARRAY(m, uint32_t, g->nstreams), *first = m->reader_first;
	memset(last, 0xff, g->nstreams * sizeof *last);
	memset(first, 0, (g->n + 1) * sizeof *first);
	uint32_t *before = ARRAY_NEW(m, uint32_t, g->n);
	for (uint32_t p = 0; p < g->n; p++) {
		uint32_t e = at_position(m, p), s = g->stream[e];
		before[e] = last[s];
		last[s] = e;
		m->waits[e] = g->dep_first[e + 1] - g->dep_first[e] + (before[e] != NONE);
		if (before[e] != NONE)
			first[before[e]]++;
		for (uint32_t k = g->dep_first[e]; k < g->dep_first[e + 1]; k++)
			first[g->dep[k]]++;
	}
	/* The end of each list; filling moves it back to its start. */
	for (uint32_t e = 0; e < g->n; e++)
		first[e + 1] += first[e];
	m->reader = ARRAY_NEW(m, uint32_t, first[g->n]);
	for (uint32_t e = 0; e < g->n; e++) {
		if (before[e] != NONE)
			m->reader[--first[before[e]]] = e;
		for (uint32_t k = g->dep_first[e]; k < g->dep_first[e + 1]; k++)
			m->reader[--first[g->dep[k]]] = e;
	}
	array_free(before);
	talloc_free(last);
}

static void
link_parties(struct machine *m)
{
	for (uint32_t e = 0; e < m->g->n; e++) {
		m->parties[e] = 0;
		m->next_party[e] = NONE;
	}
	for (uint32_t e = 0; e < m->g->n; e++) {
		if (!is_collective(m, e))
			continue;
		uint32_t leader = leader_of(m, e);
		m->parties[leader]++;
		if (leader == e)
			continue;
		m->next_party[e] = m->next_party[leader];
		m->next_party[leader] = e;
	}
}

static void
end_event(struct machine *m, uint32_t e)
{
	m->r->end[e] = m->now;
	m->ended++;
	if (m->now > m->r->makespan)
		m->r->makespan = m->now;
	for (uint32_t k = m->reader_first[e]; k < m->reader_first[e + 1]; k++)
		if (--m->waits[m->reader[k]] == 0)
			m->ready[m->nready++] = m->reader[k];
}

/* From now on the unit computes at that speed. */
static void
set_speed(struct machine *m, struct unit *u, int64_t speed)
{
	if (u->event == NONE)
		return;
	fine_amount done = (fine_amount)u->speed * (fine_amount)(m->now - u->since);
	u->left = done < u->left ? u->left - done : 0;
	u->since = m->now;
	u->speed = speed;
	fine_amount time = (u->left + (fine_amount)speed - 1) / (fine_amount)speed;
	fine_heap_set(&m->net->heap, m->g->stream[u->event], fine_later(m->now, time));
}

/* The communication stream of a device starts or stops to work. */
static void
set_communicates(struct machine *m, uint32_t stream, bool communicates)
{
	struct unit *u = &m->unit[stream / 2];
	if (stream % 2 == 0)
		return;
	u->communicates = communicates;
	if (u->slow < FULL_SPEED)
		set_speed(m, u, communicates ? u->slow : FULL_SPEED);
}

/* The remaining amount of a collective that shares no links. */
static fine_amount
left_of(const struct machine *m, const struct instance *i)
{
	const fine_amount done = (fine_amount)i->speed * (fine_amount)(m->now - i->since);
	return done < i->left ? i->left - done : 0;
}

/* A device of the collective starts or stops to compute. */
static void
set_computes(struct machine *m, struct unit *u, bool computes)
{
	if (u->carries == NONE)
		return;
	struct instance *i = &m->instance[u->carries];
	if (computes)
		i->computing++;
	else
		i->computing--;
	const int64_t speed = i->computing ? i->slow : FULL_SPEED;
	if (i->run || speed == i->speed)
		return;
	i->left = left_of(m, i);
	i->since = m->now;
	i->speed = speed;
	fine_amount time = (i->left + (fine_amount)speed - 1) / (fine_amount)speed;
	fine_heap_set(&m->net->heap, u->carries, fine_later(m->now, time));
}

static void
begin_computing(struct machine *m, uint32_t e)
{
	uint32_t stream = m->g->stream[e];
	m->running[stream] = e;
	struct unit *u = &m->unit[stream / 2];
	replay_time duration = m->g->duration[e];
	m->r->start[e] = m->now;
	if (!duration) {
		end_event(m, e);
		return;
	}
	fine_heap_set(&m->net->heap, stream, fine_later(m->now, (fine_amount)duration));
	if (stream % 2) {
		set_communicates(m, stream, true);
		return;
	}
	u->event = e;
	u->since = m->now;
	u->speed = FULL_SPEED;
	u->left = (fine_amount)duration * (fine_amount)FULL_SPEED;
	set_computes(m, u, true);
	if (u->communicates && u->slow < FULL_SPEED)
		set_speed(m, u, u->slow);
}

static const struct fine_plan *
plan_of(const struct machine *m, uint32_t e)
{
	return &m->plans->plan[m->s->request[e]];
}

static replay_time
run_alone(struct machine *m, const struct fine_plan *plan)
{
	if (!m->alone)
		m->alone = fine_net_create(m, m->plans, 0);
	return fine_run_alone(m->alone, plan);
}

/* The time of a collective that shares no links. */
static replay_time
time_alone(struct machine *m, uint32_t request)
{
	struct fine_plan *plan = &m->plans->plan[request];
	if (plan->alone < 0)
		plan->alone = m->s->requests[request].alone > 0 ? m->s->requests[request].alone
								: run_alone(m, plan);
	return plan->alone;
}

/* Starts a collective send by send. The first time, its plan is scaled so that alone it takes as
 * long as the request says. */
static struct fine_run *
run_begin(struct machine *m, replay_time now, uint32_t leader, uint32_t instance)
{
	uint32_t request = m->s->request[leader];
	struct fine_plan *plan = &m->plans->plan[request];
	replay_time alone = m->s->requests[request].alone;
	if (alone > 0 && !plan->stretched) {
		double factor = (double)alone / fmax((double)run_alone(m, plan), 1);
		for (uint32_t i = 0; i < plan->nsends; i++) {
			struct fine_send *send = &plan->send[i];
			send->amount = (fine_amount)((double)send->amount * factor);
			send->latency = llrint((double)send->latency * factor);
		}
		plan->stretched = true;
	}
	return fine_run_begin(m->net, now, plan, instance);
}

/* A collective that had its links to itself must share them: its sends so far are replayed, then it
 * goes on with sends. For this the clock goes back by the time that its progress takes at full
 * speed, but nothing else is affected. */
static void
expand(struct machine *m, uint32_t instance)
{
	struct instance *i = &m->instance[instance];
	const struct fine_plan *plan = plan_of(m, i->leader);
	struct fine_net *net = m->net;
	for (uint32_t k = 0; k < plan->nlinks; k++)
		m->alone_on[plan->link[k]] = NONE;
	/* Share what changed at this moment, so that no changes are left to share in the past. */
	fine_net_share(net, m->now);
	fine_heap_remove(&net->heap, instance);
	const fine_amount left = left_of(m, i) + (fine_amount)FULL_SPEED - 1;
	replay_time done = time_alone(m, m->s->request[i->leader]) -
			   (replay_time)(left / (fine_amount)FULL_SPEED);
	done = done > 0 ? done : 0; /* the rest of a delay is dropped */
	i->run = run_begin(m, m->now - done, i->leader, instance);
	fine_run_until(net, m->now - done, m->now);
	m->r->alone--;
	m->r->contended++;
}

/* Is it the only one on its links? If not, the others are expanded. */
static bool
has_links_to_itself(struct machine *m, const struct fine_plan *plan)
{
	bool free = true;
	for (uint32_t k = 0; k < plan->nlinks; k++) {
		uint32_t link = plan->link[k];
		if (m->users[link]++)
			free = false;
		if (m->alone_on[link] != NONE)
			expand(m, m->alone_on[link]);
	}
	return free && (!m->s->plainly || !plan->nlinks);
}

/* From now on the device of a stream takes part in a collective. */
static void
join(struct machine *m, uint32_t stream, uint32_t number)
{
	struct unit *u = &m->unit[stream / 2];
	struct instance *i = &m->instance[number];
	if (stream % 2 == 0)
		return;
	u->carries = number;
	if (u->event != NONE) {
		i->computing++;
		i->delay = u->message_delay > i->delay ? u->message_delay : i->delay;
	}
	i->slow = u->message_slow < i->slow ? u->message_slow : i->slow;
}

static void
begin_collective(struct machine *m, uint32_t leader)
{
	const struct fine_plan *plan = plan_of(m, leader);
	uint32_t number = m->g->stream[leader];
	struct instance *i = &m->instance[number];
	m->running[number] = leader;
	*i = (struct instance){.leader = leader, .slow = FULL_SPEED, .speed = FULL_SPEED};
	for (uint32_t e = leader; e != NONE; e = m->next_party[e]) {
		m->r->start[e] = m->now;
		join(m, m->g->stream[e], number);
		set_communicates(m, m->g->stream[e], true);
	}
	if (!has_links_to_itself(m, plan)) {
		m->r->contended++;
		i->run = run_begin(m, m->now, leader, number);
		return;
	}
	m->r->alone++;
	for (uint32_t k = 0; k < plan->nlinks; k++)
		m->alone_on[plan->link[k]] = number;
	i->since = m->now;
	i->speed = i->computing ? i->slow : FULL_SPEED;
	i->left = (fine_amount)time_alone(m, m->s->request[leader]) * (fine_amount)FULL_SPEED +
		  (fine_amount)i->delay * (fine_amount)i->speed;
	fine_amount time = (i->left + (fine_amount)i->speed - 1) / (fine_amount)i->speed;
	fine_heap_set(&m->net->heap, number, fine_later(m->now, time));
}

static void
end_collective(struct machine *m, uint32_t number)
{
	struct instance *i = &m->instance[number];
	const struct fine_plan *plan = plan_of(m, i->leader);
	for (uint32_t k = 0; k < plan->nlinks; k++) {
		m->users[plan->link[k]]--;
		m->alone_on[plan->link[k]] = NONE;
	}
	talloc_free(i->run);
	for (uint32_t e = i->leader; e != NONE; e = m->next_party[e]) {
		set_communicates(m, m->g->stream[e], false);
		if (m->g->stream[e] % 2)
			m->unit[m->g->stream[e] / 2].carries = NONE;
		end_event(m, e);
	}
}

/* Starts everything that can start now, ends what takes no time, and shares bandwidth. */
static void
start_ready(struct machine *m)
{
	while (m->nready || m->net->ended) {
		if (m->net->ended) {
			struct fine_run *run = m->net->ended;
			m->net->ended = run->next_ended;
			end_collective(m, run->instance);
			continue;
		}
		uint32_t e = m->ready[--m->nready];
		if (!is_collective(m, e))
			begin_computing(m, e);
		else if (--m->parties[leader_of(m, e)] == 0)
			begin_collective(m, leader_of(m, e));
	}
	fine_net_share(m->net, m->now);
}

/* Ends the event or collective that a stream runs. */
static void
end_on_stream(struct machine *m, uint32_t stream)
{
	uint32_t e = m->running[stream];
	if (is_collective(m, e)) {
		end_collective(m, stream);
		return;
	}
	if (stream % 2 == 0) {
		m->unit[stream / 2].event = NONE;
		set_computes(m, &m->unit[stream / 2], false);
	}
	set_communicates(m, stream, false);
	end_event(m, e);
}

static void
run_machine(struct machine *m)
{
	struct fine_net *net = m->net;
	for (uint32_t p = 0; p < m->g->n; p++)
		if (!m->waits[at_position(m, p)])
			m->ready[m->nready++] = at_position(m, p);
	for (start_ready(m); net->heap.n; start_ready(m)) {
		m->now = net->heap.entry[0].time;
		while (net->heap.n && net->heap.entry[0].time == m->now) {
			uint32_t number = fine_heap_pop(&net->heap);
			if (number < net->nslots)
				end_on_stream(m, number);
			else
				fine_run_happens(net, m->now, number);
		}
	}
}

/* The speed with the slowdown of a device; NULL: full speed. */
static int64_t
speed_of(const double *slowdown, uint32_t device)
{
	const double factor = slowdown ? slowdown[device] : 1;
	return llrint((double)FULL_SPEED / (factor > 1 ? fmin(factor, SLOWDOWN_MAX) : 1));
}

static struct machine *
machine_create(const struct fine_step *s, struct fine_result *r, struct fine_plans *plans)
{
	uint32_t n = s->graph->n, nstreams = s->graph->nstreams,
		 ndevices = replay_devices(s->graph);
	struct machine *m = NEW(NULL, struct machine);
	*m = (struct machine){.s = s, .r = r, .g = s->graph};
	m->plans = talloc_steal(m, plans);
	m->net = fine_net_create(m, plans, nstreams);
	m->waits = ARRAY_NEW(m, uint32_t, n);
	m->reader_first = ARRAY_NEW(m, uint32_t, n + 1);
	m->parties = ARRAY_NEW(m, uint32_t, n);
	m->next_party = ARRAY_NEW(m, uint32_t, n);
	m->ready = ARRAY_NEW(m, uint32_t, n);
	m->running = NEW_ARRAY(m, uint32_t, nstreams);
	m->unit = NEW_ARRAY(m, struct unit, ndevices);
	m->instance = NEW_ARRAY(m, struct instance, nstreams);
	m->alone_on = NEW_ARRAY(m, uint32_t, plans->nlinks);
	memset(m->alone_on, 0xff, plans->nlinks * sizeof *m->alone_on);
	m->users = NEW_ARRAY(m, uint32_t, plans->nlinks);
	memset(m->users, 0, plans->nlinks * sizeof *m->users);
	for (uint32_t d = 0; d < ndevices; d++)
		m->unit[d] = (struct unit){.event = NONE,
			.carries = NONE,
			.slow = speed_of(s->slowdown, d),
			.message_delay = s->message_delay ? s->message_delay[d] : 0,
			.message_slow = speed_of(s->message_slowdown, d)};
	return m;
}

/* The first event in issue order that has not ended although everything that it waits for has. */
static uint32_t
first_stuck(const struct machine *m)
{
	for (uint32_t p = 0; p < m->g->n; p++)
		if (m->r->end[at_position(m, p)] < 0)
			return at_position(m, p);
	return NONE;
}

static void
sum_busy(const struct replay_graph *g, struct fine_result *r)
{
	memset(r->busy, 0, g->nstreams * sizeof *r->busy);
	for (uint32_t e = 0; e < g->n; e++)
		r->busy[g->stream[e]] += r->end[e] - r->start[e];
}

enum fine_status
fine_replay(const struct fine_step *s, struct fine_result *r)
{
	enum fine_status status;
	r->makespan = 0;
	r->sends = r->alone = r->contended = 0;
	struct fine_plans *plans = fine_plans_create(
		NULL, s->cluster, s->requests, s->nrequests, !s->plainly, &status, &r->culprit);
	if (!plans)
		return status;
	struct machine *m = machine_create(s, r, plans);
	for (uint32_t e = 0; e < s->graph->n; e++)
		r->end[e] = -1;
	link_events(m);
	link_parties(m);
	run_machine(m);
	if (m->ended < s->graph->n) {
		status = FINE_STUCK;
		r->culprit = first_stuck(m);
	}
	if (status == FINE_OK && r->busy)
		sum_busy(s->graph, r);
	r->sends = m->net->sends + (m->alone ? m->alone->sends : 0);
	talloc_free(m);
	return status;
}

replay_time
fine_alone(struct cluster *c, const struct fine_request *q)
{
	enum fine_status status;
	uint32_t culprit;
	struct fine_plans *plans = fine_plans_create(NULL, c, q, 1, true, &status, &culprit);
	if (!plans)
		return -1;
	replay_time t = fine_run_alone(fine_net_create(plans, plans, 0), &plans->plan[0]);
	talloc_free(plans);
	return t;
}
