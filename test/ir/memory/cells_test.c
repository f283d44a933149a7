/* Lines of stages: times and slots against closed forms, and lines of messages on a machine that knows no times. */
#include "ir/base/alloc.h"
#include "ir/memory/cells.h"
#include "test/unit.h"

#include <talloc.h>

enum { MOST_STAGES = 6, MOST_TURNS = 12, BOTH = 3 /* F and B */ };

static struct cells *
cells_of(const char *schedule, uint32_t stages, uint32_t turns)
{
	const char *why = NULL;
	struct cells *c = cells_create(NULL, schedule, stages, turns, &why);

	assert_true(c && !why);
	return c;
}

/* The last stage to end does so after turns (F + B) + (stages - 1) (F + B). */
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
					const uint32_t last =
						c->end[s * m * CELL_PHASES + c->n[s] - 1];
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
				assert_int_equal(cells_ring(g, s, CELL_FORWARD, CELL_BACKWARD), m);
				assert_int_equal(cells_ring(o, s, CELL_FORWARD, CELL_BACKWARD),
					p - s < m ? p - s : m);
				assert_int_equal(cells_ring(o, s, CELL_FORWARD, CELL_FORWARD), 1);
			}
			talloc_free(g);
			talloc_free(o);
		}
}

/* A message meets when it is the next of both stages; a cell needs what is sent to it. */
static bool
ends(const struct cells *c, const struct cell_lines *x, const struct cell_message *message,
	uint32_t n)
{
	uint32_t next[MOST_STAGES] = {0}, got[2 * MOST_STAGES][MOST_TURNS] = {{0}};
	bool moves = true, all = true;

	while (moves) {
		moves = false;
		for (uint32_t s = 0; s < c->stages; s++) {
			if (next[s] == x->n[s])
				continue;
			const struct cell_item *it = &x->item[s][next[s]];
			if (it->cell.phase < CELL_PHASES) {
				for (uint32_t k = 0; k < n; k++)
					if (message[k].to == s &&
						cell_does(&it->cell, message[k].phase))
						assert_true(got[k][it->cell.turn]);
				next[s]++;
				moves = true;
				continue;
			}
			const struct cell_message *m = &message[it->message];
			const uint32_t at = m->from == s ? m->to : m->from;
			const struct cell_item *other = &x->item[at][next[at]];
			if (next[at] == x->n[at] || other->cell.phase < CELL_PHASES ||
				other->message != it->message || other->cell.turn != it->cell.turn)
				continue;
			got[it->message][it->cell.turn] = 1;
			next[s]++;
			next[at]++;
			moves = true;
		}
	}
	for (uint32_t s = 0; s < c->stages; s++)
		all &= next[s] == x->n[s];
	return all;
}

static void
lines(void **state)
{
	static const char *const name[] = {"gpipe", "1f1b"};
	(void)state;

	for (int k = 0; k < 2; k++)
		for (uint32_t p = 2; p <= MOST_STAGES; p++)
			for (uint32_t m = 1; m <= MOST_TURNS; m++) {
				struct cells *c = cells_of(name[k], p, m);
				struct cell_message message[2 * MOST_STAGES];
				uint32_t n = 0;
				for (uint32_t s = 0; s + 1 < p; s++) {
					message[n++] = (struct cell_message){
						s, s + 1, CELL_FORWARD, CELL_BACKWARD};
					message[n++] = (struct cell_message){
						s + 1, s, CELL_BACKWARD, CELL_BACKWARD};
				}
				message[n++] =
					(struct cell_message){0, p - 1, CELL_FORWARD, CELL_FORWARD};
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
	void *scratch = talloc_new(NULL);
	const char *why = NULL;
	(void)state;

	struct cells *t = cells_of("0F0,0F1,0B0,,0F2,0B1,0B2;1F0,1B0,1F1,1B1,1F2,1B2", 2, 3),
		     *o = cells_of("1f1b", 2, 3);
	for (uint32_t s = 0; s < 2; s++)
		for (uint32_t i = 0; i < c_cells(t, s, o); i++) {
			const uint32_t k = s * 3 * CELL_PHASES + i;
			assert_int_equal(t->cell[k].phase, o->cell[k].phase);
			assert_int_equal(t->cell[k].last, o->cell[k].last);
			assert_int_equal(t->cell[k].turn, o->cell[k].turn);
		}
	/* I and W of the first stage are apart: three of what F leaves for W are there at once. */
	struct cells *z =
		cells_of("0F0,0F1,0I0,0F2,0I1,0I2,0W0,0W1,0W2;1F0,1B0,1F1,1B1,1F2,1B2", 2, 3);
	assert_true(z->divided && !t->divided);
	assert_int_equal(cells_ring(z, 0, CELL_FORWARD, CELL_WEIGHT), 3);
	assert_int_equal(cells_ring(z, 0, CELL_FORWARD, CELL_BACKWARD), 2);
	assert_int_equal(cells_ring(z, 1, CELL_FORWARD, CELL_WEIGHT), 1);
	talloc_free(z);
	assert_null(cells_create(scratch, "0F0,0B0;0F0,0B0", 2, 1, &why));
	assert_non_null(why);
	assert_null(cells_create(scratch, "0B0,0F0", 1, 1, &why));
	assert_null(cells_create(scratch, "0F0,0B0;", 1, 1, &why));
	assert_null(cells_create(scratch, "0F0,0B0,0F1", 1, 1, &why));
	assert_null(cells_create(scratch, "0F99999999999999999999,0B0", 1, 1, &why));
	talloc_free(t);
	talloc_free(o);
	talloc_free(scratch);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(makespan), cmocka_unit_test(slots),
		cmocka_unit_test(lines), cmocka_unit_test(tables)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
