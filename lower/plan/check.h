/*
 * What the files of the plan checker share. docs/checking.md says what they prove and why that is
 * sufficient.
 *
 *     shape        every number is a valid index, so the other parts may follow it
 *     values       buffers are as large as their values; each has the role of its content
 *     actions      each action does its op, on the ranks that hold the result, once per iteration
 *     collectives  each field follows from the types; all ranks post the same in the same order;
 *                  transfers likewise
 *     memory       runs the actions on a model of the arena
 *     cells        in loops with a schedule, slots are reused in turn, and no stage deadlocks
 */
#ifndef LOWER_CHECK_H
#define LOWER_CHECK_H

#include "lower/plan/plan.h"

/* An address beyond any arena. */
#define CHECK_HOST_BASE ((uint64_t)1 << 62)

enum { CHECK_MAX_FAULTS = 20 }; /* errors reported at most: a broken plan has many */

struct check {
	const struct lower_plan *p;
	struct diag *diag;
	int32_t *root; /* [nvalues]: the value whose bytes an entry shows: its own value, or for a
		        * view the operand's; -1 for an entry without a value */
	unsigned faults;
};

/* Reports a fault at an op (NULL: without a location). */
#define FAULT(c, from, ...)                                                                        \
	((c)->faults++ < CHECK_MAX_FAULTS                                                          \
			? diag_error((c)->diag, check_loc(from), "lowered plan: " __VA_ARGS__)     \
			: (void)0)

static inline struct ir_loc
check_loc(const struct ir_op *op)
{
	return op ? op->loc : LOC_NONE;
}

static inline const char *
check_op_name(const struct ir_op *op)
{
	return op ? op_name((enum op_code)op->code) : "action";
}

/* The name of a buffer, by the first value in it. */
static inline const char *
check_buffer_name(const struct lower_plan *p, int buffer)
{
	const struct ir_value *v = p->buffer[buffer].value;

	return v && v->name ? v->name : "(unnamed)";
}

/* The number of a value's entry; -1: the value has none. */
static inline int32_t
check_number(const struct lower_plan *p, const struct ir_value *v)
{
	return (int32_t)storage_number(p->storage, v);
}

/* The number of the op's result that the entry stands for, or -1. */
static inline int
check_result_of(const struct lower_plan *p, const struct ir_op *op, int32_t value)
{
	const struct ir_value *v = p->value[value].value;

	return v && v->op == op ? (int)v->index : -1;
}

/* The axis of a parallelization op. */
static inline int
check_axis(const struct ir_op *op)
{
	return (int)ir_attr_int(op, "axis", 0);
}

/* The axes of a set that have more than one iteration. */
uint32_t check_long_axes(const struct ir_module *m, uint32_t axes);

/* Is every result of the op its operand, byte for byte, on every rank and in every iteration? */
bool check_is_view(const struct ir_module *m, const struct ir_op *op);

/* Is the op a collective: does a rank receive bytes from another? */
bool check_is_collective(const struct ir_module *m, const struct ir_op *op);

/* The address of a buffer: buffers in host memory have addresses beyond those of the arena. */
uint64_t check_address(const struct storage_buffer *b);

/* The ranks of one home, see storage.h, have the same buffers. The number of homes; does a home
 * have the buffer? */
static inline int32_t
check_homes(const struct lower_plan *p)
{
	return p->storage->home_axis < 0 ? 1 : p->module->axis[p->storage->home_axis].size;
}

static inline bool
check_here(const struct storage_buffer *b, int32_t home)
{
	return b->home < 0 || b->home == home;
}

/* Is the op computed by a kernel? */
bool check_is_kernel(const struct ir_module *m, const struct ir_op *op);

/* The parts of lower_check. The others may follow indices only if the first one found no fault. */
void check_shape(struct check *c);
void check_values(struct check *c);
void check_actions(struct check *c);
void check_collectives(struct check *c);
void check_memory(struct check *c);
void check_cells(struct check *c);

#endif
