func.func @gather_0() {
  %a0 = stablehlo.constant dense<[[3], [-1]]> : tensor<2x1xi8>
  %a1 = stablehlo.constant dense<[3]> : tensor<1xui64>
  %r = "stablehlo.gather"(%a0, %a1) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [0], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [0], index_vector_dim = 0>, slice_sizes = array<i64: 1, 1>}> : (tensor<2x1xi8>, tensor<1xui64>) -> tensor<1xi8>
  check.expect_eq_const %r, dense<[-1]> : tensor<1xi8>
  return
}

// -----

func.func @gather_1() {
  %a0 = stablehlo.constant dense<[[1], [2]]> : tensor<2x1xui16>
  %a1 = stablehlo.constant dense<[[-1, 2], [0, 0]]> : tensor<2x2xi16>
  %r = "stablehlo.gather"(%a0, %a1) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [], operand_batching_dims = [0], start_indices_batching_dims = [1], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1>}> : (tensor<2x1xui16>, tensor<2x2xi16>) -> tensor<2x1x2xui16>
  check.expect_eq_const %r, dense<[[[1, 2]], [[1, 2]]]> : tensor<2x1x2xui16>
  return
}

// -----

func.func @gather_2() {
  %a0 = stablehlo.constant dense<[[[[-4.00000000000000000e+00], [4.00000000000000000e+00], [-3.00000000000000000e+00]], [[2.00000000000000000e+00], [3.00000000000000000e+00], [2.00000000000000000e+00]], [[-3.00000000000000000e+00], [-2.00000000000000000e+00], [-2.00000000000000000e+00]]], [[[-3.00000000000000000e+00], [0.00000000000000000e+00], [1.00000000000000000e+00]], [[3.00000000000000000e+00], [-4.00000000000000000e+00], [-1.00000000000000000e+00]], [[1.00000000000000000e+00], [-3.00000000000000000e+00], [-1.00000000000000000e+00]]], [[[-4.00000000000000000e+00], [3.00000000000000000e+00], [2.00000000000000000e+00]], [[0.00000000000000000e+00], [-2.00000000000000000e+00], [-1.00000000000000000e+00]], [[4.00000000000000000e+00], [2.00000000000000000e+00], [-2.00000000000000000e+00]]], [[[2.00000000000000000e+00], [-4.00000000000000000e+00], [3.00000000000000000e+00]], [[2.00000000000000000e+00], [4.00000000000000000e+00], [0.00000000000000000e+00]], [[0.00000000000000000e+00], [0.00000000000000000e+00], [4.00000000000000000e+00]]], [[[0.00000000000000000e+00], [1.00000000000000000e+00], [3.00000000000000000e+00]], [[0.00000000000000000e+00], [-1.00000000000000000e+00], [-3.00000000000000000e+00]], [[0.00000000000000000e+00], [3.00000000000000000e+00], [4.00000000000000000e+00]]]]> : tensor<5x3x3x1xf64>
  %a1 = stablehlo.constant dense<[1, 0, 4, 1]> : tensor<4xi32>
  %r = "stablehlo.gather"(%a0, %a1) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 1, 2, 3], collapsed_slice_dims = [], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [2, 3, 0, 1], index_vector_dim = 0>, slice_sizes = array<i64: 5, 1, 1, 1>}> : (tensor<5x3x3x1xf64>, tensor<4xi32>) -> tensor<5x1x1x1xf64>
  check.expect_eq_const %r, dense<[[[[3.00000000000000000e+00]]], [[[-4.00000000000000000e+00]]], [[[-2.00000000000000000e+00]]], [[[4.00000000000000000e+00]]], [[[-1.00000000000000000e+00]]]]> : tensor<5x1x1x1xf64>
  return
}

// -----

func.func @gather_3() {
  %a0 = stablehlo.constant dense<[-2.00000000000000000e+00, -1.00000000000000000e+00, 1.00000000000000000e+00, 3.00000000000000000e+00, 0.00000000000000000e+00]> : tensor<5xbf16>
  %a1 = stablehlo.constant dense<[[[-2]], [[0]], [[6]], [[-1]]]> : tensor<4x1x1xi8>
  %r = "stablehlo.gather"(%a0, %a1) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [0], index_vector_dim = 2>, slice_sizes = array<i64: 5>}> : (tensor<5xbf16>, tensor<4x1x1xi8>) -> tensor<5x4x1xbf16>
  check.expect_eq_const %r, dense<[[[-2.00000000000000000e+00], [-2.00000000000000000e+00], [-2.00000000000000000e+00], [-2.00000000000000000e+00]], [[-1.00000000000000000e+00], [-1.00000000000000000e+00], [-1.00000000000000000e+00], [-1.00000000000000000e+00]], [[1.00000000000000000e+00], [1.00000000000000000e+00], [1.00000000000000000e+00], [1.00000000000000000e+00]], [[3.00000000000000000e+00], [3.00000000000000000e+00], [3.00000000000000000e+00], [3.00000000000000000e+00]], [[0.00000000000000000e+00], [0.00000000000000000e+00], [0.00000000000000000e+00], [0.00000000000000000e+00]]]> : tensor<5x4x1xbf16>
  return
}

// -----

func.func @gather_4() {
  %a0 = stablehlo.constant dense<[0.00000000000000000e+00, -3.00000000000000000e+00, -2.00000000000000000e+00]> : tensor<3xf64>
  %a1 = stablehlo.constant dense<[[2], [-2], [0]]> : tensor<3x1xi16>
  %r = "stablehlo.gather"(%a0, %a1) <{dimension_numbers = #stablehlo.gather<offset_dims = [], collapsed_slice_dims = [0], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<3xf64>, tensor<3x1xi16>) -> tensor<3xf64>
  check.expect_eq_const %r, dense<[-2.00000000000000000e+00, 0.00000000000000000e+00, 0.00000000000000000e+00]> : tensor<3xf64>
  return
}

// -----

func.func @gather_5() {
  %a0 = stablehlo.constant dense<[2, 1, 4]> : tensor<3xui32>
  %a1 = stablehlo.constant dense<[1, 0, 2, 0]> : tensor<4xui32>
  %r = "stablehlo.gather"(%a0, %a1) <{dimension_numbers = #stablehlo.gather<offset_dims = [], collapsed_slice_dims = [0], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<3xui32>, tensor<4xui32>) -> tensor<4xui32>
  check.expect_eq_const %r, dense<[1, 2, 4, 2]> : tensor<4xui32>
  return
}

// -----

func.func @gather_6() {
  %a0 = stablehlo.constant dense<[3, 3, -1]> : tensor<3xi8>
  %a1 = stablehlo.constant dense<[2]> : tensor<1xi32>
  %r = "stablehlo.gather"(%a0, %a1) <{dimension_numbers = #stablehlo.gather<offset_dims = [], collapsed_slice_dims = [0], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [0], index_vector_dim = 0>, slice_sizes = array<i64: 1>}> : (tensor<3xi8>, tensor<1xi32>) -> tensor<i8>
  check.expect_eq_const %r, dense<-1> : tensor<i8>
  return
}

// -----

func.func @gather_7() {
  %a0 = stablehlo.constant dense<[[[-4.00000000000000000e+00, 2.00000000000000000e+00], [3.00000000000000000e+00, -4.00000000000000000e+00]], [[0.00000000000000000e+00, -2.00000000000000000e+00], [3.00000000000000000e+00, 0.00000000000000000e+00]], [[-2.00000000000000000e+00, 4.00000000000000000e+00], [-3.00000000000000000e+00, -4.00000000000000000e+00]]]> : tensor<3x2x2xbf16>
  %a1 = stablehlo.constant dense<[[1, 2], [0, 2]]> : tensor<2x2xi8>
  %r = "stablehlo.gather"(%a0, %a1) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [], operand_batching_dims = [1, 2], start_indices_batching_dims = [0, 1], start_index_map = [0], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 1>}> : (tensor<3x2x2xbf16>, tensor<2x2xi8>) -> tensor<1x2x2xbf16>
  check.expect_eq_const %r, dense<[[[0.00000000000000000e+00, 4.00000000000000000e+00], [3.00000000000000000e+00, -4.00000000000000000e+00]]]> : tensor<1x2x2xbf16>
  return
}

