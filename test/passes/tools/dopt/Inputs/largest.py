"""Is the number that -largest=B finds the one that trying all multiples finds?

    largest.py DOPT UNIT BUDGET PASSES WORDS...
"""
import json
import re
import subprocess
import sys

dopt, unit, budget, passes, *words = sys.argv[1:]
unit = int(unit)
common = [dopt, f"-budget={budget}", "-pass=" + passes, "-emit=none", *words]
limit = float(re.match(r"\d+", budget)[0]) * 1e3


def run(*more):
    return subprocess.run([*common, *more], capture_output=True, text=True)


def needs(value):
    rows = json.loads(run("-stats=json", "-D", f"B={value}").stdout)
    return rows[-1]["cost"]["peak_bytes"]


scanned = unit
while needs(scanned + unit) <= limit:
    scanned += unit
done = run("-largest=B", "-stats=json", "-D", f"B={unit}")
found = int(re.search(r"largest B: (\d+), ", done.stderr)[1])
examples = json.loads(done.stdout)[-1]["cost"]["examples"]
print("the same" if found == scanned == examples and found > unit else f"{found}, not {scanned}; {examples} examples")
