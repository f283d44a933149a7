/* Ranges of a message as buffers of their own.
 *
 * Where wholes are sums or copies of slices that lie in a row, a range of a buffer is a buffer. A
 * range of the slices of an allgather or a reducescatter is up to three, as a slice is `outer` runs
 * of the whole, P times as far apart there:
 *
 *	slice   [run 0][run 1][run 2][run 3]
 *	range       ..........................       end of run 0, runs 1 and 2, start of run 3 */
#include "runtime/comm/parts.h"

#include "runtime/comm/region.h"

enum { PIECES = 3 };

int
rt_parts_room(const struct rt_program *p)
{
	int most = 0;
	for (int i = 0; i < p->ncolls; i++) {
		const int n = PIECES * p->colls[i].nbufs;
		if (p->colls[i].parts > 1 && n > most)
			most = n;
	}
	return most;
}

/* Elements `at` to `at + n` of the slice of a buffer, inside one run or a number of whole runs. */
static struct rt_buf
piece(const struct rt_coll *c, const struct rt_buf *b, int places, int64_t at, int64_t n)
{
	const int64_t bytes = (int64_t)rt_dtype_bytes(c->dtype);
	const bool slices = c->kind == RT_ALLREDUCE;
	const int64_t run = slices ? b->outer * b->n * b->inner : b->n * b->inner;
	const size_t slice = (size_t)(at * bytes);
	const size_t whole = (size_t)((at / run * run * places + at % run) * bytes);
	struct rt_buf x = {.outer = n > run ? n / run : 1, .n = 1, .inner = n > run ? run : n};
	x.src = b->src + (c->kind == RT_REDUCESCATTER ? whole : slice);
	x.dst = b->dst + (c->kind == RT_ALLGATHER ? whole : slice);
	x.stride = slices ? 0 : run;
	return x;
}

/* The same for any range, as up to three buffers; returns their number. */
static int
cut(const struct rt_coll *c, const struct rt_buf *b, int places, int64_t at, int64_t n,
	struct rt_buf *out)
{
	const int64_t run = b->n * b->inner;
	int count = 0;
	while (n > 0 && c->kind != RT_ALLREDUCE) {
		const int64_t left = run - at % run;
		const int64_t take = n < left ? n : left < run ? left : n / run * run;
		out[count++] = piece(c, b, places, at, take);
		at += take;
		n -= take;
	}
	if (n > 0)
		out[count++] = piece(c, b, places, at, n);
	return count;
}

struct rt_coll
rt_part(const struct rt_coll *c, int places, int i, struct rt_buf *room)
{
	struct rt_coll part = *c;
	if (c->parts < 2)
		return part;
	const int64_t total = rt_coll_part(c, places), begin = total * i / c->parts,
		      end = total * (i + 1) / c->parts;
	int64_t first = 0; /* index of a buffer's first element in the message */
	part.nbufs = 0;
	part.bufs = room;
	part.parts = 1;
	for (int b = 0; b < c->nbufs; b++) {
		const struct rt_buf *buf = &c->bufs[b];
		const int64_t n = buf->outer * buf->n * buf->inner;
		const int64_t at = begin > first ? begin - first : 0;
		const int64_t stop = end < first + n ? end - first : n;
		if (at < stop)
			part.nbufs += cut(c, buf, places, at, stop - at, room + part.nbufs);
		first += n;
	}
	const int64_t wholes = c->kind == RT_ALLREDUCE ? 1 : places;
	part.bytes = (size_t)((end - begin) * wholes) * rt_dtype_bytes(c->dtype);
	return part;
}
