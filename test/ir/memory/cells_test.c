/* Lines of devices: times and slots against closed forms, and lines of messages on a machine that knows no times. */
#include "ir/base/alloc.h"
#include "ir/memory/cells.h"
#include "passes/pipeline/schedule.h"
#include "test/unit.h"

#include <stdlib.h>
#include <string.h>
#include <talloc.h>

enum { MOST_STAGES = 6, MOST_TURNS = 12, BOTH = 3 /* F and B */ };

static struct cells *
cells_of(const char *schedule, uint32_t stages, uint32_t iterations)
{
	const char *why = NULL;
	struct cells *c = cells_create(
		NULL, schedule, (struct cell_places){stages, stages, NULL}, iterations, &why);

	assert_true(c && !why);
	return c;
}

/* What F of a stage leaves for a phase of it. */
static uint32_t
ring(const struct cells *c, uint32_t stage, uint32_t read)
{
	return cells_ring(c, stage, CELL_FORWARD, cells_member(c, stage, read));
}

/* The last stage to end does so after iterations (F + B) + (stages - 1) (F + B). */
static void
makespan(void **state)
{
	static const char *const name[] = {"gpipe", "1f1b"};
	(void)state;

	for (int k = 0; k < 2; k++)
		for (uint32_t p = 1; p <= MOST_STAGES; p++)
			for (uint32_t m = 1; m <= MOST_TURNS; m++) {
				struct cells *c = cells_of(name[k], p, m);
				uint32_t end = 0;
				for (uint32_t s = 0; s < p; s++) {
					const uint32_t last = c->end[s * c->most + c->n[s] - 1];
					end = last > end ? last : end;
				}
				assert_int_equal(end, (m + p - 1) * BOTH);
				talloc_free(c);
			}
}

/* What F leaves for B: all micro-batches with gpipe, as many as there are stages from it on with 1f1b. */
static void
slots(void **state)
{
	(void)state;

	for (uint32_t p = 1; p <= MOST_STAGES; p++)
		for (uint32_t m = 1; m <= MOST_TURNS; m++) {
			struct cells *g = cells_of("gpipe", p, m), *o = cells_of("1f1b", p, m);
			for (uint32_t s = 0; s < p; s++) {
				assert_int_equal(ring(g, s, CELL_BACKWARD), m);
				assert_int_equal(ring(o, s, CELL_BACKWARD), p - s < m ? p - s : m);
				assert_int_equal(ring(o, s, CELL_FORWARD), 1);
			}
			talloc_free(g);
			talloc_free(o);
		}
}

/* A message meets when it is the next of both devices; a cell needs what is sent to it. */
static bool
ends(const struct cells *c, const struct cell_lines *x, const struct cell_message *message,
	uint32_t n)
{
	uint32_t next[MOST_STAGES] = {0}, got[4 * MOST_STAGES][MOST_TURNS] = {{0}};
	bool moves = true, all = true;

	while (moves) {
		moves = false;
		for (uint32_t d = 0; d < c->devices; d++) {
			if (next[d] == x->n[d])
				continue;
			const struct cell_item *it = &x->item[d][next[d]];
			if (it->cell.phase < CELL_PHASES) {
				for (uint32_t k = 0; k < n; k++)
					if (message[k].to == it->cell.stage &&
						cell_does(&it->cell, message[k].phase))
						assert_true(got[k][it->cell.iteration]);
				next[d]++;
				moves = true;
				continue;
			}
			const struct cell_message *m = &message[it->message];
			const uint32_t from = c->device[m->from],
				       at = from == d ? c->device[m->to] : from;
			const struct cell_item *other = &x->item[at][next[at]];
			if (next[at] == x->n[at] || other->cell.phase < CELL_PHASES ||
				other->message != it->message ||
				other->cell.iteration != it->cell.iteration)
				continue;
			got[it->message][it->cell.iteration] = 1;
			next[d]++;
			next[at]++;
			moves = true;
		}
	}
	for (uint32_t d = 0; d < c->devices; d++)
		all &= next[d] == x->n[d];
	return all;
}

/* Each stage sends to those next to it that are on another device; what comes is read until W. Returns how many. */
static uint32_t
list_messages(const struct cells *c, bool late, struct cell_message *message)
{
	uint32_t n = 0;

	for (uint32_t s = 0; s + 1 < c->stages; s++) {
		if (c->device[s] == c->device[s + 1])
			continue;
		message[n++] = (struct cell_message){
			s, s + 1, CELL_FORWARD, cells_member(c, s + 1, CELL_WEIGHT), false, late};
		message[n++] = (struct cell_message){
			s + 1, s, CELL_BACKWARD, cells_member(c, s, CELL_WEIGHT), false, late};
	}
	return n;
}

static void
lines(void **state)
{
	static const char *const name[] = {"gpipe", "1f1b"};
	(void)state;

	for (int k = 0; k < 4; k++)
		for (uint32_t p = 2; p <= MOST_STAGES; p++)
			for (uint32_t m = 1; m <= MOST_TURNS; m++) {
				struct cells *c = cells_of(name[k % 2], p, m);
				struct cell_message message[2 * MOST_STAGES];
				const bool late = k / 2;
				uint32_t n = list_messages(c, late, message);
				message[n++] = (struct cell_message){0, p - 1, CELL_FORWARD,
					cells_member(c, p - 1, CELL_FORWARD), false, late};
				const struct cell_lines *x = cells_lines(c, c, message, n);
				assert_true(ends(c, x, message, n));
				talloc_free(c);
			}
}

/* As many cells as there are in both. */
static uint32_t
c_cells(const struct cells *a, uint32_t stage, const struct cells *b)
{
	assert_int_equal(a->n[stage], b->n[stage]);
	return a->n[stage];
}

/* A table is what its text says, and reads as the names that mean the same. */
static void
tables(void **state)
{
	const struct cell_places one = {1, 1, NULL}, two = {2, 2, NULL};
	void *scratch = talloc_new(NULL);
	const char *why = NULL;
	(void)state;

	struct cells *t = cells_of("0F0,0F1,0B0,,0F2,0B1,0B2;1F0,1B0,1F1,1B1,1F2,1B2", 2, 3),
		     *o = cells_of("1f1b", 2, 3);
	for (uint32_t s = 0; s < 2; s++)
		for (uint32_t i = 0; i < c_cells(t, s, o); i++) {
			const uint32_t k = s * t->most + i;
			assert_int_equal(t->cell[k].phase, o->cell[k].phase);
			assert_int_equal(t->cell[k].last, o->cell[k].last);
			assert_int_equal(t->cell[k].iteration, o->cell[k].iteration);
		}
	/* I and W of the first stage are apart: three of what F leaves for W are there at once. */
	struct cells *z =
		cells_of("0F0,0F1,0I0,0F2,0I1,0I2,0W0,0W1,0W2;1F0,1B0,1F1,1B1,1F2,1B2", 2, 3);
	assert_true(z->divided && !t->divided);
	assert_int_equal(ring(z, 0, CELL_WEIGHT), 3);
	assert_int_equal(ring(z, 0, CELL_BACKWARD), 2);
	assert_int_equal(ring(z, 1, CELL_WEIGHT), 1);
	talloc_free(z);
	assert_null(cells_create(scratch, "0F0,0B0;0F0,0B0", two, 1, &why));
	assert_non_null(why);
	assert_null(cells_create(scratch, "0B0,0F0", one, 1, &why));
	assert_null(cells_create(scratch, "0F0,0B0;", one, 1, &why));
	assert_null(cells_create(scratch, "0F0,0B0,0F1", one, 1, &why));
	assert_null(cells_create(scratch, "0F99999999999999999999,0B0", one, 1, &why));
	talloc_free(t);
	talloc_free(o);
	talloc_free(scratch);
}

/* The text that the IR has, and where its stages are. */
static struct cells *
cells_of_schedule(const void *owner, struct schedule *s, uint32_t iterations)
{
	uint16_t *place = ARRAY_NEW(owner, uint16_t, s->nstages);
	const char *why = NULL;
	char *text;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	for (int r = 0; r < s->nranks; r++)
		for (int i = 0; i < s->rank[r].n; i++) { /* each in a cell of its own */
			s->rank[r].action[i].overlapped = false;
			s->rank[r].action[i].cell = i;
		}
	schedule_write(out, s);
	fclose(out);
	text[length - 1] = 0;
	for (char *at = text; *at; at++)
		*at = *at == '\n' ? ';' : *at;
	for (int k = 0; k < s->nstages; k++)
		place[k] = (uint16_t)s->rank_of[k];
	struct cells *c = cells_create(owner, text,
		(struct cell_places){(uint32_t)s->nranks, (uint32_t)s->nstages, place}, iterations,
		&why);
	free(text);
	return c;
}

/* Micro-batches whose F is done and whose W is not, at most. */
static uint32_t
most_live(const struct cells *c, uint32_t stage)
{
	const uint32_t device = c->device[stage];
	uint32_t live = 0, most = 0;

	for (uint32_t i = 0; i < c->n[device]; i++) {
		const struct stage_cell *x = &cells_line(c, device)[i];
		if (x->stage != stage)
			continue;
		live += x->phase == CELL_FORWARD;
		most = live > most ? live : most;
		live -= x->last == CELL_WEIGHT;
	}
	return most;
}

/* The lines as a schedule with sends and receives. */
static struct schedule *
schedule_of_lines(const void *owner, const struct cells *c, const struct cell_lines *x,
	const struct cell_message *message)
{
	static const enum schedule_kind kind[] = {
		SCHEDULE_FORWARD, SCHEDULE_INPUT, SCHEDULE_WEIGHT};
	struct schedule *s = schedule_create(owner, (int)c->devices);

	for (uint32_t d = 0; d < c->devices; d++)
		for (uint32_t i = 0; i < x->n[d]; i++) {
			const struct stage_cell *cell = &x->item[d][i].cell;
			const struct cell_message *m = &message[x->item[d][i].message];
			const bool forward = m->phase == CELL_FORWARD,
				   sends = c->device[m->from] == d;
			if (cell->phase < CELL_PHASES)
				schedule_add(s, (int)d,
					cell->last > cell->phase ? SCHEDULE_BACKWARD
								 : kind[cell->phase],
					cell->stage, (int)cell->iteration);
			else
				schedule_add(s, (int)d,
					forward ? (sends ? SCHEDULE_SEND_F : SCHEDULE_RECV_F)
						: (sends ? SCHEDULE_SEND_B : SCHEDULE_RECV_B),
					(int)(sends ? m->from : m->to), (int)cell->iteration);
		}
	schedule_finish(s);
	return s;
}

/* A device receives after all cells that begin before the message is sent. */
static void
expect_late(const struct cells *c, const struct cell_lines *x, const struct cell_message *message)
{
	for (uint32_t d = 0; d < c->devices; d++) {
		uint32_t cells = 0;
		for (uint32_t i = 0; i < x->n[d]; i++) {
			const struct cell_item *it = &x->item[d][i];
			const struct cell_message *m = &message[it->message];
			cells += it->cell.phase < CELL_PHASES;
			if (it->cell.phase < CELL_PHASES || c->device[m->to] != d ||
				cells == c->n[d])
				continue;
			const uint32_t from = c->device[m->from],
				       sent = c->end[from * c->most + cells_at(c, m->from, m->phase,
									      it->cell.iteration)];
			assert_true(c->begin[d * c->most + cells] >= sent);
		}
	}
}

/* The checker of schedules finds no deadlock, not even where a device waits in each send and receive for the other end;
 * so none is possible where sends and receives are queued, as NCCL's are in the stream of communication. */
static void
verify_lines_of(const void *owner, const struct cells *c, struct diag *diag, bool late)
{
	struct cell_message message[4 * MOST_STAGES];
	const uint32_t n = list_messages(c, late, message);
	const struct cell_lines *x = cells_lines(owner, c, message, n);
	const struct schedule *s = schedule_of_lines(owner, c, x, message);

	assert_true(ends(c, x, message, n));
	assert_true(schedule_verify(s, diag, SCHEDULE_BLOCKING));
	assert_true(schedule_verify(s, diag, SCHEDULE_QUEUED));
	assert_true(schedule_verify(s, diag, SCHEDULE_TAGGED));
	if (late)
		expect_late(c, x, message);
}

static void
verify_lines(const void *owner, const struct cells *c, struct diag *diag)
{
	verify_lines_of(owner, c, diag, false);
	verify_lines_of(owner, c, diag, true);
}

/* Of all schedules with a name: the makespan is that of the library, slots are as many as there are
 * micro-batches at once, and no device waits for ever. */
static void
named(void **state)
{
	struct diag *diag = diag_create(NULL);
	(void)state;

	for (int name = 0; name < SCHEDULE_NNAMES; name++)
		for (int p = 2; p <= MOST_STAGES; p++)
			for (int m = 1; m <= MOST_TURNS; m++) {
				struct schedule *s = schedule_make(
					diag, diag, (enum schedule_name)name, p, 0, m);
				struct schedule_stage unit[2 * MOST_STAGES];
				for (int i = 0; i < s->nstages; i++)
					unit[i] = (struct schedule_stage){1, 1, 1, 0, 1, 1};
				const struct schedule_cost *cost =
					schedule_cost(diag, s, diag, SCHEDULE_TAGGED, unit);
				const struct cells *c = cells_of_schedule(diag, s, (uint32_t)m);
				uint32_t end = 0;
				assert_non_null(c);
				for (uint32_t d = 0; d < c->devices; d++) {
					const uint32_t last = c->end[d * c->most + c->n[d] - 1];
					end = last > end ? last : end;
				}
				assert_int_equal(end, (uint32_t)cost->makespan);
				for (uint32_t i = 0; i < c->stages; i++)
					assert_int_equal(ring(c, i, CELL_WEIGHT), most_live(c, i));
				verify_lines(diag, c, diag);
			}
	talloc_free(diag);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(makespan), cmocka_unit_test(slots),
		cmocka_unit_test(lines), cmocka_unit_test(tables), cmocka_unit_test(named)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
