// shard_map: whole tensors in, what a process does, whole tensors out. By meaning and place by place.
// RUN: dopt -expect -split-input-file %s | FileCheck %s
// RUN: dopt -expect -layout -split-input-file %s | FileCheck %s
// RUN: dopt -expect -pass='canonicalize,cse,merge-replica-dim,propagate,sink-transpose,canonicalize' -split-input-file %s | FileCheck %s
// CHECK-NOT: failed:
// CHECK: {{^}}7 passed, 0 failed, 0 unsupported

// One axis: rows are summed up within a process, then over the processes.
module @rows {
  sdy.mesh @mesh = <["x"=2]>
  func.func @main() {
    %0 = stablehlo.constant dense<[[1, 2], [3, 4], [5, 6], [7, 8]]> : tensor<4x2xi32>
    %1 = sdy.manual_computation(%0) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{}]>] manual_axes={"x"} (%a: tensor<2x2xi32>) {
      %z = stablehlo.constant dense<0> : tensor<i32>
      %s = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0] : (tensor<2x2xi32>, tensor<i32>) -> tensor<2xi32>
      %r = "stablehlo.all_reduce"(%s) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
      ^bb0(%b: tensor<i32>, %c: tensor<i32>):
        %d = stablehlo.add %b, %c : tensor<i32>
        stablehlo.return %d : tensor<i32>
      }) : (tensor<2xi32>) -> tensor<2xi32>
      sdy.return %r : tensor<2xi32>
    } : (tensor<4x2xi32>) -> tensor<2xi32>
    check.expect_eq_const %1, dense<[16, 20]> : tensor<2xi32>
    return
  }
}

// -----
// Two axes on one dim, y inside of x: each process adds its number, 2 x + y.
module @nested {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func @main() {
    %0 = stablehlo.constant dense<0> : tensor<8xi32>
    %1 = sdy.manual_computation(%0) in_shardings=[<@mesh, [{"x", "y"}]>] out_shardings=[<@mesh, [{"x", "y"}]>] manual_axes={"x", "y"} (%a: tensor<2xi32>) {
      %p = stablehlo.partition_id : tensor<ui32>
      %q = stablehlo.convert %p : (tensor<ui32>) -> tensor<i32>
      %b = stablehlo.broadcast_in_dim %q, dims = [] : (tensor<i32>) -> tensor<2xi32>
      %r = stablehlo.add %a, %b : tensor<2xi32>
      sdy.return %r : tensor<2xi32>
    } : (tensor<8xi32>) -> tensor<8xi32>
    check.expect_eq_const %1, dense<[0, 0, 1, 1, 2, 2, 3, 3]> : tensor<8xi32>
    return
  }
}

// -----
// The other nesting: x inside of y, so that slices are those of processes 0, 2, 1, 3.
module @swapped {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func @main() {
    %0 = stablehlo.constant dense<[0, 10, 20, 30]> : tensor<4xi32>
    %1 = sdy.manual_computation(%0) in_shardings=[<@mesh, [{"y", "x"}]>] out_shardings=[<@mesh, [{"y", "x"}]>] manual_axes={"x", "y"} (%a: tensor<1xi32>) {
      %p = stablehlo.partition_id : tensor<ui32>
      %q = stablehlo.convert %p : (tensor<ui32>) -> tensor<i32>
      %b = stablehlo.broadcast_in_dim %q, dims = [] : (tensor<i32>) -> tensor<1xi32>
      %r = stablehlo.add %a, %b : tensor<1xi32>
      sdy.return %r : tensor<1xi32>
    } : (tensor<4xi32>) -> tensor<4xi32>
    check.expect_eq_const %1, dense<[0, 12, 21, 33]> : tensor<4xi32>
    return
  }
}

// -----
// An axis a dim in, one of them gathered and the other left out: the result is the same along it.
module @grid {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func @main() {
    %0 = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
    %1 = sdy.manual_computation(%0) in_shardings=[<@mesh, [{"x"}, {"y"}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x", "y"} (%a: tensor<1x1xi32>) {
      %g = "stablehlo.all_gather"(%a) <{all_gather_dim = 1 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> : (tensor<1x1xi32>) -> tensor<1x2xi32>
      sdy.return %g : tensor<1x2xi32>
    } : (tensor<2x2xi32>) -> tensor<2x2xi32>
    check.expect_eq_const %1, dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
    return
  }
}

// -----
// The same by custom calls; the tiles of the devices are transposed: dim 0 goes with the last digit of the number.
module @calls attributes {mhlo.num_partitions = 4 : i32} {
  func.func @main() {
    %0 = stablehlo.constant dense<[[0, 10], [20, 30]]> : tensor<2x2xi32>
    %1 = stablehlo.custom_call @Sharding(%0) {mhlo.sharding = "{devices=[2,2]<=[2,2]T(1,0)}"} : (tensor<2x2xi32>) -> tensor<2x2xi32>
    %2 = stablehlo.custom_call @SPMDFullToShardShape(%1) {mhlo.sharding = "{manual}"} : (tensor<2x2xi32>) -> tensor<1x1xi32>
    %p = stablehlo.partition_id : tensor<ui32>
    %q = stablehlo.convert %p : (tensor<ui32>) -> tensor<i32>
    %b = stablehlo.broadcast_in_dim %q, dims = [] : (tensor<i32>) -> tensor<1x1xi32>
    %r = stablehlo.add %2, %b : tensor<1x1xi32>
    %3 = stablehlo.custom_call @Sharding(%r) {mhlo.sharding = "{manual}"} : (tensor<1x1xi32>) -> tensor<1x1xi32>
    %4 = stablehlo.custom_call @SPMDShardToFullShape(%3) {mhlo.sharding = "{devices=[2,2]<=[2,2]T(1,0)}"} : (tensor<1x1xi32>) -> tensor<2x2xi32>
    check.expect_eq_const %4, dense<[[0, 12], [21, 33]]> : tensor<2x2xi32>
    return
  }
}

// -----
// Copies over a part of the devices; a list of devices; what is replicated comes from the first.
module @copies attributes {mhlo.num_partitions = 4 : i32} {
  func.func @main() {
    %0 = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
    %1 = stablehlo.custom_call @Sharding(%0) {mhlo.sharding = "{devices=[2,2]<=[4] last_tile_dim_replicate}"} : (tensor<2xi32>) -> tensor<2xi32>
    %2 = stablehlo.custom_call @SPMDFullToShardShape(%1) {mhlo.sharding = "{manual}"} : (tensor<2xi32>) -> tensor<1xi32>
    %3 = stablehlo.custom_call @SPMDShardToFullShape(%2) {mhlo.sharding = "{devices=[2,2]0,1,2,3 last_tile_dim_replicate}"} : (tensor<1xi32>) -> tensor<2xi32>
    check.expect_eq_const %3, dense<[1, 2]> : tensor<2xi32>
    %4 = stablehlo.custom_call @SPMDShardToFullShape(%0) {mhlo.sharding = "{replicated}"} : (tensor<2xi32>) -> tensor<2xi32>
    check.expect_eq_const %4, dense<[1, 2]> : tensor<2xi32>
    return
  }
}

// -----
// A part of an axis: the outer two of four places.
module @part {
  sdy.mesh @mesh = <["x"=4]>
  func.func @main() {
    %0 = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{"x":(1)2}, {"x":(2)2}]> : tensor<2x2xi32>
    %2 = stablehlo.add %1, %1 : tensor<2x2xi32>
    check.expect_eq_const %2, dense<[[2, 4], [6, 8]]> : tensor<2x2xi32>
    return
  }
}
