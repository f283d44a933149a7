/* Schedules of pipelines: see cells.h. */
#include "ir/memory/cells.h"
#include "ir/base/sort.h"

#include "ir/base/alloc.h"
#include "ir/base/vec.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>

enum { NOT_PLACED = UINT32_MAX };

static struct stage_cell *
line_of(const struct cells *c, uint32_t device)
{
	return &c->cell[(size_t)device * c->most];
}

/* `ahead` forward cells, then alternately backward and forward. */
static void
make_line(struct cells *c, uint32_t stage, uint32_t ahead)
{
	struct stage_cell *line = line_of(c, stage);
	const uint16_t s = (uint16_t)stage;
	uint32_t n = 0, forward = 0, backward = 0;

	while (backward < c->iterations)
		if (forward < c->iterations && forward < backward + ahead)
			line[n++] = (struct stage_cell){CELL_FORWARD, CELL_FORWARD, s, forward++};
		else
			line[n++] = (struct stage_cell){CELL_BACKWARD, CELL_WEIGHT, s, backward++};
	c->n[stage] = n;
}

static const char *
read_number(const char *at, const char *end, int64_t *n)
{
	for (*n = -1; at < end && *at >= '0' && *at <= '9'; at++) {
		*n = (*n < 0 ? 0 : 10 * *n) + *at - '0';
		*n = *n > CELL_NUMBER_MOST ? CELL_NUMBER_MOST : *n;
	}
	return at;
}

const char *
cell_text_read(const char *at, const char *end, struct cell_text *t)
{
	t->kind = at = read_number(at, end, &t->stage);
	while (at < end && (isalpha((unsigned char)*at) || *at == '_'))
		at++;
	t->length = (size_t)(at - t->kind);
	return read_number(at, end, &t->iteration);
}

/* "0F12", of any stage. Returns the text after it, NULL if it is not a cell. */
static const char *
read_cell(const char *at, int64_t *stage, struct stage_cell *cell)
{
	static const struct {
		char name;
		uint8_t phase, last;
	} kinds[] = {{'F', CELL_FORWARD, CELL_FORWARD}, {'B', CELL_BACKWARD, CELL_WEIGHT},
		{'I', CELL_BACKWARD, CELL_BACKWARD}, {'W', CELL_WEIGHT, CELL_WEIGHT}};
	struct cell_text t;
	int k = 0;

	at = cell_text_read(at, at + strcspn(at, ",;"), &t);
	while (k < 4 && kinds[k].name != *t.kind)
		k++;
	if (t.stage < 0 || t.iteration < 0 || t.length != 1 || k == 4)
		return NULL;
	*stage = t.stage;
	*cell = (struct stage_cell){
		kinds[k].phase, kinds[k].last, (uint16_t)t.stage, (uint32_t)t.iteration};
	return at;
}

/* Is the cell the next one of its phases? */
static bool
is_next(const struct cells *c, const struct stage_cell *cell, uint32_t *next)
{
	for (uint32_t k = cell->phase; k <= cell->last; k++)
		if (cell->iteration >= c->iterations ||
			cell->iteration != next[cell->stage * CELL_PHASES + k]++)
			return false;
	return true;
}

/* Reads the cells of a device; next: the next iteration of each stage and phase. */
static const char *
read_line(const void *owner, struct cells *c, uint32_t device, uint32_t *next, const char **text)
{
	struct stage_cell *line = line_of(c, device);
	const char *at = *text;

	for (bool first = true; first || *at == ','; first = false) {
		struct stage_cell cell;
		int64_t stage;
		at += !first;
		if (*at == ',' || *at == ';' || !*at)
			continue; /* idle */
		const char *end = read_cell(at, &stage, &cell);
		if (!end)
			return TEXT(owner,
				"expected gpipe, 1f1b or cells such as %uF0 at \"%.12s\"", device,
				at);
		if (stage >= c->stages || c->device[stage] != device)
			return TEXT(owner,
				"%.*s is in the line of device %u, which does not have stage %" PRId64,
				(int)(end - at), at, device, stage);
		if (!is_next(c, &cell, next))
			return TEXT(owner,
				"%.*s of stage %" PRId64
				" is out of order or too many: each stage has "
				"F0 to F%u and B0 to B%u, or I and W, in that order",
				(int)(end - at), at, stage, c->iterations - 1, c->iterations - 1);
		c->divided |= cell.phase == CELL_WEIGHT;
		line[c->n[device]++] = cell;
		at = end;
	}
	*text = at;
	return NULL;
}

static const char *
read_table(const void *owner, struct cells *c, const char *text)
{
	uint32_t *next = ARRAY_ZERO(c, uint32_t, c->stages * CELL_PHASES);
	const char *why = NULL;

	for (uint32_t device = 0; device < c->devices; device++) {
		if (device && *text++ != ';')
			return TEXT(owner, "it has %u lines, not one for each of %u devices",
				device, c->devices);
		if ((why = read_line(owner, c, device, next, &text)))
			return why;
	}
	for (uint32_t k = 0; k < c->stages * CELL_PHASES; k++)
		if (next[k] < c->iterations)
			return TEXT(owner, "stage %u ends before it has done all %u micro-batches",
				k / CELL_PHASES, c->iterations);
	return *text ? TEXT(owner, "it has more than %u lines, one for each device", c->devices)
		     : NULL;
}

static void
find_places(struct cells *c)
{
	for (uint32_t d = 0; d < c->devices; d++)
		for (uint32_t k = 0; k < c->n[d]; k++) {
			const struct stage_cell *x = &line_of(c, d)[k];
			for (uint32_t phase = x->phase; phase <= x->last; phase++)
				c->at[(x->stage * CELL_PHASES + phase) * c->iterations +
					x->iteration] = k;
		}
}

static uint32_t
end_of(const struct cells *c, uint32_t stage, uint32_t phase, uint32_t iteration)
{
	return c->end[(size_t)c->device[stage] * c->most + cells_at(c, stage, phase, iteration)];
}

/* When all cells that cell x depends on have ended; NOT_PLACED: not known yet. */
static uint32_t
ready(const struct cells *c, const struct stage_cell *x)
{
	const uint32_t stage = x->stage;
	uint32_t t = 0;

	if (x->phase == CELL_FORWARD)
		return stage ? end_of(c, stage - 1, CELL_FORWARD, x->iteration) : 0;
	if (x->phase == CELL_WEIGHT)
		return end_of(c, stage, CELL_BACKWARD, x->iteration);
	t = end_of(c, stage, CELL_FORWARD, x->iteration);
	if (stage + 1 == c->stages || t == NOT_PLACED)
		return t;
	const uint32_t other = end_of(c, stage + 1, CELL_BACKWARD, x->iteration);
	return other == NOT_PLACED || other > t ? other : t;
}

/* False: deadlock, devices wait for each other. */
static bool
simulate(struct cells *c)
{
	uint32_t *next = ARRAY_ZERO(NULL, uint32_t, c->devices),
		 *now = ARRAY_ZERO(NULL, uint32_t, c->devices), left = 0;

	for (uint32_t i = 0; i < c->devices * c->most; i++)
		c->end[i] = NOT_PLACED;
	for (uint32_t d = 0; d < c->devices; d++)
		left += c->n[d];
	for (bool moves = true; moves && left;) {
		moves = false;
		for (uint32_t d = 0; d < c->devices; d++)
			for (; next[d] < c->n[d]; next[d]++, left--, moves = true) {
				const size_t k = (size_t)d * c->most + next[d];
				const struct stage_cell *x = &c->cell[k];
				const uint32_t t = ready(c, x);
				if (t == NOT_PLACED)
					break;
				c->begin[k] = t > now[d] ? t : now[d];
				now[d] = c->end[k] =
					c->begin[k] + (uint32_t)(x->last - x->phase + 1);
			}
	}
	array_free(next);
	array_free(now);
	return !left;
}

/* The stages of each device. Returns an error if a device has too many, else NULL. */
static const char *
find_devices(const void *owner, struct cells *c, const uint16_t *of)
{
	uint32_t *stages = ARRAY_ZERO(c, uint32_t, c->devices), most = 0;

	for (uint32_t s = 0; s < c->stages; s++) {
		c->device[s] = of ? of[s] : s;
		c->number[s] = stages[c->device[s]]++;
		most = stages[c->device[s]] > most ? stages[c->device[s]] : most;
	}
	c->most = most * CELL_PHASES * c->iterations;
	return most > CELL_STAGES_MOST
		       ? TEXT(owner, "a device has %u stages, more than %d", most, CELL_STAGES_MOST)
		       : NULL;
}

/* Makes the cells of the schedule. Returns why it cannot, or NULL. */
static const char *
make_lines(const void *owner, struct cells *c, const char *schedule)
{
	const bool gpipe = strcmp(schedule, "gpipe") == 0, one = strcmp(schedule, "1f1b") == 0;

	if (!gpipe && !one)
		return read_table(owner, c, schedule);
	if (cells_are_several(c))
		return TEXT(owner, "%s is for one stage on each device; here %u devices have %u",
			schedule, c->devices, c->stages);
	for (uint32_t s = 0; s < c->stages; s++)
		make_line(c, s, gpipe ? c->iterations : c->stages - s);
	return NULL;
}

struct cells *
cells_create(const void *owner, const char *schedule, struct cell_places places,
	uint32_t iterations, const char **why)
{
	struct cells *c = NEW(owner, struct cells);
	const uint32_t stages = places.stages;

	*c = (struct cells){.devices = places.devices,
		.stages = stages,
		.iterations = iterations,
		.device = ARRAY_NEW(c, uint32_t, stages),
		.number = ARRAY_NEW(c, uint32_t, stages),
		.n = ARRAY_ZERO(c, uint32_t, places.devices),
		.at = ARRAY_NEW(c, uint32_t, (size_t)stages * CELL_PHASES * iterations)};
	*why = find_devices(owner, c, places.of);
	if (!*why) {
		const size_t n = (size_t)c->devices * c->most;
		c->cell = ARRAY_NEW(c, struct stage_cell, n);
		c->begin = ARRAY_NEW(c, uint32_t, n);
		c->end = ARRAY_NEW(c, uint32_t, n);
		*why = make_lines(owner, c, schedule);
	}
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
cells_ring(const struct cells *c, uint32_t stage, uint32_t made, uint64_t read)
{
	uint32_t n = 1;

	for (uint32_t s = 0; s < c->stages; s++)
		for (uint32_t phase = 0; phase < CELL_PHASES && c->device[s] == c->device[stage];
			phase++)
			for (uint32_t i = 0;
				read & cells_member(c, s, phase) && i + n < c->iterations; i++)
				while (i + n < c->iterations &&
					cells_at(c, s, phase, i) >= cells_at(c, stage, made, i + n))
					n++;
	return n;
}

uint32_t
cells_message_ring(const struct cells *c, const struct cell_message *m)
{
	uint32_t n = m->sent_on ? c->iterations : 1;

	for (uint32_t s = 0; s < c->stages; s++)
		for (uint32_t phase = 0; phase < CELL_PHASES && c->device[s] == c->device[m->to];
			phase++)
			for (uint32_t i = 0;
				m->read & cells_member(c, s, phase) && i + n < c->iterations; i++)
				while (i + n < c->iterations &&
					end_of(c, s, phase, i) >
						end_of(c, m->from, m->phase, i + n))
					n++;
	return n;
}

/* ---- lines with messages ---- */

/* A message of one iteration, and when it is sent. */
struct sending {
	uint32_t time, message, iteration;
};

ORDER_BY(by_time, struct sending, UP(time), UP(message), UP(iteration))

struct liner {
	const struct cells *c;
	const struct cell_message *message;
	struct cell_lines *lines;
	uint32_t *next; /* [devices] next cell to append */
	uint32_t *ring; /* [messages] */
};

static void
append_cells(struct liner *l, uint32_t device, uint32_t end)
{
	struct cell_lines *x = l->lines;

	for (; l->next[device] < end; l->next[device]++)
		x->item[device][x->n[device]++] =
			(struct cell_item){line_of(l->c, device)[l->next[device]], 0};
}

/* The last cell in which the receiving device reads the message of iteration `iteration`. */
static uint32_t
last_read(const struct cells *c, const struct cell_message *m, uint32_t iteration)
{
	uint32_t last = 0;

	for (uint32_t s = 0; s < c->stages; s++)
		for (uint32_t phase = 0; phase < CELL_PHASES && c->device[s] == c->device[m->to];
			phase++)
			if (m->read & cells_member(c, s, phase) &&
				cells_at(c, s, phase, iteration) > last)
				last = cells_at(c, s, phase, iteration);
	return last;
}

/* Appends the cells of the device that begin before that time. */
static void
append_before(struct liner *l, uint32_t device, uint32_t time)
{
	const uint32_t *begin = &l->c->begin[(size_t)device * l->c->most];
	uint32_t end = l->next[device];

	while (end < l->c->n[device] && begin[end] < time)
		end++;
	append_cells(l, device, end);
}

static void
append_message(struct liner *l, const struct sending *e)
{
	const struct cell_message *m = &l->message[e->message];
	struct cell_lines *x = l->lines;
	const struct cell_item item = {{CELL_PHASES, CELL_PHASES, 0, e->iteration}, e->message};
	const uint32_t ring = l->ring[e->message], from = l->c->device[m->from],
		       to = l->c->device[m->to];

	append_cells(l, from, cells_at(l->c, m->from, m->phase, e->iteration) + 1);
	x->item[from][x->n[from]++] = item;
	if (e->iteration >= ring)
		append_cells(l, to, last_read(l->c, m, e->iteration - ring) + 1);
	if (m->late)
		append_before(l, to, e->time);
	x->item[to][x->n[to]++] = item;
}

struct cell_lines *
cells_lines(const void *owner, const struct cells *c, const struct cell_message *message,
	uint32_t nmessages)
{
	struct cell_lines *x = NEW(owner, struct cell_lines);
	void *scratch = alloc_scratch(NULL);
	struct liner l = {c, message, x, ARRAY_ZERO(scratch, uint32_t, c->devices),
		ARRAY_NEW(scratch, uint32_t, nmessages + 1u)};
	const uint32_t n = nmessages * c->iterations;
	struct sending *sending = ARRAY_NEW(scratch, struct sending, n + 1u);
	uint32_t at = 0;

	x->n = ARRAY_ZERO(x, uint32_t, c->devices);
	x->item = ARRAY_NEW(x, struct cell_item *, c->devices);
	for (uint32_t d = 0; d < c->devices; d++)
		x->item[d] = ARRAY_NEW(x, struct cell_item, c->most + n);
	for (uint32_t m = 0; m < nmessages; m++) {
		l.ring[m] = cells_message_ring(c, &message[m]);
		for (uint32_t i = 0; i < c->iterations; i++)
			sending[at++] = (struct sending){
				end_of(c, message[m].from, message[m].phase, i), m, i};
	}
	qsort(sending, n, sizeof *sending, by_time);
	for (uint32_t k = 0; k < n; k++)
		append_message(&l, &sending[k]);
	for (uint32_t d = 0; d < c->devices; d++)
		append_cells(&l, d, c->n[d]);
	talloc_free(scratch);
	return x;
}
