/* Layouts in programs: every state and transition on device axes and on time axes, against the
 * interpreter by meaning. */
#include "test/lower/program.h"

struct text_case {
	const char *what, *text;
};

#define TWO "module @t\nmesh [dp = 2]\nfunc @main() {\n"
#define FOUR "module @t\nmesh [dp = 2, tp = 2]\nfunc @main() {\n"
#define TIME "module @t\nmesh [dp = 2]\nsteps [mb = 4]\nfunc @main() {\n"
#define X2 "%x = input(\"x\") : f32[8/dp,6]\n"
#define XC "%x = input(\"x\") : f32[8,6]\n"

static const struct text_case cases[] = {
	{"allgather of rows", TWO X2 "%g = allgather(%x) {axis = dp}\noutput(\"g\", %g)\n}\n"},
	{"a split output is put together", TWO X2 "%e = exp(%x)\noutput(\"e\", %e)\n}\n"},
	{"allgather of columns", TWO "%x = input(\"x\") : f32[4,3,6/dp]\n%g = allgather(%x) {axis "
				     "= dp}\n%e = exp(%g)\noutput(\"e\", %e)\n}\n"},
	{"allreduce, reducescatter, reduce and replicate", TWO X2
		"%w = input(\"w\") : f32[8/dp,6]\n%p = contract(%x, %w) {spec = \"bi,bj->ij\"}\n"
		"%a = allreduce(%p) {axis = dp}\n%s = reducescatter(%p) {dim = 1, axis = dp}\n%g = "
		"allgather(%s) {axis = dp}\n"
		"%r = reduce(%p) {axis = dp, to = 1}\n%e = exp(%r)\n%c = replicate(%e) {axis = "
		"dp}\n"
		"output(\"a\", %a)\noutput(\"g\", %g)\noutput(\"c\", %c)\noutput(\"e\", "
		"%e)\noutput(\"s\", %s)\n}\n"},
	{"scatter, gather and send",
		TWO "%x = input(\"x\") : f32[8,6]@dp=1\n%p = partition(%x) {dim = 1, axis = "
		    "dp}\n%e = exp(%p)\n"
		    "%c = combine(%e) {axis = dp, to = 0}\n%s = send(%c) {axis = dp, from = 0, to "
		    "= 1}\n%n = neg(%s)\n"
		    "output(\"n\", %n)\noutput(\"c\", %c)\noutput(\"e\", %e)\n}\n"},
	{"a slice of a copy", FOUR XC "%p = partition(%x) {dim = 1, axis = tp}\n%q = partition(%p) "
				      "{dim = 0, axis = dp}\n%e = exp(%q)\n"
				      "output(\"e\", %e)\n}\n"},
	{"alltoall both ways", FOUR "%x = input(\"x\") : f32[3,8/dp,2,4/tp,5]\n%a = alltoall(%x) "
				    "{from = 1, to = 3, axis = dp}\n"
				    "%b = alltoall(%a) {from = 3, to = 1, axis = dp}\n%c = add(%b, "
				    "%x)\n%d = exp(%a)\noutput(\"c\", %c)\noutput(\"d\", %d)\n}\n"},
	{"one dim split by two axes",
		FOUR "%x = input(\"x\") : f32[8/dp/tp,6]\n%i = iota() {dim = 0} : "
		     "f32[8/dp/tp,6]\n%a = add(%x, %i)\n"
		     "%g = allgather(%a) {axis = tp}\n%h = allgather(%g) {axis = "
		     "dp}\noutput(\"a\", %a)\noutput(\"h\", %h)\n}\n"},
	{"a sum that meets at two places",
		TWO "%x = input(\"x\") : f32[8,6]@dp=0\n%y = input(\"y\") : f32[8,6]@dp=1\n%z = "
		    "sub(%x, %y)\n"
		    "%a = allreduce(%z) {axis = dp}\noutput(\"a\", %a)\n}\n"},
	{"partial and single", TWO X2
		"%w = input(\"w\") : f32[6]@dp=1\n%p = sum(%x) {dims = [0]}\n%z = add(%p, %w)\n"
		"%a = allreduce(%z) {axis = dp}\noutput(\"a\", %a)\n}\n"},
	{"indices know their place",
		FOUR "%i = iota() {dim = 1} : f32[8/dp,6/tp]\n%u = uniform() {seed = 4} : "
		     "f32[8/dp,6/tp]\n"
		     "%n = normal() {seed = 4} : f32[8/dp,6/tp]\noutput(\"i\", %i)\noutput(\"u\", "
		     "%u)\noutput(\"n\", %n)\n}\n"},
	{"equal ops that start at different places",
		FOUR "%i = iota() {dim = 0} : f32[8/dp,6]\n%j = iota() {dim = 0} : "
		     "f32[8/tp,6]\noutput(\"i\", %i)\noutput(\"j\", %j)\n}\n"},
	{"random numbers know their place",
		FOUR "%n = state(\"n\") : i64[]\n%one = constant() {value = 1} : i64[]\n%next = "
		     "add(%n, %one)\n%x = input(\"x\") : f32[8/dp,6/tp]\n"
		     "%u = random_uniform(\"u\", %n, %x)\n%v = random_normal(\"v\", %n, %x)\n"
		     "%b = random_bits(\"b\", %n, %x)\n%y = call @dropout(%x) {rate = 0.5, as = "
		     "\"d\"}\nupdate(%n, %next)\noutput(\"u\", %u)\noutput(\"v\", "
		     "%v)\noutput(\"b\", %b)\noutput(\"y\", %y)\n}\n"},
	{"random numbers at one place and of a micro-batch",
		TIME "%n = state(\"n\") : i64[]\n%x = input(\"x\") : f32[16/dp/mb,6]\n%w = "
		     "input(\"w\") : f32[6]@dp=1\n%u = random_uniform(\"u\", %n, %x)\n%v = "
		     "random_normal(\"v\", %n, %w)\n%c = combine(%u) {axis = mb}\n"
		     "output(\"c\", %c)\noutput(\"v\", %v)\n}\n"},
	{"a table split by rows",
		FOUR "%t = param(\"t\") {init = \"normal\"} : f32[12/tp,4]\n%i = input(\"i\") "
		     "{range = 12} : i32[8/dp]\n"
		     "%g = gather(%t, %i)\n%a = allreduce(%g) {axis = tp}\n%u = scatter_add(%a, "
		     "%i) {size = 12} : f32[12/tp,4]+dp\n"
		     "%r = allreduce(%u) {axis = dp}\n%o = one_hot(%i) {size = 12, to = f32} : "
		     "f32[8/dp,12/tp]\n%w = mul(%o, %o)\n"
		     "output(\"a\", %a)\noutput(\"r\", %r)\noutput(\"w\", %w)\n}\n"},
	{"picking from split rows",
		FOUR "%x = input(\"x\") : f32[8/dp,6/tp]\n%i = input(\"i\") {range = 6} : "
		     "i32[8/dp]\n%p = pick(%x, %i)\n"
		     "%a = allreduce(%p) {axis = tp}\n%q = put(%a, %i) {size = 6} : "
		     "f32[8/dp,6/tp]\noutput(\"a\", %a)\noutput(\"q\", %q)\n}\n"},
	{"rows in order where another dim is split", FOUR
		"%x = input(\"x\") : f32[8/dp,7,6/tp]\n%v, %p = sort(%x) {dim = 1}\n%t, %q = "
		"topk(%v) {k = 2, dim = 1}\n%g = allgather(%x) {axis = tp}\n%w, %r = topk(%g) {k "
		"= 3}\n%e = gather_nd(%g, %r) {batch = 1}\noutput(\"v\", %v)\noutput(\"p\", "
		"%p)\noutput(\"t\", %t)\noutput(\"q\", %q)\noutput(\"r\", %r)\noutput(\"e\", "
		"%e)\n}\n"},
	{"running sums, of a split dim and beside one",
		FOUR "%x = input(\"x\") : f32[8/dp,6/tp]\n%y = cumsum(%x) {dim = 1}\n%a = "
		     "allreduce(%y) {axis = tp}\n%z = cumsum(%x) {exclusive = true, reverse = "
		     "true}\n%b = allreduce(%z) {axis = dp}\n%w = cumsum(%a) {dim = 1, exclusive "
		     "= true}\noutput(\"a\", %a)\noutput(\"b\", %b)\noutput(\"w\", %w)\n}\n"},
	{"positions alone, at one place",
		TWO "%x = input(\"x\") : f32[4,9]@dp=1\n%v, %p = sort(%x) {descending = true}\n"
		    "output(\"p\", %p)\n}\n"},
	{"matrix products by columns and rows",
		FOUR "%x = input(\"x\") : f32[8/dp,6]\n%w1 = param(\"w1\") {init = \"he\"} : "
		     "f32[6,10/tp]\n"
		     "%w2 = param(\"w2\") {init = \"he\", seed = 1} : f32[10/tp,4]\n%h = "
		     "matmul(%x, %w1)\n%a = relu(%h)\n%p = matmul(%a, %w2)\n"
		     "%y = allreduce(%p) {axis = tp}\n%g = contract(%h, %y) {spec = "
		     "\"bh,bo->ho\"}\n%r = allreduce(%g) {axis = dp}\n"
		     "%n = sub(%w2, %r)\nupdate(%w2, %n)\noutput(\"y\", %y)\n}\n"},
	{"several operands, one message",
		TWO X2 "%y = input(\"y\") : f32[4/dp,3]\n%g, %h = allgather(%x, %y) {axis = "
		       "dp}\n%e = exp(%h)\n"
		       "%s = sum(%x)\n%t = sum(%y) {dims = [0]}\n%a, %b = allreduce(%s, %t) {axis "
		       "= dp}\noutput(\"g\", %g)\noutput(\"e\", %e)\n"
		       "output(\"a\", %a)\noutput(\"b\", %b)\n}\n"},
	{"params in slices (ZeRO)",
		TWO X2 "%w = param(\"w\") {init = \"normal\"} : f32[6/dp,4]\n%m = state(\"m\") "
		       "{init = \"ones\"} : f32[6/dp,4]\n"
		       "%f = allgather(%w) {axis = dp}\n%h = matmul(%x, %f)\n%g = contract(%x, %h) "
		       "{spec = \"bi,bj->ij\"}\n"
		       "%s = reducescatter(%g) {dim = 0, axis = dp}\n%m2 = add(%m, %s)\n%half = "
		       "constant() {value = 0.01} : f32[]\n"
		       "%d = mul(%m2, %half)\n%n = sub(%w, %d)\nupdate(%m, %m2)\nupdate(%w, "
		       "%n)\n%l = sum(%h)\n%a = allreduce(%l) {axis = dp}\n"
		       "output(\"l\", %a)\n}\n"},
	{"a product at one place",
		TWO "%x = input(\"x\") : f32[8,6]@dp=1\n%w = param(\"w\") {init = \"normal\"} : "
		    "f32[6,4]@dp=1\n"
		    "%h = matmul(%x, %w)\n%g = contract(%x, %h) {spec = \"bi,bj->ij\"}\n%n = "
		    "sub(%w, %g)\nupdate(%w, %n)\n"
		    "%s = sum(%h)\n%r = replicate(%s) {axis = dp}\noutput(\"r\", %r)\n}\n"},
	{"params exchange their values",
		TWO "%p = param(\"p\") {init = \"normal\"} : f32[6]\n%q = param(\"q\") {init = "
		    "\"normal\", seed = 1} : f32[6]\n"
		    "%c = state(\"c\") : f32[6]\n%n = add(%p, %q)\nupdate(%p, %q)\nupdate(%q, "
		    "%p)\nupdate(%c, %n)\noutput(\"p\", %p)\noutput(\"n\", %n)\n}\n"},
	{"one new value for two params",
		TWO "%p = param(\"p\") {init = \"normal\"} : f32[6]\n%q = param(\"q\") {init = "
		    "\"normal\", seed = 1} : f32[6]\n"
		    "%n = add(%p, %q)\nupdate(%p, %n)\nupdate(%q, %n)\n%old = "
		    "exp(%p)\noutput(\"p\", %p)\noutput(\"old\", %old)\n}\n"},
	{"a constant becomes a param's value", TWO
		"%p = param(\"p\") {init = \"normal\"} : f32[6/dp]\n%one = constant() {value = 1} "
		": f32[6/dp]\n"
		"update(%p, %one)\n%e = exp(%p)\noutput(\"e\", %e)\noutput(\"one\", %one)\n}\n"},
	{"a transposed param is not written in place",
		TWO "%p = param(\"p\") {init = \"normal\"} : f32[6,6]\n%t = transpose(%p)\n%n = "
		    "add(%p, %t)\n"
		    "%u = transpose(%n)\n%m = add(%u, %p)\nupdate(%p, %m)\n%q = param(\"q\") {init "
		    "= \"normal\"} : f32[4,4]\n"
		    "%r = transpose(%q)\nupdate(%q, %r)\n}\n"},

	{"as many axes as the language has",
		"module @t\nmesh [a = 2, b = 1, c = 1, d = 1, e = 1, f = 1, g = 1, h = 1, i = "
		"2]\nsteps [t = 1, "
		"u = 1, v = 1, w = 1, x = 1, y = 1, z = 2]\nfunc @main() {\n"
		"%x = input(\"x\") : f32[8/i/a/z,6/b]\n%s = sum(%x) {dims = [0]}\n%r = reduce(%s) "
		"{axis = z}\n"
		"%p = allreduce(%r) {axis = i}\n%q = reduce(%p) {axis = a, to = 1}\n"
		"%o = allgather(%q) {axis = b}\noutput(\"o\", %o)\n}\n"},

	/* Time axes. */
	{"a slice at a time", TIME "%x = input(\"x\") : f32[16/dp/mb,6]\n%e = exp(%x)\n%c = "
				   "combine(%e) {axis = mb}\noutput(\"c\", %c)\n}\n"},
	{"gradient accumulation",
		TIME "%x = input(\"x\") : f32[16/dp/mb,6]\n%w = param(\"w\") {init = \"normal\"} : "
		     "f32[6,4]\n%h = matmul(%x, %w)\n"
		     "%a = tanh(%h)\n%g = contract(%x, %a) {spec = \"bi,bj->ij\"}\n%l = "
		     "sum(%a)\n%gs = reduce(%g) {axis = mb}\n%ls = reduce(%l) {axis = mb}\n"
		     "%gr, %lr = allreduce(%gs, %ls) {axis = dp}\n%k = constant() {value = 0.01} : "
		     "f32[]\n%d = mul(%gr, %k)\n%n = sub(%w, %d)\nupdate(%w, %n)\n"
		     "output(\"l\", %lr)\n}\n"},
	{"reduced over devices at every slice",
		TIME "%x = input(\"x\") : f32[16/dp/mb,6]\n%s = sum(%x) {dims = [0]}\n%a = "
		     "allreduce(%s) {axis = dp}\n"
		     "%r = reduce(%a) {axis = mb}\n%q = contract(%x, %x) {spec = "
		     "\"bi,bj->ij\"}\n%f = reducescatter(%q) {dim = 1, axis = dp}\n"
		     "%h = reduce(%f) {axis = mb}\noutput(\"r\", %r)\noutput(\"h\", %h)\n}\n"},
	{"collectives of values with slots",
		TIME "%x = input(\"x\") : f32[8/dp,16/mb]\n%g = allgather(%x) {axis = dp}\n%s = "
		     "sum(%g) {dims = [1]}\n"
		     "%t = reduce(%s) {axis = mb}\n%u = replicate(%t) {axis = mb}\n%v = "
		     "contract(%g, %u) {spec = \"bj,b->j\"}\n"
		     "%w = combine(%v) {axis = mb}\noutput(\"w\", %w)\n}\n"},
	{"take and put slices of a whole",
		TIME XC "%t = transpose(%x)\n%p = partition(%t) {dim = 1, axis = mb}\n%e = "
			"exp(%p)\n%c = combine(%e) {axis = mb}\n"
			"%n = neg(%c)\noutput(\"n\", %n)\n}\n"},
	{"results of a loop go into the next",
		TIME "%x = input(\"x\") : f32[16/mb,6]\n%e = exp(%x)\n%s = sum(%e) {dims = "
		     "[0]}\n%t = reduce(%s) {axis = mb}\n"
		     "%u = replicate(%t) {axis = mb}\n%d = div(%e, %u)\n%c = combine(%d) {axis = "
		     "mb}\n%v = sum(%d) {dims = [1]}\n%w = combine(%v) {axis = mb}\n"
		     "output(\"c\", %c)\noutput(\"w\", %w)\n}\n"},
	{"ops between the slices that are none",
		TIME "%x = input(\"x\") : f32[16/mb,6]\n%w = param(\"w\") {init = \"normal\"} : "
		     "f32[6,4]\n%e = exp(%x)\n"
		     "%wt = neg(%w)\n%h = matmul(%e, %wt)\n%s = sum(%h)\n%t = reduce(%s) {axis = "
		     "mb}\n%u = exp(%t)\n%v = sum(%e)\n%y = reduce(%v) {axis = mb}\n"
		     "output(\"u\", %u)\noutput(\"y\", %y)\n}\n"},
	{"indices know their slice", TIME "%i = iota() {dim = 0} : f32[16/dp/mb,3]\n%u = uniform() "
					  "{seed = 2} : f32[16/dp/mb,3]\n%a = add(%i, %u)\n"
					  "%c = combine(%a) {axis = mb}\noutput(\"c\", %c)\n}\n"},
	{"allgather and allreduce in time", TIME
		"%x = input(\"x\") : f32[16/mb,6]\n%k = input(\"k\") : f32[4,8/mb]\n%s = sum(%x) "
		"{dims = [0]}\n%t = sum(%k)\n"
		"%a, %b = allreduce(%s, %t) {axis = mb}\n%g, %h = allgather(%x, %k) {axis = "
		"mb}\n%e = exp(%g)\n%m = mul(%a, %b)\n"
		"%f = mul(%x, %a)\n%c = combine(%f) {axis = mb}\n"
		"output(\"e\", %e)\noutput(\"m\", %m)\noutput(\"h\", %h)\noutput(\"c\", %c)\n}\n"},
	{"two time axes", "module @t\nmesh [dp = 2]\nsteps [mb = 2, t = 3]\nfunc @main() {\n%x = "
			  "input(\"x\") : f32[4/dp/mb,6/t]\n%e = exp(%x)\n"
			  "%s = sum(%e) {dims = [1]}\n%r = reduce(%s) {axis = t}\n%f = exp(%r)\n%g "
			  "= sum(%f)\n%h = reduce(%g) {axis = mb}\n%a = allreduce(%h) {axis = dp}\n"
			  "%c = combine(%e) {axis = t}\n%c2 = combine(%c) {axis = "
			  "mb}\noutput(\"a\", %a)\noutput(\"c\", %c2)\n}\n"},
	{"the last iteration does what is done once",
		"module @t\nmesh [dp = 2]\nsteps [mb = 4] {peel = true}\nfunc @main() {\n"
		"%x = input(\"x\") : f32[16/dp/mb,6]\n%w = param(\"w\") {init = \"he\"} : f32[6,6]\n"
		"%h = matmul(%x, %w)\n%g = contract(%x, %h) {spec = \"bi,bj->ij\"}\n"
		"%r = reduce(%g) {axis = mb}\n%a = allreduce(%r) {axis = dp}\n"
		"%y = matmul(%h, %w)\n%n = sub(%w, %a)\nupdate(%w, %n)\n%e = exp(%y)\n"
		"%c = combine(%e) {axis = mb}\n%s = sum(%e) {dims = [0]}\n"
		"%t = reduce(%s) {axis = mb}\n%b = allreduce(%t) {axis = dp}\n"
		"%R = replicate(%b) {axis = mb}\n%z = mul(%y, %R)\n%q = sum(%z)\n"
		"%u = reduce(%q) {axis = mb}\n%v = allreduce(%u) {axis = dp}\n"
		"output(\"c\", %c)\noutput(\"n\", %n)\noutput(\"b\", %b)\noutput(\"v\", %v)\n}\n"},
	{"sums in time of narrow floats and integers",
		TIME "%x = input(\"x\") : f32[16/mb,6]\n%b = convert(%x) {to = bf16}\n%k = "
		     "input(\"k\") {range = 9} : i32[16/mb]\n"
		     "%s = sum(%b)\n%r = reduce(%s) {axis = mb}\n%i = sum(%k)\n%j = reduce(%i) "
		     "{axis = mb}\noutput(\"r\", %r)\noutput(\"j\", %j)\n}\n"},
	{"a message in another loop than what it sends a view of",
		TIME "%x = input(\"x\") : f32[8/mb,6]@dp=0\n%s = sum(%x) {dims = [0]}\n"
		     "%c = combine(%x) {axis = mb}\n%d = replicate(%c) {axis = mb}\n"
		     "%e = partition(%d) {dim = 0, axis = mb}\n"
		     "%v = send(%s) {axis = dp, from = 0, to = 0}\n"
		     "%h = send(%v) {axis = dp, from = 0, to = 1}\n"
		     "%f = combine(%e) {axis = mb}\n%g = replicate(%f) {axis = mb}\n"
		     "%i = partition(%g) {dim = 0, axis = mb}\n%t = sum(%i) {dims = [0]}\n"
		     "%r = reduce(%h) {axis = mb}\n%q = reduce(%t) {axis = mb}\n"
		     "output(\"r\", %r)\noutput(\"q\", %q)\n}\n"},
	{"an output before an op that would take its memory",
		TWO X2 "%s = sum(%x) {dims = [0]}\n%r = reduce(%s) {axis = dp, to = 1}\n"
		       "output(\"r\", %r)\n%a = replicate(%r) {axis = dp}\n%n = neg(%a)\n"
		       "output(\"n\", %n)\n}\n"},
};

static void
programs_are_as_interpreted(void **state)
{
	(void)state;
	struct batch *b = batch_create();
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		batch_add(b, cases[i].what, cases[i].text);
	batch_check(b, "-O1");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(programs_are_as_interpreted)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
