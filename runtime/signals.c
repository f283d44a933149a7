/* Signals that ask a run to save: see signals.h. */
#include "runtime/signals.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

/* The value that on_stop queues, and no other sender. A pending signal is all the state that there
 * is. */
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

/* Only async-signal-safe functions. The next signal finds the default action. */
static void
on_stop(int number)
{
	const int error = errno;
	signal(SIGTERM, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	sigqueue(getpid(), STOP_SIGNAL, (union sigval){.sival_int = number});
	errno = error;
}

void
rt_signals_catch(void)
{
	struct sigaction action = {.sa_handler = on_stop, .sa_flags = SA_RESTART};
	struct sigaction old;
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	action.sa_mask = set;
	sigaction(SIGTERM, &action, NULL);
	/* Shells start commands in the background with SIGINT ignored. */
	if (!sigaction(SIGINT, NULL, &old) && old.sa_handler != SIG_IGN)
		sigaction(SIGINT, &action, NULL);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
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
	struct sigaction old;
	signal(SIGUSR1, SIG_IGN);
	signal(SIGTERM, SIG_DFL);
	if (!sigaction(SIGINT, NULL, &old) && old.sa_handler != SIG_IGN)
		signal(SIGINT, SIG_DFL);
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
