/* Convolutions and their gradients against loops over all indices: strides, padding, dilation,
 * groups, sizes that leave a rest. */
#include <stdlib.h>
#include "runtime/kernel/conv.h"
#include "runtime/kernel/rng.h"
#include "test/unit.h"

enum { X, F, Y };

enum { ROOM = 1 << 20 }; /* more than any of the shapes below needs */

struct tensors {
	int64_t n[3]; /* elements */
	float *data[3];
	double *want;
};

/* Numbers of few bits, so that single precision sums of products are exact. */
static float *
small_numbers(uint64_t key, int64_t n)
{
	float *x = malloc((size_t)n * sizeof *x);
	assert_non_null(x);
	for (int64_t i = 0; i < n; i++)
		x[i] = (float)(floor(rt_uniform(key, (uint64_t)i) * 16) / 4 - 2);
	return x;
}

static int64_t
element(const struct rt_conv_shape *s, int64_t channels, int64_t height, int64_t width, int64_t n,
	int64_t c, int64_t h, int64_t w)
{
	return s->channels_last ? ((n * height + h) * width + w) * channels + c
				: ((n * channels + c) * height + h) * width + w;
}

/* Adds the products of one image, result channel and place of a filter to what is wanted. */
static void
add_plane(const struct rt_conv_shape *s, struct tensors *t, int64_t n, int64_t o, int64_t c,
	int64_t k, int64_t l)
{
	const int64_t channels = s->c / s->groups, group = o / (s->o / s->groups);
	const int64_t f = element(s, channels, s->kh, s->kw, o, c, k, l);

	for (int64_t i = 0; i < s->oh; i++)
		for (int64_t j = 0; j < s->ow; j++) {
			const int64_t h = i * s->stride[0] + k * s->dilation[0] - s->low[0];
			const int64_t w = j * s->stride[1] + l * s->dilation[1] - s->low[1];
			if (h < 0 || h >= s->h || w < 0 || w >= s->w)
				continue;
			const int64_t x =
				element(s, s->c, s->h, s->w, n, group * channels + c, h, w);
			const int64_t y = element(s, s->o, s->oh, s->ow, n, o, i, j);
			if (s->kind == RT_CONV_FORWARD)
				t->want[y] += t->data[X][x] * t->data[F][f];
			else if (s->kind == RT_CONV_DATA)
				t->want[x] += t->data[Y][y] * t->data[F][f];
			else
				t->want[f] += t->data[X][x] * t->data[Y][y];
		}
}

static void
expect(const struct rt_conv_shape *s, struct tensors *t)
{
	for (int64_t n = 0; n < s->n; n++)
		for (int64_t o = 0; o < s->o; o++)
			for (int64_t c = 0; c < s->c / s->groups; c++)
				for (int64_t k = 0; k < s->kh; k++)
					for (int64_t l = 0; l < s->kw; l++)
						add_plane(s, t, n, o, c, k, l);
}

static void
check(struct rt_conv_shape s, enum rt_conv_kind kind, struct rt_conv *_Atomic *prepared)
{
	static const int order[][3] = {[RT_CONV_FORWARD] = {X, F, Y},
		[RT_CONV_DATA] = {Y, F, X},
		[RT_CONV_FILTER] = {X, Y, F}};
	struct tensors t = {.n = {s.n * s.c * s.h * s.w, s.o * (s.c / s.groups) * s.kh * s.kw,
				    s.n * s.o * s.oh * s.ow}};
	const int out = order[kind][2];

	s.kind = kind;
	for (int i = 0; i < 3; i++)
		t.data[i] = small_numbers((uint64_t)i, t.n[i]);
	t.want = calloc((size_t)t.n[out], sizeof *t.want);
	assert_non_null(t.want);
	expect(&s, &t);
	void *scratch = aligned_alloc(64, ROOM);
	float *result = malloc((size_t)t.n[out] * sizeof *result);
	assert_true(result && scratch);
	for (int again = 0; again < 2; again++) {
		for (int64_t i = 0; i < t.n[out]; i++)
			result[i] = NAN;
		rt_conv_f32(prepared, &s, t.data[order[kind][0]], t.data[order[kind][1]], result,
			again ? scratch : NULL, again ? ROOM : 0);
		for (int64_t i = 0; i < t.n[out]; i++)
			assert_float_equal(result[i], t.want[i], 0);
	}
	free(scratch);
	free(result);
	free(t.want);
	for (int i = 0; i < 3; i++)
		free(t.data[i]);
}

static void
convolutions_and_gradients(void **state)
{
	static const struct rt_conv_shape shapes[] = {
		{0, 2, 1, 8, 8, 16, 3, 3, 8, 8, 1, {1, 1}, {1, 1}, {1, 1}, false},
		{0, 3, 5, 7, 9, 6, 3, 2, 5, 8, 1, {1, 1}, {0, 0}, {1, 1}, false},
		{0, 2, 3, 16, 15, 7, 7, 7, 8, 8, 1, {2, 2}, {3, 3}, {1, 1}, false},
		{0, 2, 32, 6, 6, 32, 3, 3, 6, 6, 8, {1, 1}, {1, 1}, {1, 1}, false},
		{0, 2, 17, 6, 6, 17, 3, 3, 3, 3, 17, {2, 2}, {1, 1}, {1, 1}, false},
		{0, 1, 4, 11, 11, 8, 3, 3, 7, 7, 1, {1, 1}, {0, 0}, {2, 2}, false},
		/* the last rows of the image are not read; more padding on one side */
		{0, 2, 2, 9, 8, 3, 2, 3, 4, 6, 1, {2, 1}, {0, 0}, {1, 1}, false},
		{0, 2, 2, 5, 5, 3, 4, 4, 6, 6, 1, {1, 1}, {1, 2}, {1, 1}, false},
		{0, 1, 64, 1, 1, 48, 1, 1, 1, 1, 1, {1, 1}, {0, 0}, {1, 1}, false},
	};

	/* Kept until the end, as in a program. */
	static struct rt_conv *_Atomic prepared[sizeof shapes / sizeof *shapes][2][3];

	(void)state;
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
		for (int kind = 0; kind < 6; kind++) {
			struct rt_conv_shape shape = shapes[i];
			shape.channels_last = kind / 3;
			check(shape, (enum rt_conv_kind)(kind % 3),
				&prepared[i][kind / 3][kind % 3]);
		}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(convolutions_and_gradients)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
