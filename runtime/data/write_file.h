/* Files that are written whole or not at all: every file that a program or a tool writes by name
 * goes through here.
 *
 *	regular, or not there yet   file without a name in the same folder, sync, name, rename
 *	symbolic link               stays; the file that it names is replaced, in its own folder
 *	device, FIFO, socket        written in place: what stands there is not ours to replace
 *	/dev/stdout, /proc/.../fd   written in place, after what has been written there already
 *
 * A reader meets the old file or the new one, also after a crash of the machine. A process that is
 * killed leaves nothing behind where the file system has files without names (O_TMPFILE: ext4, xfs,
 * btrfs, tmpfs; not NFS, where FILE.tmp-PID-N may stay). A file that is replaced hands on its mode
 * and, where we may, its owner; a new one has the mode that open(2) gives it.
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

/* Opens a file for writing. A FIFO waits for its reader. On failure nothing is left to close. */
bool rt_write_open(struct rt_write *w, const char *path);

/* Ends writing: with `ok`, puts the file into its place, else drops it. False if any of what was
 * written, or the file, did not get there; then the old one is as it was. Frees what `w` has. */
bool rt_write_close(struct rt_write *w, bool ok);

/* Could rt_write_open open it, as far as can be told without trying? Asked before hours of work. */
bool rt_write_possible(const char *path);

/* Would it be written in place? */
bool rt_write_in_place(const char *path);

/* Removes what rt_write_open would replace, if it is there: a link stays, and what is written in place
 * does, too. */
void rt_write_remove(const char *path);

#endif
