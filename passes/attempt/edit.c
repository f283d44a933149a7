/* Edits of pipelines: see edit.h. */
#include "passes/attempt/edit.h"

#include "ir/base/alloc.h"
#include "ir/base/vec.h"
#include "passes/manager/facts.h"

#include <string.h>
#include <talloc.h>

/*
 * The position of an inserted pass: after the last of these passes, or of those that provide this
 * fact; at the front without any. A pass with `several` may occur several times, over several axes.
 * Rows of one position are in their order.
 */
static const struct position {
	const char *pass, *after, *fact;
	bool several;
} positions[] = {
	{"accumulate", "inline", "", false},
	{"pipeline", "inline", "", false},
	{"amp", "inline,accumulate,pipeline", "", false},
	{"dp", "inline,accumulate,pipeline,amp", "", true},
	{"recompute", "grad", "", false},
	{"shard", "grad,recompute,dp,propagate", "", false},
	{"parallelize", "grad,recompute", "optimizer", false},
	{"offload", "grad,recompute,shard,parallelize", "optimizer", false},
	{"opfuse", "grad,recompute,shard,parallelize,offload", "optimizer", false},
	{"tensorfuse", "grad,recompute,shard,parallelize,offload,opfuse", "optimizer", false},
	{"prefetch", "grad,recompute,shard,parallelize,offload,opfuse", "optimizer", false},
	{"overlap", "grad,recompute,shard,parallelize,offload,opfuse,prefetch", "optimizer", false},
	{"unshard", "grad,recompute,shard,parallelize,offload,opfuse,prefetch,overlap", "optimizer",
		false},
};

enum { POSITIONS = sizeof positions / sizeof *positions };

struct pass_list
pass_list_read(const void *owner, const char *text)
{
	struct VEC(const char *) pass = {0};

	while (*text) {
		int depth = 0;
		bool quoted = false;
		const char *end = text;
		for (; *end && (*end != ',' || depth || quoted); end++) {
			quoted = quoted != (*end == '"');
			depth += quoted ? 0 : (*end == '{') - (*end == '}');
		}
		VEC_PUSH(owner, &pass, text_copy_n(owner, text, (size_t)(end - text)));
		text = end + (*end == ',');
	}
	return (struct pass_list){pass.at, (int)pass.n};
}

char *
pass_list_text(const void *owner, const struct pass_list *list)
{
	char *text = text_copy(owner, "");

	for (int i = 0; i < list->n; i++)
		text = text_append(text, i ? ",%s" : "%s", list->pass[i]);
	return text;
}

static size_t
name_length(const char *entry)
{
	return strcspn(entry, "{ ");
}

bool
pass_list_is(const char *entry, const char *name)
{
	const size_t n = name_length(entry);

	return strlen(name) == n && !memcmp(entry, name, n);
}

int
pass_list_find(const struct pass_list *list, const char *name)
{
	for (int i = 0; i < list->n; i++)
		if (pass_list_is(list->pass[i], name))
			return i;
	return -1;
}

static bool
names(const char *words, const char *word, size_t n)
{
	const char *found;
	size_t length;

	while (pass_fact_next(&words, &found, &length))
		if (length == n && !memcmp(found, word, n))
			return true;
	return false;
}

static const struct position *
position_of(const char *entry)
{
	for (int i = 0; i < POSITIONS; i++)
		if (pass_list_is(entry, positions[i].pass))
			return &positions[i];
	return NULL;
}

/* Does the entry go before a pass of that row? */
static bool
is_before(const struct position *at, const char *entry, const struct pass_registry *registry)
{
	const char *name = text_copy_n(NULL, entry, name_length(entry));
	const struct pass *pass = pass_registry_find(registry, name);
	const bool before = names(at->after, name, strlen(name)) ||
			    (*at->fact && pass && pass->provides &&
				    names(pass->provides, at->fact, strlen(at->fact)));

	talloc_free((char *)name);
	return before;
}

/* The list with room for another entry; those from `at` on are moved by one. */
static struct pass_list
with_room(const void *owner, const struct pass_list *list, int at)
{
	struct pass_list more = {ARRAY_NEW(owner, const char *, list->n + 1), list->n + 1};

	for (int i = 0; i < list->n; i++)
		more.pass[i + (i >= at)] = list->pass[i];
	return more;
}

struct pass_list
pass_list_put(const void *owner, const struct pass_list *list, const struct pass_registry *registry,
	const char *entry)
{
	const struct position *at = position_of(entry);
	int after = 0;

	for (int i = 0; i < list->n && at; i++) {
		if (pass_list_is(list->pass[i], at->pass) && !at->several) {
			struct pass_list same = {
				COPY_ARRAY(owner, const char *, list->pass, list->n), list->n};
			same.pass[i] = entry;
			return same;
		}
		after = is_before(at, list->pass[i], registry) ? i + 1 : after;
	}
	after = at ? after : list->n;
	struct pass_list more = with_room(owner, list, after);
	more.pass[after] = entry;
	return more;
}

struct pass_list
pass_list_without(const void *owner, const struct pass_list *list, int at)
{
	struct pass_list less = {ARRAY_NEW(owner, const char *, list->n + 1), list->n - 1};

	for (int i = 0; i < less.n; i++)
		less.pass[i] = list->pass[i + (i >= at)];
	return less;
}

struct pass_list
pass_list_swapped(const void *owner, const struct pass_list *list, int at)
{
	struct pass_list other = {COPY_ARRAY(owner, const char *, list->pass, list->n), list->n};

	other.pass[at] = list->pass[at + 1];
	other.pass[at + 1] = list->pass[at];
	return other;
}
