func.func @reduce_0() {
  %a0 = stablehlo.constant dense<[0.00000000000000000e+00, 2.00000000000000000e+00, 2.00000000000000000e+00, 4.00000000000000000e+00, 0.00000000000000000e+00, -2.00000000000000000e+00, 3.00000000000000000e+00, 2.00000000000000000e+00, -1.00000000000000000e+00]> : tensor<9xf16>
  %a1 = stablehlo.constant dense<[33, 19, 34, 24, 63, 5, 36, 63, 14]> : tensor<9xi32>
  %a2 = stablehlo.constant dense<0xFC00> : tensor<f16>
  %a3 = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = "stablehlo.reduce"(%a0, %a1, %a2, %a3) ({
  ^bb0(%r0: tensor<f16>, %r1: tensor<i32>, %r2: tensor<f16>, %r3: tensor<i32>):
    %g = stablehlo.compare GT, %r0, %r2 : (tensor<f16>, tensor<f16>) -> tensor<i1>
    %e = stablehlo.compare EQ, %r0, %r2 : (tensor<f16>, tensor<f16>) -> tensor<i1>
    %l = stablehlo.compare LT, %r1, %r3 : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %f = stablehlo.and %e, %l : tensor<i1>
    %h = stablehlo.or %g, %f : tensor<i1>
    %v = stablehlo.select %g, %r0, %r2 : tensor<i1>, tensor<f16>
    %w = stablehlo.select %h, %r1, %r3 : tensor<i1>, tensor<i32>
    stablehlo.return %v, %w : tensor<f16>, tensor<i32>
  }) {dimensions = array<i64: 0>} : (tensor<9xf16>, tensor<9xi32>, tensor<f16>, tensor<i32>) -> (tensor<f16>, tensor<i32>)
  check.expect_eq_const %r#0, dense<4.00000000000000000e+00> : tensor<f16>
  check.expect_eq_const %r#1, dense<24> : tensor<i32>
  return
}

// -----

func.func @reduce_1() {
  %a0 = stablehlo.constant dense<[-4.00000000000000000e+00, 3.00000000000000000e+00, -2.00000000000000000e+00]> : tensor<3xf64>
  %a1 = stablehlo.constant dense<[44, 95, 28]> : tensor<3xi32>
  %a2 = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
  %a3 = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = "stablehlo.reduce"(%a0, %a1, %a2, %a3) ({
  ^bb0(%r0: tensor<f64>, %r1: tensor<i32>, %r2: tensor<f64>, %r3: tensor<i32>):
    %g = stablehlo.compare GT, %r0, %r2 : (tensor<f64>, tensor<f64>) -> tensor<i1>
    %e = stablehlo.compare EQ, %r0, %r2 : (tensor<f64>, tensor<f64>) -> tensor<i1>
    %l = stablehlo.compare LT, %r1, %r3 : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %f = stablehlo.and %e, %l : tensor<i1>
    %h = stablehlo.or %g, %f : tensor<i1>
    %v = stablehlo.select %g, %r0, %r2 : tensor<i1>, tensor<f64>
    %w = stablehlo.select %h, %r1, %r3 : tensor<i1>, tensor<i32>
    stablehlo.return %v, %w : tensor<f64>, tensor<i32>
  }) {dimensions = array<i64: 0>} : (tensor<3xf64>, tensor<3xi32>, tensor<f64>, tensor<i32>) -> (tensor<f64>, tensor<i32>)
  check.expect_eq_const %r#0, dense<3.00000000000000000e+00> : tensor<f64>
  check.expect_eq_const %r#1, dense<95> : tensor<i32>
  return
}

// -----

func.func @reduce_2() {
  %a0 = stablehlo.constant dense<[[1, 3], [4, 4]]> : tensor<2x2xui32>
  %a1 = stablehlo.constant dense<[[67, 94], [23, 76]]> : tensor<2x2xi32>
  %a2 = stablehlo.constant dense<0> : tensor<ui32>
  %a3 = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = "stablehlo.reduce"(%a0, %a1, %a2, %a3) ({
  ^bb0(%r0: tensor<ui32>, %r1: tensor<i32>, %r2: tensor<ui32>, %r3: tensor<i32>):
    %v = stablehlo.add %r0, %r2 : tensor<ui32>
    %w = stablehlo.maximum %r1, %r3 : tensor<i32>
    stablehlo.return %v, %w : tensor<ui32>, tensor<i32>
  }) {dimensions = array<i64: 0, 1>} : (tensor<2x2xui32>, tensor<2x2xi32>, tensor<ui32>, tensor<i32>) -> (tensor<ui32>, tensor<i32>)
  check.expect_eq_const %r#0, dense<12> : tensor<ui32>
  check.expect_eq_const %r#1, dense<94> : tensor<i32>
  return
}

// -----

func.func @reduce_3() {
  %a0 = stablehlo.constant dense<[[[-1.00000000000000000e+00, -1.00000000000000000e+00, 1.00000000000000000e+00, 0.00000000000000000e+00, 1.00000000000000000e+00, 1.00000000000000000e+00], [-1.00000000000000000e+00, -1.00000000000000000e+00, -1.00000000000000000e+00, 0.00000000000000000e+00, 1.00000000000000000e+00, 0.00000000000000000e+00], [0.00000000000000000e+00, 1.00000000000000000e+00, 0.00000000000000000e+00, 1.00000000000000000e+00, -1.00000000000000000e+00, -1.00000000000000000e+00], [1.00000000000000000e+00, 1.00000000000000000e+00, 1.00000000000000000e+00, 0.00000000000000000e+00, -1.00000000000000000e+00, 0.00000000000000000e+00], [1.00000000000000000e+00, -1.00000000000000000e+00, 0.00000000000000000e+00, 0.00000000000000000e+00, 0.00000000000000000e+00, -1.00000000000000000e+00], [-1.00000000000000000e+00, -1.00000000000000000e+00, 0.00000000000000000e+00, -1.00000000000000000e+00, 1.00000000000000000e+00, -1.00000000000000000e+00], [1.00000000000000000e+00, -1.00000000000000000e+00, -1.00000000000000000e+00, -1.00000000000000000e+00, -1.00000000000000000e+00, -1.00000000000000000e+00], [0.00000000000000000e+00, 1.00000000000000000e+00, 0.00000000000000000e+00, -1.00000000000000000e+00, -1.00000000000000000e+00, 1.00000000000000000e+00], [0.00000000000000000e+00, 1.00000000000000000e+00, 0.00000000000000000e+00, -1.00000000000000000e+00, 1.00000000000000000e+00, -1.00000000000000000e+00]]]> : tensor<1x9x6xf16>
  %a1 = stablehlo.constant dense<1.00000000000000000e+00> : tensor<f16>
  %r = "stablehlo.reduce"(%a0, %a1) ({
  ^bb0(%r0: tensor<f16>, %r1: tensor<f16>):
    %z = stablehlo.multiply %r0, %r1 : tensor<f16>
    stablehlo.return %z : tensor<f16>
  }) {dimensions = array<i64: 0, 1, 2>} : (tensor<1x9x6xf16>, tensor<f16>) -> tensor<f16>
  check.expect_eq_const %r, dense<-0.00000000000000000e+00> : tensor<f16>
  return
}

// -----

func.func @reduce_4() {
  %a0 = stablehlo.constant dense<[[2, -3, 4, 0, -1]]> : tensor<1x5xi64>
  %a1 = stablehlo.constant dense<[[20, 71, 80, 39, 84]]> : tensor<1x5xi32>
  %a2 = stablehlo.constant dense<-9223372036854775808> : tensor<i64>
  %a3 = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = "stablehlo.reduce"(%a0, %a1, %a2, %a3) ({
  ^bb0(%r0: tensor<i64>, %r1: tensor<i32>, %r2: tensor<i64>, %r3: tensor<i32>):
    %g = stablehlo.compare GT, %r0, %r2 : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %e = stablehlo.compare EQ, %r0, %r2 : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %l = stablehlo.compare LT, %r1, %r3 : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %f = stablehlo.and %e, %l : tensor<i1>
    %h = stablehlo.or %g, %f : tensor<i1>
    %v = stablehlo.select %g, %r0, %r2 : tensor<i1>, tensor<i64>
    %w = stablehlo.select %h, %r1, %r3 : tensor<i1>, tensor<i32>
    stablehlo.return %v, %w : tensor<i64>, tensor<i32>
  }) {dimensions = array<i64: 1>} : (tensor<1x5xi64>, tensor<1x5xi32>, tensor<i64>, tensor<i32>) -> (tensor<1xi64>, tensor<1xi32>)
  check.expect_eq_const %r#0, dense<[4]> : tensor<1xi64>
  check.expect_eq_const %r#1, dense<[80]> : tensor<1xi32>
  return
}

// -----

func.func @reduce_5() {
  %a0 = stablehlo.constant dense<[[-4, -3, -3, 0, -3, 1, 4], [-1, 1, 1, -1, 3, 3, 4], [-3, 1, 0, 0, -3, 0, 2], [-4, 2, 0, 1, -3, -2, 2], [4, -1, 4, -4, -4, 1, 0]]> : tensor<5x7xi64>
  %a1 = stablehlo.constant dense<[[66, 89, 6, 35, 92, 79, 61], [56, 20, 16, 50, 98, 82, 85], [66, 70, 21, 61, 45, 59, 68], [19, 21, 26, 53, 74, 93, 18], [69, 80, 64, 69, 23, 51, 3]]> : tensor<5x7xi32>
  %a2 = stablehlo.constant dense<0> : tensor<i64>
  %a3 = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = "stablehlo.reduce"(%a0, %a1, %a2, %a3) ({
  ^bb0(%r0: tensor<i64>, %r1: tensor<i32>, %r2: tensor<i64>, %r3: tensor<i32>):
    %v = stablehlo.add %r0, %r2 : tensor<i64>
    %w = stablehlo.maximum %r1, %r3 : tensor<i32>
    stablehlo.return %v, %w : tensor<i64>, tensor<i32>
  }) {dimensions = array<i64: 1>} : (tensor<5x7xi64>, tensor<5x7xi32>, tensor<i64>, tensor<i32>) -> (tensor<5xi64>, tensor<5xi32>)
  check.expect_eq_const %r#0, dense<[-8, 10, -3, -4, 0]> : tensor<5xi64>
  check.expect_eq_const %r#1, dense<[92, 98, 70, 93, 80]> : tensor<5xi32>
  return
}

// -----

func.func @reduce_6() {
  %a0 = stablehlo.constant dense<[[[[1, 1, 2, 0, 2], [3, 0, 4, 4, 2], [1, 4, 1, 2, 2]], [[0, 4, 4, 2, 1], [2, 3, 0, 0, 3], [2, 0, 4, 1, 4]]], [[[4, 4, 2, 0, 3], [4, 4, 1, 4, 4], [4, 1, 4, 0, 1]], [[3, 4, 0, 4, 2], [1, 4, 1, 4, 0], [0, 4, 0, 4, 2]]], [[[0, 0, 1, 3, 1], [0, 4, 4, 4, 2], [4, 2, 4, 1, 2]], [[3, 1, 0, 2, 2], [2, 1, 0, 0, 3], [0, 1, 3, 0, 1]]], [[[2, 2, 3, 2, 4], [1, 4, 0, 4, 2], [4, 1, 2, 0, 1]], [[0, 3, 0, 0, 4], [4, 3, 3, 1, 1], [2, 1, 0, 4, 3]]], [[[2, 4, 4, 2, 3], [2, 1, 4, 2, 3], [4, 1, 3, 2, 1]], [[0, 2, 3, 4, 0], [3, 0, 2, 3, 0], [2, 4, 0, 2, 4]]], [[[3, 0, 0, 4, 3], [1, 1, 2, 1, 2], [2, 4, 3, 3, 2]], [[4, 3, 1, 0, 0], [2, 0, 0, 1, 2], [2, 4, 1, 0, 4]]], [[[3, 4, 1, 4, 2], [4, 0, 0, 4, 1], [3, 1, 0, 4, 1]], [[2, 4, 2, 0, 1], [1, 1, 1, 1, 4], [2, 4, 1, 0, 2]]], [[[3, 0, 4, 1, 1], [1, 0, 0, 2, 0], [0, 2, 0, 2, 1]], [[4, 3, 1, 0, 0], [2, 4, 0, 3, 0], [2, 2, 3, 0, 2]]], [[[1, 2, 2, 2, 0], [0, 3, 2, 3, 0], [0, 3, 3, 2, 4]], [[2, 3, 1, 1, 3], [4, 1, 0, 0, 4], [0, 3, 1, 4, 0]]]]> : tensor<9x2x3x5xui32>
  %a1 = stablehlo.constant dense<[[[[71, 8, 79, 0, 32], [36, 12, 45, 42, 76], [63, 7, 44, 91, 16]], [[53, 12, 54, 3, 98], [52, 6, 74, 33, 40], [90, 54, 22, 81, 33]]], [[[27, 42, 44, 81, 71], [98, 42, 92, 6, 87], [7, 44, 40, 11, 75]], [[16, 84, 98, 82, 19], [59, 17, 81, 28, 32], [47, 62, 25, 69, 12]]], [[[68, 70, 55, 6, 67], [97, 26, 8, 27, 78], [87, 61, 7, 52, 79]], [[61, 32, 85, 1, 67], [32, 80, 41, 58, 9], [97, 98, 60, 36, 0]]], [[[88, 36, 13, 57, 78], [14, 3, 59, 0, 25], [27, 65, 18, 9, 94]], [[50, 93, 87, 51, 35], [10, 88, 75, 98, 43], [19, 41, 79, 44, 30]]], [[[95, 69, 76, 25, 48], [28, 25, 94, 75, 46], [67, 21, 28, 28, 65]], [[86, 6, 16, 59, 13], [43, 24, 43, 72, 23], [56, 34, 84, 70, 82]]], [[[29, 31, 13, 24, 43], [47, 62, 75, 60, 40], [29, 0, 67, 27, 42]], [[1, 82, 14, 93, 93], [75, 13, 90, 64, 29], [2, 10, 9, 70, 10]]], [[[67, 75, 90, 54, 6], [91, 86, 85, 79, 31], [14, 97, 41, 43, 79]], [[46, 50, 29, 42, 91], [35, 88, 42, 66, 86], [12, 86, 32, 63, 91]]], [[[24, 14, 65, 88, 35], [90, 25, 21, 43, 60], [92, 65, 41, 75, 1]], [[24, 53, 37, 81, 18], [32, 41, 76, 66, 1], [65, 68, 23, 69, 16]]], [[[18, 22, 19, 61, 65], [82, 2, 34, 67, 75], [57, 32, 49, 45, 42]], [[91, 3, 29, 75, 87], [63, 59, 16, 70, 1], [44, 83, 57, 25, 17]]]]> : tensor<9x2x3x5xi32>
  %a2 = stablehlo.constant dense<0> : tensor<ui32>
  %a3 = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = "stablehlo.reduce"(%a0, %a1, %a2, %a3) ({
  ^bb0(%r0: tensor<ui32>, %r1: tensor<i32>, %r2: tensor<ui32>, %r3: tensor<i32>):
    %g = stablehlo.compare GT, %r0, %r2 : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
    %e = stablehlo.compare EQ, %r0, %r2 : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
    %l = stablehlo.compare LT, %r1, %r3 : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %f = stablehlo.and %e, %l : tensor<i1>
    %h = stablehlo.or %g, %f : tensor<i1>
    %v = stablehlo.select %g, %r0, %r2 : tensor<i1>, tensor<ui32>
    %w = stablehlo.select %h, %r1, %r3 : tensor<i1>, tensor<i32>
    stablehlo.return %v, %w : tensor<ui32>, tensor<i32>
  }) {dimensions = array<i64: 0, 1, 2, 3>} : (tensor<9x2x3x5xui32>, tensor<9x2x3x5xi32>, tensor<ui32>, tensor<i32>) -> (tensor<ui32>, tensor<i32>)
  check.expect_eq_const %r#0, dense<4> : tensor<ui32>
  check.expect_eq_const %r#1, dense<0> : tensor<i32>
  return
}

// -----

func.func @reduce_7() {
  %a0 = stablehlo.constant dense<[[[4.00000000000000000e+00, 0.00000000000000000e+00, -2.00000000000000000e+00, -3.00000000000000000e+00, -2.00000000000000000e+00, 1.00000000000000000e+00], [1.00000000000000000e+00, 2.00000000000000000e+00, -1.00000000000000000e+00, 4.00000000000000000e+00, 3.00000000000000000e+00, 1.00000000000000000e+00], [4.00000000000000000e+00, -2.00000000000000000e+00, 0.00000000000000000e+00, 3.00000000000000000e+00, -3.00000000000000000e+00, 0.00000000000000000e+00], [2.00000000000000000e+00, -3.00000000000000000e+00, -2.00000000000000000e+00, 0.00000000000000000e+00, -4.00000000000000000e+00, 4.00000000000000000e+00]], [[3.00000000000000000e+00, 1.00000000000000000e+00, 3.00000000000000000e+00, 0.00000000000000000e+00, -4.00000000000000000e+00, 2.00000000000000000e+00], [-4.00000000000000000e+00, -2.00000000000000000e+00, -2.00000000000000000e+00, 3.00000000000000000e+00, 2.00000000000000000e+00, 4.00000000000000000e+00], [-1.00000000000000000e+00, 3.00000000000000000e+00, 4.00000000000000000e+00, -4.00000000000000000e+00, 4.00000000000000000e+00, 4.00000000000000000e+00], [-2.00000000000000000e+00, -2.00000000000000000e+00, 0.00000000000000000e+00, 4.00000000000000000e+00, -2.00000000000000000e+00, 0.00000000000000000e+00]], [[-2.00000000000000000e+00, -2.00000000000000000e+00, 4.00000000000000000e+00, 0.00000000000000000e+00, 1.00000000000000000e+00, -2.00000000000000000e+00], [3.00000000000000000e+00, -4.00000000000000000e+00, -3.00000000000000000e+00, 0.00000000000000000e+00, -3.00000000000000000e+00, 1.00000000000000000e+00], [2.00000000000000000e+00, -2.00000000000000000e+00, -3.00000000000000000e+00, -3.00000000000000000e+00, -3.00000000000000000e+00, 1.00000000000000000e+00], [-4.00000000000000000e+00, 3.00000000000000000e+00, -2.00000000000000000e+00, 0.00000000000000000e+00, -4.00000000000000000e+00, 2.00000000000000000e+00]]]> : tensor<3x4x6xf64>
  %a1 = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
  %r = "stablehlo.reduce"(%a0, %a1) ({
  ^bb0(%r0: tensor<f64>, %r1: tensor<f64>):
    %z = stablehlo.maximum %r0, %r1 : tensor<f64>
    stablehlo.return %z : tensor<f64>
  }) {dimensions = array<i64: 0, 1, 2>} : (tensor<3x4x6xf64>, tensor<f64>) -> tensor<f64>
  check.expect_eq_const %r, dense<4.00000000000000000e+00> : tensor<f64>
  return
}

