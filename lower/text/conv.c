/* Calls of the convolution library. */
#include "lower/text/text.h"

#include <inttypes.h>

void
kernel_conv(struct kernel_text *w, int number)
{
	static const char *const kind[] = {[RT_CONV_FORWARD] = "RT_CONV_FORWARD",
		[RT_CONV_DATA] = "RT_CONV_DATA",
		[RT_CONV_FILTER] = "RT_CONV_FILTER"};
	const struct scheme_segment *g = &w->s->segment[number];
	const struct scheme_op *o = &w->s->op[g->op[0]];
	const struct rt_conv_shape *c = &g->conv;

	kernel_line(w, "static struct rt_conv *_Atomic conv%d;", number);
	kernel_line(w, "static const struct rt_conv_shape shape%d = {.kind = %s,", number,
		kind[c->kind]);
	kernel_line(w, "\t.n = %" PRId64 ", .c = %" PRId64 ", .h = %" PRId64 ", .w = %" PRId64 ",",
		c->n, c->c, c->h, c->w);
	kernel_line(w,
		"\t.o = %" PRId64 ", .kh = %" PRId64 ", .kw = %" PRId64 ", .oh = %" PRId64
		", .ow = %" PRId64 ", .groups = %" PRId64 ",",
		c->o, c->kh, c->kw, c->oh, c->ow, c->groups);
	kernel_line(w,
		"\t.stride = {%" PRId64 ", %" PRId64 "}, .low = {%" PRId64 ", %" PRId64
		"}, .dilation = {%" PRId64 ", %" PRId64 "}%s};",
		c->stride[0], c->stride[1], c->low[0], c->low[1], c->dilation[0], c->dilation[1],
		c->channels_last ? ", .channels_last = true" : "");
	const char *call = o->f.dtype == IR_f32   ? "f32("
			   : o->f.dtype == IR_f16 ? "half(RT_CONV_F16, "
						  : "half(RT_CONV_BF16, ";
	kernel_line(w,
		"rt_conv_%s&conv%d, &shape%d, %s, %s, %s, scratch + %" PRId64 ", %" PRId64 ");",
		call, number, number, kernel_memory(w, o->in[0]), kernel_memory(w, o->in[1]),
		kernel_memory(w, o->out), g->library_at,
		scheme_conv_scratch(c, (enum ir_dtype)o->f.dtype));
}
