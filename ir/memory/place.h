/*
 * Offsets for rooms that live for a while, so that no two that live at one time and in one home share a
 * byte and the whole is small: storage.h places buffers so.
 */
#ifndef IR_STORAGE_PLACE_H
#define IR_STORAGE_PLACE_H

#include <stdint.h>

struct storage_room {
	uint64_t bytes;       /* a multiple of the alignment */
	uint32_t first, last; /* moments of its life, both included */
	uint64_t offset;      /* from 0 on: what storage_place finds */
	int32_t row; /* rooms with the same number follow each other in the array and lie one behind
			the other; 0: by itself */
	int32_t home; /* rooms of different homes do not meet; -1: in all homes. That of a row is one */
};

/*
 * Gives every room its offset; returns the end of the last one. The same rooms get the same
 * offsets. Time: n log^2 n where rooms that live long lie side by side, as they do in steps;
 * n^2 log n at worst. A number of tries that falls with n makes the end smaller, until it is no more
 * than `enough`; 0: as small as they make it. Homes are 0 ... homes - 1, at least one.
 */
uint64_t storage_place(struct storage_room *room, uint32_t n, uint32_t homes, uint64_t enough);

/* What sweeps place lowest where they begin: the best ones for large steps first. */
enum storage_sweep_order {
	SWEEP_LIFE, /* what lives long */
	SWEEP_BOTH, /* ... both long before and long after */
	SWEEP_LATE, /* ... until later */
	SWEEPS
};

/* What sweeps over time, which take little, need to know of rooms, found out once for all of them. Owned by `owner`; the
 * rooms must live as long, and stay as they are but for their offsets. */
struct storage_sweep *storage_sweep_create(
	const void *owner, const struct storage_room *room, uint32_t n);

/* A sweep from *from on; returns the end of the last room. *from is then the moment at which that was placed. Offsets that
 * storage_place finds end no higher than those of sweeps from where most lives, or from 0 with SWEEP_LATE. */
uint64_t storage_sweep_run(struct storage_sweep *s, enum storage_sweep_order order, uint32_t *from);

/* The offsets that the last sweep found, [n] of the caller. */
void storage_sweep_offsets(const struct storage_sweep *s, uint64_t *offset);

/* Most bytes that live at one moment; *at (may be NULL): the first moment that has them. Takes time and memory in
 * proportion to the last moment. */
uint64_t storage_live(const struct storage_room *room, uint32_t n, uint32_t *at);

#endif
