/*
 * Who wrote last to each byte of the arena: segments, each with one owner. Offsets are replaced by
 * their rank among all offsets that occur, so that a segment starts at a small number, and starts
 * are bits of a word, 64 words below one word above: each question costs a few words, however many
 * segments there are.
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
 * A map in which ranges begin and end at these n offsets only, in any order; a talloc child of
 * `owner`. Nobody owns any byte.
 */
struct byte_map *byte_map_create(const void *owner, const uint64_t *offset, uint32_t n);

/* Both must be among the offsets of the map. */
struct byte_range byte_map_range(const struct byte_map *m, uint64_t begin, uint64_t end);

/* From now on `owner` owns the range. */
void byte_map_set(struct byte_map *m, struct byte_range r, int32_t owner);

/* Is the range what `owner` was last given, all of it? True of an empty one. */
bool byte_map_is(const struct byte_map *m, struct byte_range r, int32_t owner);

/*
 * A walk over the owners of bytes in a range: the owner of the segment with position *at, which is
 * moved to the next one. Starts with *at = r.begin; -1: nobody owns these bytes. Ends at r.end.
 */
int32_t byte_map_next(const struct byte_map *m, struct byte_range r, uint32_t *at);

#endif
