dopt-profile 2

device "round" backend "bench 1"
op ranks=2 buffers=step median=1e-04 spread=0.02 runs=100 flops=64000000 bytes=4256000 time=2026-11-20T23:55:01Z key=matmul (f32[32,1000], f32[1000,1000]) -> f32[32,1000]
