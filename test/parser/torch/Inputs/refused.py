"""refused.py SCRATCH: steps whose text would compute other numbers than PyTorch, one after another: each is refused."""
import pathlib
import random
import sys
import types

import torch
from dopt import from_torch
from torch._higher_order_ops import while_loop

SCRATCH = pathlib.Path(sys.argv[1])
SCRATCH.mkdir(parents=True, exist_ok=True)


def spectrum(x):
    return torch.linalg.eig(x)[0]


class Model(torch.nn.Module):
    def forward(self, x):
        return spectrum(x).abs().sum()


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


def own_gradient(name, back, double=False, nested=False):
    """A model with a torch.autograd.Function whose backward is `back` of the gradient."""
    function = type(name, (torch.autograd.Function,), {
        "forward": staticmethod(lambda ctx, x: x * 1), "backward": staticmethod(lambda ctx, g: back(g))})

    class OwnGradient(Layer):
        def forward(self, x):
            if double:
                x = x.clone().requires_grad_()
                y = function.apply(self.linear(x)).square().sum()
                return torch.autograd.grad(y, x, create_graph=True)[0].square().sum()
            loss = lambda x: function.apply(self.linear(x)).square().sum()
            return torch.func.grad(loss)(x).square().sum() if nested else loss(x)
    OwnGradient.__name__ = name
    return OwnGradient


OWN = (own_gradient("Clamped", lambda g: g.clamp(-1, 1)), own_gradient("Signed", torch.sign),
       own_gradient("Noisy", lambda g: g + 0.01 * torch.randn_like(g)), own_gradient("Normed", lambda g: g / g.norm()),
       own_gradient("Rounded", torch.round), own_gradient("Wide", lambda g: g.clamp(-100, 100)),
       own_gradient("Twice", lambda g: g * 2, double=True), own_gradient("Nested", lambda g: g * 2, nested=True))


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


class Keeping(Layer):
    def __init__(self):
        super().__init__()
        self.kept = {"calls": 0, "means": [None], "list": [], "late": types.SimpleNamespace(mean=0.0)}
        self.none = None


def keeping(name, change):
    """A model whose next step depends on what `change` changes; it returns a number or a tensor."""
    class Kept(Keeping):
        def forward(self, x):
            y = self.linear(x)
            return (y * change(self, y)).sum()
    Kept.__name__ = name
    return Kept


def counted(model, y):
    model.kept["calls"] += 1
    return model.kept["calls"]


def remembered(model, y):
    before, model.kept["means"][0] = model.kept["means"][0], y.detach().mean(0)
    return 1.0 if before is None else before


def appended(model, y):
    model.kept["list"].append(y.detach())
    return len(model.kept["list"])


def assigned(model, y):
    before, model.none = model.none, y.detach().mean(0)
    return 1.0 if before is None else before


def added(model, y):
    model.kept["late"].mean += 1
    return model.kept["late"].mean


def reported(model, y):
    """What no step reads is not refused."""
    model.none = y
    model.kept["list"].append(y)
    return 1.0


KEPT = (keeping("InDict", counted), keeping("InList", remembered), keeping("Appended", appended), keeping("FromNone", assigned),
        keeping("InObject", added), keeping("Reported", reported))


class Thawed(Layer):
    def __init__(self):
        super().__init__()
        self.linear.weight.requires_grad_(False)

    def forward(self, x):
        self.linear.weight.requires_grad_(True)
        return self.linear(x).sum()


outside = torch.nn.Linear(4, 2)


class Outside(Layer):
    def forward(self, x):
        with torch.no_grad():
            teacher = outside(x).sum()
        return outside(self.linear(x)).sum() + teacher


class Teacher(Layer):
    """A frozen module outside of the model is not refused."""

    def forward(self, x):
        with torch.no_grad():
            teacher = outside(x).sum()
        return self.linear(x).sum() * teacher


class Distinct(Layer):
    def forward(self, x):
        return self.linear(x).sum() * (x > 0).sum(1).unique().sum()


class Scattered(Layer):
    def forward(self, x):
        return torch.ones(4, 4).scatter_reduce(0, (x > 0).long(), self.linear(x), "prod").sum()


class Scaled(Layer):
    def forward(self, x):
        return torch.nn.functional.embedding((x > 0).long(), self.linear.weight, scale_grad_by_freq=True).sum()


class Renormed(Layer):
    def __init__(self):
        super().__init__()
        self.rows = torch.nn.Embedding(2, 4, max_norm=1.0)

    def forward(self, x):
        return self.rows((x > 0).long()).sum()


class Asking(Layer):
    def forward(self, x):
        y = self.linear(x).sum()
        return y * 2 if y > 0 else y


class Sloped(Layer):
    """Its graph has the gradient, and the lines of the step nevertheless."""

    def forward(self, x):
        slope, = torch.autograd.grad(self.linear(x.requires_grad_()).tanh().sum(), x, create_graph=True)
        return torch.linalg.eigvals(slope).abs().sum()


class Looping(Layer):
    def forward(self, x):
        dropped = torch.nn.functional.dropout
        x = while_loop(lambda i, x: x.sum() < i, lambda i, x: (i + 1, dropped(x)), (torch.tensor(1), x))[1]
        return self.linear(x).sum()


class Shared(Layer):
    """detach() shares its numbers."""

    def forward(self, x):
        y = self.linear(x)
        y.detach().clamp_(0, 1)
        return y.sum()


class Assigned(Layer):
    def forward(self, x):
        y = self.linear(x)
        y.data = y.data * 2
        return y.sum()


class ClippedBefore(Layer):
    """The gradient of what is written would be lost."""

    def forward(self, x):
        self.linear.weight.data = self.linear.weight.data.clamp(-1, 1)
        return self.linear(x).sum()


class Empty(Layer):
    """What has no elements is left out by cat, and only there."""

    def forward(self, x):
        y = self.linear(torch.cat([x[2:2], x]))
        y[4:4] = x[:0]
        return y[torch.arange(0)].sum()


class Lowest(Layer):
    """Not refused: a buffer that begins as infinite."""

    def __init__(self):
        super().__init__()
        self.register_buffer("low", torch.tensor(float("inf")))

    def forward(self, x):
        self.low.copy_(torch.minimum(self.low, x.min()))
        return self.linear(x).sum() * self.low


class Dropped(Layer):
    """Not refused; the mask is one that is left out while a program evaluates."""

    def forward(self, x):
        y = self.linear(x)
        y = torch.nn.functional.dropout2d(y[..., None, None], 0.25) + torch.nn.functional.dropout1d(y, 0.25)[..., None, None]
        return y.sum()


class OneSize(Layer):
    """Not refused, for the batch of the examples."""

    def forward(self, x):
        return self.linear(x).reshape(2, 8).sum()


for model in (Model, Counting, Remembering, Clipped, Hooked, HookedModule, Drawing, Sorting, *OWN, Complex, *KEPT, Thawed,
              Outside, Teacher, Distinct, Scattered, Scaled, Renormed, Asking, Sloped, Looping, Shared, Assigned, ClippedBefore, Empty, OneSize, Lowest, Dropped):
    try:
        from_torch.export(str(SCRATCH / "2_refused"), lambda model, x: model(x), model(), torch.randn(4, 4))
        print(f"{model.__name__} is not refused")
        if model is Lowest:
            print((SCRATCH / "2_refused.dir").read_text(), file=open(SCRATCH / "lowest.dir", "w"))
    except from_torch.Unsupported as refused:
        print(f"Unsupported: {refused}")

text = (SCRATCH / "2_refused.dir").read_text()  # of the last one
print(text.count("call @dropout("), "dropouts,", text.count("random_uniform("), "other draws")
