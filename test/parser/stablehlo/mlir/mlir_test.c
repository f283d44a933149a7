/*
 * The reader of MLIR texts: each pretty form against the generic form that it stands for, both
 * written by hand from the specification; errors with their places; all programs of ../Inputs;
 * attributes of the tree by their values; texts that are long, deep, cut off or damaged.
 */
#include "test/file.h"
#include "test/fuzz/mlir_print.h"
#include "test/unit.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MESSAGES = 4000 }; /* bytes of messages that a test keeps */

struct messages {
	char text[MESSAGES];
	size_t n;
	unsigned errors;
};

static void
collect(void *data, const struct diag_message *m)
{
	struct messages *all = data;

	all->errors += m->level == DIAG_ERROR;
	if (all->n < MESSAGES)
		all->n += (size_t)snprintf(all->text + all->n, MESSAGES - all->n, "%u:%u: %s%s\n",
			m->line, m->column, m->level == DIAG_NOTE ? "note: " : "", m->text);
}

static char *
print(const struct mlir_file *f)
{
	char *s = NULL;
	size_t n;
	FILE *out = open_memstream(&s, &n);

	mlir_print(out, f);
	fclose(out);
	char *copy = strdup(s);
	free(s);
	return copy;
}

/* The text as generic form; NULL after errors, which go to `m`. For free(). */
static char *
read_text(const char *text, size_t n, struct messages *m)
{
	struct ir_context *ctx = ir_context_create(NULL);

	*m = (struct messages){.n = 0};
	diag_set_handler(ctx->diag, collect, m);
	struct mlir_file *f = mlir_read(ctx, ctx, "test", text, n);
	char *s = f ? print(f) : NULL;
	assert_true(f ? !m->errors : m->errors > 0);
	talloc_free(ctx);
	return s;
}

/* --- pretty and generic forms --- */

static const struct pair {
	const char *arguments, *pretty, *generic;
} pairs[] = {
	{"%a: tensor<2xf32>, %b: tensor<2xf32>", "%r = stablehlo.add %a, %b : tensor<2xf32>",
		"%r = \"stablehlo.add\"(%a, %b) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>"},
	{"%a: tensor<2xf32>, %b: tensor<2xf32>",
		"%r = stablehlo.add %a, %b {x.y = 1 : i32, z} : (tensor<2xf32>, tensor<2xf32>) -> "
		"tensor<2xf32>",
		"%r = \"stablehlo.add\"(%a, %b) {x.y = 1, z} : (tensor<2xf32>, tensor<2xf32>) -> "
		"tensor<2xf32>"},
	{"", "%r = stablehlo.constant dense<[[1, -2], [0x7, 4]]> : tensor<2x2xi32>",
		"%r = \"stablehlo.constant\"() <{value = dense<[[1, -2], [7, 4]]> : "
		"tensor<2x2xi32>}> : "
		"() -> tensor<2x2xi32>"},
	{"", "%r = stablehlo.constant {a = \"b\"} dense<0xFF800000> : tensor<f32>",
		"%r = \"stablehlo.constant\"() {a = \"b\", value = dense<0xFF800000> : "
		"tensor<f32>} : () "
		"-> tensor<f32>"},
	{"", "%r = stablehlo.iota dim = 1 : tensor<2x3xi32>",
		"%r = \"stablehlo.iota\"() <{iota_dimension = 1 : i64}> : () -> tensor<2x3xi32>"},
	{"%a: tensor<2xi64>",
		"%r = stablehlo.dynamic_iota %a, dim = 0 : (tensor<2xi64>) -> tensor<3x4xi64>",
		"%r = \"stablehlo.dynamic_iota\"(%a) <{iota_dimension = 0 : i64}> : "
		"(tensor<2xi64>) -> "
		"tensor<3x4xi64>"},
	{"", "%r = stablehlo.replica_id : tensor<ui32>",
		"%r = \"stablehlo.replica_id\"() : () -> tensor<ui32>"},
	{"%a: !stablehlo.token", "%r = stablehlo.after_all %a, %a : !stablehlo.token",
		"%r = \"stablehlo.after_all\"(%a, %a) : (!stablehlo.token, !stablehlo.token) -> "
		"!stablehlo.token"},
	{"%a: tensor<f32>, %b: tensor<f32>", "%r = stablehlo.complex %a, %b : tensor<complex<f32>>",
		"%r = \"stablehlo.complex\"(%a, %b) : (tensor<f32>, tensor<f32>) -> "
		"tensor<complex<f32>>"},
	{"%a: tensor<f64>", "%r = stablehlo.reduce_precision %a, format = e5m10 : tensor<f64>",
		"%r = \"stablehlo.reduce_precision\"(%a) <{exponent_bits = 5 : i32, mantissa_bits "
		"= 10 : "
		"i32}> : (tensor<f64>) -> tensor<f64>"},
	{"%a: tensor<4xf32>, %b: tensor<4xf32>",
		"%r = stablehlo.compare  LT, %a, %b,  FLOAT : (tensor<4xf32>, tensor<4xf32>) -> "
		"tensor<4xi1>",
		"%r = \"stablehlo.compare\"(%a, %b) <{comparison_direction = "
		"#stablehlo<comparison_direction LT>, compare_type = #stablehlo<comparison_type "
		"FLOAT>}> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>"},
	{"%p: tensor<4xi1>, %a: tensor<4xf32>, %b: tensor<4xf32>",
		"%r = stablehlo.select %p, %a, %b : tensor<4xi1>, tensor<4xf32>",
		"%r = \"stablehlo.select\"(%p, %a, %b) : (tensor<4xi1>, tensor<4xf32>, "
		"tensor<4xf32>) -> "
		"tensor<4xf32>"},
	{"%a: tensor<4xf32>, %b: tensor<f32>",
		"%r:2 = stablehlo.optimization_barrier %a, %b : tensor<4xf32>, tensor<f32>",
		"%r:2 = \"stablehlo.optimization_barrier\"(%a, %b) : (tensor<4xf32>, tensor<f32>) "
		"-> "
		"(tensor<4xf32>, tensor<f32>)"},
	{"%a: tensor<3xf32>",
		"%r = stablehlo.broadcast_in_dim %a, dims = [1] : (tensor<3xf32>) -> "
		"tensor<2x3xf32>",
		"%r = \"stablehlo.broadcast_in_dim\"(%a) <{broadcast_dimensions = array<i64: 1>}> "
		": "
		"(tensor<3xf32>) -> tensor<2x3xf32>"},
	{"%a: tensor<3xf32>, %s: tensor<2xi64>",
		"%r = stablehlo.dynamic_broadcast_in_dim %a, %s, dims = [1] "
		"{known_expanding_dimensions "
		"= array<i64: 0>} : (tensor<3xf32>, tensor<2xi64>) -> tensor<2x3xf32>",
		"%r = \"stablehlo.dynamic_broadcast_in_dim\"(%a, %s) {broadcast_dimensions = "
		"array<i64: "
		"1>, known_expanding_dimensions = array<i64: 0>} : (tensor<3xf32>, tensor<2xi64>) "
		"-> "
		"tensor<2x3xf32>"},
	{"%a: tensor<2x3xf32>",
		"%r = stablehlo.transpose %a, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>",
		"%r = \"stablehlo.transpose\"(%a) <{permutation = array<i64: 1, 0>}> : "
		"(tensor<2x3xf32>) -> tensor<3x2xf32>"},
	{"%a: tensor<2x3xf32>", "%r = stablehlo.reverse %a, dims = [0, 1] : tensor<2x3xf32>",
		"%r = \"stablehlo.reverse\"(%a) <{dimensions = array<i64: 0, 1>}> : "
		"(tensor<2x3xf32>) -> "
		"tensor<2x3xf32>"},
	{"%a: tensor<4x9xf32>",
		"%r = stablehlo.slice %a [1:3, 0:9:4] : (tensor<4x9xf32>) -> tensor<2x3xf32>",
		"%r = \"stablehlo.slice\"(%a) <{start_indices = array<i64: 1, 0>, limit_indices = "
		"array<i64: 3, 9>, strides = array<i64: 1, 4>}> : (tensor<4x9xf32>) -> "
		"tensor<2x3xf32>"},
	{"%a: tensor<f32>", "%r = stablehlo.slice %a [] : (tensor<f32>) -> tensor<f32>",
		"%r = \"stablehlo.slice\"(%a) {start_indices = array<i64>, limit_indices = "
		"array<i64>, "
		"strides = array<i64>} : (tensor<f32>) -> tensor<f32>"},
	{"%a: tensor<4x9xf32>, %i: tensor<i32>",
		"%r = stablehlo.dynamic_slice %a, %i, %i, sizes = [1, 9] : (tensor<4x9xf32>, "
		"tensor<i32>, tensor<i32>) -> tensor<1x9xf32>",
		"%r = \"stablehlo.dynamic_slice\"(%a, %i, %i) {slice_sizes = array<i64: 1, 9>} : "
		"(tensor<4x9xf32>, tensor<i32>, tensor<i32>) -> tensor<1x9xf32>"},
	{"%a: tensor<2xf32>, %z: tensor<f32>",
		"%r = stablehlo.pad %a, %z, low = [1], high = [-1], interior = [2] : "
		"(tensor<2xf32>, "
		"tensor<f32>) -> tensor<4xf32>",
		"%r = \"stablehlo.pad\"(%a, %z) {edge_padding_low = array<i64: 1>, "
		"edge_padding_high = "
		"array<i64: -1>, interior_padding = array<i64: 2>} : (tensor<2xf32>, tensor<f32>) "
		"-> "
		"tensor<4xf32>"},
	{"%a: tensor<2xf32>",
		"%r = stablehlo.concatenate %a, %a, dim = 0 : (tensor<2xf32>, tensor<2xf32>) -> "
		"tensor<4xf32>",
		"%r = \"stablehlo.concatenate\"(%a, %a) {dimension = 0 : i64} : (tensor<2xf32>, "
		"tensor<2xf32>) -> tensor<4xf32>"},
	{"%a: tensor<2x3xi64>",
		"%r = stablehlo.get_dimension_size %a, dim = 1 : (tensor<2x3xi64>) -> tensor<i32>",
		"%r = \"stablehlo.get_dimension_size\"(%a) {dimension = 1 : i64} : "
		"(tensor<2x3xi64>) -> "
		"tensor<i32>"},
	{"%a: tensor<5x2x3xf32>, %b: tensor<5x3x4xf32>",
		"%r = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = "
		"[2] x "
		"[1], precision = [DEFAULT, HIGHEST] : (tensor<5x2x3xf32>, tensor<5x3x4xf32>) -> "
		"tensor<5x2x4xf32>",
		"%r = \"stablehlo.dot_general\"(%a, %b) {precision_config = [#stablehlo<precision "
		"DEFAULT>, #stablehlo<precision HIGHEST>], dot_dimension_numbers = "
		"#stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], "
		"lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>} : "
		"(tensor<5x2x3xf32>, tensor<5x3x4xf32>) -> tensor<5x2x4xf32>"},
	{"%a: tensor<2x3xf32>, %b: tensor<3x4xf32>",
		"%r = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : "
		"(tensor<2x3xf32>, "
		"tensor<3x4xf32>) -> tensor<2x4xf32>",
		"%r = \"stablehlo.dot_general\"(%a, %b) {dot_dimension_numbers = "
		"#stablehlo.dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], "
		"lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : "
		"(tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>"},
	{"%a: tensor<2x3xf32>, %b: tensor<3x4xf32>",
		"%r = stablehlo.dot %a, %b, precision = [HIGH, HIGH] : (tensor<2x3xf32>, "
		"tensor<3x4xf32>) -> tensor<2x4xf32>",
		"%r = \"stablehlo.dot\"(%a, %b) {precision_config = [#stablehlo<precision HIGH>, "
		"#stablehlo<precision HIGH>]} : (tensor<2x3xf32>, tensor<3x4xf32>) -> "
		"tensor<2x4xf32>"},
	{"%a: tensor<1x8x8x3xf32>, %b: tensor<3x3x3x4xf32>",
		"%r = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, "
		"0, 1, "
		"f], window = {stride = [2, 1], pad = [[0, 1], [1, 1]], lhs_dilate = [1, 1], "
		"rhs_dilate "
		"= [1, 2], reverse = [false, true]} {batch_group_count = 1 : i64, "
		"feature_group_count = "
		"1 : i64} : (tensor<1x8x8x3xf32>, tensor<3x3x3x4xf32>) -> tensor<1x4x6x4xf32>",
		"%r = \"stablehlo.convolution\"(%a, %b) {dimension_numbers = #stablehlo.conv<[b, "
		"0, 1, "
		"f]x[0, 1, i, o]->[b, 0, 1, f]>, batch_group_count = 1 : i64, feature_group_count "
		"= 1 : "
		"i64, window_strides = array<i64: 2, 1>, padding = dense<[[0, 1], [1, 1]]> : "
		"tensor<2x2xi64>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, "
		"2>, "
		"window_reversal = array<i1: false, true>} : (tensor<1x8x8x3xf32>, "
		"tensor<3x3x3x4xf32>) -> tensor<1x4x6x4xf32>"},
	{"%a: tensor<1x8x3xf32>, %b: tensor<3x3x4xf32>",
		"%r = \"stablehlo.convolution\"(%a, %b) {dimension_numbers = #stablehlo.conv<[b, "
		"0, "
		"f]x[0, i, o]->[b, 0, f]>} : (tensor<1x8x3xf32>, tensor<3x3x4xf32>) -> "
		"tensor<1x6x4xf32>",
		"%r = \"stablehlo.convolution\"(%a, %b) {dimension_numbers = #stablehlo.conv<raw "
		"input_batch_dimension = 0, input_feature_dimension = 2, input_spatial_dimensions "
		"= [1], "
		"kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 2, "
		"kernel_spatial_dimensions = [0], output_batch_dimension = 0, "
		"output_feature_dimension = "
		"2, output_spatial_dimensions = [1]>} : (tensor<1x8x3xf32>, tensor<3x3x4xf32>) -> "
		"tensor<1x6x4xf32>"},
	{"%a: tensor<2xcomplex<f64>>",
		"%r = stablehlo.fft %a, type = FFT, length = [2] : (tensor<2xcomplex<f64>>) -> "
		"tensor<2xcomplex<f64>>",
		"%r = \"stablehlo.fft\"(%a) {fft_type = #stablehlo<fft_type FFT>, fft_length = "
		"array<i64: "
		"2>} : (tensor<2xcomplex<f64>>) -> tensor<2xcomplex<f64>>"},
	{"%a: tensor<2x2xf64>", "%r = stablehlo.cholesky %a, lower = true : tensor<2x2xf64>",
		"%r = \"stablehlo.cholesky\"(%a) {lower = true} : (tensor<2x2xf64>) -> "
		"tensor<2x2xf64>"},
	{"%a: tensor<f32>, %s: tensor<1xi64>",
		"%r = stablehlo.rng %a, %a, %s, distribution =  UNIFORM : (tensor<f32>, "
		"tensor<f32>, "
		"tensor<1xi64>) -> tensor<4xf32>",
		"%r = \"stablehlo.rng\"(%a, %a, %s) {rng_distribution = "
		"#stablehlo<rng_distribution "
		"UNIFORM>} : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<4xf32>"},
	{"%a: tensor<2xui64>",
		"%r, %s = stablehlo.rng_bit_generator %a, algorithm =  THREE_FRY : "
		"(tensor<2xui64>) -> "
		"(tensor<2xui64>, tensor<4xui32>)",
		"%r, %s = \"stablehlo.rng_bit_generator\"(%a) {rng_algorithm = "
		"#stablehlo<rng_algorithm "
		"THREE_FRY>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)"},
	{"%a: tensor<2xf64>, %b: tensor<i64>",
		"%t = stablehlo.tuple %a, %b : tuple<tensor<2xf64>, tensor<i64>>\n  %r = "
		"stablehlo.get_tuple_element %t[1] : (tuple<tensor<2xf64>, tensor<i64>>) -> "
		"tensor<i64>",
		"%t = \"stablehlo.tuple\"(%a, %b) : (tensor<2xf64>, tensor<i64>) -> "
		"tuple<tensor<2xf64>, "
		"tensor<i64>>\n  %r = \"stablehlo.get_tuple_element\"(%t) {index = 1 : i32} : "
		"(tuple<tensor<2xf64>, tensor<i64>>) -> tensor<i64>"},
	{"%a: tensor<2xf64>",
		"%r = stablehlo.custom_call @Sharding(%a) {backend_config = \"\", mhlo.sharding = "
		"\"{replicated}\"} : (tensor<2xf64>) -> tensor<2xf64>",
		"%r = \"stablehlo.custom_call\"(%a) {call_target_name = \"Sharding\", "
		"backend_config "
		"= \"\", "
		"mhlo.sharding = \"{replicated}\"} : (tensor<2xf64>) -> tensor<2xf64>"},
	{"%a: tensor<2xf64>",
		"%r = stablehlo.composite \"my.op\" %a {composite_attributes = {n = 2 : i64}, "
		"decomposition = @impl} : (tensor<2xf64>) -> tensor<2xf64>",
		"%r = \"stablehlo.composite\"(%a) {name = \"my.op\", composite_attributes = {n = 2 "
		": "
		"i64}, decomposition = @impl} : (tensor<2xf64>) -> tensor<2xf64>"},
	{"%a: tensor<2xf64>", "%r:2 = call @g(%a) : (tensor<2xf64>) -> (tensor<f64>, tensor<i1>)",
		"%r:2 = \"func.call\"(%a) {callee = @g} : (tensor<2xf64>) -> (tensor<f64>, "
		"tensor<i1>)"},
	{"", "func.call @g() : () -> ()", "\"func.call\"() {callee = @g} : () -> ()"},
	{"%a: tensor<8xf32>", "%r = chlo.erf %a : tensor<8xf32> -> tensor<8xf32>",
		"%r = \"chlo.erf\"(%a) : (tensor<8xf32>) -> tensor<8xf32>"},
	{"%a: tensor<8xf32>",
		"%r, %i = chlo.top_k(%a, k = 2) : tensor<8xf32> -> (tensor<2xf32>, tensor<2xi32>)",
		"%r, %i = \"chlo.top_k\"(%a) {k = 2 : i64} : (tensor<8xf32>) -> (tensor<2xf32>, "
		"tensor<2xi32>)"},
	{"%a: tensor<8xf32>",
		"%r = stablehlo.newer %a, word = 3 : (tensor<8xf32>) -> tensor<8xf32>",
		"%r = \"stablehlo.newer\"(%a) {word = 3} : (tensor<8xf32>) -> tensor<8xf32>"},
	{"%a: tensor<8xf32>, %z: tensor<f32>",
		"%r = stablehlo.reduce(%a init: %z) applies stablehlo.maximum across dimensions = "
		"[0] : "
		"(tensor<8xf32>, tensor<f32>) -> tensor<f32>",
		"%r = \"stablehlo.reduce\"(%a, %z) <{dimensions = array<i64: 0>}> ({\n"
		"    ^bb0(%applied.lhs: tensor<f32>, %applied.rhs: tensor<f32>):\n"
		"      %applied = stablehlo.maximum %applied.lhs, %applied.rhs : tensor<f32>\n"
		"      stablehlo.return %applied : tensor<f32>\n"
		"  }) : (tensor<8xf32>, tensor<f32>) -> tensor<f32>"},
	{"%a: tensor<8xf32>, %b: tensor<8xi32>, %y: tensor<f32>, %z: tensor<i32>",
		"%r:2 = stablehlo.reduce(%a init: %y), (%b init: %z) across dimensions = [0] : "
		"(tensor<8xf32>, tensor<8xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, "
		"tensor<i32>)\n"
		"   reducer(%p: tensor<f32>, %q: tensor<f32>) (%s: tensor<i32>, %t: tensor<i32>)  "
		"{\n"
		"    %u = stablehlo.add %p, %q : tensor<f32>\n"
		"    %v = stablehlo.add %s, %t : tensor<i32>\n"
		"    stablehlo.return %u, %v : tensor<f32>, tensor<i32>\n  }",
		"%r:2 = \"stablehlo.reduce\"(%a, %b, %y, %z) ({\n"
		"    ^bb0(%p: tensor<f32>, %s: tensor<i32>, %q: tensor<f32>, %t: tensor<i32>):\n"
		"    %u = stablehlo.add %p, %q : tensor<f32>\n"
		"    %v = stablehlo.add %s, %t : tensor<i32>\n"
		"    stablehlo.return %u, %v : tensor<f32>, tensor<i32>\n  }) {dimensions = "
		"array<i64: "
		"0>} : (tensor<8xf32>, tensor<8xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, "
		"tensor<i32>)"},
	{"%a: tensor<i32>, %b: tensor<f32>",
		"%r:2 = stablehlo.while(%i = %a, %x = %b) : tensor<i32>, tensor<f32> attributes {n "
		"= 3}\n"
		"   cond {\n    %c = stablehlo.compare LT, %i, %a : (tensor<i32>, tensor<i32>) -> "
		"tensor<i1>\n    stablehlo.return %c : tensor<i1>\n  } do {\n    %c = "
		"stablehlo.add %x, "
		"%x : tensor<f32>\n    stablehlo.return %i, %c : tensor<i32>, tensor<f32>\n  }",
		"%r:2 = \"stablehlo.while\"(%a, %b) ({\n  ^bb0(%i: tensor<i32>, %x: tensor<f32>):\n"
		"    %c = stablehlo.compare LT, %i, %a : (tensor<i32>, tensor<i32>) -> "
		"tensor<i1>\n    stablehlo.return %c : tensor<i1>\n  }, {\n  ^bb0(%i: tensor<i32>, "
		"%x: "
		"tensor<f32>):\n    %c = stablehlo.add %x, %x : tensor<f32>\n    stablehlo.return "
		"%i, %c "
		": tensor<i32>, tensor<f32>\n  }) {n = 3} : (tensor<i32>, tensor<f32>) -> "
		"(tensor<i32>, "
		"tensor<f32>)"},
	{"%a: tensor<8xf32>",
		"%r = sdy.sharding_constraint %a <@mesh, [{\"x\", ?}]> : tensor<8xf32>",
		"%r = \"sdy.sharding_constraint\"(%a) {sharding = {mesh = @mesh, dims = [{axes = "
		"[\"x\"], open = true, priority = 0}], replicated = []}} : (tensor<8xf32>) -> "
		"tensor<8xf32>"},
	{"%a: tensor<8xf32>",
		"%r = sdy.manual_computation(%a) in_shardings=[<@mesh, [{\"x\"}]>] "
		"out_shardings=[<@mesh, [{}]>] manual_axes={\"x\"} (%b: tensor<4xf32>) {\n"
		"    sdy.return %b : tensor<4xf32>\n  } : (tensor<8xf32>) -> tensor<4xf32>",
		"%r = \"sdy.manual_computation\"(%a) ({\n  ^bb0(%b: tensor<4xf32>):\n"
		"    \"sdy.return\"(%b) : (tensor<4xf32>) -> ()\n  }) {in_shardings = [{mesh = "
		"@mesh, "
		"dims = [{axes = [\"x\"], open = false, priority = 0}], replicated = []}], "
		"out_shardings "
		"= [{mesh = @mesh, dims = [{axes = [], open = false, priority = 0}], replicated = "
		"[]}], "
		"manual_axes = [\"x\"]} : (tensor<8xf32>) -> tensor<4xf32>"},
	{"%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{\"x\":(1)2, \"y\"}p3], "
	 "replicated={\"z\"}>}",
		"",
		"\"test.is\"() {a = {mesh = @m, dims = [{axes = [{name = \"x\", pre_size = 1, size "
		"= 2}, "
		"\"y\"], open = false, priority = 3}], replicated = [\"z\"]}} : () -> ()"},
	{"%a: tensor<2xf32>",
		"check.expect_almost_eq_const %a, dense<5.0> : tensor<2xf32> {tolerance = "
		"0.5 : f64}",
		"\"check.expect_almost_eq_const\"(%a) {value = dense<5.0> : tensor<2xf32>, "
		"tolerance = "
		"0.5 : f64} : (tensor<2xf32>) -> ()"},
	{"%a: tensor<f16>",
		"check.expect_close %a, %a, max_ulp_difference = 3 : tensor<f16>, "
		"tensor<f16>",
		"\"check.expect_close\"(%a, %a) {max_ulp_difference = 3 : i64} : (tensor<f16>, "
		"tensor<f16>) -> ()"},
	{"%a: tensor<f16>", "%r = interpreter.probe %a, probe_id = \"p\" : tensor<f16>",
		"%r = \"interpreter.probe\"(%a) {probe_id = \"p\"} : (tensor<f16>) -> tensor<f16>"},
};

static char *
read_function(const char *arguments, const char *body, bool generic)
{
	char *text = talloc_asprintf(NULL, "func.func @f(%s) {\n  %s\n  %s\n}\n", arguments, body,
		generic ? "\"func.return\"() : () -> ()" : "return");
	struct messages m;
	char *s = read_text(text, strlen(text), &m);

	if (!s)
		print_message("%s%s", text, m.text);
	assert_non_null(s);
	talloc_free(text);
	return s;
}

/* The attributes of the only argument against those of an op. */
static void
compare_argument(const struct pair *p)
{
	char *text = talloc_asprintf(
		NULL, "func.func @f(%s) {\n%s\nreturn\n}", p->arguments, p->generic);
	struct ir_context *ctx = ir_context_create(NULL);
	struct mlir_file *f = mlir_read(ctx, ctx, "test", text, strlen(text));

	assert_non_null(f);
	struct mlir_block *b = &f->module->region[0].first->region[0];
	assert_int_equal(b->arg[0].nattrs, 1);
	struct mlir_attr *a = ARENA_NEW(f->arena, struct mlir_attr);
	*a = b->arg[0].attr[0];
	a->name = b->first->attr->name;
	b->first->attr = a;
	char *from_argument = print(f), *from_op = read_function(p->arguments, p->generic, false);
	const char *left = strstr(from_argument, "test.is"), *right = strstr(from_op, "test.is");
	assert_true(left && right);
	assert_string_equal(left, right);
	free(from_argument);
	free(from_op);
	talloc_free(text);
	talloc_free(ctx);
}

static void
pretty_forms_stand_for_generic_ones(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
		const struct pair *p = &pairs[i];
		if (!*p->pretty) {
			compare_argument(p);
			continue;
		}
		char *pretty = read_function(p->arguments, p->pretty, false);
		char *generic = read_function(p->arguments, p->generic, true);
		assert_string_equal(pretty, generic);
		free(pretty);
		free(generic);
	}
}

/* --- what stands in the tree --- */

static struct mlir_file *
read_file_of(struct ir_context *ctx, const char *text)
{
	struct mlir_file *f = mlir_read(ctx, ctx, "test", text, strlen(text));

	assert_non_null(f);
	return f;
}

static const struct mlir_attr *
attr_of(const struct mlir_op *op, const char *name)
{
	const struct mlir_attr *a = mlir_attr_find(op, name);

	assert_non_null(a);
	return a;
}

static void
functions_and_modules(void **state)
{
	struct ir_context *ctx = ir_context_create(NULL);
	struct mlir_file *f = read_file_of(ctx,
		"module @jit_step attributes {mhlo.num_partitions = 8 : i32} {\n"
		"  sdy.mesh @mesh = <[\"x\"=2, \"y\"=4], device_ids=[1, 0]>\n"
		"  func.func public @main(%arg0: tensor<2xf32> {tf.aliasing_output = 0 : i32} "
		"loc(\"params['w']\")) -> (tensor<2xf32> {jax.result_info = \"r\"}, tensor<f32>) "
		"{\n"
		"    %c = stablehlo.constant dense<2.5> : tensor<f32> loc(#loc1)\n"
		"    return %arg0, %c : tensor<2xf32>, tensor<f32>\n  }\n"
		"  func.func private @g(tensor<2xf32>, tensor<?x!quant.uniform<i8:f32, 0.5:-2>>) "
		"-> i1\n"
		"} loc(unknown)\n#loc1 = loc(\"two\"(#loc2))\n#loc2 = loc(\"a.py\":3:4)\n");

	(void)state;
	assert_string_equal(f->module->name, "builtin.module");
	assert_string_equal(attr_of(f->module, "sym_name")->s, "jit_step");
	assert_int_equal(attr_of(f->module, "mhlo.num_partitions")->i, 8);
	const struct mlir_op *mesh = f->module->region[0].first;
	const struct mlir_attr *axes = mlir_item_find(attr_of(mesh, "mesh"), "axes");
	assert_int_equal(axes->n, 2);
	assert_string_equal(mlir_item_find(&axes->item[1], "name")->s, "y");
	assert_int_equal(mlir_item_find(&axes->item[1], "size")->i, 4);
	int64_t ids[4];
	assert_int_equal(
		mlir_attr_ints(mlir_item_find(attr_of(mesh, "mesh"), "device_ids"), ids, 4), 2);
	assert_int_equal(ids[0], 1);

	const struct mlir_op *main = mesh->next;
	assert_string_equal(attr_of(main, "sym_name")->s, "main");
	assert_string_equal(attr_of(main, "sym_visibility")->s, "public");
	assert_int_equal(attr_of(main, "function_type")->type->ninputs, 1);
	assert_int_equal(attr_of(main, "function_type")->type->nitems, 3);
	assert_string_equal(
		mlir_item_find(&attr_of(main, "res_attrs")->item[0], "jax.result_info")->s, "r");
	assert_int_equal(attr_of(main, "res_attrs")->item[1].n, 0);
	const struct mlir_value *arg = &main->region[0].arg[0];
	assert_string_equal(arg->name, "arg0");
	assert_string_equal(arg->debug_name, "params['w']");
	assert_string_equal(arg->attr[0].name, "tf.aliasing_output");
	assert_ptr_equal(arg->block, main->region);
	assert_ptr_equal(main->region->parent, main);
	const struct mlir_op *c = main->region[0].first;
	assert_string_equal(c->debug_name, "two");
	assert_true(attr_of(c, "value")->dense->number[0].f == 2.5);
	assert_ptr_equal(c->next->operand[1], c->result);
	assert_string_equal(c->next->name, "func.return");

	const struct mlir_op *g = main->next;
	assert_int_equal(g->nregions, 0);
	const struct mlir_type *q = attr_of(g, "function_type")->type->item[1];
	assert_int_equal(q->dim[0], MLIR_DYNAMIC);
	assert_int_equal(q->dtype, -1);
	assert_string_equal(q->element, "!quant.uniform<i8:f32, 0.5:-2>");
	talloc_free(ctx);
}

/* dense<text> : tensor<type>; NULL after an error. */
static const struct mlir_dense *
dense(struct ir_context *ctx, const char *elements, const char *type)
{
	char *text = talloc_asprintf(
		ctx, "%%0 = stablehlo.constant dense<%s> : tensor<%s>", elements, type);
	struct mlir_file *f = mlir_read(ctx, ctx, "test", text, strlen(text));

	return f ? attr_of(f->module->region[0].first, "value")->dense : NULL;
}

static void
elements_of_dense(void **state)
{
	struct ir_context *ctx = ir_context_create(NULL);
	const struct mlir_dense *d = dense(ctx, "[[1, 2], [-3, 4]]", "2x2xi8");

	(void)state;
	assert_int_equal(d->n, 4);
	assert_false(d->splat || d->is_float || d->complex);
	assert_int_equal(d->number[2].i, -3);
	d = dense(ctx, "18446744073709551615", "3xui64");
	assert_true(d->splat && d->n == 1);
	assert_true((uint64_t)d->number[0].i == UINT64_MAX);
	d = dense(ctx, "-9223372036854775808", "i64");
	assert_true(d->number[0].i == INT64_MIN);
	d = dense(ctx, "[true, false]", "2xi1");
	assert_true(d->number[0].i == 1 && d->number[1].i == 0);
	d = dense(ctx, "", "0x3xf32");
	assert_int_equal(d->n, 0);
	d = dense(ctx, "[[], []]", "2x0xf32");
	assert_int_equal(d->n, 0);
	d = dense(ctx, "0xFF800000", "f32");
	assert_true(d->number[0].f == -INFINITY);
	d = dense(ctx, "[0x7FFF, 0x3C00, 0x0001]", "3xf16");
	assert_true(
		isnan(d->number[0].f) && d->number[1].f == 1 && d->number[2].f == ldexp(1, -24));
	d = dense(ctx, "0x3F80", "bf16");
	assert_true(d->number[0].f == 1);
	d = dense(ctx, "0x8000000000000001", "f64");
	assert_true(d->number[0].f == -ldexp(1, -1074));
	d = dense(ctx, "(1.5, -2)", "2xcomplex<f32>");
	assert_true(d->complex && d->splat && d->n == 2 && d->number[1].f == -2);
	d = dense(ctx, "[(1.0, 2.0), (3.0, 4.0)]", "2xcomplex<f64>");
	assert_true(d->complex && d->n == 4 && d->number[2].f == 3);
	talloc_free(ctx);
}

/* Bytes of elements, least significant first. */
static void
blobs(void **state)
{
	struct ir_context *ctx = ir_context_create(NULL);
	const struct mlir_dense *d = dense(ctx, "\"0x0000803F000000C0\"", "2xf32");

	(void)state;
	assert_true(d->n == 2 && d->number[0].f == 1 && d->number[1].f == -2);
	d = dense(ctx, "\"0xFFFFFFFF01000000\"", "2x1xi32");
	assert_true(d->number[0].i == -1 && d->number[1].i == 1);
	d = dense(ctx, "\"0xFFFFFFFF01000000\"", "2xui32");
	assert_true(d->number[0].i == UINT32_MAX);
	d = dense(ctx, "\"0x0000803F\"", "100xf32");
	assert_true(d->splat && d->n == 1 && d->number[0].f == 1);
	d = dense(ctx, "\"0x0500\"", "10xi1"); /* packed: 1 0 1 0 ... */
	assert_true(
		d->n == 10 && d->number[0].i == 1 && d->number[1].i == 0 && d->number[2].i == 1);
	talloc_free(ctx);
}

static void
element_types_are_ours(void **state)
{
	static const struct {
		const char *text, *ours;
	} types[] = {{"i1", "bool"}, {"ui8", "u8"}, {"i8", "i8"}, {"si32", "i32"}, {"i64", "i64"},
		{"f16", "f16"}, {"bf16", "bf16"}, {"f32", "f32"}, {"f64", "f64"}, {"ui64", "u64"},
		{"i4", "i8"}, {"i3", NULL}, {"f8E4M3FN", "f32"}, {"f8E4M3FNUZ", "f32"},
		{"f6E2M3FN", NULL}, {"complex<f32>", NULL}, {"index", NULL}};
	struct ir_context *ctx = ir_context_create(NULL);

	(void)state;
	for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
		char *text =
			talloc_asprintf(ctx, "%%0 = \"a.b\"() : () -> tensor<1x%s>", types[i].text);
		const struct mlir_type *t =
			read_file_of(ctx, text)->module->region->first->result->type;
		assert_int_equal(t->rank, 1);
		assert_string_equal(t->element, types[i].text);
		assert_int_equal(t->dtype, types[i].ours ? ir_dtype_find(types[i].ours) : -1);
	}
	talloc_free(ctx);
}

static void
texts_are_told_apart(void **state)
{
	static const char *const mlir[] = {"module {", "module @m {",
		"// c\nmodule @m attributes {}", "#loc1 = loc(\"a\")\nmodule", "func.func @f()",
		"\"builtin.module\"() ({", "module @SyncTensorsGraph.33 {"};
	static const char *const dir[] = {"module @m\nfunc @main() {", "mesh [dp = 2]", "",
		"// module {\nmodule @m", "let B = 3\nmodule @m\n{"};

	(void)state;
	for (size_t i = 0; i < sizeof mlir / sizeof *mlir; i++)
		assert_true(mlir_is_text(mlir[i], strlen(mlir[i])));
	for (size_t i = 0; i < sizeof dir / sizeof *dir; i++)
		assert_false(mlir_is_text(dir[i], strlen(dir[i])));
}

/* --- all programs of ../Inputs --- */

/* Each program is read; its generic text too, and that is the same again. Returns how many. */
static int
read_programs(const char *path)
{
	size_t n;
	char *text = read_file(NULL, path, &n), *part = text;
	int programs = 0;

	assert_non_null(text);
	while (part) {
		char *end = strstr(part, "\n// -----");
		struct messages m;
		char *once = read_text(part, end ? (size_t)(end - part) : strlen(part), &m);
		if (!once)
			print_message("%s\n%s", path, m.text);
		assert_non_null(once);
		char *twice = read_text(once, strlen(once), &m);
		assert_string_equal(once, twice);
		programs += strstr(once, "func.func") != NULL;
		free(once);
		free(twice);
		part = end ? strchr(end + 1, '\n') : NULL;
	}
	talloc_free(text);
	return programs;
}

static int
read_folder(const char *name)
{
	char *folder = talloc_asprintf(NULL, TEST_SOURCE_DIR "/parser/stablehlo/Inputs/%s", name);
	DIR *d = opendir(folder);
	assert_non_null(d);
	int programs = 0;
	for (struct dirent *e; (e = readdir(d));) {
		if (e->d_name[0] == '.')
			continue;
		char *path = talloc_asprintf(NULL, "%s/%s", folder, e->d_name);
		programs += read_programs(path);
		talloc_free(path);
	}
	closedir(d);
	talloc_free(folder);
	return programs;
}

static void
programs_of_the_interpreter(void **state)
{
	(void)state;
	assert_int_equal(read_folder("interpret"), 522);
}

static void
training_steps(void **state)
{
	(void)state;
	assert_int_equal(read_folder("steps"), 19);
}

/* --- errors: each with its line and column, and no other --- */

static const struct wrong {
	const char *text, *messages;
} wrongs[] = {
	/* names */
	{"func.func @f() {\n  %0 = \"a.b\"(%a) : (i1) -> i1\n  return %0 : i1\n}",
		"2:14: %a is not defined\n"},
	{"func.func @f(%a: i1) {\n  %a = \"a.b\"() : () -> i1\n  return\n}",
		"2:3: %a is already defined\n1:14: note: here\n"},
	{"func.func @f() {\n  %r:2 = \"a.b\"() : () -> (i1, i1)\n  \"a.b\"(%r#2) : (i1) -> ()\n  "
	 "return\n}",
		"3:9: %r has 2 results, numbered from 0, so there is no #2\n"},
	{"%a = \"a.b\"() : () -> i1\nfunc.func @f() {\n  return %a : i1\n}",
		"3:10: %a is defined outside the function and cannot be used in it\n"},
	{"\"a.b\"() ({\n  %x = \"a.b\"() : () -> i1\n}, {\n  \"a.b\"(%x) : (i1) -> ()\n}) : () -> "
	 "()",
		"4:9: %x is not defined\n"},
	/* counts and types */
	{"%a = \"a.b\"() : () -> i1\n\"a.b\"(%a) : (i8) -> ()",
		"2:7: %a is used as i8, but is i1\n1:1: note: defined here\n"},
	{"%a = \"a.b\"() : () -> i1\n\"a.b\"(%a, %a) : (i1) -> ()",
		"2:17: a.b has 2 operands, but its signature has 1\n"},
	{"%a, %b = \"a.b\"() : () -> i1", "1:1: a.b has 1 result, but 2 are named\n"},
	{"%a:3 = \"a.b\"() : () -> (i1, i1)", "1:1: a.b has 2 results, but 3 are named\n"},
	{"%a = \"a.b\"() : () -> tensor<2xi1>\n%b = stablehlo.add %a, %a : tensor<3xi1>",
		"2:20: %a is used as tensor<3xi1>, but is tensor<2xi1>\n1:1: note: defined here\n"
		"2:24: %a is used as tensor<3xi1>, but is tensor<2xi1>\n1:1: note: defined here\n"},
	{"%a = \"a.b\"() : () -> tensor<2xi1>\n%b = stablehlo.add %a : tensor<2xi1>",
		"2:6: stablehlo.add: expected 2 operands, found 1\n"},
	{"%a = \"a.b\"() : () -> i1\n%b:2 = stablehlo.while(%i = %a, %j = %a) : i1 cond {\n"
	 "  stablehlo.return %i : i1\n} do {\n  stablehlo.return %i, %j : i1, i1\n}",
		"2:44: expected 2 types, one for each argument, found 1\n"},
	{"\"a.b\"() : i1", "1:11: expected a type of a function, (operands) -> results\n"},
	/* items of pretty forms */
	{"%a = \"a.b\"() : () -> tensor<2xi1>\n%b = stablehlo.transpose %a, perm = [0] : "
	 "(tensor<2xi1>) -> tensor<2xi1>",
		"2:30: stablehlo.transpose has no item 'perm = [0]'; it has 'dims = ...'\n"},
	{"%a = stablehlo.iota : tensor<2xi32>", "1:6: stablehlo.iota: expected 'dim = ...'\n"},
	{"%a = stablehlo.constant 3 : tensor<i32>",
		"1:25: stablehlo.constant has no item '3'; it has dense<...>\n"},
	{"%a = \"a.b\"() : () -> tensor<2xi1>\n%b = stablehlo.slice %a [0] : (tensor<2xi1>) -> "
	 "tensor<1xi1>",
		"2:26: expected start:limit or start:limit:stride\n"},
	{"%a = \"a.b\"() : () -> tensor<f32>\n%b = stablehlo.reduce_precision %a, format = m5e2 : "
	 "tensor<f32>",
		"2:46: expected bits of exponent and mantissa, e5m10\n"},
	{"%a = \"a.b\"() : () -> tensor<2x2xi1>\n%b = stablehlo.dot_general %a, %a, "
	 "contracting_dims = "
	 "[0] : (tensor<2x2xi1>, tensor<2x2xi1>) -> tensor<2x2xi1>",
		"2:55: expected dims of both sides, [1] x [0]\n"},
	{"\"a.b\"() {n = #stablehlo.conv<[b, 0, 2, f]x[0, 1, i, o]->[b, 0, 1, f]>} : () -> ()",
		"1:30: expected b, f and the numbers of the spatial dims, each once\n"},
	{"stablehlo.newer @x, \"y\" : i1",
		"1:17: stablehlo.newer: unknown form; the generic form is "
		"\"stablehlo.newer\"(...)\n"},
	/* types */
	{"%a = \"a.b\"() : () -> tensor<2xq7>", "1:22: expected an element type, found 'q7>'\n"},
	{"%a = \"a.b\"() : () -> tensor<2yf32>",
		"1:22: expected 'x' and an element type after a size, found '2yf32>'\n"},
	{"%a = \"a.b\"() : () -> tensor<>", "1:22: expected an element type, found '>'\n"},
	{"%a = \"a.b\"() : () -> tensor<99999999999999999999xi1>",
		"1:22: expected a size below 2^63, found '99999999999999999999xi1>'\n"},
	{"%a = \"a.b\"() : () -> tensor<4294967296x4294967296xi1>",
		"1:22: expected fewer elements than 2^59, found '>'\n"},
	{"%a = \"a.b\"() : () -> tuple<i1, tensor<2x>>",
		"1:22: expected an element type, found '>>'\n"},
	{"%a = \"a.b\"() : () -> tensor<2xi1\n%b = \"a.b\"() : () -> i1",
		"1:22: the type has no closing bracket\n"},
	/* numbers and elements */
	{"%a = stablehlo.constant dense<[1, 2]> : tensor<3xi32>",
		"1:36: expected 3 items for dim 0 of tensor<3xi32>, found 2\n"},
	{"%a = stablehlo.constant dense<[1, 2, 3]> : tensor<2xi32>",
		"1:39: expected 2 items for dim 0 of tensor<2xi32>, found 3 or more\n"},
	{"%a = stablehlo.constant dense<[[1], 2]> : tensor<2x1xi32>",
		"1:37: expected '[', found '2]'\n"},
	{"%a = stablehlo.constant dense<[1]> : tensor<i32>",
		"1:31: expected one number for a type of rank 0, found '[1]'\n"},
	{"%a = stablehlo.constant dense<1.5> : tensor<i32>",
		"1:31: expected an integer, like the element type, found '1.5'\n"},
	{"%a = stablehlo.constant dense<128> : tensor<i8>",
		"1:31: expected a number that fits in the element type, found '128'\n"},
	{"%a = stablehlo.constant dense<-1> : tensor<ui8>",
		"1:31: expected a number that fits in the element type, found '-1'\n"},
	{"%a = stablehlo.constant dense<0x1FFFF> : tensor<bf16>",
		"1:31: expected as many bits as the element type has, found '0x1FFFF'\n"},
	{"%a = stablehlo.constant dense<true> : tensor<f32>",
		"1:31: expected a number, found 'true'\n"},
	{"%a = stablehlo.constant dense<\"0x00\"> : tensor<2xf32>",
		"1:25: tensor<2xf32> has 8 bytes, but the string has 1\n"},
	{"%a = stablehlo.constant dense<\"0x0g\"> : tensor<2xf32>",
		"1:35: expected hexadecimal digits, found 'g\"'\n"},
	{"%a = stablehlo.constant dense<1> : tensor<?xi32>",
		"1:36: the type of dense<> must be a tensor of known sizes, found tensor<?xi32>\n"},
	{"%a = stablehlo.constant dense_resource<r> : tensor<2xi32>",
		"1:25: dense_resource<> is not supported: only dense<...> holds its elements in "
		"the text\n"},
	{"\"a.b\"() {n = dense<1>} : () -> ()", "1:14: expected ':' and a type after dense<>\n"},
	{"\"a.b\"() {n = 18446744073709551616} : () -> ()",
		"1:14: the number does not fit in 64 bits\n"},
	{"\"a.b\"() {n = array<// i8: 1\n>} : () -> ()",
		"1:14: the element type of array<> must be an integer or a float type, found ''\n"},
	{"\"a.b\"() {n = array<i8: 1, 300>} : () -> ()",
		"1:27: expected a number that fits in the element type, found '300'\n"},
	/* syntax: reading goes on with the next op */
	{"%a = \"a.b\" : i1\n%b = \"a.b\"(%a) : (i1) -> i1\n%c = \"a.b\"(%d) : (i1) -> i1",
		"1:12: expected '(', found ':'\n3:12: %d is not defined\n"},
	{"%a = stablehlo.iota dim = 0\n%b = \"a.b\"() : () -> i1",
		"2:1: expected ':' and types of the op above, found '%b'\n"},
	{"\"a.b\"() {s = \"x} : () -> ()\n\"a.b\"(%a) : (i1) -> ()",
		"1:14: the string has no closing quote on this line\n2:7: %a is not defined\n"},
	{"func.func @f( {\n  %0 = nothing\n}\nfunc.func @g() {\n  \"a.b\"(%a) : (i1) -> ()\n  "
	 "return\n}",
		"1:15: expected a value, a type or ')', found '{'\n5:9: %a is not defined\n"},
	{"func.func @f() {\n  return\n", "3:1: expected '}', found the end of the text\n"
					 "1:16: note: to match this\n"},
	{"func.func @f() {\n  return\n}\n}\n\"a.b\"(%a) : (i1) -> ()",
		"4:1: '}' is not expected here\n5:7: %a is not defined\n"},
	{"\"a.b\"() ({\n^bb0(%x: i1):\n  \"a.b\"() : () -> ()\n^bb1:\n}) : () -> ()",
		"4:1: '^bb1': only regions with a single block are supported\n"},
	{"func.func hidden @f() {\n  return\n}",
		"1:11: expected public or private, found 'hidden'\n"},
	{"\"a.b\"() {n = #undefined} : () -> ()", "1:14: #undefined is not defined\n"},
	{"\"a.b\"() {n = `} : () -> ()", "1:14: unexpected character '`'\n"},
	{"\"a.b\"() \xff : () -> ()", "1:9: unexpected byte 0xff\n"},
};

static void
errors_have_their_places(void **state)
{
	int differ = 0;

	(void)state;
	for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++) {
		struct messages m;
		char *s = read_text(wrongs[i].text, strlen(wrongs[i].text), &m);
		if (!s && !strcmp(m.text, wrongs[i].messages))
			continue;
		print_message(
			"%s\nexpected:\n%sfound:\n%s", wrongs[i].text, wrongs[i].messages, m.text);
		free(s);
		differ++;
	}
	assert_int_equal(differ, 0);
}

/* A zero byte is a byte like another that means nothing; in a comment it does not matter. */
static void
zero_bytes(void **state)
{
	static const char bare[] = "\"a.b\"() \0 : () -> ()",
			  comment[] = "// \0\n\"a.b\"() : () -> ()";
	struct messages m;

	(void)state;
	assert_null(read_text(bare, sizeof bare - 1, &m));
	assert_string_equal(m.text, "1:9: unexpected byte 0x00\n");
	char *s = read_text(comment, sizeof comment - 1, &m);
	assert_non_null(s);
	free(s);
}

/* --- texts that are cut off, deep, long --- */

/* Of a program with most of the grammar each beginning is an error or a whole text. */
static void
beginnings(void **state)
{
	static const char text[] =
		"#loc1 = loc(\"x\")\nmodule @m attributes {a = [1, {b}]} {\n"
		"  sdy.mesh @mesh = <[\"x\"=2]>\n"
		"  func.func public @f(%a: tensor<2xf32> {t.u = 0 : i32} loc(#loc1)) -> "
		"(tensor<f32> "
		"{r = \"s\"}) attributes {z} {\n"
		"    %c = stablehlo.constant dense<0xFF800000> : tensor<f32>\n"
		"    %r = stablehlo.reduce(%a init: %c) applies stablehlo.add across dimensions = "
		"[0] : "
		"(tensor<2xf32>, tensor<f32>) -> tensor<f32>\n"
		"    %w:2 = stablehlo.while(%i = %c, %j = %a) : tensor<f32>, tensor<2xf32> cond {\n"
		"      %k = \"a.b\"() <{n = #stablehlo.dot<l = [1]>}> : () -> tensor<i1>\n"
		"      stablehlo.return %k : tensor<i1>\n    } do {\n"
		"      stablehlo.return %i, %j : tensor<f32>, tensor<2xf32>\n    }\n"
		"    return %w#0 : tensor<f32>\n  }\n}\n";

	(void)state;
	for (size_t n = 0; n < sizeof text; n++) {
		struct messages m;
		char *s = read_text(text, n, &m);
		assert_true(s || m.errors);
		free(s);
	}
}

/* `open` n times, `middle`, `close` n times: read, or one error that says so. */
static void
nested(const char *before, const char *open, size_t n, const char *middle, const char *close,
	const char *behind, const char *message)
{
	size_t nopen = strlen(open), nclose = strlen(close);
	char *text = talloc_size(NULL, n * (nopen + nclose) + 400), *to = stpcpy(text, before);
	struct messages m;

	for (size_t i = 0; i < n; i++)
		to = stpcpy(to, open);
	to = stpcpy(to, middle);
	for (size_t i = 0; i < n; i++)
		to = stpcpy(to, close);
	to = stpcpy(to, behind);
	char *s = read_text(text, (size_t)(to - text), &m);
	assert_true(message ? !s : s != NULL);
	if (message && !strstr(m.text, message))
		print_message("%s", m.text);
	assert_true(!message || strstr(m.text, message));
	free(s);
	talloc_free(text);
}

static void
depth(void **state)
{
	static const char deep[] = "nested too deeply";

	(void)state;
	for (size_t n = 100; n <= 100000; n *= 1000) {
		const char *message = n > MLIR_MAX_DEPTH ? deep : NULL;
		nested("\"a.b\"() {n = ", "[", n, "1", "]", "} : () -> ()", message);
		nested("\"a.b\"() {n = ", "{a = ", n, "1", "}", "} : () -> ()", message);
		nested("", "\"a.b\"() ({\n", n, "", "}) : () -> ()\n", "", message);
		nested("", "module {\n", n, "", "}\n", "", message);
		nested("%a = \"a.b\"() : () -> ", "tuple<", n, "i1", ">", "", message);
	}
	nested("%a = stablehlo.constant dense<", "[", 100000, "1", "]", "> : tensor<1x1xi32>",
		"expected");
	nested("\"a.b\"() : () -> () ", "loc(\"a\"(", 1, "#b", "))", "", NULL);
}

/* Seconds of processor time that a text of n pieces takes. */
static double
seconds(const char *before, const char *piece, size_t n, const char *behind)
{
	size_t length = strlen(piece);
	char *text = talloc_size(NULL, strlen(before) + n * length + strlen(behind) + 1);
	char *to = stpcpy(text, before);
	struct messages m;

	for (size_t i = 0; i < n; i++, to += length)
		memcpy(to, piece, length);
	to = stpcpy(to, behind);
	clock_t start = clock();
	free(read_text(text, (size_t)(to - text), &m));
	double t = (double)(clock() - start) / CLOCKS_PER_SEC;
	talloc_free(text);
	return t;
}

enum {
	LONG_PIECES = SANITIZED ? 1 << 9 : 1 << 13,
	FEWER_PIECES =
		SANITIZED
			? 1 << 7
			: 1 << 10, /* of what looks for its end in some thousand bytes each time */
	LONG_TIMES =
		16, /* more pieces take that much longer, or 256 times as long if it is quadratic */
	LONG_BOUND = 80,
};

static void
grows_with_length(const char *before, const char *piece, const char *behind, size_t n)
{
	double few = seconds(before, piece, n, behind);
	double many = seconds(before, piece, n * LONG_TIMES, behind);

	if (many > LONG_BOUND * (few + 0.001))
		print_message("%s%s: %g s, %g s\n", before, piece, few, many);
	assert_true(many <= LONG_BOUND * (few + 0.001));
}

/* Whatever a line is full of, time grows as its length does. */
static void
long_lines(void **state)
{
	static const struct {
		const char *before, *piece, *behind;
	} lines[] = {{"", "\"a.b\"() : () -> () ", ""}, {"", "\"a.b\"(%a) : (i1) -> () ", ""},
		{"\"a.b\"() {n = [", "1, ", "1]} : () -> ()"}, {"", "}", ""}, {"", "{", ""},
		{"", "%a ", ""}, {"", "x\n", ""}, {"", "dense<", ""}, {"", "dense<[\n", ""},
		{"", "\"a\n", ""}, {"", "\"a", ""}, {"", "tensor<2x", ""}, {"", "#a<", ""},
		{"", "!a<", ""}, {"", "@\"", ""}, {"", "a.b({\n", ""}, {"", "\"a.b\"() ({\n", ""},
		{"", "\xff", ""}, {"%a = stablehlo.constant dense<[", "1, ", "1]> : tensor<3xi32>"},
		{"%a = stablehlo.constant dense<\"0x", "00", "\"> : tensor<3xi32>"},
		{"%a = \"a.b\"() : () -> tuple<", "i1, ", "i1>"},
		{"%a = \"a.b\"() : () -> tensor<", "1x", "i1>"},
		{"\"a.b\"() : () -> () loc(fused[", "\"a.py\":1:2, ", "\"b\"])"},
		{"\"a.b\"() : () -> (", "i1, ", "i1)"},
		{"\"a.b\"() {s = \"", "\\n", "\"} : () -> ()"}, {"", "module {", ""},
		{"", "#l = loc(#l)\n", ""}};

	(void)state;
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		grows_with_length(lines[i].before, lines[i].piece, lines[i].behind, LONG_PIECES);
	grows_with_length("", "a.b tensor<<\n", "", FEWER_PIECES);
	grows_with_length("", "a.b loc((\n", "", FEWER_PIECES);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(pretty_forms_stand_for_generic_ones),
		cmocka_unit_test(functions_and_modules), cmocka_unit_test(elements_of_dense),
		cmocka_unit_test(blobs), cmocka_unit_test(element_types_are_ours),
		cmocka_unit_test(texts_are_told_apart),
		cmocka_unit_test(programs_of_the_interpreter), cmocka_unit_test(training_steps),
		cmocka_unit_test(errors_have_their_places), cmocka_unit_test(zero_bytes),
		cmocka_unit_test(beginnings), cmocka_unit_test(depth),
		cmocka_unit_test(long_lines)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
