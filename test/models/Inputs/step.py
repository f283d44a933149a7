"""step.py DOPT NAME SCRATCH: trains a model of table.txt for a few steps at its toy size: the interpreter by meaning,
and programs on one rank and data-parallel on 2 and 4. Their outputs must be equal step by step, and so must
what the steps changed in each param and state. Inputs are random numbers, the same in all of them."""
import json
import math
import pathlib
import struct
import subprocess
import sys

import models

STEPS = 2  # the second starts from the weights that the first has changed
RANKS = (1, 2, 4)

# Single precision, sums in other orders, through the layers of a deep model.
OUTPUT_TOLERANCE = 1e-4  # relative; absolute below 1
CHANGE_TOLERANCE = 2e-3  # of the largest change in the tensor ...
WEIGHT_TOLERANCE = 2e-6  # ... and of its largest element, whose rounding is in the change ...
CANCEL_TOLERANCE = 1e-6  # ... and of the largest change of all: a gradient may be 0 but for the rounding of what cancels

# In models.DEEP, among 100,000 elements before a relu some are within rounding of 0, and whether such an element passes
# its gradient on is all or nothing. It is a few percent of the gradients below it. What the forward pass leaves,
# the running statistics, is compared as closely as elsewhere; of params the error of the whole change, and one
# step only, as the gradients of an untrained network are too large for a second to start at the same place.
KINK_TOLERANCE = 0.15  # of the norm of a param's change; a term that is missing or doubled makes more

FORMATS = {"F64": "d", "F32": "f", "F16": "e", "I64": "q", "I32": "i", "I8": "b", "U8": "B", "BOOL": "?"}


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def outputs(text):
    """(step, name) -> value, of `step K NAME = VALUE` from step 0 or `step K NAME VALUE ...` from step 1."""
    result = {}
    for word in (line.split() for line in text.splitlines() if line.startswith("step ")):
        if word[3] == "=":
            result[int(word[1]), word[2]] = float(word[4])
        else:
            for name, value in zip(word[2::2], word[3::2]):
                result[int(word[1]) - 1, name] = float(value)
    return result


def elements(dtype, data):
    if dtype == "BF16":
        return [struct.unpack("<f", b"\0\0" + data[i:i + 2])[0] for i in range(0, len(data), 2)]
    return [x for x, in struct.iter_unpack("<" + FORMATS[dtype], data)]


def tensors(path):
    """Name -> elements, of a safetensors file."""
    data = path.read_bytes()
    start = 8 + struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:start])
    return {name: elements(t["dtype"], data[start + t["data_offsets"][0]:start + t["data_offsets"][1]])
            for name, t in header.items() if name != "__metadata__"}


def compare_outputs(what, expected, found):
    if not expected or expected.keys() != found.keys():
        sys.exit(f"{what}: other outputs: {sorted(expected)} and {sorted(found)}")
    for key, value in expected.items():
        if not abs(value - found[key]) <= OUTPUT_TOLERANCE * max(1, abs(value)):
            sys.exit(f"{what}: {key} is {found[key]}, by the interpreter {value}")


def norm(numbers):
    return math.sqrt(sum(x * x for x in numbers))


def is_statistic(name):
    return name.endswith((".mean", ".variance"))


def compare_changes(what, start, expected, found, kinked):
    moved = 0
    if expected.keys() != start.keys() or found.keys() != start.keys():
        sys.exit(f"{what}: other params: {sorted(expected)} and {sorted(found)}")
    changes = {name: max(abs(a - b) for a, b in zip(expected[name], first)) for name, first in start.items()}
    for name, first in start.items():
        change = changes[name]
        allowed = (CHANGE_TOLERANCE * change + WEIGHT_TOLERANCE * max(map(abs, first + expected[name]))
                   + CANCEL_TOLERANCE * max(changes.values()))
        moved += change > 10 * allowed
        if kinked and not is_statistic(name):
            whole = norm(a - b for a, b in zip(expected[name], first))
            error = norm(a - b for a, b in zip(expected[name], found[name]))
            if not error <= KINK_TOLERANCE * whole + allowed * math.sqrt(len(first)):
                sys.exit(f"{what}: the change of {name} is {whole:.3g}, its error {error:.3g}")
            continue
        for i, (a, b) in enumerate(zip(expected[name], found[name])):
            if not abs(a - b) <= allowed:
                sys.exit(f"{what}: {name} element {i} of {len(first)}: {b}, by the interpreter {a}; it was {first[i]}")
    if 2 * moved < len(start):
        sys.exit(f"{what}: only {moved} of {len(start)} params move by more than rounding")
    return moved


def main():
    dopt, name, scratch = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    seed = sys.argv[4] if len(sys.argv) > 4 else "0"
    m = models.model(name)
    steps = 1 if name in models.DEEP else STEPS
    scratch.mkdir(exist_ok=True)
    sizes = [*m.defines, *m.toy]
    saved = scratch / "interpreter.safetensors"
    train = "grad,sgd{lr=0.1}"
    expected = outputs(run(dopt, "-run", f"-steps={steps}", f"-save={saved}", f"-pass={train}",
                           *sizes, "-D", "N=1", m.path))
    for ranks in RANKS:
        program, weights = scratch / f"train{ranks}", scratch / f"{ranks}.safetensors"
        parallel = ",dp{axis=dp}" if ranks > 1 else ""
        run(dopt, "-emit=program", f"-pass={train}{parallel},canonicalize,cse,dce,opfuse,tensorfuse",
            *sizes, "-D", f"N={ranks}", "-o", program, m.path)
        options = ("-ranks", str(ranks), "-seed", seed, "-no-eval")
        run(program, *options, "-steps", "0", "-save", weights)
        start = tensors(weights)
        log = run(program, *options, "-steps", str(steps), "-report-every", "1", "-save", weights)
        compare_outputs(f"{ranks} ranks", expected, outputs(log))
        moved = compare_changes(f"{ranks} ranks", start, tensors(saved), tensors(weights), name in models.DEEP)
        print(f"{name} on {ranks} ranks: same outputs, same changes in {moved} of {len(start)} params and states")


main()
