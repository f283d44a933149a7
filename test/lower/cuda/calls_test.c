/* Batches of more products than one call of a library has: calls of equal size, or with a shorter last one. */
#include "test/lower/cuda/batch.h"
#include "test/lower/program.h"

enum { MOST = 5 };

/* Products of B matrices: plain, transposed, over two loops, with a sum over a loop in f32 and in 16 bits. */
static const char *const bodies[] = {
	"%x = input(\"x\") : f32[@,3,4]\n%y = input(\"y\") : f32[@,4,2]\n"
	"%r = contract(%x, %y) {spec = \"bij,bjk->bik\"}\n",
	"%x = input(\"x\") : f64[@,4,3]\n%y = input(\"y\") : f64[@,2,4]\n"
	"%r = contract(%x, %y) {spec = \"bji,bkj->bik\"}\n",
	"%x = input(\"x\") : f32[2,3,@,4]\n%y = input(\"y\") : f32[2,4,@,2]\n"
	"%r = contract(%x, %y) {spec = \"aibj,ajbk->abik\"}\n",
	"%x = input(\"x\") : f32[@,3,2,4]\n%y = input(\"y\") : f32[2,@,4,2]\n"
	"%r = contract(%x, %y) {spec = \"bicj,cbjk->bik\"}\n",
	"%x = input(\"x\") : bf16[@,3,2,4]\n%y = input(\"y\") : bf16[2,@,4,2]\n"
	"%r = contract(%x, %y) {spec = \"bicj,cbjk->bik\"}\n",
	"%x = input(\"x\") : f32[@,3,4]\n%y = input(\"y\") : f32[@,4,2]\n%z = input(\"z\") : f32[2]\n"
	"%r = fuse(%x, %y, %z) {\n%p = contract(%x, %y) {spec = \"bij,bjk->bik\"}\n"
	"%q = add(%p, %z)\n%s = relu(%q)\nyield(%s)\n}\n",
};

static void
products_of_several_calls_are_as_interpreted(void **state)
{
	static const int sizes[] = {5, 7, 10, 11, 13, 15};
	(void)state;
	struct batch *b = batch_create();
	struct storage_target few = *lower_storage_target(BATCH_TARGET);

	few.batch = MOST;
	b->steps = 1;
	b->storage = &few;
	for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++)
		for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
			char *text = talloc_strdup(b, "module @m\nfunc @main() {\n");
			for (const char *c = bodies[i]; *c; c++)
				text = *c == '@' ? talloc_asprintf_append(text, "%d", sizes[k])
						 : talloc_asprintf_append(text, "%c", *c);
			batch_add(b, talloc_asprintf(b, "body %zu, batch of %d", i, sizes[k]),
				talloc_asprintf_append(text, "output(\"r\", %%r)\n}\n"));
		}
	batch_check(b, "-O1");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(products_of_several_calls_are_as_interpreted)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
