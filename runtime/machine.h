/* A description of this machine, for profiles, and whether it has the instructions of a program. */
#ifndef RUNTIME_MACHINE_H
#define RUNTIME_MACHINE_H

#include "runtime/status.h"
#include <stddef.h>
#include <stdint.h>

/*
 * Extensions of x86-64 that -march selects: what __builtin_cpu_supports calls them, and the macro that compilers define as 1. For
 * those that Clang 14 does not know there, where CPUID has them: leaf, subleaf, register (eax is 0), bit. They need of the operating
 * system what avx or avx512f need. New rows come last: compiled programs have their numbers.
 */
/* clang-format off */
#define RT_EXTENSIONS(ROW, BIT) \
	ROW(avx, __AVX__) \
	ROW(avx2, __AVX2__) \
	ROW(fma, __FMA__) \
	ROW(bmi, __BMI__) \
	ROW(bmi2, __BMI2__) \
	ROW(avx512f, __AVX512F__) \
	ROW(avx512cd, __AVX512CD__) \
	ROW(avx512bw, __AVX512BW__) \
	ROW(avx512dq, __AVX512DQ__) \
	ROW(avx512vl, __AVX512VL__) \
	ROW(avx512ifma, __AVX512IFMA__) \
	ROW(avx512vbmi, __AVX512VBMI__) \
	ROW(avx512vbmi2, __AVX512VBMI2__) \
	ROW(avx512vnni, __AVX512VNNI__) \
	ROW(avx512bitalg, __AVX512BITALG__) \
	ROW(avx512vpopcntdq, __AVX512VPOPCNTDQ__) \
	ROW(avx5124fmaps, __AVX5124FMAPS__) \
	ROW(popcnt, __POPCNT__) \
	ROW(gfni, __GFNI__) \
	ROW(vpclmulqdq, __VPCLMULQDQ__) \
	ROW(avx512bf16, __AVX512BF16__) \
	ROW(avx512vp2intersect, __AVX512VP2INTERSECT__) \
	BIT(f16c, __F16C__, 1, 0, 2, 29) \
	BIT(movbe, __MOVBE__, 1, 0, 2, 22) \
	BIT(lzcnt, __LZCNT__, 0x80000001, 0, 2, 5) \
	BIT(vaes, __VAES__, 7, 0, 2, 9) \
	BIT(avxvnni, __AVXVNNI__, 7, 1, 0, 4) \
	BIT(avx512fp16, __AVX512FP16__, 7, 0, 3, 23)
/* clang-format on */

#define RT_EXTENSION_CODE(name, ...) RT_EXTENSION_##name,
enum rt_extension {
	RT_EXTENSIONS(RT_EXTENSION_CODE, RT_EXTENSION_CODE) RT_NEXTENSIONS /* at most 32 */
};

/* 1 if the macro is defined as 1, otherwise 0, also in a constant expression. */
#define RT_DEFINED_AS_1 0,
#define RT_DEFINED_SECOND(first, second, ...) second
#define RT_DEFINED_PASTED(first) RT_DEFINED_SECOND(first 1, 0, 0)
#define RT_DEFINED_VALUE(value) RT_DEFINED_PASTED(RT_DEFINED_AS_##value)
#define RT_DEFINED(macro) RT_DEFINED_VALUE(macro)

/* A bit for each extension that the compiler may use where this is expanded. */
#define RT_EXTENSION_BIT(name, macro) | (uint32_t)RT_DEFINED(macro) << RT_EXTENSION_##name
#define RT_EXTENSION_FOUND(name, macro, ...) RT_EXTENSION_BIT(name, macro)
#define RT_EXTENSIONS_USED (0 RT_EXTENSIONS(RT_EXTENSION_BIT, RT_EXTENSION_FOUND))

/* False, with a message that names them: this processor lacks some of the extensions. */
bool rt_machine_runs(uint32_t extensions, struct rt_status *st);

/* "AMD EPYC 9004, 16 processors": at most `size` bytes with the terminating zero, without
 * quotes. */
void rt_machine_name(char *name, size_t size);

/* Bytes of the largest cache that a core uses; the second function: of the largest cache that a
 * core has (almost) to itself. */
int64_t rt_machine_cache(void);
int64_t rt_machine_own_cache(void);

/* Bytes of main memory; 0: unknown. */
int64_t rt_machine_memory(void);

#endif
