module @jit_run attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1x8xf32>, %arg1: tensor<8x8x6xf32>, %arg2: tensor<8x8x6xf32>, %arg3: tensor<8xf32>, %arg4: tensor<4x32xf32>, %arg5: tensor<4x32xf32>) -> (tensor<1x8xf32> {jax.result_info = "result[0][0]"}, tensor<8x8x6xf32> {jax.result_info = "result[0][1]"}, tensor<8x8x6xf32> {jax.result_info = "result[0][2]"}, tensor<8xf32> {jax.result_info = "result[0][3]"}, tensor<f32> {jax.result_info = "result[1]"}) {
    %0 = stablehlo.broadcast_in_dim %arg4, dims = [0, 1] : (tensor<4x32xf32>) -> tensor<4x32x1xf32>
    %1 = stablehlo.dot_general %0, %arg0, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x32x1xf32>, tensor<1x8xf32>) -> tensor<4x32x8xf32>
    %2 = stablehlo.transpose %1, dims = [0, 2, 1] : (tensor<4x32x8xf32>) -> tensor<4x8x32xf32>
    %3 = call @fft(%2) : (tensor<4x8x32xf32>) -> tensor<4x8x17xcomplex<f32>>
    %4 = stablehlo.transpose %3, dims = [0, 2, 1] : (tensor<4x8x17xcomplex<f32>>) -> tensor<4x17x8xcomplex<f32>>
    %5 = stablehlo.slice %4 [0:4, 0:6, 0:8] : (tensor<4x17x8xcomplex<f32>>) -> tensor<4x6x8xcomplex<f32>>
    %6 = stablehlo.complex %arg1, %arg2 : tensor<8x8x6xcomplex<f32>>
    %7 = stablehlo.dot_general %6, %5, batching_dims = [2] x [1], contracting_dims = [0] x [2], precision = [DEFAULT, DEFAULT] : (tensor<8x8x6xcomplex<f32>>, tensor<4x6x8xcomplex<f32>>) -> tensor<6x8x4xcomplex<f32>>
    %8 = stablehlo.transpose %7, dims = [2, 0, 1] : (tensor<6x8x4xcomplex<f32>>) -> tensor<4x6x8xcomplex<f32>>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %9 = call @_pad(%8, %c) : (tensor<4x6x8xcomplex<f32>>, tensor<i32>) -> tensor<4x17x8xcomplex<f32>>
    %10 = stablehlo.transpose %9, dims = [0, 2, 1] : (tensor<4x17x8xcomplex<f32>>) -> tensor<4x8x17xcomplex<f32>>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %11 = call @_pad_0(%10, %c_0) : (tensor<4x8x17xcomplex<f32>>, tensor<i32>) -> tensor<4x8x17xcomplex<f32>>
    %12 = call @fft_1(%11) : (tensor<4x8x17xcomplex<f32>>) -> tensor<4x8x32xf32>
    %13 = stablehlo.transpose %12, dims = [0, 2, 1] : (tensor<4x8x32xf32>) -> tensor<4x32x8xf32>
    %14 = stablehlo.tanh %13 : tensor<4x32x8xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %15 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x32x8xf32>
    %16 = stablehlo.subtract %15, %14 : tensor<4x32x8xf32>
    %17 = stablehlo.dot_general %14, %arg3, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x32x8xf32>, tensor<8xf32>) -> tensor<4x32xf32>
    %18 = stablehlo.subtract %17, %arg5 : tensor<4x32xf32>
    %19 = stablehlo.multiply %18, %18 : tensor<4x32xf32>
    %cst_1 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %20 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<4x32xf32>
    %21 = stablehlo.multiply %20, %18 : tensor<4x32xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %22 = stablehlo.reduce(%19 init: %cst_2) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x32xf32>, tensor<f32>) -> tensor<f32>
    %cst_3 = stablehlo.constant dense<1.280000e+02> : tensor<f32>
    %23 = stablehlo.divide %22, %cst_3 : tensor<f32>
    %cst_4 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %cst_5 = stablehlo.constant dense<1.280000e+02> : tensor<f32>
    %24 = stablehlo.divide %cst_4, %cst_5 : tensor<f32>
    %25 = stablehlo.broadcast_in_dim %24, dims = [] : (tensor<f32>) -> tensor<4x32xf32>
    %26 = stablehlo.multiply %25, %21 : tensor<4x32xf32>
    %27 = stablehlo.dot_general %26, %14, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<4x32xf32>, tensor<4x32x8xf32>) -> tensor<8xf32>
    %28 = stablehlo.dot_general %26, %arg3, contracting_dims = [] x [], precision = [DEFAULT, DEFAULT] : (tensor<4x32xf32>, tensor<8xf32>) -> tensor<4x32x8xf32>
    %29 = stablehlo.multiply %28, %16 : tensor<4x32x8xf32>
    %30 = stablehlo.multiply %29, %14 : tensor<4x32x8xf32>
    %31 = stablehlo.add %29, %30 : tensor<4x32x8xf32>
    %32 = stablehlo.transpose %31, dims = [0, 2, 1] : (tensor<4x32x8xf32>) -> tensor<4x8x32xf32>
    %33 = call @fft_2(%32) : (tensor<4x8x32xf32>) -> tensor<4x8x17xcomplex<f32>>
    %34 = call @_pad_4(%33) : (tensor<4x8x17xcomplex<f32>>) -> tensor<4x8x17xcomplex<f32>>
    %35 = stablehlo.transpose %34, dims = [0, 2, 1] : (tensor<4x8x17xcomplex<f32>>) -> tensor<4x17x8xcomplex<f32>>
    %36 = call @_pad_5(%35) : (tensor<4x17x8xcomplex<f32>>) -> tensor<4x6x8xcomplex<f32>>
    %37 = stablehlo.transpose %36, dims = [1, 2, 0] : (tensor<4x6x8xcomplex<f32>>) -> tensor<6x8x4xcomplex<f32>>
    %38 = stablehlo.dot_general %37, %6, batching_dims = [0] x [2], contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<6x8x4xcomplex<f32>>, tensor<8x8x6xcomplex<f32>>) -> tensor<6x4x8xcomplex<f32>>
    %39 = stablehlo.transpose %38, dims = [1, 0, 2] : (tensor<6x4x8xcomplex<f32>>) -> tensor<4x6x8xcomplex<f32>>
    %40 = stablehlo.dot_general %37, %5, batching_dims = [0] x [1], contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<6x8x4xcomplex<f32>>, tensor<4x6x8xcomplex<f32>>) -> tensor<6x8x8xcomplex<f32>>
    %41 = stablehlo.transpose %40, dims = [2, 1, 0] : (tensor<6x8x8xcomplex<f32>>) -> tensor<8x8x6xcomplex<f32>>
    %42 = stablehlo.real %41 : (tensor<8x8x6xcomplex<f32>>) -> tensor<8x8x6xf32>
    %43 = stablehlo.negate %41 : tensor<8x8x6xcomplex<f32>>
    %44 = stablehlo.imag %43 : (tensor<8x8x6xcomplex<f32>>) -> tensor<8x8x6xf32>
    %cst_6 = stablehlo.constant dense<(0.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %45 = stablehlo.pad %39, %cst_6, low = [0, 0, 0], high = [0, 11, 0], interior = [0, 0, 0] : (tensor<4x6x8xcomplex<f32>>, tensor<complex<f32>>) -> tensor<4x17x8xcomplex<f32>>
    %46 = stablehlo.transpose %45, dims = [0, 2, 1] : (tensor<4x17x8xcomplex<f32>>) -> tensor<4x8x17xcomplex<f32>>
    %47 = call @fft_6(%46) : (tensor<4x8x17xcomplex<f32>>) -> tensor<4x8x32xf32>
    %48 = stablehlo.transpose %47, dims = [0, 2, 1] : (tensor<4x8x32xf32>) -> tensor<4x32x8xf32>
    %49 = stablehlo.dot_general %48, %0, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<4x32x8xf32>, tensor<4x32x1xf32>) -> tensor<8x1xf32>
    %50 = stablehlo.transpose %49, dims = [1, 0] : (tensor<8x1xf32>) -> tensor<1x8xf32>
    %cst_7 = stablehlo.constant dense<5.000000e-02> : tensor<f32>
    %51 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<1x8xf32>
    %52 = stablehlo.multiply %51, %50 : tensor<1x8xf32>
    %53 = stablehlo.subtract %arg0, %52 : tensor<1x8xf32>
    %cst_8 = stablehlo.constant dense<5.000000e-02> : tensor<f32>
    %54 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<8x8x6xf32>
    %55 = stablehlo.multiply %54, %42 : tensor<8x8x6xf32>
    %56 = stablehlo.subtract %arg1, %55 : tensor<8x8x6xf32>
    %cst_9 = stablehlo.constant dense<5.000000e-02> : tensor<f32>
    %57 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<8x8x6xf32>
    %58 = stablehlo.multiply %57, %44 : tensor<8x8x6xf32>
    %59 = stablehlo.subtract %arg2, %58 : tensor<8x8x6xf32>
    %cst_10 = stablehlo.constant dense<5.000000e-02> : tensor<f32>
    %60 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %61 = stablehlo.multiply %60, %27 : tensor<8xf32>
    %62 = stablehlo.subtract %arg3, %61 : tensor<8xf32>
    return %53, %56, %59, %62, %23 : tensor<1x8xf32>, tensor<8x8x6xf32>, tensor<8x8x6xf32>, tensor<8xf32>, tensor<f32>
  }
  func.func private @fft(%arg0: tensor<4x8x32xf32>) -> tensor<4x8x17xcomplex<f32>> {
    %0 = stablehlo.fft %arg0, type = RFFT, length = [32] : (tensor<4x8x32xf32>) -> tensor<4x8x17xcomplex<f32>>
    return %0 : tensor<4x8x17xcomplex<f32>>
  }
  func.func private @_pad(%arg0: tensor<4x6x8xcomplex<f32>>, %arg1: tensor<i32>) -> tensor<4x17x8xcomplex<f32>> {
    %0 = stablehlo.convert %arg1 : (tensor<i32>) -> tensor<complex<f32>>
    %1 = stablehlo.pad %arg0, %0, low = [0, 0, 0], high = [0, 11, 0], interior = [0, 0, 0] : (tensor<4x6x8xcomplex<f32>>, tensor<complex<f32>>) -> tensor<4x17x8xcomplex<f32>>
    return %1 : tensor<4x17x8xcomplex<f32>>
  }
  func.func private @_pad_0(%arg0: tensor<4x8x17xcomplex<f32>>, %arg1: tensor<i32>) -> tensor<4x8x17xcomplex<f32>> {
    %0 = stablehlo.convert %arg1 : (tensor<i32>) -> tensor<complex<f32>>
    %1 = stablehlo.pad %arg0, %0, low = [0, 0, 0], high = [0, 0, 0], interior = [0, 0, 0] : (tensor<4x8x17xcomplex<f32>>, tensor<complex<f32>>) -> tensor<4x8x17xcomplex<f32>>
    return %1 : tensor<4x8x17xcomplex<f32>>
  }
  func.func private @fft_1(%arg0: tensor<4x8x17xcomplex<f32>>) -> tensor<4x8x32xf32> {
    %0 = stablehlo.fft %arg0, type = IRFFT, length = [32] : (tensor<4x8x17xcomplex<f32>>) -> tensor<4x8x32xf32>
    return %0 : tensor<4x8x32xf32>
  }
  func.func private @fft_2(%arg0: tensor<4x8x32xf32>) -> tensor<4x8x17xcomplex<f32>> {
    %0 = call @fft_3(%arg0) : (tensor<4x8x32xf32>) -> tensor<4x8x17xcomplex<f32>>
    %cst = stablehlo.constant dense<(2.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f32>>) -> tensor<17xcomplex<f32>>
    %cst_0 = stablehlo.constant dense<(1.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<complex<f32>>) -> tensor<1xcomplex<f32>>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %3 = stablehlo.dynamic_update_slice %1, %2, %c : (tensor<17xcomplex<f32>>, tensor<1xcomplex<f32>>, tensor<i32>) -> tensor<17xcomplex<f32>>
    %cst_1 = stablehlo.constant dense<(1.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %4 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<complex<f32>>) -> tensor<1xcomplex<f32>>
    %c_2 = stablehlo.constant dense<16> : tensor<i32>
    %5 = stablehlo.dynamic_update_slice %3, %4, %c_2 : (tensor<17xcomplex<f32>>, tensor<1xcomplex<f32>>, tensor<i32>) -> tensor<17xcomplex<f32>>
    %6 = stablehlo.broadcast_in_dim %5, dims = [2] : (tensor<17xcomplex<f32>>) -> tensor<1x1x17xcomplex<f32>>
    %cst_3 = stablehlo.constant dense<(3.125000e-02,0.000000e+00)> : tensor<complex<f32>>
    %7 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<complex<f32>>) -> tensor<1x1x17xcomplex<f32>>
    %8 = stablehlo.multiply %7, %6 : tensor<1x1x17xcomplex<f32>>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1, 2] : (tensor<1x1x17xcomplex<f32>>) -> tensor<4x8x17xcomplex<f32>>
    %10 = stablehlo.multiply %9, %0 : tensor<4x8x17xcomplex<f32>>
    %11 = stablehlo.real %10 : (tensor<4x8x17xcomplex<f32>>) -> tensor<4x8x17xf32>
    %12 = stablehlo.imag %10 : (tensor<4x8x17xcomplex<f32>>) -> tensor<4x8x17xf32>
    %13 = stablehlo.negate %12 : tensor<4x8x17xf32>
    %14 = stablehlo.complex %11, %13 : tensor<4x8x17xcomplex<f32>>
    return %14 : tensor<4x8x17xcomplex<f32>>
  }
  func.func private @fft_3(%arg0: tensor<4x8x32xf32>) -> tensor<4x8x17xcomplex<f32>> {
    %0 = stablehlo.fft %arg0, type = RFFT, length = [32] : (tensor<4x8x32xf32>) -> tensor<4x8x17xcomplex<f32>>
    return %0 : tensor<4x8x17xcomplex<f32>>
  }
  func.func private @_pad_4(%arg0: tensor<4x8x17xcomplex<f32>>) -> tensor<4x8x17xcomplex<f32>> {
    %cst = stablehlo.constant dense<(0.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %0 = stablehlo.pad %arg0, %cst, low = [0, 0, 0], high = [0, 0, 0], interior = [0, 0, 0] : (tensor<4x8x17xcomplex<f32>>, tensor<complex<f32>>) -> tensor<4x8x17xcomplex<f32>>
    %1 = stablehlo.slice %0 [0:4, 0:8, 0:17] : (tensor<4x8x17xcomplex<f32>>) -> tensor<4x8x17xcomplex<f32>>
    return %1 : tensor<4x8x17xcomplex<f32>>
  }
  func.func private @_pad_5(%arg0: tensor<4x17x8xcomplex<f32>>) -> tensor<4x6x8xcomplex<f32>> {
    %cst = stablehlo.constant dense<(0.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %0 = stablehlo.pad %arg0, %cst, low = [0, 0, 0], high = [0, -11, 0], interior = [0, 0, 0] : (tensor<4x17x8xcomplex<f32>>, tensor<complex<f32>>) -> tensor<4x6x8xcomplex<f32>>
    %1 = stablehlo.slice %0 [0:4, 0:6, 0:8] : (tensor<4x6x8xcomplex<f32>>) -> tensor<4x6x8xcomplex<f32>>
    return %1 : tensor<4x6x8xcomplex<f32>>
  }
  func.func private @fft_6(%arg0: tensor<4x8x17xcomplex<f32>>) -> tensor<4x8x32xf32> {
    %0 = call @_rfft_transpose(%arg0) : (tensor<4x8x17xcomplex<f32>>) -> tensor<4x8x32xf32>
    return %0 : tensor<4x8x32xf32>
  }
  func.func private @_rfft_transpose(%arg0: tensor<4x8x17xcomplex<f32>>) -> tensor<4x8x32xf32> {
    %cst = stablehlo.constant dense<(2.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f32>>) -> tensor<17xcomplex<f32>>
    %cst_0 = stablehlo.constant dense<(1.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %1 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<complex<f32>>) -> tensor<1xcomplex<f32>>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %2 = stablehlo.dynamic_update_slice %0, %1, %c : (tensor<17xcomplex<f32>>, tensor<1xcomplex<f32>>, tensor<i32>) -> tensor<17xcomplex<f32>>
    %cst_1 = stablehlo.constant dense<(1.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %3 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<complex<f32>>) -> tensor<1xcomplex<f32>>
    %c_2 = stablehlo.constant dense<16> : tensor<i32>
    %4 = stablehlo.dynamic_update_slice %2, %3, %c_2 : (tensor<17xcomplex<f32>>, tensor<1xcomplex<f32>>, tensor<i32>) -> tensor<17xcomplex<f32>>
    %5 = stablehlo.broadcast_in_dim %4, dims = [2] : (tensor<17xcomplex<f32>>) -> tensor<1x1x17xcomplex<f32>>
    %6 = stablehlo.real %arg0 : (tensor<4x8x17xcomplex<f32>>) -> tensor<4x8x17xf32>
    %7 = stablehlo.imag %arg0 : (tensor<4x8x17xcomplex<f32>>) -> tensor<4x8x17xf32>
    %8 = stablehlo.negate %7 : tensor<4x8x17xf32>
    %9 = stablehlo.complex %6, %8 : tensor<4x8x17xcomplex<f32>>
    %10 = stablehlo.broadcast_in_dim %5, dims = [0, 1, 2] : (tensor<1x1x17xcomplex<f32>>) -> tensor<4x8x17xcomplex<f32>>
    %11 = stablehlo.divide %9, %10 : tensor<4x8x17xcomplex<f32>>
    %12 = call @fft_7(%11) : (tensor<4x8x17xcomplex<f32>>) -> tensor<4x8x32xf32>
    %cst_3 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %13 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<4x8x32xf32>
    %14 = stablehlo.multiply %13, %12 : tensor<4x8x32xf32>
    return %14 : tensor<4x8x32xf32>
  }
  func.func private @fft_7(%arg0: tensor<4x8x17xcomplex<f32>>) -> tensor<4x8x32xf32> {
    %0 = stablehlo.fft %arg0, type = IRFFT, length = [32] : (tensor<4x8x17xcomplex<f32>>) -> tensor<4x8x32xf32>
    return %0 : tensor<4x8x32xf32>
  }
}
