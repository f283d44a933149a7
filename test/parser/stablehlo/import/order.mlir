// Sorting, top_k, scans: forms that the interpreter's own tests and the random programs lack. Values are from the
// definitions, worked out by hand.
// RUN: %dopt -expect -split-input-file %s | %FileCheck %s
// CHECK-NOT: {{failed:|unsupported:}}
// CHECK: passed, 0 failed, 0 unsupported

// The comparator that JAX writes for floats: zeros alike, NaNs alike and last, equal ones in their order.
func.func @sort_as_jax() {
  %x = stablehlo.constant dense<[0x7FC00000, 1.0, -0.0, 0.0, 0xFFC00000, -2.0, 0.0]> : tensor<7xf32>
  %k = stablehlo.iota dim = 0 : tensor<7xi32>
  %r:2 = "stablehlo.sort"(%x, %k) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %i: tensor<i32>, %j: tensor<i32>):
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %nan = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %0 = stablehlo.compare EQ, %a, %zero, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %1 = stablehlo.select %0, %zero, %a : tensor<i1>, tensor<f32>
    %2 = stablehlo.compare NE, %a, %a, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %3 = stablehlo.select %2, %nan, %1 : tensor<i1>, tensor<f32>
    %4 = stablehlo.compare EQ, %b, %zero, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %5 = stablehlo.select %4, %zero, %b : tensor<i1>, tensor<f32>
    %6 = stablehlo.compare NE, %b, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %7 = stablehlo.select %6, %nan, %5 : tensor<i1>, tensor<f32>
    %8 = stablehlo.compare LT, %3, %7, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %8 : tensor<i1>
  }) {dimension = 0 : i64, is_stable = true} : (tensor<7xf32>, tensor<7xi32>) -> (tensor<7xf32>, tensor<7xi32>)
  check.expect_eq_const %r#1, dense<[5, 2, 3, 6, 1, 0, 4]> : tensor<7xi32>
  return
}

// -----

// The total order as it is: minus zero before zero.
func.func @sort_total_order() {
  %x = stablehlo.constant dense<[0.0, -0.0, 1.0, -0.0, -1.0]> : tensor<5xf32>
  %k = stablehlo.iota dim = 0 : tensor<5xi32>
  %r:2 = "stablehlo.sort"(%x, %k) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %i: tensor<i32>, %j: tensor<i32>):
    %0 = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %0 : tensor<i1>
  }) {dimension = 0 : i64, is_stable = true} : (tensor<5xf32>, tensor<5xi32>) -> (tensor<5xf32>, tensor<5xi32>)
  check.expect_eq_const %r#1, dense<[4, 1, 3, 0, 2]> : tensor<5xi32>
  return
}

// -----

// Three keys, the second one descending; bool among them.
func.func @sort_three_keys() {
  %x = stablehlo.constant dense<[1, 0, 1, 0, 1, 0]> : tensor<6xi8>
  %y = stablehlo.constant dense<[2, 2, 3, 1, 2, 2]> : tensor<6xui16>
  %z = stablehlo.constant dense<[true, true, false, false, false, false]> : tensor<6xi1>
  %k = stablehlo.iota dim = 0 : tensor<6xi32>
  %r:4 = "stablehlo.sort"(%x, %y, %z, %k) ({
  ^bb0(%a: tensor<i8>, %b: tensor<i8>, %c: tensor<ui16>, %d: tensor<ui16>, %e: tensor<i1>, %f: tensor<i1>, %i: tensor<i32>, %j: tensor<i32>):
    %0 = stablehlo.compare LT, %e, %f : (tensor<i1>, tensor<i1>) -> tensor<i1>
    %1 = stablehlo.compare EQ, %c, %d : (tensor<ui16>, tensor<ui16>) -> tensor<i1>
    %2 = stablehlo.and %1, %0 : tensor<i1>
    %3 = stablehlo.compare GT, %c, %d : (tensor<ui16>, tensor<ui16>) -> tensor<i1>
    %4 = stablehlo.or %3, %2 : tensor<i1>
    %5 = stablehlo.compare EQ, %a, %b : (tensor<i8>, tensor<i8>) -> tensor<i1>
    %6 = stablehlo.and %5, %4 : tensor<i1>
    %7 = stablehlo.compare LT, %a, %b : (tensor<i8>, tensor<i8>) -> tensor<i1>
    %8 = stablehlo.or %7, %6 : tensor<i1>
    stablehlo.return %8 : tensor<i1>
  }) {dimension = 0 : i64, is_stable = true} : (tensor<6xi8>, tensor<6xui16>, tensor<6xi1>, tensor<6xi32>) -> (tensor<6xi8>, tensor<6xui16>, tensor<6xi1>, tensor<6xi32>)
  check.expect_eq_const %r#3, dense<[5, 1, 3, 2, 4, 0]> : tensor<6xi32>
  check.expect_eq_const %r#0, dense<[0, 0, 0, 1, 1, 1]> : tensor<6xi8>
  check.expect_eq_const %r#2, dense<[false, true, false, false, false, true]> : tensor<6xi1>
  return
}

// -----

// No order by keys: even before odd, then as they stand.
func.func @sort_by_pairs() {
  %x = stablehlo.constant dense<[[5, 2, 7, 4], [1, 3, 8, 6]]> : tensor<2x4xi32>
  %r = "stablehlo.sort"(%x) ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %two = stablehlo.constant dense<2> : tensor<i32>
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.remainder %a, %two : tensor<i32>
    %1 = stablehlo.remainder %b, %two : tensor<i32>
    %2 = stablehlo.compare EQ, %0, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %3 = stablehlo.compare NE, %1, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %4 = stablehlo.and %2, %3 : tensor<i1>
    stablehlo.return %4 : tensor<i1>
  }) {dimension = 1 : i64, is_stable = true} : (tensor<2x4xi32>) -> tensor<2x4xi32>
  check.expect_eq_const %r, dense<[[2, 4, 5, 7], [8, 6, 1, 3]]> : tensor<2x4xi32>
  return
}

// -----

// Of equal elements the first; a NaN is the largest.
func.func @top_k() {
  %x = stablehlo.constant dense<[[1.0, 3.0, 3.0, 2.0], [0x7FC00000, -1.0, 5.0, -1.0]]> : tensor<2x4xf32>
  %v, %i = chlo.top_k(%x, k = 2) : tensor<2x4xf32> -> (tensor<2x2xf32>, tensor<2x2xi32>)
  check.expect_eq_const %i, dense<[[1, 2], [0, 2]]> : tensor<2x2xi32>
  %w, %j = chlo.top_k(%i, k = 1) : tensor<2x2xi32> -> (tensor<2x1xi32>, tensor<2x1xi32>)
  check.expect_eq_const %w, dense<[[2], [2]]> : tensor<2x1xi32>
  check.expect_eq_const %j, dense<[[1], [1]]> : tensor<2x1xi32>
  return
}

// -----

// A body that is not its carry: the number of positive elements so far, and each times that number.
func.func @scan() {
  %x = stablehlo.constant dense<[[2, -1, 3], [4, 5, -6]]> : tensor<2x3xi32>
  %zero = stablehlo.constant dense<0> : tensor<2xi32>
  %0:2 = chlo.scan(%x) inits(%zero) dimension=1 {
  ^bb0(%a: tensor<2xi32>, %c: tensor<2xi32>):
    %none = stablehlo.constant dense<0> : tensor<2xi32>
    %1 = stablehlo.compare GT, %a, %none : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %2 = stablehlo.convert %1 : (tensor<2xi1>) -> tensor<2xi32>
    %3 = stablehlo.add %c, %2 : tensor<2xi32>
    %4 = stablehlo.multiply %3, %a : tensor<2xi32>
    stablehlo.return %4, %3 : tensor<2xi32>, tensor<2xi32>
  } : (tensor<2x3xi32>, tensor<2xi32>) -> (tensor<2x3xi32>, tensor<2xi32>)
  check.expect_eq_const %0#0, dense<[[2, -1, 6], [4, 10, -12]]> : tensor<2x3xi32>
  check.expect_eq_const %0#1, dense<[2, 2]> : tensor<2xi32>
  return
}
