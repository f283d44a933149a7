// RUN: %dopt %s | %FileCheck %s
// A mesh with attributes of its own, as jax 0.10 writes it.
// CHECK: mesh [dp = 4]
// CHECK: input("x") : f32[8/dp,3]
module @mesh_attributes attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["dp"=4]> {stablehlo.mesh = {axes = [{name = "dp", size = 4 : i64}]}} loc(unknown)
  func.func public @main(%arg0: tensor<8x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"dp"}, {}]>} loc("x")) -> (tensor<8x3xf32> {jax.result_info = "y"}) {
    %0 = stablehlo.add %arg0, %arg0 : tensor<8x3xf32>
    return %0 : tensor<8x3xf32>
  }
}
