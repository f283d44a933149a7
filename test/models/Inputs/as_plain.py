"""as_plain.py DOPT NAME SCRATCH TRAIN PIPELINE RANKS [option ...]: a model of table.txt at its toy size, trained for a few steps by
a program of pipeline TRAIN on one rank, and by one of PIPELINE on each of RANKS (1,2,4). Outputs must be equal step by step, and so
must what the steps changed in each param and state. Inputs are random numbers, the same in all programs.

PIPELINE may be several, separated by spaces, each of which is compared.

    -mpi MPIRUN   run the ranks as processes, too: same bits as threads
    -shim FOLDER LIBRARIES
                  the CUDA program, too, computed by this processor: link of FOLDER builds it with LIBRARIES
    -bits OTHER   outputs and tensors are to the bit those of pipeline OTHER on as many ranks
    -batch N      of the model, instead of its toy size's
    -half         products are computed in 16 bits: only outputs are compared, coarser

What a program of PIPELINE saves after the first step is loaded by the program of TRAIN, and the other way round: the second step
starts from it. So a checkpoint is the same file whatever the layout."""
import argparse
import pathlib
import sys

import models
import step

STEPS = 3
OPTIMIZE = "canonicalize,cse,dce,opfuse,tensorfuse"
HALF = 0.01  # relative error of an output; bf16 has 8 bits, and a loss is the mean of many numbers


class Program:
    def __init__(self, dopt, model, path, pipeline, ranks, shim=None):
        self.path, self.ranks = path, ranks
        target = ["-target=cuda"] if shim else []
        passes = pipeline if pipeline.startswith("plan{") else f"{pipeline},{OPTIMIZE}"  # plan decides on kernels, too
        step.run(dopt, "-emit=program", *target, f"-pass={passes}", "-o", path, "-D", f"N={ranks}",
                 *model.defines, *model.toy, model.path)
        if shim:
            step.run(f"{shim[0]}/link", f"{path}.src", path, shim[1])

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


def same_bits(what, found, other):
    if found[0] != other[0] or step.tensors(found[1]) != step.tensors(other[1]):
        sys.exit(f"{what}: other bits")


class Comparison:
    """The plain step of a model, and what programs of other pipelines make of it."""

    def __init__(self, options):
        self.dopt, name, scratch, self.train = options.dopt, options.name, options.scratch, options.train
        self.options, self.scratch, self.model = options, pathlib.Path(scratch), models.model(name)
        if options.batch:
            self.model.toy += ["-D", f"B={options.batch}"]
        self.scratch.mkdir(exist_ok=True)
        self.plain = self.program("plain", self.train, 1)
        self.start = step.tensors(self.plain.train("start", 0)[1])
        self.bits = {}  # by ranks: what pipeline OTHER gives
        self.expected, self.first = self.plain.train("all", STEPS), self.plain.train("first", 1)

    def program(self, name, pipeline, ranks, shim=None):
        return Program(self.dopt, self.model, self.scratch / name, pipeline, ranks, shim)

    def compare(self, what, found):
        return compare(what, self.start, self.expected, found, self.options.half)

    def checkpoints(self, what, other):
        """Each loads what the other saved after a step."""
        loaded = other.train("loaded", STEPS - 1, ("-load", self.first[1]))[1]
        self.compare(f"{what}, loaded from the plain step", (self.expected[0], loaded))
        loaded = self.plain.train("loaded", STEPS - 1, ("-load", other.train("first", 1)[1]))[1]
        self.compare(f"{what}, loaded by the plain step", (self.expected[0], loaded))

    def processes(self, program):
        launch = [*self.options.mpi.split(), "-n", str(program.ranks), program.path]
        return program.train("mpi", STEPS, launch=launch)

    def pipeline(self, pipeline, n):
        what = f"{self.model.name}, {pipeline}, {n} ranks"
        other = self.program(f"other{n}", pipeline, n)
        found = other.train("all", STEPS)
        moved = self.compare(what, found)
        self.checkpoints(what, other)
        if self.options.mpi:
            same_bits(f"{what}, processes and threads", self.processes(other), found)
        if self.options.bits:
            if n not in self.bits:
                self.bits[n] = self.program(f"bits{n}", self.options.bits, n).train("all", STEPS)
            same_bits(f"{what} and {self.options.bits}", found, self.bits[n])
        if self.options.shim:
            cuda = self.program(f"cuda{n}", pipeline, n, self.options.shim)
            self.compare(f"{what}, cuda", cuda.train("all", STEPS))
            if self.options.mpi:  # NCCL, whose sums have an order of their own
                self.compare(f"{what}, cuda and processes", self.processes(cuda))
        changes = "" if self.options.half else f", same changes in {moved} of {len(self.start)} params and states"
        print(f"{what}: same outputs{changes}")


def main():
    parser = argparse.ArgumentParser()
    for name in ("dopt", "name", "scratch", "train", "pipeline", "ranks"):
        parser.add_argument(name)
    parser.add_argument("-mpi")
    parser.add_argument("-shim", nargs=2)
    parser.add_argument("-bits")
    parser.add_argument("-batch", type=int)
    parser.add_argument("-half", action="store_true")
    options = parser.parse_args()
    comparison = Comparison(options)
    for pipeline in options.pipeline.split():
        for n in map(int, options.ranks.split(",")):
            comparison.pipeline(pipeline, n)


main()
