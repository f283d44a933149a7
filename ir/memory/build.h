/* What the files that make a storage share: storage.c, share.c, life.c. */
#ifndef IR_STORAGE_BUILD_H
#define IR_STORAGE_BUILD_H

#include "ir/base/vec.h"
#include "ir/memory/storage.h"
#include "ir/ops/alike.h"

/* A storage at work. */
struct storage_build {
	struct storage *s;
	const struct storage_target *target;
	struct storage_known *known;
	struct arena *arena;                      /* forms and expressions of kernels */
	struct VEC(struct storage_buffer) buffer; /* that is s->buffer, and of each: */
	struct VEC(uint32_t) newest; /* number of the newest of the values that lie there + 1 */
	struct VEC(uint32_t) loop;   /* that has touched it; STORAGE_NO_LOOP, STORAGE_LOOPS */
	bool *becomes;               /* by value->id: a param's next value, or read by a barrier */
	int64_t n;                   /* positions */
};

#define STORAGE_NO_LOOP UINT32_MAX     /* not touched yet */
#define STORAGE_LOOPS (UINT32_MAX - 1) /* what lies there must outlast an iteration */

static inline uint32_t
storage_position(const struct storage_build *b, const struct ir_op *op)
{
	return b->s->order->position[op->id];
}

static inline struct storage_kernel *
storage_kernel_of(const struct storage_build *b, const struct ir_op *op)
{
	return &b->known->kernel[alike_number(b->known->alike, op)];
}

/* Finds out what it is. */
uint8_t storage_classify(const struct storage_build *b, const struct ir_op *op);

/* Is the op of @main one of that set? */
static inline bool
storage_is(const struct storage_build *b, const struct ir_op *op, unsigned set)
{
	const uint8_t is = storage_kernel_of(b, op)->is;

	return ((is ? is : storage_classify(b, op)) & set) != 0;
}

/* Is the op done once, in no loop or only in its last iteration? */
static inline bool
storage_is_once(const struct storage_build *b, const struct ir_op *op)
{
	return b->s->order->once[storage_position(b, op)];
}

/* Is the use that of an update, as the param's next value; as the param? */
static inline bool
storage_is_next(const struct ir_use *u)
{
	return u->op->code == OP_update && u == &u->op->operand[1];
}

static inline bool
storage_is_updated(const struct ir_use *u)
{
	return u->op->code == OP_update && u == &u->op->operand[0];
}

/* The home of a tensor of that type; of what several results of an op need. */
static inline int32_t
storage_home(const struct storage *s, const struct ir_type *t)
{
	return s->home_axis >= 0 && t->axis[s->home_axis].kind == IR_SINGLE
		       ? ir_axis_place(&s->module->axis[s->home_axis], t->axis[s->home_axis].order)
		       : -1;
}

/* A new buffer, in all homes; returns its number. */
int32_t storage_add(struct storage_build *b, struct storage_buffer buffer);

/* The moment at which the end of a collective or of a copy is waited for at the latest. */
int32_t storage_wait_moment(const struct storage_build *b, const struct ir_op *op);

/* Gives every value its buffer. */
void storage_share(struct storage_build *b);

/* Adds what is no value: scratch, copies, the stage. */
void storage_add_extras(struct storage_build *b);

/* Finds first and last moment of every buffer. */
void storage_live_all(struct storage_build *b);

#endif
