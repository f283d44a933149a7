/* Collectives by NCCL: one rank per GPU, one communicator per axis. The id of a group is created by
 * its place 0 and distributed by the world (MPI). */
#include "runtime/cuda/nccl.h"

#include "runtime/comm/parts.h"

#include <stdio.h>
#include <stdlib.h>

/* NCCL's description of a failure, with its last warning if it has one: "unhandled system error"
 * alone is not specific. */
struct why {
	char text[512];
};

static struct why
why_of(ncclResult_t result)
{
	struct why why;
	const char *last = ncclGetLastError(NULL);
	snprintf(why.text, sizeof why.text, "%s%s%s", ncclGetErrorString(result),
		last && *last ? ": " : "", last ? last : "");
	return why;
}

void
nccl_check(const struct rt_cuda *d, ncclResult_t result, const char *what)
{
	if (result != ncclSuccess)
		rt_cuda_fatal(d, what, why_of(result).text);
}

static void
nccl_run(struct rt_cuda_carrier *base, const struct rt_coll *c)
{
	nccl_put((struct nccl *)base, c);
}

static void
nccl_free(struct rt_cuda_carrier *base)
{
	struct nccl *n = (struct nccl *)base;
	for (int a = 0; a < base->setup->prog->naxes; a++)
		if (n->comm[a])
			ncclCommDestroy(n->comm[a]);
	free(n->piece);
	free(n);
}

/* Aborts the communicators, since the rank leaves by MPI_Abort. In one NCCL group, as the first
 * abort frees memory and so waits for the device, where the collectives of the others still run. */
static void
nccl_end(struct rt_cuda_carrier *base)
{
	struct nccl *n = (struct nccl *)base;
	ncclGroupStart();
	for (int a = 0; a < base->setup->prog->naxes; a++)
		if (n->comm[a])
			ncclCommAbort(n->comm[a]);
	ncclGroupEnd();
}

/* A failing network or peer leaves kernels that never end; returns the reason to the watchdog. */
static void
nccl_look(struct rt_cuda_carrier *base)
{
	const struct nccl *n = (struct nccl *)base;
	for (int a = 0; a < base->setup->prog->naxes; a++) {
		ncclResult_t error = ncclSuccess;
		if (n->comm[a] && ncclCommGetAsyncError(n->comm[a], &error) == ncclSuccess &&
			error != ncclSuccess && error != ncclInProgress)
			rt_cuda_fatal(base->device, "a collective", why_of(error).text);
	}
}

static const struct rt_cuda_carrier_ops nccl_ops = {nccl_run, nccl_free, nccl_end, nccl_look};

/* The communicator of an axis. A group takes the id that its place 0 has created, which opens a
 * socket and a thread: the other places create none. */
static bool
join(struct nccl *n, const struct rt_engine_setup *setup, int axis, struct rt_status *st)
{
	const struct rt_cuda_group *g = &n->group[axis];
	ncclUniqueId mine = {0}, *all = calloc((size_t)setup->world->nranks, sizeof *all);
	ncclResult_t result = g->me == 0 ? ncclGetUniqueId(&mine) : ncclSuccess;
	if (!all)
		rt_fail_memory(st, (size_t)setup->world->nranks * sizeof *all, "NCCL ids");
	else if (result != ncclSuccess)
		rt_fail(st, RT_EXIT_RUN, "cannot initialize NCCL: %s", why_of(result).text);
	if (rt_agree(setup->world, st)) {
		setup->world->ops->allgather(setup->world, &mine, all, sizeof mine);
		result = ncclCommInitRank(&n->comm[axis], g->places, all[g->first], g->me);
		if (result != ncclSuccess)
			rt_fail(st, RT_EXIT_RUN, "NCCL on axis %s: %s (it needs one GPU per rank)",
				setup->prog->axes[axis].name, why_of(result).text);
	}
	free(all);
	return rt_agree(setup->world, st);
}

/* Does an axis have collectives? All ranks agree on that. */
static bool
is_used(const struct rt_program *prog, int axis)
{
	for (int i = 0; i < prog->ncolls; i++)
		if (prog->colls[i].axis == axis)
			return true;
	return false;
}

/* The most buffers of a collective, or of a part of one. */
static size_t
most_buffers(const struct rt_program *prog)
{
	size_t most = (size_t)rt_parts_room(prog);
	for (int i = 0; i < prog->ncolls; i++)
		most = (size_t)prog->colls[i].nbufs > most ? (size_t)prog->colls[i].nbufs : most;
	return most;
}

struct rt_cuda_carrier *
rt_cuda_nccl(struct rt_cuda *d, const struct rt_engine_setup *setup, struct rt_status *st)
{
	struct nccl *n = calloc(1, sizeof *n);
	if (!n)
		rt_fail_memory(st, sizeof *n, "NCCL");
	if (!rt_agree(setup->world, st)) {
		free(n);
		return NULL;
	}
	n->base = (struct rt_cuda_carrier){&nccl_ops, d, setup};
	n->arena = setup->arena;
	n->room = d->collectives;
	n->own_sums = setup->prog->library;
	n->piece = calloc(most_buffers(setup->prog) + 1, sizeof *n->piece);
	bool ok = n->piece ||
		  rt_fail_memory(st, most_buffers(setup->prog) * sizeof *n->piece, "collectives");
	for (int a = 0; a < setup->prog->naxes && ok; a++) {
		n->group[a] = rt_cuda_group_of(setup, a);
		if (is_used(setup->prog, a))
			ok = join(n, setup, a, st);
	}
	if (rt_agree(setup->world, st))
		return &n->base;
	nccl_end(&n->base); /* an orderly end would wait for ranks that have not joined */
	free(n->piece);
	free(n);
	return NULL;
}
