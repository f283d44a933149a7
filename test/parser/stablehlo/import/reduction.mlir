// Reductions, windows, products and indices: forms that the interpreter's own tests and the random programs lack. Values
// are from the specification, worked out by hand.
// RUN: %dopt -expect -split-input-file %s | %FileCheck %s
// CHECK-NOT: {{failed:|unsupported:}}
// CHECK: passed, 0 failed, 0 unsupported

// Padding is made of the initial value, and the initial value itself counts once more.
func.func @window_initial_value() {
  %x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
  %i = stablehlo.constant dense<10> : tensor<i32>
  %r = "stablehlo.reduce_window"(%x, %i) <{padding = dense<[[1, 1]]> : tensor<1x2xi64>, window_dimensions = array<i64: 2>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %0 = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %0 : tensor<i32>
  }) : (tensor<3xi32>, tensor<i32>) -> tensor<4xi32>
  check.expect_eq_const %r, dense<[21, 13, 15, 23]> : tensor<4xi32>
  return
}

// -----

// The region works in a wider type than its operand has.
func.func @reduce_wider() {
  %x = stablehlo.constant dense<[[100, 100, 100], [1, 2, 3]]> : tensor<2x3xi8>
  %i = stablehlo.constant dense<0> : tensor<i8>
  %r = "stablehlo.reduce"(%x, %i) <{dimensions = array<i64: 1>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %0 = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %0 : tensor<i32>
  }) : (tensor<2x3xi8>, tensor<i8>) -> tensor<2xi32>
  check.expect_eq_const %r, dense<[300, 6]> : tensor<2xi32>
  return
}

// -----

// Nothing to reduce, and nothing to sum over: the initial value, zeros.
func.func @of_nothing() {
  %x = stablehlo.constant dense<> : tensor<2x0xf32>
  %y = stablehlo.constant dense<> : tensor<0x3xf32>
  %i = stablehlo.constant dense<5.0> : tensor<f32>
  %r = stablehlo.reduce(%x init: %i) applies stablehlo.add across dimensions = [1] : (tensor<2x0xf32>, tensor<f32>) -> tensor<2xf32>
  check.expect_eq_const %r, dense<[5.0, 5.0]> : tensor<2xf32>
  %s = stablehlo.dot %x, %y : (tensor<2x0xf32>, tensor<0x3xf32>) -> tensor<2x3xf32>
  check.expect_eq_const %s, dense<0.0> : tensor<2x3xf32>
  return
}

// -----

// An associative body that does not commute keeps the order: the last of 9 elements, digits in a row.
func.func @in_order() {
  %x = stablehlo.constant dense<[1, 2, 3, 4, 5, 6, 7, 8, 9]> : tensor<9xi64>
  %n = stablehlo.constant dense<10> : tensor<9xi64>
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %r:2 = "stablehlo.reduce"(%x, %n, %zero, %one) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<i64>, %p: tensor<i64>, %b: tensor<i64>, %q: tensor<i64>):
    %0 = stablehlo.multiply %a, %q : tensor<i64>
    %1 = stablehlo.add %0, %b : tensor<i64>
    %2 = stablehlo.multiply %p, %q : tensor<i64>
    stablehlo.return %1, %2 : tensor<i64>, tensor<i64>
  }) : (tensor<9xi64>, tensor<9xi64>, tensor<i64>, tensor<i64>) -> (tensor<i64>, tensor<i64>)
  check.expect_eq_const %r#0, dense<123456789> : tensor<i64>
  check.expect_eq_const %r#1, dense<1000000000> : tensor<i64>
  return
}

// -----

// A window of nothing but padding selects nothing; of equal elements the first is taken.
func.func @select_padding() {
  %x = stablehlo.constant dense<[3, 3, 1]> : tensor<3xi32>
  %s = stablehlo.constant dense<[7, 20, 400]> : tensor<3xi32>
  %i = stablehlo.constant dense<0> : tensor<i32>
  %r = "stablehlo.select_and_scatter"(%x, %s, %i) <{padding = dense<[[2, 1]]> : tensor<1x2xi64>, window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %0 = stablehlo.compare GE, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %0 : tensor<i1>
  }, {
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %0 = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %0 : tensor<i32>
  }) : (tensor<3xi32>, tensor<3xi32>, tensor<i32>) -> tensor<3xi32>
  check.expect_eq_const %r, dense<[20, 0, 400]> : tensor<3xi32>
  return
}

// -----

// i8 times i8 is summed in the i32 of the result; of bool, any.
func.func @product_types() {
  %x = stablehlo.constant dense<[[100, 100], [1, -1]]> : tensor<2x2xi8>
  %r = stablehlo.dot %x, %x : (tensor<2x2xi8>, tensor<2x2xi8>) -> tensor<2x2xi32>
  check.expect_eq_const %r, dense<[[10100, 9900], [99, 101]]> : tensor<2x2xi32>
  %b = stablehlo.constant dense<[[true, true], [false, false]]> : tensor<2x2xi1>
  %s = stablehlo.dot %b, %b : (tensor<2x2xi1>, tensor<2x2xi1>) -> tensor<2x2xi1>
  check.expect_eq_const %s, dense<[[true, true], [false, false]]> : tensor<2x2xi1>
  return
}

// -----

func.func @index_select() {
  %t = stablehlo.constant dense<[[[1, 2, 3], [4, 5, 6]], [[7, 8, 9], [10, 11, 12]]]> : tensor<2x2x3xi32>
  %i = stablehlo.constant dense<[[2, 0], [1, 1]]> : tensor<2x2xi64>
  %r = "stablehlo.torch_index_select"(%t, %i) <{batch_dims = 1 : i64, dim = 2 : i64}> : (tensor<2x2x3xi32>, tensor<2x2xi64>) -> tensor<2x2x2xi32>
  check.expect_eq_const %r, dense<[[[3, 1], [6, 4]], [[8, 8], [11, 11]]]> : tensor<2x2x2xi32>
  %j = stablehlo.constant dense<[1]> : tensor<1xi32>
  %s = "stablehlo.torch_index_select"(%t, %j) <{batch_dims = 0 : i64, dim = 0 : i64}> : (tensor<2x2x3xi32>, tensor<1xi32>) -> tensor<1x2x3xi32>
  check.expect_eq_const %s, dense<[[[7, 8, 9], [10, 11, 12]]]> : tensor<1x2x3xi32>
  return
}

// -----

// Updates to one place meet it in their order; a window that does not lie inside is left out whole.
func.func @scatter_in_order() {
  %x = stablehlo.constant dense<[1, 1, 1, 1]> : tensor<4xi32>
  %i = stablehlo.constant dense<[[2], [0], [2], [3]]> : tensor<4x1xi32>
  %u = stablehlo.constant dense<[[5, 6], [7, 8], [1, 2], [9, 9]]> : tensor<4x2xi32>
  %r = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %ten = stablehlo.constant dense<10> : tensor<i32>
    %0 = stablehlo.multiply %a, %ten : tensor<i32>
    %1 = stablehlo.add %0, %b : tensor<i32>
    stablehlo.return %1 : tensor<i32>
  }) : (tensor<4xi32>, tensor<4x1xi32>, tensor<4x2xi32>) -> tensor<4xi32>
  check.expect_eq_const %r, dense<[17, 18, 151, 162]> : tensor<4xi32>
  return
}
