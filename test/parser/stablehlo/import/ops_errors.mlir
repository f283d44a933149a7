// Attributes, shapes and regions that do not fit their op: one message at the op, which says what was expected.
// RUN: %dopt -verify-diagnostics -split-input-file %s

func.func @dot_dims(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) -> tensor<2x4xf32> {
  // expected-error@+1 {{lhs_contracting_dimensions: 2 is not one of the 2 dims}}
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [2] x [0] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// -----

func.func @dot_sizes(%a: tensor<2x3xf32>, %b: tensor<4x4xf32>) -> tensor<2x4xf32> {
  // expected-error@+1 {{contracting dim 1 of lhs has size 3, but dim 0 of rhs has 4}}
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// -----

func.func @dot_twice(%a: tensor<2x2xf32>, %b: tensor<2x2xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{dim 0 is in both the batching and the contracting dims}}
  %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [0] x [1] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func @dot_result(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) -> tensor<4x2xf32> {
  // expected-error@+1 {{result 1 has the written type tensor<4x2xf32>, but the op produces tensor<2x4xf32>}}
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}

// -----

func.func @conv_features(%a: tensor<1x3x5x5xf32>, %b: tensor<4x2x3x3xf32>) -> tensor<1x4x3x3xf32> {
  // expected-error@+1 {{images have 3 features, but the filters have 2 in each of 1 groups}}
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x3x5x5xf32>, tensor<4x2x3x3xf32>) -> tensor<1x4x3x3xf32>
  return %0 : tensor<1x4x3x3xf32>
}

// -----

func.func @conv_stride(%a: tensor<1x2x5x5xf32>, %b: tensor<4x2x3x3xf32>) -> tensor<1x4x3x3xf32> {
  // expected-error@+1 {{entry 1 of window_strides is 0; it must be at least 1}}
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 0]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x2x5x5xf32>, tensor<4x2x3x3xf32>) -> tensor<1x4x3x3xf32>
  return %0 : tensor<1x4x3x3xf32>
}

// -----

func.func @reduce_dims(%a: tensor<2x3xf32>, %i: tensor<f32>) -> tensor<2xf32> {
  // expected-error@+1 {{dimensions: dim 1 appears twice}}
  %0 = stablehlo.reduce(%a init: %i) applies stablehlo.add across dimensions = [1, 1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func @reduce_region(%a: tensor<2x3xf32>, %i: tensor<f32>) -> tensor<2xf32> {
  // expected-error@+1 {{region 1 has 1 argument, expected 2}}
  %0 = "stablehlo.reduce"(%a, %i) <{dimensions = array<i64: 1>}> ({
  ^bb0(%x: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func @window_size(%a: tensor<4xf32>, %i: tensor<f32>) -> tensor<3xf32> {
  // expected-error@+1 {{window_dimensions must be a list of 1 integer}}
  %0 = "stablehlo.reduce_window"(%a, %i) <{window_dimensions = array<i64: 2, 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %1 = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----

func.func @select_source(%a: tensor<4xf32>, %s: tensor<3xf32>, %i: tensor<f32>) -> tensor<4xf32> {
  // expected-error@+1 {{there are 2 windows along dim 0, but the source has size 3}}
  %0 = "stablehlo.select_and_scatter"(%a, %s, %i) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %1 = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }, {
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %1 = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<4xf32>, tensor<3xf32>, tensor<f32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @gather_slice(%a: tensor<4x5xf32>, %i: tensor<2x1xi32>) -> tensor<2x6xf32> {
  // expected-error@+1 {{a slice has size 6 along dim 1, which has size 5}}
  %0 = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 6>}> : (tensor<4x5xf32>, tensor<2x1xi32>) -> tensor<2x6xf32>
  return %0 : tensor<2x6xf32>
}

// -----

func.func @gather_vector(%a: tensor<4x5xf32>, %i: tensor<2x2xi32>) -> tensor<2x5xf32> {
  // expected-error@+1 {{the size of index vectors is 2, but the number of indexed dims is 1}}
  %0 = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 5>}> : (tensor<4x5xf32>, tensor<2x2xi32>) -> tensor<2x5xf32>
  return %0 : tensor<2x5xf32>
}

// -----

func.func @scatter_updates(%a: tensor<4x5xf32>, %i: tensor<2x1xi32>, %u: tensor<3x5xf32>) -> tensor<4x5xf32> {
  // expected-error@+1 {{dim 0 of the updates has size 3, but that of the indices is 2}}
  %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %y : tensor<f32>
  }) : (tensor<4x5xf32>, tensor<2x1xi32>, tensor<3x5xf32>) -> tensor<4x5xf32>
  return %0 : tensor<4x5xf32>
}

// -----

func.func @sort_comparator(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{the comparator must return tensor<i1>}}
  %0 = "stablehlo.sort"(%a) <{dimension = 0 : i64}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @solve(%a: tensor<2x3xf32>, %b: tensor<2x1xf32>) -> tensor<2x1xf32> {
  // expected-error@+1 {{operand 1 must be a square matrix, or a batch of them}}
  %0 = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x1xf32>
  return %0 : tensor<2x1xf32>
}

// -----

func.func @random(%a: tensor<3xui64>) -> (tensor<3xui64>, tensor<4xui32>) {
  // expected-error@+1 {{the state must have 2 numbers, not 3}}
  %0, %1 = stablehlo.rng_bit_generator %a, algorithm = THREE_FRY : (tensor<3xui64>) -> (tensor<3xui64>, tensor<4xui32>)
  return %0, %1 : tensor<3xui64>, tensor<4xui32>
}

// -----

func.func @hidden_state(%a: tensor<f32>, %s: tensor<1xi64>) -> tensor<4xf32> {
  // expected-error@+1 {{stablehlo.rng is not supported: its numbers come from a hidden state}}
  %0 = stablehlo.rng %a, %a, %s, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @too_large(%a: tensor<2x2x2xf32>, %i: tensor<f32>) -> tensor<?x?x?xf32> {
  // expected-error@+1 {{this makes a tensor of more than 2^50 elements}}
  %0 = "stablehlo.reduce_window"(%a, %i) <{padding = dense<2000000000> : tensor<3x2xi64>, window_dimensions = array<i64: 2, 2, 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %1 = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<2x2x2xf32>, tensor<f32>) -> tensor<?x?x?xf32>
  return %0 : tensor<?x?x?xf32>
}
