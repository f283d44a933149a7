// Programs of several processes; what they expect follows from the specification's pseudocode by hand. By meaning and place
// by place.
// RUN: dopt -expect -split-input-file %s | FileCheck %s
// RUN: dopt -expect -layout -split-input-file %s | FileCheck %s
// RUN: dopt -expect -pass='canonicalize,cse,merge-replica-dim,propagate,sink-transpose,canonicalize' -split-input-file %s | FileCheck %s
// CHECK-NOT: failed:
// CHECK: {{^}}28 passed, 0 failed, 0 unsupported

// Groups of neighbours: the inner axis of 2 x 2.
module @pairs {
  func.func @f(%x: tensor<2xi32>) -> tensor<2xi32> {
    %r = "stablehlo.all_reduce"(%x) ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %c = stablehlo.add %a, %b : tensor<i32>
      stablehlo.return %c : tensor<i32>
    }) {replica_groups = dense<[[0,1],[2,3]]> : tensor<2x2xi64>} : (tensor<2xi32>) -> tensor<2xi32>
    return %r : tensor<2xi32>
  }
  func.func @main() {
    %i0 = stablehlo.constant dense<[1,5]> : tensor<2xi32>
    %i1 = stablehlo.constant dense<[7,2]> : tensor<2xi32>
    %i2 = stablehlo.constant dense<[3,9]> : tensor<2xi32>
    %i3 = stablehlo.constant dense<[4,4]> : tensor<2xi32>
    %o:4 = "interpreter.run_parallel"(%i0, %i1, %i2, %i3) {
      programs=[[@f], [@f], [@f], [@f]]
    } : (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>)
    check.expect_eq_const %o#0, dense<[8,7]> : tensor<2xi32>
    check.expect_eq_const %o#1, dense<[8,7]> : tensor<2xi32>
    check.expect_eq_const %o#2, dense<[7,13]> : tensor<2xi32>
    check.expect_eq_const %o#3, dense<[7,13]> : tensor<2xi32>
    return
  }
}

// -----

// Groups of every other process: the outer axis.
module @strides {
  func.func @f(%x: tensor<2xi32>) -> tensor<2xi32> {
    %r = "stablehlo.all_reduce"(%x) ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %c = stablehlo.maximum %a, %b : tensor<i32>
      stablehlo.return %c : tensor<i32>
    }) {replica_groups = dense<[[0,2],[1,3]]> : tensor<2x2xi64>} : (tensor<2xi32>) -> tensor<2xi32>
    return %r : tensor<2xi32>
  }
  func.func @main() {
    %i0 = stablehlo.constant dense<[1,5]> : tensor<2xi32>
    %i1 = stablehlo.constant dense<[7,2]> : tensor<2xi32>
    %i2 = stablehlo.constant dense<[3,9]> : tensor<2xi32>
    %i3 = stablehlo.constant dense<[4,4]> : tensor<2xi32>
    %o:4 = "interpreter.run_parallel"(%i0, %i1, %i2, %i3) {
      programs=[[@f], [@f], [@f], [@f]]
    } : (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>)
    check.expect_eq_const %o#0, dense<[3,9]> : tensor<2xi32>
    check.expect_eq_const %o#1, dense<[7,4]> : tensor<2xi32>
    check.expect_eq_const %o#2, dense<[3,9]> : tensor<2xi32>
    check.expect_eq_const %o#3, dense<[7,4]> : tensor<2xi32>
    return
  }
}

// -----

// Groups that are no axis of any mesh with the pairs: the general route.
module @crossed {
  func.func @f(%x: tensor<2xi32>) -> tensor<2xi32> {
    %r = "stablehlo.all_reduce"(%x) ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %c = stablehlo.add %a, %b : tensor<i32>
      stablehlo.return %c : tensor<i32>
    }) {replica_groups = dense<[[0,3],[1,2]]> : tensor<2x2xi64>} : (tensor<2xi32>) -> tensor<2xi32>
    return %r : tensor<2xi32>
  }
  func.func @main() {
    %i0 = stablehlo.constant dense<[1,5]> : tensor<2xi32>
    %i1 = stablehlo.constant dense<[7,2]> : tensor<2xi32>
    %i2 = stablehlo.constant dense<[3,9]> : tensor<2xi32>
    %i3 = stablehlo.constant dense<[4,4]> : tensor<2xi32>
    %o:4 = "interpreter.run_parallel"(%i0, %i1, %i2, %i3) {
      programs=[[@f], [@f], [@f], [@f]]
    } : (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>)
    check.expect_eq_const %o#0, dense<[5,9]> : tensor<2xi32>
    check.expect_eq_const %o#1, dense<[10,11]> : tensor<2xi32>
    check.expect_eq_const %o#2, dense<[10,11]> : tensor<2xi32>
    check.expect_eq_const %o#3, dense<[5,9]> : tensor<2xi32>
    return
  }
}

// -----

// Groups of three and one.
module @uneven {
  func.func @f(%x: tensor<2xi32>) -> tensor<2xi32> {
    %r = "stablehlo.all_reduce"(%x) ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %c = stablehlo.multiply %a, %b : tensor<i32>
      stablehlo.return %c : tensor<i32>
    }) {replica_groups = dense<[[0,1,3],[2,-1,-1]]> : tensor<2x3xi64>} : (tensor<2xi32>) -> tensor<2xi32>
    return %r : tensor<2xi32>
  }
  func.func @main() {
    %i0 = stablehlo.constant dense<[1,5]> : tensor<2xi32>
    %i1 = stablehlo.constant dense<[7,2]> : tensor<2xi32>
    %i2 = stablehlo.constant dense<[3,9]> : tensor<2xi32>
    %i3 = stablehlo.constant dense<[4,4]> : tensor<2xi32>
    %o:4 = "interpreter.run_parallel"(%i0, %i1, %i2, %i3) {
      programs=[[@f], [@f], [@f], [@f]]
    } : (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>)
    check.expect_eq_const %o#0, dense<[28,40]> : tensor<2xi32>
    check.expect_eq_const %o#1, dense<[28,40]> : tensor<2xi32>
    check.expect_eq_const %o#2, dense<[3,9]> : tensor<2xi32>
    check.expect_eq_const %o#3, dense<[28,40]> : tensor<2xi32>
    return
  }
}

// -----

// A product over all.
module @product {
  func.func @f(%x: tensor<2xi32>) -> tensor<2xi32> {
    %r = "stablehlo.all_reduce"(%x) ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %c = stablehlo.multiply %a, %b : tensor<i32>
      stablehlo.return %c : tensor<i32>
    }) {replica_groups = dense<[[0,1,2,3]]> : tensor<1x4xi64>} : (tensor<2xi32>) -> tensor<2xi32>
    return %r : tensor<2xi32>
  }
  func.func @main() {
    %i0 = stablehlo.constant dense<[1,5]> : tensor<2xi32>
    %i1 = stablehlo.constant dense<[7,2]> : tensor<2xi32>
    %i2 = stablehlo.constant dense<[3,9]> : tensor<2xi32>
    %i3 = stablehlo.constant dense<[4,4]> : tensor<2xi32>
    %o:4 = "interpreter.run_parallel"(%i0, %i1, %i2, %i3) {
      programs=[[@f], [@f], [@f], [@f]]
    } : (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>)
    check.expect_eq_const %o#0, dense<[84,360]> : tensor<2xi32>
    check.expect_eq_const %o#1, dense<[84,360]> : tensor<2xi32>
    check.expect_eq_const %o#2, dense<[84,360]> : tensor<2xi32>
    check.expect_eq_const %o#3, dense<[84,360]> : tensor<2xi32>
    return
  }
}

// -----

// Bit by bit, which no reduction of ours is.
module @bits {
  func.func @f(%x: tensor<2xi32>) -> tensor<2xi32> {
    %r = "stablehlo.all_reduce"(%x) ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %c = stablehlo.and %a, %b : tensor<i32>
      stablehlo.return %c : tensor<i32>
    }) {replica_groups = dense<[[0,1,2,3]]> : tensor<1x4xi64>} : (tensor<2xi32>) -> tensor<2xi32>
    return %r : tensor<2xi32>
  }
  func.func @main() {
    %i0 = stablehlo.constant dense<[1,5]> : tensor<2xi32>
    %i1 = stablehlo.constant dense<[7,2]> : tensor<2xi32>
    %i2 = stablehlo.constant dense<[3,9]> : tensor<2xi32>
    %i3 = stablehlo.constant dense<[4,4]> : tensor<2xi32>
    %o:4 = "interpreter.run_parallel"(%i0, %i1, %i2, %i3) {
      programs=[[@f], [@f], [@f], [@f]]
    } : (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>)
    check.expect_eq_const %o#0, dense<[0,0]> : tensor<2xi32>
    check.expect_eq_const %o#1, dense<[0,0]> : tensor<2xi32>
    check.expect_eq_const %o#2, dense<[0,0]> : tensor<2xi32>
    check.expect_eq_const %o#3, dense<[0,0]> : tensor<2xi32>
    return
  }
}

// -----

// An exclusive or over the outer axis.
module @odd {
  func.func @f(%x: tensor<2xi32>) -> tensor<2xi32> {
    %r = "stablehlo.all_reduce"(%x) ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %c = stablehlo.xor %a, %b : tensor<i32>
      stablehlo.return %c : tensor<i32>
    }) {replica_groups = dense<[[0,2],[1,3]]> : tensor<2x2xi64>} : (tensor<2xi32>) -> tensor<2xi32>
    return %r : tensor<2xi32>
  }
  func.func @main() {
    %i0 = stablehlo.constant dense<[1,5]> : tensor<2xi32>
    %i1 = stablehlo.constant dense<[7,2]> : tensor<2xi32>
    %i2 = stablehlo.constant dense<[3,9]> : tensor<2xi32>
    %i3 = stablehlo.constant dense<[4,4]> : tensor<2xi32>
    %o:4 = "interpreter.run_parallel"(%i0, %i1, %i2, %i3) {
      programs=[[@f], [@f], [@f], [@f]]
    } : (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>)
    check.expect_eq_const %o#0, dense<[2,12]> : tensor<2xi32>
    check.expect_eq_const %o#1, dense<[3,6]> : tensor<2xi32>
    check.expect_eq_const %o#2, dense<[2,12]> : tensor<2xi32>
    check.expect_eq_const %o#3, dense<[3,6]> : tensor<2xi32>
    return
  }
}

// -----

// A region of three ops: a + b + a b, in any order (1 + a)(1 + b) - 1.
module @region {
  func.func @f(%x: tensor<2xi32>) -> tensor<2xi32> {
    %r = "stablehlo.all_reduce"(%x) ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %c0 = stablehlo.multiply %a, %b : tensor<i32>
      %c1 = stablehlo.add %a, %b : tensor<i32>
      %c = stablehlo.add %c0, %c1 : tensor<i32>
      stablehlo.return %c : tensor<i32>
    }) {replica_groups = dense<[[0,1,2,3]]> : tensor<1x4xi64>} : (tensor<2xi32>) -> tensor<2xi32>
    return %r : tensor<2xi32>
  }
  func.func @main() {
    %i0 = stablehlo.constant dense<[1,5]> : tensor<2xi32>
    %i1 = stablehlo.constant dense<[7,2]> : tensor<2xi32>
    %i2 = stablehlo.constant dense<[3,9]> : tensor<2xi32>
    %i3 = stablehlo.constant dense<[4,4]> : tensor<2xi32>
    %o:4 = "interpreter.run_parallel"(%i0, %i1, %i2, %i3) {
      programs=[[@f], [@f], [@f], [@f]]
    } : (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>)
    check.expect_eq_const %o#0, dense<[319,899]> : tensor<2xi32>
    check.expect_eq_const %o#1, dense<[319,899]> : tensor<2xi32>
    check.expect_eq_const %o#2, dense<[319,899]> : tensor<2xi32>
    check.expect_eq_const %o#3, dense<[319,899]> : tensor<2xi32>
    return
  }
}

// -----

// A value that is the same everywhere counts once for each process.
module @same {
  func.func @f(%x: tensor<2xi32>) -> tensor<2xi32> {
    %r = "stablehlo.all_reduce"(%x) ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %c = stablehlo.add %a, %b : tensor<i32>
      stablehlo.return %c : tensor<i32>
    }) {replica_groups = dense<[[0,1,2,3]]> : tensor<1x4xi64>} : (tensor<2xi32>) -> tensor<2xi32>
    return %r : tensor<2xi32>
  }
  func.func @main() {
    %i0 = stablehlo.constant dense<[2,3]> : tensor<2xi32>
    %i1 = stablehlo.constant dense<[2,3]> : tensor<2xi32>
    %i2 = stablehlo.constant dense<[2,3]> : tensor<2xi32>
    %i3 = stablehlo.constant dense<[2,3]> : tensor<2xi32>
    %o:4 = "interpreter.run_parallel"(%i0, %i1, %i2, %i3) {
      programs=[[@f], [@f], [@f], [@f]]
    } : (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>)
    check.expect_eq_const %o#0, dense<[8,12]> : tensor<2xi32>
    check.expect_eq_const %o#1, dense<[8,12]> : tensor<2xi32>
    check.expect_eq_const %o#2, dense<[8,12]> : tensor<2xi32>
    check.expect_eq_const %o#3, dense<[8,12]> : tensor<2xi32>
    return
  }
}

// -----

// Without a channel: over the replicas of each partition.
module @replicas_of_partitions {
  func.func @f(%x: tensor<2xi32>) -> tensor<2xi32> {
    %r = "stablehlo.all_reduce"(%x) ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %c = stablehlo.add %a, %b : tensor<i32>
      stablehlo.return %c : tensor<i32>
    }) {replica_groups = dense<[[0,1]]> : tensor<1x2xi64>} : (tensor<2xi32>) -> tensor<2xi32>
    return %r : tensor<2xi32>
  }
  func.func @main() {
    %i0 = stablehlo.constant dense<[1,5]> : tensor<2xi32>
    %i1 = stablehlo.constant dense<[7,2]> : tensor<2xi32>
    %i2 = stablehlo.constant dense<[3,9]> : tensor<2xi32>
    %i3 = stablehlo.constant dense<[4,4]> : tensor<2xi32>
    %o:4 = "interpreter.run_parallel"(%i0, %i1, %i2, %i3) {
      programs=[[@f, @f], [@f, @f]]
    } : (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>)
    check.expect_eq_const %o#0, dense<[4,14]> : tensor<2xi32>
    check.expect_eq_const %o#1, dense<[11,6]> : tensor<2xi32>
    check.expect_eq_const %o#2, dense<[4,14]> : tensor<2xi32>
    check.expect_eq_const %o#3, dense<[11,6]> : tensor<2xi32>
    return
  }
}

// -----

// With a channel: over replicas and partitions.
module @all_of_both {
  func.func @f(%x: tensor<2xi32>) -> tensor<2xi32> {
    %r = "stablehlo.all_reduce"(%x) ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %c = stablehlo.add %a, %b : tensor<i32>
      stablehlo.return %c : tensor<i32>
    }) {replica_groups = dense<[[0],[1]]> : tensor<2x1xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>} : (tensor<2xi32>) -> tensor<2xi32>
    return %r : tensor<2xi32>
  }
  func.func @main() {
    %i0 = stablehlo.constant dense<[1,5]> : tensor<2xi32>
    %i1 = stablehlo.constant dense<[7,2]> : tensor<2xi32>
    %i2 = stablehlo.constant dense<[3,9]> : tensor<2xi32>
    %i3 = stablehlo.constant dense<[4,4]> : tensor<2xi32>
    %o:4 = "interpreter.run_parallel"(%i0, %i1, %i2, %i3) {
      programs=[[@f, @f], [@f, @f]]
    } : (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>)
    check.expect_eq_const %o#0, dense<[8,7]> : tensor<2xi32>
    check.expect_eq_const %o#1, dense<[8,7]> : tensor<2xi32>
    check.expect_eq_const %o#2, dense<[7,13]> : tensor<2xi32>
    check.expect_eq_const %o#3, dense<[7,13]> : tensor<2xi32>
    return
  }
}

// -----

// Flattened ids.
module @flat {
  func.func @f(%x: tensor<2xi32>) -> tensor<2xi32> {
    %r = "stablehlo.all_reduce"(%x) ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %c = stablehlo.add %a, %b : tensor<i32>
      stablehlo.return %c : tensor<i32>
    }) {replica_groups = dense<[[0,3],[1,2]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, use_global_device_ids} : (tensor<2xi32>) -> tensor<2xi32>
    return %r : tensor<2xi32>
  }
  func.func @main() {
    %i0 = stablehlo.constant dense<[1,5]> : tensor<2xi32>
    %i1 = stablehlo.constant dense<[7,2]> : tensor<2xi32>
    %i2 = stablehlo.constant dense<[3,9]> : tensor<2xi32>
    %i3 = stablehlo.constant dense<[4,4]> : tensor<2xi32>
    %o:4 = "interpreter.run_parallel"(%i0, %i1, %i2, %i3) {
      programs=[[@f, @f], [@f, @f]]
    } : (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>)
    check.expect_eq_const %o#0, dense<[5,9]> : tensor<2xi32>
    check.expect_eq_const %o#1, dense<[10,11]> : tensor<2xi32>
    check.expect_eq_const %o#2, dense<[10,11]> : tensor<2xi32>
    check.expect_eq_const %o#3, dense<[5,9]> : tensor<2xi32>
    return
  }
}

// -----

// A region of a wider type than the operands.
module @promoted {
  func.func @f(%x: tensor<2xi8>) -> tensor<2xi64> {
    %r = "stablehlo.all_reduce"(%x) ({
    ^bb0(%a: tensor<i64>, %b: tensor<i64>):
      %c = stablehlo.add %a, %b : tensor<i64>
      stablehlo.return %c : tensor<i64>
    }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2xi8>) -> tensor<2xi64>
    return %r : tensor<2xi64>
  }
  func.func @main() {
    %i0 = stablehlo.constant dense<[100,-100]> : tensor<2xi8>
    %i1 = stablehlo.constant dense<[100,-100]> : tensor<2xi8>
    %o:2 = "interpreter.run_parallel"(%i0, %i1) {
      programs=[[@f], [@f]]
    } : (tensor<2xi8>, tensor<2xi8>) -> (tensor<2xi64>, tensor<2xi64>)
    check.expect_eq_const %o#0, dense<[200,-200]> : tensor<2xi64>
    check.expect_eq_const %o#1, dense<[200,-200]> : tensor<2xi64>
    return
  }
}

// -----

// Each process gets one of the sums.
module @scatter {
  func.func @f(%x: tensor<4xi32>) -> tensor<1xi32> {
    %r = "stablehlo.reduce_scatter"(%x) ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %c = stablehlo.add %a, %b : tensor<i32>
      stablehlo.return %c : tensor<i32>
    }) {scatter_dimension = 0 : i64, replica_groups = dense<[[0,1,2,3]]> : tensor<1x4xi64>} : (tensor<4xi32>) -> tensor<1xi32>
    return %r : tensor<1xi32>
  }
  func.func @main() {
    %i0 = stablehlo.constant dense<[1,2,3,4]> : tensor<4xi32>
    %i1 = stablehlo.constant dense<[10,20,30,40]> : tensor<4xi32>
    %i2 = stablehlo.constant dense<[100,200,300,400]> : tensor<4xi32>
    %i3 = stablehlo.constant dense<[7,7,7,7]> : tensor<4xi32>
    %o:4 = "interpreter.run_parallel"(%i0, %i1, %i2, %i3) {
      programs=[[@f], [@f], [@f], [@f]]
    } : (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) -> (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>)
    check.expect_eq_const %o#0, dense<[118]> : tensor<1xi32>
    check.expect_eq_const %o#1, dense<[229]> : tensor<1xi32>
    check.expect_eq_const %o#2, dense<[340]> : tensor<1xi32>
    check.expect_eq_const %o#3, dense<[451]> : tensor<1xi32>
    return
  }
}

// -----

// The order in the group is the order of the parts.
module @scatter_backwards {
  func.func @f(%x: tensor<4xi32>) -> tensor<1xi32> {
    %r = "stablehlo.reduce_scatter"(%x) ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %c = stablehlo.add %a, %b : tensor<i32>
      stablehlo.return %c : tensor<i32>
    }) {scatter_dimension = 0 : i64, replica_groups = dense<[[3,2,1,0]]> : tensor<1x4xi64>} : (tensor<4xi32>) -> tensor<1xi32>
    return %r : tensor<1xi32>
  }
  func.func @main() {
    %i0 = stablehlo.constant dense<[1,2,3,4]> : tensor<4xi32>
    %i1 = stablehlo.constant dense<[10,20,30,40]> : tensor<4xi32>
    %i2 = stablehlo.constant dense<[100,200,300,400]> : tensor<4xi32>
    %i3 = stablehlo.constant dense<[7,7,7,7]> : tensor<4xi32>
    %o:4 = "interpreter.run_parallel"(%i0, %i1, %i2, %i3) {
      programs=[[@f], [@f], [@f], [@f]]
    } : (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) -> (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>)
    check.expect_eq_const %o#0, dense<[451]> : tensor<1xi32>
    check.expect_eq_const %o#1, dense<[340]> : tensor<1xi32>
    check.expect_eq_const %o#2, dense<[229]> : tensor<1xi32>
    check.expect_eq_const %o#3, dense<[118]> : tensor<1xi32>
    return
  }
}

// -----

// A reduction that is no sum.
module @scatter_max {
  func.func @f(%x: tensor<4xi32>) -> tensor<2xi32> {
    %r = "stablehlo.reduce_scatter"(%x) ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %c = stablehlo.maximum %a, %b : tensor<i32>
      stablehlo.return %c : tensor<i32>
    }) {scatter_dimension = 0 : i64, replica_groups = dense<[[0,1],[2,3]]> : tensor<2x2xi64>} : (tensor<4xi32>) -> tensor<2xi32>
    return %r : tensor<2xi32>
  }
  func.func @main() {
    %i0 = stablehlo.constant dense<[1,2,3,4]> : tensor<4xi32>
    %i1 = stablehlo.constant dense<[10,20,30,40]> : tensor<4xi32>
    %i2 = stablehlo.constant dense<[100,200,300,400]> : tensor<4xi32>
    %i3 = stablehlo.constant dense<[7,7,7,7]> : tensor<4xi32>
    %o:4 = "interpreter.run_parallel"(%i0, %i1, %i2, %i3) {
      programs=[[@f], [@f], [@f], [@f]]
    } : (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) -> (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>)
    check.expect_eq_const %o#0, dense<[10,20]> : tensor<2xi32>
    check.expect_eq_const %o#1, dense<[30,40]> : tensor<2xi32>
    check.expect_eq_const %o#2, dense<[100,200]> : tensor<2xi32>
    check.expect_eq_const %o#3, dense<[300,400]> : tensor<2xi32>
    return
  }
}

// -----

// Over both axes of a grid.
module @scatter_grid {
  func.func @f(%x: tensor<4xi32>) -> tensor<1xi32> {
    %r = "stablehlo.reduce_scatter"(%x) ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %c = stablehlo.add %a, %b : tensor<i32>
      stablehlo.return %c : tensor<i32>
    }) {scatter_dimension = 0 : i64, replica_groups = dense<[[0,1,2,3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, use_global_device_ids} : (tensor<4xi32>) -> tensor<1xi32>
    return %r : tensor<1xi32>
  }
  func.func @main() {
    %i0 = stablehlo.constant dense<[1,2,3,4]> : tensor<4xi32>
    %i1 = stablehlo.constant dense<[10,20,30,40]> : tensor<4xi32>
    %i2 = stablehlo.constant dense<[100,200,300,400]> : tensor<4xi32>
    %i3 = stablehlo.constant dense<[7,7,7,7]> : tensor<4xi32>
    %o:4 = "interpreter.run_parallel"(%i0, %i1, %i2, %i3) {
      programs=[[@f, @f], [@f, @f]]
    } : (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) -> (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>)
    check.expect_eq_const %o#0, dense<[118]> : tensor<1xi32>
    check.expect_eq_const %o#1, dense<[229]> : tensor<1xi32>
    check.expect_eq_const %o#2, dense<[340]> : tensor<1xi32>
    check.expect_eq_const %o#3, dense<[451]> : tensor<1xi32>
    return
  }
}

// -----

// Along the last dim, over the outer axis.
module @gather_columns {
  func.func @f(%x: tensor<2x1xi32>) -> tensor<2x2xi32> {
    %r = "stablehlo.all_gather"(%x) {all_gather_dim = 1 : i64, replica_groups = dense<[[0,2],[1,3]]> : tensor<2x2xi64>} : (tensor<2x1xi32>) -> tensor<2x2xi32>
    return %r : tensor<2x2xi32>
  }
  func.func @main() {
    %i0 = stablehlo.constant dense<[[1],[2]]> : tensor<2x1xi32>
    %i1 = stablehlo.constant dense<[[11],[12]]> : tensor<2x1xi32>
    %i2 = stablehlo.constant dense<[[21],[22]]> : tensor<2x1xi32>
    %i3 = stablehlo.constant dense<[[31],[32]]> : tensor<2x1xi32>
    %o:4 = "interpreter.run_parallel"(%i0, %i1, %i2, %i3) {
      programs=[[@f], [@f], [@f], [@f]]
    } : (tensor<2x1xi32>, tensor<2x1xi32>, tensor<2x1xi32>, tensor<2x1xi32>) -> (tensor<2x2xi32>, tensor<2x2xi32>, tensor<2x2xi32>, tensor<2x2xi32>)
    check.expect_eq_const %o#0, dense<[[1,21],[2,22]]> : tensor<2x2xi32>
    check.expect_eq_const %o#1, dense<[[11,31],[12,32]]> : tensor<2x2xi32>
    check.expect_eq_const %o#2, dense<[[1,21],[2,22]]> : tensor<2x2xi32>
    check.expect_eq_const %o#3, dense<[[11,31],[12,32]]> : tensor<2x2xi32>
    return
  }
}

// -----

// The order in the group counts.
module @gather_order {
  func.func @f(%x: tensor<2x1xi32>) -> tensor<8x1xi32> {
    %r = "stablehlo.all_gather"(%x) {all_gather_dim = 0 : i64, replica_groups = dense<[[2,0,3,1]]> : tensor<1x4xi64>} : (tensor<2x1xi32>) -> tensor<8x1xi32>
    return %r : tensor<8x1xi32>
  }
  func.func @main() {
    %i0 = stablehlo.constant dense<[[1],[2]]> : tensor<2x1xi32>
    %i1 = stablehlo.constant dense<[[11],[12]]> : tensor<2x1xi32>
    %i2 = stablehlo.constant dense<[[21],[22]]> : tensor<2x1xi32>
    %i3 = stablehlo.constant dense<[[31],[32]]> : tensor<2x1xi32>
    %o:4 = "interpreter.run_parallel"(%i0, %i1, %i2, %i3) {
      programs=[[@f], [@f], [@f], [@f]]
    } : (tensor<2x1xi32>, tensor<2x1xi32>, tensor<2x1xi32>, tensor<2x1xi32>) -> (tensor<8x1xi32>, tensor<8x1xi32>, tensor<8x1xi32>, tensor<8x1xi32>)
    check.expect_eq_const %o#0, dense<[[21],[22],[1],[2],[31],[32],[11],[12]]> : tensor<8x1xi32>
    check.expect_eq_const %o#1, dense<[[21],[22],[1],[2],[31],[32],[11],[12]]> : tensor<8x1xi32>
    check.expect_eq_const %o#2, dense<[[21],[22],[1],[2],[31],[32],[11],[12]]> : tensor<8x1xi32>
    check.expect_eq_const %o#3, dense<[[21],[22],[1],[2],[31],[32],[11],[12]]> : tensor<8x1xi32>
    return
  }
}

// -----

// Over a grid.
module @gather_grid {
  func.func @f(%x: tensor<2x1xi32>) -> tensor<8x1xi32> {
    %r = "stablehlo.all_gather"(%x) {all_gather_dim = 0 : i64, replica_groups = dense<[[0,1,2,3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, use_global_device_ids} : (tensor<2x1xi32>) -> tensor<8x1xi32>
    return %r : tensor<8x1xi32>
  }
  func.func @main() {
    %i0 = stablehlo.constant dense<[[1],[2]]> : tensor<2x1xi32>
    %i1 = stablehlo.constant dense<[[11],[12]]> : tensor<2x1xi32>
    %i2 = stablehlo.constant dense<[[21],[22]]> : tensor<2x1xi32>
    %i3 = stablehlo.constant dense<[[31],[32]]> : tensor<2x1xi32>
    %o:4 = "interpreter.run_parallel"(%i0, %i1, %i2, %i3) {
      programs=[[@f, @f], [@f, @f]]
    } : (tensor<2x1xi32>, tensor<2x1xi32>, tensor<2x1xi32>, tensor<2x1xi32>) -> (tensor<8x1xi32>, tensor<8x1xi32>, tensor<8x1xi32>, tensor<8x1xi32>)
    check.expect_eq_const %o#0, dense<[[1],[2],[11],[12],[21],[22],[31],[32]]> : tensor<8x1xi32>
    check.expect_eq_const %o#1, dense<[[1],[2],[11],[12],[21],[22],[31],[32]]> : tensor<8x1xi32>
    check.expect_eq_const %o#2, dense<[[1],[2],[11],[12],[21],[22],[31],[32]]> : tensor<8x1xi32>
    check.expect_eq_const %o#3, dense<[[1],[2],[11],[12],[21],[22],[31],[32]]> : tensor<8x1xi32>
    return
  }
}

// -----

// All to all of four.
module @exchange {
  func.func @f(%x: tensor<2x4xi32>) -> tensor<8x1xi32> {
    %r = "stablehlo.all_to_all"(%x) {split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 4 : i64, replica_groups = dense<[[0,1,2,3]]> : tensor<1x4xi64>} : (tensor<2x4xi32>) -> tensor<8x1xi32>
    return %r : tensor<8x1xi32>
  }
  func.func @main() {
    %i0 = stablehlo.constant dense<[[0,1,2,3],[10,11,12,13]]> : tensor<2x4xi32>
    %i1 = stablehlo.constant dense<[[100,101,102,103],[110,111,112,113]]> : tensor<2x4xi32>
    %i2 = stablehlo.constant dense<[[200,201,202,203],[210,211,212,213]]> : tensor<2x4xi32>
    %i3 = stablehlo.constant dense<[[300,301,302,303],[310,311,312,313]]> : tensor<2x4xi32>
    %o:4 = "interpreter.run_parallel"(%i0, %i1, %i2, %i3) {
      programs=[[@f], [@f], [@f], [@f]]
    } : (tensor<2x4xi32>, tensor<2x4xi32>, tensor<2x4xi32>, tensor<2x4xi32>) -> (tensor<8x1xi32>, tensor<8x1xi32>, tensor<8x1xi32>, tensor<8x1xi32>)
    check.expect_eq_const %o#0, dense<[[0],[10],[100],[110],[200],[210],[300],[310]]> : tensor<8x1xi32>
    check.expect_eq_const %o#1, dense<[[1],[11],[101],[111],[201],[211],[301],[311]]> : tensor<8x1xi32>
    check.expect_eq_const %o#2, dense<[[2],[12],[102],[112],[202],[212],[302],[312]]> : tensor<8x1xi32>
    check.expect_eq_const %o#3, dense<[[3],[13],[103],[113],[203],[213],[303],[313]]> : tensor<8x1xi32>
    return
  }
}

// -----

// Parts of a dim go to the same dim.
module @exchange_same_dim {
  func.func @f(%x: tensor<2x4xi32>) -> tensor<2x4xi32> {
    %r = "stablehlo.all_to_all"(%x) {split_dimension = 1 : i64, concat_dimension = 1 : i64, split_count = 4 : i64, replica_groups = dense<[[0,1,2,3]]> : tensor<1x4xi64>} : (tensor<2x4xi32>) -> tensor<2x4xi32>
    return %r : tensor<2x4xi32>
  }
  func.func @main() {
    %i0 = stablehlo.constant dense<[[0,1,2,3],[10,11,12,13]]> : tensor<2x4xi32>
    %i1 = stablehlo.constant dense<[[100,101,102,103],[110,111,112,113]]> : tensor<2x4xi32>
    %i2 = stablehlo.constant dense<[[200,201,202,203],[210,211,212,213]]> : tensor<2x4xi32>
    %i3 = stablehlo.constant dense<[[300,301,302,303],[310,311,312,313]]> : tensor<2x4xi32>
    %o:4 = "interpreter.run_parallel"(%i0, %i1, %i2, %i3) {
      programs=[[@f], [@f], [@f], [@f]]
    } : (tensor<2x4xi32>, tensor<2x4xi32>, tensor<2x4xi32>, tensor<2x4xi32>) -> (tensor<2x4xi32>, tensor<2x4xi32>, tensor<2x4xi32>, tensor<2x4xi32>)
    check.expect_eq_const %o#0, dense<[[0,100,200,300],[10,110,210,310]]> : tensor<2x4xi32>
    check.expect_eq_const %o#1, dense<[[1,101,201,301],[11,111,211,311]]> : tensor<2x4xi32>
    check.expect_eq_const %o#2, dense<[[2,102,202,302],[12,112,212,312]]> : tensor<2x4xi32>
    check.expect_eq_const %o#3, dense<[[3,103,203,303],[13,113,213,313]]> : tensor<2x4xi32>
    return
  }
}

// -----

// In an order of its own.
module @exchange_order {
  func.func @f(%x: tensor<2x4xi32>) -> tensor<8x1xi32> {
    %r = "stablehlo.all_to_all"(%x) {split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 4 : i64, replica_groups = dense<[[1,0,3,2]]> : tensor<1x4xi64>} : (tensor<2x4xi32>) -> tensor<8x1xi32>
    return %r : tensor<8x1xi32>
  }
  func.func @main() {
    %i0 = stablehlo.constant dense<[[0,1,2,3],[10,11,12,13]]> : tensor<2x4xi32>
    %i1 = stablehlo.constant dense<[[100,101,102,103],[110,111,112,113]]> : tensor<2x4xi32>
    %i2 = stablehlo.constant dense<[[200,201,202,203],[210,211,212,213]]> : tensor<2x4xi32>
    %i3 = stablehlo.constant dense<[[300,301,302,303],[310,311,312,313]]> : tensor<2x4xi32>
    %o:4 = "interpreter.run_parallel"(%i0, %i1, %i2, %i3) {
      programs=[[@f], [@f], [@f], [@f]]
    } : (tensor<2x4xi32>, tensor<2x4xi32>, tensor<2x4xi32>, tensor<2x4xi32>) -> (tensor<8x1xi32>, tensor<8x1xi32>, tensor<8x1xi32>, tensor<8x1xi32>)
    check.expect_eq_const %o#0, dense<[[101],[111],[1],[11],[301],[311],[201],[211]]> : tensor<8x1xi32>
    check.expect_eq_const %o#1, dense<[[100],[110],[0],[10],[300],[310],[200],[210]]> : tensor<8x1xi32>
    check.expect_eq_const %o#2, dense<[[103],[113],[3],[13],[303],[313],[203],[213]]> : tensor<8x1xi32>
    check.expect_eq_const %o#3, dense<[[102],[112],[2],[12],[302],[312],[202],[212]]> : tensor<8x1xi32>
    return
  }
}

// -----

// Each to the next.
module @ring {
  func.func @f(%x: tensor<2xi32>) -> tensor<2xi32> {
    %r = "stablehlo.collective_permute"(%x) {source_target_pairs = dense<[[0,1],[1,2],[2,3],[3,0]]> : tensor<4x2xi64>} : (tensor<2xi32>) -> tensor<2xi32>
    return %r : tensor<2xi32>
  }
  func.func @main() {
    %i0 = stablehlo.constant dense<[1,5]> : tensor<2xi32>
    %i1 = stablehlo.constant dense<[7,2]> : tensor<2xi32>
    %i2 = stablehlo.constant dense<[3,9]> : tensor<2xi32>
    %i3 = stablehlo.constant dense<[4,4]> : tensor<2xi32>
    %o:4 = "interpreter.run_parallel"(%i0, %i1, %i2, %i3) {
      programs=[[@f], [@f], [@f], [@f]]
    } : (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>)
    check.expect_eq_const %o#0, dense<[4,4]> : tensor<2xi32>
    check.expect_eq_const %o#1, dense<[1,5]> : tensor<2xi32>
    check.expect_eq_const %o#2, dense<[7,2]> : tensor<2xi32>
    check.expect_eq_const %o#3, dense<[3,9]> : tensor<2xi32>
    return
  }
}

// -----

// Partitions of each replica; the first gets zeros.
module @shift_partitions {
  func.func @f(%x: tensor<2xi32>) -> tensor<2xi32> {
    %r = "stablehlo.collective_permute"(%x) {source_target_pairs = dense<[[0,1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>} : (tensor<2xi32>) -> tensor<2xi32>
    return %r : tensor<2xi32>
  }
  func.func @main() {
    %i0 = stablehlo.constant dense<[1,5]> : tensor<2xi32>
    %i1 = stablehlo.constant dense<[7,2]> : tensor<2xi32>
    %i2 = stablehlo.constant dense<[3,9]> : tensor<2xi32>
    %i3 = stablehlo.constant dense<[4,4]> : tensor<2xi32>
    %o:4 = "interpreter.run_parallel"(%i0, %i1, %i2, %i3) {
      programs=[[@f, @f], [@f, @f]]
    } : (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>)
    check.expect_eq_const %o#0, dense<[0,0]> : tensor<2xi32>
    check.expect_eq_const %o#1, dense<[1,5]> : tensor<2xi32>
    check.expect_eq_const %o#2, dense<[0,0]> : tensor<2xi32>
    check.expect_eq_const %o#3, dense<[3,9]> : tensor<2xi32>
    return
  }
}

// -----

// The numbers of replica and partition of six processes.
module @numbers {
  func.func @f(%x: tensor<2xi32>) -> tensor<2xi32> {
    %i = stablehlo.replica_id : tensor<ui32>
    %p = stablehlo.partition_id : tensor<ui32>
    %c = stablehlo.constant dense<10> : tensor<ui32>
    %m = stablehlo.multiply %i, %c : tensor<ui32>
    %s = stablehlo.add %m, %p : tensor<ui32>
    %v = stablehlo.convert %s : (tensor<ui32>) -> tensor<i32>
    %b = stablehlo.broadcast_in_dim %v, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %r = stablehlo.add %x, %b : tensor<2xi32>
    return %r : tensor<2xi32>
  }
  func.func @main() {
    %i0 = stablehlo.constant dense<[0,0]> : tensor<2xi32>
    %i1 = stablehlo.constant dense<[0,1]> : tensor<2xi32>
    %i2 = stablehlo.constant dense<[0,2]> : tensor<2xi32>
    %i3 = stablehlo.constant dense<[0,3]> : tensor<2xi32>
    %i4 = stablehlo.constant dense<[0,4]> : tensor<2xi32>
    %i5 = stablehlo.constant dense<[0,5]> : tensor<2xi32>
    %o:6 = "interpreter.run_parallel"(%i0, %i1, %i2, %i3, %i4, %i5) {
      programs=[[@f, @f], [@f, @f], [@f, @f]]
    } : (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>)
    check.expect_eq_const %o#0, dense<[0,0]> : tensor<2xi32>
    check.expect_eq_const %o#1, dense<[1,2]> : tensor<2xi32>
    check.expect_eq_const %o#2, dense<[10,12]> : tensor<2xi32>
    check.expect_eq_const %o#3, dense<[11,14]> : tensor<2xi32>
    check.expect_eq_const %o#4, dense<[20,24]> : tensor<2xi32>
    check.expect_eq_const %o#5, dense<[21,26]> : tensor<2xi32>
    return
  }
}

// -----

// Truth values: add is or; what nobody sends is false.
module @truth_values {
  func.func @f(%x: tensor<2xi1>) -> (tensor<2xi1>, tensor<2xi1>, tensor<2xi1>, tensor<2xi1>, tensor<4xi1>, tensor<2xi1>, tensor<2xi1>) {
    %0 = "stablehlo.all_reduce"(%x) ({
    ^bb0(%a: tensor<i1>, %b: tensor<i1>):
      %c = stablehlo.add %a, %b : tensor<i1>
      stablehlo.return %c : tensor<i1>
    }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2xi1>) -> tensor<2xi1>
    %1 = "stablehlo.all_reduce"(%x) ({
    ^bb0(%a: tensor<i1>, %b: tensor<i1>):
      %c = stablehlo.xor %a, %b : tensor<i1>
      stablehlo.return %c : tensor<i1>
    }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2xi1>) -> tensor<2xi1>
    %2 = "stablehlo.all_reduce"(%x) ({
    ^bb0(%a: tensor<i1>, %b: tensor<i1>):
      %c = stablehlo.minimum %a, %b : tensor<i1>
      stablehlo.return %c : tensor<i1>
    }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2xi1>) -> tensor<2xi1>
    %3 = "stablehlo.collective_permute"(%x) {source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2xi1>) -> tensor<2xi1>
    %4 = "stablehlo.all_gather"(%x) {all_gather_dim = 0 : i64, replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>} : (tensor<2xi1>) -> tensor<4xi1>
    %5 = "stablehlo.collective_broadcast"(%x) {replica_groups = dense<[[1]]> : tensor<1x1xi64>} : (tensor<2xi1>) -> tensor<2xi1>
    %6 = "stablehlo.all_to_all"(%x) {split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2xi1>) -> tensor<2xi1>
    return %0, %1, %2, %3, %4, %5, %6 : tensor<2xi1>, tensor<2xi1>, tensor<2xi1>, tensor<2xi1>, tensor<4xi1>, tensor<2xi1>, tensor<2xi1>
  }
  func.func @main() {
    %p = stablehlo.constant dense<[true, false]> : tensor<2xi1>
    %q = stablehlo.constant dense<[true, true]> : tensor<2xi1>
    %o:14 = "interpreter.run_parallel"(%p, %q) {programs=[[@f], [@f]]} : (tensor<2xi1>, tensor<2xi1>) -> (tensor<2xi1>, tensor<2xi1>, tensor<2xi1>, tensor<2xi1>, tensor<4xi1>, tensor<2xi1>, tensor<2xi1>, tensor<2xi1>, tensor<2xi1>, tensor<2xi1>, tensor<2xi1>, tensor<4xi1>, tensor<2xi1>, tensor<2xi1>)
    check.expect_eq_const %o#0, dense<[true, true]> : tensor<2xi1>
    check.expect_eq_const %o#1, dense<[false, true]> : tensor<2xi1>
    check.expect_eq_const %o#2, dense<[true, false]> : tensor<2xi1>
    check.expect_eq_const %o#3, dense<[false, false]> : tensor<2xi1>
    check.expect_eq_const %o#10, dense<[true, false]> : tensor<2xi1>
    check.expect_eq_const %o#4, dense<[true, true, true, false]> : tensor<4xi1>
    check.expect_eq_const %o#5, dense<[false, false]> : tensor<2xi1>
    check.expect_eq_const %o#12, dense<[true, true]> : tensor<2xi1>
    check.expect_eq_const %o#6, dense<[true, true]> : tensor<2xi1>
    check.expect_eq_const %o#13, dense<[false, true]> : tensor<2xi1>
    return
  }
}

// -----

// A group of one leaves what it has.
module @one_process {
  func.func @f(%x: tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<ui32>) {
    %0 = "stablehlo.all_reduce"(%x) ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %c = stablehlo.add %a, %b : tensor<i32>
      stablehlo.return %c : tensor<i32>
    }) {replica_groups = dense<0> : tensor<1x1xi64>} : (tensor<2xi32>) -> tensor<2xi32>
    %1 = "stablehlo.all_gather"(%x) {all_gather_dim = 0 : i64, replica_groups = dense<[[0]]> : tensor<1x1xi64>} : (tensor<2xi32>) -> tensor<2xi32>
    %2 = "stablehlo.all_to_all"(%x) {split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 1 : i64, replica_groups = dense<[[0]]> : tensor<1x1xi64>} : (tensor<2xi32>) -> tensor<2xi32>
    %3 = "stablehlo.collective_permute"(%x) {source_target_pairs = dense<0> : tensor<1x2xi64>} : (tensor<2xi32>) -> tensor<2xi32>
    %4 = "stablehlo.collective_broadcast"(%x) {replica_groups = dense<0> : tensor<1x1xi64>} : (tensor<2xi32>) -> tensor<2xi32>
    %5 = "stablehlo.reduce_scatter"(%x) ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %c = stablehlo.add %a, %b : tensor<i32>
      stablehlo.return %c : tensor<i32>
    }) {scatter_dimension = 0 : i64, replica_groups = dense<0> : tensor<1x1xi64>} : (tensor<2xi32>) -> tensor<2xi32>
    %6 = stablehlo.replica_id : tensor<ui32>
    return %0, %1, %2, %3, %4, %5, %6 : tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<ui32>
  }
  func.func @main() {
    %p = stablehlo.constant dense<[3, 4]> : tensor<2xi32>
    %o:7 = "interpreter.run_parallel"(%p) {programs=[[@f]]} : (tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<ui32>)
    check.expect_eq_const %o#0, dense<[3, 4]> : tensor<2xi32>
    check.expect_eq_const %o#1, dense<[3, 4]> : tensor<2xi32>
    check.expect_eq_const %o#2, dense<[3, 4]> : tensor<2xi32>
    check.expect_eq_const %o#3, dense<[3, 4]> : tensor<2xi32>
    check.expect_eq_const %o#4, dense<[3, 4]> : tensor<2xi32>
    check.expect_eq_const %o#5, dense<[3, 4]> : tensor<2xi32>
    check.expect_eq_const %o#6, dense<0> : tensor<ui32>
    return
  }
}
