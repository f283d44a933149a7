/*
 * Times reading, checking and printing a module: text FILE, as gen_ops.py writes it. Processor
 * time, the best of several runs; memory is by how much the first one raised the peak of the
 * process, which had the text before. It is not copied.
 */
#include "parser/dir/parse.h"
#include "test/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <talloc.h>
#include <time.h>

enum { RUNS = 10 }; /* the best of ten is steady to a few percent on an idle machine */

enum stage { PARSE, VERIFY, PRINT, STAGES };

struct result {
	double seconds[STAGES];
	size_t ops, bytes;
};

static double
now(void)
{
	return (double)clock() / CLOCKS_PER_SEC;
}

static size_t
peak(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (size_t)u.ru_maxrss << 10;
}

static bool
run(const char *path, const char *text, size_t n, FILE *nowhere, struct result *r)
{
	const struct parse_options o = {.text_stays = true};
	const size_t before = peak();
	struct ir_context *ctx = ir_context_create(NULL);
	double start = now();
	struct ir_module *m = parse_module(ctx, ctx, path, text, n, &o);
	double parsed = now();

	if (!m || !ir_verify(m))
		return false;
	double verified = now();
	ir_print(nowhere, m);
	fflush(nowhere);
	double stage[STAGES] = {parsed - start, verified - parsed, now() - verified};
	for (int i = 0; i < STAGES; i++)
		if (!r->seconds[i] || stage[i] < r->seconds[i])
			r->seconds[i] = stage[i];
	r->ops = 0;
	IR_FOR_OPS (op, &ir_func_find(m, "main")->body)
		r->ops++;
	if (!r->bytes)
		r->bytes = peak() - before;
	talloc_free(ctx);
	return true;
}

int
main(int argc, char **argv)
{
	static const char *const name[] = {"parse", "verify", "print"};
	struct result r = {0};
	size_t n = 0;
	char *text = argc == 2 ? read_file(NULL, argv[1], &n) : NULL;
	FILE *nowhere = fopen("/dev/null", "w");
	double all = 0;

	if (!text || !nowhere) {
		fprintf(stderr, "usage: text FILE\n");
		return 1;
	}
	for (int i = 0; i < RUNS; i++)
		if (!run(argv[1], text, n, nowhere, &r))
			return 1;
	for (int i = 0; i < STAGES; i++) {
		all += r.seconds[i];
		printf("%-7s %6.0f ns/op\n", name[i], 1e9 * r.seconds[i] / (double)r.ops);
	}
	printf("all     %6.0f ns/op, %.2f M ops/s, %zu ops, %.0f bytes/op\n",
		1e9 * all / (double)r.ops, (double)r.ops / all / 1e6, r.ops,
		(double)r.bytes / (double)r.ops);
	fclose(nowhere);
	talloc_free(text);
	return 0;
}
