/*
 * Any convolution as products of slices (the general route of convolution.h):
 *
 *     for each position k     the images at k * dilation, every stride-th, times filters[..,k];
 *     of the filter           these products are summed
 *     for each position y     the images from y * stride on, every dilation-th, times all filters;
 *     of the result           these products are concatenated
 *
 * The second is for results with few positions: the gradient of a convolution with respect to its
 * filters, written as a convolution whose filter is as large as an image.
 */
#include "parser/stablehlo/import/sum/convolution.h"

#include <string.h>

/* The letters of a contract; groups g (batch groups: G), n, o, c, and spatial ones from s on. */
struct spec {
	char text[64];
	int at;
};

static void
put(struct spec *s, const char *letters)
{
	for (; *letters; letters++)
		s->text[s->at++] = *letters;
}

/* Letters of the mesh axes: from the end of the alphabet, as dims take them from its start. */
static void
put_axes(struct spec *s, uint32_t varies)
{
	for (int a = 0; a < IR_MAX_AXES; a++)
		if (varies >> a & 1)
			s->text[s->at++] =
				(char)('z' - __builtin_popcount(varies & ((1u << a) - 1)));
}

/* The same letters for both sides, even if they vary over different axes. */
static void
put_side_axes(struct spec *s, uint32_t varies, uint32_t all)
{
	for (int a = 0; a < IR_MAX_AXES; a++)
		if (varies >> a & 1)
			s->text[s->at++] = (char)('z' - __builtin_popcount(all & ((1u << a) - 1)));
}

static void
put_spatial(struct spec *s, int n)
{
	for (int d = 0; d < n; d++)
		s->text[s->at++] = (char)('p' + d);
}

/* Images dilated and padded, [.., b, n, g, c, x...]; sizes 1 of groups are left out. */
static struct ir_value *
build_images(const struct convolution *c)
{
	const int lead = conv_lead(c, 0);
	int64_t low[IR_MAX_RANK] = {0}, high[IR_MAX_RANK] = {0}, interior[IR_MAX_RANK] = {0};
	int64_t shape[IR_MAX_RANK + 2];
	int n = lead;

	for (int d = 0; d < c->rank; d++) {
		low[lead + 2 + d] = c->low[d];
		high[lead + 2 + d] = c->high[d];
		interior[lead + 2 + d] = c->base[d] - 1;
	}
	struct ir_value *x = build_pad_zero(c->im, c->x, low, high, interior);
	if (!x)
		return NULL;
	memcpy(shape, x->type->dim, (size_t)lead * sizeof *shape);
	if (c->batch_groups > 1)
		shape[n++] = c->batch_groups;
	shape[n++] = c->n;
	if (c->groups > 1)
		shape[n++] = c->groups;
	shape[n++] = c->channels;
	for (int d = 0; d < c->rank; d++)
		shape[n++] = c->padded[d];
	return build_reshape(c->im, x, shape, n);
}

/* Filters [.., G, o, c, k...]. */
static struct ir_value *
build_grouped_filters(const struct convolution *c)
{
	const int lead = conv_lead(c, 1);
	const int64_t groups = c->groups * c->batch_groups;
	int64_t shape[IR_MAX_RANK + 2];
	int n = lead;

	memcpy(shape, c->f->type->dim, (size_t)lead * sizeof *shape);
	if (groups > 1)
		shape[n++] = groups;
	shape[n++] = c->filters / groups;
	shape[n++] = c->channels;
	for (int d = 0; d < c->rank; d++)
		shape[n++] = c->kernel[d];
	return build_reshape(c->im, c->f, shape, n);
}

/* One product; `window`: with the filter's dims, which are summed over. */
static struct ir_value *
build_part(const struct convolution *c, struct ir_value *x, struct ir_value *f, bool window)
{
	const uint32_t all = c->varies[0] | c->varies[1];
	const bool grouped = c->groups * c->batch_groups > 1;
	struct spec s = {.at = 0};

	put_side_axes(&s, c->varies[0], all);
	put(&s, c->batch_groups > 1 ? "gn" : "n");
	put(&s, c->groups > 1 ? "gc" : "c");
	put_spatial(&s, c->rank);
	put(&s, ",");
	put_side_axes(&s, c->varies[1], all);
	put(&s, grouped ? "goc" : "oc");
	if (window)
		put_spatial(&s, c->rank);
	put(&s, "->");
	put_axes(&s, all);
	put(&s, grouped ? "ngo" : "no");
	if (!window)
		put_spatial(&s, c->rank);
	return build_contract(c->im, s.text, x, f);
}

/* v's last `rank` dims: `count` elements from start on, `step` apart. */
static struct ir_value *
build_cut(const struct convolution *c, struct ir_value *v, const int64_t *start,
	const int64_t *count, const int64_t *step)
{
	int64_t from[IR_MAX_RANK] = {0}, limit[IR_MAX_RANK], by[IR_MAX_RANK];

	if (!v)
		return NULL;
	const int first = v->type->rank - c->rank;
	for (int d = 0; d < first; d++) {
		limit[d] = v->type->dim[d];
		by[d] = 1;
	}
	for (int d = 0; d < c->rank; d++) {
		from[first + d] = start[d];
		limit[first + d] = start[d] + (count[d] - 1) * step[d] + 1;
		by[first + d] = count[d] > 1 ? step[d] : 1;
	}
	return build_slice(c->im, v, from, limit, by);
}

/* Number k of a row-major walk. */
static void
place(const int64_t *size, int rank, int64_t k, int64_t *out)
{
	for (int d = rank - 1; d >= 0; d--) {
		out[d] = k % size[d];
		k /= size[d];
	}
}

static int64_t
product(const int64_t *size, int rank)
{
	int64_t n = 1;

	for (int d = 0; d < rank && n <= CONV_MAX_PLACES; d++)
		n *= size[d];
	return n;
}

/* Without the last `rank` dims, which have size 1. */
static struct ir_value *
build_without_spatial(const struct convolution *c, struct ir_value *v)
{
	return v ? build_reshape(c->im, v, v->type->dim, v->type->rank - c->rank) : NULL;
}

static struct ir_value *
by_filter_place(const struct convolution *c, struct ir_value *x, struct ir_value *f)
{
	const int64_t one[IR_MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
	struct ir_value *sum = NULL;

	for (int64_t k = 0; k < product(c->kernel, c->rank); k++) {
		int64_t at[IR_MAX_RANK], start[IR_MAX_RANK];
		place(c->kernel, c->rank, k, at);
		for (int d = 0; d < c->rank; d++)
			start[d] = at[d] * c->dilation[d];
		struct ir_value *part = build_part(c, build_cut(c, x, start, c->out, c->stride),
			build_without_spatial(c, build_cut(c, f, at, one, one)), false);
		sum = sum && part ? ir_build2(&c->im->builder, OP_add, sum, part) : part;
		if (!sum)
			return NULL;
	}
	return sum;
}

/* [.., places, rest...] of a part that is one place: a dim of size 1 in front of the others. */
static struct ir_value *
by_result_place(const struct convolution *c, struct ir_value *x, struct ir_value *f)
{
	const int64_t n = product(c->out, c->rank);
	struct ir_value **part = ARENA_ARRAY(c->im->arena, struct ir_value *, n);
	int64_t shape[IR_MAX_RANK];

	for (int64_t k = 0; k < n; k++) {
		int64_t at[IR_MAX_RANK];
		place(c->out, c->rank, k, at);
		for (int d = 0; d < c->rank; d++)
			at[d] *= c->stride[d];
		part[k] = build_part(c, build_cut(c, x, at, c->kernel, c->dilation), f, true);
		part[k] = part[k] ? build_unsqueeze(c->im, part[k], part[k]->type->rank) : NULL;
		if (!part[k])
			return NULL;
	}
	const int rank = part[0]->type->rank - 1;
	struct ir_value *v = build_concat(c->im, part, (int)n, rank);
	memcpy(shape, part[0]->type->dim, sizeof shape);
	for (int d = 0; d < c->rank; d++)
		shape[rank + d] = c->out[d];
	return build_reshape(c->im, v, shape, rank + c->rank);
}

struct ir_value *
conv_by_places(struct convolution *c)
{
	const uint32_t all = c->varies[0] | c->varies[1];
	const int lead = __builtin_popcount(all), grouped = c->groups * c->batch_groups > 1;
	const int64_t taps = product(c->kernel, c->rank), results = product(c->out, c->rank);
	const enum ir_dtype type = c->type;

	if (lead + 2 + grouped + c->rank > IR_MAX_RANK) {
		import_unsupported(c->im, c->op, "more than 8 dims, groups counted");
		return NULL;
	}
	if (taps > CONV_MAX_PLACES && results > CONV_MAX_PLACES) {
		import_unsupported_form(c->im, c->op,
			"a filter and a result of more than %d elements in this form",
			CONV_MAX_PLACES);
		return NULL;
	}
	struct ir_value *x = build_images(c), *f = build_grouped_filters(c), *v;
	if (!x || !f)
		return NULL;
	if (results < taps) {
		v = by_result_place(c, x, f);
	} else {
		/* Parts are added in 32 bits and rounded once. */
		v = by_filter_place(c, build_convert(c->im, x, build_wide(type)),
			build_convert(c->im, f, build_wide(type)));
		v = build_convert(c->im, v, type);
	}
	if (!v)
		return NULL;
	/* [.., n, g, o, y...]: groups and what they have are the features. */
	return grouped ? build_flatten(c->im, v, lead + 1, lead + 3) : v;
}
