"""python overlap.py DOPT FILE LLAMA STEPS: the first module of overlap.dir, predicted with the pass and without it; and the law that the
step never gets slower, on steps of Llama of sizes and layouts that are drawn at random."""
import json
import math
import random
import subprocess
import sys

DOPT, FILE, LLAMA, DRAWN = *sys.argv[1:4], int(sys.argv[4])
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

# A gradient of the batch that is computed later is summed up later: where nothing is left to compute then, the step would be slower.
draw = random.Random(0)
faster = 0
for _ in range(DRAWN):
    sizes = {"B": 64, "T": draw.choice((16, 64, 1024)), "V": 32000, "D": draw.choice((1024, 4096)), "L": draw.choice((1, 2)),
             "A": 8, "G": 8, "F": draw.choice((256, 4096))}
    words = [word for k, v in sizes.items() for word in ("-D", f"{k}={v}")] + ["-mesh=" + draw.choice(("a=2,b=2", "a=2,b=4"))]
    passes = f"inline,grad,adam,parallelize{{policy=megatron,replay=false}},{draw.choice(('', 'opfuse,', 'opfuse,', 'prefetch,'))}overlap"
    made = subprocess.run([DOPT, "-cluster=h100x32", *words, "-stats=json", "-emit=none", f"-pass={passes}", LLAMA], capture_output=True, text=True, check=True)
    before, after = (row["cost"]["iteration"] for row in json.loads(made.stdout)[-2:])
    assert after <= before * (1 + 1e-9), (words, passes, before, after)
    faster += after < before
assert faster > DRAWN / 2, faster
