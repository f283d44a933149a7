"""Reads a comparison of dopt-trace as JSON. Ops with one key have their mean, so the sum of all kernels, and a collective
that is alone, are predicted as they were measured."""
import json
import sys

ops = [o for o in json.load(sys.stdin)["ops"] if o["predicted"] and o["measured"]]
if not ops or not all(o["profiled"] for o in ops):
    sys.exit("an op is not predicted from the profile")
for kind in ("compute", "communication"):
    predicted = sum(o["predicted"] * o["count"] for o in ops if o["kind"] == kind)
    measured = sum(o["measured"] * o["count"] for o in ops if o["kind"] == kind)
    if abs(predicted / measured - 1) > 0.03:
        sys.exit(f"{kind}: predicted {predicted}, measured {measured}")
print("predicted as measured")
