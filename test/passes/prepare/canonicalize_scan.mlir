// A loop that stacks its results, unrolled, copies each of them once or twice, not all of them in each step.
// RUN: %dopt -check -pass=canonicalize,dce %s | %FileCheck %s
// CHECK-NOT: dynamic_update_slice
// CHECK: concat(%{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}) {dim = 0} : f32[8,
// CHECK: : f32[20,32,64]
// CHECK-NEXT: output
func.func public @main(%x: tensor<20x32x64xf32>, %w: tensor<64x64xf32>) -> tensor<20x32x64xf32> {
  %h0 = stablehlo.constant dense<0.0> : tensor<32x64xf32>
  %y0 = stablehlo.constant dense<0.0> : tensor<20x32x64xf32>
  %i0 = stablehlo.constant dense<0> : tensor<i32>
  %n = stablehlo.constant dense<20> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %r:3 = stablehlo.while(%i = %i0, %h = %h0, %y = %y0) : tensor<i32>, tensor<32x64xf32>, tensor<20x32x64xf32>
  cond {
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %xt = stablehlo.dynamic_slice %x, %i, %z, %z, sizes = [1, 32, 64] : (tensor<20x32x64xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x32x64xf32>
    %xr = stablehlo.reshape %xt : (tensor<1x32x64xf32>) -> tensor<32x64xf32>
    %hw = stablehlo.dot %h, %w : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
    %s = stablehlo.add %xr, %hw : tensor<32x64xf32>
    %hn = stablehlo.tanh %s : tensor<32x64xf32>
    %row = stablehlo.reshape %hn : (tensor<32x64xf32>) -> tensor<1x32x64xf32>
    %yn = stablehlo.dynamic_update_slice %y, %row, %i, %z, %z : (tensor<20x32x64xf32>, tensor<1x32x64xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<20x32x64xf32>
    %in = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %in, %hn, %yn : tensor<i32>, tensor<32x64xf32>, tensor<20x32x64xf32>
  }
  return %r#2 : tensor<20x32x64xf32>
}
