/* What all ranks of a run must have in common: the program, the options, the data. Ranks that
 * differ would wait for each other for ever, or train another model than the one that was meant;
 * so they compare before they start, and every difference is named, with its values and the ranks
 * that have them. */
#ifndef RUNTIME_WATCH_SAME_H
#define RUNTIME_WATCH_SAME_H

#include "runtime/data/data.h"
#include <stdio.h>

/* Things that are compared, each a name and a text. Empty at first: {0}. */
struct rt_facts {
	FILE *out;
	char *bytes; /* name, 0, text, 0, and so on */
	size_t n;
};

/* Starts the next one; its text is written to what is returned. NULL without memory. */
FILE *rt_fact(struct rt_facts *f, const char *name);

/* Compares what all ranks have and frees it. All ranks call it together. Where something differs
 * the status of all ranks says what, after `heading`, and the result is false. */
bool rt_facts_same(
	struct rt_facts *f, struct rt_world *w, const char *heading, struct rt_status *st);

/* The program and the options are those of all ranks. Before anything is opened. Takes over the
 * failure of any rank, which is then named. */
bool rt_same_start(const struct rt_program *p, const struct rt_device *device,
	const struct rt_options *o, struct rt_world *w, struct rt_status *st);

/* What is in the files that are read is the same at all ranks. `d` is open. */
bool rt_same_files(const struct rt_rank *r, const struct rt_data *d);

#endif
