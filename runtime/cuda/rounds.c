/* Enqueues a collective in the communication stream, with NCCL.
 *
 * Sums of floating-point numbers are computed by our kernels, so that they equal those of every
 * other transport bit for bit: each place receives its share of all tensors by sends and receives
 * and adds it in the order of places, in f32 if elements have 16 bits, and rounds once. An
 * allreduce ends with an allgather of the shares, a reduce with sends to its target. A ring carries
 * the same number of bytes. NCCL's own sums have an order that depends on the machine and, with
 * NVLS, on the call, and round 16-bit sums at each hop; programs built with -algorithm=mpi use
 * them. Sums of integers are exact in any order and use NCCL's, where it has their type.
 *
 * Data that is received before it is added, and data that NCCL needs contiguous but is not, goes
 * through a room of a fixed size, so that the memory of a program is known: a collective takes as
 * many rounds as it needs.
 *
 *	round  [pack] -> one NCCL group -> [sum -> one NCCL group] or [unpack] */
#include "runtime/cuda/nccl.h"

/* Elements of cut parts, and bytes of shares, are multiples of these, so that 16-byte accesses stay
 * aligned. */
#define CUT_ELEMENTS 64
#define SHARE_BYTES 16
/* Every place adds up all of a tensor if the data of all places has no more bytes than this: one
 * call of NCCL instead of two. */
#define SMALL_SUM (64 << 10)

struct rounds {
	const struct nccl *n;
	const struct rt_coll *c;
	const struct rt_cuda *device;
	const struct rt_cuda_group *group;
	ncclComm_t comm;
	size_t bytes;  /* of an element */
	bool ordered;  /* a sum that our kernels compute */
	bool tails;    /* the remainders of shared tensors, which all places add up */
	size_t packed; /* where packed sources are in the room; received parts are at its start */
	int npieces;
};

static ncclDataType_t
type_of(enum rt_dtype t)
{
	static const ncclDataType_t types[RT_DTYPES] = {[RT_f64] = ncclFloat64,
		[RT_f32] = ncclFloat32,
		[RT_f16] = ncclFloat16,
		[RT_bf16] = ncclBfloat16,
		[RT_i64] = ncclInt64,
		[RT_i32] = ncclInt32,
		[RT_i16] = ncclFloat16, /* moved only: NCCL has no integers of 16 bits */
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

static bool
is_sum(const struct rt_coll *c)
{
	return c->kind == RT_ALLREDUCE || c->kind == RT_REDUCE || c->kind == RT_REDUCESCATTER;
}

/* Must the order of the sum be ours? */
static bool
is_ordered(const struct nccl *n, const struct rt_coll *c)
{
	const bool floats = c->dtype == RT_f64 || c->dtype == RT_f32 || c->dtype == RT_f16 ||
			    c->dtype == RT_bf16;
	const bool unknown = c->dtype == RT_i16 || c->dtype == RT_u16;
	return is_sum(c) && (unknown || (floats && !n->own_sums));
}

/* Do all places hold the tensors of the sum whole, so that each adds up a share? */
static bool
is_shared(const struct rounds *r)
{
	return r->ordered && r->c->kind != RT_REDUCESCATTER;
}

/* Elements of a place's share of such a tensor. */
static int64_t
share_of(const struct rounds *r, const struct rt_buf *b)
{
	const int64_t n = b->outer * b->n * b->inner, unit = SHARE_BYTES / (int64_t)r->bytes;
	if (n * (int64_t)r->bytes * r->group->places <= SMALL_SUM)
		return 0;
	return n / r->group->places / unit * unit;
}

/* Elements of each part of a buffer. */
static int64_t
part_of(const struct rounds *r, const struct rt_buf *b)
{
	if (is_shared(r)) {
		const int64_t share = share_of(r, b);
		return r->tails ? b->outer * b->n * b->inner - share * r->group->places : share;
	}
	const struct rt_region region = rt_coll_source(r->c, b, r->group->places, 0);
	return rt_region_elements(&region);
}

/* Bytes from the start of a shared tensor to place q's share of a piece. */
static size_t
shared_at(const struct rounds *r, const struct nccl_piece *p, int q)
{
	const int places = r->group->places;
	const int64_t at =
		r->tails ? share_of(r, p->buf) * places + p->at : p->at * places + q * p->n;
	return (size_t)at * r->bytes;
}

/* Elements of a region from `at` on. */
struct range {
	struct rt_region region;
	int64_t at;
};

/* The data that this place sends to place q of a piece. */
static struct range
source_of(const struct rounds *r, const struct nccl_piece *p, int q)
{
	if (!is_shared(r))
		return (struct range){rt_coll_source(r->c, p->buf, r->group->places, q), p->at};
	return (struct range){{p->buf->src + shared_at(r, p, q), {1, 1, 1}, {0, 0, 0}, p->n}, 0};
}

static struct range
target_of(const struct rounds *r, const struct nccl_piece *p, int q)
{
	return (struct range){rt_coll_target(r->c, p->buf, r->group->places, q), p->at};
}

/* Are the parts of a piece contiguous in memory? */
static bool
is_whole(const struct rounds *r, const struct nccl_piece *p, const struct rt_region *first,
	const struct rt_region *second)
{
	const size_t end = first->base + (size_t)first->run * r->bytes;
	return rt_cuda_is_run(first) && p->n == first->run &&
	       (r->group->places == 1 || second->base == end);
}

/* Is the source (or target) of a piece packed? NCCL's collectives need all parts in a row, sends
 * and receives each part by itself. */
static bool
is_packed(const struct rounds *r, const struct nccl_piece *p, bool target)
{
	const struct range first = target ? target_of(r, p, 0) : source_of(r, p, 0);
	const struct range second = target ? target_of(r, p, 1) : source_of(r, p, 1);
	if (target ? r->c->kind == RT_ALLGATHER : r->c->kind == RT_REDUCESCATTER && !r->ordered)
		return !is_whole(r, p, &first.region, &second.region);
	return !(target && r->ordered) && !rt_cuda_is_run(&first.region);
}

/* The row of place q of a piece, in the room. */
static unsigned char *
row_of(const struct rounds *r, const struct nccl_piece *p, bool target, int q)
{
	return r->n->room + (target ? 0 : r->packed) + p->room + (size_t)(p->n * q) * r->bytes;
}

/* The address of a part: in the arena, or in the room if it is packed. */
static unsigned char *
address(const struct rounds *r, const struct nccl_piece *p, bool target, int q)
{
	const struct range x = target ? target_of(r, p, q) : source_of(r, p, q);
	return is_packed(r, p, target) ? row_of(r, p, target, q)
				       : r->n->arena + x.region.base + (size_t)x.at * r->bytes;
}

/* Packs the data that this place sends, or unpacks received data. */
static void
pack(const struct rounds *r, bool target)
{
	const int me = r->group->me;
	for (int i = 0; i < r->npieces; i++) {
		const struct nccl_piece *p = &r->n->piece[i];
		for (int q = 0; q < r->group->places && is_packed(r, p, target); q++) {
			const struct range x = target ? target_of(r, p, q) : source_of(r, p, q);
			if (rt_coll_moves(r->c, target ? q : me, target ? me : q))
				rt_cuda_put_range(r->device, r->device->communication, r->bytes,
					r->n->arena, &x.region, x.at, p->n, row_of(r, p, target, q),
					!target);
		}
	}
}

static void
put_send(const struct rounds *r, const void *from, int64_t n, int to)
{
	nccl_check(r->device,
		ncclSend(from, (size_t)n, type_of(r->c->dtype), to, r->comm,
			r->device->communication),
		"a send");
}

static void
put_receive(const struct rounds *r, void *to, int64_t n, int from)
{
	nccl_check(r->device,
		ncclRecv(to, (size_t)n, type_of(r->c->dtype), from, r->comm,
			r->device->communication),
		"a receive");
}

static void
put_allgather(const struct rounds *r, const void *from, void *to, int64_t n)
{
	nccl_check(r->device,
		ncclAllGather(from, to, (size_t)n, type_of(r->c->dtype), r->comm,
			r->device->communication),
		"allgather");
}

/* Sends and receives the parts of a piece to and from all other places. */
static void
put_parts(const struct rounds *r, const struct nccl_piece *p)
{
	const int me = r->group->me;
	for (int q = 0; q < r->group->places; q++) {
		if (r->ordered && q == me)
			continue;                             /* its own part is copied there */
		if (r->ordered || rt_coll_moves(r->c, me, q)) /* all add up shares of a sum */
			put_send(r, address(r, p, false, q), p->n, q);
		if (r->ordered || rt_coll_moves(r->c, q, me))
			put_receive(r, r->ordered ? row_of(r, p, true, q) : address(r, p, true, q),
				p->n, q);
	}
}

static void
put_piece(const struct rounds *r, const struct nccl_piece *p)
{
	if (r->tails)
		put_allgather(r, address(r, p, false, 0), row_of(r, p, true, 0), p->n);
	else if (r->c->kind == RT_ALLGATHER)
		put_allgather(r, address(r, p, false, 0), address(r, p, true, 0), p->n);
	else if (r->c->kind == RT_REDUCESCATTER && !r->ordered)
		nccl_check(r->device,
			ncclReduceScatter(address(r, p, false, 0), address(r, p, true, 0),
				(size_t)p->n, type_of(r->c->dtype), sum_of(r->c->dtype), r->comm,
				r->device->communication),
			"reducescatter");
	else
		put_parts(r, p);
}

/* Where this place stores the sum of its share of a piece: only the target of a reduce may write to
 * the result. */
static unsigned char *
sum_at(const struct rounds *r, const struct nccl_piece *p)
{
	if (!is_shared(r))
		return address(r, p, true, 0);
	if (r->c->kind == RT_REDUCE && r->group->me != r->c->to)
		return row_of(r, p, true, r->group->me);
	return r->n->arena + p->buf->dst + shared_at(r, p, r->group->me);
}

static void
put_sums(const struct rounds *r)
{
	for (int i = 0; i < r->npieces; i++) {
		const struct nccl_piece *p = &r->n->piece[i];
		struct dopt_sum_args args = {.from = {row_of(r, p, true, 0)},
			.to = {sum_at(r, p)},
			.nfrom = r->group->places,
			.nto = 1,
			.n = p->n,
			.stride = p->n * (int64_t)r->bytes,
			.region = {{1, 1, 1}, {0, 0, 0}, p->n, 0}};
		rt_cuda_put_sum(r->device, r->device->communication, r->c->dtype, &args);
	}
}

/* Sends the shares of a sum to the places that receive all of it. */
static void
put_shares(const struct rounds *r, const struct nccl_piece *p)
{
	const int me = r->group->me, to = r->c->to;
	unsigned char *result = r->n->arena + p->buf->dst;
	if (r->c->kind == RT_ALLREDUCE)
		put_allgather(r, sum_at(r, p), result + shared_at(r, p, 0), p->n);
	else if (me != to)
		put_send(r, sum_at(r, p), p->n, to);
	for (int q = 0; q < r->group->places && r->c->kind == RT_REDUCE && me == to; q++)
		if (q != to)
			put_receive(r, result + shared_at(r, p, q), p->n, q);
}

static void
put_group(const struct rounds *r, void (*put)(const struct rounds *, const struct nccl_piece *))
{
	nccl_check(r->device, ncclGroupStart(), "a collective");
	for (int i = 0; i < r->npieces; i++)
		put(r, &r->n->piece[i]);
	nccl_check(r->device, ncclGroupEnd(), "a collective");
}

/* This place's own part of its share. */
static void
put_own(const struct rounds *r)
{
	for (int i = 0; i < r->npieces && !r->tails; i++) {
		const struct nccl_piece *p = &r->n->piece[i];
		const struct range x = source_of(r, p, r->group->me);
		rt_cuda_put_range(r->device, r->device->communication, r->bytes, r->n->arena,
			&x.region, x.at, p->n, row_of(r, p, true, r->group->me), true);
	}
}

static void
put_round(const struct rounds *r)
{
	if (r->ordered)
		put_own(r);
	if (!r->tails)
		pack(r, false);
	put_group(r, put_piece);
	if (!r->ordered) {
		pack(r, true);
		return;
	}
	if (!r->tails || r->c->kind != RT_REDUCE || r->group->me == r->c->to)
		put_sums(r);
	if (is_shared(r) && !r->tails)
		put_group(r, put_shares);
}

/* Pieces from buffer *b and element *at on, as many as fit into `room` bytes. */
static int
fill(const struct rounds *r, int *b, int64_t *at, size_t room)
{
	const size_t element = r->bytes * (size_t)r->group->places;
	size_t used = 0;
	int n = 0;
	for (; *b < r->c->nbufs && used <= room; ++*b, *at = 0) {
		const struct rt_buf *buf = &r->c->bufs[*b];
		const int64_t left = part_of(r, buf) - *at,
			      fit = (int64_t)((room - used) / element);
		const int64_t take = left <= fit ? left : fit / CUT_ELEMENTS * CUT_ELEMENTS;
		if (take > 0)
			r->n->piece[n++] = (struct nccl_piece){buf, *at, take, used};
		*at += take;
		if (take < left)
			break;
		used += (size_t)take * element;
		used = (used + RT_CUDA_ALIGN - 1) / RT_CUDA_ALIGN * RT_CUDA_ALIGN;
	}
	return n;
}

static void
put_rounds(struct rounds *r)
{
	bool gives = false, gets = r->ordered;
	for (int b = 0; b < r->c->nbufs; b++) {
		const struct nccl_piece all = {&r->c->bufs[b], 0, part_of(r, &r->c->bufs[b]), 0};
		gives |= is_packed(r, &all, false);
		gets |= is_packed(r, &all, true);
	}
	const size_t room = gives && gets ? RT_CUDA_ROOM / 2 : RT_CUDA_ROOM;
	r->packed = gets ? RT_CUDA_ROOM / 2 : 0;
	int64_t at = 0;
	for (int b = 0; (r->npieces = fill(r, &b, &at, gives || gets ? room : SIZE_MAX / 2)) > 0;)
		put_round(r);
}

/* Sums by NCCL and broadcasts: slices, which are rows already. */
static void
put_slices(const struct rounds *r)
{
	const struct rt_coll *c = r->c;
	cudaStream_t stream = r->device->communication;
	nccl_check(r->device, ncclGroupStart(), "a collective");
	for (int b = 0; b < c->nbufs; b++) {
		const struct rt_buf *buf = &c->bufs[b];
		const size_t count = (size_t)(buf->outer * buf->n * buf->inner);
		const void *src = r->n->arena + buf->src;
		void *dst = r->n->arena + buf->dst;
		const ncclDataType_t type = type_of(c->dtype);
		const ncclRedOp_t sum = sum_of(c->dtype);
		nccl_check(r->device,
			c->kind == RT_ALLREDUCE
				? ncclAllReduce(src, dst, count, type, sum, r->comm, stream)
			: c->kind == RT_REDUCE
				? ncclReduce(src, dst, count, type, sum, c->to, r->comm, stream)
				: ncclBroadcast(src, dst, count, type, c->from, r->comm, stream),
			rt_coll_info(c->kind)->name);
	}
	nccl_check(r->device, ncclGroupEnd(), "a collective");
}

void
nccl_put(const struct nccl *n, const struct rt_coll *c)
{
	struct rounds r = {.n = n,
		.c = c,
		.device = n->base.device,
		.group = &n->group[c->axis],
		.comm = n->comm[c->axis],
		.bytes = rt_dtype_bytes(c->dtype),
		.ordered = is_ordered(n, c)};
	if (!r.ordered &&
		(c->kind == RT_ALLREDUCE || c->kind == RT_REDUCE || c->kind == RT_BROADCAST)) {
		put_slices(&r);
		return;
	}
	put_rounds(&r);
	r.tails = is_shared(&r);
	if (r.tails)
		put_rounds(&r);
}
