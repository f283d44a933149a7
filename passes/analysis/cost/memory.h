/*
 * Memory of a step on one device, from the places that its tensors have in programs
 * (ir/memory/storage.h): the peak is what a program allocates, to the byte. Also as a curve: the
 * live bytes at every op, by kind, and the largest buffers at the peak of the curve.
 *
 *     arena    all buffers below at their offsets; with gaps where live ranges do not fit together
 *     live     buffers that hold a value that is still needed
 */
#ifndef PASSES_ANALYSIS_MEMORY_H
#define PASSES_ANALYSIS_MEMORY_H

#include "ir/memory/storage.h"

struct memory_report {
	uint64_t peak;          /* bytes that a program needs: the arena and memory outside it */
	uint64_t libraries;     /* of these: what the driver and libraries allocate themselves */
	uint64_t persistent;    /* of these: params, states and inputs */
	uint64_t host;          /* bytes that it allocates in host memory */
	uint64_t live;          /* most live bytes at one op, with memory outside the arena; the
				rest of the peak is gaps between buffers */
	const struct ir_op *at; /* that op; NULL: the end of the step, or there is no step */
};

/* The memory of a storage with offsets. */
void memory_report_of(const struct storage *s, struct memory_report *r);

/* Needs a typed @main without calls; target NULL: storage_host. */
void memory_evaluate(const struct ir_module *m, struct ir_func *main,
	const struct storage_target *target, struct memory_report *r);

/* Bytes that a program with the storage allocates on a device. If they are within the limit, the
 * result may be larger than needed, and is found faster. */
uint64_t memory_needs(struct storage *s, uint64_t limit);

/* The same for a typed @main without calls. */
uint64_t memory_peak(
	const struct ir_module *m, const struct storage_target *target, uint64_t limit);

/* The bytes that a changed step may use: the budget, or the current peak if that is larger. */
uint64_t memory_room(
	const struct ir_module *m, const struct storage_target *target, uint64_t budget);

/* The most bytes live at one op, r->live above, without computing offsets. */
uint64_t memory_live(const struct ir_module *m, struct ir_func *main,
	const struct storage_target *target, struct storage_known *known);

/*
 * What a buffer holds; the first of these that is true:
 *
 *  - io: inputs, and outputs, which are kept until the step is over;
 *  - workspace: scratch of kernels and libraries, next values and tensors in transit;
 *  - param, state: of a `param`, a `state`: optimizers keep theirs in states;
 *  - gradient: a temporary of a param's shape from which the next value of that param is made by
 *    element-by-element ops, collectives and sums over time alone: its gradient and what
 *    optimizers make of it. A factor of that shape is classified as one too;
 *  - communication: a temporary that a collective between devices has made: a gathered param, or
 *    a tensor from another stage;
 *  - activation: any other temporary: what the forward pass leaves for the backward pass, and
 *    gradients of such.
 */
#define MEMORY_KINDS(KIND)                                                                         \
	KIND(PARAM, "params", "param")                                                             \
	KIND(GRADIENT, "gradients", "gradient")                                                    \
	KIND(STATE, "states", "state")                                                             \
	KIND(ACTIVATION, "activations", "activation")                                              \
	KIND(IO, "inputs and outputs", "input or output")                                          \
	KIND(COMMUNICATION, "communication buffers", "communication buffer")                       \
	KIND(WORKSPACE, "workspace", "workspace")

enum memory_kind {
#define KIND(name, many, one) MEMORY_##name,
	MEMORY_KINDS(KIND)
#undef KIND
		MEMORY_NKINDS
};

/* "activations"; "activation". */
const char *memory_kind_name(enum memory_kind k);
const char *memory_kind_one(enum memory_kind k);

/* The kind of every buffer of a storage: an array owned by `owner`. */
enum memory_kind *memory_kinds(const void *owner, const struct storage *s);

/* Live bytes at an op: the maximum of while it waits for its operands and while it runs. */
struct memory_point {
	const struct ir_op *op; /* NULL: the end of the step */
	uint64_t live;          /* the sum of the kinds */
	uint64_t bytes[MEMORY_NKINDS];
};

/* A buffer that lives at the peak. */
struct memory_held {
	const char *name; /* "%h", "scratch of %z": for messages; several values may share it */
	enum memory_kind kind;
	uint64_t bytes;
	const struct ir_value *value; /* the first value placed there; NULL: none */
	const struct ir_op *op; /* that makes it; NULL: the runtime, for itself or its libraries */
	uint32_t first, last;   /* positions in issue order; n of the curve: the end of the step */
};

struct memory_curve {
	struct memory_point *point; /* [n + 1] in issue order, the end of the step last */
	uint32_t n;
	uint32_t peak;            /* the first point with the most live bytes */
	const char *peak_name;    /* "matmul %h", "output loss"; "the end of the step" */
	struct memory_held *held; /* [nheld] at the peak, the largest first */
	uint32_t nheld;
	uint64_t allocated; /* as the peak of memory_report: the arena and memory outside it */
};

/* The curve of a typed @main without calls; owned by `owner`. Target and effects as above. */
struct memory_curve *memory_curve_create(const void *owner, const struct ir_module *m,
	struct ir_func *main, const struct storage_target *target);

/* Only the points with their ops and live bytes, and the first point of the peak, in a fraction of
 * the time: no offsets, kinds, names or buffers. `known`: as storage_create. */
struct memory_curve *memory_curve_create_live(const void *owner, const struct ir_module *m,
	struct ir_func *main, const struct storage_target *target, struct storage_known *known);

#endif
