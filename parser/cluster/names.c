/* Names of a cluster: their meaning, number of parts, and the names of the parts. */
#include "parser/cluster/build.h"

#include "ir/base/alloc.h"
#include "ir/base/suggest.h"

#include <inttypes.h>
#include <string.h>
#include <talloc.h>

struct entry *
entry_find(struct builder *b, const char *name)
{
	for (int i = b->entry.n; i-- > 0;)
		if (b->entry.at[i].name == name)
			return &b->entry.at[i];
	return NULL;
}

static const char *
kind_text(enum entry_kind kind)
{
	static const char *const text[] = {
		[ENTRY_DEVICE] = "kind of device",
		[ENTRY_LINK] = "kind of link",
		[ENTRY_PARTS] = "part",
		[ENTRY_PLACE] = "node or group",
	};

	return text[kind];
}

/* The entry of that kind; NULL after an error. */
struct entry *
entry_find_kind(struct builder *b, struct named name, enum entry_kind kind)
{
	const char *word = name.name;
	struct entry *e = entry_find(b, word);

	if (e && e->kind == kind)
		return e;
	if (e) {
		PARSE_ERROR(b->p, name.loc, "'%s' is a %s, not a %s", word, kind_text(e->kind),
			kind_text(kind));
		return NULL;
	}
	struct suggestion near = suggestion_for(word);
	for (int i = 0; i < b->entry.n; i++)
		if (b->entry.at[i].kind == kind)
			suggestion_add(&near, b->entry.at[i].name);
	char *text = suggestion_text(NULL, &near);
	PARSE_ERROR(b->p, name.loc, "no %s '%s' is declared above%s", kind_text(kind), word, text);
	talloc_free(text);
	return NULL;
}

struct entry *
entry_define(struct builder *b, struct named name, enum entry_kind kind)
{
	const char *word = name.name;
	const struct entry *before = entry_find(b, word);

	if (is_cluster_word(word)) {
		PARSE_ERROR(b->p, name.loc, "'%s' is a reserved word", word);
		return NULL;
	}
	const struct ir_let *let = ir_let_find(b->p->m, word);
	if (before || let) {
		PARSE_ERROR(b->p, name.loc, "'%s' is already defined", word);
		diag_note(b->p->ctx->diag, before ? before->loc : let->loc, "here");
		return NULL;
	}
	VEC_PUSH(b->p, &b->entry, (struct entry){.name = word, .loc = name.loc, .kind = kind});
	return &b->entry.at[b->entry.n - 1];
}

/* A number, a name or an expression of them. */
static bool
is_size(const struct ir_attr *a)
{
	return a->kind == ATTR_INT || a->kind == ATTR_NAME || a->kind == ATTR_SIZE;
}

/* False, reported: it has a name that is not a let. */
static bool
size_of_attr(struct parser *p, const struct ir_attr *a, int64_t *to)
{
	struct size_value size = {.i = a->i};

	if (a->kind == ATTR_NAME)
		size = size_name(p, a->s, a->loc);
	else if (a->kind == ATTR_SIZE)
		size = (struct size_value){.tree = a->size};
	return size_number(p, size, a->loc, to);
}

/* The number of parts of `g[8]`; 0 after an error. */
uint32_t
builder_count(struct builder *b, const struct cluster_end *end)
{
	const struct ir_attr *a = end->index.list;

	int64_t n;

	if (!end->indexed)
		return 1;
	if (end->index.n == 1 && is_size(a)) {
		if (!size_of_attr(b->p, a, &n))
			return 0;
		if (n >= 1 && n <= CLUSTER_PARTS_MAX)
			return (uint32_t)n;
	}
	PARSE_ERROR(b->p, end->index.loc, "a count must be a number from 1 to %d, as in %s[8]",
		CLUSTER_PARTS_MAX, end->name.name);
	return 0;
}

/* May there be n more? */
bool
builder_have_room(struct builder *b, uint32_t *used, uint64_t n, uint32_t most, const char *what,
	struct ir_loc loc)
{
	if (*used + n > most && !b->full) {
		PARSE_ERROR(b->p, loc, "the cluster has more than %" PRIu32 " %s", most, what);
		b->full = true;
	}
	if (b->full)
		return false;
	*used += (uint32_t)n;
	return true;
}

/* "n[3].g[1]"; without a count "n[3].g". */
const char *
builder_name(struct builder *b, const struct cluster_end *end, uint32_t i)
{
	char *s = end->indexed ? TEXT(NULL, "%s%s[%" PRIu32 "]", b->path, end->name.name, i)
			       : TEXT(NULL, "%s%s", b->path, end->name.name);

	const char *copy = arena_strndup(b->names, s, strlen(s));
	talloc_free(s);
	return copy;
}

/* Names n parts; their vertices are still to be filled in. NULL after an error. */
struct entry *
entry_define_parts(struct builder *b, const struct cluster_end *end)
{
	uint32_t n = builder_count(b, end);
	struct entry *e = n ? entry_define(b, end->name, ENTRY_PARTS) : NULL;

	if (!e || !builder_have_room(b, &b->nparts, n, CLUSTER_PARTS_MAX, "parts", end->loc))
		return NULL;
	e->n = n;
	e->vertex = ARENA_ARRAY(b->p->scratch, uint32_t, n);
	return e;
}
