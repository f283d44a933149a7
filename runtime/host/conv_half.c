/* Convolutions of f16 and bf16: see runtime/kernel/conv.h. Both tensors are widened to f32 as a
 * whole and convolved there, so sums are in f32, and are rounded once at the end. An element is
 * used for hundreds of products, which hides the cost of widening. */
#include "runtime/kernel/conv.h"
#include "runtime/host/half_rows.h"

enum tensor { X, F, Y, TENSORS };

static int64_t
elements(const struct rt_conv_shape *s, enum tensor t)
{
	switch (t) {
	case X: return s->n * s->c * s->h * s->w;
	case F: return s->o * (s->c / s->groups) * s->kh * s->kw;
	default: return s->n * s->o * s->oh * s->ow;
	}
}

void
rt_conv_half(enum rt_conv_half type, struct rt_conv *_Atomic *prepared,
	const struct rt_conv_shape *shape, const uint16_t *a, const uint16_t *b, uint16_t *out,
	void *scratch, size_t bytes)
{
	static const enum tensor order[][TENSORS] = {[RT_CONV_FORWARD] = {X, F, Y},
		[RT_CONV_DATA] = {Y, F, X},
		[RT_CONV_FILTER] = {X, Y, F}};
	const enum tensor *at = order[shape->kind];
	const int64_t na = elements(shape, at[0]), nb = elements(shape, at[1]),
		      nout = elements(shape, at[2]);
	const bool bf16 = type == RT_CONV_BF16;
	const int64_t b_at = rt_conv_padded(na), out_at = b_at + rt_conv_padded(nb);
	const size_t rest = bytes - (size_t)rt_conv_half_room(shape);
	float *room = (float *)((char *)scratch + rest);

	rt_widen_row(bf16, a, na, room);
	rt_widen_row(bf16, b, nb, room + b_at);
	rt_conv_f32(prepared, shape, room, room + b_at, room + out_at, scratch, rest);
	rt_narrow_row(bf16, room + out_at, nout, out);
}
