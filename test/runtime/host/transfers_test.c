/* Transfers between the arena and host memory: order, many at once, waits, zero bytes, several
 * ranks, and a rank that fails while transfers are on their way. */
#include "runtime/comm/world.h"
#include "runtime/rank.h"
#include "test/unit.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	SECONDS = 60, /* a program takes far less: then it waits for ever */
	MANY = 700,   /* more than the ring of a direction has room for */
	UNIT = 64,    /* bytes; transfer i has (i % SIZES) of them */
	SIZES = 5,    /* of them one is 0 */
	SLOT = SIZES * UNIT,
	BYTES = MANY * SLOT,
};

/* Transfer i takes slot i to the host, transfer MANY + i brings it back into another slot. */
static struct rt_transfer transfers[2 * MANY];

struct fixture {
	struct rt_program prog; /* first: a step gets at the rest from here */
	void (*run)(struct rt_ctx *ctx);
};

static size_t
bytes_of(int i)
{
	return (size_t)(i % SIZES) * UNIT;
}

static unsigned char
pattern(const struct rt_ctx *ctx, int i, size_t k)
{
	return (unsigned char)(7 * i + 13 * (int)k + 3 * (int)ctx->step + (int)ctx->coord[0] + 1);
}

static void
fill(struct rt_ctx *ctx)
{
	for (int i = 0; i < MANY; i++)
		for (size_t k = 0; k < SLOT; k++)
			ctx->arena[(size_t)i * SLOT + k] = pattern(ctx, i, k);
	memset(ctx->arena + BYTES, 0, BYTES);
}

/* Slot i of `base` has what fill has written, as far as the transfer reaches, and 0 behind. */
static bool
is_there(const struct rt_ctx *ctx, const unsigned char *base, int i)
{
	for (size_t k = 0; k < SLOT; k++)
		if (base[(size_t)i * SLOT + k] != (k < bytes_of(i) ? pattern(ctx, i, k) : 0))
			return false;
	return true;
}

static void
expect(const struct rt_ctx *ctx, bool holds)
{
	if (!holds)
		rt_abort(ctx->rank->world, 9);
}

/* All are posted before the first wait; the last one of a direction is complete after all others. */
static void
many(struct rt_ctx *ctx)
{
	fill(ctx);
	for (int i = 0; i < MANY; i++)
		rt_transfer_post(ctx, i);
	rt_transfer_wait(ctx, MANY - 1);
	for (int i = 0; i < MANY; i++)
		expect(ctx, is_there(ctx, ctx->host, i));
	for (int i = 0; i < MANY; i++)
		rt_transfer_post(ctx, MANY + i);
	rt_transfer_wait(ctx, 2 * MANY - 1);
	for (int i = 0; i < MANY; i++)
		expect(ctx, is_there(ctx, ctx->arena + BYTES, i));
}

/* Each is waited for at once: both directions, each transfer many times in a step. */
static void
each(struct rt_ctx *ctx)
{
	fill(ctx);
	for (int again = 0; again < 3; again++)
		for (int i = 0; i < MANY; i += 31) {
			ctx->arena[(size_t)i * SLOT] = (unsigned char)again;
			rt_transfer_post(ctx, i);
			rt_transfer_wait(ctx, i);
			expect(ctx, !bytes_of(i) || ctx->host[(size_t)i * SLOT] == again);
			rt_transfer_post(ctx, MANY + i);
			rt_transfer_wait(ctx, MANY + i);
			expect(ctx, !bytes_of(i) || ctx->arena[BYTES + (size_t)i * SLOT] == again);
		}
}

/* A pipeline: the next is on its way to the host while the one before comes back. */
static void
both_ways(struct rt_ctx *ctx)
{
	fill(ctx);
	rt_transfer_post(ctx, 0);
	for (int i = 0; i < MANY; i++) {
		if (i + 1 < MANY)
			rt_transfer_post(ctx, i + 1);
		rt_transfer_wait(ctx, i);
		rt_transfer_post(ctx, MANY + i);
		if (i)
			rt_transfer_wait(ctx, MANY + i - 1);
		expect(ctx, !i || is_there(ctx, ctx->arena + BYTES, i - 1));
	}
	rt_transfer_wait(ctx, 2 * MANY - 1);
	expect(ctx, is_there(ctx, ctx->arena + BYTES, MANY - 1));
}

/* What the step does not wait for is complete when it is over; a wait without a post is none. */
static void
left(struct rt_ctx *ctx)
{
	rt_transfer_wait(ctx, 3);
	if (ctx->step > 0)
		for (int i = 0; i < MANY; i++)
			expect(ctx, ctx->host[(size_t)i * SLOT] ==
					    (bytes_of(i) ? (unsigned char)ctx->step : 0));
	memset(ctx->arena, (int)ctx->step + 1, BYTES);
	for (int i = 0; i < MANY; i++)
		rt_transfer_post(ctx, i);
}

/* The last rank gives up while transfers are on their way. */
static void
fails(struct rt_ctx *ctx)
{
	fill(ctx);
	for (int i = 0; i < MANY; i++)
		rt_transfer_post(ctx, i);
	if (ctx->rank->world->rank == ctx->rank->world->nranks - 1)
		rt_abort(ctx->rank->world, 5);
	rt_transfer_wait(ctx, MANY - 1);
}

static void
step(struct rt_ctx *ctx)
{
	((const struct fixture *)ctx->prog)->run(ctx);
}

static void
make_transfers(void)
{
	for (int i = 0; i < MANY; i++) {
		const size_t at = (size_t)i * SLOT;
		transfers[i] = (struct rt_transfer){.name = "offload",
			.to_host = true,
			.device = at,
			.host = at,
			.bytes = bytes_of(i)};
		transfers[MANY + i] = transfers[i];
		transfers[MANY + i].to_host = false;
		transfers[MANY + i].device = BYTES + at;
	}
}

/* Runs the program in a child process; returns its exit code. */
static int
run(void (*what)(struct rt_ctx *ctx), int ranks, char *option, char *value)
{
	const struct rt_axis axis = {"dp", ranks, false};
	struct fixture f = {.run = what,
		.prog = {.abi = RT_ABI_VERSION,
			.name = "transfers",
			.naxes = 1,
			.axes = &axis,
			.ntransfers = 2 * MANY,
			.transfers = transfers,
			.arena_bytes = 2 * BYTES,
			.host_bytes = BYTES,
			.step = step}};
	char *argv[] = {"transfers", "-steps", "3", option, value, NULL};
	make_transfers();
	fflush(NULL);
	const pid_t child = fork();
	if (child == 0) {
		signal(SIGALRM, SIG_DFL);
		alarm(SECONDS);
		_exit(rt_main(&f.prog, &rt_device_host, option ? 5 : 3, argv));
	}
	int status = -1;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void
on_all(void (*what)(struct rt_ctx *ctx))
{
	for (int ranks = 1; ranks <= 4; ranks *= 2) {
		assert_int_equal(run(what, ranks, NULL, NULL), 0);
		assert_int_equal(run(what, ranks, "-hostlink", "4GB/s,1us"), 0);
	}
}

static void
many_posted_at_once_are_complete_in_their_order(void **state)
{
	(void)state;
	on_all(many);
}

static void
one_is_complete_when_its_wait_returns(void **state)
{
	(void)state;
	on_all(each);
}

static void
directions_do_not_wait_for_each_other(void **state)
{
	(void)state;
	on_all(both_ways);
}

static void
what_nobody_waits_for_is_complete_after_the_step(void **state)
{
	(void)state;
	on_all(left);
}

static void
a_rank_that_fails_ends_the_run(void **state)
{
	(void)state;
	for (int ranks = 1; ranks <= 4; ranks *= 2)
		assert_int_equal(run(fails, ranks, NULL, NULL), 5);
	/* Before the first step, when copy threads are there already. */
	assert_int_equal(run(many, 2, "-save", "/dev/null/x"), RT_EXIT_RUN);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_posted_at_once_are_complete_in_their_order),
		cmocka_unit_test(one_is_complete_when_its_wait_returns),
		cmocka_unit_test(directions_do_not_wait_for_each_other),
		cmocka_unit_test(what_nobody_waits_for_is_complete_after_the_step),
		cmocka_unit_test(a_rank_that_fails_ends_the_run),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
