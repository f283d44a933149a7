"""optimizers.py DOPT SCRATCH: the optimizers of torch.optim over 20 steps of a perceptron with biases, all in f64: losses and
parameters after them in the interpreter against those of torch."""
import concurrent.futures
import pathlib
import subprocess
import sys
import unittest.mock

HERE = pathlib.Path(__file__).resolve()
sys.path += [str(HERE.parents[4] / "docs" / "python"), str(HERE.parents[2] / "Inputs")]

import attempts
import torch
import torch.nn as nn
import torch.nn.functional as F
from dopt import from_torch, tensors
from torch import optim

STEPS, TOLERANCE = 20, 1e-8


class Muon:
    """torch.optim.Muon for the matrices, and AdamW for the biases."""

    def __init__(self, model, lr, adam_lr, **options):
        p = list(model.parameters())
        self.parts = [optim.Muon([x for x in p if x.ndim == 2], lr=lr, **options),
                      optim.AdamW([x for x in p if x.ndim != 2], adam_lr)]

    def zero_grad(self):
        for part in self.parts:
            part.zero_grad()

    def step(self):
        with unittest.mock.patch.object(torch, "bfloat16", torch.float64):
            for part in self.parts:
                part.step()


def of(kind, *positional, **options):
    return lambda model: kind(model.parameters(), *positional, **options)


def scheduled(make, schedule, *options, **named):
    """The optimizer with a learning rate of torch.optim.lr_scheduler."""
    def made(model):
        optimizer = make(model)
        rate = getattr(optim.lr_scheduler, schedule)(optimizer, *options, **named)
        optimizer.register_step_post_hook(lambda *_: rate.step())
        return optimizer
    return made


def warmed(make, steps):
    """One that rises over some steps."""
    return scheduled(make, "LambdaLR", lambda t: min(1, (t + 1) / steps))


PI = "3.141592653589793"


OPTIMIZERS = {
    f"sgd{{lr=0.05,schedule=exponential,steps=50,end={0.9 ** 50!r}}}": scheduled(of(optim.SGD, 0.05), "ExponentialLR", 0.9),
    'sgd{lr=0.1,factor="pow(0.5, floor((t - 0.5) / 3))"}': scheduled(of(optim.SGD, 0.1), "StepLR", 3, 0.5),
    'sgd{lr=0.1,factor="(t > 4 ? 0.3 : 1) * (t > 11 ? 0.3 : 1)"}': scheduled(of(optim.SGD, 0.1), "MultiStepLR", [4, 11], 0.3),
    f'sgd{{lr=0.1,factor="(1 + cos({PI} * rem(t - 1, 6) / 6)) / 2"}}':
        scheduled(of(optim.SGD, 0.1), "CosineAnnealingWarmRestarts", 6),
    f'sgd{{lr=0.1,steps=20,factor="n = t - 1; up = 0.3 * steps - 1; n < up ? 0.52 - 0.48 * cos({PI} * n / up)'
    f' : 0.500002 + 0.499998 * cos({PI} * (n - up) / (steps - 1 - up))"}}':
        scheduled(of(optim.SGD, 0.1), "OneCycleLR", 0.1, 20, cycle_momentum=False),
    'rprop{lr=0.1,factor="t < 4 ? 0.5 : 1"}': scheduled(of(optim.Rprop, 0.1), "LambdaLR", lambda t: 0.5 if t < 3 else 1),
    'adam{lr=0.01,warmup=5,factor="pow(1 - minimum(t - 1, 18) / 18, 2)"}':
        scheduled(of(optim.Adam, 0.01), "LambdaLR", lambda t: min(1, (t + 1) / 5) * (1 - min(t, 18) / 18) ** 2),
    "sgd{lr=0.05,weight_decay=0.1}": of(optim.SGD, 0.05, weight_decay=0.1),
    "momentum{lr=0.05,momentum=0.8,dampening=0.3,weight_decay=0.1}":
        of(optim.SGD, 0.05, momentum=0.8, dampening=0.3, weight_decay=0.1),
    "momentum{lr=0.05,nesterov}": of(optim.SGD, 0.05, momentum=0.9, nesterov=True),
    "adam{lr=0.01,weight_decay=0.1}": of(optim.Adam, 0.01, weight_decay=0.1),
    "adam{lr=0.01,amsgrad,maximize,beta2=0.9}": of(optim.Adam, 0.01, (0.9, 0.9), amsgrad=True, maximize=True),
    "adamw{lr=0.01,amsgrad,beta2=0.5}": of(optim.AdamW, 0.01, (0.9, 0.5), amsgrad=True),
    "adamax{weight_decay=0.1}": of(optim.Adamax, weight_decay=0.1),
    "adagrad{lr=0.05,weight_decay=0.1}": of(optim.Adagrad, 0.05, weight_decay=0.1),
    "rmsprop{momentum=0.9,centered,weight_decay=0.1}": of(optim.RMSprop, momentum=0.9, centered=True, weight_decay=0.1),
    "adadelta": of(optim.Adadelta),
    "adadelta{lr=0.5,rho=0.8,weight_decay=0.1,maximize}": of(optim.Adadelta, 0.5, 0.8, weight_decay=0.1, maximize=True),
    "rprop": of(optim.Rprop),
    "rprop{lr=0.1,grow=1.5,shrink=0.3,least=0.01,most=0.3}": of(optim.Rprop, 0.1, (0.3, 1.5), (0.01, 0.3)),
    "rprop{lr=0.1,warmup=4}": warmed(of(optim.Rprop, 0.1), 4),
    "adam{lr=0.1,warmup=4}": warmed(of(optim.Adam, 0.1), 4),
    "asgd": of(optim.ASGD),
    "asgd{lr=0.05,lambd=0.1,alpha=0.5,t0=4,weight_decay=0.1}": of(optim.ASGD, 0.05, 0.1, 0.5, 4, weight_decay=0.1),
    "asgd{lr=0.1,lambd=0.1,t0=2,warmup=4}": warmed(of(optim.ASGD, 0.1, 0.1, t0=2), 4),
    "nadam": of(optim.NAdam),
    "nadam{lr=0.01,weight_decay=0.1,momentum_decay=0.1}": of(optim.NAdam, 0.01, weight_decay=0.1, momentum_decay=0.1),
    "nadam{weight_decay=0.1,decoupled}": of(optim.NAdam, weight_decay=0.1, decoupled_weight_decay=True),
    "radam": of(optim.RAdam),
    "radam{lr=0.01,beta2=0.9,weight_decay=0.1}": of(optim.RAdam, 0.01, (0.9, 0.9), weight_decay=0.1),
    "radam{weight_decay=0.1,decoupled}": of(optim.RAdam, weight_decay=0.1, decoupled_weight_decay=True),
    "adafactor": of(optim.Adafactor),
    "adafactor{lr=0.5,d=1.5,eps=0.001,weight_decay=0.1,maximize}":
        of(optim.Adafactor, 0.5, d=1.5, eps=(0.001, 0.001), weight_decay=0.1, maximize=True),
    "muon": lambda model: Muon(model, 1e-3, 1e-3),
    'muon{lr=0.02,adam_lr=0.003,nesterov=false,momentum=0.8,weight_decay=0.01,adjust=match_rms_adamw}':
        lambda model: Muon(model, 0.02, 0.003, nesterov=False, momentum=0.8, weight_decay=0.01, adjust_lr_fn="match_rms_adamw"),
}


def perceptron():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(5, 12), nn.Tanh(), nn.Linear(12, 3))


def check(dopt, scratch, text):
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    model, after = perceptron(), perceptron()
    batch = {"x": torch.randn(16, 5), "y": torch.randint(0, 3, (16,))}
    step = lambda model, x, y: F.cross_entropy(model(x), y)
    path = scratch / str(list(OPTIMIZERS).index(text))
    from_torch.export(str(path), step, model, *batch.values(), batch=None)
    from_torch.save_rows(f"{path}.data", train=batch)
    done = subprocess.run([dopt, "-run", f"-steps={STEPS}", f"-pass=grad,{text}", "-no-shuffle", f"-data={path}.data",
                           f"-initial={path}.safetensors", f"-save={path}.after", f"{path}.dir"], capture_output=True, text=True)
    if done.returncode:
        return f"{text}: {done.stderr}"
    losses, optimizer = [], OPTIMIZERS[text](model)
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = step(model, *batch.values())
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    ours = [float(line.rpartition(" = ")[2]) for line in done.stdout.splitlines() if " loss = " in line]
    before = torch.cat([p.flatten() for p in after.parameters()])
    from_torch.load(f"{path}.after", after)
    here, there = (torch.cat([p.flatten() for p in m.parameters()]).detach() for m in (after, model))
    apart = [((here - there) / there.abs().clamp(min=1)).abs().max().item(), *(abs(a - b) / max(1, abs(b)) for a, b in zip(ours, losses))]
    moved = (there - before).abs().min().item() > 0
    if text.startswith("asgd"):  # the means, too
        saved = tensors.read(f"{path}.after")
        means = torch.cat([torch.frombuffer(bytearray(saved[f"asgd.mean.{name}"][2]), dtype=torch.float64)
                           for name, _ in model.named_parameters()])
        apart.append((means - torch.cat([optimizer.state[p]["ax"].flatten() for p in model.parameters()])).abs().max().item())
    same = all(d <= TOLERANCE for d in apart)  # a NaN is not
    return "" if len(ours) == STEPS and moved and same else f"{text}: apart by {max(apart):.1e}: {ours}, PyTorch has {losses}"


if __name__ == "__main__":
    attempts.main(check, OPTIMIZERS, concurrent.futures.ProcessPoolExecutor)
