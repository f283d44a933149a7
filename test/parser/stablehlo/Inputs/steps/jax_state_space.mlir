module @jit_run attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<5xf32>, %arg1: tensor<5xf32>, %arg2: tensor<5xf32>, %arg3: tensor<4x20xf32>, %arg4: tensor<4x20xf32>) -> (tensor<5xf32> {jax.result_info = "result[0][0]"}, tensor<5xf32> {jax.result_info = "result[0][1]"}, tensor<5xf32> {jax.result_info = "result[0][2]"}, tensor<f32> {jax.result_info = "result[1]"}) {
    %0 = stablehlo.exponential %arg0 : tensor<5xf32>
    %1 = stablehlo.negate %0 : tensor<5xf32>
    %2 = stablehlo.convert %arg1 : (tensor<5xf32>) -> tensor<5xcomplex<f32>>
    %cst = stablehlo.constant dense<(0.000000e+00,3.000000e+00)> : tensor<complex<f32>>
    %3 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f32>>) -> tensor<5xcomplex<f32>>
    %4 = stablehlo.multiply %3, %2 : tensor<5xcomplex<f32>>
    %5 = stablehlo.convert %1 : (tensor<5xf32>) -> tensor<5xcomplex<f32>>
    %6 = stablehlo.add %5, %4 : tensor<5xcomplex<f32>>
    %7 = stablehlo.convert %arg2 : (tensor<5xf32>) -> tensor<5xcomplex<f32>>
    %8 = stablehlo.divide %7, %6 : tensor<5xcomplex<f32>>
    %9 = stablehlo.multiply %6, %6 : tensor<5xcomplex<f32>>
    %cst_0 = stablehlo.constant dense<(1.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %10 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<complex<f32>>) -> tensor<5xcomplex<f32>>
    %11 = stablehlo.divide %10, %9 : tensor<5xcomplex<f32>>
    %12 = stablehlo.broadcast_in_dim %8, dims = [0] : (tensor<5xcomplex<f32>>) -> tensor<5x1xcomplex<f32>>
    %13 = stablehlo.broadcast_in_dim %6, dims = [0] : (tensor<5xcomplex<f32>>) -> tensor<5x1xcomplex<f32>>
    %14 = stablehlo.iota dim = 0 : tensor<20xi32>
    %15 = stablehlo.convert %14 : (tensor<20xi32>) -> tensor<20xcomplex<f32>>
    %16 = stablehlo.broadcast_in_dim %15, dims = [1] : (tensor<20xcomplex<f32>>) -> tensor<1x20xcomplex<f32>>
    %17 = stablehlo.broadcast_in_dim %13, dims = [0, 1] : (tensor<5x1xcomplex<f32>>) -> tensor<5x20xcomplex<f32>>
    %18 = stablehlo.broadcast_in_dim %16, dims = [0, 1] : (tensor<1x20xcomplex<f32>>) -> tensor<5x20xcomplex<f32>>
    %19 = stablehlo.multiply %17, %18 : tensor<5x20xcomplex<f32>>
    %20 = stablehlo.exponential %19 : tensor<5x20xcomplex<f32>>
    %21 = stablehlo.broadcast_in_dim %12, dims = [0, 1] : (tensor<5x1xcomplex<f32>>) -> tensor<5x20xcomplex<f32>>
    %22 = stablehlo.multiply %21, %20 : tensor<5x20xcomplex<f32>>
    %23 = stablehlo.real %22 : (tensor<5x20xcomplex<f32>>) -> tensor<5x20xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %24 = stablehlo.reduce(%23 init: %cst_1) applies stablehlo.add across dimensions = [0] : (tensor<5x20xf32>, tensor<f32>) -> tensor<20xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %25 = call @_pad(%24, %c) : (tensor<20xf32>, tensor<i32>) -> tensor<40xf32>
    %26 = call @fft(%25) : (tensor<40xf32>) -> tensor<21xcomplex<f32>>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %27 = call @_pad_0(%arg3, %c_2) : (tensor<4x20xf32>, tensor<i32>) -> tensor<4x40xf32>
    %28 = call @fft_1(%27) : (tensor<4x40xf32>) -> tensor<4x21xcomplex<f32>>
    %29 = stablehlo.broadcast_in_dim %26, dims = [1] : (tensor<21xcomplex<f32>>) -> tensor<1x21xcomplex<f32>>
    %30 = stablehlo.broadcast_in_dim %29, dims = [0, 1] : (tensor<1x21xcomplex<f32>>) -> tensor<4x21xcomplex<f32>>
    %31 = stablehlo.multiply %30, %28 : tensor<4x21xcomplex<f32>>
    %c_3 = stablehlo.constant dense<0> : tensor<i32>
    %32 = call @_pad_2(%31, %c_3) : (tensor<4x21xcomplex<f32>>, tensor<i32>) -> tensor<4x21xcomplex<f32>>
    %33 = call @fft_3(%32) : (tensor<4x21xcomplex<f32>>) -> tensor<4x40xf32>
    %34 = stablehlo.slice %33 [0:4, 0:20] : (tensor<4x40xf32>) -> tensor<4x20xf32>
    %35 = stablehlo.subtract %34, %arg4 : tensor<4x20xf32>
    %36 = stablehlo.multiply %35, %35 : tensor<4x20xf32>
    %cst_4 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %37 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<4x20xf32>
    %38 = stablehlo.multiply %37, %35 : tensor<4x20xf32>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %39 = stablehlo.reduce(%36 init: %cst_5) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x20xf32>, tensor<f32>) -> tensor<f32>
    %cst_6 = stablehlo.constant dense<8.000000e+01> : tensor<f32>
    %40 = stablehlo.divide %39, %cst_6 : tensor<f32>
    %cst_7 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %cst_8 = stablehlo.constant dense<8.000000e+01> : tensor<f32>
    %41 = stablehlo.divide %cst_7, %cst_8 : tensor<f32>
    %42 = stablehlo.broadcast_in_dim %41, dims = [] : (tensor<f32>) -> tensor<4x20xf32>
    %43 = stablehlo.multiply %42, %38 : tensor<4x20xf32>
    %cst_9 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %44 = stablehlo.pad %43, %cst_9, low = [0, 0], high = [0, 20], interior = [0, 0] : (tensor<4x20xf32>, tensor<f32>) -> tensor<4x40xf32>
    %45 = call @fft_4(%44) : (tensor<4x40xf32>) -> tensor<4x21xcomplex<f32>>
    %46 = call @_pad_6(%45) : (tensor<4x21xcomplex<f32>>) -> tensor<4x21xcomplex<f32>>
    %47 = stablehlo.multiply %46, %28 : tensor<4x21xcomplex<f32>>
    %cst_10 = stablehlo.constant dense<(0.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %48 = stablehlo.reduce(%47 init: %cst_10) applies stablehlo.add across dimensions = [0] : (tensor<4x21xcomplex<f32>>, tensor<complex<f32>>) -> tensor<21xcomplex<f32>>
    %49 = stablehlo.reshape %48 : (tensor<21xcomplex<f32>>) -> tensor<1x21xcomplex<f32>>
    %cst_11 = stablehlo.constant dense<(0.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %50 = stablehlo.reduce(%49 init: %cst_11) applies stablehlo.add across dimensions = [0] : (tensor<1x21xcomplex<f32>>, tensor<complex<f32>>) -> tensor<21xcomplex<f32>>
    %51 = call @fft_7(%50) : (tensor<21xcomplex<f32>>) -> tensor<40xf32>
    %52 = call @_pad_9(%51) : (tensor<40xf32>) -> tensor<20xf32>
    %53 = stablehlo.broadcast_in_dim %52, dims = [1] : (tensor<20xf32>) -> tensor<5x20xf32>
    %cst_12 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %54 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f32>) -> tensor<5x20xf32>
    %55 = stablehlo.complex %53, %54 : tensor<5x20xcomplex<f32>>
    %56 = stablehlo.broadcast_in_dim %12, dims = [0, 1] : (tensor<5x1xcomplex<f32>>) -> tensor<5x20xcomplex<f32>>
    %57 = stablehlo.multiply %56, %55 : tensor<5x20xcomplex<f32>>
    %58 = stablehlo.multiply %55, %20 : tensor<5x20xcomplex<f32>>
    %cst_13 = stablehlo.constant dense<(0.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %59 = stablehlo.reduce(%58 init: %cst_13) applies stablehlo.add across dimensions = [1] : (tensor<5x20xcomplex<f32>>, tensor<complex<f32>>) -> tensor<5xcomplex<f32>>
    %60 = stablehlo.reshape %59 : (tensor<5xcomplex<f32>>) -> tensor<5x1xcomplex<f32>>
    %61 = stablehlo.multiply %57, %20 : tensor<5x20xcomplex<f32>>
    %62 = stablehlo.broadcast_in_dim %16, dims = [0, 1] : (tensor<1x20xcomplex<f32>>) -> tensor<5x20xcomplex<f32>>
    %63 = stablehlo.multiply %61, %62 : tensor<5x20xcomplex<f32>>
    %cst_14 = stablehlo.constant dense<(0.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %64 = stablehlo.reduce(%63 init: %cst_14) applies stablehlo.add across dimensions = [1] : (tensor<5x20xcomplex<f32>>, tensor<complex<f32>>) -> tensor<5xcomplex<f32>>
    %65 = stablehlo.reshape %64 : (tensor<5xcomplex<f32>>) -> tensor<5x1xcomplex<f32>>
    %cst_15 = stablehlo.constant dense<(0.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %66 = stablehlo.reduce(%65 init: %cst_15) applies stablehlo.add across dimensions = [1] : (tensor<5x1xcomplex<f32>>, tensor<complex<f32>>) -> tensor<5xcomplex<f32>>
    %cst_16 = stablehlo.constant dense<(0.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %67 = stablehlo.reduce(%60 init: %cst_16) applies stablehlo.add across dimensions = [1] : (tensor<5x1xcomplex<f32>>, tensor<complex<f32>>) -> tensor<5xcomplex<f32>>
    %68 = stablehlo.multiply %67, %11 : tensor<5xcomplex<f32>>
    %69 = stablehlo.multiply %68, %7 : tensor<5xcomplex<f32>>
    %70 = stablehlo.negate %69 : tensor<5xcomplex<f32>>
    %71 = stablehlo.add %66, %70 : tensor<5xcomplex<f32>>
    %72 = stablehlo.divide %67, %6 : tensor<5xcomplex<f32>>
    %73 = stablehlo.real %72 : (tensor<5xcomplex<f32>>) -> tensor<5xf32>
    %74 = stablehlo.convert %73 : tensor<5xf32>
    %75 = stablehlo.real %71 : (tensor<5xcomplex<f32>>) -> tensor<5xf32>
    %76 = stablehlo.convert %75 : tensor<5xf32>
    %cst_17 = stablehlo.constant dense<(0.000000e+00,3.000000e+00)> : tensor<complex<f32>>
    %77 = stablehlo.broadcast_in_dim %cst_17, dims = [] : (tensor<complex<f32>>) -> tensor<5xcomplex<f32>>
    %78 = stablehlo.multiply %77, %71 : tensor<5xcomplex<f32>>
    %79 = stablehlo.real %78 : (tensor<5xcomplex<f32>>) -> tensor<5xf32>
    %80 = stablehlo.convert %79 : tensor<5xf32>
    %81 = stablehlo.negate %76 : tensor<5xf32>
    %82 = stablehlo.multiply %81, %0 : tensor<5xf32>
    %cst_18 = stablehlo.constant dense<5.000000e-02> : tensor<f32>
    %83 = stablehlo.broadcast_in_dim %cst_18, dims = [] : (tensor<f32>) -> tensor<5xf32>
    %84 = stablehlo.multiply %83, %82 : tensor<5xf32>
    %85 = stablehlo.subtract %arg0, %84 : tensor<5xf32>
    %cst_19 = stablehlo.constant dense<5.000000e-02> : tensor<f32>
    %86 = stablehlo.broadcast_in_dim %cst_19, dims = [] : (tensor<f32>) -> tensor<5xf32>
    %87 = stablehlo.multiply %86, %80 : tensor<5xf32>
    %88 = stablehlo.subtract %arg1, %87 : tensor<5xf32>
    %cst_20 = stablehlo.constant dense<5.000000e-02> : tensor<f32>
    %89 = stablehlo.broadcast_in_dim %cst_20, dims = [] : (tensor<f32>) -> tensor<5xf32>
    %90 = stablehlo.multiply %89, %74 : tensor<5xf32>
    %91 = stablehlo.subtract %arg2, %90 : tensor<5xf32>
    return %85, %88, %91, %40 : tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<f32>
  }
  func.func private @_pad(%arg0: tensor<20xf32>, %arg1: tensor<i32>) -> tensor<40xf32> {
    %0 = stablehlo.convert %arg1 : (tensor<i32>) -> tensor<f32>
    %1 = stablehlo.pad %arg0, %0, low = [0], high = [20], interior = [0] : (tensor<20xf32>, tensor<f32>) -> tensor<40xf32>
    return %1 : tensor<40xf32>
  }
  func.func private @fft(%arg0: tensor<40xf32>) -> tensor<21xcomplex<f32>> {
    %0 = stablehlo.fft %arg0, type = RFFT, length = [40] : (tensor<40xf32>) -> tensor<21xcomplex<f32>>
    return %0 : tensor<21xcomplex<f32>>
  }
  func.func private @_pad_0(%arg0: tensor<4x20xf32>, %arg1: tensor<i32>) -> tensor<4x40xf32> {
    %0 = stablehlo.convert %arg1 : (tensor<i32>) -> tensor<f32>
    %1 = stablehlo.pad %arg0, %0, low = [0, 0], high = [0, 20], interior = [0, 0] : (tensor<4x20xf32>, tensor<f32>) -> tensor<4x40xf32>
    return %1 : tensor<4x40xf32>
  }
  func.func private @fft_1(%arg0: tensor<4x40xf32>) -> tensor<4x21xcomplex<f32>> {
    %0 = stablehlo.fft %arg0, type = RFFT, length = [40] : (tensor<4x40xf32>) -> tensor<4x21xcomplex<f32>>
    return %0 : tensor<4x21xcomplex<f32>>
  }
  func.func private @_pad_2(%arg0: tensor<4x21xcomplex<f32>>, %arg1: tensor<i32>) -> tensor<4x21xcomplex<f32>> {
    %0 = stablehlo.convert %arg1 : (tensor<i32>) -> tensor<complex<f32>>
    %1 = stablehlo.pad %arg0, %0, low = [0, 0], high = [0, 0], interior = [0, 0] : (tensor<4x21xcomplex<f32>>, tensor<complex<f32>>) -> tensor<4x21xcomplex<f32>>
    return %1 : tensor<4x21xcomplex<f32>>
  }
  func.func private @fft_3(%arg0: tensor<4x21xcomplex<f32>>) -> tensor<4x40xf32> {
    %0 = stablehlo.fft %arg0, type = IRFFT, length = [40] : (tensor<4x21xcomplex<f32>>) -> tensor<4x40xf32>
    return %0 : tensor<4x40xf32>
  }
  func.func private @fft_4(%arg0: tensor<4x40xf32>) -> tensor<4x21xcomplex<f32>> {
    %0 = call @fft_5(%arg0) : (tensor<4x40xf32>) -> tensor<4x21xcomplex<f32>>
    %cst = stablehlo.constant dense<(2.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f32>>) -> tensor<21xcomplex<f32>>
    %cst_0 = stablehlo.constant dense<(1.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<complex<f32>>) -> tensor<1xcomplex<f32>>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %3 = stablehlo.dynamic_update_slice %1, %2, %c : (tensor<21xcomplex<f32>>, tensor<1xcomplex<f32>>, tensor<i32>) -> tensor<21xcomplex<f32>>
    %cst_1 = stablehlo.constant dense<(1.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %4 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<complex<f32>>) -> tensor<1xcomplex<f32>>
    %c_2 = stablehlo.constant dense<20> : tensor<i32>
    %5 = stablehlo.dynamic_update_slice %3, %4, %c_2 : (tensor<21xcomplex<f32>>, tensor<1xcomplex<f32>>, tensor<i32>) -> tensor<21xcomplex<f32>>
    %6 = stablehlo.broadcast_in_dim %5, dims = [1] : (tensor<21xcomplex<f32>>) -> tensor<1x21xcomplex<f32>>
    %cst_3 = stablehlo.constant dense<(2.500000e-02,0.000000e+00)> : tensor<complex<f32>>
    %7 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<complex<f32>>) -> tensor<1x21xcomplex<f32>>
    %8 = stablehlo.multiply %7, %6 : tensor<1x21xcomplex<f32>>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1] : (tensor<1x21xcomplex<f32>>) -> tensor<4x21xcomplex<f32>>
    %10 = stablehlo.multiply %9, %0 : tensor<4x21xcomplex<f32>>
    %11 = stablehlo.real %10 : (tensor<4x21xcomplex<f32>>) -> tensor<4x21xf32>
    %12 = stablehlo.imag %10 : (tensor<4x21xcomplex<f32>>) -> tensor<4x21xf32>
    %13 = stablehlo.negate %12 : tensor<4x21xf32>
    %14 = stablehlo.complex %11, %13 : tensor<4x21xcomplex<f32>>
    return %14 : tensor<4x21xcomplex<f32>>
  }
  func.func private @fft_5(%arg0: tensor<4x40xf32>) -> tensor<4x21xcomplex<f32>> {
    %0 = stablehlo.fft %arg0, type = RFFT, length = [40] : (tensor<4x40xf32>) -> tensor<4x21xcomplex<f32>>
    return %0 : tensor<4x21xcomplex<f32>>
  }
  func.func private @_pad_6(%arg0: tensor<4x21xcomplex<f32>>) -> tensor<4x21xcomplex<f32>> {
    %cst = stablehlo.constant dense<(0.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %0 = stablehlo.pad %arg0, %cst, low = [0, 0], high = [0, 0], interior = [0, 0] : (tensor<4x21xcomplex<f32>>, tensor<complex<f32>>) -> tensor<4x21xcomplex<f32>>
    %1 = stablehlo.slice %0 [0:4, 0:21] : (tensor<4x21xcomplex<f32>>) -> tensor<4x21xcomplex<f32>>
    return %1 : tensor<4x21xcomplex<f32>>
  }
  func.func private @fft_7(%arg0: tensor<21xcomplex<f32>>) -> tensor<40xf32> {
    %0 = call @_rfft_transpose(%arg0) : (tensor<21xcomplex<f32>>) -> tensor<40xf32>
    return %0 : tensor<40xf32>
  }
  func.func private @_rfft_transpose(%arg0: tensor<21xcomplex<f32>>) -> tensor<40xf32> {
    %cst = stablehlo.constant dense<(2.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f32>>) -> tensor<21xcomplex<f32>>
    %cst_0 = stablehlo.constant dense<(1.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %1 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<complex<f32>>) -> tensor<1xcomplex<f32>>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %2 = stablehlo.dynamic_update_slice %0, %1, %c : (tensor<21xcomplex<f32>>, tensor<1xcomplex<f32>>, tensor<i32>) -> tensor<21xcomplex<f32>>
    %cst_1 = stablehlo.constant dense<(1.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %3 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<complex<f32>>) -> tensor<1xcomplex<f32>>
    %c_2 = stablehlo.constant dense<20> : tensor<i32>
    %4 = stablehlo.dynamic_update_slice %2, %3, %c_2 : (tensor<21xcomplex<f32>>, tensor<1xcomplex<f32>>, tensor<i32>) -> tensor<21xcomplex<f32>>
    %5 = stablehlo.real %arg0 : (tensor<21xcomplex<f32>>) -> tensor<21xf32>
    %6 = stablehlo.imag %arg0 : (tensor<21xcomplex<f32>>) -> tensor<21xf32>
    %7 = stablehlo.negate %6 : tensor<21xf32>
    %8 = stablehlo.complex %5, %7 : tensor<21xcomplex<f32>>
    %9 = stablehlo.divide %8, %4 : tensor<21xcomplex<f32>>
    %10 = call @fft_8(%9) : (tensor<21xcomplex<f32>>) -> tensor<40xf32>
    %cst_3 = stablehlo.constant dense<4.000000e+01> : tensor<f32>
    %11 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<40xf32>
    %12 = stablehlo.multiply %11, %10 : tensor<40xf32>
    return %12 : tensor<40xf32>
  }
  func.func private @fft_8(%arg0: tensor<21xcomplex<f32>>) -> tensor<40xf32> {
    %0 = stablehlo.fft %arg0, type = IRFFT, length = [40] : (tensor<21xcomplex<f32>>) -> tensor<40xf32>
    return %0 : tensor<40xf32>
  }
  func.func private @_pad_9(%arg0: tensor<40xf32>) -> tensor<20xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.pad %arg0, %cst, low = [0], high = [-20], interior = [0] : (tensor<40xf32>, tensor<f32>) -> tensor<20xf32>
    %1 = stablehlo.slice %0 [0:20] : (tensor<20xf32>) -> tensor<20xf32>
    return %1 : tensor<20xf32>
  }
}
