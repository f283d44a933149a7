"""step.py DOPT NAME SCRATCH [SEED] [-few | -all]: trains a model of table.txt for a few steps at its toy size: the interpreter by meaning,
and programs on one rank and data-parallel on 2 and 4. Their outputs must be equal step by step, and so must
what the steps changed in each param and state. Inputs are random numbers, the same in all of them.
A deep model has fewer of these; with -all it has as many. With -few, for sanitizers, a model runs on 2 ranks only.
With -plans, instead of data-parallel, as `parallelize` plans it for devices that compute so slowly that splitting pays at
these sizes: the best plan of 2 x 2 devices and a random one of 2; with -all each of both."""
import json
import math
import pathlib
import struct
import subprocess
import sys

import models

STEPS = 2  # the second starts from the weights that the first has changed
RANKS = (1, 2, 4)
# Of models.DEEP by whether in double precision; compiling such a model takes long.
DEEP_RANKS = {False: (2,), True: (4,)}
ALL_DEEP_RANKS = {False: (2,), True: (1, 4)}
FEW_RANKS = {False: (2,), True: ()}
TRAIN = "grad,sgd{lr=0.1}"
DATA = {"": "dp{axis=dp}"}
PLANS = {"best": "parallelize", "random": "parallelize{engine=random}"}
FEW_PLANS = {2: ("random",), 4: ("best",)}
SLOW = """cluster @slow {
  device card {f32 = 1MFLOP/s, memory = 1GB, bandwidth = 1MB/s, launch = 1us}
  link cable {bandwidth = 10GB/s, latency = 1us}
  switch net
  card c[4]
  connect c, net {link = cable}
}
"""

# Single precision, sums in other orders, through the layers of a deep model.
OUTPUT_TOLERANCE = 1e-4  # relative; absolute below 1
CHANGE_TOLERANCE = 2e-3  # of the largest change in the tensor ...
WEIGHT_TOLERANCE = 2e-6  # ... and of its largest element, whose rounding is in the change ...
CANCEL_TOLERANCE = 1e-6  # ... and of the largest change of all: a gradient may be 0 but for the rounding of what cancels

# models.DEEP amplify rounding some hundred (ResNet) to a million times (Inception), and among 100,000 elements before a
# relu some come within single rounding of 0, where whether an element passes its gradient on is all or nothing.
# So they are compared in double precision, in which neither can be seen: their text with f64 for f32. In single
# precision the outputs and running statistics of a step are compared as elsewhere, of params only the norm of
# the change's error: kinks make some percent of it.
DOUBLE = 1e-4  # times all tolerances of changes: measured are 1e-13 to 1e-10 of a tensor's largest element
KINK_TOLERANCE = 0.15  # of the norm of a param's change, in single precision

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


def compare_changes(what, start, expected, found, scale, kinked):
    """Are the changes from start to expected and to found equal? scale: times the tolerances."""
    moved = 0
    if expected.keys() != start.keys() or found.keys() != start.keys():
        sys.exit(f"{what}: other params: {sorted(expected)} and {sorted(found)}")
    changes = {name: max(abs(a - b) for a, b in zip(expected[name], first)) for name, first in start.items()}
    for name, first in start.items():
        change = changes[name]
        allowed = scale * (CHANGE_TOLERANCE * change + WEIGHT_TOLERANCE * max(map(abs, first + expected[name]))
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


class Training:
    """A model at its toy size, in single or double precision, and what the interpreter makes of it."""

    def __init__(self, dopt, name, scratch, double):
        m = models.model(name)
        self.dopt, self.scratch, self.double = dopt, scratch, double
        self.what = f"{name}{' in double precision' if double else ''}"
        self.deep = name in models.DEEP
        self.steps = 1 if self.deep else STEPS
        self.source = [*m.defines, *m.toy, m.path]
        saved = scratch / "interpreter.safetensors"
        self.outputs = outputs(run(dopt, "-run", f"-steps={self.steps}", f"-save={saved}", f"-pass={TRAIN}",
                                   *(["-f64"] if double else []), *self.module(1)))
        self.weights = tensors(saved)

    def module(self, ranks):
        """The file, and its options for so many ranks."""
        if not self.double:
            return ["-D", f"N={ranks}", *self.source]
        path = self.scratch / f"double{ranks}.dir"
        path.write_text(run(self.dopt, "-pass=inline", "-D", f"N={ranks}", *self.source).replace("f32", "f64"))
        return [path]

    def compare(self, ranks, seed, plan, passes):
        what = f"{self.what} on {ranks} ranks{plan and f' by the {plan} plan'}"
        program, weights = self.scratch / f"train{ranks}{plan}", self.scratch / f"{ranks}{plan}.safetensors"
        parallel = f",{passes}" if ranks > 1 else ""
        axes = []
        if plan:
            cluster = self.scratch / "slow.cluster"
            cluster.write_text(SLOW)
            axes = [f"-cluster={cluster}", "-seed", seed] + (["-mesh", "tp=2"] if ranks == 4 else [])
        run(self.dopt, "-emit=program", f"-pass={TRAIN}{parallel},canonicalize,cse,dce,opfuse,tensorfuse",
            "-o", program, *axes, *self.module(2 if plan else ranks))
        options = ("-ranks", str(ranks), "-seed", seed, "-no-eval")
        run(program, *options, "-steps", "0", "-save", weights)
        start = tensors(weights)
        log = run(program, *options, "-steps", str(self.steps), "-report-every", "1", "-save", weights)
        compare_outputs(what, self.outputs, outputs(log))
        moved = compare_changes(what, start, self.weights, tensors(weights), DOUBLE if self.double else 1,
                                self.deep and not self.double)
        print(f"{what}: same outputs, same changes in {moved} of {len(start)} params and states")


def main():
    dopt, name, scratch = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    seed = next((word for word in sys.argv[4:] if word.isdigit()), "0")
    scratch.mkdir(exist_ok=True)
    deep = name in models.DEEP
    ranks_of = {False: RANKS, True: ()}
    if deep:
        ranks_of = ALL_DEEP_RANKS if "-all" in sys.argv else DEEP_RANKS
    if "-few" in sys.argv:
        ranks_of = FEW_RANKS
    for double, all_ranks in ranks_of.items():
        training = Training(dopt, name, scratch, double) if all_ranks else None
        for ranks in all_ranks:
            plans = FEW_PLANS.get(ranks, ()) if "-all" not in sys.argv else PLANS if ranks > 1 else ()
            for plan in plans if "-plans" in sys.argv else DATA:
                training.compare(ranks, seed, plan, {**PLANS, **DATA}[plan])


if __name__ == "__main__":
    main()
