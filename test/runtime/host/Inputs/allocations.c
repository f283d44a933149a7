/* To be preloaded: every allocation of at least ALLOCATIONS bytes (of the environment) is written
 * to standard error, a line each: its function and its bytes. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void
say(const char *what, size_t bytes)
{
	const char *least = getenv("ALLOCATIONS");
	char line[64];
	if (!least || bytes < strtoull(least, NULL, 10))
		return;
	const int n = snprintf(line, sizeof line, "%s %zu\n", what, bytes);
	if (write(2, line, (size_t)n) < 0)
		_exit(1);
}

void *
malloc(size_t bytes)
{
	void *(*real)(size_t);
	*(void **)&real = dlsym(RTLD_NEXT, "malloc");
	say("malloc", bytes);
	return real(bytes);
}

void *
realloc(void *old, size_t bytes)
{
	void *(*real)(void *, size_t);
	*(void **)&real = dlsym(RTLD_NEXT, "realloc");
	say("realloc", bytes);
	return real(old, bytes);
}

void *
aligned_alloc(size_t align, size_t bytes)
{
	void *(*real)(size_t, size_t);
	*(void **)&real = dlsym(RTLD_NEXT, "aligned_alloc");
	say("aligned_alloc", bytes);
	return real(align, bytes);
}

int
posix_memalign(void **memory, size_t align, size_t bytes)
{
	int (*real)(void **, size_t, size_t);
	*(void **)&real = dlsym(RTLD_NEXT, "posix_memalign");
	say("posix_memalign", bytes);
	return real(memory, align, bytes);
}
