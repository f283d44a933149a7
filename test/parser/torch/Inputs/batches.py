"""batches.py DOPT SCRATCH: steps that look at the size of their batch, exported with four rows and run with others: the text
has `let B` only if it computes what torch does, or is refused, for these."""
import pathlib
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[4] / "docs" / "python"))

import torch
import torch.nn.functional as F
from dopt import from_torch

DOPT, SCRATCH = sys.argv[1], pathlib.Path(sys.argv[2])
STEPS = {
    "rows": lambda z: z.square().mean() + z.std(0, unbiased=False).sum() + (z * torch.arange(len(z))[:, None]).sum(),
    "halves": lambda z: (z[:len(z) // 2] - z[len(z) // 2:]).square().sum(),
    "every second": lambda z: z[::2].sum() + z[1::3].square().sum(),
    "first": lambda z: z[:6].sum() + z[-5:].square().sum(),
    "parity": lambda z: z.sum() * (2 if len(z) % 2 else 1),
    "pairs": lambda z: z[:len(z) - len(z) % 2].sum() + z[len(z) % 2:].square().sum(),
    "thirds": lambda z: z.sum() / -(-len(z) // 3),
    "capacity": lambda z: (z * (F.one_hot(z.argmax(1), 3).cumsum(0) <= int(1.25 * len(z) / 4))).sum(),
    "many": lambda z: z.sum() * (2 if len(z) > 13 else 1),
    "square": lambda z: (z @ z.T).sum() / len(z) ** 2,
}


def check(name):
    model = torch.nn.Linear(2, 3).double()
    step = lambda model, x: STEPS[name](model(x))
    path = str(SCRATCH / "batches")
    from_torch.export(path, step, model, torch.randn(4, 2, dtype=torch.float64))
    if "let B" not in pathlib.Path(f"{path}.dir").read_text():
        return "one size"
    for rows in (4, 5, 6, 7, 9, 12, 16, 20, 23):
        x = torch.randn(rows, 2, dtype=torch.float64)
        from_torch.save_rows(f"{path}.data", train={"x": x})
        done = subprocess.run([DOPT, "-run", "-f64", "-steps=1", "-no-shuffle", f"-DB={rows}", f"-data={path}.data",
                               f"-initial={path}.safetensors", f"{path}.dir"], capture_output=True, text=True)
        loss = [float(line.rpartition(" = ")[2]) for line in done.stdout.splitlines() if " loss = " in line]
        if done.returncode == 0 and not abs(loss[0] - step(model, x).item()) <= 1e-6 * max(1, abs(loss[0])):
            return f"{rows} rows: {loss[0]}, PyTorch has {step(model, x).item()}"
    return "any size"


SCRATCH.mkdir(parents=True, exist_ok=True)
torch.manual_seed(1)
for name in STEPS:
    print(f"{name}: {check(name)}")
