/* Files that are truncated while they are mapped: see shrunk.h. The handler calls only functions
 * that are safe there (signal-safety(7)). */
#include "runtime/data/shrunk.h"
#include "runtime/status.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

/* A line of /proc/self/maps: "begin-end rwxp offset dev inode      path". */
#define LINE_MAX_BYTES (PATH_MAX + 128)

static void
say(const char *text)
{
	for (size_t left = strlen(text); left;) {
		const ssize_t n = write(STDERR_FILENO, text, left);
		if (n <= 0 && errno != EINTR)
			return;
		text += n > 0 ? n : 0;
		left -= n > 0 ? (size_t)n : 0;
	}
}

/* Reads a hexadecimal number and moves `at` past it. */
static uintptr_t
take_hex(const char **at)
{
	uintptr_t x = 0;
	for (;; ++*at) {
		const char c = **at;
		if (c >= '0' && c <= '9')
			x = x << 4 | (uintptr_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			x = x << 4 | (uintptr_t)(c - 'a' + 10);
		else
			return x;
	}
}

/* The path in a line of the maps if the line has the address, else NULL. */
static const char *
path_at(const char *line, uintptr_t address)
{
	const char *at = line;
	const uintptr_t begin = take_hex(&at);
	at += *at == '-';
	const uintptr_t end = take_hex(&at);
	return address >= begin && address < end ? strchr(at, '/') : NULL;
}

/* Reads a line without its end; false at the end of the file. */
static bool
next_line(int fd, char *line)
{
	size_t n = 0;
	char c;
	while (read(fd, &c, 1) == 1) {
		if (c == '\n') {
			line[n] = 0;
			return true;
		}
		if (n < LINE_MAX_BYTES - 1)
			line[n++] = c;
	}
	return false;
}

bool
rt_shrunk_report(const void *address)
{
	char line[LINE_MAX_BYTES];
	const char *path = NULL;
	const int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	while (!path && fd >= 0 && next_line(fd, line))
		path = path_at(line, (uintptr_t)address);
	if (fd >= 0)
		close(fd);
	if (!path)
		return false;
	/* In one write: other ranks of the process may be here, too. */
	char text[2 * LINE_MAX_BYTES] = "";
	const char *const part[] = {rt_line_start(), program_invocation_short_name,
		": error: ", path, ": the file was truncated while it was being read\n"};
	for (size_t i = 0; i < sizeof part / sizeof *part; i++)
		strncat(text, part[i], sizeof text - 1 - strlen(text));
	say(text);
	return true;
}

static void
handle(int signal_number, siginfo_t *info, void *context)
{
	(void)context;
	if (rt_shrunk_report(info->si_addr))
		_exit(RT_EXIT_RUN);
	signal(signal_number, SIG_DFL); /* the read is repeated, which kills the process */
}

void
rt_shrunk_guard(void)
{
	struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO};
	sigemptyset(&action.sa_mask);
	sigaction(SIGBUS, &action, NULL);
}
