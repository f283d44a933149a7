/*
 * What every unit test includes: cmocka, after the headers that it needs, and the context that owns
 * what a test makes, with a setup that creates it and a teardown that frees it.
 */
#ifndef TEST_UNIT_H
#define TEST_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <talloc.h>

/* A test takes several times as long with sanitizers, and does less: what they find is in the code
 * that it reaches, not in how often it does. */
#ifdef __SANITIZE_ADDRESS__
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

static inline int
make_scratch(void **state)
{
	*state = talloc_new(NULL);
	return 0;
}

/* Whatever *state is: a context, or a fixture with a setup of its own. */
static inline int
free_scratch(void **state)
{
	return talloc_free(*state);
}

#endif
