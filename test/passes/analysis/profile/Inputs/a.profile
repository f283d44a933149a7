dopt-profile 2

device "cpu" backend "bench 1"
op ranks=1 buffers=step median=1e-05 spread=0.02 runs=100 flops=4096 bytes=256 time=2026-11-20T23:55:01Z key=add (f32[64], f32[64]) -> f32[64]
op ranks=2 buffers=step median=2e-05 spread=0 runs=100 flops=0 bytes=0 time=2026-11-20T23:55:01Z key=matmul (f32[8,8], f32[8,8]) -> f32[8,8]
op ranks=2 buffers=rotate median=3.0000000000000004e-05 spread=0 runs=7 flops=0 bytes=0 time=2026-11-20T23:55:01Z key=matmul (f32[8,8], f32[8,8]) -> f32[8,8]
op ranks=2 buffers=step median=5e-05 spread=0.5 runs=100 flops=0 bytes=0 time=2026-11-20T23:55:01Z key=relu (f32[8,8]) -> f32[8,8]
collective transport=threads kind=allreduce places=2 nodes=1 bytes=4096 median=7e-06 spread=0.1 runs=60 time=2026-11-20T23:55:02Z
link transport=threads kind=allreduce places=2 nodes=1 alpha=2e-06 beta=inf error=0 time=2026-11-20T23:55:03Z
field name=step value=4e-06 time=2026-11-20T23:55:04Z
field transport=threads name=post value=1e-06 time=2026-11-20T23:55:04Z
