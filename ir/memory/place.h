/*
 * Offsets for rooms with live ranges: rooms that are live at the same time in the same home do not
 * overlap, and the total is small. storage.h uses it for buffers.
 */
#ifndef IR_STORAGE_PLACE_H
#define IR_STORAGE_PLACE_H

#include <stdint.h>

struct storage_room {
	uint64_t bytes;       /* a multiple of the alignment */
	uint32_t first, last; /* live range, both included */
	uint64_t offset;      /* set by storage_place; starts from 0 */
	int32_t row;  /* rooms with the same number are consecutive in the array and contiguous in
			memory; 0: by itself */
	int32_t home; /* rooms of different homes may overlap; -1: all homes. One for a whole row */
};

/*
 * Gives every room its offset; returns the end of the last one. The same rooms get the same
 * offsets. Time: n log^2 n if rooms with long live ranges are adjacent, as they are in steps;
 * n^2 log n at worst. Further tries, fewer for larger n, reduce the end until it is at most
 * `enough`; 0: as far as they can. Homes are 0 ... homes - 1, at least one.
 */
uint64_t storage_place(struct storage_room *room, uint32_t n, uint32_t homes, uint64_t enough);

/* The same by PLACE_SWEEPS sweeps alone: n log n, with larger gaps. */
uint64_t storage_place_swept(
	struct storage_room *room, uint32_t n, uint32_t homes, uint64_t enough);

/* What sweeps place lowest where they begin; the best orders for large steps come first. */
enum storage_sweep_order {
	SWEEP_LIFE, /* long live ranges */
	SWEEP_BOTH, /* ... long both before and after */
	SWEEP_LATE, /* ... that end late */
	SWEEPS
};

/* Data of rooms that all sweeps over time share; sweeps are cheap. Owned by `owner`; `room` must
 * live as long, and only the offsets in it may change. */
struct storage_sweep *storage_sweep_create(
	const void *owner, const struct storage_room *room, uint32_t n);

/* One sweep that begins at time *from; returns the highest end, and sets *from to the time at which
 * that room was placed. storage_place is never worse than sweeps from the peak of live bytes, or
 * than one from 0 with SWEEP_LATE. */
uint64_t storage_sweep_run(struct storage_sweep *s, enum storage_sweep_order order, uint32_t *from);

/* Copies the offsets that the last sweep found to the caller's offset[n]. */
void storage_sweep_offsets(const struct storage_sweep *s, uint64_t *offset);

/* Peak of live bytes; *at (may be NULL): the first time of that peak. Takes time and memory in
 * proportion to the last time. */
uint64_t storage_live(const struct storage_room *room, uint32_t n, uint32_t *at);

#endif
