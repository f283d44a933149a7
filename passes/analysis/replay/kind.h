/* The role of an op in the cost model: none, a kernel, a collective, or a copy. */
#ifndef PASSES_ANALYSIS_REPLAY_KIND_H
#define PASSES_ANALYSIS_REPLAY_KIND_H

#include "ir/base/api.h"
#include "ir/ir.h"
#include "runtime/comm/collective.h"

DOPT_API_BEGIN

/* The kind of an op for the cost model. */
enum cost_kind {
	COST_NONE,       /* no work: param, release, a slice that is a view ... */
	COST_COMPUTE,    /* a kernel */
	COST_COLLECTIVE, /* communication between devices */
	COST_COPY        /* to the memory of the host, or back */
};

enum cost_kind cost_op_kind(const struct ir_module *m, const struct ir_op *op);

/*
 * The value that v is a view of, if its op does no work: with several operands the one at the
 * position of v among the results. NULL: v is not a view.
 */
const struct ir_value *cost_viewed(const struct ir_module *m, const struct ir_value *v);

/* A collective: its kind, the number of devices, and the bytes of its message on one device. */
struct cost_collective {
	enum rt_coll_kind kind;
	int axis, places;
	double bytes;   /* slices, or whole tensors if there are any; alltoall: the source */
	uint32_t parts; /* chunks in which they are sent, at least 1 */
};
bool cost_op_collective(
	const struct ir_module *m, const struct ir_op *op, struct cost_collective *c);

DOPT_API_END

#endif
