"""Profiles of kernels that follow known curves, and whether the fit gives the curves back.

    reach_fit.py make NOISE FILE...     profiles, whose kernels differ in sizes
    reach_fit.py check OFF < ITEMS      are times within that share of those of the curves, at other sizes?

The curves are computed here, by Hockney's formulas: share of the peak, n/(n + half) for each size.
"""
import itertools
import random
import re
import sys

PEAK = {"f32": 10e12, "tf32": 40e12, "bf16": 100e12}
BANDWIDTH = 1e12
LAUNCH = 1e-6
CURVES = {
    ("product", "f32"): dict(share=0.8, half_m=40, half_n=20, half_k=60, start=4e-6),
    ("product", "tf32"): dict(share=0.6, half_m=0, half_n=80, half_k=200, start=4e-6),
    ("product", "bf16"): dict(share=0.7, half_m=0, half_n=0, half_k=400, start=8e-6, unaligned=0.25),
    ("flat", "f32"): dict(share=0.85, half=2e6),
    ("rows", "f32"): dict(share=0.5, half=4e6),
}
SIZES = [[256, 768, 3072, 8192], [128, 1000, 4096], [64, 512, 2048, 6000]]
OTHERS = [[512, 1600], [300, 3000], [100, 800, 12000]]
UNITS = {"": 1, "us": 1e-6, "B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9}


def product(curve, peak, m, n, k, unaligned):
    rate = curve.get("share", 1) * peak * (curve.get("unaligned", 1) if unaligned else 1)
    for size, half in ((m, "half_m"), (n, "half_n"), (k, "half_k")):
        rate *= size / (size + curve.get(half, 0))
    return 2 * m * n * k / rate + curve.get("start", 0)


def memory(curve, size):
    return (size + curve.get("half", 0)) / (curve.get("share", 1) * BANDWIDTH)


def kernels(kind, sizes):
    """Pairs of a key and a function from curves to seconds."""
    if kind[0] == "product":
        dtype = "bf16" if kind[1] == "bf16" else "f32"
        width = 2 if dtype == "bf16" else 4
        for m, n, k in itertools.product(*sizes):
            for odd in (0, 1) if kind[1] == "bf16" else (0,):
                key = f"matmul ({dtype}[{m},{k}], {dtype}[{k},{n + odd}]) -> {dtype}[{m},{n + odd}]"
                size = width * (m * k + k * (n + odd) + m * (n + odd))
                yield key, lambda c, a=(m, n + odd, k, (n + odd) * width % 16 != 0), b=size: LAUNCH + max(
                    product(c[kind], PEAK[kind[1]], *a), memory(c["flat", "f32"], b) if dtype == "f32" else 0)
    else:
        for m, n in itertools.product(sizes[0], sizes[1]):
            if kind[0] == "flat":
                yield f"relu (f32[{m},{n}]) -> f32[{m},{n}]", lambda c, b=8 * m * n: LAUNCH + memory(c[kind], b)
            else:
                yield f"sum (f32[{m},{n}]) {{dims=[1]}} -> f32[{m}]", lambda c, b=4 * m * n + 4 * m: LAUNCH + memory(c[kind], b)


def make(noise, files):
    draw = random.Random(1)
    out = [open(name, "w") for name in files]
    for f in out:
        f.write("dopt-profile 2\n")
    for device, kinds in (("a card", [k for k in CURVES if k[1] != "tf32"]), ("a card, TF32", [("product", "tf32")])):
        for f in out:
            f.write(f'device "{device}" backend "made up"\n')
        for kind in kinds:
            for i, (key, seconds) in enumerate(kernels(kind, SIZES)):
                t = seconds(CURVES) * (1 + noise * draw.uniform(-1, 1))
                out[i // 2 % len(out)].write(f"op ranks=1 buffers=step median={t:.17g} spread=0 runs=9 flops=1 bytes=1 "
                                        f"time=2026-11-26T12:00:00Z key={key}\n")


def check(off):
    found = {}
    for line in sys.stdin:
        if not line.startswith("  reach card {"):
            continue
        kind = tuple(re.search(name + r" = (\w+)", line).group(1) for name in ("kernel", "type"))
        found[kind] = {name: float(v) * UNITS[unit]
                       for name, v, unit in re.findall(r"(\w+) = ([0-9.e+-]+)(us|[KMG]?B|)", line)}
    worst = 0
    for kind in CURVES:
        for key, seconds in kernels(kind, OTHERS):
            worst = max(worst, abs(seconds({**CURVES, **found}) / seconds(CURVES) - 1))
    assert set(found) >= set(CURVES), set(CURVES) - set(found)
    print(f"off by {100 * worst:.2f} % at worst")
    assert worst <= off, found


if sys.argv[1] == "make":
    make(float(sys.argv[2]), sys.argv[3:])
else:
    check(float(sys.argv[2]))
