/* What a collective moves: for each kind, which part of its buffers each place sends to each other
 * one, as regions of the arena. All transports use it, so that they move the same bytes. */
#ifndef RUNTIME_REGION_H
#define RUNTIME_REGION_H

#include "runtime/rt_program.h"

/* counts[0] x counts[1] x counts[2] runs of `run` elements, the first at byte `base`. */
struct rt_region {
	size_t base;
	int64_t counts[3], strides[3]; /* strides in elements */
	int64_t run;
};

/* Elements of a region. */
static inline int64_t
rt_region_elements(const struct rt_region *r)
{
	return r->counts[0] * r->counts[1] * r->counts[2] * r->run;
}

/* Does place p send to place q (which may be p itself)? For sums: are p's values part of what q
 * receives? */
bool rt_coll_moves(const struct rt_coll *c, int p, int q);

/* The data that place p sends to place q, in p's arena; `places` is the axis' size. */
struct rt_region rt_coll_source(const struct rt_coll *c, const struct rt_buf *b, int places, int q);

/* Where place q stores what it receives from place p, in q's arena. */
struct rt_region rt_coll_target(const struct rt_coll *c, const struct rt_buf *b, int places, int p);

/* Elements that a place sends to one other place, over all buffers. */
int64_t rt_coll_part(const struct rt_coll *c, int places);

/* Copies between regions with the same number of elements of `bytes` bytes. */
void rt_region_copy(char *to, const struct rt_region *to_region, const char *from,
	const struct rt_region *from_region, size_t bytes);

/* A walk over the runs of a region. */
struct rt_run {
	const struct rt_region *region;
	int64_t index[3];
	int64_t used; /* elements of this run that are done */
};

/* The byte offset of the next piece, and its length, at most `limit`; 0 at the end. */
int64_t rt_run_next(struct rt_run *run, size_t bytes, int64_t limit, size_t *offset);

/* Bytes that a rank's link carries for this collective by the ring algorithms: 2(P-1)/P of the
 * message for an allreduce, (P-1)/P where slices are exchanged, the whole message where one rank
 * has it. */
double rt_coll_wire_bytes(const struct rt_coll *c, int places);

/* Messages that follow each other in the same algorithms, each with the latency of the link: 2(P-1)
 * for an allreduce, 1 where one place sends to another, else P-1. */
double rt_coll_wire_turns(const struct rt_coll *c, int places);

#endif
