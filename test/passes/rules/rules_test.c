/* What a proof takes. */
#include "ir/base/alloc.h"
#include "parser/dir/parse.h"
#include "passes/rules/verify.h"
#include "test/unit.h"

#include <string.h>

/* The cases in which a sum of convolutions with a filter of those sizes is proven. */
static int
cases_of_convolutions(struct ir_context *ctx, const char *sizes)
{
	char *text = TEXT(ctx,
		"rule @r(%%x : F[a,b,h,w], %%f : F[c,b,%s], %%g : F[c,b,%s]) {\n"
		"  %%s = add(%%f, %%g)\n"
		"  %%y = conv2d(%%x, %%s) {low = [1,1], high = [1,1]}\n  return(%%y)\n} => {\n"
		"  %%p = conv2d(%%x, %%f) {low = [1,1], high = [1,1]}\n"
		"  %%q = conv2d(%%x, %%g) {low = [1,1], high = [1,1]}\n"
		"  %%y = add(%%p, %%q)\n  return(%%y)\n}\n",
		sizes, sizes);
	struct ir_rules *rules = parse_rules(ctx, ctx, "r", text, strlen(text));
	struct rule_proof proof;

	assert_non_null(rules);
	rule_verify(ctx, rule_prover_create(ctx), rules, rules->first, &proof);
	assert_int_equal(proof.verdict, RULE_PROVEN);
	return proof.branches;
}

/* A constant range is not expanded if the proof does not need that: each of the nine elements of a
 * filter would ask which rows are outside of the image. */
static void
filters_of_known_sizes_take_no_more_cases(void **state)
{
	struct ir_context *ctx = ir_context_create(*state);

	assert_true(cases_of_convolutions(ctx, "3,3") <= cases_of_convolutions(ctx, "k,l"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			filters_of_known_sizes_take_no_more_cases, make_scratch, free_scratch),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
