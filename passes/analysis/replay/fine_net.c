/* Sends enter and leave their links: see fine_net.h. */
#include "passes/analysis/replay/fine_net.h"

#include "ir/base/vec.h"

#include <string.h>

#define NONE UINT32_MAX

struct fine_net *
fine_net_create(const void *owner, const struct fine_plans *plans, uint32_t nslots)
{
	struct fine_net *net = NEW(owner, struct fine_net);
	net->plans = plans;
	net->nslots = nslots;
	net->free_flow = NONE;
	net->heap.entry = NEW_ARRAY(net, struct fine_heap_entry, nslots);
	net->heap.at = NEW_ARRAY(net, uint32_t, nslots);
	memset(net->heap.at, 0xff, nslots * sizeof *net->heap.at);
	net->link = ZERO_ARRAY(net, struct fine_link, plans->nlinks ? plans->nlinks : 1);
	net->may_bind = ZERO_ARRAY(net, bool, plans->nlinks ? plans->nlinks : 1);
	for (uint32_t i = 0; i < plans->nlinks; i++)
		net->link[i].capacity = plans->capacity[i];
	net->dirty = NEW_ARRAY(net, uint32_t, plans->nlinks);
	net->part = NEW_ARRAY(net, uint32_t, plans->nlinks);
	return net;
}

static void
grow(struct fine_net *net)
{
	const uint32_t old = (uint32_t)net->flow.room;
	VEC_ROOM(net, &net->flow, net->flow.n + 1);
	const uint32_t room = (uint32_t)net->flow.room, all = net->nslots + room;
	net->fresh = RESIZE(net, net->fresh, uint32_t, room);
	net->cause = RESIZE(net, net->cause, struct fine_cause, room);
	net->met = RESIZE(net, net->met, uint32_t, room);
	net->position = RESIZE(net, net->position, uint32_t, (size_t)room * net->plans->max_uses);
	net->heap.entry = RESIZE(net, net->heap.entry, struct fine_heap_entry, all);
	net->heap.at = RESIZE(net, net->heap.at, uint32_t, all);
	memset(&net->heap.at[net->nslots + old], 0xff, (room - old) * sizeof *net->heap.at);
}

static uint32_t
take_flow(struct fine_net *net)
{
	uint32_t i = net->free_flow;
	if (i != NONE) {
		net->free_flow = net->flow.at[i].next_free;
		return i;
	}
	if (net->flow.n == net->flow.room)
		grow(net);
	return (uint32_t)net->flow.n++;
}

static void
link_add(struct fine_net *net, uint32_t flow, uint32_t u)
{
	const struct fine_flow *f = &net->flow.at[flow];
	struct fine_link *l = &net->link[f->use[u].link];
	net->position[(size_t)flow * net->plans->max_uses + u] = (uint32_t)l->flow.n;
	VEC_PUSH(net, &l->flow, (struct fine_link_flow){flow, u});
	l->weight += f->use[u].weight;
	l->demand += (fine_amount)f->bound * f->use[u].weight;
	l->is_short = l->demand > (fine_amount)l->capacity;
	net->may_bind[f->use[u].link] |= l->is_short;
}

static void
link_remove(struct fine_net *net, uint32_t flow, uint32_t u)
{
	const struct fine_flow *f = &net->flow.at[flow];
	uint32_t link = f->use[u].link, max_uses = net->plans->max_uses;
	uint32_t position = net->position[(size_t)flow * max_uses + u];
	struct fine_link *l = &net->link[link];
	const struct fine_link_flow last = VEC_POP(&l->flow);
	l->flow.at[position] = last;
	net->position[(size_t)last.flow * max_uses + last.use] = position;
	l->weight -= f->use[u].weight;
	l->demand -= (fine_amount)f->bound * f->use[u].weight;
	l->is_short = l->demand > (fine_amount)l->capacity;
	if (l->binds && !l->dirty) {
		l->dirty = true;
		net->dirty[net->ndirty++] = link;
	}
}

static void
join_links(struct fine_net *net, replay_time now, uint32_t flow)
{
	struct fine_flow *f = &net->flow.at[flow];
	f->since = now;
	f->rate = 1;
	for (uint32_t u = 0; u < f->nuses; u++)
		link_add(net, flow, u);
	net->fresh[net->nfresh++] = flow;
}

static void
leave_links(struct fine_net *net, uint32_t flow)
{
	struct fine_flow *f = &net->flow.at[flow];
	for (uint32_t u = 0; u < f->nuses; u++)
		link_remove(net, flow, u);
	f->rate = 0;
}

enum fine_progress
fine_net_send(
	struct fine_net *net, replay_time now, struct fine_run *run, uint32_t send, uint32_t chunk)
{
	const struct fine_send *s = &run->plan->send[send];
	bool moves = s->amount && s->nuses;
	net->sends++;
	if (!s->latency && !moves)
		return FINE_RECEIVED;
	uint32_t i = take_flow(net);
	net->flow.at[i] = (struct fine_flow){.left = s->amount,
		.bound = s->bound,
		.use = &net->plans->use[s->first_use],
		.nuses = s->nuses,
		.next_free = NONE};
	net->cause[i] = (struct fine_cause){run, send, chunk};
	if (moves) {
		join_links(net, now, i);
		return FINE_UNDER_WAY;
	}
	fine_heap_set(&net->heap, net->nslots + i, fine_later(now, (fine_amount)s->latency));
	return FINE_OUT;
}

enum fine_progress
fine_net_happens(
	struct fine_net *net, replay_time now, uint32_t number, struct fine_cause *cause, bool *out)
{
	uint32_t i = number - net->nslots;
	struct fine_flow *f = &net->flow.at[i];
	*cause = net->cause[i];
	replay_time latency = cause->run->plan->send[cause->send].latency;
	*out = f->rate > 0;
	if (*out)
		leave_links(net, i);
	if (*out && latency) {
		fine_heap_set(&net->heap, number, fine_later(now, (fine_amount)latency));
		return FINE_OUT;
	}
	f->next_free = net->free_flow;
	net->free_flow = i;
	return FINE_RECEIVED;
}
