/*
 * Every shape of kernels of the cuda target, at sizes that make it choose that shape, compared with
 * the interpreter. The text of a case's kernels must contain `kernels`, so that a change of a limit
 * in lower/cuda/text.h does not leave a shape untested.
 */
#include "test/lower/cuda/batch.h"
#include "test/file.h"
#include "test/lower/program.h"

struct kernel_case {
	int outputs; /* of r, s, t */
	const char *what, *body;
	const char *kernels; /* words that kernels.cu must contain, separated by "|" */
};

#define SOFTMAX(shape)                                                                             \
	"%x = input(\"x\") : f32" shape                                                            \
	"\n%r = fuse(%x) {\n%m = max(%x) {dims = [1], keep = true}\n%d = sub(%x, %m)\n"            \
	"%e = exp(%d)\n%s = sum(%e) {dims = [1], keep = true}\n%y = div(%e, %s)\nyield(%y)\n}\n"

static const struct kernel_case cases[] = {
	{1, "column sums in chunks",
		"%x = input(\"x\") : f32[5000,40]\n%r = sum(%x) {dims = [0]}\n",
		"part1|#pragma unroll 8|_1,"},
	{2, "column sums in chunks, a product inside",
		"%x = input(\"x\") : f32[3001,40]\n%y = input(\"y\") : f32[3001,40]\n%r, %s = "
		"fuse(%x, %y) {\n%p = mul(%x, %y)\n"
		"%s = sum(%p) {dims = [0]}\n%t = sum(%x) {dims = [0]}\nyield(%s, %t)\n}\n",
		"part3|part4"},
	{2, "a sum of everything",
		"%x = input(\"x\") : f32[3000,70]\n%r = sum(%x)\n%y = convert(%x) {to = f64}\n%s = "
		"mean(%y)\n",
		"block_sum<256>|part1|warp_sum"},
	{2, "long rows",
		"%x = input(\"x\") : f32[7,9001]\n%r = max(%x) {dims = [1]}\n%s = min(%x) {dims = "
		"[1], keep = true}\n",
		"block_max<256>|block_min<256>|part1"},
	{1, "many short rows", "%x = input(\"x\") : f32[2000,48]\n%r = sum(%x) {dims = [1]}\n",
		"warp_sum"},
	{1, "rows of three", "%x = input(\"x\") : f32[900,3]\n%r = sum(%x) {dims = [1]}\n",
		"at += 1"},
	{2, "a sum in the middle",
		"%x = input(\"x\") : f32[20,300,50]\n%r = sum(%x) {dims = [1]}\n%s = max(%x) {dims "
		"= [0,2]}\n",
		"part1"},
	{3, "sums both ways in one stage",
		"%x = input(\"x\") : f32[130,70]\n%r, %s, %t = fuse(%x) {\n%q = mul(%x, %x)\n%a = "
		"sum(%q) {dims = [0]}\n"
		"%b = sum(%q) {dims = [1]}\nyield(%a, %b, %q)\n}\n",
		"if (blockIdx.x < |} else {"},
	{1, "softmax, a warp a row", SOFTMAX("[1100,33]"), "warp_max|vec<float, 1> q0[2]"},
	{1, "softmax, a block a row", SOFTMAX("[3,1100]"), "block_sum<256>|vec<float, 4> q0[2]"},
	{1, "softmax, a large block a row", SOFTMAX("[3,5000]"),
		"block_sum<1024>|vec<float, 4> q0[2]"},
	{1, "softmax, rows in scratch", SOFTMAX("[3,40000]"), "block_sum<1024>|rows0 + group"},
	{2, "a layer's norm and its columns, groups with several rows",
		"%x = input(\"x\") : f32[1300,1030]\n%g = input(\"g\") : f32[1030]\n%r, %s = "
		"fuse(%x, %g) {\n"
		"%m = mean(%x) {dims = [1], keep = true}\n%d = sub(%x, %m)\n%q = mul(%d, %d)\n%v = "
		"mean(%q) {dims = [1], keep = true}\n"
		"%h = constant() {value = 1e-5} : f32[]\n%w = add(%v, %h)\n%i = rsqrt(%w)\n%n = "
		"mul(%d, %i)\n%y = mul(%n, %g)\n"
		"%c = sum(%n) {dims = [0]}\nyield(%y, %c)\n}\n",
		"outer += 1056|part"},
	{2, "columns of a softmax, warps with several rows",
		"%x = input(\"x\") : f32[5000,10]\n%r, %s = fuse(%x) {\n%m = max(%x) {dims = [1], "
		"keep = true}\n%d = sub(%x, %m)\n"
		"%e = exp(%d)\n%s = sum(%e) {dims = [1], keep = true}\n%y = div(%e, %s)\n%c = "
		"sum(%y) {dims = [0]}\n%l = sum(%m)\nyield(%c, %l)\n}\n",
		"outer += 4224|part"},
	{2, "outer loops of which some stay",
		"%x = input(\"x\") : f32[6,50,33]\n%r, %s = fuse(%x) {\n%m = max(%x) {dims = [2], "
		"keep = true}\n%d = sub(%x, %m)\n"
		"%e = exp(%d)\n%s = sum(%e) {dims = [2], keep = true}\n%y = div(%e, %s)\n%c = "
		"sum(%y) {dims = [1]}\nyield(%y, %c)\n}\n",
		"part"},
	{3, "two kinds of sums in a stage",
		"%x = input(\"x\") : f32[5,40,36]\n%r, %s, %t = fuse(%x) {\n%m = mean(%x) {dims = "
		"[1,2], keep = true}\n%d = sub(%x, %m)\n"
		"%q = mul(%d, %d)\n%a = sum(%q) {dims = [1]}\n%b = max(%q) {dims = [2]}\nyield(%a, "
		"%b, %q)\n}\n",
		"q += "},
	{1, "rows that few lanes sum",
		"%x = input(\"x\") : f32[9,4,200]\n%r = fuse(%x) {\n%m = mean(%x) {dims = [1,2], "
		"keep = true}\n%d = sub(%x, %m)\n"
		"%a = sum(%d) {dims = [2], keep = true}\n%b = mul(%d, %a)\nyield(%b)\n}\n",
		"__syncthreads"},
	{1, "rows by number, many of them equal",
		"%u = input(\"u\") : f32[3000,20]\n%i = input(\"i\") {range = 50} : i32[3000]\n%r "
		"= scatter_add(%u, %i) {size = 45}\n",
		"scatter_sort<256, 1024>|scatter_merge|scatter_chunk<16, false>|scatter_chunk<16, "
		"true>"},
	{1, "rows by number, two indices",
		"%u = input(\"u\") : f32[30,40,5]\n%i = input(\"i\") {range = 60} : i64[30,40]\n%r "
		"= scatter_add(%u, %i) {size = 60}\n",
		"scatter_merge|scatter_chunk"},
	{2, "thousands of narrow ones by number",
		"%u = constant() {value = 1} : bf16[3000,2]\n%v = constant() {value = 1} : "
		"bf16[2,3000]\n%i = input(\"i\") {range = 3} : i32[3000]\n%j = input(\"j\") {range "
		"= 3} : i32[2,3000]\n%r = scatter_add(%u, %i) {size = 3}\n%s = scatter_nd(%v, %j) "
		"{batch = 1, sizes = [3]}\n",
		"rt_f32_to_bf16(sum)|= to / 3;"},
	{1, "hundreds of narrow ones, walked by a thread each",
		"%v = constant() {value = 1} : bf16[2,256]\n%j = input(\"j\") {range = 2} : "
		"i32[2,256]\n%r = scatter_nd(%v, %j) {batch = 1, sizes = [2]}\n",
		"sum = f2[at]"},
	{3, "narrow columns, a thread each, in chunks",
		"%v = constant() {value = 1} : bf16[3000,200]\n%r = sum(%v) {dims = [0]}\n"
		"%x = input(\"x\") : f16[3000,200]\n%s, %t = fuse(%x) {\n%a = exp(%x)\n%b = sum(%a) {dims = [0]}\n"
		"yield(%a, %b)\n}\n",
		"unit % 200, chunk = unit / 200|at += 1)|[at * (uint64_t)200"},
	{3, "numbers of rows",
		"%t = input(\"t\") : f32[500,64]\n%i = input(\"i\") {range = 600} : i32[9,70]\n%r "
		"= gather(%t, %i)\n%s = one_hot(%i) {size = 600, to = f32}\n",
		"p0"},
	{1, "16 bytes of f32",
		"%x = input(\"x\") : f32[300,64]\n%y = input(\"y\") : f32[64]\n%r = add(%x, %y)\n",
		"vec<float, 4>|vec_store"},
	{2, "16 bytes of f64, none of an odd row",
		"%x = input(\"x\") : f64[30,64]\n%y = input(\"y\") : f64[30,33]\n%r = exp(%x)\n%s "
		"= exp(%y)\n",
		"vec<double, 2>"},
	{2, "16 bytes of narrow floats, bool beside f32",
		"%x = input(\"x\") : f32[30,64]\n%y = convert(%x) {to = bf16}\n%r = mul(%y, "
		"%y)\n%y32 = convert(%y) {to = f32}\n%z = gt(%x, %y32)\n%s = select(%z, %x, "
		"%y32)\n",
		"vec<uint16_t, 8>|vec<uint8_t, 4>"},
	{2, "one number a row beside rows",
		"%x = input(\"x\") : f32[40,64]\n%v = input(\"v\") : f32[40,1]\n%r, %s = fuse(%x, "
		"%v) {\n%a = exp(%v)\n%b = mul(%x, %a)\nyield(%a, %b)\n}\n",
		"if (i1 == 0)"},
	{1, "a number a row in place",
		"%x = input(\"x\") : f32[40,64]\n%w = param(\"w\") {init = \"normal\"} : "
		"f32[40,1]\n%a, %r = fuse(%w, %x) {\n%a = exp(%w)\n%b = mul(%x, %a)\nyield(%a, "
		"%b)\n}\n"
		"update(%w, %a)\n",
		"_1,"},
	{3, "16 bytes of smaller results beside larger ones",
		"%x = input(\"x\") : f32[8,8]\n%v = input(\"v\") : f32[8,1,1]\n"
		"%w = input(\"w\") : f32[8,8,1,1]\n%r, %s, %t = fuse(%x, %v, %w) {\n"
		"%e = exp(%v)\n%a = add(%x, %e)\n%b = add(%x, %w)\n%c = neg(%x)\n"
		"yield(%a, %b, %c)\n}\n",
		"if (i3 == 0 && i4 == 0) {\n\t\t\tvec_store"},
	{1, "rows in place",
		"%w = param(\"w\") {init = \"normal\"} : f32[70,300]\n%v = param(\"v\") {init = "
		"\"ones\"} : f32[70,1]\n%a, %b = fuse(%w, %v) {\n"
		"%m = mean(%w) {dims = [1], keep = true}\n%d = mul(%m, %v)\n%b = add(%d, %v)\n%y = "
		"mul(%w, %b)\nyield(%y, %b)\n}\nupdate(%v, %b)\n%r = neg(%a)\n",
		"__sync"},
	{3, "integers",
		"%k = input(\"k\") {range = 100} : i32[3000,5]\n%r = sum(%k)\n%l = convert(%k) {to "
		"= i64}\n%s = max(%l) {dims = [0]}\n%b = convert(%k) {to = i8}\n%t = min(%b) {dims "
		"= [0]}\n",
		"block_sum<256>|int64_t"},
	{3, "tiles",
		"%x = input(\"x\") : f32[70,50]\n%y = input(\"y\") : f32[50,70]\n"
		"%r, %s = fuse(%x, %y) {\n%z = transpose(%x)\n%a = add(%z, %y)\n%b = mul(%a, %z)\n"
		"yield(%a, %b)\n}\n%u = input(\"u\") : f64[3,40,5,33]\n"
		"%t = transpose(%u) {perm = [0,3,2,1]}\n",
		"tile0[u][threadIdx.x % 32]|double tile0[32][33]|__syncthreads"},
	{3, "running sums, a warp, a block and a large block a row",
		"%x = input(\"x\") : f32[1100,300]\n%r = cumsum(%x) {dim = 1}\n%y = "
		"input(\"y\") : f64[3,2500]\n%s = cumsum(%y) {dim = 1, reverse = true}\n"
		"%z = input(\"z\") : f32[30000]\n%t = cumsum(%z) {exclusive = true}\n",
		"scan<32>|scan<256>|scan<1024>"},
	{1, "running sums, a thread a row",
		"%x = input(\"x\") : f32[2,5,17000]\n%r = cumsum(%x) {dim = 1}\n", "at++"},
	{2, "transposes",
		"%x = input(\"x\") : f32[70,50]\n%r = transpose(%x)\n%y = input(\"y\") : "
		"f32[5,6,7,8]\n%s = transpose(%y) {perm = [2,0,3,1]}\n",
		"i0"},
	{3, "positions",
		"%r = iota() {dim = 1} : i64[20,300]\n%u = uniform() {seed = 2} : f32[20,300]\n%n "
		"= normal() {seed = 2} : f64[77]\n%s = add(%u, %u)\n%t = neg(%n)\n",
		"M_uniform|M_normal"},
	{3, "products",
		"%a = input(\"a\") : f32[9,21]\n%b = input(\"b\") : f32[21,13]\n%r = matmul(%a, "
		"%b)\n%s = contract(%a, %b) {spec = \"ik,kj->ji\"}\n"
		"%c = input(\"c\") : f64[4,5,6]\n%t = contract(%c, %c) {spec = "
		"\"bij,bkj->bik\"}\n%u = contract(%c, %c) {spec = \"bij,bkj->ik\"}\noutput(\"u\", "
		"%u)\n",
		""},
	{3, "sums of products in parts: of all, of two steps each, of a group",
		"%a = input(\"a\") : f32[6,9,5]\n%b = input(\"b\") : f32[6,7,5]\n"
		"%r = contract(%a, %b) {spec = \"bij,bkj->ik\"}\n"
		"%v = input(\"v\") : bf16[530,3,5]\n%w = input(\"w\") : bf16[530,4,5]\n"
		"%s = contract(%v, %w) {spec = \"bij,bkj->ik\"}\n"
		"%c = input(\"c\") : f16[3,2,8,9,5]\n%d = input(\"d\") : f16[3,2,8,7,5]\n"
		"%t = contract(%c, %d) {spec = \"agbij,agbkj->gik\"}\n",
		"part < 6;|part < 265;|part < 8;"},
	{3, "a product with bias and relu",
		"%a = input(\"a\") : f32[9,21]\n%b = input(\"b\") : f32[21,13]\n%v = input(\"v\") "
		": f32[13]\n%r = fuse(%a, %b, %v) {\n"
		"%p = matmul(%a, %b)\n%q = add(%p, %v)\n%z = relu(%q)\nyield(%z)\n}\n%s = fuse(%a, "
		"%b, %v) {\n%p = matmul(%a, %b)\n%q = add(%v, %p)\nyield(%q)\n}\n"
		"%t = fuse(%a, %b) {\n%p = matmul(%a, %b)\n%z = relu(%p)\nyield(%z)\n}\n",
		""},
	{2, "a product and more than an epilogue",
		"%a = input(\"a\") : f32[9,21]\n%b = input(\"b\") : f32[21,13]\n%v = input(\"v\") "
		": f32[9,1]\n%r, %s = fuse(%a, %b, %v) {\n"
		"%p = matmul(%a, %b)\n%q = add(%p, %v)\n%z = relu(%q)\n%e = exp(%z)\nyield(%e, "
		"%z)\n}\n",
		"m"},
	{1, "two products in one kernel",
		"%a = input(\"a\") : f32[90,21]\n%b = input(\"b\") : f32[21,21]\n%r = fuse(%a, %b) "
		"{\n%p = matmul(%a, %b)\n%q = tanh(%p)\n"
		"%z = matmul(%q, %b)\n%m = max(%z) {dims = [1], keep = true}\n%d = sub(%z, "
		"%m)\nyield(%d)\n}\n",
		"m"},
	{3, "several products: a maximum that is read before it is complete, and one that is not",
		"%q = input(\"q\") : f32[2,70,5]\n%k = input(\"k\") : f32[2,130,5]\n%v = input(\"v\") "
		": f32[2,130,67]\n%b = input(\"b\") : f32[2,130,1]\n"
		"%r, %s = fuse(%q, %k, %v) {\n%s = contract(%q, %k) {spec = \"btd,bsd->bts\"}\n"
		"%m = max(%s) {dims = [2], keep = true}\n%d = sub(%s, %m)\n%a = add(%d, %d)\n%z = exp(%a)\n"
		"%t = sum(%z) {dims = [2], keep = true}\n%one = constant() {value = 1.0} : f32[]\n"
		"%x = add(%d, %one)\n%h = relu(%x)\n%i = div(%one, %t)\n%p = mul(%h, %i)\n"
		"%y = contract(%p, %v) {spec = \"bts,bsd->btd\"}\nyield(%y, %i)\n}\n"
		"%t = fuse(%q, %k, %v, %b) {\n%s = contract(%k, %q) {spec = \"bsd,btd->bst\"}\n"
		"%h = add(%s, %b)\n%m = min(%h) {dims = [1], keep = true}\n%d = sub(%m, %h)\n%e = exp(%d)\n"
		"%y = contract(%e, %v) {spec = \"bst,bsd->btd\"}\nyield(%y)\n}\n",
		"typedef tile_tf32 tile|typedef tile_fma tile|dev_scaled|now"},
	{2, "several products in bf16 and f16: tensor cores; a factor of a running sum",
		"%q = input(\"q\") : bf16[70,24]\n%k = input(\"k\") : bf16[90,24]\n%v = input(\"v\") "
		": bf16[90,72]\n%r = fuse(%q, %k, %v) {\n%s = contract(%q, %k) {spec = \"td,sd->ts\"}\n"
		"%f = convert(%s) {to = f32}\n%m = max(%f) {dims = [1], keep = true}\n%d = sub(%f, %m)\n"
		"%e = exp(%d)\n%t = sum(%e) {dims = [1], keep = true}\n%p = div(%e, %t)\n%c = convert(%p) {to = bf16}\n"
		"%y = matmul(%c, %v)\nyield(%y)\n}\n"
		"%g = input(\"g\") : f16[70,9]\n%h = input(\"h\") : f16[65,9]\n%s = fuse(%g, %h) {\n"
		"%s = contract(%g, %h) {spec = \"td,sd->ts\"}\n%i = iota() {dim = 0} : i32[70,65]\n"
		"%j = iota() {dim = 1} : i32[70,65]\n%c = lt(%i, %j)\n%never = constant() {value = -1000.0} : f16[]\n"
		"%x = select(%c, %never, %s)\n%m = max(%x) {dims = [1], keep = true}\n%d = sub(%x, %m)\n%e = exp(%d)\n"
		"%y = matmul(%e, %h)\nyield(%y)\n}\n",
		"typedef tile_tensor tile|tile_bf16, true, true|tile_f16, false, false|__syncthreads_or"},
	{2, "several products under a mask of minus infinity, which leaves nothing of some rows, and of the first tile",
		"%q = input(\"q\") : f32[90,5]\n%k = input(\"k\") : f32[150,5]\n%r, %s = fuse(%q, %k) {\n"
		"%s = contract(%q, %k) {spec = \"td,sd->ts\"}\n%i = iota() {dim = 0} : i32[90,150]\n"
		"%j = iota() {dim = 1} : i32[90,150]\n%n = constant() {value = -70} : i32[]\n%h = add(%j, %n)\n"
		"%c = lt(%h, %i)\n%b = constant() {value = 3} : i32[]\n%f = gt(%i, %b)\n%g = and(%c, %f)\n"
		"%l = constant() {value = 66} : i32[]\n%o = gt(%j, %l)\n%w = and(%g, %o)\n"
		"%never = constant() {value = -inf} : f32[]\n%x = select(%w, %s, %never)\n"
		"%m = max(%x) {dims = [1], keep = true}\n%d = sub(%x, %m)\n%e = exp(%d)\n"
		"%t = sum(%e) {dims = [1], keep = true}\n%p = div(%e, %t)\n%y = matmul(%p, %k)\nyield(%y, %t)\n}\n",
		"const bool seen|dev_scaled"},
	{1, "a sum over a batch of what has rows and columns",
		"%q = input(\"q\") : f32[3,70,5]\n%k = input(\"k\") : f32[3,130,5]\n%r = fuse(%q, %k) {\n"
		"%s = contract(%q, %k) {spec = \"btd,bsd->bts\"}\n%e = tanh(%s)\n%y = sum(%e) {dims = [0]}\n"
		"yield(%y)\n}\n",
		"column0 = (int)(unit|sum"},
	{2, "constants and nothing else",
		"%r = constant() {value = 3.5} : f32[100]\n%x = input(\"x\") : f32[1]\n%s = "
		"neg(%x)\n",
		""},
	{2, "loops of two results that share some: a kernel each",
		"%a = input(\"a\") : f32[7,1,1]\n%b = input(\"b\") : f32[5,3,1,1]\n%r, %s = fuse(%a, %b) {\n"
		"%i = iota() {dim = 0} : f32[6,10]\n%j = iota() {dim = 1} : f32[6,10]\n%d = sub(%i, %j)\n"
		"%p = add(%d, %a)\n%q = add(%d, %b)\nyield(%p, %q)\n}\n",
		"at < 105|at < 225"},
	{2, "comparisons with one outcome",
		"%z = constant() {value = 0} : u8[100]\n%x = input(\"x\") {range = 4} : u8[100]\n%r = le(%z, "
		"%x)\n%f = constant() {value = 0} : bool[100]\n%b = input(\"b\") : bool[100]\n%s = le(%f, %b)\n",
		""},
};

static char *
text_of(const void *owner, const struct kernel_case *c)
{
	static const char *const name[] = {"r", "s", "t"};
	char *text = talloc_asprintf(owner, "module @kernels\nfunc @main() {\n%s", c->body);

	for (int i = 0; i < c->outputs; i++)
		text = talloc_asprintf_append(text, "output(\"%s\", %%%s)\n", name[i], name[i]);
	return talloc_strdup_append(text, "}\n");
}

/* Do the kernels of program i have the shape of the case? */
static void
check_shape(const struct batch *b, int i, const struct kernel_case *c)
{
	const char *path = talloc_asprintf(b, "%s/p%d.src/kernels.cu", b->folder, i);
	const char *text = read_file(b, path, NULL);
	char *words = talloc_strdup(b, c->kernels), *rest = NULL;
	assert_non_null(text);

	for (char *word = strtok_r(words, "|", &rest); word; word = strtok_r(NULL, "|", &rest))
		if (!strstr(text, word))
			fail_msg("%s: there is no '%s' in\n%s", c->what, word, text);
}

static void
kernels_of_every_shape_are_as_interpreted(void **state)
{
	(void)state;
	struct batch *b = batch_create();
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		batch_add(b, cases[i].what, text_of(b, &cases[i]));
		check_shape(b, (int)i, &cases[i]);
	}
	batch_check(b, "-O1");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernels_of_every_shape_are_as_interpreted)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
