"""microbatch.py DOPT SCRATCH: terms of a loss by micro-batch against the model as it stands, run on the rows of each micro-batch
alone: accumulate{loss=microbatch} on terms.dir, and mixtral.dir with as many parts S as micro-batches.

Outputs must be the means of those of these runs, and what the step changes in each param the mean of what they change. The
state "seen" is the first input, in the order in which the step has its rows."""
import json
import math
import pathlib
import random
import re
import struct
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[3] / "models" / "Inputs"))
import step  # noqa: E402

ROWS, STEPS, RANKS = 16, 4, 2
TOLERANCE = 1e-6  # what is saved is f32
TERMS = pathlib.Path(__file__).with_name("terms.dir")
MIXTRAL = pathlib.Path(__file__).parents[3] / "models" / "mixtral.dir"
TOY = "-D T=8 -D V=11 -D D=8 -D L=2 -D A=2 -D G=1 -D F=6 -D E=4 -D N=2".split()
# Of each model: its options, those for the step with micro-batches, inputs with their shapes, and pipelines with whether each
# device's rows are split over the micro-batches, or each micro-batch's over devices.
MODELS = {
    TERMS: ([], [], {"x": ("F32", [4, 6])}, {
        "accumulate{steps=4,loss=microbatch},grad,sgd{lr=1}": False,
        "accumulate{steps=4,loss=microbatch},dp{axis=dp},grad,sgd{lr=1}": False,
        "dp{axis=dp},accumulate{steps=4,loss=microbatch},grad,sgd{lr=1}": True,
        "accumulate{steps=4,loss=microbatch},dp{axis=dp},grad,shard{axis=dp},sgd{lr=1}": False,
    }),
    MIXTRAL: (TOY, ["-D", f"S={STEPS}"], {"tokens": ("I32", [8]), "next": ("I32", [8])}, {
        "grad,sgd{lr=1}": False,
        "accumulate{steps=4},grad,sgd{lr=1}": False,
        "accumulate{steps=4},dp{axis=dp},grad,sgd{lr=1}": False,
    }),
}


def write(path, inputs, rows):
    header, data = {}, b""
    for i, (name, (dtype, dims)) in enumerate(inputs.items()):
        values = [x for row in rows for x in row[i]]
        packed = struct.pack(f"<{len(values)}{step.FORMATS[dtype]}", *values)
        header[f"train.{name}"] = {"dtype": dtype, "shape": [len(rows), *dims], "data_offsets": [len(data), len(data) + len(packed)]}
        data += packed
    header = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + data)


def draw_row(draw, inputs):
    return tuple(tuple(struct.unpack("f", struct.pack("f", draw.gauss(0, 1)))[0] if dtype == "F32" else draw.randrange(11)
                       for _ in range(math.prod(dims))) for dtype, dims in inputs.values())


def with_seen(path, inputs, scratch):
    """The model, with a state that takes its first input."""
    name, (_, dims) = next(iter(inputs.items()))
    text = path.read_text()
    if '"seen"' not in text:
        line = re.search(rf'^ *%{name} += input.*: (\S+)$', text, re.M)
        text = text.replace(line[0], f'{line[0]}\n  %seen = state("seen") : {line[1]}\n  update(%seen, %{name})')
    out = scratch / path.name
    out.write_text(text)
    return out


class Runs:
    def __init__(self, dopt, scratch, path, options, inputs):
        self.dopt, self.scratch, self.options, self.inputs = dopt, scratch, options, inputs
        self.model = with_seen(path, inputs, scratch)

    def run(self, rows, pipeline, *more):
        data, saved = self.scratch / "rows.safetensors", self.scratch / "after.safetensors"
        write(data, self.inputs, rows)
        text = step.run(self.dopt, "-run", "-f64", f"-data={data}", f"-save={saved}", *self.options, "-D", f"B={len(rows)}",
                        f"-pass=inline,{pipeline}", *more, self.model)
        return {name: value for (_, name), value in step.outputs(text).items()}, step.tensors(saved)


def rows_of(seen, k, by_device):
    """The rows of micro-batch k."""
    if not by_device:
        return seen[k * ROWS // STEPS:(k + 1) * ROWS // STEPS]
    own, each = ROWS // RANKS, ROWS // RANKS // STEPS
    return [row for d in range(RANKS) for row in seen[d * own + k * each:d * own + (k + 1) * each]]


def differs(a, b):
    return abs(a - b) > TOLERANCE * max(1, abs(a))


def compare(what, expected, found):
    for name, value in expected.items():
        for a, b in zip(value, found[name]) if isinstance(value, list) else [(value, found[name])]:
            if differs(a, b):
                sys.exit(f"{what}: {name} is {b}, not {a}")


def mean(results):
    return {name: [sum(x) / len(results) for x in zip(*(r[name] for r in results))]
            if isinstance(value, list) else sum(r[name] for r in results) / len(results)
            for name, value in results[0].items() if name != "seen"}


def check(dopt, scratch, path):
    options, apart, inputs, pipelines = MODELS[path]
    runs, draw = Runs(dopt, scratch, path, options, inputs), random.Random(1)
    rows = [draw_row(draw, inputs) for _ in range(ROWS)]
    of = {row[0]: row for row in rows}
    assert len(of) == ROWS
    for pipeline, by_device in pipelines.items():
        outputs, after = runs.run(rows, pipeline, "-layout", *apart)
        width = len(rows[0][0])
        seen = [of[tuple(after["seen"][i * width:(i + 1) * width])] for i in range(ROWS)]
        assert sorted(seen) == sorted(rows)
        alone = [runs.run(rows_of(seen, k, by_device), "grad,sgd{lr=1}") for k in range(STEPS)]
        compare(pipeline, mean([r[0] for r in alone]), outputs)
        compare(pipeline, mean([r[1] for r in alone]), after)
        if by_device:  # an axis of size 1 splits nothing
            compare(pipeline + " on one device", mean([runs.run(rows_of(seen, k, False), "grad,sgd{lr=1}")[0] for k in range(STEPS)]),
                    runs.run(rows, pipeline, "-layout", "-D", "N=1")[0])
        whole = runs.run(seen, "grad,sgd{lr=1}")
        if not differs(whole[0]["loss"], outputs["loss"]):
            sys.exit(f"{pipeline}: the loss of the whole batch")
        print(f"{path.stem}: {len(alone)} micro-batches: {len(outputs)} outputs, {len(after) - 1} params")


def peak(dopt, parts, loss):
    """Predicted memory of mixtral.dir with two blocks, on 32 devices."""
    pipeline = f"inline,accumulate{{steps=16,loss={loss}}},amp,dp{{axis=dp}},grad,recompute,shard{{axis=dp}},adam"
    text = step.run(dopt, "-cluster=h100x32", "-D", "N=32", "-D", "T=1024", "-D", "B=512", "-D", "L=2", "-D", f"S={parts}",
                    "-stats=json", "-emit=none", f"-pass={pipeline}", MIXTRAL)
    return json.loads(text)[-1]["cost"]["peak_bytes"]


def main():
    dopt, scratch = sys.argv[1], pathlib.Path(sys.argv[2])
    scratch.mkdir(exist_ok=True)
    for path in MODELS:
        check(dopt, scratch, path)
    batch, by_pass, by_model = peak(dopt, 1, "batch"), peak(dopt, 1, "microbatch"), peak(dopt, 16, "batch")
    assert by_model < 0.98 * batch and abs(by_model - by_pass) < 0.01 * by_pass, (batch, by_pass, by_model)


main()
