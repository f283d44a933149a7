/* The times of collectives on links that nobody shares. */
#include "passes/analysis/collective/collective.h"
#include "test/unit.h"

#include <math.h>

/* A ring step by step: in each of the P-1 turns every place sends one piece to its neighbour. */
static double
ring_turns(int places, double bytes, double alpha, double beta)
{
	double t = 0;
	for (int turn = 1; turn < places; turn++)
		t += alpha + bytes / places / beta;
	return t;
}

static void
collectives_take_their_turns(void **state)
{
	(void)state;
	const double alpha = 3e-6, beta = 2e9, bytes = 6e6;
	for (int p = 2; p <= 64; p *= 2) {
		double ring = ring_turns(p, bytes, alpha, beta);
		for (int c = 0; c < RT_COLL_KINDS; c++) {
			double t = collective_ring_seconds(
				(enum rt_coll_kind)c, p, bytes, alpha, beta);
			double want = ring;
			if (c == RT_ALLREDUCE)
				want = 2 * ring;
			else if (c == RT_BROADCAST || c == RT_REDUCE)
				want = (p - 1) * alpha + bytes / beta;
			else if (c == RT_SEND)
				want = alpha + bytes / beta;
			assert_true(fabs(t / want - 1) < 1e-12);
			assert_true(collective_ring_seconds(
					    (enum rt_coll_kind)c, 1, bytes, alpha, beta) == 0);
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(collectives_take_their_turns),
	};
	return cmocka_run_group_tests_name("ring", tests, NULL, NULL);
}
