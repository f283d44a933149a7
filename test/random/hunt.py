"""hunt.py BUILD [BUILD ...] [-seconds N] [-seed S] [-only REGEX]: random tests, random pipelines and fuzzers with fresh seeds, until the time is over.

    -seconds N   stop after this long (default: 600)
    -seed S      derive all seeds from S (default: from the clock); it is printed
    -only REGEX  only what has this in its name, as the last lines print it: 'pipelines -plans'

What runs is what the builds have: tests with the label `random` or `fuzzer` in ctest, and pipelines.py, for both targets
where the build has CUDA's compiler. Whatever has had the least of its share of the time is next, one on each core. A finding is printed with the smallest program
that its test could make of it, and with the command that repeats it. The last lines count seeds and findings of each; exit status 1 if there
are findings.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

TESTS = pathlib.Path(__file__).resolve().parent.parent
FIRST_COUNT = 4  # seeds of a test's first run, which tells how long one takes
RUN_SECONDS = 30  # what later runs are to take
MOST_COUNT = 100000  # seeds of a run
END_SECONDS = 2700  # a run has no end: both targets of a block of pipelines have 900 s each, and what they find is shrunk
ALL = 24  # programs of a block of pipelines: random plans are there to be run
SHOWN = 6000  # characters of a finding
MIX = 0x9E3779B97F4A7C15  # as many different seeds as 64 bits have: the golden ratio's


class Job:
    """Something to run with seeds: a name, seconds spent, seeds tried, findings."""

    share = 1  # of the time, as against others
    at_once = 1  # a test has files of a fixed name

    def __init__(self, name, command, environment, folder):
        self.name, self.command, self.environment, self.folder = name, command, environment, folder
        self.spent = 0.0
        self.seeds = self.findings = 0
        self.running = 0
        self.count = FIRST_COUNT
        self.more = collections.Counter()  # what else the job counts

    def start(self, seed):
        """The command and the environment that try self.count seeds from `seed` on."""
        return self.command, {"DOPT_RANDOM_SEED": str(seed), "DOPT_RANDOM_COUNT": str(self.count)}

    def tried(self, seconds, _):
        self.seeds += self.count
        per_seed = max(seconds, 0.01) / self.count
        self.count = max(1, min(2 * self.count, MOST_COUNT, int(RUN_SECONDS / per_seed)))


class Pipelines(Job):
    """pipelines.py, which prints its own counts and shrinks."""

    share = 4  # all passes meet here, and a seed takes seconds
    at_once = 64  # each has a folder of its own

    def start(self, seed):
        return [*self.command, "-seed", str(seed), "-seconds", str(RUN_SECONDS)], {}

    def tried(self, _, said):
        found = re.search(r"^\d+ seeds, .*", said, re.M)
        counts = {name: int(n) for n, name in re.findall(r"(\d+) ([a-z ]+)", found[0])} if found else {}
        self.seeds += counts.pop("seeds", 0)
        counts.pop("findings", 0)
        self.more.update(counts)


class Fuzzer(Job):
    """A libFuzzer program, which counts its inputs."""

    def start(self, seed):
        asked = {"-seed": seed % (2**32 - 2) + 1, "-runs": -1, "-max_total_time": RUN_SECONDS}
        rest = [a for a in self.command if a.split("=")[0] not in asked]
        at = next(i for i, a in enumerate(rest) if a.startswith("-max_len="))
        return [*rest[:at], *(f"{k}={v}" for k, v in asked.items()), *rest[at:]], {}

    def tried(self, _, said):
        found = re.findall(r"^#(\d+)\s", said, re.M)
        self.seeds += int(found[-1]) if found else 0


def labelled(build, label):
    """Name, command, environment and working folder of each test of a build with that label."""
    shown = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1", "-L", label],
                           capture_output=True, text=True, check=True)
    for test in json.loads(shown.stdout)["tests"]:
        properties = {p["name"]: p["value"] for p in test.get("properties", [])}
        if "command" in test:
            environment = dict(line.split("=", 1) for line in properties.get("ENVIRONMENT", []))
            yield test["name"], test["command"], environment, properties["WORKING_DIRECTORY"]


def jobs_of(build):
    jobs = [Job(*test) for test in labelled(build, "random")]
    jobs += [Fuzzer(*test) for test in labelled(build, "fuzzer")]
    unit, dopt = pathlib.Path(build) / "test/unit", pathlib.Path(build) / "bin/dopt"
    if not (unit / "random_draw").exists() or not jobs:
        return jobs
    agree = [f for name in ("random_agree", "lower_cuda_agree") if (unit / name).exists() for f in ("-agree", str(unit / name))]
    processes = ["-agree", f"{unit / 'random_agree'} -mpi"] if shutil.which("mpirun") else []
    pipelines = [sys.executable, str(TESTS / "random/pipelines.py"), str(dopt), str(unit / "random_draw"), *agree, "-jobs", "1"]
    where = jobs[0].environment, jobs[0].folder
    parts = [], ["-sharded"], ["-plans", "-programs", str(ALL), *processes]
    return [*jobs, *(Pipelines(" ".join(["pipelines", *part[:1]]), [*pipelines, *part], *where) for part in parts)]


def tried(job, seed):
    """Runs a job once; what it printed, where that is a finding."""
    command, more = job.start(seed)
    start = time.monotonic()
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", cwd=job.folder,
                              env={**os.environ, **job.environment, **more}, timeout=END_SECONDS)
        status, said = done.returncode, done.stderr + done.stdout
    except subprocess.TimeoutExpired as late:
        status, said = "no end", (late.stderr or b"").decode(errors="replace")
    seconds = time.monotonic() - start
    job.spent += seconds
    job.tried(seconds, said)
    if status == 0:
        return None
    job.findings += 1
    again = " ".join([*(f"{k}={v}" for k, v in more.items()), *command])
    return f"{job.name}: exit {status}\n{said[-SHOWN:]}\nagain: {again}"


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("builds", nargs="+")
    parser.add_argument("-seconds", type=float, default=600)
    parser.add_argument("-seed", type=int, default=time.time_ns() // 1000)
    parser.add_argument("-only", default="")
    return parser.parse_args()


def hunt(jobs, seed, seconds):
    end, k = time.monotonic() + seconds, 0
    cores = len(os.sched_getaffinity(0))
    running = {}
    with concurrent.futures.ThreadPoolExecutor(cores) as pool:
        while running or time.monotonic() < end:
            while len(running) < cores and time.monotonic() < end:
                free = [j for j in jobs if j.running < j.at_once]
                if not free:
                    break
                job = min(free, key=lambda j: (j.spent + j.running * RUN_SECONDS) / j.share)
                job.running += 1
                k += 1
                running[pool.submit(tried, job, (seed + k) * MIX % 2**64 % 10**12)] = job
            done, _ = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
            for future in done:
                running.pop(future).running -= 1
                if future.result():
                    print(future.result(), flush=True)


def main():
    a = arguments()
    jobs = [job for build in a.builds for job in jobs_of(os.path.abspath(build)) if re.search(a.only, job.name)]
    if not jobs:
        sys.exit(f"hunt.py: the builds have no random tests{f' with {a.only!r} in their names' if a.only else ''}")
    print(f"seeds are derived from {a.seed}", flush=True)
    hunt(jobs, a.seed, a.seconds)
    for job in sorted(jobs, key=lambda j: j.name):
        print(f"{job.name:40} {job.seeds:9d} seeds {job.spent:7.0f} s {job.findings:4d} findings",
              *(f"{n} {name}" for name, n in job.more.items()), sep=", ")
    totals = collections.Counter(seeds=sum(j.seeds for j in jobs), findings=sum(j.findings for j in jobs))
    print(f"{totals['seeds']} seeds, {totals['findings']} findings")
    sys.exit(1 if totals["findings"] else 0)


if __name__ == "__main__":
    main()
