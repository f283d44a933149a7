// Ops that move, sum and select complex numbers, control flow with them: each against the same written out by hand.
// RUN: %dopt -expect -split-input-file %s | %FileCheck %s
// RUN: %dopt -expect -pass=canonicalize,cse,dce,opfuse -split-input-file %s | %FileCheck %s
// CHECK-NOT: {{failed:|unsupported:}}
// CHECK: 15 passed, 0 failed, 0 unsupported

// Constants: a splat, a list, bytes.
func.func @constants() {
  %0 = stablehlo.constant dense<(1.0, -2.0)> : tensor<2xcomplex<f32>>
  %1 = stablehlo.constant dense<[(1.0, -2.0), (1.0, -2.0)]> : tensor<2xcomplex<f32>>
  %2 = stablehlo.constant dense<"0x0000803F000000C00000803F000000C0"> : tensor<2xcomplex<f32>>
  check.expect_eq %0, %1 : tensor<2xcomplex<f32>>
  check.expect_eq %1, %2 : tensor<2xcomplex<f32>>
  stablehlo.custom_call @check.expect_eq(%0, %2) : (tensor<2xcomplex<f32>>, tensor<2xcomplex<f32>>) -> ()
  return
}

// -----

func.func @parts() {
  %z = stablehlo.constant dense<[(1.0, -2.0), (3.0, 4.0)]> : tensor<2xcomplex<f32>>
  %re = stablehlo.real %z : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  %im = stablehlo.imag %z : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  %same = stablehlo.complex %re, %re : tensor<2xcomplex<f32>>
  %swapped = stablehlo.complex %im, %re : tensor<2xcomplex<f32>>
  %pair:2 = func.call @both(%same, %swapped) : (tensor<2xcomplex<f32>>, tensor<2xcomplex<f32>>) -> (tensor<2xcomplex<f32>>, tensor<2xcomplex<f32>>)
  %none = stablehlo.imag %re : tensor<2xf32>
  %size = stablehlo.abs %z : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  check.expect_eq_const %pair#0, dense<[(-2.0, 1.0), (4.0, 3.0)]> : tensor<2xcomplex<f32>>
  check.expect_eq_const %pair#1, dense<[(1.0, 1.0), (3.0, 3.0)]> : tensor<2xcomplex<f32>>
  check.expect_eq_const %none, dense<0.0> : tensor<2xf32>
  check.expect_almost_eq_const %size, dense<[2.236067977, 5.0]> : tensor<2xf32>
  return
}

func.func private @both(%a: tensor<2xcomplex<f32>>, %b: tensor<2xcomplex<f32>>) -> (tensor<2xcomplex<f32>>, tensor<2xcomplex<f32>>) {
  return %b, %a : tensor<2xcomplex<f32>>, tensor<2xcomplex<f32>>
}

// -----

// The absolute value where squares of the parts overflow or vanish, and of infinite numbers.
func.func @abs_extreme() {
  %z = stablehlo.constant dense<[(3.0e30, -4.0e30), (3.0e-30, 4.0e-30), (0.0, 0.0), (0xFF800000, 1.0), (1.0, 0x7F800000)]> : tensor<5xcomplex<f32>>
  %size = stablehlo.abs %z : (tensor<5xcomplex<f32>>) -> tensor<5xf32>
  %w = stablehlo.constant dense<[1.0e-30, 1.0e30, 1.0, 1.0, 1.0]> : tensor<5xf32>
  %scaled = stablehlo.multiply %size, %w : tensor<5xf32>
  check.expect_almost_eq_const %scaled, dense<[5.0, 5.0, 0.0, 0x7F800000, 0x7F800000]> : tensor<5xf32>
  return
}

// -----

// The square root of a negative number is on the side of the sign of the imaginary part, that of -0 too.
func.func @sqrt_cut() {
  %z = stablehlo.constant dense<[(-4.0, 0.0), (-4.0, -0.0), (4.0, -0.0)]> : tensor<3xcomplex<f32>>
  %root = stablehlo.sqrt %z : tensor<3xcomplex<f32>>
  check.expect_eq_const %root, dense<[(0.0, 2.0), (0.0, -2.0), (2.0, 0.0)]> : tensor<3xcomplex<f32>>
  return
}

// -----

func.func @conversions() {
  %x = stablehlo.constant dense<[1, -2]> : tensor<2xi32>
  %z = stablehlo.convert %x : (tensor<2xi32>) -> tensor<2xcomplex<f32>>
  %wide = stablehlo.convert %z : (tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f64>>
  %w = stablehlo.constant dense<[(0.5, 3.0), (1.5, -3.0)]> : tensor<2xcomplex<f64>>
  %sum = stablehlo.add %wide, %w : tensor<2xcomplex<f64>>
  %re = stablehlo.convert %sum : (tensor<2xcomplex<f64>>) -> tensor<2xf32>
  check.expect_eq_const %sum, dense<[(1.5, 3.0), (-0.5, -3.0)]> : tensor<2xcomplex<f64>>
  check.expect_eq_const %re, dense<[1.5, -0.5]> : tensor<2xf32>
  return
}

// -----

func.func @compare_select() {
  %a = stablehlo.constant dense<[(1.0, 2.0), (1.0, 2.0), (3.0, 2.0)]> : tensor<3xcomplex<f32>>
  %b = stablehlo.constant dense<[(1.0, 2.0), (1.0, 5.0), (4.0, 2.0)]> : tensor<3xcomplex<f32>>
  %eq = stablehlo.compare EQ, %a, %b : (tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>) -> tensor<3xi1>
  %ne = stablehlo.compare NE, %a, %b : (tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>) -> tensor<3xi1>
  %c = stablehlo.select %eq, %a, %b : tensor<3xi1>, tensor<3xcomplex<f32>>
  check.expect_eq_const %eq, dense<[true, false, false]> : tensor<3xi1>
  check.expect_eq_const %ne, dense<[false, true, true]> : tensor<3xi1>
  check.expect_eq %c, %b : tensor<3xcomplex<f32>>
  return
}

// -----

func.func @moves() {
  %z = stablehlo.constant dense<[[(1.0, 10.0), (2.0, 20.0), (3.0, 30.0)], [(4.0, 40.0), (5.0, 50.0), (6.0, 60.0)]]> : tensor<2x3xcomplex<f32>>
  %t = stablehlo.transpose %z, dims = [1, 0] : (tensor<2x3xcomplex<f32>>) -> tensor<3x2xcomplex<f32>>
  %r = stablehlo.reverse %t, dims = [0] : tensor<3x2xcomplex<f32>>
  %f = stablehlo.reshape %r : (tensor<3x2xcomplex<f32>>) -> tensor<6xcomplex<f32>>
  %s = stablehlo.slice %f [1:4] : (tensor<6xcomplex<f32>>) -> tensor<3xcomplex<f32>>
  %i = stablehlo.iota dim = 0 : tensor<2xcomplex<f32>>
  %c = stablehlo.concatenate %i, %s, dim = 0 : (tensor<2xcomplex<f32>>, tensor<3xcomplex<f32>>) -> tensor<5xcomplex<f32>>
  %p = stablehlo.constant dense<(0.0, -1.0)> : tensor<complex<f32>>
  %d = stablehlo.pad %c, %p, low = [1], high = [0], interior = [0] : (tensor<5xcomplex<f32>>, tensor<complex<f32>>) -> tensor<6xcomplex<f32>>
  check.expect_eq_const %d, dense<[(0.0, -1.0), (0.0, 0.0), (1.0, 0.0), (6.0, 60.0), (2.0, 20.0), (5.0, 50.0)]> : tensor<6xcomplex<f32>>
  %at = stablehlo.constant dense<2> : tensor<i32>
  %u = stablehlo.dynamic_update_slice %d, %s, %at : (tensor<6xcomplex<f32>>, tensor<3xcomplex<f32>>, tensor<i32>) -> tensor<6xcomplex<f32>>
  %v = stablehlo.dynamic_slice %u, %at, sizes = [2] : (tensor<6xcomplex<f32>>, tensor<i32>) -> tensor<2xcomplex<f32>>
  check.expect_eq_const %v, dense<[(6.0, 60.0), (2.0, 20.0)]> : tensor<2xcomplex<f32>>
  return
}

// -----

// Rows 2 and 0; the same rows written back by adding, and by overwriting.
func.func @gather_scatter() {
  %z = stablehlo.constant dense<[(1.0, 10.0), (2.0, 20.0), (3.0, 30.0)]> : tensor<3xcomplex<f32>>
  %i = stablehlo.constant dense<[[2], [0]]> : tensor<2x1xi32>
  %g = "stablehlo.gather"(%z, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<3xcomplex<f32>>, tensor<2x1xi32>) -> tensor<2xcomplex<f32>>
  check.expect_eq_const %g, dense<[(3.0, 30.0), (1.0, 10.0)]> : tensor<2xcomplex<f32>>
  %added = "stablehlo.scatter"(%z, %i, %g) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<complex<f32>>, %b: tensor<complex<f32>>):
    %s = stablehlo.add %a, %b : tensor<complex<f32>>
    stablehlo.return %s : tensor<complex<f32>>
  }) : (tensor<3xcomplex<f32>>, tensor<2x1xi32>, tensor<2xcomplex<f32>>) -> tensor<3xcomplex<f32>>
  check.expect_eq_const %added, dense<[(2.0, 20.0), (2.0, 20.0), (6.0, 60.0)]> : tensor<3xcomplex<f32>>
  %set = "stablehlo.scatter"(%added, %i, %g) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<complex<f32>>, %b: tensor<complex<f32>>):
    stablehlo.return %b : tensor<complex<f32>>
  }) : (tensor<3xcomplex<f32>>, tensor<2x1xi32>, tensor<2xcomplex<f32>>) -> tensor<3xcomplex<f32>>
  check.expect_eq_const %set, dense<[(1.0, 10.0), (2.0, 20.0), (3.0, 30.0)]> : tensor<3xcomplex<f32>>
  return
}

// -----

// (1 + 2i)(3 - i) = 5 + 5i, and times 2i = -10 + 10i.
func.func @reductions() {
  %z = stablehlo.constant dense<[(1.0, 2.0), (3.0, -1.0), (0.0, 2.0)]> : tensor<3xcomplex<f32>>
  %zero = stablehlo.constant dense<(0.0, 0.0)> : tensor<complex<f32>>
  %one = stablehlo.constant dense<(1.0, 0.0)> : tensor<complex<f32>>
  %sum = stablehlo.reduce(%z init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<3xcomplex<f32>>, tensor<complex<f32>>) -> tensor<complex<f32>>
  %prod = stablehlo.reduce(%z init: %one) applies stablehlo.multiply across dimensions = [0] : (tensor<3xcomplex<f32>>, tensor<complex<f32>>) -> tensor<complex<f32>>
  check.expect_eq_const %sum, dense<(4.0, 3.0)> : tensor<complex<f32>>
  check.expect_eq_const %prod, dense<(-10.0, 10.0)> : tensor<complex<f32>>
  return
}

// -----

func.func @windows() {
  %z = stablehlo.constant dense<[(1.0, 2.0), (3.0, -1.0), (0.0, 2.0)]> : tensor<3xcomplex<f32>>
  %zero = stablehlo.constant dense<(0.0, 0.0)> : tensor<complex<f32>>
  %one = stablehlo.constant dense<(1.0, 0.0)> : tensor<complex<f32>>
  %sum = "stablehlo.reduce_window"(%z, %zero) <{window_dimensions = array<i64: 2>}> ({
  ^bb0(%a: tensor<complex<f32>>, %b: tensor<complex<f32>>):
    %s = stablehlo.add %a, %b : tensor<complex<f32>>
    stablehlo.return %s : tensor<complex<f32>>
  }) : (tensor<3xcomplex<f32>>, tensor<complex<f32>>) -> tensor<2xcomplex<f32>>
  %prod = "stablehlo.reduce_window"(%z, %one) <{window_dimensions = array<i64: 2>}> ({
  ^bb0(%a: tensor<complex<f32>>, %b: tensor<complex<f32>>):
    %s = stablehlo.multiply %a, %b : tensor<complex<f32>>
    stablehlo.return %s : tensor<complex<f32>>
  }) : (tensor<3xcomplex<f32>>, tensor<complex<f32>>) -> tensor<2xcomplex<f32>>
  check.expect_eq_const %sum, dense<[(4.0, 1.0), (3.0, 1.0)]> : tensor<2xcomplex<f32>>
  check.expect_eq_const %prod, dense<[(5.0, 5.0), (2.0, 6.0)]> : tensor<2xcomplex<f32>>
  return
}

// -----

// [1 + i, 2] [i, 3 - i]^T = -1 + i + 6 - 2i
func.func @products() {
  %a = stablehlo.constant dense<[[(1.0, 1.0), (2.0, 0.0)]]> : tensor<1x2xcomplex<f64>>
  %b = stablehlo.constant dense<[[(0.0, 1.0)], [(3.0, -1.0)]]> : tensor<2x1xcomplex<f64>>
  %c = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<1x2xcomplex<f64>>, tensor<2x1xcomplex<f64>>) -> tensor<1x1xcomplex<f64>>
  check.expect_eq_const %c, dense<(5.0, -1.0)> : tensor<1x1xcomplex<f64>>
  return
}

// -----

// z <- z^2 three times from 1 + i: 2i, -4, 16. A branch by an input, and the barrier.
func.func @control() {
  %z = stablehlo.constant dense<(1.0, 1.0)> : tensor<complex<f32>>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %v = %z) : tensor<i32>, tensor<complex<f32>>
   cond {
    %three = stablehlo.constant dense<3> : tensor<i32>
    %go = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %go : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    %square = stablehlo.multiply %v, %v : tensor<complex<f32>>
    stablehlo.return %next, %square : tensor<i32>, tensor<complex<f32>>
  }
  check.expect_eq_const %r#0, dense<3> : tensor<i32>
  check.expect_eq_const %r#1, dense<(16.0, 0.0)> : tensor<complex<f32>>
  %kept:2 = stablehlo.optimization_barrier %r#1, %r#0 : tensor<complex<f32>>, tensor<i32>
  %re = stablehlo.real %kept#0 : (tensor<complex<f32>>) -> tensor<f32>
  %limit = stablehlo.constant dense<20.0> : tensor<f32>
  %small = stablehlo.compare LT, %re, %limit : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %picked = "stablehlo.if"(%small) ({
    stablehlo.return %z : tensor<complex<f32>>
  }, {
    stablehlo.return %kept#0 : tensor<complex<f32>>
  }) : (tensor<i1>) -> tensor<complex<f32>>
  check.expect_eq %picked, %z : tensor<complex<f32>>
  return
}

// -----

func.func @mapped() {
  %z = stablehlo.constant dense<[(1.0, 1.0), (0.0, 2.0)]> : tensor<2xcomplex<f32>>
  %m = "stablehlo.map"(%z) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<complex<f32>>):
    %s = stablehlo.multiply %a, %a : tensor<complex<f32>>
    stablehlo.return %s : tensor<complex<f32>>
  }) : (tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
  check.expect_eq_const %m, dense<[(0.0, 2.0), (-4.0, 0.0)]> : tensor<2xcomplex<f32>>
  return
}

// -----

// By the real part.
func.func @sorted() {
  %z = stablehlo.constant dense<[(3.0, 1.0), (1.0, 2.0), (2.0, 3.0)]> : tensor<3xcomplex<f32>>
  %s = "stablehlo.sort"(%z) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<complex<f32>>, %b: tensor<complex<f32>>):
    %x = stablehlo.real %a : (tensor<complex<f32>>) -> tensor<f32>
    %y = stablehlo.real %b : (tensor<complex<f32>>) -> tensor<f32>
    %less = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }) : (tensor<3xcomplex<f32>>) -> tensor<3xcomplex<f32>>
  check.expect_eq_const %s, dense<[(1.0, 2.0), (2.0, 3.0), (3.0, 1.0)]> : tensor<3xcomplex<f32>>
  return
}

// -----

// Tensors without elements.
func.func @empty() {
  %z = stablehlo.constant dense<> : tensor<0xcomplex<f32>>
  %w = stablehlo.multiply %z, %z : tensor<0xcomplex<f32>>
  %x = stablehlo.exponential %w : tensor<0xcomplex<f32>>
  %y = stablehlo.constant dense<(1.0, 2.0)> : tensor<1xcomplex<f32>>
  %c = stablehlo.concatenate %x, %y, dim = 0 : (tensor<0xcomplex<f32>>, tensor<1xcomplex<f32>>) -> tensor<1xcomplex<f32>>
  check.expect_eq %c, %y : tensor<1xcomplex<f32>>
  return
}
