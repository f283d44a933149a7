/*
 * The interpreter's rounding error as recorded in a kept batch, by which test/gpu/compare judges a
 * GPU: an output in f64 that comes from f32 differs by as much as f32 allows, another one does not.
 */
#include "test/lower/program.h"

static const char text[] = "module @roundings\nfunc @main() {\n%a = input(\"a\") : f32[50]\n"
			   "%p = param(\"p\") {init = \"normal\"} : f32[50]\n"
			   "%q = tanh(%a)\n%d = convert(%q) {to = f64}\n%s = asin(%d)\n"
			   "output(\"from f32\", %s)\n%e = convert(%a) {to = f64}\n%f = tanh(%e)\n"
			   "%g = asin(%f)\noutput(\"from f64\", %g)\n%n = mul(%p, %q)\n"
			   "update(%p, %n)\n}\n";

/* The size in the line of the file; negative: not found. */
static double
size_of(const char *path, const char *kind, const char *name)
{
	FILE *f = fopen(path, "r");
	char line[256], of[16], what[64];
	double size, found = -1;

	assert_non_null(f);
	while (fgets(line, sizeof line, f))
		if (sscanf(line, "%15s %lf %63[^\n]", of, &size, what) == 3 && !strcmp(of, kind) &&
			!strcmp(what, name))
			found = size;
	fclose(f);
	return found;
}

static void
kept_batches_say_what_rounding_makes(void **state)
{
	(void)state;
	struct batch *b = batch_create();
	char *path = talloc_asprintf(b, "%s/rounding0", b->folder);

	b->steps = 1;
	batch_add(b, "roundings", text);
	assert_true(batch_try_build(b, "-O1"));
	assert_null(program_difference(b, 0));
	assert_int_equal(access(path, F_OK), -1);
	setenv("BATCH_KEEP", "yes", 1);
	assert_null(program_difference(b, 0));
	unsetenv("BATCH_KEEP");
	/* Half a unit in the last place of 1, and the slope of asin near 1 of some tens. */
	const double from_f32 = size_of(path, "dump", "from f32");
	assert_true(from_f32 > 1e-8 && from_f32 < 1e-5);
	assert_true(size_of(path, "dump", "from f64") < 0);
	const double param = size_of(path, "save", "p");
	assert_true(param > 1e-9 && param < 1e-6);
	batch_end(b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(kept_batches_say_what_rounding_makes)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
