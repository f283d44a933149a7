#!/usr/bin/env python3
"""torch_bench.py OUT: times of what bench.dir has, in PyTorch (its products are cuBLAS'), in us, as JSON."""
import json
import statistics
import sys

import torch

# A launch is some microseconds; what is measured runs for 50 and more, and the median of so many is steady.
WARM, TIMES = 5, 30

torch.backends.cuda.matmul.allow_tf32 = False
device = "cuda"
n = 4096
a, b = torch.rand(n, n, device=device), torch.rand(n, n, device=device)
v = torch.rand(n, device=device)
q, k = torch.rand(32, 512, 64, device=device), torch.rand(32, 512, 64, device=device)
x, g = torch.rand(16384, n, device=device), torch.rand(16384, n, device=device)
w, dw = torch.rand(67108864, device=device), torch.rand(67108864, device=device)
t = torch.rand(50257, 768, device=device)
i = torch.randint(0, 50000, (16384,), device=device)
i2 = torch.randint(0, 2, (16384,), device=device)
e = t[i]
zeros, zeros2 = torch.zeros(50257, 768, device=device), torch.zeros(2, 768, device=device)
xg = x.clone().requires_grad_(True)
vg = v.clone().requires_grad_(True)
y = torch.nn.functional.layer_norm(xg, (n,), vg)
parameter = torch.nn.Parameter(w.clone())
parameter.grad = dw
adam = torch.optim.Adam([parameter], lr=0.001, fused=True)

CASES = {
    "gemm": lambda: a @ b,
    "gemm_t": lambda: a.t() @ b,
    "gemm_bias_relu": lambda: torch.relu(torch.addmm(v, a, b)),
    "gemm_batched": lambda: q @ k.transpose(1, 2),
    "copy": lambda: -x,
    "gelu": lambda: torch.nn.functional.gelu(x),
    "columns": lambda: x.sum(0),
    "rows": lambda: x.sum(1),
    "all": lambda: x.sum(),
    "transposed": lambda: x.t().contiguous(),
    "softmax": lambda: torch.softmax(x, 1),
    "norm": lambda: torch.nn.functional.layer_norm(x, (n,), v),
    "norm_gradient": lambda: torch.autograd.grad(y, (xg, vg), g, retain_graph=True),
    "embedding": lambda: t[i],
    "embedding_gradient": lambda: zeros.index_add(0, i, e),
    "segment_gradient": lambda: zeros2.index_add(0, i2, e),
    "adam": lambda: adam.step(),
}


def microseconds(run):
    times = []
    for number in range(WARM + TIMES):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        run()
        end.record()
        end.synchronize()
        if number >= WARM:
            times.append(begin.elapsed_time(end) * 1e3)
    return statistics.median(times)


result = {"device": torch.cuda.get_device_name(), "torch": torch.__version__}
result["us"] = {name: microseconds(run) for name, run in CASES.items()}
with open(sys.argv[1], "w") as out:
    json.dump(result, out, indent=1)
