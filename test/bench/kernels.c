/*
 * Fused kernels of the host target against loops written by hand, both compiled with the flags of
 * programs. One line a kernel: medians in microseconds and their ratio; results are compared first.
 *
 *     kernels [name...]
 */
#include "ir/base/sort.h"
#include "lower/plan/plan.h"
#include "parser/dir/parse.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>
#include <time.h>
#include <unistd.h>

enum {
	ROUNDS = 41,                 /* medians of so many measurements */
	ROUND_NANOSECONDS = 2000000, /* of each: far above the clock's own cost */
	MAX_TENSORS = 8,
};

struct bench_case {
	const char *name;
	const char *text; /* of @main; the last op that is a kernel is measured */
	const char *hand; /* body of a function of float pointers a0, a1 ... (operands) and r0, r1
			     ... (results) */
};

static const struct bench_case cases[] = {
	{"bias_relu",
		"%x = input(\"x\") : f32[300,512]\n%b = input(\"b\") : f32[512]\n%r = fuse(%x, %b) "
		"{\n%s = add(%x, %b)\n%t = relu(%s)\nyield(%t)\n}\n",
		"for (long i = 0; i < 300; i++)\n#pragma omp simd\nfor (long j = 0; j < 512; j++) "
		"{\nfloat v = a0[i * 512 + j] + a1[j];\nr0[i * 512 + j] = v > 0 ? v : 0;\n}\n"},
	{"gelu", "%x = input(\"x\") : f32[300,512]\n%r = gelu(%x)\n",
		"\n#pragma omp simd\nfor (long i = 0; i < 300 * 512; i++)\nr0[i] = 0.5f * a0[i] * "
		"(1 + m_erf_f32(a0[i] * 0.70710678f));\n"},
	{"softmax",
		"%x = input(\"x\") : f32[300,1024]\n%r = fuse(%x) {\n%m = max(%x) {dims = [1], "
		"keep = true}\n%d = sub(%x, %m)\n%e = exp(%d)\n%s = sum(%e) {dims = [1], keep = "
		"true}\n"
		"%y = div(%e, %s)\nyield(%y)\n}\n",
		"for (long i = 0; i < 300; i++) {\nconst float *x = a0 + i * 1024;\nfloat *y = r0 "
		"+ i * 1024, m = x[0], s = 0;\n#pragma omp simd reduction(max:m)\nfor (long j = 0; "
		"j < 1024; j++)\nm = x[j] > m ? x[j] : m;\n"
		"#pragma omp simd reduction(+:s)\nfor (long j = 0; j < 1024; j++) {\ny[j] = "
		"m_exp_f32(x[j] - m);\ns += y[j];\n}\n#pragma omp simd\nfor (long j = 0; j < 1024; "
		"j++)\ny[j] /= s;\n}\n"},
	{"layer_norm",
		"%x = input(\"x\") : f32[300,1024]\n%g = input(\"g\") : f32[1024]\n%b = "
		"input(\"b\") : f32[1024]\n%r = fuse(%x, %g, %b) {\n%m = mean(%x) {dims = [1], "
		"keep = true}\n%d = sub(%x, %m)\n%q = mul(%d, %d)\n"
		"%v = mean(%q) {dims = [1], keep = true}\n%t = constant() {value = 1e-5} : "
		"f32[]\n%u = add(%v, %t)\n%s = rsqrt(%u)\n%n = mul(%d, %s)\n%o = mul(%n, %g)\n%y = "
		"add(%o, %b)\nyield(%y)\n}\n",
		"for (long i = 0; i < 300; i++) {\nconst float *x = a0 + i * 1024;\nfloat m = 0, v "
		"= 0;\n#pragma omp simd reduction(+:m)\nfor (long j = 0; j < 1024; j++)\nm += "
		"x[j];\nm /= 1024;\n"
		"#pragma omp simd reduction(+:v)\nfor (long j = 0; j < 1024; j++)\nv += (x[j] - m) "
		"* (x[j] - m);\nconst float s = 1 / sqrtf(v / 1024 + 1e-5f);\n#pragma omp "
		"simd\nfor (long j = 0; j < 1024; j++)\n"
		"r0[i * 1024 + j] = (x[j] - m) * s * a1[j] + a2[j];\n}\n"},
	{"adam",
		"%w = input(\"w\") : f32[262144]\n%m = input(\"m\") : f32[262144]\n%v = "
		"input(\"v\") : f32[262144]\n%g = input(\"g\") : f32[262144]\n%w2, %m2, %v2 = "
		"fuse(%w, %m, %v, %g) {\n"
		"%b1 = constant() {value = 0.9} : f32[]\n%b2 = constant() {value = 0.999} : "
		"f32[]\n%c1 = constant() {value = 0.1} : f32[]\n%c2 = constant() {value = 0.001} : "
		"f32[]\n%ma = mul(%m, %b1)\n%mb = mul(%g, %c1)\n%m2 = add(%ma, %mb)\n"
		"%gg = mul(%g, %g)\n%va = mul(%v, %b2)\n%vb = mul(%gg, %c2)\n%v2 = add(%va, "
		"%vb)\n%av = abs(%v2)\n%sv = sqrt(%av)\n%e = constant() {value = 1e-8} : "
		"f32[]\n%se = add(%sv, %e)\n%st = div(%m2, %se)\n%sl = mul(%st, %c2)\n%w2 = "
		"sub(%w, %sl)\n"
		"yield(%w2, %m2, %v2)\n}\n",
		"\n#pragma omp simd\nfor (long i = 0; i < 262144; i++) {\nfloat m = a1[i] * 0.9f + "
		"a3[i] * 0.1f, v = a2[i] * 0.999f + a3[i] * a3[i] * 0.001f;\nr1[i] = m;\nr2[i] = "
		"v;\nr0[i] = a0[i] - m / (sqrtf(fabsf(v)) + 1e-8f) * 0.001f;\n}\n"},
	{"relu_gradient",
		"%x = input(\"x\") : f32[300,512]\n%y = input(\"y\") : f32[300,512]\n%g, %b = "
		"fuse(%x, %y) {\n%z = constant() {value = 0} : f32[]\n%p = gt(%x, %z)\n%g = "
		"select(%p, %y, %z)\n%b = sum(%g) {dims = [0]}\nyield(%g, %b)\n}\n",
		"memset(r1, 0, 2048);\nfor (long i = 0; i < 300; i++)\n#pragma omp simd\nfor (long "
		"j = 0; j < 512; j++) {\nfloat v = a0[i * 512 + j] > 0 ? a1[i * 512 + j] : "
		"0;\nr0[i * 512 + j] = v;\nr1[j] += v;\n}\n"},
	{"sum_rows", "%x = input(\"x\") : f32[300,1024]\n%r = sum(%x) {dims = [1]}\n",
		"for (long i = 0; i < 300; i++) {\nfloat s = 0;\n#pragma omp simd "
		"reduction(+:s)\nfor (long j = 0; j < 1024; j++)\ns += a0[i * 1024 + j];\nr0[i] = "
		"s;\n}\n"},
	{"sum_columns", "%x = input(\"x\") : f32[300,1024]\n%r = sum(%x) {dims = [0]}\n",
		"memset(r0, 0, 4096);\nfor (long i = 0; i < 300; i++)\n#pragma omp simd\nfor (long "
		"j = 0; j < 1024; j++)\nr0[j] += a0[i * 1024 + j];\n"},
	{"transpose", "%x = input(\"x\") : f32[512,768]\n%r = transpose(%x)\n",
		"for (long I = 0; I < 768; I += 16)\nfor (long J = 0; J < 512; J += 16)\nfor (long "
		"i = I; i < I + 16; i++)\n#pragma omp simd\nfor (long j = J; j < J + 16; "
		"j++)\nr0[i * 512 + j] = a0[j * 768 + i];\n"},
	{"linear_gelu",
		"%x = input(\"x\") : f32[512,256]\n%w = input(\"w\") : f32[256,1024]\n%b = "
		"input(\"b\") : f32[1024]\n%r = fuse(%x, %w, %b) {\n%m = matmul(%x, %w)\n%s = "
		"add(%m, %b)\n%t = gelu(%s)\nyield(%t)\n}\n",
		"rt_gemm_f32(false, false, 512, 1024, 256, 1, a0, 256, a1, 1024, 0, r0, "
		"1024);\nfor (long i = 0; i < 512; i++)\n#pragma omp simd\nfor (long j = 0; j < "
		"1024; j++) {\nfloat v = r0[i * 1024 + j] + a2[j];\n"
		"r0[i * 1024 + j] = 0.5f * v * (1 + m_erf_f32(v * 0.70710678f));\n}\n"},
};

typedef void kernel(void *const *operand, void *const *result, void *scratch, const int64_t *coord);

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); /* what other processes take is not counted */
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Memory of `owner` that starts at a cache line. */
static void *
aligned(const void *owner, uint64_t bytes)
{
	char *p = talloc_size(owner, bytes + 64);

	return p + (64 - (uintptr_t)p % 64) % 64;
}

static void *
tensor(const void *owner, int64_t bytes, int seed)
{
	float *p = aligned(owner, (uint64_t)bytes);

	for (int64_t i = 0; i < bytes / 4; i++)
		p[i] = (float)sin((double)(i * 7 + seed) * 0.37);
	return p;
}

static double
time_calls(kernel *k, void *const *operand, void *const *result, void *scratch, int calls)
{
	static const int64_t coord[IR_MAX_AXES];
	const double start = now();

	for (int i = 0; i < calls; i++)
		k(operand, result, scratch, coord);
	return (now() - start) / calls;
}

/* Nanoseconds of a call of both, medians of ROUNDS; they take turns, so that a busy machine harms
 * both alike. */
static void
measure(kernel *const k[2], void *const *operand, void *const *const result[2], void *scratch,
	double median[2])
{
	double time[2][ROUNDS];
	int calls = 1;

	while (time_calls(k[1], operand, result[1], scratch, calls) * calls < ROUND_NANOSECONDS)
		calls *= 2;
	for (int r = 0; r < ROUNDS; r++)
		for (int i = 0; i < 2; i++)
			time[i][r] = time_calls(k[i], operand, result[i], scratch, calls);
	for (int i = 0; i < 2; i++) {
		sort_double(time[i], ROUNDS);
		median[i] = time[i][ROUNDS / 2];
	}
}

static void
write_hand(FILE *f, const struct bench_case *c, const struct ir_op *op)
{
	fprintf(f, "\nvoid\nhand(void *const *operand, void *const *result, void *scratch, const "
		   "int64_t *coord)\n{\n(void)scratch, (void)coord;\n");
	for (int j = 0; j < op->noperands; j++)
		fprintf(f, "const float *restrict a%d = operand[%d];\n", j, j);
	for (int r = 0; r < op->nresults; r++)
		fprintf(f, "float *restrict r%d = result[%d];\n", r, r);
	fprintf(f, "%s}\n", c->hand);
}

/* The largest difference, relative to the largest element. */
static double
difference(const float *a, const float *b, int64_t n)
{
	double most = 0, largest = 1e-30;

	for (int64_t i = 0; i < n; i++) {
		most = fmax(most, fabs((double)a[i] - b[i]));
		largest = fmax(largest, fabs((double)a[i]));
	}
	return most / largest;
}

static void
run_case(const struct bench_case *c)
{
	void *owner = talloc_new(NULL);
	struct ir_context *ctx = ir_context_create(owner);
	char *text = talloc_asprintf(owner, "module @bench\nfunc @main() {\n%s}\n", c->text);
	struct ir_module *m = parse_module(owner, ctx, c->name, text, strlen(text), NULL);
	char folder[] = "bench-kernels-XXXXXX";
	uint64_t scratch_bytes = 0;
	void *operand[MAX_TENSORS], *mine[MAX_TENSORS], *theirs[MAX_TENSORS];

	if (!m || !mkdtemp(folder))
		exit(1);
	const struct ir_op *op = ir_func_find(m, "main")->body.last;
	FILE *f = fopen(talloc_asprintf(owner, "%s/k.c", folder), "w");
	if (!f || !lower_kernel_source(m, op, &storage_host, "generated", false, f, &scratch_bytes))
		exit(1);
	write_hand(f, c, op);
	fclose(f);
	char *command = talloc_asprintf(owner, "cd %s && %s -fPIC -shared -o k.so k.c %s", folder,
		lower_compile_command(owner), lower_link_flags(owner));
	if (system(command) != 0)
		exit(1);
	void *library = dlopen(talloc_asprintf(owner, "./%s/k.so", folder), RTLD_NOW | RTLD_LOCAL);
	kernel *const both[2] = {
		(kernel *)dlsym(library, "generated"), (kernel *)dlsym(library, "hand")};
	for (int j = 0; j < op->noperands; j++)
		operand[j] = tensor(owner, ir_type_local_bytes(m, ir_operand_type(op, j)), j);
	for (int r = 0; r < op->nresults; r++) {
		mine[r] = tensor(owner, ir_type_local_bytes(m, op->result[r].type), r);
		theirs[r] = tensor(owner, ir_type_local_bytes(m, op->result[r].type), r);
	}
	void *scratch = aligned(owner, scratch_bytes);
	double time[2];
	measure(both, operand, (void *const *const[2]){mine, theirs}, scratch, time);
	double worst = 0;
	for (int r = 0; r < op->nresults; r++)
		worst = fmax(worst, difference(mine[r], theirs[r],
					    ir_type_local_elements(m, op->result[r].type)));
	printf("%-14s generated %9.2f us   by hand %9.2f us   ratio %.2f%s\n", c->name,
		time[0] / 1e3, time[1] / 1e3, time[0] / time[1],
		worst > 1e-4 ? "   RESULTS DIFFER" : "");
	command = talloc_asprintf(owner, "rm -r %s", folder);
	if (system(command) != 0)
		exit(1);
	talloc_free(owner);
}

int
main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		bool wanted = argc == 1;
		for (int k = 1; k < argc; k++)
			wanted |= strcmp(argv[k], cases[i].name) == 0;
		if (wanted)
			run_case(&cases[i]);
	}
	return 0;
}
