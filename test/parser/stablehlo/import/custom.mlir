// Calls of XLA's targets: the largest elements with what goes with them, both ways and along each dim; callbacks that only
// print, conditions on sizes.
// RUN: %dopt -expect -split-input-file %s | %FileCheck %s
// RUN: %dopt -expect -pass=canonicalize,cse,dce,opfuse -split-input-file %s | %FileCheck %s
// RUN: %dopt %s -o %t 2>&1 | %FileCheck %s -check-prefix=WARN
// WARN: custom.mlir:25:{{.*}}warning: this callback into Python (jax.debug.print, jax.debug.callback) is left out
// CHECK-NOT: {{failed:|unsupported:}}
// CHECK: passed, 0 failed, 0 unsupported

func.func public @largest() {
  %x = stablehlo.constant dense<[[3.0, 1.0, 4.0], [1.0, 5.0, 9.0]]> : tensor<2x3xf32>
  %i = stablehlo.constant dense<[[10, 11, 12], [20, 21, 22]]> : tensor<2x3xi32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %none = stablehlo.constant dense<-1> : tensor<i32>
  %v, %k = stablehlo.custom_call @ApproxTopK(%x, %i, %low, %none) {called_computations = [@greater], mhlo.backend_config = {aggregate_to_topk = true, is_fallback = true, recall_target = 0.95 : f32, reduction_dim = 1 : i64, reduction_input_size_override = -1 : i64, top_k = 2 : i64}} : (tensor<2x3xf32>, tensor<2x3xi32>, tensor<f32>, tensor<i32>) -> (tensor<2x2xf32>, tensor<2x2xi32>)
  check.expect_eq_const %v, dense<[[4.0, 3.0], [9.0, 5.0]]> : tensor<2x2xf32>
  check.expect_eq_const %k, dense<[[12, 10], [22, 21]]> : tensor<2x2xi32>
  %w, %l = stablehlo.custom_call @ApproxTopK(%x, %i, %low, %none) {called_computations = [@less], mhlo.backend_config = {aggregate_to_topk = true, recall_target = 0.95 : f32, reduction_dim = 0 : i64, top_k = 1 : i64}} : (tensor<2x3xf32>, tensor<2x3xi32>, tensor<f32>, tensor<i32>) -> (tensor<1x3xf32>, tensor<1x3xi32>)
  check.expect_eq_const %w, dense<[[1.0, 1.0, 4.0]]> : tensor<1x3xf32>
  check.expect_eq_const %l, dense<[[20, 11, 12]]> : tensor<1x3xi32>
  %rows = stablehlo.get_dimension_size %x, dim = 0 : (tensor<2x3xf32>) -> tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %fits = stablehlo.compare EQ, %rows, %two : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.custom_call @shape_assertion(%fits, %rows) {error_message = "{0} rows", has_side_effect = true} : (tensor<i1>, tensor<i32>) -> ()
  stablehlo.custom_call @xla_ffi_python_cpu_callback(%x) {has_side_effect = true, mhlo.backend_config = {index = 0 : ui64}} : (tensor<2x3xf32>) -> ()
  return
}
func.func private @greater(%a: tensor<f32>, %b: tensor<f32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<i1> {
  %r = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
  return %r : tensor<i1>
}
func.func private @less(%a: tensor<f32>, %b: tensor<f32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<i1> {
  %r = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
  return %r : tensor<i1>
}
