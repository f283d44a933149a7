// What printers and people write: a comma behind the last entry, forms over several lines, `tensor <`, properties
// behind the operands of a pretty form, a mesh that no sharding names.
// RUN: %dopt %s | %FileCheck %s
// CHECK: mesh [x = 2]
// CHECK: %two = constant() {value = 2.0} : f32[3]
// CHECK: contract(%0, %b)
sdy.mesh @other = <["y"=4]>
sdy.mesh @used = <["x"=2]>
func.func public @main(%a: tensor <2x4xf32> {sdy.sharding = #sdy.sharding<@used, [{"x"}, {}]>}, %b: tensor<4x3xf32>) -> tensor<2x3xf32> {
  %two = stablehlo.constant() <{value = dense<2.0> : tensor<3xf32>}> : () -> tensor<3xf32>
  %0 = "stablehlo.dot_general"(%a, %b) {dot_dimension_numbers = #stablehlo.dot<
      lhs_contracting_dimensions = [1],
      rhs_contracting_dimensions = [0],
    >} : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
  %1 = stablehlo.broadcast_in_dim %two, dims = [1] : (tensor<3xf32>) -> tensor<2x3xf32>
  %2 = stablehlo.add %0, %1 : tensor<2x3xf32>
  return %2 : tensor<2x3xf32>
}
