#!/usr/bin/env python3
"""rates.py PROFILE TABLE: how fast the libraries of this GPU compute products and convolutions of many sizes, as a
profile that `dopt-profile fit` reads, in PyTorch (cuBLAS, cuDNN). What has no kernel in dopt yet, attention that writes
no T x T values, and the time between kernels that Python starts, go to TABLE: name, type, sizes, seconds."""
import datetime
import itertools
import statistics
import sys

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

# Times of short kernels vary by some percent; the median of so many does not. A kernel is run as often as fills
# FILL seconds, so that all sizes take about a second together.
WARM, TIMES, FILL = 3, 9, 0.002
LIMIT = 0.05  # seconds: a longer one is run three times

device = "cuda"
TYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}
SQUARES = [(n, n, n) for n in (128, 256, 512, 1024, 2048, 4096, 8192)]
# M x K by K x N of transformers: rows 512 to 16384, widths 512 to 8192; and what is thin in one direction.
LAYERS = [(m, n, k) for m in (512, 2048, 8192, 16384) for n, k in (
    (768, 768), (3072, 768), (768, 3072), (2048, 2048), (8192, 2048), (2048, 8192), (4096, 4096), (14336, 4096), (4096, 14336))]
THIN = [(4096, 4096, k) for k in (32, 64, 128, 256, 512)] + [(m, 4096, 4096) for m in (1, 8, 32, 64, 128, 256)] + [
    (4096, n, 4096) for n in (8, 32, 64, 128, 256)] + [(8192, 50257, 768), (8192, 50304, 768), (768, 50304, 8192), (8192, 768, 50304)]
BATCHES = [(96, 1024, 1024, 64), (96, 1024, 64, 1024), (384, 512, 512, 64), (384, 512, 64, 512), (64, 2048, 2048, 128),
           (64, 2048, 128, 2048), (8, 1024, 4096, 1024), (8, 1024, 1024, 4096), (512, 128, 128, 64), (1024, 64, 64, 64), (16, 256, 256, 256)]
# images, channels, height, filters, window, stride: ResNet-50's and VGG-19's
CONVS = [(64, 3, 224, 64, 7, 2), (64, 64, 56, 64, 1, 1), (64, 64, 56, 64, 3, 1), (64, 64, 56, 256, 1, 1), (64, 256, 56, 64, 1, 1),
         (64, 128, 28, 128, 3, 1), (64, 512, 28, 128, 1, 1), (64, 256, 14, 256, 3, 1), (64, 1024, 14, 256, 1, 1), (64, 512, 7, 512, 3, 1),
         (64, 64, 224, 64, 3, 1), (64, 256, 56, 256, 3, 1), (64, 512, 28, 512, 3, 1)]
# batch, heads, tokens, width of a head
ATTENTION = [(8, 12, 1024, 64), (32, 12, 512, 64), (4, 32, 2048, 128), (1, 32, 8192, 128), (2, 32, 4096, 128), (16, 16, 512, 64), (64, 16, 128, 64)]


def seconds(run):
    """Median seconds of a run, by events round enough of them."""
    for _ in range(WARM):
        run()
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)

    def of(n):
        begin.record()
        for _ in range(n):
            run()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) * 1e-3 / n

    once = of(1)
    n = max(1, min(100, int(FILL / max(once, 1e-6))))
    all_times = [of(n) for _ in range(3 if once > LIMIT else TIMES)]
    middle = statistics.median(all_times)
    return middle, (max(all_times) - min(all_times)) / middle, n * len(all_times)


def shape(dtype, dims):
    return f"{dtype}[{','.join(map(str, dims))}]"


class Profile:
    def __init__(self, path, tf32):
        self.out = open(path, "a")
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = tf32
        name = torch.cuda.get_device_name() + (", TF32" if tf32 else "")
        v = torch.version.cuda
        self.out.write(f'dopt-profile 2\ndevice "{name}" backend "PyTorch {torch.__version__}, CUDA {v}, cuDNN {torch.backends.cudnn.version()}"\n')

    def add(self, key, flops, elements, dtype, run):
        try:
            t, spread, runs = seconds(run)
        except RuntimeError as e:
            print(f"{key}: {e}", file=sys.stderr)
            return
        size = TYPES[dtype].itemsize
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        self.out.write(f"op ranks=1 buffers=step median={t:.4g} spread={spread:.3g} runs={runs} flops={flops} bytes={elements * size} time={now} key={key}\n")
        self.out.flush()


def products(p, dtype):
    make = lambda *dims: torch.randn(*dims, device=device, dtype=TYPES[dtype])
    for m, n, k in SQUARES + LAYERS + THIN:
        a, b, out = make(m, k), make(k, n), make(m, n)
        p.add(f"matmul ({shape(dtype, (m, k))}, {shape(dtype, (k, n))}) -> {shape(dtype, (m, n))}",
              2 * m * n * k, m * k + k * n + m * n, dtype, lambda: torch.mm(a, b, out=out))
    for c, m, n, k in BATCHES:
        a, b, out = make(c, m, k), make(c, k, n), make(c, m, n)
        p.add(f"matmul ({shape(dtype, (c, m, k))}, {shape(dtype, (c, k, n))}) -> {shape(dtype, (c, m, n))}",
              2 * c * m * n * k, c * (m * k + k * n + m * n), dtype, lambda: torch.bmm(a, b, out=out))


def convolutions(p, table, name, dtype):
    for (b, c, h, f, w, s), layout in itertools.product(CONVS, (torch.contiguous_format, torch.channels_last)):
        x = torch.randn(b, c, h, h, device=device, dtype=TYPES[dtype]).to(memory_format=layout)
        k = torch.randn(f, c, w, w, device=device, dtype=TYPES[dtype]).to(memory_format=layout)
        pad = w // 2
        y = torch.nn.functional.conv2d(x, k, stride=s, padding=pad)
        o = y.shape[2]
        g = torch.randn_like(y)
        flops, elements = 2 * b * f * o * o * c * w * w, x.numel() + k.numel() + y.numel()
        back = lambda mask: torch.ops.aten.convolution_backward(g, x, k, None, [s, s], [pad, pad], [1, 1], False, [0, 0], 1, mask)
        for what, run in (("conv2d", lambda: torch.nn.functional.conv2d(x, k, stride=s, padding=pad)),
                          ("conv2d_data", lambda: back([True, False, False])), ("conv2d_filter", lambda: back([False, True, False]))):
            try:
                t = seconds(run)[0]
            except RuntimeError as e:
                print(f"{what} {dtype}: {e}", file=sys.stderr)
                continue
            order = "nchw" if layout == torch.contiguous_format else "nhwc"
            table.write(f"{what}_{order}\t{name}\t{b},{c},{h},{f},{w},{s}\t{t:.4g}\t{flops}\t{elements * TYPES[dtype].itemsize}\n")
    table.flush()


def attention(table, name, dtype):
    for (b, a, t, d), causal in itertools.product(ATTENTION, (True, False)):
        q, k, v = (torch.randn(b, a, t, d, device=device, dtype=TYPES[dtype], requires_grad=True) for _ in range(3))
        for backend, which in ((SDPBackend.FLASH_ATTENTION, "flash"), (SDPBackend.CUDNN_ATTENTION, "cudnn"), (SDPBackend.EFFICIENT_ATTENTION, "efficient")):
            with sdpa_kernel(backend):
                run = lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
                try:
                    forward = seconds(run)[0]
                    y = run()
                    g = torch.randn_like(y)
                    backward = seconds(lambda: torch.autograd.grad(y, (q, k, v), g, retain_graph=True))[0]
                except RuntimeError:
                    continue  # no such kernel for this type
            flops = 4 * b * a * t * t * d // (2 if causal else 1)
            what = f"attention_{which}_{'causal' if causal else 'full'}"
            for part, s, f in (("", forward, flops), ("_backward", backward, flops * 5 // 2)):
                table.write(f"{what}{part}\t{name}\t{b},{a},{t},{d}\t{s:.4g}\t{f}\t\n")
    table.flush()


def launches(table):
    """Seconds from one small kernel that Python starts to the next, and in a graph."""
    x = torch.zeros(16, device=device)
    many = 1000

    def chain():
        for _ in range(many):
            x.add_(1)

    table.write(f"launch_eager\tf32\t16\t{seconds(chain)[0] / many:.4g}\t\t\n")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        chain()
    table.write(f"launch_graph\tf32\t16\t{seconds(graph.replay)[0] / many:.4g}\t\t\n")
    w = torch.nn.Linear(16, 16, device=device)
    norm = torch.nn.LayerNorm(16, device=device)
    y = torch.zeros(16, 16, device=device)
    for what, module in (("module_linear", w), ("module_layernorm", norm)):
        with torch.no_grad():
            table.write(f"{what}\tf32\t16\t{seconds(lambda: [module(y) for _ in range(100)])[0] / 100:.4g}\t\t\n")
    z = torch.zeros(16, 16, device=device, requires_grad=True)
    table.write(f"module_linear_backward\tf32\t16\t{seconds(lambda: [w(z).sum().backward() for _ in range(20)])[0] / 20:.4g}\t\t\n")
    big = torch.empty(1 << 28, device=device)
    for bits in range(12, 29, 2):
        n = 1 << bits
        src, dst = big[:n], torch.empty(n, device=device)
        table.write(f"copy\tf32\t{n}\t{seconds(lambda: dst.copy_(src))[0]:.4g}\t\t{8 * n}\n")
    table.flush()


def main():
    profile, table = sys.argv[1], open(sys.argv[2], "w")
    table.write("kernel\ttype\tsizes\tseconds\tflops\tbytes\n")
    launches(table)
    for name, dtype, tf32 in (("bf16", "bf16", False), ("f32", "f32", False), ("tf32", "f32", True), ("f16", "f16", False)):
        p = Profile(profile, tf32)
        products(p, dtype)
        convolutions(p, table, name, dtype)
        attention(table, name, dtype)


main()
