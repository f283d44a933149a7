/* The steps of a run and the evaluation after them, with the lines that rank 0 prints on stdout:
 *
 *	step N NAME VALUE NAME VALUE ...    every -report-every steps and after the last one, N
 *	                                    counted from 1; scalar outputs in the program's order
 *	test NAME VALUE                        for each scalar output, its mean over the test rows
 *	iteration: X us median of N (predicted Y us)      (...) only if predicted; for
 *	                                    the cluster `generic`: Y us on a generic device
 *	overhead: X % outside kernels and communication   over the steps that were watched
 *
 * Values are printed with %.9g, times with %.1f. An iteration consists of filling the inputs, the
 * step, and the end of its collectives; reports are not part of it. */
#ifndef RUNTIME_TRAIN_H
#define RUNTIME_TRAIN_H

#include "runtime/data/data.h"

/* Runs the training steps and prints their lines. */
bool rt_train(struct rt_rank *r, const struct rt_data *d);

/* Runs the same step over the test rows and prints the means of its scalar outputs, each of which is
 * a mean over the rows of a batch, with the number of training steps where it is not the last.
 * Parameters and states are afterwards what they were. */
bool rt_evaluate(struct rt_rank *r, const struct rt_data *d, int64_t step);

#endif
