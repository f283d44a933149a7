/* Kinds of initial values as an enum with its names, expanded from runtime/kernel/init.def. */
#ifndef RUNTIME_KERNEL_INIT_KIND_H
#define RUNTIME_KERNEL_INIT_KIND_H

#include <string.h>

enum rt_init {
#define INIT(code, name, spread, value) RT_INIT_##code,
#include "runtime/kernel/init.def"
#undef INIT
	RT_INITS
};

struct rt_init_info {
	const char *name; /* "zeros" */
	const char *code; /* as C writes the kind: "RT_INIT_ZEROS" */
};

/* The row of a kind; never NULL for one below RT_INITS. */
static inline const struct rt_init_info *
rt_init_info(enum rt_init kind)
{
	static const struct rt_init_info table[RT_INITS] = {
#define INIT(code, name, spread, value) {name, "RT_INIT_" #code},
#include "runtime/kernel/init.def"
#undef INIT
	};
	return &table[kind];
}

/* The kind with that name; RT_INITS: unknown name. */
static inline enum rt_init
rt_init_find(const char *name)
{
	int kind = 0;

	while (kind < RT_INITS && strcmp(rt_init_info((enum rt_init)kind)->name, name) != 0)
		kind++;
	return (enum rt_init)kind;
}

#endif
