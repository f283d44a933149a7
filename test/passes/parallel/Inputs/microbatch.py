"""microbatch.py DOPT SCRATCH: accumulate{loss=microbatch} against the model as it stands, run on the rows of each micro-batch alone.

Outputs must be the means of those of these runs, and what the step changes in each param the mean of what they change. The
state "seen" of terms.dir is the batch, in the order in which the step has it."""
import json
import pathlib
import random
import struct
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[3] / "models" / "Inputs"))
import step  # noqa: E402

MODEL = pathlib.Path(__file__).with_name("terms.dir")
ROWS, ROW, STEPS, RANKS = 16, 4 * 6, 4, 2
TOLERANCE = 1e-6  # what is saved is f32
# Pipelines, and whether each device's rows are split over the micro-batches, or each micro-batch's over devices.
CASES = {
    "accumulate{steps=4,loss=microbatch},grad,sgd{lr=1}": False,
    "accumulate{steps=4,loss=microbatch},dp{axis=dp},grad,sgd{lr=1}": False,
    "dp{axis=dp},accumulate{steps=4,loss=microbatch},grad,sgd{lr=1}": True,
    "accumulate{steps=4,loss=microbatch},dp{axis=dp},grad,shard{axis=dp},sgd{lr=1}": False,
}


def write(path, rows):
    data = struct.pack(f"<{len(rows) * ROW}f", *(x for row in rows for x in row))
    header = json.dumps({"train.x": {"dtype": "F32", "shape": [len(rows), 4, 6], "data_offsets": [0, len(data)]}}).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + data)


class Runs:
    def __init__(self, dopt, scratch):
        self.dopt, self.scratch = dopt, scratch

    def run(self, rows, pipeline, *more):
        data, saved = self.scratch / "rows.safetensors", self.scratch / "after.safetensors"
        write(data, rows)
        text = step.run(self.dopt, "-run", "-f64", f"-data={data}", f"-save={saved}", "-D", f"B={len(rows)}",
                        f"-pass={pipeline}", *more, MODEL)
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


def main():
    dopt, scratch = sys.argv[1], pathlib.Path(sys.argv[2])
    scratch.mkdir(exist_ok=True)
    runs, draw = Runs(dopt, scratch), random.Random(1)
    rows = [[struct.unpack("f", struct.pack("f", draw.gauss(0, 1)))[0] for _ in range(ROW)] for _ in range(ROWS)]
    for pipeline, by_device in CASES.items():
        outputs, after = runs.run(rows, pipeline, "-layout")
        seen = [after["seen"][i * ROW:(i + 1) * ROW] for i in range(ROWS)]
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
        print(f"{len(alone)} micro-batches: {len(outputs)} outputs, {len(after) - 1} params")


main()
