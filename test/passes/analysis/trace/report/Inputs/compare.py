"""A comparison against the files that it was made from.

    compare.py COMPARISON TIMELINE STATS TRACES
    COMPARISON: dopt-trace compare -format=json; TIMELINE: dopt -emit=timeline; STATS: dopt -stats=json

Medians, quartiles of the traces (of ranks of one host) are computed here; predictions are those of dopt.
"""
import glob
import json
import statistics
import sys


def read(path):
    with open(path) as f:
        return json.load(f)


def close(a, b, digits=2e-9):
    return abs(a - b) <= digits + 1e-6 * abs(b)


def main():
    found, timeline, stats = (read(p) for p in sys.argv[1:4])
    traces = [read(p) for p in sorted(glob.glob(sys.argv[4] + "/rank-*.json"))]
    last, ends, times, names = {}, {}, {}, {}
    iteration, compute = {}, {}
    for t in traces:
        rank = t["otherData"]["rank"]
        for e in t["traceEvents"]:
            if e["ph"] != "X" or e["args"]["step"] == 0:
                continue
            seconds = e["dur"] / 1e6
            step = e["args"]["step"]
            if e["cat"] == "step":
                iteration.setdefault(step, []).append(seconds)
            elif e["cat"] == "kernel":
                times.setdefault(e["args"]["op"], []).append(seconds)
                compute.setdefault(step, {}).setdefault(rank, []).append(seconds)
            elif e["cat"] == "collective":
                key = (e["args"]["op"], e["args"]["group"], e["args"]["axis"], e["args"]["sequence"])
                last[key] = max(last.get(key, 0), e["ts"])
                ends[key] = max(ends.get(key, 0), e["ts"] + e["dur"])
            names[e["args"].get("op")] = e["name"]
    for key, begin in last.items():
        times.setdefault(key[0], []).append((ends[key] - begin) / 1e6)
    predicted = {}
    for e in timeline["traceEvents"]:
        if e["ph"] == "X":
            predicted.setdefault(e["args"]["op"], []).append(e["dur"] / 1e6)
    bad = []
    ops = {o["op"]: o for o in found["ops"]}
    if set(ops) != set(times) | set(predicted):
        bad.append(f"ops {sorted(ops)}, not {sorted(set(times) | set(predicted))}")
    for op, o in ops.items():
        if op in times and not close(o["measured"], statistics.median(times[op])):
            bad.append(f"op {op}: measured {o['measured']}, not {statistics.median(times[op])}")
        if op in times and o["name"] != names[op]:
            bad.append(f"op {op}: name {o['name']}")
        if op in predicted and not close(o["predicted"], statistics.median(predicted[op])):
            bad.append(f"op {op}: predicted {o['predicted']}, not {predicted[op]}")
        if op in times and op in predicted:
            if not close(o["ratio"], o["measured"] / o["predicted"]):
                bad.append(f"op {op}: ratio {o['ratio']}")
            if not close(o["difference"], (o["measured"] - o["predicted"]) * o["count"]):
                bad.append(f"op {op}: difference {o['difference']}")
            if not o["low"] <= o["measured"] <= o["high"]:
                bad.append(f"op {op}: quartiles")
    sizes = [abs(o["difference"]) for o in found["ops"]]
    if sizes != sorted(sizes, reverse=True):
        bad.append("not sorted by the difference")
    longest = [max(v) for v in iteration.values()]
    most = [max(sum(v) for v in ranks.values()) for ranks in compute.values()]
    row = stats[-1]["cost"]
    for name, values in (("iteration", longest), ("compute", most),
                         ("exposed", [i - c for i, c in zip(longest, most)])):
        if not close(found["totals"][name]["measured"], statistics.median(values), 1e-8):
            bad.append(f"{name}: {found['totals'][name]['measured']}, not {statistics.median(values)}")
    for name in ("iteration", "compute", "communication", "exposed"):
        if not close(found["totals"][name]["predicted"], row[name]):
            bad.append(f"{name}: predicted {found['totals'][name]['predicted']}, not {row[name]}")
    if found["peak_bytes"] != {"predicted": row["peak_bytes"],
                               "measured": traces[0]["otherData"]["arena_bytes"]}:
        bad.append(f"memory {found['peak_bytes']}")
    print("\n".join(bad) if bad else "ok: %d ops, %d steps" % (len(ops), len(longest)))
    sys.exit(len(bad) > 0)


main()
