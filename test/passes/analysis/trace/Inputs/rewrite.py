"""Writes traces again as other tools do: rewrite.py FROM TO. The events first, sorted by time and with more
fields, then the header, keys sorted, everything indented."""
import glob
import json
import os
import sys

os.makedirs(sys.argv[2], exist_ok=True)
for path in glob.glob(sys.argv[1] + "/rank-*.json"):
    with open(path) as f:
        trace = json.load(f)
    events = sorted(trace["traceEvents"], key=lambda e: e.get("ts", 0))
    for e in events:
        e["\u00e4hnlich\n"] = [True, None, {"x": [-1e-3, "\u20ac\\\""]}]
    events += [{"ph": "C", "name": "counter", "args": {"x": 1}}, {"ph": "M"}]
    with open(os.path.join(sys.argv[2], os.path.basename(path)), "w") as out:
        out.write(json.dumps({"traceEvents": events, "x": 1}, indent=1, sort_keys=True)[:-2])
        out.write(',\n "otherData": ' + json.dumps(trace["otherData"], indent=2) + "}\n")
