// Ops that move elements, where the definition has corners. Values follow from positions.
// RUN: %dopt -expect -split-input-file %s | %FileCheck %s
// CHECK-NOT: {{failed:|unsupported:}}
// CHECK: passed, 0 failed, 0 unsupported

// Dims in any order, and size 1 repeated.
func.func @broadcast() {
  %a = stablehlo.constant dense<[[1, 2, 3]]> : tensor<1x3xi32>
  %b = stablehlo.broadcast_in_dim %a, dims = [2, 0] : (tensor<1x3xi32>) -> tensor<3x2x2xi32>
  check.expect_eq_const %b, dense<[[[1, 1], [1, 1]], [[2, 2], [2, 2]], [[3, 3], [3, 3]]]> : tensor<3x2x2xi32>
  func.return
}
// -----
// Negative edges cut off, also what the interior put in.
func.func @pad() {
  %a = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi64>
  %v = stablehlo.constant dense<9> : tensor<i64>
  %0 = "stablehlo.pad"(%a, %v) {edge_padding_low = array<i64: -1>, edge_padding_high = array<i64: 2>, interior_padding = array<i64: 2>} : (tensor<3xi64>, tensor<i64>) -> tensor<8xi64>
  check.expect_eq_const %0, dense<[9, 9, 2, 9, 9, 3, 9, 9]> : tensor<8xi64>
  %1 = "stablehlo.pad"(%a, %v) {edge_padding_low = array<i64: -2>, edge_padding_high = array<i64: -1>, interior_padding = array<i64: 1>} : (tensor<3xi64>, tensor<i64>) -> tensor<2xi64>
  check.expect_eq_const %1, dense<[2, 9]> : tensor<2xi64>
  %t = stablehlo.constant dense<[false, true]> : tensor<2xi1>
  %f = stablehlo.constant dense<true> : tensor<i1>
  %2 = "stablehlo.pad"(%t, %f) {edge_padding_low = array<i64: 1>, edge_padding_high = array<i64: 0>, interior_padding = array<i64: 0>} : (tensor<2xi1>, tensor<i1>) -> tensor<3xi1>
  check.expect_eq_const %2, dense<[true, false, true]> : tensor<3xi1>
  func.return
}
// -----
// A padding that is NaN, one that an input decides, and one in place of nothing.
func.func @pad_with(%x: tensor<f32>) {
  %a = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %n = stablehlo.constant dense<0x7FC00000> : tensor<f32>
  %0 = "stablehlo.pad"(%a, %n) {edge_padding_low = array<i64: 1>, edge_padding_high = array<i64: 0>, interior_padding = array<i64: 0>} : (tensor<2xf32>, tensor<f32>) -> tensor<3xf32>
  check.expect_almost_eq_const %0, dense<[0x7FC00000, 1.0, 2.0]> : tensor<3xf32>
  %1 = "stablehlo.pad"(%a, %x) {edge_padding_low = array<i64: 0>, edge_padding_high = array<i64: 1>, interior_padding = array<i64: 1>} : (tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
  %o = stablehlo.constant dense<[1.0]> : tensor<1xf32>
  %t = stablehlo.constant dense<[2.0]> : tensor<1xf32>
  %r = stablehlo.reshape %x : (tensor<f32>) -> tensor<1xf32>
  %2 = stablehlo.concatenate %o, %r, %t, %r, dim = 0 : (tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<4xf32>
  check.expect_eq %1, %2 : tensor<4xf32>
  %e = stablehlo.constant dense<> : tensor<0xf32>
  %3 = "stablehlo.pad"(%e, %x) {edge_padding_low = array<i64: 0>, edge_padding_high = array<i64: 1>, interior_padding = array<i64: 0>} : (tensor<0xf32>, tensor<f32>) -> tensor<1xf32>
  check.expect_eq %3, %r : tensor<1xf32>
  func.return
}
// -----
// More operands than one kernel reads, some of them empty.
func.func @concatenate() {
  %a = stablehlo.constant dense<[1, 2]> : tensor<2xi8>
  %e = stablehlo.constant dense<> : tensor<0xi8>
  %0 = "stablehlo.concatenate"(%a, %e, %a, %a, %a, %a, %a, %a, %a, %a, %e) {dimension = 0 : i64} : (tensor<2xi8>, tensor<0xi8>, tensor<2xi8>, tensor<2xi8>, tensor<2xi8>, tensor<2xi8>, tensor<2xi8>, tensor<2xi8>, tensor<2xi8>, tensor<2xi8>, tensor<0xi8>) -> tensor<18xi8>
  check.expect_eq_const %0, dense<[1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2]> : tensor<18xi8>
  func.return
}
// -----
// Nothing in, nothing out.
func.func @empty() {
  %e = stablehlo.constant dense<> : tensor<0x2xf32>
  %s = stablehlo.add %e, %e : tensor<0x2xf32>
  check.expect_eq %s, %e : tensor<0x2xf32>
  %n = stablehlo.get_dimension_size %e, dim = 0 : (tensor<0x2xf32>) -> tensor<i32>
  check.expect_eq_const %n, dense<0> : tensor<i32>
  func.return
}
// -----
// Starts are moved so that the slice lies inside, also those that an input decides.
func.func @dynamic_slice(%x: tensor<4x5xf32>, %j: tensor<i32>) {
  %a = stablehlo.constant dense<[[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]> : tensor<3x4xi32>
  %i = stablehlo.constant dense<-3> : tensor<i64>
  %k = stablehlo.constant dense<100> : tensor<i64>
  %0 = stablehlo.dynamic_slice %a, %i, %k, sizes = [2, 3] : (tensor<3x4xi32>, tensor<i64>, tensor<i64>) -> tensor<2x3xi32>
  check.expect_eq_const %0, dense<[[1, 2, 3], [5, 6, 7]]> : tensor<2x3xi32>
  %u = stablehlo.constant dense<18446744073709551615> : tensor<ui64>
  %1 = stablehlo.dynamic_slice %a, %u, %u, sizes = [1, 1] : (tensor<3x4xi32>, tensor<ui64>, tensor<ui64>) -> tensor<1x1xi32>
  check.expect_eq_const %1, dense<11> : tensor<1x1xi32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %zero = stablehlo.multiply %j, %z : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %t = stablehlo.add %zero, %two : tensor<i32>
  %2 = stablehlo.dynamic_slice %x, %t, %t, sizes = [2, 2] : (tensor<4x5xf32>, tensor<i32>, tensor<i32>) -> tensor<2x2xf32>
  %3 = stablehlo.slice %x [2:4, 2:4] : (tensor<4x5xf32>) -> tensor<2x2xf32>
  check.expect_eq %2, %3 : tensor<2x2xf32>
  func.return
}
// -----
func.func @dynamic_update_slice(%j: tensor<i32>) {
  %a = stablehlo.constant dense<[[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]> : tensor<3x4xi32>
  %u = stablehlo.constant dense<[[-1, -2], [-3, -4]]> : tensor<2x2xi32>
  %i = stablehlo.constant dense<5> : tensor<i32>
  %k = stablehlo.constant dense<1> : tensor<i32>
  %0 = stablehlo.dynamic_update_slice %a, %u, %i, %k : (tensor<3x4xi32>, tensor<2x2xi32>, tensor<i32>, tensor<i32>) -> tensor<3x4xi32>
  check.expect_eq_const %0, dense<[[0, 1, 2, 3], [4, -1, -2, 7], [8, -3, -4, 11]]> : tensor<3x4xi32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %n = stablehlo.multiply %j, %z : tensor<i32>
  %s = stablehlo.add %n, %i : tensor<i32>
  %t = stablehlo.add %n, %k : tensor<i32>
  %1 = stablehlo.dynamic_update_slice %a, %u, %s, %t : (tensor<3x4xi32>, tensor<2x2xi32>, tensor<i32>, tensor<i32>) -> tensor<3x4xi32>
  check.expect_eq %0, %1 : tensor<3x4xi32>
  %v = stablehlo.constant dense<7> : tensor<i32>
  %w = stablehlo.constant dense<8> : tensor<i32>
  %2 = stablehlo.dynamic_update_slice %v, %w : (tensor<i32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %2, dense<8> : tensor<i32>
  func.return
}
// -----
// Shapes that constants decide, through ops.
func.func @dynamic_shapes() {
  %a = stablehlo.constant dense<[1, 2, 3, 4, 5, 6]> : tensor<6xi64>
  %n = stablehlo.get_dimension_size %a, dim = 0 : (tensor<6xi64>) -> tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %three = stablehlo.divide %n, %two : tensor<i32>
  %r0 = stablehlo.reshape %two : (tensor<i32>) -> tensor<1xi32>
  %r1 = stablehlo.reshape %three : (tensor<i32>) -> tensor<1xi32>
  %s = stablehlo.concatenate %r0, %r1, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %0 = stablehlo.dynamic_reshape %a, %s : (tensor<6xi64>, tensor<2xi32>) -> tensor<?x?xi64>
  %t = stablehlo.transpose %0, dims = [1, 0] : (tensor<?x?xi64>) -> tensor<?x?xi64>
  %f = stablehlo.constant dense<[[1, 4], [2, 5], [3, 6]]> : tensor<3x2xi64>
  %d = "stablehlo.dynamic_iota"(%s) {iota_dimension = 1 : i64} : (tensor<2xi32>) -> tensor<?x?xi64>
  %u = stablehlo.transpose %d, dims = [1, 0] : (tensor<?x?xi64>) -> tensor<?x?xi64>
  %p = stablehlo.add %t, %u : tensor<?x?xi64>
  %g = stablehlo.reshape %p : (tensor<?x?xi64>) -> tensor<6xi64>
  check.expect_eq_const %g, dense<[1, 4, 3, 6, 5, 8]> : tensor<6xi64>
  func.return
}
