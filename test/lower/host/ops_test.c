/*
 * Every op of the table in a program, compared with the interpreter. The test fails for a row of
 * ir/ops/ops.def without a case here. All programs are one compile.
 */
#include "test/lower/program.h"

/* `body` follows the inputs in @main; values named r, s or t are outputs. */
struct op_case {
	enum op_code op;
	const char *body;
};

#define BINARY(name)                                                                               \
	{                                                                                          \
		OP_##name,                                                                         \
			"%r = " #name "(%a, %b)\n%s = " #name "(%a, %v)\n%t = " #name "(%k, %j)\n" \
	}
#define FLOAT_BINARY(name)                                                                         \
	{                                                                                          \
		OP_##name, "%p = exp(%a)\n%r = " #name "(%p, %b)\n%s = " #name "(%p, %v)\n"        \
	}
#define COMPARE(name)                                                                              \
	{                                                                                          \
		OP_##name, "%r = " #name "(%a, %b)\n%s = " #name "(%k, %j)\n"                      \
	}
#define UNARY(name)                                                                                \
	{                                                                                          \
		OP_##name, "%r = " #name "(%a)\n%d = convert(%a) {to = f64}\n%s = " #name "(%d)\n" \
	}
/* Halves too, of both signs, in three types. */
#define STEPS(name)                                                                                \
	{                                                                                          \
		OP_##name, "%x = sub(%k, %j)\n%y = convert(%x) {to = f32}\n%z = mul(%y, %h)\n%r "  \
			   "= " #name "(%z)\n%zd = convert(%z) {to = f64}\n%s = " #name            \
			   "(%zd)\n%zh = convert(%z) {to = f16}\n%t = " #name "(%zh)\n"            \
	}
#define POSITIVE(name)                                                                             \
	{                                                                                          \
		OP_##name, "%p = abs(%a)\n%q = add(%p, %h)\n%r = " #name                           \
			   "(%q)\n%d = convert(%q) {to = f64}\n%s = " #name "(%d)\n"               \
	}
#define BELOW_1(name)                                                                              \
	{                                                                                          \
		OP_##name, "%q = tanh(%a)\n%r = " #name                                            \
			   "(%q)\n%d = convert(%q) {to = f64}\n%s = " #name "(%d)\n"               \
	}
/* Bools, and integers of three widths; shifts by amounts from below 0 to beyond the width. */
#define BITS(name)                                                                                 \
	"%k8 = mul(%k, %many)\n%k1 = convert(%k8) {to = i8}\n%j1 = sub(%j, %one)\n%j8 = "          \
	"convert(%j1) {to = i8}\n%r = " #name                                                      \
	"(%k1, %j8)\n%ku = convert(%k8) {to = u8}\n%jm = mul(%j1, %seven)\n%ju = convert(%jm) "    \
	"{to = u8}\n%s = " #name "(%ku, %ju)\n%jn = mul(%jm, %five)\n%t = " #name                  \
	"(%k8, %jn)\n%kl = convert(%k8) {to = i64}\n%km = mul(%kl, %huge)\n%jl = convert(%jn) "    \
	"{to = i64}\n%q = " #name "(%km, %jl)\noutput(\"q\", %q)\n"
#define SHIFT(name)                                                                                \
	{                                                                                          \
		OP_##name, BITS(name)                                                              \
	}
/* All integer types except i8 and u8, which BITS has: 0 and both signs. */
#define COUNT(name)                                                                                \
	{                                                                                          \
		OP_##name,                                                                         \
			"%k8 = mul(%k, %many)\n%k1 = convert(%k8) {to = i8}\n%r = " #name          \
			"(%k1)\n%ku = convert(%k8) {to = u16}\n%s = " #name "(%ku)\n%t = " #name   \
			"(%k8)\n%kl = convert(%k8) {to = i64}\n%km = mul(%kl, %huge)\n%q = " #name \
			"(%km)\noutput(\"q\", %q)\n%kx = convert(%km) {to = u64}\n%p = " #name     \
			"(%kx)\noutput(\"p\", %p)\n%ky = convert(%k8) {to = u32}\n%o = " #name     \
			"(%ky)\noutput(\"o\", %o)\n"                                               \
	}
#define LOGIC_AND_BITS(name)                                                                       \
	{                                                                                          \
		OP_##name, "%x = lt(%a, %b)\n%y = gt(%a, %v)\n%p = " #name                         \
			   "(%x, %y)\noutput(\"p\", %p)\n" BITS(name)                              \
	}
/* Also zero, infinities and NaN. */
#define CLASS(name)                                                                                \
	{                                                                                          \
		OP_##name, "%zs = reshape(%zeros) {shape = [6,1]}\n%p = div(%a, %zs)\n%q = "       \
			   "log(%a)\n%x = mul(%p, %q)\n%r = " #name                                \
			   "(%x)\n%d = convert(%q) {to = f64}\n%s = " #name                        \
			   "(%d)\n%e = convert(%x) {to = bf16}\n%t = " #name "(%e)\n"              \
	}
#define TRUTHS(name)                                                                               \
	{                                                                                          \
		OP_##name, "%x = lt(%c, %h)\n%r = " #name "(%x) {dims = [1]}\n%s = " #name         \
			   "(%x) {dims = [0, 2], keep = true}\n%t = " #name "(%x)\n%y = lt(%a, "   \
			   "%hundred)\n%q = " #name "(%y) {dims = [0]}\noutput(\"q\", %q)\n"       \
	}
/* Equal elements, NaN, narrow types and bools; along inner, outer and all dims. */
#define PLACE(name)                                                                                \
	{                                                                                          \
		OP_##name,                                                                         \
			"%r = " #name "(%a) {dims = [1]}\n%s = " #name                             \
			"(%k) {dims = [0], keep = true}\n%t = " #name                              \
			"(%c) {dims = [0, 2]}\n%l = log(%c)\n%p = " #name                          \
			"(%l) {dims = [-1]}\noutput(\"p\", %p)\n%x = lt(%a, %h)\n%q = " #name      \
			"(%x) {dims = [1]}\noutput(\"q\", %q)\n%e = convert(%k) {to = bf16}\n%o "  \
			"= " #name "(%e)\noutput(\"o\", %o)\n%i1 = " #name                         \
			"(%l) {dims = [1]}\noutput(\"i1\", %i1)\n%m = max(%l) {dims = [-1]}\n"     \
			"output(\"m\", %m)\n%n = min(%l)\noutput(\"n\", %n)\n"                     \
	}
#define REDUCE(name)                                                                               \
	{                                                                                          \
		OP_##name, "%r = " #name "(%a) {dims = [1]}\n%s = " #name                          \
			   "(%a) {dims = [0], keep = true}\n%t = " #name "(%c) {dims = [0, 2]}\n"  \
	}

/* The same with their channels last; options of convolutions of both kinds. */
#define LAST                                                                                       \
	IMAGES "%xl = transpose(%x) {perm = [0,2,3,1]}\n%fl = transpose(%f) {perm = "              \
	       "[0,2,3,1]}\n%fl2 = transpose(%f2) {perm = [0,2,3,1]}\n"                            \
	       "%yl = conv2d(%xl, %fl) {stride = [2,1], low = [1,2], high = [1,1], dilation = "    \
	       "[1,2], channels_last = true}\n%zl = conv2d(%xl, %fl2) {groups = 3, "               \
	       "channels_last = true}\n"
#define LAST_OUTPUTS "output(\"ul\", %ul)\noutput(\"wl\", %wl)\n"

/* Images %x and filters of 6 and of 2 channels. */
#define IMAGES                                                                                     \
	"%x0 = iota() {dim = 0} : f32[420]\n%x1 = mul(%x0, %h)\n%x2 = sin(%x1)\n%x = "             \
	"reshape(%x2) {shape = [2,6,5,7]}\n%f0 = slice(%x2) {start = [7], limit = [223]}\n%f = "   \
	"reshape(%f0) {shape = [4,6,3,3]}\n%f2 = reshape(%f0) {shape = [12,2,3,3]}\n"

static const struct op_case cases[] = {
	BINARY(add), BINARY(sub), BINARY(mul), BINARY(div), BINARY(maximum), BINARY(minimum),
	{OP_pow, "%p = exp(%a)\n%fr = pow(%p, %b)\noutput(\"fr\", %fr)\n%fs = pow(%p, %v)\n"
		 "output(\"fs\", %fs)\n" BITS(pow)},
	SHIFT(mulhi), COUNT(popcnt), COUNT(count_leading_zeros), COMPARE(eq), COMPARE(ne),
	COMPARE(lt), COMPARE(le), COMPARE(gt), COMPARE(ge), LOGIC_AND_BITS(and), LOGIC_AND_BITS(or),
	LOGIC_AND_BITS(xor),
	{OP_not, "%x = lt(%a, %b)\n%r = not(%x)\n%s = not(%k)\n%k1 = convert(%k) {to = u8}\n%t = "
		 "not(%k1)\n"},
	SHIFT(shift_left), SHIFT(shift_right), SHIFT(shift_right_logical), CLASS(is_finite),
	CLASS(is_inf), CLASS(is_nan),
	{OP_select, "%x = lt(%a, %b)\n%r = select(%x, %a, %v)\n%s = select(%x, %b, %h)\n"},
	UNARY(neg), UNARY(abs), UNARY(exp), POSITIVE(log), UNARY(tanh), UNARY(erf), POSITIVE(sqrt),
	POSITIVE(rsqrt), UNARY(sigmoid), UNARY(sin), UNARY(cos), UNARY(relu), UNARY(gelu),
	UNARY(stop_gradient), FLOAT_BINARY(atan2),
	{OP_rem, "%z = mul(%a, %seven_f)\n%r = rem(%z, %b)\n%s = rem(%z, %v)\n%k1 = sub(%j, "
		 "%seven)\n%j1 = sub(%j, %one)\n%t = rem(%k1, %j1)\n%zd = convert(%z) {to = f64}\n"
		 "%bd = convert(%b) {to = f64}\n%q = rem(%zd, %bd)\noutput(\"q\", %q)\n"},
	POSITIVE(log1p), UNARY(expm1), POSITIVE(log2), UNARY(exp2), UNARY(tan), BELOW_1(asin),
	BELOW_1(acos), UNARY(atan), UNARY(sinh), UNARY(cosh), UNARY(asinh),
	/* Near 1 it magnifies its operand's last place, so the operand of f64 is not converted from
	 * f32. */
	{OP_acosh,
		"%q = cosh(%a)\n%r = acosh(%q)\n%d = convert(%a) {to = f64}\n%e = cosh(%d)\n%s = "
		"acosh(%e)\n"},
	BELOW_1(atanh), UNARY(cbrt), UNARY(erfc), STEPS(floor), STEPS(ceil), STEPS(round),
	STEPS(round_away), STEPS(trunc), UNARY(softplus), STEPS(sign), UNARY(square), UNARY(silu),
	UNARY(gelu_tanh),
	{OP_clamp, "%r = clamp(%a) {low = -0.5, high = 0.25}\n%s = clamp(%k) {low = 1, high = "
		   "3}\n%t = clamp(%a) {high = 0}\n%k8 = convert(%k) {to = i8}\n%q = clamp(%k8) "
		   "{low = -1000, high = 2}\noutput(\"q\", %q)\n"},
	{OP_leaky_relu, "%r = leaky_relu(%a)\n%s = leaky_relu(%a) {slope = 0.3}\n"},
	{OP_elu, "%r = elu(%a)\n%s = elu(%a) {alpha = 0.5}\n"},
	{OP_convert, "%x = mul(%a, %hundred)\n%r = convert(%x) {to = i32}\n%s = convert(%k) {to = "
		     "bf16}\n"
		     "%y = convert(%a) {to = f16}\n%t = add(%y, %y)\n%z = convert(%x) {to = "
		     "i8}\noutput(\"z\", %z)\n"
		     "%u8 = convert(%x) {to = u8}\noutput(\"u\", %u8)\n%b1 = convert(%k) {to = "
		     "bool}\noutput(\"b\", %b1)\n"},
	{OP_constant, "%c1 = constant() {value = 2.5} : f32[6,10]\noutput(\"c1\", %c1)\n%r = "
		      "add(%a, %c1)\n%s = mul(%c1, %c1)\n%c2 = constant() {value = -2} : i32[]\n"
		      "%t = neg(%c2)\n%c3 = constant() {value = -1.5} : f64[3]\n%n = neg(%c3)\n"
		      "output(\"n\", %n)\n"},
	{OP_literal,
		"%r = literal() {values = [1, -2.5, inf, -inf, 0, -0.0]} : f32[2,3]\n%s = "
		"literal() "
		"{values = [true, false, true]} : bool[3]\n%t = literal() {hex = "
		"\"0x00ffffffffffffff0000000000000080\"} : u64[2]\n%q = literal() {hex = "
		"\"0x003c00c0007c\"} : f16[3]\noutput(\"q\", %q)\n%e = literal() {values = [-7, "
		"300]} : i16[2]\noutput(\"e\", %e)\n%d = literal() {values = [0.1, 1e-300]} : "
		"f64[2]\noutput(\"d\", %d)\n%f = fuse(%a) {kind = \"f\"} {\n%l = literal() {values "
		"= [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]} : f32[10]\n%m = mul(%a, %l)\nyield(%m)\n}\n"
		"output(\"f\", %f)\n"},
	{OP_iota, "%r = iota() {dim = 0} : f32[6,10]\n%s = iota() {dim = 1} : i64[6,10]\n"
		  "%h0 = iota() {dim = 1} : u8[3,40]\noutput(\"h0\", %h0)\n"
		  "%h1 = iota() {dim = 1} : i8[3,40]\noutput(\"h1\", %h1)\n"
		  "%h2 = iota() {dim = 1} : f16[3,40]\noutput(\"h2\", %h2)\n"
		  "%h3 = iota() {dim = 1} : bf16[3,40]\noutput(\"h3\", %h3)\n"
		  "%h4 = iota() {dim = 1} : f64[3,40]\noutput(\"h4\", %h4)\n"
		  "%h5 = iota() {dim = 1} : f32[3,40]\noutput(\"h5\", %h5)\n"
		  "%h6 = iota() {dim = 1} : i64[3,40]\noutput(\"h6\", %h6)\n"},
	{OP_uniform, "%r = uniform() {seed = 5} : f32[6,10]\n%s = uniform() : f64[7]\n"},
	{OP_normal, "%r = normal() {seed = 5} : f32[6,10]\n"},
	{OP_random_uniform,
		"%n = state(\"n\") {init = \"constant\", value = 7} : i64[]\n%up = "
		"constant() {value = 1} : i64[]\n%next = add(%n, %up)\n"
		"%r = random_uniform(\"r\", %n, %a) {seed = 5}\n%s = "
		"random_uniform(\"s\", %next, %c) {to = f64}\n"
		"%t = random_uniform(\"r\", %next, %k) {seed = 5}\nupdate(%n, %next)\n"},
	{OP_random_normal, "%n = state(\"n\") : i32[]\n%up = constant() {value = 1} : i32[]\n"
			   "%next = add(%n, %up)\n%r = random_normal(\"r\", %n, %a)\n"
			   "%s = random_normal(\"s\", %n, %v) {to = bf16}\nupdate(%n, %next)\n"},
	{OP_random_bits, "%n = state(\"n\") : i32[]\n%up = constant() {value = 1} : i32[]\n"
			 "%next = add(%n, %up)\n%r = random_bits(\"r\", %n, %a)\n"
			 "%s = random_bits(\"r\", %n, %a) {to = u8}\n%t = random_bits(\"t\", %n, "
			 "%a) {to = i64}\nupdate(%n, %next)\n"},
	{OP_matmul, "%bt = transpose(%b)\n%r = matmul(%a, %bt)\n%s = matmul(%c, %bt)\n%x = "
		    "convert(%k) {to = i64}\n%y = transpose(%x)\n"
		    "%t = matmul(%x, %y)\n%a16 = convert(%a) {to = f16}\n%b16 = convert(%bt) {to = "
		    "f16}\n%q = matmul(%a16, %b16)\noutput(\"q\", %q)\n%c8 = convert(%c) {to = "
		    "bf16}\n%b8 = convert(%bt) {to = bf16}\n%p = matmul(%c8, %b8)\n%o = "
		    "relu(%p)\noutput(\"p\", %p)\noutput(\"o\", %o)\n"},
	{OP_contract, "%r = contract(%a, %b) {spec = \"ij,kj->ki\"}\n%s = contract(%c, %c) {spec = "
		      "\"bij,bkj->ikb\"}\n"
		      "%t = contract(%a, %b, %v) {spec = \"ij,ij,j->i\"}\n%q = contract(%c, %a) "
		      "{spec = \"bij,kj->bk\"}\noutput(\"q\", %q)\n%c8 = convert(%c) {to = "
		      "bf16}\n%a8 = convert(%a) {to = bf16}\n%p = contract(%c8, %a8) {spec = "
		      "\"bij,kj->bk\"}\noutput(\"p\", %p)\n%o = contract(%c8, %c8) {spec = "
		      "\"bij,kij->bk\"}\noutput(\"o\", %o)\n%c6 = convert(%c) {to = f16}\n%n = "
		      "contract(%c6, %c6) {spec = \"bij,bkj->ikb\"}\noutput(\"n\", %n)\n"},
	REDUCE(sum),
	{OP_mean, "%r = mean(%a) {dims = [1]}\n%s = mean(%a)\n%t = mean(%c) {dims = [0, 2]}\n%p = "
		  "mean(%c) {dims = [0], keep = true}\noutput(\"p\", %p)\n%e = convert(%a) {to = "
		  "bf16}\n%q = mean(%e) {dims = [0]}\noutput(\"q\", %q)\n"},
	REDUCE(max), REDUCE(min), REDUCE(prod), TRUTHS(any), TRUTHS(all), PLACE(argmax),
	PLACE(argmin),
	{OP_broadcast, "%r = broadcast(%v) {shape = [6,10]}\n%s = broadcast(%v) {shape = [10,3], "
		       "dims = [0]}\n"},
	{OP_transpose, "%r = transpose(%a)\n%s = transpose(%c) {perm = [1,0,2]}\n%t = "
		       "transpose(%c) {perm = [2,0,1]}\n"},
	{OP_reshape, "%r = reshape(%a) {shape = [3,20]}\n%e = exp(%a)\n%s = reshape(%e) {shape = "
		     "[60]}\n"},
	{OP_slice,
		"%r = slice(%a) {start = [1,2], limit = [6,9], step = [2,3]}\n%e = exp(%a)\n%s = "
		"slice(%e) {dims = [1], start = [7]}\n%t = slice(%k) {dims = [0], limit = [2]}\n"},
	{OP_split, "%r = split(%a) {parts = 5, index = 3}\n%s = split(%c) {parts = 2, index = 0, "
		   "dim = 0}\n"},
	{OP_pad, "%r = pad(%a) {low = [1,-2], high = [-1,3], interior = [0,2], value = 7}\n%s = "
		 "pad(%k) {dims = [1], low = [2]}\n%ones = constant() {value = 1} : f32[3]\n%t = "
		 "pad(%ones) {low = [1], high = [2], value = 4}\n"},
	{OP_pad, "%p = lt(%a, %h)\n%r = pad(%p) {low = [1,-2], high = [-1,3], interior = [0,2], "
		 "value = "
		 "true}\n%k1 = convert(%k) {to = u64}\n%s = pad(%k1) {low = [1,0], high = [0,0], "
		 "value = "
		 "9007199254740992}\n%q = reverse(%p)\noutput(\"q\", %q)\n%n = min(%i)\n%d = "
		 "dynamic_slice(%p, %n) {size = 4}\noutput(\"d\", %d)\n%e = dynamic_pad(%p, %n) "
		 "{size = "
		 "9}\noutput(\"e\", %e)\n"},
	{OP_window,
		"%r = window(%a) {dim = 1, size = 3, stride = 2, low = 1, high = 2}\n%s = "
		"window(%a) "
		"{size = 2, dilation = 3, base = 2, how = \"max\"}\n%t = window(%k) {dim = -1, "
		"size = 4, "
		"low = 3, high = -2, how = \"min\"}\n%q = window(%c) {dim = 1, size = 3, low = 1, "
		"high = "
		"1, how = \"mul\"}\noutput(\"q\", %q)\n%p = lt(%a, %h)\n%e = window(%p) {dim = 1, "
		"size = "
		"2, how = \"max\"}\noutput(\"e\", %e)\n%z = window(%p) {dim = 1, size = 1, base = 3, how = \"max\"}\n"
		"%y = not(%z)\noutput(\"y\", %y)\n%d = window(%p) {size = 3, low = 4, how = "
		"\"min\"}\noutput(\"d\", %d)\n%k1 = convert(%k) {to = u16}\n%o = window(%k1) {dim "
		"= 1, "
		"size = 1, base = 2, low = 2, high = 1, how = \"min\"}\noutput(\"o\", %o)\n%n = "
		"window(%k) {dim = 1, size = 1, base = 2, low = 2, how = \"max\"}\noutput(\"n\", "
		"%n)\n"
		"%a1 = convert(%a) {to = f16}\n%m = window(%a1) {dim = 1, size = "
		"10}\noutput(\"m\", "
		"%m)\n%w1 = window(%a) {dim = 1, size = 3}\n%w2 = window(%w1) {size = 3, stride = "
		"2}\n"
		"output(\"w2\", %w2)\n"},
	{OP_bitcast,
		"%r = bitcast(%a) {to = i32}\n%s = bitcast(%a) {to = u32}\n%t = bitcast(%s) {to = "
		"f32}\n%h1 = convert(%a) {to = f16}\n%e = bitcast(%h1) {to = u16}\noutput(\"e\", "
		"%e)\n%b1 = convert(%a) {to = bf16}\n%f = bitcast(%b1) {to = i16}\noutput(\"f\", "
		"%f)\n%g = bitcast(%f) {to = bf16}\noutput(\"g\", %g)\n%d1 = convert(%a) {to = "
		"f64}\n%d2 = bitcast(%d1) {to = i64}\noutput(\"d2\", %d2)\n%d3 = bitcast(%d2) {to "
		"= f64}\noutput(\"d3\", %d3)\n%k8 = mul(%k, %many)\n%k1 = convert(%k8) {to = i8}\n"
		"%k2 = bitcast(%k1) {to = u8}\noutput(\"k2\", %k2)\n%k3 = convert(%k2) {to = "
		"i32}\noutput(\"k3\", %k3)\n%p = lt(%a, %h)\n%p1 = bitcast(%p) {to = bool}\n"
		"output(\"p1\", %p1)\n"},
	{OP_reduce_precision,
		"%m = mul(%a, %hundred)\n%r = reduce_precision(%m) {exponent = 5, mantissa = "
		"10}\n%s = "
		"reduce_precision(%m) {exponent = 3, mantissa = 1}\n%t = reduce_precision(%m) "
		"{exponent = "
		"8, mantissa = 30}\n%d = convert(%m) {to = f64}\n%d1 = reduce_precision(%d) "
		"{exponent = "
		"5, mantissa = 9}\noutput(\"d1\", %d1)\n%e = convert(%m) {to = f16}\n%e1 = "
		"reduce_precision(%e) {exponent = 4, mantissa = 3}\noutput(\"e1\", %e1)\n%f = "
		"convert(%m) {to = bf16}\n%f1 = reduce_precision(%f) {exponent = 4, mantissa = 0}\n"
		"output(\"f1\", %f1)\n"},
	{OP_gather,
		"%p = lt(%a, %h)\n%r = gather(%p, %i)\n%big = mul(%i, %seven)\n%s = gather(%p, "
		"%big)\n%t = pick(%p, %i)\n%q = gather_nd(%p, %i, %i)\noutput(\"q\", %q)\n%o = "
		"scatter_nd(%p, %k) {batch = 1, sizes = [5], how = \"max\"}\noutput(\"o\", "
		"%o)\n%n, "
		"%n1 = sort(%p)\noutput(\"n\", %n)\noutput(\"n1\", %n1)\n%k1 = convert(%k) {to = "
		"u64}\n%kh = mul(%k1, %k1)\n%ks = bitcast(%kh) {to = i64}\n%kg = not(%ks)\n%ku = "
		"bitcast(%kg) {to = u64}\n%ko = concat(%kh, %ku) {dim = 1}\n%s1, %s2 = sort(%ko)\n"
		"output(\"s1\", %s1)\noutput(\"s2\", %s2)\n%mx = max(%ko) {dims = [1]}\n"
		"output(\"mx\", %mx)\n%mn = min(%ko)\noutput(\"mn\", %mn)\n%at = argmax(%ko)\n"
		"output(\"at\", %at)\n%f = convert(%ko) {to = f32}\noutput(\"f\", %f)\n%lt = "
		"lt(%kh, %ku)\noutput(\"lt\", %lt)\n%pc = lt(%b, %h)\n%px = maximum(%p, "
		"%pc)\noutput(\"px\", %px)\n%pm = minimum(%p, %pc)\noutput(\"pm\", %pm)\n%pl = "
		"ge(%p, "
		"%pc)\noutput(\"pl\", %pl)\n"},
	{OP_reverse, "%r = reverse(%a)\n%s = reverse(%c) {dims = [1]}\n"},
	{OP_concat, "%r = concat(%a, %b, %v2)\n%s = concat(%a, %cs) {dim = 1}\n%t = concat(%k, %j, "
		    "%k)\n"},
	{OP_dynamic_slice, "%n = min(%i)\n%r = dynamic_slice(%a, %n) {size = 4}\n%m = max(%i)\n%s "
			   "= dynamic_slice(%a, %m) {size = 7, dim = 1}\n"},
	{OP_dynamic_slice,
		"%l = iota() : i32[300]\n%n1 = constant() {value = 100} : i8[]\n%r = "
		"dynamic_slice(%l, %n1) "
		"{size = 2}\n%n2 = literal() {hex = \"0xffffffffffffffff\"} : u64[]\n%s = "
		"dynamic_slice(%l, %n2) {size = 2}\n%n3 = max(%i)\n%n4 = mul(%n3, %hundreds)\n%n5 "
		"= "
		"convert(%n4) {to = u16}\n%t = dynamic_slice(%l, %n5) {size = 3}\n%n6 = "
		"convert(%n3) {to "
		"= u8}\n%m = dynamic_update_slice(%l, %t, %n6)\noutput(\"m\", %m)\n"},
	{OP_dynamic_update_slice,
		"%n = min(%i)\n%r = dynamic_update_slice(%a, %v2, %n)\n%m = "
		"mul(%n, %hundreds)\n%s = dynamic_update_slice(%a, %v2, %m)\n"
		/* in place: rows, columns, of bytes */
		"%p = param(\"p\") {init = \"normal\"} : f32[6,10]\n"
		"%p1 = dynamic_update_slice(%p, %v2, %n)\nupdate(%p, %p1)\n"
		"%q = state(\"q\") : f32[4,6,10]\n%u2 = slice(%c) {limit = [4,2,10]}\n"
		"%q1 = dynamic_update_slice(%q, %u2, %n) {dim = 1}\nupdate(%q, %q1)\n"
		"%l = state(\"l\") : bool[6,10]\n%lu = lt(%v2, %h)\n%at = max(%k)\n"
		"%l1 = dynamic_update_slice(%l, %lu, %at)\nupdate(%l, %l1)\n"
		"output(\"p1\", %p1)\noutput(\"q1\", %q1)\noutput(\"l1\", %l1)\n"},
	{OP_dynamic_pad, "%n = min(%i)\n%r = dynamic_pad(%a, %n) {size = 9}\n"},
	{OP_cumsum,
		"%r = cumsum(%a)\n%s = cumsum(%c) {dim = 1, exclusive = true}\n%t = cumsum(%k) "
		"{dim = 1, reverse = true}\n%b8 = convert(%k) {to = i8}\n%m = "
		"mul(%b8, %b8)\n%n = cumsum(%m) {dim = 1, exclusive = true, reverse = "
		"true}\noutput(\"n\", %n)\n%a16 = convert(%c) {to = f16}\n%hr = cumsum(%a16) "
		"{dim = 1, reverse = true}\noutput(\"hr\", %hr)\n%e = exp(%a)\n%o = cumsum(%e) "
		"{dim = 1}\n%d = cumsum(%o)\noutput(\"d\", %d)\n%z = cumsum(%hundred1)\n"
		"output(\"z\", %z)\n%p = cumsum(%tens) {dim = 1}\noutput(\"p\", %p)\n"
		"%l = input(\"l\") {range = 9} : i32[100000]\n%l1 = cumsum(%l)\n%f = convert(%l) "
		"{to = f32}\n%l2 = cumsum(%f) {exclusive = true, reverse = true}\n"
		"output(\"l1\", %l1)\noutput(\"l2\", %l2)\n"},
	{OP_conv2d, LAST
		"output(\"yl\", %yl)\noutput(\"zl\", %zl)\n%xh = convert(%xl) {to = bf16}\n%fh = "
		"convert(%fl) {to = bf16}\n%yh = conv2d(%xh, %fh) {channels_last = true}\n"
		"output(\"yh\", %yh)\n%r = conv2d(%x, %f) {stride = [2,1], low = [1,2], high = [1,1], "
		"dilation = [1,2]}\n%s = conv2d(%x, %f2) {groups = 3}\n%x8 = convert(%x) {to = "
		"bf16}\n%f8 = convert(%f) {to = bf16}\n%y8 = conv2d(%x8, %f8)\noutput(\"y8\", "
		"%y8)\n%d8 = conv2d_data(%y8, %f8) {height = 5, width = 7}\noutput(\"d8\", "
		"%d8)\n%x6 = convert(%x) {to = f16}\n%y6 = convert(%y8) {to = f16}\n%e6 = "
		"conv2d_filter(%x6, %y6) {height = 3, width = 3}\noutput(\"e6\", %e6)\n"},
	{OP_conv2d_data,
		LAST "%ul = conv2d_data(%yl, %fl) {height = 5, width = 7, stride = [2,1], low = "
		     "[1,2], dilation = [1,2], channels_last = true}\n%wl = conv2d_data(%zl, %fl2) "
		     "{height = 5, width = 7, groups = 3, channels_last = true}\n" LAST_OUTPUTS
		     "%g = conv2d(%x, %f) {stride = [2,1], low = [1,2], high = [1,1], dilation = "
		     "[1,2]}\n%r = conv2d_data(%g, %f) {height = 5, width = 7, stride = [2,1], "
		     "low = [1,2], dilation = [1,2]}\n%gg = conv2d(%x, %f2) {groups = 3}\n%s = "
		     "conv2d_data(%gg, %f2) {height = 5, width = 7, groups = 3}\n"},
	{OP_conv2d_filter,
		LAST "%ul = conv2d_filter(%xl, %yl) {height = 3, width = 3, stride = [2,1], low = "
		     "[1,2], dilation = [1,2], channels_last = true}\n%wl = conv2d_filter(%xl, "
		     "%zl) {height = 3, width = 3, groups = 3, channels_last = true}\n" LAST_OUTPUTS
		     "%g = conv2d(%x, %f) {stride = [2,1], low = [1,2], high = [1,1], dilation = "
		     "[1,2]}\n%r = conv2d_filter(%x, %g) {height = 3, width = 3, stride = [2,1], "
		     "low = [1,2], dilation = [1,2]}\n%gg = conv2d(%x, %f2) {groups = 3}\n%s = "
		     "conv2d_filter(%x, %gg) {height = 3, width = 3, groups = 3}\n"},
	{OP_avg_pool, LAST
		"%ul = avg_pool(%xl) {window = [3,2], stride = [2,2], low = [1,0], high "
		"= [1,0], channels_last = true}\noutput(\"ul\", %ul)\n%r = avg_pool(%x) {window = [3,2], stride = [2,2], low = [1,0], high "
		"= [1,0]}\n%s = avg_pool(%a) {window = [2,3]}\n"},
	{OP_avg_pool_grad, IMAGES "%y = avg_pool(%x) {window = [3,2], stride = [2,2], low = [1,0], "
				  "high = [1,1]}\n%r = avg_pool_grad(%y) {window = [3,2], stride = "
				  "[2,2], low = [1,0], height = 5, width = 7}\n"},
	{OP_max_pool, LAST
		"%ul = max_pool(%xl) {window = [3,2], stride = [2,2], low = [1,0], high "
		"= [1,0], channels_last = true}\noutput(\"ul\", %ul)\n%r = max_pool(%x) {window = [3,2], stride = [2,2], low = [1,0], high "
		"= [1,0]}\n%s = max_pool(%k) {window = [2,3], low = [1,2]}\n"},
	{OP_max_pool_count, "%m = max_pool(%k) {window = [2,2]}\n%r = max_pool_count(%k, %m) "
			    "{window = [2,2]}\n"},
	{OP_max_pool_pick, IMAGES "%m = max_pool(%x) {window = [3,2], stride = [2,2], low = [1,0], "
				  "high = [1,0]}\n%e = exp(%x)\n%r = max_pool_pick(%x, %m, %e) "
				  "{window = [3,2], stride = [2,2], low = [1,0]}\n"},
	{OP_max_pool_grad, LAST
		"%ml = max_pool(%xl) {window = [3,2], channels_last = true}\n%el = "
		"exp(%ml)\n%ul = max_pool_grad(%xl, %ml, %el) {window = [3,2], "
		"channels_last = true}\noutput(\"ul\", %ul)\n%m = max_pool(%x) {window = [3,2], stride = [2,2], low = [1,0], "
		"high = [1,0]}\n%e = exp(%m)\n%r = max_pool_grad(%x, %m, %e) "
		"{window = [3,2], stride = [2,2], low = [1,0]}\n"},
	{OP_gather, "%r = gather(%a, %i)\n%s = gather(%a, %i2)\n%big = mul(%i, %seven)\n%t = "
		    "gather(%a, %big)\n"},
	{OP_gather_nd,
		"%r = gather_nd(%a, %i, %i)\n%s = gather_nd(%c, %i2) {dims = [1]}\n"
		"%n = reshape(%i) {shape = [6,1]}\n%t = gather_nd(%a, %n) {batch = 1}\n"
		"%p = gather_nd(%a, %k) {batch = 1}\noutput(\"p\", %p)\n%m = convert(%k) {to = "
		"f64}\n%big = mul(%k, %seven)\n%q = gather_nd(%m, %big) {batch = 1}\n"
		"output(\"q\", %q)\n"},
	{OP_scatter_nd,
		"%r = scatter_nd(%w, %i, %i) {sizes = [5,7]}\n%s = scatter_nd(%u, %i) {sizes = "
		"[7], dims = [-1]}\n%t = scatter_nd(%a, %k) {batch = 1, sizes = [5], how = "
		"\"max\"}\n%p = scatter_nd(%u, %i) {sizes = [6], how = \"mul\"}\n"
		"output(\"p\", %p)\n%q = scatter_nd(%k, %j) {batch = 1, sizes = [4]}\n"
		"output(\"q\", %q)\n%big = mul(%k, %seven)\n%n0 = min(%i)\n%l = scatter_nd(%v, "
		"%n0) {sizes = [7], how = \"min\"}\noutput(\"l\", %l)\n%o = scatter_nd(%a, %big) "
		"{batch = "
		"1, sizes = [7]}\noutput(\"o\", %o)\n"},
	{OP_scatter_add, "%r = scatter_add(%u, %i) {size = 6}\n%big = mul(%i, %seven)\n%s = "
			 "scatter_add(%u, %big) {size = 4}\n"},
	{OP_pick, "%r = pick(%a, %i)\n"}, {OP_put, "%r = put(%w, %i) {size = 9}\n"},
	/* values that exist from the start, computed ones, of several types */
	{OP_barrier,
		"%e = exp(%a)\n%r, %s, %t = barrier(%e, %a, %k)\n%sum = add(%e, %r)\n%again = barrier(%sum)\n"
		"output(\"again\", %again)\n"},
	/* computed values and of several types; a copy of a copy */
	{OP_offload, "%e = exp(%a)\n%he, %hk = offload(%e, %k)\n%r, %s = reload(%he, %hk)\n"
		     "%ha = offload(%r)\n%t = reload(%ha)\n"},
	{OP_reload, "%ha = offload(%a)\n%r = reload(%ha)\n%s = reload(%ha)\n%t = add(%r, %s)\n"},
	/* few values, so that equals are common; sizes that are not powers of two, rows within,
	 * long rows */
	{OP_sort,
		"%r, %p1 = sort(%a)\n%s, %p2 = sort(%k) {dim = 0, descending = true}\n%t, %p3 = "
		"sort(%c) {dim = 1}\noutput(\"p1\", %p1)\noutput(\"p2\", %p2)\noutput(\"p3\", "
		"%p3)\n"
		"%n = mul(%a, %hundred)\n%i8 = convert(%n) {to = i8}\n%q1, %q2 = sort(%i8)\n"
		"output(\"q1\", %q1)\noutput(\"q2\", %q2)\n%root = sqrt(%a)\n%h1 = convert(%root) "
		"{to = f16}\n%n1, %n2 = sort(%h1) {descending = true}\noutput(\"n1\", "
		"%n1)\noutput(\"n2\", %n2)\n%l = input(\"l\") {range = 1000} : i32[3,2500]\n"
		"%l1, %l2 = sort(%l)\noutput(\"l1\", %l1)\noutput(\"l2\", %l2)\n"},
	{OP_topk, "%r, %p1 = topk(%a) {k = 3}\n%s, %p2 = topk(%k) {k = 2, dim = 0}\n%t, %p3 = "
		  "topk(%c) {k = 6, dim = 1}\noutput(\"p1\", %p1)\noutput(\"p2\", "
		  "%p2)\noutput(\"p3\", "
		  "%p3)\n%root = log(%a)\n%d = convert(%root) {to = f64}\n%d1, %d2 = topk(%d) {k = "
		  "7}\noutput(\"d1\", %d1)\noutput(\"d2\", %d2)\n%l = input(\"l\") {range = 50} : "
		  "i32[3,2500]\n%l1, %l2 = topk(%l) {k = 5}\noutput(\"l2\", %l2)\n"},
	{OP_one_hot,
		"%r = one_hot(%i) {size = 9, to = f32}\n%s = one_hot(%i2) {size = 7, to = i32}\n"
		"%h0 = one_hot(%i2) {size = 7, to = bool}\noutput(\"h0\", %h0)\n"
		"%h1 = one_hot(%i2) {size = 7, to = u8}\noutput(\"h1\", %h1)\n"
		"%h2 = one_hot(%i2) {size = 7, to = i8}\noutput(\"h2\", %h2)\n"
		"%h3 = one_hot(%i2) {size = 7, to = i64}\noutput(\"h3\", %h3)\n"
		"%h4 = one_hot(%i2) {size = 7, to = f16}\noutput(\"h4\", %h4)\n"
		"%h5 = one_hot(%i2) {size = 7, to = bf16}\noutput(\"h5\", %h5)\n"
		"%h6 = one_hot(%i2) {size = 7, to = f64}\noutput(\"h6\", %h6)\n"},
	{OP_input, ""},
	{OP_param,
		"%p = param(\"p\") {init = \"xavier\", seed = 3} : f32[6,10]\n%r = add(%a, %p)\n"},
	{OP_state, "%p = state(\"p\") {init = \"constant\", value = 3} : f32[6,10]\n%r = add(%a, "
		   "%p)\n"},
	{OP_update, "%p = param(\"p\") {init = \"ones\"} : f32[6,10]\n%q = param(\"q\") {init = "
		    "\"normal\"} : f32[10,6]\n"
		    "%n = add(%p, %a)\nupdate(%p, %n)\n%qt = transpose(%q)\n%m = matmul(%n, "
		    "%q)\n%m2 = matmul(%q, %m)\nupdate(%q, %m2)\n%r = mul(%qt, %p)\n"},
	{OP_output, "output(\"a2\", %a)\n"},
	{OP_release, "%x = exp(%a)\n%r = add(%x, %b)\nrelease(%x)\n"}, {OP_partition, NULL},
	{OP_combine, NULL}, {OP_replicate, NULL}, {OP_reduce, NULL}, {OP_allgather, NULL},
	{OP_allreduce, NULL}, {OP_reducescatter, NULL}, {OP_alltoall, NULL},
	{OP_send, NULL}, /* layout_test.c */
	{OP_fuse, "%r = fuse(%a, %b) {\n %x = add(%a, %b)\n %y = exp(%x)\n yield(%y)\n}\n"},
	{OP_yield, "%r, %s = fuse(%a) {\n %x = exp(%a)\n yield(%x, %a)\n}\n"}, {OP_call, NULL},
	/* values that change, one that does not, two that change places, a state that is written
	 * part by part, equal initial values, a product, and a loop in the loop */
	{OP_while,
		"%true = constant() {value = 1} : bool[]\n%zero = constant() {value = 0} : i32[]\n"
		"%at = transpose(%a)\n%g, %n, %m, %r, %s, %t, %left = while(%g = %true, %n = %zero, "
		"%m = %zero, %x = %a, %y = %b, %list = %b, %at = %at) {trips = 4} {\n"
		" %step = constant() {value = 1} : i32[]\n %four = constant() {value = 4} : i32[]\n"
		" %n1 = add(%n, %step)\n %p = matmul(%x, %at)\n %p1 = matmul(%p, %x)\n"
		" %small = constant() {value = 0.01} : f32[]\n %p2 = mul(%p1, %small)\n"
		" %row = slice(%p2) {limit = [1,10]}\n"
		" %next = dynamic_update_slice(%list, %row, %n) {dim = 0}\n"
		" %go = lt(%n1, %four)\n %no = constant() {value = 0} : i32[]\n"
		" %more = lt(%m, %n1)\n %gi, %mi, %li = while(%gi = %more, %mi = %m, %li = %n1) {\n"
		"  %unit = constant() {value = 1} : i32[]\n  %m1 = add(%mi, %unit)\n"
		"  %again = lt(%m1, %li)\n  yield(%again, %m1, %li)\n }\n"
		" yield(%go, %n1, %mi, %y, %p2, %next, %at)\n}\n"
		"output(\"n\", %n)\noutput(\"m\", %m)\n"
		/* no iteration */
		"%no = constant() {value = 0} : bool[]\n%gz, %az = while(%gz = %no, %az = %a) {\n"
		" %twice = add(%az, %az)\n yield(%gz, %twice)\n}\noutput(\"az\", %az)\n"},
	{OP_return, NULL}, /* inlined before; host_errors.dir tests the messages otherwise */
};

static const char head[] =
	"module @ops\nfunc @main() {\n"
	"%a = input(\"a\") : f32[6,10]\n%b = input(\"b\") : f32[6,10]\n%c = input(\"c\") : "
	"f32[4,6,10]\n%v = input(\"v\") : f32[10]\n"
	"%w = input(\"w\") : f32[6]\n%u = input(\"u\") : f32[6,3]\n"
	"%k = input(\"k\") {range = 5} : i32[6,10]\n%j = input(\"j\") {range = 3} : i32[6,10]\n"
	"%i = input(\"i\") {range = 6} : i32[6]\n%i2 = input(\"i2\") {range = 6} : i32[2,3]\n"
	"%h = constant() {value = 0.5} : f32[]\n%seven = constant() {value = 3} : i32[]\n%hundred "
	"= constant() {value = 100} : f32[]\n%one = constant() {value = 1} : i32[]\n"
	"%five = constant() {value = 5} : i32[]\n%many = constant() {value = -19088743} : i32[]\n"
	"%huge = constant() {value = 4294967296} : i64[]\n"
	"%seven_f = constant() {value = 7} : f32[]\n%zeros = convert(%i) {to = f32}\n"
	"%hundreds = constant() {value = 100} : i32[]\n"
	"%hundred1 = constant() {value = 100} : f32[1]\n%tens = constant() {value = 10} : "
	"f32[3,7]\n"
	"%v2 = reshape(%v) {shape = [1,10]}\n%cm = max(%c) {dims = [0]}\n%cs = slice(%cm) {limit = "
	"[6,4]}\n";

/* Outputs for those of r, s, t that the body defines. */
static char *
text_of(const void *owner, const char *body)
{
	char *text = talloc_asprintf(owner, "%s%s", head, body);
	static const char *const name[] = {"r", "s", "t"};
	for (int i = 0; i < 3; i++)
		if (strstr(body, talloc_asprintf(owner, "%%%s = ", name[i])) ||
			strstr(body, talloc_asprintf(owner, "%%%s, ", name[i])))
			text = talloc_asprintf_append(
				text, "output(\"%s\", %%%s)\n", name[i], name[i]);
	return talloc_strdup_append(text, "}\n");
}

static void
every_op_has_a_case(void **state)
{
	(void)state;
	for (int code = 0; code < OP_NCODES; code++) {
		bool found = false;
		for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
			found |= cases[i].op == (enum op_code)code;
		if (!found)
			fail_msg("op %s has no case", op_name((enum op_code)code));
	}
}

static void
every_op_is_as_interpreted(void **state)
{
	(void)state;
	struct batch *b = batch_create();
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		if (cases[i].body)
			batch_add(b, op_name(cases[i].op), text_of(b, cases[i].body));
	batch_check(b, "-O1");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_op_has_a_case),
		cmocka_unit_test(every_op_is_as_interpreted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
