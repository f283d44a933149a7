/*
 * The values that kernels read while they are timed: numbers as in training, since the time of a
 * kernel depends on them. Branches on a mask are predictable if it has a pattern, a gather depends
 * on the distribution of its indices, and exp of zeros differs from exp of scores. Params and
 * states start from their initial values, inputs from random ones, and other kernels read what
 * kernels make of them. Results of kernels that do not run, because their time is known, get random
 * numbers.
 */
#include "runtime/measure/impl.h"
#include "runtime/kernel/rng.h"
#include "runtime/data/value.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Numbers n(0, 1) for a tensor, scaled to the given mean and spread, in `room`. */
static void
scale(const struct measure_pattern *p, enum rt_dtype t, double mean, double spread, void *room)
{
	for (int k = 0; k < MEASURE_PATTERN; k++)
		rt_value_set(
			t, room, k, t == RT_bool ? p->normal[k] > 0 : mean + spread * p->normal[k]);
}

static bool
has_numbers(enum rt_dtype t)
{
	return t == RT_f32 || t == RT_f64 || t == RT_f16 || t == RT_bf16 || t == RT_bool;
}

bool
measure_make_pattern(struct measurer *w)
{
	struct measure_pattern *p = calloc(1, sizeof *p);
	const uint64_t key = rt_key((uint64_t)w->world->rank, 0, "measure");

	w->pattern = p;
	for (int k = 0; p && k < MEASURE_PATTERN; k++)
		p->normal[k] = rt_normal(key, (uint64_t)k);
	for (int t = 0; p && t < RT_DTYPES; t++)
		if (has_numbers((enum rt_dtype)t))
			scale(p, (enum rt_dtype)t, 0, MEASURE_SPREAD, p->made[t]);
	return p != NULL;
}

/* Integers below the range, drawn by position; tensors at other offsets and other ranks have
 * others. */
static void
draw(struct measure_pattern *p, const struct rt_measure_tensor *t, uint64_t key, int64_t first,
	int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		rt_value_set(t->dtype, p->scaled, i,
			floor(rt_uniform(key, (uint64_t)(first + i)) * (double)t->range));
}

/* Fills a tensor of the arena with copies of `from`, or with integers. */
static void
fill(struct measurer *w, int64_t offset, const struct rt_measure_tensor *t, const void *from)
{
	const struct rt_device *d = w->ctx->rank->device;
	const int64_t size = (int64_t)rt_dtype_bytes(t->dtype);
	const uint64_t key = rt_key((uint64_t)w->world->rank, (uint64_t)offset, "measure");
	const bool drawn = !has_numbers(t->dtype);

	if (drawn && !t->range)
		return;
	for (int64_t k = 0; k < t->elements; k += MEASURE_PATTERN) {
		const int64_t n =
			t->elements - k < MEASURE_PATTERN ? t->elements - k : MEASURE_PATTERN;
		if (drawn)
			draw(w->pattern, t, key, k, n);
		d->upload(w->ctx->device, w->ctx->arena + offset + k * size,
			drawn ? w->pattern->scaled : from, (size_t)(n * size));
	}
}

void
measure_fill(struct measurer *w, int64_t offset, const struct rt_measure_tensor *t)
{
	fill(w, offset, t, w->pattern->made[t->dtype]);
}

void
measure_fill_step(struct measurer *w)
{
	for (int i = 0; i < w->s->m->nfills; i++) {
		const struct rt_measure_fill *f = &w->s->m->fills[i];
		if (has_numbers(f->tensor.dtype))
			scale(w->pattern, f->tensor.dtype, f->mean, f->spread, w->pattern->scaled);
		fill(w, f->offset, &f->tensor, w->pattern->scaled);
	}
}
