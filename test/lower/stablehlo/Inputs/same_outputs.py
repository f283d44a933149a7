"""same_outputs.py DOPT MODULE TEXT: does one step of both print the same numbers, as many as are printed? Relative to the largest of a tensor, 1e-6."""
import math
import re
import subprocess
import sys

dopt, *files = sys.argv[1:]


def run(file):
    done = subprocess.run([dopt, "-run", file], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    lines = (line.split(" = ", 1) for line in done.stdout.splitlines())
    words = {head: re.findall(r"[^][, ]+", value) for head, value in lines}
    return {head: [float({"true": 1, "false": 0}.get(w, w)) for w in value if w != "..."] for head, value in words.items()}


before, after = (run(file) for file in files)
if before.keys() != after.keys():
    sys.exit(f"outputs {sorted(before)} became {sorted(after)}")
for name, expected in before.items():
    found = after[name]
    largest = max((abs(v) for v in expected if math.isfinite(v)), default=1)
    same = len(found) == len(expected) and all(
        a == b or (a != a and b != b) or abs(a - b) <= 1e-6 * max(1, largest) for a, b in zip(expected, found))
    if not same:
        sys.exit(f"{name}: {expected} became {found}")
print(f"{len(before)} outputs are the same")
