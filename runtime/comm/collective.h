/* Kinds of collectives as an enum with its table, expanded from runtime/comm/collective.def. */
#ifndef RUNTIME_COMM_COLLECTIVE_H
#define RUNTIME_COMM_COLLECTIVE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum rt_coll_kind {
#define COLLECTIVE(code, name, op, givers, getters, source, target) RT_##code,
#include "runtime/comm/collective.def"
#undef COLLECTIVE
	RT_COLL_KINDS
};

/* Which ranks of the axis contribute to a collective or receive its result. */
enum rt_coll_ranks { RT_COLL_ALL, RT_COLL_FROM, RT_COLL_TO };

/* What the buffer of a rank holds: a slice or the whole tensor. */
enum rt_coll_extent { RT_COLL_SLICE, RT_COLL_WHOLE, RT_COLL_BLOCKS };

struct rt_coll_info {
	const char *name; /* "allreduce" */
	const char *code; /* as C writes the kind: "RT_ALLREDUCE" */
	enum rt_coll_ranks givers, getters;
	enum rt_coll_extent source, target;
};

/* The row of a kind; never NULL for one below RT_COLL_KINDS. */
static inline const struct rt_coll_info *
rt_coll_info(enum rt_coll_kind kind)
{
	static const struct rt_coll_info table[RT_COLL_KINDS] = {
#define COLLECTIVE(code, name, op, givers, getters, source, target)                                \
	{name, "RT_" #code, RT_COLL_##givers, RT_COLL_##getters, RT_COLL_##source,                 \
		RT_COLL_##target},
#include "runtime/comm/collective.def"
#undef COLLECTIVE
	};
	return &table[kind];
}

/* The word for a kind: "allreduce". */
static inline const char *
rt_coll_name(enum rt_coll_kind kind)
{
	return rt_coll_info(kind)->name;
}

/* The kind with a name of n bytes; RT_COLL_KINDS: unknown name. */
static inline enum rt_coll_kind
rt_coll_find(const char *name, size_t n)
{
	int kind = 0;

	while (kind < RT_COLL_KINDS &&
		(strlen(rt_coll_name((enum rt_coll_kind)kind)) != n ||
			memcmp(rt_coll_name((enum rt_coll_kind)kind), name, n) != 0))
		kind++;
	return (enum rt_coll_kind)kind;
}

/* Does rank p of the axis send to rank q (which may be p itself)? For sums: are p's values part of
 * what q receives? `from`, `to`: the ranks that the collective names. */
static inline bool
rt_coll_gives(enum rt_coll_kind kind, int64_t from, int64_t to, int64_t p, int64_t q)
{
	const struct rt_coll_info *i = rt_coll_info(kind);

	return (i->givers == RT_COLL_ALL || p == from) && (i->getters == RT_COLL_ALL || q == to);
}

/* Do all ranks contribute, and all receive the result? */
static inline bool
rt_coll_symmetric(enum rt_coll_kind kind)
{
	return rt_coll_info(kind)->givers == RT_COLL_ALL &&
	       rt_coll_info(kind)->getters == RT_COLL_ALL;
}

#endif
