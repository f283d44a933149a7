"""pipelines.py DOPT DRAW [option ...]: random pipelines on random programs and on toy models, as a user types them.

    -agree PROGRAM   run some of what comes out with this (agree.c, for one target each), and its options, as in
                     'random_agree -mpi'; repeated: one more
    -seed S          the first seed (default: 0)
    -count N         so many seeds, whatever they take (default: 48)
    -seconds N       seeds for so long, however many (the environment's DOPT_PIPELINE_SECONDS goes before it)
    -refusals        print what dopt refused, and how often
    -jobs N          seeds at a time (default: the number of cores)
    -sharded         pipelines of sharded training, and networks (networks.py) instead of programs of single ops
    -plans           each pipeline begins with stages in a random schedule, or with a random plan of parallelize
    -programs N      run so many of a block of 24 seeds with -agree (default: 6)

    seed --draw--> program (or a toy model, N = 1, 2, 4) and pipeline --dopt -check--> text --dopt--> the same text
                                                                                        |--agree -emit--> sources, both targets
                                                                                        +--agree--> runs, both targets

dopt must either do what it is asked, with the same results before and after every pass, or refuse with a message; a
pass that is refused is then left out, and the others have their turn. A crash, an exit status that is neither 0 nor 1, a run without end, a text that does not read back, a result that is not the
interpreter's: each is a finding, which is made smaller and printed with the command that shows it. Exit status 1 then.

Of some seeds one of the laws of laws.py is tried as well.
"""
import argparse
import collections
import concurrent.futures
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path.append(str(TESTS / "models" / "Inputs"))
import laws
import models
import networks
from running import RUN_SECONDS, SEARCH, first_error, is_refusal, run

BLOCK = 24  # seeds that are drawn at once
COUNT = 2 * BLOCK  # seeds of a run of the tests: ten seconds
AGREE = 6  # of a block that are compiled and run
AGREE_SECONDS = 900  # compiling and running those of a block
MODEL_EVERY = 3  # every third seed is a toy model
SHRINK_SECONDS = 180  # for one finding
NOHOST = str(TESTS / "random/Inputs/nohost.cluster")
MORE = ([], [], [], ["-stats"], ["-keep=better"], ["-replay=fine", "-stats"], ["-algorithm=ring", "-stats"],
        ["-remarks"], ["-budget=1GB"], ["-f64"], ["-steps=2"], ["-cluster=h100x32"], [f"-cluster={NOHOST}"])
# Of -sharded: what the last line counts.
PLANS = ("pipeline", "parallelize")
SCHEDULES = ("gpipe", "1f1b", "zb1p", "zb2p", "interleaved", "zbv", "vhalf", "vmin", "search")
TWO_EACH = ("interleaved", "zbv", "vhalf", "vmin")  # stages on a device
SHARDED = ("recompute", "shard", "accumulate", "prefetch", "unshard", "offload")


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("dopt")
    parser.add_argument("draw")
    parser.add_argument("-agree", action="append", default=[])
    parser.add_argument("-seconds", type=float)
    parser.add_argument("-seed", type=int, default=0)
    parser.add_argument("-count", type=int)
    parser.add_argument("-refusals", action="store_true")
    parser.add_argument("-sharded", action="store_true")
    parser.add_argument("-plans", action="store_true")
    parser.add_argument("-programs", type=int, default=AGREE)
    parser.add_argument("-jobs", type=int, default=len(os.sched_getaffinity(0)))
    a = parser.parse_args()
    # Programs run in folders of their own.
    a.agree = [[os.path.abspath(program), *options] for program, *options in map(shlex.split, a.agree)]
    if not a.count and "DOPT_PIPELINE_SECONDS" in os.environ:
        a.seconds = float(os.environ["DOPT_PIPELINE_SECONDS"])
    if not a.count and not a.seconds:
        a.count = COUNT
    return a


def plan(seed):
    """Two of three are stages, of which there are fewer micro-batches, as many, or more."""
    if seed % 3 == 2:
        return f"parallelize{{engine=random,seed={seed}}}"
    schedule = SCHEDULES[seed // 3 % len(SCHEDULES)]
    devices = (2, 3, 4, 2)[seed // 5 % 4]
    stages = devices * (2 if schedule in TWO_EACH else 1)
    return f"pipeline{{stages={stages},devices={devices},steps={(4, 2, 8)[seed // 7 % 3]},schedule={schedule}}}"


class Case:
    """What a seed stands for: a file, options, passes."""

    def __init__(self, seed, folder, plans=False):
        self.seed = seed
        self.refusals = []  # what dopt said of passes that are left out
        self.file = folder / f"{seed}.dir"
        self.options = [SEARCH, f"-seed={seed % 5}", *MORE[seed // 7 % len(MORE)]]
        self.passes = [plan(seed)] * plans + split((folder / f"{seed}.pipeline").read_text().strip())
        if seed % MODEL_EVERY == 0:
            toys = [m for m in models.toys() if m.name not in models.DEEP]
            model = toys[seed // MODEL_EVERY % len(toys)]
            self.file = model.path
            # Models do not keep that promise about elements: of scores that are all masked the exponentials are 0.
            self.passes = [p.replace("assume=true", "assume=false") for p in self.passes]
            self.options += [*model.defines, *model.toy, "-D", f"N={(1, 2, 4)[seed // 5 % 3]}"]

    def has(self, names):
        return any(p.split("{")[0] in names for p in self.passes)

    def command(self, dopt, out):
        passes = [f"-pass={','.join(self.passes)}"] if self.passes else []
        return [dopt, "-check", *self.options, *passes, str(self.file), "-o", str(out)]


def split(pipeline):
    """The passes of a pipeline, each with its options."""
    return re.findall(r"[\w-]+(?:\{(?:[^{}\"]|\"[^\"]*\")*\})?", pipeline)


def without_refused(case, said):
    """The passes without the one that an error in the pipeline text is about; None where it is about none of them."""
    at = re.search(r"^pipeline:1:(\d+): error", said, re.M)
    place = 0
    for i, text in enumerate(case.passes):
        place += len(text) + 1
        if at and int(at[1]) <= place:
            return case.passes[:i] + case.passes[i + 1:]
    return None


def finding(case, dopt, out):
    """None, or (what kind of finding it is, all that was said). `out` has the module where dopt wrote one."""
    out.unlink(missing_ok=True)
    status, said = run(case.command(dopt, out), RUN_SECONDS)
    while is_refusal(status, said):
        case.refusals.append(first_error(said))
        fewer = without_refused(case, said)
        if not fewer:
            return None
        case.passes = fewer
        status, said = run(case.command(dopt, out), RUN_SECONDS)
    if status != 0:
        return (f"exit {status} {first_error(said)}", said)
    again = out.with_suffix(".again")
    status, said = run([dopt, str(out), "-o", str(again)], RUN_SECONDS)
    if status != 0:
        return (f"what was written does not read back: {first_error(said)}", said)
    if again.read_bytes() != out.read_bytes():
        return ("written, read and written again it differs", "")
    return None


def name_of(command):
    """The program, with its options."""
    return " ".join([pathlib.Path(command[0]).name, *command[1:]])


def disagreement(command, out, folder):
    """None where the programs of the modules agree with the interpreter, else what was said; and how many ran."""
    status, said = run([*command, *map(str, out)], AGREE_SECONDS, cwd=folder)
    ran = re.search(r"^(\d+) programs ran$", said, re.M)
    return None if status == 0 else f"{name_of(command)}: exit {status}\n{said}", int(ran[1]) if ran else 0


def shrunk(case, is_wrong):
    """The case with fewer passes, options and lines, as long as it is wrong in the same way."""
    end = time.monotonic() + SHRINK_SECONDS

    def attempt(change):
        nonlocal case
        smaller = Case.__new__(Case)
        smaller.__dict__.update(case.__dict__)
        change(smaller)
        good = time.monotonic() < end and is_wrong(smaller)
        case = smaller if good else case
        return good

    def without_pass(i):
        return lambda c: setattr(c, "passes", case.passes[:i] + case.passes[i + 1:])

    def without_options(i):
        return lambda c: setattr(c, "passes",
                                 [re.sub(r"\{.*", "", p) if k == i else p for k, p in enumerate(case.passes)])

    for i in reversed(range(len(case.passes))):
        attempt(without_pass(i))
    for i in reversed(range(len(case.passes))):
        if "{" in case.passes[i]:
            attempt(without_options(i))
    if models.FOLDER in case.file.parents:
        return case
    lines = case.file.read_text().splitlines(keepends=True)
    small = case.file.with_suffix(".small.dir")
    for i in reversed(range(len(lines))):
        fewer = lines[:i] + lines[i + 1:]
        small.write_text("".join(fewer))
        if attempt(lambda c: setattr(c, "file", small)):
            lines = fewer
    small.write_text("".join(lines))
    return case


def report(case, kind, said, arguments):
    print(f"seed {case.seed}: {kind}\n{said[-3000:]}")
    if models.FOLDER not in case.file.parents:
        print(case.file.read_text())
    print(f"shrunk: {' '.join(case.command('dopt', 'out.dir'))}".replace(str(case.file.parent) + "/", ""))
    print(f"again: {sys.argv[0]} {arguments.dopt} {arguments.draw} -seed {case.seed} -count 1{' -sharded' if arguments.sharded else ''}{' -plans' if arguments.plans else ''}", flush=True)


class Hunt:
    def __init__(self, a, folder):
        self.a, self.folder = a, folder
        self.counts = collections.Counter()
        self.kinds = collections.Counter()
        self.ran = collections.Counter()  # by -agree
        self.refusals = collections.Counter()

    def found(self, case, kind, said, is_wrong):
        self.counts["findings"] += 1
        self.kinds[kind] += 1
        if self.kinds[kind] == 1:
            report(shrunk(case, is_wrong), kind, said, self.a)

    def one(self, seed):
        """A seed through dopt: the file that it wrote, or None."""
        case, out = Case(seed, self.folder, self.a.plans), self.folder / f"{seed}.out"
        scratch = self.folder / f"{seed}.scratch"
        found = finding(case, self.a.dopt, out)
        self.counts["seeds"] += 1
        self.counts["written"] += out.exists()
        self.counts["sharded"] += out.exists() and case.has(SHARDED)
        self.counts["plans"] += out.exists() and case.has(PLANS)
        self.refusals.update(case.refusals)
        if found:
            self.found(case, *found, lambda c: (finding(c, self.a.dopt, scratch) or ("",))[0] == found[0])
        law = laws.breaks(case, self.a.dopt, scratch) if out.exists() and not found else None
        if law:
            self.found(case, *law, lambda c: (laws.breaks(c, self.a.dopt, scratch) or ("",))[0] == law[0])
        return (case, out) if out.exists() and not found else None

    def agree(self, written):
        """Some of what was written as programs; which one is wrong is found by running each alone."""
        most = self.a.programs
        chosen = [w for i, w in enumerate(written) if i % max(1, len(written) // most) == 0][:most]
        self.counts["sharded programs"] += sum(case.has(SHARDED) for case, _ in chosen)
        self.counts["programs of plans"] += sum(case.has(PLANS) for case, _ in chosen)
        for command in self.a.agree if chosen else []:
            if len(command) == 1:
                self.agree_with([*command, "-emit"], written)
            ran = self.agree_with(command, chosen)
            self.counts["programs"] += ran
            self.ran[name_of(command)] += ran

    def agree_with(self, command, chosen):
        """Reports those for which the command says that something is wrong, each alone. How many programs ran."""
        wrong, ran = disagreement(command, [out for _, out in chosen], self.folder)
        for case, out in chosen if wrong else []:
            said, alone = disagreement(command, [out], self.folder)
            ran += alone if "compile" in wrong else 0
            scratch = out.with_suffix(".scratch")  # others run `out`, too
            if said:
                self.found(case, f"{name_of(command)}: {first_error(said) or 'it differs'}", said,
                           lambda c: not finding(c, self.a.dopt, scratch)
                           and scratch.exists() and disagreement(command, [scratch], self.folder)[0])
        return ran

    def block(self, first, count):
        command = [self.a.draw, str(first), str(count), str(self.folder), *(["sharded"] if self.a.sharded else [])]
        draw = subprocess.run(command, capture_output=True, text=True)
        if draw.returncode != 0:
            sys.exit(f"draw {first} {count}: exit {draw.returncode}\n{draw.stderr}")
        if self.a.sharded:
            for seed in range(first, first + count):
                (self.folder / f"{seed}.dir").write_text(networks.network(seed))
        with concurrent.futures.ThreadPoolExecutor(self.a.jobs) as pool:
            written = [w for w in pool.map(self.one, range(first, first + count)) if w]
        self.agree(written)
        for path in self.folder.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    def seeds(self, first, count, end):
        """Seeds from `first` on: so many, or until the end."""
        done = 0
        while (count is None or done < count) and time.monotonic() < end:
            n = BLOCK if count is None else min(BLOCK, count - done)
            self.block(first + done, n)
            done += n


def main():
    a = arguments()
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="dopt-pipelines-") as folder:
        hunt = Hunt(a, pathlib.Path(folder))
        hunt.seeds(a.seed, a.count, float("inf") if a.count else start + a.seconds)
    shown = ("seeds", "written", "programs", *(("sharded", "sharded programs") if a.sharded else ()),
             *(("plans", "programs of plans") if a.plans else ()), "findings")
    for name, n in hunt.ran.items():
        print(f"{n} programs ran with {name}")
    print(", ".join(f"{hunt.counts[k]} {k}" for k in shown))
    for kind, n in hunt.kinds.most_common():
        print(f"  {n} times: {kind}")
    if a.refusals:
        for kind, n in hunt.refusals.most_common():
            print(f"{n:6d} refused: {kind}")
    sys.exit(1 if hunt.counts["findings"] else 0)


if __name__ == "__main__":
    main()
