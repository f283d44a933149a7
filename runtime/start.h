/* Where a run starts: at step 0, where the -load file ends, or at -start-step. */
#ifndef RUNTIME_START_H
#define RUNTIME_START_H

#include "runtime/data/data.h"

/* Fills r->start and r->steps from the options and the -load file. All ranks call it together and
 * agree; whether they have read the same is compared later (rt_same_files). */
bool rt_start_find(struct rt_rank *r);

/* Takes the number of rows of the data set over into r->start; rank 0 says on stderr if the run
 * that was loaded read another number, as the order of the rows is another then. */
void rt_start_data(struct rt_rank *r, const struct rt_data *d);

#endif
