"""Is a merged trace what viewers need? merged.py FILE

Events of one thread nest, arrows begin and end inside events of their thread and go forward, no member of an
allreduce ends before all have begun, times begin at 0.
"""
import json
import sys


def main():
    with open(sys.argv[1]) as f:
        trace = json.load(f)
    events = [e for e in trace["traceEvents"] if e["ph"] == "X"]
    bad = []
    if min(e["ts"] for e in events) != 0:
        bad.append("does not begin at 0")
    names = {(e["pid"], e["args"]["name"]) for e in trace["traceEvents"] if e["ph"] == "M"}
    for pid in {e["pid"] for e in events}:
        if not {(pid, "rank %d" % pid), (pid, "compute"), (pid, "communication")} <= names:
            bad.append(f"process {pid} has no names")
    threads = {}
    for e in events:
        threads.setdefault((e["pid"], e["tid"]), []).append((e["ts"], e["ts"] + e["dur"]))
    for thread, spans in threads.items():
        open_until = []
        for begin, end in sorted(spans, key=lambda s: (s[0], -s[1])):
            while open_until and open_until[-1] <= begin + 0.0015:
                open_until.pop()
            if open_until and end > open_until[-1] + 0.0015:
                bad.append(f"thread {thread}: {begin} to {end} overlaps")
            open_until.append(end)
    arrows = {}
    for e in trace["traceEvents"]:
        if e["ph"] in "sf":
            arrows.setdefault(e["id"], {})[e["ph"]] = e
            if not any(b - 0.0015 <= e["ts"] <= t + 0.0015 for b, t in threads[(e["pid"], e["tid"])]):
                bad.append(f"an arrow outside of events: {e}")
    for a in arrows.values():
        if set(a) != {"s", "f"} or a["s"]["ts"] > a["f"]["ts"] or a["s"]["pid"] == a["f"]["pid"]:
            bad.append(f"an arrow that is none: {a}")
    members = {}
    for e in events:
        if e["cat"] == "collective":
            a = e["args"]
            members.setdefault((a["axis"], a["group"], a["sequence"]), []).append(e)
    whole = [m for m in members.values() if len(m) > 1]
    for m in whole:
        if min(e["ts"] + e["dur"] for e in m) < max(e["ts"] for e in m) - 0.002:
            bad.append(f"ends before all have begun: {m}")
    if not whole or not arrows:
        bad.append("no collectives, no arrows")
    print("\n".join(bad[:5]) if bad else "ok: %d events, %d arrows" % (len(events), len(arrows)))
    sys.exit(len(bad) > 0)


main()
