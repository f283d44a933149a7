"""python overlap.py DOPT FILE: the first module of overlap.dir, predicted with the pass and without it."""
import json
import math
import subprocess
import sys

DOPT, FILE = sys.argv[1:]
text = open(FILE).read().split("// -----")[0]


def output(*words):
    return subprocess.run([DOPT, "-cluster=h100", "-D", "nodes=1", *words, "-"], input=text, capture_output=True, text=True, check=True).stdout


for size in 512, 4096:  # where the message is longer than the product, and where it is shorter
    sizes = ["-D", f"D={size}"]
    before, after = (row["cost"]["iteration"] for row in json.loads(output(*sizes, "-pass=overlap", "-stats=json", "-emit=none")))
    trace = json.loads(output(*sizes, "-emit=timeline"))
    events = trace["traceEvents"] if isinstance(trace, dict) else trace
    took = {e["args"]["value"]: e["dur"] * 1e-6 for e in events if e.get("args", {}).get("value")}
    assert math.isclose(before - after, min(took["%s"], took["%g"]), rel_tol=0.01), (size, before, after, took)
