/*
 * The current machine as a cluster: a device is a rank of a program for the host, which is a thread
 * on a core. The rates of one core are measured, quickly and roughly: a profile (-measure) is more
 * accurate.
 */
#include "parser/cluster/shipped.h"

#include "ir/base/alloc.h"
#include "ir/base/clock.h"
#include "runtime/machine.h"

#include <math.h>
#include <pthread.h>
#include <string.h>
#include <talloc.h>
#include <unistd.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

enum {
	PROBE_RUNS = 5,         /* the best of these counts: disturbances only slow down */
	PROBE_TURNS = 1 << 18,  /* of the arithmetic: a millisecond */
	PROBE_BYTES = 32 << 20, /* copied: more than the cache of a core */
	PROBE_CACHE = 1 << 18,  /* where the system does not say how large the cache of a core is */
	PROBE_MESSAGES = 200,   /* between two threads: some milliseconds */
	PROBE_CHAINS = 10,      /* independent ones, as many as pipelines are deep */
};

/* --- arithmetic ------------------------------------------------------------------------------ */

/* PROBE_CHAINS chains of PROBE_TURNS multiply-adds, each on a vector of floats. Returns the
 * vector's length; *x keeps the compiler from removing them. */
static int
chains_plain(float *x)
{
	for (int turn = 0; turn < PROBE_TURNS; turn++)
		for (int i = 0; i < PROBE_CHAINS; i++)
			x[i] = x[i] * 0.999f + 0.001f;
	return 1;
}

#ifdef __x86_64__
#define CHAINS(name, feature, vector, lanes, set, multiply_add, store)                             \
	__attribute__((target(feature))) static int name(float *x)                                 \
	{                                                                                          \
		vector a = set(0.999f), b = set(0.001f), y0 = set(x[0]), y1 = set(x[1]),           \
		       y2 = set(x[2]), y3 = set(x[3]), y4 = set(x[4]), y5 = set(x[5]),             \
		       y6 = set(x[6]), y7 = set(x[7]), y8 = set(x[8]), y9 = set(x[9]);             \
		for (int turn = 0; turn < PROBE_TURNS; turn++) {                                   \
			y0 = multiply_add(y0, a, b), y1 = multiply_add(y1, a, b);                  \
			y2 = multiply_add(y2, a, b), y3 = multiply_add(y3, a, b);                  \
			y4 = multiply_add(y4, a, b), y5 = multiply_add(y5, a, b);                  \
			y6 = multiply_add(y6, a, b), y7 = multiply_add(y7, a, b);                  \
			y8 = multiply_add(y8, a, b), y9 = multiply_add(y9, a, b);                  \
		}                                                                                  \
		store(x, y0 + y1 + y2 + y3 + y4 + y5 + y6 + y7 + y8 + y9);                         \
		return lanes;                                                                      \
	}

CHAINS(chains_512, "avx512f", __m512, 16, _mm512_set1_ps, _mm512_fmadd_ps, _mm512_storeu_ps)
CHAINS(chains_256, "avx2,fma", __m256, 8, _mm256_set1_ps, _mm256_fmadd_ps, _mm256_storeu_ps)
#endif

static int
chains(float *x)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx512f"))
		return chains_512(x);
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		return chains_256(x);
#endif
	return chains_plain(x);
}

static double
flops_of_core(void)
{
	float x[16] = {0};
	double best = 0;

	for (int run = 0; run < PROBE_RUNS; run++) {
		double start = clock_seconds();
		double n = 2.0 * chains(x) * PROBE_TURNS * PROBE_CHAINS;
		best = fmax(best, n / (clock_seconds() - start));
	}
	return best;
}

/* --- memory and messages --------------------------------------------------------------------- */

/* Bytes a second, read and written, of copies of `bytes` bytes that move PROBE_BYTES in all. */
static double
bandwidth_of_copies(size_t bytes)
{
	char *from = NEW_ARRAY(NULL, char, bytes), *to = NEW_ARRAY(NULL, char, bytes);
	double best = 0;

	memset(from, 1, bytes);
	memset(to, 2, bytes);
	for (int run = 0; run < PROBE_RUNS; run++) {
		double start = clock_seconds();
		for (size_t copied = 0; copied < PROBE_BYTES; copied += bytes) {
			from[run] = to[run + 1];
			memcpy(to, from, bytes);
		}
		best = fmax(best, 2.0 * PROBE_BYTES / (clock_seconds() - start));
	}
	talloc_free(from);
	talloc_free(to);
	return best;
}

/* The cache of a core in which results of a kernel stay for the next one. */
static size_t
cache_of_core(void)
{
	long bytes = -1;
#ifdef _SC_LEVEL2_CACHE_SIZE
	bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
#endif
	return bytes > 0 ? (size_t)bytes : PROBE_CACHE;
}

/* Two threads hand a number to and fro. */
struct table {
	pthread_mutex_t lock;
	pthread_cond_t turned;
	int turn;
};

static void
take_turns(struct table *t, int parity)
{
	pthread_mutex_lock(&t->lock);
	while (t->turn < PROBE_MESSAGES) {
		if (t->turn % 2 == parity) {
			t->turn++;
			pthread_cond_signal(&t->turned);
		} else {
			pthread_cond_wait(&t->turned, &t->lock);
		}
	}
	pthread_mutex_unlock(&t->lock);
}

static void *
partner(void *data)
{
	take_turns(data, 1);
	return NULL;
}

/* Seconds from one thread to another. */
static double
latency_of_threads(void)
{
	struct table t = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};
	pthread_t thread;
	double start = clock_seconds();

	if (pthread_create(&thread, NULL, partner, &t))
		return 10e-6; /* as measured on machines where that is possible */
	take_turns(&t, 0);
	pthread_join(thread, NULL);
	return (clock_seconds() - start) / PROBE_MESSAGES;
}

char *
this_machine_text(const void *owner)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	double memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
	double flops = flops_of_core(), bandwidth = bandwidth_of_copies(PROBE_BYTES);
	/* Half of the cache is read and half written. Copies of a quarter leave room for the rest. */
	double cache = (double)cache_of_core() / 2,
	       cached = bandwidth_of_copies(cache_of_core() / 4);
	double latency = latency_of_threads();
	char name[256];

	rt_machine_name(name, sizeof name);
	char *text = TEXT(owner,
		"cluster @this_machine {\n"
		"source \"any number of cores; this machine has %ld\"\n"
		"device core\n"
		"{name = \"%s\", source = \"its name in profiles\"}\n"
		"{memory = %.3gGB, source = \"the memory of this machine divided by its cores\"}\n"
		"{host_memory = %.3gGB, source = \"as memory: a core has no memory of its own\"}\n"
		"{host_bandwidth = %.3gGB/s, source = \"the same as a copy\"}\n"
		"{f32 = %.3gGFLOP/s, scalar_flops = %.3gGFLOP/s, source = \"measured: "
		"multiply-adds in registers\"}\n"
		"{bandwidth = %.3gGB/s, source = \"measured: a copy of %d MB, reads and writes\"}\n"
		"{cache = %.3gMB, source = \"half of the cache of a core\"}\n"
		"{cache_bandwidth = %.3gGB/s, source = \"measured: copies within that cache\"}\n"
		"{launch = 0us, source = \"kernels are function calls\"}\n"
		"{async = 0, overlap = 0, source = \"the cores that compute also move messages\"}\n"
		"{link_latency = %.3gus, source = \"measured: from one thread to another\"}\n"
		"{link_bandwidth = %.3gGB/s, source = \"the same as the copy\"}\n"
		"}\n",
		cores, name, memory / (double)(cores > 0 ? cores : 1) / 1e9,
		memory / (double)(cores > 0 ? cores : 1) / 1e9, bandwidth / 2 / 1e9, flops / 1e9,
		flops / 1e9, bandwidth / 1e9, PROBE_BYTES >> 20, cache / 1e6,
		fmax(cached, bandwidth) / 1e9, latency * 1e6, bandwidth / 2 / 1e9);
	return text;
}
