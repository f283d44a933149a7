/*
 * Fused kernels against the interpreter: bodies for every branch of the scheme, at -O3 as programs
 * have them. That a body gets the scheme meant for it is in fuse.dir.
 */
#include "test/lower/program.h"

struct text_case {
	const char *what, *text;
};

#define ONE "module @t\nfunc @main() {\n"
#define TWO "module @t\nmesh [dp = 2]\nfunc @main() {\n"
#define ROWS "%x = input(\"x\") : f32[37,50]\n"
#define PARAMS                                                                                     \
	"%w = param(\"w\") {init = \"normal\"} : f32[50,24]\n%c = param(\"c\") {init = "           \
	"\"normal\", seed = 1} : f32[24]\n"

static const struct text_case
	cases
		[] =
			{
				{"pointwise chain", ONE ROWS
					"%y = input(\"y\") : f32[50]\n%r = fuse(%x, %y) {\n%a = add(%x, %y)\n%b = "
					"relu(%a)\n%c = mul(%b, %b)\nyield(%c)\n}\noutput(\"r\", %r)\n}\n"},
				{"softmax", ONE ROWS
					"%r = fuse(%x) {\n%m = max(%x) {dims = [1], keep = true}\n%d = "
					"sub(%x, %m)\n%e = exp(%d)\n"
					"%s = sum(%e) {dims = [1], keep = true}\n%y = div(%e, "
					"%s)\nyield(%y)\n}\noutput(\"r\", %r)\n}\n"},
				{"softmax over the first dim", ONE ROWS
					"%r = fuse(%x) {\n%m = max(%x) {dims = [0]}\n%d = sub(%x, %m)\n%e = exp(%d)\n"
					"%s = sum(%e) {dims = [0]}\n%y = div(%e, %s)\nyield(%y)\n}\noutput(\"r\", "
					"%r)\n}\n"},
				{"log softmax and its pick, two results", ONE ROWS
					"%i = input(\"i\") {range = 50} : i32[37]\n%r, %q = fuse(%x, %i) {\n"
					"%m = max(%x) {dims = [1], keep = true}\n%d = sub(%x, %m)\n%e = "
					"exp(%d)\n%s = sum(%e) {dims = [1], keep = true}\n%l = log(%s)\n"
					"%y = sub(%d, %l)\n%p = pick(%y, %i)\n%t = sum(%p)\nyield(%t, "
					"%y)\n}\noutput(\"r\", %r)\noutput(\"q\", %q)\n}\n"},
				{"layer norm", ONE ROWS
					"%g = param(\"g\") {init = \"ones\"} : f32[50]\n%r, %v = fuse(%x, %g) "
					"{\n%m = mean(%x) {dims = [1], keep = true}\n%d = sub(%x, %m)\n"
					"%q = mul(%d, %d)\n%v = mean(%q) {dims = [1], keep = true}\n%t = "
					"constant() {value = 1e-5} : f32[]\n%u = add(%v, %t)\n%s = rsqrt(%u)\n"
					"%n = mul(%d, %s)\n%y = mul(%n, %g)\nyield(%y, %s)\n}\noutput(\"r\", "
					"%r)\noutput(\"v\", %v)\n}\n"},
				{"batch norm", ONE ROWS
					"%r = fuse(%x) {\n%m = mean(%x) {dims = [0]}\n%d = sub(%x, %m)\n%q = "
					"mul(%d, %d)\n%v = mean(%q) {dims = [0]}\n"
					"%t = constant() {value = 1e-5} : f32[]\n%u = add(%v, %t)\n%s = "
					"rsqrt(%u)\n%n = mul(%d, %s)\nyield(%n)\n}\noutput(\"r\", %r)\n}\n"},
				{"columns summed while rows are made", ONE ROWS
					"%y = input(\"y\") : f32[37,50]\n%r, %s, %t, %u = fuse(%x, %y) {\n%p = gt(%x, "
					"%y)\n%z = constant() {value = 0} : f32[]\n"
					"%g = select(%p, %x, %z)\n%s = sum(%g) {dims = [0]}\n%t = sum(%g) {dims = [1]}\n%u "
					"= sum(%g)\nyield(%g, %s, %t, %u)\n}\n"
					"output(\"r\", %r)\noutput(\"s\", %s)\noutput(\"t\", %t)\noutput(\"u\", %u)\n}\n"},
				{"a sum that goes back into what it is of", ONE ROWS
					"%r, %n = fuse(%x) {\n%q = mul(%x, %x)\n%s = sum(%q)\n%l = sqrt(%s)\n%y = "
					"div(%x, %l)\nyield(%y, %l)\n}\n"
					"output(\"r\", %r)\noutput(\"n\", %n)\n}\n"},
				{"a product and what follows", ONE ROWS PARAMS
					"%r = fuse(%x, %w, %c) {\n%p = matmul(%x, %w)\n%q = add(%p, "
					"%c)\n%h = relu(%q)\nyield(%h)\n}\noutput(\"r\", %r)\n}\n"},
				{"a product by blocks of rows", ONE
					"%x = input(\"x\") : f32[300,16]\n%w = param(\"w\") {init = \"normal\"} : "
					"f32[16,1024]\n%c = param(\"c\") {init = \"normal\"} : f32[1024]\n"
					"%r, %m = fuse(%x, %w, %c) {\n%p = matmul(%x, %w)\n%q = add(%p, %c)\n%h = "
					"gelu(%q)\n%m = max(%q) {dims = [1]}\nyield(%h, %m)\n}\n"
					"output(\"r\", %r)\noutput(\"m\", %m)\n}\n"},
				{"running sums of a product that would go by blocks", ONE
					"%x = input(\"x\") : f32[300,16]\n%w = param(\"w\") {init = \"normal\"} : "
					"f32[16,1024]\n%r = fuse(%x, %w) {\n%p = matmul(%x, %w)\n%s = "
					"cumsum(%p)\nyield(%s)\n}\noutput(\"r\", %r)\n}\n"},
				{"running sums behind windows and before a row's sum", ONE
					"%x = input(\"x\") : f32[2,3,9,8]\n%r, %s, %m = fuse(%x) {\n%p = avg_pool(%x) "
					"{window = [3,3], low = [1,1], high = [1,1]}\n%q = cumsum(%p) {dim = 2, "
					"exclusive = true}\n%e = exp(%q)\n%s = sum(%e) {dims = [3]}\n%z = "
					"cumsum(%e) {dim = -1, reverse = true}\nyield(%z, %s, %q)\n}\n"
					"output(\"r\", %r)\noutput(\"s\", %s)\noutput(\"m\", %m)\n}\n"},
				{"a product by blocks that is kept", ONE
					"%x = input(\"x\") : f32[16,300]\n%w = param(\"w\") {init = \"normal\"} : "
					"f32[16,1024]\n"
					"%r, %p, %s = fuse(%x, %w) {\n%xt = transpose(%x)\n%p = contract(%x, %w) {spec = "
					"\"kb,kn->bn\"}\n%h = gelu(%p)\n%s = sum(%h) {dims = [0]}\nyield(%h, %p, %s)\n}\n"
					"output(\"r\", %r)\noutput(\"p\", %p)\noutput(\"s\", %s)\n}\n"},
				{"a product of what was made before", ONE ROWS PARAMS
					"%r = fuse(%x, %w) {\n%a = tanh(%x)\n%p = matmul(%a, %w)\n%e = "
					"exp(%p)\n%s = sum(%e) {dims = [1], keep = true}\n"
					"%y = div(%e, %s)\nyield(%y)\n}\noutput(\"r\", %r)\n}\n"},
				{"two products", ONE ROWS PARAMS
					"%v = param(\"v\") {init = \"normal\"} : f32[24,9]\n%r, %h = fuse(%x, %w, %c, %v) "
					"{\n%p = matmul(%x, %w)\n%q = add(%p, %c)\n%h = relu(%q)\n"
					"%z = matmul(%h, %v)\n%y = tanh(%z)\nyield(%y, %h)\n}\noutput(\"r\", "
					"%r)\noutput(\"h\", %h)\n}\n"},
				{"attention", ONE
					"%q = input(\"q\") : f32[2,9,4,8]\n%k = input(\"k\") : f32[2,9,4,8]\n%v "
					"= input(\"v\") : f32[2,9,4,8]\n%r = fuse(%q, %k, %v) {\n"
					"%s = contract(%q, %k) {spec = \"bshd,bthd->bhst\"}\n%c = constant() "
					"{value = 0.35} : f32[]\n%t = mul(%s, %c)\n%m = max(%t) {dims = [3], "
					"keep = true}\n%d = sub(%t, %m)\n"
					"%e = exp(%d)\n%u = sum(%e) {dims = [3], keep = true}\n%p = div(%e, "
					"%u)\n%o = contract(%p, %v) {spec = "
					"\"bhst,bthd->bshd\"}\nyield(%o)\n}\noutput(\"r\", %r)\n}\n"},
				{"a value and its transpose", ONE
					"%x = input(\"x\") : f32[20,20]\n%r = fuse(%x) {\n%e = exp(%x)\n%t = "
					"transpose(%e)\n%y = add(%e, %t)\n%z = transpose(%x)\n%w = mul(%y, %z)\n"
					"%v = add(%w, %x)\nyield(%v)\n}\noutput(\"r\", %r)\n}\n"},
				{"transposes in tiles", ONE
					"%x = input(\"x\") : f32[40,70]\n%y = input(\"y\") : f32[70,40]\n%z = "
					"input(\"z\") : f32[3,33,70]\n%r = transpose(%x)\n%s = fuse(%x, %y) {\n%t = "
					"transpose(%x)\n%e = exp(%t)\n"
					"%a = add(%e, %y)\nyield(%a)\n}\n%t = transpose(%z) {perm = [0,2,1]}\n%u = "
					"transpose(%z) {perm = [2,1,0]}\noutput(\"r\", %r)\noutput(\"s\", "
					"%s)\noutput(\"t\", %t)\noutput(\"u\", %u)\n}\n"},
				{"reshapes inside", ONE
					"%x = input(\"x\") : f32[20,24]\n%r, %s, %a = fuse(%x) {\n%a = reshape(%x) "
					"{shape = [20,4,6]}\n%e = exp(%a)\n%m = sum(%e) {dims = [2]}\n"
					"%b = reshape(%m) {shape = [80]}\n%c = neg(%b)\n%d = reshape(%c) {shape = "
					"[8,10]}\nyield(%c, %d, %a)\n}\noutput(\"r\", %r)\noutput(\"s\", "
					"%s)\noutput(\"a\", %a)\n}\n"},
				{"rows made once, used in all columns", ONE ROWS
					"%y = input(\"y\") : f32[50]\n%r = fuse(%x, %y) {\n%a = exp(%y)\n%b = "
					"tanh(%a)\n%c = add(%x, %b)\n%d = mul(%c, %a)\n%s = sum(%d) {dims = [1]}\n"
					"yield(%s)\n}\noutput(\"r\", %r)\n}\n"},
				{"scalars and vectors of different lengths", ONE
					"%x = input(\"x\") : f32[30]\n%y = input(\"y\") : f32[40]\n%r, %s, %t = "
					"fuse(%x, %y) {\n%a = sum(%x)\n%b = sum(%y)\n%c = div(%a, %b)\n"
					"%d = mul(%x, %c)\n%e = mul(%y, %c)\nyield(%d, %e, %c)\n}\noutput(\"r\", "
					"%r)\noutput(\"s\", %s)\noutput(\"t\", %t)\n}\n"},
				{"Adam in place", TWO
					"%w = param(\"w\") {init = \"normal\"} : f32[16/dp,9]\n%m = state(\"m\") : "
					"f32[16/dp,9]\n%v = state(\"v\") : f32[16/dp,9]\n%t = state(\"t\") : f32[]\n"
					"%g = input(\"g\") : f32[16/dp,9]\n%w2, %m2, %v2, %t2 = fuse(%w, %m, %v, %t, "
					"%g) {\n%one = constant() {value = 1} : f32[]\n%t2 = add(%t, %one)\n%b1 = "
					"constant() {value = 0.9} : f32[]\n"
					"%b2 = constant() {value = 0.99} : f32[]\n%c1 = constant() {value = 0.1} : "
					"f32[]\n%c2 = constant() {value = 0.01} : f32[]\n%p1 = pow(%b1, %t2)\n%p2 = "
					"pow(%b2, %t2)\n%q1 = sub(%one, %p1)\n%q2 = sub(%one, %p2)\n"
					"%ma = mul(%m, %b1)\n%mb = mul(%g, %c1)\n%m2 = add(%ma, %mb)\n%gg = mul(%g, "
					"%g)\n%va = mul(%v, %b2)\n%vb = mul(%gg, %c2)\n%v2 = add(%va, %vb)\n%mh = "
					"div(%m2, %q1)\n%vh = div(%v2, %q2)\n"
					"%sv = sqrt(%vh)\n%e = constant() {value = 1e-6} : f32[]\n%se = add(%sv, "
					"%e)\n%st = div(%mh, %se)\n%sl = mul(%st, %c2)\n%w2 = sub(%w, %sl)\nyield(%w2, "
					"%m2, %v2, %t2)\n}\n"
					"update(%w, %w2)\nupdate(%m, %m2)\nupdate(%v, %v2)\nupdate(%t, %t2)\n}\n"},
				{"a param read again after its new value", ONE
					"%w = param(\"w\") {init = \"normal\"} : f32[12,12]\n%n, %o = fuse(%w) {\n%e = "
					"tanh(%w)\n%s = sum(%w) {dims = [0]}\n%o = add(%e, %s)\nyield(%e, %o)\n}\n"
					"update(%w, %n)\noutput(\"o\", %o)\n}\n"},
				{"a param summed and updated", ONE
					"%w = param(\"w\") {init = \"normal\"} : f32[12,40]\n%s, %t, %n = fuse(%w) {\n%s "
					"= sum(%w)\n%t = sum(%w) {dims = [0]}\n%n = add(%w, %w)\nyield(%s, %t, "
					"%n)\n}\nupdate(%w, %n)\noutput(\"s\", %s)\noutput(\"t\", %t)\n}\n"},
				{"rows of a param summed, its new value from the sum and not", ONE
					"%w = param(\"w\") {init = \"normal\"} : f32[12,40]\n%v = param(\"v\") {init = "
					"\"normal\", seed = 3} : f32[12,40]\n%s, %n, %o, %p = fuse(%w, %v) {\n%s = "
					"sum(%w) {dims = "
					"[1], keep = true}\n%n = add(%w, %w)\n%o = sub(%v, %s)\n%p = sum(%v) {dims = "
					"[0]}\nyield(%s, %n, "
					"%o, %p)\n}\nupdate(%w, %n)\nupdate(%v, %o)\noutput(\"s\", %s)\noutput(\"p\", "
					"%p)\n}\n"},
				{"rows by number", ONE
					"%t = param(\"t\") {init = \"normal\"} : f32[40,8]\n%i = input(\"i\") {range = "
					"40} : i32[6,5]\n%p = param(\"p\") {init = \"normal\"} : f32[5,8]\n%r = "
					"fuse(%t, %i, %p) {\n"
					"%g = gather(%t, %i)\n%a = add(%g, %p)\n%m = mean(%a) {dims = [2], keep = "
					"true}\n%d = sub(%a, %m)\nyield(%d)\n}\n%s = fuse(%i, %r) {\n%u = mul(%r, "
					"%r)\n%v = scatter_add(%u, %i) {size = 40}\n%w = neg(%v)\nyield(%w)\n}\n"
					"output(\"r\", %r)\noutput(\"s\", %s)\n}\n"},
				{"the gradient of cross entropy", TWO
					"%z = input(\"z\") : f32[16/dp,10]\n%y = input(\"y\") {range = 10} : "
					"i32[16/dp]\n%g, %b = fuse(%z, %y) {\n%m = max(%z) {dims = [1], keep = "
					"true}\n%d = sub(%z, %m)\n%e = exp(%d)\n"
					"%s = sum(%e) {dims = [1], keep = true}\n%p = div(%e, %s)\n%o = one_hot(%y) "
					"{size = 10, to = f32}\n%g = sub(%p, %o)\n%b = sum(%g) {dims = [0]}\nyield(%g, "
					"%b)\n}\n%r = allreduce(%b) {axis = dp}\n"
					"output(\"g\", %g)\noutput(\"r\", %r)\n}\n"},
				{"rows of logits that are longer than a row buffer", ONE
					"%x = input(\"x\") : bf16[3,4]\n%w = param(\"w\") {init = \"normal\"} : "
					"bf16[70000,4]\n%i = input(\"i\") {range = 70000} : i32[3]\n%e, %t, %r = fuse(%x, "
					"%w, %i) {\n%z = contract(%x, %w) {spec = \"bk,vk->bv\"}\n%f = convert(%z) {to = "
					"f32}\n%m = max(%f) {dims = [1], keep = true}\n%d = sub(%f, %m)\n%e = exp(%d)\n"
					"%t = sum(%e) {dims = [1], keep = true}\n%l = log(%t)\n%y = sub(%d, %l)\n%p = "
					"pick(%y, %i)\n%r = mean(%p)\nyield(%e, %t, %r)\n}\noutput(\"e\", %e)\n"
					"output(\"t\", %t)\noutput(\"r\", %r)\n}\n"},
				{"an element by number of a product and a bias, some of them outside",
					ONE
					"%x = input(\"x\") : f32[19,4]\n%w = param(\"w\") {init = \"normal\"} : "
					"f32[10,4]\n%c = param(\"c\") {init = \"normal\", seed = 1} : f32[10]\n%i = "
					"input(\"i\") {range = 14} : i32[19]\n%e, %r, %p = fuse(%x, %w, %c, %i) {\n%g = "
					"contract(%x, %w) {spec = \"bk,vk->bv\"}\n%z = add(%g, %c)\n%m = max(%z) {dims = "
					"[1], keep = true}\n%d = sub(%z, %m)\n%e = exp(%d)\n%t = sum(%e) {dims = [1], keep "
					"= true}\n%l = log(%t)\n%y = sub(%d, %l)\n%p = pick(%y, %i)\n%n = neg(%p)\n%r = "
					"mean(%n)\nyield(%e, %r, %p)\n}\noutput(\"e\", %e)\noutput(\"r\", %r)\n"
					"output(\"p\", %p)\n}\n"},
				{"an element by number of rows of 16 bits", ONE
					"%x = input(\"x\") : bf16[19,31]\n%i = input(\"i\") {range = 33} : i32[19]\n%p = "
					"fuse(%x, %i) {\n%a = mul(%x, %x)\n%s = sum(%a) {dims = [1], keep = true}\n%y = "
					"sub(%a, %s)\n%p = pick(%y, %i)\nyield(%p)\n}\noutput(\"p\", %p)\n}\n"},
				{"an element of a function that reads its operand twice", ONE
					"%x = input(\"x\") : f32[19,31]\n%i = input(\"i\") {range = 33} : i32[19]\n%p = "
					"fuse(%x, %i) {\n%g = gelu(%x)\n%p = pick(%g, %i)\nyield(%p)\n}\noutput(\"p\", %p)\n}\n"},
				{"an element of squares of squares", ONE
					"%x = input(\"x\") : f32[19,31]\n%i = input(\"i\") {range = 33} : i32[19]\n%p = "
					"fuse(%x, %i) {\n"
					"%a = mul(%x, %x)\n%b = mul(%a, %a)\n%c = mul(%b, %b)\n%d = mul(%c, %c)\n%e = tanh(%d)\n"
					"%p = pick(%e, %i)\nyield(%p)\n}\noutput(\"p\", %p)\n}\n"},
				{"a maximum and sums that follow it, long rows", ONE
					"%x = input(\"x\") : f32[3,12001]\n%i = input(\"i\") {range = 12010} : i32[3]\n%t, %q, %p = fuse(%x, %i) {\n%f = abs(%x)\n%h = mul(%f, %f)\n%m = max(%h) {dims = [1], keep = true}\n%b = stop_gradient(%m)\n%d = sub(%h, %b)\n%e = exp(%d)\n%t = sum(%e) {dims = [1], keep = true}\n%w = mul(%e, %f)\n%q = sum(%w) {dims = [1]}\n%l = log(%t)\n%y = sub(%d, %l)\n%p = pick(%y, %i)\nyield(%t, %q, %p)\n}\noutput(\"t\", %t)\noutput(\"q\", %q)\noutput(\"p\", %p)\n}\n"},
				{"the same, most of each row minus infinity", ONE
					"%x = input(\"x\") : f32[3,12007]\n%i = input(\"i\") {range = 12016} : i32[3]\n%t, %q, %p = fuse(%x, %i) {\n%f = abs(%x)\n%u = iota() {dim = 1} : i32[3,12007]\n%k = constant() {value = 9000} : i32[]\n%c = lt(%u, %k)\n%o = constant() {value = 0} : f32[]\n%g = log(%o)\n%h = select(%c, %g, %f)\n%m = max(%h) {dims = [1], keep = true}\n%b = stop_gradient(%m)\n%d = sub(%h, %b)\n%e = exp(%d)\n%t = sum(%e) {dims = [1], keep = true}\n%w = mul(%e, %f)\n%q = sum(%w) {dims = [1]}\n%l = log(%t)\n%y = sub(%d, %l)\n%p = pick(%y, %i)\nyield(%t, %q, %p)\n}\noutput(\"t\", %t)\noutput(\"q\", %q)\noutput(\"p\", %p)\n}\n"},
				{"the same in 16 bits", ONE
					"%x = input(\"x\") : bf16[3,50257]\n%i = input(\"i\") {range = 50266} : i32[3]\n%t, %q, %p = fuse(%x, %i) {\n%f = convert(%x) {to = f32}\n%h = mul(%f, %f)\n%m = max(%h) {dims = [1], keep = true}\n%b = stop_gradient(%m)\n%d = sub(%h, %b)\n%e = exp(%d)\n%t = sum(%e) {dims = [1], keep = true}\n%w = mul(%e, %f)\n%q = sum(%w) {dims = [1]}\n%l = log(%t)\n%y = sub(%d, %l)\n%p = pick(%y, %i)\nyield(%t, %q, %p)\n}\noutput(\"t\", %t)\noutput(\"q\", %q)\noutput(\"p\", %p)\n}\n"},
				{"a norm of 16 bits, neighbours at once", ONE
					"%x = input(\"x\") : bf16[37,1024]\n%s = param(\"s\") {init = \"normal\"} : f32[1024]\n%y, %c, %b = fuse(%x, %s) {\n%f = convert(%x) {to = f32}\n%m = mean(%f) {dims = [1], keep = true}\n%d = sub(%f, %m)\n%q = mul(%d, %d)\n%v = mean(%q) {dims = [1], keep = true}\n%e = constant() {value = 1e-5} : f32[]\n%a = add(%v, %e)\n%r = rsqrt(%a)\n%n = mul(%d, %r)\n%o = mul(%n, %s)\n%y = convert(%o) {to = bf16}\n%c = sum(%o) {dims = [0]}\n%b = sum(%y) {dims = [0]}\nyield(%y, %c, %b)\n}\noutput(\"y\", %y)\noutput(\"c\", %c)\noutput(\"b\", %b)\n}\n"},
				{"a norm of f16 with sums of columns", ONE
					"%x = input(\"x\") : f16[37,40]\n%s = param(\"s\") {init = \"normal\"} : f32[40]\n%y, %c, %b = fuse(%x, %s) {\n%f = convert(%x) {to = f32}\n%m = mean(%f) {dims = [1], keep = true}\n%d = sub(%f, %m)\n%q = mul(%d, %d)\n%v = mean(%q) {dims = [1], keep = true}\n%e = constant() {value = 1e-5} : f32[]\n%a = add(%v, %e)\n%r = rsqrt(%a)\n%n = mul(%d, %r)\n%o = mul(%n, %s)\n%y = convert(%o) {to = f16}\n%c = sum(%o) {dims = [0]}\n%b = sum(%y) {dims = [0]}\nyield(%y, %c, %b)\n}\noutput(\"y\", %y)\noutput(\"c\", %c)\noutput(\"b\", %b)\n}\n"},
				{"a norm in f32", ONE
					"%x = input(\"x\") : f32[37,36]\n%s = param(\"s\") {init = \"normal\"} : f32[36]\n%y, %c, %b = fuse(%x, %s) {\n%f = neg(%x)\n%m = mean(%f) {dims = [1], keep = true}\n%d = sub(%f, %m)\n%q = mul(%d, %d)\n%v = mean(%q) {dims = [1], keep = true}\n%e = constant() {value = 1e-5} : f32[]\n%a = add(%v, %e)\n%r = rsqrt(%a)\n%n = mul(%d, %r)\n%o = mul(%n, %s)\n%y = abs(%o)\n%c = sum(%o) {dims = [0]}\n%b = sum(%y) {dims = [0]}\nyield(%y, %c, %b)\n}\noutput(\"y\", %y)\noutput(\"c\", %c)\noutput(\"b\", %b)\n}\n"},
				{"a norm of 16 bits, rows that are not aligned", ONE
					"%x = input(\"x\") : bf16[37,1023]\n%s = param(\"s\") {init = \"normal\"} : f32[1023]\n%y, %c, %b = fuse(%x, %s) {\n%f = convert(%x) {to = f32}\n%m = mean(%f) {dims = [1], keep = true}\n%d = sub(%f, %m)\n%q = mul(%d, %d)\n%v = mean(%q) {dims = [1], keep = true}\n%e = constant() {value = 1e-5} : f32[]\n%a = add(%v, %e)\n%r = rsqrt(%a)\n%n = mul(%d, %r)\n%o = mul(%n, %s)\n%y = convert(%o) {to = bf16}\n%c = sum(%o) {dims = [0]}\n%b = sum(%y) {dims = [0]}\nyield(%y, %c, %b)\n}\noutput(\"y\", %y)\noutput(\"c\", %c)\noutput(\"b\", %b)\n}\n"},
				{"long rows, read by ops that are repeated with what they read", ONE
					"%x = input(\"x\") : f32[2,70000]\n%y = input(\"y\") : f32[70000]\n%r, %v = fuse(%x, "
					"%y) {\n%s = mul(%x, %y)\n%m = mean(%s) {dims = [1], keep = true}\n%d = sub(%s, %m)\n"
					"%q = mul(%d, %d)\n%v = mean(%q) {dims = [1], keep = true}\n%h = exp(%d)\n%t = sum(%h) "
					"{dims = [1], keep = true}\n%n = mul(%d, %v)\n%a = add(%n, %t)\n%b = relu(%a)\n"
					"yield(%b, %v)\n}\noutput(\"r\", %r)\noutput(\"v\", %v)\n}\n"},
				{"narrow floats", ONE
					"%x = input(\"x\") : f32[37,50]\n%r, %c = fuse(%x) {\n%a = convert(%x) {to = "
					"bf16}\n%b = mul(%a, %a)\n%s = sum(%b) {dims = [1], keep = true}\n%d = sub(%a, "
					"%s)\n%c = sum(%d) {dims = [0]}\nyield(%d, %c)\n}\n"
					"output(\"r\", %r)\noutput(\"c\", %c)\n}\n"},
				{"an operand handed through, a value twice", ONE ROWS
					"%a, %b, %c = fuse(%x) {\n%e = exp(%x)\nyield(%x, %e, "
					"%e)\n}\noutput(\"a\", %a)\noutput(\"b\", %b)\noutput(\"c\", %c)\n}\n"},
				{"integers and logic", ONE
					"%k = input(\"k\") {range = 7} : i32[11,13]\n%r, %s = fuse(%k) {\n%c = "
					"constant() {value = 3} : i32[]\n%p = lt(%k, %c)\n%q = eq(%k, %c)\n%o = or(%p, "
					"%q)\n%n = select(%o, %k, %c)\n"
					"%m = max(%n) {dims = [1]}\n%t = sum(%n) {dims = [0]}\nyield(%m, "
					"%t)\n}\noutput(\"r\", %r)\noutput(\"s\", %s)\n}\n"},
				{"constants as memory and as numbers", ONE
					"%c = constant() {value = 3.5} : f32[6,4]\n%x = input(\"x\") : f32[6,4]\n%r, "
					"%s, %t = fuse(%x, %c) {\n%a = add(%x, %c)\n"
					"%b = reshape(%c) {shape = [24]}\nyield(%a, %b, %c)\n}\n%d = constant() {value "
					"= 0.5} : f32[4,3]\n%u = fuse(%x, %d) {\n%m = matmul(%x, %d)\n%e = mul(%m, "
					"%m)\nyield(%e)\n}\noutput(\"u\", %u)\noutput(\"r\", %r)\noutput(\"s\", "
					"%s)\noutput(\"t\", %t)\n}\n"},
				{"what waits for what waits", ONE
					"%a = input(\"a\") : f32[6]\n%b = input(\"b\") : f32[6]\n%c = input(\"c\") : "
					"f32[6]\n%r, %s = "
					"fuse(%a, %b, %c) {\n%g = maximum(%a, %b)\n%t = tanh(%c)\n%e = exp(%t)\n%d = "
					"div(%b, %e)\n"
					"yield(%g, %d)\n}\noutput(\"r\", %r)\noutput(\"s\", %s)\n}\n"},
				{"what waits for a condition that is a result", ONE
					"%t = input(\"t\") : f32[]\n%x = input(\"x\") : f32[6,5,9]\n%v = input(\"v\") : "
					"f32[5]\n%o = input(\"o\") : f32[6,5,1]\n%l, %r = fuse(%t, %x, %v, %o) {\n%z = "
					"constant() {value = 0} : f32[]\n%l = gt(%t, %z)\n%b = broadcast(%v) {shape = [6, "
					"5, 1], dims = [1]}\n%d = sub(%x, %b)\n%u = select(%l, %b, %o)\n%i = exp(%u)\n%m "
					"= select(%l, %z, %o)\n%f = mul(%m, %i)\n%s = mul(%d, %i)\n%r = add(%s, "
					"%f)\nyield(%l, %r)\n}\noutput(\"l\", %l)\noutput(\"r\", %r)\n}\n"},
				{"values of two places meet inside", TWO
					"%x = input(\"x\") : f32[6]@dp=0\n%y = input(\"y\") : f32[6]@dp=1\n%p = "
					"fuse(%x, %y) {\n"
					"%a = exp(%x)\n%b = tanh(%y)\n%c = sub(%b, %a)\nyield(%c)\n}\n%r = "
					"allreduce(%p) {axis = dp}\n"
					"output(\"r\", %r)\n}\n"},
				{"positions inside", TWO
					"%r = fuse() {\n%i = iota() {dim = 0} : f32[8/dp,12]\n%u = uniform() {seed = "
					"3} : f32[8/dp,12]\n%a = add(%i, %u)\nyield(%a)\n}\noutput(\"r\", %r)\n}\n"},
};

static void
fused_kernels_are_as_interpreted(void **state)
{
	(void)state;
	struct batch *b = batch_create();
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		batch_add(b, cases[i].what, cases[i].text);
	batch_check(b, "-O3");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(fused_kernels_are_as_interpreted)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
