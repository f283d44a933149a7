/* Convolution, pooling and all that moves elements, against loops that go over the operands'
 * elements directly. */
#include "test/ir/interp/build.h"

#include <math.h>

static double
wave(int64_t i)
{
	return sin((double)i * 0.7 + 0.3) * 2;
}

static double
slope(int64_t i)
{
	return (double)(i * 7 % 23) - 11;
}

/* Below 0, so that padding is never the largest by chance. */
static double
negative(int64_t i)
{
	return slope(i) - 12;
}

static void
close_to(double have, double want)
{
	if (!(fabs(have - want) <= 1e-12 * fmax(1, fabs(want))))
		fail_msg("%.17g is not %.17g", have, want);
}

/* Compares output "r" with the n numbers that are wanted. */
static void
expect(const struct interp *it, const char *name, const double *want, int64_t n)
{
	const struct tensor *r = interp_output(it, name);

	assert_int_equal(tensor_elements(r), n);
	for (int64_t i = 0; i < n; i++)
		close_to(r->data[i].f, want[i]);
}

/* --- windows ------------------------------------------------------------------------------------
 */

struct window {
	int64_t n, c, h, w, o, kh, kw, stride[2], low[2], high[2], dilation[2], groups;
};

static int64_t
side(int64_t size, int64_t kernel, int64_t stride, int64_t low, int64_t high, int64_t dilation)
{
	int64_t n = 0;

	for (int64_t at = -low; at + (kernel - 1) * dilation < size + high; at += stride)
		n++;
	return n;
}

/* What the three convolutions add up. */
struct sums {
	const struct tensor *x, *f, *g;
	double *y, *by_x, *by_f;
};

static void
add_products(const struct window *s, struct sums *t, int64_t oh, int64_t ow)
{
	const int64_t inside = s->c / s->groups, each = s->o / s->groups;

	for (int64_t n = 0; n < s->n; n++)
		for (int64_t o = 0; o < s->o; o++)
			for (int64_t i = 0; i < oh; i++)
				for (int64_t j = 0; j < ow; j++)
					for (int64_t q = 0; q < inside * s->kh * s->kw; q++) {
						const int64_t c = q / (s->kh * s->kw);
						const int64_t k = q / s->kw % s->kh, l = q % s->kw;
						const int64_t h = i * s->stride[0] +
								  k * s->dilation[0] - s->low[0];
						const int64_t w = j * s->stride[1] +
								  l * s->dilation[1] - s->low[1];
						if (h < 0 || h >= s->h || w < 0 || w >= s->w)
							continue;
						const int64_t ch = o / each * inside + c;
						const int64_t x =
							((n * s->c + ch) * s->h + h) * s->w + w;
						const int64_t f = o * inside * s->kh * s->kw + q;
						const int64_t y =
							((n * s->o + o) * oh + i) * ow + j;
						t->y[y] += t->x->data[x].f * t->f->data[f].f;
						t->by_x[x] += t->g->data[y].f * t->f->data[f].f;
						t->by_f[f] += t->g->data[y].f * t->x->data[x].f;
					}
}

static void
check_convolution(const struct window *s)
{
	struct bench *x = bench_create();
	const int64_t oh = side(s->h, s->kh, s->stride[0], s->low[0], s->high[0], s->dilation[0]);
	const int64_t ow = side(s->w, s->kw, s->stride[1], s->low[1], s->high[1], s->dilation[1]);
	struct ir_value *a = input(x, "a", IR_f64, DIMS(s->n, s->c, s->h, s->w));
	struct ir_value *f = input(x, "f", IR_f64, DIMS(s->o, s->c / s->groups, s->kh, s->kw));
	struct ir_value *g = input(x, "g", IR_f64, DIMS(s->n, s->o, oh, ow));
	const struct ir_attr stride = INTS(x, "stride", s->stride[0], s->stride[1]);
	const struct ir_attr low = INTS(x, "low", s->low[0], s->low[1]);
	const struct ir_attr high = INTS(x, "high", s->high[0], s->high[1]);
	const struct ir_attr dilation = INTS(x, "dilation", s->dilation[0], s->dilation[1]);
	const struct ir_attr groups = INT(x, "groups", s->groups);

	output(x, "y",
		build(x, OP_conv2d, OPERANDS(a, f), ATTRS(stride, low, high, dilation, groups)));
	output(x, "by_x",
		build(x, OP_conv2d_data, OPERANDS(g, f),
			ATTRS(INT(x, "height", s->h), INT(x, "width", s->w), stride, low, dilation,
				groups)));
	output(x, "by_f",
		build(x, OP_conv2d_filter, OPERANDS(a, g),
			ATTRS(INT(x, "height", s->kh), INT(x, "width", s->kw), stride, low,
				dilation, groups)));
	struct interp *it = interpreter(x, false);
	struct sums t = {.x = filled(x, IR_f64, DIMS(s->n, s->c, s->h, s->w), wave),
		.f = filled(x, IR_f64, DIMS(s->o, s->c / s->groups, s->kh, s->kw), slope),
		.g = filled(x, IR_f64, DIMS(s->n, s->o, oh, ow), wave)};
	const int64_t nx = tensor_elements(t.x), nf = tensor_elements(t.f),
		      ny = tensor_elements(t.g);
	t.y = talloc_zero_array(x, double, (size_t)ny);
	t.by_x = talloc_zero_array(x, double, (size_t)nx);
	t.by_f = talloc_zero_array(x, double, (size_t)nf);
	add_products(s, &t, oh, ow);
	set(it, "a", t.x);
	set(it, "f", t.f);
	set(it, "g", t.g);
	step(x, it, 0);
	expect(it, "y", t.y, ny);
	expect(it, "by_x", t.by_x, nx);
	expect(it, "by_f", t.by_f, nf);
	talloc_free(x);
}

static void
convolutions(void **state)
{
	static const struct window shapes[] = {
		{2, 3, 6, 5, 4, 3, 3, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1},
		{1, 2, 9, 8, 3, 3, 2, {2, 3}, {0, 1}, {2, 0}, {1, 1}, 1},
		{1, 2, 9, 11, 2, 3, 3, {1, 2}, {2, 1}, {1, 3}, {3, 2}, 1},
		{2, 6, 5, 4, 4, 2, 3, {1, 1}, {1, 0}, {0, 1}, {1, 1}, 2},
		{1, 5, 6, 6, 5, 3, 3, {2, 2}, {1, 1}, {1, 1}, {1, 1}, 5}, /* depthwise */
		{1, 3, 5, 5, 6, 2, 2, {1, 1}, {0, 0}, {0, 0}, {2, 2}, 3},
		{2, 3, 4, 4, 5, 1, 1, {1, 1}, {0, 0}, {0, 0}, {1, 1}, 1},
		{1, 1, 1, 1, 1, 3, 3, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1},
		/* negative padding cuts the image off */
		{1, 2, 8, 7, 2, 3, 2, {1, 1}, {-1, -2}, {-2, 1}, {1, 1}, 1},
		{1, 1, 5, 5, 2, 5, 5, {3, 3}, {0, 0}, {0, 0}, {1, 1}, 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
		check_convolution(&shapes[i]);
}

static void
check_pools(const struct window *s)
{
	struct bench *x = bench_create();
	const int64_t oh = side(s->h, s->kh, s->stride[0], s->low[0], s->high[0], 1);
	const int64_t ow = side(s->w, s->kw, s->stride[1], s->low[1], s->high[1], 1);
	struct ir_value *a = input(x, "a", IR_f64, DIMS(s->n, s->c, s->h, s->w));
	const struct ir_attr window = INTS(x, "window", s->kh, s->kw);
	const struct ir_attr stride = INTS(x, "stride", s->stride[0], s->stride[1]);
	const struct ir_attr low = INTS(x, "low", s->low[0], s->low[1]);
	const struct ir_attr high = INTS(x, "high", s->high[0], s->high[1]);

	output(x, "max", build(x, OP_max_pool, OPERANDS(a), ATTRS(window, stride, low, high)));
	output(x, "mean", build(x, OP_avg_pool, OPERANDS(a), ATTRS(window, stride, low, high)));
	struct interp *it = interpreter(x, false);
	const struct tensor *t = filled(x, IR_f64, DIMS(s->n, s->c, s->h, s->w), negative);
	set(it, "a", t);
	step(x, it, 0);
	const struct tensor *max = interp_output(it, "max"), *mean = interp_output(it, "mean");
	assert_int_equal(tensor_elements(max), s->n * s->c * oh * ow);
	for (int64_t i = 0; i < s->n * s->c * oh * ow; i++) {
		double most = -INFINITY, sum = 0;
		for (int64_t k = 0; k < s->kh; k++)
			for (int64_t l = 0; l < s->kw; l++) {
				const int64_t h = i / ow % oh * s->stride[0] + k - s->low[0];
				const int64_t w = i % ow * s->stride[1] + l - s->low[1];
				if (h < 0 || h >= s->h || w < 0 || w >= s->w)
					continue;
				const double v = t->data[(i / (oh * ow) * s->h + h) * s->w + w].f;
				most = fmax(most, v);
				sum += v;
			}
		close_to(max->data[i].f, most);
		close_to(mean->data[i].f, sum / (double)(s->kh * s->kw));
	}
	talloc_free(x);
}

static void
pools(void **state)
{
	static const struct window shapes[] = {
		{2, 3, 8, 6, 0, 2, 2, {2, 2}, {0, 0}, {0, 0}, {1, 1}, 1},
		{1, 2, 7, 9, 0, 3, 2, {1, 3}, {1, 0}, {1, 1}, {1, 1}, 1},
		{2, 1, 5, 5, 0, 3, 3, {2, 2}, {1, 1}, {1, 1}, {1, 1}, 1},
		{1, 1, 1, 1, 0, 1, 1, {1, 1}, {0, 0}, {0, 0}, {1, 1}, 1},
		{1, 3, 6, 4, 0, 6, 4, {1, 1}, {0, 0}, {0, 0}, {1, 1}, 1},
		{1, 2, 9, 8, 0, 2, 3, {2, 1}, {-2, -1}, {-1, 0}, {1, 1}, 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
		check_pools(&shapes[i]);
}

/* --- moves --------------------------------------------------------------------------------------
 */

enum { H = 5, W = 7 };

/* An output of one op on a[H,W], to be compared with a loop. */
static const struct tensor *
moved(struct bench *x, enum op_code code, int nattrs, const struct ir_attr *attr)
{
	struct ir_value *a = input(x, "a", IR_f64, DIMS(H, W));
	output(x, "r", build(x, code, OPERANDS(a), nattrs, attr));
	struct interp *it = interpreter(x, false);
	set(it, "a", filled(x, IR_f64, DIMS(H, W), wave));
	step(x, it, 0);
	return interp_output(it, "r");
}

static void
expect_shape(const struct tensor *t, int64_t rows, int64_t cols)
{
	assert_int_equal(t->rank, 2);
	assert_int_equal(t->dim[0], rows);
	assert_int_equal(t->dim[1], cols);
}

static void
slices(void **state)
{
	struct bench *x = *state;
	const struct tensor *r = moved(x, OP_slice,
		ATTRS(INTS(x, "start", 1, 2), INTS(x, "limit", 5, 7), INTS(x, "step", 3, 2)));

	expect_shape(r, 2, 3);
	for (int64_t i = 0; i < 6; i++)
		close_to(r->data[i].f, wave((1 + i / 3 * 3) * W + 2 + i % 3 * 2));
}

static void
slices_of_one_dim(void **state)
{
	struct bench *x = *state;
	const struct tensor *r = moved(
		x, OP_slice, ATTRS(INTS(x, "dims", 1), INTS(x, "start", 6), INTS(x, "limit", 7)));

	expect_shape(r, H, 1);
	for (int64_t i = 0; i < H; i++)
		close_to(r->data[i].f, wave(i * W + 6));
}

static void
check_pad(int64_t low0, int64_t high0, int64_t inner0, int64_t low1, int64_t high1, int64_t inner1)
{
	struct bench *x = bench_create();
	const struct tensor *r = moved(x, OP_pad,
		ATTRS(INTS(x, "low", low0, low1), INTS(x, "high", high0, high1),
			INTS(x, "interior", inner0, inner1), ir_make_float(x->ctx, "value", 9)));
	const int64_t rows = low0 + high0 + H + (H - 1) * inner0;
	const int64_t cols = low1 + high1 + W + (W - 1) * inner1;
	double *want = talloc_array(x, double, (size_t)(rows * cols));

	for (int64_t i = 0; i < rows * cols; i++)
		want[i] = 9;
	for (int64_t i = 0; i < H; i++)
		for (int64_t j = 0; j < W; j++) {
			const int64_t to = low0 + i * (inner0 + 1), at = low1 + j * (inner1 + 1);
			if (to >= 0 && to < rows && at >= 0 && at < cols)
				want[to * cols + at] = wave(i * W + j);
		}
	expect_shape(r, rows, cols);
	for (int64_t i = 0; i < rows * cols; i++)
		close_to(r->data[i].f, want[i]);
	talloc_free(x);
}

static void
pads(void **state)
{
	(void)state;
	check_pad(1, 2, 0, 0, 3, 0);
	check_pad(0, 0, 2, 0, 0, 1);
	check_pad(-1, -2, 0, -3, 1, 0);
	check_pad(2, -4, 1, -2, -1, 3);
	check_pad(-2, -2, 0, 0, -6, 0); /* one element is left */
}

static void
reversed(void **state)
{
	struct bench *x = *state;
	const struct tensor *r = moved(x, OP_reverse, ATTRS(INTS(x, "dims", 1)));

	for (int64_t i = 0; i < H * W; i++)
		close_to(r->data[i].f, wave(i / W * W + W - 1 - i % W));
}

static void
reversed_whole(void **state)
{
	struct bench *x = *state;
	const struct tensor *r = moved(x, OP_reverse, NO_ATTRS);

	for (int64_t i = 0; i < H * W; i++)
		close_to(r->data[i].f, wave(H * W - 1 - i));
}

static void
split_into_parts(void **state)
{
	(void)state;
	for (int64_t index = 0; index < W; index++) {
		struct bench *x = bench_create();
		const struct tensor *r = moved(x, OP_split,
			ATTRS(INT(x, "dim", -1), INT(x, "parts", W), INT(x, "index", index)));
		expect_shape(r, H, 1);
		for (int64_t i = 0; i < H; i++)
			close_to(r->data[i].f, wave(i * W + index));
		talloc_free(x);
	}
}

static void
check_cumsum(bool exclusive, bool reverse, int64_t dim)
{
	struct bench *x = bench_create();
	const struct tensor *r = moved(x, OP_cumsum,
		ATTRS(INT(x, "dim", dim), ir_make_bool(x->ctx, "exclusive", exclusive),
			ir_make_bool(x->ctx, "reverse", reverse)));
	const int64_t size = dim ? W : H, stride = dim ? 1 : W;

	for (int64_t i = 0; i < H * W; i++) {
		const int64_t at = i / stride % size;
		double sum = 0;
		for (int64_t k = 0; k < size; k++) {
			const bool counts = reverse ? k > at : k < at;
			if (counts || (k == at && !exclusive))
				sum += wave(i + (k - at) * stride);
		}
		close_to(r->data[i].f, sum);
	}
	talloc_free(x);
}

static void
cumsums(void **state)
{
	(void)state;
	for (int i = 0; i < 8; i++)
		check_cumsum(i & 1, i & 2, i >> 2);
}

/* Operands of different lengths, and one that stands twice. */
static void
concatenated(void **state)
{
	struct bench *x = *state;
	struct ir_value *a = input(x, "a", IR_f64, DIMS(2, 3)),
			*b = input(x, "b", IR_f64, DIMS(2, 1));
	output(x, "r", build(x, OP_concat, OPERANDS(a, b, a), ATTRS(INT(x, "dim", 1))));
	struct interp *it = interpreter(x, false);
	set(it, "a", filled(x, IR_f64, DIMS(2, 3), wave));
	set(it, "b", filled(x, IR_f64, DIMS(2, 1), slope));
	step(x, it, 0);
	const struct tensor *r = interp_output(it, "r");
	expect_shape(r, 2, 7);
	for (int64_t i = 0; i < 14; i++) {
		const int64_t row = i / 7, col = i % 7;
		close_to(r->data[i].f,
			col == 3 ? slope(row) : wave(row * 3 + (col > 3 ? col - 4 : col)));
	}
}

static int64_t
moved_inside(int64_t start, int64_t size, int64_t whole)
{
	return start < 0 ? 0 : start > whole - size ? whole - size : start;
}

/* A start that would leave the tensor is moved. */
static void
check_dynamic(int64_t start)
{
	enum { SIZE = 3 };
	struct bench *x = bench_create();
	struct ir_value *a = input(x, "a", IR_f64, DIMS(H, W)),
			*u = input(x, "u", IR_f64, DIMS(H, SIZE)),
			*s = input(x, "s", IR_i32, SCALAR_DIMS);
	const struct ir_attr dim = INT(x, "dim", 1);
	output(x, "slice",
		build(x, OP_dynamic_slice, OPERANDS(a, s), ATTRS(dim, INT(x, "size", SIZE))));
	output(x, "update", build(x, OP_dynamic_update_slice, OPERANDS(a, u, s), ATTRS(dim)));
	output(x, "pad", build(x, OP_dynamic_pad, OPERANDS(u, s), ATTRS(dim, INT(x, "size", W))));
	struct interp *it = interpreter(x, false);
	struct tensor *t = tensor_create(x, IR_i32, SCALAR_DIMS);
	t->data->i = start;
	set(it, "a", filled(x, IR_f64, DIMS(H, W), wave));
	set(it, "u", filled(x, IR_f64, DIMS(H, SIZE), slope));
	set(it, "s", t);
	step(x, it, 0);
	const int64_t from = moved_inside(start, SIZE, W);
	for (int64_t i = 0; i < H * W; i++) {
		const int64_t row = i / W, at = i % W - from;
		const bool inside = at >= 0 && at < SIZE;
		if (inside)
			close_to(interp_output(it, "slice")->data[row * SIZE + at].f, wave(i));
		close_to(interp_output(it, "update")->data[i].f,
			inside ? slope(row * SIZE + at) : wave(i));
		close_to(interp_output(it, "pad")->data[i].f, inside ? slope(row * SIZE + at) : 0);
	}
	talloc_free(x);
}

static void
dynamic(void **state)
{
	static const int64_t start[] = {0, 2, 4, 5, 7, 1000000, -1, INT32_MIN};

	(void)state;
	for (size_t i = 0; i < sizeof start / sizeof *start; i++)
		check_dynamic(start[i]);
}

/* Numbers for two dims of a[B,H,W], some of them outside. */
enum { B = 2, N = 4 };

static const int64_t rows[B * N] = {0, 4, -1, 2, 2, 5, 3, 2},
			      cols[B * N] = {6, 0, 3, 2, 2, 1, 7, 2};

static struct tensor *
numbers(struct bench *x, const int64_t *v)
{
	struct tensor *t = tensor_create(x, IR_i64, DIMS(B, N));

	for (int64_t i = 0; i < B * N; i++)
		t->data[i].i = v[i];
	return t;
}

static bool
is_place(int64_t i)
{
	return rows[i] >= 0 && rows[i] < H && cols[i] >= 0 && cols[i] < W;
}

static void
by_several_numbers(void **state)
{
	struct bench *x = *state;
	struct ir_value *a = input(x, "a", IR_f64, DIMS(B, H, W)),
			*u = input(x, "u", IR_f64, DIMS(B, N)),
			*i = input(x, "i", IR_i64, DIMS(B, N)),
			*j = input(x, "j", IR_i64, DIMS(B, N));
	const struct ir_attr batch = INT(x, "batch", 1);
	const struct ir_attr sizes = INTS(x, "sizes", H, W);
	output(x, "gather", build(x, OP_gather_nd, OPERANDS(a, i, j), ATTRS(batch)));
	output(x, "scatter", build(x, OP_scatter_nd, OPERANDS(u, i, j), ATTRS(batch, sizes)));
	struct interp *it = interpreter(x, false);
	set(it, "a", filled(x, IR_f64, DIMS(B, H, W), wave));
	set(it, "u", filled(x, IR_f64, DIMS(B, N), slope));
	set(it, "i", numbers(x, rows));
	set(it, "j", numbers(x, cols));
	step(x, it, 0);
	double want[B * H * W] = {0};
	for (int64_t k = 0; k < B * N; k++) {
		const int64_t at = (k / N * H + rows[k]) * W + cols[k];
		close_to(interp_output(it, "gather")->data[k].f, is_place(k) ? wave(at) : 0);
		if (is_place(k))
			want[at] += slope(k);
	}
	expect(it, "scatter", want, B * H * W);
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, free_scratch)
	const struct CMUnitTest tests[] = {cmocka_unit_test(convolutions), cmocka_unit_test(pools),
		TEST(slices), TEST(slices_of_one_dim), cmocka_unit_test(pads), TEST(reversed),
		TEST(reversed_whole), cmocka_unit_test(split_into_parts), cmocka_unit_test(cumsums),
		TEST(concatenated), cmocka_unit_test(dynamic), TEST(by_several_numbers)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
