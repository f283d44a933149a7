/* Statuses: see status.h. */
#include "runtime/status.h"
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

bool
rt_fail(struct rt_status *st, int code, const char *format, ...)
{
	if (st->code)
		return false;
	va_list args;
	va_start(args, format);
	vsnprintf(st->text, sizeof st->text, format, args);
	va_end(args);
	st->code = code;
	return false;
}

bool
rt_fail_memory(struct rt_status *st, unsigned long long bytes, const char *what)
{
	return rt_fail(st, RT_EXIT_RUN, "out of memory: %llu bytes for %s", bytes, what);
}

const char *
rt_line_start(void)
{
	return isatty(STDERR_FILENO) ? "\033[K" : "";
}
