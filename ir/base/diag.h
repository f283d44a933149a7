/*
 * Diagnostics. A location is a range of offsets in an address space that all texts share (input
 * files, pipeline text, attribute text), so that it takes 8 bytes in every op; lines are looked up
 * only when a message needs them.
 *
 *     mlp.dir:9:21: error: matmul: sizes of k differ: 784 and 512
 *       %h = matmul(%x, %w2)
 *                       ^~~
 */
#ifndef IR_DIAG_H
#define IR_DIAG_H

#include "ir/base/api.h"

#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>

DOPT_API_BEGIN

struct diag;

/* Bytes [begin, end) of the shared address space; begin 0: no location. */
struct ir_loc {
	uint32_t begin, end;
};

enum diag_level { DIAG_ERROR, DIAG_WARNING, DIAG_REMARK, DIAG_NOTE };

/* A message as passed to a handler. `file` is NULL and `line` 0 if it has no location. */
struct diag_message {
	enum diag_level level;
	struct ir_loc loc;
	const char *file, *text;
	unsigned line, column; /* from 1 */
};

typedef void diag_handler(void *data, const struct diag_message *message);

/* A reporter owned by `owner` that prints to stderr: the first 200 errors and the first 200
 * warnings, and, when freed, the number of further ones. Handlers get all. Names are shortened. */
struct diag *diag_create(const void *owner);

/* Sends messages to `handler` instead of stderr; NULL: back to stderr. */
void diag_set_handler(struct diag *d, diag_handler *handler, void *data);

/* While muted, messages are neither shown nor counted: to try what may fail. Returns the previous
 * state. */
bool diag_mute(struct diag *d, bool muted);

/*
 * For what may fail: until the trial ends, messages are neither shown nor, once it has ended,
 * counted. Trials may be nested. The end returns the text of the first error, owned by `owner`;
 * NULL: there was none.
 */
struct diag_trial *diag_trial_begin(struct diag *d);
const char *diag_trial_end(struct diag *d, struct diag_trial *t, const void *owner);

/*
 * Registers a text under the name that messages show. The text is copied. Returns the offset of its
 * first byte in the shared address space: byte k of the text is at location base + k.
 */
uint32_t diag_add_source(struct diag *d, const char *name, const char *text, size_t length);

/* The copy of the source that starts at `base`: zero-terminated, valid as long as `d`. */
const char *diag_source_text(const struct diag *d, uint32_t base);

/*
 * The location in a function `name`, whose text is at `function`, of what a call of it is replaced by: add the number that
 * this returns to both ends. Messages there are followed by a note for each call that led there. The same call
 * of the same function has one number; 0 if one of the locations is none, or too many calls have been added.
 */
uint32_t diag_add_call(
	struct diag *d, struct ir_loc function, const char *name, struct ir_loc call);

/* Reports a message; `loc` is {0,0} for one without a location. printf-like. */
void diag_report(struct diag *d, enum diag_level level, struct ir_loc loc, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

#define diag_error(d, loc, ...) diag_report((d), DIAG_ERROR, (loc), __VA_ARGS__)
#define diag_note(d, loc, ...) diag_report((d), DIAG_NOTE, (loc), __VA_ARGS__)

/* Number of errors reported so far. */
unsigned diag_errors(const struct diag *d);

/* File name, line and column (from 1) of a location; false if it has none. */
bool diag_place(const struct diag *d, struct ir_loc loc, const char **file, unsigned *line,
	unsigned *column);

/*
 * What is being done, on a line of stderr that the next message or line of progress replaces; NULL removes it, before anything else
 * is printed. Nothing is shown unless diag_show_progress has been called, for a terminal.
 */
void diag_show_progress(struct diag *d, bool shown);
void diag_progress(struct diag *d, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Writes "error: " and so on to stderr: in colour if that is a terminal, TERM is not "dumb" and
 * NO_COLOR is not set (https://no-color.org).
 */
void diag_write_level(enum diag_level level);

/* The text "error", "warning", "remark", "note". */
const char *diag_level_name(enum diag_level level);

/* The smallest range that covers both. */
struct ir_loc loc_join(struct ir_loc a, struct ir_loc b);

#define LOC_NONE ((struct ir_loc){0, 0})

DOPT_API_END

#endif
