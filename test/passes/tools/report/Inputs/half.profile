dopt-profile 2

device "round" backend "bench 1"
op ranks=1 buffers=step median=1e-05 spread=0.02 runs=100 flops=64 bytes=256 time=2026-11-20T23:55:01Z key=relu (f32[64]) -> f32[64]
field name=f32 value=1e12 time=2026-11-20T23:55:04Z
field name=bandwidth value=1e11 time=2026-11-20T23:55:04Z
field name=launch value=1e-06 time=2026-11-20T23:55:04Z
