"""as_plain.py DOPT NAME SCRATCH TRAIN PIPELINE RANKS [option ...]: a model of table.txt at its toy size, trained for a few steps by
a program of pipeline TRAIN on one rank, and by one of PIPELINE on each of RANKS (1,2,4). Outputs must be equal step by step, and so
must what the steps changed in each param and state. Inputs are random numbers, the same in all programs.

    -mpi MPIRUN   run the ranks as processes, too: same bits as threads
    -half         products are computed in 16 bits: only outputs are compared, coarser

What a program of PIPELINE saves after the first step is loaded by the program of TRAIN, and the other way round: the second step
starts from it. So a checkpoint is the same file whatever the layout."""
import pathlib
import sys

import models
import step

STEPS = 3
OPTIMIZE = "canonicalize,cse,dce,opfuse,tensorfuse"
HALF = 0.01  # relative error of an output; bf16 has 8 bits, and a loss is the mean of many numbers


class Program:
    def __init__(self, dopt, model, path, pipeline, ranks):
        self.path, self.ranks = path, ranks
        step.run(dopt, "-emit=program", f"-pass={pipeline},{OPTIMIZE}", "-o", path, "-D", f"N={ranks}", *model.defines,
                 *model.toy, model.path)

    def train(self, name, steps, start=(), launch=None):
        """Outputs by step and name; tensors after the last step."""
        saved = self.path.with_name(f"{self.path.name}.{name}.safetensors")
        command = launch or [self.path, "-ranks", str(self.ranks)]
        log = step.run(*command, "-no-eval", "-steps", str(steps), "-report-every", "1", "-save", saved, *start)
        return step.outputs(log), saved


def compare(what, start, expected, found, half):
    if half:
        for key, value in expected[0].items():
            if not abs(value - found[0][key]) <= HALF * abs(value):
                sys.exit(f"{what}: {key} is {found[0][key]}, of the plain step {value}")
        return 0
    step.compare_outputs(what, expected[0], found[0])
    return step.compare_changes(what, start, step.tensors(expected[1]), step.tensors(found[1]), 1, False)


def main():
    dopt, name, scratch, train, pipeline, ranks = sys.argv[1:7]
    scratch, model = pathlib.Path(scratch), models.model(name)
    mpirun = sys.argv[sys.argv.index("-mpi") + 1] if "-mpi" in sys.argv else None
    half = "-half" in sys.argv
    scratch.mkdir(exist_ok=True)
    plain = Program(dopt, model, scratch / "plain", train, 1)
    start = step.tensors(plain.train("start", 0)[1])
    expected, first = plain.train("all", STEPS), plain.train("first", 1)
    for n in map(int, ranks.split(",")):
        what = f"{name}, {pipeline}, {n} ranks"
        other = Program(dopt, model, scratch / f"other{n}", pipeline, n)
        found = other.train("all", STEPS)
        moved = compare(what, start, expected, found, half)
        compare(f"{what}, loaded from the plain step", start, expected,
                (expected[0], other.train("loaded", STEPS - 1, ("-load", first[1]))[1]), half)
        compare(f"{what}, loaded by the plain step", start, expected,
                (expected[0], plain.train("loaded", STEPS - 1, ("-load", other.train("first", 1)[1]))[1]), half)
        if mpirun:
            processes = other.train("mpi", STEPS, launch=[*mpirun.split(), "-n", str(n), other.path])
            if processes[0] != found[0] or step.tensors(processes[1]) != step.tensors(found[1]):
                sys.exit(f"{what}: processes give other bits than threads")
        changes = "" if half else f", same changes in {moved} of {len(start)} params and states"
        print(f"{what}: same outputs{changes}")


main()
