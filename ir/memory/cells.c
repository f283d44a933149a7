/* Schedules of pipelines: see cells.h. */
#include "ir/memory/cells.h"

#include "ir/base/alloc.h"
#include "ir/base/vec.h"

#include <stdlib.h>
#include <string.h>
#include <talloc.h>

enum { NOT_PLACED = UINT32_MAX };

static uint32_t
line_length(const struct cells *c)
{
	return CELL_PHASES * c->turns;
}

static struct stage_cell *
line_of(const struct cells *c, uint32_t stage)
{
	return &c->cell[(size_t)stage * line_length(c)];
}

/* As many forward as `ahead`, then in turns. */
static void
make_line(struct cells *c, uint32_t stage, uint32_t ahead)
{
	struct stage_cell *line = line_of(c, stage);
	uint32_t n = 0, forward = 0, backward = 0;

	while (backward < c->turns)
		if (forward < c->turns && forward < backward + ahead)
			line[n++] = (struct stage_cell){CELL_FORWARD, CELL_FORWARD, forward++};
		else
			line[n++] = (struct stage_cell){CELL_BACKWARD, CELL_WEIGHT, backward++};
	c->n[stage] = n;
}

/* "0F12": the cell of that stage. Returns what is behind it, NULL if it is none. */
static const char *
read_cell(const char *at, uint32_t stage, struct stage_cell *cell)
{
	static const struct {
		char name;
		uint8_t phase, last;
	} kinds[] = {{'F', CELL_FORWARD, CELL_FORWARD}, {'B', CELL_BACKWARD, CELL_WEIGHT},
		{'I', CELL_BACKWARD, CELL_BACKWARD}, {'W', CELL_WEIGHT, CELL_WEIGHT}};
	char *end;
	int k = 0;

	if (*at < '0' || *at > '9' || strtoul(at, &end, 10) != stage)
		return NULL;
	while (k < 4 && kinds[k].name != *end)
		k++;
	if (k == 4 || end[1] < '0' || end[1] > '9')
		return NULL;
	const unsigned long turn = strtoul(end + 1, &end, 10);
	*cell = (struct stage_cell){
		kinds[k].phase, kinds[k].last, turn < NOT_PLACED ? (uint32_t)turn : NOT_PLACED - 1};
	return end;
}

/* Is the cell the next one of its phases? */
static bool
is_next(const struct cells *c, const struct stage_cell *cell, uint32_t next[CELL_PHASES])
{
	for (int k = cell->phase; k <= cell->last; k++)
		if (cell->turn >= c->turns || cell->turn != next[k]++)
			return false;
	return true;
}

static const char *
read_table(const void *owner, struct cells *c, const char *text)
{
	const char *at = text;

	for (uint32_t stage = 0; stage < c->stages; stage++) {
		struct stage_cell *line = line_of(c, stage);
		uint32_t next[CELL_PHASES] = {0}, n = 0;
		if (stage && *at++ != ';')
			return TEXT(owner, "it has %u stages, not %u", stage, c->stages);
		for (bool first = true; first || *at == ','; first = false) {
			struct stage_cell cell;
			at += !first;
			if (*at == ',' || *at == ';' || !*at)
				continue; /* idle */
			const char *end = read_cell(at, stage, &cell);
			if (!end)
				return TEXT(owner,
					"expected gpipe, 1f1b or cells such as %uF0 at \"%.12s\"",
					stage, at);
			if (!is_next(c, &cell, next))
				return TEXT(owner,
					"%.*s of stage %u is out of order or too many: each stage has "
					"F0 to F%u and B0 to B%u, or I and W, in that order",
					(int)(end - at), at, stage, c->turns - 1, c->turns - 1);
			c->divided |= cell.phase == CELL_WEIGHT;
			line[n++] = cell;
			at = end;
		}
		for (int k = 0; k < CELL_PHASES; k++)
			if (next[k] < c->turns)
				return TEXT(owner,
					"stage %u ends before it has done all %u micro-batches",
					stage, c->turns);
		c->n[stage] = n;
	}
	return *at ? TEXT(owner, "it has more than %u stages", c->stages) : NULL;
}

static void
find_places(struct cells *c)
{
	for (uint32_t s = 0; s < c->stages; s++)
		for (uint32_t k = 0; k < c->n[s]; k++) {
			const struct stage_cell *x = &line_of(c, s)[k];
			for (uint32_t phase = x->phase; phase <= x->last; phase++)
				c->at[(s * CELL_PHASES + phase) * c->turns + x->turn] = k;
		}
}

static uint32_t
end_of(const struct cells *c, uint32_t stage, uint32_t phase, uint32_t turn)
{
	return c->end[(size_t)stage * line_length(c) + cells_at(c, stage, phase, turn)];
}

/* When a cell can begin as far as other cells go; NOT_PLACED: not known yet. */
static uint32_t
ready(const struct cells *c, uint32_t stage, const struct stage_cell *x)
{
	uint32_t t = 0;

	if (x->phase == CELL_FORWARD)
		return stage ? end_of(c, stage - 1, CELL_FORWARD, x->turn) : 0;
	if (x->phase == CELL_WEIGHT)
		return end_of(c, stage, CELL_BACKWARD, x->turn);
	t = end_of(c, stage, CELL_FORWARD, x->turn);
	if (stage + 1 == c->stages || t == NOT_PLACED)
		return t;
	const uint32_t other = end_of(c, stage + 1, CELL_BACKWARD, x->turn);
	return other == NOT_PLACED || other > t ? other : t;
}

/* False: stages wait for each other. */
static bool
simulate(struct cells *c)
{
	const uint32_t n = line_length(c);
	uint32_t *next = ARRAY_ZERO(NULL, uint32_t, c->stages),
		 *now = ARRAY_ZERO(NULL, uint32_t, c->stages), left = 0;

	for (uint32_t i = 0; i < c->stages * n; i++)
		c->end[i] = NOT_PLACED;
	for (uint32_t s = 0; s < c->stages; s++)
		left += c->n[s];
	for (bool moves = true; moves && left;) {
		moves = false;
		for (uint32_t s = 0; s < c->stages; s++)
			for (; next[s] < c->n[s]; next[s]++, left--, moves = true) {
				const size_t k = (size_t)s * n + next[s];
				const struct stage_cell *x = &c->cell[k];
				const uint32_t t = ready(c, s, x);
				if (t == NOT_PLACED)
					break;
				c->begin[k] = t > now[s] ? t : now[s];
				now[s] = c->end[k] =
					c->begin[k] + (uint32_t)(x->last - x->phase + 1);
			}
	}
	array_free(next);
	array_free(now);
	return !left;
}

struct cells *
cells_create(
	const void *owner, const char *schedule, uint32_t stages, uint32_t turns, const char **why)
{
	struct cells *c = NEW(owner, struct cells);
	const size_t n = (size_t)stages * CELL_PHASES * turns;

	*c = (struct cells){stages, turns, false, ARRAY_ZERO(c, uint32_t, stages),
		ARRAY_NEW(c, struct stage_cell, n), ARRAY_NEW(c, uint32_t, n),
		ARRAY_NEW(c, uint32_t, n), ARRAY_NEW(c, uint32_t, n)};
	*why = NULL;
	if (strcmp(schedule, "gpipe") == 0)
		for (uint32_t s = 0; s < stages; s++)
			make_line(c, s, turns);
	else if (strcmp(schedule, "1f1b") == 0)
		for (uint32_t s = 0; s < stages; s++)
			make_line(c, s, stages - s);
	else
		*why = read_table(owner, c, schedule);
	if (!*why) {
		find_places(c);
		if (!simulate(c))
			*why = TEXT(owner, "its stages wait for each other for ever");
	}
	if (!*why)
		return c;
	talloc_free(c);
	return NULL;
}

uint32_t
cells_ring(const struct cells *c, uint32_t stage, uint32_t made, uint32_t read)
{
	uint32_t n = 1;

	for (uint32_t i = 0; i + n < c->turns; i++)
		while (i + n < c->turns &&
			cells_at(c, stage, read, i) >= cells_at(c, stage, made, i + n))
			n++;
	return n;
}

uint32_t
cells_message_ring(const struct cells *c, const struct cell_message *m)
{
	uint32_t n = 1;

	for (uint32_t i = 0; i + n < c->turns; i++)
		while (i + n < c->turns &&
			end_of(c, m->to, m->read, i) > end_of(c, m->from, m->phase, i + n))
			n++;
	return n;
}

/* ---- lines with messages ---- */

/* A message of an iteration, when it is sent. */
struct sending {
	uint32_t time, message, turn;
};

static int
by_time(const void *x, const void *y)
{
	const struct sending *a = x, *b = y;

	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	if (a->message != b->message)
		return a->message < b->message ? -1 : 1;
	return a->turn < b->turn ? -1 : a->turn > b->turn;
}

struct liner {
	const struct cells *c;
	const struct cell_message *message;
	struct cell_lines *lines;
	uint32_t *next; /* [stages] cell that is to be appended next */
	uint32_t *ring; /* [messages] */
};

static void
append_cells(struct liner *l, uint32_t stage, uint32_t end)
{
	struct cell_lines *x = l->lines;

	for (; l->next[stage] < end; l->next[stage]++)
		x->item[stage][x->n[stage]++] =
			(struct cell_item){line_of(l->c, stage)[l->next[stage]], 0};
}

static void
append_message(struct liner *l, const struct sending *e)
{
	const struct cell_message *m = &l->message[e->message];
	struct cell_lines *x = l->lines;
	const struct cell_item item = {{CELL_PHASES, CELL_PHASES, e->turn}, e->message};
	const uint32_t ring = l->ring[e->message];

	append_cells(l, m->from, cells_at(l->c, m->from, m->phase, e->turn) + 1);
	x->item[m->from][x->n[m->from]++] = item;
	if (e->turn >= ring)
		append_cells(l, m->to, cells_at(l->c, m->to, m->read, e->turn - ring) + 1);
	x->item[m->to][x->n[m->to]++] = item;
}

struct cell_lines *
cells_lines(const void *owner, const struct cells *c, const struct cell_message *message,
	uint32_t nmessages)
{
	struct cell_lines *x = NEW(owner, struct cell_lines);
	void *scratch = alloc_scratch(NULL);
	struct liner l = {c, message, x, ARRAY_ZERO(scratch, uint32_t, c->stages),
		ARRAY_NEW(scratch, uint32_t, nmessages + 1u)};
	const uint32_t n = nmessages * c->turns;
	struct sending *sending = ARRAY_NEW(scratch, struct sending, n + 1u);
	uint32_t at = 0;

	x->n = ARRAY_ZERO(x, uint32_t, c->stages);
	x->item = ARRAY_NEW(x, struct cell_item *, c->stages);
	for (uint32_t s = 0; s < c->stages; s++)
		x->item[s] = ARRAY_NEW(x, struct cell_item, line_length(c) + n);
	for (uint32_t m = 0; m < nmessages; m++) {
		l.ring[m] = cells_message_ring(c, &message[m]);
		for (uint32_t i = 0; i < c->turns; i++)
			sending[at++] = (struct sending){
				end_of(c, message[m].from, message[m].phase, i), m, i};
	}
	qsort(sending, n, sizeof *sending, by_time);
	for (uint32_t k = 0; k < n; k++)
		append_message(&l, &sending[k]);
	for (uint32_t s = 0; s < c->stages; s++)
		append_cells(&l, s, c->n[s]);
	talloc_free(scratch);
	return x;
}
