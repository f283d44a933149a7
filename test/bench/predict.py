#!/usr/bin/env python3
"""Predicted against measured: the iteration time of programs, from a profile of their kernels.

    predict.py BUILD [-data FILE] [-rounds N] [-steps N]

For every case a round measures the kernels, predicts, and runs the program; other work on the machine
only ever adds time, so the lowest prediction counts, and of the steps of the fastest round the first
quartile and the first percentile: on a machine that does nothing else they agree. Not a test: nothing here fails because of a time.
"""
import argparse
import glob
import json
import os
import subprocess
import tempfile

MODEL = os.path.join(os.path.dirname(__file__), "..", "models", "digits_plain.dir")
FUSE = ",opfuse,tensorfuse"
CASES = [
    ("1 rank", "grad,sgd", 1, []),
    ("1 rank, fused", "grad,sgd" + ",opfuse", 1, []),
    ("1 rank, adam, fused", "grad,adam" + ",opfuse", 1, []),
    ("2 ranks", "grad,sgd,dp{axis=dp}", 2, []),
    ("2 ranks, fused", "grad,sgd,dp{axis=dp}" + FUSE, 2, []),
    ("2 ranks, adam, fused", "grad,adam,dp{axis=dp}" + FUSE, 2, []),
    ("2 ranks, fused, H = 64", "grad,sgd,dp{axis=dp}" + FUSE, 2, ["-D", "H=64"]),
]


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout


def steps_of(folder):
    """Durations of all steps in us, of the rank that takes longest for each."""
    ranks = []
    for name in sorted(glob.glob(os.path.join(folder, "*.json"))):
        with open(name) as f:
            events = json.load(f)
        events = events if isinstance(events, list) else events["traceEvents"]
        ranks.append([e["dur"] for e in events if e.get("ph") == "X" and e["name"].startswith("step")])
    return [max(step) for step in zip(*ranks)]


def one_round(dopt, folder, case, options):
    _, passes, devices, defines = case
    profile = os.path.join(folder, "profile.db")
    program = os.path.join(folder, "train")
    trace = os.path.join(folder, "trace")
    common = [dopt, "-pass=" + passes, "-D", "N=%d" % devices, *defines, "-profile=" + profile]
    run(*common, "-measure=all", MODEL)
    stats = json.loads(run(*common, "-stats=json", "-emit=none", MODEL))[-1]["cost"]
    if not os.path.exists(program):
        run(*common, "-emit=program", "-o", program, MODEL)
    data = ["-data", options.data] if options.data else []
    run(program, "-steps", str(options.steps), "-no-eval", "-trace", trace, *data)
    steps = sorted(steps_of(trace)[1:])
    return stats, steps[len(steps) // 4], steps[len(steps) // 100]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("-data")
    parser.add_argument("-rounds", type=int, default=5)
    parser.add_argument("-steps", type=int, default=200)
    parser.add_argument("-case", default="", help="only cases whose name contains this")
    options = parser.parse_args()
    dopt = os.path.join(options.build, "bin", "dopt")
    print("%-24s %11s %18s %18s %10s %10s" % ("", "predicted", "quartile", "percentile", "compute",
        "exposed"))
    for case in (case for case in CASES if options.case in case[0]):
        with tempfile.TemporaryDirectory() as folder:
            rounds = [one_round(dopt, folder, case, options) for _ in range(options.rounds)]
        best = min((r[0] for r in rounds), key=lambda stats: stats["iteration"])
        predicted = best["iteration"] * 1e6
        row = "%-24s %9.1fus" % (case[0], predicted)
        for measured in (min(r[1] for r in rounds), min(r[2] for r in rounds)):
            row += " %8.1fus %+6.1f%%" % (measured, 100 * (predicted / measured - 1))
        print(row + " %8.1fus %8.1fus" % (best["compute"] * 1e6, best["exposed"] * 1e6), flush=True)


main()
