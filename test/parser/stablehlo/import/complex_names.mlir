// Arguments and results that are complex: names, what replaces what, several processes, refusals.
// RUN: not %dopt -split-input-file %s 2> %t.errors | %FileCheck %s
// RUN: %FileCheck %s -check-prefix=ERROR < %t.errors

// CHECK-LABEL: module @carried
// CHECK: %{{.*}} = input("x") : f32[2]
// CHECK: %{{.*}} = param("params.w.re") : f32[2]
// CHECK: %{{.*}} = param("params.w.im") : f32[2]
// CHECK: output("size.re", %{{.*}})
// CHECK: output("size.im", %{{.*}})
// CHECK: output("loss", %x)
module @carried {
  func.func @main(%x: tensor<2xf32>, %w: tensor<2xcomplex<f32>> {jax.arg_info = "params['w']", tf.aliasing_output = 2 : i32}) -> (tensor<2xcomplex<f32>> {jax.result_info = "size"}, tensor<2xf32> {jax.result_info = "loss"}, tensor<2xcomplex<f32>>) {
    %0 = stablehlo.add %w, %w : tensor<2xcomplex<f32>>
    %1 = stablehlo.negate %w : tensor<2xcomplex<f32>>
    return %0, %x, %1 : tensor<2xcomplex<f32>>, tensor<2xf32>, tensor<2xcomplex<f32>>
  }
}

// -----

// Two processes: a sum of each part.
// CHECK-LABEL: module @replicas
// CHECK-COUNT-2: allreduce
module @replicas attributes {mhlo.num_replicas = 2 : i32} {
  func.func @main(%z: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
    %0 = "stablehlo.all_reduce"(%z) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%a: tensor<complex<f32>>, %b: tensor<complex<f32>>):
      %s = stablehlo.add %a, %b : tensor<complex<f32>>
      stablehlo.return %s : tensor<complex<f32>>
    }) : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
    return %0 : tensor<4xcomplex<f32>>
  }
}

// -----

// What is not supported is reported once, and not what depends on it.
// ERROR: :[[@LINE+6]]:10: error: stablehlo.bitcast_convert is not supported: complex numbers
// ERROR: stablehlo.compare is not supported: complex numbers
// ERROR-NOT: error:
module @refused {
  func.func @main(%z: tensor<4xcomplex<f32>>, %w: tensor<4xcomplex<f32>>) -> (tensor<4xcomplex<f32>>, tensor<4xi1>) {
    // a product of parts
    %0 = stablehlo.bitcast_convert %z : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
    %1 = stablehlo.exponential %0 : tensor<4xcomplex<f32>>
    %2 = stablehlo.compare LT, %z, %w : (tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>) -> tensor<4xi1>
    return %1, %2 : tensor<4xcomplex<f32>>, tensor<4xi1>
  }
}
