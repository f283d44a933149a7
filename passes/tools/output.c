/*
 * Output files, written atomically by runtime/data/write_file.h, so that a failure leaves no
 * partial file.
 */
#include "passes/tools/output.h"

#include "passes/tools/command_line.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static bool
is_stdout(const char *path)
{
	return !path || !strcmp(path, "-");
}

bool
driver_output_open(struct driver_output *o, const char *path)
{
	*o = (struct driver_output){.path = path, .file = stdout};
	if (is_stdout(path))
		return true;
	const bool ok = rt_write_open(&o->out, path);
	o->file = o->out.file;
	if (!ok)
		driver_error("cannot write '%s': %s", path, strerror(errno));
	return ok;
}

bool
driver_output_close(struct driver_output *o)
{
	if (o->file == stdout)
		return driver_stdout_flush();
	if (rt_write_close(&o->out, true))
		return true;
	driver_error("cannot write '%s': %s", o->path, strerror(errno));
	return false;
}

/* Why an earlier write to stdout failed: that reason was not kept, so another write is tried. */
static int
lost_reason(void)
{
	return write(STDOUT_FILENO, "\n", 1) < 0 ? errno : EIO;
}

bool
driver_stdout_flush(void)
{
	const int error = fflush(stdout) ? errno : ferror(stdout) ? lost_reason() : 0;
	if (!error)
		return true;
	if (error != EPIPE) /* the reader has closed the pipe, as in `dopt -list-ops | head` */
		driver_error("cannot write 'standard output': %s", strerror(error));
	clearerr(stdout); /* reported only once */
	return false;
}

void
driver_output_discard(struct driver_output *o)
{
	if (o->file != stdout)
		rt_write_close(&o->out, false);
}
