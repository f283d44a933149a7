dopt-profile 2

device "made up" backend "none"
op ranks=1 buffers=step median=1e-05 spread=0.3 runs=24 flops=1 bytes=1 time=2026-11-23T00:00:00Z key=add (f32[512,256], f32[256]) -> f32[512,256]
op ranks=1 buffers=step median=1e-05 spread=0.3 runs=24 flops=1 bytes=1 time=2026-11-23T00:00:00Z key=mul (f32[512,256], f32[512,256]) -> f32[512,256]
op ranks=1 buffers=step median=1e-05 spread=0.3 runs=24 flops=1 bytes=1 time=2026-11-23T00:00:00Z key=relu (f32[512,256]) -> f32[512,256]
op ranks=1 buffers=step median=1e-06 spread=0.3 runs=24 flops=1 bytes=1 time=2026-11-23T00:00:00Z key=sum (f32[512,256]) {dims=[1]} -> f32[512]
op ranks=1 buffers=step median=1e-05 spread=0.3 runs=24 flops=1 bytes=1 time=2026-11-23T00:00:00Z key=tanh (f32[512,256]) -> f32[512,256]
