/* The progress of a training run: what a saved file holds in addition to its tensors, so that -load
 * continues exactly. In the file it is __metadata__:
 *
 *	dopt.step   training steps done
 *	dopt.seed   -seed
 *	dopt.row    rows of the data set that the steps have read, over all epochs
 *	dopt.rows   rows that the data set has; 0: inputs were random numbers
 *
 * Everything else that a step depends on is a param or a state, and so a tensor of the file. */
#ifndef RUNTIME_POSITION_H
#define RUNTIME_POSITION_H

#include "runtime/data/safetensors.h"

/* The largest number of steps: a double holds it exactly. */
#define RT_MAX_STEPS ((int64_t)1 << 53)
/* What the inputs of a kept step are called: "step.x". */
#define RT_STEP_INPUT "step."

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

/* Does a file contain a position? All files that programs save do. */
bool rt_position_is_in(const struct rt_st_file *f);

/* Reads a file's position. A file without dopt.step was not saved by a program: `position` stays as
 * it is. Fails with RT_EXIT_USAGE if a value is missing or wrong. */
bool rt_position_read(
	struct rt_position *position, const struct rt_st_file *f, struct rt_status *st);

#endif
