/*
 * The transport of a rank goes from its communication thread to its computing thread and back, and
 * nobody is left waiting. Four ranks, few cores:
 *
 *	         b = 0   b = 1
 *	a = 0    00 ---- 01       every rank has a group on axis a, up and down,
 *	          |       |       and one on axis b, left and right
 *	a = 1    10 ---- 11
 */
#include "runtime/trace/clock.h"
#include "test/runtime/comm/slow.h"
#include "runtime/comm/engine_host.c"

/* A communication thread takes so long to give the transport up: long enough for the computing one
 * to find it taken, and to fall asleep. */
#define GIVE_NS INT64_C(100000000)
/* A rank computes for so long if nothing ends it: much longer than being woken can take. */
#define COMPUTE_NS INT64_C(20000000000)
/* It looks so often whether something does. */
#define LOOK_NS INT64_C(200000)

enum { ON_A, ON_B };

struct fixture {
	struct rt_program prog; /* first: a step gets at the rest from here */
	_Atomic bool got[2];    /* by the rank of a = 1 and this b */
	_Atomic bool wrong;
};

/* The threads that execute steps are no communication threads. */
static _Thread_local bool computes;

static void
slow_point(bool gives)
{
	if (gives && !computes)
		rt_sleep_until_ns(rt_now_ns() + GIVE_NS);
}

/* Computes until that has been got. */
static void
compute(const _Atomic bool *got, _Atomic bool *wrong)
{
	const int64_t end = rt_now_ns() + COMPUTE_NS;
	while (!atomic_load_explicit(got, memory_order_acquire)) {
		if (rt_now_ns() >= end) {
			atomic_store_explicit(wrong, true, memory_order_release);
			return;
		}
		rt_sleep_until_ns(rt_now_ns() + LOOK_NS);
	}
}

static void
run(const char *name, void (*step)(struct rt_ctx *))
{
	static const struct rt_axis axes[] = {{"a", 2, false}, {"b", 2, false}};
	static const struct rt_buf bufs[] = {
		{0, 0, 1, 16, 1, 0, 0, 0, false, 0}, {64, 64, 1, 16, 1, 0, 0, 0, false, 0}};
	struct rt_coll colls[2];
	for (int a = 0; a < 2; a++)
		colls[a] = (struct rt_coll){.name = axes[a].name,
			.kind = RT_ALLREDUCE,
			.axis = (uint8_t)a,
			.dtype = RT_f32,
			.nbufs = 1,
			.bufs = &bufs[a],
			.bytes = 64};
	struct fixture f = {.prog = {.abi = RT_ABI_VERSION,
				    .name = name,
				    .naxes = 2,
				    .axes = axes,
				    .ncolls = 2,
				    .colls = colls,
				    .arena_bytes = 128,
				    .step = step}};
	assert_int_equal(slow_run(&f.prog, "1", &f.wrong), 0);
}

/* 10 and 11 wait for sums on axis a, which the communication threads of 00 and 01 execute. They are
 * complete, and those threads still have the transport, when 00 and 01 wait for that on axis b. */
static void
waits_behind_another(struct rt_ctx *ctx)
{
	struct fixture *f = (struct fixture *)ctx->prog;
	const int64_t b = ctx->coord[1];
	computes = true;
	rt_post(ctx, ON_A);
	if (ctx->coord[0] == 0) {
		rt_post(ctx, ON_B);
		compute(&f->got[b], &f->wrong);
		rt_wait(ctx, ON_A);
	} else {
		rt_wait(ctx, ON_A);
		atomic_store_explicit(&f->got[b], true, memory_order_release);
		rt_post(ctx, ON_B);
	}
	rt_wait(ctx, ON_B);
}

static void
who_waits_gets_the_transport_once_it_is_given_up(void **state)
{
	(void)state;
	run("behind", waits_behind_another);
}

/* 10 waits for a sum with 00, which has to go through one with 01 before; all but 10 compute. */
static void
waits_for_one_that_needs_another(struct rt_ctx *ctx)
{
	struct fixture *f = (struct fixture *)ctx->prog;
	const bool waits = ctx->coord[0] == 1 && ctx->coord[1] == 0;
	computes = true;
	rt_post(ctx, ON_B);
	rt_post(ctx, ON_A);
	if (!waits)
		compute(&f->got[0], &f->wrong);
	rt_wait(ctx, ON_A);
	if (waits)
		atomic_store_explicit(&f->got[0], true, memory_order_release);
	rt_wait(ctx, ON_B);
}

static void
who_is_called_calls_those_it_needs(void **state)
{
	(void)state;
	run("needs", waits_for_one_that_needs_another);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_waits_gets_the_transport_once_it_is_given_up),
		cmocka_unit_test(who_is_called_calls_those_it_needs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
