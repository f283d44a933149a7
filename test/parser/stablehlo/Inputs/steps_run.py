"""steps_run.py DOPT STEPS_FOLDER SCRATCH FILE...: builds programs of steps/ and compares their losses, and what the steps make
of their params, with those of JAX and XLA in steps_jax.json: relative to 1e-5."""
import json
import pathlib
import re
import subprocess
import sys

import steps

TOLERANCE = 1e-5  # of a tensor's norm, largest element
CHANGE = 1e-4  # of its largest change: the rounding of weights, which are larger by far, is in it
dopt, folder, scratch, *files = sys.argv[1:]
folder, scratch = pathlib.Path(folder), pathlib.Path(scratch)
reference = json.loads((pathlib.Path(__file__).parent / "steps_jax.json").read_text())["files"]
scratch.mkdir(parents=True, exist_ok=True)


def run(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def near(what, found, expected, scale, tolerance):
    if not abs(found - expected) <= tolerance * scale:
        sys.exit(f"{what} is {found}, by JAX {expected}")


for file in files:
    path, (carry, _, ranks) = steps.path_of(folder, file), steps.FILES[file]
    pairs, start, data, load = steps.carried(carry), {}, [], []
    for i, (name, shape, element) in enumerate(steps.signature(path.read_text())):
        shape = [ranks] * (ranks > 1 and i not in pairs) + shape
        values = steps.values(file, name, shape, element)
        if i in pairs:
            start[name] = values
            load.append((name, shape, values))
        else:
            data.append(("train." + name, shape, values))
    steps.write_safetensors(scratch / "load", load)
    steps.write_safetensors(scratch / "data", data)
    run(dopt, "-emit=program", f"-carry={carry}", *[f"-replicas={ranks}"] * (ranks > 1), "-o",
        scratch / "step", path)
    text = run(scratch / "step", "-ranks", ranks, "-steps", steps.STEPS, "-no-eval", "-report-every", 1, "-load",
               scratch / "load", "-data", scratch / "data", "-save", scratch / "save")
    losses = [float(v) for v in re.findall(r"^step \d+ \S+ (\S+)", text, re.M)]
    expected = reference[file]
    for i, loss in enumerate(expected["loss"]):
        near(f"{file}: loss of step {i}", losses[i], loss, abs(loss), TOLERANCE)
    end = steps.read_safetensors(scratch / "save")
    if sorted(end) != sorted(expected["tensors"]):
        sys.exit(f"{file}: params {sorted(end)}")
    for name, want in expected["tensors"].items():
        got, what = steps.summary(start[name], end[name]), f"{file}: {name}"
        near(what + ": norm", got["norm"], want["norm"], want["norm"], TOLERANCE)
        near(what + ": norm of its change", got["moved"], want["moved"], want["moved"], CHANGE)
        for a, b in zip(got["elements"], want["elements"]):
            near(what + ": an element", a, b, want["largest"], TOLERANCE)
        for a, b in zip(got["changes"], want["changes"]):
            near(what + ": a change", a, b, want["furthest"], CHANGE)
    print(f"{file}: as by JAX")
