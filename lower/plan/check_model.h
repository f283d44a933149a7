/*
 * The model of the arena on which check_memory.c runs the actions: which buffer owns each byte,
 * what each buffer holds, which posted collectives use it. Each function reports what is wrong with
 * the action at work, `m->a`.
 */
#ifndef LOWER_PLAN_CHECK_MODEL_H
#define LOWER_PLAN_CHECK_MODEL_H

#include "lower/plan/byte_map.h"
#include "lower/plan/check.h"

enum { NONE = -1, NOT_POSTED = -2 };

/* What is in a buffer. */
struct model_buffer {
	struct byte_range range;
	int32_t holds;   /* entry whose bytes these are, by its root; NONE: nothing of use */
	int32_t writer;  /* posted collective that will write it, or NONE */
	int32_t user;    /* the last one that reads it; of use if readers */
	int32_t readers; /* posted collectives that read it */
	int32_t loop;    /* action of the loop that wrote it, or NONE */
	bool sums;       /* and that goes on adding to it, or putting slices into it */
};

struct model {
	struct check *c;
	void *scratch; /* owns what is below */
	struct byte_map *map;
	struct model_buffer *state; /* [nbuffers] */
	int32_t home;               /* of the ranks at work: coordinate on storage.home_axis */
	int32_t *posted;    /* [ncolls] loop that has posted it, until its wait; else NOT_POSTED */
	int32_t loop;       /* the loop at work, by its action, or NONE */
	int32_t begin, end; /* moments of its first and last op */
	bool again, last;   /* its second run; the one that stands for its last iteration */
	const struct lower_action *a;
	int32_t at; /* number of the action at work */
	struct model_touch *touch;
	int ntouches;
};

/* What an action touches, to find out what shares bytes. */
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

/* Do the ranks at work hold a tensor of that type? */
bool model_holds(const struct model *m, const struct ir_type *t);

/* The action uses the buffer: the ranks at work must have it, and it must be within its live range. */
void model_check_life(struct model *m, int32_t buffer);

/* The same for what an iteration finds as another one, or the step before the loop, has left it. */
void model_check_kept_life(struct model *m, int32_t buffer, bool from_first);

/* Notes what the action touches; buffer < 0: nothing. */
void model_touch(
	struct model *m, int32_t buffer, enum model_touch_kind kind, int32_t value, int number);

/*
 * Checks what was noted: no two touches share bytes that one of them writes, but for an operand
 * that may be written in place. Returns whether one is; forgets what was noted.
 */
bool model_check_touches(struct model *m);

/* Reads in `buffer` what entry `value` stands for; NONE: whatever is there. */
void model_read_buffer(struct model *m, int32_t value, int32_t buffer);

/* Reads an entry's value where it is; nothing where it has no buffer. */
void model_read_value(struct model *m, int32_t value);

/* The buffer holds that from now on, and owns its bytes. */
void model_write_buffer(struct model *m, int32_t buffer, int32_t holds);

#endif
