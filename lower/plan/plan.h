/*
 * The lowered step: the actions of one rank, in order, and the location of every tensor. All ranks
 * run the same plan; actions that only some ranks perform have a guard.
 *
 *     buffers   ranges of the arena and their live ranges: ir/memory/storage.h
 *     actions   KERNEL, POST and WAIT of collectives and of copies between device and host, PACK of
 *               what collectives carry, COPY of blocks, LOOP ... END over time axes
 */
#ifndef LOWER_PLAN_H
#define LOWER_PLAN_H

#include "ir/ir.h"
#include "ir/loops/scheme.h"
#include "ir/memory/storage.h"
#include "ir/numbering.h"

enum lower_limit { LOWER_ALIGN = STORAGE_ALIGN }; /* of buffers, at least */

/* Which ranks perform an action: those with coord[axis] == place for every condition. */
struct lower_guard {
	uint8_t n;
	uint8_t axis[IR_MAX_AXES];
	uint16_t place[IR_MAX_AXES];
};

/* Where a value lies. Slot s of a value starts at offset(buffer) + s * stride bytes. */
struct lower_value {
	const struct ir_value *value;
	int32_t buffer;  /* -1: none (a constant inside kernels, or a value that no op reads) */
	uint32_t time;   /* set of time axes that number its slots, row-major in declared order */
	uint64_t stride; /* bytes from slot to slot; 0: one slot */
	/* slots are used in turn: their number; 0: there is one for each iteration */
	uint32_t ring;
};

enum lower_action_kind {
	LOWER_KERNEL, /* op: computed by a kernel */
	LOWER_COPY,   /* src to dst: blocks of `copy` */
	LOWER_ADD,    /* dst = (coord of every axis in `over` is 0 ? 0 : dst) + src */
	LOWER_PACK,   /* src to dst: an operand into the row of the message that is posted next */
	LOWER_POST,   /* starts collective or transfer `coll` */
	LOWER_WAIT,   /* waits for the last post of `coll` */
	LOWER_LOOP,   /* iterations over the time axes in `over`, flattened, up to its END; with a
		     * schedule in the order of cells.h, which also posts messages between stages */
	LOWER_END,
};

/* outer blocks of `bytes` bytes; where a stride follows a slice number, coord is multiplied in. */
struct lower_copy {
	int64_t outer;
	uint64_t bytes, src_stride, dst_stride;
	int slice_axis; /* -1: none; else the side below starts at coord[axis] * slice_bytes */
	uint64_t slice_bytes;
	bool slice_src; /* the source is a slice of a whole, else the destination is */
};

struct lower_action {
	enum lower_action_kind kind;
	int32_t at; /* the moment of ir/memory/storage.h at which the action is done */
	/* the op it comes from; NULL for LOOP, END and copies at the end of a step */
	const struct ir_op *op;
	struct lower_guard guard;
	uint32_t over;    /* LOOP, END, ADD: set of time axes */
	uint32_t last;    /* only in the last iteration over this set; 0: in all */
	int32_t coll;     /* POST, WAIT */
	int32_t kernel;   /* KERNEL, and COPY and ADD with an op: row of the program's table */
	int32_t src, dst; /* COPY, PACK, ADD: values (indices of plan->value) */
	int32_t scratch;  /* KERNEL: buffer of its scratch, or -1 */
	bool in_place;    /* KERNEL: a result lies where an operand lies */
	const struct scheme *scheme; /* KERNEL */
	struct lower_copy copy;
};

/* One buffer of a collective, as rt_buf has it; src and dst are values. A transfer uses only src
 * and dst. */
struct lower_coll_buf {
	int32_t src, dst;
	int64_t outer, n, inner, d1, mid, d2;
	bool first_split;
};

/* A collective; or a transfer: an offload or reload, which is also in flight from its POST to its
 * WAIT, but involves no other ranks. */
struct lower_coll {
	const struct ir_op *op;
	bool transfer;
	int kind; /* enum rt_coll_kind; of a transfer -1, as is the axis */
	int axis;
	int from, to;
	enum ir_dtype dtype;
	int nbufs;
	bool in_row; /* its buffers lie in a row: one buffer in the program's table */
	struct lower_coll_buf *buf;
	uint64_t bytes; /* of the message */
	uint32_t time;  /* set of time axes that number the slots of its values */
	int32_t row; /* its first row in the program's table of collectives or transfers; one row a
			slot, row-major over `time`; of a transfer one a slot and buffer */
};

struct lower_plan {
	const struct ir_module *module;
	struct ir_func *main;
	struct names *names;      /* of the values of @main, as they are printed */
	struct ir_numbering *ops; /* of @main */
	struct arena *arena;      /* forms and expressions made while planning */
	const struct storage_target *target;
	struct storage *storage;
	struct storage_buffer *buffer; /* the buffers of the storage */
	int nbuffers;
	struct lower_value *value; /* the values of the storage, by their numbers; then copies */
	int nvalues;
	struct lower_action *action;
	int nactions;
	struct lower_coll *coll;
	int ncolls;
	int nrows;      /* of the program's table of collectives */
	int ntransfers; /* rows of the program's table of transfers */
	int nkernels;
	int nmoves; /* COPY and ADD of an op: rows of the table after those of the kernels */
	uint64_t arena_bytes;       /* from the storage */
	uint64_t host_bytes;        /* likewise: the arena in host memory */
	const uint64_t *home_bytes; /* likewise: of each home; NULL: alike */
};

/* An access of an action: one to part of a buffer's bytes counts as one to the whole buffer. */
struct lower_access {
	int32_t buffer;
	bool write;
};

/* The most accesses that one action of the plan has: the size of a list for lower_accesses. */
int lower_most_accesses(const struct lower_plan *p);

/*
 * The buffers that an action reads and writes while it runs; for POST, those that the collective
 * uses until its WAIT; none for WAIT, LOOP and END. Returns their number, at most
 * lower_most_accesses(p).
 */
int lower_accesses(
	const struct lower_plan *p, const struct lower_action *a, struct lower_access *list);

/* The loop of the order of issue that a LOOP begins, or that contains another action. */
const struct issue_loop *lower_loop_of(const struct lower_plan *p, const struct lower_action *a);

/* Is the collective a message between stages of a loop with a schedule? If so, sets *m. */
bool lower_is_message(
	const struct lower_plan *p, const struct lower_coll *c, struct cell_message *m);

/* The value's entry in the plan; NULL: it has none. */
struct lower_value *lower_value_of(const struct lower_plan *p, const struct ir_value *v);

/*
 * The plan of @main for a target, a talloc child of `owner`. Reports and returns NULL where an op
 * cannot be lowered. The module must stay unchanged while the plan is in use.
 */
struct lower_plan *lower_plan_create_for(
	const void *owner, const struct ir_module *m, const struct storage_target *target);

/* The buffers of a message in a row as one range of the arena. */
struct lower_row {
	uint64_t offset, bytes;
};
struct lower_row lower_row_of(const struct lower_plan *p, const struct lower_coll *c);

/* The plan for the host. */
struct lower_plan *lower_plan_create(const void *owner, const struct ir_module *m);

/*
 * Is the plan sound, on all ranks? Independent of how it was made:
 *  - every read finds the value that its op names, on every rank that holds it: written in this
 *    step (inputs and persistent tensors exist from the start), complete, not overwritten;
 *  - no buffer is used outside its live range, and live ranges of buffers that share bytes do not
 *    overlap;
 *  - between POST and WAIT the operands of a collective or transfer are not written and its
 *    results not accessed;
 *  - there is no deadlock: all ranks of a row post the same collectives in one order;
 *  - every field follows from the types of the ops, and every op is done;
 *  - elements that a matrix product leaves out are 0, or no result depends on them.
 * docs/checking.md has the proofs. Reports every error at its op and returns false. Takes
 * O(n log n) for n actions, operands and buffers and each home (storage.h), independent of the
 * number of ranks.
 */
bool lower_check(const struct lower_plan *p);

/*
 * The C source of one op as a separate kernel, as programs have it at its position in the module:
 * includes and one function
 *
 *     void NAME(void *const *operand, void *const *result, void *scratch, const int64_t *coord);
 *
 * that takes operands and results as local tensors, row-major, 64-byte aligned, and the coordinates
 * of the rank. With `in_place` results may overlap operands. Written to `out`. `scratch_bytes`
 * receives the size of the scratch buffer (may be 0). Returns false without a message if the op is
 * not a kernel (a collective, a source of data, an op that costs nothing).
 */
bool lower_kernel_source(const struct ir_module *m, const struct ir_op *op,
	const struct storage_target *target, const char *name, bool in_place, FILE *out,
	uint64_t *scratch_bytes);

/* The command that compiles C sources exactly as programs are compiled, without files: cc, flags,
 * include folders. */
char *lower_compile_command(const void *owner);
/* The linker arguments after the objects that link against the runtime. */
char *lower_link_flags(const void *owner);

#endif
