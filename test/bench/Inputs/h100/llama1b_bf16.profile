dopt-profile 2
device "NVIDIA H100 80GB HBM3" backend "cuda 0.1.0, code d04ee6ae, nvcc V13.0.88, cuBLASLt 13.1.0, cuDNN 9.19.0, NCCL 2.28.9"
field name=step value=2.248e-05 time=2026-11-26T17:28:39Z
field name=async value=1 time=2026-11-26T17:28:39Z
field name=host_memory value=1.351e+11 time=2026-11-26T17:28:39Z
op ranks=1 buffers=step median=3.722e-05 spread=0.037 runs=8 flops=41951232 bytes=1101045760 time=2026-11-26T17:28:49Z key=fuse (f32[128256,2048], i32[2,2048], f32[2048]) { 3 = gather(0, 1); 4 = mul(3, 3); 5 = mean(4) {dims=[-1], keep=1}; 6 = constant() {value=1.0000000000000001e-05}f32[]; 7 = add(5, 6); 8 = rsqrt(7); 9 = mul(3, 8); 10 = mul(9, 2); 11 = convert(10) {to=bf16}; yield(3, 5, 11); } -> f32[2,2048,2048], f32[2,2048,1], bf16[2,2048,2048]
op ranks=1 buffers=step median=1.368e-05 spread=0.0656 runs=8 flops=0 bytes=25165824 time=2026-11-26T17:28:58Z key=convert (f32[2048,2048]) {to=bf16} -> bf16[2048,2048]
op ranks=1 buffers=step median=4.662e-05 spread=0.0116 runs=8 flops=34359738368 bytes=41943040 time=2026-11-26T17:28:58Z key=matmul (bf16[2,2048,2048], bf16[2048,2048]) -> bf16[2,2048,2048]
op ranks=1 buffers=step median=5.249e-06 spread=0.0852 runs=16 flops=0 bytes=6291456 time=2026-11-26T17:28:58Z key=convert (f32[2048,512]) {to=bf16} -> bf16[2048,512]
op ranks=1 buffers=step median=1.578e-05 spread=0.148 runs=16 flops=8589934592 bytes=23068672 time=2026-11-26T17:28:58Z key=matmul (bf16[2,2048,2048], bf16[2048,512]) -> bf16[2,2048,512]
op ranks=1 buffers=step median=2.129e-06 spread=0.0756 runs=8 flops=64 bytes=128 time=2026-11-26T17:28:58Z key=fuse () { 0 = iota()f32[32]; 1 = constant() {value=32}f32[]; 2 = div(0, 1); 3 = constant() {value=500000}f32[]; 4 = pow(3, 2); yield(4); } -> f32[32]
op ranks=1 buffers=step median=5.552e-06 spread=0.11 runs=8 flops=196608 bytes=524416 time=2026-11-26T17:28:58Z key=fuse (f32[32]) { 1 = iota()f32[2048,1,1]; 2 = div(1, 0); 3 = cos(2); 4 = sin(2); yield(3, 4); } -> f32[2048,1,32], f32[2048,1,32]
op ranks=1 buffers=step median=1.864e-05 spread=0.0172 runs=8 flops=25165824 bytes=50855936 time=2026-11-26T17:28:58Z key=fuse (bf16[2,2048,32,64], f32[2048,1,32], f32[2048,1,32]) { 3 = split(0) {parts=2, index=0}; 4 = split(0) {parts=2, index=1}; 5 = convert(3) {to=f32}; 6 = mul(5, 1); 7 = convert(4) {to=f32}; 8 = mul(7, 2); 9 = sub(6, 8); 10 = mul(5, 2); 11 = mul(7, 1); 12 = add(10, 11); yield(9, 12); } -> f32[2,2048,32,32], f32[2,2048,32,32]
op ranks=1 buffers=step median=3.203e-05 spread=0.02 runs=8 flops=16777216 bytes=67108864 time=2026-11-26T17:28:58Z key=concat (f32[2,2048,32,32], f32[2,2048,32,32]) {dim=3} -> f32[2,2048,32,64]
