/*
 * Output files: written beside their place and renamed into it, so that a failure leaves no half.
 */
#include "passes/driver.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <talloc.h>
#include <unistd.h>

static bool
is_stdout(const char *path)
{
	return !path || !strcmp(path, "-");
}

/* A device, a pipe: there is nothing to rename into its place. */
static bool
is_special(const char *path)
{
	struct stat s;

	return !stat(path, &s) && !S_ISREG(s.st_mode);
}

/* A new file beside `path`, with the rights that open(2) would have given it. */
static FILE *
open_temporary(struct driver_output *o, char *name)
{
	int fd = mkstemp(name);

	if (fd < 0)
		return NULL;
	mode_t mask = umask(0);
	umask(mask);
	fchmod(fd, 0666 & ~mask);
	o->temporary = name;
	return fdopen(fd, "w");
}

bool
driver_output_open(const void *owner, struct driver_output *o, const char *path)
{
	*o = (struct driver_output){.path = path};
	if (is_stdout(path))
		o->file = stdout;
	else if (is_special(path))
		o->file = fopen(path, "w");
	else
		o->file = open_temporary(o, talloc_asprintf(owner, "%s.XXXXXX", path));
	if (o->file)
		return true;
	driver_error("cannot write '%s': %s", path, strerror(errno));
	return false;
}

bool
driver_output_close(struct driver_output *o)
{
	const char *name = is_stdout(o->path) ? "standard output" : o->path;
	bool ok = !ferror(o->file) && !fflush(o->file);

	if (o->file != stdout)
		ok &= !fclose(o->file);
	if (ok && o->temporary)
		ok = !rename(o->temporary, o->path);
	if (ok)
		return true;
	driver_error("cannot write '%s': %s", name, strerror(errno));
	if (o->temporary)
		unlink(o->temporary);
	return false;
}

void
driver_output_discard(struct driver_output *o)
{
	if (o->file != stdout)
		fclose(o->file);
	if (o->temporary)
		unlink(o->temporary);
}
