/* Sources of the cuda target, and how they are built. */
#ifndef LOWER_CUDA_H
#define LOWER_CUDA_H

#include "lower/job.h"
#include "lower/lower.h"
#include "lower/plan/plan.h"

/* The rules by which programs of this target place their tensors and the scratch of their
 * kernels. */
extern const struct storage_target cuda_storage;

/* lower_libraries of this target. */
struct storage_libraries cuda_libraries(const struct cluster *c);

/*
 * Writes kernels.cu and step.c of a checked plan into `folder`. Reports and returns false where a
 * file cannot be written. *convolves: the program calls convolutions of cuDNN.
 */
bool cuda_write(const struct lower_plan *p, const struct lower_options *o, const char *folder,
	bool *convolves);

/* Parts of these files for programs that are not steps (alone.h): the beginning of kernels.cu; the
 * tables of launches, products and convolutions; the bytes of kernels.fatbin as dopt_image; the
 * fields of struct rt_cuda_program. */
struct cuda_sources;
void cuda_write_head(FILE *kernels, const struct ir_module *m);
void cuda_write_tables(FILE *out, const struct cuda_sources *src, const char *prefix);
void cuda_write_image(FILE *out);
void cuda_write_program(FILE *out, const struct cuda_sources *src, const char *prefix);

/* H100 and similar. The program also holds code that drivers of newer devices can compile. */
#define CUDA_ARCH "sm_90"

/*
 * Compiles both in the job's folder and links them to LOWER_PROGRAM. The architectures are those of
 * the options, else the environment variable DOPT_CUDA_ARCH, in nvcc's notation; if it is not set,
 * CUDA_ARCH. Drivers of newer devices compile the code of the last one. Reports and returns false if
 * this build of dopt has no nvcc or a command fails.
 */
bool cuda_build(struct job *j, struct diag *d, const struct lower_options *o, bool convolves);

#endif
