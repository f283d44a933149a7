/*
 * Memory of a step: the one owner of which values share a buffer, of the live range of each buffer
 * and of its offset in the arena. lower/ writes programs that use exactly these offsets, and
 * passes/analysis/cost/memory.h reports them, so that predicted and allocated memory are equal.
 *
 *     @main -- issue.h --> positions -- sharing --> buffers -- live ranges --> offsets --> arena
 *
 * All devices run the same program with the same arena, so one storage is valid for all. A buffer
 * that only the devices with one coordinate on an axis use (a pipeline stage) has this coordinate
 * as its *home*; buffers of different homes may overlap. The arena is as large as the largest home
 * needs. Values whose type says @host are in a second arena, in the device's share of host memory.
 *
 * Sharing
 *  - a view (reshape ...) shares the buffer of its operand; so does the result of an allreduce,
 *    reduce, replicate or send, if its operand has no later reader, unless each has a home of its own;
 *  - the operands of an allreduce of several tensors are placed contiguously in a bucket (here: a
 *    row), so that it is one collective without packing. Operands that cannot be computed in the
 *    bucket (storage_is_packed) are copied into it when the collective is posted; the results are
 *    in the bucket;
 *  - a param's next value that is computed elementwise, or copied from the other memory, shares the
 *    buffer of the param, if the old value has no later reader; else it is live to the end of the
 *    step and is copied there;
 *  - a value of one iteration of a loop over time axes that is read after the loop has a slot for
 *    every iteration; in a loop with a schedule, a value that the backward pass reads or that is
 *    sent has one slot for each iteration in flight at a time, used cyclically (cells.h);
 *  - a constant that only kernels read gets no buffer: it is part of their code.
 *
 * Live ranges, in times: 2p is when the op at position p waits for its operands, 2p + 1 when it
 * runs, 2n + 1 when params get their next values, 2n + 2 the end of the step.
 *  - params, states and inputs are always live; outputs from their op to the end of the step;
 *  - any other value from its op to its last use; a release is a use;
 *  - operands and results of a collective, or of a copy to the host or back, until its wait: before
 *    the first use of a result, at the end of the loop that posts it, or at the end of the step;
 *  - a value that is used both in a loop and outside it, has slots or is accumulated in it, is live
 *    during the whole loop;
 *  - the scratch of a kernel (ir/loops/scheme.h, or as the target says) is live while it runs.
 */
#ifndef IR_STORAGE_H
#define IR_STORAGE_H

#include "ir/memory/issue.h"
#include "ir/ops/alike.h"

enum storage_limit {
	STORAGE_ALIGN = 64, /* of buffers: a cache line, and the widest vector; RT_ARENA_ALIGN is at
			       least this */
};

#define STORAGE_NONE UINT32_MAX /* no number */

enum storage_role { STORAGE_TEMP, STORAGE_INPUT, STORAGE_PERSISTENT, STORAGE_OUTPUT };

/* What a buffer is used for. */
enum storage_use {
	STORAGE_VALUES,  /* values of the step */
	STORAGE_SCRATCH, /* a kernel, `op`, while it runs */
	STORAGE_COPY,    /* a copy of an output or next value whose own buffer is overwritten */
	STORAGE_STAGE,   /* the runtime, between steps: a slice of a tensor to be saved */
};

struct storage_buffer {
	enum storage_role role;
	enum storage_use use;
	const struct ir_value *value; /* the first one placed in it; NULL: none */
	const struct ir_op *op;       /* that makes it; NULL: the runtime */
	enum ir_memory memory;        /* the memory whose arena holds it */
	uint64_t bytes;               /* of one slot, padded rows included, not rounded */
	int64_t slots;       /* one for each iteration of the loops that it crosses, else 1 */
	uint64_t offset;     /* into the arena of its memory */
	int32_t first, last; /* live range, both included; first -1: never used, has no offset */
	int32_t row;         /* buffers with the same number are contiguous; 0: by itself */
	int32_t home; /* the devices that use it, by their coordinate on home_axis; -1: all do */
};

/* Where a value is stored. Its slot s starts at offset(buffer) + s * stride bytes. */
struct storage_value {
	const struct ir_value *value;
	const struct ir_value *next; /* another value in the same buffer, or NULL */
	int32_t buffer;              /* -1: none, its value is part of kernel code */
	uint32_t time;   /* set of time axes that number its slots, row-major in declared order */
	uint64_t stride; /* bytes from slot to slot; 0: one slot */
	/* number of slots that are used cyclically; 0: one slot for each iteration */
	uint32_t ring;
};

/*
 * Bytes of a device's memory that the driver and libraries take and that the runtime does not
 * allocate itself: estimates, where a cluster describes the device; else 0.
 */
struct storage_libraries {
	uint64_t context;   /* in every program */
	uint64_t near, far; /* for each connection of a communicator inside a node; across nodes */
	uint32_t node_devices; /* of a node */
};

/* Properties of the code that a target writes for a kernel. */
struct storage_code {
	uint64_t scratch; /* bytes */
	int32_t launches; /* of kernels of the program's own, if the target launches any */
	int32_t blocks;   /* of the only one, if that may be in a bundle; else 0 */
};

/* Properties in which targets differ. */
struct storage_target {
	uint64_t align; /* of buffers, a multiple of STORAGE_ALIGN */
	/* The code of the kernel of an op, the same for all ops that are alike (ir/ops/alike.h);
	 * expressions may be made in `a`. in_place: a result lies where an operand does, which
	 * changes no scratch. */
	struct storage_code (*code)(const struct storage_target *t, const struct ir_module *m,
		struct arena *a, const struct ir_op *op, bool in_place);
	struct storage_workspace {
		uint64_t least, most;
	} workspace; /* bytes, part of the scratch of a convolution that a library computes:
			      what its shape needs, at least `least` and at most `most` */
	/* Bytes that the runtime allocates itself: for libraries; for collectives, if any. */
	uint64_t outside_arena, for_collectives;
	struct storage_libraries libraries; /* in addition */
	/* The loop nest of a kernel in a program: scheme_create, or that of a host or device. */
	struct scheme *(*scheme)(const void *owner, const struct ir_module *m, struct arena *a,
		const struct ir_op *op);
	bool stage_inside; /* the arena is host memory, and contains the stage */
	/* Kernel forms, each of which can be switched off. threads, online, rows: those of struct
	 * scheme_device; parts: sums of products are batches of parts; addresses: products over two
	 * loops are one library call; joins: small kernels of an op that do not depend on each other
	 * are one launch; vectors: a thread accesses 16 bytes at once; registers: lanes keep the
	 * elements of a row that they go over several times; pitch: rows of matrices are padded
	 * to 16 bytes (ir/loops/pitch.h). */
	bool threads, online, parts, addresses, joins, vectors, registers, pitch;
	int64_t rows;
	int64_t batch; /* products of one call of a library at most */
	struct storage_bundles {
		int members; /* most of a bundle; 0: there are none */
		int words;   /* most pointers of its kernels, storage_pointers */
		/* Only kernels of fewer blocks are members; 0: nothing is launched. */
		int32_t blocks;
	} bundles; /* small kernels are one launch: bundle.h */
	/* For estimates: arenas are as large as the live bytes, buffers have no offsets, and
	 * searches do what they do on large steps, also on small ones. */
	bool rough;
};

/* A host with the kernels of ir/loops/scheme.h. */
extern const struct storage_target storage_host;

struct storage {
	const struct ir_module *module;
	const struct storage_target *target;
	const struct issue *order;
	struct storage_buffer *buffer; /* [nbuffers] */
	uint32_t nbuffers;
	struct storage_value *value; /* [nvalues] by number, in order of the text */
	uint32_t nvalues;
	uint32_t nids;    /* value ids when it was made */
	uint32_t nrows;   /* buffer->row is at most this */
	uint32_t *number; /* by value->id; STORAGE_NONE: not a value of @main */
	int32_t *extra;   /* by op->id: buffer of a kernel's scratch, of the copy that an output or
			   an update makes; -1: none */
	struct storage_code *code; /* by op->id, of kernels; NULL: the target launches nothing */
	int32_t stage;             /* buffer, or -1 */
	int home_axis;             /* the first device axis on which values are single; -1: none */
	int32_t home; /* the home with the highest peak, to which the figures below refer; -1 if
			   home_axis is */
	uint64_t align;
	uint64_t sought; /* the `enough` with which offsets were found; UINT64_MAX: not found yet */
	/* Of the device's arena: */
	uint64_t arena_bytes;
	uint64_t *
		home_bytes; /* [places of home_axis] end of each home; the largest is arena_bytes */
	uint64_t persistent_bytes; /* of these: params, states and inputs */
	uint64_t live_bytes;       /* peak of live bytes, rounded: no arena is smaller */
	uint32_t live_at;          /* the first time of that peak */
	uint64_t *live;            /* live bytes at each time, 0 ... 2 order->n + 2 */
	/* The same for the arena in host memory; 0 if no type says @host. */
	uint64_t host_bytes, host_persistent_bytes, host_live_bytes;
	uint64_t
		outside_arena; /* bytes that the runtime and libraries allocate outside the arena */
	uint64_t libraries;    /* of these: what the runtime does not allocate itself */
};

/* How a storage treats an op, a set of bits: the same for all ops that are alike. */
enum storage_is {
	STORAGE_IS_KNOWN = 1 << 0,
	STORAGE_IS_VIEW = 1 << 1,
	STORAGE_IS_MESSAGE = 1 << 2,
	STORAGE_IS_COPY = 1 << 3,
	STORAGE_IS_ROW = 1 << 4,
	STORAGE_IS_KERNEL = 1 << 5, /* or would be if its result has a buffer */
};

/* Facts of an op and of its kernel's loop nest, found for the first of the ops that are alike. */
struct storage_kernel {
	uint8_t is;       /* enum storage_is; 0: not known */
	bool has_code[2]; /* not in place, in place: `code` is known */
	struct storage_code code[2];
	const bool *in_place; /* [noperands][nresults] scheme_in_place; NULL: not known */
};

/* Code of kernels on one target, for the modules of an alike_memo. */
struct storage_codes;

struct storage_codes *storage_codes_create(const void *owner);

/* What is known of the kernels of a step: kept for further storages of the same kernels. */
struct storage_known {
	const struct alike *alike;
	struct storage_kernel *kernel; /* [alike->n] */
	struct storage_codes *codes;   /* NULL: none */
};

/* Numbers of the ops of a block that are alike for that target, which is NULL for hosts; with a memo,
 * which may be NULL, as alike_create_common. */
struct alike *storage_alike(const void *owner, const struct ir_module *m, const struct ir_block *b,
	const struct storage_target *target, struct alike_memo *memo);

/* Owned by `owner`. `alike`, of the step's ops (storage_alike), must live as long, and so must `like`: what is
 * known of the ops with the same alike numbers; NULL: nothing. `codes`: if alike has a memo, else NULL. */
struct storage_known *storage_known_create(const void *owner, const struct alike *alike,
	const struct storage_known *like, struct storage_codes *codes);

/* `to` takes over what `from`, which was created like it, knows of kernels that both have. */
void storage_known_learn(struct storage_known *to, struct storage_known *from);

/*
 * The storage of a typed and verified @main without calls, a talloc child of `owner`. `target`
 * (NULL: storage_host) must live as long. `known`: facts of its kernels on that target, if the
 * caller has them; NULL: all are computed. Out of date once the module changes.
 */
struct storage *storage_create(const void *owner, const struct ir_module *m, struct ir_func *main,
	const struct storage_target *target, struct storage_known *known);

/* The same with live ranges but without offsets, which take most of the time: the arena sizes are
 * the peaks of live bytes. */
struct storage *storage_create_unplaced(const void *owner, const struct ir_module *m,
	struct ir_func *main, const struct storage_target *target, struct storage_known *known);

/* Finds offsets; stops as soon as the arenas fit in `enough` bytes, so it is faster than
 * storage_create, whose arenas fit whenever these do. If they do not fit, the offsets are those of
 * storage_create. `enough` UINT64_MAX: does nothing. */
void storage_find_offsets(struct storage *s, uint64_t enough);

/* Finds offsets in a fraction of the time, and knows them if the arenas fit in `enough` bytes. If
 * they do not, storage_find_offsets may still find that they do. */
bool storage_fits_swept(struct storage *s, uint64_t enough);

/* Bytes that a program with this storage needs on a device, inside and outside the arena. */
static inline uint64_t
storage_allocated(const struct storage *s)
{
	return s->arena_bytes + s->outside_arena;
}

/* Peak of those that are in use at once; the rest are gaps between buffers. */
static inline uint64_t
storage_in_use(const struct storage *s)
{
	return s->live_bytes + s->outside_arena;
}

/* Is the buffer used by the devices of s->home, those with the highest peak? */
static inline bool
storage_counts(const struct storage *s, const struct storage_buffer *b)
{
	return b->home < 0 || b->home == s->home;
}

/* The number of a value, or STORAGE_NONE; the entry of a value of @main. */
uint32_t storage_number(const struct storage *s, const struct ir_value *v);
const struct storage_value *storage_of(const struct storage *s, const struct ir_value *v);

/* Bytes of one value on a target, padded rows included. */
uint64_t storage_value_bytes(
	const struct storage_target *t, const struct ir_module *m, const struct ir_value *v);

/* Bytes of a buffer, all slots, rounded up. */
uint64_t storage_bytes(const struct storage *s, const struct storage_buffer *b);

/* Do two buffers have bytes in common? They must have offsets. */
static inline bool
storage_overlap(const struct storage *s, int32_t i, int32_t j)
{
	const struct storage_buffer *a = &s->buffer[i], *b = &s->buffer[j];

	return a->memory == b->memory && a->offset < b->offset + storage_bytes(s, b) &&
	       b->offset < a->offset + storage_bytes(s, a);
}

/* Do the op's results share the memory of its operands, with nothing to do? */
bool storage_is_view(const struct ir_module *m, const struct ir_op *op);

/* Is the op a collective, that is, does it communicate between devices? */
bool storage_is_message(const struct ir_module *m, const struct ir_op *op);

/*
 * Is the op a copy between device and host? It is made by its own queue, one in each direction:
 * its operands and results are in use until its end is waited for.
 */
bool storage_is_copy(const struct ir_op *op);

/* May the results of such a collective share the memory of its operands? */
bool storage_lies_in_place(enum op_code code);

/* Is the op one collective of several tensors that are contiguous, in a row? */
bool storage_is_row(const struct ir_module *m, const struct ir_op *op);

/* Pointers that a kernel has as arguments: operands, results, scratch. */
static inline int
storage_pointers(const struct ir_op *op)
{
	return op->noperands + op->nresults + 1;
}

/* Must that operand of such a collective be copied into the row? */
bool storage_is_packed(const struct ir_module *m, const struct ir_op *op, int operand);

#endif
