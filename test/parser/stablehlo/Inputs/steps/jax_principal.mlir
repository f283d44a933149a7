module @jit_run attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<8x6xf32>, %arg1: tensor<20x8xf32>, %arg2: tensor<20x6xf32>) -> (tensor<8x6xf32> {jax.result_info = "result[0][0]"}, tensor<f32> {jax.result_info = "result[1]"}) {
    %0 = stablehlo.dot_general %arg1, %arg0, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<20x8xf32>, tensor<8x6xf32>) -> tensor<20x6xf32>
    %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<20x6xf32>) -> tensor<6x20xf32>
    %2 = stablehlo.dot_general %1, %0, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<6x20xf32>, tensor<20x6xf32>) -> tensor<6x6xf32>
    %cst = stablehlo.constant dense<2.000000e+01> : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<6x6xf32>
    %4 = stablehlo.divide %2, %3 : tensor<6x6xf32>
    %5:5 = call @eigh(%4) : (tensor<6x6xf32>) -> (tensor<6xf32>, tensor<6x6xf32>, tensor<6x6xf32>, tensor<6x6xf32>, tensor<6x2xi32>)
    %6 = stablehlo.slice %5#1 [0:6, 4:6] : (tensor<6x6xf32>) -> tensor<6x2xf32>
    %7 = stablehlo.dot_general %0, %6, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<20x6xf32>, tensor<6x2xf32>) -> tensor<20x2xf32>
    %8 = stablehlo.slice %5#1 [0:6, 4:6] : (tensor<6x6xf32>) -> tensor<6x2xf32>
    %9 = stablehlo.transpose %8, dims = [1, 0] : (tensor<6x2xf32>) -> tensor<2x6xf32>
    %10 = stablehlo.dot_general %7, %9, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<20x2xf32>, tensor<2x6xf32>) -> tensor<20x6xf32>
    %11 = stablehlo.subtract %10, %arg2 : tensor<20x6xf32>
    %12 = stablehlo.multiply %11, %11 : tensor<20x6xf32>
    %cst_0 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %13 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<20x6xf32>
    %14 = stablehlo.multiply %13, %11 : tensor<20x6xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %15 = stablehlo.reduce(%12 init: %cst_1) applies stablehlo.add across dimensions = [0, 1] : (tensor<20x6xf32>, tensor<f32>) -> tensor<f32>
    %cst_2 = stablehlo.constant dense<1.200000e+02> : tensor<f32>
    %16 = stablehlo.divide %15, %cst_2 : tensor<f32>
    %17 = stablehlo.slice %5#0 [4:6] : (tensor<6xf32>) -> tensor<2xf32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %18 = stablehlo.reduce(%17 init: %cst_3) applies stablehlo.add across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %19 = stablehlo.reduce(%5#0 init: %cst_4) applies stablehlo.add across dimensions = [0] : (tensor<6xf32>, tensor<f32>) -> tensor<f32>
    %20 = stablehlo.divide %18, %19 : tensor<f32>
    %21 = stablehlo.multiply %19, %19 : tensor<f32>
    %cst_5 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %22 = stablehlo.divide %cst_5, %21 : tensor<f32>
    %23 = stablehlo.subtract %16, %20 : tensor<f32>
    %cst_6 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %24 = stablehlo.negate %cst_6 : tensor<f32>
    %25 = stablehlo.multiply %24, %22 : tensor<f32>
    %26 = stablehlo.multiply %25, %18 : tensor<f32>
    %27 = stablehlo.negate %26 : tensor<f32>
    %28 = stablehlo.divide %24, %19 : tensor<f32>
    %29 = stablehlo.broadcast_in_dim %27, dims = [] : (tensor<f32>) -> tensor<6xf32>
    %30 = stablehlo.broadcast_in_dim %28, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %cst_7 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %31 = stablehlo.pad %30, %cst_7, low = [4], high = [0], interior = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<6xf32>
    %32 = stablehlo.add %29, %31 : tensor<6xf32>
    %cst_8 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %cst_9 = stablehlo.constant dense<1.200000e+02> : tensor<f32>
    %33 = stablehlo.divide %cst_8, %cst_9 : tensor<f32>
    %34 = stablehlo.broadcast_in_dim %33, dims = [] : (tensor<f32>) -> tensor<20x6xf32>
    %35 = stablehlo.multiply %34, %14 : tensor<20x6xf32>
    %36 = stablehlo.dot_general %35, %7, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<20x6xf32>, tensor<20x2xf32>) -> tensor<6x2xf32>
    %37 = stablehlo.transpose %36, dims = [1, 0] : (tensor<6x2xf32>) -> tensor<2x6xf32>
    %38 = stablehlo.dot_general %35, %9, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<20x6xf32>, tensor<2x6xf32>) -> tensor<20x2xf32>
    %39 = stablehlo.transpose %37, dims = [1, 0] : (tensor<2x6xf32>) -> tensor<6x2xf32>
    %cst_10 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %40 = stablehlo.pad %39, %cst_10, low = [0, 4], high = [0, 0], interior = [0, 0] : (tensor<6x2xf32>, tensor<f32>) -> tensor<6x6xf32>
    %41 = stablehlo.dot_general %38, %0, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<20x2xf32>, tensor<20x6xf32>) -> tensor<2x6xf32>
    %42 = stablehlo.transpose %41, dims = [1, 0] : (tensor<2x6xf32>) -> tensor<6x2xf32>
    %43 = stablehlo.dot_general %38, %6, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<20x2xf32>, tensor<6x2xf32>) -> tensor<20x6xf32>
    %cst_11 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %44 = stablehlo.pad %42, %cst_11, low = [0, 4], high = [0, 0], interior = [0, 0] : (tensor<6x2xf32>, tensor<f32>) -> tensor<6x6xf32>
    %45 = stablehlo.add %40, %44 : tensor<6x6xf32>
    %46 = call @eigh_0(%5#2, %5#1, %5#3, %5#4, %32, %45) : (tensor<6x6xf32>, tensor<6x6xf32>, tensor<6x6xf32>, tensor<6x2xi32>, tensor<6xf32>, tensor<6x6xf32>) -> tensor<6x6xf32>
    %cst_12 = stablehlo.constant dense<2.000000e+01> : tensor<f32>
    %47 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f32>) -> tensor<6x6xf32>
    %48 = stablehlo.divide %46, %47 : tensor<6x6xf32>
    %49 = stablehlo.dot_general %48, %1, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<6x6xf32>, tensor<6x20xf32>) -> tensor<6x20xf32>
    %50 = stablehlo.transpose %49, dims = [1, 0] : (tensor<6x20xf32>) -> tensor<20x6xf32>
    %51 = stablehlo.add %43, %50 : tensor<20x6xf32>
    %52 = stablehlo.dot_general %48, %0, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<6x6xf32>, tensor<20x6xf32>) -> tensor<6x20xf32>
    %53 = stablehlo.transpose %52, dims = [1, 0] : (tensor<6x20xf32>) -> tensor<20x6xf32>
    %54 = stablehlo.add %51, %53 : tensor<20x6xf32>
    %55 = stablehlo.dot_general %54, %arg1, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<20x6xf32>, tensor<20x8xf32>) -> tensor<6x8xf32>
    %56 = stablehlo.transpose %55, dims = [1, 0] : (tensor<6x8xf32>) -> tensor<8x6xf32>
    %cst_13 = stablehlo.constant dense<5.000000e-02> : tensor<f32>
    %57 = stablehlo.broadcast_in_dim %cst_13, dims = [] : (tensor<f32>) -> tensor<8x6xf32>
    %58 = stablehlo.multiply %57, %56 : tensor<8x6xf32>
    %59 = stablehlo.subtract %arg0, %58 : tensor<8x6xf32>
    return %59, %23 : tensor<8x6xf32>, tensor<f32>
  }
  func.func private @eigh(%arg0: tensor<6x6xf32>) -> (tensor<6xf32>, tensor<6x6xf32>, tensor<6x6xf32>, tensor<6x6xf32>, tensor<6x2xi32>) {
    %0 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<6x6xf32>) -> tensor<6x6xf32>
    %1 = stablehlo.add %arg0, %0 : tensor<6x6xf32>
    %cst = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<6x6xf32>
    %3 = stablehlo.divide %1, %2 : tensor<6x6xf32>
    %4 = stablehlo.transpose %3, dims = [1, 0] : (tensor<6x6xf32>) -> tensor<6x6xf32>
    %5 = stablehlo.add %3, %4 : tensor<6x6xf32>
    %cst_0 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %6 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<6x6xf32>
    %7 = stablehlo.divide %5, %6 : tensor<6x6xf32>
    %8:3 = stablehlo.custom_call @lapack_ssyevd_ffi(%7) {backend_config = "", mhlo.backend_config = {mode = 86 : ui8, uplo = 76 : ui8}, mhlo.frontend_attributes = {num_batch_dims = "0"}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<0> : tensor<1xindex>, dense<> : tensor<0xindex>], sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([k, l], [m], []) {i=6, j=6, k=6, l=6, m=6}, custom>} : (tensor<6x6xf32>) -> (tensor<6x6xf32>, tensor<6xf32>, tensor<i32>)
    %c = stablehlo.constant dense<0> : tensor<i32>
    %9 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<i32>
    %10 = stablehlo.compare EQ, %8#2, %9, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %11 = stablehlo.broadcast_in_dim %10, dims = [] : (tensor<i1>) -> tensor<1x1xi1>
    %cst_1 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %12 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<6x6xf32>
    %13 = stablehlo.broadcast_in_dim %11, dims = [0, 1] : (tensor<1x1xi1>) -> tensor<6x6xi1>
    %14 = stablehlo.select %13, %8#0, %12 : tensor<6x6xi1>, tensor<6x6xf32>
    %15 = stablehlo.broadcast_in_dim %10, dims = [] : (tensor<i1>) -> tensor<1xi1>
    %cst_2 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %16 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<6xf32>
    %17 = stablehlo.broadcast_in_dim %15, dims = [0] : (tensor<1xi1>) -> tensor<6xi1>
    %18 = stablehlo.select %17, %8#1, %16 : tensor<6xi1>, tensor<6xf32>
    %19 = stablehlo.iota dim = 0 : tensor<6x6xi32>
    %c_3 = stablehlo.constant dense<0> : tensor<i32>
    %20 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<i32>) -> tensor<6x6xi32>
    %21 = stablehlo.add %19, %20 : tensor<6x6xi32>
    %22 = stablehlo.iota dim = 1 : tensor<6x6xi32>
    %23 = stablehlo.compare EQ, %21, %22, SIGNED : (tensor<6x6xi32>, tensor<6x6xi32>) -> tensor<6x6xi1>
    %24 = stablehlo.convert %23 : (tensor<6x6xi1>) -> tensor<6x6xf32>
    %25 = stablehlo.broadcast_in_dim %18, dims = [1] : (tensor<6xf32>) -> tensor<1x6xf32>
    %26 = stablehlo.broadcast_in_dim %25, dims = [0, 1] : (tensor<1x6xf32>) -> tensor<6x6xf32>
    %27 = stablehlo.add %24, %26 : tensor<6x6xf32>
    %28 = stablehlo.broadcast_in_dim %18, dims = [0] : (tensor<6xf32>) -> tensor<6x1xf32>
    %29 = stablehlo.broadcast_in_dim %28, dims = [0, 1] : (tensor<6x1xf32>) -> tensor<6x6xf32>
    %30 = stablehlo.subtract %27, %29 : tensor<6x6xf32>
    %cst_4 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %31 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<6x6xf32>
    %32 = stablehlo.divide %31, %30 : tensor<6x6xf32>
    %33 = stablehlo.subtract %32, %24 : tensor<6x6xf32>
    %34 = stablehlo.transpose %14, dims = [1, 0] : (tensor<6x6xf32>) -> tensor<6x6xf32>
    %35 = stablehlo.iota dim = 0 : tensor<6xi32>
    %c_5 = stablehlo.constant dense<0> : tensor<i32>
    %36 = stablehlo.broadcast_in_dim %c_5, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %37 = stablehlo.compare LT, %35, %36, SIGNED : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
    %c_6 = stablehlo.constant dense<6> : tensor<i32>
    %38 = stablehlo.broadcast_in_dim %c_6, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %39 = stablehlo.add %35, %38 : tensor<6xi32>
    %40 = stablehlo.select %37, %39, %35 : tensor<6xi1>, tensor<6xi32>
    %c_7 = stablehlo.constant dense<0> : tensor<i32>
    %41 = stablehlo.broadcast_in_dim %c_7, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %42 = stablehlo.compare LT, %35, %41, SIGNED : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
    %c_8 = stablehlo.constant dense<6> : tensor<i32>
    %43 = stablehlo.broadcast_in_dim %c_8, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %44 = stablehlo.add %35, %43 : tensor<6xi32>
    %45 = stablehlo.select %42, %44, %35 : tensor<6xi1>, tensor<6xi32>
    %46 = stablehlo.broadcast_in_dim %40, dims = [0] : (tensor<6xi32>) -> tensor<6x1xi32>
    %47 = stablehlo.broadcast_in_dim %45, dims = [0] : (tensor<6xi32>) -> tensor<6x1xi32>
    %48 = stablehlo.concatenate %46, %47, dim = 1 : (tensor<6x1xi32>, tensor<6x1xi32>) -> tensor<6x2xi32>
    return %18, %14, %34, %33, %48 : tensor<6xf32>, tensor<6x6xf32>, tensor<6x6xf32>, tensor<6x6xf32>, tensor<6x2xi32>
  }
  func.func private @eigh_0(%arg0: tensor<6x6xf32>, %arg1: tensor<6x6xf32>, %arg2: tensor<6x6xf32>, %arg3: tensor<6x2xi32>, %arg4: tensor<6xf32>, %arg5: tensor<6x6xf32>) -> tensor<6x6xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<6x6xf32>
    %1 = "stablehlo.scatter"(%0, %arg3, %arg4) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%arg6: tensor<f32>, %arg7: tensor<f32>):
      %13 = stablehlo.add %arg6, %arg7 : tensor<f32>
      stablehlo.return %13 : tensor<f32>
    }) : (tensor<6x6xf32>, tensor<6x2xi32>, tensor<6xf32>) -> tensor<6x6xf32>
    %2 = stablehlo.dot_general %arg5, %arg1, contracting_dims = [0] x [0], precision = [HIGHEST, HIGHEST] : (tensor<6x6xf32>, tensor<6x6xf32>) -> tensor<6x6xf32>
    %3 = stablehlo.transpose %2, dims = [1, 0] : (tensor<6x6xf32>) -> tensor<6x6xf32>
    %4 = stablehlo.multiply %arg2, %3 : tensor<6x6xf32>
    %5 = stablehlo.add %1, %4 : tensor<6x6xf32>
    %6 = stablehlo.dot_general %5, %arg1, contracting_dims = [1] x [1], precision = [HIGHEST, HIGHEST] : (tensor<6x6xf32>, tensor<6x6xf32>) -> tensor<6x6xf32>
    %7 = stablehlo.dot_general %6, %arg0, contracting_dims = [0] x [0], precision = [HIGHEST, HIGHEST] : (tensor<6x6xf32>, tensor<6x6xf32>) -> tensor<6x6xf32>
    %8 = stablehlo.transpose %7, dims = [1, 0] : (tensor<6x6xf32>) -> tensor<6x6xf32>
    %cst_0 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %9 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<6x6xf32>
    %10 = stablehlo.divide %8, %9 : tensor<6x6xf32>
    %11 = stablehlo.transpose %10, dims = [1, 0] : (tensor<6x6xf32>) -> tensor<6x6xf32>
    %12 = stablehlo.add %10, %11 : tensor<6x6xf32>
    return %12 : tensor<6x6xf32>
  }
}
