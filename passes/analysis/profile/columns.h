/* The entries of a profile as rows of columns: what the database and the text have in common. */
#ifndef PASSES_ANALYSIS_PROFILE_COLUMNS_H
#define PASSES_ANALYSIS_PROFILE_COLUMNS_H

#include "passes/analysis/profile/profile.h"

#include <stddef.h>

/* What a line of text is; the first ones are the kinds of entries. */
enum profile_kind {
	PROFILE_OP,
	PROFILE_COLLECTIVE,
	PROFILE_LINK,
	PROFILE_FIELD,
	PROFILE_NENTRIES,
	PROFILE_NOTHING = PROFILE_NENTRIES, /* an empty line, a comment, the first line */
	PROFILE_DEVICE,
	PROFILE_WRONG /* reported */
};

enum profile_column_type {
	COLUMN_TEXT,
	COLUMN_OPTIONAL, /* a text that may be empty, and then is not written */
	COLUMN_COUNT,
	COLUMN_NODES, /* a count; 0: 1 */
	COLUMN_NUMBER,
	COLUMN_COLLECTIVE, /* enum rt_coll_kind, by name */
	COLUMN_BUFFERS,    /* enum profile_buffers, by name */
	COLUMN_TIME,       /* 0 in a put: now */
};

struct profile_column {
	const char *name; /* in the database and in the text; NULL: after the last */
	enum profile_column_type type;
	size_t at; /* in the struct of the entry */
};

struct profile_table {
	const char *name;
	size_t size;                         /* of the struct of an entry */
	const struct profile_column *column; /* in the order of the text */
	const char *transports, *order;      /* of a query: a further condition, the order */
};

/* Of a kind of entries. */
const struct profile_table *profile_table(enum profile_kind kind);

/* What is wrong with an entry; NULL: nothing. */
const char *profile_fault(enum profile_kind kind, const void *entry);

/* An entry in a message; talloc text. `collective`: the name of its kind of collective. */
char *profile_describe(
	const void *owner, enum profile_kind kind, const void *entry, const char *collective);

/* As profile_put_op and profile_ops do for ops. */
bool profile_put(struct profile *p, const char *device, enum profile_kind kind, const void *entry);
int profile_entries(const void *owner, struct profile *p, const char *device,
	enum profile_kind kind, void **list);

#endif
