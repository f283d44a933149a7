/* What kernels read while they are timed: floats of a pattern, integers as training draws them. How
 * long a sum by number takes, or a gather, depends on how the numbers are spread. */
#include "runtime/measure/impl.h"
#include "runtime/kernel/rng.h"
#include "runtime/data/value.h"

#include <math.h>
#include <stdlib.h>

/* Small numbers of both signs, none of them denormal. */
bool
measure_make_pattern(struct measurer *w)
{
	struct measure_pattern *p = malloc(sizeof *p);
	w->pattern = p;
	for (int k = 0; p && k < MEASURE_PATTERN; k++) {
		p->f64[k] = 0.01 * (k % 13 - 6) + 0.003;
		p->f32[k] = (float)p->f64[k];
	}
	return p != NULL;
}

/* Integers below the range, drawn by their position; tensors at other offsets and other ranks have
 * others. */
static void
draw(struct measure_pattern *p, const struct rt_measure_tensor *t, uint64_t key, int64_t first,
	int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		rt_value_set(t->dtype, p->drawn, i,
			floor(rt_uniform(key, (uint64_t)(first + i)) * (double)t->range));
}

void
measure_fill(struct measurer *w, int64_t offset, const struct rt_measure_tensor *t)
{
	const struct rt_device *d = w->ctx->rank->device;
	const int64_t size = (int64_t)rt_dtype_bytes(t->dtype);
	const uint64_t key = rt_key((uint64_t)w->world->rank, (uint64_t)offset, "measure");
	const void *from = t->dtype == RT_f32   ? (const void *)w->pattern->f32
			   : t->dtype == RT_f64 ? (const void *)w->pattern->f64
			   : t->range           ? (const void *)w->pattern->drawn
						: NULL;

	for (int64_t k = 0; from && k < t->elements; k += MEASURE_PATTERN) {
		const int64_t n =
			t->elements - k < MEASURE_PATTERN ? t->elements - k : MEASURE_PATTERN;
		if (t->range)
			draw(w->pattern, t, key, k, n);
		d->upload(w->ctx->device, w->ctx->arena + offset + k * size, from,
			(size_t)(n * size));
	}
}

void
measure_fill_step(struct measurer *w)
{
	for (int i = 0; i < w->s->m->nfills; i++)
		measure_fill(w, w->s->m->fills[i].offset, &w->s->m->fills[i].tensor);
}
