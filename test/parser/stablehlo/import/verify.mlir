// What is wrong with a program is said at its op; nothing wrong reaches the interpreter.
// RUN: %dopt -verify-diagnostics -split-input-file %s

// operands differ in shape
func.func @main(%a: tensor<2x3xf32>, %b: tensor<3x2xf32>) {
  // expected-error@+1 {{operands 1 and 2 differ: tensor<2x3xf32> and tensor<3x2xf32>}}
  %0 = "stablehlo.add"(%a, %b) : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x3xf32>
  func.return
}

// -----
// operands differ in element type
func.func @main(%a: tensor<2xf32>, %b: tensor<2xi32>) {
  // expected-error@+1 {{operands 1 and 2 differ}}
  %0 = "stablehlo.multiply"(%a, %b) : (tensor<2xf32>, tensor<2xi32>) -> tensor<2xf32>
  func.return
}

// -----
// no broadcasting, not even of size 1
func.func @main(%a: tensor<2x3xf32>, %b: tensor<1x3xf32>) {
  // expected-error@+1 {{operands 1 and 2 differ}}
  %0 = "stablehlo.add"(%a, %b) : (tensor<2x3xf32>, tensor<1x3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----
// result of another shape
func.func @main(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{result 1 has the written type tensor<3x2xf32>, but the op produces tensor<2x3xf32>}}
  %0 = "stablehlo.abs"(%a) : (tensor<2x3xf32>) -> tensor<3x2xf32>
  func.return
}

// -----
// result of another element type
func.func @main(%a: tensor<2xf32>) {
  // expected-error@+1 {{written type tensor<2xf64>}}
  %0 = "stablehlo.negate"(%a) : (tensor<2xf32>) -> tensor<2xf64>
  func.return
}

// -----
// too few operands
func.func @main(%a: tensor<2xf32>) {
  // expected-error@+1 {{expected 2 operands, found 1}}
  %0 = "stablehlo.add"(%a) : (tensor<2xf32>) -> tensor<2xf32>
  func.return
}

// -----
// too many
func.func @main(%a: tensor<2xf32>) {
  // expected-error@+1 {{expected 1 operand, found 2}}
  %0 = "stablehlo.tanh"(%a, %a) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return
}

// -----
// two results
func.func @main(%a: tensor<2xf32>) {
  // expected-error@+1 {{expected 1 result, found 2}}
  %0:2 = "stablehlo.tanh"(%a) : (tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  func.return
}

// -----
// floats in a logical op
func.func @main(%a: tensor<2xf32>) {
  // expected-error@+1 {{stablehlo.and is not supported: on f32}}
  %0 = "stablehlo.and"(%a, %a) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return
}

// -----
// integers in a transcendental one
func.func @main(%a: tensor<2xi32>) {
  // expected-error@+1 {{stablehlo.tanh is not supported: on i32}}
  %0 = "stablehlo.tanh"(%a) : (tensor<2xi32>) -> tensor<2xi32>
  func.return
}

// -----
// compare: no such direction
func.func @main(%a: tensor<2xf32>) {
  // expected-error@+1 {{comparison_direction must be EQ, NE, GE, GT, LE or LT, not LESS}}
  %0 = "stablehlo.compare"(%a, %a) {comparison_direction = #stablehlo<comparison_direction LESS>} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  func.return
}

// -----
// compare: no direction
func.func @main(%a: tensor<2xf32>) {
  // expected-error@+1 {{LT, not missing}}
  %0 = "stablehlo.compare"(%a, %a) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  func.return
}

// -----
// compare: a type that does not fit
func.func @main(%a: tensor<2xi32>) {
  // expected-error@+1 {{compare_type FLOAT does not fit tensor<2xi32>}}
  %0 = "stablehlo.compare"(%a, %a) {comparison_direction = #stablehlo<comparison_direction LT>, compare_type = #stablehlo<comparison_type FLOAT>} : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
  func.return
}

// -----
// compare: the result is i1
func.func @main(%a: tensor<2xi32>) {
  // expected-error@+1 {{result 1 has the written type tensor<2xi32>}}
  %0 = "stablehlo.compare"(%a, %a) {comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>
  func.return
}

// -----
// select: predicate of another type
func.func @main(%a: tensor<2xi32>) {
  // expected-error@+1 {{the predicate must be of i1, not tensor<2xi32>}}
  %0 = "stablehlo.select"(%a, %a, %a) : (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>
  func.return
}

// -----
// select: predicate of another shape
func.func @main(%p: tensor<3xi1>, %a: tensor<2xi32>) {
  // expected-error@+1 {{it must be a scalar or have the shape of tensor<2xi32>}}
  %0 = "stablehlo.select"(%p, %a, %a) : (tensor<3xi1>, tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>
  func.return
}

// -----
// select: branches differ
func.func @main(%p: tensor<2xi1>, %a: tensor<2xi32>, %b: tensor<2xf32>) {
  // expected-error@+1 {{operand 2 has elements of i32, but operand 3 of f32; they must be equal}}
  %0 = "stablehlo.select"(%p, %a, %b) : (tensor<2xi1>, tensor<2xi32>, tensor<2xf32>) -> tensor<2xi32>
  func.return
}

// -----
// clamp: a bound of another shape
func.func @main(%a: tensor<2xf32>, %b: tensor<3xf32>) {
  // expected-error@+1 {{a bound is tensor<3xf32>}}
  %0 = "stablehlo.clamp"(%b, %a, %a) : (tensor<3xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return
}

// -----
// reduce_precision: no exponent
func.func @main(%a: tensor<2xf32>) {
  // expected-error@+1 {{exponent_bits must be at least 1, not 0}}
  %0 = "stablehlo.reduce_precision"(%a) {exponent_bits = 0 : i32, mantissa_bits = 3 : i32} : (tensor<2xf32>) -> tensor<2xf32>
  func.return
}

// -----
// bitcast_convert: parts that do not fit
func.func @main(%a: tensor<3xi8>) {
  // expected-error@+1 {{must have size 4}}
  %0 = "stablehlo.bitcast_convert"(%a) : (tensor<3xi8>) -> tensor<i32>
  func.return
}

// -----
// popcnt of floats
func.func @main(%a: tensor<3xf32>) {
  // expected-error@+1 {{must be of integers, not tensor<3xf32>}}
  %0 = "stablehlo.popcnt"(%a) : (tensor<3xf32>) -> tensor<3xf32>
  func.return
}

// -----
// map: a region with other arguments
func.func @main(%a: tensor<2xf32>) {
  // expected-error@+1 {{region 1 has 2 arguments, expected 1}}
  %0 = "stablehlo.map"(%a) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }) {dimensions = array<i64: 0>} : (tensor<2xf32>) -> tensor<2xf32>
  func.return
}

// -----
// map: dimensions in another order
func.func @main(%a: tensor<2x2xf32>) {
  // expected-error@+1 {{dimensions must be all 2 in order}}
  %0 = "stablehlo.map"(%a) ({
  ^bb0(%x: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }) {dimensions = array<i64: 1, 0>} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  func.return
}

// -----
// constant of another type
func.func @main() {
  // expected-error@+1 {{the elements are tensor<2xf32>, but the result is tensor<3xf32>}}
  %0 = "stablehlo.constant"() {value = dense<1.0> : tensor<2xf32>} : () -> tensor<3xf32>
  func.return
}

// -----
// iota along no dim
func.func @main() {
  // expected-error@+1 {{iota_dimension 2 is not one of the 2 dims}}
  %0 = "stablehlo.iota"() {iota_dimension = 2 : i64} : () -> tensor<2x3xi32>
  func.return
}

// -----
// iota without a dim
func.func @main() {
  // expected-error@+1 {{iota_dimension must be an integer}}
  %0 = "stablehlo.iota"() : () -> tensor<2x3xi32>
  func.return
}

// -----
// broadcast: too few dims
func.func @main(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{expected 2 numbers in broadcast_dimensions, found 1}}
  %0 = "stablehlo.broadcast_in_dim"(%a) {broadcast_dimensions = array<i64: 0>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----
// broadcast: no dims
func.func @main(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{the attribute broadcast_dimensions is missing}}
  %0 = "stablehlo.broadcast_in_dim"(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----
// broadcast: a dim twice
func.func @main(%a: tensor<2x2xf32>) {
  // expected-error@+1 {{dim 0 appears twice}}
  %0 = "stablehlo.broadcast_in_dim"(%a) {broadcast_dimensions = array<i64: 0, 0>} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  func.return
}

// -----
// broadcast: a dim that is none
func.func @main(%a: tensor<2xf32>) {
  // expected-error@+1 {{-1 is not one of the 2 dims}}
  %0 = "stablehlo.broadcast_in_dim"(%a) {broadcast_dimensions = array<i64: -1>} : (tensor<2xf32>) -> tensor<2x2xf32>
  func.return
}

// -----
// broadcast: sizes that do not fit
func.func @main(%a: tensor<2xf32>) {
  // expected-error@+1 {{dim 0 of the operand has size 2, but dim 1 of the result has 6; only size 1 can be broadcast}}
  %0 = "stablehlo.broadcast_in_dim"(%a) {broadcast_dimensions = array<i64: 1>} : (tensor<2xf32>) -> tensor<2x6xf32>
  func.return
}

// -----
// reshape: other elements
func.func @main(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{the operand has 6 elements, but the result has 5}}
  %0 = "stablehlo.reshape"(%a) : (tensor<2x3xf32>) -> tensor<5xf32>
  func.return
}

// -----
// reshape: sizes that overflow
func.func @main(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{a tensor of more than 2^50 elements}}
  %0 = "stablehlo.reshape"(%a) : (tensor<2x3xf32>) -> tensor<67108864x67108864xf32>
  func.return
}

// -----
// reshape: the element type stays
func.func @main(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{operand 1 has elements of f32, but result 1 of i32; they must be equal}}
  %0 = "stablehlo.reshape"(%a) : (tensor<2x3xf32>) -> tensor<6xi32>
  func.return
}

// -----
// transpose: no permutation
func.func @main(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{permutation: dim 0 appears twice}}
  %0 = "stablehlo.transpose"(%a) {permutation = array<i64: 0, 0>} : (tensor<2x3xf32>) -> tensor<2x2xf32>
  func.return
}

// -----
// transpose: the wrong result
func.func @main(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{but the op produces tensor<3x2xf32>}}
  %0 = "stablehlo.transpose"(%a) {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----
// reverse: a dim that is none
func.func @main(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{dimensions: 2 is not one of the 2 dims}}
  %0 = "stablehlo.reverse"(%a) {dimensions = array<i64: 2>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----
// slice: past the end
func.func @main(%a: tensor<4xf32>) {
  // expected-error@+1 {{dim 0 has size 4; the range 1 to 5 is outside of it}}
  %0 = "stablehlo.slice"(%a) {start_indices = array<i64: 1>, limit_indices = array<i64: 5>, strides = array<i64: 1>} : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----
// slice: backwards
func.func @main(%a: tensor<4xf32>) {
  // expected-error@+1 {{the range 3 to 1 is outside of it}}
  %0 = "stablehlo.slice"(%a) {start_indices = array<i64: 3>, limit_indices = array<i64: 1>, strides = array<i64: 1>} : (tensor<4xf32>) -> tensor<2xf32>
  func.return
}

// -----
// slice: standing still
func.func @main(%a: tensor<4xf32>) {
  // expected-error@+1 {{stride 0 of dim 0 must be positive}}
  %0 = "stablehlo.slice"(%a) {start_indices = array<i64: 0>, limit_indices = array<i64: 4>, strides = array<i64: 0>} : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----
// slice: lists of other lengths
func.func @main(%a: tensor<4xf32>) {
  // expected-error@+1 {{expected 1 number in start_indices, found 2}}
  %0 = "stablehlo.slice"(%a) {start_indices = array<i64: 0, 0>, limit_indices = array<i64: 4>, strides = array<i64: 1>} : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----
// pad: a value that is no scalar
func.func @main(%a: tensor<4xf32>) {
  // expected-error@+1 {{it must be a scalar of f32}}
  %0 = "stablehlo.pad"(%a, %a) {edge_padding_low = array<i64: 1>, edge_padding_high = array<i64: 1>, interior_padding = array<i64: 0>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<6xf32>
  func.return
}

// -----
// pad: negative between elements
func.func @main(%a: tensor<4xf32>, %v: tensor<f32>) {
  // expected-error@+1 {{the interior padding -1 of dim 0 is negative}}
  %0 = "stablehlo.pad"(%a, %v) {edge_padding_low = array<i64: 1>, edge_padding_high = array<i64: 1>, interior_padding = array<i64: -1>} : (tensor<4xf32>, tensor<f32>) -> tensor<3xf32>
  func.return
}

// -----
// pad: the wrong result
func.func @main(%a: tensor<4xf32>, %v: tensor<f32>) {
  // expected-error@+1 {{dim 0 becomes 9, but the written type of the result is tensor<8xf32>}}
  %0 = "stablehlo.pad"(%a, %v) {edge_padding_low = array<i64: 1>, edge_padding_high = array<i64: 1>, interior_padding = array<i64: 1>} : (tensor<4xf32>, tensor<f32>) -> tensor<8xf32>
  func.return
}

// -----
// pad: numbers that overflow
func.func @main(%a: tensor<4xf32>, %v: tensor<f32>) {
  // expected-error@+1 {{dim 0 would have size}}
  %0 = "stablehlo.pad"(%a, %v) {edge_padding_low = array<i64: 9223372036854775807>, edge_padding_high = array<i64: 9223372036854775807>, interior_padding = array<i64: 9223372036854775807>} : (tensor<4xf32>, tensor<f32>) -> tensor<?xf32>
  func.return
}

// -----
// concatenate: sizes that do not fit
func.func @main(%a: tensor<2x3xf32>, %b: tensor<2x4xf32>) {
  // expected-error@+1 {{may only differ in dim 0: tensor<2x3xf32> and tensor<2x4xf32>}}
  %0 = "stablehlo.concatenate"(%a, %b) {dimension = 0 : i64} : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<4x3xf32>
  func.return
}

// -----
// concatenate: a dim that is none
func.func @main(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{dimension -1 is not one of the 2 dims}}
  %0 = "stablehlo.concatenate"(%a, %a) {dimension = -1 : i64} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
  func.return
}

// -----
// concatenate: the wrong result
func.func @main(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{but the op produces tensor<4x3xf32>}}
  %0 = "stablehlo.concatenate"(%a, %a) {dimension = 0 : i64} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<5x3xf32>
  func.return
}

// -----
// concatenate: of nothing
func.func @main() {
  // expected-error@+1 {{expected at least 1 operand, found 0}}
  %0 = "stablehlo.concatenate"() {dimension = 0 : i64} : () -> tensor<4x3xf32>
  func.return
}

// -----
// get_dimension_size: a dim that is none
func.func @main(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{dimension 2 is not one of the 2 dims}}
  %0 = "stablehlo.get_dimension_size"(%a) {dimension = 2 : i64} : (tensor<2x3xf32>) -> tensor<i32>
  func.return
}

// -----
// dynamic_slice: too few starts
func.func @main(%a: tensor<4x4xf32>, %i: tensor<i32>) {
  // expected-error@+1 {{has 1 starts for an operand of rank 2}}
  %0 = "stablehlo.dynamic_slice"(%a, %i) {slice_sizes = array<i64: 2, 2>} : (tensor<4x4xf32>, tensor<i32>) -> tensor<2x2xf32>
  func.return
}

// -----
// dynamic_slice: too much
func.func @main(%a: tensor<4xf32>, %i: tensor<i32>) {
  // expected-error@+1 {{dim 0 of size 4 cannot have a slice of size 5}}
  %0 = "stablehlo.dynamic_slice"(%a, %i) {slice_sizes = array<i64: 5>} : (tensor<4xf32>, tensor<i32>) -> tensor<5xf32>
  func.return
}

// -----
// dynamic_slice: a start that is no integer
func.func @main(%a: tensor<4xf32>, %i: tensor<f32>) {
  // expected-error@+1 {{operand 2 is tensor<f32>; its elements must be integers}}
  %0 = "stablehlo.dynamic_slice"(%a, %i) {slice_sizes = array<i64: 2>} : (tensor<4xf32>, tensor<f32>) -> tensor<2xf32>
  func.return
}

// -----
// dynamic_update_slice: too much
func.func @main(%a: tensor<4xf32>, %u: tensor<5xf32>, %i: tensor<i32>) {
  // expected-error@+1 {{dim 0 of the update has size 5, but that of the operand is 4}}
  %0 = "stablehlo.dynamic_update_slice"(%a, %u, %i) : (tensor<4xf32>, tensor<5xf32>, tensor<i32>) -> tensor<4xf32>
  func.return
}

// -----
// dynamic_update_slice: of another element type
func.func @main(%a: tensor<4xf32>, %u: tensor<2xi32>, %i: tensor<i32>) {
  // expected-error@+1 {{operand 1 has elements of f32, but operand 2 of i32; they must be equal}}
  %0 = "stablehlo.dynamic_update_slice"(%a, %u, %i) : (tensor<4xf32>, tensor<2xi32>, tensor<i32>) -> tensor<4xf32>
  func.return
}

// -----
// a shape that an input decides
func.func @main(%a: tensor<4xf32>, %s: tensor<2xi32>) {
  // expected-error@+1 {{a shape that is not constant}}
  %0 = "stablehlo.dynamic_reshape"(%a, %s) : (tensor<4xf32>, tensor<2xi32>) -> tensor<?x?xf32>
  func.return
}

// -----
// call of a function that is not there
func.func @main(%a: tensor<4xf32>) {
  // expected-error@+1 {{there is no function @nowhere}}
  %0 = func.call @nowhere(%a) : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----
// tuple of other types
func.func @main(%a: tensor<4xf32>) {
  // expected-error@+1 {{operand 1 is tensor<4xf32>, but item 0 is tensor<3xf32>}}
  %0 = "stablehlo.tuple"(%a) : (tensor<4xf32>) -> tuple<tensor<3xf32>>
  func.return
}

// -----
// custom call that nobody knows
func.func @main(%a: tensor<4xf32>) {
  // expected-error@+1 {{the target @mystery is unknown}}
  %0 = "stablehlo.custom_call"(%a) {call_target_name = "mystery"} : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----
// while: a condition that is no i1
func.func @main(%n: tensor<i32>) {
  %0 = "stablehlo.while"(%n) ({
  ^bb0(%x: tensor<i32>):
    // expected-error@+1 {{result 1 of region 1 is tensor<i32>, expected tensor<i1>}}
    stablehlo.return %x : tensor<i32>
  }, {
  ^bb0(%x: tensor<i32>):
    stablehlo.return %x : tensor<i32>
  }) : (tensor<i32>) -> tensor<i32>
  func.return
}

// -----
// if: branches of other types
func.func @main(%p: tensor<i1>, %a: tensor<2xf32>, %b: tensor<3xf32>) {
  %0 = "stablehlo.if"(%p) ({
    stablehlo.return %a : tensor<2xf32>
  }, {
    // expected-error@+1 {{result 1 of region 2 is tensor<3xf32>, expected tensor<2xf32>}}
    stablehlo.return %b : tensor<3xf32>
  }) : (tensor<i1>) -> tensor<2xf32>
  func.return
}

// -----
// case: an index of another type
func.func @main(%p: tensor<i64>, %a: tensor<2xf32>) {
  // expected-error@+1 {{the index must be tensor<i32>, not tensor<i64>}}
  %0 = "stablehlo.case"(%p) ({
    stablehlo.return %a : tensor<2xf32>
  }) : (tensor<i64>) -> tensor<2xf32>
  func.return
}

// -----
// complex numbers
func.func @main(%a: tensor<4xf32>) {
  // expected-error@+1 {{stablehlo.complex is not supported: complex numbers}}
  %0 = "stablehlo.complex"(%a) : (tensor<4xf32>) -> tensor<4xcomplex<f32>>
  func.return
}

// -----
// fft: a real operand
func.func @main(%a: tensor<4xf32>) {
  // expected-error@+1 {{FFT takes a complex tensor and gives a complex one}}
  %0 = "stablehlo.fft"(%a) <{fft_type = #stablehlo<fft_type FFT>, fft_length = array<i64: 4>}> : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----
// fft: another length
func.func @main(%a: tensor<2x4xf32>) {
  // expected-error@+1 {{dim 1 has size 4, but fft_length has 5}}
  %0 = "stablehlo.fft"(%a) <{fft_type = #stablehlo<fft_type RFFT>, fft_length = array<i64: 5>}> : (tensor<2x4xf32>) -> tensor<2x3xcomplex<f32>>
  func.return
}

// -----
// fft: the half of another length
func.func @main(%a: tensor<4xcomplex<f32>>) {
  // expected-error@+1 {{dim 0 has size 4, but fft_length has 4}}
  %0 = "stablehlo.fft"(%a) <{fft_type = #stablehlo<fft_type IRFFT>, fft_length = array<i64: 4>}> : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  func.return
}

// -----
// fft: more dims than the operand has
func.func @main(%a: tensor<4xf32>) {
  // expected-error@+1 {{fft_length has 2 sizes, expected 1 to 3 and at most the rank 1}}
  %0 = "stablehlo.fft"(%a) <{fft_type = #stablehlo<fft_type RFFT>, fft_length = array<i64: 1, 4>}> : (tensor<4xf32>) -> tensor<3xcomplex<f32>>
  func.return
}

// -----
// fft: no such type
func.func @main(%a: tensor<4xf32>) {
  // expected-error@+1 {{fft_type must be FFT, IFFT, RFFT or IRFFT}}
  %0 = "stablehlo.fft"(%a) <{fft_type = #stablehlo<fft_type FHT>, fft_length = array<i64: 4>}> : (tensor<4xf32>) -> tensor<3xcomplex<f32>>
  func.return
}

// -----
// custom calls of LAPACK without a translation: what to write instead
func.func @main(%a: tensor<4x4xf32>) {
  // expected-error@+1 {{stablehlo.custom_call is not supported: a Schur decomposition (jax.scipy.linalg.schur, sqrtm); for a symmetric matrix use jnp.linalg.eigh}}
  %0:6 = stablehlo.custom_call @lapack_sgees_ffi(%a) {mhlo.backend_config = {}} : (tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<i32>, tensor<i32>)
  // expected-error@+1 {{stablehlo.custom_call is not supported: eigenvalues of a matrix that is not symmetric (jnp.linalg.eig); jnp.linalg.eigh takes symmetric ones}}
  %1:5 = stablehlo.custom_call @lapack_sgeev_ffi(%a) {mhlo.backend_config = {}} : (tensor<4x4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4x4xcomplex<f32>>, tensor<4x4xcomplex<f32>>, tensor<i32>)
  // expected-error@+1 {{stablehlo.custom_call is not supported: the target @lapack_nothing is unknown}}
  %2 = stablehlo.custom_call @lapack_nothing(%a) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return
}

// -----
// eigenvalues: a matrix that is not square
func.func @main(%a: tensor<4x5xf32>) {
  // expected-error@+1 {{operand 1 must be a square matrix of f32 or f64, or a batch of them}}
  %0:3 = stablehlo.custom_call @lapack_ssyevd_ffi(%a) {mhlo.backend_config = {mode = 86 : ui8, uplo = 76 : ui8}} : (tensor<4x5xf32>) -> (tensor<4x5xf32>, tensor<4xf32>, tensor<i32>)
  func.return
}

// -----
// singular values of a large matrix
func.func @main(%a: tensor<65x66xf32>) {
  // expected-error@+1 {{stablehlo.custom_call is not supported: eigenvalues of a matrix of more than 64 columns}}
  %0:5 = stablehlo.custom_call @lapack_sgesdd_ffi(%a) {mhlo.backend_config = {mode = 83 : ui8}} : (tensor<65x66xf32>) -> (tensor<65x66xf32>, tensor<65xf32>, tensor<65x65xf32>, tensor<65x66xf32>, tensor<i32>)
  func.return
}

// -----
// eigenvalues of a general matrix
func.func @main(%a: tensor<4x4xf32>) {
  // expected-error@+1 {{stablehlo.custom_call is not supported: the target @lapack_sgeev_ffi is unknown}}
  %0 = stablehlo.custom_call @lapack_sgeev_ffi(%a) : (tensor<4x4xf32>) -> tensor<4xf32>
  func.return
}

// -----
// an op that is misspelt
func.func @main(%a: tensor<4xf32>) {
  // expected-error@+1 {{stablehlo.ad is not supported: unknown op; did you mean 'stablehlo.add'?}}
  %0 = "stablehlo.ad"(%a, %a) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----
// one message for an op that occurs often
func.func @main(%a: tensor<4xf32>) {
  // expected-error@+1 {{stablehlo.set_dimension_size is not supported: sizes that change (3 times, first here)}}
  %0 = "stablehlo.set_dimension_size"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "stablehlo.set_dimension_size"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "stablehlo.set_dimension_size"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----
// what depends on a failed op is not reported again
func.func @main(%a: tensor<4xf32>) {
  // expected-error@+1 {{stablehlo.set_dimension_size is not supported}}
  %0 = "stablehlo.set_dimension_size"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = stablehlo.add %0, %0 : tensor<4xf32>
  %2 = "stablehlo.reshape"(%1) : (tensor<4xf32>) -> tensor<5xf32>
  func.return
}

// -----
// more dims than there are
func.func @main(%a: tensor<1xf32>) {
  // expected-error@+1 {{a tensor of rank 9; the largest rank is 8}}
  %0 = "stablehlo.reshape"(%a) : (tensor<1xf32>) -> tensor<1x1x1x1x1x1x1x1x1xf32>
  func.return
}

// -----
// a function that calls itself
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{calls are nested more than 100 deep, or a function calls itself}}
  %0 = func.call @main(%a) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----
// an argument of another type
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{argument 1 of @f is tensor<5xf32>, not tensor<4xf32>}}
  %0 = "func.call"(%a) {callee = @f} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
func.func private @f(%a: tensor<5xf32>) -> tensor<5xf32> {
  func.return %a : tensor<5xf32>
}

// -----
// convolution: mixed element types
func.func @main(%a: tensor<1x4x1xf32>, %f: tensor<2x1x1xf64>) {
  // expected-error@+1 {{operand 1 has elements of f32, but operand 2 of f64; they must be equal}}
  %0 = stablehlo.convolution(%a, %f) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x1xf32>, tensor<2x1x1xf64>) -> tensor<1x3x1xf32>
  func.return
}

// -----
// convolution: of floats, summed as integers
func.func @main(%a: tensor<1x4x1xf32>, %f: tensor<2x1x1xf32>) {
  // expected-error@+1 {{operand 1 has elements of f32, but result 1 of i32; both must be integers or neither}}
  %0 = stablehlo.convolution(%a, %f) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x1xf32>, tensor<2x1x1xf32>) -> tensor<1x3x1xi32>
  func.return
}

// -----
// concatenate: complex numbers of another precision
func.func @main(%a: tensor<2xcomplex<f32>>, %b: tensor<2xcomplex<f64>>) {
  // expected-error@+1 {{operand 1 has elements of complex<f32>, but operand 2 of complex<f64>}}
  %0 = "stablehlo.concatenate"(%a, %b) {dimension = 0 : i64} : (tensor<2xcomplex<f32>>, tensor<2xcomplex<f64>>) -> tensor<4xcomplex<f32>>
  func.return
}

// -----
// concatenate: floats that are held in the same way
func.func @main(%a: tensor<2xf8E5M2>, %b: tensor<2xf32>) {
  // expected-error@+1 {{operand 1 has elements of f8E5M2, but operand 2 of f32}}
  %0 = "stablehlo.concatenate"(%a, %b) {dimension = 0 : i64} : (tensor<2xf8E5M2>, tensor<2xf32>) -> tensor<4xf32>
  func.return
}

// -----
// dynamic_iota: a shape of another rank
func.func @main() {
  %s = stablehlo.constant dense<[2, 3]> : tensor<2xi64>
  // expected-error@+1 {{operand 1 is tensor<2xi64>; a shape is a vector of a size for each of the 1 dims of the result}}
  %0 = "stablehlo.dynamic_iota"(%s) {iota_dimension = 0 : i64} : (tensor<2xi64>) -> tensor<6xf32>
  func.return
}

// -----
// top_k: positions are i32
func.func @main(%a: tensor<4xf32>) {
  // expected-error@+1 {{result 2 is tensor<2xi64>; its elements must be i32}}
  %0:2 = chlo.top_k(%a, k = 2) : tensor<4xf32> -> (tensor<2xf32>, tensor<2xi64>)
  func.return
}

// -----
// reduce: a region of integers
func.func @main(%a: tensor<4xf32>, %z: tensor<f32>) {
  // expected-error@+1 {{operand 1 has elements of f32, which argument 1 of region 1, tensor<i32>, cannot hold}}
  %0 = "stablehlo.reduce"(%a, %z) ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    %s = stablehlo.add %x, %y : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) {dimensions = array<i64: 0>} : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  func.return
}

// -----
// reduce: a region that is wider than the result; its operands may be narrower
func.func @main(%a: tensor<4xi32>, %z: tensor<i32>) {
  %0 = "stablehlo.reduce"(%a, %z) ({
  ^bb0(%x: tensor<i64>, %y: tensor<i64>):
    %s = stablehlo.add %x, %y : tensor<i64>
    stablehlo.return %s : tensor<i64>
  }) {dimensions = array<i64: 0>} : (tensor<4xi32>, tensor<i32>) -> tensor<i64>
  // expected-error@+1 {{result 1 has elements of i32, but region 1 computes tensor<i64>}}
  %1 = "stablehlo.reduce"(%a, %z) ({
  ^bb0(%x: tensor<i64>, %y: tensor<i64>):
    %s = stablehlo.add %x, %y : tensor<i64>
    stablehlo.return %s : tensor<i64>
  }) {dimensions = array<i64: 0>} : (tensor<4xi32>, tensor<i32>) -> tensor<i32>
  func.return
}

// -----
// reduce: over dims that are not given
func.func @main(%a: tensor<4xf32>, %z: tensor<f32>) {
  // expected-error@+1 {{the attribute dimensions is missing}}
  %0 = "stablehlo.reduce"(%a, %z) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  func.return
}

// -----
// reduce: of nothing, to another shape
func.func @main(%a: tensor<3x0xf32>, %z: tensor<f32>) {
  // expected-error@+1 {{result 1 has the written type tensor<2xf32>, but the op produces tensor<3xf32>}}
  %0 = "stablehlo.reduce"(%a, %z) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }) {dimensions = array<i64: 1>} : (tensor<3x0xf32>, tensor<f32>) -> tensor<2xf32>
  func.return
}

// -----
// dot: of nothing, to another shape
func.func @main(%a: tensor<3x0xf32>, %b: tensor<0x3xf32>) {
  // expected-error@+1 {{result 1 has the written type tensor<2x3xf32>, but the op produces tensor<3x3xf32>}}
  %0 = "stablehlo.dot"(%a, %b) : (tensor<3x0xf32>, tensor<0x3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----
// an elementwise op whose result alone is empty
func.func @main(%a: tensor<1xf32>) {
  // expected-error@+1 {{result 1 has the written type tensor<0xf32>, but the op produces tensor<1xf32>}}
  %0 = "stablehlo.exponential"(%a) : (tensor<1xf32>) -> tensor<0xf32>
  func.return
}

// -----
// reduce_window: a region that returns another type
func.func @main(%a: tensor<4xf32>, %z: tensor<f32>) {
  %0 = "stablehlo.reduce_window"(%a, %z) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %i = stablehlo.constant dense<0> : tensor<i32>
    // expected-error@+1 {{result 1 of region 1 is tensor<i32>, but argument 1 is tensor<f32>}}
    stablehlo.return %i : tensor<i32>
  }) {window_dimensions = array<i64: 2>} : (tensor<4xf32>, tensor<f32>) -> tensor<3xf32>
  func.return
}

// -----
// reduce_window: a window that fits nowhere has no results
func.func @main(%a: tensor<4xf32>, %z: tensor<f32>) {
  // expected-error@+1 {{result 1 has the written type tensor<1xf32>, but the op produces tensor<0xf32>}}
  %0 = "stablehlo.reduce_window"(%a, %z) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }) {window_dimensions = array<i64: 5>} : (tensor<4xf32>, tensor<f32>) -> tensor<1xf32>
  func.return
}

// -----
// reduce_window: padding of another rank
func.func @main(%a: tensor<4xf32>, %z: tensor<f32>) {
  // expected-error@+1 {{padding is tensor<1x2x1xi64>; it must be a matrix of i64}}
  %0 = "stablehlo.reduce_window"(%a, %z) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }) {window_dimensions = array<i64: 2>, padding = dense<1> : tensor<1x2x1xi64>} : (tensor<4xf32>, tensor<f32>) -> tensor<5xf32>
  func.return
}

// -----
// scatter: updates of another kind
func.func @main(%a: tensor<4xf32>, %i: tensor<2x1xi32>, %u: tensor<2xi32>) {
  // expected-error@+1 {{operand 3 has elements of i32, which argument 1 of region 1, tensor<f32>, cannot hold}}
  %0 = "stablehlo.scatter"(%a, %i, %u) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %y : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<4xf32>, tensor<2x1xi32>, tensor<2xi32>) -> tensor<4xf32>
  func.return
}

// -----
// gather: dims that do not ascend
func.func @main(%a: tensor<4x4xf32>, %i: tensor<2x2xi32>) {
  // expected-error@+1 {{collapsed_slice_dims are not ascending}}
  %0 = "stablehlo.gather"(%a, %i) {dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1, 0], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>} : (tensor<4x4xf32>, tensor<2x2xi32>) -> tensor<2xf32>
  func.return
}

// -----
// select_and_scatter: a selection that is not a truth value
func.func @main(%a: tensor<4xf32>, %s: tensor<2xf32>, %z: tensor<f32>) {
  %0 = "stablehlo.select_and_scatter"(%a, %s, %z) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    // expected-error@+1 {{region 1 returns tensor<f32>; it must return tensor<i1>}}
    stablehlo.return %x : tensor<f32>
  }, {
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }) {window_dimensions = array<i64: 2>, window_strides = array<i64: 2>} : (tensor<4xf32>, tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
  func.return
}

// -----
// select_and_scatter: sources of another kind
func.func @main(%a: tensor<4xf32>, %s: tensor<2xi32>, %z: tensor<f32>) {
  // expected-error@+1 {{the operand has elements of f32, but the source of i32}}
  %0 = "stablehlo.select_and_scatter"(%a, %s, %z) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %c = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }, {
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }) {window_dimensions = array<i64: 2>, window_strides = array<i64: 2>} : (tensor<4xf32>, tensor<2xi32>, tensor<f32>) -> tensor<4xf32>
  func.return
}

// -----
// sort: a comparator of another type
func.func @main(%a: tensor<4xf32>) {
  // expected-error@+1 {{argument 1 of region 1 is tensor<i32>, but operand 1 has elements of f32}}
  %0 = "stablehlo.sort"(%a) ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    %c = stablehlo.compare LT, %x, %y : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) {dimension = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----
// scan: a region on whole tensors
func.func @main(%a: tensor<4xi32>, %c: tensor<i32>) {
  // expected-error@+1 {{argument 1 of region 1 is tensor<4xi32>, expected tensor<i32>}}
  %0:2 = "chlo.scan"(%a, %c) ({
  ^bb0(%x: tensor<4xi32>, %y: tensor<i32>):
    "stablehlo.return"(%x, %y) : (tensor<4xi32>, tensor<i32>) -> ()
  }) {dimension = 0 : i64, operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>} : (tensor<4xi32>, tensor<i32>) -> (tensor<4x4xi32>, tensor<i32>)
  func.return
}

// -----
// all_reduce: flat groups without a channel
func.func @main(%a: tensor<4xf32>) {
  // expected-error@+1 {{use_global_device_ids requires a channel id that is positive}}
  %0 = "stablehlo.all_reduce"(%a) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids} : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----
// collective_broadcast: a group that is not full
func.func @main(%a: tensor<4xf32>) {
  // expected-error@+1 {{replica_groups has a negative number; each group is full}}
  %0 = "stablehlo.collective_broadcast"(%a) {replica_groups = dense<[[0, -1], [1, 2]]> : tensor<2x2xi64>} : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----
// dynamic_broadcast_in_dim: a dim that expands and does not
func.func @main(%a: tensor<1xf32>) {
  %s = stablehlo.constant dense<[2, 3]> : tensor<2xi64>
  // expected-error@+1 {{dim 0 is in both the known expanding and nonexpanding dimensions}}
  %0 = "stablehlo.dynamic_broadcast_in_dim"(%a, %s) {broadcast_dimensions = array<i64: 0>, known_expanding_dimensions = array<i64: 0>, known_nonexpanding_dimensions = array<i64: 0>} : (tensor<1xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  func.return
}

// -----

func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<i32>) {
  // expected-error@+1 {{func.return: returns 1 value, but @main has 2 results}}
  func.return %x : tensor<4xf32>
}

// -----

func.func private @f(%x: tensor<4xf32>) -> tensor<4xi32> {
  // expected-error@+1 {{func.return: returns tensor<4xf32> as result 1 of @f, which is tensor<4xi32>}}
  func.return %x : tensor<4xf32>
}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
