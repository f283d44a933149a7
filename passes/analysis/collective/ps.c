/*
 * Parameter servers, as in dPRO (section 2.1) and BytePS. Hosts in nodes without devices are the
 * servers; if the cluster has none, every node has one server, on its host if the cluster has one
 * there, else at its first member. Each server owns an equal part of the tensor. Workers push the
 * parts of their gradient to the servers and then pull the sums. As in BytePS the members of a node
 * first sum among themselves (a reducescatter inside), each pushes and pulls its slice, and finally
 * an allgather runs inside.
 *
 * On a star of P workers with a server each, every link carries (P-1)/P of the tensor each way in a
 * push, and in a pull: 2 (alpha + (P-1)/P S / beta). With s separate servers, a worker's link
 * carries the tensor, a server's P/s of it: 2 (alpha + max(1, P/s) S / beta).
 *
 * These four are stages: a part of a message is pulled while the next is pushed.
 */
#include "ir/base/alloc.h"
#include "passes/analysis/collective/build.h"

#include <string.h>
#include <talloc.h>

/* Ends of the cluster that are servers. */
struct servers {
	uint32_t *host;  /* [nnodes] the first host of each node; UINT32_MAX if it has none */
	uint32_t *apart; /* [napart] in nodes without devices */
	uint32_t napart;
};

static struct servers *
find_servers(const void *owner, const struct cluster *c)
{
	struct servers *s = NEW(owner, struct servers);
	bool *has_devices = NEW_ARRAY(s, bool, c->nnodes);
	s->host = NEW_ARRAY(s, uint32_t, c->nnodes);
	s->apart = NEW_ARRAY(s, uint32_t, c->nhosts);
	memset(has_devices, 0, c->nnodes * sizeof *has_devices);
	memset(s->host, 0xff, c->nnodes * sizeof *s->host);
	for (uint32_t i = 0; i < c->ndevices; i++)
		has_devices[c->node_of[i]] = true;
	for (uint32_t i = c->nhosts; i-- > 0;)
		s->host[c->node_of_host[i]] = c->ndevices + i;
	for (uint32_t i = 0; i < c->nhosts; i++)
		if (!has_devices[c->node_of_host[i]])
			s->apart[s->napart++] = c->ndevices + i;
	return s;
}

/* Server k of a group. */
static uint32_t
server_of(const struct builder *b, const struct servers *s, uint32_t g, uint32_t k)
{
	if (s->napart)
		return s->apart[k];
	const struct placement *at = b->at;
	uint32_t first = at->node[(size_t)g * (at->places + 1) + k];
	uint32_t device = at->member[(size_t)g * at->places + first];
	uint32_t host = s->host[b->cluster->node_of[device]];
	return host == UINT32_MAX ? device : host;
}

/* A push, or a pull: between each member and each server of its group. */
static void
build_exchange(struct builder *b, const struct servers *s, bool push)
{
	const struct placement *at = b->at;
	build_round(b, 1);
	for (uint32_t g = 0; g < at->ngroups; g++) {
		const uint32_t *member = at->member + (size_t)g * at->places;
		const uint32_t *node = at->node + (size_t)g * (at->places + 1);
		uint32_t n = s->napart ? s->napart : at->nnodes[g];
		for (uint32_t k = 0; k < at->nnodes[g] * n; k++) {
			uint32_t worker = k / n, server = server_of(b, s, g, k % n);
			double part = 1.0 / n / (node[worker + 1] - node[worker]);
			for (uint32_t i = node[worker]; i < node[worker + 1]; i++)
				build_send(b, push ? member[i] : server, push ? server : member[i],
					part);
		}
	}
}

bool
build_ps(struct builder *b, uint32_t variant)
{
	(void)variant;
	struct servers *servers = find_servers(NULL, b->cluster);
	build_inside(b);
	build_stage(b);
	build_exchange(b, servers, true);
	build_stage(b);
	build_exchange(b, servers, false);
	build_stage(b);
	build_inside(b);
	talloc_free(servers);
	return true;
}

bool
form_ps(enum rt_coll_kind kind, int places, double *latencies, double *tensors)
{
	(void)kind;
	*latencies = 2;
	*tensors = 2.0 * (places - 1) / places;
	return true;
}
