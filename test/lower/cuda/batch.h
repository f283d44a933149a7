/*
 * Runs the tests of the host target (test/lower/host/) for the cuda target: the same modules,
 * lowered to CUDA, with their kernels run on this processor by test/lower/cuda/shim/. Such a test
 * includes the host's test.
 */
#ifndef TEST_LOWER_CUDA_BATCH_H
#define TEST_LOWER_CUDA_BATCH_H

#include "dopt_config.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <talloc.h>

#define BATCH_TARGET LOWER_CUDA
#define BATCH_MORE(batch, level) shim_build(batch, (batch)->folder, (batch)->n)

/* Programs of a batch whose kernels the real compiler must accept: all, unless a test defines
 * it. */
#ifndef BATCH_REAL
#define BATCH_REAL (1 << 20)
#endif

enum { SHIM_FILES = 2 }; /* C++ files with the kernels of a batch: one compiler each */

/* Every step-th of n programs, from `first` on. */
static inline void
write_list(const char *path, int first, int step, int n)
{
	FILE *f = fopen(path, "w");
	for (int k = first; f && k < n; k += step)
		fprintf(f, "#include \"p%d.src/kernels.cu\"\n", k);
	if (f)
		fclose(f);
}

/*
 * Compiles the kernels of programs p0.src ... in a folder for the shim (libcuda_shim.a), which is
 * linked instead of the real CUDA libraries; returns the files to link. The real compiler must also
 * accept the kernels of the first BATCH_REAL programs without a warning: all in one file, since it
 * takes seconds to start. The shim's are not optimized: compiling takes longer than running them. If a
 * compiler fails, linking fails.
 */
static inline const char *
shim_build(const void *owner, const char *folder, int n)
{
	char *command = talloc_asprintf(owner, "cd %s && {", folder);
	char *objects = talloc_strdup(owner, "");

	write_list(talloc_asprintf(owner, "%s/real.cc", folder), 0, 1,
		n < BATCH_REAL ? n : BATCH_REAL);
	command = talloc_asprintf_append(command,
		" %s -x cu -arch=sm_90 -Xptxas -O0 -Werror all-warnings -I%s -cubin "
		"-o real.cubin real.cc & real=$!;",
		DOPT_NVCC, DOPT_BUILD_INCLUDE);
	for (int i = 0; i < SHIM_FILES; i++) {
		write_list(talloc_asprintf(owner, "%s/all%d.cc", folder, i), i, SHIM_FILES, n);
		command = talloc_asprintf_append(command,
			" c++ -std=c++17 -O0 -fsanitize=thread --param "
			"tsan-instrument-func-entry-exit=0 -fwrapv -ffp-contract=off -fPIC -Wall "
			"-Wno-unused -Wno-unknown-pragmas -Wno-tautological-compare -include "
			"%s/test/lower/cuda/shim/kernels.h -I%s -c all%d.cc & c%d=$!;",
			DOPT_BUILD_INCLUDE, DOPT_BUILD_INCLUDE, i, i);
		objects = talloc_asprintf_append(objects, " all%d.o", i);
	}
	for (int i = 0; i < SHIM_FILES; i++)
		command = talloc_asprintf_append(command, " wait $c%d || exit 1;", i);
	command = talloc_asprintf_append(command, " wait $real; }");
	if (system(command) != 0) {
		fprintf(stderr, "the compiler failed: %s\n", command);
		return "compiler-failed.o"; /* does not exist, so linking fails */
	}
	return talloc_asprintf(owner,
		"%s -L%s -Wl,--whole-archive -lcuda_shim -Wl,--no-whole-archive -ldopt_rt_cuda "
		"-lstdc++",
		objects, DOPT_BUILD_LIBDIR);
}

#endif
