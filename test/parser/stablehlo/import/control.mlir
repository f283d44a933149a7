// Calls, loops, branches, tuples.
// RUN: %dopt -expect -split-input-file %s | %FileCheck %s
// CHECK-NOT: {{failed:|unsupported:}}
// CHECK: passed, 0 failed, 0 unsupported

// The sum of squares below 50, and how many: a loop over two values in a loop over one.
func.func @loops() {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<50> : tensor<i32>
  %r:2 = "stablehlo.while"(%zero, %zero) ({
  ^bb0(%i: tensor<i32>, %s: tensor<i32>):
    %q = stablehlo.multiply %i, %i : tensor<i32>
    %c = stablehlo.compare LT, %q, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }, {
  ^bb0(%i: tensor<i32>, %s: tensor<i32>):
    %t:2 = "stablehlo.while"(%zero, %s) ({
    ^bb0(%j: tensor<i32>, %u: tensor<i32>):
      %c = stablehlo.compare LT, %j, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    }, {
    ^bb0(%j: tensor<i32>, %u: tensor<i32>):
      %v = stablehlo.add %u, %i : tensor<i32>
      %k = stablehlo.add %j, %one : tensor<i32>
      stablehlo.return %k, %v : tensor<i32>, tensor<i32>
    }) : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %k = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %k, %t#1 : tensor<i32>, tensor<i32>
  }) : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
  check.expect_eq_const %r#0, dense<8> : tensor<i32>
  check.expect_eq_const %r#1, dense<140> : tensor<i32>
  func.return
}
// -----
// A loop that does not run.
func.func @none(%x: tensor<2xf32>) {
  %f = stablehlo.constant dense<false> : tensor<i1>
  %r = "stablehlo.while"(%x) ({
  ^bb0(%i: tensor<2xf32>):
    stablehlo.return %f : tensor<i1>
  }, {
  ^bb0(%i: tensor<2xf32>):
    %k = stablehlo.add %i, %i : tensor<2xf32>
    stablehlo.return %k : tensor<2xf32>
  }) : (tensor<2xf32>) -> tensor<2xf32>
  check.expect_eq %r, %x : tensor<2xf32>
  func.return
}
// -----
// A branch that an input picks.
func.func @if(%x: tensor<3xf32>, %y: tensor<f32>) {
  %z = stablehlo.constant dense<0.5> : tensor<f32>
  %p = stablehlo.compare LT, %y, %z : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %r = "stablehlo.if"(%p) ({
    %a = stablehlo.negate %x : tensor<3xf32>
    stablehlo.return %a : tensor<3xf32>
  }, {
    %a = stablehlo.add %x, %x : tensor<3xf32>
    stablehlo.return %a : tensor<3xf32>
  }) : (tensor<i1>) -> tensor<3xf32>
  %n = stablehlo.negate %x : tensor<3xf32>
  %d = stablehlo.add %x, %x : tensor<3xf32>
  %s = stablehlo.select %p, %n, %d : tensor<i1>, tensor<3xf32>
  check.expect_eq %r, %s : tensor<3xf32>
  %q = stablehlo.not %p : tensor<i1>
  %t = "stablehlo.if"(%q) ({
    stablehlo.return %d : tensor<3xf32>
  }, {
    stablehlo.return %n : tensor<3xf32>
  }) : (tensor<i1>) -> tensor<3xf32>
  check.expect_eq %t, %s : tensor<3xf32>
  func.return
}
// -----
// Indices out of range take the last branch, also where an input says which.
func.func @case(%x: tensor<i32>) {
  %a = stablehlo.constant dense<10> : tensor<i32>
  %b = stablehlo.constant dense<20> : tensor<i32>
  %c = stablehlo.constant dense<30> : tensor<i32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %n = stablehlo.multiply %x, %zero : tensor<i32>
  %i0 = stablehlo.constant dense<1> : tensor<i32>
  %i1 = stablehlo.constant dense<-1> : tensor<i32>
  %k0 = stablehlo.add %n, %i0 : tensor<i32>
  %k1 = stablehlo.add %n, %i1 : tensor<i32>
  %r0 = "stablehlo.case"(%k0) ({ stablehlo.return %a : tensor<i32> }, { stablehlo.return %b : tensor<i32> }, { stablehlo.return %c : tensor<i32> }) : (tensor<i32>) -> tensor<i32>
  check.expect_eq_const %r0, dense<20> : tensor<i32>
  %r1 = "stablehlo.case"(%k1) ({ stablehlo.return %a : tensor<i32> }, { stablehlo.return %b : tensor<i32> }, { stablehlo.return %c : tensor<i32> }) : (tensor<i32>) -> tensor<i32>
  check.expect_eq_const %r1, dense<30> : tensor<i32>
  func.return
}
// -----
// Functions in functions; a loop that one calls in.
func.func @main(%x: tensor<2xf32>) {
  %0 = func.call @twice(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %1 = func.call @twice(%0) : (tensor<2xf32>) -> tensor<2xf32>
  %four = stablehlo.constant dense<4.0> : tensor<2xf32>
  %2 = stablehlo.multiply %x, %four : tensor<2xf32>
  check.expect_eq %1, %2 : tensor<2xf32>
  func.return
}
func.func private @twice(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = func.call @sum(%x, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
func.func private @sum(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.add %x, %y : tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
// -----
// Tuples in tuples.
func.func @tuples(%x: tensor<2xf32>, %y: tensor<i32>) {
  %t = "stablehlo.tuple"(%x, %y) : (tensor<2xf32>, tensor<i32>) -> tuple<tensor<2xf32>, tensor<i32>>
  %u = "stablehlo.tuple"(%y, %t) : (tensor<i32>, tuple<tensor<2xf32>, tensor<i32>>) -> tuple<tensor<i32>, tuple<tensor<2xf32>, tensor<i32>>>
  %v = "stablehlo.get_tuple_element"(%u) {index = 1 : i32} : (tuple<tensor<i32>, tuple<tensor<2xf32>, tensor<i32>>>) -> tuple<tensor<2xf32>, tensor<i32>>
  %w = "stablehlo.get_tuple_element"(%v) {index = 0 : i32} : (tuple<tensor<2xf32>, tensor<i32>>) -> tensor<2xf32>
  check.expect_eq %w, %x : tensor<2xf32>
  func.return
}
