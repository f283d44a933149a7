"""Reading, verifying and printing modules: dopt and mlir-opt in turns."""
import os
import re
import shutil
import subprocess
import sys

BENCH = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path.append(os.path.join(BENCH, "Inputs", "pair"))
from spent import consumption  # noqa: E402

OTHER = shutil.which("mlir-opt-19")
# A process is not smaller than the Python script was that started it: below this many ops that hides its own peak.
OPS_FOR_PEAK = 100000
# Layers of the step that both read from one file.
LAYERS = 80


def generate(folder, n, *options):
    path = os.path.join(folder, "ops" + "".join(options))
    with open(path, "w") as out:
        subprocess.run([sys.executable, os.path.join(BENCH, "gen_ops.py"), str(n), *options], stdout=out, check=True)
    return path


def commands(dopt, ours, theirs):
    """By the program's name: the command, whose last but two words are the file that it reads."""
    found = {"dopt": [dopt, ours, "-o", "/dev/null"]}
    if OTHER:
        found["mlir-opt-19"] = [OTHER, "-allow-unregistered-dialect", theirs, "-o", "/dev/null"]
    return found


def generated(dopt, folder, n):
    """A module of n ops, for each in its own text."""
    return commands(dopt, generate(folder, n), generate(folder, n, "-mlir") if OTHER else None)


def step(dopt, folder):
    """A training step as StableHLO: one file for both; and its ops."""
    path = os.path.join(folder, "step.mlir")
    model = os.path.join(BENCH, "Inputs", "layers.dir")
    subprocess.run([dopt, f"-DL={LAYERS}", "-pass=grad,adam", model, "-emit=stablehlo", "-o", path], check=True)
    with open(path) as text:
        n = len(re.findall(r'= "?[a-z]+\.', text.read()))
    return n, commands(dopt, path, path)


def measured(commands, rounds):
    """By the program's name: seconds and peak bytes of each round, and the bytes of its file."""
    runs = {name: [] for name in commands}
    for _ in range(rounds):
        for name, words in commands.items():
            runs[name].append(consumption(words))
    return {name: {"runs": runs[name], "file": os.path.getsize(words[-3])} for name, words in commands.items()}


def version():
    text = subprocess.run([OTHER, "-version"], capture_output=True, text=True).stdout
    return "mlir-opt " + re.search(r"LLVM version (\S+)", text)[1]
