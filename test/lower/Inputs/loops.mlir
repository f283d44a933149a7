// Loops that data ends: the start of each depends on an argument, which is 0.
func.func @main(%zero: tensor<i32>) -> (tensor<i32> {jax.result_info = "collatz"}, tensor<f32> {jax.result_info = "root"}, tensor<f32> {jax.result_info = "solution"}, tensor<f32> {jax.result_info = "scan"}, tensor<i32> {jax.result_info = "tries"}, tensor<ui32> {jax.result_info = "drawn"}, tensor<i32> {jax.result_info = "pairs"}, tensor<f32> {jax.result_info = "swapped"}) {
  %one = stablehlo.constant dense<1> : tensor<i32>
  %none = stablehlo.constant dense<0> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %zf = stablehlo.convert %zero : (tensor<i32>) -> tensor<f32>

  // Collatz from 97: an if in the body.
  %c97 = stablehlo.constant dense<97> : tensor<i32>
  %start = stablehlo.add %zero, %c97 : tensor<i32>
  %collatz:2 = stablehlo.while(%n = %start, %k = %none) : tensor<i32>, tensor<i32>
  cond {
    %c = stablehlo.compare NE, %n, %one : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %r = stablehlo.remainder %n, %two : tensor<i32>
    %even = stablehlo.compare EQ, %r, %none : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %m = "stablehlo.if"(%even) ({
      %h = stablehlo.divide %n, %two : tensor<i32>
      stablehlo.return %h : tensor<i32>
    }, {
      %three = stablehlo.constant dense<3> : tensor<i32>
      %t = stablehlo.multiply %n, %three : tensor<i32>
      %u = stablehlo.add %t, %one : tensor<i32>
      stablehlo.return %u : tensor<i32>
    }) : (tensor<i1>) -> tensor<i32>
    %k1 = stablehlo.add %k, %one : tensor<i32>
    stablehlo.return %m, %k1 : tensor<i32>, tensor<i32>
  }

  // Newton's iteration for the square root of 3, against sqrt; it reads %three from outside.
  %c3 = stablehlo.constant dense<3.0> : tensor<f32>
  %three = stablehlo.add %zf, %c3 : tensor<f32>
  %half = stablehlo.constant dense<0.5> : tensor<f32>
  %small = stablehlo.constant dense<1.0e-6> : tensor<f32>
  %root:2 = stablehlo.while(%x = %three, %d = %c3) : tensor<f32>, tensor<f32>
  cond {
    %c = stablehlo.compare GT, %d, %small : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %q = stablehlo.divide %three, %x : tensor<f32>
    %s = stablehlo.add %x, %q : tensor<f32>
    %y = stablehlo.multiply %s, %half : tensor<f32>
    %e = stablehlo.subtract %y, %x : tensor<f32>
    %a = stablehlo.abs %e : tensor<f32>
    stablehlo.return %y, %a : tensor<f32>, tensor<f32>
  }
  %sqrt = stablehlo.sqrt %three : tensor<f32>
  %rooterror = stablehlo.subtract %root#0, %sqrt : tensor<f32>

  // Conjugate gradient for (2 I + 1 1') x = b, whose solution is b / 2 - sum(b) / 16 for 6 unknowns.
  %eye0 = stablehlo.iota dim = 0 : tensor<6x6xi32>
  %eye1 = stablehlo.iota dim = 1 : tensor<6x6xi32>
  %same = stablehlo.compare EQ, %eye0, %eye1 : (tensor<6x6xi32>, tensor<6x6xi32>) -> tensor<6x6xi1>
  %diagonal = stablehlo.constant dense<3.0> : tensor<6x6xf32>
  %ones = stablehlo.constant dense<1.0> : tensor<6x6xf32>
  %matrix = stablehlo.select %same, %diagonal, %ones : tensor<6x6xi1>, tensor<6x6xf32>
  %b0 = stablehlo.iota dim = 0 : tensor<6xf32>
  %zb = stablehlo.broadcast_in_dim %zf, dims = [] : (tensor<f32>) -> tensor<6xf32>
  %b1 = stablehlo.sine %b0 : tensor<6xf32>
  %b = stablehlo.add %b1, %zb : tensor<6xf32>
  %x0 = stablehlo.constant dense<0.0> : tensor<6xf32>
  %f0 = stablehlo.constant dense<0.0> : tensor<f32>
  %bb = stablehlo.dot_general %b, %b, contracting_dims = [0] x [0] : (tensor<6xf32>, tensor<6xf32>) -> tensor<f32>
  %enough = stablehlo.constant dense<1.0e-10> : tensor<f32>
  %cg:4 = stablehlo.while(%x = %x0, %r = %b, %p = %b, %rr = %bb) : tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<f32>
  cond {
    %c = stablehlo.compare GT, %rr, %enough : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %ap = stablehlo.dot_general %matrix, %p, contracting_dims = [1] x [0] : (tensor<6x6xf32>, tensor<6xf32>) -> tensor<6xf32>
    %pap = stablehlo.dot_general %p, %ap, contracting_dims = [0] x [0] : (tensor<6xf32>, tensor<6xf32>) -> tensor<f32>
    %alpha = stablehlo.divide %rr, %pap : tensor<f32>
    %alphas = stablehlo.broadcast_in_dim %alpha, dims = [] : (tensor<f32>) -> tensor<6xf32>
    %step = stablehlo.multiply %alphas, %p : tensor<6xf32>
    %x1 = stablehlo.add %x, %step : tensor<6xf32>
    %less = stablehlo.multiply %alphas, %ap : tensor<6xf32>
    %r1 = stablehlo.subtract %r, %less : tensor<6xf32>
    %rr1 = stablehlo.dot_general %r1, %r1, contracting_dims = [0] x [0] : (tensor<6xf32>, tensor<6xf32>) -> tensor<f32>
    %beta = stablehlo.divide %rr1, %rr : tensor<f32>
    %betas = stablehlo.broadcast_in_dim %beta, dims = [] : (tensor<f32>) -> tensor<6xf32>
    %turn = stablehlo.multiply %betas, %p : tensor<6xf32>
    %p1 = stablehlo.add %r1, %turn : tensor<6xf32>
    stablehlo.return %x1, %r1, %p1, %rr1 : tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<f32>
  }
  %sum = stablehlo.reduce(%b init: %f0) applies stablehlo.add across dimensions = [0] : (tensor<6xf32>, tensor<f32>) -> tensor<f32>
  %sixteenth = stablehlo.constant dense<0.0625> : tensor<f32>
  %shift = stablehlo.multiply %sum, %sixteenth : tensor<f32>
  %shifts = stablehlo.broadcast_in_dim %shift, dims = [] : (tensor<f32>) -> tensor<6xf32>
  %halves = stablehlo.constant dense<0.5> : tensor<6xf32>
  %bhalf = stablehlo.multiply %b, %halves : tensor<6xf32>
  %direct = stablehlo.subtract %bhalf, %shifts : tensor<6xf32>
  %off = stablehlo.subtract %cg#0, %direct : tensor<6xf32>
  %offabs = stablehlo.abs %off : tensor<6xf32>
  %cgerror = stablehlo.reduce(%offabs init: %f0) applies stablehlo.maximum across dimensions = [0] : (tensor<6xf32>, tensor<f32>) -> tensor<f32>

  // A scan of 10000 steps of c = c + 2 / 10000, which stacks every tenth value in rows of 4, against k / 500.
  %limit = stablehlo.constant dense<10000> : tensor<i32>
  %ten = stablehlo.constant dense<10> : tensor<i32>
  %empty = stablehlo.constant dense<0.0> : tensor<1000x4xf32>
  %small2 = stablehlo.constant dense<0.0002> : tensor<f32>
  %scan:3 = stablehlo.while(%i = %none, %c = %zf, %list = %empty) : tensor<i32>, tensor<f32>, tensor<1000x4xf32>
  cond {
    %c1 = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c1 : tensor<i1>
  } do {
    %c1 = stablehlo.add %c, %small2 : tensor<f32>
    %row = stablehlo.broadcast_in_dim %c1, dims = [] : (tensor<f32>) -> tensor<1x4xf32>
    %at = stablehlo.divide %i, %ten : tensor<i32>
    %list1 = stablehlo.dynamic_update_slice %list, %row, %at, %none : (tensor<1000x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1000x4xf32>
    %i1 = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %i1, %c1, %list1 : tensor<i32>, tensor<f32>, tensor<1000x4xf32>
  }
  %k0 = stablehlo.iota dim = 0 : tensor<1000x4xf32>
  %k1 = stablehlo.constant dense<1.0> : tensor<1000x4xf32>
  %k2 = stablehlo.add %k0, %k1 : tensor<1000x4xf32>
  %tenth = stablehlo.constant dense<0.002> : tensor<1000x4xf32>
  %closed = stablehlo.multiply %k2, %tenth : tensor<1000x4xf32>
  %away = stablehlo.subtract %scan#2, %closed : tensor<1000x4xf32>
  %awayabs = stablehlo.abs %away : tensor<1000x4xf32>
  %scanerror = stablehlo.reduce(%awayabs init: %f0) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<1000x4xf32>, tensor<f32>) -> tensor<f32>

  // Rejection: numbers of a congruential generator until one is below 2^26.
  %seed0 = stablehlo.constant dense<12345> : tensor<ui32>
  %zu = stablehlo.convert %zero : (tensor<i32>) -> tensor<ui32>
  %seed = stablehlo.add %seed0, %zu : tensor<ui32>
  %below = stablehlo.constant dense<67108864> : tensor<ui32>
  %factor = stablehlo.constant dense<1664525> : tensor<ui32>
  %term = stablehlo.constant dense<1013904223> : tensor<ui32>
  %draw:2 = stablehlo.while(%u = %seed, %t = %none) : tensor<ui32>, tensor<i32>
  cond {
    %first = stablehlo.compare EQ, %t, %none : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %high = stablehlo.compare GE, %u, %below : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
    %c = stablehlo.or %first, %high : tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %v = stablehlo.multiply %u, %factor : tensor<ui32>
    %w = stablehlo.add %v, %term : tensor<ui32>
    %t1 = stablehlo.add %t, %one : tensor<i32>
    stablehlo.return %w, %t1 : tensor<ui32>, tensor<i32>
  }

  // Pairs j <= i of i below 12: a loop in a loop, whose bound is the outer counter.
  %twelve = stablehlo.constant dense<12> : tensor<i32>
  %pairs:2 = stablehlo.while(%i = %zero, %s = %none) : tensor<i32>, tensor<i32>
  cond {
    %c = stablehlo.compare LT, %i, %twelve : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %in:2 = stablehlo.while(%j = %none, %s1 = %s) : tensor<i32>, tensor<i32>
    cond {
      %c = stablehlo.compare LE, %j, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %s2 = stablehlo.add %s1, %one : tensor<i32>
      %j1 = stablehlo.add %j, %one : tensor<i32>
      stablehlo.return %j1, %s2 : tensor<i32>, tensor<i32>
    }
    %i1 = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %i1, %in#1 : tensor<i32>, tensor<i32>
  }

  // Two values that change places in each of 7 iterations.
  %seven = stablehlo.constant dense<7> : tensor<i32>
  %swap:3 = stablehlo.while(%i = %zero, %l = %half, %m = %three) : tensor<i32>, tensor<f32>, tensor<f32>
  cond {
    %c = stablehlo.compare LT, %i, %seven : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %i1 = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %i1, %m, %l : tensor<i32>, tensor<f32>, tensor<f32>
  }
  func.return %collatz#1, %rooterror, %cgerror, %scanerror, %draw#1, %draw#0, %pairs#1, %swap#1 : tensor<i32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<i32>, tensor<ui32>, tensor<i32>, tensor<f32>
}
