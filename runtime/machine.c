/* A description of this machine, from Linux' files on processors and caches. */
#include "runtime/machine.h"

#ifdef __x86_64__
#include <cpuid.h>
#endif
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Assumed size of the last-level cache if unknown: larger than most. */
#define CACHE_UNKNOWN ((int64_t)64 << 20)
/* The same for the largest cache that a core has to itself. */
#define OWN_CACHE_UNKNOWN ((int64_t)2 << 20)

#ifdef __x86_64__
/* A bit of eax (0), ebx, ecx or edx (3) as CPUID leaves them. */
static bool
cpuid_bit(unsigned leaf, unsigned subleaf, int which, int bit)
{
	unsigned word[4] = {0};

	__get_cpuid_count(leaf, subleaf, &word[0], &word[1], &word[2], &word[3]);
	return word[which] >> bit & 1;
}
#endif

bool
rt_machine_runs(uint32_t extensions, struct rt_status *st)
{
	char lacks[RT_STATUS_TEXT / 2] = "";
#ifdef __x86_64__
#define ADD_LACKING(name, has)                                                                     \
	if (extensions >> RT_EXTENSION_##name & 1 && !(has))                                       \
		snprintf(lacks + strlen(lacks), sizeof lacks - strlen(lacks), "%s" #name,          \
			*lacks ? ", " : "");
#define NAMED(name, macro) ADD_LACKING(name, __builtin_cpu_supports(#name))
#define BIT(name, macro, ...) ADD_LACKING(name, cpuid_bit(__VA_ARGS__))
	__builtin_cpu_init();
	RT_EXTENSIONS(NAMED, BIT)
#else
	(void)extensions;
#endif
	return !*lacks ||
	       rt_fail(st, RT_EXIT_USAGE,
		       "built for processors with %s, which this one lacks: build it here, or "
		       "with -cflags=-march=... for the oldest one that it runs on",
		       lacks);
}

void
rt_machine_name(char *name, size_t size)
{
	FILE *f = fopen("/proc/cpuinfo", "r");
	char line[256];
	const char *model = "processor";
	while (f && fgets(line, sizeof line, f)) {
		char *text = strchr(line, ':');
		if (strncmp(line, "model name", 10) != 0 || !text)
			continue;
		text += 1 + strspn(text + 1, " \t");
		text[strcspn(text, "\n\"\\")] = 0;
		model = text;
		break;
	}
	if (f)
		fclose(f);
	const long n = sysconf(_SC_NPROCESSORS_ONLN);
	snprintf(name, size, "%s, %ld processor%s", model, n, n == 1 ? "" : "s");
}

/* The content of a file of a cache of the first processor; false: no such file. */
static bool
cache_says(int index, const char *what, char *text, int size)
{
	char path[80];
	snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/%s", index, what);
	FILE *f = fopen(path, "r");
	const bool good = f && fgets(text, size, f);
	if (f)
		fclose(f);
	return good;
}

/* Bytes of the largest cache of at most that level; 0: unknown. */
static int64_t
largest_cache(int level)
{
	int64_t most = 0;
	for (int i = 0; i < 8; i++) {
		char of[32], text[32], *unit;
		if (!cache_says(i, "level", of, sizeof of) || atoi(of) > level ||
			!cache_says(i, "size", text, sizeof text))
			continue;
		int64_t bytes = strtoll(text, &unit, 10);
		bytes <<= *unit == 'K' ? 10 : *unit == 'M' ? 20 : 0;
		most = bytes > most ? bytes : most;
	}
	return most;
}

int64_t
rt_machine_cache(void)
{
	const int64_t bytes = largest_cache(INT_MAX);
	return bytes > 0 ? bytes : CACHE_UNKNOWN;
}

int64_t
rt_machine_own_cache(void)
{
	const int64_t bytes = largest_cache(2);
	return bytes > 0 ? bytes : OWN_CACHE_UNKNOWN;
}

int64_t
rt_machine_memory(void)
{
	const int64_t pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);
	return pages > 0 && bytes > 0 ? pages * bytes : 0;
}
