// Integers of 4 bits, in i8 and u8: what does not fit wraps around.
// RUN: %dopt -expect -split-input-file %s | %FileCheck %s
// CHECK: signed: passed
// CHECK: unsigned: passed
// CHECK: bits: unsupported: {{.*}} stablehlo.popcnt is not supported: tensors of i4

func.func @signed() {
  %a = stablehlo.constant dense<[7, -8, 5, -3]> : tensor<4xi4>
  %b = stablehlo.constant dense<[1, -1, 3, 3]> : tensor<4xi4>
  %sum = stablehlo.add %a, %b : tensor<4xi4>
  check.expect_eq_const %sum, dense<[-8, 7, -8, 0]> : tensor<4xi4>
  %product = stablehlo.multiply %a, %b : tensor<4xi4>
  check.expect_eq_const %product, dense<[7, -8, -1, 7]> : tensor<4xi4>
  %minus = stablehlo.negate %a : tensor<4xi4>
  check.expect_eq_const %minus, dense<[-7, -8, -5, 3]> : tensor<4xi4>
  %x = stablehlo.convert %sum : (tensor<4xi4>) -> tensor<4xf32>
  check.expect_eq_const %x, dense<[-8.0, 7.0, -8.0, 0.0]> : tensor<4xf32>
  return
}

// -----

func.func @unsigned() {
  %a = stablehlo.constant dense<[15, 8, 5]> : tensor<3xui4>
  %b = stablehlo.constant dense<[1, 9, 3]> : tensor<3xui4>
  %sum = stablehlo.add %a, %b : tensor<3xui4>
  check.expect_eq_const %sum, dense<[0, 1, 8]> : tensor<3xui4>
  %difference = stablehlo.subtract %b, %a : tensor<3xui4>
  check.expect_eq_const %difference, dense<[2, 1, 14]> : tensor<3xui4>
  return
}

// -----

func.func @bits() {
  %a = stablehlo.constant dense<[1, 7]> : tensor<2xi4>
  %n = stablehlo.popcnt %a : tensor<2xi4>
  check.expect_eq %n, %n : tensor<2xi4>
  return
}
