// What is wrong in programs of several processes is said where it stands.
// RUN: not dopt -emit=none -split-input-file -replicas=4 %s 2>&1 | FileCheck %s

// CHECK: spmd_errors.mlir:[[@LINE+3]]:{{[0-9]+}}: error: stablehlo.all_reduce: process 1 is in two groups
module @twice {
  func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    %r = "stablehlo.all_reduce"(%x) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %c : tensor<f32>
    }) {replica_groups = dense<[[0, 1], [1, 3]]> : tensor<2x2xi64>} : (tensor<2xf32>) -> tensor<2xf32>
    return %r : tensor<2xf32>
  }
}

// -----
// CHECK: [[@LINE+3]]:{{[0-9]+}}: error: stablehlo.all_reduce: process 3 is not in any group
module @left_out attributes {mhlo.num_replicas = 4 : i32} {
  func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    %r = "stablehlo.all_reduce"(%x) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %c : tensor<f32>
    }) {replica_groups = dense<[[0, 1, 2]]> : tensor<1x3xi64>} : (tensor<2xf32>) -> tensor<2xf32>
    return %r : tensor<2xf32>
  }
}

// -----
// CHECK: [[@LINE+3]]:{{[0-9]+}}: error: stablehlo.all_gather: a group has an index beyond the 4 replicas x 1 partitions
module @beyond attributes {mhlo.num_replicas = 4 : i32} {
  func.func @main(%x: tensor<2xf32>) -> tensor<4xf32> {
    %r = "stablehlo.all_gather"(%x) {all_gather_dim = 0 : i64, replica_groups = dense<[[0, 7]]> : tensor<1x2xi64>} : (tensor<2xf32>) -> tensor<4xf32>
    return %r : tensor<4xf32>
  }
}

// -----
// CHECK: [[@LINE+3]]:{{[0-9]+}}: error: stablehlo.all_gather: all_gather_dim is 1, but the operand has rank 1
module @dim attributes {mhlo.num_replicas = 4 : i32} {
  func.func @main(%x: tensor<2xf32>) -> tensor<8xf32> {
    %r = "stablehlo.all_gather"(%x) {all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>} : (tensor<2xf32>) -> tensor<8xf32>
    return %r : tensor<8xf32>
  }
}

// -----
// CHECK: [[@LINE+3]]:{{[0-9]+}}: error: stablehlo.all_gather: result 1 has the written type tensor<6xf32>, but the op produces tensor<8xf32>
module @written attributes {mhlo.num_replicas = 4 : i32} {
  func.func @main(%x: tensor<2xf32>) -> tensor<6xf32> {
    %r = "stablehlo.all_gather"(%x) {all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>} : (tensor<2xf32>) -> tensor<6xf32>
    return %r : tensor<6xf32>
  }
}

// -----
// CHECK: [[@LINE+3]]:{{[0-9]+}}: error: stablehlo.reduce_scatter: dim 0 of size 6 is not divisible into 4 parts, one for each process of a group
module @parts attributes {mhlo.num_replicas = 4 : i32} {
  func.func @main(%x: tensor<6xf32>) -> tensor<1xf32> {
    %r = "stablehlo.reduce_scatter"(%x) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %c : tensor<f32>
    }) {scatter_dimension = 0 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>} : (tensor<6xf32>) -> tensor<1xf32>
    return %r : tensor<1xf32>
  }
}

// -----
// CHECK: [[@LINE+3]]:{{[0-9]+}}: error: stablehlo.all_to_all: split_count is 3, but a group has 4 processes
module @count attributes {mhlo.num_replicas = 4 : i32} {
  func.func @main(%x: tensor<6xf32>) -> tensor<6xf32> {
    %r = "stablehlo.all_to_all"(%x) {split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 3 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>} : (tensor<6xf32>) -> tensor<6xf32>
    return %r : tensor<6xf32>
  }
}

// -----
// CHECK: [[@LINE+3]]:{{[0-9]+}}: error: stablehlo.collective_permute: a target appears twice in source_target_pairs
module @target attributes {mhlo.num_replicas = 4 : i32} {
  func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    %r = "stablehlo.collective_permute"(%x) {source_target_pairs = dense<[[0, 1], [2, 1]]> : tensor<2x2xi64>} : (tensor<2xf32>) -> tensor<2xf32>
    return %r : tensor<2xf32>
  }
}

// -----
// CHECK: [[@LINE+3]]:{{[0-9]+}}: error: stablehlo.all_reduce: argument 1 of region 1 is tensor<2xf32>, expected
module @region attributes {mhlo.num_replicas = 4 : i32} {
  func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    %r = "stablehlo.all_reduce"(%x) ({
    ^bb0(%a: tensor<2xf32>, %b: tensor<2xf32>):
      %c = stablehlo.add %a, %b : tensor<2xf32>
      stablehlo.return %c : tensor<2xf32>
    }) {replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>} : (tensor<2xf32>) -> tensor<2xf32>
    return %r : tensor<2xf32>
  }
}

// -----
// CHECK: [[@LINE+2]]:{{[0-9]+}}: error: the program is one of 2 replicas, not of 4
module @replicas attributes {mhlo.num_replicas = 2 : i32} {
  func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    return %x : tensor<2xf32>
  }
}

// -----
// CHECK: [[@LINE+2]]:{{[0-9]+}}: error: sdy.mesh: the size of axis 1 of the mesh must be 1 to 65536
module @mesh {
  sdy.mesh @mesh = <["x"=0]>
  func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    return %x : tensor<2xf32>
  }
}
