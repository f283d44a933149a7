/* Schedules as text: see schedule.h. */
#include "passes/pipeline/schedule.h"

#include "ir/base/sort.h"
#include "ir/base/vec.h"
#include "ir/memory/cells.h"

#include <stdlib.h>
#include <string.h>
#include <talloc.h>

static const struct {
	const char *text;
	bool has_step;
} kinds[] = {
#define SCHEDULE_KIND(code, text, step) {text, step},
	SCHEDULE_KINDS(SCHEDULE_KIND)
#undef SCHEDULE_KIND
};

bool
schedule_computes(enum schedule_kind kind)
{
	return kind <= SCHEDULE_BACKWARD;
}

bool
schedule_has_messages(const struct schedule *s)
{
	for (int r = 0; r < s->nranks; r++)
		for (int i = 0; i < s->rank[r].n; i++) {
			const enum schedule_kind k = s->rank[r].action[i].kind;
			if (k >= SCHEDULE_SEND_F && k <= SCHEDULE_RECV_B)
				return true;
		}
	return false;
}

/* --- writing --- */

static const char *
kind_text(const struct schedule_action *a)
{
	return kinds[a->old_input ? SCHEDULE_BACKWARD : a->kind].text;
}

char *
schedule_action_text(const void *owner, const struct schedule_action *a)
{
	if (a->kind == SCHEDULE_IDLE)
		return text_copy(owner, "");
	if (a->step < 0)
		return text_print(owner, "%d%s", a->stage, kind_text(a));
	return text_print(owner, "%d%s%d", a->stage, kind_text(a), a->step);
}

static void
write_action(FILE *out, const struct schedule_action *a)
{
	if (a->kind == SCHEDULE_IDLE)
		return;
	fprintf(out, "%d%s", a->stage, kind_text(a));
	if (a->step >= 0)
		fprintf(out, "%d", a->step);
}

void
schedule_write(FILE *out, const struct schedule *s)
{
	for (int r = 0; r < s->nranks; r++) {
		const struct schedule_rank *rank = &s->rank[r];
		for (int i = 0; i < rank->n; i++) {
			const struct schedule_action *a = &rank->action[i];
			const bool first = !i || a[-1].cell != a->cell;
			const bool last = i + 1 == rank->n || a[1].cell != a->cell;
			if (i)
				fputc(first ? ',' : ';', out);
			if (a->overlapped && first)
				fputc('(', out);
			write_action(out, a);
			if (a->overlapped && last)
				fputs(")OVERLAP_F_B", out);
		}
		fputc('\n', out);
	}
}

/* --- making --- */

struct schedule *
schedule_create(const void *owner, int nranks)
{
	struct schedule *s = NEW(owner, struct schedule);

	s->nranks = nranks;
	s->rank = ZERO_ARRAY(s, struct schedule_rank, nranks);
	return s;
}

static struct schedule_action *
append(struct schedule *s, int rank, struct schedule_action a)
{
	struct schedule_rank *r = &s->rank[rank];

	LIST_PUSH(s->rank, r->action, r->n, a);
	return &r->action[r->n - 1];
}

void
schedule_add(struct schedule *s, int rank, enum schedule_kind kind, int stage, int step)
{
	const struct schedule_rank *r = &s->rank[rank];

	append(s, rank,
		(struct schedule_action){.kind = kind,
			.stage = stage,
			.step = step,
			.cell = r->n ? r->action[r->n - 1].cell + 1 : 0});
}

static uint64_t
key(const struct schedule_action *a)
{
	return (uint64_t)a->stage << 32 | (uint32_t)a->step;
}

/* A B whose stage and micro-batch also have a W is an I. */
static void
rename_inputs(struct schedule *s)
{
	struct VEC(uint64_t) weights = {0};

	for (int r = 0; r < s->nranks; r++)
		for (int i = 0; i < s->rank[r].n; i++)
			if (s->rank[r].action[i].kind == SCHEDULE_WEIGHT)
				VEC_PUSH(s, &weights, key(&s->rank[r].action[i]));
	sort_uint64(weights.at, (size_t)weights.n);
	for (int r = 0; r < s->nranks && weights.n; r++)
		for (int i = 0; i < s->rank[r].n; i++) {
			struct schedule_action *a = &s->rank[r].action[i];
			const uint64_t k = key(a);
			if (a->kind != SCHEDULE_BACKWARD ||
				!bsearch(&k, weights.at, (size_t)weights.n, sizeof k, order_uint64))
				continue;
			a->kind = SCHEDULE_INPUT;
			a->old_input = true;
		}
	VEC_FREE(&weights);
}

void
schedule_finish(struct schedule *s)
{
	s->nstages = s->nsteps = 0;
	for (int r = 0; r < s->nranks; r++)
		for (int i = 0; i < s->rank[r].n; i++) {
			const struct schedule_action *a = &s->rank[r].action[i];
			if (a->kind == SCHEDULE_IDLE)
				continue;
			if (a->stage >= s->nstages)
				s->nstages = a->stage + 1;
			if (a->step >= s->nsteps)
				s->nsteps = a->step + 1;
		}
	s->rank_of = NEW_ARRAY(s, int, s->nstages);
	for (int i = 0; i < s->nstages; i++)
		s->rank_of[i] = -1;
	for (int r = s->nranks - 1; r >= 0; r--)
		for (int i = 0; i < s->rank[r].n; i++)
			if (s->rank[r].action[i].kind != SCHEDULE_IDLE)
				s->rank_of[s->rank[r].action[i].stage] = r;
	rename_inputs(s);
}

/* --- reading --- */

struct reader {
	struct schedule *s;
	int n; /* cells read so far */
	struct diag *diag;
	const char *text, *at, *end; /* end: end of the cell */
	uint32_t base;
	int rank, cell;
};

static struct ir_loc
loc(const struct reader *r, const char *begin, const char *end)
{
	return (struct ir_loc){r->base + (uint32_t)(begin - r->text),
		r->base + (uint32_t)(end > begin ? end - r->text : begin - r->text + 1)};
}

static void
skip_blanks(struct reader *r)
{
	while (r->at < r->end && (*r->at == ' ' || *r->at == '\t'))
		r->at++;
}

static bool
bad_cell(struct reader *r, const char *begin, const char *end)
{
	diag_error(r->diag, loc(r, begin, end),
		"expected an action such as 2F0 (stage, kind, micro-batch; kinds are F, I, W, B, SEND_F, "
		"RECV_F, SEND_B, RECV_B, and without a micro-batch UNSHARD, RESHARD, REDUCE_GRAD), "
		"found '%.*s'",
		(int)(end - begin < 40 ? end - begin : 40), begin);
	return false;
}

/* One action up to `end`. */
static bool
read_action(struct reader *r, const char *end, bool overlapped)
{
	skip_blanks(r);
	const char *begin = r->at;
	while (end > begin && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	struct cell_text t;
	size_t kind = 0;
	r->at = cell_text_read(begin, end, &t);
	while (kind < SCHEDULE_IDLE && (strlen(kinds[kind].text) != t.length ||
					       memcmp(kinds[kind].text, t.kind, t.length) != 0))
		kind++;
	if (t.stage < 0 || kind == SCHEDULE_IDLE || r->at != end ||
		(t.iteration >= 0) != kinds[kind].has_step)
		return bad_cell(r, begin, end);
	if (t.stage >= SCHEDULE_MOST || t.iteration >= SCHEDULE_MOST) {
		diag_error(r->diag, loc(r, begin, end),
			"stages and micro-batches are numbered from 0 to %d", SCHEDULE_MOST - 1);
		return false;
	}
	append(r->s, r->rank,
		(struct schedule_action){.kind = (uint8_t)kind,
			.overlapped = overlapped,
			.stage = (int32_t)t.stage,
			.step = (int32_t)t.iteration,
			.cell = r->cell,
			.loc = loc(r, begin, end)});
	return true;
}

/* (0F7;7B3)OVERLAP_F_B; r->at is after the parenthesis. */
static bool
read_overlap(struct reader *r, const char *begin)
{
	static const char name[] = "OVERLAP_F_B";
	const char *close = memchr(r->at, ')', (size_t)(r->end - r->at));
	bool good = true;

	if (!close || r->end - close - 1 < (int)sizeof name - 1 ||
		memcmp(close + 1, name, sizeof name - 1) != 0) {
		diag_error(r->diag, loc(r, begin, r->end),
			"expected overlapped actions such as (0F7;7B3)OVERLAP_F_B, found '%.*s'",
			(int)(r->end - begin < 40 ? r->end - begin : 40), begin);
		return false;
	}
	while (good) {
		const char *end = memchr(r->at, ';', (size_t)(close - r->at));
		good = read_action(r, end ? end : close, true);
		if (!end)
			break;
		r->at = end + 1;
	}
	r->at = close + sizeof name;
	skip_blanks(r);
	return good && (r->at == r->end || bad_cell(r, begin, r->end));
}

static bool
read_cell(struct reader *r)
{
	skip_blanks(r);
	const char *begin = r->at;
	if (++r->n > SCHEDULE_CELLS_MOST) {
		if (r->n == SCHEDULE_CELLS_MOST + 1)
			diag_error(r->diag, loc(r, begin, begin), "a schedule has at most %d cells",
				SCHEDULE_CELLS_MOST);
		return false;
	}
	if (begin == r->end) {
		append(r->s, r->rank,
			(struct schedule_action){.kind = SCHEDULE_IDLE,
				.step = -1,
				.cell = r->cell,
				.loc = loc(r, begin, begin)});
		return true;
	}
	if (*begin != '(')
		return read_action(r, r->end, false);
	r->at++;
	return read_overlap(r, begin);
}

/* The end of the cell or line that begins at `at`: before `mark`, or the end of the text. */
static const char *
find_end(const char *at, const char *end, char mark)
{
	const char *found = memchr(at, mark, (size_t)(end - at));

	return found ? found : end;
}

static int
count_lines(const char *text, const char *end)
{
	int n = 0;

	for (const char *at = text; at < end; at = find_end(at, end, '\n') + 1)
		n++;
	return n;
}

struct schedule *
schedule_read(
	const void *owner, struct diag *diag, const char *name, const char *text, size_t length)
{
	struct reader r = {.diag = diag, .base = diag_add_source(diag, name, text, length)};
	r.text = diag_source_text(diag, r.base);
	const char *end = r.text + length;
	bool good = true;

	if (!length) {
		diag_error(diag, LOC_NONE,
			"%s: a schedule has a line for each rank; this file is empty", name);
		return NULL;
	}
	r.s = schedule_create(owner, count_lines(r.text, end));
	const char *line = r.text;
	for (; r.rank < r.s->nranks; r.rank++) {
		const char *next = find_end(line, end, '\n');
		const char *line_end = next > line && next[-1] == '\r' ? next - 1 : next;
		r.at = line;
		for (r.cell = 0; line < line_end && r.at <= line_end; r.cell++) {
			r.end = find_end(r.at, line_end, ',');
			good &= read_cell(&r);
			r.at = r.end + 1;
		}
		line = next + 1;
	}
	if (good) {
		schedule_finish(r.s);
		return r.s;
	}
	talloc_free(r.s);
	return NULL;
}
