/*
 * Which messages, collectives and copies between device and host, must have ended before an op. A
 * message is in flight from its position in the order of issue on:
 *
 *  - the first op that reads or writes a buffer of its results, or writes one of its operands,
 *    waits for it; so does an op that reads a result of a barrier among whose operands is one of
 *    its results;
 *  - what a loop posts in every iteration ends with the iteration, and in a loop with a schedule
 *    with its phase, so that every iteration starts in the same state;
 *  - a message between stages of a schedule ends before the next op;
 *  - the rest ends with the step: before params' next values are copied, if one of these copies uses
 *    it, else after them.
 *
 * Programs wait where this says (lower/plan/waits.c), kernels move around these waits (bundle.h),
 * and buffers of a message are live until then (life.c).
 */
#ifndef IR_MEMORY_WAITS_H
#define IR_MEMORY_WAITS_H

#include "ir/memory/storage.h"

/* A use of a buffer by an op. */
struct waits_access {
	int32_t buffer;
	bool write;
};

struct wait {
	int32_t moment;  /* of storage.h, at which the message must have ended: 2p before the op at
			   position p runs, 2p + 1 after it, 2n before next values are copied */
	uint32_t posted; /* position of the message */
};

struct waits {
	struct wait *wait; /* [n] by moment; each message has one */
	uint32_t n;
	struct waits_access *access;
	uint32_t *first; /* [positions + 1] the first access of the op at a position */
	uint32_t *used;  /* [positions] of a message: the first access that it makes in flight */
};

/* Owned by `owner`; of a storage whose values have buffers: live ranges follow from it. */
struct waits *waits_create(const void *owner, const struct storage *s);

#endif
