/* A rank that waits for a collective gets it while the others compute, wherever theirs would run.
 */
#include <stdatomic.h>
#include "runtime/trace/clock.h"
#include "runtime/rt_program.h"
#include "test/unit.h"

/* A rank computes for so long if nothing ends it: much longer than being woken can take. */
#define COMPUTE_NS INT64_C(20000000000)
/* Until the other rank has begun to wait, and given up looking. */
#define LATE_NS INT64_C(20000000)

struct fixture {
	struct rt_program prog; /* first: a step gets at the rest from here */
	bool late;              /* who computes posts when the other one already waits */
	_Atomic bool waits, got;
	bool ended; /* the computation, by the other rank's result */
};

static void
computes(struct rt_ctx *ctx, struct fixture *f)
{
	while (f->late && !atomic_load(&f->waits))
		;
	if (f->late)
		rt_sleep_until_ns(rt_now_ns() + LATE_NS);
	rt_post(ctx, 0);
	const int64_t end = rt_now_ns() + COMPUTE_NS;
	while (!atomic_load(&f->got) && rt_now_ns() < end)
		;
	f->ended = atomic_load(&f->got);
	rt_wait(ctx, 0);
}

static void
waits(struct rt_ctx *ctx, struct fixture *f)
{
	rt_post(ctx, 0);
	atomic_store(&f->waits, true);
	rt_wait(ctx, 0);
	atomic_store(&f->got, true);
}

static void
step(struct rt_ctx *ctx)
{
	struct fixture *f = (struct fixture *)ctx->prog;
	if (ctx->coord[0] == 0)
		computes(ctx, f);
	else
		waits(ctx, f);
}

static void
run(enum rt_coll_kind kind, bool late)
{
	static const struct rt_axis axis = {"dp", 2, false};
	static const struct rt_buf buf = {0, 0, 1, 16, 1, 0, 0, 0, false, 0};
	const struct rt_coll coll = {.name = "c",
		.kind = kind,
		.dtype = RT_f32,
		.to = 1,
		.nbufs = 1,
		.bufs = &buf,
		.bytes = 64};
	struct fixture f = {.late = late,
		.prog = {.abi = RT_ABI_VERSION,
			.name = "meets",
			.naxes = 1,
			.axes = &axis,
			.ncolls = 1,
			.colls = &coll,
			.arena_bytes = 64,
			.step = step}};
	char *argv[] = {"meets", "-steps", "1", NULL};
	assert_int_equal(rt_main(&f.prog, &rt_device_host, 3, argv), 0);
	assert_true(f.ended);
}

static void
a_sum_is_there_while_the_other_rank_computes(void **state)
{
	(void)state;
	run(RT_ALLREDUCE, false);
}

static void
what_is_sent_arrives_while_the_sender_computes(void **state)
{
	(void)state;
	run(RT_SEND, false);
}

static void
also_where_it_was_posted_after_the_other_began_to_wait(void **state)
{
	(void)state;
	run(RT_ALLREDUCE, true);
	run(RT_SEND, true);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sum_is_there_while_the_other_rank_computes),
		cmocka_unit_test(what_is_sent_arrives_while_the_sender_computes),
		cmocka_unit_test(also_where_it_was_posted_after_the_other_began_to_wait),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
