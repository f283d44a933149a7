"""Traces of a run that never was: what every event's time truly is is known, and written by clocks that
are wrong on purpose.

    generate.py FOLDER [-hosts H] [-ranks R] [-steps S] [-offset US] [-drift PPM] [-noise US] [-seed N]
                       [-tp] [-kinds allreduce,broadcast,...] [-pause US] [-slow RANK:FACTOR] [-even]
                       [-spikes SHARE:US]

R ranks on each of H hosts. A step has, for each kind of collective, a kernel and that collective. A rank
begins a collective when its kernel is done; it ends for those that get something DURATION after the last
of those that give has begun, and up to `noise` later, for each rank on its own. Clocks of hosts but the
first are off by up to `offset` and run wrong by up to `drift`. With -tp ranks of a host have an axis of
their own, with collectives that no other host sees. Kernels take 300 us, give or take a fifth; with -even
none is given or taken; a share of the ends is later by up to -spikes; those of the slow rank take FACTOR times as long. FOLDER/truth.json has the true begin and end of every
event, by rank, in the order of the files.
"""
import argparse
import json
import os
import random

DURATION = 400e3  # ns
KERNEL = 300e3
ORIGIN = 5e12  # of the true clock

GIVES = {  # does place `i` give, and does place `k` get, of `n`? Roots are the last place.
    "allreduce": (lambda i, n: True, lambda k, n: True),
    "allgather": (lambda i, n: True, lambda k, n: True),
    "reducescatter": (lambda i, n: True, lambda k, n: True),
    "alltoall": (lambda i, n: True, lambda k, n: True),
    "reduce": (lambda i, n: True, lambda k, n: k == n - 1),
    "gather": (lambda i, n: True, lambda k, n: k == n - 1),
    "broadcast": (lambda i, n: i == n - 1, lambda k, n: k != n - 1),
    "scatter": (lambda i, n: i == n - 1, lambda k, n: k != n - 1),
    "send": (lambda i, n: i == n - 1, lambda k, n: k == 0),
}


def options():
    p = argparse.ArgumentParser()
    p.add_argument("folder")
    p.add_argument("-hosts", type=int, default=2)
    p.add_argument("-ranks", type=int, default=1)
    p.add_argument("-steps", type=int, default=50)
    p.add_argument("-offset", type=float, default=1e6)
    p.add_argument("-drift", type=float, default=0)
    p.add_argument("-noise", type=float, default=20)
    p.add_argument("-seed", type=int, default=1)
    p.add_argument("-tp", action="store_true")
    p.add_argument("-pause", type=float, default=0, help="us between steps")
    p.add_argument("-even", action="store_true")
    p.add_argument("-spikes", default="0:0")
    p.add_argument("-slow", default="-1:1")
    p.add_argument("-kinds", default="allreduce,allreduce")
    return p.parse_args()


def us(ns):
    return "%d.%03d" % divmod(ns, 1000)


def main():
    o = options()
    rng = random.Random(o.seed)
    n = o.hosts * o.ranks
    kinds = o.kinds.split(",")
    spikes = o.spikes.split(":")
    slow = o.slow.split(":")
    # Members of each collective by rank: along dp, or along tp inside a host.
    axes = [("dp", o.hosts), ("tp", o.ranks)] if o.tp else [("dp", n)]
    collectives = [(kind, 0) for kind in kinds] + ([("allreduce", 1)] if o.tp else [])

    def place(rank, axis):
        if not o.tp:
            return rank
        return rank // o.ranks if axis == 0 else rank % o.ranks

    def group(rank, axis):
        if not o.tp:
            return 0
        return rank % o.ranks if axis == 0 else rank // o.ranks * o.ranks

    clocks = [(0, 0)] + [
        (rng.uniform(-o.offset, o.offset) * 1e3, rng.uniform(-o.drift, o.drift) * 1e-6)
        for _ in range(o.hosts - 1)
    ]
    free = [ORIGIN + rng.uniform(0, 1e5) for _ in range(n)]
    events = [[] for _ in range(n)]  # (list, begin, end, name, category, thread, arguments)
    sequence = [[0] * len(axes) for _ in range(n)]
    for step in range(o.steps):
        begins = list(free)
        for c, (kind, axis) in enumerate(collectives):
            ready = []
            for rank in range(n):
                end = free[rank] + KERNEL * (1 if o.even else rng.uniform(0.8, 1.2)) * (
                    float(slow[1]) if rank == int(slow[0]) else 1)
                events[rank].append((1, free[rank], end, "k%d" % c, "kernel", 0,
                                     {"step": step, "kernel": c, "op": 2 * c, "bytes": 1000}))
                ready.append(end)
            gives, gets = GIVES[kind]
            for rank in range(n):
                members = [r for r in range(n) if group(r, axis) == group(rank, axis)
                           and (o.tp is False or axis == 0 or r // o.ranks == rank // o.ranks)]
                size = len(members)
                last = max([ready[r] for r in members if gives(place(r, axis), size)] + [ready[rank]])
                if gets(place(rank, axis), size):
                    end = last + DURATION + rng.uniform(0, o.noise * 1e3)
                    if float(spikes[0]) and rng.random() < float(spikes[0]):
                        end += rng.uniform(0, float(spikes[1]) * 1e3)
                else:
                    end = ready[rank] + 10e3
                events[rank].append((2, ready[rank], end, "c%d" % c, "collective", 1,
                                     {"step": step, "collective": c, "op": 2 * c + 1, "bytes": 1000,
                                      "axis": axes[axis][0], "group": group(rank, axis),
                                      "sequence": sequence[rank][axis], "posted": None}))
                sequence[rank][axis] += 1
                free[rank] = end
        for rank in range(n):
            events[rank].append((0, begins[rank], free[rank], "step", "step", 0, {"step": step}))
            free[rank] += o.pause * 1e3
    os.makedirs(o.folder, exist_ok=True)
    truth = {}
    for rank in range(n):
        offset, drift = clocks[rank // o.ranks]

        def local(t):  # what the host's clock shows at the true time t
            return round(ORIGIN + (t - ORIGIN) * (1 + drift) + offset)

        lines = []
        truth[rank] = []
        for _, begin, end, name, category, thread, args in sorted(events[rank], key=lambda e: e[:2]):
            b, e = local(begin), local(end)
            truth[rank].append([begin / 1e3, end / 1e3])
            text = json.dumps(args).replace("null", us(b)).replace(" ", "")
            lines.append('{"name":"%s","cat":"%s","ph":"X","ts":%s,"dur":%s,"pid":%d,"tid":%d,"args":%s}'
                         % (name, category, us(b), us(e - b), rank, thread, text))
        header = {
            "format": "dopt-trace", "version": 1, "program": "made", "build": "0123456789abcdef",
            "run": 1, "rank": rank, "ranks": n, "host": "host%d" % (rank // o.ranks),
            "clock": "boot%d" % (rank // o.ranks), "anchor_ns": local(ORIGIN), "wall_ns": 10**18,
            "clock_error_ns": 0, "predicted_us": 0, "arena_bytes": 4096, "dropped": 0,
            "axes": [{"name": name, "size": size, "time": False, "place": place(rank, i)}
                     for i, (name, size) in enumerate(axes)],
            "kernels": [{"op": 2 * c, "name": "k%d" % c, "text": "%%k%d = relu(%%x)" % c, "flops": 1, "bytes": 1000}
                        for c in range(len(collectives))],
            "collectives": [{"op": 2 * c + 1, "name": "c%d" % c, "text": "%%c%d = %s(%%k%d)" % (c, kind, c), "kind": kind, "axis": axes[axis][0],
                             "bytes": 1000,
                             "from": axes[axis][1] - 1 if kind in ("broadcast", "scatter", "send") else 0,
                             "to": axes[axis][1] - 1 if kind in ("reduce", "gather") else 0}
                            for c, (kind, axis) in enumerate(collectives)],
        }
        with open(os.path.join(o.folder, "rank-%d.json" % rank), "w") as out:
            out.write('{"displayTimeUnit":"ns","otherData":\n%s,\n"traceEvents":[\n%s\n]}\n'
                      % (json.dumps(header), ",\n".join(lines)))
    with open(os.path.join(o.folder, "truth.json"), "w") as out:
        json.dump({"events": truth, "clocks": clocks}, out)


main()
