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


def own_gradient(name, back, double=False):
    """A model with a torch.autograd.Function whose backward is `back` of the gradient."""
    function = type(name, (torch.autograd.Function,), {
        "forward": staticmethod(lambda ctx, x: x * 1), "backward": staticmethod(lambda ctx, g: back(g))})

    class OwnGradient(Layer):
        def forward(self, x):
            if double:
                x = x.clone().requires_grad_()
                y = function.apply(self.linear(x)).square().sum()
                return torch.autograd.grad(y, x, create_graph=True)[0].square().sum()
            return function.apply(self.linear(x)).square().sum()
    OwnGradient.__name__ = name
    return OwnGradient


OWN = (own_gradient("Clamped", lambda g: g.clamp(-1, 1)), own_gradient("Signed", torch.sign),
       own_gradient("Noisy", lambda g: g + 0.01 * torch.randn_like(g)), own_gradient("Normed", lambda g: g / g.norm()),
       own_gradient("Rounded", torch.round), own_gradient("Twice", lambda g: g * 2, double=True))


class OwnComplex(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1j

    @staticmethod
    def backward(ctx, g):
        return (g * -1j).real


class Complex(Layer):
    def forward(self, x):
        return OwnComplex.apply(self.linear(x)).abs().sum()


for model in (Model, Counting, Remembering, Clipped, Hooked, HookedModule, Drawing, Sorting, *OWN, Complex):
    try:
        from_torch.export("refused", lambda model, x: model(x), model(), torch.randn(4, 4))
        print(f"{model.__name__} is not refused")
    except from_torch.Unsupported as refused:
        print(f"Unsupported: {refused}")
