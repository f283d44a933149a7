/* Signals that ask a run to save: see signals.h. */
#include "runtime/signals.h"
#include <signal.h>
#include <time.h>

static sigset_t
our_signals(void)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGUSR1);
	return set;
}

void
rt_signals_block(void)
{
	const sigset_t set = our_signals();
	pthread_sigmask(SIG_BLOCK, &set, NULL);
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
	rt_signals_unblock();
}

struct rt_signals
rt_signals_take(void)
{
	const sigset_t set = our_signals();
	const struct timespec now = {0, 0};
	struct rt_signals taken = {false, false};
	for (int number; (number = sigtimedwait(&set, NULL, &now)) > 0;) {
		taken.save |= number == SIGUSR1;
		taken.stop |= number == SIGTERM;
	}
	return taken;
}
