// Batch norm: training, inference with its statistics, the gradient by differences of 50 digits.
// RUN: %dopt -expect -split-input-file %s | %FileCheck %s
// RUN: %dopt -expect -pass=canonicalize,cse,dce,opfuse -split-input-file %s | %FileCheck %s
// CHECK-NOT: {{failed:|unsupported:}}
// CHECK: passed, 0 failed, 0 unsupported

func.func @norm() {
  %x = stablehlo.constant dense<[[[2.375, -0.5], [0.25, 1.625]], [[-2.375, 1.125], [-0.625, -2.125]], [[-1.25, -1.625], [0.375, 1.25]]]> : tensor<3x2x2xf32>
  %scale = stablehlo.constant dense<[1.5, -0.75]> : tensor<2xf32>
  %offset = stablehlo.constant dense<[0.25, 2.0]> : tensor<2xf32>
  %dy = stablehlo.constant dense<[[[-0.25, 1.0], [-1.25, -0.25]], [[-2.0, -0.5], [1.25, 0.0]], [[-0.75, 1.0], [-0.75, -1.5]]]> : tensor<3x2x2xf32>
  %y, %mean, %variance = "stablehlo.batch_norm_training"(%x, %scale, %offset) {epsilon = 0.125 : f32, feature_index = 1 : i64} : (tensor<3x2x2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<3x2x2xf32>, tensor<2xf32>, tensor<2xf32>)
  "check.expect_almost_eq_const"(%y) {value = dense<[[[2.70740045689, 0.138299979232], [1.92726782932, 1.12721395182]], [[-1.53720033229, 1.59040024922], [2.43639302409, 3.30917907227]], [[-0.531900145376, -0.867000207679], [1.85453565864, 1.34541046387]]]> : tensor<3x2x2xf32>, tolerance = 1.0e-5 : f64} : (tensor<3x2x2xf32>) -> ()
  "check.expect_almost_eq_const"(%mean) {value = dense<[-0.375, 0.125]> : tensor<2xf32>, tolerance = 1.0e-5 : f64} : (tensor<2xf32>) -> ()
  "check.expect_almost_eq_const"(%variance) {value = dense<[2.69270833333, 1.53645833333]> : tensor<2xf32>, tolerance = 1.0e-5 : f64} : (tensor<2xf32>) -> ()
  %same = "stablehlo.batch_norm_inference"(%x, %scale, %offset, %mean, %variance) {epsilon = 0.125 : f32, feature_index = 1 : i64} : (tensor<3x2x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<3x2x2xf32>
  check.expect_almost_eq %same, %y : tensor<3x2x2xf32>
  %dx, %dscale, %doffset = "stablehlo.batch_norm_grad"(%x, %scale, %mean, %variance, %dy) {epsilon = 0.125 : f32, feature_index = 1 : i64} : (tensor<3x2x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<3x2x2xf32>) -> (tensor<3x2x2xf32>, tensor<2xf32>, tensor<2xf32>)
  "check.expect_almost_eq_const"(%dx) {value = dense<[[[-0.267997462027, 1.1291819105], [0.460485080626, -0.389728914582]], [[-1.36889304564, -0.369580475369], [-0.82338593225, 0.196688461571]], [[-0.361528163336, 1.23881723587], [0.14516034065, 0.410780963985]]]> : tensor<3x2x2xf32>, tolerance = 1.0e-5 : f64} : (tensor<3x2x2xf32>) -> ()
  "check.expect_almost_eq_const"(%dscale) {value = dense<[1.09838353755, -2.59411408764]> : tensor<2xf32>, tolerance = 1.0e-5 : f64} : (tensor<2xf32>) -> ()
  "check.expect_almost_eq_const"(%doffset) {value = dense<[-1.5, -2.5]> : tensor<2xf32>, tolerance = 1.0e-5 : f64} : (tensor<2xf32>) -> ()
  return
}
