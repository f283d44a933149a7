/*
 * The last writer of each byte of the arena: segments, each with one owner. Offsets are replaced by
 * their rank among all offsets that occur, so that segments start at small numbers; the starts are
 * a bit set, in which one word summarizes 64 words of the level below: each query reads a few
 * words, however many segments there are.
 *
 *     owner     -1 |   3   |  7  |  3'  | -1          write 9 over the middle of both 3s
 *     start     *      *      *     *      *
 *     then      -1 | 3 |      9     |3' | -1          each write makes at most 3 segments
 */
#ifndef LOWER_BYTE_MAP_H
#define LOWER_BYTE_MAP_H

#include <stdbool.h>
#include <stdint.h>

struct byte_map;

/* Bytes [begin, end) in terms of the map. */
struct byte_range {
	uint32_t begin, end;
};

/*
 * A map in which ranges begin and end only at these n offsets, given in any order; a talloc child
 * of `owner`. At first no byte has an owner.
 */
struct byte_map *byte_map_create(const void *owner, const uint64_t *offset, uint32_t n);

/* Both must be among the offsets of the map. */
struct byte_range byte_map_range(const struct byte_map *m, uint64_t begin, uint64_t end);

/* Makes `owner` the owner of the range. */
void byte_map_set(struct byte_map *m, struct byte_range r, int32_t owner);

/* Is the range exactly what `owner` was last given, and still all of it? True for an empty
 * range. */
bool byte_map_is(const struct byte_map *m, struct byte_range r, int32_t owner);

/*
 * Walks over the owners of the bytes in a range: returns the owner of the segment at position *at
 * and moves *at to the next segment. Starts with *at = r.begin and ends at r.end. -1: the bytes
 * have no owner.
 */
int32_t byte_map_next(const struct byte_map *m, struct byte_range r, uint32_t *at);

#endif
