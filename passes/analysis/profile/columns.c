/* The tables of columns, and what an entry is called in messages. */
#include "passes/analysis/profile/columns.h"

#include "ir/base/alloc.h"

#define COLUMN(entry, name, type)                                                                  \
	{                                                                                          \
#name, COLUMN_##type, offsetof(struct profile_##entry, name)                       \
	}

static const struct profile_column op_columns[] = {COLUMN(op, ranks, COUNT),
	COLUMN(op, buffers, BUFFERS), COLUMN(op, median, NUMBER), COLUMN(op, spread, NUMBER),
	COLUMN(op, runs, COUNT), COLUMN(op, flops, NUMBER), COLUMN(op, bytes, NUMBER),
	COLUMN(op, time, TIME), COLUMN(op, key, TEXT), {NULL, COLUMN_TEXT, 0}};

static const struct profile_column collective_columns[] = {COLUMN(collective, transport, TEXT),
	COLUMN(collective, kind, COLLECTIVE), COLUMN(collective, places, COUNT),
	COLUMN(collective, nodes, NODES), COLUMN(collective, bytes, NUMBER),
	COLUMN(collective, median, NUMBER), COLUMN(collective, spread, NUMBER),
	COLUMN(collective, runs, COUNT), COLUMN(collective, time, TIME), {NULL, COLUMN_TEXT, 0}};

static const struct profile_column link_columns[] = {COLUMN(link, transport, TEXT),
	COLUMN(link, kind, COLLECTIVE), COLUMN(link, places, COUNT), COLUMN(link, nodes, NODES),
	COLUMN(link, alpha, NUMBER), COLUMN(link, beta, NUMBER), COLUMN(link, error, NUMBER),
	COLUMN(link, time, TIME), {NULL, COLUMN_TEXT, 0}};

static const struct profile_column field_columns[] = {COLUMN(field, transport, OPTIONAL),
	COLUMN(field, name, TEXT), COLUMN(field, value, NUMBER), COLUMN(field, time, TIME),
	{NULL, COLUMN_TEXT, 0}};

#define OF_TRANSPORT " AND (? = '*' OR transport = ?"

const struct profile_table *
profile_table(enum profile_kind kind)
{
	/* Names of buffers: "step" sorts after "rotate" but comes first. */
	static const struct profile_table tables[] = {
		{"op", sizeof(struct profile_op), op_columns, "", "key, ranks, buffers DESC"},
		{"collective", sizeof(struct profile_collective), collective_columns,
			OF_TRANSPORT ")", "transport, kind, places, bytes, nodes"},
		{"link", sizeof(struct profile_link), link_columns, OF_TRANSPORT ")",
			"transport, kind, places, nodes"},
		{"field", sizeof(struct profile_field), field_columns,
			OF_TRANSPORT " OR transport = '')", "transport, name"},
	};
	return &tables[kind];
}

const char *
profile_fault(enum profile_kind kind, const void *entry)
{
	switch (kind) {
	case PROFILE_OP: return profile_op_fault(entry);
	case PROFILE_COLLECTIVE: return profile_collective_fault(entry);
	case PROFILE_LINK: return profile_link_fault(entry);
	default: return profile_field_fault(entry);
	}
}

char *
profile_describe(
	const void *owner, enum profile_kind kind, const void *entry, const char *collective)
{
	const struct profile_collective *c = entry;
	const struct profile_link *l = entry;

	switch (kind) {
	case PROFILE_OP: return TEXT(owner, "%s", ((const struct profile_op *)entry)->key);
	case PROFILE_COLLECTIVE:
		return TEXT(owner, "%s %s, %d ranks, %.0f bytes", c->transport, collective,
			c->places, c->bytes);
	case PROFILE_LINK:
		return TEXT(owner, "%s %s, %d ranks", l->transport, collective, l->places);
	default: return TEXT(owner, "%s", ((const struct profile_field *)entry)->name);
	}
}
