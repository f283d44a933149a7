/* Shared by the files that make a storage: storage.c, share.c, life.c. */
#ifndef IR_STORAGE_BUILD_H
#define IR_STORAGE_BUILD_H

#include "ir/base/vec.h"
#include "ir/memory/storage.h"
#include "ir/ops/alike.h"

/* A storage that is being made. */
struct storage_build {
	struct storage *s;
	const struct storage_target *target;
	struct storage_known *known;
	struct arena *arena;                      /* forms and expressions of kernels */
	struct VEC(struct storage_buffer) buffer; /* the same as s->buffer; for each of them: */
	struct VEC(uint32_t) newest; /* 1 + number of the newest value in it; 0: none */
	struct VEC(uint32_t) loop;   /* that uses it; or STORAGE_NO_LOOP, STORAGE_LOOPS */
	bool *becomes;               /* by value->id: a param's next value, or read by a barrier */
	int64_t n;                   /* positions */
};

#define STORAGE_NO_LOOP UINT32_MAX     /* not used yet */
#define STORAGE_LOOPS (UINT32_MAX - 1) /* its value must outlast an iteration */

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

/* Finds the bits of an op, enum storage_is. */
uint8_t storage_classify(const struct storage_build *b, const struct ir_op *op);

/* Has the op of @main one of the bits in `set`? */
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

/* Is the use the next value of an update (storage_is_next), or its param (storage_is_updated)? */
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

/* The home of a tensor of type t; -1: all devices. */
static inline int32_t
storage_home(const struct storage *s, const struct ir_type *t)
{
	return s->home_axis >= 0 && t->axis[s->home_axis].kind == IR_SINGLE
		       ? ir_axis_place(&s->module->axis[s->home_axis], t->axis[s->home_axis].order)
		       : -1;
}

/* A new buffer, in all homes; returns its number. */
int32_t storage_add(struct storage_build *b, struct storage_buffer buffer);

/* Gives every value its buffer. */
void storage_share(struct storage_build *b);

/* Finds the live range of every buffer, given where messages are waited for. */
void storage_live_all(struct storage_build *b);

#endif
