/*
 * What the files that write CUDA kernels share. One op (or fuse) becomes one launch function of the
 * host side and the kernels that it launches; all of them get the same structure of arguments:
 *
 *     kernels.cu                                  step.c
 *     struct k3_args { const float *a0; ... };    static void
 *     DOPT_KERNEL(k3_0, k3_args, 256) { ... }     k3(struct rt_ctx *ctx, ...)
 *     DOPT_KERNEL(k3_1, k3_args, 256) { ... }     { launch k3_0; matrix product; launch k3_1 }
 *
 *     kernel.c    segments of the scheme -> which of the shapes below
 *     launch.c    kernels that do not depend on each other as one launch
 *     flat.c      no reduction: a thread per element, 16 bytes at a time if that fits
 *     tile.c      the same where operands are walked across: tiles in shared memory
 *     reduce.c    one stage: a warp, a block or a thread per result; sums may be cut
 *     rows.c      several stages: a warp or a block per outer iteration, rows in registers or shared
 *                 memory; rows_plan.c, rows_run.c, rows_parts.c: its parts
 *     vector.c    loops over neighbours that are loaded and stored at once, for flat.c and rows.c
 *     running.c   which sums can be made together with a maximum that they read, and how
 *     scatter.c   positions given by data: sorted by position, summed in equal chunks
 *     scan.c      prefix sums: a block, a warp or a thread per row
 *     order.c     sort and topk
 *     stream.c    several products: a block per tile of the results, other tiles streamed past it
 *     conv.c      convolutions for the library
 *     gemm.c      products for the library, with bias and relu as its epilogue
 *
 * No float is added by an atomic operation, and no order of additions depends on the device or on
 * timing.
 */
#ifndef LOWER_CUDA_TEXT_H
#define LOWER_CUDA_TEXT_H

#include "lower/cuda/kernel.h"
#include "lower/text/text.h"

#include "ir/loops/build.h"

enum cuda_limit {
	CUDA_LANES = 32,        /* of a warp */
	CUDA_BLOCK = 256,       /* threads of most blocks: eight of them fill a multiprocessor */
	CUDA_BLOCK_MOST = 1024, /* limit of the hardware */
	CUDA_GROUPS = 1056,     /* blocks that fill a large device: 132 multiprocessors of an H100,
				   eight each */
	CUDA_THREADS = 132 * 1024, /* threads that hide its memory's latency */
	CUDA_GRID = 1 << 20,       /* blocks at most: threads loop over the rest */
	CUDA_CHUNKS = 1024,        /* parts of one sum at most, which the second launch adds up */
	CUDA_CHUNK_LEAST = 32,     /* elements a thread adds at least before sums are split */
	CUDA_SUM_WHOLE = 128,      /* elements that a thread adds up without a second launch, which
				      takes as long as 64 elements, 16 loads at a time */
	CUDA_SHARED = 44 << 10,    /* row buffers of a block: 48 KB need no opt-in, the rest is for
				      reductions */
	CUDA_VECTOR = 16,          /* bytes of the widest access */
	CUDA_VECTORS = 64,         /* of one loop */
	CUDA_VECTOR_ELEMENTS = 8,  /* at most: their values are in registers */
	CUDA_KEPT = 32,            /* elements of a row that a lane keeps in registers */
	CUDA_RUN = 8,              /* elements of a lane after which a sum follows its maximum */
	CUDA_SCRATCH_ALIGN = 256,
	CUDA_TILE = 128,  /* rows and columns of a product that a block of the library computes */
	CUDA_TILES = 264, /* tiles that fill a large device: two a multiprocessor */
	CUDA_PARTS_MOST =
		32 << 20, /* bytes of the parts of a sum of products, as the library's workspace */
};

static inline int64_t
cuda_divide_up(int64_t a, int64_t b)
{
	return (a + b - 1) / b;
}

/* Classes that one flat index runs over, outermost first. */
struct cuda_space {
	int n;
	int8_t cls[SCHEME_MAX_CLASSES];
	int64_t size; /* product */
};

/* A pointer into the scratch of the current op. */
struct cuda_pointer {
	char *name;
	const char *type;
	int64_t offset;
};

/* A kernel whose body is complete. */
struct cuda_body {
	char *text; /* from malloc */
	int threads;
	int64_t grid;
};

struct cuda_text {
	struct kernel_text w; /* w.out: the body of the current kernel */
	struct cuda_sources *src;
	struct scheme *s;
	const struct scheme_segment *g; /* being written */
	const char *name;               /* of the op's launch function */
	FILE *host;                     /* the statements of that function */
	bool in_place, aligned;
	bool prologue_stored; /* the results of the segment's ops without loops are written */
	uint32_t space;       /* classes of a flat kernel */
	struct cuda_pointer *pointer;
	int npointers;
	int64_t scratch;        /* bytes allocated so far */
	struct cuda_body *body; /* of each launch */
	int nbodies;
	struct cuda_body *waiting; /* kernels whose launches are not written yet */
	int nwaiting;
	bool waits;   /* the current segment's kernels wait: it has no other statements */
	int64_t grid; /* of the last launch */
	char *text;   /* the buffer of w.out */
	size_t text_size;
};

/* Starts the body of a kernel; ends it, with `grid` blocks of `threads`, and writes its launch,
 * unless that waits. */
void cuda_open(struct cuda_text *t);
void cuda_close(struct cuda_text *t, int threads, int64_t grid);

/* Writes the launches of the kernels that wait; before other statements of the launch function. */
void cuda_launch(struct cuda_text *t);

/* Writes a kernel as part of another one, with the texts for its block and the number of them;
 * `inside`: indented. */
void cuda_write_part(
	FILE *out, const char *text, const char *block, const char *blocks, bool inside);

/* Does the text contain the word? */
bool cuda_has_word(const char *text, const char *word);

/* Bytes in the op's scratch, to which its kernels have a pointer of that name and type. */
void cuda_scratch(struct cuda_text *t, const char *type, const char *name, int64_t bytes);

/* The classes of `set` in the order of the segment's loops. */
struct cuda_space cuda_space_of(const struct scheme_segment *g, uint32_t set);

/* All classes of the loops of a segment. */
uint32_t cuda_all(const struct scheme_segment *g);

/* Declares i<c> for the classes of a space from the flat index variable `flat`. */
void cuda_unflatten(struct cuda_text *t, const struct cuda_space *space, const char *flat);

/* The unsigned type for flat indices below n. */
const char *cuda_index_type(int64_t n);

/* A block: its head and " {"; its end. */
void cuda_block(struct cuda_text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void cuda_end(struct cuda_text *t);

/* The block of a loop over n elements, `at`, by all threads of blocks of CUDA_BLOCK. */
void cuda_open_threads(struct cuda_text *t, int64_t n);

/* f<out>, a buffer of f32 (f64 for f64) in `parts` parts, in which the sum that op o makes in
 * memory is accumulated: its address in the launch function. The kernel that adds up the parts in
 * order and rounds to the result. */
const char *cuda_open_wide(struct cuda_text *t, const struct scheme_op *o, int64_t parts);
void cuda_close_wide(struct cuda_text *t, const struct scheme_op *o, int64_t parts);

/* Is the element of op o's result written to memory or to a row? */
bool cuda_is_stored(const struct cuda_text *t, const struct scheme_op *o);

/*
 * In a kernel over more loops than op o's result has, the first iteration of the other loops writes
 * it: the condition for that; NULL: every iteration writes an element of its own.
 */
char *cuda_first_iteration(struct cuda_text *t, const struct scheme_op *o);

/* Marks op `i` of the scheme, and the ops of its stage whose locals it reads. `need` has one entry
 * per op. */
void cuda_need(const struct cuda_text *t, bool *need, int i);

/* A cleared array for `need`. */
bool *cuda_need_none(struct cuda_text *t);

/* Writes the ops of a stage that are needed and reduce nothing; with `store` also their stores. */
void cuda_pointwise(struct cuda_text *t, int stage, const bool *need, bool store);

/*
 * The stores alone, after the sums over the same loops: a result may lie on an operand that they
 * read.
 */
void cuda_store_pointwise(struct cuda_text *t, int stage, const bool *need);

/*
 * The ops without loops, at the start of a kernel: all threads compute them, and one of the first
 * kernel of the segment writes their results. Where these may lie on operands, which the others
 * read, a separate kernel does, after the others.
 */
void cuda_prologue(struct cuda_text *t);
void cuda_prologue_results(struct cuda_text *t);

/* `to` = reduce(`to`, `value`) for op o. */
void cuda_accumulate(
	struct cuda_text *t, const struct scheme_op *o, const char *to, const char *value);

/* A loop of one thread over reduced elements: at = first, first + step ... below end. */
struct cuda_sum {
	const struct scheme_op *const *op; /* their accumulators are v<out> */
	int nops;
	const char *type, *first, *end; /* of the index */
	int step, unroll;
	int width;     /* above 1: accumulators w<out>[width] of as many sums, which are not cut */
	int64_t count; /* iterations at most */
};

/* Declares the accumulators and opens the loop; closes it. */
void cuda_open_sum(struct cuda_text *t, const struct cuda_sum *x);
void cuda_close_sum(struct cuda_text *t, const struct cuda_sum *x);

/* Declares what reductions over the lanes of a block need. */
void cuda_open_lanes(struct cuda_text *t);

/* Reduces <kind><out>, such as v<out>, over a group of `lanes` lanes: a warp, or a block. All lanes
 * get the result. */
void cuda_reduce_lanes(struct cuda_text *t, const struct scheme_op *o, char kind, int lanes);

/* Type in which op o's result is computed. */
const char *cuda_type(const struct scheme_op *o);

/* printf into memory of the text. */
char *cuda_printf(struct cuda_text *t, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The address of a tensor, as a C expression of the launch function. */
char *cuda_host_pointer(struct cuda_text *t, int tensor);

/*
 * A loop of a thread over neighbours along a class, which are loaded and stored at once: vector.c.
 * cuda_vectors_fit sets the width, if all that the needed ops access fits and rows are aligned. The
 * loop is opened where i<cls> is the first neighbour.
 */
struct cuda_vector {
	char *element; /* text of the first element */
	char *name;
	const char *type;
	int tensor, bytes; /* of an element */
	bool row;          /* in a row buffer */
	bool kept, made;   /* kept in registers; has an earlier pass loaded or computed it? */
	char *when;        /* for a result: the condition under which it is stored; NULL: always */
};
struct cuda_vectors {
	int cls;
	const bool *need; /* ops */
	bool store;       /* elementwise results are stored, too */
	int width, n, nread;
	bool odd;  /* the first and last vector of a row may have fewer elements */
	bool tail; /* the last one has, and padding behind them */
	struct cuda_vector at[CUDA_VECTORS];
};
bool cuda_vectors_fit(const struct cuda_text *t, struct cuda_vectors *v);
/* The size of the loop with which they fit, if all that it accesses is padded (ir/loops/pitch.h): what
 * is computed there is not read. 0: it is not. v->width is set. */
int64_t cuda_vectors_padded(const struct cuda_text *t, const struct cuda_vectors *v);
void cuda_vectors_open(struct cuda_text *t, struct cuda_vectors *v);
void cuda_vectors_close(struct cuda_text *t, const struct cuda_vectors *v);

/* The width for all accesses along the class: 1: one element at a time; 0: some are neither
 * neighbours nor the same along it. The parts of cuda_vectors_open and _close, for rows. */
int cuda_vectors_width(const struct cuda_text *t, const struct cuda_vectors *v);
void cuda_vectors_list(struct cuda_text *t, struct cuda_vectors *v);
void cuda_vectors_load(struct cuda_text *t, const struct cuda_vectors *v);
void cuda_vectors_each(struct cuda_text *t, struct cuda_vectors *v);
void cuda_vectors_each_end(struct cuda_text *t);
char *cuda_vector_loaded(struct cuda_text *t, const struct cuda_vectors *v, const char *element);
void cuda_vector_store(
	struct cuda_text *t, const struct cuda_vectors *v, const char *element, const char *name);

/*
 * By what a sum is multiplied when maxima, minima and sums that its summands read change, those of
 * `changing`, by op of the scheme: o<out> and v<out> are the old and the new values that stand for
 * them. "": it does not change; NULL: it cannot be made before they are complete. See running.c.
 */
char *cuda_change(struct cuda_text *t, const struct scheme_op *sum, const bool *changing);

/* The shapes of kernels. */
void cuda_flat(struct cuda_text *t);
/* Writes a kernel over t->space by tiles; false, and nothing is written, where tiles do not
 * help. */
bool cuda_tile(struct cuda_text *t);
void cuda_reduce(struct cuda_text *t);
void cuda_rows(struct cuda_text *t);
void cuda_scatter(struct cuda_text *t);
void cuda_scan(struct cuda_text *t);
void cuda_order(struct cuda_text *t);
void cuda_stream(struct cuda_text *t);
/* Writes the product of segment `i`; returns the number of segments done: 2 if the next one is its
 * epilogue. */
int cuda_gemm(struct cuda_text *t, int i);

/* Writes the current segment's convolution as a library call; false, and nothing is written, if the
 * library has none. */
bool cuda_conv(struct cuda_text *t);

/*
 * Writes the kernel that completes reductions that were cut into parts: result[kept] = the `count`
 * values at part<tensor>[number * kept.size + kept], combined in order.
 */
struct cuda_parts {
	const struct scheme_op *const *op;
	int nops;
	struct cuda_space kept; /* classes of the result */
	int64_t count;
};
void cuda_reduce_parts(struct cuda_text *t, const struct cuda_parts *p);

#endif
