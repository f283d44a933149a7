"""What NVIDIA's nccl-tests print, versions of 2018 to 2026 (RCCL's print the same), as the text of a profile.

    python3 -m dopt.nccl_tests --device h100 all_reduce.txt > h100.profile
    dopt-profile load h100.profile times.db

Columns are found by their names: older versions lack some, options add others. A time is the mean of out of place and in
place, its spread their difference, relative to it; rows of one size, of several types or operations, become one with
their median. A text may contain several tests; unknown lines between them are skipped, and so are sizes of 0. Every fault
is reported at its line and column: no table, a row or a run cut off, times that are not above 0, wrong results, a size
that does not match its count.
"""
import argparse
import datetime
import itertools
import math
import re
import statistics
import sys

from dopt import script

# The test, the kind as runtime/comm/collective.def names it, and whether its size is that of all ranks' parts.
TESTS = {"all_reduce": ("allreduce", False), "reduce": ("reduce", False), "broadcast": ("broadcast", False),
         "all_gather": ("allgather", True), "gather": ("gather", True), "scatter": ("scatter", True),
         "reduce_scatter": ("reducescatter", True), "alltoall": ("alltoall", True), "sendrecv": ("send", False)}
KINDS = dict(TESTS.values())
SIZES = {"int8": 1, "uint8": 1, "char": 1, "f8e4m3": 1, "f8e5m2": 1, "half": 2, "bfloat16": 2, "int32": 4, "uint32": 4,
         "int": 4, "float": 4, "int64": 8, "uint64": 8, "double": 8}
MOST_RUNS = 1000000  # larger counts of iterations are not plausible


class Reader:
    def __init__(self, name, kind, ranks):
        self.name, self.given_kind, self.given_ranks = name, kind, ranks
        self.kind, self.ranks, self.runs, self.columns = None, [], 1, None
        self.open = self.any = False
        self.faults, self.rows = [], []

    def fault(self, column, text):
        self.faults.append(f"{self.name}:{self.line}:{column + 1}: error: {text}")

    def number(self, word):
        try:
            value = float(word[0])
        except ValueError:
            return None
        return value if math.isfinite(value) else None

    def read(self, text):
        lines = text.split("\n")
        for self.line, line in enumerate(lines, 1):
            tag = re.match(r"\[.*?>:", line)  # of mpirun --tag-output, before each line
            start = tag.end() if tag else 0
            self.see([(m[0], m.start()) for m in re.compile(r"\S+").finditer(line, start)], line[start:])
        if not self.any and not self.faults:
            self.line = 1
            self.fault(0, "not nccl-tests output: there is no table of sizes and times")
        elif self.open and not self.faults:
            self.line = max(1, len(lines) - (lines[-1] == ""))
            self.fault(len(lines[self.line - 1]),
                       "the run is cut off: there is no line 'Out of bounds values' after the table")

    def see(self, words, line):
        if not words:
            return
        if self.columns and words[0][0].isdecimal():
            self.see_row(words)
            return
        self.see_test(line, words)
        first = [word for word, _ in words[:3]]
        if len(words) > 3 and first == ["#", "size", "count"]:
            self.see_columns(words[1:])
        elif len(words) > 2 and first[:2] == ["#", "Rank"]:
            self.see_rank(words, line)
        elif "Out of bounds values" in line:
            bad = re.search(r"Out of bounds values[ :]*(\d+)", line)
            if bad and int(bad[1]):
                self.fault(words[0][1], f"{bad[1]} results are out of bounds")
            self.open, self.columns, self.kind, self.ranks = False, None, None, []
        elif runs := re.search(r"warmup iters: .* iters: *(\d+)", line.split(" agg iters:")[0]):
            self.runs = min(max(int(runs[1]), 1), MOST_RUNS)

    def see_test(self, line, words):
        """The name of a test, as all_reduce of build/all_reduce_perf -g 8."""
        test = re.search(r"([a-z_]+)_perf", line)
        if not test or "concluded" in line:
            return
        self.kind = TESTS.get(test[1], (None,))[0]
        if self.kind and self.given_kind and self.kind != self.given_kind:
            self.fault(words[0][1], f"the test measured {self.kind}, not {self.given_kind}")

    def see_rank(self, words, line):
        """#  Rank  0 Group  0 Pid 7 on host-a device ...; without Group in older versions."""
        if not words[2][0].isdecimal():
            return
        if int(words[2][0]) == 0 and self.ranks:
            self.fault(0, "there is a second rank 0: every process measured itself; build nccl-tests with MPI=1")
            return
        group, host = re.search(r" Group +(\d+)", line), re.search(r" on +(\S+)", line)
        self.ranks.append((group and group[1], host and host[1]))

    def see_columns(self, words):
        names = [word for word, _ in words]
        times = [i for i, name in enumerate(names) if name in ("time", "cputime")][:2]
        if "cputime" in names:
            self.fault(words[names.index("cputime")][1],
                       "these are times of the host's calls, not of collectives; run without -C")
        if not times:
            self.fault(words[0][1], "the table has no column of times")
            return
        ends = times[1:] + [len(names)]
        wrong = [next((i for i in range(a, b) if names[i] == "#wrong"), None) for a, b in zip(times, ends)]
        self.columns = {"n": len(names), "times": list(zip(times, wrong)),
                        "type": names.index("type") if "type" in names else None,
                        "last": max(i for i in times + wrong if i is not None)}

    def places(self, column):
        """Of the group of the first rank; 0 after a report."""
        in_group = [rank for rank in self.ranks if rank[0] == self.ranks[0][0]]
        n = len(in_group) or self.given_ranks
        if not n:
            self.fault(column, "the text does not list the ranks; give their number with --ranks")
        elif n < 2:
            self.fault(column, "a collective on one rank sends nothing")
        elif len(self.ranks) % n:
            self.fault(column, f"the groups differ in size: the first has {n} of {len(self.ranks)} ranks")
        elif self.given_ranks and self.given_ranks != n:
            self.fault(column, f"expected {self.given_ranks} ranks, found {n}")
        else:
            return n, len({host for _, host in in_group if host})
        return 0, 0

    def time(self, words, at, wrong):
        """Seconds; 0 after a report."""
        us = self.number(words[at])
        if us is None:
            self.fault(words[at][1], f"expected a time, found '{words[at][0]}'")
        elif us <= 0:
            self.fault(words[at][1], f"a collective takes longer than {words[at][0]} us")
        elif wrong is None or words[wrong][0] == "N/A":
            return us * 1e-6
        elif self.number(words[wrong]) is None:
            self.fault(words[wrong][1], f"expected a number of wrong elements, found '{words[wrong][0]}'")
        elif self.number(words[wrong]) > 0:  # -1: not checked
            self.fault(words[wrong][1], f"{words[wrong][0]} elements of the result are wrong")
        else:
            return us * 1e-6
        return 0

    def see_row(self, words):
        self.open = self.any = True
        c, column = self.columns, words[0][1]
        if len(words) <= c["last"]:
            self.fault(column, f"the row is cut off: found {len(words)} columns, expected {c['n']}")
            return
        kind = self.kind or self.given_kind
        places, nodes = self.places(column) if kind else (0, 0)
        if not kind:
            self.fault(column, "the text does not name the test; give the collective that it measured with --kind")
        if not places:
            self.columns = None  # reported only once
            return
        times = [self.time(words, *at) for at in c["times"]]
        size = int(words[0][0])
        if all(times) and size and self.size_fits(words, kind, places):
            mean = statistics.fmean(times)
            self.rows.append(((list(KINDS).index(kind), places, nodes, size), mean,
                              (max(times) - min(times)) / mean, self.runs * len(times)))

    def size_fits(self, words, kind, places):
        """The count is what each rank sends or receives; some collectives have one part per rank."""
        size = SIZES.get(words[self.columns["type"]][0]) if self.columns["type"] is not None else None
        if not size or not words[1][0].isdecimal():
            return True
        parts = KINDS[kind]
        if int(words[0][0]) == int(words[1][0]) * size * (places if parts else 1):
            return True
        self.fault(words[0][1], f"{kind} of {places} ranks: {words[0][0]} bytes are not "
                   f"{'a multiple of ' if parts else ''}{words[1][0]} elements of {size} bytes")
        return False


def write(rows, device, backend, out, notes={}):
    """Rows are key, seconds, spread and runs; notes are comments by key."""
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    print(f'dopt-profile 2\n\ndevice "{device}" backend "{backend}"', file=out)
    for key, equal in itertools.groupby(sorted(rows), lambda row: row[0]):
        _, seconds, spreads, runs = zip(*equal)
        median = statistics.median(seconds)
        spread = max(*spreads, (max(seconds) - min(seconds)) / median)
        kind, places, nodes, size = key
        if key in notes:
            print(f"# {notes[key]}", file=out)
        print(f"collective transport=nccl kind={list(KINDS)[kind]} places={places} nodes={nodes} bytes={size} "
              f"median={median!r} spread={spread!r} runs={min(sum(runs), MOST_RUNS)} time={now}", file=out)


def device_name(text):
    if '"' in text or "\n" in text:
        raise argparse.ArgumentTypeError("a name in a profile has no quotes and no line breaks")
    return text


def main():
    parser = script.arguments("nccl_tests", __doc__)
    parser.add_argument("text", help="what a test printed")
    parser.add_argument("--device", type=device_name, required=True, help="whose collectives they are")
    parser.add_argument("--kind", choices=list(KINDS), help="the collective, if the text does not name the test")
    parser.add_argument("--ranks", type=int, default=0, help="their number, if the text does not list them")
    o = parser.parse_args()
    if o.ranks < 0 or o.ranks == 1:
        parser.error("--ranks: a collective has at least 2")
    reader = Reader(o.text, o.kind, o.ranks)
    script.read(reader, o.text)
    write(reader.rows, o.device, "nccl-tests", sys.stdout)


if __name__ == "__main__":
    script.run(main)
