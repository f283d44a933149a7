/*
 * The sign of a zero: sums are never -0, nor are means, max and min; ops that move elements keep
 * the sign. Programs, the interpreter by meaning and the interpreter by layout agree. %x is -0
 * everywhere.
 */
#include "test/lower/program.h"

enum sign { PLUS, MINUS };

struct zero_case {
	enum sign sign;           /* of all elements of r, which are zeros */
	const char *mesh, *shape; /* of %x */
	const char *body;         /* ops, separated by ';' */
};

#define NONE ""
#define ALONE "mesh [dp = 1]\n"
#define COPY "mesh [dp = 2]\n"
#define TIME "steps [mb = 2]\n"

/* clang-format off: one row per line */
static const struct zero_case cases[] = {
	/* sums with loops and without */
	{PLUS, NONE, "[5,4]", "%r = sum(%x) {dims = [0]}"},
	{PLUS, NONE, "[5,4]", "%r = sum(%x) {dims = [1]}"},
	{PLUS, NONE, "[5,1]", "%r = sum(%x) {dims = [1]}"},
	{PLUS, NONE, "[1]", "%r = sum(%x)"},
	{PLUS, NONE, "[3000,3]", "%r = sum(%x) {dims = [0]}"},
	{PLUS, NONE, "[3,3000]", "%r = sum(%x) {dims = [1]}"},
	{PLUS, NONE, "[5,4]", "%r = mean(%x) {dims = [0]}"},
	{PLUS, NONE, "[5,1]", "%r = mean(%x) {dims = [1]}"},
	{PLUS, NONE, "[5,4]", "%h = convert(%x) {to = bf16}; %r = sum(%h) {dims = [0]}"},
	{PLUS, NONE, "[5,1]", "%h = convert(%x) {to = f16}; %r = mean(%h) {dims = [1]}"},
	{PLUS, NONE, "[5,1]", "%h = convert(%x) {to = f64}; %r = sum(%h) {dims = [1]}"},
	{PLUS, NONE, "[5,4]",
		"%r = fuse(%x) { %a = sum(%x) {dims = [1], keep = true}; "
		"%b = sum(%a) {dims = [1]}; yield(%b) }"},
	{PLUS, NONE, "[5,4]",
		"%r = fuse(%x) { %e = reshape(%x) {shape = [5,1,4]}; %a = sum(%e) {dims = [1]}; "
		"yield(%a) }"},
	/* the largest and the smallest, of zeros of both signs too */
	{PLUS, NONE, "[5,4]", "%r = max(%x) {dims = [1]}"},
	{PLUS, NONE, "[5,1]", "%r = min(%x) {dims = [1]}"},
	{PLUS, NONE, "[5,40]",
		"%a = abs(%x); %c = concat(%x, %a) {dim = 1}; %r = min(%c) {dims = [1]}"},
	{PLUS, NONE, "[5,40]",
		"%a = abs(%x); %c = concat(%x, %a) {dim = 1}; %r = max(%c) {dims = [1]}"},
	{PLUS, NONE, "[40,5]", "%r = max(%x) {dims = [0]}"},
	/* products */
	{PLUS, NONE, "[5,4]", "%o = constant() {value = 1} : f32[4,3]; %r = matmul(%x, %o)"},
	{PLUS, NONE, "[5,1]", "%o = constant() {value = 1} : f32[1,3]; %r = matmul(%x, %o)"},
	{PLUS, NONE, "[1,4]", "%o = constant() {value = 1} : f32[4,1]; %r = matmul(%x, %o)"},
	{PLUS, NONE, "[1,1]", "%o = constant() {value = 1} : f32[1,1]; %r = matmul(%x, %o)"},
	{PLUS, NONE, "[64,64]", "%o = constant() {value = 1} : f32[64,64]; %r = matmul(%x, %o)"},
	{PLUS, NONE, "[5,4]",
		"%h = convert(%x) {to = bf16}; %o = constant() {value = 1} : bf16[4,3]; "
		"%r = matmul(%h, %o)"},
	{PLUS, NONE, "[5,4]",
		"%h = convert(%x) {to = f64}; %o = constant() {value = 1} : f64[4,3]; "
		"%r = matmul(%h, %o)"},
	{PLUS, NONE, "[5,4]",
		"%o = constant() {value = 1} : f32[5,4]; "
		"%r = contract(%x, %o) {spec = \"ij,ij->i\"}"},
	{MINUS, NONE, "[5,4]",
		"%o = constant() {value = 1} : f32[5]; "
		"%r = contract(%x, %o) {spec = \"ij,i->ij\"}"},
	{PLUS, NONE, "[2,3,6,6]",
		"%w = constant() {value = 1} : f32[4,3,3,3]; "
		"%r = conv2d(%x, %w) {low = [1,1], high = [1,1]}"},
	{PLUS, NONE, "[2,3,6,6]",
		"%w = constant() {value = 1} : f32[4,3,1,1]; %r = conv2d(%x, %w)"},
	{PLUS, NONE, "[2,1,6,6]",
		"%w = constant() {value = 1} : f32[4,1,1,1]; %r = conv2d(%x, %w)"},
	/* windows, running sums, sums by number */
	{PLUS, NONE, "[2,3,6,6]", "%r = avg_pool(%x) {window = [2,2], stride = [2,2]}"},
	{PLUS, NONE, "[2,3,6,6]", "%r = max_pool(%x) {window = [2,2], stride = [2,2]}"},
	{PLUS, NONE, "[2,3,6,6]", "%r = max_pool(%x) {window = [1,1], stride = [1,1]}"},
	{PLUS, NONE, "[9]", "%r = window(%x) {dim = 0, size = 3, low = 1, high = 1} : f32[9]"},
	{PLUS, NONE, "[9]", "%r = window(%x) {dim = 0, size = 1} : f32[9]"},
	{PLUS, NONE, "[9]", "%r = cumsum(%x) {dim = 0}"},
	{PLUS, NONE, "[9,4]", "%r = cumsum(%x) {dim = 0}"},
	{PLUS, NONE, "[9,4]", "%r = cumsum(%x) {dim = 1, reverse = true}"},
	{PLUS, NONE, "[9,1]", "%r = cumsum(%x) {dim = 1}"},
	{PLUS, NONE, "[9,4]",
		"%i = input(\"i\") {range = 5} : i32[9]; %r = scatter_add(%x, %i) {size = 5}"},
	{PLUS, NONE, "[1,4]",
		"%i = input(\"i\") {range = 5} : i32[1]; %r = scatter_add(%x, %i) {size = 5}"},
	{PLUS, NONE, "[9,4]", "%k = iota() : i32[9]; %r = scatter_add(%x, %k) {size = 9}"},
	/* places: partial sums, possibly of a single place */
	{PLUS, COPY, "[6/dp,4]", "%s = sum(%x) {dims = [0]}; %r = allreduce(%s) {axis = dp}"},
	{PLUS, COPY, "[2/dp,4]", "%s = sum(%x) {dims = [0]}; %r = allreduce(%s) {axis = dp}"},
	{PLUS, COPY, "[6/dp,4]",
		"%s = sum(%x) {dims = [0]}; %n = neg(%s); %r = allreduce(%n) {axis = dp}"},
	{PLUS, COPY, "[6/dp,4]",
		"%s = sum(%x) {dims = [0]}; %n = neg(%s); "
		"%p = reducescatter(%n) {dim = 0, axis = dp}; %r = allgather(%p) {axis = dp}"},
	{PLUS, COPY, "[6/dp,4]",
		"%s = sum(%x) {dims = [0]}; %n = neg(%s); %h = convert(%n) {to = bf16}; "
		"%p = reduce(%h) {axis = dp, to = 1}; %r = replicate(%p) {axis = dp}"},
	{PLUS, TIME, "[6/mb,4]",
		"%s = sum(%x) {dims = [0]}; %n = neg(%s); %r = reduce(%n) {axis = mb}"},
	/* ops that move elements, and a sum of one place */
	{MINUS, COPY, "[6/dp,4]", "%r = allgather(%x) {axis = dp}"},
	{MINUS, COPY, "[6/dp,4]",
		"%a = alltoall(%x) {from = 0, to = 1, axis = dp}; %r = allgather(%a) {axis = dp}"},
	{MINUS, COPY, "[6/dp,4]",
		"%a = combine(%x) {axis = dp, to = 1}; %r = replicate(%a) {axis = dp}"},
	{MINUS, ALONE, "[6/dp,4]",
		"%s = sum(%x) {dims = [0]}; %n = neg(%s); %r = allreduce(%n) {axis = dp}"},
	{MINUS, TIME, "[6/mb,4]", "%r = combine(%x) {axis = mb}"},
	{MINUS, NONE, "[6,4]", "%r = transpose(%x)"},
	{MINUS, NONE, "[6,4]",
		"%i = input(\"i\") {range = 4} : i32[6]; %r = fuse(%x, %i) { %c = ceil(%x); "
		"%p = pick(%c, %i); yield(%p) }"},
	{PLUS, NONE, "[6,4]",
		"%i = input(\"i\") {range = 4} : i32[6]; %n = add(%i, %i); "
		"%f = constant() {value = 4} : i32[]; %j = add(%n, %f); "
		"%r = fuse(%x, %j) { %c = ceil(%x); %p = pick(%c, %j); yield(%p) }"},
	{MINUS, NONE, "[6,1]",
		"%i = input(\"i\") {range = 1} : i32[6]; %r = fuse(%x, %i) { %c = ceil(%x); "
		"%p = pick(%c, %i); yield(%p) }"},
	{MINUS, NONE, "[6,300]",
		"%i = input(\"i\") {range = 300} : i32[6]; "
		"%r = fuse(%x, %i) { %h = convert(%x) {to = bf16}; %c = ceil(%h); "
		"%p = pick(%c, %i); yield(%p) }"},
	{MINUS, NONE, "[6,3]", "%r = prod(%x) {dims = [1]}"},
	/* of equals the second one; the angle of a point depends on both signs */
	{PLUS, NONE, "[6,4]", "%a = abs(%x); %r = maximum(%x, %a)"},
	{MINUS, NONE, "[6,4]", "%a = abs(%x); %r = maximum(%a, %x)"},
	{PLUS, NONE, "[6,4]", "%a = abs(%x); %r = minimum(%x, %a)"},
	{MINUS, NONE, "[6,4]", "%a = abs(%x); %r = minimum(%a, %x)"},
	{PLUS, NONE, "[6,4]", "%r = relu(%x)"},
	{MINUS, NONE, "[6,4]", "%a = abs(%x); %r = atan2(%x, %a)"},
	{PLUS, NONE, "[6,4]", "%a = abs(%x); %r = atan2(%a, %a)"},
	{PLUS, NONE, "[6,4]",
		"%t = atan2(%x, %x); %p = constant() {value = -3.1415927410125732} : f32[]; "
		"%d = sub(%t, %p); %r = abs(%d)"},
};
/* clang-format on */
enum { CASES = sizeof cases / sizeof *cases };

static void
add(struct batch *b, const struct zero_case *c)
{
	char *body = talloc_strdup(b, c->body);

	for (char *at = body; (at = strchr(at, ';'));)
		*at = '\n';
	batch_add(b, c->body,
		talloc_asprintf(b,
			"module @t\n%sfunc @main() {\n%%g = input(\"g\") : f32%s\n"
			"%%o0 = constant() {value = 0} : f32[]\n%%a0 = abs(%%g)\n%%n0 = neg(%%a0)\n"
			"%%x = mul(%%n0, %%o0)\n%s\noutput(\"r\", %%r)\n}\n",
			c->mesh, c->shape, body));
}

/* Reports where a result is not a zero of that sign. Returns whether there is one. */
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
