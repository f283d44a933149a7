/* The command lines that compile and link programs, as this build of dopt was configured. */
#include "lower/build.h"

#include "dopt_config.h"
#include "ir/base/alloc.h"
#include "ir/base/diag.h"
#include "lower/lower.h"
#include "lower/plan/plan.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <talloc.h>
#include <unistd.h>

int
lower_target_find(const char *name)
{
	return strcmp(name, "host") == 0 ? LOWER_HOST : strcmp(name, "cuda") == 0 ? LOWER_CUDA : -1;
}

/* The folder that holds libdopt, or the program of the build, with links resolved. NULL:
 * unknown. */
static char *
library_folder(const void *owner)
{
	Dl_info info;
	char *real =
		dladdr((void *)&lower_target_find, &info) ? realpath(info.dli_fname, NULL) : NULL;
	char *slash = real ? strrchr(real, '/') : NULL;
	char *folder = slash ? text_copy_n(owner, real, (size_t)(slash - real)) : NULL;

	free(real);
	return folder;
}

static bool
is_build_tree(const char *folder)
{
	char *built = realpath(DOPT_BUILD_LIBDIR, NULL);
	const bool same = built && strcmp(folder, built) == 0;

	free(built);
	return same;
}

/* The folder of an installed libdopt, which also holds the runtime library; NULL in the build
 * tree. */
static char *
installed_folder(const void *owner)
{
	char *folder = library_folder(owner);
	char *runtime = folder ? TEXT(folder, "%s/libdopt_rt.a", folder) : NULL;

	if (runtime && !is_build_tree(folder) && access(runtime, F_OK) == 0)
		return folder;
	talloc_free(folder);
	return NULL;
}

char *
lower_lib_dir(const void *owner)
{
	char *folder = installed_folder(owner);

	return folder ? folder : text_copy(owner, DOPT_BUILD_LIBDIR);
}

char *
lower_include_dir(const void *owner)
{
	char *folder = installed_folder(owner);

	return folder ? text_append(folder, "/%s", DOPT_INSTALL_INCLUDE)
		      : text_copy(owner, DOPT_BUILD_INCLUDE);
}

char *
lower_compile_command(const void *owner)
{
	void *scratch = alloc_scratch(owner);

	/* Integers wrap around; loops marked `omp simd` are vectorized; no fast-math for floats. */
	char *command = TEXT(owner, "%s %s -fopenmp-simd -fwrapv -ffp-contract=off -I%s%s",
		lower_quote(scratch, DOPT_CC), DOPT_CC_FLAGS,
		lower_quote(scratch, lower_include_dir(scratch)), DOPT_CC_INCLUDES);
	talloc_free(scratch);
	return command;
}

char *
lower_link_flags(const void *owner)
{
	void *scratch = alloc_scratch(owner);
	char *flags = TEXT(owner, "-L%s -ldopt_rt %s", lower_quote(scratch, lower_lib_dir(scratch)),
		DOPT_RT_LIBS);

	talloc_free(scratch);
	return flags;
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
	char *path = TEXT(NULL, "%s/%s", folder, name);
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

/* Quoted only where the shell needs it, since people read command lines, too. */
char *
lower_quote(const void *owner, const char *s)
{
	static const char plain[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+=./:@%,";

	if (*s && !s[strspn(s, plain)])
		return text_copy(owner, s);
	char *text = text_copy(owner, "'");
	for (; *s; s++)
		text = *s == '\'' ? text_append(text, "'\\''") : text_append(text, "%.*s", 1, s);
	return text_append(text, "'");
}
