"""orders.py DOPT MODULE: runs `dopt -check` with the passes that trade memory for time in every order, under one budget,
and prints how many orders are accepted. An order that is refused, or that changes what the step computes, is printed."""
import itertools
import subprocess
import sys

PASSES = ["shard{axis=dp}", "recompute", "prefetch", "unshard", "tensorfuse"]
OPTIONS = ["-check", "-emit=none", "-budget=1MB"]

accepted = 0
for order in itertools.permutations(PASSES):
    pipeline = "dp{axis=dp},grad,adam," + ",".join(order)
    run = subprocess.run([sys.argv[1], *OPTIONS, "-pass=" + pipeline, sys.argv[2]], capture_output=True, text=True)
    accepted += run.returncode == 0
    if run.returncode:
        print(pipeline, run.returncode, run.stderr)
print(accepted, "orders")
