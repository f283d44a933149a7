"""Gradients that a step defines itself: torch.autograd.Function. What `backward` makes of a gradient g is linear in g, A g; its
transpose applied to the input, A^T x, has the gradient A g, so that the result is a constant plus a term that is 0 and has it."""
import contextlib
import types

import torch

from .composed import with_gradient
from .table import Unsupported


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


def apply(cls, *args):
    constants = [x.detach().clone() if isinstance(x, torch.Tensor) else x for x in args]
    context = Context(tuple(map(is_learned, args)))
    if cls.setup_context is not torch.autograd.Function.setup_context:
        results = cls.forward(*constants)
        cls.setup_context(context, tuple(constants), results)
    else:
        results = cls.forward(context, *constants)
    several = isinstance(results, (tuple, list))
    outputs, found = list(results) if several else [results], []
    for i, y in enumerate(outputs):
        if not is_learned(y):
            found.append(y)
            continue
        with torch.enable_grad():
            g = [torch.zeros_like(v).requires_grad_(k == i) for k, v in enumerate(outputs)]
            back = cls.backward(context, *g)
            back = back if isinstance(back, (tuple, list)) else (back,)
            products = [(b * x).sum() for b, x in zip(back, args) if b is not None and is_learned(x)]
            term = torch.autograd.grad(sum(products), g[i], create_graph=True, allow_unused=True)[0] if products else None
        found.append(y.detach() if term is None else with_gradient(y, term))
    return tuple(found) if several else found[0]


@contextlib.contextmanager
def functions_defined(step, model):
    """Calls `apply` above for those of torch.autograd.Function, also where a module of the step holds `Class.apply`."""
    codes = [step, *(type(m).forward for m in model.modules() if not type(m).__module__.startswith("torch."))]
    names = {id(c.__globals__): c.__globals__ for c in codes if isinstance(c, types.FunctionType)}
    held = [(space, name, value) for space in names.values() for name, value in space.items()
            if isinstance(value, types.BuiltinMethodType) and value.__name__ == "apply" and isinstance(value.__self__, type)
            and issubclass(value.__self__, torch.autograd.Function)]
    original = torch.autograd.Function.__dict__["apply"]

    def replaced(cls, *args):
        return original.__get__(None, cls)(*args) if cls.__module__.startswith("torch.") else apply(cls, *args)
    torch.autograd.Function.apply = classmethod(replaced)
    for space, name, value in held:
        space[name] = types.MethodType(apply, value.__self__)
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
