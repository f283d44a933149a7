/*
 * Times reading StableHLO text: mlir FILE [REPEAT]. With REPEAT the inside of the module is there
 * that many times, its public functions under other names. Processor time, the median of several
 * runs; in turns with memchr over the same bytes, which says how fast the machine's memory is at
 * the moment.
 */
#include "ir/base/sort.h"
#include "parser/stablehlo/mlir/mlir.h"
#include "test/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>
#include <time.h>

enum { RUNS = 11 };

static double
now(void)
{
	return (double)clock() / CLOCKS_PER_SEC;
}

/* The lines between the first that ends in `{` and the last `}`, many times: names of functions are
 * not looked at by the reader. */
static char *
repeat(char *text, size_t *n, int times)
{
	size_t head = 0, tail = *n;

	while (head + 1 < *n && !(text[head] == '{' && text[head + 1] == '\n'))
		head++;
	while (tail > head && text[tail - 1] != '}')
		tail--;
	head += 2;
	size_t inside = tail > head ? tail - 1 - head : 0;
	size_t length = head + inside * (size_t)times + 2;
	if (!inside)
		return NULL;
	char *all = talloc_size(NULL, length);
	memcpy(all, text, head);
	for (int i = 0; i < times; i++)
		memcpy(all + head + inside * (size_t)i, text + head, inside);
	memcpy(all + length - 2, "}\n", 2);
	talloc_free(text);
	*n = length;
	return all;
}

int
main(int argc, char **argv)
{
	double reading[RUNS], scanning[RUNS];
	size_t n = 0, lines = 0;
	uint32_t ops = 0;
	char *text = argc > 1 ? read_file(NULL, argv[1], &n) : NULL;

	if (text && argc > 2)
		text = repeat(text, &n, atoi(argv[2]));
	if (!text) {
		fprintf(stderr, "usage: mlir FILE [REPEAT]\n");
		return 1;
	}
	for (int i = 0; i < RUNS; i++) {
		struct ir_context *ctx = ir_context_create(NULL);
		double start = now();
		struct mlir_file *f = mlir_read(ctx, ctx, argv[1], text, n);
		reading[i] = now() - start;
		if (!f)
			return 1;
		ops = f->nops;
		talloc_free(ctx);
		start = now();
		for (const char *s = text; (s = memchr(s, '\n', n - (size_t)(s - text))); s++)
			lines++;
		scanning[i] = now() - start;
	}
	sort_double(reading, RUNS);
	sort_double(scanning, RUNS);
	double seconds = reading[RUNS / 2];
	printf("%zu bytes, %zu lines, %u ops: %.2f ms, %.0f MB/s, %.2f M ops/s, %.0f ns/op, %.0f "
	       "times "
	       "as long as memchr for the lines\n",
		n, lines / RUNS, ops, 1e3 * seconds, 1e-6 * (double)n / seconds,
		1e-6 * (double)ops / seconds, 1e9 * seconds / ops, seconds / scanning[RUNS / 2]);
	talloc_free(text);
	return 0;
}
