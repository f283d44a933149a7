"""The text of a .dir, which a graph of torch.export becomes, an operation after the other."""
import inspect
import json
import math
import operator
import os
import re

import torch

from . import composed, control, elementwise, layers, linalg, pools, shapes, special  # they fill the tables
from .complexes import complex_call
from .table import CONTROL, PARTS, Pair, RawName, TYPES, Unsupported, aten, handler, is_complex, name_of

NOT_THE_STEP = os.path.dirname(__file__), os.path.dirname(torch.__file__), "<eval_with_key>"
STOPS = (aten.detach.default, aten.detach_copy.default)  # of gradients
LITERAL = 64  # elements of a constant tensor that is written into the text; a larger one is a state with a first value


class Text:
    """The ops of a .dir. Values are names; an op of the graph may take several of the module."""

    def __init__(self, program, input_names, ignored):
        self.program = program
        self.input_names = input_names
        self.ignored = ignored
        self.lines = []
        self.names = {}  # of values: how many more of that name there are
        self.value = {}  # of a node: its name; of one with several results: a list
        self.node = None
        self.files = {}  # first values, by name
        self.inputs = []
        self.trained = set()
        self.learns = None
        self.looping = False  # inside of a while

    # -- what handlers call: each returns the name of a value

    def op(self, name, *operands, type=None, symbol=None, results=1, **attributes):
        if None in operands:
            self.refuse("of a tensor without elements")
        out = [self.fresh(self.hint(name)) for _ in range(results)]
        inside = ", ".join(([json.dumps(symbol)] if symbol else []) + list(operands))
        said = ", ".join(f"{k} = {self.attribute(v)}" for k, v in attributes.items() if v is not None)
        self.lines.append(f"  {', '.join(out)} = {name}({inside})" + (f" {{{said}}}" if said else "") +
                          (f" : {type}" if type else ""))
        return out[0] if results == 1 else out

    def number(self, value, dtype):
        """A scalar constant; of infinities and NaN, too."""
        if isinstance(value, bool):
            value = int(value)
        return self.op("constant", type=f"{TYPES[PARTS.get(dtype, dtype)]}[]", value=value)

    def read(self, arg, dtype=None):
        """An argument of the node, a tensor or a number, in an element type."""
        dtype = dtype or self.dtype()
        if not isinstance(arg, torch.fx.Node):
            return self.number(arg, dtype)
        return self.convert(self.value[arg], arg.meta["val"].dtype, dtype)

    def convert(self, value, old, new):
        old, new = PARTS.get(old, old), PARTS.get(new, new)
        return value if old == new else self.op("convert", value, to=RawName(TYPES[new]))

    def dtype(self):
        val = self.node.meta["val"]
        dtype = (val[0] if isinstance(val, (tuple, list)) else val).dtype
        return PARTS.get(dtype, dtype)

    def shape(self, arg=None):
        val = (arg or self.node).meta["val"]
        return list((val[0] if isinstance(val, (tuple, list)) else val).shape)

    def which(self):
        """The operation of the node, of a handler of several."""
        return name_of(self.node.target)

    def reshape(self, value, shape):
        return self.op("reshape", value, shape=list(shape))

    def broadcast(self, value, shape):
        return self.op("broadcast", value, shape=list(shape))

    def full(self, value, shape, dtype):
        return self.op("constant", type=f"{TYPES[dtype]}[{','.join(map(str, shape))}]", value=value)

    def iota(self, shape, dim, dtype=torch.int64):
        return self.op("iota", type=f"{TYPES[dtype]}[{','.join(map(str, shape))}]", dim=dim)

    def counter(self):
        """A number that is another one in each step, for draws."""
        n = self.op("state", symbol=self.fresh("draw")[1:], type="i64[]", init="uniform", scale=1e15, value=1e15, test=-1)
        self.lines.append(f"  update({n}, {self.op('add', n, self.number(1, torch.int64))})")
        return n

    def learning(self):
        """bool[]: true in training, false while a program evaluates."""
        if not self.learns or self.looping:
            state = self.op("state", symbol="training", type="f32[]", init="ones", test=0)
            self.learns = self.op("gt", state, self.number(0.0, torch.float32))
        return self.learns

    def refuse(self, why):
        where = [line.strip() for line in (self.node.stack_trace or "").splitlines()
                 if line.strip().startswith("File") and not any(folder in line for folder in NOT_THE_STEP)]
        raise Unsupported(f"{where[-1] if where else 'in the step'}: {self.node.target}: {why}")

    # -- writing

    def hint(self, op):
        """A value is named after the module that computes it, or after the operation of the graph."""
        return (module_path(self.node) or self.node.name) if self.node else op

    def fresh(self, hint):
        """A name that no value has yet."""
        hint = re.sub(r"[^A-Za-z0-9_.]", "_", hint)
        hint = "m" + hint if hint[0].isdigit() else hint
        self.names[hint] = n = self.names.get(hint, -1) + 1
        name = f"{hint}.{n}" if n else hint
        if n and name in self.names:
            return self.fresh(name)
        self.names[name] = self.names.get(name, 0)
        return "%" + name

    def attribute(self, v):
        if isinstance(v, RawName):
            return v.text
        if isinstance(v, (list, tuple)):
            return "[" + ", ".join(self.attribute(x) for x in v) + "]"
        if isinstance(v, bool):
            return "true" if v else "false"
        if isinstance(v, float):
            return "nan" if math.isnan(v) else ("-inf" if v < 0 else "inf") if math.isinf(v) else repr(v)
        return json.dumps(v) if isinstance(v, str) else str(v)

    def module(self, name):
        signature = self.program.graph_signature
        nodes = list(self.program.graph.nodes)
        read = {p.target: p for p in nodes if p.op == "placeholder"}
        for spec in signature.input_specs:
            self.placeholder(spec, read[spec.arg.name]) if hasattr(spec.arg, "name") else None
        where = None
        for node in nodes:
            if node.op == "get_attr":
                self.value[node] = getattr(self.program.graph_module, node.target)
            if node.op == "call_function":
                path = module_path(node)
                if path != where:
                    self.lines.append(f"  // {path}" if path else "  // the step")
                    where = path
                self.call(node)
        for spec, node in zip(signature.output_specs, nodes[-1].args[0]):
            self.result(spec, node)
        return f"module @{name}\n\nfunc @main() {{\n" + "\n".join(self.lines) + "\n}\n", self.files

    def placeholder(self, spec, node):
        kind = spec.kind.name
        if kind == "USER_INPUT":
            place = len(self.inputs)
            self.inputs.append(node)
            symbol = self.input_names[place] if place < len(self.input_names) else f"input{place}"
            val = node.meta["val"]
            if not isinstance(val, torch.Tensor):
                raise Unsupported(f"the input '{symbol}' is not a tensor")
            parts = [symbol] if val.dtype not in PARTS else [symbol + ".re", symbol + ".im"]
            found = [self.define(val, "input", part) for part in parts]
            self.value[node] = Pair(*found) if len(found) > 1 else found[0]
            return
        signature = self.program.graph_signature
        updated = spec.target in (*signature.buffers_to_mutate.values(), *signature.parameters_to_mutate.values())
        if kind == "TOKEN" or not node.users and not updated:
            return
        symbol = spec.target.removeprefix("model.")
        tensor = (self.program.constants[spec.target] if spec.target in self.program.constants
                  else self.program.state_dict[spec.target])
        parts = [("", tensor)] if tensor.dtype not in PARTS else [(".re", tensor.real), (".im", tensor.imag)]
        found = []
        for suffix, part in parts:
            if kind != "PARAMETER" and not updated and tensor.numel() <= LITERAL:
                found.append(self.literal(part))
                continue
            self.files[symbol + suffix] = part
            trained = kind == "PARAMETER" and tensor.requires_grad and any(user.target not in STOPS for user in node.users)
            self.trained |= {spec.target} if trained else set()
            found.append(self.define(part, "param" if trained else "state", symbol + suffix, self.initial(part)))
        self.value[node] = Pair(*found) if len(found) > 1 else found[0]

    def literal(self, tensor):
        if not tensor.numel():
            return None  # what cat leaves out
        shape = f"{TYPES[tensor.dtype]}[{','.join(map(str, tensor.shape))}]"
        if not tensor.shape:
            return self.op("constant", type=shape, value=tensor.item() if tensor.dtype != torch.bool else int(tensor))
        return self.op("literal", type=shape, values=tensor.reshape(-1).tolist())

    def initial(self, tensor):
        """What a program starts with that does not -load the file: numbers of the same deviation."""
        numbers = tensor.detach()
        if tensor.is_floating_point():  # a .dir has no infinities
            kind = torch.finfo(tensor.dtype)
            numbers = numbers.double().nan_to_num(0.0, kind.max, kind.min)
        numbers = numbers.double()
        low = numbers.min().item() if tensor.numel() else 0
        if not tensor.numel() or low == numbers.max().item():
            return {"init": "constant", "value": low} if low else {}
        return {"init": "normal", "scale": float(f"{numbers.std():.3g}")} if tensor.is_floating_point() else {}

    def define(self, val, op, symbol, how={}):
        dtype = PARTS.get(val.dtype, val.dtype)
        if dtype not in TYPES:
            raise Unsupported(f"'{symbol}' has elements of {val.dtype}, which dopt does not have")
        name = self.fresh(symbol)
        said = ", ".join(f"{k} = {self.attribute(v)}" for k, v in how.items())
        self.lines.append(f"  {name} = {op}({json.dumps(symbol)})" + (f" {{{said}}}" if said else "") +
                          f" : {TYPES[dtype]}[{','.join(map(str, val.shape))}]")
        return name

    def call(self, node):
        self.node = node
        if node.target is operator.getitem:
            values = self.value[node.args[0]]
            self.value[node] = values[node.args[1]] if isinstance(values, list) and node.args[1] < len(values) else None
            if self.value[node] is None and node.users:
                self.refuse("this result is not translated")
            return
        if isinstance(node.target, torch._ops.HigherOrderOperator) and node.target.name() in CONTROL:
            self.value[node] = CONTROL[node.target.name()](self, *node.args)
            return
        if not isinstance(node.target, torch._ops.OpOverload):
            self.refuse("not an operation on tensors")
        val = node.meta.get("val")
        if isinstance(val, torch.Tensor) and not val.numel():
            self.value[node] = None  # what cat leaves out
            return
        known = [a.name for a in node.target._schema.arguments]
        named = {k: v for k, v in node.kwargs.items() if k in known}
        if any(is_complex(n) for n in (node, *node.all_input_nodes)):
            self.value[node] = complex_call(self, node, named)
            return
        made = handler(node.target)
        if not made:
            self.refuse("this operation is not translated" + ("; torch.linalg.eigh takes symmetric matrices" if "eig" in str(node.target) else ""))
        try:
            inspect.signature(made).bind(self, *node.args, **named)
        except TypeError as wrong:
            self.refuse(f"{wrong}: this argument is not translated")
        self.value[node] = made(self, *node.args, **named)

    def inline(self, module, operands):
        """The values of a graph inside an operation, such as a branch, of values."""
        outer = self.node
        for node in module.graph.nodes:
            if node.op == "placeholder":
                self.value[node] = operands.pop(0)
            elif node.op == "get_attr":
                found = getattr(module, node.target)
                self.value[node] = self.literal(found) if isinstance(found, torch.Tensor) else found
            elif node.op == "call_function":
                self.call(node)
            elif node.op == "output":
                self.node = outer
                found = node.args[0]
                return [self.value[n] for n in ([found] if isinstance(found, torch.fx.Node) else found)]

    def result(self, spec, node):
        kind = spec.kind.name
        if kind in ("BUFFER_MUTATION", "PARAMETER_MUTATION"):
            signature = self.program.graph_signature
            kept = {**signature.inputs_to_buffers, **signature.inputs_to_parameters}
            learns = kind == "PARAMETER_MUTATION" and self.program.state_dict[spec.target].requires_grad
            if spec.target in self.trained or learns and any(has_gradient(user) for user in node.users):
                raise Unsupported(f"{spec.target}: the step writes into a parameter that an optimizer updates, too; "
                                  "if it is not trained: requires_grad_(False)")
            for target in [n for n in self.value if n.op == "placeholder" and kept.get(n.name) == spec.target]:
                self.lines.append(f"  update({self.value[target]}, {self.value[node]})")
            return
        if kind != "USER_OUTPUT" or not isinstance(node, torch.fx.Node):
            return
        self.lines.append(f"  output({json.dumps(self.output_name(node))}, {self.value[node]})")

    def output_name(self, node):
        outputs = [s.arg.name for s in self.program.graph_signature.output_specs if s.kind.name == "USER_OUTPUT"]
        spec = self.program.call_spec.out_spec
        place = outputs.index(node.name)
        if spec is not None and spec.type is dict:
            return str(spec.context[place])
        return "loss" if place == 0 else f"result.{place}"


def has_gradient(user):
    """Whether what an operation makes of its operands may have a gradient."""
    quiet = user.target is torch.ops.higher_order.wrap_with_set_grad_enabled and not user.args[0]
    return user.op != "output" and not quiet and user.target not in STOPS


def module_path(node):
    stack = list((node.meta.get("nn_module_stack") or {}).values())
    return stack[-1][0].removeprefix("L__self___").replace("L['self'].", "").removeprefix("model").strip("._") if stack else ""
