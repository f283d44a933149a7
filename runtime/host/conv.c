/* Convolutions: see runtime/kernel/conv.h. A shape is compiled once (0.2 ms and more); each call
 * then copies into oneDNN's layouts, convolves, and copies back. The copies and oneDNN's own
 * scratch lie in the caller's scratch memory. Only oneDNN knows its size: if it is more than a
 * caller could assume, the call allocates memory of its own. */
#include "runtime/kernel/conv.h"
#include "runtime/status.h"
#include <dnnl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* Tensors of a convolution, in the order in which rt_conv_kind names them. */
enum tensor { X, F, Y, TENSORS };

/* Alignment of memory that oneDNN computes in. */
#define ALIGN 64

struct rt_conv {
	dnnl_engine_t engine;
	dnnl_primitive_t conv, reorder[TENSORS];         /* no reorder: used in place */
	dnnl_memory_desc_t plain[TENSORS], own[TENSORS]; /* layouts: ours, oneDNN's */
	dnnl_memory_desc_t scratch;
	enum tensor out;
	size_t at[TENSORS], scratch_at, bytes; /* in scratch memory */
};

static void
check(dnnl_status_t status, const struct rt_conv_shape *s, const char *what)
{
	if (status == dnnl_success)
		return;
	/* Sizes were checked when the program was compiled: only memory can be lacking. */
	fprintf(stderr,
		"%serror: %s of a convolution of %lldx%lldx%lldx%lld by "
		"%lldx%lldx%lld: oneDNN status %d\n",
		rt_line_start(), what, (long long)s->n, (long long)s->c, (long long)s->h,
		(long long)s->w, (long long)s->o, (long long)s->kh, (long long)s->kw, (int)status);
	_Exit(1);
}

/* The padding after the image that gives the results the sizes of the shape. */
static int64_t
high(int64_t size, int64_t kernel, int64_t out, int64_t stride, int64_t low, int64_t dilation)
{
	return (out - 1) * stride + (kernel - 1) * dilation + 1 - size - low;
}

/* Descriptions of the tensors: in our layout, or in a layout of oneDNN's choice. */
static void
describe(const struct rt_conv_shape *s, bool any, dnnl_memory_desc_t d[TENSORS])
{
	const bool grouped = s->groups > 1;
	const dnnl_dims_t x = {s->n, s->c, s->h, s->w}, y = {s->n, s->o, s->oh, s->ow};
	const dnnl_dims_t f = {s->o, s->c, s->kh, s->kw};
	const dnnl_dims_t g = {s->groups, s->o / s->groups, s->c / s->groups, s->kh, s->kw};
	const dnnl_format_tag_t four = any                ? dnnl_format_tag_any
				       : s->channels_last ? dnnl_acdb
							  : dnnl_abcd,
				five = any                ? dnnl_format_tag_any
				       : s->channels_last ? dnnl_abdec
							  : dnnl_abcde;

	check(dnnl_memory_desc_init_by_tag(&d[X], 4, x, dnnl_f32, four), s, "images");
	check(dnnl_memory_desc_init_by_tag(
		      &d[F], 4 + grouped, grouped ? g : f, dnnl_f32, grouped ? five : four),
		s, "filters");
	check(dnnl_memory_desc_init_by_tag(&d[Y], 4, y, dnnl_f32, four), s, "results");
}

static dnnl_primitive_desc_t
choose(const struct rt_conv *c, const struct rt_conv_shape *s)
{
	dnnl_memory_desc_t d[TENSORS];
	dnnl_dims_t stride = {s->stride[0], s->stride[1]}, low = {s->low[0], s->low[1]};
	dnnl_dims_t dilation = {s->dilation[0] - 1, s->dilation[1] - 1};
	dnnl_dims_t up = {high(s->h, s->kh, s->oh, s->stride[0], s->low[0], s->dilation[0]),
		high(s->w, s->kw, s->ow, s->stride[1], s->low[1], s->dilation[1])};
	dnnl_convolution_desc_t forward, back;
	dnnl_primitive_desc_t hint, chosen;
	dnnl_primitive_attr_t attr;

	describe(s, true, d);
	check(dnnl_primitive_attr_create(&attr), s, "attributes");
	check(dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user), s,
		"attributes");
	check(dnnl_dilated_convolution_forward_desc_init(&forward, dnnl_forward_training,
		      dnnl_convolution_direct, &d[X], &d[F], NULL, &d[Y], stride, dilation, low,
		      up),
		s, "description");
	check(dnnl_primitive_desc_create(&hint, &forward, attr, c->engine, NULL), s, "choice");
	chosen = hint;
	if (s->kind == RT_CONV_DATA)
		check(dnnl_dilated_convolution_backward_data_desc_init(&back,
			      dnnl_convolution_direct, &d[X], &d[F], &d[Y], stride, dilation, low,
			      up),
			s, "description");
	if (s->kind == RT_CONV_FILTER)
		check(dnnl_dilated_convolution_backward_weights_desc_init(&back,
			      dnnl_convolution_direct, &d[X], &d[F], NULL, &d[Y], stride, dilation,
			      low, up),
			s, "description");
	if (s->kind != RT_CONV_FORWARD) {
		check(dnnl_primitive_desc_create(&chosen, &back, attr, c->engine, hint), s,
			"choice");
		dnnl_primitive_desc_destroy(hint);
	}
	dnnl_primitive_attr_destroy(attr);
	return chosen;
}

static size_t
take(struct rt_conv *c, const dnnl_memory_desc_t *d)
{
	const size_t at = c->bytes;
	c->bytes += (dnnl_memory_desc_get_size(d) + ALIGN - 1) / ALIGN * ALIGN;
	return at;
}

/* The copy between our layout of a tensor and oneDNN's. */
static void
prepare_copy(struct rt_conv *c, const struct rt_conv_shape *s, enum tensor t)
{
	const dnnl_memory_desc_t *from = &c->plain[t], *to = &c->own[t];
	dnnl_primitive_desc_t copy;

	if (dnnl_memory_desc_equal(from, to))
		return;
	if (t == c->out) {
		from = &c->own[t];
		to = &c->plain[t];
	}
	check(dnnl_reorder_primitive_desc_create(&copy, from, c->engine, to, c->engine, NULL), s,
		"layout");
	check(dnnl_primitive_create(&c->reorder[t], copy), s, "layout");
	dnnl_primitive_desc_destroy(copy);
	c->at[t] = take(c, &c->own[t]);
}

static struct rt_conv *
prepare(const struct rt_conv_shape *s)
{
	static const dnnl_query_t query[][TENSORS] = {
		[RT_CONV_FORWARD] = {dnnl_query_src_md, dnnl_query_weights_md, dnnl_query_dst_md},
		[RT_CONV_DATA] = {dnnl_query_diff_src_md, dnnl_query_weights_md,
			dnnl_query_diff_dst_md},
		[RT_CONV_FILTER] = {
			dnnl_query_src_md, dnnl_query_diff_weights_md, dnnl_query_diff_dst_md}};
	static const enum tensor out[] = {
		[RT_CONV_FORWARD] = Y, [RT_CONV_DATA] = X, [RT_CONV_FILTER] = F};
	struct rt_conv *c = calloc(1, sizeof *c);

	if (!c)
		check(dnnl_out_of_memory, s, "description");
	c->out = out[s->kind];
	check(dnnl_engine_create(&c->engine, dnnl_cpu, 0), s, "engine");
	describe(s, false, c->plain);
	const dnnl_primitive_desc_t chosen = choose(c, s);
	check(dnnl_primitive_create(&c->conv, chosen), s, "code");
	for (int t = 0; t < TENSORS; t++) {
		c->own[t] = *dnnl_primitive_desc_query_md(chosen, query[s->kind][t], 0);
		prepare_copy(c, s, (enum tensor)t);
	}
	c->scratch = *dnnl_primitive_desc_query_md(chosen, dnnl_query_scratchpad_md, 0);
	c->scratch_at = take(c, &c->scratch);
	dnnl_primitive_desc_destroy(chosen);
	return c;
}

static void
destroy(struct rt_conv *c)
{
	for (int t = 0; t < TENSORS; t++)
		if (c->reorder[t])
			dnnl_primitive_destroy(c->reorder[t]);
	dnnl_primitive_destroy(c->conv);
	dnnl_engine_destroy(c->engine);
	free(c);
}

/* The prepared convolution; if several threads create it at once, one of the results is kept. */
static struct rt_conv *
find(struct rt_conv *_Atomic *prepared, const struct rt_conv_shape *s)
{
	struct rt_conv *c = atomic_load(prepared), *none = NULL;

	if (c)
		return c;
	c = prepare(s);
	if (atomic_compare_exchange_strong(prepared, &none, c))
		return c;
	destroy(c);
	return none;
}

/* The state of one call. */
struct call {
	const struct rt_conv *c;
	const struct rt_conv_shape *s;
	dnnl_stream_t stream;
	dnnl_memory_t plain[TENSORS], own[TENSORS], scratch;
	void *memory; /* its own; NULL: none */
};

static dnnl_memory_t
wrap(const struct call *k, const dnnl_memory_desc_t *d, void *at)
{
	dnnl_memory_t m;
	check(dnnl_memory_create(&m, d, k->c->engine, at), k->s, "memory");
	return m;
}

static void
open_call(struct call *k, void *const tensor[TENSORS], void *scratch, size_t bytes)
{
	const struct rt_conv *c = k->c;
	char *memory = scratch;

	if (c->bytes > bytes) {
		memory = k->memory = aligned_alloc(ALIGN, c->bytes);
		if (!memory)
			check(dnnl_out_of_memory, k->s, "memory");
	}
	check(dnnl_stream_create(&k->stream, c->engine, dnnl_stream_default_flags), k->s, "stream");
	for (int t = 0; t < TENSORS; t++) {
		k->plain[t] = wrap(k, &c->plain[t], tensor[t]);
		k->own[t] = c->reorder[t] ? wrap(k, &c->own[t], memory + c->at[t]) : k->plain[t];
	}
	k->scratch = wrap(k, &c->scratch, memory + c->scratch_at);
}

static void
close_call(struct call *k)
{
	for (int t = 0; t < TENSORS; t++) {
		dnnl_memory_destroy(k->plain[t]);
		if (k->c->reorder[t])
			dnnl_memory_destroy(k->own[t]);
	}
	dnnl_memory_destroy(k->scratch);
	dnnl_stream_destroy(k->stream);
	free(k->memory);
}

static void
copy(const struct call *k, enum tensor t)
{
	const bool out = t == k->c->out;
	const dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, out ? k->own[t] : k->plain[t]},
		{DNNL_ARG_TO, out ? k->plain[t] : k->own[t]}};

	if (k->c->reorder[t])
		check(dnnl_primitive_execute(k->c->reorder[t], k->stream, 2, args), k->s, "copy");
}

static void
convolve(const struct call *k)
{
	static const int arg[][TENSORS] = {
		[RT_CONV_FORWARD] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST},
		[RT_CONV_DATA] = {DNNL_ARG_DIFF_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_DST},
		[RT_CONV_FILTER] = {DNNL_ARG_SRC, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_DST}};
	const int *name = arg[k->s->kind];
	const dnnl_exec_arg_t args[] = {{name[X], k->own[X]}, {name[F], k->own[F]},
		{name[Y], k->own[Y]}, {DNNL_ARG_SCRATCHPAD, k->scratch}};

	check(dnnl_primitive_execute(k->c->conv, k->stream, 4, args), k->s, "run");
}

void
rt_conv_f32(struct rt_conv *_Atomic *prepared, const struct rt_conv_shape *shape, const float *a,
	const float *b, float *out, void *scratch, size_t bytes)
{
	static const enum tensor order[][TENSORS] = {[RT_CONV_FORWARD] = {X, F, Y},
		[RT_CONV_DATA] = {Y, F, X},
		[RT_CONV_FILTER] = {X, Y, F}};
	struct call k = {.c = find(prepared, shape), .s = shape};
	void *tensor[TENSORS];

	tensor[order[shape->kind][0]] = (void *)a;
	tensor[order[shape->kind][1]] = (void *)b;
	tensor[order[shape->kind][2]] = out;
	open_call(&k, tensor, scratch, bytes);
	for (int t = 0; t < TENSORS; t++)
		if ((enum tensor)t != k.c->out)
			copy(&k, (enum tensor)t);
	convolve(&k);
	copy(&k, k.c->out);
	close_call(&k);
}
