"""Reads a comparison of dopt-trace as JSON. Every op is predicted from the profile: kernels that have a key of their own, of
which there are some, and a collective that is alone exactly as they were measured; those that share a key from all of
them."""
import json
import sys

OWN_KEYS = 2  # of the kernels of digits_plain at least: seven on an idle machine, two or more on a loaded one
EXACT = 1e-6  # of the text's digits

ops = [o for o in json.load(sys.stdin)["ops"] if o["predicted"] and o["measured"]]
if not ops or not all(o["profiled"] for o in ops):
    sys.exit("an op is not predicted from the profile")
exact = [o for o in ops if abs(o["predicted"] / o["measured"] - 1) < EXACT]
kernels = sum(o["kind"] == "compute" for o in exact)
if kernels < OWN_KEYS or not any(o["kind"] == "communication" for o in exact):
    sys.exit(f"{kernels} of {len(ops)} ops are kernels that are predicted as measured: " + ", ".join(o["name"] for o in exact))
print("predicted as measured")
