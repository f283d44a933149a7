/*
 * The workspace of convolutions compared with cuDNN's requirements: for every row of
 * Inputs/cudnn_algorithms.txt (ResNet-50's and VGG-19's shapes, cuDNN on an H100), the workspace of
 * a shape is enough for one of its deterministic algorithms, and the runtime uses the first of
 * those that fit. The library is the shim, which answers with these rows and computes nothing.
 */
#include "test/unit.h"

#if __has_include(<cudnn.h>)
#include "dopt_config.h"
#include "lower/cuda/kernel.h"
#include "runtime/cuda/conv.c"
#include "test/lower/cuda/shim/cudnn.c"

#define ALGORITHMS DOPT_BUILD_INCLUDE "/test/lower/cuda/Inputs/cudnn_algorithms.txt"

enum { TEXT = 512 };

static jmp_buf fatal;
static char message[TEXT];

_Noreturn void
rt_cuda_fatal(const struct rt_cuda *d, const char *what, const char *why)
{
	(void)d;
	snprintf(message, sizeof message, "%s: %s", what, why);
	longjmp(fatal, 1);
}

/* Nothing is computed: the rows of the file are known to the shim. */
cudaError_t
shim_put(cudaStream_t stream, shim_work *work, const void *data, size_t bytes)
{
	(void)stream, (void)work, (void)data, (void)bytes;
	return cudaErrorUnknown;
}

/* A convolution of a row; its kind is not set yet; padding as in these networks. */
struct row_shape {
	struct rt_cuda_conv conv;
	bool tf32;
};

static bool
read_shape(const char *line, struct row_shape *r)
{
	int n, c, h, w, o, k, stride;
	char math[NAME];

	if (sscanf(line, "conv %dx%dx%dx%d o%d k%d s%d %127s", &n, &c, &h, &w, &o, &k, &stride,
		    math) != 8)
		return false;
	const int low = k / 2, oh = (h + 2 * low - k) / stride + 1,
		  ow = (w + 2 * low - k) / stride + 1;
	*r = (struct row_shape){.conv = {.dtype = RT_f32,
					.shape = {.n = n,
						.c = c,
						.h = h,
						.w = w,
						.o = o,
						.kh = k,
						.kw = k,
						.oh = oh,
						.ow = ow,
						.groups = 1,
						.stride = {stride, stride},
						.low = {low, low},
						.dilation = {1, 1}}},
		.tf32 = strcmp(math, "DEFAULT") == 0};
	return true;
}

/* Calls the convolution once; false with `message` if the program would end. */
static bool
convolve_once(const struct row_shape *r, struct prepared *chosen)
{
	const struct rt_cuda_program program = {.nconvs = 1, .convs = &r->conv};
	const struct rt_cuda_target target = {NULL, &program};
	struct cudnnContext library = {.stream = (cudaStream_t)1};
	struct prepared *prepared = calloc(1, sizeof *prepared);
	struct rt_cuda_convs convs = {.library = &library, .prepared = prepared};
	struct rt_cuda device = {.target = &target, .convs = &convs};
	const struct rt_options options = {.tf32 = r->tf32};
	struct rt_rank rank = {.options = &options};
	struct rt_ctx ctx = {.device = &device, .rank = &rank};
	volatile bool ok = false;

	assert_non_null(prepared);
	if (!setjmp(fatal)) {
		rt_cuda_conv(&ctx, 0, &ctx, &ctx, &ctx, &ctx);
		ok = true;
	}
	*chosen = *prepared;
	free(prepared);
	return ok;
}

/* The workspace and the algorithm of each kind of each row. */
static int
for_each(const struct storage_workspace *limits,
	void (*test)(const struct row_shape *r, const struct row *row, int n))
{
	FILE *file = fopen(ALGORITHMS, "r");
	char line[LINE];
	struct row_shape r;
	struct row row[ROWS];
	int tested = 0;

	assert_non_null(file);
	while (fgets(line, sizeof line, file)) {
		assert_true(read_shape(line, &r));
		for (int kind = FORWARD; kind <= FILTER; kind++, tested++) {
			assert_non_null(fgets(line, sizeof line, file));
			const int n = read_rows(line, row);
			assert_true(n > 0);
			r.conv.shape.kind = (enum rt_conv_kind)kind;
			r.conv.workspace = cuda_conv_workspace(&r.conv, limits);
			r.conv.most = limits->most;
			test(&r, row, n);
		}
	}
	fclose(file);
	return tested;
}

static bool
may_be_used(const struct row *row)
{
	return row->status == CUDNN_STATUS_SUCCESS && row->deterministic;
}

static void
takes_the_first_that_fits(const struct row_shape *r, const struct row *row, int n)
{
	struct prepared chosen;
	int i = 0;

	while (i < n && !(may_be_used(&row[i]) && row[i].memory <= r->conv.workspace))
		i++;
	assert_true(i < n);
	if (!convolve_once(r, &chosen))
		fail_msg("%s", message);
	assert_int_equal(chosen.algorithm, row[i].algorithm);
	assert_true(chosen.workspace <= r->conv.workspace);
}

/* Without a limit, gradients of 3 x 3 filters have what Winograd's algorithm needs, as cuDNN
 * reports it, except for the file's rounding. */
static void
winograd_is_known(const struct row_shape *r, const struct row *row, int n)
{
	const struct storage_workspace none = {0, UINT64_MAX};
	const struct rt_conv_shape *s = &r->conv.shape;
	const uint64_t given = cuda_conv_workspace(&r->conv, &none);

	if (s->kh != 3 || s->stride[0] != 1 || s->kind != RT_CONV_FILTER)
		return;
	for (int i = 0; i < n; i++)
		if (row[i].algorithm == CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD_NONFUSED)
			assert_true(llabs((long long)given - (long long)row[i].memory) <= 50000);
}

static void
resnet_and_vgg_go_on(void **state)
{
	const struct storage_workspace limits = {0, CUDA_WORKSPACE_MOST};

	(void)state;
	assert_int_equal(for_each(&limits, takes_the_first_that_fits), 14 * 3);
	for_each(&limits, winograd_is_known);
}

/* The smallest workspace of a deterministic algorithm of that convolution, in either arithmetic. */
static size_t
least_in_file(const struct row_shape *r)
{
	const struct rt_conv_shape *s = &r->conv.shape;
	FILE *file = fopen(ALGORITHMS, "r");
	char line[LINE], name[NAME];
	struct row row[ROWS];
	size_t least = SIZE_MAX;

	assert_non_null(file);
	const int length = snprintf(name, sizeof name, "conv %dx%dx%dx%d o%d k%d s%d ", (int)s->n,
		(int)s->c, (int)s->h, (int)s->w, (int)s->o, (int)s->kh, (int)s->stride[0]);
	while (fgets(line, sizeof line, file)) {
		if (strncmp(line, name, (size_t)length) != 0)
			continue;
		for (int kind = FORWARD; kind <= (int)s->kind; kind++)
			assert_non_null(fgets(line, sizeof line, file));
		const int n = read_rows(line, row);
		for (int i = 0; i < n; i++)
			if (may_be_used(&row[i]) && row[i].memory < least)
				least = row[i].memory;
	}
	fclose(file);
	return least;
}

/* Without workspace, convolutions run that have an algorithm without one; the others report what
 * they need, and have it with the option that the message names. */
static void
ends_or_goes_on_without(const struct row_shape *r, const struct row *row, int n)
{
	const size_t least = least_in_file(r);
	struct row_shape again = *r;
	struct prepared chosen;
	char text[TEXT];

	(void)row, (void)n;
	assert_int_equal(convolve_once(r, &chosen), least == 0);
	if (!least)
		return;
	snprintf(text, sizeof text,
		"at least %zu bytes, but it has 0; build the program with dopt -workspace=%zu",
		least, least);
	assert_non_null(strstr(message, text));
	const struct storage_workspace named = {0, least};
	again.conv.workspace = cuda_conv_workspace(&again.conv, &named);
	assert_true(convolve_once(&again, &chosen));
}

static void
without_workspace(void **state)
{
	const struct storage_workspace none = {0, 0};

	(void)state;
	for_each(&none, ends_or_goes_on_without);
}

/* If a shape was given too little although the limit allows more, a larger limit would not help. */
static void
message_names_a_least(void **state)
{
	struct row_shape r;
	struct prepared chosen;

	(void)state;
	assert_true(read_shape("conv 64x512x14x14 o512 k3 s1 FMA", &r));
	r.conv.shape.kind = RT_CONV_FILTER;
	r.conv.workspace = 1;
	r.conv.most = 2;
	assert_false(convolve_once(&r, &chosen));
	assert_string_equal(message,
		"the gradient with respect to the filters of the convolution of "
		"f32[64,512,14,14] with filters [512,512,3,3], strides 1 and 1: cuDNN's "
		"deterministic algorithms need a workspace of at least 60800000 bytes, but it has 1; build the program with dopt "
		"-workspace=60800000..60800000");
}

/* Limits hold for every shape: at most the limit, at least the minimum. */
static void
limits_hold(void **state)
{
	const struct storage_workspace limits[] = {{0, 0}, {0, 1 << 20}, {0, 100 << 20},
		{300 << 20, 400 << 20}, {UINT64_C(5) << 30, UINT64_C(5) << 30}};
	struct row_shape r;

	(void)state;
	assert_true(read_shape("conv 64x64x224x224 o64 k3 s1 FMA", &r));
	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
		for (int kind = FORWARD; kind <= FILTER; kind++) {
			r.conv.shape.kind = (enum rt_conv_kind)kind;
			const uint64_t bytes = cuda_conv_workspace(&r.conv, &limits[i]);
			assert_true(bytes <= limits[i].most && bytes >= limits[i].least);
		}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(resnet_and_vgg_go_on),
		cmocka_unit_test(without_workspace),
		cmocka_unit_test(message_names_a_least),
		cmocka_unit_test(limits_hold),
	};

	setenv("SHIM_CUDNN_ALGORITHMS", ALGORITHMS, 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int
main(void)
{
	return 0; /* dopt was built without cuDNN */
}
#endif
