/*
 * Scatters that sum, for indices with the greatest possible skew: equal to the interpreter, the
 * same bits in every run, and no longer chains of additions than for evenly spread indices. The
 * shim counts the additions of each thread.
 */
#define BATCH_REAL 6 /* one of each shape */
#include "test/lower/cuda/batch.h"
#include "test/lower/program.h"

/* How often an index repeats. Exponentials of normal numbers are mostly small and seldom large,
 * like words of a text; indices that are too large are dropped. */
static const struct distribution {
	const char *name, *index; /* its text, with %s for the type of the source's indices */
} distribution[] = {
	{"all equal", "%%i = input(\"i\") {range = 1} : i32%s\n"},
	{"two", "%%i = input(\"i\") {range = 2} : i32%s\n"},
	{"spread, some dropped", "%%i = input(\"i\") {range = 5000} : i32%s\n"},
	{"as words", "%%n = input(\"n\") : f32%s\n%%m = add(%%n, %%n)\n%%e = exp(%%m)\n%%i = "
		     "convert(%%e) {to = i32}\n"},
};
enum { DISTRIBUTIONS = sizeof distribution / sizeof *distribution };

static const struct shape {
	const char *name, *index, *body;
	unsigned long most; /* additions of a thread over all launches; one thread alone: 4000 */
} shape[] = {
	{"rows", "[4000]",
		"%u = input(\"u\") : f32[4000,8]\n%r = scatter_add(%u, %i) {size = 4500}\n", 64},
	{"rows of 16 bits", "[50,80]",
		"%v = input(\"u\") : f32[50,80,3]\n%u = convert(%v) {to = bf16}\n%r = "
		"scatter_add(%u, %i) {size = 4500}\n",
		64},
	{"integers", "[4000]",
		"%k = input(\"k\") {range = 100} : i32[4000]\n%u = convert(%k) {to = i64}\n%r = "
		"scatter_nd(%u, %i) {sizes = [4500]}\n",
		64},
	{"a batch of scalars", "[3,4000]",
		"%u = input(\"u\") : f32[3,4000]\n%r = scatter_nd(%u, %i) {batch = 1, sizes = "
		"[4500]}\n",
		80},
	{"the largest", "[4000]",
		"%u = input(\"u\") : f32[4000]\n%r = scatter_nd(%u, %i) {sizes = [4500], how = "
		"\"max\"}\n",
		64},
	{"two indices", "[4000]",
		"%u = input(\"u\") : f32[4000]\n%r = scatter_nd(%u, %i, %i) {sizes = [40,4500]}\n",
		64},
};
enum { SHAPES = sizeof shape / sizeof *shape };

static void
add_program(struct batch *b, const struct shape *s, const struct distribution *d)
{
	char *text = talloc_strdup(b, "module @scatter\nfunc @main() {\n");

	text = talloc_asprintf_append(text, d->index, s->index);
	text = talloc_asprintf_append(text, "%soutput(\"r\", %%r)\n}\n", s->body);
	batch_add(b, talloc_asprintf(b, "%s, %s", s->name, d->name), text);
}

/* The longest chain of additions of a program in a step: the maximum over the threads of each
 * kernel, summed over kernels. */
static unsigned long
longest_chain(const struct batch *b, const char *path)
{
	FILE *f = fopen(path, "r");
	char kernel[256];
	unsigned long most, sum = 0;

	assert_non_null(f);
	while (fscanf(f, "%255s %lu", kernel, &most) == 2)
		sum += most;
	fclose(f);
	return sum / (unsigned long)b->steps;
}

/* Are the outputs of a second run those of the first, bit by bit? */
static void
check_same_again(struct batch *b, int i)
{
	char *again = talloc_asprintf(b, "%s/again", b->folder);

	assert_int_equal(run_program(b, i, again, talloc_asprintf(b, "%s/save", b->folder)), 0);
	char *command = talloc_asprintf(b, "cmp %s/dump%d %s", b->folder, i, again);
	if (system(command) != 0)
		fail_msg("%s: another run gives other bits", b->program[i].what);
}

static void
skewed_indices_are_as_spread_ones(void **state)
{
	(void)state;
	struct batch *b = batch_create();
	char *counts = talloc_asprintf(b, "%s/added", b->folder);

	for (int d = 0; d < DISTRIBUTIONS; d++)
		for (int s = 0; s < SHAPES; s++)
			add_program(b, &shape[s], &distribution[d]);
	assert_true(batch_try_build(b, "-O1"));
	setenv("SHIM_ADDED", counts, 1);
	unsigned long chain[DISTRIBUTIONS * SHAPES];
	for (int i = 0; i < b->n; i++) {
		unlink(counts);
		const char *wrong = program_difference(b, i);
		if (wrong)
			fail_msg("%s: %s", b->program[i].what, wrong);
		chain[i] = longest_chain(b, counts);
		if (chain[i] != chain[i % SHAPES] || chain[i] > shape[i % SHAPES].most)
			fail_msg("%s: %lu additions one after another, %lu with all indices equal, "
				 "%lu at most",
				b->program[i].what, chain[i], chain[i % SHAPES],
				shape[i % SHAPES].most);
		check_same_again(b, i);
	}
	unsetenv("SHIM_ADDED");
	batch_end(b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(skewed_indices_are_as_spread_ones)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
