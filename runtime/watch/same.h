/* Checks that all ranks of a run have the same program, options and data. Ranks that differ would
 * wait for each other for ever, or train another model than intended; so they compare before they
 * start, and every difference is reported, with its values and the ranks that have them. */
#ifndef RUNTIME_WATCH_SAME_H
#define RUNTIME_WATCH_SAME_H

#include "runtime/data/data.h"
#include <stdio.h>

/* Items that are compared, each a name and a text. Empty at first: {0}. */
struct rt_facts {
	FILE *out;
	char *bytes; /* name, 0, text, 0, and so on */
	size_t n;
};

/* Adds an item; its text is to be written to the returned buffer. NULL without memory. */
FILE *rt_fact(struct rt_facts *f, const char *name);

/* Compares the items of all ranks and frees them. All ranks call it together. If some differ, the
 * status of all ranks lists them, after `heading`, and the result is false. */
bool rt_facts_same(
	struct rt_facts *f, struct rt_world *w, const char *heading, struct rt_status *st);

/* Compares the program and the options, before anything is opened. Adopts the failure of any rank,
 * which the message then names. */
bool rt_same_start(const struct rt_program *p, const struct rt_device *device,
	const struct rt_options *o, struct rt_world *w, struct rt_status *st);

/* Compares the content of the files that are read. `d` is open. */
bool rt_same_files(const struct rt_rank *r, const struct rt_data *d);

#endif
