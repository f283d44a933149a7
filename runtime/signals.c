/* Signals that ask a run to save: see signals.h. */
#include "runtime/signals.h"
#include "runtime/status.h"
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

/* The signal that await_stop queues, and no other sender. A pending signal is all the state that
 * there is. */
#define STOP_SIGNAL SIGRTMIN

static sigset_t
our_signals(void)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, STOP_SIGNAL);
	return set;
}

void
rt_signals_block(void)
{
	const sigset_t set = our_signals();
	signal(SIGPIPE, SIG_IGN);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
}

/* SIGTERM, and SIGINT if it is not ignored, as by commands that shells start in the background. */
static sigset_t
stop_signals(void)
{
	struct sigaction now;
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	if (!sigaction(SIGINT, NULL, &now) && now.sa_handler != SIG_IGN)
		sigaddset(&set, SIGINT);
	return set;
}

/* Queues the first of them. The next one ends the process, as no other thread accepts it. */
static void *
await_stop(void *unused)
{
	const sigset_t set = stop_signals();
	int number = 0;
	(void)unused;
	sigwait(&set, &number);
	sigqueue(getpid(), STOP_SIGNAL, (union sigval){.sival_int = number});
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	while (pause()) /* -1, whenever it returns */
		;
	return NULL;
}

void
rt_signals_catch(struct rt_status *st)
{
	pthread_t thread;
	if (pthread_create(&thread, NULL, await_stop, NULL))
		rt_fail(st, RT_EXIT_RUN, "cannot start a thread that waits for signals");
	else
		pthread_detach(thread);
}

void
rt_signals_unblock(void)
{
	const sigset_t set = our_signals();
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

void
rt_signals_end(void)
{
	signal(SIGUSR1, SIG_IGN);
	const int number = rt_signals_take().stop;
	rt_signals_unblock();
	if (number)
		raise(number);
}

struct rt_signals
rt_signals_take(void)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, STOP_SIGNAL);
	const struct timespec now = {0, 0};
	struct rt_signals taken = {false, 0};
	siginfo_t info;
	for (int number; (number = sigtimedwait(&set, &info, &now)) > 0;) {
		taken.save |= number == SIGUSR1;
		if (number == STOP_SIGNAL)
			taken.stop = info.si_value.sival_int;
	}
	return taken;
}
