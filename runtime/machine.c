/* What this machine is: Linux' descriptions of processors and caches. */
#include "runtime/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Where nobody says how large the last cache is: larger than most. */
#define CACHE_UNKNOWN ((int64_t)64 << 20)

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

int64_t
rt_machine_cache(void)
{
	int64_t most = 0;
	for (int i = 0; i < 8; i++) {
		char path[80], text[32] = "";
		snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", i);
		FILE *f = fopen(path, "r");
		if (f && fgets(text, sizeof text, f)) {
			char *unit;
			int64_t bytes = strtoll(text, &unit, 10);
			bytes <<= *unit == 'K' ? 10 : *unit == 'M' ? 20 : 0;
			most = bytes > most ? bytes : most;
		}
		if (f)
			fclose(f);
	}
	return most > 0 ? most : CACHE_UNKNOWN;
}
