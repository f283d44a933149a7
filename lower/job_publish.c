/*
 * Gives the results of a job their names: OUTPUT and OUTPUT.src. Each is renamed in one step, so
 * that of two concurrent builds of one name the sources belong to one of them, never to both.
 */
#include "lower/job.h"

#include "ir/base/alloc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <talloc.h>
#include <unistd.h>

/* Files that dopt writes into such a folder: those of an earlier build are removed. */
static const char *const ours[] = {"kernels.*", "kernels_[0-9]*.[co]", "step.[co]", "measure.[co]"};

/* Another build may take or release the name between two calls; each attempt needs one more
 * name. */
enum { TRIES = 100 };

char *
job_sources(const void *owner, const char *output)
{
	char *name = TEXT(owner, "%s.src", output);

	char *real = realpath(name, NULL);
	if (real) {
		talloc_free(name);
		name = text_copy(owner, real);
	}
	free(real);
	return name;
}

bool
job_can_publish(struct diag *d, const char *output)
{
	char *sources = job_sources(NULL, output);
	struct stat st;
	bool good = false;

	if (stat(sources, &st) == 0 && !S_ISDIR(st.st_mode))
		diag_error(
			d, LOC_NONE, "cannot create the folder %s: %s", sources, strerror(EEXIST));
	else if (stat(output, &st) == 0 && !S_ISREG(st.st_mode))
		diag_error(d, LOC_NONE, "cannot write the program %s: it is not a regular file",
			output);
	else
		good = true;
	talloc_free(sources);
	return good;
}

static bool
is_ours(const char *name)
{
	for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
		if (fnmatch(ours[i], name, 0) == 0)
			return true;
	return false;
}

/* Moves files that dopt did not write out of the folder that was replaced. */
static void
keep_others(const char *old, const char *sources)
{
	DIR *d = opendir(old);
	const int from = d ? dirfd(d) : -1, to = open(sources, O_DIRECTORY | O_CLOEXEC);

	for (struct dirent *e; d && to >= 0 && (e = readdir(d));)
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
			!is_ours(e->d_name))
			renameat2(from, e->d_name, to, e->d_name, RENAME_NOREPLACE);
	if (to >= 0)
		close(to);
	if (d)
		closedir(d);
}

/*
 * Gives the new folder the final name, and the old one, if it exists, the temporary name. If the
 * file system cannot exchange two names, the old one is moved away first.
 */
static bool
put_in_place(const char *folder, const char *sources, const char *aside)
{
	for (int i = 0; i < TRIES; i++) {
		if (renameat2(AT_FDCWD, folder, AT_FDCWD, sources, RENAME_EXCHANGE) == 0) {
			keep_others(folder, sources);
			return true;
		}
		if (rename(folder, sources) == 0)
			return true;
		if (errno != ENOTEMPTY && errno != EEXIST)
			return false;
		if (rename(sources, aside) == 0 && rename(folder, sources) == 0) {
			keep_others(aside, sources);
			rename(aside, folder); /* the guard removes it */
			return true;
		}
	}
	return false;
}

/* Sets the permissions that mkdir would have given. */
static void
open_up(const char *folder)
{
	const mode_t mask = umask(0);

	umask(mask);
	chmod(folder, 0777 & ~mask);
}

/*
 * Serializes builds of one name, so that program and sources are of the same build. The lock is on
 * the folder that contains both: no lock file is needed, and the lock ends with the process.
 */
static int
lock_folder_of(const char *output)
{
	char *folder = text_copy(NULL, output), *slash = folder ? strrchr(folder, '/') : NULL;

	if (slash)
		slash[slash == folder] = 0;
	const int fd = open(slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		flock(fd, LOCK_EX);
	talloc_free(folder);
	return fd;
}

bool
job_publish(struct job *j, struct diag *d, const char *program, const char *output)
{
	const char *folder = job_folder(j);
	const int lock = lock_folder_of(output);
	char *from = TEXT(j, "%s/%s", folder, program ? program : "");
	char *sources = job_sources(j, output), *aside = TEXT(j, "%s.old", folder);
	bool good = true;

	if (program && rename(from, output)) {
		diag_error(d, LOC_NONE, "cannot write the program %s: %s", output, strerror(errno));
		good = false;
	}
	open_up(folder);
	if (good && !put_in_place(folder, sources, aside)) {
		diag_error(d, LOC_NONE, "cannot write the folder %s: %s", sources, strerror(errno));
		good = false;
	}
	talloc_free(from);
	talloc_free(sources);
	talloc_free(aside);
	if (lock >= 0)
		close(lock);
	return good;
}
