/*
 * The tests of the host target (test/lower/) for the cuda target: the same modules, lowered to
 * CUDA, their kernels run on this processor by test/cuda/shim/. What such a test includes is the
 * host's test itself.
 */
#ifndef TEST_CUDA_BATCH_H
#define TEST_CUDA_BATCH_H

#include "dopt_config.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <talloc.h>

#define BATCH_TARGET LOWER_CUDA
#define BATCH_MORE(batch, level) shim_build(batch, (batch)->folder, (batch)->n, level)

/* Programs of a batch whose kernels the real compiler must take: all, where a test says nothing. */
#ifndef BATCH_REAL
#define BATCH_REAL (1 << 20)
#endif

enum { SHIM_FILES = 2 }; /* C++ files with the kernels of a batch: a compiler each */

/* Every SHIM_FILES-th of n programs, from `first` on. */
static inline void
write_list(const char *path, int first, int n)
{
	FILE *f = fopen(path, "w");
	for (int k = first; f && k < n; k += SHIM_FILES)
		fprintf(f, "#include \"p%d.src/kernels.cu\"\n", k);
	if (f)
		fclose(f);
}

/*
 * Compiles the kernels of programs p0.src ... in a folder, and the shim, which is linked instead of
 * the real CUDA libraries; returns what to link. The real compiler must take the kernels of
 * the first BATCH_REAL programs, too, without a warning.
 */
static inline char *
shim_build(const void *owner, const char *folder, int n, const char *level)
{
	const char *shim = DOPT_BUILD_INCLUDE "/test/cuda/shim";
	char *command = talloc_asprintf(owner,
		"cd %s && c() { %s -std=c11 -D_GNU_SOURCE -O1 -fPIC %s %s -I%s -I%s -c %s/$1.c; } "
		"&& "
		"c fibers && c cudart && c nccl && c cudnn",
		folder, DOPT_CC, DOPT_CUDA_INCLUDES, DOPT_CC_INCLUDES, DOPT_BUILD_INCLUDE, shim,
		shim);
	char *objects = talloc_strdup(owner, "");

	for (int i = 0; i < SHIM_FILES; i++) {
		write_list(talloc_asprintf(owner, "%s/all%d.cc", folder, i), i, n);
		write_list(talloc_asprintf(owner, "%s/real%d.cc", folder, i), i,
			n < BATCH_REAL ? n : BATCH_REAL);
		command = talloc_asprintf_append(command,
			" && c++ -std=c++17 %s -fwrapv -ffp-contract=off -fPIC -Wall "
			"-Wno-unused -Wno-unknown-pragmas -Wno-tautological-compare -include "
			"%s/kernels.h -I%s -c all%d.cc",
			level, shim, DOPT_BUILD_INCLUDE, i);
		command = talloc_asprintf_append(command,
			" && %s -x cu -arch=sm_90 -Xptxas -O1 -Werror all-warnings -I%s -cubin "
			"-o real%d.cubin real%d.cc",
			DOPT_NVCC, DOPT_BUILD_INCLUDE, i, i);
		objects = talloc_asprintf_append(objects, " all%d.o", i);
	}
	if (system(command) != 0)
		fprintf(stderr, "the compiler failed: %s\n", command);
	return talloc_asprintf(owner,
		"%s fibers.o cudart.o nccl.o cudnn.o -L%s -ldopt_rt_cuda -lstdc++", objects,
		DOPT_BUILD_LIBDIR);
}

#endif
