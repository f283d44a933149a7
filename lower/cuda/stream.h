/* Shared by the files that write kernels of several products: stream.c, stream_plan.c ... */
#ifndef LOWER_CUDA_STREAM_H
#define LOWER_CUDA_STREAM_H

#include "lower/cuda/text.h"

#include "ir/loops/stream.h"

enum { STREAM_FINAL = -1 }; /* instead of a level: at the end of a pass */

/* What is decided of an op. */
struct stream_plan {
	uint32_t of;     /* ends that its value depends on */
	int end;         /* number of an end; -1 */
	int pass, level; /* of an end */
};

/* What multiplies tiles (runtime/cuda/tile.h). */
struct stream_unit {
	const char *name;
	int threads;
	bool cores;
	/* Blocks of 64 x 64 elements of operands of rows that can stay in shared memory: with one
	 * that is streamed they fit 48 KB, which need no opt-in. */
	int64_t kept;
};

struct stream {
	struct cuda_text *t;
	const struct scheme_stream *x;
	struct stream_plan *plan; /* by op */
	const struct stream_unit *unit;
	bool kept; /* the operands of rows stay in shared memory */
	int nends, npasses;
	int nlevels[STREAM_MAX_ENDS]; /* by pass */
};

/* A condition; products whose value is read only where it is `keeps` are made only for tiles where
 * it is somewhere. */
struct stream_mask {
	int op; /* -1: none */
	bool keeps;
};

static inline const struct scheme_op *
stream_at(const struct stream *m, int i)
{
	return &m->t->s->op[i];
}

/* The op that makes what load j of op i reads; -1: an operand of the kernel. */
static inline int
stream_maker(const struct stream *m, int i, int j)
{
	const struct scheme_op *o = stream_at(m, i);

	return scheme_reads(o) >> j & 1 ? m->t->s->tensor[o->in[j]].op : -1;
}

static inline bool
stream_is_end(const struct stream *m, int i)
{
	return m->x->op[i].kind >= STREAM_FOLD;
}

static inline bool
stream_is_row(const struct stream *m, int i)
{
	return m->x->op[i].kind == STREAM_FOLD || m->x->op[i].kind == STREAM_NARROW;
}

/* The ends that a reader of op i depends on. */
static inline uint32_t
stream_bits(const struct stream *m, int i)
{
	return m->plan[i].end >= 0 ? 1u << m->plan[i].end : m->plan[i].of;
}

static inline bool
stream_is_running(const struct scheme_op *o)
{
	return o->f.reduce == REDUCE_MAX || o->f.reduce == REDUCE_MIN;
}

static inline bool
stream_in_pass(const struct stream *m, int i, int pass, int level)
{
	return stream_is_end(m, i) && m->plan[i].pass == pass &&
	       (level == STREAM_FINAL || m->plan[i].level == level);
}

static inline int64_t
stream_size(const struct stream *m, int cls)
{
	return m->t->g->size[cls];
}

static inline int64_t
stream_chunks(const struct stream *m, int i)
{
	return cuda_divide_up(stream_size(m, m->x->op[i].inner), STREAM_TILE);
}

/* Numbers the ends and decides their passes and levels: stream_plan.c. */
void stream_make_plan(struct stream *m);

/* The change of end i when the references of the ends of a set change: cuda_change. */
char *stream_scale(const struct stream *m, int i, uint32_t changing);

/* Marks what the ends of a level of a pass need where the mask leaves out; the same for one op.
 * Without a mask (op -1) all that they need. */
void stream_mark_pass(
	const struct stream *m, bool *need, int pass, int level, struct stream_mask mask);
void stream_mark(const struct stream *m, bool *need, int i, struct stream_mask mask);

/* A mask outside of which the ends of a pass need fewer products; `outside`: the ops that they need
 * there. */
struct stream_mask stream_find_mask(const struct stream *m, int pass, bool *outside);

/* The loops over the elements of a thread, with their values. */
void stream_open_elements(const struct stream *m, const bool *need);

/* Can the operands of rows stay in shared memory? Its declaration; what reads them. */
bool stream_can_keep(const struct stream *m);
void stream_declare_shared(const struct stream *m);
void stream_write_kept(const struct stream *m);

/* The products of operands that the ends of a pass need. Returns whether a mask leaves out some. */
bool stream_write_tiles(const struct stream *m, int pass);

/* The product of end i with a wide value of the current tile. `masked`: the value may be all 0. */
void stream_write_product(const struct stream *m, int i, bool masked);

#endif
