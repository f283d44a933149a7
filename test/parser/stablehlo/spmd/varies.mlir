// Ops on values that differ between processes: by meaning and place by place.
// RUN: %dopt -expect -split-input-file %s | %FileCheck %s
// CHECK-NOT: {{failed:|unsupported:}}
// CHECK: passed, 0 failed, 0 unsupported

// Starts of slices, which are moved inside by each process for itself.
module @slices {
  func.func @f(%a: tensor<2x5xi32>) -> (tensor<2x2xi32>, tensor<2x5xi32>, tensor<2x5xi32>) {
    %r = stablehlo.replica_id : tensor<ui32>
    %i = stablehlo.convert %r : (tensor<ui32>) -> tensor<i64>
    %four = stablehlo.constant dense<4> : tensor<i64>
    %j = stablehlo.multiply %i, %four : tensor<i64>
    %z = stablehlo.constant dense<0> : tensor<i64>
    %s = stablehlo.dynamic_slice %a, %z, %j, sizes = [2, 2] : (tensor<2x5xi32>, tensor<i64>, tensor<i64>) -> tensor<2x2xi32>
    %u = stablehlo.constant dense<[[-1, -2]]> : tensor<1x2xi32>
    %d = stablehlo.dynamic_update_slice %a, %u, %i, %j : (tensor<2x5xi32>, tensor<1x2xi32>, tensor<i64>, tensor<i64>) -> tensor<2x5xi32>
    %c = stablehlo.constant dense<[[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]> : tensor<2x5xi32>
    %e = stablehlo.dynamic_update_slice %c, %u, %i, %j : (tensor<2x5xi32>, tensor<1x2xi32>, tensor<i64>, tensor<i64>) -> tensor<2x5xi32>
    return %s, %d, %e : tensor<2x2xi32>, tensor<2x5xi32>, tensor<2x5xi32>
  }
  func.func public @main() {
    %a = stablehlo.constant dense<[[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]> : tensor<2x5xi32>
    %b = stablehlo.constant dense<[[10, 11, 12, 13, 14], [15, 16, 17, 18, 19]]> : tensor<2x5xi32>
    %r:6 = "interpreter.run_parallel"(%a, %b) {programs = [[@f], [@f]]} : (tensor<2x5xi32>, tensor<2x5xi32>) -> (tensor<2x2xi32>, tensor<2x5xi32>, tensor<2x5xi32>, tensor<2x2xi32>, tensor<2x5xi32>, tensor<2x5xi32>)
    check.expect_eq_const %r#0, dense<[[0, 1], [5, 6]]> : tensor<2x2xi32>
    check.expect_eq_const %r#1, dense<[[-1, -2, 2, 3, 4], [5, 6, 7, 8, 9]]> : tensor<2x5xi32>
    check.expect_eq_const %r#2, dense<[[-1, -2, 2, 3, 4], [5, 6, 7, 8, 9]]> : tensor<2x5xi32>
    check.expect_eq_const %r#3, dense<[[13, 14], [18, 19]]> : tensor<2x2xi32>
    check.expect_eq_const %r#4, dense<[[10, 11, 12, 13, 14], [15, 16, 17, -1, -2]]> : tensor<2x5xi32>
    check.expect_eq_const %r#5, dense<[[0, 1, 2, 3, 4], [5, 6, 7, -1, -2]]> : tensor<2x5xi32>
    func.return
  }
}
// -----
// Scalars that pick, bound and pad; branches; pieces of different processes and of all.
module @scalars {
  func.func @f(%a: tensor<3xi32>) -> (tensor<3xi32>, tensor<3xi32>, tensor<4xi32>, tensor<3xi32>, tensor<5xi32>) {
    %r = stablehlo.replica_id : tensor<ui32>
    %i = stablehlo.convert %r : (tensor<ui32>) -> tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %p = stablehlo.compare EQ, %i, %one : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c = stablehlo.constant dense<[7, 8, 9]> : tensor<3xi32>
    %s = stablehlo.select %p, %c, %a : tensor<i1>, tensor<3xi32>
    %k = stablehlo.constant dense<[0, 1, 2]> : tensor<3xi32>
    %m = stablehlo.clamp %i, %k, %one : (tensor<i32>, tensor<3xi32>, tensor<i32>) -> tensor<3xi32>
    %d = "stablehlo.pad"(%k, %i) {edge_padding_low = array<i64: 0>, edge_padding_high = array<i64: 1>, interior_padding = array<i64: 0>} : (tensor<3xi32>, tensor<i32>) -> tensor<4xi32>
    %e = "stablehlo.case"(%i) ({
      stablehlo.return %a : tensor<3xi32>
    }, {
      %n = stablehlo.negate %k : tensor<3xi32>
      stablehlo.return %n : tensor<3xi32>
    }) : (tensor<i32>) -> tensor<3xi32>
    %two = stablehlo.constant dense<5> : tensor<2xi32>
    %f = stablehlo.concatenate %two, %a, dim = 0 : (tensor<2xi32>, tensor<3xi32>) -> tensor<5xi32>
    return %s, %m, %d, %e, %f : tensor<3xi32>, tensor<3xi32>, tensor<4xi32>, tensor<3xi32>, tensor<5xi32>
  }
  func.func public @main() {
    %a = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
    %b = stablehlo.constant dense<[4, 5, 6]> : tensor<3xi32>
    %r:10 = "interpreter.run_parallel"(%a, %b) {programs = [[@f], [@f]]} : (tensor<3xi32>, tensor<3xi32>) -> (tensor<3xi32>, tensor<3xi32>, tensor<4xi32>, tensor<3xi32>, tensor<5xi32>, tensor<3xi32>, tensor<3xi32>, tensor<4xi32>, tensor<3xi32>, tensor<5xi32>)
    check.expect_eq_const %r#0, dense<[1, 2, 3]> : tensor<3xi32>
    check.expect_eq_const %r#5, dense<[7, 8, 9]> : tensor<3xi32>
    check.expect_eq_const %r#1, dense<[0, 1, 1]> : tensor<3xi32>
    check.expect_eq_const %r#6, dense<[1, 1, 1]> : tensor<3xi32>
    check.expect_eq_const %r#2, dense<[0, 1, 2, 0]> : tensor<4xi32>
    check.expect_eq_const %r#7, dense<[0, 1, 2, 1]> : tensor<4xi32>
    check.expect_eq_const %r#3, dense<[1, 2, 3]> : tensor<3xi32>
    check.expect_eq_const %r#8, dense<[0, -1, -2]> : tensor<3xi32>
    check.expect_eq_const %r#4, dense<[5, 5, 1, 2, 3]> : tensor<5xi32>
    check.expect_eq_const %r#9, dense<[5, 5, 4, 5, 6]> : tensor<5xi32>
    func.return
  }
}
// -----
// Shapes, regions and integers by squaring and halves.
module @shapes {
  func.func @f(%a: tensor<2x3xi64>) -> (tensor<3x2x2xi64>, tensor<2x3xi64>, tensor<6xi64>, tensor<2x3xi64>, tensor<2x3xi64>, tensor<1x2xi64>) {
    %b = stablehlo.broadcast_in_dim %a, dims = [2, 0] : (tensor<2x3xi64>) -> tensor<3x2x2xi64>
    %r = "stablehlo.reverse"(%a) {dimensions = array<i64: 1>} : (tensor<2x3xi64>) -> tensor<2x3xi64>
    %t = stablehlo.transpose %a, dims = [1, 0] : (tensor<2x3xi64>) -> tensor<3x2xi64>
    %v = stablehlo.reshape %t : (tensor<3x2xi64>) -> tensor<6xi64>
    %m = "stablehlo.map"(%a) ({
    ^bb0(%x: tensor<i64>):
      %two = stablehlo.constant dense<2> : tensor<i64>
      %p = stablehlo.power %x, %two : tensor<i64>
      stablehlo.return %p : tensor<i64>
    }) {dimensions = array<i64: 0, 1>} : (tensor<2x3xi64>) -> tensor<2x3xi64>
    %k = stablehlo.constant dense<[[2, 1, 0], [3, 2, 1]]> : tensor<2x3xi64>
    %d = stablehlo.divide %a, %k : tensor<2x3xi64>
    %s = "stablehlo.slice"(%a) {start_indices = array<i64: 1, 0>, limit_indices = array<i64: 2, 3>, strides = array<i64: 1, 2>} : (tensor<2x3xi64>) -> tensor<1x2xi64>
    return %b, %r, %v, %m, %d, %s : tensor<3x2x2xi64>, tensor<2x3xi64>, tensor<6xi64>, tensor<2x3xi64>, tensor<2x3xi64>, tensor<1x2xi64>
  }
  func.func public @main() {
    %a = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi64>
    %b = stablehlo.constant dense<[[7, 8, 9], [10, 11, 12]]> : tensor<2x3xi64>
    %r:12 = "interpreter.run_parallel"(%a, %b) {programs = [[@f], [@f]]} : (tensor<2x3xi64>, tensor<2x3xi64>) -> (tensor<3x2x2xi64>, tensor<2x3xi64>, tensor<6xi64>, tensor<2x3xi64>, tensor<2x3xi64>, tensor<1x2xi64>, tensor<3x2x2xi64>, tensor<2x3xi64>, tensor<6xi64>, tensor<2x3xi64>, tensor<2x3xi64>, tensor<1x2xi64>)
    check.expect_eq_const %r#0, dense<[[[1, 4], [1, 4]], [[2, 5], [2, 5]], [[3, 6], [3, 6]]]> : tensor<3x2x2xi64>
    check.expect_eq_const %r#6, dense<[[[7, 10], [7, 10]], [[8, 11], [8, 11]], [[9, 12], [9, 12]]]> : tensor<3x2x2xi64>
    check.expect_eq_const %r#1, dense<[[3, 2, 1], [6, 5, 4]]> : tensor<2x3xi64>
    check.expect_eq_const %r#8, dense<[7, 10, 8, 11, 9, 12]> : tensor<6xi64>
    check.expect_eq_const %r#9, dense<[[49, 64, 81], [100, 121, 144]]> : tensor<2x3xi64>
    check.expect_eq_const %r#10, dense<[[3, 8, -1], [3, 5, 12]]> : tensor<2x3xi64>
    check.expect_eq_const %r#11, dense<[[10, 12]]> : tensor<1x2xi64>
    func.return
  }
}
