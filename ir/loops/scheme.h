/*
 * The loop nest of a kernel (scheme): the loops that compute the ops of one kernel (one op, or the
 * body of a fuse). It is derived from the forms alone and independent of the target: host and cuda
 * sources are written from it, and the cost of a fusion is estimated from it.
 *
 *     segment   one outer loop nest over the indices that all its ops share; or one matrix product
 *       stage   one inner loop nest; its pointwise values are scalars, its reductions accumulators
 *
 *     softmax over rows of x[r,c]:            for r
 *       m = max(x)        stage 0                for c   m = max(m, x[r,c])
 *       d = sub(x, m)     stage 1                for c   d = x[r,c] - m;  e[c] = exp(d);  s += e[c]
 *       e = exp(d)        stage 1
 *       s = sum(e)        stage 1
 *       y = div(e, s)     stage 2                for c   y[r,c] = e[c] / s
 *
 * Indices of different ops that share a loop form a class. A value that a later stage of the same
 * segment reads is kept in a row buffer, as large as the inner loops; one that a later segment
 * reads is kept whole in scratch memory, or computed again there if that is cheap and takes less
 * (repeat.c). A reduction over an outer class whose result is not read in the kernel (the gradient
 * of a bias) accumulates into its result. Ops that cannot share a segment with others get their
 * own, so a loop nest exists for every body.
 */
#ifndef IR_SCHEME_H
#define IR_SCHEME_H

#include "ir/ops/form.h"
#include "runtime/kernel/conv.h"
#include "runtime/kernel/gemm.h"

enum scheme_limit {
	SCHEME_MAX_CLASSES = 32, /* of a segment: sets of classes are bits of a word */
	/* row buffers of a segment: half of a usual second-level cache */
	SCHEME_ROW_BYTES = 1 << 19,
	SCHEME_ALIGN = 64,            /* of scratch */
	SCHEME_BLOCK_BYTES = 1 << 19, /* of a matrix product that is consumed block by block */
	SCHEME_TILE = 16, /* a cache line of floats: a transposed read then uses all of each line it
			     loads */
	SCHEME_SUM_BLOCK = 2048,       /* summands added in a float before it is added to a double:
				    few enough that errors stay some units in the last place, enough
				    to be worth gathering the lanes of a vector */
	SCHEME_SUM_BLOCK_HALF = 16384, /* the same for a result of 16 bits, whose last place
					  is correspondingly coarser */
	SCHEME_SUM_LANES = 32,         /* divisor of these for sums in memory: outer loops add to an
				  element one after another, while the lanes of a vector and
				  unrolled loops share the block of a local */
	SCHEME_BLOCK_ROWS = 64,        /* minimum: each call packs the other factor again */
	SCHEME_SLAB_ROWS = 16,         /* fewer are not worth a loop around all segments: slab.c */
};

/* Where a tensor is stored. */
enum scheme_where {
	SCHEME_MEMORY, /* an operand, a result or scratch, whole */
	SCHEME_ROW,    /* a row buffer in scratch: inner classes of its segment */
	SCHEME_LOCAL,  /* a scalar: read in the stage that makes it, or without inner loops */
	SCHEME_CONST,  /* a constant, part of the code of its readers */
};

struct scheme_tensor {
	const struct ir_value *value;
	enum ir_dtype dtype;
	uint8_t rank;
	int64_t dim[IR_MAX_RANK]; /* local */
	int64_t row; /* elements from row to row where these are padded (pitch.h), else 0 */
	int op;      /* its producer (in scheme->op); -1: an operand of the kernel */
	int operand; /* number among the operands of the kernel, or -1 */
	int result;  /* number among its results, or -1 */
	int alias;   /* the tensor whose memory it shares (a reshape), or -1 */
	enum scheme_where where;
	int64_t scratch; /* byte offset in scratch; -1: not in scratch */
	int64_t wide;    /* byte offset of f32 accumulators for a sum of 16-bit floats; -1: none */
	int64_t deep; /* byte offset of doubles that blocks of a long sum are added to; -1: none */
	const struct expr *constant;
	/* For a kernel that loops over slabs, where dim is the size of one: slab.c. */
	int8_t slab[IR_MAX_RANK];   /* number of the loop over slabs, from 1; 0: none */
	int64_t whole[IR_MAX_RANK]; /* size in memory */
	int64_t packed; /* byte offset in scratch of the slab of an operand or a result; -1: it is
			   contiguous in memory */
};

/* A loop that a long sum is cut along: sum.c. */
struct scheme_cut {
	int at;        /* index of the loop; -1: the sum is short */
	int64_t chunk; /* iterations of that loop at a time */
};

struct scheme_op {
	const struct ir_op *op;
	struct form f;                               /* local sizes */
	struct form_offset offset[FORM_MAX_INDICES]; /* where the index values start */
	int in[FORM_MAX_INPUTS], out;                /* tensors */
	bool computed;                               /* reads or writes at computed positions */
	bool scatter;          /* writes at them: the result is filled first */
	bool picks;            /* a sum that selects one element: it keeps the sign of a zero */
	struct form_scan scan; /* the result is summed up along this index, where found */
	double divisor;        /* of the complete sum; 0: none */
	int8_t slab[FORM_MAX_INDICES]; /* number of the loop over slabs, from 1; 0: none */
	uint32_t absent;               /* loads that are 0 except at the place that holds them */
	int8_t cls[FORM_MAX_INDICES];  /* class in its segment; -1: no loop (size 1, or computed) */
	int segment, stage;            /* stage -1: before the outer loops */
	bool unused;                   /* no op reads it, and the kernel does not return it */
	bool waits;                    /* until its first reader is placed, while making segments */
	uint32_t out_set, red_set;     /* classes of its result, classes it reduces */
	struct scheme_cut cut;         /* of a sum in memory over the loops of g->order */
};

enum scheme_kind {
	SCHEME_LOOPS,
	SCHEME_GEMM,
	SCHEME_OWN,    /* the whole kernel is one op with its own functions: lower/own.h */
	SCHEME_STREAM, /* the whole kernel is products of tiles, for devices: stream.h */
};

/* A loop around the matrix products of one op: strides in elements. */
struct scheme_gemm_loop {
	int64_t size, a, b, c;
};

/* C[m,n] = op(A)[m,k] op(B)[k,n], where A and B are loads `first` and `second`; loops around it,
 * those over k last. */
struct scheme_gemm {
	int first, second; /* loads of the op */
	bool trans_a, trans_b;
	int64_t m, n, k, lda, ldb, ldc;
	int nloops, nsum; /* the last nsum of the loops accumulate */
	struct scheme_gemm_loop loop[FORM_MAX_INDICES];
	int m_index; /* index of the op that m runs over; -1: several or none */
};

struct scheme_segment {
	enum scheme_kind kind;
	int *op, nops;
	int nclasses;
	int64_t size[SCHEME_MAX_CLASSES];
	int8_t order[SCHEME_MAX_CLASSES]; /* of the loops, outermost first; without the classes that
					     were merged away */
	int norder, nouter;               /* the first nouter are the outer nest */
	uint32_t dropped;                 /* classes merged into a neighbour */
	int nstages;
	int tile;                /* class that is tiled together with the innermost one; -1: none */
	struct scheme_gemm gemm; /* SCHEME_GEMM */
	bool library;            /* SCHEME_LOOPS: one op, which is also the convolution `conv` */
	struct rt_conv_shape conv;
	int64_t library_at; /* byte offset in scratch of the memory that a library call is given */
	struct scheme_stream *stream; /* SCHEME_STREAM */
	int64_t block; /* SCHEME_LOOPS after a GEMM segment: rows of its product at once; 0: all */
};

/* A loop over slabs, around all segments. */
struct scheme_slab {
	int64_t size, step; /* step divides size */
};

struct scheme {
	const struct ir_module *module;
	struct arena *arena;
	const struct ir_op *kernel; /* the op or the fuse */
	bool threads; /* loop results are computed by parallel threads, which sum in registers */
	bool pitch;   /* rows of matrices are padded */
	struct scheme_op *op;
	int nops;
	struct scheme_tensor *tensor;
	int ntensors;
	struct scheme_segment *segment;
	int nsegments;
	struct scheme_slab slab[IR_MAX_RANK]; /* outermost first */
	int nslabs;
	int64_t scratch_bytes;
};

/*
 * The scheme of a typed op or fuse; a talloc child of `owner`, its expressions come from `a`. NULL
 * if the op is not a kernel: it has no form, no functions of its own and is not a fuse (reports
 * only if a form cannot be made).
 */
struct scheme *scheme_create(
	const void *owner, const struct ir_module *m, struct arena *a, const struct ir_op *kernel);

/* What a device does in other ways than one thread would. */
struct scheme_device {
	bool threads; /* sums in 16 bits may have loops of results inside */
	bool streams; /* kernels of several products go over tiles, where that is possible */
	int64_t rows; /* most bytes of row buffers of a segment in fast memory; 0: no limit */
	bool pitch;   /* rows of matrices are padded: pitch.h */
};

/* The same for a device. */
struct scheme *scheme_of_device(const void *owner, const struct ir_module *m, struct arena *a,
	const struct ir_op *kernel, struct scheme_device device);

/* The same for a host, where kernels of several products loop over slabs: slab.c. */
struct scheme *scheme_of_host(
	const void *owner, const struct ir_module *m, struct arena *a, const struct ir_op *kernel);

/* Stride in elements of class `cls` in tensor `t` as operation `o` reads (load j) or writes it (j =
 * -1). */
int64_t scheme_stride(const struct scheme *s, const struct scheme_op *o, int j, int cls);

/* Stride in elements of dimension `d` of a tensor, row-major. */
int64_t scheme_dim_stride(const struct scheme_tensor *t, int d);

/* Elements of a tensor at one place; those that its memory has room for, padding included. */
int64_t scheme_elements(const struct scheme_tensor *t);
int64_t scheme_room(const struct scheme_tensor *t);

/*
 * Is result `r` of the kernel written at an index only after every read of operand `j` at that
 * index, and is operand `j` read nowhere else? Then both may share memory.
 */
bool scheme_in_place(const struct scheme *s, int j, int r);

/*
 * A kernel that is a dynamic_update_slice of tensors [outer][n][inner] and [outer][size][inner],
 * the start of which is a scalar in memory. In place, in operand 0, it writes the slice alone.
 */
struct scheme_slice {
	int64_t outer, n, size, inner;
};
bool scheme_slice(const struct scheme *s, struct scheme_slice *x);

/* Is tensor t a matrix product stored as only one block of rows at a time? */
bool scheme_is_block(const struct scheme *s, int t);

/* Is computed index i of an op always within the local tensor, whatever the loops and the data? */
bool scheme_is_inside(const struct scheme_op *o, int i);

/* Parts of scheme_create: gemm.c, conv.c. */
bool scheme_find_gemm(const struct scheme *s, const struct scheme_op *o, struct scheme_gemm *g);
bool scheme_find_conv(const struct scheme *s, const struct scheme_op *o, struct rt_conv_shape *c);

/* Bytes of scratch that a library gets for a convolution of element type `t`. */
int64_t scheme_conv_scratch(const struct rt_conv_shape *c, enum ir_dtype t);

#endif
