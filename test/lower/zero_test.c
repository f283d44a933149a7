/*
 * The sign of a zero: what sums is never -0, nor are a mean, the largest and the smallest; what
 * moves elements keeps the sign. Programs, the interpreter by meaning and the interpreter by layout
 * agree. %x is -0 everywhere.
 */
#include "test/lower/program.h"

enum sign { PLUS, MINUS };

struct zero_case {
	enum sign sign; /* of all elements of r, which are zeros */
	const char *mesh, *shape, *body;
};

#define COPY "mesh [dp = 2]\n"
#define TIME "steps [mb = 2]\n"

static const struct zero_case cases[] = {
	/* sums with loops and without */
	{PLUS, "", "[5,4]", "%r = sum(%x) {dims = [0]}\n"},
	{PLUS, "", "[5,4]", "%r = sum(%x) {dims = [1]}\n"},
	{PLUS, "", "[5,1]", "%r = sum(%x) {dims = [1]}\n"},
	{PLUS, "", "[1]", "%r = sum(%x)\n"},
	{PLUS, "", "[3000,3]", "%r = sum(%x) {dims = [0]}\n"},
	{PLUS, "", "[3,3000]", "%r = sum(%x) {dims = [1]}\n"},
	{PLUS, "", "[5,4]", "%r = mean(%x) {dims = [0]}\n"},
	{PLUS, "", "[5,1]", "%r = mean(%x) {dims = [1]}\n"},
	{PLUS, "", "[5,4]", "%h = convert(%x) {to = bf16}\n%r = sum(%h) {dims = [0]}\n"},
	{PLUS, "", "[5,1]", "%h = convert(%x) {to = f16}\n%r = mean(%h) {dims = [1]}\n"},
	{PLUS, "", "[5,1]", "%h = convert(%x) {to = f64}\n%r = sum(%h) {dims = [1]}\n"},
	{PLUS, "", "[5,4]",
		"%r = fuse(%x) {\n%a = sum(%x) {dims = [1], keep = true}\n%b = sum(%a) {dims = "
		"[1]}\nyield(%b)\n}\n"},
	{PLUS, "", "[5,4]",
		"%r = fuse(%x) {\n%e = reshape(%x) {shape = [5,1,4]}\n%a = sum(%e) {dims = "
		"[1]}\nyield(%a)\n}\n"},
	/* the largest and the smallest, of zeros of both signs too */
	{PLUS, "", "[5,4]", "%r = max(%x) {dims = [1]}\n"},
	{PLUS, "", "[5,1]", "%r = min(%x) {dims = [1]}\n"},
	{PLUS, "", "[5,40]",
		"%a = abs(%x)\n%c = concat(%x, %a) {dim = 1}\n%r = min(%c) {dims = [1]}\n"},
	{PLUS, "", "[5,40]",
		"%a = abs(%x)\n%c = concat(%x, %a) {dim = 1}\n%r = max(%c) {dims = [1]}\n"},
	{PLUS, "", "[40,5]", "%r = max(%x) {dims = [0]}\n"},
	/* products */
	{PLUS, "", "[5,4]", "%o = constant() {value = 1} : f32[4,3]\n%r = matmul(%x, %o)\n"},
	{PLUS, "", "[5,1]", "%o = constant() {value = 1} : f32[1,3]\n%r = matmul(%x, %o)\n"},
	{PLUS, "", "[1,4]", "%o = constant() {value = 1} : f32[4,1]\n%r = matmul(%x, %o)\n"},
	{PLUS, "", "[1,1]", "%o = constant() {value = 1} : f32[1,1]\n%r = matmul(%x, %o)\n"},
	{PLUS, "", "[64,64]", "%o = constant() {value = 1} : f32[64,64]\n%r = matmul(%x, %o)\n"},
	{PLUS, "", "[5,4]",
		"%h = convert(%x) {to = bf16}\n%o = constant() {value = 1} : bf16[4,3]\n%r = "
		"matmul(%h, %o)\n"},
	{PLUS, "", "[5,4]",
		"%h = convert(%x) {to = f64}\n%o = constant() {value = 1} : f64[4,3]\n%r = "
		"matmul(%h, %o)\n"},
	{PLUS, "", "[5,4]",
		"%o = constant() {value = 1} : f32[5,4]\n%r = contract(%x, %o) {spec = "
		"\"ij,ij->i\"}\n"},
	{MINUS, "", "[5,4]",
		"%o = constant() {value = 1} : f32[5]\n%r = contract(%x, %o) {spec = "
		"\"ij,i->ij\"}\n"},
	{PLUS, "", "[2,3,6,6]",
		"%w = constant() {value = 1} : f32[4,3,3,3]\n%r = conv2d(%x, %w) {low = [1,1], "
		"high = [1,1]}\n"},
	{PLUS, "", "[2,3,6,6]",
		"%w = constant() {value = 1} : f32[4,3,1,1]\n%r = conv2d(%x, %w)\n"},
	{PLUS, "", "[2,1,6,6]",
		"%w = constant() {value = 1} : f32[4,1,1,1]\n%r = conv2d(%x, %w)\n"},
	/* windows, running sums, sums by number */
	{PLUS, "", "[2,3,6,6]", "%r = avg_pool(%x) {window = [2,2], stride = [2,2]}\n"},
	{PLUS, "", "[2,3,6,6]", "%r = max_pool(%x) {window = [2,2], stride = [2,2]}\n"},
	{PLUS, "", "[2,3,6,6]", "%r = max_pool(%x) {window = [1,1], stride = [1,1]}\n"},
	{PLUS, "", "[9]", "%r = window(%x) {dim = 0, size = 3, low = 1, high = 1} : f32[9]\n"},
	{PLUS, "", "[9]", "%r = window(%x) {dim = 0, size = 1} : f32[9]\n"},
	{PLUS, "", "[9]", "%r = cumsum(%x) {dim = 0}\n"},
	{PLUS, "", "[9,4]", "%r = cumsum(%x) {dim = 0}\n"},
	{PLUS, "", "[9,4]", "%r = cumsum(%x) {dim = 1, reverse = true}\n"},
	{PLUS, "", "[9,1]", "%r = cumsum(%x) {dim = 1}\n"},
	{PLUS, "", "[9,4]",
		"%i = input(\"i\") {range = 5} : i32[9]\n%r = scatter_add(%x, %i) {size = 5}\n"},
	{PLUS, "", "[1,4]",
		"%i = input(\"i\") {range = 5} : i32[1]\n%r = scatter_add(%x, %i) {size = 5}\n"},
	{PLUS, "", "[9,4]", "%k = iota() : i32[9]\n%r = scatter_add(%x, %k) {size = 9}\n"},
	/* places: partial sums, of which one may be all there is */
	{PLUS, COPY, "[6/dp,4]", "%s = sum(%x) {dims = [0]}\n%r = allreduce(%s) {axis = dp}\n"},
	{PLUS, COPY, "[2/dp,4]", "%s = sum(%x) {dims = [0]}\n%r = allreduce(%s) {axis = dp}\n"},
	{PLUS, COPY, "[6/dp,4]",
		"%s = sum(%x) {dims = [0]}\n%n = neg(%s)\n%r = allreduce(%n) {axis = dp}\n"},
	{PLUS, COPY, "[6/dp,4]",
		"%s = sum(%x) {dims = [0]}\n%n = neg(%s)\n%p = reducescatter(%n) {dim = 0, axis = "
		"dp}\n%r = allgather(%p) {axis = dp}\n"},
	{PLUS, COPY, "[6/dp,4]",
		"%s = sum(%x) {dims = [0]}\n%n = neg(%s)\n%h = convert(%n) {to = bf16}\n%p = "
		"reduce(%h) {axis = dp, to = 1}\n%r = replicate(%p) {axis = dp}\n"},
	{PLUS, TIME, "[6/mb,4]",
		"%s = sum(%x) {dims = [0]}\n%n = neg(%s)\n%r = reduce(%n) {axis = mb}\n"},
	/* what moves elements, and a sum of one place */
	{MINUS, COPY, "[6/dp,4]", "%r = allgather(%x) {axis = dp}\n"},
	{MINUS, COPY, "[6/dp,4]",
		"%a = alltoall(%x) {from = 0, to = 1, axis = dp}\n%r = allgather(%a) {axis = "
		"dp}\n"},
	{MINUS, COPY, "[6/dp,4]",
		"%a = combine(%x) {axis = dp, to = 1}\n%r = replicate(%a) {axis "
		"= dp}\n"},
	{MINUS, "mesh [dp = 1]\n", "[6/dp,4]",
		"%s = sum(%x) {dims = [0]}\n%n = neg(%s)\n%r = allreduce(%n) {axis = dp}\n"},
	{MINUS, TIME, "[6/mb,4]", "%r = combine(%x) {axis = mb}\n"},
	{MINUS, "", "[6,4]", "%r = transpose(%x)\n"},
	{MINUS, "", "[6,4]",
		"%i = input(\"i\") {range = 4} : i32[6]\n%r = fuse(%x, %i) {\n%c = ceil(%x)\n%p = "
		"pick(%c, %i)\nyield(%p)\n}\n"},
	{PLUS, "", "[6,4]",
		"%i = input(\"i\") {range = 4} : i32[6]\n%n = add(%i, %i)\n%f = constant() {value "
		"= "
		"4} : i32[]\n%j = add(%n, %f)\n%r = fuse(%x, %j) {\n%c = ceil(%x)\n%p = pick(%c, "
		"%j)\nyield(%p)\n}\n"},
	{MINUS, "", "[6,1]",
		"%i = input(\"i\") {range = 1} : i32[6]\n%r = fuse(%x, %i) {\n%c = ceil(%x)\n%p = "
		"pick(%c, %i)\nyield(%p)\n}\n"},
	{MINUS, "", "[6,300]",
		"%i = input(\"i\") {range = 300} : i32[6]\n%r = fuse(%x, %i) {\n%h = convert(%x) "
		"{to = bf16}\n%c = ceil(%h)\n%p = pick(%c, %i)\nyield(%p)\n}\n"},
	{MINUS, "", "[6,3]", "%r = prod(%x) {dims = [1]}\n"},
	/* of equals the second one; the angle of a point goes by both signs */
	{PLUS, "", "[6,4]", "%a = abs(%x)\n%r = maximum(%x, %a)\n"},
	{MINUS, "", "[6,4]", "%a = abs(%x)\n%r = maximum(%a, %x)\n"},
	{PLUS, "", "[6,4]", "%a = abs(%x)\n%r = minimum(%x, %a)\n"},
	{MINUS, "", "[6,4]", "%a = abs(%x)\n%r = minimum(%a, %x)\n"},
	{PLUS, "", "[6,4]", "%r = relu(%x)\n"},
	{MINUS, "", "[6,4]", "%a = abs(%x)\n%r = atan2(%x, %a)\n"},
	{PLUS, "", "[6,4]", "%a = abs(%x)\n%r = atan2(%a, %a)\n"},
	{PLUS, "", "[6,4]",
		"%t = atan2(%x, %x)\n%p = constant() {value = -3.1415927410125732} : f32[]\n%d = "
		"sub(%t, %p)\n%r = abs(%d)\n"},
};
enum { CASES = sizeof cases / sizeof *cases };

static void
add(struct batch *b, const struct zero_case *c)
{
	batch_add(b, c->body,
		talloc_asprintf(b,
			"module @t\n%sfunc @main() {\n%%g = input(\"g\") : f32%s\n"
			"%%o0 = constant() {value = 0} : f32[]\n%%a0 = abs(%%g)\n%%n0 = neg(%%a0)\n"
			"%%x = mul(%%n0, %%o0)\n%soutput(\"r\", %%r)\n}\n",
			c->mesh, c->shape, c->body));
}

/* Says where a result is something else than a zero of the sign. Returns whether it is. */
static bool
is_wrong(const struct zero_case *c, const char *who, double is, int64_t i)
{
	if (is == 0 && (signbit(is) != 0) == (c->sign == MINUS))
		return false;
	print_error("%s: element %lld is %g\n%s", who, (long long)i, is, c->body);
	return true;
}

static int
check_interpreter(struct batch *b, int n, enum interp_mode mode)
{
	const struct interp_options o = {.mode = mode};
	struct interp *it = interp_create(b, b->program[n].m, &o);
	assert_true(it && interp_step(it, 0));
	const struct tensor *t = interp_output(it, "r");
	for (int64_t i = 0; i < tensor_elements(t); i++)
		if (is_wrong(&cases[n], mode == INTERP_LAYOUT ? "by layout" : "by meaning",
			    t->data[i].f, i))
			return 1;
	return 0;
}

static int
check_program(struct batch *b, int n)
{
	char *dump = talloc_asprintf(b, "%s/dump%d", b->folder, n),
	     *save = talloc_asprintf(b, "%s/save%d", b->folder, n);
	const struct interp_options o = {.mode = INTERP_MEANING};
	struct interp *it = interp_create(b, b->program[n].m, &o);
	struct rt_status st = {0};
	struct rt_st_file file;
	int wrong = 0;
	assert_true(it && interp_step(it, 0));
	const struct tensor *like = interp_output(it, "r");
	assert_int_equal(run_program(b, n, dump, save), 0);
	assert_true(rt_st_open(&file, dump, &st));
	const struct rt_st_tensor *t = rt_st_find(&file, "r");
	assert_non_null(t);
	for (int64_t i = 0; !wrong && i < tensor_elements(like); i++)
		wrong += is_wrong(&cases[n], "the program", element(t, like->dtype, i), i);
	rt_st_close(&file);
	return wrong;
}

static void
zeros_have_the_same_sign_everywhere(void **state)
{
	(void)state;
	struct batch *b = batch_create();
	int wrong = 0;
	b->steps = 1;
	for (int i = 0; i < CASES; i++)
		add(b, &cases[i]);
	assert_true(batch_try_build(b, "-O2"));
	for (int i = 0; i < CASES; i++) {
		wrong += check_interpreter(b, i, INTERP_MEANING);
		wrong += check_interpreter(b, i, INTERP_LAYOUT);
		wrong += check_program(b, i);
	}
	batch_end(b);
	assert_int_equal(wrong, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(zeros_have_the_same_sign_everywhere)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
