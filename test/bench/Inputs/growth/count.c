/*
 * Counts the basic blocks of libdopt that are entered: the compiler has each call the counter
 * (-fsanitize-coverage=trace-pc). The same on every machine, however loaded; what libraries do is
 * not seen.
 */
#include <stdint.h>

uint64_t work_done(void);
void __sanitizer_cov_trace_pc(void);

static uint64_t blocks; /* that libdopt has entered; its threads add to it */

void
__sanitizer_cov_trace_pc(void)
{
	__atomic_fetch_add(&blocks, 1, __ATOMIC_RELAXED);
}

/* Blocks so far. */
uint64_t
work_done(void)
{
	return __atomic_load_n(&blocks, __ATOMIC_RELAXED);
}
