"""The totals of a report against sums over the events, by true times where there are some.

    sums.py REPORT FOLDER      REPORT: what dopt-trace report -format=json printed
"""
import glob
import json
import statistics
import sys


def main():
    with open(sys.argv[1]) as f:
        report = json.load(f)
    with open(sys.argv[2] + "/truth.json") as f:
        truth = json.load(f)["events"]
    steps = {}
    ready = {}  # begin of the last member, by collective
    events = []
    for path in sorted(glob.glob(sys.argv[2] + "/rank-*.json")):
        with open(path) as f:
            trace = json.load(f)
        rank = trace["otherData"]["rank"]
        for e, (begin, end) in zip(trace["traceEvents"], truth[str(rank)]):
            events.append((rank, e, begin, end))
            if e["cat"] == "collective":
                key = (e["args"]["sequence"], e["args"]["group"])
                ready[key] = max(ready.get(key, 0), begin)
    waits = {}
    for rank, e, begin, end in events:
        if e["args"]["step"] == 0:
            continue
        sums = steps.setdefault(e["args"]["step"], {}).setdefault(
            rank, {"step": 0, "kernel": 0, "collective": 0, "waiting": 0})
        if e["cat"] == "collective":
            last = ready[(e["args"]["sequence"], e["args"]["group"])]
            sums["waiting"] += last - begin
            begin = last
        sums[e["cat"]] += end - begin
    wanted = {
        "iteration": [max(r["step"] for r in s.values()) for s in steps.values()],
        "compute": [max(r["kernel"] for r in s.values()) for s in steps.values()],
        "communication": [max(r["collective"] for r in s.values()) for s in steps.values()],
    }
    wanted["exposed"] = [i - c for i, c in zip(wanted["iteration"], wanted["compute"])]
    bad = report["steps"] != len(steps)
    for name, values in wanted.items():
        found, median = report[name]["median"] * 1e6, statistics.median(values)
        # Offsets are known to a few us; a drift that is not there changes nothing.
        wrong = abs(found - median) > 5
        print(name, found, median, "WRONG" if wrong else "")
        bad |= wrong
    for r in report["by_rank"]:
        median = statistics.median(s[r["rank"]]["waiting"] for s in steps.values())
        wrong = abs(r["waiting"] * 1e6 - median) > 5
        print("rank", r["rank"], "waiting", r["waiting"] * 1e6, median, "WRONG" if wrong else "")
        bad |= wrong
    if abs(sum(report["shares"].values()) - 1) > 0.02:
        print("shares", report["shares"])
        bad = True
    sys.exit(bad)


main()
