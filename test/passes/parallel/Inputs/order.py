"""Are the messages of the first stage in the order of micro-batches that a schedule has?

    order.py DOPT DOPT-SCHEDULE SCHEDULE STAGES STEPS WORD ...

The predicted step of `DOPT WORD ...` is held against what `DOPT-SCHEDULE make` writes: the first stage sends after each
of its forwards and receives before each of its backwards.
"""
import json
import re
import subprocess
import sys

dopt, tool, schedule, stages, steps, *words = sys.argv[1:]
made = subprocess.run([tool, "make", f"-schedule={schedule}", f"-ranks={stages}", f"-steps={steps}"], check=True, capture_output=True, text=True)
cells = made.stdout.splitlines()[0].split(",")
expected = [int(re.fullmatch(r"0[FB](\d+)", cell)[1]) for cell in cells if cell]
timeline = json.loads(subprocess.run([dopt, *words, "-emit=timeline"], check=True, capture_output=True, text=True).stdout)
events = [e for e in timeline["traceEvents"] if e["ph"] == "X" and e["name"] == "send" and "turn" in e["args"]]
first = min(e["pid"] for e in events)
# what is sent once, as a param that stages share is, is of no micro-batch
counts = {value: sum(e["args"]["value"] == value and e["pid"] == first for e in events) for value in {e["args"]["value"] for e in events}}
sent = [e["args"]["turn"] for e in sorted(events, key=lambda e: e["ts"]) if e["pid"] == first and counts[e["args"]["value"]] > 1]
if sent != expected:
    sys.exit(f"micro-batches of the messages: {sent}, of the schedule: {expected}")
print(len(sent), "messages in the order of", schedule)
