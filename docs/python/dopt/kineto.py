"""Collectives in traces of torch.profiler (Kineto's JSON, also as .gz), as the text of a profile.

    python3 -m dopt.kineto --device h100 rank0.json rank1.json ... > h100.profile
    dopt-profile load h100.profile times.db

NCCL's kernels have name, sizes and process group of their collective in their args, in older versions in those of the
event record_param_comms that launched them. With a file of each rank, the nth collectives of a group are one; its time
is that from the last begin to the last end on one node, the shortest of its kernels on several, whose clocks differ.
Otherwise a time is the shortest of all equal kernels, as others include waiting. A comment above each line says which
it is. Notes say what is left out. Assumed: no kernel is several calls; of a long list of ranks, of which PyTorch writes
the first, the rest is as far apart.
"""
import argparse
import collections
import gzip
import json
import re
import statistics
import sys
import types
import zlib

from dopt import nccl_tests

KINDS = {name: kind for kind, names in {
    "allreduce": ["allreduce"], "reduce": ["reduce", "_reduce_oop"], "broadcast": ["broadcast", "_broadcast_oop"],
    "allgather": ["all_gather", "_allgather_base"], "reducescatter": ["reduce_scatter", "_reduce_scatter_base"],
    "alltoall": ["all_to_all", "all_to_allv"]}.items() for name in names}
SIZES = {**nccl_tests.SIZES, "byte": 1, "bool": 1, "short": 2, "long": 8, "float8_e4m3fn": 1, "float8_e5m2": 1}
MOST_RANKS, MOST = 1 << 20, 1 << 60  # larger numbers are not plausible


class Trace:
    """NCCL's kernels of a rank, in order; times are in us, since base_ns."""

    def __init__(self, name, text, per_node=0):
        self.name, self.text = name, text
        try:
            trace = json.loads(text)
        except json.JSONDecodeError as e:
            raise ValueError(f"{name}:{e.lineno}:{e.colno}: error: not JSON, or cut off: {e.msg}") from None
        events = trace.get("traceEvents") if isinstance(trace, dict) else None
        if not isinstance(events, list) or not all(isinstance(e, dict) for e in events):
            raise ValueError(f"{name}:1:1: error: not a trace of torch.profiler: no list of objects 'traceEvents'")
        info, devices = trace.get("distributedInfo") or {}, len(trace.get("deviceProperties") or [])
        self.rank, self.world = info.get("rank"), info.get("world_size")
        self.base_ns, self.per_node = trace.get("baseTimeNanoseconds", 0), per_node or (devices if devices > 1 else 0)
        self.kernels, last = sorted(self.read(events), key=lambda k: (k.device, k.begin)), None
        for k in self.kernels:
            if last and k.device == last.device and k.begin < last.end:
                k.why = last.why = "that overlap others"
            last = k if not last or k.device != last.device or k.end > last.end else last

    def fault(self, number, text):
        """At the event of this number; json tells only where its own errors are."""
        at = re.search(r'"traceEvents"\s*:\s*\[\s*', self.text).end()
        for _ in range(number):
            at = re.compile(r"[\s,]*").match(self.text, json.JSONDecoder().raw_decode(self.text, at)[1]).end()
        line, column = self.text.count("\n", 0, at) + 1, at - self.text.rfind("\n", 0, at)
        raise ValueError(f"{self.name}:{line}:{column}: error: {text}")

    def read(self, events):
        all_args = [e["args"] if isinstance(e.get("args"), dict) else {} for e in events]
        records = {a.get("External id"): a for e, a in zip(events, all_args) if e.get("name") == "record_param_comms"}
        launches = {a.get("correlation"): a.get("External id") for e, a in zip(events, all_args)
                    if str(e.get("cat")).startswith("cuda_")}
        kernels = [i for i, e in enumerate(events) if e.get("cat") == "kernel"]
        nccl = [i for i in kernels if re.match("nccl(Dev)?Kernel", str(events[i].get("name")))]
        self.others = len(kernels) - len(nccl)
        calls = [all_args[i].get("External id", launches.get(all_args[i].get("correlation"))) for i in nccl]
        of_call = collections.Counter(calls)
        for i, call in zip(nccl, calls):
            begin, us = events[i].get("ts"), events[i].get("dur")
            if not all(isinstance(v, (int, float)) and abs(v) < MOST for v in (begin, us)):
                self.fault(i, "the kernel has no numbers 'ts' and 'dur'")
            device = str(events[i].get("pid"))
            k = types.SimpleNamespace(device=device, begin=begin, end=begin + us, key=None, group=None)
            k.why = self.see(i, k, {**records.get(call, {}), **all_args[i]})
            k.why = "of several kernels" if call and of_call[call] > 1 else k.why if us > 0 else "that take no time"
            yield k

    def see(self, i, k, args):
        """What the args tell; returns why the kernel is left out."""
        if "Collective name" not in args:
            return "without args"
        name, ranks, dtype = (str(args.get(a)) for a in ("Collective name", "Process Group Ranks", "dtype"))
        sent, received, n = (args.get(a) for a in ("In msg nelems", "Out msg nelems", "Group size"))
        if not all(isinstance(v, int) and 0 <= v <= MOST for v in (sent, received, n)) or n > MOST_RANKS:
            self.fault(i, f"{name}: expected numbers 'In msg nelems', 'Out msg nelems' and 'Group size'")
        listed = [int(r) for r in re.findall(r"\d+", ranks)] or list(range(n if n == self.world else 0))
        if "..." in ranks and len(listed) > 1:
            listed = [listed[0] + rank * (listed[1] - listed[0]) for rank in range(n)]
        k.group, kind = (str(args.get("Process Group Name")), tuple(listed)), KINDS.get(name)
        if not kind or dtype.lower() not in SIZES:
            return f"'{name}' of type '{dtype}'"
        parts = {"allgather": (1, n), "reducescatter": (n, 1)}.get(kind, (1, 1))
        splits = [re.findall(r"\d+", str(args.get(f"{way} split size"))) for way in ("In", "Out")]
        if (n < 2 or not sent or sent * parts[1] != received * parts[0] or any(len({*s}) > 1 for s in splits) or
                kind == "alltoall" and sent % n):
            return "that are uneven, without data or of one rank"
        if not listed:
            return "without the ranks of their group"
        if len(listed) != n:
            self.fault(i, f"{name}: 'Process Group Ranks' lists {len(listed)}, 'Group size' is {n}")
        if not self.per_node:
            self.fault(i, "the trace does not list the devices of a node; give their number with --per-node")
        k.key = (list(nccl_tests.KINDS).index(kind), n, len({rank // self.per_node for rank in listed}),
                 max(sent, received) * SIZES[dtype.lower()])
        return ""


def merge(traces):
    """The rows of a profile, comments on them by key, and how many are left out for which reason."""
    groups, left = collections.defaultdict(dict), collections.Counter()
    known, alone = collections.defaultdict(list), collections.defaultdict(list)
    for trace in traces:
        for k in trace.kernels:
            k.begin, k.end = (t + (trace.base_ns - traces[0].base_ns) * 1e-3 for t in (k.begin, k.end))
            groups[k.group].setdefault(trace.rank, []).append(k)
    for group, lists in groups.items():
        together = group and {*group[1]} == {*lists} and len({tuple(k.key for k in ks) for ks in lists.values()}) == 1
        for ks in zip(*lists.values()) if together else ([k] for ks in lists.values() for k in ks):
            key, why = ks[0].key, next((k.why for k in ks if k.why), "")
            us, begin = min(k.end - k.begin for k in ks), max(k.begin for k in ks)
            if together and not why and key[2] == 1:
                us = max(k.end for k in ks) - begin
                why = "whose ranks do not overlap in time" if begin > min(k.end for k in ks) else ""
            if why:
                left[why] += len(ks)
            else:
                (known if together else alone)[key].append(us)
    rows, notes = [], {}
    for key, times in {**alone, **known}.items():
        us = statistics.median(times) if key in known else min(times)
        quarters = statistics.quantiles(times, n=4, method="inclusive") if len(times) > 1 else [us] * 3
        rows.append((key, us * 1e-6, (quarters[2] - quarters[0]) / us, len(times)))
        what = "from the last begin to the last end" if key[2] == 1 else "of each the shortest kernel"
        notes[key] = f"median of {len(times)}, {what}" if key in known else f"shortest of {len(times)} kernels"
    return rows, notes, left


def main():
    parser = argparse.ArgumentParser(prog="dopt.kineto", description=__doc__.split("\n", 1)[0])
    parser.add_argument("trace", nargs="+", help="what torch.profiler has written, a file of each rank")
    parser.add_argument("--device", type=nccl_tests.device_name, required=True, help="whose collectives they are")
    parser.add_argument("--per-node", type=int, default=0, help="devices of a node, if not those that the trace lists")
    o = parser.parse_args()
    traces, faults = {}, []
    for name in o.trace:
        try:
            with (gzip.open if name.endswith(".gz") else open)(name, "rt", encoding="utf-8", errors="replace") as file:
                trace = Trace(name, file.read(), o.per_node)
            if trace.rank in traces or len(o.trace) > 1 and trace.rank is None:
                raise ValueError(f"{name}:1:1: error: expected a rank in 'distributedInfo' that no other file has")
            traces[trace.rank] = trace
        except (ValueError, OSError, EOFError, zlib.error) as e:
            faults.append(str(e) if isinstance(e, ValueError) else f"{name}: {getattr(e, 'strerror', 0) or e}")
    if faults:
        sys.exit("\n".join(faults))
    rows, notes, left = merge(list(traces.values()))
    for why, n in sorted(left.items()):
        print(f"note: left out: {n} kernels {why}", file=sys.stderr)
    print(f"note: left out: {sum(t.others for t in traces.values())} kernels that are not NCCL's", file=sys.stderr)
    if not rows:
        sys.exit(f"{o.trace[0]}:1:1: error: there is no collective that a profile can have")
    nccl_tests.write(rows, o.device, "kineto", sys.stdout, notes)


if __name__ == "__main__":
    main()
