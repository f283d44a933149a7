/*
 * Loaded before talloc: says on standard error what asks it for a chunk of more than TALLOC_MOST
 * bytes. talloc itself refuses 256 MiB; a test cannot make steps that are large enough to meet
 * that, but it can see which tables grow with the step.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#define REAL(f) ((__typeof__(&(f)))dlsym(RTLD_NEXT, #f))

void *_talloc_array(const void *owner, size_t size, unsigned n, const char *name);
void *_talloc_zero_array(const void *owner, size_t size, unsigned n, const char *name);
void *_talloc_realloc_array(void *owner, void *p, size_t size, unsigned n, const char *name);
void *_talloc_realloc(const void *owner, void *p, size_t size, const char *name);
void *_talloc_zero(const void *owner, size_t size, const char *name);
void *talloc_named_const(const void *owner, size_t size, const char *name);

static void
watch(size_t size, unsigned long n, const char *name)
{
	const char *most = getenv("TALLOC_MOST");

	if (size && n > strtoul(most ? most : "0", NULL, 10) / size)
		fprintf(stderr, "talloc: %lu times %zu bytes: %s\n", n, size, name);
}

void *
_talloc_array(const void *owner, size_t size, unsigned n, const char *name)
{
	watch(size, n, name);
	return REAL(_talloc_array)(owner, size, n, name);
}

void *
_talloc_zero_array(const void *owner, size_t size, unsigned n, const char *name)
{
	watch(size, n, name);
	return REAL(_talloc_zero_array)(owner, size, n, name);
}

void *
_talloc_realloc_array(void *owner, void *p, size_t size, unsigned n, const char *name)
{
	watch(size, n, name);
	return REAL(_talloc_realloc_array)(owner, p, size, n, name);
}

void *
_talloc_realloc(const void *owner, void *p, size_t size, const char *name)
{
	watch(1, size, name);
	return REAL(_talloc_realloc)(owner, p, size, name);
}

void *
_talloc_zero(const void *owner, size_t size, const char *name)
{
	watch(1, size, name);
	return REAL(_talloc_zero)(owner, size, name);
}

void *
talloc_named_const(const void *owner, size_t size, const char *name)
{
	watch(1, size, name);
	return REAL(talloc_named_const)(owner, size, name);
}
