/* What the host side of a generated CUDA program calls in addition to runtime/rt_program.h:
 * kernels, matrix products, copies. All work is enqueued in the compute stream and the call returns
 * at once. No CUDA header is needed, so step.c is plain C.
 *
 *	step.c                      libdopt_rt_cuda                  libdopt_rt
 *	kernels.fatbin, tables      rt_cuda_main: a device           rt_main: options, data, steps
 *	step(struct rt_ctx *)       for rt_main, launches, products  (the same as on the host)
 *
 * A failure on the device ends the program: there is no way back from a broken stream. */
#ifndef RUNTIME_CUDA_RT_CUDA_H
#define RUNTIME_CUDA_RT_CUDA_H

#include "runtime/kernel/conv.h"
#include "runtime/rt_program.h"

/* Exit code if no device can be used: the error is neither in the program nor in its input. */
#define RT_EXIT_DEVICE 3
/* Bytes that every rank allocates in addition to the arena, as workspace of matrix products and of
 * convolutions that need no more: NVIDIA's recommendation for its largest devices. */
#define RT_CUDA_WORKSPACE ((size_t)32 << 20)

/* Bytes that every rank allocates for addresses of matrices: a product over 12 heads and 32 texts
 * needs 9 KB, all products of BERT's attention need 663 KB. When they are used up, a product makes
 * one call for each step of its outer loops. */
#define RT_CUDA_ADDRESSES ((size_t)4 << 20)
/* Bytes that every rank of a program with collectives allocates in addition, for packed data and
 * for received data that is to be added: a collective that needs more takes rounds. Messages of
 * several MB reach the bandwidth of NVLink on 8 GPUs. */
#define RT_CUDA_ROOM ((size_t)64 << 20)

/* A kernel of the image: `threads` a block. */
struct rt_cuda_kernel {
	const char *name;
	uint32_t threads;
};

/* A loop around a matrix product: strides in elements. */
struct rt_cuda_gemm_loop {
	int64_t size, a, b, c;
};

/* C = op(A) op(B) + bias along the rows of C, then max(0, C) if `relu`; row-major, op(A) m x k,
 * op(B) k x n. The last `nsum` of the loops add to C; of the others, the last is one call, or all
 * are one if `addresses`. */
struct rt_cuda_gemm {
	enum rt_dtype dtype; /* of floating point */
	bool trans_a, trans_b, relu;
	bool wide;      /* C is f32, whatever the type of A and B */
	bool addresses; /* the library gets the addresses of all matrices, where it supports that */
	int64_t m, n, k, lda, ldb, ldc;
	int32_t nloops, nsum;
	const struct rt_cuda_gemm_loop *loops;
	/* of the library's algorithms (candidate.h), without and with -tf32; 0: its first choice */
	int32_t candidate[2];
};

/* A convolution of the library; all its tensors have one element type, f32, f16 or bf16, and sums
 * are kept in f32. The padding extends as far as the windows reach, and is at most as large after
 * an image as before it. */
struct rt_cuda_conv {
	enum rt_dtype dtype;
	struct rt_conv_shape shape;
	size_t workspace; /* bytes that it is given */
	size_t most;      /* the limit that determined `workspace`: -workspace of dopt */
	int candidate[2]; /* of cuDNN: the fastest (candidate.h), without and with -tf32 */
};

struct rt_cuda;

struct rt_cuda_program {
	const void *image; /* fatbin or cubin of kernels.cu */
	int32_t nkernels;
	const struct rt_cuda_kernel *kernels;
	int32_t ngemms;
	const struct rt_cuda_gemm *gemms;
	int32_t nconvs;
	const struct rt_cuda_conv *convs;
	/* rt_cuda_conv_again and rt_cuda_close_convs if there are any: programs without convolutions are linked without
	 * cuDNN. */
	bool (*conv_again)(struct rt_cuda *d, int32_t conv, int32_t candidate);
	void (*close_convs)(struct rt_cuda *d);
};

/* Was the program started with -tf32? */
bool rt_cuda_tf32(const struct rt_ctx *ctx);

/* Launches kernel number `kernel` with `grid` blocks; `args` is its one parameter. */
void rt_cuda_launch(
	struct rt_ctx *ctx, int32_t kernel, int64_t grid, const void *args, size_t bytes);

/* Matrix product number `gemm`. `bias` may be NULL. */
void rt_cuda_gemm(
	struct rt_ctx *ctx, int32_t gemm, const void *a, const void *b, const void *bias, void *c);

/* Convolution number `conv`: `a` and `b` in the order of rt_conv_f32; `workspace` has the bytes of
 * its row; NULL: the workspace of products, of RT_CUDA_WORKSPACE bytes, is used. The other function
 * frees what the convolutions hold. */
void rt_cuda_conv(
	struct rt_ctx *ctx, int32_t conv, const void *a, const void *b, void *out, void *workspace);
/* Repeats the last call of a convolution, by another candidate; false: there is none of that number,
 * or there was no call. */
bool rt_cuda_conv_again(struct rt_cuda *d, int32_t conv, int32_t candidate);
void rt_cuda_close_convs(struct rt_cuda *d);

void rt_cuda_zero(struct rt_ctx *ctx, void *to, size_t bytes);
void rt_cuda_copy(struct rt_ctx *ctx, void *to, const void *from, size_t bytes);

/* Waits for all work of the step so far, and reads a bool of the device: the condition of a loop. A
 * step that calls it is not captured as a graph. */
bool rt_cuda_is_true(struct rt_ctx *ctx, const void *condition);

/* `outer` blocks of `bytes` bytes. */
void rt_cuda_copy_blocks(struct rt_ctx *ctx, void *to, size_t to_stride, const void *from,
	size_t from_stride, size_t bytes, int64_t outer);

/* sum[i] = (first ? 0 : sum[i]) + x[i] for n elements. */
void rt_cuda_add(
	struct rt_ctx *ctx, enum rt_dtype t, void *sum, const void *x, int64_t n, bool first);

/* Begin and end a kernel, given by its row of rt_program.kernels: as rt_kernel_begin, with the
 * times of the device. */
void rt_cuda_kernel_begin(struct rt_ctx *ctx, int32_t kernel);
void rt_cuda_kernel_end(struct rt_ctx *ctx, int32_t kernel);

/* rt_main on CUDA devices. Without one: the message "no CUDA device: ..." and RT_EXIT_DEVICE on all
 * ranks. */
int rt_cuda_main(
	const struct rt_program *prog, const struct rt_cuda_program *cuda, int argc, char **argv);

#endif
