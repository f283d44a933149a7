/*
 * Max-min fair shares by progressive filling (Bertsekas, Gallager 1992, 6.5.2): the links with the
 * least bandwidth per unserved flow give it to these flows, which are then served; and so on, level
 * by level.
 *
 * Every flow has a bound, the bandwidth of its narrowest link. A link does not bind if the bounds
 * of all its flows add up to at most its bandwidth: the shares are the same without it, as each
 * flow is limited by its bound. So only flows connected by links that bind, or did, are shared
 * again; the others keep their rates.
 *
 * visit: of links, the last sharing that met them; of flows the same while they have no rate, one
 * more after that. Sharings are counted in steps of two.
 */
#include "passes/analysis/replay/fine_net.h"

/* From now on the flow has this rate. */
static void
set_rate(struct fine_net *net, replay_time now, uint32_t i, int64_t rate)
{
	struct fine_flow *f = &net->flow.at[i];
	bool is_known = net->heap.at[net->nslots + i] != FINE_NOT_IN_HEAP;
	f->visit = net->visit + 1;
	if (rate == f->rate && is_known)
		return;
	if (now > f->since) {
		fine_amount moved = (fine_amount)f->rate * (fine_amount)(now - f->since);
		f->left = moved < f->left ? f->left - moved : 0;
		f->since = now;
	}
	f->rate = rate;
	fine_amount time = (f->left + (fine_amount)rate - 1) / (fine_amount)rate;
	fine_heap_set(&net->heap, net->nslots + i, fine_later(now, time));
}

static inline void
meet_link(struct fine_net *net, uint32_t link)
{
	struct fine_link *l = &net->link[link];
	if (!net->may_bind[link] || l->visit == net->visit)
		return;
	net->may_bind[link] = l->is_short || l->binds;
	if (!net->may_bind[link])
		return;
	l->visit = net->visit;
	l->binds = l->is_short;
	l->left = l->capacity;
	l->wanting = l->weight;
	net->part[net->nparts++] = link;
}

static inline void
meet_flow(struct fine_net *net, uint32_t flow)
{
	struct fine_flow *f = &net->flow.at[flow];
	if (f->visit >= net->visit)
		return;
	f->visit = net->visit;
	net->met[net->nmet++] = flow;
	for (uint32_t u = 0; u < f->nuses; u++)
		meet_link(net, f->use[u].link);
}

/* Sets the rate of a flow and takes it from its links. */
static void
give(struct fine_net *net, replay_time now, uint32_t flow, int64_t rate)
{
	const struct fine_flow *f = &net->flow.at[flow];
	for (uint32_t u = 0; u < f->nuses; u++) {
		struct fine_link *l = &net->link[f->use[u].link];
		if (!net->may_bind[f->use[u].link] || l->visit != net->visit)
			continue;
		l->left -= rate * f->use[u].weight;
		l->wanting -= f->use[u].weight;
	}
	set_rate(net, now, flow, rate);
}

/* The smallest share of a link, or bound of a flow; drops finished entries. */
static int64_t
least_share(struct fine_net *net)
{
	int64_t least = INT64_MAX;
	uint32_t kept = 0;
	for (uint32_t k = 0; k < net->nmet; k++) {
		const struct fine_flow *f = &net->flow.at[net->met[k]];
		if (f->visit != net->visit)
			continue;
		net->met[kept++] = net->met[k];
		least = f->bound < least ? f->bound : least;
	}
	net->nmet = kept;
	kept = 0;
	for (uint32_t k = 0; k < net->nparts; k++) {
		struct fine_link *l = &net->link[net->part[k]];
		if (!l->wanting)
			continue;
		net->part[kept++] = net->part[k];
		int64_t share = l->left / (int64_t)l->wanting;
		l->share = share > 1 ? share : 1;
		least = l->share < least ? l->share : least;
	}
	net->nparts = kept;
	return least;
}

/* One level: the flows limited to the smallest share get it. */
static void
fill(struct fine_net *net, replay_time now, int64_t least)
{
	for (uint32_t k = 0; k < net->nmet; k++)
		if (net->flow.at[net->met[k]].bound == least)
			give(net, now, net->met[k], least);
	for (uint32_t k = 0; k < net->nparts; k++) {
		const struct fine_link *l = &net->link[net->part[k]];
		for (int64_t i = 0; l->share == least && l->wanting && i < l->flow.n; i++)
			if (net->flow.at[l->flow.at[i].flow].visit == net->visit)
				give(net, now, l->flow.at[i].flow, least);
	}
}

/* Shares among everything connected to the links and flows met so far. */
static void
share(struct fine_net *net, replay_time now)
{
	for (uint32_t k = 0; k < net->nparts; k++) {
		const struct fine_link *l = &net->link[net->part[k]];
		for (int64_t i = 0; i < l->flow.n; i++)
			meet_flow(net, l->flow.at[i].flow);
	}
	while (net->nmet) {
		int64_t least = least_share(net);
		if (net->nmet)
			fill(net, now, least);
	}
	net->nparts = 0;
}

void
fine_net_share(struct fine_net *net, replay_time now)
{
	net->visit += 2;
	for (uint32_t k = 0; k < net->ndirty; k++) {
		net->link[net->dirty[k]].dirty = false;
		meet_link(net, net->dirty[k]);
		share(net, now);
	}
	for (uint32_t k = 0; k < net->nfresh; k++) {
		meet_flow(net, net->fresh[k]);
		share(net, now);
	}
	net->ndirty = net->nfresh = 0;
}
