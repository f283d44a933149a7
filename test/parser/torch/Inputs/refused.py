"""Steps whose text would compute other numbers than PyTorch, one after another: each is refused."""
import random

import torch
from dopt import from_torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.linalg.eig(x)[0].abs().sum()


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.calls, self.before = 0, torch.zeros(4)


class Counting(Layer):
    def forward(self, x):
        self.calls += 1
        return self.linear(x).sum() * self.calls


class Remembering(Layer):
    def forward(self, x):
        self.before = self.before * 0.5 + self.linear(x).detach().mean(0)
        return (self.linear(x) - self.before).sum()


class Clipped(Layer):
    def forward(self, x):
        with torch.no_grad():
            self.linear.weight.clamp_(-0.1, 0.1)
        return self.linear(x).sum()


class Hooked(Layer):
    def forward(self, x):
        y = self.linear(x)
        y.register_hook(lambda g: g * 0.1)
        return y.sum()


class HookedModule(Layer):
    def __init__(self):
        super().__init__()
        self.linear.register_full_backward_hook(lambda module, new, old: (new[0] * 2,))

    def forward(self, x):
        return self.linear(x).sum()


class Drawing(Layer):
    def forward(self, x):
        return self.linear(x).sum() * random.random()


class Sorting(Layer):
    def forward(self, x):
        return self.linear(x)[x > 0].sort()[0][0]


for model in (Model, Counting, Remembering, Clipped, Hooked, HookedModule, Drawing, Sorting):
    try:
        from_torch.export("refused", lambda model, x: model(x), model(), torch.randn(4, 4))
        print(f"{model.__name__} is not refused")
    except from_torch.Unsupported as refused:
        print(f"Unsupported: {refused}")
