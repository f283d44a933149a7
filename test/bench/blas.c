/*
 * Which library multiplies matrices fastest, on one core? blas prints a table of GFLOP/s: products
 * of training steps, computed by oneDNN, which runtime/host/gemm.c calls, and by those of the other
 * libraries of Debian that are installed, in turns; and what the core's multipliers can do at most.
 * Medians of processor time, so that other processes change them little.
 */
#include "ir/base/sort.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { RUNS = 9, LIBRARIES = 3 };
static const double RUN_SECONDS = 0.02;
static const double FLOPS_GUESS = 1e11; /* a second, to find how often a product fills a run */

typedef int dnnl_function(char, char, int64_t, int64_t, int64_t, float, const float *, int64_t,
	const float *, int64_t, float, float *, int64_t);
typedef void cblas_function(int order, int, int, int, int, int, float, const float *, int,
	const float *, int, float, float *, int);

enum { ROW_MAJOR = 101, AS_IS = 111, TRANSPOSED = 112 }; /* of CBLAS */

struct library {
	const char *name, *file, *symbol;
	void *function; /* NULL: not installed */
};

struct product {
	bool ta, tb;
	int m, n, k;
	const char *of;
};

static const struct product products[] = {
	{false, false, 2048, 1536, 512, "GPT 512: q, k, v"},
	{false, true, 2048, 512, 1536, "its gradient by the input"},
	{true, false, 512, 1536, 2048, "its gradient by the weights"},
	{false, false, 2048, 384, 128, "char_gpt: q, k, v"},
	{true, false, 128, 384, 2048, "its gradient by the weights"},
	{false, true, 64, 64, 32, "char_gpt: scores of a head"},
	{false, false, 64, 32, 64, "char_gpt: values of a head"},
	{false, true, 256, 256, 64, "GPT 512: scores of a head"},
	{false, false, 256, 64, 256, "GPT 512: values of a head"},
	{false, false, 256, 1024, 1024, "wide_mlp: a layer"},
	{true, false, 1024, 1024, 256, "its gradient by the weights"},
	{false, false, 256, 768, 3072, "BERT: down"},
	{false, false, 60, 128, 1024, "digits_cnn: first dense layer"},
	{false, false, 32, 10, 512, "digits: the last layer"},
};

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void
multiply(const struct library *l, const struct product *p, const float *a, const float *b, float *c)
{
	const int lda = p->ta ? p->m : p->k, ldb = p->tb ? p->k : p->n;

	if (l->symbol[0] == 'd') {
		dnnl_function *f;
		*(void **)&f = l->function;
		f(p->ta ? 'T' : 'N', p->tb ? 'T' : 'N', p->m, p->n, p->k, 1, a, lda, b, ldb, 0, c,
			p->n);
	} else {
		cblas_function *f;
		*(void **)&f = l->function;
		f(ROW_MAJOR, p->ta ? TRANSPOSED : AS_IS, p->tb ? TRANSPOSED : AS_IS, p->m, p->n,
			p->k, 1, a, lda, b, ldb, 0, c, p->n);
	}
}

static double
flops(const struct product *p)
{
	return 2.0 * p->m * p->n * p->k;
}

static double
time_product(
	const struct library *l, const struct product *p, const float *a, const float *b, float *c)
{
	const int times = (int)(RUN_SECONDS * FLOPS_GUESS / flops(p)) + 1;
	const double start = now();

	for (int i = 0; i < times; i++)
		multiply(l, p, a, b, c);
	return (now() - start) / times;
}

#ifdef __x86_64__
#include <immintrin.h>

/* `sums` sums at once, so that each is ready when its next summand comes, and as many as there are
 * registers for. Multiplications and additions in `times` rounds. */
#define MULTIPLY_AND_ADD(name, isa, vector, sums, set, fma)                                        \
	__attribute__((target(isa))) static double name(float *to, int64_t times)                  \
	{                                                                                          \
		vector sum[sums], x = set(0.5f);                                                   \
		for (int i = 0; i < (sums); i++)                                                   \
			sum[i] = set((float)i);                                                    \
		for (int64_t n = 0; n < times; n++)                                                \
			_Pragma("GCC unroll 24") for (int i = 0; i < (sums); i++) sum[i] =         \
				fma(sum[i], x, x);                                                 \
		for (int i = 0; i < (sums); i++)                                                   \
			*to += ((const float *)&sum[i])[0];                                        \
		return 2.0 * (sums) * (double)times * sizeof(vector) / sizeof(float);              \
	}
MULTIPLY_AND_ADD(by_16, "avx512f", __m512, 24, _mm512_set1_ps, _mm512_fmadd_ps)
MULTIPLY_AND_ADD(by_8, "avx2,fma", __m256, 12, _mm256_set1_ps, _mm256_fmadd_ps)

enum { PEAK_ROUNDS = 2000000 };

/* Operations a second of the core's multipliers; 0: not known for this processor. */
static double
peak(void)
{
	double best = 0;
	float sink = 0;

	for (int i = 0; i < RUNS; i++) {
		const double start = now();
		const double done = __builtin_cpu_supports("avx512f") ? by_16(&sink, PEAK_ROUNDS)
				    : __builtin_cpu_supports("fma")   ? by_8(&sink, PEAK_ROUNDS)
								      : 0;
		const double speed = done / (now() - start);
		best = speed > best ? speed : best;
	}
	return sink > 0 ? best : 0;
}
#else
static double
peak(void)
{
	return 0;
}
#endif

static void
open_libraries(struct library *l)
{
	for (int i = 0; i < LIBRARIES; i++) {
		void *found = dlopen(l[i].file, RTLD_NOW | RTLD_LOCAL);
		l[i].function = found ? dlsym(found, l[i].symbol) : NULL;
		void (*threads)(int) = NULL;
		if (found)
			*(void **)&threads = dlsym(found, "omp_set_num_threads");
		if (threads)
			threads(1);
	}
}

/* Numbers of no particular size; freed by the caller. */
static float *
matrix(int rows, int columns)
{
	const size_t n = (size_t)rows * (size_t)columns;
	float *x = malloc(n * sizeof *x);

	for (size_t i = 0; x && i < n; i++)
		x[i] = (float)(i % 7) - 3;
	if (!x)
		abort();
	return x;
}

static void
print_row(const struct library *l, const struct product *p, double most)
{
	double took[LIBRARIES][RUNS], best = 0;
	float *a = matrix(p->m, p->k), *b = matrix(p->k, p->n), *c = matrix(p->m, p->n);

	for (int run = 0; run < RUNS; run++)
		for (int i = 0; i < LIBRARIES; i++)
			took[i][run] = l[i].function ? time_product(&l[i], p, a, b, c) : 0;
	printf("| %dx%dx%d%s%s: %s |", p->m, p->n, p->k, p->ta ? ", A'" : "", p->tb ? ", B'" : "",
		p->of);
	for (int i = 0; i < LIBRARIES; i++) {
		sort_double(took[i], RUNS);
		const double speed = l[i].function ? flops(p) / took[i][RUNS / 2] : 0;
		best = i == 0 ? speed : best;
		printf(speed > 0 ? " %.0f |" : " - |", speed / 1e9);
	}
	printf(most > 0 ? " %.0f |\n" : " - |\n", 100 * best / most);
	free(a);
	free(b);
	free(c);
}

int
main(void)
{
	/* Of OpenBLAS and BLIS the packages without threads, of which several can be installed. */
	struct library l[LIBRARIES] = {{"oneDNN", "libdnnl.so", "dnnl_sgemm", NULL},
		{"OpenBLAS", "/usr/lib/x86_64-linux-gnu/openblas-serial/libopenblas.so.0",
			"cblas_sgemm", NULL},
		{"BLIS", "/usr/lib/x86_64-linux-gnu/blis-serial/libblis.so.4", "cblas_sgemm",
			NULL}};

	open_libraries(l);
	const double most = peak();
	printf("Peak of the core: %.0f GFLOP/s. '-': not installed (libopenblas0-serial, "
	       "libblis4-serial).\n\n",
		most / 1e9);
	printf("| product |");
	for (int i = 0; i < LIBRARIES; i++)
		printf(" %s, GFLOP/s |", l[i].name);
	printf(" oneDNN, %% of the peak |\n| --- | --- | --- | --- | --- |\n");
	for (size_t i = 0; i < sizeof products / sizeof *products; i++)
		print_row(l, &products[i], most);
	return 0;
}
