/* The data set of a run, in one file or several (rows.h): train.NAME and test.NAME for each input("NAME"), rows along the first
 * dimension. An input that has no batch dimension (its first dimension is not the program's batch)
 * is one tensor of the file, the same at every step. */
#ifndef RUNTIME_DATA_H
#define RUNTIME_DATA_H

#include "runtime/rank.h"
#include "runtime/data/safetensors.h"

enum rt_part { RT_TRAIN, RT_TEST, RT_PARTS };

struct rt_data {
	struct rt_st_file file;
	int64_t rows[RT_PARTS];                        /* 0: the data set lacks this part */
	const struct rt_st_tensor **sources[RT_PARTS]; /* [ntensors], NULL: not an input */
};

/* Opens -data and checks all of it that the run will use; each rank checks the values of a share of
 * the rows. Without -data (or without inputs) `d` is empty. Close it in any case. */
bool rt_data_open(struct rt_data *d, const struct rt_rank *r);
void rt_data_close(struct rt_data *d);

/* Fills the inputs with the batch of a training step: shuffled rows as rt_batch_row says, or with
 * -no-shuffle rows in their order. */
void rt_data_train(const struct rt_data *d, struct rt_rank *r, int64_t step);

/* Fills the inputs with the test rows from batch * B on. After the last row the batch is padded
 * with rows of zeros, and of -1 for signed integers: "no label", which a model must count as 0. */
void rt_data_test(const struct rt_data *d, struct rt_rank *r, int64_t batch);

/* Without a data set: fills the inputs with random numbers once: normal ones for floats; for
 * integers and bool, numbers below the range (2 without a range). */
void rt_data_random(struct rt_rank *r);

#endif
