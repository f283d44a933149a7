/* Files that are written whole or not at all: every file that a program or a tool writes by name
 * goes through here.
 *
 *	regular, or not there yet   file without a name in the same folder, sync, name, rename
 *	symbolic link               stays; the file that it names is replaced, in its own folder
 *	device, FIFO, socket        written in place: it is not ours to replace
 *	/dev/stdout, /proc/.../fd   written in place, after what has been written there already
 *
 * A reader sees the old file or the new one, even after a crash of the machine. A process that is
 * killed leaves no file behind if the file system supports files without names (O_TMPFILE: ext4,
 * xfs, btrfs, tmpfs; not NFS, where FILE.tmp-PID-N may stay). A file that is replaced passes on its
 * mode and, if permitted, its owner; a new one has the mode that open(2) gives it.
 *
 * Failures are told as those of system calls: false, and errno. */
#ifndef RUNTIME_WRITE_FILE_H
#define RUNTIME_WRITE_FILE_H

#include <stdbool.h>
#include <stdio.h>

struct rt_write {
	FILE *file;
	char *target;    /* what is replaced, after symbolic links; NULL: written in place */
	char *temporary; /* the new file's name until it has its own; NULL: none yet */
};

/* Opens a file for writing. A FIFO waits for its reader. After a failure there is nothing to
 * close. */
bool rt_write_open(struct rt_write *w, const char *path);

/* Ends writing: with `ok`, puts the file into its place, else deletes it. False if some of the
 * data, or the file, could not be written; then the old file is unchanged. Frees the memory of
 * `w`. */
bool rt_write_close(struct rt_write *w, bool ok);

/* Could rt_write_open open it, as far as can be told without opening? Asked before hours of
 * work. */
bool rt_write_possible(const char *path);

/* Would it be written in place? */
bool rt_write_in_place(const char *path);

/* Removes the file that rt_write_open would replace, if it exists: links stay, and so do files that
 * are written in place. */
void rt_write_remove(const char *path);

#endif
