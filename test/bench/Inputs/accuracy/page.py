"""The results as a page of Markdown, and as data."""
import json
import os
import statistics
import types

from tables import filled, number, table

TOTAL_GOAL, EXPOSED_GOAL = 5, 10  # percent

HEAD = """# Predicted and measured

Written by `test/bench/accuracy BUILD -page docs/accuracy.md`{options}, on {date}, {machine}; load when it began: \
{load:.1f} processes, when it ended: {load_after:.1f}.

Training steps of three models in three plans on two ranks, over four links. The kernels were timed by `dopt -measure`,
within minutes of the runs of the programs; links are described to `dopt -cluster`, and on the real one `-replay=fine`
slows down computation that overlaps with communication. Measured times are read from traces: medians over the steps,
then over {rounds} rounds of {seconds} s each.

- **mlp**: `digits_plain.dir`; **cnn**: `digits_cnn.dir`; **gpt**: `char_gpt.dir`; **gpt256**: the same of width 256 with
  128 characters; **resnet64**: `resnet50.dir` on 64 pixels a side; each with `grad,sgd,dp,opfuse`.
- **unfused**: an allreduce for each gradient, waited for by the updates at the end of the step. **bucketed**: all
  gradients in one collective after the backward pass. **overlapped**: collectives of up to 256 KB that overlap with the
  backward pass of earlier layers.
- **0.25, 1, 4 GB/s**: ranks are threads of one process, on their own cores (`-bind`), over an emulated link (`-link`).
  **veth**: ranks are MPI processes in two network namespaces, connected by a veth pair with `tbf rate
  {rate} burst {burst}`.
- Inputs are the same in all steps (no `-data`): reading rows is not part of a prediction.
- The length of runs, the burst of the veth pair and the definition of exposed were selected on mlp, cnn and gpt;
  gpt256 and resnet64 were held out.
- **exposed** is the time for which a rank waits for collectives, plus, over MPI, the time of posting them, in which the
  other thread may use the core; the smallest over the ranks. **memory** is the arena of the prediction and of the
  program.
"""

GOALS = """
Goals: the step within {total} %, exposed communication within {exposed} %, memory to the byte. Met: the step in {a} of
{n} cases, exposed communication in {b}, memory in {c}. Values that miss a goal are marked with `!`.
"""

# What each kind of miss comes from, where there is one.
CAUSES = {
    "kernels": "**Kernels took other times than alone** ({cases}). Small products are computed by a library that allocates "
    "memory for each, which takes 20 or 60 us for the 240 products of the cnn's input, depending on the state of "
    "the heap. After a wait the first kernels have colder caches. On one core of the veth cases the operating "
    "system's network code runs, too.",
    "messages": "**Collectives took longer than latency and bandwidth predict** ({cases}). Over MPI a message makes progress "
    "when the communication thread polls it, and that thread and the system's network code share the core with "
    "the computation: either may wait for a tick of the scheduler, 4 ms here, which is consistent with the times "
    "but was not verified separately. A description has one latency, without overlapping computation.",
    "waiting": "**Waits were longer than the collectives** ({cases}). The sums that a rank computes itself when it waits, at"
    " 46 GB/s, are not part of the description of a link; where a link is fast and nearly all communication "
    "overlaps, they amount to some tens of microseconds.",
    "rest": "**Ranks were not equally fast** ({cases}): the time of the step is that of the slowest rank, kernels and "
    "waits are those of the median rank.",
}


def off(predicted, measured):
    return 100 * (predicted / measured - 1) if measured else 0


class Row:
    """One case: medians of the rounds, and of their errors."""

    TIMES = ("iteration", "compute", "communication", "exposed")

    def __init__(self, name, rounds):
        self.name, self.rounds = name, rounds
        middle = statistics.median
        self.predicted = {t: middle(getattr(p, t) for p, _ in rounds) for t in self.TIMES}
        self.measured = {t: middle(getattr(m, t) for _, m in rounds) for t in self.TIMES}
        self.total_off = middle(off(p.iteration, m.iteration) for p, m in rounds)
        self.exposed_off = middle(off(p.exposed, m.exposed) for p, m in rounds)
        self.skew = middle(m.skew for _, m in rounds)
        self.steps = sum(m.steps for _, m in rounds)
        self.peak, self.arena = rounds[0][0].peak, rounds[0][1].arena
        self.met = (
            abs(self.total_off) <= TOTAL_GOAL,
            abs(self.exposed_off) <= EXPOSED_GOAL,
            self.peak == self.arena,
        )

    def cause(self):
        """Where most of a miss is; empty without one."""
        if self.met[0] and self.met[1]:
            return ""
        p, m = self.predicted, self.measured
        if self.met[0]:
            late = m["communication"] - p["communication"]
            return "messages" if abs(late) > abs(m["exposed"] - p["exposed"]) / 2 else "waiting"
        parts = {
            "kernels": m["compute"] - p["compute"],
            "messages": m["exposed"] - p["exposed"],
            "rest": m["iteration"] - p["iteration"] - (m["compute"] - p["compute"]) - (m["exposed"] - p["exposed"]),
        }
        return max(parts, key=lambda name: abs(parts[name]))

    def cells(self):
        p, m = self.predicted, self.measured
        mark = ["" if ok else " !" for ok in self.met]
        return [
            self.name,
            number(p["iteration"]), number(m["iteration"]), f"{self.total_off:+.1f}{mark[0]}",
            number(p["exposed"]), number(m["exposed"]), f"{self.exposed_off:+.1f}{mark[1]}",
            number(self.peak), f"{number(self.arena)}{mark[2]}",
        ]  # fmt: skip

    def op_cells(self):
        """Kernels and collectives by themselves: sums, and the op that is furthest off."""
        p, m = self.predicted, self.measured
        predicted, did = self.rounds[-1]
        both = [(op, predicted.kernels[op], did.kernels[op]) for op in predicted.kernels if op in did.kernels]
        worst = max(both, key=lambda row: abs(row[1] - row[2]))
        return [
            self.name,
            number(p["compute"]), number(m["compute"]), f"{off(p['compute'], m['compute']):+.1f}",
            f"{did.names[worst[0]]}: {worst[1]:.1f}, {worst[2]:.1f}",
            len(did.collectives),
            number(p["communication"]), number(m["communication"]),
            f"{off(p['communication'], m['communication']):+.1f}",
        ]  # fmt: skip

    def data(self):
        return {name: value for name, value in vars(self).items() if name != "rounds"} | {
            "rounds": [{"predicted": vars(p), "measured": vars(m)} for p, m in self.rounds]
        }


def by_hand(path):
    """What a page has that is not written by this program: the section about a GPU, which is at its end."""
    if not os.path.exists(path):
        return ""
    with open(path) as text:
        _, mark, rest = text.read().partition("\n## One H100")
    return mark + rest


def load(path):
    """Rounds by the name of the case, and links, as data() gave them."""
    with open(path) as text:
        data = json.load(text)
    thing = lambda values: types.SimpleNamespace(**values)
    cases = {case["name"]: [(thing(r["predicted"]), thing(r["measured"])) for r in case["rounds"]] for case in data["cases"]}
    return cases, [thing(link) for link in data["links"]]


class Page:
    def __init__(self, results, failures, links, skipped, settings):
        self.rows = [Row(name, rounds) for name, rounds in results.items() if rounds]
        self.failures, self.links, self.skipped, self.settings = failures, links, skipped, settings

    def data(self):
        links = [{"name": l.name, "latency": l.latency, "bandwidth": l.bandwidth, "post": l.post, "steal": l.steal} for l in self.links]
        return self.settings | {
            "links": links,
            "cases": [row.data() for row in self.rows],
            "failed": self.failures,
            "skipped": self.skipped,
        }

    def cases(self):
        head = ["case", "step, us: predicted", "measured", "off, %", "exposed, us: predicted", "measured", "off, %"]
        return table(head + ["memory, bytes: predicted", "allocated"], [row.cells() for row in self.rows])

    def ops(self):
        head = ["case", "kernels, us: predicted", "measured", "off, %", "furthest off: predicted, measured"]
        head += ["collectives", "sum, us: predicted", "measured", "off, %"]
        return table(head, [row.op_cells() for row in self.rows])

    def text(self):
        n = len(self.rows)
        met = [sum(row.met[i] for row in self.rows) for i in range(3)]
        first, rest = HEAD.format(**self.settings).split("\n\n", 1)[1].split("\n\n", 1)
        parts = ["# Predicted and measured\n\n" + filled(first) + "\n" + rest]
        parts.append(GOALS.format(total=TOTAL_GOAL, exposed=EXPOSED_GOAL, n=n, a=met[0], b=met[1], c=met[2]))
        parts.append("\n" + self.cases())
        for name, reason in self.failures.items():
            parts.append(f"\n**Failed**: {name}: {reason}\n")
        if self.skipped:
            parts.append(f"\nLeft out, {self.settings['missing']}: {', '.join(self.skipped)}.\n")
        causes = {}
        for row in self.rows:
            if row.cause():
                causes.setdefault(row.cause(), []).append(row.name)
        if causes:
            parts.append("\n## Causes of the misses\n")
            parts += ["\n" + filled(CAUSES[name].format(cases=", ".join(cases))) for name, cases in causes.items()]
        parts.append("\n## Op by op\n\nSums over the kernels of a step and over its collectives, each counted from when it could\n")
        parts.append("begin; and the kernel with the largest error in the last round.\n\n" + self.ops())
        parts.append("\n## The links\n\nAs they were described. \"post\" and \"ns per byte\" are the time that a message costs the computing thread.\n\n")
        rows = [
            [l.name, f"{l.latency * 1e6:.1f}", f"{l.bandwidth / 1e9:.4f}", f"{l.post * 1e6:.1f}", f"{l.steal * 1e9:.2f}"]
            for l in self.links
        ]
        parts.append(table(["link", "latency, us", "bandwidth, GB/s", "post, us", "ns per byte"], rows))
        return "".join(parts)
