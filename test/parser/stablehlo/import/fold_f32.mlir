// The sum is halfway between two numbers of f32, and the constant is no f32 as it is written: folded, it is what StableHLO's
// interpreter says.
// RUN: %dopt -expect %s | %FileCheck %s
// RUN: %dopt -expect -pass=canonicalize %s | %FileCheck %s
// CHECK: main: passed
func.func @main() {
  %a = stablehlo.constant dense<-0.99999994> : tensor<f32>
  %b = stablehlo.constant dense<1.0> : tensor<f32>
  %c = stablehlo.subtract %b, %a : tensor<f32>
  check.expect_eq_const %c, dense<2.0> : tensor<f32>
  return
}
