// Sizes that the text leaves open are set with -D: by the names of JAX's checks, which the text must name, and else
// as d0, d1 ...
// RUN: rm -rf %t && split-file %s %t
// RUN: %dopt -D b=6 %t/named.mlir -o %t/named.dir
// RUN: sed -e 's|%y: tensor<?|%y: tensor<12|; s|?x|6x|g' %t/named.mlir > %t/closed.mlir
// RUN: %dopt %t/closed.mlir -o %t/closed.dir
// RUN: diff %t/named.dir %t/closed.dir
// RUN: %FileCheck %s < %t/named.dir
// CHECK: input("x") : f32[6,4]
// CHECK: input("y") : f32[12]
// RUN: not %dopt %t/named.mlir 2>&1 | %FileCheck %s -check-prefix=OPEN
// OPEN: argument 0, tensor<?x4xf32>, has an open size; set it with -D b=64
// RUN: not %dopt -D b=6 -D c=1 %t/named.mlir 2>&1 | %FileCheck %s -check-prefix=NONE
// NONE: no argument of '{{.*}}named.mlir' has an open size c
// RUN: not %dopt -D b=5 %t/wrong.mlir 2>&1 | %FileCheck %s -check-prefix=WRONG
// WRONG: the sizes do not fit: b is even
// RUN: %dopt -D d0=3 -D d1=2 %t/plain.mlir | %FileCheck %s -check-prefix=PLAIN
// PLAIN: input("x") : f32[3,2]

//--- named.mlir
func.func public @main(%x: tensor<?x4xf32>, %y: tensor<?xf32>) -> tensor<?x4xf32> {
  %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x4xf32>) -> tensor<i32>
  %c = stablehlo.constant dense<1> : tensor<i32>
  %ok = stablehlo.compare GE, %n, %c : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.custom_call @shape_assertion(%ok, %n) {error_message = "Expected value >= 1 for dimension variable 'b'. Using the following polymorphic shapes specifications: args[0].shape = (b, 4),args[1].shape = (2*b,). Obtained dimension variables: 'b' = {0}", has_side_effect = true} : (tensor<i1>, tensor<i32>) -> ()
  %s = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
  %four = stablehlo.constant dense<4> : tensor<1xi32>
  %shape = stablehlo.concatenate %s, %four, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %two = stablehlo.constant dense<2.0> : tensor<f32>
  %all = stablehlo.dynamic_broadcast_in_dim %two, %shape, dims = [] : (tensor<f32>, tensor<2xi32>) -> tensor<?x4xf32>
  %r = stablehlo.multiply %x, %all : tensor<?x4xf32>
  return %r : tensor<?x4xf32>
}

//--- wrong.mlir
func.func public @main(%x: tensor<?xf32>) -> tensor<?xf32> {
  %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %rest = stablehlo.remainder %n, %two : tensor<i32>
  %ok = stablehlo.compare EQ, %rest, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.custom_call @shape_assertion(%ok) {error_message = "b is even. Using the following polymorphic shapes specifications: args[0].shape = (b,)."} : (tensor<i1>) -> ()
  return %x : tensor<?xf32>
}

//--- plain.mlir
func.func public @main(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {
  return %x : tensor<?x?xf32>
}
