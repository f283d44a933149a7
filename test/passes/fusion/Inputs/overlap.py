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

# What waits for the message lives longer: with less memory than that takes ops stay where they are, with as much they move.
rows = {}
for budget in "none", "200MB", "220MB":
    more = [] if budget == "none" else [f"-budget={budget}"]
    rows[budget] = [row["cost"] for row in json.loads(output("-D", "D=4096", *more, "-pass=overlap", "-stats=json", "-emit=none"))]
assert rows["none"][0]["peak_bytes"] < 200e6 < rows["none"][1]["peak_bytes"] < 220e6, rows
assert rows["200MB"][1]["peak_bytes"] <= 200e6, rows
assert rows["220MB"][1]["iteration"] == rows["none"][1]["iteration"] < rows["200MB"][1]["iteration"], rows
