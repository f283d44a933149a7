/* The command lines that compile and link programs, as this build of dopt was configured. */
#include "lower/build.h"

#include "dopt_config.h"
#include "ir/diag.h"
#include "lower/lower.h"
#include "lower/plan.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <talloc.h>

int
lower_target_find(const char *name)
{
	return strcmp(name, "host") == 0 ? LOWER_HOST : strcmp(name, "cuda") == 0 ? LOWER_CUDA : -1;
}

/* Is the library that runs this the one of the build tree? Then so are the runtime and its headers.
 */
static bool
in_build_tree(void)
{
	Dl_info info;
	char *real =
		dladdr((void *)&lower_target_find, &info) ? realpath(info.dli_fname, NULL) : NULL;
	const size_t n = strlen(DOPT_BUILD_LIBDIR);
	const bool found = real && strncmp(real, DOPT_BUILD_LIBDIR, n) == 0 && real[n] == '/';

	free(real);
	return found;
}

/* Where the library lies tells where the installed tree is: LIB/../include/dopt. */
static char *
installed(const void *owner, const char *below)
{
	Dl_info info;

	if (!dladdr((void *)&lower_target_find, &info))
		return talloc_strdup(owner, ".");
	char *folder = talloc_strdup(owner, info.dli_fname), *slash = strrchr(folder, '/');
	if (slash)
		*slash = 0;
	return talloc_asprintf_append(folder, "%s", below);
}

char *
lower_include_dir(const void *owner)
{
	return in_build_tree() ? talloc_strdup(owner, DOPT_BUILD_INCLUDE)
			       : talloc_strdup(owner, DOPT_INSTALL_INCLUDE);
}

char *
lower_lib_dir(const void *owner)
{
	return in_build_tree() ? talloc_strdup(owner, DOPT_BUILD_LIBDIR) : installed(owner, "");
}

char *
lower_compile_command(const void *owner)
{
	char *include = lower_include_dir(owner);

	/* Integers wrap; loops marked `omp simd` are vectorized; nothing else is assumed of floats.
	 */
	return talloc_asprintf(owner, "%s %s -fopenmp-simd -fwrapv -ffp-contract=off -I%s%s",
		DOPT_CC, DOPT_CC_FLAGS, include, DOPT_CC_INCLUDES);
}

char *
lower_link_flags(const void *owner)
{
	char *lib = lower_lib_dir(owner);

	return talloc_asprintf(owner, "-L%s -ldopt_rt %s", lib, DOPT_RT_LIBS);
}

bool
lower_run_command(struct diag *d, const char *command, bool verbose)
{
	if (verbose)
		diag_report(d, DIAG_REMARK, LOC_NONE, "%s", command);
	const int status = system(command);
	if (status == 0)
		return true;
	if (status < 0)
		diag_error(d, LOC_NONE, "cannot run a command: %s: %s", strerror(errno), command);
	else
		diag_error(d, LOC_NONE, "a command failed with %s %d: %s",
			WIFEXITED(status) ? "exit status" : "signal",
			WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status), command);
	return false;
}

bool
lower_make_dir(struct diag *d, const char *path)
{
	struct stat st;

	if (mkdir(path, 0777) == 0 || (stat(path, &st) == 0 && S_ISDIR(st.st_mode)))
		return true;
	diag_error(d, LOC_NONE, "cannot create the folder %s: %s", path, strerror(errno));
	return false;
}

FILE *
lower_open(struct diag *d, const char *folder, const char *name)
{
	char *path = talloc_asprintf(NULL, "%s/%s", folder, name);
	FILE *f = fopen(path, "w");

	if (!f)
		diag_error(d, LOC_NONE, "cannot write %s: %s", path, strerror(errno));
	talloc_free(path);
	return f;
}

bool
lower_close(struct diag *d, const char *folder, const char *name, FILE *f)
{
	bool ok = !ferror(f);

	ok = !fclose(f) && ok;
	if (!ok)
		diag_error(d, LOC_NONE, "cannot write %s/%s: %s", folder, name, strerror(errno));
	return ok;
}

char *
lower_quote(const void *owner, const char *s)
{
	char *text = talloc_strdup(owner, "'");

	for (; *s; s++)
		text = *s == '\'' ? talloc_strdup_append(text, "'\\''")
				  : talloc_strndup_append(text, s, 1);
	return talloc_strdup_append(text, "'");
}
