/* Compares items between ranks: see same.h. Digests are exchanged first; the texts follow only if
 * those differ, so that the usual case costs one small message. */
#include "runtime/watch/same.h"
#include "runtime/data/digest.h"
#include "runtime/watch/ranks_text.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Most values of one item that a message distinguishes. */
#define VALUES 3
/* Longest text of one value in a message. */
#define VALUE_TEXT 200
/* Characters of a longer one that are shown before the first difference. */
#define SHOWN_BEFORE 40
/* Kept free in a status for the number of differences that are left out. */
#define REST_TEXT 40

/* The first message of ranks: its size is the same in all versions, so that ranks of different ones
 * understand it. */
struct hello {
	char magic[8];
	uint64_t digest, bytes;
};

static const char magic[8] = "dopt 1";

FILE *
rt_fact(struct rt_facts *f, const char *name)
{
	if (!f->out)
		f->out = open_memstream(&f->bytes, &f->n);
	else
		fputc(0, f->out);
	if (f->out)
		fprintf(f->out, "%s%c", name, 0);
	return f->out;
}

/* A rank's text of an item. */
static const char *
find(const char *bytes, const char *end, const char *name)
{
	while (bytes < end) {
		const char *text = bytes + strlen(bytes) + 1;
		if (!strcmp(bytes, name))
			return text;
		bytes = text + strlen(text) + 1;
	}
	return "unknown";
}

/* Appends if there is room; false: no room, and nothing was appended. */
static bool
append(struct rt_status *st, const char *line)
{
	const size_t at = strlen(st->text), n = strlen(line);
	if (at + n + REST_TEXT >= sizeof st->text)
		return false;
	memcpy(st->text + at, line, n + 1);
	return true;
}

/* The start of the excerpt of texts that are too long for a message: a little before they
 * differ. */
static size_t
first_shown(const char *const *said, int n)
{
	size_t same = strlen(said[0]), longest = 0;
	for (int r = 0; r < n; r++) {
		const size_t length = strlen(said[r]);
		longest = length > longest ? length : longest;
		for (size_t i = 0; i < same; i++)
			if (said[r][i] != said[0][i])
				same = i;
	}
	return longest > VALUE_TEXT && same > SHOWN_BEFORE ? same - SHOWN_BEFORE : 0;
}

/* A line with the values of one item: each with the ranks that have it. False: all ranks have the
 * same. */
static bool
difference(const char *name, const char *const *said, int n, bool *in, char *line, size_t size)
{
	const size_t skip = first_shown(said, n);
	int at = snprintf(line, size, "\n  %s:", name), values = 0, named = 0;
	for (int r = 0; r < n && values <= VALUES; r++) {
		bool first = true;
		for (int q = 0; q < r && first; q++)
			first = strcmp(said[q], said[r]) != 0;
		if (!first)
			continue;
		for (int q = 0; q < n; q++)
			in[q] = !strcmp(said[q], said[r]);
		char ranks[RT_RANKS_TEXT];
		named += rt_ranks_text(ranks, in, n);
		if (!values && named == n)
			return false;
		if (values++ == VALUES)
			at += snprintf(line + at, size - (size_t)at, "; ...");
		else
			at += snprintf(line + at, size - (size_t)at, "%s %s%.*s at %s",
				values > 1 ? ";" : "", skip ? "..." : "", VALUE_TEXT,
				said[r] + skip, ranks);
	}
	return true;
}

/* Lists every difference, in rank 0's order. `all` has `each` bytes per rank. */
static void
name_differences(struct rt_world *w, const char *all, const struct hello *hellos, size_t each,
	const char **said, bool *in, struct rt_status *st)
{
	char line[(VALUES + 1) * (VALUE_TEXT + RT_RANKS_TEXT + 8)];
	int left = 0;
	const char *end = all + hellos[0].bytes;
	for (const char *name = all; name < end;) {
		for (int r = 0; r < w->nranks; r++) {
			const char *bytes = all + (size_t)r * each;
			said[r] = find(bytes, bytes + hellos[r].bytes, name);
		}
		if (difference(name, said, w->nranks, in, line, sizeof line))
			left += !append(st, line);
		name = said[0] + strlen(said[0]) + 1;
	}
	if (left)
		sprintf(st->text + strlen(st->text), "\n  and %d more", left);
}

/* Compares the texts of all ranks, which are not all the same. */
static bool
compare_texts(struct rt_facts *f, struct rt_world *w, const struct hello *hellos,
	const char *heading, struct rt_status *st)
{
	size_t each = 1;
	for (int r = 0; r < w->nranks; r++)
		each = hellos[r].bytes > each ? hellos[r].bytes : each;
	const size_t n = (size_t)w->nranks;
	char *mine = calloc(1, each), *all = malloc(n * each);
	const char **said = malloc(n * sizeof *said);
	bool *in = malloc(n);
	if (!mine || !all || !said || !in)
		rt_abort(w, RT_EXIT_RUN);
	memcpy(mine, f->bytes, f->n);
	w->ops->allgather(w, mine, all, each);
	rt_fail(st, RT_EXIT_USAGE, "%s:", heading);
	name_differences(w, all, hellos, each, said, in, st);
	free(mine);
	free(all);
	free(said);
	free(in);
	return false;
}

/* Are the first messages of all ranks equal? *known: all ranks are programs of this version. */
static bool
is_same(const struct hello *hellos, int n, bool *known)
{
	bool same = true;
	*known = true;
	for (int r = 0; r < n; r++) {
		same &= hellos[r].digest == hellos[0].digest && hellos[r].bytes == hellos[0].bytes;
		*known &= !memcmp(hellos[r].magic, magic, sizeof magic);
	}
	return same && *known;
}

bool
rt_facts_same(struct rt_facts *f, struct rt_world *w, const char *heading, struct rt_status *st)
{
	bool known;
	struct hello mine = {.digest = 0}, *hellos = malloc((size_t)w->nranks * sizeof *hellos);
	if (f->out)
		fputc(0, f->out);
	if (!hellos || !f->out || fclose(f->out))
		rt_abort(w, RT_EXIT_RUN);
	memcpy(mine.magic, magic, sizeof magic);
	mine.digest = rt_digest(f->bytes, f->n, 0);
	mine.bytes = f->n;
	w->ops->allgather(w, &mine, hellos, sizeof mine);
	const bool same = is_same(hellos, w->nranks, &known);
	if (!known)
		rt_fail(st, RT_EXIT_USAGE,
			"the ranks of this run are programs from different versions of dopt");
	else if (!same)
		compare_texts(f, w, hellos, heading, st);
	free(hellos);
	free(f->bytes);
	*f = (struct rt_facts){0};
	return same;
}
