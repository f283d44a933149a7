"""Gradients that a step defines itself: torch.autograd.Function. What `backward` makes of a gradient g is linear in g, A g; its
transpose applied to the input, A^T x, has the gradient A g, so that the result is a constant plus a term that is 0 and has it.
A `backward` that is not linear in g, such as one that clips it, has no such term: `check_linear` finds those."""
import contextlib
import copy
import functools
import types

import torch

from .composed import with_gradient
from .table import Unsupported

grad = torch.autograd.grad  # of torch, also while a step's is another


class Context:
    """What torch hands to forward and backward. Inputs are constants there, so that A does not depend on x."""

    def __init__(self, needs):
        self.needs_input_grad, self.saved_tensors = needs, ()

    def save_for_backward(self, *tensors):
        self.saved_tensors = tensors

    def mark_non_differentiable(self, *tensors):
        pass

    def set_materialize_grads(self, value):
        pass

    def mark_dirty(self, *tensors):
        raise Unsupported("a torch.autograd.Function that writes into its inputs")


def is_learned(x):
    return isinstance(x, torch.Tensor) and x.is_floating_point()


def forward(cls, constants):
    """The results, and the context for `backward`."""
    context = Context(tuple(map(is_learned, constants)))
    if cls.setup_context is not torch.autograd.Function.setup_context:
        results = cls.forward(*constants)
        cls.setup_context(context, tuple(constants), results)
    else:
        results = cls.forward(context, *constants)
    return results, context


def listed(x):
    return list(x) if isinstance(x, (tuple, list)) else [x]


def apply(used, check, cls, *args):
    """What the class computes, with its gradient. `used` collects the classes; `check`: values are known, so that the
    linearity of `backward` is checked."""
    used.append(cls)
    if torch._C._functorch.peek_interpreter_stack() is not None:
        raise Unsupported(f"{cls.__name__}: a torch.autograd.Function inside torch.func")
    constants = [x.detach().clone() if isinstance(x, torch.Tensor) else x for x in args]
    if check:
        refuse_nonlinear(cls, constants)
        try:  # elsewhere, too: examples may be zeros
            refuse_nonlinear(cls, [x + torch.randn_like(x) if is_learned(x) else x for x in constants])
        except (ArithmeticError, AssertionError, RuntimeError, ValueError):  # outside of its domain
            pass
    results, context = forward(cls, constants)
    outputs, found = listed(results), []
    if any(isinstance(x, torch.Tensor) and x.is_complex() for x in (*args, *outputs)):
        raise Unsupported(f"{cls.__name__}: a torch.autograd.Function of complex numbers")
    for i, y in enumerate(outputs):
        if not is_learned(y):
            found.append(y)
            continue
        with torch.enable_grad():
            g = [torch.zeros_like(v).requires_grad_(k == i) for k, v in enumerate(outputs)]
            back = listed(cls.backward(context, *g))
            products = [(b * x).sum() for b, x in zip(back, args) if b is not None and is_learned(x)]
            products = [p for p in products if p.requires_grad]
            with torch._C.DisableTorchFunction():
                term = grad(sum(products), g[i], create_graph=True, allow_unused=True)[0] if products else None
        found.append(y.detach() if term is None else with_gradient(y, term))
    return tuple(found) if isinstance(results, (tuple, list)) else found[0]


ROUNDING = 0.02  # of what backward returns, relative to the largest element: more than that of bf16
SCALES = (1e-3, 1.0, 1e3)  # of the g that are tried: limits of common clips are between them


def refuse_nonlinear(cls, constants):
    """Compares backward at sums and multiples of random g with sums and multiples of what it returns, with the same draws."""
    results, context = forward(cls, constants)
    outputs = listed(results)

    def back(*gs):
        torch.manual_seed(0)
        with torch.no_grad():
            found = listed(cls.backward(context, *gs))
        return [b.double() for b, x in zip(found, constants) if isinstance(b, torch.Tensor) and is_learned(x)]

    def at(gs, factor):
        return [g * factor for g in gs]

    one, two = ([torch.randn_like(y) if is_learned(y) else torch.zeros_like(y) for y in outputs] for _ in range(2))
    zero = back(*[torch.zeros_like(y) for y in outputs])
    linear = all((z.nan_to_num(0) == 0).all() for z in zero)
    first, second = back(*one), back(*two)
    found = [(back(*[g + h for g, h in zip(one, two)]), [a + b for a, b in zip(first, second)])]
    found += [(back(*at(one, 0.7 * scale)), at(first, 0.7 * scale)) for scale in SCALES]
    for got, due in found:
        for a, b in zip(got, due, strict=True):
            known = a.isfinite() & b.isfinite()
            a, b = torch.where(known, a, 0), torch.where(known, b, 0)
            linear = linear and (not a.numel() or (a - b).abs().max() <= ROUNDING * torch.maximum(a.abs(), b.abs()).max())
    if not linear:
        raise Unsupported(f"{cls.__name__}: its backward is not linear in the gradient that it gets; clip gradients with the "
                          "option clip of an optimizer")


def check_linear(step, model, inputs):
    """Computes the step once, with the values of the examples and a copy of the model, and checks each Function that it uses."""
    with torch.random.fork_rng(devices=[]), torch.enable_grad(), functions_defined(step, model, check=True):
        step(copy.deepcopy(model), *[x.clone() for x in inputs])


@contextlib.contextmanager
def functions_defined(step, model, used=None, check=False):
    """Calls `apply` above for those of torch.autograd.Function, also where a module of the step holds `Class.apply`."""
    ours = functools.partial(apply, [] if used is None else used, check)
    codes = [step, *(type(m).forward for m in model.modules() if not type(m).__module__.startswith("torch."))]
    names = {id(c.__globals__): c.__globals__ for c in codes if isinstance(c, types.FunctionType)}
    held = [(space, name, value) for space in names.values() for name, value in space.items()
            if isinstance(value, types.BuiltinMethodType) and value.__name__ == "apply" and isinstance(value.__self__, type)
            and issubclass(value.__self__, torch.autograd.Function)]
    original = torch.autograd.Function.__dict__["apply"]

    def replaced(cls, *args):
        return original.__get__(None, cls)(*args) if cls.__module__.startswith("torch.") else ours(cls, *args)
    torch.autograd.Function.apply = classmethod(replaced)
    for space, name, value in held:
        space[name] = types.MethodType(ours, value.__self__)
    try:
        yield
    finally:
        torch.autograd.Function.apply = original
        for space, name, value in held:
            space[name] = value


def refuse_hooks(model):
    """Hooks of gradients, which the graph of a step does not have."""
    for name, module in model.named_modules():
        if module._backward_hooks or module._backward_pre_hooks:
            raise Unsupported(f"{name}: a backward hook; gradients are those of the step")
    for name, x in model.named_parameters():
        if x._backward_hooks:
            raise Unsupported(f"{name}: a hook of the gradient; gradients are those of the step")


def refuse_own_gradient(x):
    if isinstance(x, torch.Tensor) and isinstance(x.grad_fn, torch.autograd.function.BackwardCFunction) and \
            not type(x.grad_fn).__module__.startswith("torch."):
        raise Unsupported(f"{type(x.grad_fn).__name__}: call apply of the class in the step, not a copy of it")
