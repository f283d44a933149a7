module @jit_run attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<8x6xf32>, %arg1: tensor<20x8xf32>, %arg2: tensor<20x6xf32>) -> (tensor<8x6xf32> {jax.result_info = "result[0][0]"}, tensor<f32> {jax.result_info = "result[1]"}) {
    %0:11 = call @svd(%arg0) : (tensor<8x6xf32>) -> (tensor<8x6xf32>, tensor<6xf32>, tensor<6x6xf32>, tensor<6x8xf32>, tensor<6x6xf32>, tensor<6x2xi32>, tensor<1x6xf32>, tensor<6x1xf32>, tensor<f32>, tensor<6x6xf32>, tensor<6x6xf32>)
    %1 = stablehlo.slice %0#0 [0:8, 0:3] : (tensor<8x6xf32>) -> tensor<8x3xf32>
    %2 = stablehlo.slice %0#1 [0:3] : (tensor<6xf32>) -> tensor<3xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [1] : (tensor<3xf32>) -> tensor<1x3xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<1x3xf32>) -> tensor<8x3xf32>
    %5 = stablehlo.multiply %1, %4 : tensor<8x3xf32>
    %6 = stablehlo.dot_general %arg1, %5, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<20x8xf32>, tensor<8x3xf32>) -> tensor<20x3xf32>
    %7 = stablehlo.slice %0#2 [0:3, 0:6] : (tensor<6x6xf32>) -> tensor<3x6xf32>
    %8 = stablehlo.dot_general %6, %7, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<20x3xf32>, tensor<3x6xf32>) -> tensor<20x6xf32>
    %9 = stablehlo.subtract %8, %arg2 : tensor<20x6xf32>
    %10 = stablehlo.multiply %9, %9 : tensor<20x6xf32>
    %cst = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %11 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<20x6xf32>
    %12 = stablehlo.multiply %11, %9 : tensor<20x6xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %13 = stablehlo.reduce(%10 init: %cst_0) applies stablehlo.add across dimensions = [0, 1] : (tensor<20x6xf32>, tensor<f32>) -> tensor<f32>
    %cst_1 = stablehlo.constant dense<1.200000e+02> : tensor<f32>
    %14 = stablehlo.divide %13, %cst_1 : tensor<f32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %15 = stablehlo.reduce(%0#1 init: %cst_2) applies stablehlo.add across dimensions = [0] : (tensor<6xf32>, tensor<f32>) -> tensor<f32>
    %cst_3 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %16 = stablehlo.multiply %cst_3, %15 : tensor<f32>
    %17 = stablehlo.add %14, %16 : tensor<f32>
    %18:7 = call @norm(%arg0) : (tensor<8x6xf32>) -> (tensor<f32>, tensor<6x8xf32>, tensor<6x6xf32>, tensor<6x2xi32>, tensor<6xf32>, tensor<f32>, tensor<f32>)
    %cst_4 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %19 = stablehlo.multiply %cst_4, %18#0 : tensor<f32>
    %20 = stablehlo.add %17, %19 : tensor<f32>
    %cst_5 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %cst_6 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %21 = stablehlo.multiply %cst_5, %cst_6 : tensor<f32>
    %22 = call @norm_1(%18#1, %18#2, %18#3, %18#4, %18#5, %18#6, %21) : (tensor<6x8xf32>, tensor<6x6xf32>, tensor<6x2xi32>, tensor<6xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<8x6xf32>
    %cst_7 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %cst_8 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %23 = stablehlo.multiply %cst_7, %cst_8 : tensor<f32>
    %24 = stablehlo.broadcast_in_dim %23, dims = [] : (tensor<f32>) -> tensor<6xf32>
    %cst_9 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %cst_10 = stablehlo.constant dense<1.200000e+02> : tensor<f32>
    %25 = stablehlo.divide %cst_9, %cst_10 : tensor<f32>
    %26 = stablehlo.broadcast_in_dim %25, dims = [] : (tensor<f32>) -> tensor<20x6xf32>
    %27 = stablehlo.multiply %26, %12 : tensor<20x6xf32>
    %28 = stablehlo.dot_general %27, %6, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<20x6xf32>, tensor<20x3xf32>) -> tensor<6x3xf32>
    %29 = stablehlo.transpose %28, dims = [1, 0] : (tensor<6x3xf32>) -> tensor<3x6xf32>
    %30 = stablehlo.dot_general %27, %7, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<20x6xf32>, tensor<3x6xf32>) -> tensor<20x3xf32>
    %cst_11 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %31 = stablehlo.pad %29, %cst_11, low = [0, 0], high = [3, 0], interior = [0, 0] : (tensor<3x6xf32>, tensor<f32>) -> tensor<6x6xf32>
    %32 = stablehlo.dot_general %30, %arg1, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<20x3xf32>, tensor<20x8xf32>) -> tensor<3x8xf32>
    %33 = stablehlo.transpose %32, dims = [1, 0] : (tensor<3x8xf32>) -> tensor<8x3xf32>
    %34 = stablehlo.multiply %1, %33 : tensor<8x3xf32>
    %cst_12 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %35 = stablehlo.reduce(%34 init: %cst_12) applies stablehlo.add across dimensions = [0] : (tensor<8x3xf32>, tensor<f32>) -> tensor<3xf32>
    %36 = stablehlo.reshape %35 : (tensor<3xf32>) -> tensor<1x3xf32>
    %37 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<1x3xf32>) -> tensor<8x3xf32>
    %38 = stablehlo.multiply %33, %37 : tensor<8x3xf32>
    %cst_13 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %39 = stablehlo.reduce(%36 init: %cst_13) applies stablehlo.add across dimensions = [0] : (tensor<1x3xf32>, tensor<f32>) -> tensor<3xf32>
    %cst_14 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %40 = stablehlo.pad %39, %cst_14, low = [0], high = [3], interior = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<6xf32>
    %41 = stablehlo.add %24, %40 : tensor<6xf32>
    %cst_15 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %42 = stablehlo.pad %38, %cst_15, low = [0, 0], high = [0, 3], interior = [0, 0] : (tensor<8x3xf32>, tensor<f32>) -> tensor<8x6xf32>
    %43 = call @svd_3(%0#3, %0#4, %0#5, %0#6, %0#7, %0#8, %0#9, %0#10, %0#0, %42, %41, %31) : (tensor<6x8xf32>, tensor<6x6xf32>, tensor<6x2xi32>, tensor<1x6xf32>, tensor<6x1xf32>, tensor<f32>, tensor<6x6xf32>, tensor<6x6xf32>, tensor<8x6xf32>, tensor<8x6xf32>, tensor<6xf32>, tensor<6x6xf32>) -> tensor<8x6xf32>
    %44 = stablehlo.add %22, %43 : tensor<8x6xf32>
    %cst_16 = stablehlo.constant dense<5.000000e-02> : tensor<f32>
    %45 = stablehlo.broadcast_in_dim %cst_16, dims = [] : (tensor<f32>) -> tensor<8x6xf32>
    %46 = stablehlo.multiply %45, %44 : tensor<8x6xf32>
    %47 = stablehlo.subtract %arg0, %46 : tensor<8x6xf32>
    return %47, %20 : tensor<8x6xf32>, tensor<f32>
  }
  func.func private @svd(%arg0: tensor<8x6xf32>) -> (tensor<8x6xf32>, tensor<6xf32>, tensor<6x6xf32>, tensor<6x8xf32>, tensor<6x6xf32>, tensor<6x2xi32>, tensor<1x6xf32>, tensor<6x1xf32>, tensor<f32>, tensor<6x6xf32>, tensor<6x6xf32>) {
    %0:5 = stablehlo.custom_call @lapack_sgesdd_ffi(%arg0) {backend_config = "", mhlo.backend_config = {mode = 83 : ui8}, mhlo.frontend_attributes = {num_batch_dims = "0"}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<0> : tensor<1xindex>, dense<[0, 1]> : tensor<2xindex>, dense<[0, 1]> : tensor<2xindex>, dense<> : tensor<0xindex>], sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([k, l], [m], [n, o], [p, q], []) {i=8, j=6, k=8, l=6, m=6, n=8, o=6, p=6, q=6}, custom>} : (tensor<8x6xf32>) -> (tensor<8x6xf32>, tensor<6xf32>, tensor<8x6xf32>, tensor<6x6xf32>, tensor<i32>)
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<i32>
    %2 = stablehlo.compare EQ, %0#4, %1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<i1>) -> tensor<1xi1>
    %cst = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<6xf32>
    %5 = stablehlo.broadcast_in_dim %3, dims = [0] : (tensor<1xi1>) -> tensor<6xi1>
    %6 = stablehlo.select %5, %0#1, %4 : tensor<6xi1>, tensor<6xf32>
    %7 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<i1>) -> tensor<1x1xi1>
    %cst_0 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %8 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<8x6xf32>
    %9 = stablehlo.broadcast_in_dim %7, dims = [0, 1] : (tensor<1x1xi1>) -> tensor<8x6xi1>
    %10 = stablehlo.select %9, %0#2, %8 : tensor<8x6xi1>, tensor<8x6xf32>
    %11 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<i1>) -> tensor<1x1xi1>
    %cst_1 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %12 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<6x6xf32>
    %13 = stablehlo.broadcast_in_dim %11, dims = [0, 1] : (tensor<1x1xi1>) -> tensor<6x6xi1>
    %14 = stablehlo.select %13, %0#3, %12 : tensor<6x6xi1>, tensor<6x6xf32>
    %15 = stablehlo.transpose %10, dims = [1, 0] : (tensor<8x6xf32>) -> tensor<6x8xf32>
    %16 = stablehlo.transpose %14, dims = [1, 0] : (tensor<6x6xf32>) -> tensor<6x6xf32>
    %17 = stablehlo.broadcast_in_dim %6, dims = [1] : (tensor<6xf32>) -> tensor<1x6xf32>
    %18 = stablehlo.iota dim = 0 : tensor<6xi32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %19 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %20 = stablehlo.compare LT, %18, %19, SIGNED : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
    %c_3 = stablehlo.constant dense<6> : tensor<i32>
    %21 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %22 = stablehlo.add %18, %21 : tensor<6xi32>
    %23 = stablehlo.select %20, %22, %18 : tensor<6xi1>, tensor<6xi32>
    %c_4 = stablehlo.constant dense<0> : tensor<i32>
    %24 = stablehlo.broadcast_in_dim %c_4, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %25 = stablehlo.compare LT, %18, %24, SIGNED : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
    %c_5 = stablehlo.constant dense<6> : tensor<i32>
    %26 = stablehlo.broadcast_in_dim %c_5, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %27 = stablehlo.add %18, %26 : tensor<6xi32>
    %28 = stablehlo.select %25, %27, %18 : tensor<6xi1>, tensor<6xi32>
    %29 = stablehlo.broadcast_in_dim %23, dims = [0] : (tensor<6xi32>) -> tensor<6x1xi32>
    %30 = stablehlo.broadcast_in_dim %28, dims = [0] : (tensor<6xi32>) -> tensor<6x1xi32>
    %31 = stablehlo.concatenate %29, %30, dim = 1 : (tensor<6x1xi32>, tensor<6x1xi32>) -> tensor<6x2xi32>
    %32 = stablehlo.transpose %17, dims = [1, 0] : (tensor<1x6xf32>) -> tensor<6x1xf32>
    %33 = stablehlo.broadcast_in_dim %17, dims = [0, 1] : (tensor<1x6xf32>) -> tensor<6x6xf32>
    %34 = stablehlo.broadcast_in_dim %32, dims = [0, 1] : (tensor<6x1xf32>) -> tensor<6x6xf32>
    %35 = stablehlo.add %33, %34 : tensor<6x6xf32>
    %36 = stablehlo.transpose %17, dims = [1, 0] : (tensor<1x6xf32>) -> tensor<6x1xf32>
    %37 = stablehlo.broadcast_in_dim %17, dims = [0, 1] : (tensor<1x6xf32>) -> tensor<6x6xf32>
    %38 = stablehlo.broadcast_in_dim %36, dims = [0, 1] : (tensor<6x1xf32>) -> tensor<6x6xf32>
    %39 = stablehlo.subtract %37, %38 : tensor<6x6xf32>
    %40 = stablehlo.multiply %35, %39 : tensor<6x6xf32>
    %41 = stablehlo.iota dim = 0 : tensor<6x6xi32>
    %c_6 = stablehlo.constant dense<0> : tensor<i32>
    %42 = stablehlo.broadcast_in_dim %c_6, dims = [] : (tensor<i32>) -> tensor<6x6xi32>
    %43 = stablehlo.add %41, %42 : tensor<6x6xi32>
    %44 = stablehlo.iota dim = 1 : tensor<6x6xi32>
    %45 = stablehlo.compare EQ, %43, %44, SIGNED : (tensor<6x6xi32>, tensor<6x6xi32>) -> tensor<6x6xi1>
    %46 = stablehlo.convert %45 : (tensor<6x6xi1>) -> tensor<6x6xf32>
    %47 = stablehlo.add %40, %46 : tensor<6x6xf32>
    %cst_7 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %48 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<6x6xf32>
    %49 = stablehlo.divide %48, %47 : tensor<6x6xf32>
    %50 = stablehlo.subtract %49, %46 : tensor<6x6xf32>
    %51 = stablehlo.transpose %17, dims = [1, 0] : (tensor<1x6xf32>) -> tensor<6x1xf32>
    %cst_8 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %52 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<6xf32>
    %53 = stablehlo.compare EQ, %6, %52, FLOAT : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xi1>
    %54 = stablehlo.convert %53 : (tensor<6xi1>) -> tensor<6xf32>
    %55 = stablehlo.add %6, %54 : tensor<6xf32>
    %cst_9 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %56 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<6xf32>
    %57 = stablehlo.divide %56, %55 : tensor<6xf32>
    %58 = stablehlo.subtract %57, %54 : tensor<6xf32>
    %59 = stablehlo.iota dim = 0 : tensor<6xi32>
    %cst_10 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %60 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<6x6xf32>
    %c_11 = stablehlo.constant dense<0> : tensor<i32>
    %61 = stablehlo.broadcast_in_dim %c_11, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %62 = stablehlo.compare LT, %59, %61, SIGNED : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
    %c_12 = stablehlo.constant dense<6> : tensor<i32>
    %63 = stablehlo.broadcast_in_dim %c_12, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %64 = stablehlo.add %59, %63 : tensor<6xi32>
    %65 = stablehlo.select %62, %64, %59 : tensor<6xi1>, tensor<6xi32>
    %c_13 = stablehlo.constant dense<0> : tensor<i32>
    %66 = stablehlo.broadcast_in_dim %c_13, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %67 = stablehlo.compare LT, %59, %66, SIGNED : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
    %c_14 = stablehlo.constant dense<6> : tensor<i32>
    %68 = stablehlo.broadcast_in_dim %c_14, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %69 = stablehlo.add %59, %68 : tensor<6xi32>
    %70 = stablehlo.select %67, %69, %59 : tensor<6xi1>, tensor<6xi32>
    %71 = stablehlo.broadcast_in_dim %65, dims = [0] : (tensor<6xi32>) -> tensor<6x1xi32>
    %72 = stablehlo.broadcast_in_dim %70, dims = [0] : (tensor<6xi32>) -> tensor<6x1xi32>
    %73 = stablehlo.concatenate %71, %72, dim = 1 : (tensor<6x1xi32>, tensor<6x1xi32>) -> tensor<6x2xi32>
    %74 = "stablehlo.scatter"(%60, %73, %58) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      stablehlo.return %arg2 : tensor<f32>
    }) : (tensor<6x6xf32>, tensor<6x2xi32>, tensor<6xf32>) -> tensor<6x6xf32>
    %cst_15 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    return %10, %6, %14, %15, %16, %31, %17, %51, %cst_15, %74, %50 : tensor<8x6xf32>, tensor<6xf32>, tensor<6x6xf32>, tensor<6x8xf32>, tensor<6x6xf32>, tensor<6x2xi32>, tensor<1x6xf32>, tensor<6x1xf32>, tensor<f32>, tensor<6x6xf32>, tensor<6x6xf32>
  }
  func.func private @norm(%arg0: tensor<8x6xf32>) -> (tensor<f32>, tensor<6x8xf32>, tensor<6x6xf32>, tensor<6x2xi32>, tensor<6xf32>, tensor<f32>, tensor<f32>) {
    %0:4 = call @svd_0(%arg0) : (tensor<8x6xf32>) -> (tensor<6xf32>, tensor<6x8xf32>, tensor<6x6xf32>, tensor<6x2xi32>)
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %1 = stablehlo.reduce(%0#0 init: %cst) applies stablehlo.maximum across dimensions = [0] : (tensor<6xf32>, tensor<f32>) -> tensor<f32>
    %2 = stablehlo.reshape %1 : (tensor<f32>) -> tensor<1xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<1xf32>) -> tensor<6xf32>
    %4 = stablehlo.compare EQ, %0#0, %3, FLOAT : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xi1>
    %5 = stablehlo.convert %4 : (tensor<6xi1>) -> tensor<6xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %6 = stablehlo.reduce(%5 init: %cst_0) applies stablehlo.add across dimensions = [0] : (tensor<6xf32>, tensor<f32>) -> tensor<f32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %7 = stablehlo.maximum %cst_1, %1 : tensor<f32>
    %8 = stablehlo.compare EQ, %1, %7, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %cst_3 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %9 = stablehlo.select %8, %cst_3, %cst_2 : tensor<i1>, tensor<f32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %10 = stablehlo.compare EQ, %cst_4, %7, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %cst_5 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %cst_6 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %11 = stablehlo.select %10, %cst_6, %cst_5 : tensor<i1>, tensor<f32>
    %12 = stablehlo.divide %9, %11 : tensor<f32>
    return %7, %0#1, %0#2, %0#3, %5, %6, %12 : tensor<f32>, tensor<6x8xf32>, tensor<6x6xf32>, tensor<6x2xi32>, tensor<6xf32>, tensor<f32>, tensor<f32>
  }
  func.func private @svd_0(%arg0: tensor<8x6xf32>) -> (tensor<6xf32>, tensor<6x8xf32>, tensor<6x6xf32>, tensor<6x2xi32>) {
    %0:5 = stablehlo.custom_call @lapack_sgesdd_ffi(%arg0) {backend_config = "", mhlo.backend_config = {mode = 83 : ui8}, mhlo.frontend_attributes = {num_batch_dims = "0"}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<0> : tensor<1xindex>, dense<[0, 1]> : tensor<2xindex>, dense<[0, 1]> : tensor<2xindex>, dense<> : tensor<0xindex>], sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([k, l], [m], [n, o], [p, q], []) {i=8, j=6, k=8, l=6, m=6, n=8, o=6, p=6, q=6}, custom>} : (tensor<8x6xf32>) -> (tensor<8x6xf32>, tensor<6xf32>, tensor<8x6xf32>, tensor<6x6xf32>, tensor<i32>)
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<i32>
    %2 = stablehlo.compare EQ, %0#4, %1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<i1>) -> tensor<1xi1>
    %cst = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<6xf32>
    %5 = stablehlo.broadcast_in_dim %3, dims = [0] : (tensor<1xi1>) -> tensor<6xi1>
    %6 = stablehlo.select %5, %0#1, %4 : tensor<6xi1>, tensor<6xf32>
    %7 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<i1>) -> tensor<1x1xi1>
    %cst_0 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %8 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<8x6xf32>
    %9 = stablehlo.broadcast_in_dim %7, dims = [0, 1] : (tensor<1x1xi1>) -> tensor<8x6xi1>
    %10 = stablehlo.select %9, %0#2, %8 : tensor<8x6xi1>, tensor<8x6xf32>
    %11 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<i1>) -> tensor<1x1xi1>
    %cst_1 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %12 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<6x6xf32>
    %13 = stablehlo.broadcast_in_dim %11, dims = [0, 1] : (tensor<1x1xi1>) -> tensor<6x6xi1>
    %14 = stablehlo.select %13, %0#3, %12 : tensor<6x6xi1>, tensor<6x6xf32>
    %15 = stablehlo.transpose %10, dims = [1, 0] : (tensor<8x6xf32>) -> tensor<6x8xf32>
    %16 = stablehlo.transpose %14, dims = [1, 0] : (tensor<6x6xf32>) -> tensor<6x6xf32>
    %17 = stablehlo.iota dim = 0 : tensor<6xi32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %18 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %19 = stablehlo.compare LT, %17, %18, SIGNED : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
    %c_3 = stablehlo.constant dense<6> : tensor<i32>
    %20 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %21 = stablehlo.add %17, %20 : tensor<6xi32>
    %22 = stablehlo.select %19, %21, %17 : tensor<6xi1>, tensor<6xi32>
    %c_4 = stablehlo.constant dense<0> : tensor<i32>
    %23 = stablehlo.broadcast_in_dim %c_4, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %24 = stablehlo.compare LT, %17, %23, SIGNED : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
    %c_5 = stablehlo.constant dense<6> : tensor<i32>
    %25 = stablehlo.broadcast_in_dim %c_5, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %26 = stablehlo.add %17, %25 : tensor<6xi32>
    %27 = stablehlo.select %24, %26, %17 : tensor<6xi1>, tensor<6xi32>
    %28 = stablehlo.broadcast_in_dim %22, dims = [0] : (tensor<6xi32>) -> tensor<6x1xi32>
    %29 = stablehlo.broadcast_in_dim %27, dims = [0] : (tensor<6xi32>) -> tensor<6x1xi32>
    %30 = stablehlo.concatenate %28, %29, dim = 1 : (tensor<6x1xi32>, tensor<6x1xi32>) -> tensor<6x2xi32>
    return %6, %15, %16, %30 : tensor<6xf32>, tensor<6x8xf32>, tensor<6x6xf32>, tensor<6x2xi32>
  }
  func.func private @norm_1(%arg0: tensor<6x8xf32>, %arg1: tensor<6x6xf32>, %arg2: tensor<6x2xi32>, %arg3: tensor<6xf32>, %arg4: tensor<f32>, %arg5: tensor<f32>, %arg6: tensor<f32>) -> tensor<8x6xf32> {
    %0 = stablehlo.multiply %arg6, %arg5 : tensor<f32>
    %1 = stablehlo.divide %0, %arg4 : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<f32>) -> tensor<6xf32>
    %3 = stablehlo.multiply %2, %arg3 : tensor<6xf32>
    %4 = call @svd_2(%arg0, %arg1, %arg2, %3) : (tensor<6x8xf32>, tensor<6x6xf32>, tensor<6x2xi32>, tensor<6xf32>) -> tensor<8x6xf32>
    return %4 : tensor<8x6xf32>
  }
  func.func private @svd_2(%arg0: tensor<6x8xf32>, %arg1: tensor<6x6xf32>, %arg2: tensor<6x2xi32>, %arg3: tensor<6xf32>) -> tensor<8x6xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<6x6xf32>
    %1 = "stablehlo.scatter"(%0, %arg2, %arg3) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%arg4: tensor<f32>, %arg5: tensor<f32>):
      %5 = stablehlo.add %arg4, %arg5 : tensor<f32>
      stablehlo.return %5 : tensor<f32>
    }) : (tensor<6x6xf32>, tensor<6x2xi32>, tensor<6xf32>) -> tensor<6x6xf32>
    %2 = stablehlo.dot_general %1, %arg1, contracting_dims = [1] x [1], precision = [HIGHEST, HIGHEST] : (tensor<6x6xf32>, tensor<6x6xf32>) -> tensor<6x6xf32>
    %3 = stablehlo.dot_general %2, %arg0, contracting_dims = [0] x [0], precision = [HIGHEST, HIGHEST] : (tensor<6x6xf32>, tensor<6x8xf32>) -> tensor<6x8xf32>
    %4 = stablehlo.transpose %3, dims = [1, 0] : (tensor<6x8xf32>) -> tensor<8x6xf32>
    return %4 : tensor<8x6xf32>
  }
  func.func private @svd_3(%arg0: tensor<6x8xf32>, %arg1: tensor<6x6xf32>, %arg2: tensor<6x2xi32>, %arg3: tensor<1x6xf32>, %arg4: tensor<6x1xf32>, %arg5: tensor<f32>, %arg6: tensor<6x6xf32>, %arg7: tensor<6x6xf32>, %arg8: tensor<8x6xf32>, %arg9: tensor<8x6xf32>, %arg10: tensor<6xf32>, %arg11: tensor<6x6xf32>) -> tensor<8x6xf32> {
    %0 = stablehlo.transpose %arg11, dims = [1, 0] : (tensor<6x6xf32>) -> tensor<6x6xf32>
    %1 = stablehlo.broadcast_in_dim %arg3, dims = [0, 1] : (tensor<1x6xf32>) -> tensor<8x6xf32>
    %2 = stablehlo.divide %arg9, %1 : tensor<8x6xf32>
    %3 = stablehlo.negate %2 : tensor<8x6xf32>
    %4 = stablehlo.dot_general %3, %arg8, contracting_dims = [0] x [0], precision = [HIGHEST, HIGHEST] : (tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<6x6xf32>
    %5 = stablehlo.transpose %4, dims = [1, 0] : (tensor<6x6xf32>) -> tensor<6x6xf32>
    %6 = stablehlo.dot_general %5, %arg0, contracting_dims = [0] x [0], precision = [HIGHEST, HIGHEST] : (tensor<6x6xf32>, tensor<6x8xf32>) -> tensor<6x8xf32>
    %7 = stablehlo.transpose %6, dims = [1, 0] : (tensor<6x8xf32>) -> tensor<8x6xf32>
    %8 = stablehlo.add %2, %7 : tensor<8x6xf32>
    %9 = stablehlo.dot_general %8, %arg1, contracting_dims = [1] x [1], precision = [HIGHEST, HIGHEST] : (tensor<8x6xf32>, tensor<6x6xf32>) -> tensor<8x6xf32>
    %10 = stablehlo.dot_general %0, %arg1, contracting_dims = [0] x [0], precision = [HIGHEST, HIGHEST] : (tensor<6x6xf32>, tensor<6x6xf32>) -> tensor<6x6xf32>
    %11 = stablehlo.transpose %10, dims = [1, 0] : (tensor<6x6xf32>) -> tensor<6x6xf32>
    %12 = stablehlo.multiply %arg7, %11 : tensor<6x6xf32>
    %13 = stablehlo.transpose %12, dims = [1, 0] : (tensor<6x6xf32>) -> tensor<6x6xf32>
    %14 = stablehlo.add %12, %13 : tensor<6x6xf32>
    %15 = stablehlo.dot_general %arg9, %arg8, contracting_dims = [0] x [0], precision = [HIGHEST, HIGHEST] : (tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<6x6xf32>
    %16 = stablehlo.transpose %15, dims = [1, 0] : (tensor<6x6xf32>) -> tensor<6x6xf32>
    %17 = stablehlo.multiply %arg7, %16 : tensor<6x6xf32>
    %18 = stablehlo.transpose %17, dims = [1, 0] : (tensor<6x6xf32>) -> tensor<6x6xf32>
    %19 = stablehlo.add %17, %18 : tensor<6x6xf32>
    %20 = stablehlo.multiply %16, %arg6 : tensor<6x6xf32>
    %21 = stablehlo.broadcast_in_dim %arg5, dims = [] : (tensor<f32>) -> tensor<6x6xf32>
    %22 = stablehlo.multiply %21, %20 : tensor<6x6xf32>
    %23 = stablehlo.negate %22 : tensor<6x6xf32>
    %24 = stablehlo.transpose %23, dims = [1, 0] : (tensor<6x6xf32>) -> tensor<6x6xf32>
    %25 = stablehlo.add %22, %24 : tensor<6x6xf32>
    %26 = stablehlo.broadcast_in_dim %arg4, dims = [0, 1] : (tensor<6x1xf32>) -> tensor<6x6xf32>
    %27 = stablehlo.multiply %26, %14 : tensor<6x6xf32>
    %28 = stablehlo.add %25, %27 : tensor<6x6xf32>
    %29 = stablehlo.broadcast_in_dim %arg3, dims = [0, 1] : (tensor<1x6xf32>) -> tensor<6x6xf32>
    %30 = stablehlo.multiply %29, %19 : tensor<6x6xf32>
    %31 = stablehlo.add %28, %30 : tensor<6x6xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %32 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<6x6xf32>
    %33 = "stablehlo.scatter"(%32, %arg2, %arg10) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%arg12: tensor<f32>, %arg13: tensor<f32>):
      %39 = stablehlo.add %arg12, %arg13 : tensor<f32>
      stablehlo.return %39 : tensor<f32>
    }) : (tensor<6x6xf32>, tensor<6x2xi32>, tensor<6xf32>) -> tensor<6x6xf32>
    %34 = stablehlo.add %31, %33 : tensor<6x6xf32>
    %35 = stablehlo.dot_general %34, %arg1, contracting_dims = [1] x [1], precision = [HIGHEST, HIGHEST] : (tensor<6x6xf32>, tensor<6x6xf32>) -> tensor<6x6xf32>
    %36 = stablehlo.dot_general %35, %arg0, contracting_dims = [0] x [0], precision = [HIGHEST, HIGHEST] : (tensor<6x6xf32>, tensor<6x8xf32>) -> tensor<6x8xf32>
    %37 = stablehlo.transpose %36, dims = [1, 0] : (tensor<6x8xf32>) -> tensor<8x6xf32>
    %38 = stablehlo.add %9, %37 : tensor<8x6xf32>
    return %38 : tensor<8x6xf32>
  }
}
