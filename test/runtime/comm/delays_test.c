/*
 * Collectives of four ranks on few cores, posted and waited for in random order, with random delays
 * before what threads tell each other: every result is there when its wait returns, and every wait
 * returns. Most delays are none.
 */
#include <stdio.h>
#include "runtime/trace/clock.h"
#include "runtime/kernel/rng.h"
#include "test/random/seeds.h"
#include "test/runtime/comm/slow.h"
#include "runtime/comm/engine_host.c"

enum {
	SEEDS = 24,
	COLLS = 6,
	ELEMENTS = 16,
	SLOT = ELEMENTS * sizeof(int32_t),
	DELAY_SHARE = 8, /* one operation of so many is late, */
	DELAY_US = 300,  /* by up to so much: a wake-up of another thread */
};

struct fixture {
	struct rt_program prog; /* first: a step gets at the rest from here */
	uint64_t seed;
	struct rt_coll colls[COLLS];
	struct rt_buf bufs[COLLS];
	_Atomic bool wrong;
};

/* Random numbers of a thread. */
static _Thread_local uint64_t drawn;

static uint64_t
draw(uint64_t below)
{
	if (!drawn)
		drawn = (uint64_t)(uintptr_t)&drawn; /* another one in every thread */
	return rt_mix64(++drawn) % below;
}

static void
slow_point(bool gives)
{
	(void)gives;
	if (draw(DELAY_SHARE) == 0)
		rt_sleep_until_ns(rt_now_ns() + (int64_t)draw(DELAY_US) * 1000);
}

/* What the rank at these coordinates has in element i of a collective's source. */
static int32_t
source_value(int64_t a, int64_t b, int64_t step, int c, int i)
{
	return (int32_t)(1000 * step + 100 * c + 10 * (2 * a + b) + i);
}

static int32_t *
elements(const struct rt_ctx *ctx, size_t at)
{
	return (int32_t *)(void *)(ctx->arena + at);
}

static void
begin(struct rt_ctx *ctx, const struct fixture *f, int c)
{
	for (int i = 0; i < ELEMENTS; i++) {
		elements(ctx, f->bufs[c].src)[i] =
			source_value(ctx->coord[0], ctx->coord[1], ctx->step, c, i);
		elements(ctx, f->bufs[c].dst)[i] = -1;
	}
	rt_post(ctx, c);
}

static void
end(struct rt_ctx *ctx, struct fixture *f, int c)
{
	const struct rt_coll *coll = &f->colls[c];
	rt_wait(ctx, c);
	for (int i = 0; i < ELEMENTS; i++) {
		int32_t of[2]; /* the places on the axis */
		for (int p = 0; p < 2; p++)
			of[p] = source_value(coll->axis == 0 ? p : ctx->coord[0],
				coll->axis == 1 ? p : ctx->coord[1], ctx->step, c, i);
		const bool gets = coll->kind != RT_SEND || ctx->coord[coll->axis] == coll->to;
		const int32_t want = !gets                        ? -1
				     : coll->kind == RT_ALLREDUCE ? of[0] + of[1]
								  : of[coll->from];
		if (elements(ctx, f->bufs[c].dst)[i] != want)
			atomic_store_explicit(&f->wrong, true, memory_order_release);
	}
}

/* All are posted in their order; each rank waits for what it likes in between. */
static void
step(struct rt_ctx *ctx)
{
	struct fixture *f = (struct fixture *)ctx->prog;
	const uint64_t key = f->seed * 1000 + (uint64_t)ctx->step;
	const uint64_t mine = rt_mix64(key * 4 + (uint64_t)(2 * ctx->coord[0] + ctx->coord[1]));
	bool ended[COLLS] = {false};
	for (int c = 0; c < COLLS; c++) {
		begin(ctx, f, c);
		const int other = (int)((mine >> 4 * c) % COLLS);
		if (other <= c && !ended[other])
			end(ctx, f, other);
		ended[other] = ended[other] || other <= c;
		slow_point(false);
	}
	for (int c = 0; c < COLLS; c++)
		if (!ended[c])
			end(ctx, f, c);
}

static void
results_are_there_whoever_is_late(void **state)
{
	static const struct rt_axis axes[] = {{"a", 2, false}, {"b", 2, false}};
	static const enum rt_coll_kind kinds[] = {RT_ALLREDUCE, RT_BROADCAST, RT_SEND};
	(void)state;
	struct random_seeds range[RANDOM_RANGES];
	random_seeds(SEEDS, range);
	for (int k = 0; k < random_count(range); k++) {
		const uint64_t seed = random_nth(range, k);
		random_try(seed, 1);
		struct fixture f = {.seed = seed};
		for (int c = 0; c < COLLS; c++) {
			const uint64_t r = rt_mix64(seed * COLLS + (uint64_t)c);
			f.bufs[c] = (struct rt_buf){.src = (size_t)(2 * c) * SLOT,
				.dst = (size_t)(2 * c + 1) * SLOT,
				.outer = 1,
				.n = ELEMENTS,
				.inner = 1};
			f.colls[c] = (struct rt_coll){.name = "c",
				.kind = kinds[r % 3],
				.axis = r >> 8 & 1,
				.dtype = RT_i32,
				.from = r >> 9 & 1,
				.to = ~r >> 9 & 1,
				.nbufs = 1,
				.bufs = &f.bufs[c],
				.bytes = SLOT};
		}
		f.prog = (struct rt_program){.abi = RT_ABI_VERSION,
			.name = "delays",
			.naxes = 2,
			.axes = axes,
			.ncolls = COLLS,
			.colls = f.colls,
			.arena_bytes = (size_t)2 * COLLS * SLOT,
			.step = step};
		assert_int_equal(slow_run(&f.prog, "10", &f.wrong), 0);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(results_are_there_whoever_is_late)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
