"""Runs dopt, and reads what it says of a step."""
import concurrent.futures
import json
import os
import re
import shlex
import subprocess

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", ".."))
# A search has a limit of its own; what hangs is cut off.
SECONDS = 600
# What is kept of a cost report.
COSTS = ("iteration", "compute", "communication", "exposed", "peak_bytes", "fits", "ops", "events", "flops")


# How a search ends what it says on its way (passes/search/progress.c).
SEARCHED = re.compile(r", (\d+) evaluations, \d+ per second.*?, ([0-9.]+) s, best after ([0-9.]+) s")


def costs_of(text):
    cost = json.loads(text)[-1]["cost"]
    return {name: cost[name] for name in COSTS}


def model(name):
    return os.path.join(ROOT, "test", "models", name + ".dir")


def shown(words):
    """A command as a page shows it: from the top of the tree, with dopt on the path."""
    return "dopt " + " ".join(shlex.quote(os.path.relpath(w, ROOT) if w.startswith(ROOT) else w) for w in words)


class Dopt:
    """The tool, working in a folder of its own. `jobs`: commands at a time where nothing is timed."""

    def __init__(self, build, folder, jobs, say):
        self.program, self.folder, self.jobs, self.say = os.path.join(build, "bin", "dopt"), folder, jobs, say

    def run(self, words):
        return self.done(words).stdout

    def done(self, words):
        """What ended well: with its outputs."""
        done = subprocess.run(
            [self.program, *words], cwd=self.folder, capture_output=True, text=True, timeout=SECONDS
        )
        if done.returncode:
            raise RuntimeError(f"{shown(words)}: exit status {done.returncode}: {done.stderr[-500:]}")
        return done

    def costs(self, words):
        """What the step takes in the end, as -stats=json has it."""
        return costs_of(self.run(words))

    def search(self, words):
        """The same, and how the search went that is the last pass."""
        done = self.done(words)
        how = SEARCHED.search(done.stderr)
        if not how:
            raise RuntimeError(f"{shown(words)}: says nothing of a search: {done.stderr[-500:]}")
        evaluations, seconds, best_at = (float(text) for text in how.groups())
        return costs_of(done.stdout) | {"evaluations": int(evaluations), "seconds": seconds, "best_at": best_at}

    def make(self, step):
        """The file of a step, unless it is there."""
        if not os.path.exists(os.path.join(self.folder, step.file)):
            self.run([*step.build(step.batch), "-o", step.file])

    def together(self, work, items):
        """Results of work(item), in order, several at a time."""
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            return list(pool.map(work, items))
