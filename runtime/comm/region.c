/* The geometry of collectives: see region.h. */
#include "runtime/comm/region.h"

bool
rt_coll_moves(const struct rt_coll *c, int p, int q)
{
	return rt_coll_gives(c->kind, c->from, c->to, p, q);
}

/* The slice [outer][n][inner], contiguous. */
static struct rt_region
slice(const struct rt_buf *b, size_t base)
{
	return (struct rt_region){base, {1, 1, 1}, {0, 0, 0}, b->outer * b->n * b->inner};
}

/* Slice k of the whole [outer][P*n][inner], or of places further apart. */
static struct rt_region
slice_of_whole(const struct rt_buf *b, size_t base, int places, int k, size_t bytes)
{
	const int64_t run = b->n * b->inner, stride = b->stride ? b->stride : run;
	return (struct rt_region){base + (size_t)(k * stride) * bytes, {1, 1, b->outer},
		{0, 0, places * stride}, run};
}

/* Of an alltoall's local tensor [outer][x][mid][y][inner]: block k of `places` along x (first) or
 * along y. */
static struct rt_region
block(const struct rt_buf *b, size_t base, bool first, int64_t x, int64_t y, int places, int k,
	size_t bytes)
{
	const int64_t row = y * b->inner, plane = b->mid * row;
	if (first) {
		const int64_t run = x / places * plane;
		return (struct rt_region){
			base + (size_t)(k * run) * bytes, {1, 1, b->outer}, {0, 0, x * plane}, run};
	}
	const int64_t run = y / places * b->inner;
	return (struct rt_region){
		base + (size_t)(k * run) * bytes, {1, 1, b->outer * x * b->mid}, {0, 0, row}, run};
}

struct rt_region
rt_coll_source(const struct rt_coll *c, const struct rt_buf *b, int places, int q)
{
	const size_t bytes = rt_dtype_bytes(c->dtype);
	if (rt_coll_info(c->kind)->source == RT_COLL_WHOLE)
		return slice_of_whole(b, b->src, places, q, bytes);
	if (c->kind != RT_ALLTOALL)
		return slice(b, b->src);
	/* The dimension to cut is the one that will be split. */
	if (b->first_split)
		return block(b, b->src, false, b->d1 / places, b->d2, places, q, bytes);
	return block(b, b->src, true, b->d1, b->d2 / places, places, q, bytes);
}

struct rt_region
rt_coll_target(const struct rt_coll *c, const struct rt_buf *b, int places, int p)
{
	const size_t bytes = rt_dtype_bytes(c->dtype);
	if (rt_coll_info(c->kind)->target == RT_COLL_WHOLE)
		return slice_of_whole(b, b->dst, places, p, bytes);
	if (c->kind != RT_ALLTOALL)
		return slice(b, b->dst);
	if (b->first_split)
		return block(b, b->dst, true, b->d1, b->d2 / places, places, p, bytes);
	return block(b, b->dst, false, b->d1 / places, b->d2, places, p, bytes);
}

int64_t
rt_coll_part(const struct rt_coll *c, int places)
{
	int64_t n = 0;
	for (int i = 0; i < c->nbufs; i++) {
		const struct rt_region r = rt_coll_source(c, &c->bufs[i], places, 0);
		n += rt_region_elements(&r);
	}
	return n;
}

int64_t
rt_run_next(struct rt_run *run, size_t bytes, int64_t limit, size_t *offset)
{
	const struct rt_region *r = run->region;
	if (run->index[0] >= r->counts[0] || !r->run || !r->counts[1] || !r->counts[2])
		return 0;
	int64_t at = run->used;
	for (int i = 0; i < 3; i++)
		at += run->index[i] * r->strides[i];
	*offset = r->base + (size_t)at * bytes;
	const int64_t left = r->run - run->used, n = left < limit ? left : limit;
	run->used += n;
	if (run->used == r->run) {
		run->used = 0;
		for (int i = 2; ++run->index[i] == r->counts[i] && i > 0; i--)
			run->index[i] = 0;
	}
	return n;
}

void
rt_region_copy(char *to, const struct rt_region *to_region, const char *from,
	const struct rt_region *from_region, size_t bytes)
{
	struct rt_run source = {.region = from_region}, target = {.region = to_region};
	const int64_t piece = from_region->run < to_region->run ? from_region->run : to_region->run;
	size_t at, there = 0;
	for (int64_t n; (n = rt_run_next(&source, bytes, piece, &at)) > 0;)
		while (n > 0) {
			const int64_t m = rt_run_next(&target, bytes, n, &there);
			if (to + there != from + at)
				memcpy(to + there, from + at, (size_t)m * bytes);
			at += (size_t)m * bytes;
			n -= m;
		}
}

double
rt_coll_wire_bytes(const struct rt_coll *c, int places)
{
	const double n = (double)c->bytes, share = (places - 1.0) / places;
	switch (c->kind) {
	case RT_ALLREDUCE: return 2 * share * n;
	case RT_ALLGATHER:
	case RT_GATHER:
	case RT_SCATTER:
	case RT_REDUCESCATTER:
	case RT_ALLTOALL: return share * n;
	case RT_REDUCE:
	case RT_BROADCAST:
	case RT_SEND: return places > 1 ? n : 0;
	case RT_COLL_KINDS: break;
	}
	return 0;
}

double
rt_coll_wire_turns(const struct rt_coll *c, int places)
{
	if (places < 2)
		return 0;
	if (c->kind == RT_SEND)
		return 1;
	return c->kind == RT_ALLREDUCE ? 2 * (places - 1.0) : places - 1.0;
}
