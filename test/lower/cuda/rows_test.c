/*
 * Kernels that go over rows: softmax, a loss, norms and their gradients, sums, with rows of 1 to 50257
 * elements, aligned and not, of f32, bf16 and f16, compared with the interpreter; with all forms of
 * kernels, and without each of them.
 */
#define BATCH_REAL 3
#include "test/lower/cuda/batch.h"
#include "test/file.h"
#include "test/lower/program.h"

/* In the texts: @N elements of @R rows, @T their type, @k a number. */
static const struct shape {
	const char *what, *body;
} shapes[] = {
	{"softmax",
		"%x@k = input(\"x@k\") : @T[@R,@N]\n%r@k = fuse(%x@k) {\n%f = convert(%x@k) {to = f32}\n"
		"%m = max(%f) {dims = [1], keep = true}\n%d = sub(%f, %m)\n%e = exp(%d)\n"
		"%s = sum(%e) {dims = [1], keep = true}\n%y = div(%e, %s)\n"
		"%c = convert(%y) {to = @T}\nyield(%c)\n}\noutput(\"r@k\", %r@k)\n"},
	{"softmin in powers of two, weighted, masked",
		"%x@k = input(\"x@k\") : @T[@R,@N]\n%w@k = input(\"w@k\") : f32[@R,@N]\n"
		"%r@k, %s@k = fuse(%x@k, %w@k) {\n%f = convert(%x@k) {to = f32}\n"
		"%m = min(%f) {dims = [1], keep = true}\n%d = sub(%m, %f)\n%e = exp2(%d)\n"
		"%z = constant() {value = 0.0} : f32[]\n%g = gt(%w@k, %z)\n%h = select(%g, %e, %z)\n"
		"%p = mul(%h, %w@k)\n%s = sum(%p) {dims = [1], keep = true}\n"
		"%t = sum(%e) {dims = [1], keep = true}\nyield(%s, %t)\n}\n"
		"output(\"r@k\", %r@k)\noutput(\"s@k\", %s@k)\n"},
	{"softmax of what is rounded to 16 bits before the maximum is subtracted",
		"%x@k = input(\"x@k\") : @T[@R,@N]\n%r@k = fuse(%x@k) {\n%f = convert(%x@k) {to = f32}\n"
		"%c = constant() {value = 1000.0} : f32[]\n%g = add(%f, %c)\n"
		"%m = max(%g) {dims = [1], keep = true}\n%h = convert(%g) {to = bf16}\n"
		"%i = convert(%m) {to = bf16}\n%d = sub(%h, %i)\n%j = convert(%d) {to = f32}\n"
		"%e = exp(%j)\n%s = sum(%e) {dims = [1], keep = true}\nyield(%s)\n}\n"
		"output(\"r@k\", %r@k)\n"},
	{"loss and its gradient",
		"%x@k = input(\"x@k\") : @T[@R,@N]\n%i@k = input(\"i@k\") {range = @N} : i32[@R]\n"
		"%t@k, %u@k, %l@k = fuse(%x@k, %i@k) {\n%f = convert(%x@k) {to = f32}\n"
		"%m = max(%f) {dims = [1], keep = true}\n%d = sub(%f, %m)\n%e = exp(%d)\n"
		"%s = sum(%e) {dims = [1], keep = true}\n%l = log(%s)\n%p = sub(%d, %l)\n"
		"%q = pick(%p, %i@k)\n%n = neg(%q)\n%a = mean(%n)\nyield(%m, %s, %a)\n}\n"
		"%g@k = fuse(%x@k, %t@k, %u@k, %i@k) {\n%f = convert(%x@k) {to = f32}\n%d = sub(%f, %t@k)\n"
		"%e = exp(%d)\n%c = constant() {value = -0.25} : f32[@R]\n%p = put(%c, %i@k) {size = @N}\n"
		"%n = neg(%p)\n%s = sum(%n) {dims = [1], keep = true}\n%q = div(%s, %u@k)\n"
		"%b = broadcast(%q) {shape = [@R, @N]}\n%h = mul(%b, %e)\n%y = add(%p, %h)\n"
		"%z = convert(%y) {to = @T}\nyield(%z)\n}\n"
		"output(\"l@k\", %l@k)\noutput(\"g@k\", %g@k)\n"},
	{"layer norm of values near 10000",
		"%x@k = input(\"x@k\") : @T[@R,@N]\n%w@k = input(\"w@k\") : f32[@N]\n"
		"%r@k, %m@k, %v@k = fuse(%x@k, %w@k) {\n%f = convert(%x@k) {to = f32}\n"
		"%c = constant() {value = 10000.0} : f32[]\n%g = add(%f, %c)\n"
		"%m = mean(%g) {dims = [1], keep = true}\n%d = sub(%g, %m)\n%q = mul(%d, %d)\n"
		"%v = mean(%q) {dims = [1], keep = true}\n%t = constant() {value = 1e-2} : f32[]\n"
		"%a = add(%v, %t)\n%i = rsqrt(%a)\n%n = mul(%d, %i)\n%s = mul(%n, %w@k)\n"
		"%y = convert(%s) {to = @T}\nyield(%y, %m, %v)\n}\n"
		"output(\"r@k\", %r@k)\noutput(\"m@k\", %m@k)\noutput(\"v@k\", %v@k)\n"},
	{"gradient of a norm, with sums of columns",
		"%x@k = input(\"x@k\") : @T[@R,@N]\n%y@k = input(\"y@k\") : @T[@R,@N]\n"
		"%w@k = input(\"w@k\") : f32[@N]\n%r@k, %s@k, %t@k = fuse(%x@k, %y@k, %w@k) {\n"
		"%f = convert(%x@k) {to = f32}\n%h = convert(%y@k) {to = f32}\n"
		"%q = mul(%f, %f)\n%v = mean(%q) {dims = [1], keep = true}\n"
		"%e = constant() {value = 1.0} : f32[]\n%a = add(%v, %e)\n%i = rsqrt(%a)\n%n = mul(%f, %i)\n"
		"%b = sum(%h) {dims = [0]}\n%p = mul(%h, %n)\n%c = sum(%p) {dims = [0]}\n"
		"%g = mul(%h, %w@k)\n%j = mul(%g, %n)\n%k = mean(%j) {dims = [1], keep = true}\n"
		"%l = mul(%n, %k)\n%m = sub(%g, %l)\n%o = mul(%m, %i)\n%z = convert(%o) {to = @T}\n"
		"yield(%z, %b, %c)\n}\n"
		"output(\"r@k\", %r@k)\noutput(\"s@k\", %s@k)\noutput(\"t@k\", %t@k)\n"},
	{"sums of exponentials under a mask of minus infinity, which leaves nothing of the first row",
		"%x@k = input(\"x@k\") : @T[@R,@N]\n%r@k, %s@k = fuse(%x@k) {\n"
		"%f = convert(%x@k) {to = f32}\n%i = iota() {dim = 0} : i32[@R,@N]\n"
		"%one = constant() {value = 1} : i32[]\n%first = lt(%i, %one)\n"
		"%z = constant() {value = 0.0} : f32[]\n%p = gt(%f, %z)\n%g = or(%first, %p)\n"
		"%n = constant() {value = -inf} : f32[]\n%y = select(%g, %n, %f)\n"
		"%m = max(%y) {dims = [1], keep = true}\n%d = sub(%y, %m)\n%e = exp(%d)\n"
		"%s = sum(%e) {dims = [1], keep = true}\nyield(%m, %s)\n}\n"
		"output(\"r@k\", %r@k)\noutput(\"s@k\", %s@k)\n"},
	{"products that make a row of logits and read its gradient",
		"%h@k = input(\"h@k\") : @T[@R,8]\n%w@k = input(\"w@k\") : @T[@N,8]\n"
		"%z@k = contract(%h@k, %w@k) {spec = \"ac,bc->ab\"}\n%y@k, %s@k = fuse(%z@k) {\n"
		"%f = convert(%z@k) {to = f32}\n%m = max(%f) {dims = [1], keep = true}\n"
		"%d = sub(%f, %m)\n%e = exp(%d)\n%s = sum(%e) {dims = [1], keep = true}\n"
		"%p = div(%e, %s)\n%c = convert(%p) {to = @T}\nyield(%c, %s)\n}\n"
		"%t@k = reshape(%y@k) {shape = [1, @R, @N]}\n"
		"%g@k = contract(%t@k, %w@k) {spec = \"abc,cd->abd\"}\n"
		"%v@k = contract(%y@k, %h@k) {spec = \"ab,ac->bc\"}\n"
		"output(\"s@k\", %s@k)\noutput(\"g@k\", %g@k)\noutput(\"v@k\", %v@k)\n"},
	{"a product with a bias and a relu, read by another",
		"%h@k = input(\"h@k\") : @T[@R,8]\n%w@k = input(\"w@k\") : @T[8,@N]\n"
		"%b@k = input(\"b@k\") : @T[@N]\n%y@k = fuse(%h@k, %w@k, %b@k) {\n"
		"%z = matmul(%h@k, %w@k)\n%a = add(%z, %b@k)\n%r = relu(%a)\nyield(%r)\n}\n"
		"%g@k = contract(%y@k, %w@k) {spec = \"ab,cb->ac\"}\noutput(\"g@k\", %g@k)\n"},
	{"sums", "%x@k = input(\"x@k\") : @T[@R,@N]\n%r@k, %s@k, %t@k = fuse(%x@k) {\n"
		 "%a = max(%x@k) {dims = [1]}\n%b = sum(%x@k) {dims = [0]}\n%q = mul(%x@k, %x@k)\n"
		 "%c = sum(%q) {dims = [1]}\nyield(%a, %b, %c)\n}\n"
		 "output(\"r@k\", %r@k)\noutput(\"s@k\", %s@k)\noutput(\"t@k\", %t@k)\n"},
};

static const struct length {
	int elements, rows;
} lengths[] = {{1, 5}, {3, 5}, {31, 4}, {33, 5}, {40, 5}, {1025, 5}, {2048, 5}, {50257, 2}};

/* More rows than there are groups of lanes, also in the last block: one of these lengths has them in turn. */
enum { MANY_ROWS = 4301, MANY_FIRST = 3, MANY_LENGTHS = 2 };

/* What a second program of each shape and type is made without: each for three shapes or more. */
enum { FORMS = 8 };

static const char *const forms[FORMS] = {"without registers", "without vectors", "without pitch",
	"without rows", "without columns", "without online", "without joins", "without bundles"};

static const char *const types[] = {"f32", "bf16", "f16"};

static char *
filled(const void *owner, const char *text, const char *type, int k, int rows)
{
	char *out = talloc_strdup(owner, "");

	for (const char *at; (at = strchr(text, '@')) != NULL; text = at + 2) {
		out = talloc_asprintf_append(out, "%.*s", (int)(at - text), text);
		if (at[1] == 'T')
			out = talloc_asprintf_append(out, "%s", type);
		else
			out = talloc_asprintf_append(out, "%d",
				at[1] == 'N'   ? lengths[k].elements
				: at[1] == 'R' ? rows
					       : k);
	}
	return talloc_asprintf_append(out, "%s", text);
}

static void
add(struct batch *b, const struct shape *s, const char *type, const char *form, size_t turn)
{
	const int many = MANY_FIRST + (int)(turn % MANY_LENGTHS);
	char *text = talloc_strdup(b, "module @rows\nfunc @main() {\n");

	for (int k = 0; k < (int)(sizeof lengths / sizeof *lengths); k++)
		text = talloc_asprintf_append(text, "%s",
			filled(b, s->body, type, k, k == many ? MANY_ROWS : lengths[k].rows));
	batch_add(b, talloc_asprintf(b, "%s, %s, %s", s->what, type, form),
		talloc_asprintf_append(text, "}\n"));
}

static void
rows_of_every_length_are_as_interpreted(void **state)
{
	(void)state;
	struct batch *b = batch_create();
	const struct storage_target *all = lower_storage_target(BATCH_TARGET);
	struct storage_target without[FORMS];

	b->steps = 1;
	for (int f = 0; f < FORMS; f++)
		without[f] = *all;
	without[0].registers = without[1].vectors = without[2].pitch = false;
	without[3].rows = 0;
	without[4].threads = without[5].online = without[6].joins = false;
	without[7].bundles.members = 0;
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
		for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
			b->storage = all;
			add(b, &shapes[i], types[k], "all forms", i + k);
			const size_t f = (3 * i + k) % FORMS;
			b->storage = &without[f];
			add(b, &shapes[i], types[k], forms[f], i + k + 1);
		}
	batch_check(b, "-O1");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_of_every_length_are_as_interpreted)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
