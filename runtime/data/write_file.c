/* Files that are written whole or not at all: see write_file.h. */
#include "runtime/data/write_file.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Symbolic links in a row: the limit of Linux. */
#define LINKS 40
/* Names that are tried for a temporary file: existing ones are leftovers of processes with our
 * number, or belong to one on another machine. */
#define NAMES 1000
/* Size of "/proc/self/fd/N". */
#define FD_NAME 40

/* The folder of a path, from malloc. */
static char *
folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? strndup(path, (size_t)(slash - path) + 1) : strdup("./");
}

/* Is the folder of this link in /proc? Links there name open files, whatever their text says. */
static bool
is_magic(const char *link)
{
	struct statfs found;
	char *folder = folder_of(link);
	const bool magic = folder && !statfs(folder, &found) && found.f_type == PROC_SUPER_MAGIC;
	free(folder);
	return magic;
}

/* The path that a link with this text in this place names, from malloc. */
static char *
join(const char *link, const char *text)
{
	char *folder = *text == '/' ? strdup("") : folder_of(link), *path = NULL;
	if (folder && asprintf(&path, "%s%s", folder, text) < 0)
		path = NULL;
	free(folder);
	return path;
}

/* The path after its symbolic links, from malloc; "" if the file there is written in place; NULL
 * with errno. */
static char *
resolve(const char *path)
{
	struct stat found;
	char text[PATH_MAX];
	char *at = strdup(!stat(path, &found) && !S_ISREG(found.st_mode) ? "" : path);
	for (int links = 0; at && *at; links++) {
		const ssize_t n = readlink(at, text, sizeof text - 1);
		if (n < 0)
			break;
		text[n] = 0;
		char *next = links == LINKS ? NULL : is_magic(at) ? strdup("") : join(at, text);
		if (links == LINKS)
			errno = ELOOP;
		free(at);
		at = next;
	}
	return at;
}

/* Gives the new file the mode and the owner of the one that it replaces. */
static void
take_over(int fd, const char *target)
{
	struct stat old, new;
	if (stat(target, &old) || fstat(fd, &new))
		return;
	if ((old.st_uid != new.st_uid || old.st_gid != new.st_gid) &&
		fchown(fd, old.st_uid, old.st_gid) && fchown(fd, (uid_t)-1, old.st_gid))
		return; /* Another user's file: its mode may allow what only its owner may do. */
	fchmod(fd, old.st_mode & 0777);
}

/* Gives a name to an open file that has none. Returns the file, or -1 with errno. */
static int
name_open(int fd, const char *name)
{
	char open_file[FD_NAME];
	snprintf(open_file, sizeof open_file, "/proc/self/fd/%d", fd);
	return linkat(AT_FDCWD, open_file, AT_FDCWD, name, AT_SYMLINK_FOLLOW) ? -1 : fd;
}

/* Finds a free name for the temporary file: for the open file `fd`, or for a new one if `fd` is -1.
 * Returns the open file, or -1 with errno. */
static int
make_temporary(struct rt_write *w, int fd)
{
	for (int i = 0; i < NAMES; i++) {
		char *name = NULL;
		if (asprintf(&name, "%s.tmp-%ld-%d", w->target, (long)getpid(), i) < 0)
			return -1;
		const int made =
			fd >= 0 ? name_open(fd, name)
				: open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (made >= 0) {
			w->temporary = name;
			return made;
		}
		free(name);
		if (errno != EEXIST)
			return -1;
	}
	return -1;
}

/* Creates a file in the target's folder, without a name if that is possible. */
static int
open_new(struct rt_write *w)
{
	char *folder = folder_of(w->target);
	int fd = -1;
	if (folder && !access("/proc/self/fd", X_OK)) /* gives it a name later */
		fd = open(folder, O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
	free(folder);
	if (fd < 0)
		fd = make_temporary(w, -1);
	if (fd >= 0)
		take_over(fd, w->target);
	return fd;
}

/* Frees the memory of `w`, and removes the temporary file; errno is preserved. */
static bool
drop(struct rt_write *w)
{
	const int error = errno;
	if (w->temporary)
		unlink(w->temporary);
	free(w->temporary);
	free(w->target);
	*w = (struct rt_write){0};
	errno = error;
	return false;
}

bool
rt_write_open(struct rt_write *w, const char *path)
{
	*w = (struct rt_write){.target = resolve(path)};
	if (!w->target)
		return false;
	int fd;
	if (*w->target)
		fd = open_new(w);
	else {
		free(w->target);
		w->target = NULL;
		fd = open(path, O_WRONLY | O_APPEND | O_NOCTTY | O_CLOEXEC);
	}
	w->file = fd < 0 ? NULL : fdopen(fd, "wb");
	if (w->file)
		return true;
	if (fd >= 0)
		close(fd);
	return drop(w);
}

/* A name is durable once its folder is on the disk. Some file systems need not do anything for
 * that. */
static bool
sync_folder(const char *target)
{
	char *folder = folder_of(target);
	const int fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	const bool ok = fd >= 0 ? !fsync(fd) || errno == EINVAL : errno == EACCES;
	if (fd >= 0)
		close(fd);
	free(folder);
	return ok;
}

/* Syncs the new file and gives it a name, if it has none. */
static bool
settle(struct rt_write *w)
{
	const int fd = fileno(w->file);
	return !fsync(fd) && (w->temporary || make_temporary(w, fd) >= 0);
}

/* Renames the new file to its final name. */
static bool
put_in_place(struct rt_write *w)
{
	if (rename(w->temporary, w->target))
		return false;
	free(w->temporary);
	w->temporary = NULL;
	return sync_folder(w->target);
}

bool
rt_write_close(struct rt_write *w, bool ok)
{
	ok = ok && !fflush(w->file) && !ferror(w->file) && (!w->target || settle(w));
	const int error = errno;
	if (fclose(w->file) && ok)
		ok = false;
	else
		errno = error;
	ok = ok && (!w->target || put_in_place(w));
	drop(w);
	return ok;
}

/* Can the existing file be written in place? */
static bool
is_writable(const char *path)
{
	struct stat found;
	if (stat(path, &found))
		return false;
	errno = EISDIR;
	return !S_ISDIR(found.st_mode) && !access(path, W_OK);
}

bool
rt_write_possible(const char *path)
{
	char *target = resolve(path);
	if (!target)
		return false;
	char *folder = folder_of(target);
	const bool ok = *target ? folder && !access(folder, W_OK | X_OK) : is_writable(path);
	free(folder);
	free(target);
	return ok;
}

bool
rt_write_in_place(const char *path)
{
	char *target = resolve(path);
	const bool in_place = target && !*target;
	free(target);
	return in_place;
}

void
rt_write_remove(const char *path)
{
	char *target = resolve(path);
	if (target && *target)
		unlink(target);
	free(target);
}
