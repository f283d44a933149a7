/*
 * Output of nccl-tests, a line at a time; the format is that of its src/common.cu and src/util.cu,
 * which print it.
 */
#include "passes/analysis/profile/nccl_tests.h"
#include "ir/base/vec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>

/* More than any version has, 23 with per-iteration reports and bitwise checks. */
enum { COLUMNS_MAX = 32 };

/* Machines of one run; the ranks of any others are assumed to be on these. More than any cluster
 * with published nccl-tests. */
enum { HOSTS_MAX = 4096 };

/* Larger counts of iterations are not plausible; sums stay within an int. */
enum { RUNS_MAX = 1000000 };

struct word {
	const char *at;
	size_t n;
};

/* Positions of the columns of a table; -1: missing. */
struct columns {
	int n, count, type;
	int time[2], wrong[2]; /* out of place, in place */
	int last;              /* of those above */
};

struct reader {
	const void *owner;
	struct diag *diag;
	uint32_t base;
	const char *text;
	enum rt_coll_kind given_kind, kind; /* RT_COLL_KINDS: not known */
	int given_places;
	int ranks, in_group;         /* listed; of these in the group of the first */
	long group;                  /* of the first rank */
	struct word host[HOSTS_MAX]; /* of the ranks in that group, each once */
	int hosts;
	int iterations;
	struct columns columns; /* n = 0: no table so far */
	bool open;              /* rows of a table whose end has not been read */
	bool any, good;
	struct profile_collective *list;
	uint32_t n;
};

static struct ir_loc
loc_of(const struct reader *r, struct word w)
{
	uint32_t at = r->base + (uint32_t)(w.at - r->text);
	return (struct ir_loc){at, at + (uint32_t)(w.n ? w.n : 1)};
}

#define FAULT(r, word, ...)                                                                        \
	do {                                                                                       \
		diag_error((r)->diag, loc_of((r), (word)), __VA_ARGS__);                           \
		(r)->good = false;                                                                 \
	} while (0)

static bool
word_is(struct word w, const char *text)
{
	return w.n == strlen(text) && memcmp(w.at, text, w.n) == 0;
}

/* The words of a line, at most COLUMNS_MAX. */
static int
split(struct word line, struct word *word)
{
	int n = 0;
	const char *p = line.at, *end = line.at + line.n;
	while (n < COLUMNS_MAX) {
		while (p < end && (*p == ' ' || *p == '\t' || *p == '\r'))
			p++;
		if (p == end)
			break;
		const char *first = p;
		while (p < end && *p != ' ' && *p != '\t' && *p != '\r')
			p++;
		word[n++] = (struct word){first, (size_t)(p - first)};
	}
	return n;
}

/* False unless the whole word is a number. */
static bool
number(struct word w, double *value)
{
	char buffer[64], *end;
	if (!w.n || w.n >= sizeof buffer)
		return false;
	memcpy(buffer, w.at, w.n);
	buffer[w.n] = 0;
	*value = strtod(buffer, &end);
	return !*end && isfinite(*value);
}

/* The text after `key` in the line; NULL: the line does not contain it. */
static const char *
after(struct word line, const char *key)
{
	const char *p = memmem(line.at, line.n, key, strlen(key));
	return p ? p + strlen(key) : NULL;
}

/* The name of a test program in the line, as "all_reduce" of build/all_reduce_perf -g 8. */
static struct word
test_name(struct word line)
{
	const char *end = memmem(line.at, line.n, "_perf", 5);
	const char *p = end;
	while (p && p > line.at && (p[-1] == '_' || (p[-1] >= 'a' && p[-1] <= 'z')))
		p--;
	return (struct word){p, end ? (size_t)(end - p) : 0};
}

static void
see_test(struct reader *r, struct word line)
{
	struct word name = test_name(line);
	if (!name.n || after(line, "concluded"))
		return;
	r->kind = RT_COLL_KINDS;
	for (int i = 0; i < RT_COLL_KINDS; i++)
		if (word_is(name, rt_coll_info((enum rt_coll_kind)i)->nccl_test))
			r->kind = (enum rt_coll_kind)i;
	if (r->given_kind == RT_COLL_KINDS || r->kind == r->given_kind)
		return;
	if (r->kind != RT_COLL_KINDS)
		FAULT(r, name, "the test measured %s, not %s", rt_coll_name(r->kind),
			rt_coll_name(r->given_kind));
}

static void
see_host(struct reader *r, struct word host)
{
	for (int i = r->hosts; i-- > 0;)
		if (r->host[i].n == host.n && memcmp(r->host[i].at, host.at, host.n) == 0)
			return;
	if (r->hosts < HOSTS_MAX)
		r->host[r->hosts++] = host;
}

/* "#  Rank  0 Group  0 Pid 7 on host-a device ..."; without "Group" in older versions. */
static void
see_rank(struct reader *r, struct word line, const struct word *word, int n)
{
	double rank;
	const char *at = after(line, " Group ");
	long group = at ? strtol(at, NULL, 10) : 0;
	if (!number(word[2], &rank))
		return;
	if (rank == 0 && r->ranks) {
		FAULT(r, line,
			"there is a second rank 0: every process measured "
			"itself; build nccl-tests with MPI=1");
		return;
	}
	if (!r->ranks++)
		r->group = group;
	if (group != r->group)
		return;
	r->in_group++;
	for (int i = 3; i + 1 < n; i++)
		if (word_is(word[i], "on")) {
			see_host(r, word[i + 1]);
			return;
		}
}

/* The line that names the columns; false: another line. */
static bool
see_columns(struct reader *r, const struct word *word, int n)
{
	struct columns c = {n - 1, -1, -1, {-1, -1}, {-1, -1}, 0};
	if (n < 4 || !word_is(word[0], "#") || !word_is(word[1], "size") ||
		!word_is(word[2], "count"))
		return false;
	for (int i = 1, times = 0; i < n; i++) {
		int column = i - 1;
		if (word_is(word[i], "cputime"))
			FAULT(r, word[i],
				"these are times of the host's calls, not "
				"of collectives; run without -C");
		if (word_is(word[i], "count"))
			c.count = column;
		else if (word_is(word[i], "type"))
			c.type = column;
		else if ((word_is(word[i], "time") || word_is(word[i], "cputime")) && times < 2)
			c.last = c.time[times++] = column;
		else if (word_is(word[i], "#wrong") && times)
			c.last = c.wrong[times - 1] = column;
	}
	r->columns = c;
	if (c.time[0] < 0) {
		FAULT(r, word[1], "the table has no column of times");
		r->columns.n = 0;
	}
	return true;
}

static int
places_of(struct reader *r, struct word row)
{
	int places = r->ranks ? r->in_group : r->given_places;
	if (!places)
		FAULT(r, row, "the text does not list the ranks; give their number");
	else if (places < 2)
		FAULT(r, row, "a collective on one rank sends nothing");
	else if (r->ranks % places != 0)
		FAULT(r, row, "the groups differ in size: the first has %d of %d ranks", places,
			r->ranks);
	else if (r->given_places && r->given_places != places)
		FAULT(r, row, "expected %d ranks, found %d", r->given_places, places);
	else
		return places;
	return 0;
}

static double
size_of_type(struct word type)
{
	static const struct {
		const char *name;
		double size;
	} types[] = {{"int8", 1}, {"uint8", 1}, {"char", 1}, {"f8e4m3", 1}, {"f8e5m2", 1},
		{"half", 2}, {"bfloat16", 2}, {"int32", 4}, {"uint32", 4}, {"int", 4}, {"float", 4},
		{"int64", 8}, {"uint64", 8}, {"double", 8}};
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (word_is(type, types[i].name))
			return types[i].size;
	return 0;
}

/* The count is what each rank sends or receives; some collectives have one part per rank. */
static bool
check_size(struct reader *r, const struct word *word, double bytes, int places)
{
	const struct columns *c = &r->columns;
	enum rt_coll_kind kind = r->kind;
	bool parts = rt_coll_info(kind)->source != RT_COLL_SLICE ||
		     rt_coll_info(kind)->target != RT_COLL_SLICE;
	double count, size = c->type < 0 ? 0 : size_of_type(word[c->type]);
	if (c->count < 0 || !size || !number(word[c->count], &count))
		return true;
	if (bytes == count * size * (parts ? places : 1))
		return true;
	FAULT(r, word[0], "%s of %d ranks: %.0f bytes are not %s%.0f elements of %.0f bytes",
		rt_coll_name(kind), places, bytes, parts ? "a multiple of " : "", count, size);
	return false;
}

/* Seconds of the out-of-place or in-place columns; 0 after a report. */
static double
read_time(struct reader *r, const struct word *word, int which)
{
	const struct columns *c = &r->columns;
	double us, wrong;
	struct word time = word[c->time[which]];
	if (!number(time, &us)) {
		FAULT(r, time, "expected a time, found '%.*s'", (int)time.n, time.at);
		return 0;
	}
	if (us <= 0) {
		FAULT(r, time, "a collective takes longer than %.*s us", (int)time.n, time.at);
		return 0;
	}
	if (c->wrong[which] < 0 || word_is(word[c->wrong[which]], "N/A"))
		return us * 1e-6;
	struct word w = word[c->wrong[which]];
	if (!number(w, &wrong)) {
		FAULT(r, w, "expected a number of wrong elements, found '%.*s'", (int)w.n, w.at);
		return 0;
	}
	if (wrong > 0) { /* -1: not checked */
		FAULT(r, w, "%.*s elements of the result are wrong", (int)w.n, w.at);
		return 0;
	}
	return us * 1e-6;
}

static void
add(struct reader *r, int places, double bytes, double a, double b)
{
	double mean = (a + b) / 2;
	LIST_PUSH(r->owner, r->list, r->n,
		(struct profile_collective){.transport = "nccl",
			.kind = r->kind,
			.places = places,
			.bytes = bytes,
			.median = mean,
			.spread = fabs(a - b) / mean,
			.runs = r->iterations * (r->columns.time[1] < 0 ? 1 : 2),
			.nodes = r->hosts});
}

static void
see_row(struct reader *r, struct word line, const struct word *word, int n)
{
	const struct columns *c = &r->columns;
	double bytes;
	r->open = r->any = true;
	if (n <= c->last) {
		FAULT(r, line, "the row is cut off: found %d columns, expected %d", n, c->n);
		return;
	}
	if (r->kind == RT_COLL_KINDS)
		r->kind = r->given_kind;
	if (r->kind == RT_COLL_KINDS) {
		FAULT(r, line,
			"the text does not name the test; give the collective that it measured");
		r->columns.n = 0; /* reported only once */
		return;
	}
	int places = places_of(r, line);
	if (!places) {
		r->columns.n = 0;
		return;
	}
	double a = read_time(r, word, 0), b = c->time[1] < 0 ? a : read_time(r, word, 1);
	if (a > 0 && b > 0 && number(word[0], &bytes) && check_size(r, word, bytes, places) &&
		bytes > 0)
		add(r, places, bytes, a, b);
}

/* The end of a test; the next one names its collective again. */
static void
see_end(struct reader *r, struct word line, const char *bad)
{
	char *end;
	double out = strtod(bad, &end);
	if (out > 0)
		FAULT(r, line, "%.0f results are out of bounds", out);
	r->open = false;
	r->columns.n = 0;
	r->kind = RT_COLL_KINDS;
	r->ranks = r->in_group = r->hosts = 0;
}

static int
clamp_runs(long runs)
{
	return runs < 1 ? 1 : runs > RUNS_MAX ? RUNS_MAX : (int)runs;
}

static bool
is_count(struct word w)
{
	for (size_t i = 0; i < w.n; i++)
		if (w.at[i] < '0' || w.at[i] > '9')
			return false;
	return w.n > 0;
}

/* mpirun --tag-output puts "[1,0]<stdout>:" before each line. */
static struct word
without_tag(struct word line)
{
	const char *colon = line.n && *line.at == '[' ? memmem(line.at, line.n, ">:", 2) : NULL;
	if (!colon)
		return line;
	return (struct word){colon + 2, line.n - (size_t)(colon + 2 - line.at)};
}

static void
see_line(struct reader *r, struct word line)
{
	struct word word[COLUMNS_MAX];
	const char *at;
	int n = split(line = without_tag(line), word);
	if (!n)
		return;
	if (r->columns.n && is_count(word[0])) {
		see_row(r, line, word, n);
		return;
	}
	see_test(r, line);
	if (see_columns(r, word, n))
		return;
	if (n > 2 && word_is(word[0], "#") && word_is(word[1], "Rank"))
		see_rank(r, line, word, n);
	else if ((at = after(line, "Out of bounds values")))
		see_end(r, line, at + strspn(at, " :"));
	else if ((at = after(line, "warmup iters: ")) &&
		 (at = after((struct word){at, (size_t)(line.at + line.n - at)}, " iters: ")))
		r->iterations = clamp_runs(strtol(at, NULL, 10));
}

static int
compare(const void *a, const void *b)
{
	const struct profile_collective *x = a, *y = b;
	if (x->kind != y->kind)
		return (int)x->kind - (int)y->kind;
	if (x->places != y->places)
		return x->places - y->places;
	if (x->nodes != y->nodes)
		return x->nodes - y->nodes;
	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? -1 : 1;
	return (x->median > y->median) - (x->median < y->median);
}

/* Rows of one size, of several types or operations: their median, and their spread. */
static uint32_t
merge(struct profile_collective *list, uint32_t n)
{
	uint32_t kept = 0;
	if (n)
		qsort(list, n, sizeof *list, compare);
	for (uint32_t i = 0, end; i < n; i = end) {
		struct profile_collective c = list[i];
		for (end = i + 1; end < n && list[end].kind == c.kind &&
				  list[end].places == c.places && list[end].bytes == c.bytes;
			end++) {
			c.runs = clamp_runs((long)c.runs + list[end].runs);
			c.spread = fmax(c.spread, list[end].spread);
		}
		double low = list[i + (end - i - 1) / 2].median;
		c.median = (low + list[i + (end - i) / 2].median) / 2;
		c.spread = fmax(c.spread, (list[end - 1].median - list[i].median) / c.median);
		list[kept++] = c;
	}
	return kept;
}

static void
see_text_end(struct reader *r, const char *end)
{
	struct word first = {r->text, 1}, last = {end > r->text ? end - 1 : end, 1};
	if (!r->any && r->good)
		FAULT(r, first, "not nccl-tests output: there is no table of sizes and times");
	else if (r->open && r->good)
		FAULT(r, last,
			"the run is cut off: there is no line 'Out of "
			"bounds values' after the table");
}

int
nccl_tests_read(const void *owner, struct diag *d, const char *name, const char *text,
	enum rt_coll_kind kind, int places, struct profile_collective **list)
{
	size_t length = strlen(text);
	struct reader *r = NEW(NULL, struct reader);
	*r = (struct reader){.owner = owner,
		.diag = d,
		.base = diag_add_source(d, name, text, length),
		.text = text,
		.given_kind = kind,
		.kind = RT_COLL_KINDS,
		.given_places = places,
		.iterations = 1,
		.good = true};
	const char *end = text + length;
	for (const char *p = text; p < end;) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		const char *stop = newline ? newline : end;
		see_line(r, (struct word){p, (size_t)(stop - p)});
		p = stop + (newline != NULL);
	}
	see_text_end(r, end);
	int n = r->good ? (int)merge(r->list, r->n) : -1;
	if (n < 0)
		talloc_free(r->list);
	else
		*list = r->list;
	talloc_free(r);
	return n;
}
