/* Shared by the files that write kernels of rows: rows.c, rows_plan.c, rows_parts.c, rows_run.c. */
#ifndef LOWER_CUDA_ROWS_H
#define LOWER_CUDA_ROWS_H

#include "lower/cuda/text.h"

struct rows {
	uint32_t outer;
	int lanes;         /* of a group */
	int per_block;     /* groups in a block */
	int64_t groups;    /* of the launch */
	int64_t row_bytes; /* row buffers of a group */
	bool shared;       /* the row buffers are in shared memory */
	struct cuda_space space;

	/* Where all passes over inner loops go over one, `cls`, in vectors of the same width: */
	int cls, width;   /* 0: they do not */
	bool odd;         /* rows do not start at multiples of it */
	bool tail;        /* they do, but are padded to one */
	int rounds;       /* vectors of a row that a lane has; 0: more than it can keep */
	const char *lead; /* the first element of a row that vectors are aligned by */
	struct kept *kept;
	int nkept;

	/* By tensor: where in a group's room the parts of a sum over outer loops are while it goes over
	 * its rows, -1: in scratch. A block adds up those of its groups. NULL: all in scratch. */
	int64_t *part;
};

/* An element that several passes access, which lanes keep in registers. */
struct kept {
	struct cuda_vector is;
	int first, last, count; /* passes that access it */
	bool keep, made;
};

/* One pass over a stage: the ops that reduce `set` of its inner loops. */
struct pass {
	int stage;
	struct cuda_space all, kept, over;
	uint32_t set;
	bool store;  /* also stores pointwise results */
	bool serial; /* each lane computes a sum by itself */
};

struct run {
	const struct scheme_op *top; /* the maximum, of stage 0 */
	bool *changing;              /* by op: true for it */
	struct pass sums;            /* of a later stage */
};

/* Does the op reduce some outer loops and keep others? Then each outer iteration has its own
 * value. */
static inline bool
rows_keeps_outer(const struct scheme_op *o, uint32_t outer)
{
	return o->red_set & outer && o->out_set & outer;
}

/* Are the parts of op o in shared memory? */
static inline bool
rows_is_near(const struct rows *x, const struct scheme_op *o)
{
	return x->part && x->part[o->out] >= 0;
}

/* The type of indices of inner loops over n elements: lanes step beyond them. */
static inline const char *
rows_index_type(const struct rows *x, int64_t n)
{
	return cuda_index_type(n + (int64_t)SCHEME_SUM_BLOCK * x->lanes);
}

static inline int64_t
rows_blocks(const struct rows *x)
{
	return cuda_divide_up(x->groups, x->per_block);
}

static inline bool
rows_in_pass(const struct pass *p, const struct rows *x, const struct scheme_op *o)
{
	return o->stage == p->stage && o->red_set && (o->red_set & ~x->outer) == p->set;
}

#define FOR_PASS(t, p, x, o)                                                                       \
	for (int k_ = 0; k_ < (t)->g->nops; k_++)                                                  \
		for (const struct scheme_op *o = &(t)->s->op[(t)->g->op[k_]]; o; o = NULL)         \
			if (rows_in_pass(p, x, o))

/* The ops that a pass needs: rows.c. */
const bool *rows_needed(struct cuda_text *t, const struct rows *x, const struct pass *p);

/* A pass; the passes of a stage, for which `pass` has room for one more than ops: their number. */
struct pass rows_make_pass(
	const struct cuda_text *t, int stage, struct cuda_space space, uint32_t set, bool store);
int rows_list_passes(const struct cuda_text *t, const struct rows *x, int stage, struct pass *pass);

/* Opens the loop over a lane's vectors of a row, and loads them: `first` is the index of a vector's
 * first element. */
void rows_open_vectors(struct cuda_text *t, struct rows *x, struct cuda_vectors *v);

/* The values of the ops of a pass that sums, in the accumulators v<out>. */
void rows_write_summands(struct cuda_text *t, const struct rows *x, const struct pass *p);

/* rows_parts.c: bytes of n values as they are computed, in shared memory. */
int64_t rows_padded(int64_t n, enum ir_dtype dtype);

/* Of op o, a sum over outer loops: the address in its parts of the current value. */
char *rows_part_text(struct cuda_text *t, const struct rows *x, const struct scheme_op *o);

/* Are the parts of the ops that sum over outer loops alone neighbours along the inner loop, too? */
bool rows_have_vectors(
	const struct cuda_text *t, const struct rows *x, const struct pass *p, int cls);

/* Decides where the parts are, after row buffers; initializes them, if there are any to initialize;
 * completes those in shared memory, at the end of a kernel; writes the kernels that add them up. */
void rows_place_parts(struct cuda_text *t, struct rows *x);
bool rows_fill_parts(struct cuda_text *t, const struct rows *x);
void rows_write_near_parts(struct cuda_text *t, const struct rows *x);
void rows_write_parts(struct cuda_text *t, const struct rows *x);

/* Stores the value v<out> of op o from the lane that has it. */
void rows_put(struct cuda_text *t, const struct rows *x, const struct scheme_op *o);

/* rows_run.c: is there a maximum whose sums can be made with it? Writes both. */
bool rows_find_run(struct cuda_text *t, const struct rows *x, struct run *r);
void rows_write_run(struct cuda_text *t, struct rows *x, const struct run *r);

/* rows_plan.c: decides whether all passes go over rows in vectors of one width, and what lanes keep;
 * `r`: the maximum and sums that are made in one pass, NULL: none. Is a row in registers? */
void rows_plan_lanes(struct cuda_text *t, struct rows *x, const struct run *r);
bool rows_is_kept(const struct rows *x, int tensor);

#endif
