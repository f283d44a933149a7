/* Extensions that this processor has, as the system says. */
#include "runtime/machine.h"
#include "test/unit.h"

#include <stdio.h>
#include <string.h>

/* The line of flags, " fpu vme ... ", without underscores; false: the system has none. */
static bool
flags_read(char *line, int size)
{
	FILE *f = fopen("/proc/cpuinfo", "r");
	bool found = false;

	while (f && !found && fgets(line, size, f))
		found = strncmp(line, "flags", 5) == 0;
	if (f)
		fclose(f);
	char *to = line;
	for (const char *c = line; found && *c; c++)
		if (*c != '_')
			*to++ = *c == '\n' ? ' ' : *c;
	*to = 0;
	return found;
}

static void
extensions_are_those_of_the_system(void **state)
{
	(void)state;
#define NAME(name, ...) #name,
	static const char *const names[] = {RT_EXTENSIONS(NAME, NAME)};
	char line[8192], flag[64];

	assert_in_range(RT_NEXTENSIONS, 1, 32);
	if (!flags_read(line, sizeof line))
		skip();
	for (int i = 0; i < RT_NEXTENSIONS; i++) {
		struct rt_status st = {0};
		const char *name = strcmp(names[i], "lzcnt") == 0 ? "abm"
				   : strcmp(names[i], "bmi") == 0 ? "bmi1"
								  : names[i];
		snprintf(flag, sizeof flag, " %s ", name);
		const bool has = strstr(line, flag) != NULL;
		if (rt_machine_runs((uint32_t)1 << i, &st) != has)
			fail_msg("%s: /proc/cpuinfo says %d", names[i], has);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(extensions_are_those_of_the_system),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
