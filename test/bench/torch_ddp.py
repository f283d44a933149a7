#!/usr/bin/env python3
"""Time of a data-parallel training step over a network: programs of dopt against PyTorch's DistributedDataParallel.

    python3 -m venv /tmp/venv-torch && /tmp/venv-torch/bin/pip install torch
    /tmp/venv-torch/bin/python test/bench/torch_ddp.py BUILD [-case NAME] [-fuse OPTIONS] [-rounds N] [-steps N]

Two ranks in two network namespaces (Inputs/pair/network.py), each with a core of its own: dopt over MPI, PyTorch over
gloo. dopt first measures kernels and messages there (-measure), and builds programs with that profile and the fine
replay, whose prediction is in the table. Both train the same model with Adam: same sizes, same batch over both ranks,
single precision, random inputs. The two take turns; figures are medians of the rounds' medians. -fuse, which may be
given again, is what tensorfuse is told; nothing is its default. Needs root. Not a test: nothing here fails because of a
time.
"""
import argparse
import json
import os
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "Inputs", "pair")]
import network  # noqa: E402

RANKS = 2
BURST = "256kb"
WARM_UP = 3
LIMIT = 120  # seconds of one run
CASES = {
    "mlp": (os.path.join(HERE, "Inputs", "fusion", "wide_mlp.dir"), ["-DL=9"]),
    "gpt": (os.path.join(HERE, "..", "models", "char_gpt.dir"), []),
}


def model(case):
    """The module of one rank, and its batch."""
    import torch_cpu

    module = {"mlp": torch_cpu.MLP, "gpt": torch_cpu.CharGPT}[case]()
    return module, [part[: len(part) // RANKS] for part in module.batch()]


def worker(case, steps):
    """One rank of PyTorch, started by mpirun; prints microseconds a step."""
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    rank = int(os.environ["OMPI_COMM_WORLD_RANK"])
    os.environ["GLOO_SOCKET_IFNAME"] = "dopt"
    dist.init_process_group(
        "gloo", init_method=f"tcp://{network.ADDRESS.format(1)}:29500", rank=rank, world_size=RANKS
    )
    module, data = model(case)
    ddp = torch.nn.parallel.DistributedDataParallel(module)
    adam = torch.optim.Adam(ddp.parameters(), fused=True)
    times = []
    for _ in range(WARM_UP + steps):
        begin = time.perf_counter()
        adam.zero_grad(set_to_none=True)
        ddp(*data).backward()
        adam.step()
        times.append(time.perf_counter() - begin)
    if not rank:
        print(f"iteration: {statistics.median(times[WARM_UP:]) * 1e6:.1f} us", flush=True)
    dist.destroy_process_group()


def microseconds(nodes, words):
    done = subprocess.run(nodes.command(words, LIMIT), capture_output=True, text=True, timeout=2 * LIMIT)
    found = re.search(r"^iteration: ([\d.]+) us", done.stdout, re.M)
    if not found:
        sys.exit(f"{words}: exit status {done.returncode}: {done.stderr[-800:]}")
    return float(found[1])


PASSES = "grad,adam,dp{axis=dp},canonicalize,cse,dce,opfuse"
# Of dopt -measure.
MEASURE_SECONDS = 600


def dopt(options, case, *words):
    source, defines = CASES[case]
    tool = os.path.join(options.build, "bin", "dopt")
    words = [tool, f"-DN={RANKS}", *defines, *words, source]
    return subprocess.run(words, check=True, capture_output=True, text=True)


def measure(options, case, nodes, profile):
    """Kernels and messages, where the program will run."""
    command = shlex.join(nodes.command([], MEASURE_SECONDS))
    dopt(options, case, "-measure", "-measure-mpi=" + command, "-profile=" + profile, "-pass=" + PASSES)


def build(options, case, fuse, folder, profile):
    """A program, what is predicted of a step in ms, and what tensorfuse chose, if it chose."""
    program = os.path.join(folder, f"{case}-{len(os.listdir(folder))}")
    passes = f"-pass={PASSES},tensorfuse" + (f"{{{fuse}}}" if fuse else "")
    said = dopt(options, case, "-profile=" + profile, "-replay=fine", passes, "-stats=json", "-remarks", "-emit=none")
    predicted = json.loads(said.stdout)[-1]["cost"]["iteration"]
    chosen = re.search(r"tensorfuse: missed: (\S+) is the fastest", said.stdout + said.stderr)
    dopt(options, case, "-profile=" + profile, "-replay=fine", passes, "-emit=program", "-o", program)
    return program, predicted * 1e3, f"{fuse or 'default'}" + (f": {chosen[1]}" if chosen else "")


def compare(options, case):
    """Of each option of tensorfuse: what it is and what is predicted in ms, dopt's rounds and DDP's in us."""
    steps, fuses = str(WARM_UP + options.steps), options.fuse or [""]
    with tempfile.TemporaryDirectory() as folder:
        profile = os.path.join(folder, "times.db")
        with network.Network(RANKS, BURST) as nodes:
            measure(options, case, nodes, profile)
        built = [build(options, case, fuse, folder, profile) for fuse in fuses]
        theirs = [options.torch, os.path.abspath(__file__), "-worker", case, str(options.steps)]
        ours = [[program, "-steps", steps, "-report-every", steps, "-no-eval"] for program, _, _ in built]
        with network.Network(RANKS, BURST) as nodes:
            rounds = [[microseconds(nodes, words) for words in [theirs, *ours]] for _ in range(options.rounds)]
    torch, *columns = zip(*rounds)
    return [(name, predicted, us, torch) for (_, predicted, name), us in zip(built, columns)]


def show(case, name, predicted, us, torch):
    took, other = statistics.median(us) / 1e3, statistics.median(torch) / 1e3
    off = f"{predicted:.1f} | {100 * (predicted / took - 1):+.1f}"
    print(f"| {case} | {name} | {off} | {took:.1f} | {other:.1f} | {took / other:.2f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("-case", choices=CASES, action="append")
    parser.add_argument("-fuse", action="append")
    parser.add_argument("-rounds", type=int, default=5)
    parser.add_argument("-steps", type=int, default=10)
    options = parser.parse_args()
    options.torch = sys.executable
    with open(os.path.join(HERE, "..", "environment")) as lines:
        for line in lines:
            if re.match("O[A-Z]*_", line):
                os.environ.setdefault(*line.strip().split("=", 1))
    print(f"Links of {network.RATE}, tbf burst {BURST}; {options.rounds} rounds; load {os.getloadavg()[0]:.1f}.\n")
    head = ["model", "tensorfuse", "predicted, ms", "off, %", "dopt, ms", "DDP, ms", "ratio"]
    print("| " + " | ".join(head) + " |\n|" + " --- |" * len(head), flush=True)
    for case in options.case or CASES:
        for row in compare(options, case):
            show(case, *row)


if __name__ == "__main__":
    if sys.argv[1:2] == ["-worker"]:
        worker(sys.argv[2], int(sys.argv[3]))
    else:
        main()
