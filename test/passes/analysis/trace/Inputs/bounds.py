"""Offsets of an alignment against the truth of the generator.

    bounds.py CLOCKS FOLDER [BOUND]      CLOCKS: what dopt-trace align -format=json printed

The true offset, in the middle of the trace, must be within the bounds; with BOUND also so close (us).
"""
import json
import sys

ORIGIN = 5e12


def main():
    with open(sys.argv[1]) as f:
        answer = json.load(f)
    with open(sys.argv[2] + "/truth.json") as f:
        truth = json.load(f)
    middle = max(e[1] for r in truth["events"].values() for e in r) * 1e3 / 2 + ORIGIN / 2
    bad = False
    for i, c in enumerate(answer["clocks"]):
        if i == 0:
            continue
        host = 0 if c["name"].startswith("rank") else int(c["name"][4:])
        offset, drift = truth["clocks"][host]
        off = -(offset + drift * (middle - ORIGIN)) - c["offset_ns"]  # ns
        inside = (c["low_ns"] is None or c["low_ns"] <= off + 1) and (
            c["high_ns"] is None or off - 1 <= c["high_ns"])
        text = [("none" if x is None else "%.3f us" % (x / 1e3)) for x in (c["low_ns"], c["high_ns"])]
        print("%s: low %s, high %s, truth %s, off by %.3f us" % (
            c["name"], *text, "inside" if inside else "OUTSIDE", abs(off) / 1e3))
        bad |= not inside or (len(sys.argv) > 3 and abs(off) / 1e3 > float(sys.argv[3]))
    sys.exit(bad)


main()
