// Which arguments become params and states, what names they get.
// RUN: %dopt -split-input-file %s | %FileCheck %s
// RUN: %dopt -split-input-file -carry=none %s | %FileCheck -check-prefix=NONE %s

// An alias makes a param of a float and a state of an integer; the rest are inputs and outputs.
// CHECK-LABEL: module @aliases
// CHECK: %w = param("w") : f32[2]
// CHECK: %arg1 = state("arg1") : i32[]
// CHECK: %batch.x = input("batch.x") : f32[2]
// CHECK: update(%w, %[[W:.*]])
// CHECK: update(%arg1, %[[N:.*]])
// CHECK: output("loss", %{{.*}})
// NONE-LABEL: module @aliases
// NONE-NOT: param
// NONE: output("result.0"
// NONE: output("loss"
// NONE: output("result.2"
module @aliases {
  func.func public @main(%arg0: tensor<2xf32> {tf.aliasing_output = 2 : i32} loc("w"), %arg1: tensor<i32> {tf.aliasing_output = 0 : i32}, %arg2: tensor<2xf32> loc("batch['x']")) -> (tensor<i32>, tensor<2xf32> {jax.result_info = "['loss']"}, tensor<2xf32>) {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %n = stablehlo.add %arg1, %one : tensor<i32>
    %d = stablehlo.subtract %arg0, %arg2 : tensor<2xf32>
    %l = stablehlo.multiply %d, %d : tensor<2xf32>
    return %n, %l, %d : tensor<i32>, tensor<2xf32>, tensor<2xf32>
  }
}

// -----
// A donated buffer is taken by the next result of its type.
// CHECK-LABEL: module @donated
// CHECK: %[[X:.*]] = input("arg0") : f32[3]
// CHECK: %[[A:.*]] = param("arg1") : f32[3]
// CHECK: %[[B:.*]] = param("arg2") : f32[4]
// CHECK: update(%[[A]], %[[S:.*]])
// CHECK: update(%[[B]], %[[T:.*]])
// CHECK-NOT: output
module @donated {
  func.func public @main(%arg0: tensor<3xf32>, %arg1: tensor<3xf32> {jax.buffer_donor = true}, %arg2: tensor<4xf32> {jax.buffer_donor = true}) -> (tensor<4xf32>, tensor<3xf32>) {
    %0 = stablehlo.add %arg1, %arg0 : tensor<3xf32>
    %1 = stablehlo.tanh %arg2 : tensor<4xf32>
    return %1, %0 : tensor<4xf32>, tensor<3xf32>
  }
}

// -----
// Equal names: the result is the argument's next value. Equal texts give different names.
// CHECK-LABEL: module @names
// CHECK: param("state.w") : f32[3]
// CHECK: input("state.w.1") : f32[3]
// CHECK: update(
module @names {
  func.func public @main(%arg0: tensor<3xf32> loc("state['w']"), %arg1: tensor<3xf32> loc("state.w")) -> (tensor<3xf32> {jax.result_info = "state['w']"}) {
    %0 = stablehlo.add %arg1, %arg0 : tensor<3xf32>
    return %0 : tensor<3xf32>
  }
}
