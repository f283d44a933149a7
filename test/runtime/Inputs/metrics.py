"""Prints which steps and tests the lines of -metrics have, and whether their values are those that were printed.

    metrics.py METRICS PRINTED BATCH
"""

import json
import re
import sys

metrics, printed, batch = sys.argv[1:]
lines = [json.loads(line) for line in open(metrics)]
steps = [x for x in lines if "outputs" in x]
tests = [x for x in lines if "test" in x]
for x in steps:
    assert x["seconds"] > 0 and x["memory_bytes"] > 0, x
    assert 0 <= x.get("exposed_seconds", 0) < 1, x
    assert abs(x["examples_per_second"] * x["seconds"] / int(batch) - 1) < 1e-4, x
assert "exposed_seconds" in steps[0], steps  # the second step of a run is timed
text = open(printed).read()
wanted = [(int(n), float(v)) for n, v in re.findall(r"^step (\d+) loss (\S+)", text, re.M)]
found = [(x["step"], x["outputs"]["loss"]) for x in steps]
same = found[: len(wanted)] == wanted
same &= [x["test"]["loss"] for x in tests] == [float(v) for v in re.findall(r"^test loss (\S+)", text, re.M)]
print(
    "steps %s, tests %s, values %s"
    % (" ".join(str(x["step"]) for x in steps), " ".join(str(x["step"]) for x in tests), "as printed" if same else "differ")
)
