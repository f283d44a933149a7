func.func @dot_general_0() {
  %a0 = stablehlo.constant dense<[[3, -4, -4, -2], [4, -3, -2, 1], [1, -3, -2, 4]]> : tensor<3x4xi64>
  %a1 = stablehlo.constant dense<[[[-3, 3, 2, 3], [-1, 0, 1, 0], [-3, -1, -2, -4]], [[4, -4, -4, 4], [1, 4, -3, 3], [-3, -4, -1, 1]], [[-4, -4, 2, -1], [-1, 3, 2, -1], [0, 0, -4, 1]], [[3, -3, -2, 2], [0, -3, -4, 1], [3, 0, 4, -1]]]> : tensor<4x3x4xi64>
  %r = stablehlo.dot_general %a0, %a1, batching_dims = [] x [], contracting_dims = [0] x [1] : (tensor<3x4xi64>, tensor<4x3x4xi64>) -> tensor<4x4x4xi64>
  check.expect_eq_const %r, dense<[[[-16, 8, 8, 5], [13, 0, -25, 25], [-16, 0, 10, -6], [12, -21, -18, 9]], [[24, -9, -5, 0], [-10, 16, 28, -28], [19, 7, -2, 4], [-21, 21, 8, -8]], [[20, -10, -6, -4], [-12, 16, 24, -24], [18, 10, -4, 4], [-18, 18, 8, -8]], [[-7, -10, -11, -22], [-19, -4, 1, -1], [7, 11, -18, 5], [6, 3, 16, -7]]]> : tensor<4x4x4xi64>
  return
}

// -----

func.func @dot_general_1() {
  %a0 = stablehlo.constant dense<[[1.00000000000000000e+00], [2.00000000000000000e+00], [-4.00000000000000000e+00], [2.00000000000000000e+00]]> : tensor<4x1xbf16>
  %a1 = stablehlo.constant dense<[[-3.00000000000000000e+00], [-4.00000000000000000e+00], [-4.00000000000000000e+00], [-4.00000000000000000e+00]]> : tensor<4x1xbf16>
  %r = stablehlo.dot_general %a0, %a1, batching_dims = [1, 0] x [1, 0], contracting_dims = [] x [] : (tensor<4x1xbf16>, tensor<4x1xbf16>) -> tensor<1x4xbf16>
  check.expect_eq_const %r, dense<[[-3.00000000000000000e+00, -8.00000000000000000e+00, 1.60000000000000000e+01, -8.00000000000000000e+00]]> : tensor<1x4xbf16>
  return
}

// -----

func.func @dot_general_2() {
  %a0 = stablehlo.constant dense<[4, 0, 4, 4]> : tensor<4xui16>
  %a1 = stablehlo.constant dense<[[1, 3, 3, 2]]> : tensor<1x4xui16>
  %r = stablehlo.dot_general %a0, %a1, batching_dims = [] x [], contracting_dims = [0] x [1] : (tensor<4xui16>, tensor<1x4xui16>) -> tensor<1xui16>
  check.expect_eq_const %r, dense<[24]> : tensor<1xui16>
  return
}

// -----

func.func @dot_general_3() {
  %a0 = stablehlo.constant dense<[[[[-1, 4, 2, 2], [-3, 2, 3, 2], [-3, 3, -2, 3]], [[2, 3, -1, 0], [0, -4, -1, -1], [2, 1, 2, 0]], [[1, -3, 3, 1], [-3, -1, -1, -2], [3, -2, -2, -4]], [[-1, 0, -2, -3], [1, 0, 3, 2], [-2, 4, -3, 0]]]]> : tensor<1x4x3x4xi32>
  %a1 = stablehlo.constant dense<[[[[2, 4, -1, -2]], [[2, 4, 1, 3]], [[-4, 1, 4, 4]]]]> : tensor<1x3x1x4xi32>
  %r = stablehlo.dot_general %a0, %a1, batching_dims = [3] x [3], contracting_dims = [2, 0] x [1, 0] : (tensor<1x4x3x4xi32>, tensor<1x3x1x4xi32>) -> tensor<4x4x1xi32>
  check.expect_eq_const %r, dense<[[[4], [-4], [-16], [8]], [[27], [-3], [-18], [4]], [[-7], [8], [-12], [-7]], [[14], [-3], [-24], [12]]]> : tensor<4x4x1xi32>
  return
}

// -----

func.func @dot_general_4() {
  %a0 = stablehlo.constant dense<[[1, 1, -2, -3], [-4, -3, -3, 2]]> : tensor<2x4xi32>
  %a1 = stablehlo.constant dense<[[3, 1, -2, 4], [-2, -4, 1, 2]]> : tensor<2x4xi32>
  %r = stablehlo.dot_general %a0, %a1, batching_dims = [0, 1] x [0, 1], contracting_dims = [] x [] : (tensor<2x4xi32>, tensor<2x4xi32>) -> tensor<2x4xi32>
  check.expect_eq_const %r, dense<[[3, 1, 4, -12], [8, 12, -3, 4]]> : tensor<2x4xi32>
  return
}

// -----

func.func @dot_general_5() {
  %a0 = stablehlo.constant dense<[[3, 0, 2, 4], [1, 4, 3, 0], [1, 2, 0, 1], [1, 0, 3, 2]]> : tensor<4x4xui16>
  %a1 = stablehlo.constant dense<[[[2, 4, 4, 3], [4, 4, 2, 0], [2, 2, 1, 1], [4, 4, 0, 1]], [[2, 1, 3, 3], [1, 1, 3, 1], [1, 1, 4, 2], [1, 2, 0, 3]], [[1, 0, 2, 2], [1, 0, 0, 4], [1, 1, 3, 4], [4, 3, 1, 1]], [[1, 3, 3, 0], [0, 4, 3, 2], [2, 3, 1, 2], [2, 3, 0, 2]]]> : tensor<4x4x4xui16>
  %r = stablehlo.dot_general %a0, %a1, batching_dims = [1, 0] x [1, 2], contracting_dims = [] x [] : (tensor<4x4xui16>, tensor<4x4x4xui16>) -> tensor<4x4x4xui16>
  check.expect_eq_const %r, dense<[[[6, 6, 3, 3], [4, 1, 0, 3], [4, 3, 2, 3], [3, 3, 2, 0]], [[0, 0, 0, 0], [16, 4, 0, 16], [4, 6, 0, 6], [0, 0, 0, 0]], [[4, 2, 2, 4], [6, 3, 3, 9], [0, 0, 0, 0], [3, 6, 12, 6]], [[16, 4, 16, 8], [0, 0, 0, 0], [0, 0, 1, 0], [2, 6, 2, 4]]]> : tensor<4x4x4xui16>
  return
}

// -----

func.func @dot_general_6() {
  %a0 = stablehlo.constant dense<[[[[[-3], [-2]], [[-3], [-2]], [[-2], [0]]], [[[-3], [-3]], [[-1], [-2]], [[-2], [-3]]], [[[4], [-3]], [[0], [-2]], [[-4], [2]]]], [[[[-1], [2]], [[-3], [-3]], [[1], [2]]], [[[1], [-3]], [[4], [-2]], [[-2], [-3]]], [[[1], [1]], [[-2], [4]], [[0], [-4]]]], [[[[4], [3]], [[-2], [-2]], [[-2], [1]]], [[[1], [-4]], [[-3], [-4]], [[-1], [3]]], [[[-3], [2]], [[-3], [3]], [[-1], [-3]]]], [[[[-1], [0]], [[-4], [-4]], [[-2], [-1]]], [[[0], [4]], [[1], [-3]], [[-2], [0]]], [[[1], [4]], [[2], [1]], [[-4], [-2]]]]]> : tensor<4x3x3x2x1xi16>
  %a1 = stablehlo.constant dense<[[[[3, 0, -2], [-2, 4, -4], [1, -1, 2], [-4, 2, 0]], [[1, -4, -3], [1, 0, 1], [1, -3, 0], [-3, 0, -4]]], [[[2, 0, 1], [1, 1, 2], [3, 2, -4], [-2, 2, -1]], [[-1, 1, 4], [2, 2, -1], [-2, 0, 1], [0, -2, 4]]], [[[-4, -3, -3], [-1, -2, -1], [1, 1, -2], [1, 1, -1]], [[-4, 2, -4], [-3, 2, 3], [2, 4, -1], [-2, -2, -4]]]]> : tensor<3x2x4x3xi16>
  %r = stablehlo.dot_general %a0, %a1, batching_dims = [2] x [3], contracting_dims = [1, 3] x [0, 1] : (tensor<4x3x3x2x1xi16>, tensor<3x2x4x3xi16>) -> tensor<3x4x1x4xi16>
  check.expect_eq_const %r, dense<[[[[-18, 0, -10, 34]], [[-4, -5, 13, -5]], [[25, -15, 19, -34]], [[-27, -3, 0, -3]]], [[[2, -21, -1, 0]], [[24, 0, 34, -4]], [[19, -7, 11, -11]], [[9, -23, 24, 0]]], [[[-6, 17, 7, -14]], [[-6, -15, 11, -2]], [[27, -4, 8, 22]], [[25, 1, 14, 18]]]]> : tensor<3x4x1x4xi16>
  return
}

// -----

func.func @dot_general_7() {
  %a0 = stablehlo.constant dense<[[-2, -2], [-4, -2], [-3, -2]]> : tensor<3x2xi16>
  %a1 = stablehlo.constant dense<[[[[-2, 4, -2], [4, 3, -1], [-3, 0, -1]]], [[[1, 3, -2], [4, -2, -4], [1, 1, -1]]]]> : tensor<2x1x3x3xi16>
  %r = stablehlo.dot_general %a0, %a1, batching_dims = [] x [], contracting_dims = [0, 1] x [3, 0] : (tensor<3x2xi16>, tensor<2x1x3x3xi16>) -> tensor<1x3xi16>
  check.expect_eq_const %r, dense<[[-10, -13, 7]]> : tensor<1x3xi16>
  return
}

