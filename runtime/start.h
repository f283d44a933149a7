/* Where a run starts: at step 0, where the -load file ends, or at -start-step. */
#ifndef RUNTIME_START_H
#define RUNTIME_START_H

#include "runtime/data/data.h"

/* Sets r->start and r->steps from the options and the -load file. All ranks call it together and
 * agree; whether they have read the same file is compared later (rt_same_files). */
bool rt_start_find(struct rt_rank *r);

/* Stores the number of rows of the data set in r->start; rank 0 reports on stderr if the loaded run
 * read another number, as the order of the rows then differs. */
void rt_start_data(struct rt_rank *r, const struct rt_data *d);

#endif
