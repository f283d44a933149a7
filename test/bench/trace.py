#!/usr/bin/env python3
"""What traces cost, as a page of Markdown: to write them, to read them, to align clocks.

    test/bench/trace.py BUILD [-rounds N] [-quick] [-part write|read]

Writing: programs run in turns without and with -trace; a round's figure is the median of its steps, the page
has the ratio of the medians over the rounds, and the lowest and the highest ratio of two neighbouring runs:
what other work on the machine makes of it. Reading: made traces of growing size. Not a test: nothing here
fails because of a time.
"""
import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
MODELS = os.path.join(HERE, "..", "models")
GENERATE = os.path.join(HERE, "..", "passes", "analysis", "trace", "Inputs", "generate.py")
FUSE = "canonicalize,cse,dce,opfuse,tensorfuse"
# name, model, passes, ranks, steps
CASES = [
    ("digits MLP, not fused", "digits_plain.dir", "grad,sgd", 1, 400),
    ("digits MLP", "digits_plain.dir", "grad,sgd,opfuse", 1, 400),
    ("digits MLP", "digits_plain.dir", "grad,sgd,dp{axis=dp},opfuse,tensorfuse", 2, 400),
    ("digits MLP, batch of 10", "digits_plain.dir", "grad,sgd,opfuse", 1, 4000),
    ("GPT", "char_gpt.dir", "grad,adam," + FUSE, 1, 60),
    ("GPT", "char_gpt.dir", "grad,adam,dp{axis=dp}," + FUSE, 2, 60),
]
# Generous: a program of this page takes seconds.
SECONDS = 300


def run(*command):
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=SECONDS)
    return done.stdout


def iteration(*command):
    return float(re.search(r"iteration: ([\d.]+) us", run(*command))[1])


def row(*cells):
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def writing(dopt, folder, rounds, quick):
    print("\n## Writing\n")
    print("Goal: less than 2 % of a step. Bytes are file bytes per event.\n")
    row("model", "ranks", "events a step", "step, us", "with -trace, us", "ratio", "of neighbours", "bytes an event")
    print("|" + " --- |" * 8)
    for name, model, passes, ranks, steps in CASES[:2] if quick else CASES:
        program = os.path.join(folder, "train")
        defines = ["-DN=%d" % ranks] + (["-DB=10"] if "batch" in name else [])
        run(dopt, "-pass=" + passes, *defines, "-emit=program", os.path.join(MODELS, model), "-o", program)
        traces = os.path.join(folder, "traces")
        plain = [program, "-steps", str(5 if quick else steps), "-no-eval"]
        pairs = [(iteration(*plain), iteration(*plain, "-trace", traces)) for _ in range(rounds)]
        off, on = (statistics.median(p) for p in zip(*pairs))
        path = os.path.join(traces, "rank-0.json")
        with open(path) as f:
            lines = sum('"ph":"X"' in line for line in f)
        ratios = sorted(b / a for a, b in pairs)
        row(name, ranks, lines // (5 if quick else steps), "%.0f" % off, "%.0f" % on, "%.4f" % (on / off),
            "%.3f to %.3f" % (ratios[0], ratios[-1]), "%.0f" % (os.path.getsize(path) / lines))


def reading(tool, folder, quick):
    print("\n## Reading and aligning\n")
    print("Generated traces: H hosts with R ranks each, two collectives per step over all ranks. Seconds are of the process.\n")
    row("hosts", "ranks", "steps", "events", "MB", "align, s", "MB/s", "merge, s", "report, s", "peak, MB")
    print("|" + " --- |" * 10)
    sizes = [(2, 1, 10)] if quick else [(2, 1, 1000), (2, 1, 20000), (2, 1, 100000), (2, 8, 2000), (8, 8, 500), (16, 1, 500), (32, 1, 200)]
    for hosts, ranks, steps in sizes:
        traces = os.path.join(folder, "made")
        subprocess.run(["rm", "-rf", traces], check=True)
        run(sys.executable, GENERATE, traces, "-hosts", str(hosts), "-ranks", str(ranks), "-steps", str(steps),
            "-drift", "50")
        size = sum(os.path.getsize(os.path.join(traces, f)) for f in os.listdir(traces) if f != "truth.json")
        took, peak = [], 0
        for command in (["align"], ["merge", "-o", os.devnull], ["report"]):
            begin = time.monotonic()
            process = subprocess.Popen([tool, *command, traces], stdout=subprocess.DEVNULL)
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = status
            if status:
                sys.exit("%s: exit status %d" % (command[0], status))
            took.append(time.monotonic() - begin)
            peak = max(peak, used.ru_maxrss / 1e3)
        row(hosts, hosts * ranks, f"{steps:,}", f"{hosts * ranks * steps * 5:,}", "%.1f" % (size / 1e6),
            "%.2f" % took[0], "%.0f" % (size / took[0] / 1e6), "%.2f" % took[1], "%.2f" % took[2], "%.0f" % peak)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("-rounds", type=int, default=9)
    parser.add_argument("-quick", action="store_true", help="small sizes, as a smoke test")
    parser.add_argument("-part", choices=("write", "read"))
    options = parser.parse_args()
    binaries = os.path.join(options.build, "bin")
    print("Load at the start: %.1f processes." % os.getloadavg()[0])
    with tempfile.TemporaryDirectory() as folder:
        if options.part != "read":
            writing(os.path.join(binaries, "dopt"), folder, options.rounds, options.quick)
        if options.part != "write":
            reading(os.path.join(binaries, "dopt-trace"), folder, options.quick)
    print("\nLoad at the end: %.1f processes." % os.getloadavg()[0])


main()
