"""Is an alignment what docs/traces.md says it is? Computes constraints, bounds and O1 from the files of the
ranks, by their definitions, and compares.

    fit.py CLOCKS FOLDER      CLOCKS: what dopt-trace align -format=json -drift=0 printed

- no constraint is violated;
- with two clocks the bounds are the least and the greatest offset that violate none;
- O1 is what was printed;
- no point is better: of two clocks, all corners and 2,000 points between the bounds; of more, 2,000 random
  points around the answer that violate no constraint, near and far.
"""
import glob
import json
import random
import sys

SYMMETRIC = ("allreduce", "allgather", "reducescatter", "alltoall")


def read(folder):
    traces = []
    for path in glob.glob(folder + "/rank-*.json"):
        with open(path) as f:
            traces.append(json.load(f))
    return sorted(traces, key=lambda t: t["otherData"]["rank"])


def main():
    with open(sys.argv[1]) as f:
        answer = json.load(f)
    traces = read(sys.argv[2])
    names = [c["name"] for c in answer["clocks"]]
    offsets = [c["offset_ns"] / 1e3 for c in answer["clocks"]]
    clock = [names.index(t["otherData"]["host"]) for t in traces]
    # Collectives: key -> list of (clock, place, begin, end); times near 0 by the offsets found.
    meets = {}
    table = traces[0]["otherData"]["collectives"]
    for rank, t in enumerate(traces):
        places = {a["name"]: a["place"] for a in t["otherData"]["axes"]}
        for e in t["traceEvents"]:
            if e["ph"] == "X" and e["cat"] == "collective":
                a = e["args"]
                begin = e["ts"] + offsets[clock[rank]]
                meets.setdefault((a["axis"], a["group"], a["sequence"], a["collective"]), []).append(
                    (clock[rank], places[a["axis"]], begin, begin + e["dur"]))
    rows = []  # (clock that begins, clock that ends, end - begin)
    families = {}  # key -> list of (ends, begins), lists of (clock, time)
    for key, members in meets.items():
        c = table[key[3]]
        for me in members:
            if c["kind"] in SYMMETRIC:
                givers = members
            elif c["kind"] in ("reduce", "gather"):
                if me[1] != c["to"]:
                    continue
                givers = members
            else:
                if me[1] == c["from"] or (c["kind"] == "send" and me[1] != c["to"]):
                    continue
                givers = [m for m in members if m[1] == c["from"]] + [me]
            if len({m[0] for m in givers}) < 2:
                continue
            for m in givers:
                if m[0] != me[0]:
                    rows.append((m[0], me[0], me[3] - m[2]))
            family = (key[0], key[1], key[3]) + (() if c["kind"] in SYMMETRIC else (me[1],))
            families.setdefault(family, []).append(((me[0], me[3]), [(m[0], m[2]) for m in givers]))

    def violated(x, slack=0.0021):
        return any(x[b] - x[e] > r + slack for b, e, r in rows)

    def o1(x):
        total = 0
        for family in families.values():
            d = [e + x[c] - max(b + x[k] for k, b in begins) for (c, e), begins in family]
            mean = sum(d) / len(d)
            total += sum((v - mean) ** 2 for v in d) / len(d)
        return total

    n = len(names)
    zero = [0.0] * n
    here = o1(zero)
    print("O1 %.6f, printed %.6f" % (here, answer["spread_us"] ** 2 * len(families)))
    bad = ["outliers: O1 is of the others alone"] if answer["outliers"] else []
    if violated(zero):
        bad.append("a constraint is violated")
    if abs(here - answer["spread_us"] ** 2 * len(families)) > 1e-3 * here + 0.01:
        bad.append("O1 is another")
    rng = random.Random(5)
    if n == 2:
        high = min(r for b, e, r in rows if b == 1)
        low = max(-r for b, e, r in rows if b == 0)
        print("bounds %.3f %.3f, printed %.3f %.3f" % (
            low, high, answer["clocks"][1]["low_ns"] / 1e3, answer["clocks"][1]["high_ns"] / 1e3))
        if abs(low - answer["clocks"][1]["low_ns"] / 1e3) > 0.01:
            bad.append("the lower bound is another")
        if abs(high - answer["clocks"][1]["high_ns"] / 1e3) > 0.01:
            bad.append("the upper bound is another")
        points = [[0, s] for s in {b - a for f in families.values() for _, bs in f
                                   for k, a in bs for i, b in bs if k == 1 and i == 0} if low <= s <= high]
        points += [[0, low + (high - low) * i / 2000] for i in range(2001)]
    else:
        points = [[0] + [rng.gauss(0, 10 ** rng.uniform(-2, 2.5)) for _ in names[1:]] for _ in range(2000)]
    best = min((o1(p), p) for p in points if not violated(p, 0))
    print("best of %d others: %.6f at %s" % (len(points), best[0], best[1]))
    if best[0] < here * (1 - 1e-6) - 1e-3:
        bad.append("another point is better")
    print("; ".join(bad) if bad else "ok")
    sys.exit(len(bad))


main()
