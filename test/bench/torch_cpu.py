#!/usr/bin/env python3
"""Time of a training step on the host: programs of dopt against PyTorch on the same CPU, with as many threads.

    python3 -m venv /tmp/venv-torch && /tmp/venv-torch/bin/pip install torch
    /tmp/venv-torch/bin/python test/bench/torch_cpu.py BUILD [-case NAME] [-threads 1,2] [-rounds N] [-steps N]

Both train the same model with Adam: same sizes, same batch over all threads, single precision; a step is forward,
backward and update, on random inputs. A program of dopt has one rank a thread, data-parallel; PyTorch divides each
operation among its threads. The two take turns. `median` is the median of all rounds' medians; other work on the
machine only ever adds time, so `best`, the fastest round's median, says more on a machine that is shared.
Not a test: nothing here fails because of a time.
"""
import argparse
import os
import re
import statistics
import subprocess
import tempfile
import time

import torch
from torch import nn
from torch.nn import functional as F

MODELS = os.path.join(os.path.dirname(__file__), "..", "models")
WARM_UP = 3  # steps in which memory is allocated and threads start


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        qkv = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class CharGPT(nn.Module):
    """test/models/char_gpt.dir"""

    file = "char_gpt.dir"
    B, T, V, H, A, L = 32, 64, 76, 128, 4, 4

    def __init__(self):
        super().__init__()
        self.chars = nn.Embedding(self.V, self.H)
        self.places = nn.Parameter(0.02 * torch.randn(self.T, self.H))
        self.blocks = nn.Sequential(*[Block(self.H, self.A) for _ in range(self.L)])
        self.norm, self.head = nn.LayerNorm(self.H), nn.Linear(self.H, self.V)

    def batch(self):
        return torch.randint(self.V, (self.B, self.T)), torch.randint(self.V, (self.B, self.T))

    def forward(self, x, y):
        z = self.head(self.norm(self.blocks(self.chars(x) + self.places)))
        return F.cross_entropy(z.view(-1, self.V), y.view(-1))


def between(at, k):
    return F.relu(1 - (at - k).abs())


class DigitsCNN(nn.Module):
    """test/models/digits_cnn.dir, with the images moved in the same way"""

    file = "digits_cnn.dir"
    B, C, H = 60, 32, 128

    def __init__(self):
        super().__init__()
        self.c1, self.c2 = nn.Conv2d(1, self.C, 3, padding=1), nn.Conv2d(self.C, 2 * self.C, 3, padding=1)
        self.f1, self.f2 = nn.Linear(2 * self.C * 16, self.H), nn.Linear(self.H, 10)
        self.i, self.j = torch.arange(8.0).view(8, 1), torch.arange(8.0)

    def batch(self):
        return torch.rand(self.B, 64), torch.randint(10, (self.B,))

    def moved(self, x):
        down, right, lean = 2 * torch.rand(3, len(x), 1, 1) - 1
        at = torch.bmm(between(self.i + down, self.j), x.view(-1, 8, 8))
        off = (torch.arange(8.0).view(8, 1) - 3.5) * 0.25 * lean + right
        cols = between(self.i + off.unsqueeze(-1), self.j)
        return torch.einsum("bijk,bik->bij", cols, at).unsqueeze(1)

    def forward(self, x, y):
        with torch.no_grad():
            x = self.moved(x)
        x = F.max_pool2d(F.relu(self.c2(F.relu(self.c1(x)))), 2)
        return F.cross_entropy(self.f2(F.relu(self.f1(x.flatten(1)))), y)


class MLP(nn.Module):
    """test/bench/Inputs/fusion/wide_mlp.dir with L = 9"""

    B, I, H, K, L = 256, 1024, 1024, 16, 9

    def __init__(self):
        super().__init__()
        wide = [layer for k in range(self.L) for layer in (nn.Linear(self.H if k else self.I, self.H), nn.ReLU())]
        self.all = nn.Sequential(*wide, nn.Linear(self.H, self.K))

    def batch(self):
        return torch.rand(self.B, self.I), torch.randint(self.K, (self.B,))

    def forward(self, x, y):
        return F.cross_entropy(self.all(x), y)


CASES = {"gpt": CharGPT, "cnn": DigitsCNN}


class Torch:
    def __init__(self, case, threads):
        self.threads = threads
        self.model = case()
        self.adam = torch.optim.Adam(self.model.parameters(), fused=True)

    def step(self):
        self.adam.zero_grad(set_to_none=True)
        self.model(*self.data).backward()
        self.adam.step()

    def median(self, steps):
        """Microseconds a step."""
        torch.set_num_threads(self.threads)
        self.data = self.model.batch()
        times = []
        for _ in range(WARM_UP + steps):
            begin = time.perf_counter()
            self.step()
            times.append(time.perf_counter() - begin)
        return statistics.median(times[WARM_UP:]) * 1e6


class Dopt:
    def __init__(self, build, case, threads, folder):
        self.program = os.path.join(folder, "train")
        passes = "grad,adam" + (",dp{axis=dp}" if threads > 1 else "") + ",canonicalize,cse,dce,opfuse,tensorfuse"
        subprocess.run([os.path.join(build, "bin", "dopt"), "-emit=program", "-pass=" + passes, "-D", f"N={threads}",
                        "-o", self.program, os.path.join(MODELS, case.file)], check=True)

    def median(self, steps):
        run = subprocess.run([self.program, "-steps", str(WARM_UP + steps), "-no-eval"], check=True, capture_output=True,
                             text=True)
        return float(re.search(r"^iteration: ([\d.]+) us", run.stdout, re.M).group(1))


def compare(case, threads, options):
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = Dopt(options.build, CASES[case], threads, folder), Torch(CASES[case], threads)
        rounds = [(ours.median(options.steps), theirs.median(options.steps)) for _ in range(options.rounds)]
    for name, pick in (("median", statistics.median), ("best", min)):
        a, b = (pick(column) / 1e3 for column in zip(*rounds))
        print(f"{case:6} {threads} threads  {name:6}  dopt {a:8.2f} ms  torch {b:8.2f} ms  ratio {a / b:5.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("-case", choices=CASES, action="append")
    parser.add_argument("-threads", default="1,2")
    parser.add_argument("-rounds", type=int, default=7)
    parser.add_argument("-steps", type=int, default=20)
    options = parser.parse_args()
    print(f"PyTorch {torch.__version__}, load {os.getloadavg()[0]:.1f}")
    for case in options.case or CASES:
        for threads in map(int, options.threads.split(",")):
            compare(case, threads, options)


if __name__ == "__main__":
    main()
