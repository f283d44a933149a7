/*
 * Output files: runtime/data/write_file.h says how they are written, so that a failure leaves no half.
 */
#include "passes/tools/output.h"

#include "passes/tools/command_line.h"

#include <errno.h>
#include <string.h>

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

bool
driver_stdout_flush(void)
{
	/* Where an earlier write has failed its reason was not kept. */
	const int error = fflush(stdout) ? errno : ferror(stdout) ? EIO : 0;
	if (!error)
		return true;
	driver_error("cannot write 'standard output': %s", strerror(error));
	clearerr(stdout); /* said once */
	return false;
}

void
driver_output_discard(struct driver_output *o)
{
	if (o->file != stdout)
		rt_write_close(&o->out, false);
}
