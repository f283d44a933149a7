// LAPACK as custom calls: LU with its pivots in exact fractions, QR by its definition, factors and solutions by hand; batches,
// a matrix that has no factor.
// RUN: %dopt -expect -split-input-file %s | %FileCheck %s
// RUN: %dopt -expect -pass=canonicalize,cse,dce,opfuse -split-input-file %s | %FileCheck %s
// CHECK-NOT: {{failed:|unsupported:}}
// CHECK: passed, 0 failed, 0 unsupported

func.func @lu_4_4() {
  %a = stablehlo.constant dense<[[-2.0, 9.0, 8.0, -5.0], [2.0, 6.0, 9.0, -7.0], [-9.0, 6.0, -1.0, 8.0], [-2.0, -3.0, 6.0, 8.0]]> : tensor<4x4xf64>
  %lu, %p, %info = stablehlo.custom_call @lapack_dgetrf_ffi(%a) {mhlo.backend_config = {}} : (tensor<4x4xf64>) -> (tensor<4x4xf64>, tensor<4xi32>, tensor<i32>)
  check.expect_almost_eq_const %lu, dense<[[-9.0, 6.0, -1.0, 8.0], [0.2222222222222222, 7.666666666666667, 8.222222222222221, -6.777777777777778], [0.2222222222222222, -0.5652173913043478, 10.869565217391305, 2.391304347826087], [-0.2222222222222222, 0.9565217391304348, 0.084, 1.06]]> : tensor<4x4xf64>
  check.expect_eq_const %p, dense<[3, 3, 4, 4]> : tensor<4xi32>
  check.expect_eq_const %info, dense<0> : tensor<i32>
  return
}

// -----

func.func @qr_4_4() {
  %a = stablehlo.constant dense<[[-2.0, 9.0, 8.0, -5.0], [2.0, 6.0, 9.0, -7.0], [-9.0, 6.0, -1.0, 8.0], [-2.0, -3.0, 6.0, 8.0]]> : tensor<4x4xf64>
  %f, %tau = stablehlo.custom_call @lapack_dgeqrf_ffi(%a) {mhlo.backend_config = {}} : (tensor<4x4xf64>) -> (tensor<4x4xf64>, tensor<4xf64>)
  %q = stablehlo.custom_call @lapack_dorgqr_ffi(%f, %tau) {mhlo.backend_config = {}} : (tensor<4x4xf64>, tensor<4xf64>) -> tensor<4x4xf64>
  %top = stablehlo.slice %f [0:4, 0:4] : (tensor<4x4xf64>) -> tensor<4x4xf64>
  %i = stablehlo.iota dim = 0 : tensor<4x4xi32>
  %j = stablehlo.iota dim = 1 : tensor<4x4xi32>
  %upper = stablehlo.compare LE, %i, %j : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi1>
  %zero = stablehlo.constant dense<0.0> : tensor<4x4xf64>
  %r = stablehlo.select %upper, %top, %zero : tensor<4x4xi1>, tensor<4x4xf64>
  %qr = stablehlo.dot %q, %r : (tensor<4x4xf64>, tensor<4x4xf64>) -> tensor<4x4xf64>
  check.expect_almost_eq %qr, %a : tensor<4x4xf64>
  %qt = stablehlo.transpose %q, dims = [1, 0] : (tensor<4x4xf64>) -> tensor<4x4xf64>
  %one = stablehlo.dot %qt, %q : (tensor<4x4xf64>, tensor<4x4xf64>) -> tensor<4x4xf64>
  %same = stablehlo.compare EQ, %i, %j : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi1>
  %identity = stablehlo.convert %same : (tensor<4x4xi1>) -> tensor<4x4xf64>
  check.expect_almost_eq %one, %identity : tensor<4x4xf64>
  return
}

// -----

func.func @lu_5_3() {
  %a = stablehlo.constant dense<[[8.0, 6.0, 3.0], [-5.0, -2.0, -5.0], [7.0, 3.0, -9.0], [-7.0, -4.0, 9.0], [-8.0, 0.0, -9.0]]> : tensor<5x3xf64>
  %lu, %p, %info = stablehlo.custom_call @lapack_dgetrf_ffi(%a) {mhlo.backend_config = {}} : (tensor<5x3xf64>) -> (tensor<5x3xf64>, tensor<3xi32>, tensor<i32>)
  check.expect_almost_eq_const %lu, dense<[[8.0, 6.0, 3.0], [-1.0, 6.0, -6.0], [0.875, -0.375, -13.875], [-0.875, 0.20833333333333334, -0.9279279279279279], [-0.625, 0.2916666666666667, 0.0990990990990991]]> : tensor<5x3xf64>
  check.expect_eq_const %p, dense<[1, 5, 3]> : tensor<3xi32>
  check.expect_eq_const %info, dense<0> : tensor<i32>
  return
}

// -----

func.func @qr_5_3() {
  %a = stablehlo.constant dense<[[8.0, 6.0, 3.0], [-5.0, -2.0, -5.0], [7.0, 3.0, -9.0], [-7.0, -4.0, 9.0], [-8.0, 0.0, -9.0]]> : tensor<5x3xf64>
  %f, %tau = stablehlo.custom_call @lapack_dgeqrf_ffi(%a) {mhlo.backend_config = {}} : (tensor<5x3xf64>) -> (tensor<5x3xf64>, tensor<3xf64>)
  %q = stablehlo.custom_call @lapack_dorgqr_ffi(%f, %tau) {mhlo.backend_config = {}} : (tensor<5x3xf64>, tensor<3xf64>) -> tensor<5x3xf64>
  %top = stablehlo.slice %f [0:3, 0:3] : (tensor<5x3xf64>) -> tensor<3x3xf64>
  %i = stablehlo.iota dim = 0 : tensor<3x3xi32>
  %j = stablehlo.iota dim = 1 : tensor<3x3xi32>
  %upper = stablehlo.compare LE, %i, %j : (tensor<3x3xi32>, tensor<3x3xi32>) -> tensor<3x3xi1>
  %zero = stablehlo.constant dense<0.0> : tensor<3x3xf64>
  %r = stablehlo.select %upper, %top, %zero : tensor<3x3xi1>, tensor<3x3xf64>
  %qr = stablehlo.dot %q, %r : (tensor<5x3xf64>, tensor<3x3xf64>) -> tensor<5x3xf64>
  check.expect_almost_eq %qr, %a : tensor<5x3xf64>
  %qt = stablehlo.transpose %q, dims = [1, 0] : (tensor<5x3xf64>) -> tensor<3x5xf64>
  %one = stablehlo.dot %qt, %q : (tensor<3x5xf64>, tensor<5x3xf64>) -> tensor<3x3xf64>
  %same = stablehlo.compare EQ, %i, %j : (tensor<3x3xi32>, tensor<3x3xi32>) -> tensor<3x3xi1>
  %identity = stablehlo.convert %same : (tensor<3x3xi1>) -> tensor<3x3xf64>
  check.expect_almost_eq %one, %identity : tensor<3x3xf64>
  return
}

// -----

func.func @lu_3_5() {
  %a = stablehlo.constant dense<[[-1.0, 6.0, 3.0, 4.0, 3.0], [9.0, 5.0, -5.0, 2.0, -6.0], [-8.0, -5.0, 6.0, -3.0, -1.0]]> : tensor<3x5xf64>
  %lu, %p, %info = stablehlo.custom_call @lapack_dgetrf_ffi(%a) {mhlo.backend_config = {}} : (tensor<3x5xf64>) -> (tensor<3x5xf64>, tensor<3xi32>, tensor<i32>)
  check.expect_almost_eq_const %lu, dense<[[9.0, 5.0, -5.0, 2.0, -6.0], [-0.1111111111111111, 6.555555555555555, 2.4444444444444446, 4.222222222222222, 2.3333333333333335], [-0.8888888888888888, -0.0847457627118644, 1.7627118644067796, -0.864406779661017, -6.135593220338983]]> : tensor<3x5xf64>
  check.expect_eq_const %p, dense<[2, 2, 3]> : tensor<3xi32>
  check.expect_eq_const %info, dense<0> : tensor<i32>
  return
}

// -----

func.func @batch() {
  %a = stablehlo.constant dense<[[[4.0, 0.0, 4.0], [7.0, 3.0, 9.0], [2.0, 8.0, 9.0]], [[4.0, 9.0, -2.0], [1.0, -9.0, -1.0], [-4.0, 1.0, 8.0]]]> : tensor<2x3x3xf64>
  %lu, %p, %info = stablehlo.custom_call @lapack_dgetrf_ffi(%a) {mhlo.backend_config = {}} : (tensor<2x3x3xf64>) -> (tensor<2x3x3xf64>, tensor<2x3xi32>, tensor<2xi32>)
  check.expect_almost_eq_const %lu, dense<[[[7.0, 3.0, 9.0], [0.2857142857142857, 7.142857142857143, 6.428571428571429], [0.5714285714285714, -0.24, 0.4]], [[4.0, 9.0, -2.0], [0.25, -11.25, -0.5], [-1.0, -0.8888888888888888, 5.555555555555555]]]> : tensor<2x3x3xf64>
  check.expect_eq_const %p, dense<[[2, 3, 3], [1, 2, 3]]> : tensor<2x3xi32>
  %f, %tau = stablehlo.custom_call @lapack_dgeqrf_ffi(%a) {mhlo.backend_config = {}} : (tensor<2x3x3xf64>) -> (tensor<2x3x3xf64>, tensor<2x3xf64>)
  %q = stablehlo.custom_call @lapack_dorgqr_ffi(%f, %tau) {mhlo.backend_config = {}} : (tensor<2x3x3xf64>, tensor<2x3xf64>) -> tensor<2x3x3xf64>
  %i = stablehlo.iota dim = 1 : tensor<2x3x3xi32>
  %j = stablehlo.iota dim = 2 : tensor<2x3x3xi32>
  %upper = stablehlo.compare LE, %i, %j : (tensor<2x3x3xi32>, tensor<2x3x3xi32>) -> tensor<2x3x3xi1>
  %zero = stablehlo.constant dense<0.0> : tensor<2x3x3xf64>
  %r = stablehlo.select %upper, %f, %zero : tensor<2x3x3xi1>, tensor<2x3x3xf64>
  %qr = stablehlo.dot_general %q, %r, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x3x3xf64>, tensor<2x3x3xf64>) -> tensor<2x3x3xf64>
  check.expect_almost_eq %qr, %a : tensor<2x3x3xf64>
  return
}

// -----

func.func @cholesky() {
  %a = stablehlo.constant dense<[[[4.0, 2.0], [2.0, 5.0]], [[9.0, -3.0], [-3.0, 5.0]]]> : tensor<2x2x2xf32>
  %l, %info = stablehlo.custom_call @lapack_spotrf_ffi(%a) {mhlo.backend_config = {uplo = 76 : ui8}} : (tensor<2x2x2xf32>) -> (tensor<2x2x2xf32>, tensor<2xi32>)
  check.expect_almost_eq_const %l, dense<[[[2.0, 0.0], [1.0, 2.0]], [[3.0, 0.0], [-1.0, 2.0]]]> : tensor<2x2x2xf32>
  check.expect_eq_const %info, dense<0> : tensor<2xi32>
  %bad = stablehlo.constant dense<[[-1.0, 0.0], [0.0, 1.0]]> : tensor<2x2xf32>
  %n, %no = stablehlo.custom_call @lapack_spotrf_ffi(%bad) {mhlo.backend_config = {uplo = 85 : ui8}} : (tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<i32>)
  check.expect_eq_const %no, dense<1> : tensor<i32>
  return
}

// -----

func.func @solves() {
  %a = stablehlo.constant dense<[[2.0, 77.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %b = stablehlo.constant dense<[[2.0], [11.0]]> : tensor<2x1xf32>
  %c = stablehlo.constant dense<[[8.0], [8.0]]> : tensor<2x1xf32>
  %r = stablehlo.constant dense<[[8.0, 8.0]]> : tensor<1x2xf32>
  %u = stablehlo.constant dense<[[1.0], [5.0]]> : tensor<2x1xf32>
  %x = stablehlo.custom_call @lapack_strsm_ffi(%a, %b) {mhlo.backend_config = {diag = 78 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8}} : (tensor<2x2xf32>, tensor<2x1xf32>) -> tensor<2x1xf32>
  check.expect_almost_eq_const %x, dense<[[1.0], [2.0]]> : tensor<2x1xf32>
  %y = stablehlo.custom_call @lapack_strsm_ffi(%a, %c) {mhlo.backend_config = {diag = 78 : ui8, side = 76 : ui8, trans_x = 84 : ui8, uplo = 76 : ui8}} : (tensor<2x2xf32>, tensor<2x1xf32>) -> tensor<2x1xf32>
  check.expect_almost_eq_const %y, dense<[[1.0], [2.0]]> : tensor<2x1xf32>
  %z = stablehlo.custom_call @lapack_strsm_ffi(%a, %r) {mhlo.backend_config = {diag = 78 : ui8, side = 82 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8}} : (tensor<2x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
  check.expect_almost_eq_const %z, dense<[[1.0, 2.0]]> : tensor<1x2xf32>
  %v = stablehlo.custom_call @lapack_strsm_ffi(%a, %u) {mhlo.backend_config = {diag = 85 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8}} : (tensor<2x2xf32>, tensor<2x1xf32>) -> tensor<2x1xf32>
  check.expect_almost_eq_const %v, dense<[[1.0], [2.0]]> : tensor<2x1xf32>
  return
}

// -----

// A batch, and singular values alone: 5 and 3; 4, 0.
func.func @batches() {
  %a = stablehlo.constant dense<[[[4.0, 1.0], [1.0, 4.0]], [[2.0, 2.0], [2.0, 2.0]]]> : tensor<2x2x2xf64>
  %v, %w, %info = stablehlo.custom_call @lapack_dsyevd_ffi(%a) {mhlo.backend_config = {mode = 86 : ui8, uplo = 76 : ui8}} : (tensor<2x2x2xf64>) -> (tensor<2x2x2xf64>, tensor<2x2xf64>, tensor<2xi32>)
  check.expect_almost_eq_const %w, dense<[[3.0, 5.0], [0.0, 4.0]]> : tensor<2x2xf64>
  check.expect_eq_const %info, dense<0> : tensor<2xi32>
  %x, %s, %u, %vt, %info2 = stablehlo.custom_call @lapack_dgesdd_ffi(%a) {mhlo.backend_config = {mode = 78 : ui8}} : (tensor<2x2x2xf64>) -> (tensor<2x2x2xf64>, tensor<2x2xf64>, tensor<2x2x2xf64>, tensor<2x2x2xf64>, tensor<2xi32>)
  check.expect_almost_eq_const %s, dense<[[5.0, 3.0], [4.0, 0.0]]> : tensor<2x2xf64>
  return
}
