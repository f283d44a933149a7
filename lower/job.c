/* Temporary folders and commands that end with this process at the latest. */
#include "lower/job.h"

#include "ir/base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <talloc.h>
#include <unistd.h>

enum {
	/* Compilers and mpirun remove their files when they are asked to end; that takes
	   milliseconds. Then the group is killed. */
	END_MS = 2000,
};

struct job {
	struct diag *diag;
	char *folder;
	pid_t guard;
	int news;  /* the guard's socket: gets the id of the current group, then 0 */
	int alive; /* end of a pipe that commands inherit: the guard sees when all have ended */
};

const char *
job_folder(const struct job *j)
{
	return j->folder;
}

/* --- the guard: calls only functions that are safe after a fork in a process with threads --- */

static void
end_group(pid_t group, int alive)
{
	struct pollfd ended = {alive, POLLIN, 0};

	kill(-group, SIGTERM);
	while (poll(&ended, 1, END_MS) < 0 && errno == EINTR)
		;
	kill(-group, SIGKILL);
}

/*
 * Other descriptors stay open on purpose: the sockets of earlier jobs, whose folders may contain
 * this job's, are then closed after this job's end.
 */
static void
guard(int news, int alive, const char *folder)
{
	static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
	const int null = open("/dev/null", O_RDWR);
	pid_t group = 0, next;
	ssize_t n;

	setpgid(0, 0);
	for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
		signal(ignored[i], SIG_IGN);
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		dup2(null, fd);
	while ((n = recv(news, &next, sizeof next, 0)) == sizeof next || (n < 0 && errno == EINTR))
		if (n > 0)
			group = next;
	if (group > 0)
		end_group(group, alive);
	execlp("rm", "rm", "-rf", "--", folder, (char *)NULL);
	_exit(127);
}

static bool
start_guard(struct job *j)
{
	int news[2], alive[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, news))
		return false;
	j->news = news[0];
	if (pipe2(alive, O_CLOEXEC) == 0) {
		j->alive = alive[1];
		j->guard = fork();
		if (j->guard == 0) {
			close(news[0]);
			close(alive[1]);
			guard(news[1], alive[0], j->folder);
		}
		close(alive[0]);
	}
	close(news[1]);
	return j->guard > 0;
}

static int
job_end(struct job *j)
{
	if (j->news >= 0)
		close(j->news);
	if (j->alive >= 0)
		close(j->alive);
	while (j->guard > 0 && waitpid(j->guard, NULL, 0) < 0 && errno == EINTR)
		;
	return 0;
}

struct job *
job_create(const void *owner, struct diag *d, const char *prefix)
{
	struct job *j = NEW(owner, struct job);
	char *path = TEXT(j, "%s.XXXXXX", prefix), real[PATH_MAX];

	*j = (struct job){.diag = d, .news = -1, .alive = -1};
	if (mkdtemp(path) && realpath(path, real)) {
		j->folder = text_copy(j, real);
		talloc_set_destructor(j, job_end);
		if (start_guard(j))
			return j;
		rmdir(path);
	}
	diag_error(d, LOC_NONE, "cannot create the folder %s: %s", prefix, strerror(errno));
	talloc_free(j);
	return NULL;
}

struct job *
job_create_temporary(const void *owner, struct diag *d, const char *name)
{
	const char *tmp = getenv("TMPDIR");
	char *prefix = TEXT(NULL, "%s/%s", tmp && *tmp ? tmp : "/tmp", name);
	struct job *j = job_create(owner, d, prefix);

	talloc_free(prefix);
	return j;
}

/* --- commands --- */

/* Without SIGPIPE if the guard was killed. */
static void
tell_guard(const struct job *j, pid_t group)
{
	while (send(j->news, &group, sizeof group, MSG_NOSIGNAL) < 0 && errno == EINTR)
		;
}

/* `folder` NULL: the current folder. */
static pid_t
start(struct job *j, const char *command, const char *folder, int out, int err)
{
	const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	const pid_t pid = null < 0 ? -1 : fork();

	if (pid == 0) {
		setpgid(0, 0);
		fcntl(j->alive, F_SETFD, 0);
		dup2(null, STDIN_FILENO);
		dup2(out, STDOUT_FILENO);
		dup2(err, STDERR_FILENO);
		if (!folder || (chdir(folder) == 0 && setenv("TMPDIR", folder, 1) == 0))
			execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	if (pid > 0) {
		setpgid(pid, pid); /* in both processes, as either may run first */
		tell_guard(j, pid);
	}
	if (null >= 0)
		close(null);
	return pid;
}

pid_t
job_start(struct job *j, const char *command, int out, int err)
{
	return start(j, command, NULL, out, err);
}

int
job_wait(struct job *j, pid_t pid, bool kill_it)
{
	int status = 0;

	if (kill_it)
		kill(-pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	tell_guard(j, 0);
	return status;
}

bool
job_run(struct job *j, const char *command, bool verbose)
{
	if (verbose)
		diag_report(j->diag, DIAG_REMARK, LOC_NONE, "%s", command);
	diag_progress(j->diag, "compiling");
	fflush(NULL);
	const pid_t pid = start(j, command, j->folder, STDOUT_FILENO, STDERR_FILENO);
	if (pid < 0) {
		diag_error(j->diag, LOC_NONE, "cannot run a command: %s: %s", strerror(errno),
			command);
		return false;
	}
	const int status = job_wait(j, pid, false);
	diag_progress(j->diag, NULL);
	if (status)
		diag_error(j->diag, LOC_NONE, "a command failed with %s %d: %s",
			WIFEXITED(status) ? "exit status" : "signal",
			WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status), command);
	return status == 0;
}
