/* Collectives by NCCL: one rank a GPU, a communicator an axis. The id of a group is the one that
 * its place 0 made, handed round by the world (MPI). What NCCL wants in one row and lies in several
 * is packed into a room behind the communication stream, and unpacked there. NCCL adds in an order
 * of its own: sums agree with other transports up to rounding. */
#include "runtime/cuda/cuda.h"

#include "runtime/comm/parts.h"

#include <nccl.h>
#include <stdio.h>
#include <stdlib.h>

struct nccl {
	struct rt_cuda_carrier base;
	unsigned char *arena, *room; /* room: packed sources, then packed targets */
	size_t half;                 /* bytes of each */
	struct rt_cuda_group group[RT_MAX_AXES];
	ncclComm_t comm[RT_MAX_AXES];
};

/* What NCCL says of a failure, with its last warning where it has one: "unhandled system error" alone names nothing. */
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

static void
check(const struct rt_cuda *d, ncclResult_t result, const char *what)
{
	if (result != ncclSuccess)
		rt_cuda_fatal(d, what, why_of(result).text);
}

static ncclDataType_t
type_of(enum rt_dtype t)
{
	static const ncclDataType_t types[RT_DTYPES] = {[RT_f64] = ncclFloat64,
		[RT_f32] = ncclFloat32,
		[RT_f16] = ncclFloat16,
		[RT_bf16] = ncclBfloat16,
		[RT_i64] = ncclInt64,
		[RT_i32] = ncclInt32,
		[RT_i16] = ncclFloat16, /* moved only: can_add */
		[RT_i8] = ncclInt8,
		[RT_u64] = ncclUint64,
		[RT_u32] = ncclUint32,
		[RT_u16] = ncclFloat16,
		[RT_u8] = ncclUint8,
		[RT_bool] = ncclUint8};
	return types[t];
}

/* A bool is true if any is. */
static ncclRedOp_t
sum_of(enum rt_dtype t)
{
	return t == RT_bool ? ncclMax : ncclSum;
}

/* A region of n elements in a row, at `base`. */
static struct rt_region
row(size_t base, int64_t n)
{
	return (struct rt_region){base, {1, 1, 1}, {0, 0, 0}, n};
}

/* Where the parts of one buffer start in the room: buffers one after the other, each with a part a
 * place. */
struct packing {
	size_t at;    /* of the buffer */
	int64_t part; /* elements */
};

static struct packing
packing_of(const struct rt_coll *c, int buf, int places)
{
	struct packing p = {0, 0};
	for (int b = 0; b <= buf; b++) {
		const struct rt_region r = rt_coll_source(c, &c->bufs[b], places, 0);
		p.at += (size_t)(p.part * places) * rt_dtype_bytes(c->dtype);
		p.at = (p.at + RT_CUDA_ALIGN - 1) / RT_CUDA_ALIGN * RT_CUDA_ALIGN;
		p.part = rt_region_elements(&r);
	}
	return p;
}

static size_t
room_bytes(const struct rt_coll *c, int places)
{
	const struct packing last = packing_of(c, c->nbufs - 1, places);
	return last.at + (size_t)(last.part * places) * rt_dtype_bytes(c->dtype) + RT_CUDA_ALIGN;
}

/* Part number `place` of a buffer in the room. */
static size_t
part_at(const struct packing *p, const struct rt_coll *c, int place)
{
	return p->at + (size_t)(p->part * place) * rt_dtype_bytes(c->dtype);
}

/* Do the parts lie in one row, so that nothing is packed? */
static bool
is_whole(const struct rt_region *first, const struct rt_region *second, size_t bytes)
{
	return rt_cuda_is_run(first) && second->base == first->base + (size_t)first->run * bytes;
}

static bool
source_is_whole(const struct rt_coll *c, const struct rt_buf *b, int places)
{
	const struct rt_region first = rt_coll_source(c, b, places, 0),
			       second = rt_coll_source(c, b, places, 1);
	return places == 1 || is_whole(&first, &second, rt_dtype_bytes(c->dtype));
}

static bool
target_is_whole(const struct rt_coll *c, const struct rt_buf *b, int places)
{
	const struct rt_region first = rt_coll_target(c, b, places, 0),
			       second = rt_coll_target(c, b, places, 1);
	return places == 1 || is_whole(&first, &second, rt_dtype_bytes(c->dtype));
}

/* Sums and broadcasts: slices, which are rows already. */
static void
put_slices(const struct nccl *n, const struct rt_coll *c, ncclComm_t comm)
{
	const struct rt_cuda *d = n->base.device;
	for (int b = 0; b < c->nbufs; b++) {
		const struct rt_buf *buf = &c->bufs[b];
		const size_t count = (size_t)(buf->outer * buf->n * buf->inner);
		const void *src = n->arena + buf->src;
		void *dst = n->arena + buf->dst;
		if (c->kind == RT_ALLREDUCE)
			check(d,
				ncclAllReduce(src, dst, count, type_of(c->dtype), sum_of(c->dtype),
					comm, d->communication),
				"allreduce");
		else if (c->kind == RT_REDUCE)
			check(d,
				ncclReduce(src, dst, count, type_of(c->dtype), sum_of(c->dtype),
					c->to, comm, d->communication),
				"reduce");
		else
			check(d,
				ncclBroadcast(src, dst, count, type_of(c->dtype), c->from, comm,
					d->communication),
				"broadcast");
	}
}

/* An allgather of one buffer, or a reducescatter: a row in, a row out, with a detour where one is
 * not. */
static void
put_gather(const struct nccl *n, const struct rt_coll *c, int b, ncclComm_t comm)
{
	const struct rt_cuda *d = n->base.device;
	const struct rt_buf *buf = &c->bufs[b];
	const struct packing p = packing_of(c, b, n->group[c->axis].places);
	const bool whole = target_is_whole(c, buf, n->group[c->axis].places);
	check(d,
		ncclAllGather(n->arena + buf->src,
			whole ? n->arena + buf->dst : n->room + n->half + p.at, (size_t)p.part,
			type_of(c->dtype), comm, d->communication),
		"allgather");
}

static void
put_scatter(const struct nccl *n, const struct rt_coll *c, int b, ncclComm_t comm)
{
	const struct rt_cuda *d = n->base.device;
	const struct rt_buf *buf = &c->bufs[b];
	const struct packing p = packing_of(c, b, n->group[c->axis].places);
	const bool whole = source_is_whole(c, buf, n->group[c->axis].places);
	check(d,
		ncclReduceScatter(whole ? n->arena + buf->src : n->room + p.at, n->arena + buf->dst,
			(size_t)p.part, type_of(c->dtype), sum_of(c->dtype), comm,
			d->communication),
		"reducescatter");
}

/* Everything else, part by part. */
static void
put_parts(const struct nccl *n, const struct rt_coll *c, int b, ncclComm_t comm)
{
	const struct rt_cuda *d = n->base.device;
	const struct rt_cuda_group *g = &n->group[c->axis];
	const struct packing p = packing_of(c, b, g->places);
	for (int q = 0; q < g->places; q++) {
		const struct rt_region source = rt_coll_source(c, &c->bufs[b], g->places, q);
		const struct rt_region target = rt_coll_target(c, &c->bufs[b], g->places, q);
		const void *from = rt_cuda_is_run(&source) ? n->arena + source.base
							   : n->room + part_at(&p, c, q);
		void *to = rt_cuda_is_run(&target) ? n->arena + target.base
						   : n->room + n->half + part_at(&p, c, q);
		if (rt_coll_moves(c, g->me, q))
			check(d,
				ncclSend(from, (size_t)p.part, type_of(c->dtype), q, comm,
					d->communication),
				"a send");
		if (rt_coll_moves(c, q, g->me))
			check(d,
				ncclRecv(to, (size_t)p.part, type_of(c->dtype), q, comm,
					d->communication),
				"a receive");
	}
}

/* Is the source (or target) of a buffer packed? */
static bool
is_packed(const struct nccl *n, const struct rt_coll *c, int b, bool target)
{
	const int places = n->group[c->axis].places;
	const struct rt_buf *buf = &c->bufs[b];
	switch (c->kind) {
	case RT_ALLREDUCE:
	case RT_REDUCE:
	case RT_BROADCAST: return false;
	case RT_ALLGATHER: return target && !target_is_whole(c, buf, places);
	case RT_REDUCESCATTER: return !target && !source_is_whole(c, buf, places);
	default: break;
	}
	const struct rt_region r =
		target ? rt_coll_target(c, buf, places, 0) : rt_coll_source(c, buf, places, 0);
	return !rt_cuda_is_run(&r);
}

/* Packs the parts that this place gives, or unpacks those that it gets. */
static void
pack(const struct nccl *n, const struct rt_coll *c, bool target)
{
	const struct rt_cuda *d = n->base.device;
	const struct rt_cuda_group *g = &n->group[c->axis];
	const size_t bytes = rt_dtype_bytes(c->dtype);
	for (int b = 0; b < c->nbufs; b++) {
		if (!is_packed(n, c, b, target))
			continue;
		const struct packing p = packing_of(c, b, g->places);
		for (int q = 0; q < g->places; q++) {
			const struct rt_region there =
				row((target ? n->half : 0) + part_at(&p, c, q), p.part);
			const struct rt_region r =
				target ? rt_coll_target(c, &c->bufs[b], g->places, q)
				       : rt_coll_source(c, &c->bufs[b], g->places, q);
			if (target && rt_coll_moves(c, q, g->me))
				rt_cuda_put_move(
					d, d->communication, bytes, n->room, &there, n->arena, &r);
			else if (!target && rt_coll_moves(c, g->me, q))
				rt_cuda_put_move(
					d, d->communication, bytes, n->arena, &r, n->room, &there);
		}
	}
}

static void
nccl_run(struct rt_cuda_carrier *base, const struct rt_coll *c)
{
	const struct nccl *n = (struct nccl *)base;
	const ncclComm_t comm = n->comm[c->axis];
	pack(n, c, false);
	check(base->device, ncclGroupStart(), "a collective");
	if (c->kind == RT_ALLREDUCE || c->kind == RT_REDUCE || c->kind == RT_BROADCAST)
		put_slices(n, c, comm);
	for (int b = 0; b < c->nbufs; b++) {
		if (c->kind == RT_ALLGATHER)
			put_gather(n, c, b, comm);
		else if (c->kind == RT_REDUCESCATTER)
			put_scatter(n, c, b, comm);
		else if (c->kind != RT_ALLREDUCE && c->kind != RT_REDUCE && c->kind != RT_BROADCAST)
			put_parts(n, c, b, comm);
	}
	check(base->device, ncclGroupEnd(), "a collective");
	pack(n, c, true);
}

static void
nccl_free(struct rt_cuda_carrier *base)
{
	struct nccl *n = (struct nccl *)base;
	for (int a = 0; a < base->setup->prog->naxes; a++)
		if (n->comm[a])
			ncclCommDestroy(n->comm[a]);
	cudaFree(n->room);
	free(n);
}

/* The communicators cannot be used any more: the rank leaves by MPI_Abort. In a group, as the first abort frees memory
 * and so waits for the device, where the collectives of the others still run. */
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

/* A network or a peer that fails leaves kernels that never end; the reason is told to who asks. */
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

/* The communicator of an axis. A group takes the id that its place 0 has made, which opens a socket and a thread: the
 * others make none. */
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

/* Has an axis collectives? All ranks say the same. */
static bool
is_used(const struct rt_program *prog, int axis)
{
	for (int i = 0; i < prog->ncolls; i++)
		if (prog->colls[i].axis == axis)
			return true;
	return false;
}

/* Bytes of room that a collective, or a part of one, needs. */
static size_t
packed_bytes(const struct nccl *n, const struct rt_coll *c)
{
	bool packed = false;
	for (int b = 0; b < c->nbufs; b++)
		packed |= is_packed(n, c, b, false) || is_packed(n, c, b, true);
	return packed ? room_bytes(c, n->group[c->axis].places) : 0;
}

/* NCCL has no integers of 16 bits: they go as any other 16 bits do, but cannot be added. */
static bool
can_add(const struct rt_program *prog, struct rt_status *st)
{
	for (int i = 0; i < prog->ncolls; i++) {
		const struct rt_coll *c = &prog->colls[i];
		const bool adds = c->kind == RT_ALLREDUCE || c->kind == RT_REDUCE ||
				  c->kind == RT_REDUCESCATTER;
		if (adds && (c->dtype == RT_i16 || c->dtype == RT_u16))
			return rt_fail(st, RT_EXIT_USAGE,
				"NCCL cannot sum %s; convert to 32 bits before the sum",
				rt_dtype_info(c->dtype)->name);
	}
	return true;
}

/* Room for the largest collective that is packed. */
static bool
make_room(struct nccl *n, const struct rt_program *prog, struct rt_status *st)
{
	const size_t nbufs = (size_t)rt_parts_room(prog) + 1;
	struct rt_buf *bufs = calloc(nbufs, sizeof *bufs);
	if (!bufs)
		return rt_fail_memory(st, nbufs * sizeof *bufs, "chunks of collectives");
	for (int i = 0; i < prog->ncolls; i++) {
		const struct rt_coll *c = &prog->colls[i];
		for (int k = 0; k < rt_parts(c); k++) {
			const struct rt_coll part = rt_part(c, n->group[c->axis].places, k, bufs);
			const size_t bytes = packed_bytes(n, &part);
			n->half = bytes > n->half ? bytes : n->half;
		}
	}
	free(bufs);
	if (n->half && cudaMalloc((void **)&n->room, 2 * n->half) != cudaSuccess)
		return rt_fail_memory(st, 2 * n->half, "packed collectives");
	return true;
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
	bool ok = can_add(setup->prog, st);
	for (int a = 0; a < setup->prog->naxes && ok; a++) {
		n->group[a] = rt_cuda_group_of(setup, a);
		if (is_used(setup->prog, a))
			ok = join(n, setup, a, st);
	}
	if (ok)
		make_room(n, setup->prog, st);
	if (rt_agree(setup->world, st))
		return &n->base;
	nccl_end(&n->base); /* others may not have joined: an orderly end would wait for them */
	cudaFree(n->room);
	free(n);
	return NULL;
}
