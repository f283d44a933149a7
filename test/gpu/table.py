#!/usr/bin/env python3
"""table.py TRACE [TORCH]: a row a kernel of bench.dir: its median time, rates, and PyTorch's time beside it."""
import json
import statistics
import sys

WARM = 3  # steps: code is loaded and algorithms are chosen in the first

with open(sys.argv[1]) as file:
    trace = json.load(file)
kernels = trace["otherData"]["kernels"]  # what they do, by number
torch = {}
if len(sys.argv) > 2:
    with open(sys.argv[2]) as file:
        torch = json.load(file)["us"]
times, work = {}, {}
for event in trace["traceEvents"]:
    if event.get("cat") != "kernel" or event["args"]["step"] < WARM:
        continue
    name = event["name"].split()[-1]
    times.setdefault(name, []).append(event["dur"])
    kernel = kernels[event["args"]["kernel"]]
    work[name] = kernel["flops"], kernel["bytes"]
print("%-20s %12s %10s %10s %12s %7s" % ("kernel", "us", "GFLOP/s", "GB/s", "PyTorch us", "ratio"))
for name, all_times in times.items():
    us = statistics.median(all_times)
    flops, size = work[name]
    other = torch.get(name)
    print("%-20s %12.1f %10.0f %10.0f %12s %7s" % (
        name, us, flops / us / 1e3, size / us / 1e3, "%.1f" % other if other else "-",
        "%.2f" % (us / other) if other else "-"))
