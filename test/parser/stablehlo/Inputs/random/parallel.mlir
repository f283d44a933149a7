module @parallel {
func.func private @replica(%a0: tensor<1x6xui8>, %a1: tensor<3x3xui8>, %a2: tensor<ui8>) -> (tensor<1x6xui8>) {
  %r = "stablehlo.select_and_scatter"(%a0, %a1, %a2) <{window_dimensions = array<i64: 1, 3>, window_strides = array<i64: 1, 2>, padding = dense<[[1, 1], [0, 2]]> : tensor<2x2xi64>}> ({
  ^bb0(%r0: tensor<ui8>, %r1: tensor<ui8>):
    %c = stablehlo.compare GE, %r0, %r1 : (tensor<ui8>, tensor<ui8>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }, {
  ^bb0(%r0: tensor<ui8>, %r1: tensor<ui8>):
    %z = stablehlo.add %r0, %r1 : tensor<ui8>
    stablehlo.return %z : tensor<ui8>
  }) : (tensor<1x6xui8>, tensor<3x3xui8>, tensor<ui8>) -> tensor<1x6xui8>
  return %r : tensor<1x6xui8>
}
func.func @select_and_scatter_0() {
  %a0_0 = stablehlo.constant dense<[[2, 2, 3, 0, 1, 0]]> : tensor<1x6xui8>
  %a1_0 = stablehlo.constant dense<[[0, 0, 3], [0, 1, 0], [4, 3, 3]]> : tensor<3x3xui8>
  %a2_0 = stablehlo.constant dense<0> : tensor<ui8>
  %a0_1 = stablehlo.constant dense<[[0, 2, 2, 3, 0, 1]]> : tensor<1x6xui8>
  %a1_1 = stablehlo.constant dense<[[3, 0, 0], [1, 3, 0], [0, 3, 4]]> : tensor<3x3xui8>
  %a2_1 = stablehlo.constant dense<0> : tensor<ui8>
  %p:2 = "interpreter.run_parallel"(%a0_0, %a1_0, %a2_0, %a0_1, %a1_1, %a2_1) {programs = [[@replica], [@replica]]} : (tensor<1x6xui8>, tensor<3x3xui8>, tensor<ui8>, tensor<1x6xui8>, tensor<3x3xui8>, tensor<ui8>) -> (tensor<1x6xui8>, tensor<1x6xui8>)
  check.expect_eq_const %p#0, dense<[[0, 0, 1, 0, 0, 0]]> : tensor<1x6xui8>
  check.expect_eq_const %p#1, dense<[[0, 1, 0, 3, 0, 0]]> : tensor<1x6xui8>
  return
}
}

// -----

module @parallel {
func.func private @replica(%a0: tensor<3x2x2xf64>, %a1: tensor<3x3x2xf64>) -> (tensor<3x3x2xf64>) {
  %r = "stablehlo.triangular_solve"(%a0, %a1) <{left_side = false, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose TRANSPOSE>}> : (tensor<3x2x2xf64>, tensor<3x3x2xf64>) -> tensor<3x3x2xf64>
  return %r : tensor<3x3x2xf64>
}
func.func @triangular_solve_1() {
  %a0_0 = stablehlo.constant dense<[[[1.00000000000000000e+00, 2.00000000000000000e+00], [1.00000000000000000e+00, 4.00000000000000000e+00]], [[1.00000000000000000e+00, -2.00000000000000000e+00], [1.00000000000000000e+00, 4.00000000000000000e+00]], [[1.00000000000000000e+00, 0.00000000000000000e+00], [2.00000000000000000e+00, 4.00000000000000000e+00]]]> : tensor<3x2x2xf64>
  %a1_0 = stablehlo.constant dense<[[[3.00000000000000000e+00, -3.00000000000000000e+00], [1.00000000000000000e+00, -2.00000000000000000e+00], [2.00000000000000000e+00, -4.00000000000000000e+00]], [[-2.00000000000000000e+00, 2.00000000000000000e+00], [2.00000000000000000e+00, 2.00000000000000000e+00], [-4.00000000000000000e+00, 2.00000000000000000e+00]], [[-4.00000000000000000e+00, 3.00000000000000000e+00], [2.00000000000000000e+00, -2.00000000000000000e+00], [2.00000000000000000e+00, 0.00000000000000000e+00]]]> : tensor<3x3x2xf64>
  %a0_1 = stablehlo.constant dense<[[[1.00000000000000000e+00, 2.00000000000000000e+00], [1.00000000000000000e+00, 4.00000000000000000e+00]], [[1.00000000000000000e+00, -2.00000000000000000e+00], [1.00000000000000000e+00, 4.00000000000000000e+00]], [[1.00000000000000000e+00, 0.00000000000000000e+00], [2.00000000000000000e+00, 4.00000000000000000e+00]]]> : tensor<3x2x2xf64>
  %a1_1 = stablehlo.constant dense<[[[3.00000000000000000e+00, -3.00000000000000000e+00], [1.00000000000000000e+00, -2.00000000000000000e+00], [2.00000000000000000e+00, -4.00000000000000000e+00]], [[-2.00000000000000000e+00, 2.00000000000000000e+00], [2.00000000000000000e+00, 2.00000000000000000e+00], [-4.00000000000000000e+00, 2.00000000000000000e+00]], [[-4.00000000000000000e+00, 3.00000000000000000e+00], [2.00000000000000000e+00, -2.00000000000000000e+00], [2.00000000000000000e+00, 0.00000000000000000e+00]]]> : tensor<3x3x2xf64>
  %p:2 = "interpreter.run_parallel"(%a0_0, %a1_0, %a0_1, %a1_1) {programs = [[@replica], [@replica]]} : (tensor<3x2x2xf64>, tensor<3x3x2xf64>, tensor<3x2x2xf64>, tensor<3x3x2xf64>) -> (tensor<3x3x2xf64>, tensor<3x3x2xf64>)
  check.expect_almost_eq_const %p#0, dense<[[[3.00000000000000000e+00, -1.50000000000000000e+00], [1.00000000000000000e+00, -7.50000000000000000e-01], [2.00000000000000000e+00, -1.50000000000000000e+00]], [[-2.00000000000000000e+00, 1.00000000000000000e+00], [2.00000000000000000e+00, 0.00000000000000000e+00], [-4.00000000000000000e+00, 1.50000000000000000e+00]], [[-4.00000000000000000e+00, 2.75000000000000000e+00], [2.00000000000000000e+00, -1.50000000000000000e+00], [2.00000000000000000e+00, -1.00000000000000000e+00]]]> : tensor<3x3x2xf64>
  check.expect_almost_eq_const %p#1, dense<[[[3.00000000000000000e+00, -1.50000000000000000e+00], [1.00000000000000000e+00, -7.50000000000000000e-01], [2.00000000000000000e+00, -1.50000000000000000e+00]], [[-2.00000000000000000e+00, 1.00000000000000000e+00], [2.00000000000000000e+00, 0.00000000000000000e+00], [-4.00000000000000000e+00, 1.50000000000000000e+00]], [[-4.00000000000000000e+00, 2.75000000000000000e+00], [2.00000000000000000e+00, -1.50000000000000000e+00], [2.00000000000000000e+00, -1.00000000000000000e+00]]]> : tensor<3x3x2xf64>
  return
}
}

// -----

module @parallel {
func.func private @replica(%a0: tensor<5x2x3xui32>, %a1: tensor<5x2xui32>, %a2: tensor<2xui32>) -> (tensor<5x2x3xui32>) {
  %r = "stablehlo.scatter"(%a0, %a2, %a1) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [2], input_batching_dims = [1], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [2], index_vector_dim = 1>}> ({
  ^bb0(%r0: tensor<ui32>, %r1: tensor<ui32>):
    %y = stablehlo.add %r0, %r0 : tensor<ui32>
    %z = stablehlo.subtract %y, %r1 : tensor<ui32>
    stablehlo.return %z : tensor<ui32>
  }) : (tensor<5x2x3xui32>, tensor<2xui32>, tensor<5x2xui32>) -> tensor<5x2x3xui32>
  return %r : tensor<5x2x3xui32>
}
func.func @scatter_3() {
  %a0_0 = stablehlo.constant dense<[[[4, 1, 4], [4, 4, 0]], [[4, 3, 2], [1, 1, 3]], [[4, 2, 1], [2, 2, 2]], [[1, 0, 0], [4, 1, 0]], [[3, 3, 3], [1, 2, 2]]]> : tensor<5x2x3xui32>
  %a1_0 = stablehlo.constant dense<[[2, 2], [2, 3], [4, 4], [2, 4], [1, 0]]> : tensor<5x2xui32>
  %a2_0 = stablehlo.constant dense<[0, 3]> : tensor<2xui32>
  %a0_1 = stablehlo.constant dense<[[[1, 1, 1], [3, 1, 4]], [[3, 4, 2], [2, 4, 2]], [[3, 3, 0], [0, 2, 4]], [[3, 1, 2], [1, 4, 4]], [[0, 2, 1], [0, 4, 2]]]> : tensor<5x2x3xui32>
  %a1_1 = stablehlo.constant dense<[[2, 2], [2, 3], [4, 4], [2, 4], [1, 0]]> : tensor<5x2xui32>
  %a2_1 = stablehlo.constant dense<[0, 3]> : tensor<2xui32>
  %p:2 = "interpreter.run_parallel"(%a0_0, %a1_0, %a2_0, %a0_1, %a1_1, %a2_1) {programs = [[@replica], [@replica]]} : (tensor<5x2x3xui32>, tensor<5x2xui32>, tensor<2xui32>, tensor<5x2x3xui32>, tensor<5x2xui32>, tensor<2xui32>) -> (tensor<5x2x3xui32>, tensor<5x2x3xui32>)
  check.expect_eq_const %p#0, dense<[[[6, 1, 4], [4, 4, 0]], [[6, 3, 2], [1, 1, 3]], [[4, 2, 1], [2, 2, 2]], [[0, 0, 0], [4, 1, 0]], [[5, 3, 3], [1, 2, 2]]]> : tensor<5x2x3xui32>
  check.expect_eq_const %p#1, dense<[[[0, 1, 1], [3, 1, 4]], [[4, 4, 2], [2, 4, 2]], [[2, 3, 0], [0, 2, 4]], [[4, 1, 2], [1, 4, 4]], [[4294967295, 2, 1], [0, 4, 2]]]> : tensor<5x2x3xui32>
  return
}
}

// -----

module @parallel {
func.func private @replica(%a0: tensor<3x3xf64>, %a1: tensor<4x3xf64>) -> (tensor<4x3xf64>) {
  %r = "stablehlo.triangular_solve"(%a0, %a1) <{left_side = false, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose ADJOINT>}> : (tensor<3x3xf64>, tensor<4x3xf64>) -> tensor<4x3xf64>
  return %r : tensor<4x3xf64>
}
func.func @triangular_solve_4() {
  %a0_0 = stablehlo.constant dense<[[4.00000000000000000e+00, 1.00000000000000000e+00, -2.00000000000000000e+00], [1.00000000000000000e+00, 1.00000000000000000e+00, -1.00000000000000000e+00], [0.00000000000000000e+00, -2.00000000000000000e+00, 2.00000000000000000e+00]]> : tensor<3x3xf64>
  %a1_0 = stablehlo.constant dense<[[4.00000000000000000e+00, -1.00000000000000000e+00, -1.00000000000000000e+00], [1.00000000000000000e+00, -1.00000000000000000e+00, -4.00000000000000000e+00], [4.00000000000000000e+00, 3.00000000000000000e+00, -4.00000000000000000e+00], [-1.00000000000000000e+00, 1.00000000000000000e+00, 0.00000000000000000e+00]]> : tensor<4x3xf64>
  %a0_1 = stablehlo.constant dense<[[4.00000000000000000e+00, 1.00000000000000000e+00, -2.00000000000000000e+00], [1.00000000000000000e+00, 1.00000000000000000e+00, -1.00000000000000000e+00], [0.00000000000000000e+00, -2.00000000000000000e+00, 2.00000000000000000e+00]]> : tensor<3x3xf64>
  %a1_1 = stablehlo.constant dense<[[4.00000000000000000e+00, -1.00000000000000000e+00, -1.00000000000000000e+00], [1.00000000000000000e+00, -1.00000000000000000e+00, -4.00000000000000000e+00], [4.00000000000000000e+00, 3.00000000000000000e+00, -4.00000000000000000e+00], [-1.00000000000000000e+00, 1.00000000000000000e+00, 0.00000000000000000e+00]]> : tensor<4x3xf64>
  %p:2 = "interpreter.run_parallel"(%a0_0, %a1_0, %a0_1, %a1_1) {programs = [[@replica], [@replica]]} : (tensor<3x3xf64>, tensor<4x3xf64>, tensor<3x3xf64>, tensor<4x3xf64>) -> (tensor<4x3xf64>, tensor<4x3xf64>)
  check.expect_almost_eq_const %p#0, dense<[[1.00000000000000000e+00, -2.00000000000000000e+00, -2.50000000000000000e+00], [2.50000000000000000e-01, -1.25000000000000000e+00, -3.25000000000000000e+00], [1.00000000000000000e+00, 2.00000000000000000e+00, 0.00000000000000000e+00], [-2.50000000000000000e-01, 1.25000000000000000e+00, 1.25000000000000000e+00]]> : tensor<4x3xf64>
  check.expect_almost_eq_const %p#1, dense<[[1.00000000000000000e+00, -2.00000000000000000e+00, -2.50000000000000000e+00], [2.50000000000000000e-01, -1.25000000000000000e+00, -3.25000000000000000e+00], [1.00000000000000000e+00, 2.00000000000000000e+00, 0.00000000000000000e+00], [-2.50000000000000000e-01, 1.25000000000000000e+00, 1.25000000000000000e+00]]> : tensor<4x3xf64>
  return
}
}

// -----

module @parallel {
func.func private @replica(%a0: tensor<6x1xf32>, %a1: tensor<3x1xf32>) -> (tensor<3x2xf32>) {
  %r = stablehlo.convolution(%a0, %a1) dim_numbers = [b, f]x[o, i]->[f, b], window = {stride = [], pad = [], lhs_dilate = [], rhs_dilate = [], reverse = []} {batch_group_count = 3 : i64, feature_group_count = 1 : i64} : (tensor<6x1xf32>, tensor<3x1xf32>) -> tensor<3x2xf32>
  return %r : tensor<3x2xf32>
}
func.func @convolution_6() {
  %a0_0 = stablehlo.constant dense<[[1.00000000000000000e+00], [-2.00000000000000000e+00], [2.00000000000000000e+00], [-2.00000000000000000e+00], [0.00000000000000000e+00], [-2.00000000000000000e+00]]> : tensor<6x1xf32>
  %a1_0 = stablehlo.constant dense<[[3.00000000000000000e+00], [-3.00000000000000000e+00], [3.00000000000000000e+00]]> : tensor<3x1xf32>
  %a0_1 = stablehlo.constant dense<[[1.00000000000000000e+00], [-2.00000000000000000e+00], [2.00000000000000000e+00], [-2.00000000000000000e+00], [0.00000000000000000e+00], [-2.00000000000000000e+00]]> : tensor<6x1xf32>
  %a1_1 = stablehlo.constant dense<[[-3.00000000000000000e+00], [3.00000000000000000e+00], [3.00000000000000000e+00]]> : tensor<3x1xf32>
  %p:2 = "interpreter.run_parallel"(%a0_0, %a1_0, %a0_1, %a1_1) {programs = [[@replica], [@replica]]} : (tensor<6x1xf32>, tensor<3x1xf32>, tensor<6x1xf32>, tensor<3x1xf32>) -> (tensor<3x2xf32>, tensor<3x2xf32>)
  check.expect_eq_const %p#0, dense<[[3.00000000000000000e+00, -6.00000000000000000e+00], [-6.00000000000000000e+00, 6.00000000000000000e+00], [0.00000000000000000e+00, -6.00000000000000000e+00]]> : tensor<3x2xf32>
  check.expect_eq_const %p#1, dense<[[-3.00000000000000000e+00, 6.00000000000000000e+00], [6.00000000000000000e+00, -6.00000000000000000e+00], [0.00000000000000000e+00, -6.00000000000000000e+00]]> : tensor<3x2xf32>
  return
}
}

// -----

module @parallel {
func.func private @replica(%a0: tensor<1x2xf16>, %a1: tensor<1x2x1xf16>, %a2: tensor<2x1x2xi8>) -> (tensor<1x2xf16>) {
  %r = "stablehlo.scatter"(%a0, %a2, %a1) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [0], input_batching_dims = [], scatter_indices_batching_dims = [], scatter_dims_to_operand_dims = [1, 0], index_vector_dim = 2>}> ({
  ^bb0(%r0: tensor<f16>, %r1: tensor<f16>):
    %z = stablehlo.minimum %r0, %r1 : tensor<f16>
    stablehlo.return %z : tensor<f16>
  }) : (tensor<1x2xf16>, tensor<2x1x2xi8>, tensor<1x2x1xf16>) -> tensor<1x2xf16>
  return %r : tensor<1x2xf16>
}
func.func @scatter_7() {
  %a0_0 = stablehlo.constant dense<[[1.00000000000000000e+00, 0.00000000000000000e+00]]> : tensor<1x2xf16>
  %a1_0 = stablehlo.constant dense<[[[0.00000000000000000e+00], [-4.00000000000000000e+00]]]> : tensor<1x2x1xf16>
  %a2_0 = stablehlo.constant dense<[[[1, 0]], [[1, 0]]]> : tensor<2x1x2xi8>
  %a0_1 = stablehlo.constant dense<[[1.00000000000000000e+00, 0.00000000000000000e+00]]> : tensor<1x2xf16>
  %a1_1 = stablehlo.constant dense<[[[0.00000000000000000e+00], [-4.00000000000000000e+00]]]> : tensor<1x2x1xf16>
  %a2_1 = stablehlo.constant dense<[[[1, 0]], [[1, 0]]]> : tensor<2x1x2xi8>
  %p:2 = "interpreter.run_parallel"(%a0_0, %a1_0, %a2_0, %a0_1, %a1_1, %a2_1) {programs = [[@replica], [@replica]]} : (tensor<1x2xf16>, tensor<1x2x1xf16>, tensor<2x1x2xi8>, tensor<1x2xf16>, tensor<1x2x1xf16>, tensor<2x1x2xi8>) -> (tensor<1x2xf16>, tensor<1x2xf16>)
  check.expect_eq_const %p#0, dense<[[1.00000000000000000e+00, -4.00000000000000000e+00]]> : tensor<1x2xf16>
  check.expect_eq_const %p#1, dense<[[1.00000000000000000e+00, -4.00000000000000000e+00]]> : tensor<1x2xf16>
  return
}
}

// -----

module @parallel {
func.func private @replica(%a0: tensor<5x2x3xi8>, %a1: tensor<i8>) -> (tensor<4x3x5xi8>) {
  %r = "stablehlo.reduce_window"(%a0, %a1) <{window_dimensions = array<i64: 2, 3, 1>, window_strides = array<i64: 1, 1, 1>, base_dilations = array<i64: 1, 1, 1>, window_dilations = array<i64: 1, 1, 1>, padding = dense<[[-1, 1], [1, 2], [0, 2]]> : tensor<3x2xi64>}> ({
  ^bb0(%r0: tensor<i8>, %r1: tensor<i8>):
    %z = stablehlo.multiply %r0, %r1 : tensor<i8>
    stablehlo.return %z : tensor<i8>
  }) : (tensor<5x2x3xi8>, tensor<i8>) -> tensor<4x3x5xi8>
  return %r : tensor<4x3x5xi8>
}
func.func @reduce_window_8() {
  %a0_0 = stablehlo.constant dense<[[[-1, -2, 1], [-2, -1, 2]], [[0, -1, 1], [-1, 0, 2]], [[-2, -2, 2], [2, 0, 1]], [[0, 0, -1], [-1, 0, 1]], [[2, 0, -2], [2, 1, 2]]]> : tensor<5x2x3xi8>
  %a1_0 = stablehlo.constant dense<1> : tensor<i8>
  %a0_1 = stablehlo.constant dense<[[[0, -2, 0], [-2, 2, -1]], [[2, 1, -1], [2, -1, 2]], [[0, 0, -1], [1, 2, -2]], [[1, 0, -1], [2, -1, 0]], [[2, -2, -2], [1, 1, 0]]]> : tensor<5x2x3xi8>
  %a1_1 = stablehlo.constant dense<1> : tensor<i8>
  %p:2 = "interpreter.run_parallel"(%a0_0, %a1_0, %a0_1, %a1_1) {programs = [[@replica], [@replica]]} : (tensor<5x2x3xi8>, tensor<i8>, tensor<5x2x3xi8>, tensor<i8>) -> (tensor<4x3x5xi8>, tensor<4x3x5xi8>)
  check.expect_eq_const %p#0, dense<[[[0, 0, 4, 1, 1], [0, 0, 4, 1, 1], [-2, 0, 2, 1, 1]], [[0, 0, -2, 1, 1], [0, 0, -2, 1, 1], [-2, 0, 1, 1, 1]], [[0, 0, 4, 1, 1], [0, 0, 4, 1, 1], [-2, 0, 2, 1, 1]], [[4, 0, -4, 1, 1], [4, 0, -4, 1, 1], [2, 1, 2, 1, 1]]]> : tensor<4x3x5xi8>
  check.expect_eq_const %p#1, dense<[[[0, 0, -4, 1, 1], [0, 0, -4, 1, 1], [2, -2, -4, 1, 1]], [[0, 0, 0, 1, 1], [0, 0, 0, 1, 1], [2, -2, 0, 1, 1]], [[4, 0, 0, 1, 1], [4, 0, 0, 1, 1], [2, -1, 0, 1, 1]], [[2, -2, 0, 1, 1], [2, -2, 0, 1, 1], [1, 1, 0, 1, 1]]]> : tensor<4x3x5xi8>
  return
}
}

// -----

module @parallel {
func.func private @replica(%a0: tensor<4xf16>, %a1: tensor<4xi32>, %a2: tensor<f16>, %a3: tensor<i32>) -> (tensor<f16>, tensor<i32>) {
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
  }) {dimensions = array<i64: 0>} : (tensor<4xf16>, tensor<4xi32>, tensor<f16>, tensor<i32>) -> (tensor<f16>, tensor<i32>)
  return %r#0, %r#1 : tensor<f16>, tensor<i32>
}
func.func @reduce_9() {
  %a0_0 = stablehlo.constant dense<[-4.00000000000000000e+00, -4.00000000000000000e+00, -2.00000000000000000e+00, 1.00000000000000000e+00]> : tensor<4xf16>
  %a1_0 = stablehlo.constant dense<[74, 74, 85, 87]> : tensor<4xi32>
  %a2_0 = stablehlo.constant dense<0xFC00> : tensor<f16>
  %a3_0 = stablehlo.constant dense<0> : tensor<i32>
  %a0_1 = stablehlo.constant dense<[1.00000000000000000e+00, -4.00000000000000000e+00, -2.00000000000000000e+00, -4.00000000000000000e+00]> : tensor<4xf16>
  %a1_1 = stablehlo.constant dense<[74, 74, 85, 87]> : tensor<4xi32>
  %a2_1 = stablehlo.constant dense<0xFC00> : tensor<f16>
  %a3_1 = stablehlo.constant dense<0> : tensor<i32>
  %p:4 = "interpreter.run_parallel"(%a0_0, %a1_0, %a2_0, %a3_0, %a0_1, %a1_1, %a2_1, %a3_1) {programs = [[@replica], [@replica]]} : (tensor<4xf16>, tensor<4xi32>, tensor<f16>, tensor<i32>, tensor<4xf16>, tensor<4xi32>, tensor<f16>, tensor<i32>) -> (tensor<f16>, tensor<i32>, tensor<f16>, tensor<i32>)
  check.expect_eq_const %p#0, dense<1.00000000000000000e+00> : tensor<f16>
  check.expect_eq_const %p#1, dense<87> : tensor<i32>
  check.expect_eq_const %p#2, dense<1.00000000000000000e+00> : tensor<f16>
  check.expect_eq_const %p#3, dense<74> : tensor<i32>
  return
}
}

// -----

module @parallel {
func.func private @replica(%a0: tensor<3x7xi16>, %a1: tensor<3x7xi32>, %a2: tensor<i16>, %a3: tensor<i32>) -> (tensor<6x11xi16>, tensor<6x11xi32>) {
  %r:2 = "stablehlo.reduce_window"(%a0, %a1, %a2, %a3) <{window_dimensions = array<i64: 2, 1>, window_strides = array<i64: 1, 2>, base_dilations = array<i64: 3, 3>, window_dilations = array<i64: 2, 1>, padding = dense<[[0, 1], [2, 1]]> : tensor<2x2xi64>}> ({
  ^bb0(%r0: tensor<i16>, %r1: tensor<i32>, %r2: tensor<i16>, %r3: tensor<i32>):
    %v = stablehlo.maximum %r0, %r2 : tensor<i16>
    %w = stablehlo.add %r1, %r3 : tensor<i32>
    stablehlo.return %v, %w : tensor<i16>, tensor<i32>
  }) : (tensor<3x7xi16>, tensor<3x7xi32>, tensor<i16>, tensor<i32>) -> (tensor<6x11xi16>, tensor<6x11xi32>)
  return %r#0, %r#1 : tensor<6x11xi16>, tensor<6x11xi32>
}
func.func @reduce_window_10() {
  %a0_0 = stablehlo.constant dense<[[0, 1, -1, 0, -1, -4, -4], [3, -4, -4, -3, 2, 3, -2], [-3, 4, 2, 0, -1, -2, 0]]> : tensor<3x7xi16>
  %a1_0 = stablehlo.constant dense<[[4, 1, 3, 0, -3, 4, -1], [-4, 4, 4, 1, 3, -4, -2], [-2, -2, 1, 0, -1, 0, 1]]> : tensor<3x7xi32>
  %a2_0 = stablehlo.constant dense<-32768> : tensor<i16>
  %a3_0 = stablehlo.constant dense<0> : tensor<i32>
  %a0_1 = stablehlo.constant dense<[[3, 0, -1, 0, 4, 0, -3], [-1, -2, 3, 2, -4, 1, -4], [-3, 0, -1, 2, -4, -2, -4]]> : tensor<3x7xi16>
  %a1_1 = stablehlo.constant dense<[[-4, 3, 4, 4, -3, 1, 1], [4, -2, 0, 1, -1, -2, -4], [0, 0, 4, -2, -1, 3, 1]]> : tensor<3x7xi32>
  %a2_1 = stablehlo.constant dense<-32768> : tensor<i16>
  %a3_1 = stablehlo.constant dense<0> : tensor<i32>
  %p:4 = "interpreter.run_parallel"(%a0_0, %a1_0, %a2_0, %a3_0, %a0_1, %a1_1, %a2_1, %a3_1) {programs = [[@replica], [@replica]]} : (tensor<3x7xi16>, tensor<3x7xi32>, tensor<i16>, tensor<i32>, tensor<3x7xi16>, tensor<3x7xi32>, tensor<i16>, tensor<i32>) -> (tensor<6x11xi16>, tensor<6x11xi32>, tensor<6x11xi16>, tensor<6x11xi32>)
  check.expect_eq_const %p#0, dense<[[-32768, 0, -32768, -32768, -1, -32768, -32768, -1, -32768, -32768, -4], [-32768, 3, -32768, -32768, -4, -32768, -32768, 2, -32768, -32768, -2], [-32768, -32768, -32768, -32768, -32768, -32768, -32768, -32768, -32768, -32768, -32768], [-32768, 3, -32768, -32768, -4, -32768, -32768, 2, -32768, -32768, -2], [-32768, -3, -32768, -32768, 2, -32768, -32768, -1, -32768, -32768, 0], [-32768, -32768, -32768, -32768, -32768, -32768, -32768, -32768, -32768, -32768, -32768]]> : tensor<6x11xi16>
  check.expect_eq_const %p#1, dense<[[0, 4, 0, 0, 3, 0, 0, -3, 0, 0, -1], [0, -4, 0, 0, 4, 0, 0, 3, 0, 0, -2], [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], [0, -4, 0, 0, 4, 0, 0, 3, 0, 0, -2], [0, -2, 0, 0, 1, 0, 0, -1, 0, 0, 1], [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]]> : tensor<6x11xi32>
  check.expect_eq_const %p#2, dense<[[-32768, 3, -32768, -32768, -1, -32768, -32768, 4, -32768, -32768, -3], [-32768, -1, -32768, -32768, 3, -32768, -32768, -4, -32768, -32768, -4], [-32768, -32768, -32768, -32768, -32768, -32768, -32768, -32768, -32768, -32768, -32768], [-32768, -1, -32768, -32768, 3, -32768, -32768, -4, -32768, -32768, -4], [-32768, -3, -32768, -32768, -1, -32768, -32768, -4, -32768, -32768, -4], [-32768, -32768, -32768, -32768, -32768, -32768, -32768, -32768, -32768, -32768, -32768]]> : tensor<6x11xi16>
  check.expect_eq_const %p#3, dense<[[0, -4, 0, 0, 4, 0, 0, -3, 0, 0, 1], [0, 4, 0, 0, 0, 0, 0, -1, 0, 0, -4], [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], [0, 4, 0, 0, 0, 0, 0, -1, 0, 0, -4], [0, 0, 0, 0, 4, 0, 0, -1, 0, 0, 1], [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]]> : tensor<6x11xi32>
  return
}
}

// -----

module @parallel {
func.func private @replica(%a0: tensor<8x6xi64>, %a1: tensor<8x6xi32>, %a2: tensor<i64>, %a3: tensor<i32>) -> (tensor<8xi64>, tensor<8xi32>) {
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
  }) {dimensions = array<i64: 1>} : (tensor<8x6xi64>, tensor<8x6xi32>, tensor<i64>, tensor<i32>) -> (tensor<8xi64>, tensor<8xi32>)
  return %r#0, %r#1 : tensor<8xi64>, tensor<8xi32>
}
func.func @reduce_11() {
  %a0_0 = stablehlo.constant dense<[[-4, -1, -1, -4, -3, 3], [2, 3, 4, -2, 3, 1], [1, -4, 3, -2, 0, 0], [4, 0, -4, 2, 4, 2], [4, -2, -3, -1, 3, 2], [1, 1, -4, -1, -1, 0], [-2, 0, -4, 1, -4, -4], [4, -1, 1, -2, -1, -3]]> : tensor<8x6xi64>
  %a1_0 = stablehlo.constant dense<[[6, 62, 47, 74, 60, 86], [41, 65, 88, 99, 0, 82], [33, 8, 29, 65, 11, 44], [68, 14, 23, 76, 16, 14], [11, 17, 47, 62, 58, 88], [5, 91, 10, 63, 9, 71], [73, 57, 53, 11, 50, 55], [29, 26, 32, 9, 84, 23]]> : tensor<8x6xi32>
  %a2_0 = stablehlo.constant dense<-9223372036854775808> : tensor<i64>
  %a3_0 = stablehlo.constant dense<0> : tensor<i32>
  %a0_1 = stablehlo.constant dense<[[-1, 1, 4, -1, -2, -3], [4, -4, 1, 3, -2, 4], [2, -3, 0, 3, 3, 1], [0, -4, -4, -1, -4, 1], [-4, -1, -2, 2, 3, -1], [4, -2, 2, -4, -4, 0], [1, -2, 0, -4, 1, 2], [4, -3, -1, 0, -1, 3]]> : tensor<8x6xi64>
  %a1_1 = stablehlo.constant dense<[[68, 57, 84, 62, 91, 99], [47, 23, 53, 65, 63, 14], [26, 47, 8, 86, 88, 5], [76, 88, 44, 11, 82, 50], [29, 73, 14, 74, 9, 10], [55, 58, 16, 62, 60, 17], [65, 71, 9, 6, 11, 0], [33, 23, 29, 41, 11, 32]]> : tensor<8x6xi32>
  %a2_1 = stablehlo.constant dense<-9223372036854775808> : tensor<i64>
  %a3_1 = stablehlo.constant dense<0> : tensor<i32>
  %p:4 = "interpreter.run_parallel"(%a0_0, %a1_0, %a2_0, %a3_0, %a0_1, %a1_1, %a2_1, %a3_1) {programs = [[@replica], [@replica]]} : (tensor<8x6xi64>, tensor<8x6xi32>, tensor<i64>, tensor<i32>, tensor<8x6xi64>, tensor<8x6xi32>, tensor<i64>, tensor<i32>) -> (tensor<8xi64>, tensor<8xi32>, tensor<8xi64>, tensor<8xi32>)
  check.expect_eq_const %p#0, dense<[3, 4, 3, 4, 4, 1, 1, 4]> : tensor<8xi64>
  check.expect_eq_const %p#1, dense<[86, 88, 29, 16, 11, 5, 11, 29]> : tensor<8xi32>
  check.expect_eq_const %p#2, dense<[4, 4, 3, 1, 3, 4, 2, 4]> : tensor<8xi64>
  check.expect_eq_const %p#3, dense<[84, 14, 86, 50, 9, 55, 0, 33]> : tensor<8xi32>
  return
}
}

// -----

module @parallel {
func.func private @replica(%a0: tensor<1x1xf32>, %a1: tensor<1x1xi1>, %a2: tensor<1x1xf32>) -> (tensor<1x1xf32>) {
  %c = "stablehlo.cholesky"(%a0) <{lower = false}> : (tensor<1x1xf32>) -> tensor<1x1xf32>
  %r = stablehlo.select %a1, %c, %a2 : tensor<1x1xi1>, tensor<1x1xf32>
  return %r : tensor<1x1xf32>
}
func.func @cholesky_13() {
  %a0_0 = stablehlo.constant dense<[[1.00000000000000000e+00]]> : tensor<1x1xf32>
  %a1_0 = stablehlo.constant dense<[[true]]> : tensor<1x1xi1>
  %a2_0 = stablehlo.constant dense<[[0.00000000000000000e+00]]> : tensor<1x1xf32>
  %a0_1 = stablehlo.constant dense<[[1.00000000000000000e+00]]> : tensor<1x1xf32>
  %a1_1 = stablehlo.constant dense<[[true]]> : tensor<1x1xi1>
  %a2_1 = stablehlo.constant dense<[[0.00000000000000000e+00]]> : tensor<1x1xf32>
  %p:2 = "interpreter.run_parallel"(%a0_0, %a1_0, %a2_0, %a0_1, %a1_1, %a2_1) {programs = [[@replica], [@replica]]} : (tensor<1x1xf32>, tensor<1x1xi1>, tensor<1x1xf32>, tensor<1x1xf32>, tensor<1x1xi1>, tensor<1x1xf32>) -> (tensor<1x1xf32>, tensor<1x1xf32>)
  check.expect_almost_eq_const %p#0, dense<[[1.00000000000000000e+00]]> : tensor<1x1xf32>
  check.expect_almost_eq_const %p#1, dense<[[1.00000000000000000e+00]]> : tensor<1x1xf32>
  return
}
}

// -----

module @parallel {
func.func private @replica(%a0: tensor<4x4xf32>, %a1: tensor<4x4xi1>, %a2: tensor<4x4xf32>) -> (tensor<4x4xf32>) {
  %c = "stablehlo.cholesky"(%a0) <{lower = true}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %r = stablehlo.select %a1, %c, %a2 : tensor<4x4xi1>, tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}
func.func @cholesky_15() {
  %a0_0 = stablehlo.constant dense<[[9.00000000000000000e+00, 6.00000000000000000e+00, -3.00000000000000000e+00, 6.00000000000000000e+00], [6.00000000000000000e+00, 1.30000000000000000e+01, 1.00000000000000000e+00, 4.00000000000000000e+00], [-3.00000000000000000e+00, 1.00000000000000000e+00, 6.00000000000000000e+00, 2.00000000000000000e+00], [6.00000000000000000e+00, 4.00000000000000000e+00, 2.00000000000000000e+00, 9.00000000000000000e+00]]> : tensor<4x4xf32>
  %a1_0 = stablehlo.constant dense<[[true, false, false, false], [true, true, false, false], [true, true, true, false], [true, true, true, true]]> : tensor<4x4xi1>
  %a2_0 = stablehlo.constant dense<[[0.00000000000000000e+00, 0.00000000000000000e+00, 0.00000000000000000e+00, 0.00000000000000000e+00], [0.00000000000000000e+00, 0.00000000000000000e+00, 0.00000000000000000e+00, 0.00000000000000000e+00], [0.00000000000000000e+00, 0.00000000000000000e+00, 0.00000000000000000e+00, 0.00000000000000000e+00], [0.00000000000000000e+00, 0.00000000000000000e+00, 0.00000000000000000e+00, 0.00000000000000000e+00]]> : tensor<4x4xf32>
  %a0_1 = stablehlo.constant dense<[[9.00000000000000000e+00, 6.00000000000000000e+00, -3.00000000000000000e+00, 6.00000000000000000e+00], [6.00000000000000000e+00, 1.30000000000000000e+01, 1.00000000000000000e+00, 4.00000000000000000e+00], [-3.00000000000000000e+00, 1.00000000000000000e+00, 6.00000000000000000e+00, 2.00000000000000000e+00], [6.00000000000000000e+00, 4.00000000000000000e+00, 2.00000000000000000e+00, 9.00000000000000000e+00]]> : tensor<4x4xf32>
  %a1_1 = stablehlo.constant dense<[[true, false, false, false], [true, true, false, false], [true, true, true, false], [true, true, true, true]]> : tensor<4x4xi1>
  %a2_1 = stablehlo.constant dense<[[0.00000000000000000e+00, 0.00000000000000000e+00, 0.00000000000000000e+00, 0.00000000000000000e+00], [0.00000000000000000e+00, 0.00000000000000000e+00, 0.00000000000000000e+00, 0.00000000000000000e+00], [0.00000000000000000e+00, 0.00000000000000000e+00, 0.00000000000000000e+00, 0.00000000000000000e+00], [0.00000000000000000e+00, 0.00000000000000000e+00, 0.00000000000000000e+00, 0.00000000000000000e+00]]> : tensor<4x4xf32>
  %p:2 = "interpreter.run_parallel"(%a0_0, %a1_0, %a2_0, %a0_1, %a1_1, %a2_1) {programs = [[@replica], [@replica]]} : (tensor<4x4xf32>, tensor<4x4xi1>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xi1>, tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>)
  check.expect_almost_eq_const %p#0, dense<[[3.00000000000000000e+00, 0.00000000000000000e+00, 0.00000000000000000e+00, 0.00000000000000000e+00], [2.00000000000000000e+00, 3.00000000000000000e+00, 0.00000000000000000e+00, 0.00000000000000000e+00], [-1.00000000000000000e+00, 1.00000000000000000e+00, 2.00000000000000000e+00, 0.00000000000000000e+00], [2.00000000000000000e+00, 0.00000000000000000e+00, 2.00000000000000000e+00, 1.00000000000000000e+00]]> : tensor<4x4xf32>
  check.expect_almost_eq_const %p#1, dense<[[3.00000000000000000e+00, 0.00000000000000000e+00, 0.00000000000000000e+00, 0.00000000000000000e+00], [2.00000000000000000e+00, 3.00000000000000000e+00, 0.00000000000000000e+00, 0.00000000000000000e+00], [-1.00000000000000000e+00, 1.00000000000000000e+00, 2.00000000000000000e+00, 0.00000000000000000e+00], [2.00000000000000000e+00, 0.00000000000000000e+00, 2.00000000000000000e+00, 1.00000000000000000e+00]]> : tensor<4x4xf32>
  return
}
}

