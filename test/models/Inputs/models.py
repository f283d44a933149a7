"""The models of test/models/table.txt, and docs/models.md, which has a row for each of them.

    models.py DOPT           prints the page
    models.py DOPT -counts   checks that each model has as many parameters as was published, and that
                             each file is in the table and has a test
"""
import json
import pathlib
import re
import subprocess
import sys

FOLDER = pathlib.Path(__file__).resolve().parent.parent

# Many layers of batchnorm and relu: their gradients are so sensitive to rounding that step.py computes in doubles.
DEEP = ("resnet50", "resnext50", "inception_v3")

HEAD = """\
# Models

The models of `test/models/` are forward passes with a loss; passes make training steps of them. This page is generated:
`python3 test/models/Inputs/models.py dopt > docs/models.md`.

- Parameters are the elements of all `param`s. A test compares them with the published number, whose source is given
  below; numbers in parentheses are for models that were made for dopt and have no published number.
- FLOPs of a step are forward and backward, without an optimizer, for the batch `B` in the column before. They are derived
  from the ops, on one device: a multiplication, an addition and each scalar function count as one.
- Ops are those of `@main` after `inline`: of the forward pass and loss, and after `grad`.

The tests run training steps of each model at a small size, on one rank and data-parallel on 2 and 4; losses and every
weight must equal those of the interpreter (`test/models/Inputs/step.py`). The deep convolutional networks, which amplify
rounding errors, run in double precision.

| model | file | parameters | batch | FLOPs a step | ops | ops after grad |
| --- | --- | ---: | ---: | ---: | ---: | ---: |
"""

LOSS = """
## What some models let one choose

- mixtral: `-D S=M` computes the load-balancing loss of each of M equal parts of the batch and takes their mean, as training
  codes do that compute it by micro-batch; the default, 1, is that of the whole batch. It is another loss. With as many parts
  as micro-batches, and `accumulate` before `dp`, the gradients need no second loop over the micro-batches: with 16 of them
  the step of [memory.md](memory.md#micro-batches) is predicted to need 36.0 GB instead of 51.4 GB, as with
  `accumulate{loss=microbatch}`. Where `dp` comes before `accumulate`, S has to be their product with the number of devices;
  each device then balances its share of a micro-batch by itself.
- resnet50: `-D A=N` normalizes each device's share of the batch by itself."""


class Model:
    """A line of the table."""

    def __init__(self, line):
        self.name, file, toy, published, self.source = (field.strip() for field in line.split("|"))
        self.file, *self.sizes = file.split()
        self.path = FOLDER / self.file
        self.toy = [part for size in toy.split() for part in ("-D", size)]
        self.defines = [part for size in self.sizes for part in ("-D", size)]
        self.rounding = 1_000_000 if published.endswith("M") else 1
        self.published = None if published == "-" else int(published.removesuffix("M"))

    def batch(self):
        for size in self.sizes:
            if size.startswith("B="):
                return int(size[2:])
        return int(re.search(r"^let B = (\d+)", self.path.read_text(), re.M).group(1))

    def costs(self, dopt):
        """The cost reports of the forward pass and of the step that grad makes of it."""
        command = [dopt, "-pass=grad", "-stats=json", "-emit=none", "-D", "N=1", *self.defines, self.path]
        rows = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        return rows[0]["cost"], rows[-1]["cost"]


def models():
    lines = (FOLDER / "table.txt").read_text().splitlines()
    return [Model(line) for line in lines if line and not line.startswith("#")]


def toys():
    """One model of those that are the same at their toy size, as the variants of BERT are."""
    by_size = {}
    for m in models():
        sizes = dict(size.split("=") for size in m.sizes + m.toy[1::2])
        by_size.setdefault((m.file, tuple(sorted(sizes.items()))), m)
    return list(by_size.values())


def model(name):
    return next(m for m in models() if m.name == name)


def scaled(x):
    for unit, name in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M")):
        if x >= unit:
            return f"{x / unit:.3g} {name}" if x < 999.5 * unit else f"{x / unit:.0f} {name}"
    return f"{x:.0f}"


def row(m, dopt):
    forward, step = m.costs(dopt)
    parameters = f"{forward['parameters']:,.0f}"
    if m.published is None:
        parameters = f"({parameters})"
    file = " ".join([m.file, *(f"-D {size}" for size in m.sizes)])
    return (f"| {m.name} | `{file}` | {parameters} | {m.batch()} | {scaled(step['flops'])} "
            f"| {forward['ops']} | {step['ops']} |")


def page(dopt):
    listed = models()
    print(HEAD + "\n".join(row(m, dopt) for m in listed))
    print(LOSS)
    print("\n## Where the numbers of parameters are from\n")
    for m in listed:
        print(f"- {m.name}: {m.source}")


def counts(dopt):
    wrong = []
    listed = models()
    unlisted = {path.name for path in FOLDER.glob("*.dir")} - {m.file for m in listed}
    if unlisted:
        wrong.append(f"not in the table: {sorted(unlisted)}")
    tests = "".join(path.read_text() for path in FOLDER.glob("*.test"))
    wrong += [f"{m.name}: no test runs step.py on it" for m in toys()
              if not re.search(rf"step\.py %dopt {m.name} ", tests)]
    for m in listed:
        for cost in m.costs(dopt):
            if m.published is not None and round(cost["parameters"] / m.rounding) != m.published:
                wrong.append(f"{m.name} has {cost['parameters']:,.0f} parameters, not {m.published * m.rounding:,}")
    sys.exit("\n".join(wrong) or 0)


if __name__ == "__main__":
    (counts if "-counts" in sys.argv else page)(sys.argv[1])
