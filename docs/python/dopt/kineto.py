"""Collectives in traces of torch.profiler (Kineto's JSON, also as .gz), as the text of a profile.

    python3 -m dopt.kineto --device h100 rank0.json rank1.json ... > h100.profile
    dopt-profile load h100.profile times.db

Give a file of each rank. docs/profiles.md says which times are taken, what is left out and what is assumed; comments in
the profile say which time it is. Depending on the version of PyTorch, NCCL's kernels have the args of their collective,
or only the event record_param_comms that launched them.
"""
import collections
import gzip
import json
import re
import statistics
import sys
import types
import zlib

from dopt import nccl_tests, script

KINDS = {name: kind for kind, names in {
    "allreduce": ["allreduce"], "reduce": ["reduce", "_reduce_oop"], "broadcast": ["broadcast", "_broadcast_oop"],
    "allgather": ["all_gather", "_allgather_base"], "reducescatter": ["reduce_scatter", "_reduce_scatter_base"],
    "alltoall": ["all_to_all", "all_to_allv"]}.items() for name in names}
SIZES = {**nccl_tests.SIZES, "byte": 1, "bool": 1, "short": 2, "long": 8, "float8_e4m3fn": 1, "float8_e5m2": 1}
FIELDS = {"traceEvents": list, "deviceProperties": list, "distributedInfo": dict, "baseTimeNanoseconds": int,
          "host_name": str}
MOST_RANKS, MOST = 1 << 20, 1 << 60  # larger numbers are not plausible


class Trace:
    """NCCL's kernels of a rank, in order; times are in us, since base_ns."""

    def __init__(self, name, text):
        self.name, self.text = name, text
        trace = json.loads(text)
        fields = [isinstance(trace, dict) and trace.get(f, kind()) for f, kind in FIELDS.items()]
        if not all(map(isinstance, fields, FIELDS.values())) or not all(isinstance(e, dict) for e in fields[0]):
            raise ValueError(f"{name}:1:1: error: not a trace of torch.profiler, an object with {', '.join(FIELDS)}")
        events, self.devices, info, self.base_ns, self.host = fields
        self.rank, self.world = str(info.get("rank", "")), info.get("world_size")
        self.kernels, last = sorted(self.read(events), key=lambda k: k.begin), None
        for k in self.kernels:
            if last and k.begin < last.end:
                k.why = last.why = "that overlap others"
            last = k if not last or k.end > last.end else last
        del self.text

    def fault(self, number, text):
        """At the event of this number; json tells only where its own errors are."""
        at = re.search(r'"traceEvents"\s*:\s*\[\s*', self.text).end()
        for _ in range(number):
            at = re.compile(r"[\s,]*").match(self.text, json.JSONDecoder().raw_decode(self.text, at)[1]).end()
        line, column = self.text.count("\n", 0, at) + 1, at - self.text.rfind("\n", 0, at)
        raise ValueError(f"{self.name}:{line}:{column}: error: {text}")

    def read(self, events):
        all_args = [e["args"] if isinstance(e.get("args"), dict) else {} for e in events]
        call, launch = ([str(a.get(name, "")) for a in all_args] for name in ("External id", "correlation"))
        records = {c: a for e, c, a in zip(events, call, all_args) if e.get("name") == "record_param_comms"}
        launches = {k: c for e, c, k in zip(events, call, launch) if str(e.get("cat")).startswith("cuda_")}
        kernels = [i for i, e in enumerate(events) if e.get("cat") == "kernel"]
        nccl = [i for i in kernels if re.match("nccl(Dev)?Kernel", str(events[i].get("name")))]
        self.others = len(kernels) - len(nccl)
        calls = [call[i] if call[i] in records else launches.get(launch[i], call[i]) for i in nccl]
        times = collections.Counter(calls)
        for i, call in zip(nccl, calls):
            begin, us = events[i].get("ts"), events[i].get("dur")
            if not all(isinstance(v, (int, float)) and abs(v) < MOST for v in (begin, us)):
                self.fault(i, "the kernel has no numbers 'ts' and 'dur'")
            k = types.SimpleNamespace(begin=begin, end=begin + us, key=None, group=None, seq=None)
            k.why = self.see(i, k, {**records.get(call, {}), **all_args[i]})
            k.why = "of several kernels" if call and times[call] > 1 else k.why
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
        k.group, k.seq, kind = (str(args.get("Process Group Name")), tuple(listed)), args.get("Seq"), KINDS.get(name)
        if not kind or dtype.lower() not in SIZES:
            return f"'{name}' of type '{dtype}'"
        parts = {"allgather": (1, n), "reducescatter": (n, 1)}.get(kind, (1, 1))
        splits = [re.findall(r"\d+", str(args.get(f"{way} split size"))) for way in ("In", "Out")]
        uneven = sent * parts[1] != received * parts[0] or any(len({*s}) > 1 for s in splits)
        if not sent or uneven or n < 2 or kind == "alltoall" and sent % n or len(listed) != n:
            return "without data, uneven, of one rank or of ranks that are not listed"
        k.key = (list(nccl_tests.KINDS).index(kind), max(sent, received) * SIZES[dtype.lower()])
        return ""


def count_nodes(traces, ranks, per_node):
    """Hosts: those that the traces name, or else ranks / per_node; where per_node is 0, a trace's devices are those of its host."""
    hosts, devices = {t.rank: t.host for t in traces}, max(len(t.devices) for t in traces)
    if not per_node and all(hosts.get(str(r)) for r in ranks):
        return len({hosts[str(r)] for r in ranks})
    if not per_node and devices < 2:
        raise ValueError(f"{traces[0].name}:1:1: error: unknown nodes; give the devices of one with --per-node")
    return len({r // (per_node or devices) for r in ranks})


def merge(traces, per_node):
    """The rows of a profile, comments on them by key, and how many are left out for which reason."""
    groups, left = collections.defaultdict(dict), collections.Counter()
    known, alone = collections.defaultdict(list), collections.defaultdict(list)
    for trace in traces:
        for k in trace.kernels:
            k.begin, k.end = (t + (trace.base_ns - traces[0].base_ns) * 1e-3 for t in (k.begin, k.end))
            groups[k.group].setdefault(trace.rank, []).append(k)
    for group, lists in groups.items():
        equal = len({tuple((k.key, str(k.seq)) for k in ks) for ks in lists.values()}) == 1
        together = group and {*map(str, group[1])} == {*lists} and equal
        nodes = count_nodes(traces, group[1], per_node) if any(k.key for ks in lists.values() for k in ks) else 0
        for ks in zip(*lists.values()) if together else ([k] for ks in lists.values() for k in ks):
            why = next((k.why for k in ks if k.why), "")
            us, begin = min(k.end - k.begin for k in ks), max(k.begin for k in ks)
            if together and not why and nodes == 1:  # one clock
                us = max(k.end for k in ks) - begin
                why = "whose ranks do not overlap in time" if begin > min(k.end for k in ks) else ""
            if why or us <= 0:
                left[why or "that take no time"] += len(ks)
            else:
                (known if together else alone)[ks[0].key[0], len(group[1]), nodes, ks[0].key[1]].append(us)
    rows, notes = [], {}
    for key, times in {**alone, **known}.items():
        us = statistics.median(times) if key in known else min(times)
        quarters = statistics.quantiles(times, n=4, method="inclusive") if len(times) > 1 else [us] * 3
        rows.append((key, us * 1e-6, (quarters[2] - quarters[0]) / us, len(times)))
        what = "from the last begin to the last end" if key[2] == 1 else "of each the shortest kernel"
        notes[key] = f"median of {len(times)}, {what}" if key in known else f"shortest of {len(times)} kernels"
    return rows, notes, left


def main():
    parser = script.arguments("kineto", __doc__)
    parser.add_argument("trace", nargs="+", help="what torch.profiler has written, a file of each rank")
    parser.add_argument("--device", type=nccl_tests.device_name, required=True, help="whose collectives they are")
    parser.add_argument("--per-node", type=int, default=0, help="devices of a node; by default as traces name hosts")
    o = parser.parse_args()
    if o.per_node < 0:
        parser.error("--per-node: a node has at least 1")
    traces, faults = {}, []
    for name in o.trace:
        try:
            with (gzip.open if name.endswith(".gz") else open)(name, "rt", encoding="utf-8", errors="replace") as file:
                trace = Trace(name, file.read())
            if trace.rank in traces or len(o.trace) > 1 and not trace.rank:
                raise ValueError(f"{name}:1:1: error: expected a rank in 'distributedInfo' that no other file has")
            traces[trace.rank] = trace
        except json.JSONDecodeError as e:
            faults.append(f"{name}:{e.lineno}:{e.colno}: error: not JSON, or cut off: {e.msg}")
        except (ValueError, OSError, EOFError, zlib.error) as e:
            faults.append(str(e) if isinstance(e, ValueError) else f"{name}: {getattr(e, 'strerror', 0) or e}")
    if faults:
        sys.exit("\n".join(faults))
    try:
        rows, notes, left = merge(list(traces.values()), o.per_node)
    except ValueError as e:
        sys.exit(str(e))
    for why, n in sorted(left.items()):
        print(f"note: left out: {n} kernels {why}", file=sys.stderr)
    print(f"note: left out: {sum(t.others for t in traces.values())} kernels that are not NCCL's", file=sys.stderr)
    if not rows:
        sys.exit(f"{o.trace[0]}:1:1: error: there is no collective that a profile can have")
    nccl_tests.write(rows, o.device, "kineto", sys.stdout, notes)


if __name__ == "__main__":
    script.run(main)
