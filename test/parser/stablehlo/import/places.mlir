// An op that is not supported is named with the line of the user's file: of its locations the innermost that is not in an
// installed package, and of a function without one that of the call.
// RUN: not %dopt %s 2>&1 | %FileCheck %s
// CHECK: places.mlir:15:{{.*}} error: {{.*}}@first is unknown
// CHECK-NEXT: call @first
// CHECK-NEXT: ^
// CHECK-NEXT: note: the op comes from /home/me/step.py:12
// CHECK: places.mlir:16:{{.*}} error: {{.*}}@second is unknown
// CHECK: note: the op comes from my model.py:7
// CHECK: places.mlir:17:{{.*}} error: {{.*}}@third is unknown
// CHECK-NOT: note
// CHECK: places.mlir:22:{{.*}} error: {{.*}}@inside is unknown
// CHECK: note: the op comes from /home/me/step.py:30
func.func @main(%x: tensor<4xf32>) {
  %a = stablehlo.custom_call @first(%x) : (tensor<4xf32>) -> tensor<4xf32> loc(#loc5)
  %b = stablehlo.custom_call @second(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("mul"("my model.py":7:1 to :9))
  %c = stablehlo.custom_call @third(%x) : (tensor<4xf32>) -> tensor<4xf32> loc(#loc1)
  %d = call @f(%x) : (tensor<4xf32>) -> tensor<4xf32> loc(callsite(#loc1 at "/home/me/step.py":30:2))
  return
}
func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = stablehlo.custom_call @inside(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("f")
  return %a : tensor<4xf32>
}
#loc1 = loc("/usr/lib/python3/site-packages/optax/base.py":3:4)
#loc2 = loc("/home/me/step.py":12:4)
#loc3 = loc("/home/me/train.py":99:4)
#loc4 = loc(callsite(#loc2 at #loc3))
#loc5 = loc("jit(step)/custom"(callsite(#loc1 at #loc4)))
#loc6 = loc(#loc6)
