module @jit_run attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<16x16xf32>, %arg1: tensor<16x16xf32>, %arg2: tensor<16x16xf32>, %arg3: tensor<4x12x16xf32>, %arg4: tensor<4x12x16xf32>) -> (tensor<16x16xf32> {jax.result_info = "result[0][0]"}, tensor<16x16xf32> {jax.result_info = "result[0][1]"}, tensor<16x16xf32> {jax.result_info = "result[0][2]"}, tensor<f32> {jax.result_info = "result[1]"}) {
    %0 = stablehlo.iota dim = 0 : tensor<12xi32>
    %1 = stablehlo.iota dim = 0 : tensor<4xi32>
    %c = stablehlo.constant dense<2> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %3 = stablehlo.multiply %2, %1 : tensor<4xi32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %4 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %5 = stablehlo.add %4, %3 : tensor<4xi32>
    %6 = stablehlo.negate %5 : tensor<4xi32>
    %7 = stablehlo.convert %6 : (tensor<4xi32>) -> tensor<4xf32>
    %cst = stablehlo.constant dense<8.000000e+00> : tensor<f32>
    %8 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %9 = stablehlo.divide %7, %8 : tensor<4xf32>
    %cst_1 = stablehlo.constant dense<1.000000e+04> : tensor<f32>
    %10 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %11 = stablehlo.power %10, %9 : tensor<4xf32>
    %12 = stablehlo.convert %0 : (tensor<12xi32>) -> tensor<12xf32>
    %13 = stablehlo.broadcast_in_dim %12, dims = [0] : (tensor<12xf32>) -> tensor<12x1xf32>
    %14 = stablehlo.broadcast_in_dim %11, dims = [1] : (tensor<4xf32>) -> tensor<1x4xf32>
    %15 = stablehlo.broadcast_in_dim %13, dims = [0, 1] : (tensor<12x1xf32>) -> tensor<12x4xf32>
    %16 = stablehlo.broadcast_in_dim %14, dims = [0, 1] : (tensor<1x4xf32>) -> tensor<12x4xf32>
    %17 = stablehlo.multiply %15, %16 : tensor<12x4xf32>
    %18 = stablehlo.convert %17 : (tensor<12x4xf32>) -> tensor<12x4xcomplex<f32>>
    %cst_2 = stablehlo.constant dense<(0.000000e+00,1.000000e+00)> : tensor<complex<f32>>
    %19 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<complex<f32>>) -> tensor<12x4xcomplex<f32>>
    %20 = stablehlo.multiply %19, %18 : tensor<12x4xcomplex<f32>>
    %21 = stablehlo.exponential %20 : tensor<12x4xcomplex<f32>>
    %22 = stablehlo.broadcast_in_dim %21, dims = [1, 3] : (tensor<12x4xcomplex<f32>>) -> tensor<1x12x1x4xcomplex<f32>>
    %23 = stablehlo.dot_general %arg3, %arg0, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x12x16xf32>, tensor<16x16xf32>) -> tensor<4x12x16xf32>
    %24 = stablehlo.reshape %23 : (tensor<4x12x16xf32>) -> tensor<4x12x2x4x2xf32>
    %25 = stablehlo.slice %24 [0:4, 0:12, 0:2, 0:4, 0:1] : (tensor<4x12x2x4x2xf32>) -> tensor<4x12x2x4x1xf32>
    %26 = stablehlo.reshape %25 : (tensor<4x12x2x4x1xf32>) -> tensor<4x12x2x4xf32>
    %27 = stablehlo.slice %24 [0:4, 0:12, 0:2, 0:4, 1:2] : (tensor<4x12x2x4x2xf32>) -> tensor<4x12x2x4x1xf32>
    %28 = stablehlo.reshape %27 : (tensor<4x12x2x4x1xf32>) -> tensor<4x12x2x4xf32>
    %29 = stablehlo.complex %26, %28 : tensor<4x12x2x4xcomplex<f32>>
    %30 = stablehlo.broadcast_in_dim %22, dims = [0, 1, 2, 3] : (tensor<1x12x1x4xcomplex<f32>>) -> tensor<4x12x2x4xcomplex<f32>>
    %31 = stablehlo.multiply %29, %30 : tensor<4x12x2x4xcomplex<f32>>
    %32 = stablehlo.real %31 : (tensor<4x12x2x4xcomplex<f32>>) -> tensor<4x12x2x4xf32>
    %33 = stablehlo.imag %31 : (tensor<4x12x2x4xcomplex<f32>>) -> tensor<4x12x2x4xf32>
    %34 = stablehlo.broadcast_in_dim %32, dims = [0, 1, 2, 3] : (tensor<4x12x2x4xf32>) -> tensor<4x12x2x4x1xf32>
    %35 = stablehlo.broadcast_in_dim %33, dims = [0, 1, 2, 3] : (tensor<4x12x2x4xf32>) -> tensor<4x12x2x4x1xf32>
    %36 = stablehlo.concatenate %34, %35, dim = 4 : (tensor<4x12x2x4x1xf32>, tensor<4x12x2x4x1xf32>) -> tensor<4x12x2x4x2xf32>
    %37 = stablehlo.reshape %36 : (tensor<4x12x2x4x2xf32>) -> tensor<4x12x2x8xf32>
    %38 = stablehlo.dot_general %arg3, %arg1, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x12x16xf32>, tensor<16x16xf32>) -> tensor<4x12x16xf32>
    %39 = stablehlo.reshape %38 : (tensor<4x12x16xf32>) -> tensor<4x12x2x4x2xf32>
    %40 = stablehlo.slice %39 [0:4, 0:12, 0:2, 0:4, 0:1] : (tensor<4x12x2x4x2xf32>) -> tensor<4x12x2x4x1xf32>
    %41 = stablehlo.reshape %40 : (tensor<4x12x2x4x1xf32>) -> tensor<4x12x2x4xf32>
    %42 = stablehlo.slice %39 [0:4, 0:12, 0:2, 0:4, 1:2] : (tensor<4x12x2x4x2xf32>) -> tensor<4x12x2x4x1xf32>
    %43 = stablehlo.reshape %42 : (tensor<4x12x2x4x1xf32>) -> tensor<4x12x2x4xf32>
    %44 = stablehlo.complex %41, %43 : tensor<4x12x2x4xcomplex<f32>>
    %45 = stablehlo.broadcast_in_dim %22, dims = [0, 1, 2, 3] : (tensor<1x12x1x4xcomplex<f32>>) -> tensor<4x12x2x4xcomplex<f32>>
    %46 = stablehlo.multiply %44, %45 : tensor<4x12x2x4xcomplex<f32>>
    %47 = stablehlo.real %46 : (tensor<4x12x2x4xcomplex<f32>>) -> tensor<4x12x2x4xf32>
    %48 = stablehlo.imag %46 : (tensor<4x12x2x4xcomplex<f32>>) -> tensor<4x12x2x4xf32>
    %49 = stablehlo.broadcast_in_dim %47, dims = [0, 1, 2, 3] : (tensor<4x12x2x4xf32>) -> tensor<4x12x2x4x1xf32>
    %50 = stablehlo.broadcast_in_dim %48, dims = [0, 1, 2, 3] : (tensor<4x12x2x4xf32>) -> tensor<4x12x2x4x1xf32>
    %51 = stablehlo.concatenate %49, %50, dim = 4 : (tensor<4x12x2x4x1xf32>, tensor<4x12x2x4x1xf32>) -> tensor<4x12x2x4x2xf32>
    %52 = stablehlo.reshape %51 : (tensor<4x12x2x4x2xf32>) -> tensor<4x12x2x8xf32>
    %53 = stablehlo.dot_general %37, %52, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<4x12x2x8xf32>, tensor<4x12x2x8xf32>) -> tensor<4x2x12x12xf32>
    %cst_3 = stablehlo.constant dense<2.82842708> : tensor<f32>
    %54 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<4x2x12x12xf32>
    %55 = stablehlo.divide %53, %54 : tensor<4x2x12x12xf32>
    %cst_4 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %56 = stablehlo.reduce(%55 init: %cst_4) applies stablehlo.maximum across dimensions = [3] : (tensor<4x2x12x12xf32>, tensor<f32>) -> tensor<4x2x12xf32>
    %cst_5 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %57 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<4x2x12xf32>
    %58 = stablehlo.maximum %57, %56 : tensor<4x2x12xf32>
    %59 = stablehlo.broadcast_in_dim %58, dims = [0, 1, 2] : (tensor<4x2x12xf32>) -> tensor<4x2x12x1xf32>
    %60 = stablehlo.broadcast_in_dim %59, dims = [0, 1, 2, 3] : (tensor<4x2x12x1xf32>) -> tensor<4x2x12x12xf32>
    %61 = stablehlo.subtract %55, %60 : tensor<4x2x12x12xf32>
    %62 = stablehlo.exponential %61 : tensor<4x2x12x12xf32>
    %cst_6 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %63 = stablehlo.reduce(%62 init: %cst_6) applies stablehlo.add across dimensions = [3] : (tensor<4x2x12x12xf32>, tensor<f32>) -> tensor<4x2x12xf32>
    %64 = stablehlo.broadcast_in_dim %63, dims = [0, 1, 2] : (tensor<4x2x12xf32>) -> tensor<4x2x12x1xf32>
    %65 = stablehlo.broadcast_in_dim %64, dims = [0, 1, 2, 3] : (tensor<4x2x12x1xf32>) -> tensor<4x2x12x12xf32>
    %66 = stablehlo.divide %62, %65 : tensor<4x2x12x12xf32>
    %67 = stablehlo.multiply %64, %64 : tensor<4x2x12x1xf32>
    %cst_7 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %68 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<4x2x12x1xf32>
    %69 = stablehlo.divide %68, %67 : tensor<4x2x12x1xf32>
    %70 = stablehlo.dot_general %arg3, %arg2, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x12x16xf32>, tensor<16x16xf32>) -> tensor<4x12x16xf32>
    %71 = stablehlo.reshape %70 : (tensor<4x12x16xf32>) -> tensor<4x12x2x8xf32>
    %72 = stablehlo.dot_general %71, %66, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] : (tensor<4x12x2x8xf32>, tensor<4x2x12x12xf32>) -> tensor<4x2x8x12xf32>
    %73 = stablehlo.transpose %72, dims = [0, 3, 1, 2] : (tensor<4x2x8x12xf32>) -> tensor<4x12x2x8xf32>
    %74 = stablehlo.reshape %73 : (tensor<4x12x2x8xf32>) -> tensor<4x12x16xf32>
    %75 = stablehlo.subtract %74, %arg4 : tensor<4x12x16xf32>
    %76 = stablehlo.multiply %75, %75 : tensor<4x12x16xf32>
    %cst_8 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %77 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<4x12x16xf32>
    %78 = stablehlo.multiply %77, %75 : tensor<4x12x16xf32>
    %cst_9 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %79 = stablehlo.reduce(%76 init: %cst_9) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<4x12x16xf32>, tensor<f32>) -> tensor<f32>
    %cst_10 = stablehlo.constant dense<7.680000e+02> : tensor<f32>
    %80 = stablehlo.divide %79, %cst_10 : tensor<f32>
    %cst_11 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %cst_12 = stablehlo.constant dense<7.680000e+02> : tensor<f32>
    %81 = stablehlo.divide %cst_11, %cst_12 : tensor<f32>
    %82 = stablehlo.broadcast_in_dim %81, dims = [] : (tensor<f32>) -> tensor<4x12x16xf32>
    %83 = stablehlo.multiply %82, %78 : tensor<4x12x16xf32>
    %84 = stablehlo.reshape %83 : (tensor<4x12x16xf32>) -> tensor<4x12x2x8xf32>
    %85 = stablehlo.transpose %84, dims = [0, 2, 3, 1] : (tensor<4x12x2x8xf32>) -> tensor<4x2x8x12xf32>
    %86 = stablehlo.dot_general %85, %71, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [3], precision = [DEFAULT, DEFAULT] : (tensor<4x2x8x12xf32>, tensor<4x12x2x8xf32>) -> tensor<4x2x12x12xf32>
    %87 = stablehlo.dot_general %85, %66, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<4x2x8x12xf32>, tensor<4x2x12x12xf32>) -> tensor<4x2x8x12xf32>
    %88 = stablehlo.transpose %87, dims = [0, 3, 1, 2] : (tensor<4x2x8x12xf32>) -> tensor<4x12x2x8xf32>
    %89 = stablehlo.reshape %88 : (tensor<4x12x2x8xf32>) -> tensor<4x12x16xf32>
    %90 = stablehlo.dot_general %89, %arg3, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<4x12x16xf32>, tensor<4x12x16xf32>) -> tensor<16x16xf32>
    %91 = stablehlo.transpose %90, dims = [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32>
    %92 = stablehlo.broadcast_in_dim %69, dims = [0, 1, 2, 3] : (tensor<4x2x12x1xf32>) -> tensor<4x2x12x12xf32>
    %93 = stablehlo.multiply %86, %92 : tensor<4x2x12x12xf32>
    %94 = stablehlo.multiply %93, %62 : tensor<4x2x12x12xf32>
    %cst_13 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %95 = stablehlo.reduce(%94 init: %cst_13) applies stablehlo.add across dimensions = [3] : (tensor<4x2x12x12xf32>, tensor<f32>) -> tensor<4x2x12xf32>
    %96 = stablehlo.reshape %95 : (tensor<4x2x12xf32>) -> tensor<4x2x12x1xf32>
    %97 = stablehlo.negate %96 : tensor<4x2x12x1xf32>
    %98 = stablehlo.broadcast_in_dim %64, dims = [0, 1, 2, 3] : (tensor<4x2x12x1xf32>) -> tensor<4x2x12x12xf32>
    %99 = stablehlo.divide %86, %98 : tensor<4x2x12x12xf32>
    %cst_14 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %100 = stablehlo.reduce(%97 init: %cst_14) applies stablehlo.add across dimensions = [3] : (tensor<4x2x12x1xf32>, tensor<f32>) -> tensor<4x2x12xf32>
    %101 = stablehlo.broadcast_in_dim %100, dims = [0, 1, 2] : (tensor<4x2x12xf32>) -> tensor<4x2x12x12xf32>
    %102 = stablehlo.add %99, %101 : tensor<4x2x12x12xf32>
    %103 = stablehlo.multiply %102, %62 : tensor<4x2x12x12xf32>
    %cst_15 = stablehlo.constant dense<2.82842708> : tensor<f32>
    %104 = stablehlo.broadcast_in_dim %cst_15, dims = [] : (tensor<f32>) -> tensor<4x2x12x12xf32>
    %105 = stablehlo.divide %103, %104 : tensor<4x2x12x12xf32>
    %106 = stablehlo.dot_general %105, %37, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x2x12x12xf32>, tensor<4x12x2x8xf32>) -> tensor<4x2x12x8xf32>
    %107 = stablehlo.transpose %106, dims = [0, 2, 1, 3] : (tensor<4x2x12x8xf32>) -> tensor<4x12x2x8xf32>
    %108 = stablehlo.dot_general %105, %52, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x2x12x12xf32>, tensor<4x12x2x8xf32>) -> tensor<4x2x12x8xf32>
    %109 = stablehlo.transpose %108, dims = [0, 2, 1, 3] : (tensor<4x2x12x8xf32>) -> tensor<4x12x2x8xf32>
    %110 = stablehlo.reshape %107 : (tensor<4x12x2x8xf32>) -> tensor<4x12x2x4x2xf32>
    %111 = stablehlo.slice %110 [0:4, 0:12, 0:2, 0:4, 0:1] : (tensor<4x12x2x4x2xf32>) -> tensor<4x12x2x4x1xf32>
    %112 = stablehlo.reshape %111 : (tensor<4x12x2x4x1xf32>) -> tensor<4x12x2x4xf32>
    %113 = stablehlo.slice %110 [0:4, 0:12, 0:2, 0:4, 1:2] : (tensor<4x12x2x4x2xf32>) -> tensor<4x12x2x4x1xf32>
    %114 = stablehlo.reshape %113 : (tensor<4x12x2x4x1xf32>) -> tensor<4x12x2x4xf32>
    %115 = stablehlo.negate %114 : tensor<4x12x2x4xf32>
    %cst_16 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %116 = stablehlo.broadcast_in_dim %cst_16, dims = [] : (tensor<f32>) -> tensor<4x12x2x4xf32>
    %117 = stablehlo.complex %116, %115 : tensor<4x12x2x4xcomplex<f32>>
    %cst_17 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %118 = stablehlo.broadcast_in_dim %cst_17, dims = [] : (tensor<f32>) -> tensor<4x12x2x4xf32>
    %119 = stablehlo.complex %112, %118 : tensor<4x12x2x4xcomplex<f32>>
    %120 = stablehlo.add %117, %119 : tensor<4x12x2x4xcomplex<f32>>
    %121 = stablehlo.broadcast_in_dim %22, dims = [0, 1, 2, 3] : (tensor<1x12x1x4xcomplex<f32>>) -> tensor<4x12x2x4xcomplex<f32>>
    %122 = stablehlo.multiply %120, %121 : tensor<4x12x2x4xcomplex<f32>>
    %123 = stablehlo.real %122 : (tensor<4x12x2x4xcomplex<f32>>) -> tensor<4x12x2x4xf32>
    %124 = stablehlo.negate %122 : tensor<4x12x2x4xcomplex<f32>>
    %125 = stablehlo.imag %124 : (tensor<4x12x2x4xcomplex<f32>>) -> tensor<4x12x2x4xf32>
    %126 = stablehlo.broadcast_in_dim %125, dims = [0, 1, 2, 3] : (tensor<4x12x2x4xf32>) -> tensor<4x12x2x4x1xf32>
    %cst_18 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %127 = stablehlo.pad %126, %cst_18, low = [0, 0, 0, 0, 1], high = [0, 0, 0, 0, 0], interior = [0, 0, 0, 0, 0] : (tensor<4x12x2x4x1xf32>, tensor<f32>) -> tensor<4x12x2x4x2xf32>
    %128 = stablehlo.broadcast_in_dim %123, dims = [0, 1, 2, 3] : (tensor<4x12x2x4xf32>) -> tensor<4x12x2x4x1xf32>
    %cst_19 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %129 = stablehlo.pad %128, %cst_19, low = [0, 0, 0, 0, 0], high = [0, 0, 0, 0, 1], interior = [0, 0, 0, 0, 0] : (tensor<4x12x2x4x1xf32>, tensor<f32>) -> tensor<4x12x2x4x2xf32>
    %130 = stablehlo.add %127, %129 : tensor<4x12x2x4x2xf32>
    %131 = stablehlo.reshape %130 : (tensor<4x12x2x4x2xf32>) -> tensor<4x12x16xf32>
    %132 = stablehlo.dot_general %131, %arg3, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<4x12x16xf32>, tensor<4x12x16xf32>) -> tensor<16x16xf32>
    %133 = stablehlo.transpose %132, dims = [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32>
    %134 = stablehlo.reshape %109 : (tensor<4x12x2x8xf32>) -> tensor<4x12x2x4x2xf32>
    %135 = stablehlo.slice %134 [0:4, 0:12, 0:2, 0:4, 0:1] : (tensor<4x12x2x4x2xf32>) -> tensor<4x12x2x4x1xf32>
    %136 = stablehlo.reshape %135 : (tensor<4x12x2x4x1xf32>) -> tensor<4x12x2x4xf32>
    %137 = stablehlo.slice %134 [0:4, 0:12, 0:2, 0:4, 1:2] : (tensor<4x12x2x4x2xf32>) -> tensor<4x12x2x4x1xf32>
    %138 = stablehlo.reshape %137 : (tensor<4x12x2x4x1xf32>) -> tensor<4x12x2x4xf32>
    %139 = stablehlo.negate %138 : tensor<4x12x2x4xf32>
    %cst_20 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %140 = stablehlo.broadcast_in_dim %cst_20, dims = [] : (tensor<f32>) -> tensor<4x12x2x4xf32>
    %141 = stablehlo.complex %140, %139 : tensor<4x12x2x4xcomplex<f32>>
    %cst_21 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %142 = stablehlo.broadcast_in_dim %cst_21, dims = [] : (tensor<f32>) -> tensor<4x12x2x4xf32>
    %143 = stablehlo.complex %136, %142 : tensor<4x12x2x4xcomplex<f32>>
    %144 = stablehlo.add %141, %143 : tensor<4x12x2x4xcomplex<f32>>
    %145 = stablehlo.broadcast_in_dim %22, dims = [0, 1, 2, 3] : (tensor<1x12x1x4xcomplex<f32>>) -> tensor<4x12x2x4xcomplex<f32>>
    %146 = stablehlo.multiply %144, %145 : tensor<4x12x2x4xcomplex<f32>>
    %147 = stablehlo.real %146 : (tensor<4x12x2x4xcomplex<f32>>) -> tensor<4x12x2x4xf32>
    %148 = stablehlo.negate %146 : tensor<4x12x2x4xcomplex<f32>>
    %149 = stablehlo.imag %148 : (tensor<4x12x2x4xcomplex<f32>>) -> tensor<4x12x2x4xf32>
    %150 = stablehlo.broadcast_in_dim %149, dims = [0, 1, 2, 3] : (tensor<4x12x2x4xf32>) -> tensor<4x12x2x4x1xf32>
    %cst_22 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %151 = stablehlo.pad %150, %cst_22, low = [0, 0, 0, 0, 1], high = [0, 0, 0, 0, 0], interior = [0, 0, 0, 0, 0] : (tensor<4x12x2x4x1xf32>, tensor<f32>) -> tensor<4x12x2x4x2xf32>
    %152 = stablehlo.broadcast_in_dim %147, dims = [0, 1, 2, 3] : (tensor<4x12x2x4xf32>) -> tensor<4x12x2x4x1xf32>
    %cst_23 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %153 = stablehlo.pad %152, %cst_23, low = [0, 0, 0, 0, 0], high = [0, 0, 0, 0, 1], interior = [0, 0, 0, 0, 0] : (tensor<4x12x2x4x1xf32>, tensor<f32>) -> tensor<4x12x2x4x2xf32>
    %154 = stablehlo.add %151, %153 : tensor<4x12x2x4x2xf32>
    %155 = stablehlo.reshape %154 : (tensor<4x12x2x4x2xf32>) -> tensor<4x12x16xf32>
    %156 = stablehlo.dot_general %155, %arg3, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<4x12x16xf32>, tensor<4x12x16xf32>) -> tensor<16x16xf32>
    %157 = stablehlo.transpose %156, dims = [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32>
    %cst_24 = stablehlo.constant dense<5.000000e-02> : tensor<f32>
    %158 = stablehlo.broadcast_in_dim %cst_24, dims = [] : (tensor<f32>) -> tensor<16x16xf32>
    %159 = stablehlo.multiply %158, %157 : tensor<16x16xf32>
    %160 = stablehlo.subtract %arg0, %159 : tensor<16x16xf32>
    %cst_25 = stablehlo.constant dense<5.000000e-02> : tensor<f32>
    %161 = stablehlo.broadcast_in_dim %cst_25, dims = [] : (tensor<f32>) -> tensor<16x16xf32>
    %162 = stablehlo.multiply %161, %133 : tensor<16x16xf32>
    %163 = stablehlo.subtract %arg1, %162 : tensor<16x16xf32>
    %cst_26 = stablehlo.constant dense<5.000000e-02> : tensor<f32>
    %164 = stablehlo.broadcast_in_dim %cst_26, dims = [] : (tensor<f32>) -> tensor<16x16xf32>
    %165 = stablehlo.multiply %164, %91 : tensor<16x16xf32>
    %166 = stablehlo.subtract %arg2, %165 : tensor<16x16xf32>
    return %160, %163, %166, %80 : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<f32>
  }
}
