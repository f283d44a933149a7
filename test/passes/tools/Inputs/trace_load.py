"""Reads a comparison of dopt-trace as JSON. Every op is predicted from the profile: a collective that is alone, and kernels that
have a key of their own, from their own times; those that share a key from all of them. A kernel's time is its median, and as
much more as the half-width of its confidence interval goes beyond 2 %: the median alone on an idle machine only."""
import json
import math
import sys

OWN_KEYS = 8  # kernels of digits_plain
HALF_WIDTH = 1.96 * 1.253 / 1.349  # 95 %; standard deviations of a median and of a spread of normal errors
PRECISION = 0.02
SECONDS = 2e-12  # of the text's digits


def expected(op, runs):
    if op["kind"] == "communication":
        return op["measured"]
    spread = (op["high"] - op["low"]) / op["measured"]
    return op["measured"] * (1 + max(0, HALF_WIDTH * spread / math.sqrt(runs) - PRECISION))


comparison = json.load(sys.stdin)
runs = comparison["ranks"] * comparison["steps"]
ops = [o for o in comparison["ops"] if o["predicted"] and o["measured"]]
if not ops or not all(o["profiled"] for o in ops):
    sys.exit("an op is not predicted from the profile")
own = [o for o in ops if abs(o["predicted"] - expected(o, runs)) < max(SECONDS, 1e-6 * o["measured"])]
kernels = sum(o["kind"] == "compute" for o in own)
if kernels < OWN_KEYS or not any(o["kind"] == "communication" for o in own):
    sys.exit(f"{kernels} of {len(ops)} ops are kernels that are predicted as measured: " + ", ".join(o["name"] for o in own))
print("predicted as measured")
