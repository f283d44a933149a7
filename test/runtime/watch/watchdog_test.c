/*
 * The watchdog among ranks that are threads: what it says of a rank that never comes, wherever the
 * others wait for it, and that it leaves alone who is slow for a good reason. Each program runs in
 * a child process, which the watchdog ends.
 */
#include "runtime/trace/clock.h"
#include "runtime/rt_program.h"
#include "runtime/watch/watchdog.h"
#include "test/unit.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	CHILD_SECONDS = 120, /* then a program waits for ever */
	TEXT = 4096,
	SLOT = 64,
};

/* What a child has written, and its status. */
struct result {
	char text[TEXT];
	int status;
};

/* Runs `run(arg)` in a child process, which ends with its result; meanwhile(child) here, if it is
 * not NULL. */
static struct result
in_child(int (*run)(void *arg), void *arg, void (*meanwhile)(pid_t child))
{
	struct result r = {.status = -1};
	int ends[2];
	assert_int_equal(pipe(ends), 0);
	fflush(NULL);
	const pid_t child = fork();
	if (child == 0) {
		signal(SIGALRM, SIG_DFL);
		alarm(CHILD_SECONDS);
		dup2(ends[1], STDERR_FILENO);
		close(ends[0]);
		close(ends[1]);
		_exit(run(arg));
	}
	close(ends[1]);
	if (meanwhile)
		meanwhile(child);
	size_t have = 0;
	for (ssize_t n = 1; n > 0 && have<TEXT - 1; have += n> 0 ? (size_t)n : 0)
		n = read(ends[0], r.text + have, TEXT - 1 - have);
	close(ends[0]);
	assert_int_equal(waitpid(child, &r.status, 0), child);
	return r;
}

/* The run was ended, and this was said. */
static void
assert_ended(const struct result *r, const char *const *said)
{
	assert_true(WIFEXITED(r->status));
	assert_int_equal(WEXITSTATUS(r->status), RT_EXIT_RUN);
	for (; *said; said++)
		if (!strstr(r->text, *said))
			fail_msg("'%s' is not in:\n%s", *said, r->text);
}

/* Nothing was said; notes on a machine with fewer processors than ranks do not count. */
static void
assert_well(const struct result *r)
{
	const char *note = strstr(r->text, ": note: ");

	assert_null(strstr(r->text, "error"));
	assert_true(!*r->text || (note && strstr(note, " ranks took turns on ")));
	assert_int_equal(r->status, 0);
}

/* --- programs: four ranks on a mesh of two axes, an allreduce on each
 * ------------------------------- */

static const struct rt_axis axes[] = {{"a", 2, false}, {"b", 2, false}};
static const struct rt_buf bufs[] = {{.src = 0, .dst = SLOT, .outer = 1, .n = 4, .inner = 1},
	{.src = 2 * SLOT, .dst = 3 * SLOT, .outer = 1, .n = 4, .inner = 1}};
static const struct rt_coll colls[] = {
	{.name = "x",
		.kind = RT_ALLREDUCE,
		.axis = 0,
		.dtype = RT_f32,
		.nbufs = 1,
		.bufs = &bufs[0],
		.bytes = 16},
	{.name = "y",
		.kind = RT_ALLGATHER,
		.axis = 1,
		.dtype = RT_f32,
		.nbufs = 1,
		.bufs = &bufs[1],
		.bytes = 32},
};

struct program {
	const char *timeout, *link, *steps;
	void (*step)(struct rt_ctx *ctx);
};

static int
run_program(void *arg)
{
	const struct program *p = arg;
	const struct rt_program prog = {.abi = RT_ABI_VERSION,
		.name = "waits",
		.naxes = 2,
		.axes = axes,
		.ncolls = 2,
		.colls = colls,
		.arena_bytes = 6 * SLOT,
		.step = p->step};
	char *argv[] = {"waits", "-timeout", (char *)p->timeout, "-steps", (char *)p->steps,
		"-link", (char *)p->link, NULL};
	return rt_main(&prog, &rt_device_host, p->link ? 7 : 5, argv);
}

static int
rank_of(const struct rt_ctx *ctx)
{
	return (int)(2 * ctx->coord[0] + ctx->coord[1]);
}

static void
both(struct rt_ctx *ctx)
{
	for (int c = 0; c < 2; c++) {
		rt_post(ctx, c);
		rt_wait(ctx, c);
	}
}

static void
sleep_seconds(double s)
{
	rt_sleep_until_ns(rt_now_ns() + (int64_t)(s * 1e9));
}

/* Rank 3 does not come to the second collective of the third step. */
static void
step_without_rank_3(struct rt_ctx *ctx)
{
	rt_post(ctx, 0);
	rt_wait(ctx, 0);
	while (ctx->step == 2 && rank_of(ctx) == 3)
		pause();
	rt_post(ctx, 1);
	rt_wait(ctx, 1);
}

static void
a_rank_that_never_comes_is_named(void **state)
{
	struct program p = {"2s", NULL, "5", step_without_rank_3};
	const struct result r = in_child(run_program, &p, NULL);
	(void)state;
	assert_ended(&r,
		(const char *const[]){
			"waits: error: ranks have waited for 2 s (-timeout): the run ends\n",
			"\n  rank 3 does not wait for another rank; for ",
			" s it has been in step 3; the last one it started is collective 5 "
			"(allreduce \"x\" on axis a)\n",
			"\n  rank 2 waits for rank 3 in collective 6 (allgather \"y\" on axis b), "
			"in step 3, for ",
			/* These have met in the sixth, and wait for the others in the seventh. */
			"\n  rank 0 waits for rank 2 in collective 7 (allreduce \"x\" on axis a), "
			"in step 4, for ",
			"\n  rank 1 waits for rank 3 in collective 7 (allreduce \"x\" on axis a), "
			"in step 4, for ",
			NULL});
	/* It comes first. */
	assert_true(strstr(r.text, "rank 3 does not wait") < strstr(r.text, "rank 2 waits"));
}

/* All compute for several times as long as one may wait for another. */
static void
long_step(struct rt_ctx *ctx)
{
	sleep_seconds(5);
	both(ctx);
}

static void
ranks_that_compute_for_long_are_left_alone(void **state)
{
	struct program p = {"2s", NULL, "1", long_step};
	const struct result r = in_child(run_program, &p, NULL);
	(void)state;
	assert_well(&r);
}

/* Ranks 0 and 2 send each other something over a link that takes longer than ranks may wait. Ranks
 * 1 and 3 do so too, or wait for these. */
static void
a_slow_link_is_no_failure(void **state)
{
	struct program p = {"2s", "1GB/s,3s", "1", both};
	const struct result r = in_child(run_program, &p, NULL);
	(void)state;
	assert_well(&r);
}

/* Stops all of the process for longer than ranks may wait, and lets it go on. */
static void
stop_for_a_while(pid_t child)
{
	sleep_seconds(1);
	kill(child, SIGSTOP);
	sleep_seconds(6);
	kill(child, SIGCONT);
}

static void
step_with_rank_1_late(struct rt_ctx *ctx)
{
	/* In naps: it is still late when the process goes on. */
	for (int i = 0; i < 250 && rank_of(ctx) == 1; i++)
		sleep_seconds(0.01);
	both(ctx);
}

static void
time_in_which_the_process_was_stopped_does_not_count(void **state)
{
	struct program p = {"4s", NULL, "1", step_with_rank_1_late};
	const struct result r = in_child(run_program, &p, stop_for_a_while);
	(void)state;
	assert_well(&r);
}

/* --- outside of steps: ranks 0 and 1 of three meet, or send, and rank 2 does not come
 * ---------------- */

enum { MEETING = 3 };

struct meeting {
	bool send; /* rank 0 waits for a message of rank 1, which waits for all */
	struct rt_world *worlds;
};

static void *
meet(void *arg)
{
	struct rt_world *w = arg;
	struct rt_status st = {0};
	rt_agree(w, &st);
	return NULL;
}

static int
run_meeting(void *arg)
{
	const struct meeting *m = arg;
	const struct rt_program prog = {.name = "meets", .naxes = 1, .axes = axes};
	struct rt_status st = {0};
	struct rt_world *worlds = rt_threads_world(MEETING);
	pthread_t thread;
	char byte;
	if (!rt_watchdog_start(&prog, worlds, 0.5, &st) ||
		pthread_create(&thread, NULL, meet, &worlds[1]))
		return 3;
	rt_activity_stage(worlds[2].activity, RT_STAGE_VALUES);
	if (m->send)
		worlds->ops->receive(worlds, &byte, 1, 2);
	else
		meet(worlds);
	return 4;
}

static void
who_does_not_come_to_a_meeting_is_named(void **state)
{
	struct meeting m = {.send = false};
	const struct result r = in_child(run_meeting, &m, NULL);
	(void)state;
	assert_ended(
		&r, (const char *const[]){"meets: error: ranks have waited for 0.5 s (-timeout)",
			    "\n  rank 2 does not wait for another rank; for ",
			    " s it has been reading the data set and initial values\n",
			    "\n  rank 0 waits for rank 2, at the start, for ",
			    "\n  rank 1 waits for rank 2, at the start, for ", NULL});
}

static void
who_does_not_send_is_named(void **state)
{
	struct meeting m = {.send = true};
	const struct result r = in_child(run_meeting, &m, NULL);
	(void)state;
	assert_ended(&r, (const char *const[]){"\n  rank 0 waits for rank 2, at the start, for ",
				 "\n  rank 1 waits for ranks 0 and 2, at the start, for ", NULL});
}

static void
without_a_time_nobody_watches(void **state)
{
	const struct rt_program prog = {.name = "meets"};
	struct rt_status st = {0};
	struct rt_world *worlds = rt_threads_world(MEETING);
	(void)state;
	assert_null(rt_watchdog_start(&prog, worlds, 0, &st));
	assert_int_equal(st.code, 0);
	rt_watchdog_stop(NULL);
	rt_threads_world_free(worlds);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rank_that_never_comes_is_named),
		cmocka_unit_test(ranks_that_compute_for_long_are_left_alone),
		cmocka_unit_test(a_slow_link_is_no_failure),
		cmocka_unit_test(time_in_which_the_process_was_stopped_does_not_count),
		cmocka_unit_test(who_does_not_come_to_a_meeting_is_named),
		cmocka_unit_test(who_does_not_send_is_named),
		cmocka_unit_test(without_a_time_nobody_watches),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
