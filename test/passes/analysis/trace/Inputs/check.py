"""Compares a merged trace with the truth: how far are events from where they were?

    check.py MERGED FOLDER BOUND      BOUND: us

Times of a merged trace begin at 0: the mean difference of the first rank's events is taken off.
"""
import json
import sys


def main():
    with open(sys.argv[1]) as f:
        merged = json.load(f)
    with open(sys.argv[2] + "/truth.json") as f:
        truth = json.load(f)["events"]
    found = {rank: [] for rank in truth}
    for e in merged["traceEvents"]:
        if e["ph"] == "X":
            found[str(e["pid"])].append((e["ts"], e["ts"] + e["dur"]))
    # Steps, kernels, collectives: the order of the generator.
    zero = sum(f[0] - t[0] for f, t in zip(found["0"], truth["0"])) / len(truth["0"])
    worst = 0
    for rank in truth:
        if len(found[rank]) != len(truth[rank]):
            sys.exit(f"rank {rank}: {len(found[rank])} events, not {len(truth[rank])}")
        for f, t in zip(found[rank], truth[rank]):
            worst = max(worst, abs(f[0] - zero - t[0]), abs(f[1] - zero - t[1]))
    bound = float(sys.argv[3])
    print("%s: off by %.3f us, bound %.3f us" % ("ok" if worst <= bound else "WRONG", worst, bound))
    sys.exit(worst > bound)


main()
