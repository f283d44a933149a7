"""The graph of a step: what torch.export makes of it, without gradients where the step has stopped them."""
import contextlib
import os
import random
import re
import sys
import traceback
import types
import unittest.mock

import torch
import torch._dynamo  # has tables of torch as it is, without the patches
import torch.nn.attention.flex_attention
import torch.utils.checkpoint
from torch._subclasses.fake_tensor import FakeTensor
from torch._subclasses.functional_tensor import FunctionalTensor

from .attributes import Attributes
from .custom import functions_defined, refuse_hooks, refuse_own_gradient
from .known import Known
from .masks import Masks, Rows, applied
from .packed import packed_sequences
from .replaced import REPLACED, TWICE, adaptive_log_softmax, batch_norm, dropped_rows, flex_attention, made_of_numbers
from .table import Unsupported, aten


class Step(torch.nn.Module):
    def __init__(self, step, model):
        super().__init__()
        self.model = model
        self.step = step
        # What the step changes in attributes, and the classes of torch.autograd.Function that it uses.
        self.found = types.SimpleNamespace(changed=(), functions=[])

    def forward(self, *inputs):
        before = [(module, name, x) for module in self.model.modules() for name, x in module._buffers.items()]
        attributes = Attributes(self.model)
        with Replaced(), functions_defined(self.step, self.model, self.found.functions):
            results = self.step(self.model, *inputs)
        self.found.changed = attributes.changes()
        for module, name, x in before:  # a buffer that the step has replaced is one that it has written into
            new = module._buffers[name]
            if new is not x and isinstance(x, torch.Tensor) and isinstance(new, torch.Tensor):
                module._buffers[name] = x.copy_(new)
        return results


def exported(step, inputs):
    """The graph of a step, in which what the step keeps outside of tensors, or draws, has one value: that is refused."""
    refuse_hooks(step.model)
    drawn = random.getstate()
    program = graph_of(step, inputs)
    if drawn != random.getstate():
        raise Unsupported("the step draws random numbers of Python; use those of torch")
    constants = {c.data_ptr() for c in program.constants.values() if isinstance(c, torch.Tensor)}
    for _, name, old, new in step.found.changed:
        kept = {id(x) for x in torch.utils._pytree.tree_leaves(new)}
        for x in torch.utils._pytree.tree_leaves(old):
            if isinstance(x, torch.Tensor) and id(x) not in kept and x.data_ptr() in constants:
                raise Unsupported(f"the step changes the tensor {name}: make it a buffer")
    return program


class Everything(set):
    def __contains__(self, _):
        return True


def patches():
    """What torch computes with values, or by kernels, and is exported without them: owner, name, and what is there meanwhile."""
    flex, masks = torch.nn.attention.flex_attention, torch.nn.modules.transformer
    again = torch.utils.checkpoint
    vision = sys.modules.get("torchvision.ops.stochastic_depth")
    found = [
        (torch.distributions.Distribution, "_validate_args", False),  # checks read values
        (masks, "_detect_is_causal_mask", lambda mask, is_causal=None, size=None: bool(is_causal)),
        (torch.nn.AdaptiveLogSoftmaxWithLoss, "forward", adaptive_log_softmax),
        (torch.nn.modules.batchnorm._BatchNorm, "forward", batch_norm),
        (torch, "tensor", made_of_numbers),
        (torch.fx.proxy, "_STACK_TRACE_ANCHORS", Everything()),  # lines of all functions, not of those named `forward` alone
        (flex, "flex_attention_hop", flex_attention),
        (flex, "_validate_device", lambda *tensors: None),  # refuses gradients on CPUs
        (flex, "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG", True),  # otherwise the call is compiled
        (again, "CheckpointFunction", types.SimpleNamespace(apply=lambda function, preserve, *args: function(*args))),
        (again, "_checkpoint_without_reentrant_generator_impl", lambda *args, **named: iter([None])),  # around the call itself
        *([(vision, "stochastic_depth", dropped_rows)] if vision else []),
    ]
    return [patch for patch in found if hasattr(patch[0], patch[1])]  # those that this version of torch has


def graph_of(step, inputs):
    """Exported as it is or, if that fails and does not for its data, after a trace that knows gradients inside the step."""
    with contextlib.ExitStack() as patched:
        for patch in patches():
            patched.enter_context(unittest.mock.patch.object(*patch))
        try:
            program = torch.export.export(step, tuple(inputs))
            if any(isinstance(c, torch.Tensor) and not torch._C._has_storage(c) for c in program.constants.values()):  # of torch.func
                raise ValueError("the step makes constants of values")
            return program
        except Exception as failed:
            from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode
            if isinstance(failed, Unsupported):
                raise
            if isinstance(failed, GuardOnDataDependentSymNode) or "DataDependent" in type(failed).__name__ \
                    or "DynamicOutput" in type(failed).__name__:
                raise Unsupported(f"{line_of(failed)}: the step reads a value (if, assert, item, float of a tensor), which differs "
                                  "from step to step: use torch.where or torch.cond, and leave out checks") from failed
            try:
                return torch.export.export(Traced(step, inputs), tuple(inputs))
            except Unsupported:
                raise
            except Exception:
                raise failed


def line_of(failed):
    """The innermost line of an error that is neither in torch nor here."""
    known = (os.path.dirname(torch.__file__), os.path.dirname(__file__))
    frames = [f for f in traceback.extract_tb(failed.__traceback__) if not f.filename.startswith((*known, "<"))]
    return f'File "{frames[-1].filename}", line {frames[-1].lineno}, in {frames[-1].name}' if frames else "in the step"


class Traced(torch.nn.Module):
    """A step with gradients inside (torch.autograd.grad, torch.func) as the operations that compute them."""

    def __init__(self, step, inputs):
        super().__init__()
        from torch.fx.experimental.proxy_tensor import make_fx
        from torch.nn.attention import SDPBackend, sdpa_kernel
        self.model = step.model
        tensors = self.tensors()

        def run(tensors, *inputs):
            with Detached(), sdpa_kernel(SDPBackend.MATH):
                return torch.func.functional_call(step, tensors, inputs)

        grad = torch.autograd.grad

        def grad_of(*args, create_graph=False, **named):
            if create_graph and step.found.functions:
                raise Unsupported(f"{step.found.functions[0].__name__}: a torch.autograd.Function in a step that differentiates "
                                  "twice")
            found = grad(*args, create_graph=create_graph, **named)
            return found if create_graph else tuple(g if g is None else aten.detach_copy(g) for g in found)
        torch.autograd.grad = grad_of
        try:
            self.operations = make_fx(run, tracing_mode="fake", _allow_non_fake_inputs=True,
                                      record_stack_traces=True)(tensors, *inputs)
        finally:
            torch.autograd.grad = grad
        for node in list(self.operations.graph.nodes):
            if node.target == aten.detach.default:  # of autograd itself; those of the step are detach_copy
                node.replace_all_uses_with(node.args[0])
                self.operations.graph.erase_node(node)
            elif isinstance(node.kwargs.get("out"), torch.fx.Node):
                written_in_place(self.operations.graph, node)
        self.operations.recompile()

    def tensors(self):
        return {f"model.{name}": x for name, x in (*self.model.named_parameters(), *self.model.named_buffers())}

    def forward(self, *inputs):
        with torch.fx.traceback.preserve_node_meta():  # the lines of the step
            return torch.fx.Interpreter(self.operations).run(self.tensors(), *inputs)


def written_in_place(graph, node):
    """div(a, b, out=u) as u.copy_(div(a, b)): export has no gradients beside an `out`, which spectral_norm uses under no_grad."""
    named = {k: v for k, v in node.kwargs.items() if k != "out"}
    types = [str(a.type) for a in node.target._schema.arguments if not a.is_out]
    packet = node.target.overloadpacket
    plain = [f for f in (getattr(packet, name) for name in packet.overloads())
             if [str(a.type) for a in f._schema.arguments] == types]
    if not plain:
        return
    with graph.inserting_before(node):
        copy = graph.call_function(aten.copy_.default, (node.kwargs["out"], graph.call_function(plain[0], node.args, named)))
    node.replace_all_uses_with(copy)
    graph.erase_node(node)


class Detached(torch.overrides.TorchFunctionMode):
    """Marks what the step detaches, and what it computes under no_grad; what has no second derivative is made of what has."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        result = TWICE.get(function, function)(*args, **(kwargs or {}))
        stops = function is torch.Tensor.detach or not torch.is_grad_enabled()
        if not stops or getattr(function, "__name__", "").endswith("_"):
            return result
        return torch.utils._pytree.tree_map_only(
            torch.Tensor, lambda x: aten.detach_copy(x) if x.is_floating_point() or x.is_complex() else x, result)


FREEZES = (torch.Tensor.requires_grad_, torch.Tensor.requires_grad.__set__)


class Replaced(torch.overrides.TorchFunctionMode):
    """Functions that look at values, or have results whose size depends on values, without that."""

    def __init__(self):
        super().__init__()
        self.masks, self.known = Masks(), Known()
        self.detached = {}  # results of detach(), which share their numbers, by id
        self.frozen = {}  # what the step has set to have no gradient from here on, by id

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        tracks = not torch.compiler.is_dynamo_compiling()
        args, result = self.known.chosen(function, args, kwargs) if tracks else (args, None)
        if args is None:
            return result
        known = tracks and self.known.are_known(args, kwargs)
        result = self.made(function, types, args, kwargs)
        if known:
            self.known.track(function, args, kwargs, result)
        leaves = torch.utils._pytree.tree_leaves
        outside = [x for x in leaves((args, kwargs)) if is_outside(x)]
        if outside and any(isinstance(x, torch.Tensor) and x.requires_grad for x in leaves(result)):
            raise Unsupported(f"a parameter {list(outside[0].shape)} that is not part of the model: make what has it a submodule")
        return result

    def made(self, function, types, args, kwargs):
        if torch.compiler.is_dynamo_compiling():  # of a graph inside the step, such as a branch
            return REPLACED.get(function, function)(*args, **kwargs)
        if function in FREEZES and isinstance(args[0], torch.nn.Parameter):
            learns = args[1] if len(args) > 1 else kwargs.get("requires_grad", True)
            if learns and not args[0].requires_grad:
                raise Unsupported("requires_grad_(True) in the step, of a parameter without gradients: call it before the export")
            self.frozen[id(args[0])] = None if learns else args[0]
            return args[0]
        if function is torch.Tensor.register_hook:
            raise Unsupported("register_hook: gradients are those of the step; a torch.autograd.Function may have its own")
        if function is torch.Tensor.detach_:
            self.frozen[id(args[0])] = args[0]
        if function is torch.Tensor.__getitem__ and is_place(args[1]):
            return args[0][args[1].reshape(1)].squeeze(0)
        if function in (torch.Tensor.data.__get__, torch.Tensor.detach_, torch.Tensor.detach, torch.detach):
            result = torch.Tensor.detach(args[0]) if isinstance(args[0], torch.Tensor) else args[0].detach()
            if args[0].requires_grad and not isinstance(args[0], torch.nn.Parameter) and function is not torch.Tensor.detach_:
                self.detached[id(result)] = result
            return result
        if function == torch.Tensor.data.__set__:
            if args[0].requires_grad and not isinstance(args[0], torch.nn.Parameter) or args[0].shape != args[1].shape:
                raise Unsupported("`.data = value` is of parameters and buffers, and of values of their shape")
            with torch.no_grad():
                return args[0].copy_(args[1])
        if id(args[0] if args else None) in self.detached and (function is torch.Tensor.__setitem__ or re.search(
                r"[^_]_$", getattr(function, "__name__", ""))):
            raise Unsupported(f"{function.__name__} writes into x.detach() or x.data, and so into x, without its gradient: write into "
                              "x.detach().clone()")
        if any(x is not None for x in self.frozen.values()) and function is not torch.Tensor.detach:
            args, kwargs = torch.utils._pytree.tree_map_only(
                torch.Tensor, lambda x: x.detach() if self.frozen.get(id(x)) is not None else x, (args, kwargs))
        torch.utils._pytree.tree_map_only(torch.Tensor, refuse_own_gradient, (args, kwargs))
        if function in REPLACED:
            return REPLACED[function](*args, **kwargs)
        packed = packed_sequences(function, args, kwargs)
        if packed is not None:
            return packed
        made = self.masks.choose(function, args, kwargs)
        if made is not None:
            return made[0] if isinstance(made, list) else made
        result = applied(function, args, kwargs) if any(issubclass(t, Rows) for t in types) else function(*args, **kwargs)
        self.masks.track(function, args, kwargs, result)
        return result


def is_place(index):
    """An index that is a number in a tensor: torch would read it."""
    return isinstance(index, torch.Tensor) and not index.dim() and index.dtype in (torch.int64, torch.int32) \
        and not isinstance(index, Rows)


def is_outside(x):
    """Whether a tensor has gradients, and values, which those of the model do not have in an export."""
    return isinstance(x, torch.Tensor) and x.requires_grad and x.is_leaf and not isinstance(x, (FakeTensor, FunctionalTensor)) \
        and not torch._is_functional_tensor(x) and not torch._C._functorch.is_functorch_wrapped_tensor(x)


def cut_gradients(module):
    """Under no_grad, what is read from outside is a constant to gradients, except what is written there: it has none."""
    for node in module.graph.find_nodes(op="call_function", target=torch.ops.higher_order.wrap_with_set_grad_enabled):
        inside = getattr(module, node.args[1].target)
        for same in list(inside.graph.find_nodes(op="call_function", target=aten.flatten.using_ints)):
            if same.meta["val"].shape == same.args[0].meta["val"].shape:  # the tensor itself, with its gradient outside
                same.replace_all_uses_with(same.args[0])
        for read in [] if node.args[0] else list(inside.graph.find_nodes(op="placeholder")):
            val = read.meta.get("val")
            if isinstance(val, torch.Tensor) and (val.is_floating_point() or val.is_complex()) and not is_written(read):
                with inside.graph.inserting_after(read):
                    stopped = inside.graph.call_function(aten.detach.default, (read,))
                stopped.meta.update(read.meta)
                read.replace_all_uses_with(stopped, lambda user, stopped=stopped: user is not stopped and user.op != "output")
        inside.recompile()


def is_written(value):
    """Whether an operation writes to the value, or to a view of it."""
    for user in value.users:
        known = user.target._schema.arguments if isinstance(user.target, torch._ops.OpOverload) else ()
        for place, argument in enumerate(known):
            given = user.args[place] if place < len(user.args) else user.kwargs.get(argument.name)
            if given is value and argument.alias_info and (argument.alias_info.is_write or is_written(user)):
                return True
    return False
