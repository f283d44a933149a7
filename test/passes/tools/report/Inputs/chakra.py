"""Reads PREFIX.N.et by a reader of its own, and compares the nodes with the events of the timeline they were made from.

    chakra.py TIMELINE PREFIX STATS [RANK ...]

STATS is what -stats=json printed. Prints a line for each node of the ranks, then sums, and how long the step
takes if every node starts once those that it depends on have ended, and a message once all of its ranks can start it.
"""
import collections
import glob
import graphlib
import json
import struct
import sys

TYPES = {2: "load", 3: "store", 4: "compute", 5: "send", 6: "receive", 7: "collective"}
KINDS = ["allreduce", "reduce", "allgather", "gather", "scatter", "broadcast", "alltoall", "reducescatter"]


def number(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 128:
            return value, at


def fields(data):
    """{number: values} of a message."""
    out, at = collections.defaultdict(list), 0
    while at < len(data):
        key, at = number(data, at)
        if key & 7 == 0:
            value, at = number(data, at)
        else:
            n, at = (8, at) if key & 7 == 1 else number(data, at)
            assert key & 7 in (1, 2) and at + n <= len(data), (key, at)
            value, at = data[at:at + n], at + n
            if key & 7 == 1:
                value = struct.unpack("<d", value)[0]
        out[key >> 3].append(value)
    return out


def attributes(messages):
    out = {}
    for message in messages:
        name, value = fields(message).values()
        out[name[0].decode()] = value[0].decode() if isinstance(value[0], bytes) else value[0]
    return out


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    messages, at = [], 0
    while at < len(data):
        n, at = number(data, at)
        messages.append(fields(data[at:at + n]))
        at += n
    assert at == len(data)
    return messages[0], messages[1:]


def ids(node, key):
    out = []
    for packed in node[key]:
        at = 0
        while at < len(packed):
            value, at = number(packed, at)
            out.append(value)
    return out


with open(sys.argv[1], encoding="utf-8") as file:
    trace = json.load(file)
with open(sys.argv[3], encoding="utf-8") as file:
    cost = json.load(file)[-1]["cost"]
with open(f"{sys.argv[2]}.groups.json", encoding="utf-8") as file:
    groups = json.load(file)
events = collections.defaultdict(list)
for event in trace["traceEvents"]:
    if event["ph"] == "X":
        events[event["pid"]].append(event)
unit, before, takes = {}, collections.defaultdict(set), {}
represented, sent, received, collectives = set(), [], [], collections.defaultdict(list)
ranks = len(glob.glob(glob.escape(sys.argv[2]) + ".*.et"))
for rank in range(ranks):
    head, nodes = read(f"{sys.argv[2]}.{rank}.et")
    assert head[1] == [b"0.0.4"] and attributes(head[2])["dopt_program"] == trace["otherData"]["program"]
    end, seen, found, flops, peers = 0, {}, collections.Counter(), 0, collections.defaultdict(list)
    for node in nodes:
        a, n = attributes(node[10]), node[1][0]
        assert n not in seen and a["is_cpu_op"] == 0
        start, duration = a["dopt_start_us"], a["dopt_duration_us"]
        assert abs(node[6][0] - start) <= 0.5 and abs(node[7][0] - duration) <= 0.5
        for dep in ids(node, 4) + ids(node, 5):
            assert seen[dep] <= start + 1e-6, (rank, n, dep)  # earlier in the file, and ended
        seen[n], end, flops = start + duration, max(end, start + duration), flops + a.get("num_ops", 0)
        kind, size = TYPES[node[3][0]], a.get("tensor_size", a.get("comm_size"))
        if kind == "collective":
            kind = KINDS[a["comm_type"]]
            assert rank in groups[a["pg_name"]] and size > 0
            collectives[a["pg_name"], rank].append((kind, size, a["dopt_op"], a["dopt_turn"]))
            size *= len(groups[a["pg_name"]]) if kind in ("allgather", "gather") else 1
        elif kind in ("send", "receive"):
            assert rank == a["comm_src" if kind == "send" else "comm_dst"]
            (sent if kind == "send" else received).append((a["comm_src"], a["comm_dst"], a["comm_tag"], size))
        found[node[2][0].decode(), start, duration, a["dopt_op"], a["dopt_turn"], size] += 1
        unit[rank, n] = (a["pg_name"], a["dopt_op"], a["dopt_turn"]) if "pg_name" in a else (
            "send", a["comm_src"], a["comm_dst"], a["comm_tag"]) if "comm_tag" in a else (rank, n)
        before[unit[rank, n]].update(unit[rank, dep] for dep in ids(node, 4) + ids(node, 5))
        takes[unit[rank, n]] = duration
        if rank in map(int, sys.argv[4:]):
            print(rank, n, kind, node[2][0].decode(), *(f"{k}={a[k]}" for k in a if k.startswith(("comm_s", "comm_d", "pg"))),
                  "after", ids(node, 4), "reads", ids(node, 5))
    same = [pid for pid, some in events.items() if found == collections.Counter(
        (e["name"], e["ts"], e["dur"], e["args"]["op"], e["args"]["turn"], e["args"]["bytes"]) for e in some)]
    assert same, f"rank {rank} is none of the timeline's devices"
    represented.update(same)
    if rank == 0 or end > last:
        last = end
assert represented == set(events), "a device of the timeline has no rank"
assert abs(last - cost["iteration"] * 1e6) < 1e-4, (last, cost["iteration"])
assert sorted(sent) == sorted(received) and len(set(sent)) == len(sent)
for (group, rank), done in collectives.items():
    assert all(collectives[group, other] == done for other in groups[group])
replay = {}
for one in graphlib.TopologicalSorter(before).static_order():
    replay[one] = max((replay[dep] for dep in before[one]), default=0) + takes[one]
assert max(replay.values()) <= last + 1e-4
print(f"{ranks} ranks, {len(events)} devices, {len(sent)} sends, {len(groups)} groups, {last:.3f} us, "
      f"{max(replay.values()):.3f} us replayed")
