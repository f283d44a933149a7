"""A predicted step as execution traces of MLCommons Chakra, one for each rank, as ASTRA-sim reads them.

    dopt -emit=timeline -cluster=h100 step.dir -o step.json
    python3 -m dopt.chakra step.json step.dir -o step

The timeline says what runs when on each distinguished device; the module, as dopt prints it, has what the timeline lacks:
operands, the mesh, and who sends to whom. The result is step.0.et, step.1.et ... and step.groups.json, the ranks of each
communicator. Chakra's times are whole microseconds; the attributes dopt_start_us and dopt_duration_us are exact.
"""
import collections
import itertools
import json
import math
import re
import struct
import sys

from dopt import script

VALUES = {"double": 3, "int32": 7, "int64": 9, "uint64": 13, "bool": 27, "string": 29}  # fields of AttributeProto
COMPUTE, SEND, RECEIVE, COLLECTIVE = 4, 5, 6, 7  # NodeType
COPIES = {"offload": 3, "reload": 2}  # MEM_STORE_NODE, MEM_LOAD_NODE: the host's memory is the remote one
# CollectiveCommType, and whether comm_size, what a rank contributes, is a part of the bytes of the whole tensor.
KINDS = {"allreduce": (0, False), "reduce": (1, False), "allgather": (2, True), "gather": (3, True), "scatter": (4, False),
         "broadcast": (5, False), "alltoall": (6, False), "reducescatter": (7, False)}


def varint(n):
    return bytes([n & 127 | 128]) + varint(n >> 7) if n > 127 else bytes([n])


def field(number, value):
    """A field of a message: an integer, a double, or text, bytes or another message."""
    if isinstance(value, float):
        return varint(number << 3 | 1) + struct.pack("<d", value)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    raw = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(raw)) + raw


def attributes(number, rows):
    return b"".join(field(number, field(1, name) + field(VALUES[kind], value)) for name, kind, value in rows)


def ended(event, other):
    return event["ts"] + event["dur"] < other["ts"] + 5e-7  # half a picosecond


class Module:
    """The text of a module: its device axes and the ops of @main, each with its name, line, operands, from and to."""
    def __init__(self, name, text):
        self.name, self.axes, self.stages, self.single, self.ops = name, {}, {}, set(), []
        times, made, depth, inside = set(), {}, 0, False
        for number, line in enumerate(text.split("\n"), 1):
            line = re.sub(r'"(\\.|[^"\\])*"', '""', line).split("//")[0]
            if mesh := re.match(r"(mesh|steps) \[(.*?)\](?:.*stages = \[(.*?)\])?", line):
                axes = {axis: int(n) for axis, n in re.findall(r"(\w+) = (\d+)", mesh[2])}
                (self.axes if mesh[1] == "mesh" else times).update(axes)
                if mesh[3]:
                    self.stages[min(axes)] = [int(place) for place in mesh[3].split(",")]
            if not inside or line.startswith("}"):
                inside = line.startswith("func @main")
                continue
            self.single.update(axis for axis in re.findall(r"@(\w+)=\d", line) if axis not in times)
            if op := depth == 0 and re.match(r"\s+(?:(%.*?) = )?(\w+)", line):
                self.ops.append((op[2], number, set(), {k: int(n) for k, n in re.findall(r"\b(from|to) = (\d+)", line)}))
            if self.ops:
                self.ops[-1][2].update(made[value] for value in re.findall(r"%[\w.]+", line) if value in made)
            if op:
                made.update((value, len(self.ops) - 1) for value in re.findall(r"%[\w.]+", op[1] or ""))
            depth += line.count("{") - line.count("}")
        self.places = [dict(zip(self.axes, place)) for place in itertools.product(*map(range, self.axes.values()))]
        if not self.ops:
            self.fault(1, "the module has no ops in @main")

    def fault(self, line, text):
        sys.exit(f"{self.name}:{line}:1: error: {text}")

    def rank(self, place, axes=None, **changed):
        """Row-major over the axes."""
        number = 0
        for axis in self.axes if axes is None else axes:
            number = number * self.axes[axis] + changed.get(axis, place[axis])
        return number

    def distinguished(self, devices):
        """The axes of the timeline's devices: those of single values, and those on which the cluster's devices differ."""
        more = [axis for axis, size in self.axes.items() if axis not in self.single and size > 1]
        sets = [self.single.union(extra) for n in range(len(more) + 1) for extra in itertools.combinations(more, n)]
        fits = [s for s in sets if math.prod(self.axes.get(axis, 0) for axis in s) == devices]
        if len(fits) != 1:
            self.fault(1, f"{devices} devices of the timeline match {len(fits)} sets of axes of the mesh; expected one")
        return [axis for axis in self.axes if axis in fits[0]]


class Step:
    def __init__(self, module, trace):
        self.module, self.other = module, trace["otherData"]
        events = [e for e in trace["traceEvents"] if e["ph"] == "X"]
        for e in events:
            op = e["args"]["op"]
            if op >= len(module.ops) or module.ops[op][0] != e["name"].split(" ")[0] or (
                    e["cat"] == "collective" and e["args"]["axis"] not in module.axes):
                module.fault(module.ops[min(op, len(module.ops) - 1)][1], f"op {op} of @main is not '{e['name']}', as in the "
                             "timeline; give the module as dopt prints it, with -pass=inline if it has calls")
        self.axes = module.distinguished(self.other["devices"])
        messages = [e["args"] for e in events if e["cat"] == "collective"]
        sends = sorted({(m["op"], m["turn"]) for m in messages if m["kind"] == "send"})
        self.tags, self.groups, self.group = {send: tag for tag, send in enumerate(sends)}, {}, {}
        for axis in sorted({m["axis"] for m in messages if m["kind"] != "send"}):
            for rank, place in enumerate(module.places):  # names are numbers, for ASTRA-sim; its group 0 has all ranks
                name = self.group.setdefault((axis, module.rank(place, **{axis: 0})), str(len(self.groups) + 1))
                self.groups.setdefault(name, []).append(rank)
        first = min(e["pid"] for e in trace["traceEvents"])
        place_of = {module.rank(place, self.axes): place for place in module.places}
        self.devices = [self.device([e for e in events if e["pid"] == first + d], place_of[d]) for d in sorted(place_of)]

    def device(self, events, place):
        """Each event with the events that it depends on: those issued before it, and those of its operands."""
        runs, sources, last, out, kernel, issued = collections.defaultdict(list), [], {}, [], None, {}
        for e in events:  # as issued: what communicates, other than a receive, is posted after the kernels before it
            kernel = e if e["tid"] == 0 else kernel
            receive = e["cat"] == "collective" and self.message(e["args"], place)[0] == RECEIVE
            issued[id(e)] = receive, [kernel] if e["cat"] == "collective" and kernel and not receive else []
        events = sorted(events, key=lambda e: (e["ts"], e["ts"] + e["dur"]))
        for i, e in enumerate(events):
            runs[e["args"]["op"]].append(i)
        for op in self.module.ops:  # views and other ops that take no time: what their operands depend on
            sources.append(set().union(*({o} if o in runs else sources[o] for o in op[2])))
        number = {id(e): i for i, e in enumerate(events)}
        for i, e in enumerate(events):
            data, turn, turns, (receive, before) = set(), e["args"]["turn"], len(runs[e["args"]["op"]]), issued[id(e)]
            for made in (runs[source] for source in sources[e["args"]["op"]] if not receive):
                # The same iteration, or the last of it; in any case one that had ended.
                n = max((turn + 1) * len(made) // turns, turn * len(made) // turns + 1)
                data.update(next(([j] for j in reversed(made[:n]) if j < i and ended(events[j], e)), []))
            control = {number[id(k)] for k in before} | {last.get(e["tid"], i)}
            out.append((e, sorted(j for j in control if j < i and ended(events[j], e)), sorted(data)))
            last[e["tid"]] = i
        return out

    def message(self, args, place):
        """Type and attributes of the node of a collective or a send."""
        module, axis, size, ends = self.module, args["axis"], int(args["bytes"]), self.module.ops[args["op"]][3]
        if args["kind"] == "send":
            stages = module.stages.get(axis, range(module.axes[axis]))
            source, target = stages[ends["from"]], stages[ends["to"]]
            return SEND if place[axis] == source else RECEIVE, [
                ("comm_size", "int64", size), ("comm_src", "int32", module.rank(place, **{axis: source})),
                ("comm_dst", "int32", module.rank(place, **{axis: target})),
                ("comm_tag", "int32", self.tags[args["op"], args["turn"]])]
        code, part = KINDS[args["kind"]]
        return COLLECTIVE, [("comm_type", "int64", code),
                            ("comm_size", "int64", size // module.axes[axis] if part else size),
                            ("pg_name", "string", self.group[axis, module.rank(place, **{axis: 0})])]

    def node(self, number, rank, e, control, data):
        args, code = e["args"], COPIES.get(e["name"].split(" ")[0], COMPUTE)
        if e["cat"] == "collective":
            code, rows = self.message(args, self.module.places[rank])
        else:
            rows = [("tensor_size", "uint64", int(args["bytes"])), ("num_ops", "int64", int(args.get("flops", 0)))]
        rows += [("is_cpu_op", "bool", 0), ("dopt_op", "int64", args["op"]), ("dopt_turn", "int64", args["turn"]),
                 ("dopt_start_us", "double", float(e["ts"])), ("dopt_duration_us", "double", float(e["dur"])),
                 ("dopt_measured", "bool", int(args.get("measured", False)))]
        return field(1, number + 1) + field(2, e["name"]) + field(3, code) + b"".join(
            field(n, b"".join(varint(i + 1) for i in ids)) for n, ids in ((4, control), (5, data)) if ids) + field(
                6, round(e["ts"])) + field(7, round(e["dur"])) + attributes(10, rows)

    def write(self, prefix):
        said = [("times", "predicted by dopt; of nodes with dopt_measured from measurements of their kernels")] + [
            (key, str(self.other[key])) for key in ("program", "build", "device", "predicted_us")]
        head = field(1, "0.0.4") + attributes(2, [("dopt_" + key, "string", value) for key, value in said])
        for rank, place in enumerate(self.module.places):
            device = self.devices[self.module.rank(place, self.axes)]
            with open(f"{prefix}.{rank}.et", "wb") as out:
                for message in itertools.chain([head], (self.node(i, rank, *event) for i, event in enumerate(device))):
                    out.write(varint(len(message)) + message)
        with open(f"{prefix}.groups.json", "w", encoding="utf-8") as out:
            json.dump(self.groups, out)


def main():
    parser = script.arguments("chakra", __doc__)
    parser.add_argument("timeline", help="what dopt -emit=timeline wrote")
    parser.add_argument("module", help="the module that it was made from, as dopt prints it")
    parser.add_argument("-o", required=True, dest="prefix", help="write PREFIX.0.et, PREFIX.1.et ... and PREFIX.groups.json")
    o = parser.parse_args()
    try:
        with open(o.timeline, encoding="utf-8") as file:
            trace = json.load(file)
        if not isinstance(trace, dict) or trace.get("otherData", {}).get("format") != "dopt-timeline":
            sys.exit(f"{o.timeline}:1:1: error: not a timeline; make one with dopt -emit=timeline")
        with open(o.module, encoding="utf-8", errors="replace") as file:
            module = Module(o.module, file.read())
        Step(module, trace).write(o.prefix)
    except json.JSONDecodeError as error:
        sys.exit(f"{o.timeline}:{error.lineno}:{error.colno}: error: {error.msg}")
    except (KeyError, TypeError, UnicodeDecodeError) as error:
        sys.exit(f"{o.timeline}:1:1: error: not a timeline as dopt writes it: {type(error).__name__}: {error}")


if __name__ == "__main__":
    script.run(main)
