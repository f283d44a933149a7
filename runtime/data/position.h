/* How far a training run is: what a saved file holds beside its tensors, so that -load goes on
 * exactly. In the file it is __metadata__:
 *
 *	dopt.step   training steps that are behind the tensors
 *	dopt.seed   -seed
 *	dopt.row    rows of the data set that the steps have read, over all epochs
 *	dopt.rows   rows that the data set has; 0: inputs were random numbers
 *
 * Everything else that a step depends on is a param or a state, and so a tensor of the file. */
#ifndef RUNTIME_POSITION_H
#define RUNTIME_POSITION_H

#include "runtime/data/safetensors.h"

/* Steps that are counted: what a double still counts exactly. */
#define RT_MAX_STEPS ((int64_t)1 << 53)

struct rt_position {
	int64_t step;
	uint64_t seed;
	uint64_t row;  /* wraps around, as batch.h does */
	uint64_t rows; /* of the data set */
};

enum { RT_POSITION_PAIRS = 4 };

/* `position` as metadata, for rt_st_create. */
struct rt_position_text {
	struct rt_st_pair pairs[RT_POSITION_PAIRS];
	char values[RT_POSITION_PAIRS][24];
};
void rt_position_write(const struct rt_position *position, struct rt_position_text *text);

/* Does a file say it? All that programs save do. */
bool rt_position_is_in(const struct rt_st_file *f);

/* Reads what a file says. A file without dopt.step is none of ours: `position` stays as it is.
 * Fails with RT_EXIT_USAGE where a value is missing or wrong. */
bool rt_position_read(
	struct rt_position *position, const struct rt_st_file *f, struct rt_status *st);

#endif
