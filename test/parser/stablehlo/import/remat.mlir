// A training step whose blocks are recomputed, as JAX 0.10.2 writes it for jax.checkpoint: four blocks
//
//     def block(w, x):
//         h = jnp.tanh(x @ w['up'])
//         h = h * jax.nn.sigmoid(h)
//         return x + jnp.tanh(h @ w['down'])
//
// of 256 x 32 activations and 128 hidden units, a mean squared error, SGD; step(ws, x, y) jitted with
// donate_argnums = 0, lower(...).as_text(). Each optimization_barrier is a barrier, and is written back as one.
// RUN: %dopt %s -o %t.dir
// RUN: grep -c 'barrier(' %t.dir | %FileCheck %s -check-prefix=COUNT
// RUN: %dopt -emit=stablehlo %t.dir -o %t.mlir
// RUN: grep -c 'stablehlo.optimization_barrier' %t.mlir | %FileCheck %s -check-prefix=COUNT
// COUNT: {{^}}4{{$}}
// RUN: %dopt -check -emit=none -pass=canonicalize,cse,dce,opfuse %t.dir
//
// The memory that the step needs is the same with and without passes, or less, as kernels keep values in registers;
// without the barriers cse takes 1.26 MB to 2.54 MB.
// RUN: %dopt -stats -emit=none -pass=canonicalize,cse,dce,cse %s | %FileCheck %s -check-prefix=STATS
// STATS: {{^}}input {{.*}} [[MEMORY:[0-9.]+.B]]{{$}}
// STATS-NEXT: {{^}}canonicalize {{.*}} [[MEMORY]] {{.*}}
// STATS-NEXT: {{^}}cse {{.*}} [[MEMORY]] {{.*}} ops merged
// STATS-NEXT: {{^}}dce {{.*}} [[MEMORY]] {{.*}}
// STATS-NEXT: {{^}}cse {{.*}} [[MEMORY]] {{.*}}
// RUN: %dopt -emit=none -budget=1.3MB -pass=canonicalize,cse,opfuse %s
// RUN: %dopt -emit=none -budget=1.3MB -pass=canonicalize,cse,joint{evaluations=500} %s
module @jit_step attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<128x32xf32> {tf.aliasing_output = 0 : i32}, %arg1: tensor<32x128xf32> {tf.aliasing_output = 1 : i32}, %arg2: tensor<128x32xf32> {tf.aliasing_output = 2 : i32}, %arg3: tensor<32x128xf32> {tf.aliasing_output = 3 : i32}, %arg4: tensor<128x32xf32> {tf.aliasing_output = 4 : i32}, %arg5: tensor<32x128xf32> {tf.aliasing_output = 5 : i32}, %arg6: tensor<128x32xf32> {tf.aliasing_output = 6 : i32}, %arg7: tensor<32x128xf32> {tf.aliasing_output = 7 : i32}, %arg8: tensor<256x32xf32>, %arg9: tensor<256x32xf32>) -> (tensor<128x32xf32> {jax.result_info = "result[0][0]['down']"}, tensor<32x128xf32> {jax.result_info = "result[0][0]['up']"}, tensor<128x32xf32> {jax.result_info = "result[0][1]['down']"}, tensor<32x128xf32> {jax.result_info = "result[0][1]['up']"}, tensor<128x32xf32> {jax.result_info = "result[0][2]['down']"}, tensor<32x128xf32> {jax.result_info = "result[0][2]['up']"}, tensor<128x32xf32> {jax.result_info = "result[0][3]['down']"}, tensor<32x128xf32> {jax.result_info = "result[0][3]['up']"}, tensor<f32> {jax.result_info = "result[1]"}) {
    %0 = stablehlo.dot_general %arg8, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<256x32xf32>, tensor<32x128xf32>) -> tensor<256x128xf32>
    %1 = stablehlo.tanh %0 : tensor<256x128xf32>
    %2 = stablehlo.negate %1 : tensor<256x128xf32>
    %3 = stablehlo.exponential %2 : tensor<256x128xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<256x128xf32>
    %5 = stablehlo.add %4, %3 : tensor<256x128xf32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %6 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<256x128xf32>
    %7 = stablehlo.divide %6, %5 : tensor<256x128xf32>
    %8 = stablehlo.multiply %1, %7 : tensor<256x128xf32>
    %9 = stablehlo.dot_general %8, %arg0, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<256x128xf32>, tensor<128x32xf32>) -> tensor<256x32xf32>
    %10 = stablehlo.tanh %9 : tensor<256x32xf32>
    %11 = stablehlo.add %arg8, %10 : tensor<256x32xf32>
    %12 = stablehlo.dot_general %11, %arg3, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<256x32xf32>, tensor<32x128xf32>) -> tensor<256x128xf32>
    %13 = stablehlo.tanh %12 : tensor<256x128xf32>
    %14 = stablehlo.negate %13 : tensor<256x128xf32>
    %15 = stablehlo.exponential %14 : tensor<256x128xf32>
    %cst_1 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %16 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<256x128xf32>
    %17 = stablehlo.add %16, %15 : tensor<256x128xf32>
    %cst_2 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %18 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<256x128xf32>
    %19 = stablehlo.divide %18, %17 : tensor<256x128xf32>
    %20 = stablehlo.multiply %13, %19 : tensor<256x128xf32>
    %21 = stablehlo.dot_general %20, %arg2, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<256x128xf32>, tensor<128x32xf32>) -> tensor<256x32xf32>
    %22 = stablehlo.tanh %21 : tensor<256x32xf32>
    %23 = stablehlo.add %11, %22 : tensor<256x32xf32>
    %24 = stablehlo.dot_general %23, %arg5, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<256x32xf32>, tensor<32x128xf32>) -> tensor<256x128xf32>
    %25 = stablehlo.tanh %24 : tensor<256x128xf32>
    %26 = stablehlo.negate %25 : tensor<256x128xf32>
    %27 = stablehlo.exponential %26 : tensor<256x128xf32>
    %cst_3 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %28 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<256x128xf32>
    %29 = stablehlo.add %28, %27 : tensor<256x128xf32>
    %cst_4 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %30 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<256x128xf32>
    %31 = stablehlo.divide %30, %29 : tensor<256x128xf32>
    %32 = stablehlo.multiply %25, %31 : tensor<256x128xf32>
    %33 = stablehlo.dot_general %32, %arg4, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<256x128xf32>, tensor<128x32xf32>) -> tensor<256x32xf32>
    %34 = stablehlo.tanh %33 : tensor<256x32xf32>
    %35 = stablehlo.add %23, %34 : tensor<256x32xf32>
    %36 = stablehlo.dot_general %35, %arg7, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<256x32xf32>, tensor<32x128xf32>) -> tensor<256x128xf32>
    %37 = stablehlo.tanh %36 : tensor<256x128xf32>
    %38 = stablehlo.negate %37 : tensor<256x128xf32>
    %39 = stablehlo.exponential %38 : tensor<256x128xf32>
    %cst_5 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %40 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<256x128xf32>
    %41 = stablehlo.add %40, %39 : tensor<256x128xf32>
    %cst_6 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %42 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<256x128xf32>
    %43 = stablehlo.divide %42, %41 : tensor<256x128xf32>
    %44 = stablehlo.multiply %37, %43 : tensor<256x128xf32>
    %45 = stablehlo.dot_general %44, %arg6, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<256x128xf32>, tensor<128x32xf32>) -> tensor<256x32xf32>
    %46 = stablehlo.tanh %45 : tensor<256x32xf32>
    %47 = stablehlo.add %35, %46 : tensor<256x32xf32>
    %48 = stablehlo.subtract %47, %arg9 : tensor<256x32xf32>
    %49 = stablehlo.multiply %48, %48 : tensor<256x32xf32>
    %cst_7 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %50 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<256x32xf32>
    %51 = stablehlo.multiply %50, %48 : tensor<256x32xf32>
    %cst_8 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %52 = stablehlo.reduce(%49 init: %cst_8) applies stablehlo.add across dimensions = [0, 1] : (tensor<256x32xf32>, tensor<f32>) -> tensor<f32>
    %cst_9 = stablehlo.constant dense<8.192000e+03> : tensor<f32>
    %53 = stablehlo.divide %52, %cst_9 : tensor<f32>
    %cst_10 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %cst_11 = stablehlo.constant dense<8.192000e+03> : tensor<f32>
    %54 = stablehlo.divide %cst_10, %cst_11 : tensor<f32>
    %55 = stablehlo.broadcast_in_dim %54, dims = [] : (tensor<f32>) -> tensor<256x32xf32>
    %56 = stablehlo.multiply %55, %51 : tensor<256x32xf32>
    %57:4 = stablehlo.optimization_barrier %arg6, %arg7, %35, %56 : tensor<128x32xf32>, tensor<32x128xf32>, tensor<256x32xf32>, tensor<256x32xf32>
    %58 = stablehlo.dot_general %57#2, %57#1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<256x32xf32>, tensor<32x128xf32>) -> tensor<256x128xf32>
    %59 = stablehlo.tanh %58 : tensor<256x128xf32>
    %cst_12 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %60 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f32>) -> tensor<256x128xf32>
    %61 = stablehlo.subtract %60, %59 : tensor<256x128xf32>
    %62 = stablehlo.negate %59 : tensor<256x128xf32>
    %63 = stablehlo.exponential %62 : tensor<256x128xf32>
    %cst_13 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %64 = stablehlo.broadcast_in_dim %cst_13, dims = [] : (tensor<f32>) -> tensor<256x128xf32>
    %65 = stablehlo.add %64, %63 : tensor<256x128xf32>
    %cst_14 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %66 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f32>) -> tensor<256x128xf32>
    %67 = stablehlo.divide %66, %65 : tensor<256x128xf32>
    %cst_15 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %68 = stablehlo.broadcast_in_dim %cst_15, dims = [] : (tensor<f32>) -> tensor<256x128xf32>
    %69 = stablehlo.subtract %68, %67 : tensor<256x128xf32>
    %70 = stablehlo.multiply %67, %69 : tensor<256x128xf32>
    %71 = stablehlo.multiply %59, %67 : tensor<256x128xf32>
    %72 = stablehlo.dot_general %71, %57#0, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<256x128xf32>, tensor<128x32xf32>) -> tensor<256x32xf32>
    %73 = stablehlo.tanh %72 : tensor<256x32xf32>
    %cst_16 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %74 = stablehlo.broadcast_in_dim %cst_16, dims = [] : (tensor<f32>) -> tensor<256x32xf32>
    %75 = stablehlo.subtract %74, %73 : tensor<256x32xf32>
    %76 = stablehlo.multiply %57#3, %75 : tensor<256x32xf32>
    %77 = stablehlo.multiply %76, %73 : tensor<256x32xf32>
    %78 = stablehlo.add %76, %77 : tensor<256x32xf32>
    %79 = stablehlo.dot_general %78, %71, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<256x32xf32>, tensor<256x128xf32>) -> tensor<32x128xf32>
    %80 = stablehlo.transpose %79, dims = [1, 0] : (tensor<32x128xf32>) -> tensor<128x32xf32>
    %81 = stablehlo.dot_general %78, %57#0, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<256x32xf32>, tensor<128x32xf32>) -> tensor<256x128xf32>
    %82 = stablehlo.multiply %59, %81 : tensor<256x128xf32>
    %83 = stablehlo.multiply %81, %67 : tensor<256x128xf32>
    %84 = stablehlo.multiply %82, %70 : tensor<256x128xf32>
    %85 = stablehlo.add %83, %84 : tensor<256x128xf32>
    %86 = stablehlo.multiply %85, %61 : tensor<256x128xf32>
    %87 = stablehlo.multiply %86, %59 : tensor<256x128xf32>
    %88 = stablehlo.add %86, %87 : tensor<256x128xf32>
    %89 = stablehlo.dot_general %88, %57#2, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<256x128xf32>, tensor<256x32xf32>) -> tensor<128x32xf32>
    %90 = stablehlo.transpose %89, dims = [1, 0] : (tensor<128x32xf32>) -> tensor<32x128xf32>
    %91 = stablehlo.dot_general %88, %57#1, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<256x128xf32>, tensor<32x128xf32>) -> tensor<256x32xf32>
    %92 = stablehlo.add %57#3, %91 : tensor<256x32xf32>
    %93:4 = stablehlo.optimization_barrier %arg4, %arg5, %23, %92 : tensor<128x32xf32>, tensor<32x128xf32>, tensor<256x32xf32>, tensor<256x32xf32>
    %94 = stablehlo.dot_general %93#2, %93#1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<256x32xf32>, tensor<32x128xf32>) -> tensor<256x128xf32>
    %95 = stablehlo.tanh %94 : tensor<256x128xf32>
    %cst_17 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %96 = stablehlo.broadcast_in_dim %cst_17, dims = [] : (tensor<f32>) -> tensor<256x128xf32>
    %97 = stablehlo.subtract %96, %95 : tensor<256x128xf32>
    %98 = stablehlo.negate %95 : tensor<256x128xf32>
    %99 = stablehlo.exponential %98 : tensor<256x128xf32>
    %cst_18 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %100 = stablehlo.broadcast_in_dim %cst_18, dims = [] : (tensor<f32>) -> tensor<256x128xf32>
    %101 = stablehlo.add %100, %99 : tensor<256x128xf32>
    %cst_19 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %102 = stablehlo.broadcast_in_dim %cst_19, dims = [] : (tensor<f32>) -> tensor<256x128xf32>
    %103 = stablehlo.divide %102, %101 : tensor<256x128xf32>
    %cst_20 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %104 = stablehlo.broadcast_in_dim %cst_20, dims = [] : (tensor<f32>) -> tensor<256x128xf32>
    %105 = stablehlo.subtract %104, %103 : tensor<256x128xf32>
    %106 = stablehlo.multiply %103, %105 : tensor<256x128xf32>
    %107 = stablehlo.multiply %95, %103 : tensor<256x128xf32>
    %108 = stablehlo.dot_general %107, %93#0, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<256x128xf32>, tensor<128x32xf32>) -> tensor<256x32xf32>
    %109 = stablehlo.tanh %108 : tensor<256x32xf32>
    %cst_21 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %110 = stablehlo.broadcast_in_dim %cst_21, dims = [] : (tensor<f32>) -> tensor<256x32xf32>
    %111 = stablehlo.subtract %110, %109 : tensor<256x32xf32>
    %112 = stablehlo.multiply %93#3, %111 : tensor<256x32xf32>
    %113 = stablehlo.multiply %112, %109 : tensor<256x32xf32>
    %114 = stablehlo.add %112, %113 : tensor<256x32xf32>
    %115 = stablehlo.dot_general %114, %107, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<256x32xf32>, tensor<256x128xf32>) -> tensor<32x128xf32>
    %116 = stablehlo.transpose %115, dims = [1, 0] : (tensor<32x128xf32>) -> tensor<128x32xf32>
    %117 = stablehlo.dot_general %114, %93#0, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<256x32xf32>, tensor<128x32xf32>) -> tensor<256x128xf32>
    %118 = stablehlo.multiply %95, %117 : tensor<256x128xf32>
    %119 = stablehlo.multiply %117, %103 : tensor<256x128xf32>
    %120 = stablehlo.multiply %118, %106 : tensor<256x128xf32>
    %121 = stablehlo.add %119, %120 : tensor<256x128xf32>
    %122 = stablehlo.multiply %121, %97 : tensor<256x128xf32>
    %123 = stablehlo.multiply %122, %95 : tensor<256x128xf32>
    %124 = stablehlo.add %122, %123 : tensor<256x128xf32>
    %125 = stablehlo.dot_general %124, %93#2, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<256x128xf32>, tensor<256x32xf32>) -> tensor<128x32xf32>
    %126 = stablehlo.transpose %125, dims = [1, 0] : (tensor<128x32xf32>) -> tensor<32x128xf32>
    %127 = stablehlo.dot_general %124, %93#1, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<256x128xf32>, tensor<32x128xf32>) -> tensor<256x32xf32>
    %128 = stablehlo.add %93#3, %127 : tensor<256x32xf32>
    %129:4 = stablehlo.optimization_barrier %arg2, %arg3, %11, %128 : tensor<128x32xf32>, tensor<32x128xf32>, tensor<256x32xf32>, tensor<256x32xf32>
    %130 = stablehlo.dot_general %129#2, %129#1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<256x32xf32>, tensor<32x128xf32>) -> tensor<256x128xf32>
    %131 = stablehlo.tanh %130 : tensor<256x128xf32>
    %cst_22 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %132 = stablehlo.broadcast_in_dim %cst_22, dims = [] : (tensor<f32>) -> tensor<256x128xf32>
    %133 = stablehlo.subtract %132, %131 : tensor<256x128xf32>
    %134 = stablehlo.negate %131 : tensor<256x128xf32>
    %135 = stablehlo.exponential %134 : tensor<256x128xf32>
    %cst_23 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %136 = stablehlo.broadcast_in_dim %cst_23, dims = [] : (tensor<f32>) -> tensor<256x128xf32>
    %137 = stablehlo.add %136, %135 : tensor<256x128xf32>
    %cst_24 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %138 = stablehlo.broadcast_in_dim %cst_24, dims = [] : (tensor<f32>) -> tensor<256x128xf32>
    %139 = stablehlo.divide %138, %137 : tensor<256x128xf32>
    %cst_25 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %140 = stablehlo.broadcast_in_dim %cst_25, dims = [] : (tensor<f32>) -> tensor<256x128xf32>
    %141 = stablehlo.subtract %140, %139 : tensor<256x128xf32>
    %142 = stablehlo.multiply %139, %141 : tensor<256x128xf32>
    %143 = stablehlo.multiply %131, %139 : tensor<256x128xf32>
    %144 = stablehlo.dot_general %143, %129#0, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<256x128xf32>, tensor<128x32xf32>) -> tensor<256x32xf32>
    %145 = stablehlo.tanh %144 : tensor<256x32xf32>
    %cst_26 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %146 = stablehlo.broadcast_in_dim %cst_26, dims = [] : (tensor<f32>) -> tensor<256x32xf32>
    %147 = stablehlo.subtract %146, %145 : tensor<256x32xf32>
    %148 = stablehlo.multiply %129#3, %147 : tensor<256x32xf32>
    %149 = stablehlo.multiply %148, %145 : tensor<256x32xf32>
    %150 = stablehlo.add %148, %149 : tensor<256x32xf32>
    %151 = stablehlo.dot_general %150, %143, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<256x32xf32>, tensor<256x128xf32>) -> tensor<32x128xf32>
    %152 = stablehlo.transpose %151, dims = [1, 0] : (tensor<32x128xf32>) -> tensor<128x32xf32>
    %153 = stablehlo.dot_general %150, %129#0, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<256x32xf32>, tensor<128x32xf32>) -> tensor<256x128xf32>
    %154 = stablehlo.multiply %131, %153 : tensor<256x128xf32>
    %155 = stablehlo.multiply %153, %139 : tensor<256x128xf32>
    %156 = stablehlo.multiply %154, %142 : tensor<256x128xf32>
    %157 = stablehlo.add %155, %156 : tensor<256x128xf32>
    %158 = stablehlo.multiply %157, %133 : tensor<256x128xf32>
    %159 = stablehlo.multiply %158, %131 : tensor<256x128xf32>
    %160 = stablehlo.add %158, %159 : tensor<256x128xf32>
    %161 = stablehlo.dot_general %160, %129#2, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<256x128xf32>, tensor<256x32xf32>) -> tensor<128x32xf32>
    %162 = stablehlo.transpose %161, dims = [1, 0] : (tensor<128x32xf32>) -> tensor<32x128xf32>
    %163 = stablehlo.dot_general %160, %129#1, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<256x128xf32>, tensor<32x128xf32>) -> tensor<256x32xf32>
    %164 = stablehlo.add %129#3, %163 : tensor<256x32xf32>
    %165:4 = stablehlo.optimization_barrier %arg0, %arg1, %arg8, %164 : tensor<128x32xf32>, tensor<32x128xf32>, tensor<256x32xf32>, tensor<256x32xf32>
    %166 = stablehlo.dot_general %165#2, %165#1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<256x32xf32>, tensor<32x128xf32>) -> tensor<256x128xf32>
    %167 = stablehlo.tanh %166 : tensor<256x128xf32>
    %cst_27 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %168 = stablehlo.broadcast_in_dim %cst_27, dims = [] : (tensor<f32>) -> tensor<256x128xf32>
    %169 = stablehlo.subtract %168, %167 : tensor<256x128xf32>
    %170 = stablehlo.negate %167 : tensor<256x128xf32>
    %171 = stablehlo.exponential %170 : tensor<256x128xf32>
    %cst_28 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %172 = stablehlo.broadcast_in_dim %cst_28, dims = [] : (tensor<f32>) -> tensor<256x128xf32>
    %173 = stablehlo.add %172, %171 : tensor<256x128xf32>
    %cst_29 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %174 = stablehlo.broadcast_in_dim %cst_29, dims = [] : (tensor<f32>) -> tensor<256x128xf32>
    %175 = stablehlo.divide %174, %173 : tensor<256x128xf32>
    %cst_30 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %176 = stablehlo.broadcast_in_dim %cst_30, dims = [] : (tensor<f32>) -> tensor<256x128xf32>
    %177 = stablehlo.subtract %176, %175 : tensor<256x128xf32>
    %178 = stablehlo.multiply %175, %177 : tensor<256x128xf32>
    %179 = stablehlo.multiply %167, %175 : tensor<256x128xf32>
    %180 = stablehlo.dot_general %179, %165#0, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<256x128xf32>, tensor<128x32xf32>) -> tensor<256x32xf32>
    %181 = stablehlo.tanh %180 : tensor<256x32xf32>
    %cst_31 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %182 = stablehlo.broadcast_in_dim %cst_31, dims = [] : (tensor<f32>) -> tensor<256x32xf32>
    %183 = stablehlo.subtract %182, %181 : tensor<256x32xf32>
    %184 = stablehlo.multiply %165#3, %183 : tensor<256x32xf32>
    %185 = stablehlo.multiply %184, %181 : tensor<256x32xf32>
    %186 = stablehlo.add %184, %185 : tensor<256x32xf32>
    %187 = stablehlo.dot_general %186, %179, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<256x32xf32>, tensor<256x128xf32>) -> tensor<32x128xf32>
    %188 = stablehlo.transpose %187, dims = [1, 0] : (tensor<32x128xf32>) -> tensor<128x32xf32>
    %189 = stablehlo.dot_general %186, %165#0, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<256x32xf32>, tensor<128x32xf32>) -> tensor<256x128xf32>
    %190 = stablehlo.multiply %167, %189 : tensor<256x128xf32>
    %191 = stablehlo.multiply %189, %175 : tensor<256x128xf32>
    %192 = stablehlo.multiply %190, %178 : tensor<256x128xf32>
    %193 = stablehlo.add %191, %192 : tensor<256x128xf32>
    %194 = stablehlo.multiply %193, %169 : tensor<256x128xf32>
    %195 = stablehlo.multiply %194, %167 : tensor<256x128xf32>
    %196 = stablehlo.add %194, %195 : tensor<256x128xf32>
    %197 = stablehlo.dot_general %196, %165#2, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<256x128xf32>, tensor<256x32xf32>) -> tensor<128x32xf32>
    %198 = stablehlo.transpose %197, dims = [1, 0] : (tensor<128x32xf32>) -> tensor<32x128xf32>
    %cst_32 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %199 = stablehlo.broadcast_in_dim %cst_32, dims = [] : (tensor<f32>) -> tensor<128x32xf32>
    %200 = stablehlo.multiply %199, %188 : tensor<128x32xf32>
    %201 = stablehlo.subtract %arg0, %200 : tensor<128x32xf32>
    %cst_33 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %202 = stablehlo.broadcast_in_dim %cst_33, dims = [] : (tensor<f32>) -> tensor<32x128xf32>
    %203 = stablehlo.multiply %202, %198 : tensor<32x128xf32>
    %204 = stablehlo.subtract %arg1, %203 : tensor<32x128xf32>
    %cst_34 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %205 = stablehlo.broadcast_in_dim %cst_34, dims = [] : (tensor<f32>) -> tensor<128x32xf32>
    %206 = stablehlo.multiply %205, %152 : tensor<128x32xf32>
    %207 = stablehlo.subtract %arg2, %206 : tensor<128x32xf32>
    %cst_35 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %208 = stablehlo.broadcast_in_dim %cst_35, dims = [] : (tensor<f32>) -> tensor<32x128xf32>
    %209 = stablehlo.multiply %208, %162 : tensor<32x128xf32>
    %210 = stablehlo.subtract %arg3, %209 : tensor<32x128xf32>
    %cst_36 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %211 = stablehlo.broadcast_in_dim %cst_36, dims = [] : (tensor<f32>) -> tensor<128x32xf32>
    %212 = stablehlo.multiply %211, %116 : tensor<128x32xf32>
    %213 = stablehlo.subtract %arg4, %212 : tensor<128x32xf32>
    %cst_37 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %214 = stablehlo.broadcast_in_dim %cst_37, dims = [] : (tensor<f32>) -> tensor<32x128xf32>
    %215 = stablehlo.multiply %214, %126 : tensor<32x128xf32>
    %216 = stablehlo.subtract %arg5, %215 : tensor<32x128xf32>
    %cst_38 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %217 = stablehlo.broadcast_in_dim %cst_38, dims = [] : (tensor<f32>) -> tensor<128x32xf32>
    %218 = stablehlo.multiply %217, %80 : tensor<128x32xf32>
    %219 = stablehlo.subtract %arg6, %218 : tensor<128x32xf32>
    %cst_39 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %220 = stablehlo.broadcast_in_dim %cst_39, dims = [] : (tensor<f32>) -> tensor<32x128xf32>
    %221 = stablehlo.multiply %220, %90 : tensor<32x128xf32>
    %222 = stablehlo.subtract %arg7, %221 : tensor<32x128xf32>
    return %201, %204, %207, %210, %213, %216, %219, %222, %53 : tensor<128x32xf32>, tensor<32x128xf32>, tensor<128x32xf32>, tensor<32x128xf32>, tensor<128x32xf32>, tensor<32x128xf32>, tensor<128x32xf32>, tensor<32x128xf32>, tensor<f32>
  }
}

