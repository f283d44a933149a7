/*
 * The step function: the plan's actions in order, as C. Both targets write the same one; what a
 * kernel, a copy and a sum over time look like is the target's.
 *
 *     c: struct rt_ctx *        m: the arena        h: host memory
 */
#ifndef LOWER_STEP_H
#define LOWER_STEP_H

#include "lower/plan/plan.h"

#include <stdio.h>

struct step_writer {
	FILE *out;
	const struct lower_plan *p;
	const char *prefix; /* of the function */
	const char *timer;  /* prefix of the functions that begin and end timed sections */
	int indent;         /* in addition to the function's own */
	/* Called before each action, and with NULL at the end; false: the action is not written
	 * here. NULL: nothing is called. */
	bool (*before)(struct step_writer *w, const struct lower_action *a);
	/* Write one action each: LOWER_KERNEL, LOWER_COPY, LOWER_ADD. */
	void (*kernel)(struct step_writer *w, const struct lower_action *a);
	void (*copy)(struct step_writer *w, const struct lower_action *a);
	void (*add)(struct step_writer *w, const struct lower_action *a);
	void *data; /* for the target's functions */
};

/* printf at the current indentation, followed by a newline. */
void step_line(struct step_writer *w, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* "m + 4096 + 128 * (c->coord[1])": the address of a value in the current iteration; a talloc child
 * of `owner`. */
char *step_address(const void *owner, const struct lower_plan *p, const struct lower_value *v);

/* The addresses of both sides of a copy, slices included; talloc children of `owner`. */
void step_copy_sides(const void *owner, const struct lower_plan *p, const struct lower_action *a,
	char **src, char **dst);

/* The condition under which an ADD is the first one; a talloc child of `owner`. */
char *step_is_first(const void *owner, const struct lower_plan *p, const struct lower_action *a);

/* Writes `static void PREFIXstep(struct rt_ctx *c)`. */
void step_write(struct step_writer *w);

#endif
