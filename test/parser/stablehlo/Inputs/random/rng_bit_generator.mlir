func.func @rng_bit_generator_0() {
  %a0 = stablehlo.constant dense<[0, 18446744073709551615]> : tensor<2xui64>
  %r:2 = stablehlo.rng_bit_generator %a0, algorithm = PHILOX : (tensor<2xui64>) -> (tensor<2xui64>, tensor<ui32>)
  check.expect_eq_const %r#0, dense<[0, 0]> : tensor<2xui64>
  check.expect_eq_const %r#1, dense<4090393677> : tensor<ui32>
  return
}

// -----

func.func @rng_bit_generator_1() {
  %a0 = stablehlo.constant dense<[1, 0, 18446744073709551614]> : tensor<3xui64>
  %r:2 = stablehlo.rng_bit_generator %a0, algorithm = PHILOX : (tensor<3xui64>) -> (tensor<3xui64>, tensor<6xui64>)
  check.expect_eq_const %r#0, dense<[1, 3, 18446744073709551614]> : tensor<3xui64>
  check.expect_eq_const %r#1, dense<[16058116941597237024, 14869005553515817109, 12510153932747222281, 850362841946104156, 246332853700995603, 6722149390729083996]> : tensor<6xui64>
  return
}

// -----

func.func @rng_bit_generator_2() {
  %a0 = stablehlo.constant dense<[18446744073709551615, 18446744073709551615, 0]> : tensor<3xui64>
  %r:2 = stablehlo.rng_bit_generator %a0, algorithm = PHILOX : (tensor<3xui64>) -> (tensor<3xui64>, tensor<6x3x6xui16>)
  check.expect_eq_const %r#0, dense<[18446744073709551615, 26, 1]> : tensor<3xui64>
  check.expect_eq_const %r#1, dense<[[[55250, 50778, 41514, 57613, 14061, 12546], [19106, 51926, 34829, 23866, 8608, 51676], [13210, 57408, 9791, 11458, 3360, 38386]], [[31789, 58105, 14560, 39142, 12826, 22575], [48381, 16624, 37435, 47563, 7894, 35609], [50436, 63572, 33987, 38579, 13832, 37983]], [[26213, 31152, 15529, 54903, 65125, 19494], [53999, 10878, 56182, 45710, 29586, 21534], [14500, 24806, 54521, 31343, 43376, 38562]], [[42054, 33406, 10071, 5215, 47639, 11551], [34093, 45830, 40487, 17474, 57161, 64865], [61762, 34744, 32592, 24463, 34901, 7393]], [[33639, 13623, 18766, 35281, 47344, 5491], [18938, 44619, 31916, 9382, 37213, 41573], [55267, 60958, 29736, 28348, 33522, 38979]], [[10934, 45884, 48391, 16646, 16470, 61584], [35763, 9029, 51857, 4881, 49845, 50643], [11988, 59998, 14858, 47071, 38829, 34602]]]> : tensor<6x3x6xui16>
  return
}

// -----

func.func @rng_bit_generator_3() {
  %a0 = stablehlo.constant dense<[18446744073709551615, 18446744073709551615, 1145776158363629269]> : tensor<3xui64>
  %r:2 = stablehlo.rng_bit_generator %a0, algorithm = DEFAULT : (tensor<3xui64>) -> (tensor<3xui64>, tensor<ui8>)
  check.expect_eq_const %r#0, dense<[18446744073709551615, 0, 1145776158363629270]> : tensor<3xui64>
  check.expect_eq_const %r#1, dense<179> : tensor<ui8>
  return
}

// -----

func.func @rng_bit_generator_4() {
  %a0 = stablehlo.constant dense<[18446744073709551614, 1]> : tensor<2xui64>
  %r:2 = stablehlo.rng_bit_generator %a0, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<7x7xui32>)
  check.expect_eq_const %r#0, dense<[18446744073709551614, 29]> : tensor<2xui64>
  check.expect_eq_const %r#1, dense<[[4111252561, 746376869, 3098216084, 3782867271, 2652073341, 3516950797, 2842909429], [923120672, 2279230600, 307959543, 2648958296, 1560852180, 3592048448, 1697239274], [544553049, 360977740, 1451087389, 4193116504, 3973655149, 3308521514, 4208570767], [1317605502, 2907016266, 1660601437, 2918033753, 1649438186, 1036957088, 4020621886], [1075646443, 4020651601, 1499706610, 79933672, 1787225778, 153932024, 4246217018], [2896085452, 2231502585, 2279641711, 1746204158, 280800129, 2436605976, 533834549], [2130851191, 1441729676, 2508667837, 456886452, 3719686306, 3929002354, 1030290424]]> : tensor<7x7xui32>
  return
}

// -----

func.func @rng_bit_generator_5() {
  %a0 = stablehlo.constant dense<[18446744073709551615, 0]> : tensor<2xui64>
  %r:2 = stablehlo.rng_bit_generator %a0, algorithm = DEFAULT : (tensor<2xui64>) -> (tensor<2xui64>, tensor<7xui16>)
  check.expect_eq_const %r#0, dense<[18446744073709551615, 2]> : tensor<2xui64>
  check.expect_eq_const %r#1, dense<[58119, 33750, 19437, 53137, 33992, 41135, 538]> : tensor<7xui16>
  return
}

// -----

func.func @rng_bit_generator_6() {
  %a0 = stablehlo.constant dense<[18446744073709551614, 0, 0]> : tensor<3xui64>
  %r:2 = stablehlo.rng_bit_generator %a0, algorithm = PHILOX : (tensor<3xui64>) -> (tensor<3xui64>, tensor<6x2xui16>)
  check.expect_eq_const %r#0, dense<[18446744073709551614, 3, 0]> : tensor<3xui64>
  check.expect_eq_const %r#1, dense<[[35298, 435], [29887, 63820], [39025, 34277], [33469, 4998], [20770, 43050], [53338, 47860]]> : tensor<6x2xui16>
  return
}

// -----

func.func @rng_bit_generator_7() {
  %a0 = stablehlo.constant dense<[18446744073709551615, 0]> : tensor<2xui64>
  %r:2 = stablehlo.rng_bit_generator %a0, algorithm = DEFAULT : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3x6x6xui16>)
  check.expect_eq_const %r#0, dense<[18446744073709551615, 27]> : tensor<2xui64>
  check.expect_eq_const %r#1, dense<[[[58119, 33750, 19437, 53137, 33992, 41135], [538, 15472, 11864, 60683, 38224, 32540], [62158, 40911, 56397, 20726, 8516, 26173], [7216, 31689, 37505, 57603, 15484, 7235], [23841, 8391, 5281, 46596, 23793, 52003], [18810, 27901, 51814, 15966, 50437, 64103]], [[55062, 46712, 46792, 39968, 27186, 47110], [59724, 14454, 44417, 13408, 31568, 6540], [10875, 4927, 5484, 38471, 60014, 9259], [43339, 39689, 49015, 55541, 63023, 34890], [62224, 25355, 10144, 12392, 59227, 22066], [44197, 44643, 27021, 20850, 47700, 4951]], [[37062, 22382, 8481, 22159, 32206, 36369], [16224, 38276, 28033, 12466, 41006, 52005], [17641, 63507, 17173, 63464, 4948, 13021], [51093, 39183, 52255, 43780, 24842, 19864], [59462, 23308, 17987, 25895, 27327, 56942], [36325, 2119, 45666, 6469, 25272, 39524]]]> : tensor<3x6x6xui16>
  return
}

