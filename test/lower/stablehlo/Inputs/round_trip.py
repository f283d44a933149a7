"""round_trip.py DOPT MODELS SCRATCH [-one]: every model of table.txt at its toy size, written as StableHLO and read again, computes
the same: as it is, as a training step, and data parallel over four replicas. In double precision, where deep models
do not amplify the rounding of sums in another order. The deep models take twenty times as long as all others together:
each has one of these (DOPT_RANDOM_SLICE chooses another; all: every one). With -one, for sanitizers, a model
has one and a deep one none."""
import os
import pathlib
import subprocess
import sys

dopt, models, scratch = sys.argv[1:4]
sys.path.append(f"{models}/Inputs")
from models import DEEP

PIPELINES = ([], ["-pass=grad,sgd"], ["-D", "N=4", "-pass=grad,sgd,dp{axis=dp}"])
STEPS = 2  # the second starts from what the first has updated
TOLERANCE = 2e-8  # of what is printed with nine digits
SLICE = os.environ.get("DOPT_RANDOM_SLICE", "0")
print(f"DOPT_RANDOM_SLICE={SLICE}")
number = 0 if SLICE == "all" else int(SLICE)
count = 0


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    return done.stdout


def outputs(text):
    """(step, name) -> number, of lines `step K NAME = VALUE`."""
    words = (line.split() for line in text.splitlines())
    return {(w[1], w[2]): float(w[4]) for w in words}


for line in (pathlib.Path(models) / "table.txt").read_text().splitlines():
    if line.startswith("#") or "|" not in line:
        continue
    name, file, toy = (column.strip() for column in line.split("|")[:3])
    sizes = [word for size in toy.split() for word in ("-D", size)]
    pipelines = PIPELINES
    if "-one" in sys.argv or (name in DEEP and SLICE != "all"):
        pipelines = PIPELINES[number % len(PIPELINES):][:1]
    if "-one" in sys.argv and name in DEEP:
        pipelines = ()
    number += 1
    for options in pipelines:
        model = [*options, *sizes, f"{models}/{file.split()[0]}"]
        run(dopt, "-emit=stablehlo", "-o", scratch, *model)
        before = outputs(run(dopt, "-run", "-f64", f"-steps={STEPS}", *model))
        after = outputs(run(dopt, "-run", "-f64", f"-steps={STEPS}", scratch))
        if not before or before.keys() != after.keys():
            sys.exit(f"{name} {options}: outputs {sorted(before)} became {sorted(after)}")
        for key, value in before.items():
            if not abs(value - after[key]) <= TOLERANCE * max(1, abs(value)):
                sys.exit(f"{name} {options}: {key} is {value}, read again {after[key]}")
        count += 1
print(f"{count} steps are the same")
