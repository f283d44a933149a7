/* The reader of MLIR against damaged texts: StableHLO programs of the tests. */
#include "test/fuzz/mutate.h"

static const char *const token[] = {"(", ")", "{", "}", "[", "]", "<", ">", "<{", "}>", "({", "})",
	"%a", "%0#1", "%0:2", "%", "@f", "@\"f\"::@g", "@", "=", ":", ",", "->", "x", "?", "#", "!",
	"^bb0(%x: tensor<f32>):", "^bb1:", "\n", " ", "//", "\"", "\\", "\0", "\xff", "module {",
	"module @m attributes {a = 1 : i32} {",
	"func.func @g(%a: tensor<2xf32>) -> tensor<2xf32> {", "func.func private @h(i1)", "return",
	"stablehlo.return %a : tensor<2xf32>", "%0 = stablehlo.add %a, %a : tensor<2xf32>",
	"\"a.b\"() : () -> ()", "\"a.b\"(%a) ({\n}) {x} : (tensor<2xf32>) -> ()", "dense<",
	"dense<1> : tensor<2xi32>", "dense<[[1, 2], [3]]> : tensor<2x2xi8>",
	"dense<\"0x0000803F\"> : tensor<f32>", "dense<>", "array<i64: 1, 2>", "array<i1: true>",
	"tensor<2x?xf32>", "tensor<", "tensor<4xcomplex<f32>>", "tuple<tensor<2xf32>, i1>",
	"!quant.uniform<i8:f32, 0.5:-2>", "!t = i1\n", "#a = 3\n", "loc(\"x\")", "loc(#loc1)",
	"#loc1 = loc(#loc1)\n", "loc(callsite(\"a\" at \"b\"))", "9223372036854775808",
	"-9223372036854775809", "99999999999999999999", "0x7F800000", "1e999", "-1", "1.5",
	"[0:1:2]", "[1] x [0]", "[b, 0, f]x[0, i, o]->[b, 0, f]", "{a = {b = [1, {}]}}",
	"#stablehlo<precision HIGH>", "#stablehlo.dot<a = [1]>", "#other.thing<[1>", "{\"x\", ?}p1",
	"#sdy.sharding<@m, [{\"x\":(1)2}]>", "<@m, [{}]>", "dims = [0]", "attributes {n}",
	"stablehlo.while(%i = %a) : tensor<2xf32>\n cond {\n} do {\n}",
	"stablehlo.reduce(%a init: %a) applies stablehlo.add across dimensions = [0]",
	"reducer(%p: i1, %q: i1) {\n}", "applies", "across", "sdy.mesh @m = <[\"x\"=2]>", "{-#"};

const struct fuzz_test fuzz_test = {.reader = "mlir",
	.suffix = ".mlir",
	.token = token,
	.ntokens = sizeof token / sizeof *token,
	.least_seeds = 101,
	.mutations = 20000};
