/*
 * Subnormal numbers count as 0: floats below 2^-126, doubles below 2^-1022. Processors compute with
 * them in microcode, a hundred times as slowly, and training produces some: gradients through many
 * layers, moments that decay, probabilities of masked positions. So arithmetic reads them as zeros
 * of their sign and returns zeros instead of them. Operations that only move bits keep them.
 *
 * This is a mode of a thread, inherited by threads that it starts: programs, the op profiler and
 * the interpreter set it unless they are asked for exact numbers.
 */
#ifndef RUNTIME_SUBNORMAL_H
#define RUNTIME_SUBNORMAL_H

#include <stdbool.h>
#include <stdint.h>
#if defined __SSE2__
#include <xmmintrin.h>
#endif

/* The bits of the mode: for results, and for operands. */
#if defined __SSE2__
#define RT_SUBNORMAL_BITS UINT64_C(0x8040)
#elif defined __aarch64__
#define RT_SUBNORMAL_BITS (UINT64_C(1) << 24)
#else
#define RT_SUBNORMAL_BITS UINT64_C(0)
#endif

/* The mode of this thread. */
static inline uint64_t
rt_float_mode(void)
{
#if defined __SSE2__
	return _mm_getcsr();
#elif defined __aarch64__
	uint64_t mode;
	__asm__ volatile("mrs %0, fpcr" : "=r"(mode));
	return mode;
#else
	return 0;
#endif
}

static inline void
rt_float_set_mode(uint64_t mode)
{
#if defined __SSE2__
	_mm_setcsr((unsigned)mode);
#elif defined __aarch64__
	__asm__ volatile("msr fpcr, %0" : : "r"(mode));
#else
	(void)mode;
#endif
}

/* From now on this thread computes with subnormal numbers, or with zeros instead. Returns the
 * previous mode. */
static inline uint64_t
rt_float_keep_subnormals(bool keep)
{
	const uint64_t mode = rt_float_mode();

	rt_float_set_mode(keep ? mode & ~RT_SUBNORMAL_BITS : mode | RT_SUBNORMAL_BITS);
	return mode;
}

/* Does this thread compute with subnormal numbers? */
static inline bool
rt_float_keeps_subnormals(void)
{
	return !(rt_float_mode() & RT_SUBNORMAL_BITS);
}

#endif
