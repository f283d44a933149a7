/*
 * Programs whose ranks and communication threads are held up where they hand work to each other.
 * A test includes runtime/comm/engine_host.c behind this, in place of the library's; what it calls then
 * has slow_point before each of these operations. Programs run in a child process, since what is
 * lost between threads shows as waiting for ever.
 */
#ifndef TEST_RUNTIME_COMM_SLOW_H
#define TEST_RUNTIME_COMM_SLOW_H

#include "runtime/rt_program.h"
#include "test/unit.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	SLOW_SECONDS = 60, /* a program of a test takes some: then it waits for ever */
	SLOW_CORES = 2, /* few for four ranks, so that collectives run where they are waited for */
};

/* What the test does at such a place; `gives` before a flag is written. */
static void slow_point(bool gives);

#undef atomic_load
#undef atomic_store
#undef atomic_exchange
#define SLOW_IS_FLAG(object) _Generic((object), _Atomic bool * : true, default : false)
#define atomic_load(object) (slow_point(false), atomic_load_explicit(object, memory_order_seq_cst))
#define atomic_store(object, value)                                                                \
	(slow_point(SLOW_IS_FLAG(object)),                                                         \
		atomic_store_explicit(object, value, memory_order_seq_cst))
#define atomic_exchange(object, value)                                                             \
	(slow_point(false), atomic_exchange_explicit(object, value, memory_order_seq_cst))

/* This process gets few cores. */
static inline void
slow_few_cores(void)
{
	cpu_set_t all, few;
	CPU_ZERO(&few);
	assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
	for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&few) < SLOW_CORES; cpu++)
		if (CPU_ISSET(cpu, &all))
			CPU_SET(cpu, &few);
	assert_int_equal(sched_setaffinity(0, sizeof few, &few), 0);
}

/* Runs the program in a child process, which ends with what it returns, or 1 where `*wrong` then
 * is set; `wrong` may be NULL. Returns the status of the child. */
static inline int
slow_run(const struct rt_program *p, const char *steps, const _Atomic bool *wrong)
{
	char *argv[] = {(char *)p->name, "-steps", (char *)steps, NULL};
	fflush(NULL);
	const pid_t child = fork();
	if (child == 0) {
		signal(SIGALRM, SIG_DFL);
		alarm(SLOW_SECONDS);
		slow_few_cores();
		const int code = rt_main(p, &rt_device_host, 3, argv);
		_exit(code ? code : wrong && *wrong);
	}
	int status = -1;
	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

#endif
