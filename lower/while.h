/* Kernels of a while: the loop on the host, around the kernels of its body. */
#ifndef LOWER_WHILE_H
#define LOWER_WHILE_H

struct kernel_text;
struct cuda_text;

void while_host(struct kernel_text *w);
void while_cuda(struct cuda_text *t);

#endif
