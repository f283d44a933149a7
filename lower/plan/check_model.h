/*
 * The model of the arena on which check_memory.c runs the actions: which buffer owns each byte,
 * what each buffer holds, which posted collectives use it. Each function reports what is wrong with
 * the current action, `m->a`.
 */
#ifndef LOWER_PLAN_CHECK_MODEL_H
#define LOWER_PLAN_CHECK_MODEL_H

#include "lower/plan/byte_map.h"
#include "lower/plan/check.h"

enum { NONE = -1, NOT_POSTED = -2 };

/* What is in a buffer. */
struct model_buffer {
	struct byte_range range;
	int32_t holds;   /* entry whose bytes the buffer holds, by its root; NONE: unknown */
	int32_t writer;  /* posted collective that will write it, or NONE */
	int32_t user;    /* the last posted collective that reads it; valid if readers > 0 */
	int32_t readers; /* posted collectives that read it */
	int32_t loop;    /* action of the loop that wrote it, or NONE */
	bool sums;       /* that loop goes on adding to it, or putting slices into it */
};

struct model {
	struct check *c;
	void *scratch; /* owns the memory below */
	struct byte_map *map;
	struct model_buffer *state; /* [nbuffers] */
	int32_t home;               /* the ranks' coordinate on storage.home_axis */
	int32_t *posted;    /* [ncolls] loop that has posted it, until its wait; else NOT_POSTED */
	int32_t loop;       /* the current loop, by its action, or NONE */
	int32_t begin, end; /* moments of its first and last op */
	bool again, last;   /* in its second run; in the run that stands for its last iteration */
	const struct lower_action *a;
	int32_t at; /* number of the current action */
	struct model_touch *touch;
	int ntouches;
};

/* A buffer that an action touches, to find touches that share bytes. */
enum model_touch_kind { TOUCH_READ, TOUCH_WRITE, TOUCH_SCRATCH };

struct model_touch {
	uint32_t begin, end;
	int32_t buffer;
	enum model_touch_kind kind;
	int32_t value; /* its entry, or NONE */
	int number;    /* of the operand or result */
};

/* For messages: the names of a buffer, of an entry's value, of a collective's op. */
const char *model_buffer_name(const struct model *m, int32_t buffer);
const char *model_value_name(const struct model *m, int32_t value);
const char *model_coll_name(const struct model *m, int32_t coll);

/* Do the current ranks hold a tensor of that type? */
bool model_holds(const struct model *m, const struct ir_type *t);

/* The action uses the buffer: the current ranks must have it, and it must be within its live
 * range. */
void model_check_life(struct model *m, int32_t buffer);

/* The same for a value that another iteration, or the step before the loop, has left for this
 * one. */
void model_check_kept_life(struct model *m, int32_t buffer, bool from_first);

/* Records that the action touches `buffer`; buffer < 0: nothing. */
void model_touch(
	struct model *m, int32_t buffer, enum model_touch_kind kind, int32_t value, int number);

/*
 * Checks the recorded touches: no two of them share bytes that one of them writes, except an
 * operand that may be overwritten in place. Returns whether there is such an operand; clears the
 * record.
 */
bool model_check_touches(struct model *m);

/* Reads in `buffer` what entry `value` stands for; NONE: any content is accepted. */
void model_read_buffer(struct model *m, int32_t value, int32_t buffer);

/* Reads an entry's value in its buffer; does nothing if it has none. */
void model_read_value(struct model *m, int32_t value);

/* From now on the buffer holds that entry and owns its bytes. */
void model_write_buffer(struct model *m, int32_t buffer, int32_t holds);

#endif
