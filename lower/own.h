/* Kernels of the ops with functions of their own (trait TRAIT_OWN): the function that writes each,
 * for each target. */
#ifndef LOWER_OWN_H
#define LOWER_OWN_H

struct kernel_text;
struct cuda_text;

/* Writes the body of the host's function; writes the kernels and launches of CUDA. */
void own_host(struct kernel_text *w);
void own_cuda(struct cuda_text *t);

#endif
