// The inverse of erf: near zero, in the middle, at the ends; values by bisection of erf.
// RUN: %dopt -expect -split-input-file %s | %FileCheck %s
// CHECK-NOT: {{failed:|unsupported:}}
// CHECK: passed, 0 failed, 0 unsupported

func.func @single() {
  %x = stablehlo.constant dense<[0.0, 1.0e-6, -0.25, 0.5, 0.9, -0.999, 1.0, -1.0]> : tensor<8xf32>
  %y = chlo.erf_inv %x : tensor<8xf32> -> tensor<8xf32>
  check.expect_almost_eq_const %y, dense<[0.0, 8.8622692545e-7, -0.22531205501, 0.47693627620, 1.1630871537, -2.3267537656, 0x7F800000, 0xFF800000]> : tensor<8xf32>
  return
}

// -----

func.func @double() {
  %x = stablehlo.constant dense<[0.0, 1.0e-6, -0.25, 0.5, 0.9, -0.999]> : tensor<6xf64>
  %y = chlo.erf_inv %x : tensor<6xf64> -> tensor<6xf64>
  check.expect_almost_eq_const %y, dense<[0.0, 8.86226925452990e-7, -0.225312055012178, 0.476936276204470, 1.16308715367667, -2.32675376551352]> : tensor<6xf64>
  return
}
