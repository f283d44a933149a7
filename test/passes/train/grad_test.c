/*
 * grad against central finite differences, in double precision, for every differentiable op of the
 * table and every operand. A case is the text of the op on params %a, %b ...; the loss is the sum
 * of its result times fixed weights, so that no two elements of the gradient are alike by chance.
 * An op that has a floating-point operand and no case fails the test.
 */
#include "ir/interp/interp.h"
#include "parser/dir/parse.h"
#include "passes/manager/pipeline.h"
#include "test/unit.h"

#include <math.h>
#include <string.h>

/* The step of the difference quotient: error of order h^2 = 1e-10 from the third derivative, 1e-16
 * / h = 1e-11 from rounding. */
static const double difference_step = 1e-5;
/* Allowed error relative to the largest element: well above both, well below any wrong factor. */
static const double tolerance = 1e-7;

static const struct {
	const char *op;
	const char *text; /* defines %r from params; parameters of uniform init are in [0, 1) */
} cases[] = {
	{"add", "%a = param(\"a\") {init = \"normal\"} : f64[3,4] %b = param(\"b\") {init = "
		"\"normal\", seed = 1} : f64[4] %r = add(%a, %b)"},
	{"add", "%a = param(\"a\") {init = \"normal\"} : f64[3,1] %b = param(\"b\") {init = "
		"\"normal\", seed = 1} : f64[2,1,4] %r = add(%a, %b)"},
	{"sub", "%a = param(\"a\") {init = \"normal\"} : f64[3,4] %b = param(\"b\") {init = "
		"\"normal\", seed = 1} : f64[3,1] %r = sub(%a, %b)"},
	{"mul", "%a = param(\"a\") {init = \"normal\"} : f64[3,4] %b = param(\"b\") {init = "
		"\"normal\", seed = 1} : f64[3,1] %r = mul(%a, %b)"},
	{"mul", "%a = param(\"a\") {init = \"normal\"} : f64[3,4] %r = mul(%a, %a)"},
	{"div", "%a = param(\"a\") {init = \"normal\"} : f64[3,4] %b = param(\"b\") {init = "
		"\"uniform\", seed = 1} : f64[4] %one = constant() {value = 1} : f64[] %c = "
		"add(%b, %one) %r = div(%a, %c)"},
	{"maximum", "%a = param(\"a\") {init = \"normal\"} : f64[3,4] %b = param(\"b\") {init = "
		    "\"normal\", seed = 1} : f64[4] %r = maximum(%a, %b)"},
	{"minimum", "%a = param(\"a\") {init = \"normal\"} : f64[3,4] %b = param(\"b\") {init = "
		    "\"normal\", seed = 1} : f64[4] %r = minimum(%a, %b)"},
	{"pow", "%a = param(\"a\") {init = \"uniform\"} : f64[3,4] %b = param(\"b\") {init = "
		"\"normal\", seed = 1} : f64[4] %one = constant() {value = 1} : f64[] %c = add(%a, "
		"%one) %r = pow(%c, %b)"},
	{"select", "%a = param(\"a\") {init = \"normal\"} : f64[3,4] %b = param(\"b\") {init = "
		   "\"normal\", seed = 1} : f64[4] %c = gt(%a, %b) %r = select(%c, %a, %b)"},
	{"neg", "%a = param(\"a\") {init = \"normal\"} : f64[3,4] %r = neg(%a)"},
	{"abs", "%a = param(\"a\") {init = \"normal\"} : f64[3,4] %r = abs(%a)"},
	{"exp", "%a = param(\"a\") {init = \"normal\"} : f64[3,4] %r = exp(%a)"},
	{"log", "%a = param(\"a\") {init = \"uniform\"} : f64[3,4] %one = constant() {value = 0.5} "
		": f64[] %c = add(%a, %one) %r = log(%c)"},
	{"tanh", "%a = param(\"a\") {init = \"normal\"} : f64[3,4] %r = tanh(%a)"},
	{"erf", "%a = param(\"a\") {init = \"normal\"} : f64[3,4] %r = erf(%a)"},
	{"sqrt", "%a = param(\"a\") {init = \"uniform\"} : f64[3,4] %one = constant() {value = "
		 "0.5} : f64[] %c = add(%a, %one) %r = sqrt(%c)"},
	{"rsqrt", "%a = param(\"a\") {init = \"uniform\"} : f64[3,4] %one = constant() {value = "
		  "0.5} : f64[] %c = add(%a, %one) %r = rsqrt(%c)"},
	{"sigmoid", "%a = param(\"a\") {init = \"normal\"} : f64[3,4] %r = sigmoid(%a)"},
	{"sin", "%a = param(\"a\") {init = \"normal\"} : f64[3,4] %r = sin(%a)"},
	{"cos", "%a = param(\"a\") {init = \"normal\"} : f64[3,4] %r = cos(%a)"},
	{"relu", "%a = param(\"a\") {init = \"normal\"} : f64[3,4] %r = relu(%a)"},
	{"gelu", "%a = param(\"a\") {init = \"normal\"} : f64[3,4] %r = gelu(%a)"},
	{"expm1", "%a = param(\"a\") {init = \"normal\"} : f64[3,4] %r = expm1(%a)"},
	{"exp2", "%a = param(\"a\") {init = \"normal\"} : f64[3,4] %r = exp2(%a)"},
	{"tan", "%a = param(\"a\") {init = \"normal\"} : f64[3,4] %r = tan(%a)"},
	{"atan", "%a = param(\"a\") {init = \"normal\"} : f64[3,4] %r = atan(%a)"},
	{"sinh", "%a = param(\"a\") {init = \"normal\"} : f64[3,4] %r = sinh(%a)"},
	{"cosh", "%a = param(\"a\") {init = \"normal\"} : f64[3,4] %r = cosh(%a)"},
	{"asinh", "%a = param(\"a\") {init = \"normal\"} : f64[3,4] %r = asinh(%a)"},
	{"erfc", "%a = param(\"a\") {init = \"normal\"} : f64[3,4] %r = erfc(%a)"},
	{"floor",
		"%a = param(\"a\") {init = \"normal\"} : f64[3,4] %q = floor(%a) %r = add(%q, %a)"},
	{"ceil", "%a = param(\"a\") {init = \"normal\"} : f64[3,4] %q = ceil(%a) %r = add(%q, %a)"},
	{"round",
		"%a = param(\"a\") {init = \"normal\"} : f64[3,4] %q = round(%a) %r = add(%q, %a)"},
	{"round_away", "%a = param(\"a\") {init = \"normal\"} : f64[3,4] %q = round_away(%a) %r = "
		       "add(%q, %a)"},
	{"trunc",
		"%a = param(\"a\") {init = \"normal\"} : f64[3,4] %q = trunc(%a) %r = add(%q, %a)"},
	{"softplus", "%a = param(\"a\") {init = \"normal\"} : f64[3,4] %r = softplus(%a)"},
	{"sign", "%a = param(\"a\") {init = \"normal\"} : f64[3,4] %q = sign(%a) %r = add(%q, %a)"},
	{"square", "%a = param(\"a\") {init = \"normal\"} : f64[3,4] %r = square(%a)"},
	{"silu", "%a = param(\"a\") {init = \"normal\"} : f64[3,4] %r = silu(%a)"},
	{"gelu_tanh", "%a = param(\"a\") {init = \"normal\"} : f64[3,4] %r = gelu_tanh(%a)"},
	{"leaky_relu", "%a = param(\"a\") {init = \"normal\"} : f64[3,4] %r = leaky_relu(%a)"},
	{"elu", "%a = param(\"a\") {init = \"normal\"} : f64[3,4] %r = elu(%a)"},
	{"cbrt", "%a = param(\"a\") {init = \"normal\"} : f64[3,4] %r = cbrt(%a)"},
	{"log1p", "%a = param(\"a\") {init = \"uniform\"} : f64[3,4] %r = log1p(%a)"},
	{"log2", "%a = param(\"a\") {init = \"uniform\"} : f64[3,4] %h = constant() {value = 0.5} "
		 ": f64[] %c = add(%a, %h) %r = log2(%c)"},
	{"acosh", "%a = param(\"a\") {init = \"uniform\"} : f64[3,4] %h = constant() {value = 1.5} "
		  ": f64[] %c = add(%a, %h) %r = acosh(%c)"},
	{"asin", "%a = param(\"a\") {init = \"uniform\"} : f64[3,4] %h = constant() {value = 0.9} "
		 ": f64[] %c = mul(%a, %h) %r = asin(%c)"},
	{"acos", "%a = param(\"a\") {init = \"uniform\"} : f64[3,4] %h = constant() {value = 0.9} "
		 ": f64[] %c = mul(%a, %h) %r = acos(%c)"},
	{"atanh", "%a = param(\"a\") {init = \"uniform\"} : f64[3,4] %h = constant() {value = 0.9} "
		  ": f64[] %c = mul(%a, %h) %r = atanh(%c)"},
	{"atan2", "%a = param(\"a\") {init = \"normal\"} : f64[3,4] %b = param(\"b\") {init = "
		  "\"normal\", seed = 1} : f64[4] %r = atan2(%a, %b)"},
	{"rem", "%a = param(\"a\") {init = \"normal\"} : f64[3,4] %b = param(\"b\") {init = "
		"\"uniform\", seed = 1} : f64[4] %h = constant() {value = 0.3} : f64[] %c = "
		"add(%b, %h) %r = rem(%a, %c)"},
	{"clamp", "%a = param(\"a\") {init = \"normal\"} : f64[3,4] %r = clamp(%a) {low = -0.5, "
		  "high = 0.75}"},
	{"clamp", "%a = param(\"a\") {init = \"normal\"} : f64[3,4] %r = clamp(%a) {low = 0.1}"},
	{"leaky_relu", "%a = param(\"a\") {init = \"normal\"} : f64[3,4] %r = leaky_relu(%a) "
		       "{slope = 0.3}"},
	{"elu", "%a = param(\"a\") {init = \"normal\"} : f64[3,4] %r = elu(%a) {alpha = 0.7}"},
	{"pow", "%a = param(\"a\") {init = \"zeros\"} : f64[3,4] %b = param(\"b\") {init = "
		"\"uniform\", seed = 1} : f64[4] %h = constant() {value = 2} : f64[] %c = add(%b, "
		"%h) %r = pow(%a, %c)"},
	{"convert", "%a = param(\"a\") {init = \"normal\"} : f64[3,4] %r = convert(%a) {to = f64}"},
	{"matmul", "%a = param(\"a\") {init = \"normal\"} : f64[3,4] %b = param(\"b\") {init = "
		   "\"normal\", seed = 1} : f64[4,5] %r = matmul(%a, %b)"},
	{"matmul", "%a = param(\"a\") {init = \"normal\"} : f64[2,3,4] %b = param(\"b\") {init = "
		   "\"normal\", seed = 1} : f64[4,5] %r = matmul(%a, %b)"},
	{"matmul", "%a = param(\"a\") {init = \"normal\"} : f64[2,1,3,4] %b = param(\"b\") {init = "
		   "\"normal\", seed = 1} : f64[3,4,5] %r = matmul(%a, %b)"},
	{"contract", "%a = param(\"a\") {init = \"normal\"} : f64[2,3,2,4] %b = param(\"b\") {init "
		     "= \"normal\", seed = 1} : f64[2,5,2,4] %r = contract(%a, %b) {spec = "
		     "\"bshd,bthd->bhst\"}"},
	{"contract", "%a = param(\"a\") {init = \"normal\"} : f64[3,4] %r = contract(%a) {spec = "
		     "\"ij->j\"}"},
	{"contract", "%a = param(\"a\") {init = \"normal\"} : f64[3,4] %b = param(\"b\") {init = "
		     "\"normal\", seed = 1} : f64[4,5] %c = param(\"c\") {init = \"normal\", seed "
		     "= 2} : f64[5] %r = contract(%a, %b, %c) {spec = \"ij,jk,k->ik\"}"},
	{"sum", "%a = param(\"a\") {init = \"normal\"} : f64[2,3,4] %r = sum(%a) {dims = [1]}"},
	{"sum", "%a = param(\"a\") {init = \"normal\"} : f64[2,3,4] %r = sum(%a) {dims = [0, 2], "
		"keep = true}"},
	{"sum", "%a = param(\"a\") {init = \"normal\"} : f64[2,3] %r = sum(%a)"},
	{"mean", "%a = param(\"a\") {init = \"normal\"} : f64[2,3,4] %r = mean(%a) {dims = [-1]}"},
	{"mean", "%a = param(\"a\") {init = \"normal\"} : f64[2,3] %r = mean(%a)"},
	{"max", "%a = param(\"a\") {init = \"normal\"} : f64[2,3,4] %r = max(%a) {dims = [2], keep "
		"= true}"},
	{"max", "%a = param(\"a\") {init = \"normal\"} : f64[2,3,4] %r = max(%a) {dims = [0, 1]}"},
	{"min", "%a = param(\"a\") {init = \"normal\"} : f64[2,3,4] %r = min(%a) {dims = [1]}"},
	{"prod", "%a = param(\"a\") {init = \"normal\"} : f64[2,3,4] %r = prod(%a) {dims = [1]}"},
	{"prod", "%a = param(\"a\") {init = \"normal\"} : f64[2,3,4] %r = prod(%a) {dims = [0, 2], "
		 "keep = true}"},
	{"prod", "%a = param(\"a\") {init = \"normal\"} : f64[2,3] %r = prod(%a)"},
	/* no factor of a row is 0, one is, two are, all are */
	{"prod", "%a = param(\"a\") {init = \"normal\"} : f64[4,3] %z = param(\"z\") : f64[4,3] "
		 "%row = iota() {dim = 0} : i32[4,1] %col = iota() {dim = 1} : i32[4,3] %keep = "
		 "ge(%col, %row) %x = select(%keep, %a, %z) %r = prod(%x) {dims = [1]}"},
	{"broadcast", "%a = param(\"a\") {init = \"normal\"} : f64[3,1] %r = broadcast(%a) {shape "
		      "= [2, 3, 4]}"},
	{"broadcast", "%a = param(\"a\") {init = \"normal\"} : f64[3,2] %r = broadcast(%a) {shape "
		      "= [2, 4, 3], dims = [2, 0]}"},
	{"transpose", "%a = param(\"a\") {init = \"normal\"} : f64[2,3,4] %r = transpose(%a) {perm "
		      "= [2, 0, 1]}"},
	{"transpose", "%a = param(\"a\") {init = \"normal\"} : f64[2,3,4] %r = transpose(%a)"},
	{"reshape", "%a = param(\"a\") {init = \"normal\"} : f64[2,3,4] %r = reshape(%a) {shape = "
		    "[6, 4]}"},
	{"slice", "%a = param(\"a\") {init = \"normal\", seed = 0} : f64[5,4] %r = slice(%a) "
		  "{start = [1,0], limit = [5,3], step = [2,1]}"},
	{"slice", "%a = param(\"a\") {init = \"normal\", seed = 0} : f64[5,4] %r = slice(%a) {dims "
		  "= [-1], start = [2]}"},
	{"split", "%a = param(\"a\") {init = \"normal\", seed = 0} : f64[2,6] %r = split(%a) "
		  "{parts = 3, index = 1}"},
	{"pad", "%a = param(\"a\") {init = \"normal\", seed = 0} : f64[3,4] %r = pad(%a) {low = "
		"[1,-1], high = [0,2], interior = [2,0], value = 3}"},
	{"pad", "%a = param(\"a\") {init = \"normal\", seed = 0} : f64[3,4] %r = pad(%a) {dims = "
		"[0], low = [-1], high = [-1]}"},
	{"reverse", "%a = param(\"a\") {init = \"normal\", seed = 0} : f64[3,4] %r = reverse(%a) "
		    "{dims = [1]}"},
	{"reverse", "%a = param(\"a\") {init = \"normal\", seed = 0} : f64[3,4] %r = reverse(%a)"},
	{"concat", "%a = param(\"a\") {init = \"normal\", seed = 0} : f64[2,4] %b = param(\"b\") "
		   "{init = \"normal\", seed = 1} : f64[3,4] %c = param(\"c\") {init = \"normal\", "
		   "seed = 2} : f64[1,4] %r = concat(%a, %b, %c)"},
	{"concat", "%a = param(\"a\") {init = \"normal\", seed = 0} : f64[2,4] %b = param(\"b\") "
		   "{init = \"normal\", seed = 1} : f64[2,1] %r = concat(%a, %b) {dim = -1}"},
	{"dynamic_slice", "%a = param(\"a\") {init = \"normal\", seed = 0} : f64[6,3] %i = "
			  "input(\"i\") {range = 3} : i32[] %r = dynamic_slice(%a, %i) {size = 4}"},
	{"dynamic_pad",
		"%a = param(\"a\") {init = \"normal\", seed = 0} : f64[3,2] %i = input(\"i\") "
		"{range = 3} : i32[] %r = dynamic_pad(%a, %i) {size = 5, dim = 1}"},
	{"dynamic_update_slice",
		"%a = param(\"a\") {init = \"normal\", seed = 0} : f64[6,3] %b = param(\"b\") "
		"{init = \"normal\", seed = 1} : f64[2,3] %i = input(\"i\") {range = 4} : i32[] %r "
		"= dynamic_update_slice(%a, %b, %i)"},
	{"cumsum", "%a = param(\"a\") {init = \"normal\", seed = 0} : f64[3,4] %r = cumsum(%a) "
		   "{dim = 1}"},
	{"cumsum", "%a = param(\"a\") {init = \"normal\", seed = 0} : f64[3,4] %r = cumsum(%a) "
		   "{exclusive = true, reverse = true}"},
	{"conv2d", "%a = param(\"a\") {init = \"normal\", seed = 0} : f64[2,3,5,6] %b = "
		   "param(\"b\") {init = \"normal\", seed = 1} : f64[4,3,3,2] %r = conv2d(%a, %b) "
		   "{stride = [2,1], low = [1,0], high = [1,1], dilation = [1,2]}"},
	{"conv2d", "%a = param(\"a\") {init = \"normal\", seed = 0} : f64[2,4,4,4] %b = "
		   "param(\"b\") {init = \"normal\", seed = 1} : f64[6,2,3,3] %r = conv2d(%a, %b) "
		   "{groups = 2, low = [1,1], high = [1,1]}"},
	{"conv2d", "%a = param(\"a\") {init = \"normal\", seed = 0} : f64[2,3,4,4] %b = "
		   "param(\"b\") {init = \"normal\", seed = 1} : f64[3,1,2,2] %r = conv2d(%a, %b) "
		   "{groups = 3, stride = [2,2]}"},
	{"conv2d_data", "%a = param(\"a\") {init = \"normal\", seed = 0} : f64[2,4,3,4] %b = "
			"param(\"b\") {init = \"normal\", seed = 1} : f64[4,3,3,2] %r = "
			"conv2d_data(%a, %b) {height = 6, width = 5, stride = [2,1], low = [1,0]}"},
	{"conv2d_data",
		"%a = param(\"a\") {init = \"normal\", seed = 0} : f64[2,6,2,2] %b = param(\"b\") "
		"{init = \"normal\", seed = 1} : f64[6,2,2,2] %r = conv2d_data(%a, %b) {height = "
		"3, width = 4, groups = 2, dilation = [1,2]}"},
	{"conv2d_filter",
		"%a = param(\"a\") {init = \"normal\", seed = 0} : f64[2,3,5,6] %b = param(\"b\") "
		"{init = \"normal\", seed = 1} : f64[2,4,3,5] %r = conv2d_filter(%a, %b) {height = "
		"2, width = 2, stride = [2,1], low = [1,0]}"},
	{"conv2d_filter", "%a = param(\"a\") {init = \"normal\", seed = 0} : f64[2,4,3,3] %b = "
			  "param(\"b\") {init = \"normal\", seed = 1} : f64[2,6,3,3] %r = "
			  "conv2d_filter(%a, %b) {height = 3, width = 3, low = [1,1], groups = 2}"},
	{"conv2d",
		"%a = param(\"a\") {init = \"normal\", seed = 0} : f64[2,5,6,4] %b = param(\"b\") {init = \"normal\", seed = 1} : f64[6,3,2,2] %r = conv2d(%a, %b) {stride = [2,1], low = [1,0], high = [1,1], "
		"dilation = [1,2], groups = 2, channels_last = true}"},
	{"conv2d_data",
		"%a = param(\"a\") {init = \"normal\", seed = 0} : f64[2,3,4,4] %b = param(\"b\") {init = \"normal\", seed = 1} : f64[4,3,2,3] %r = conv2d_data(%a, %b) {height = 6, width = 5, stride = "
		"[2,1], low = [1,0], channels_last = true}"},
	{"conv2d_filter",
		"%a = param(\"a\") {init = \"normal\", seed = 0} : f64[2,5,6,3] %b = param(\"b\") {init = \"normal\", seed = 1} : f64[2,3,5,4] %r = conv2d_filter(%a, %b) {height = 2, width = 2, stride "
		"= [2,1], low = [1,0], channels_last = true}"},
	{"avg_pool",
		"%a = param(\"a\") {init = \"normal\", seed = 0} : f64[2,5,6,3] %r = avg_pool(%a) {window = [3,2], stride = [2,2], low = [1,0], high "
		"= [1,0], channels_last = true}"},
	{"max_pool",
		"%a = param(\"a\") {init = \"normal\", seed = 0} : f64[2,5,6,3] %r = max_pool(%a) {window = [3,2], stride = [2,2], low = [1,0], high "
		"= [1,0], channels_last = true}"},
	/* A batch for images alone, and one of a single result. */
	{"conv2d_filter", "%a = param(\"a\") {init = \"normal\", seed = 0} : f64[2,3,5,6] %b = "
			  "param(\"b\") {init = \"normal\", seed = 1} : f64[4,4,5] %r = "
			  "conv2d_filter(%a, %b) {height = 2, width = 2}"},
	{"conv2d_filter", "%a = param(\"a\") {init = \"normal\", seed = 0} : f64[2,3,5,6] %b = "
			  "param(\"b\") {init = \"normal\", seed = 1} : f64[1,4,4,5] %r = "
			  "conv2d_filter(%a, %b) {height = 2, width = 2}"},
	{"avg_pool", "%a = param(\"a\") {init = \"normal\", seed = 0} : f64[2,3,5,6] %r = "
		     "avg_pool(%a) {window = [3,2], stride = [2,2], low = [1,0], high = [1,0]}"},
	{"avg_pool_grad", "%a = param(\"a\") {init = \"normal\", seed = 0} : f64[2,3,2,3] %r = "
			  "avg_pool_grad(%a) {window = [3,2], stride = [2,2], low = [1,0], height "
			  "= 4, width = 6}"},
	{"max_pool", "%a = param(\"a\") {init = \"normal\", seed = 0} : f64[2,3,5,6] %r = "
		     "max_pool(%a) {window = [3,2], stride = [2,2], low = [1,0], high = [1,0]}"},
	{"max_pool", "%a = param(\"a\") {init = \"normal\", seed = 0} : f64[4,5] %r = max_pool(%a) "
		     "{window = [2,2]}"},
	{"max_pool_count",
		"%a = param(\"a\") {init = \"normal\", seed = 0} : f64[4,5] %m = max_pool(%a) "
		"{window = [2,2]} %c = max_pool_count(%a, %m) {window = [2,2]} %r = mul(%m, %c)"},
	{"max_pool_pick", "%a = input(\"a\") : f64[4,5] %b = param(\"b\") {init = \"normal\", seed "
			  "= 1} : f64[4,5] %m = max_pool(%a) {window = [2,2]} %r = "
			  "max_pool_pick(%a, %m, %b) {window = [2,2]}"},
	{"max_pool_grad", "%a = input(\"a\") : f64[4,4] %b = param(\"b\") {init = \"normal\", seed "
			  "= 1} : f64[2,2] %m = max_pool(%a) {window = [2,2], stride = [2,2]} %r = "
			  "max_pool_grad(%a, %m, %b) {window = [2,2], stride = [2,2]}"},
	{"window", "%a = param(\"a\") {init = \"normal\"} : f64[2,7,3] %r = window(%a) {dim = 1, "
		   "size = "
		   "3, low = 2, high = 1}"},
	{"window", "%a = param(\"a\") {init = \"normal\"} : f64[3,8] %r = window(%a) {dim = -1, "
		   "size = "
		   "2, stride = 3, dilation = 2, base = 2, low = -1, high = 3}"},
	{"window", "%a = param(\"a\") {init = \"normal\"} : f64[9,2] %r = window(%a) {size = 3, "
		   "stride = 2, base = 3, low = 4, high = -2}"},
	{"gather", "%a = param(\"a\") {init = \"normal\"} : f64[5,3] %i = input(\"i\") {range = 5} "
		   ": i32[2,4] %r = gather(%a, %i)"},
	{"gather_nd", "%a = param(\"a\") {init = \"normal\"} : f64[5,2,3] %i = input(\"i\") {range "
		      "= 5} : "
		      "i32[2,4] %j = input(\"j\") {range = 3} : i32[2,4] %r = gather_nd(%a, %i, "
		      "%j) {dims = "
		      "[0,-1]}"},
	{"gather_nd", "%a = param(\"a\") {init = \"normal\"} : f64[3,4,2] %i = input(\"i\") {range "
		      "= 4} : "
		      "i32[3,5] %r = gather_nd(%a, %i) {batch = 1}"},
	{"scatter_nd",
		"%a = param(\"a\") {init = \"normal\"} : f64[2,4,2] %i = input(\"i\") {range = 3} "
		": "
		"i32[2,4] %j = input(\"j\") {range = 3} : i32[2,4] %r = scatter_nd(%a, %i, %j) "
		"{dims = [2,0], sizes = [3,3]}"},
	{"scatter_nd",
		"%a = param(\"a\") {init = \"normal\"} : f64[2,6] %i = input(\"i\") {range = 3} : "
		"i32[2,6] %m = scatter_nd(%a, %i) {batch = 1, sizes = [3], how = \"max\"} %r = "
		"gather_nd(%m, %i) {batch = 1}"},
	{"scatter_add", "%a = param(\"a\") {init = \"normal\"} : f64[6,3] %i = input(\"i\") {range "
			"= 4} : i32[6] %r = scatter_add(%a, %i) {size = 4}"},
	{"pick", "%a = param(\"a\") {init = \"normal\"} : f64[2,3,5] %i = input(\"i\") {range = 5} "
		 ": i32[2,3] %r = pick(%a, %i)"},
	{"put", "%a = param(\"a\") {init = \"normal\"} : f64[2,3] %i = input(\"i\") {range = 5} : "
		"i32[2,3] %r = put(%a, %i) {size = 5}"},
	{"barrier", "%a = param(\"a\") {init = \"normal\"} : f64[2,3] %b = param(\"b\") {init = "
		    "\"normal\", seed = 1} : f64[3] %e = exp(%a) %e1, %b1 = barrier(%e, %b) %m = "
		    "mul(%e1, %b1) %r = add(%m, %e)"},
	{"sort", "%a = param(\"a\") {init = \"normal\"} : f64[2,3,7] %r, %at = sort(%a)"},
	{"sort", "%a = param(\"a\") {init = \"normal\"} : f64[5,3,2] %r, %at = sort(%a) {dim = 0, "
		 "descending = true}"},
	{"topk", "%a = param(\"a\") {init = \"normal\"} : f64[2,3,7] %r, %at = topk(%a) {k = 3}"},
	{"topk", "%a = param(\"a\") {init = \"normal\"} : f64[3,6,2] %r, %at = topk(%a) {k = 2, "
		 "dim = "
		 "1}"},
};

/* Ops with a floating-point operand that have no gradient: comparisons, the end of gradients, and
 * those that do not read it or take its bits. That of reduce_precision is not the slope, which is
 * 0: it is the gradient of what is rounded. */
static const char *const without_gradient[] = {"eq", "ne", "lt", "le", "gt", "ge", "stop_gradient",
	"is_finite", "is_inf", "is_nan", "bitcast", "argmax", "argmin", "random_uniform",
	"random_normal", "random_bits", "reduce_precision"};

static bool
has_case(const char *op)
{
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		if (strcmp(cases[i].op, op) == 0)
			return true;
	for (size_t i = 0; i < sizeof without_gradient / sizeof *without_gradient; i++)
		if (strcmp(without_gradient[i], op) == 0)
			return true;
	return false;
}

static void
every_op_of_the_table_has_a_case(void **state)
{
	static const struct {
		const char *name, *types;
		unsigned traits;
	} row[] = {
#define OP(name, types, notation, layout, attrs, traits, summary) {#name, types, traits},
#include "ir/ops/ops.def"
#undef OP
	};

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		bool pure = (row[i].traits & TRAIT_PURE) && !(row[i].traits & TRAIT_PARALLEL);
		size_t operands = strcspn(row[i].types, "-");
		if (pure && strcspn(row[i].types, "TNF") < operands && !has_case(row[i].name))
			fail_msg("op %s has no gradient case", row[i].name);
	}
}

static struct ir_module *
parse_case(const void *owner, struct ir_context *ctx, const char *body)
{
	char *lines = talloc_strdup(owner, body);

	for (char *p = lines; (p = strstr(p, " %")); p++) /* a statement a line */
		if (p[-1] != '(' && p[-1] != ',')
			*p = '\n';
	char *text = talloc_asprintf(owner,
		"module @case\nfunc @main() {\n%s\n%%n = call @weighted(%%r)\noutput(\"loss\", "
		"%%n)\noutput(\"r\", %%r)\n}\n"
		"func @weighted(%%r) {\n%%s = cos(%%r)\n%%q = stop_gradient(%%s)\n%%m = mul(%%r, "
		"%%q)\n%%l = sum(%%m)\nreturn(%%l)\n}\n",
		lines);
	struct ir_module *m = parse_module(owner, ctx, "case.dir", text, strlen(text),
		&(struct parse_options){.inline_calls = true});
	if (!m)
		fail_msg("does not parse:\n%s", text);
	return m;
}

static struct ir_module *
run_passes(const void *owner, struct ir_context *ctx, struct ir_module *m, const char *text)
{
	struct pass_manager *pm = pass_manager_create(owner, ctx);
	struct pass_pipeline *p = pass_pipeline_create(owner);

	pm->verify_each = true;
	assert_true(pass_pipeline_parse(p, pm, "pipeline", text));
	assert_true(pass_pipeline_check(p, pm, m));
	assert_int_equal(pass_pipeline_run(p, pm, &m, NULL), PASS_DONE);
	return m;
}

/* The loss weights, cos of the result, are constants to the gradient: freeze them at the values
 * they had. */
static double
loss_with(struct interp *it, const struct tensor *weight)
{
	double sum = 0;

	assert_true(interp_step(it, 0));
	const struct tensor *r = interp_output(it, "r");
	for (int64_t i = 0; i < tensor_elements(r); i++)
		sum += r->data[i].f * weight->data[i].f;
	return sum;
}

static struct tensor *
weights_of(const void *owner, struct interp *it)
{
	assert_true(interp_step(it, 0));
	struct tensor *w = tensor_copy(owner, interp_output(it, "r"));
	for (int64_t i = 0; i < tensor_elements(w); i++)
		w->data[i].f = cos(w->data[i].f);
	return w;
}

static void
check_param(const void *owner, const char *op, struct interp *it, const char *name,
	const struct tensor *gradient)
{
	struct tensor *weight = weights_of(owner, it),
		      *w = tensor_copy(owner, interp_persistent(it, name));
	double worst = 0, scale = 1e-3;

	assert_non_null(gradient);
	for (int64_t i = 0; i < tensor_elements(w); i++) {
		double x = w->data[i].f;
		w->data[i].f = x + difference_step;
		assert_true(interp_set_persistent(it, name, w));
		double up = loss_with(it, weight);
		w->data[i].f = x - difference_step;
		assert_true(interp_set_persistent(it, name, w));
		double quotient = (up - loss_with(it, weight)) / (2 * difference_step);
		w->data[i].f = x;
		worst = fmax(worst, fabs(quotient - gradient->data[i].f));
		scale = fmax(scale, fabs(quotient));
	}
	assert_true(interp_set_persistent(it, name, w));
	if (!(worst <= tolerance * scale))
		fail_msg("%s: gradient of %s is off by %g where the largest is %g", op, name, worst,
			scale);
}

static void
gradients_are_finite_differences(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		void *owner = talloc_new(NULL);
		struct ir_context *ctx = ir_context_create(owner);
		struct interp_options o = {.mode = INTERP_MEANING, .f64 = true, .seed = 1};
		struct interp *it = interp_create(owner, parse_case(owner, ctx, cases[i].text), &o);
		struct interp *grad = interp_create(owner,
			run_passes(owner, ctx, parse_case(owner, ctx, cases[i].text), "grad"), &o);
		assert_non_null(it);
		assert_non_null(grad);
		assert_true(interp_step(grad, 0));
		const char *name;
		int n = 0;
		for (; (name = interp_persistent_name(it, n, NULL)); n++)
			check_param(owner, cases[i].op, it, name,
				interp_output(grad, talloc_asprintf(owner, "grad.%s", name)));
		assert_true(n > 0);
		talloc_free(owner);
	}
}

int
main(void)
{
	const struct CMUnitTest test[] = {
		cmocka_unit_test(every_op_of_the_table_has_a_case),
		cmocka_unit_test(gradients_are_finite_differences),
	};

	return cmocka_run_group_tests(test, NULL, NULL);
}
