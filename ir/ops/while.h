/* while: a loop that data ends. Its body is compiled like a step whose states are what it carries. */
#ifndef IR_WHILE_H
#define IR_WHILE_H

#include "ir/ir.h"

/*
 * Iterations that estimates assume where `trips` is absent: of rejection samplers and Newton's
 * method it is about right, and a solver that takes more is at least not taken for one kernel.
 */
enum { WHILE_TRIPS = 10 };

/* The expected iterations of a while; 1 for any other op with a body. */
int64_t while_trips(const struct ir_op *op);

/*
 * The body of a while as a module, a talloc child of `owner`, in the same context: @main is one
 * iteration. It has a state for each carried value, in order; those that change are updated.
 * `carried` receives the states' values, an array of op->noperands owned by the module.
 */
struct ir_module *while_step(const void *owner, const struct ir_module *m, const struct ir_op *op,
	const struct ir_value ***carried);

/* Bytes of the arena of such a step on the host: ir/memory/. */
int64_t while_scratch(const struct ir_module *m, const struct ir_op *op);

#endif
