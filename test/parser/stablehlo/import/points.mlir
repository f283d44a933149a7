// Element by element, where the definition has corners. Values are from the specification's rules and arithmetic.
// RUN: %dopt -expect -split-input-file %s | %FileCheck %s
// CHECK-NOT: {{failed:|unsupported:}}
// CHECK: passed, 0 failed, 0 unsupported

// Division truncates; by zero it gives all bits set; the lowest number by -1 stays.
func.func @divide_signed() {
  %a = stablehlo.constant dense<[7, -7, 7, -7, 5, 0, -128]> : tensor<7xi8>
  %b = stablehlo.constant dense<[2, 2, -2, -2, 0, 0, -1]> : tensor<7xi8>
  %q = stablehlo.divide %a, %b : tensor<7xi8>
  check.expect_eq_const %q, dense<[3, -3, -3, 3, -1, -1, -128]> : tensor<7xi8>
  %r = stablehlo.remainder %a, %b : tensor<7xi8>
  check.expect_eq_const %r, dense<[1, -1, 1, -1, 5, 0, 0]> : tensor<7xi8>
  func.return
}
// -----
func.func @divide_unsigned() {
  %a = stablehlo.constant dense<[7, 255, 200, 0]> : tensor<4xui8>
  %b = stablehlo.constant dense<[2, 2, 0, 0]> : tensor<4xui8>
  %q = stablehlo.divide %a, %b : tensor<4xui8>
  check.expect_eq_const %q, dense<[3, 127, 255, 255]> : tensor<4xui8>
  %r = stablehlo.remainder %a, %b : tensor<4xui8>
  check.expect_eq_const %r, dense<[1, 1, 200, 0]> : tensor<4xui8>
  %c = stablehlo.constant dense<[18446744073709551615, 9223372036854775808]> : tensor<2xui64>
  %d = stablehlo.constant dense<[10, 0]> : tensor<2xui64>
  %e = stablehlo.divide %c, %d : tensor<2xui64>
  check.expect_eq_const %e, dense<[1844674407370955161, 18446744073709551615]> : tensor<2xui64>
  %f = stablehlo.remainder %c, %d : tensor<2xui64>
  check.expect_eq_const %f, dense<[5, 9223372036854775808]> : tensor<2xui64>
  func.return
}
// -----
func.func @divide_lowest() {
  %a = stablehlo.constant dense<-9223372036854775808> : tensor<i64>
  %b = stablehlo.constant dense<-1> : tensor<i64>
  %q = stablehlo.divide %a, %b : tensor<i64>
  check.expect_eq_const %q, dense<-9223372036854775808> : tensor<i64>
  %r = stablehlo.remainder %a, %b : tensor<i64>
  check.expect_eq_const %r, dense<0> : tensor<i64>
  %n = stablehlo.negate %a : tensor<i64>
  check.expect_eq_const %n, dense<-9223372036854775808> : tensor<i64>
  func.return
}
// -----
// Powers of integers wrap around; negative ones are 0 but for bases 1 and -1.
func.func @power() {
  %a = stablehlo.constant dense<[2, -3, 1, -1, -1, 0, 5, 2, 0]> : tensor<9xi32>
  %b = stablehlo.constant dense<[10, 3, -5, -5, -4, 0, -1, 33, 5]> : tensor<9xi32>
  %p = stablehlo.power %a, %b : tensor<9xi32>
  check.expect_eq_const %p, dense<[1024, -27, 1, -1, 1, 1, 0, 0, 0]> : tensor<9xi32>
  %c = stablehlo.constant dense<[3, 7]> : tensor<2xui8>
  %d = stablehlo.constant dense<[5, 3]> : tensor<2xui8>
  %q = stablehlo.power %c, %d : tensor<2xui8>
  check.expect_eq_const %q, dense<[243, 87]> : tensor<2xui8>
  func.return
}
// -----
// Shifts by the width and more; by negative numbers, which are large unsigned ones.
func.func @shifts() {
  %a = stablehlo.constant dense<[1, 1, 1, -128, -1]> : tensor<5xi8>
  %b = stablehlo.constant dense<[7, 8, -1, 1, 9]> : tensor<5xi8>
  %l = stablehlo.shift_left %a, %b : tensor<5xi8>
  check.expect_eq_const %l, dense<[-128, 0, 0, 0, 0]> : tensor<5xi8>
  %r = stablehlo.shift_right_arithmetic %a, %b : tensor<5xi8>
  check.expect_eq_const %r, dense<[0, 0, 0, -64, -1]> : tensor<5xi8>
  %u = stablehlo.shift_right_logical %a, %b : tensor<5xi8>
  check.expect_eq_const %u, dense<[0, 0, 0, 64, 0]> : tensor<5xi8>
  func.return
}
// -----
// i1 counts as logic: + is or, * is and, and false is less than true.
func.func @logic() {
  %a = stablehlo.constant dense<[false, false, true, true]> : tensor<4xi1>
  %b = stablehlo.constant dense<[false, true, false, true]> : tensor<4xi1>
  %s = stablehlo.add %a, %b : tensor<4xi1>
  check.expect_eq_const %s, dense<[false, true, true, true]> : tensor<4xi1>
  %p = stablehlo.multiply %a, %b : tensor<4xi1>
  check.expect_eq_const %p, dense<[false, false, false, true]> : tensor<4xi1>
  %m = stablehlo.maximum %a, %b : tensor<4xi1>
  check.expect_eq %m, %s : tensor<4xi1>
  %n = stablehlo.minimum %a, %b : tensor<4xi1>
  check.expect_eq %n, %p : tensor<4xi1>
  %l = stablehlo.compare LT, %a, %b, UNSIGNED : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  check.expect_eq_const %l, dense<[false, true, false, false]> : tensor<4xi1>
  %e = stablehlo.compare EQ, %a, %b : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  check.expect_eq_const %e, dense<[true, false, false, true]> : tensor<4xi1>
  func.return
}
// -----
// The total order: -NaN < -inf < -0 < 0 < inf < NaN. As numbers, nothing holds of NaN but NE.
func.func @order() {
  %a = stablehlo.constant dense<[0xFFC00000, 0xFF800000, 0x80000000, 0.0, 0x7F800000, 0x7FC00000]> : tensor<6xf32>
  %b = stablehlo.constant dense<[0xFF800000, 0x80000000, 0.0, 0x7F800000, 0x7FC00000, 0x7FC00000]> : tensor<6xf32>
  %t = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xi1>
  check.expect_eq_const %t, dense<[true, true, true, true, true, false]> : tensor<6xi1>
  %e = stablehlo.compare EQ, %a, %b, TOTALORDER : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xi1>
  check.expect_eq_const %e, dense<[false, false, false, false, false, true]> : tensor<6xi1>
  %f = stablehlo.compare LT, %a, %b, FLOAT : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xi1>
  check.expect_eq_const %f, dense<[false, true, false, true, false, false]> : tensor<6xi1>
  %n = stablehlo.compare NE, %a, %b : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xi1>
  check.expect_eq_const %n, dense<[true, true, false, true, true, true]> : tensor<6xi1>
  func.return
}
// -----
// A scalar picks or bounds all elements.
func.func @scalars() {
  %p = stablehlo.constant dense<false> : tensor<i1>
  %a = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi16>
  %b = stablehlo.constant dense<[[5, 6], [7, 8]]> : tensor<2x2xi16>
  %s = stablehlo.select %p, %a, %b : tensor<i1>, tensor<2x2xi16>
  check.expect_eq %s, %b : tensor<2x2xi16>
  %low = stablehlo.constant dense<2> : tensor<i16>
  %high = stablehlo.constant dense<3> : tensor<i16>
  %c = stablehlo.clamp %low, %a, %high : (tensor<i16>, tensor<2x2xi16>, tensor<i16>) -> tensor<2x2xi16>
  check.expect_eq_const %c, dense<[[2, 2], [3, 3]]> : tensor<2x2xi16>
  func.return
}
// -----
// Converting truncates; to i1 it asks whether it is 0.
func.func @converts() {
  %a = stablehlo.constant dense<[-1.9, -0.5, 0.5, 1.9]> : tensor<4xf32>
  %i = stablehlo.convert %a : (tensor<4xf32>) -> tensor<4xi32>
  check.expect_eq_const %i, dense<[-1, 0, 0, 1]> : tensor<4xi32>
  %b = stablehlo.convert %a : (tensor<4xf32>) -> tensor<4xi1>
  check.expect_eq_const %b, dense<true> : tensor<4xi1>
  %n = stablehlo.constant dense<[-1, 300, 128]> : tensor<3xi32>
  %w = stablehlo.convert %n : (tensor<3xi32>) -> tensor<3xi8>
  check.expect_eq_const %w, dense<[-1, 44, -128]> : tensor<3xi8>
  %u = stablehlo.convert %n : (tensor<3xi32>) -> tensor<3xui8>
  check.expect_eq_const %u, dense<[255, 44, 128]> : tensor<3xui8>
  %t = stablehlo.constant dense<[true, false]> : tensor<2xi1>
  %f = stablehlo.convert %t : (tensor<2xi1>) -> tensor<2xf64>
  check.expect_eq_const %f, dense<[1.0, 0.0]> : tensor<2xf64>
  func.return
}
// -----
// Bits: narrow to wide and back, the lowest first.
func.func @bits() {
  %a = stablehlo.constant dense<[[1, 2, 3, 4], [0, 0, 128, 63]]> : tensor<2x4xui8>
  %w = stablehlo.bitcast_convert %a : (tensor<2x4xui8>) -> tensor<2xui32>
  check.expect_eq_const %w, dense<[67305985, 1065353216]> : tensor<2xui32>
  %f = stablehlo.bitcast_convert %a : (tensor<2x4xui8>) -> tensor<2xf32>
  %one = "stablehlo.slice"(%f) {start_indices = array<i64: 1>, limit_indices = array<i64: 2>, strides = array<i64: 1>} : (tensor<2xf32>) -> tensor<1xf32>
  check.expect_eq_const %one, dense<1.0> : tensor<1xf32>
  %n = stablehlo.bitcast_convert %f : (tensor<2xf32>) -> tensor<2x4xui8>
  check.expect_eq %n, %a : tensor<2x4xui8>
  %s = stablehlo.constant dense<-2> : tensor<i8>
  %b = stablehlo.bitcast_convert %s : (tensor<i8>) -> tensor<8xi1>
  check.expect_eq_const %b, dense<[false, true, true, true, true, true, true, true]> : tensor<8xi1>
  func.return
}
// -----
// The upper half of a product.
func.func @mulhi() {
  %a = stablehlo.constant dense<[-9223372036854775808, -1, 4294967296, -4294967296]> : tensor<4xi64>
  %b = stablehlo.constant dense<[-9223372036854775808, 1, 4294967296, 4294967295]> : tensor<4xi64>
  %h = chlo.mulhi %a, %b : tensor<4xi64>, tensor<4xi64> -> tensor<4xi64>
  check.expect_eq_const %h, dense<[4611686018427387904, -1, 1, -1]> : tensor<4xi64>
  %c = stablehlo.constant dense<[255, 16]> : tensor<2xui8>
  %g = chlo.mulhi %c, %c : tensor<2xui8>, tensor<2xui8> -> tensor<2xui8>
  check.expect_eq_const %g, dense<[254, 1]> : tensor<2xui8>
  func.return
}
// -----
// A region of scalars over whole tensors, with a constant in it and one from outside.
func.func @map() {
  %k = stablehlo.constant dense<10> : tensor<i32>
  %a = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
  %m = "stablehlo.map"(%a, %a) ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    %two = stablehlo.constant dense<2> : tensor<i32>
    %p = stablehlo.multiply %x, %two : tensor<i32>
    %c = stablehlo.compare GT, %p, %k : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %q = stablehlo.add %p, %y : tensor<i32>
    %r = stablehlo.add %q, %k : tensor<i32>
    %s = stablehlo.select %c, %p, %r : tensor<i1>, tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) {dimensions = array<i64: 0, 1>} : (tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi32>
  check.expect_eq_const %m, dense<[[13, 16], [19, 22]]> : tensor<2x2xi32>
  func.return
}
// -----
func.func @map_to_a_constant() {
  %a = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %m = "stablehlo.map"(%a) ({
  ^bb0(%x: tensor<i32>):
    %two = stablehlo.constant dense<2.5> : tensor<f32>
    stablehlo.return %two : tensor<f32>
  }) {dimensions = array<i64: 0>} : (tensor<2xi32>) -> tensor<2xf32>
  check.expect_eq_const %m, dense<2.5> : tensor<2xf32>
  func.return
}
