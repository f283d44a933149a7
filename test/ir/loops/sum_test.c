/*
 * Long sums of floats, by loops of every kind: the error of a sum of n positive numbers is no more
 * than (block + log2(n / block)) units of 2^-24, whatever n. What is right is a closed form, and
 * the interpreter, which adds doubles. A sum in one float is off by some percent at these sizes.
 */
#include "test/lower/program.h"

#include "ir/loops/scheme.h"

struct sum_case {
	const char *what, *body; /* what is called r and s is put out */
	int64_t n;               /* summands of an element, all of them positive */
	double element;          /* each element of r; 0: only the interpreter tells */
};

/* What 0.1 is in f32, and in bf16. */
#define TENTH ((double)0.1f)
#define HALF_TENTH 0.10009765625

static const struct sum_case cases[] = {
	{"all of one dim", "%x = constant() {value = 0.1} : f32[1000003]\n%r = sum(%x)\n", 1000003,
		1000003 * TENTH},
	{"a block and one more", "%x = constant() {value = 0.1} : f32[2049]\n%r = sum(%x)\n", 2049,
		2049 * TENTH},
	{"a block", "%x = constant() {value = 0.1} : f32[2048]\n%r = sum(%x)\n", 2048,
		2048 * TENTH},
	{"a mean", "%x = constant() {value = 0.1} : f32[1000003]\n%r = mean(%x)\n", 1000003, TENTH},
	{"columns", "%x = constant() {value = 0.1} : f32[300007,3]\n%r = sum(%x) {dims = [0]}\n",
		300007, 300007 * TENTH},
	{"a mean of columns",
		"%x = constant() {value = 0.1} : f32[300007,3]\n%r = mean(%x) {dims = [0]}\n",
		300007, TENTH},
	{"rows", "%x = constant() {value = 0.1} : f32[3,300007]\n%r = sum(%x) {dims = [1]}\n",
		300007, 300007 * TENTH},
	{"a dim in the middle",
		"%x = constant() {value = 0.1} : f32[3,100003,2]\n%r = sum(%x) {dims = [1]}\n",
		100003, 100003 * TENTH},
	{"an outer and an inner dim",
		"%x = constant() {value = 0.1} : f32[50021,2,5]\n%r = sum(%x) {dims = [0,2]}\n",
		50021 * 5, 50021 * 5 * TENTH},
	{"blocks of whole rows",
		"%x = constant() {value = 0.1} : f32[500,3,700]\n%t = transpose(%x) {perm = "
		"[1,0,2]}\n%r = sum(%t) {dims = [1,2]}\n",
		500 * 700, 500 * 700 * TENTH},
	{"numbers that differ",
		"%x = uniform() {seed = 5} : f32[77777]\n%r = sum(%x)\n%y = uniform() {seed = 6} : "
		"f32[20011,5]\n%s = sum(%y) {dims = [0]}\n",
		77777, 0},
	{"a product of two, which is no matrix product",
		"%x = constant() {value = 0.1} : f32[1000003]\n%y = uniform() {seed = 7} : "
		"f32[1000003]\n%r = contract(%x, %y) {spec = \"i,i->\"}\n",
		1000003, 0},
	{"of 64 bits", "%x = constant() {value = 0.1} : f64[100003]\n%r = sum(%x)\n", 100003,
		100003 * 0.1},
	{"two ways in one kernel",
		"%x = uniform() {seed = 8} : f32[30011,4]\n%r, %s = fuse(%x) {\n%q = sqrt(%x)\n%a "
		"= sum(%q) {dims = [0]}\n%b = sum(%q)\nyield(%a, %b)\n}\n",
		30011 * 4, 0},
	{"rows of a kernel of several stages",
		"%x = uniform() {seed = 9} : f32[3,40009]\n%r, %s = fuse(%x) {\n%a = sum(%x) {dims "
		"= [1], keep = true}\n%d = div(%x, %a)\n%e = mul(%d, %x)\n%b = sum(%e) {dims = "
		"[1]}\nyield(%a, %b)\n}\n",
		40009, 0},
	{"columns of each row of a kernel of several stages",
		"%x = uniform() {seed = 10} : f32[2,20011,5]\n%r, %s = fuse(%x) {\n%a = sum(%x) "
		"{dims = [1], keep = true}\n%d = div(%x, %a)\n%e = mul(%d, %x)\n%b = sum(%e) {dims "
		"= [1]}\nyield(%a, %b)\n}\n",
		20011, 0},
	{"rows and the columns of all of them",
		"%x = uniform() {seed = 11} : f32[20011,40]\n%r, %s = fuse(%x) {\n%a = sum(%x) "
		"{dims = [1], keep = true}\n%d = div(%x, %a)\n%b = sum(%d) {dims = [0]}\nyield(%a, "
		"%b)\n}\n",
		20011, 0},
	{"a window",
		"%x = constant() {value = 0.1} : f32[9000]\n%r = window(%x) {dim = 0, size = 8000, "
		"low = 2000, high = 500} : f32[3501]\n",
		8000, 0},
	{"running sums", "%x = constant() {value = 0.1} : f32[300007]\n%r = cumsum(%x) {dim = 0}\n",
		300007, 0},
	{"columns of few rows",
		"%x = constant() {value = 0.1} : f32[2000,3]\n%r = sum(%x) {dims = [0]}\n", 2000,
		2000 * TENTH},
	{"places",
		"%x = constant() {value = 0.1} : f32[600014/dp]\n%p = sum(%x)\n%r = allreduce(%p) "
		"{axis = dp}\n",
		600014, 600014 * TENTH},
};
enum { CASES = sizeof cases / sizeof *cases };

/* What outer loops add up one after another, in memory: the bound is closer. */
static const struct sum_case in_memory[] = {
	{"the sum of what each row makes",
		"%x = constant() {value = 0.1} : f32[1024,40]\n%r = fuse(%x) {\n%a = max(%x) {dims "
		"= [1]}\n%b = sum(%a)\nyield(%b)\n}\n",
		1024, 1024 * TENTH},
	{"the mean of what each row makes",
		"%x = constant() {value = 0.1} : f32[2048,40]\n%r = fuse(%x) {\n%a = max(%x) {dims "
		"= [1]}\n%n = neg(%a)\n%m = neg(%n)\n%b = mean(%m)\nyield(%b)\n}\n",
		2048, TENTH},
};
enum { IN_MEMORY = sizeof in_memory / sizeof *in_memory };

/* Sums of 16 bits are rounded once, by up to 2^-8 of their size. */
static const struct sum_case narrow[] = {
	{"all, bf16", "%x = constant() {value = 0.1} : bf16[400009]\n%r = sum(%x)\n", 400009,
		400009 * HALF_TENTH},
	{"columns, bf16",
		"%x = constant() {value = 0.1} : bf16[100003,3]\n%r = sum(%x) {dims = [0]}\n",
		100003, 100003 * HALF_TENTH},
	{"a mean, bf16", "%x = constant() {value = 0.1} : bf16[400009]\n%r = mean(%x)\n", 400009,
		HALF_TENTH},
	{"a mean of columns, bf16",
		"%x = constant() {value = 0.1} : bf16[100003,3]\n%r = mean(%x) {dims = [0]}\n",
		100003, HALF_TENTH},
	{"a mean, f16",
		"%x = constant() {value = 0.1} : f32[50021]\n%h = convert(%x) {to = f16}\n%w = "
		"convert(%h) {to = f32}\n%m = mean(%w)\n%r = convert(%m) {to = f16}\n",
		50021, 0.1},
};
enum { NARROW = sizeof narrow / sizeof *narrow };

/*
 * Sums of products over dims of which some are no one range in memory: a library that takes the others
 * adds to its result again and again. b x 32, h 4, d 5: summands of an element as the spec has it. Every
 * spec in every type; those of 16 bits are rounded once.
 */
static const struct product {
	const char *spec, *x, *y;
	int64_t n;
} products[] = {
	{"bch,boh->co", "256,32,4", "256,16,4", 256 * 4},
	{"bhc,bho->co", "256,4,32", "256,4,16", 256 * 4},
	{"hbc,bho->co", "4,256,32", "256,4,16", 256 * 4},
	{"bch,bh->c", "256,32,4", "256,4", 256 * 4},
	{"abch,aboh->aco", "2,256,8,4", "2,256,6,4", 256 * 4},
	{"bach,abho->aco", "256,2,8,4", "2,256,4,6", 256 * 4},
	{"bdch,dboh->co", "64,5,8,4", "5,64,6,4", 64 * 5 * 4},
	{"km,kn->mn", "4096,3", "4096,5", 4096},
};
enum { PRODUCTS = sizeof products / sizeof *products };
static const char *const product_type[] = {"f32", "f16", "bf16"};
enum { PRODUCT_TYPES = sizeof product_type / sizeof *product_type };

static double
bound(const struct sum_case *c, double block, enum ir_dtype t)
{
	const double more = (double)c->n / block;
	const double units = block + (more > 1 ? log2(more) : 0);
	return ldexp(units, -24) + (t == IR_bf16 || t == IR_f16 ? ldexp(1, -8) : 0);
}

static void
add(struct batch *b, const struct sum_case *c)
{
	const bool two = strstr(c->body, "%s ");
	batch_add(b, c->what,
		talloc_asprintf(b, "module @t\n%sfunc @main() {\n%soutput(\"r\", %%r)\n%s}\n",
			strstr(c->body, "/dp") ? "mesh [dp = 2]\n" : "", c->body,
			two ? "output(\"s\", %s)\n" : ""));
}

/* Output `name` of the program against the interpreter and, where it is known, a number. Returns
 * how many are wrong, and says which. */
static int
check_output(const struct sum_case *c, double block, const struct rt_st_file *f,
	const struct interp *it, const char *name)
{
	const struct tensor *want = interp_output(it, name);
	const struct rt_st_tensor *have = rt_st_find(f, name);
	int wrong = 0;
	if (!want)
		return 0;
	assert_non_null(have);
	const double most = bound(c, block, want->dtype);
	for (int64_t i = 0; i < tensor_elements(want); i++) {
		const double is = element(have, want->dtype, i), ought = want->data[i].f;
		if (fabs(is - ought) <= most * ought &&
			(c->element == 0 || fabs(is - c->element) <= most * c->element))
			continue;
		print_error("%s: %s[%lld] is %.9g, by the interpreter %.9g, by hand %.9g\n",
			c->what, name, (long long)i, is, ought, c->element);
		wrong++;
	}
	return wrong;
}

static void
check_all(const struct sum_case *list, int n, double block)
{
	struct batch *b = batch_create();
	int wrong = 0;
	b->steps = 1;
	for (int i = 0; i < n; i++)
		add(b, &list[i]);
	assert_true(batch_try_build(b, "-O1"));
	for (int i = 0; i < n; i++) {
		const struct interp_options o = {.mode = INTERP_LAYOUT};
		char *dump = talloc_asprintf(b, "%s/dump%d", b->folder, i),
		     *save = talloc_asprintf(b, "%s/save%d", b->folder, i);
		struct interp *it = interp_create(b, b->program[i].m, &o);
		struct rt_status st = {0};
		struct rt_st_file file;
		assert_true(it && interp_step(it, 0));
		assert_int_equal(run_program(b, i, dump, save), 0);
		assert_true(rt_st_open(&file, dump, &st));
		wrong += check_output(&list[i], block, &file, it, "r");
		wrong += check_output(&list[i], block, &file, it, "s");
		rt_st_close(&file);
	}
	batch_end(b);
	assert_int_equal(wrong, 0);
}

static void
sums_do_not_drift(void **state)
{
	(void)state;
	check_all(cases, CASES, SCHEME_SUM_BLOCK);
}

static void
nor_do_those_of_outer_loops(void **state)
{
	(void)state;
	check_all(in_memory, IN_MEMORY,
		BATCH_TARGET == LOWER_HOST ? SCHEME_SUM_BLOCK / SCHEME_SUM_LANES
					   : SCHEME_SUM_BLOCK);
}

static void
nor_do_those_of_16_bits(void **state)
{
	(void)state;
	check_all(narrow, NARROW, SCHEME_SUM_BLOCK);
}

/* Numbers that differ, and a constant one, of which a sum is known. */
static void
nor_do_those_of_products(void **state)
{
	struct sum_case c[2 * PRODUCTS * PRODUCT_TYPES];
	int n = 0;

	for (int i = 0; i < PRODUCTS; i++)
		for (int k = 0; k < PRODUCT_TYPES; k++) {
			const struct product *p = &products[i];
			const char *t = product_type[k];
			const char *head = talloc_asprintf(*state,
				"%%u = uniform() {seed = %d} : f32[%s]\n%%v = uniform() {seed = 7} : "
				"f32[%s]\n%%x = convert(%%u) {to = %s}\n%%y = convert(%%v) {to = %s}\n",
				i, p->x, p->y, t, t);
			c[n++] = (struct sum_case){p->spec,
				talloc_asprintf(*state,
					"%s%%r = contract(%%x, %%y) {spec = \"%s\"}\n", head,
					p->spec),
				p->n, 0};
			c[n++] = (struct sum_case){p->spec,
				talloc_asprintf(*state,
					"%%x = constant() {value = 0.25} : %s[%s]\n%%y = constant() {value "
					"= 0.40625} : %s[%s]\n%%r = contract(%%x, %%y) {spec = \"%s\"}\n",
					t, p->x, t, p->y, p->spec),
				p->n, (double)p->n * 0.25 * 0.40625};
		}
	check_all(c, n, SCHEME_SUM_BLOCK);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(sums_do_not_drift),
		cmocka_unit_test(nor_do_those_of_outer_loops),
		cmocka_unit_test(nor_do_those_of_16_bits),
		cmocka_unit_test_setup_teardown(
			nor_do_those_of_products, make_scratch, free_scratch)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
