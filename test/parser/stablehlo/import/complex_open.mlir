// An argument of an open size, and zeros of its size.
// RUN: %dopt %s -D d0=3 | %FileCheck %s

// CHECK-LABEL: module @open
// CHECK: %x = input("x") : f32[3]
// CHECK: output("y.re", %{{.*}})
// CHECK: output("y.im", %{{.*}})
module @open {
  func.func @main(%x: tensor<?xf32>) -> (tensor<?xcomplex<f32>> {jax.result_info = "y"}) {
    %0 = stablehlo.convert %x : (tensor<?xf32>) -> tensor<?xcomplex<f32>>
    %1 = stablehlo.multiply %0, %0 : tensor<?xcomplex<f32>>
    return %1 : tensor<?xcomplex<f32>>
  }
}
