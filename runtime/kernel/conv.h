/* Convolutions for generated host code, on oneDNN, one thread per rank: images x[n,c,h,w], filters
 * f[o,c/groups,kh,kw], results y[n,o,oh,ow], row-major, single precision:
 *
 *	y[n,o,i,j] = sum(c,k,l) x[n,c, i*stride + k*dilation - low, j*stride + l*dilation - low]
 *f[o,c,k,l]
 *
 * with x 0 outside, and its two gradients. oneDNN works on layouts of its own; tensors are copied
 * into them and back, which takes little time compared with the convolution. */
#ifndef RUNTIME_CONV_H
#define RUNTIME_CONV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum rt_conv_kind {
	RT_CONV_FORWARD, /* x, f -> y */
	RT_CONV_DATA,    /* y, f -> x */
	RT_CONV_FILTER,  /* x, y -> f */
};

struct rt_conv_shape {
	enum rt_conv_kind kind;
	int64_t n, c, h, w;     /* images */
	int64_t o, kh, kw;      /* filters */
	int64_t oh, ow, groups; /* results */
	int64_t stride[2], low[2], dilation[2];
	bool channels_last; /* x[n,h,w,c], f[o,kh,kw,c/groups], y[n,oh,ow,o] */
};

/* What oneDNN has compiled for a shape; made by the first call, kept until the program ends. */
struct rt_conv;

/*
 * The convolution of `shape`: `a` and `b` are the two tensors on the left of the arrow above, `out`
 * the one on the right, which need not be initialized. `prepared` is a null pointer before the
 * first call with this shape, and may be used by several threads. `scratch`, of `bytes` and aligned
 * to 64, is for copies of the three tensors with channels in multiples of 16. Ends the program if
 * memory runs out.
 */
void rt_conv_f32(struct rt_conv *_Atomic *prepared, const struct rt_conv_shape *shape,
	const float *a, const float *b, float *out, void *scratch, size_t bytes);

/* Floats of a tensor of n elements, rounded up to a multiple of 64 bytes. */
static inline int64_t
rt_conv_padded(int64_t n)
{
	return (n + 15) / 16 * 16;
}

/* Bytes at the end of the scratch of rt_conv_half: the three tensors in f32. */
static inline int64_t
rt_conv_half_room(const struct rt_conv_shape *s)
{
	return 4 * (rt_conv_padded(s->n * s->c * s->h * s->w) +
			   rt_conv_padded(s->o * (s->c / s->groups) * s->kh * s->kw) +
			   rt_conv_padded(s->n * s->o * s->oh * s->ow));
}

/* The same for 16-bit floats, summed in f32 and rounded once. `bytes` includes rt_conv_half_room,
 * and is a multiple of 64. */
enum rt_conv_half { RT_CONV_F16, RT_CONV_BF16 };
void rt_conv_half(enum rt_conv_half type, struct rt_conv *_Atomic *prepared,
	const struct rt_conv_shape *shape, const uint16_t *a, const uint16_t *b, uint16_t *out,
	void *scratch, size_t bytes);

#endif
