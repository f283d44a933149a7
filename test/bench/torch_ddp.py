#!/usr/bin/env python3
"""Time of a data-parallel training step over a network: programs of dopt against PyTorch's DistributedDataParallel.

    python3 -m venv /tmp/venv-torch && /tmp/venv-torch/bin/pip install torch
    /tmp/venv-torch/bin/python test/bench/torch_ddp.py BUILD [-case NAME] [-fuse OPTIONS] [-rounds N] [-steps N]

Two ranks in two network namespaces (Inputs/pair/network.py), each with a core of its own: dopt over MPI, PyTorch over
gloo. Both train the same model with Adam: same sizes, same batch over both ranks, single precision, random inputs. The
two take turns; figures are medians of the rounds' medians. -fuse, which may be given again, is what tensorfuse is told;
nothing is its default. Needs root. Not a test: nothing here fails because of a time.
"""
import argparse
import os
import re
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
    import torch
    import torch_cpu
    from torch import nn
    from torch.nn import functional as F

    class MLP(nn.Module):
        """Inputs/fusion/wide_mlp.dir with L = 9"""

        def __init__(self):
            super().__init__()
            wide = [layer for _ in range(9) for layer in (nn.Linear(1024, 1024), nn.ReLU())]
            self.all = nn.Sequential(*wide, nn.Linear(1024, 16))

        def forward(self, x, y):
            return F.cross_entropy(self.all(x), y)

    if case == "mlp":
        rows = 256 // RANKS
        return MLP(), (torch.rand(rows, 1024), torch.randint(16, (rows,)))
    gpt = torch_cpu.CharGPT()
    return gpt, [part[: len(part) // RANKS] for part in gpt.batch()]


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


def build(options, case, fuse, folder):
    source, words = CASES[case]
    program = os.path.join(folder, f"{case}-{len(os.listdir(folder))}")
    passes = "grad,adam,dp{axis=dp},canonicalize,cse,dce,opfuse,tensorfuse" + (f"{{{fuse}}}" if fuse else "")
    dopt = os.path.join(options.build, "bin", "dopt")
    subprocess.run([dopt, "-emit=program", "-pass=" + passes, f"-DN={RANKS}", *words, "-o", program, source], check=True)
    return program


def compare(options, case, folder):
    steps, fuses = str(WARM_UP + options.steps), options.fuse or [""]
    programs = [build(options, case, fuse, folder) for fuse in fuses]
    theirs = [sys.executable, os.path.abspath(__file__), "-worker", case, str(options.steps)]
    ours = [[program, "-steps", steps, "-report-every", steps, "-no-eval"] for program in programs]
    with network.Network(RANKS, BURST) as nodes:
        rounds = [[microseconds(nodes, words) for words in [theirs, *ours]] for _ in range(options.rounds)]
    torch, *dopt = (statistics.median(column) / 1e3 for column in zip(*rounds))
    for fuse, took in zip(fuses, dopt):
        print(f"| {case} | {fuse or 'default'} | {took:.1f} | {torch:.1f} | {took / torch:.2f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("-case", choices=CASES, action="append")
    parser.add_argument("-fuse", action="append")
    parser.add_argument("-rounds", type=int, default=5)
    parser.add_argument("-steps", type=int, default=10)
    options = parser.parse_args()
    with open(os.path.join(HERE, "..", "environment")) as lines:
        for line in lines:
            if re.match("O[A-Z]*_", line):
                os.environ.setdefault(*line.strip().split("=", 1))
    print(f"Links of {network.RATE}, tbf burst {BURST}; {options.rounds} rounds; load {os.getloadavg()[0]:.1f}.\n")
    print("| model | tensorfuse | dopt, ms | DDP, ms | ratio |\n| --- | --- | --- | --- | --- |", flush=True)
    for case in options.case or CASES:
        with tempfile.TemporaryDirectory() as folder:
            compare(options, case, folder)


if __name__ == "__main__":
    if sys.argv[1:2] == ["-worker"]:
        worker(sys.argv[2], int(sys.argv[3]))
    else:
        main()
