// Functions of CHLO: special ones against values of 40 digits, numbers next to each other by their bits, infinities,
// operands that are repeated.
// RUN: %dopt -expect -split-input-file %s | %FileCheck %s
// RUN: %dopt -expect -pass=canonicalize,cse,dce,opfuse -split-input-file %s | %FileCheck %s
// CHECK-NOT: {{failed:|unsupported:}}
// CHECK: passed, 0 failed, 0 unsupported

func.func @lgamma_f32() {
  %x0 = stablehlo.constant dense<[0.25, 0.5, 1.0, 1.5, 1.4600000381469726563, 2.0, 2.5, 3.75, 10.0, 40.0, 100.0, -0.5, -1.25, -3.75, -10.5, 0.0010000000474974513054]> : tensor<16xf32>
  %y = chlo.lgamma %x0 : tensor<16xf32> -> tensor<16xf32>
  %w = stablehlo.constant dense<[0.77638393803276678925, 1.7471370536604637367, 1.0, 8.2793630883039047711, 8.2314688335123233196, 1.0, 3.5126806131285174847, 0.67257837111582948682, 0.078113847539026209031, 0.0093780689501483204339, 0.0027844743971711821888, 0.79019393132833398298, 0.73183310602699972386, 0.75914699491042829794, 0.06601849448789765155, 0.14477690870241864287]> : tensor<16xf32>
  %yw = stablehlo.multiply %y, %w : tensor<16xf32>
  %e = stablehlo.constant dense<[1.0, 1.0, 0.0, -1.0, -1.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, -1.0, -1.0, 1.0]> : tensor<16xf32>
  "check.expect_almost_eq"(%yw, %e) {tolerance = 1.0e-5 : f64} : (tensor<16xf32>, tensor<16xf32>) -> ()
  return
}

// -----

func.func @digamma_f32() {
  %x0 = stablehlo.constant dense<[0.25, 0.5, 1.0, 1.5, 1.4600000381469726563, 2.0, 2.5, 3.75, 10.0, 40.0, 100.0, -0.5, -1.25, -3.75, -10.5, 0.0010000000474974513054]> : tensor<16xf32>
  %y = chlo.digamma %x0 : tensor<16xf32> -> tensor<16xf32>
  %w = stablehlo.constant dense<[0.23654902226715847987, 0.50929202639533106858, 1.7324547146006334736, 1.0, 1.0, 2.3652721186254415519, 1.4221582250611500933, 0.84563922429033686653, 0.44409852345921706171, 0.27201059597216444755, 0.21738365562176568886, 1.0, 0.26924139555184714485, 0.59088084202280879742, 0.41697259780494297357, 0.00099942480660357084839]> : tensor<16xf32>
  %yw = stablehlo.multiply %y, %w : tensor<16xf32>
  %e = stablehlo.constant dense<[-1.0, -1.0, -1.0, 0.036489973978576520559, -0.001580525018104361454, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.036489973978576520559, 1.0, -1.0, 1.0, -1.0]> : tensor<16xf32>
  "check.expect_almost_eq"(%yw, %e) {tolerance = 1.0e-5 : f64} : (tensor<16xf32>, tensor<16xf32>) -> ()
  return
}

// -----

func.func @zeta_f32() {
  %x0 = stablehlo.constant dense<[2.0, 3.0, 4.0, 2.5, 1.5, 10.0, 2.0, 3.0, 4.0, 30.0, 1.125]> : tensor<11xf32>
  %x1 = stablehlo.constant dense<[1.0, 0.5, 2.25, 3.5, 100.0, 0.75, -0.5, -1.25, -7.75, 12.0, 0.0099999997764825820923]> : tensor<11xf32>
  %y = chlo.zeta %x0, %x1 : tensor<11xf32>, tensor<11xf32> -> tensor<11xf32>
  %w = stablehlo.constant dense<[0.60792710185402662866, 0.11884391036867249553, 18.487477291614502756, 7.9254292777073267308, 4.9875000783831153829, 0.056301610760410945713, 0.11192189570117606623, 0.016165356494138761559, 0.0038497520796376535166, 2.1543194546695878147e+32, 0.0053648936725782240395]> : tensor<11xf32>
  %yw = stablehlo.multiply %y, %w : tensor<11xf32>
  %e = stablehlo.constant dense<[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, -1.0, 1.0, 1.0, 1.0]> : tensor<11xf32>
  "check.expect_almost_eq"(%yw, %e) {tolerance = 1.0e-5 : f64} : (tensor<11xf32>, tensor<11xf32>) -> ()
  return
}

// -----

func.func @polygamma_f32() {
  %x0 = stablehlo.constant dense<[0.0, 1.0, 2.0, 3.0, 5.0, 1.0]> : tensor<6xf32>
  %x1 = stablehlo.constant dense<[2.5, 1.0, 0.5, 2.25, 3.5, -0.5]> : tensor<6xf32>
  %y = chlo.polygamma %x0, %x1 : tensor<6xf32>, tensor<6xf32> -> tensor<6xf32>
  %w = stablehlo.constant dense<[1.4221582250611500933, 0.60792710185402662866, 0.059421955184336247763, 3.0812462152690837926, 1.0, 0.11192189570117606623]> : tensor<6xf32>
  %yw = stablehlo.multiply %y, %w : tensor<6xf32>
  %e = stablehlo.constant dense<[1.0, 1.0, -1.0, 1.0, 0.087049178567183484554, 1.0]> : tensor<6xf32>
  "check.expect_almost_eq"(%yw, %e) {tolerance = 1.0e-5 : f64} : (tensor<6xf32>, tensor<6xf32>) -> ()
  return
}

// -----

func.func @i1e_f32() {
  %x0 = stablehlo.constant dense<[0.0, 0.000099999997473787516356, 0.5, -1.0, 3.75, -12.5, 29.0, 31.0, -200.0, 10000.0]> : tensor<10xf32>
  %y = chlo.bessel_i1e %x0 : tensor<10xf32> -> tensor<10xf32>
  %w = stablehlo.constant dense<[1.0, 20002.00058024334091, 6.3930115409144978407, 4.8097638510220132273, 5.4654240054774834679, 9.1439915420043120856, 13.677436117948242397, 14.129004883591136577, 35.515773602183604971, 250.67222796543097836]> : tensor<10xf32>
  %yw = stablehlo.multiply %y, %w : tensor<10xf32>
  %e = stablehlo.constant dense<[0.0, 1.0, 1.0, -1.0, 1.0, -1.0, 1.0, 1.0, -1.0, 1.0]> : tensor<10xf32>
  "check.expect_almost_eq"(%yw, %e) {tolerance = 1.0e-5 : f64} : (tensor<10xf32>, tensor<10xf32>) -> ()
  return
}

// -----

func.func @lgamma_f64() {
  %x0 = stablehlo.constant dense<[0.25, 0.5, 1.0, 1.5, 1.4599999999999999645, 2.0, 2.5, 3.75, 10.0, 40.0, 100.0, -0.5, -1.25, -3.75, -10.5, 0.0010000000000000000208]> : tensor<16xf64>
  %y = chlo.lgamma %x0 : tensor<16xf64> -> tensor<16xf64>
  %w = stablehlo.constant dense<[0.77638393803276678925, 1.7471370536604637367, 1.0, 8.2793630883039047711, 8.2314688375975974959, 1.0, 3.5126806131285174847, 0.67257837111582948682, 0.078113847539026209031, 0.0093780689501483204339, 0.0027844743971711821888, 0.79019393132833398298, 0.73183310602699972386, 0.75914699491042829794, 0.06601849448789765155, 0.14477690770628229558]> : tensor<16xf64>
  %yw = stablehlo.multiply %y, %w : tensor<16xf64>
  %e = stablehlo.constant dense<[1.0, 1.0, 0.0, -1.0, -1.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, -1.0, -1.0, 1.0]> : tensor<16xf64>
  "check.expect_almost_eq"(%yw, %e) {tolerance = 1.0e-12 : f64} : (tensor<16xf64>, tensor<16xf64>) -> ()
  return
}

// -----

func.func @digamma_f64() {
  %x0 = stablehlo.constant dense<[0.25, 0.5, 1.0, 1.5, 1.4599999999999999645, 2.0, 2.5, 3.75, 10.0, 40.0, 100.0, -0.5, -1.25, -3.75, -10.5, 0.0010000000000000000208]> : tensor<16xf64>
  %y = chlo.digamma %x0 : tensor<16xf64> -> tensor<16xf64>
  %w = stablehlo.constant dense<[0.23654902226715847987, 0.50929202639533106858, 1.7324547146006334736, 1.0, 1.0, 2.3652721186254415519, 1.4221582250611500933, 0.84563922429033686653, 0.44409852345921706171, 0.27201059597216444755, 0.21738365562176568886, 1.0, 0.26924139555184714485, 0.59088084202280879742, 0.41697259780494297357, 0.00099942475916067086918]> : tensor<16xf64>
  %yw = stablehlo.multiply %y, %w : tensor<16xf64>
  %e = stablehlo.constant dense<[-1.0, -1.0, -1.0, 0.036489973978576520559, -0.0015805619870834521062, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.036489973978576520559, 1.0, -1.0, 1.0, -1.0]> : tensor<16xf64>
  "check.expect_almost_eq"(%yw, %e) {tolerance = 1.0e-12 : f64} : (tensor<16xf64>, tensor<16xf64>) -> ()
  return
}

// -----

func.func @zeta_f64() {
  %x0 = stablehlo.constant dense<[2.0, 3.0, 4.0, 2.5, 1.5, 10.0, 2.0, 3.0, 4.0, 30.0, 1.125]> : tensor<11xf64>
  %x1 = stablehlo.constant dense<[1.0, 0.5, 2.25, 3.5, 100.0, 0.75, -0.5, -1.25, -7.75, 12.0, 0.010000000000000000208]> : tensor<11xf64>
  %y = chlo.zeta %x0, %x1 : tensor<11xf64>, tensor<11xf64> -> tensor<11xf64>
  %w = stablehlo.constant dense<[0.60792710185402662866, 0.11884391036867249553, 18.487477291614502756, 7.9254292777073267308, 4.9875000783831153829, 0.056301610760410945713, 0.11192189570117606623, 0.016165356494138761559, 0.0038497520796376535166, 2.1543194546695878147e+32, 0.0053648938012914563043]> : tensor<11xf64>
  %yw = stablehlo.multiply %y, %w : tensor<11xf64>
  %e = stablehlo.constant dense<[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, -1.0, 1.0, 1.0, 1.0]> : tensor<11xf64>
  "check.expect_almost_eq"(%yw, %e) {tolerance = 1.0e-12 : f64} : (tensor<11xf64>, tensor<11xf64>) -> ()
  return
}

// -----

func.func @polygamma_f64() {
  %x0 = stablehlo.constant dense<[0.0, 1.0, 2.0, 3.0, 5.0, 1.0]> : tensor<6xf64>
  %x1 = stablehlo.constant dense<[2.5, 1.0, 0.5, 2.25, 3.5, -0.5]> : tensor<6xf64>
  %y = chlo.polygamma %x0, %x1 : tensor<6xf64>, tensor<6xf64> -> tensor<6xf64>
  %w = stablehlo.constant dense<[1.4221582250611500933, 0.60792710185402662866, 0.059421955184336247763, 3.0812462152690837926, 1.0, 0.11192189570117606623]> : tensor<6xf64>
  %yw = stablehlo.multiply %y, %w : tensor<6xf64>
  %e = stablehlo.constant dense<[1.0, 1.0, -1.0, 1.0, 0.087049178567183484554, 1.0]> : tensor<6xf64>
  "check.expect_almost_eq"(%yw, %e) {tolerance = 1.0e-12 : f64} : (tensor<6xf64>, tensor<6xf64>) -> ()
  return
}

// -----

func.func @i1e_f64() {
  %x0 = stablehlo.constant dense<[0.0, 0.00010000000000000000479, 0.5, -1.0, 3.75, -12.5, 29.0, 31.0, -200.0, 10000.0]> : tensor<10xf64>
  %y = chlo.bessel_i1e %x0 : tensor<10xf64> -> tensor<10xf64>
  %w = stablehlo.constant dense<[1.0, 20002.000075000832354, 6.3930115409144978407, 4.8097638510220132273, 5.4654240054774834679, 9.1439915420043120856, 13.677436117948242397, 14.129004883591136577, 35.515773602183604971, 250.67222796543097836]> : tensor<10xf64>
  %yw = stablehlo.multiply %y, %w : tensor<10xf64>
  %e = stablehlo.constant dense<[0.0, 1.0, 1.0, -1.0, 1.0, -1.0, 1.0, 1.0, -1.0, 1.0]> : tensor<10xf64>
  "check.expect_almost_eq"(%yw, %e) {tolerance = 1.0e-12 : f64} : (tensor<10xf64>, tensor<10xf64>) -> ()
  return
}

// -----

func.func @next_after() {
  %x = stablehlo.constant dense<[0x3F800000, 0x3F800000, 0xBF800000, 0xBF800000, 0x00000000, 0x80000000, 0x00000000, 0x40400000, 0x7F800000, 0xFF800000, 0x7FC00000, 0x3F800000, 0x7F7FFFFF, 0x40000000, 0x00000000]> : tensor<15xf32>
  %y = stablehlo.constant dense<[0x40000000, 0x00000000, 0x00000000, 0xC0400000, 0x3F800000, 0xBF800000, 0xBF800000, 0x40400000, 0x00000000, 0x00000000, 0x3F800000, 0x7FC00000, 0x7F800000, 0xFF800000, 0x80000000]> : tensor<15xf32>
  %z = chlo.next_after %x, %y : tensor<15xf32>, tensor<15xf32> -> tensor<15xf32>
  %bits = stablehlo.bitcast_convert %z : (tensor<15xf32>) -> tensor<15xi32>
  check.expect_eq_const %bits, dense<[1065353217, 1065353215, -1082130433, -1082130431, 1, -2147483647, -2147483647, 1077936128, 2139095039, -8388609, 2143289344, 2143289344, 2139095040, 1073741823, -2147483648]> : tensor<15xi32>
  return
}

// -----

func.func @ends() {
  %inf = stablehlo.constant dense<[0x7F800000, 0xFF800000, 0.0, 0x7FC00000]> : tensor<4xf32>
  %p = chlo.is_pos_inf %inf : tensor<4xf32> -> tensor<4xi1>
  check.expect_eq_const %p, dense<[true, false, false, false]> : tensor<4xi1>
  %n = chlo.is_neg_inf %inf : tensor<4xf32> -> tensor<4xi1>
  check.expect_eq_const %n, dense<[false, true, false, false]> : tensor<4xi1>
  %l = chlo.lgamma %inf : tensor<4xf32> -> tensor<4xf32>
  check.expect_almost_eq_const %l, dense<[0x7F800000, 0x7F800000, 0x7F800000, 0x7FC00000]> : tensor<4xf32>
  %d = chlo.digamma %inf : tensor<4xf32> -> tensor<4xf32>
  check.expect_almost_eq_const %d, dense<[0x7F800000, 0x7FC00000, 0x7FC00000, 0x7FC00000]> : tensor<4xf32>
  return
}

// -----

func.func @repeated() {
  %a = stablehlo.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %v = stablehlo.constant dense<[10.0, 20.0]> : tensor<2xf32>
  %s = stablehlo.constant dense<2.0> : tensor<f32>
  %x = "chlo.broadcast_add"(%a, %v) : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  check.expect_eq_const %x, dense<[[11.0, 22.0], [13.0, 24.0]]> : tensor<2x2xf32>
  %y = "chlo.broadcast_subtract"(%v, %a) {broadcast_dimensions = array<i64: 0>} : (tensor<2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  check.expect_eq_const %y, dense<[[9.0, 8.0], [17.0, 16.0]]> : tensor<2x2xf32>
  %c = "chlo.broadcast_compare"(%a, %s) {comparison_direction = #chlo<comparison_direction GT>} : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xi1>
  check.expect_eq_const %c, dense<[[false, false], [true, true]]> : tensor<2x2xi1>
  %k = "chlo.constant_like"(%a) {value = 2.5 : f32} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  check.expect_eq_const %k, dense<2.5> : tensor<2x2xf32>
  return
}
