// RUN: %dopt %s | %FileCheck %s
// A number of a type that has no element type, as damaged texts have it, is read over like any other unknown attribute.
// CHECK: module @typed
module @typed attributes {a = 1 : tuple<tensor<2xf64>, tensor<i64>>, b = {"x", ?}p1 : i32} {
  func.func public @main(%arg0: tensor<8x3xf32>) -> tensor<8x3xf32> {
    return %arg0 : tensor<8x3xf32>
  }
}
