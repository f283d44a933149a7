"""What programs did, from the traces that they wrote, and what they were predicted to do. Times in us."""
import glob
import json
import os
import statistics

# The first steps find empty caches and libraries that are not set up yet.
WARM_UP = 5


def complete_events(path):
    with open(path) as text:
        trace = json.load(text)
    return trace["otherData"], [e for e in trace["traceEvents"] if e["ph"] == "X"]


class Step:
    """One step of one rank."""

    def __init__(self, event):
        self.time = event["dur"]
        self.kernels, self.collectives = {}, {}  # by the number of the op
        self.wait = 0

    def add(self, event):
        args, ends = event["args"], event["ts"] + event["dur"]
        if event["cat"] == "kernel":
            self.kernels[args["op"]] = self.kernels.get(args["op"], 0) + event["dur"]
        elif event["cat"] == "collective":
            self.collectives[args["op"]] = args["posted"], event["ts"], ends
        elif event["cat"] == "wait":
            self.wait += event["dur"]

    def compute(self):
        return sum(self.kernels.values())


def steps_of_rank(path):
    header, events = complete_events(path)
    steps = {e["args"]["step"]: Step(e) for e in events if e["cat"] == "step"}
    for e in events:
        if e["args"]["step"] in steps:
            steps[e["args"]["step"]].add(e)
    return header, [steps[number] for number in sorted(steps)][WARM_UP:]


class Run:
    """A run of a program: medians over its steps. `thread`: another thread than that which waits runs collectives."""

    def __init__(self, folder, thread):
        ranks = [steps_of_rank(path) for path in sorted(glob.glob(os.path.join(folder, "rank-*.json")))]
        header = ranks[0][0]
        self.arena = header["arena_bytes"]
        self.names = {kernel["op"]: kernel["name"] for kernel in header["kernels"]}
        together = list(zip(*(steps for _, steps in ranks)))
        self.steps = len(together)
        every = [step for steps in together for step in steps]
        self.iteration = statistics.median(max(step.time for step in steps) for steps in together)
        self.compute = statistics.median(step.compute() for step in every)
        # Who waits least waits for messages; what the others wait longer they wait for that one.
        self.wait = statistics.median(min(step.wait for step in steps) for steps in together)
        self.besides = statistics.median(min(step.time - step.compute() for step in steps) for steps in together)
        # Where another thread runs collectives, it may have the core already while this one posts.
        self.exposed = self.besides if thread else self.wait
        self.skew = statistics.median(
            max(step.compute() for step in steps) - min(step.compute() for step in steps) for steps in together
        )
        self.kernels = medians([step.kernels for step in every])
        self.collectives = medians([carried(steps) for steps in together])
        self.communication = sum(self.collectives.values())


def medians(rows):
    return {key: statistics.median(row[key] for row in rows if key in row) for key in rows[0]}


def carried(steps):
    """What each collective took, from where the last rank had posted it and the one before had ended. Ranks
    may be in different steps at the same moment, so the clock of each is its own."""
    times = {}
    for step in steps:
        free = 0
        for op, (posted, _, end) in sorted(step.collectives.items(), key=lambda item: item[1][1]):
            times.setdefault(op, []).append(end - max(posted, free))
            free = end
    return {op: min(took) for op, took in times.items()}


class Prediction:
    """What dopt says of the same step."""

    def __init__(self, timeline):
        header, events = complete_events(timeline)
        self.iteration = header["predicted_us"]
        self.compute = header["compute_us"]
        self.communication = header["communication_us"]
        self.peak = header["peak_bytes"]
        self.kernels, self.collectives = {}, {}
        for e in events:
            op, times = e["args"].get("op"), {"kernel": self.kernels, "collective": self.collectives}.get(e["cat"])
            if times is not None:
                times[op] = times.get(op, 0) + e["dur"]
        self.exposed = self.iteration - sum(self.kernels.values())
