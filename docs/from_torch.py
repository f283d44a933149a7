"""From a PyTorch module to files that dopt and its programs read: docs/from-torch.md.

    from_torch.export("gpt", step, model, x, y)     gpt.dir and gpt.safetensors, the parameters and buffers
    from_torch.save_rows("data.safetensors", train={"x": x, "y": y})
    from_torch.load("trained.safetensors", model)

A step is a function (model, inputs ...) -> loss, or -> {"loss": loss, name: another result}. It is exported as it is, in
training or evaluation mode: the passes of dopt add gradients and the optimizer. Tried with torch 2.15.
"""
import functools
import inspect
import json
import math
import operator
import re

import torch

aten = torch.ops.aten

TYPES = {torch.float64: "f64", torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16", torch.int64: "i64",
         torch.int32: "i32", torch.int16: "i16", torch.int8: "i8", torch.uint8: "u8", torch.bool: "bool"}
TAGS = {"f64": "F64", "f32": "F32", "f16": "F16", "bf16": "BF16", "i64": "I64", "i32": "I32", "i16": "I16", "i8": "I8",
        "u8": "U8", "bool": "BOOL"}
PARTS = {torch.complex64: torch.float32, torch.complex128: torch.float64}  # a complex value is two real ones
LITERAL = 64  # elements of a constant tensor that is written into the text; a larger one is a state with a first value


class Unsupported(Exception):
    """What cannot be said in a .dir, with the line of the model."""


# --- files ------------------------------------------------------------------------------------------


def save(path, tensors):
    """A safetensors file of named tensors."""
    header, parts, at = {}, [], 0
    for name, value in tensors.items():
        value = value.detach().cpu().contiguous()
        raw = value.reshape(-1).view(torch.uint8).numpy().tobytes() if value.numel() else b""
        header[name] = {"dtype": TAGS[TYPES[value.dtype]], "shape": list(value.shape),
                        "data_offsets": [at, at + len(raw)]}
        parts.append(raw)
        at += len(raw)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as out:
        out.write(len(text).to_bytes(8, "little") + text + b"".join(parts))


def save_rows(path, **parts):
    """A data set: train={"x": rows, ...}, and perhaps test."""
    save(path, {f"{part}.{name}": rows for part, tensors in parts.items() for name, rows in tensors.items()})


def load(path, model):
    """Copies the values that a program's -save wrote into the parameters and buffers of a model; optimizer states in the
    file are left alone. Parameters that share a tensor are written once, under one of their names."""
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        data = file.read()
    types = {TAGS[name]: dtype for dtype, name in TYPES.items()}
    found = set()
    with torch.no_grad():
        for name, tensor in (*model.named_parameters(remove_duplicate=False),
                             *model.named_buffers(remove_duplicate=False)):
            for said, part in ((name, tensor),) if not tensor.is_complex() else (
                    (name + ".re", tensor.real), (name + ".im", tensor.imag)):
                if said in header:
                    begin, end = header[said]["data_offsets"]
                    value = torch.frombuffer(bytearray(data[begin:end]), dtype=types[header[said]["dtype"]])
                    part.copy_(value.reshape(part.shape))
                    found.add(tensor.data_ptr())
        missing = [n for n, p in model.named_parameters(remove_duplicate=False) if p.data_ptr() not in found]
    if missing:
        raise KeyError(f"{path}: no value of {', '.join(missing)}")


# --- export -----------------------------------------------------------------------------------------


class Step(torch.nn.Module):
    def __init__(self, step, model):
        super().__init__()
        self.model = model
        self.step = step

    def forward(self, *inputs):
        with Replaced():
            return self.step(self.model, *inputs)


def export(name, step, model, *inputs, ignored=True, batch="B"):
    """Writes NAME.dir and NAME.safetensors. `inputs` are examples, one batch: their names are those of the arguments of
    `step`. With ignored=False, no label of a cross entropy is its ignore_index: the loss is then the mean of all rows, which
    several devices and micro-batches sum without knowing how many labels the others have. The text has the first size of
    the inputs as `let B`, or by another name; with batch=None, or if the step does something else for another batch, all
    sizes are numbers."""
    module = re.sub(r"\W", "_", name.rsplit("/", 1)[-1])
    text, values = translate(module, step, model, inputs, ignored)
    sizes = {x.shape[0] if x.dim() else 0 for x in inputs}
    if batch and len(sizes) == 1 and min(sizes) > 1:
        rows = sizes.pop()
        more = [translate(module, step, model, [torch.cat([x] * n) for x in inputs], ignored)[0] for n in (2, 3)]
        text = with_batch([text, *more], rows, batch) or text
    save(name + ".safetensors", values)
    with open(name + ".dir", "w") as out:
        out.write(text)


INTEGER = re.compile(r"(?<![\w.%-])\d+(?![\w.]|e-)")


def with_batch(texts, rows, name):
    """Texts for `rows`, 2 `rows` and 3 `rows` as one, in which what grows with the batch is an expression of its name. None:
    they differ in another way."""
    found = [[int(n) for n in INTEGER.findall(t)] for t in texts]
    if len({INTEGER.sub("0", t) for t in texts}) > 1:
        return None
    said = []
    for a, b, c in zip(*found):
        if b - a != c - b or (a - (b - a)) * rows % rows:
            return None
        each, rest = (b - a), a - (b - a)  # a = each + rest, of which `each` is for `rows`
        factor = name if each == rows else f"{each // rows}*{name}" if each % rows == 0 else \
            f"{name}/{rows // each}" if each and rows % each == 0 else None
        if factor is None:
            return None
        said.append(str(a) if not each else factor if not rest else f"{factor}{rest:+d}")
    text = INTEGER.sub(lambda _, said=iter(said): next(said), texts[0])
    return text.replace("\n\n", f"\n\nlet {name} = {rows}\n\n", 1)


def translate(name, step, model, inputs, ignored=True):
    table = torch.export.default_decompositions()
    for op, function in torch._decomp.decomposition_table.items():
        if op not in table:
            table[op] = function
    for op in [op for op in table if isinstance(op, torch._ops.OpOverload) and handler(op)]:
        table.pop(op)
    table.update(DECOMPOSED)
    program = exported(Step(step, model), inputs)
    cut_gradients(program.graph_module)
    program = program.run_decompositions(table)
    return Text(program, list(inspect.signature(step).parameters)[1:], ignored).module(name)


def exported(step, inputs):
    """Exported as it is or, if that fails and does not for its data, after a trace that knows gradients inside the step."""
    validates = torch.distributions.Distribution._validate_args
    torch.distributions.Distribution.set_default_validate_args(False)  # checks read values, which export does not have
    masks = torch.nn.modules.transformer
    find, masks._detect_is_causal_mask = masks._detect_is_causal_mask, lambda mask, is_causal=None, size=None: bool(is_causal)
    try:
        try:
            return torch.export.export(step, tuple(inputs))
        except Exception as failed:
            from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode
            if isinstance(failed, (Unsupported, GuardOnDataDependentSymNode)) or "DataDependent" in type(failed).__name__ \
                    or "DynamicOutput" in type(failed).__name__:
                raise
            try:
                return torch.export.export(Traced(step, inputs), tuple(inputs))
            except Exception:
                raise failed
    finally:
        masks._detect_is_causal_mask = find
        torch.distributions.Distribution.set_default_validate_args(validates)


class Traced(torch.nn.Module):
    """A step with gradients inside (torch.autograd.grad, torch.func) as the operations that compute them."""

    def __init__(self, step, inputs):
        super().__init__()
        from torch.fx.experimental.proxy_tensor import make_fx
        self.model = step.model
        tensors = self.tensors()

        def run(tensors, *inputs):
            with Detached():
                return torch.func.functional_call(step, tensors, inputs)

        grad = torch.autograd.grad

        def grad_of(*args, create_graph=False, **named):
            found = grad(*args, create_graph=create_graph, **named)
            return found if create_graph else tuple(g if g is None else aten.detach_copy(g) for g in found)
        torch.autograd.grad = grad_of
        try:
            self.graph = make_fx(run, tracing_mode="fake", _allow_non_fake_inputs=True)(tensors, *inputs)
        finally:
            torch.autograd.grad = grad
        for node in list(self.graph.graph.nodes):
            if node.target == aten.detach.default:  # of autograd itself; those of the step are detach_copy
                node.replace_all_uses_with(node.args[0])
                self.graph.graph.erase_node(node)
        self.graph.recompile()

    def tensors(self):
        return {f"model.{name}": x for name, x in (*self.model.named_parameters(), *self.model.named_buffers())}

    def forward(self, *inputs):
        return self.graph(self.tensors(), *inputs)


class Detached(torch.overrides.TorchFunctionMode):
    """Marks what the step detaches, and what it computes under no_grad."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        stops = function is torch.Tensor.detach or not torch.is_grad_enabled()
        return aten.detach_copy(result) if stops and isinstance(result, torch.Tensor) and result.is_floating_point() and \
            not getattr(function, "__name__", "").endswith("_") else result


class Replaced(torch.overrides.TorchFunctionMode):
    """Functions that look at values, without that."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        return REPLACED.get(function, function)(*args, **(kwargs or {}))


def cut_gradients(module):
    """Under no_grad, what is read from outside is a constant to gradients, except what is written there: it has none."""
    for node in module.graph.find_nodes(op="call_function", target=torch.ops.higher_order.wrap_with_set_grad_enabled):
        inside = getattr(module, node.args[1].target)
        for same in list(inside.graph.find_nodes(op="call_function", target=aten.flatten.using_ints)):
            if same.meta["val"].shape == same.args[0].meta["val"].shape:  # the tensor itself, with its gradient outside
                same.replace_all_uses_with(same.args[0])
        for read in [] if node.args[0] else list(inside.graph.find_nodes(op="placeholder")):
            val = read.meta.get("val")
            if isinstance(val, torch.Tensor) and val.is_floating_point() and not is_written(read):
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


def name_of(op):
    """aten::sum.dim_IntList is sum."""
    return op.name().split("::")[1].split(".")[0]


def handler(op):
    return OPS.get(name_of(op))


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
        self.learns = None

    # -- what handlers call: each returns the name of a value

    def op(self, name, *operands, type=None, symbol=None, results=1, **attributes):
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
        if not self.learns:
            state = self.op("state", symbol="training", type="f32[]", init="ones", test=0)
            self.learns = self.op("gt", state, self.number(0.0, torch.float32))
        return self.learns

    def refuse(self, why):
        where = [line.strip() for line in (self.node.stack_trace or "").splitlines()
                 if line.strip().startswith("File") and __file__ not in line]
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
            self.value[node] = self.define(val, "input", symbol)
            return
        updated = spec.target in self.program.graph_signature.buffers_to_mutate.values()
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
            trained = kind == "PARAMETER" and tensor.requires_grad
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
        numbers = tensor.detach().double()
        low = numbers.min().item() if tensor.numel() else 0
        if not tensor.numel() or low == numbers.max().item():
            return {"init": "constant", "value": low} if low else {}
        return {"init": "normal", "scale": float(f"{numbers.std():.3g}")} if tensor.is_floating_point() else {}

    def define(self, val, op, symbol, how={}):
        if val.dtype not in TYPES:
            raise Unsupported(f"'{symbol}' has elements of {val.dtype}, which dopt does not have")
        name = self.fresh(symbol)
        said = ", ".join(f"{k} = {self.attribute(v)}" for k, v in how.items())
        self.lines.append(f"  {name} = {op}({json.dumps(symbol)})" + (f" {{{said}}}" if said else "") +
                          f" : {TYPES[val.dtype]}[{','.join(map(str, val.shape))}]")
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
            self.refuse("not an operation on tensors; "
                        "if it is a checkpoint, leave it out and use the pass recompute")
        known = [a.name for a in node.target._schema.arguments]
        named = {k: v for k, v in node.kwargs.items() if k in known}
        if any(is_complex(n) for n in (node, *node.all_input_nodes)):
            self.value[node] = complex_call(self, node, named)
            return
        made = handler(node.target)
        if not made:
            self.refuse("this operation is not translated")
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
                return [self.value[n] for n in node.args[0]]

    def result(self, spec, node):
        kind = spec.kind.name
        if kind == "BUFFER_MUTATION":
            target = [n for n in self.value if n.op == "placeholder" and
                      self.program.graph_signature.inputs_to_buffers.get(n.name) == spec.target]
            if target:
                self.lines.append(f"  update({self.value[target[0]]}, {self.value[node]})")
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


class Pair(tuple):
    """The real and the imaginary part of a complex value."""

    def __new__(cls, re, im):
        return super().__new__(cls, (re, im))


def is_complex(node):
    val = node.meta.get("val")
    return isinstance(val, torch.Tensor) and val.dtype in PARTS


class RawName:
    def __init__(self, text):
        self.text = text


def module_path(node):
    stack = list((node.meta.get("nn_module_stack") or {}).values())
    return stack[-1][0].removeprefix("L__self___").replace("L['self'].", "").removeprefix("model").strip("._") if stack else ""


# --- operations --------------------------------------------------------------------------------------
#
# By their names in ATen, without overload: a handler takes the Text and the arguments of the node.

OPS = {}


def handles(*names):
    def add(function):
        for name in names:
            OPS[name] = function
        return function
    return add


def unary(op):
    return lambda b, x, *_, **__: b.op(op, b.read(x))


for torch_name, name in {
        "abs": "abs", "neg": "neg", "exp": "exp", "log": "log", "tanh": "tanh", "erf": "erf", "erfc": "erfc",
        "sqrt": "sqrt", "rsqrt": "rsqrt", "sigmoid": "sigmoid", "sin": "sin", "cos": "cos", "relu": "relu",
        "log1p": "log1p", "expm1": "expm1", "log2": "log2", "exp2": "exp2", "tan": "tan", "asin": "asin", "acos": "acos",
        "atan": "atan", "sinh": "sinh", "cosh": "cosh", "asinh": "asinh", "acosh": "acosh", "atanh": "atanh",
        "floor": "floor", "ceil": "ceil", "round": "round", "trunc": "trunc", "sign": "sign", "silu": "silu",
        "square": "square", "bitwise_not": "not"}.items():
    OPS[torch_name] = unary(name)


@handles("reciprocal")
def reciprocal(b, x):
    return b.op("div", b.number(1.0, b.dtype()), b.read(x))


@handles("isnan", "isinf", "isfinite")
def is_number(b, x):
    return b.op({"isnan": "is_nan", "isinf": "is_inf", "isfinite": "is_finite"}[b.which()],
                b.value[x])


@handles("logical_not")
def logical_not(b, x):
    return b.op("not", b.read(x, torch.bool))


@handles("gelu")
def gelu(b, x, approximate="none"):
    return b.op("gelu" if approximate == "none" else "gelu_tanh", b.read(x))


@handles("leaky_relu")
def leaky_relu(b, x, slope=0.01):
    return b.op("leaky_relu", b.read(x), slope=float(slope))


@handles("elu")
def elu(b, x, alpha=1.0, scale=1.0, input_scale=1.0):
    y = b.read(x)
    if input_scale != 1:
        y = b.op("select", b.op("gt", y, b.number(0, b.dtype())), y, b.op("mul", y, b.number(input_scale, b.dtype())))
    y = b.op("elu", y, alpha=float(alpha))
    return y if scale == 1 else b.op("mul", y, b.number(scale, b.dtype()))


@handles("softplus")
def softplus(b, x, beta=1.0, threshold=20.0):
    factor = b.number(float(beta), b.dtype())
    y = b.read(x)
    return b.op("softplus", y) if beta == 1 else b.op("div", b.op("softplus", b.op("mul", y, factor)), factor)


def arithmetic(op):
    def make(b, x, y, alpha=1):
        right = b.read(y)
        if alpha != 1:
            right = b.op("mul", right, b.number(alpha, b.dtype()))
        return b.op(op, b.read(x), right)
    return make


for torch_name, name in {"add": "add", "sub": "sub", "mul": "mul", "maximum": "maximum", "minimum": "minimum",
                         "fmod": "rem", "atan2": "atan2", "bitwise_and": "and", "bitwise_or": "or",
                         "bitwise_xor": "xor", "bitwise_left_shift": "shift_left",
                         "bitwise_right_shift": "shift_right"}.items():
    OPS[torch_name] = arithmetic(name)


@handles("pow")
def power(b, x, y):
    if y == 2:
        return b.op("square", b.read(x))
    if y == 0.5:
        return b.op("sqrt", b.read(x))
    return b.op("pow", b.read(x), b.read(y))


@handles("rsub")
def rsub(b, x, y, alpha=1):
    return b.op("sub", b.read(y), b.op("mul", b.read(x), b.number(alpha, b.dtype())))


@handles("div")
def div(b, x, y, rounding_mode=None):
    m, d = b.read(x), b.read(y)
    q = b.op("div", m, d)
    if rounding_mode is None or not b.dtype().is_floating_point and rounding_mode == "trunc":
        return q
    if b.dtype().is_floating_point:
        return b.op("floor" if rounding_mode == "floor" else "trunc", q)
    return b.op("select", below_quotient(b, m, d)[1], b.op("sub", q, b.number(1, b.dtype())), q)


@handles("floor_divide")
def floor_divide(b, x, y):
    return div(b, x, y, "floor")


def below_quotient(b, m, d):
    """The remainder of the truncated division, and whether the floored quotient is another one."""
    zero, r = b.number(0, b.dtype()), b.op("rem", m, d)
    return r, b.op("and", b.op("ne", r, zero), b.op("xor", b.op("lt", r, zero), b.op("lt", d, zero)))


@handles("remainder")
def remainder(b, x, y):
    m, d = b.read(x), b.read(y)
    r, other = below_quotient(b, m, d)
    return b.op("select", other, b.op("add", r, d), r)


def comparison(op):
    def make(b, x, y):
        t = torch.result_type(*[a.meta["val"] if isinstance(a, torch.fx.Node) else a for a in (x, y)])
        return b.op(op, b.read(x, t), b.read(y, t))
    return make


for name in ("eq", "ne", "lt", "le", "gt", "ge"):
    OPS[name] = comparison(name)


@handles("logical_and", "logical_or", "logical_xor")
def logical(b, x, y):
    return b.op(b.which().split("_")[-1], b.read(x, torch.bool), b.read(y, torch.bool))


@handles("where")
def where(b, c, x, y):
    return b.op("select", b.read(c, torch.bool), b.read(x), b.read(y))


@handles("masked_fill")
def masked_fill(b, x, mask, value):
    return b.op("select", b.read(mask, torch.bool), b.read(value), b.read(x))


@handles("clamp", "hardtanh")
def clamp(b, x, low=None, high=None):
    if b.which().endswith("hardtanh"):
        low, high = -1.0 if low is None else low, 1.0 if high is None else high
    y = b.read(x)
    if low is not None:
        y = b.op("maximum", b.read(low), y)
    return b.op("minimum", b.read(high), y) if high is not None else y


@handles("clamp_min")
def clamp_min(b, x, low):
    return clamp(b, x, low)


@handles("clamp_max")
def clamp_max(b, x, high):
    return clamp(b, x, None, high)


@handles("_to_copy", "to", "clone", "contiguous", "alias", "lift_fresh_copy")
def copy(b, x, *_, **__):
    return b.read(x)


@handles("copy")
def copy_from(b, x, source, *_):
    y = b.read(source)
    return y if b.shape(source) == b.shape() else b.broadcast(y, b.shape())


@handles("_assert_tensor_metadata", "_assert_scalar", "_assert_async", "_is_all_true", "sym_constrain_range_for_size")
def checked(b, *_, **__):
    """What export has found is so for the examples."""


@handles("detach", "detach_copy")
def detach(b, x):
    return b.op("stop_gradient", b.read(x))


# Reductions.


def dims_of(b, x, dims):
    if dims is None or dims == []:
        return None
    rank = len(b.shape(x))
    return [d % rank for d in (dims if isinstance(dims, (list, tuple)) else [dims])]


def reduction(op):
    def make(b, x, dim=None, keepdim=False, dtype=None):
        if not b.shape(x):
            return b.read(x)
        return b.op(op, b.read(x), dims=dims_of(b, x, dim), keep=keepdim or None)
    return make


for torch_name, name in {"sum": "sum", "mean": "mean", "amax": "max", "amin": "min"}.items():
    OPS[torch_name] = reduction(name)


@handles("prod")
def prod(b, x, dim=None, keepdim=False, dtype=None):
    return reduction("prod")(b, x, dim, keepdim)


@handles("any", "all")
def any_all(b, x, dim=None, keepdim=False):
    return b.op(b.which(), b.read(x, torch.bool), dims=dims_of(b, x, dim),
                keep=keepdim or None)


@handles("max", "min")
def max_min(b, x, dim=None, keepdim=False):
    op = b.which()
    if isinstance(dim, torch.fx.Node):
        return b.op(op + "imum", b.read(x), b.read(dim))
    value = b.op(op, b.read(x), dims=dims_of(b, x, dim), keep=keepdim or None)
    if dim is None:
        return value
    where_ = b.op("arg" + op, b.value[x], dims=dims_of(b, x, dim), keep=keepdim or None)
    return [value, b.convert(where_, torch.int32, torch.int64)]


@handles("argmax", "argmin")
def arg(b, x, dim=None, keepdim=False):
    where_ = b.op(b.which(), b.value[x], dims=dims_of(b, x, dim), keep=keepdim or None)
    return b.convert(where_, torch.int32, torch.int64)


@handles("var", "std")
def variance(b, x, dim=None, unbiased=None, correction=None, keepdim=False):
    if isinstance(unbiased, (int, bool)) and correction is None:
        correction = int(unbiased)
    dims = dims_of(b, x, dim) or list(range(len(b.shape(x))))
    n = math.prod(b.shape(x)[d] for d in dims)
    y = b.read(x)
    centred = b.op("sub", y, b.op("mean", y, dims=dims, keep=True))
    total = b.op("sum", b.op("square", centred), dims=dims, keep=keepdim or None)
    v = b.op("div", total, b.number(max(n - (1 if correction is None else correction), 0), b.dtype()))
    return b.op("sqrt", v) if b.which().startswith("std") else v


@handles("cumsum")
def cumsum(b, x, dim, dtype=None):
    return b.op("cumsum", b.read(x), dim=dim % len(b.shape(x)))


@handles("logsumexp")
def logsumexp(b, x, dim, keepdim=False):
    y, dims = b.read(x), dims_of(b, x, dim)
    top = b.op("stop_gradient", b.op("max", y, dims=dims, keep=True))
    total = b.op("add", b.op("log", b.op("sum", b.op("exp", b.op("sub", y, top)), dims=dims, keep=True)), top)
    return total if keepdim else b.reshape(total, b.shape())


# Shapes.


@handles("view", "reshape", "_unsafe_view", "unsqueeze", "squeeze", "flatten", "unflatten", "view_as", "reshape_as")
def to_shape(b, x, *_):
    return b.value[x] if b.shape(x) == b.shape() else b.reshape(b.value[x], b.shape())


@handles("permute")
def permute(b, x, dims):
    return b.op("transpose", b.value[x], perm=[d % len(dims) for d in dims])


@handles("transpose", "t", "numpy_T")
def transpose(b, x, i=0, j=1):
    perm = list(range(len(b.shape(x))))
    if len(perm) < 2:
        return b.value[x]
    perm[i], perm[j] = perm[j], perm[i]
    return b.op("transpose", b.value[x], perm=perm)


@handles("expand", "expand_as", "broadcast_to")
def expand(b, x, *_, **__):
    return b.value[x] if b.shape(x) == b.shape() else b.broadcast(b.value[x], b.shape())


@handles("repeat")
def repeat(b, x, repeats):
    shape = [1] * (len(repeats) - len(b.shape(x))) + b.shape(x)
    y = b.reshape(b.value[x], [s for n in shape for s in (1, n)])
    y = b.broadcast(y, [s for r, n in zip(repeats, shape) for s in (r, n)])
    return b.reshape(y, b.shape())


def cut(b, value, shape, dim, start, end, step=1):
    if (start, end, step) == (0, shape[dim], 1):
        return value
    return b.op("slice", value, dims=[dim], start=[start], limit=[end], step=[step] if step != 1 else None)


@handles("slice")
def slice_(b, x, dim=0, start=None, end=None, step=1):
    shape = b.shape(x)
    dim %= len(shape)
    start, end, step = slice(start, end, step).indices(shape[dim])
    if start >= end:
        b.refuse("a slice without elements")
    return cut(b, b.value[x], shape, dim, start, end, step)


@handles("slice_scatter", "select_scatter")
def put_slice(b, x, source, dim=0, start=None, end=None, step=1):
    shape, y = b.shape(), b.read(source)
    dim %= len(shape)
    if "select" in b.which():
        start %= shape[dim]
        end, y = start + 1, b.reshape(y, shape[:dim] + [1] + shape[dim + 1:])
    start, end, step = slice(start, end, step).indices(shape[dim])
    if step != 1:
        perm = [dim, *[d for d in range(len(shape)) if d != dim]]
        y = b.op("transpose", y, perm=perm) if dim else y
        at = torch.arange(start, end, step)
        return placed(b, b.read(x), y, [b.literal(at)], [dim], "set", list(at.shape))
    around = [cut(b, b.read(x), shape, dim, *r) if r[0] < r[1] else None for r in ((0, start), (end, shape[dim]))]
    return joined(b, [p for p in (around[0], y, around[1]) if p], dim)


@handles("select")
def select(b, x, dim, index):
    shape = b.shape(x)
    dim, index = dim % len(shape), index % shape[dim]
    return b.reshape(cut(b, b.value[x], shape, dim, index, index + 1), b.shape())


@handles("cat")
def cat(b, xs, dim=0):
    return joined(b, [b.read(x) for x in xs if math.prod(b.shape(x))], dim % len(b.shape()))


def joined(b, parts, dim):
    """A concat takes eight operands: a tree of them."""
    while len(parts) > 1:
        groups = [parts[i:i + 8] for i in range(0, len(parts), 8)]
        parts = [g[0] if len(g) == 1 else b.op("concat", *g, dim=dim) for g in groups]
    return parts[0]


@handles("stack")
def stack(b, xs, dim=0):
    dim %= len(b.shape())
    shape = b.shape()[:dim] + [1] + b.shape()[dim + 1:]
    return joined(b, [b.reshape(b.read(x), shape) for x in xs], dim)


@handles("split", "split_with_sizes", "chunk", "unbind")
def split(b, x, *rest, **named):
    how = b.which()
    dim = named.get("dim", rest[0] if how == "unbind" and rest else rest[1] if len(rest) > 1 else 0) % len(b.shape(x))
    parts, at = [], 0
    for val in b.node.meta["val"]:
        size = 1 if how == "unbind" else val.shape[dim]
        part = cut(b, b.value[x], b.shape(x), dim, at, at + size)
        parts.append(b.reshape(part, val.shape) if how == "unbind" else part)
        at += size
    return parts


@handles("flip")
def flip(b, x, dims):
    return b.op("reverse", b.value[x], dims=dims_of(b, x, dims))


@handles("constant_pad_nd")
def pad(b, x, sizes, value=0):
    rank = len(b.shape(x))
    low, high = [0] * rank, [0] * rank
    for i in range(len(sizes) // 2):
        low[rank - 1 - i], high[rank - 1 - i] = sizes[2 * i], sizes[2 * i + 1]
    return b.op("pad", b.value[x], low=low, high=high, value=float(value) if value else None)


@handles("tril", "triu")
def triangle(b, x, diagonal=0):
    rows, columns = b.shape()[-2:]
    row, column = b.iota([rows, columns], 0), b.iota([rows, columns], 1)
    edge = b.op("add", row, b.number(diagonal, torch.int64))
    kept = b.op("le" if "tril" in b.which() else "ge", column, edge)
    return b.op("select", kept, b.read(x), b.number(0, b.dtype()))


@handles("full", "full_like", "zeros", "zeros_like", "ones", "ones_like", "scalar_tensor", "new_full", "new_zeros",
         "new_ones", "empty", "empty_like", "new_empty")
def filled(b, *args, **_):
    how = b.which()
    if not math.prod(b.shape()):
        return None  # what cat leaves out
    value = (args[-1] if "full" in how or how == "scalar_tensor" else 1 if "ones" in how else 0)
    return b.full(int(value) if isinstance(value, bool) else value, b.shape(), b.dtype())


@handles("arange")
def arange(b, *args, **_):
    start, step = (0, 1) if len(args) == 1 else (args[0], args[2] if len(args) > 2 else 1)
    x = b.iota(b.shape(), 0, b.dtype())
    if step != 1:
        x = b.op("mul", x, b.number(step, b.dtype()))
    return b.op("add", x, b.number(start, b.dtype())) if start else x


@handles("tril_indices", "triu_indices", "linspace", "logspace", "eye")
def evaluated(b, *args, **named):
    """What depends on numbers alone, as torch computes it."""
    return b.literal(b.node.target(*args, **{**named, "device": "cpu"}))


# By index.


@handles("embedding")
def embedding(b, table, index, padding=-1, *_, **__):
    rows = b.op("gather", b.value[table], b.value[index])
    if padding < 0:
        return rows
    fixed = b.op("gather", b.op("stop_gradient", b.value[table]), b.value[index])
    chosen = b.op("eq", b.value[index], b.number(padding, index.meta["val"].dtype))
    return b.op("select", b.reshape(chosen, b.shape(index) + [1]), fixed, rows)


def indices(b, index, shape):
    """Numbers from the end become numbers from the start."""
    value = b.read(index, torch.int64)
    below = b.op("lt", value, b.number(0, torch.int64))
    return b.op("select", below, b.op("add", value, b.number(shape, torch.int64)), value)


@handles("index", "_unsafe_index")
def index_(b, x, index):
    dims = [d for d, i in enumerate(index) if i is not None]
    if any(index[d].meta["val"].dtype == torch.bool for d in dims):
        b.refuse("how many elements a mask chooses depends on data")
    common = list(torch.broadcast_shapes(*[index[d].meta["val"].shape for d in dims]))
    at = [indices(b, index[d], b.shape(x)[d]) for d in dims]
    at = [a if b.shape(index[d]) == common else b.broadcast(a, common) for a, d in zip(at, dims)]
    rows = b.op("gather_nd", b.value[x], *at, dims=dims)  # indices first, then the other dims of x
    if dims[0] == 0 or dims != list(range(dims[0], dims[-1] + 1)):
        return rows
    n, before = len(common), dims[0]
    return b.op("transpose", rows, perm=[*range(n, n + before), *range(n), *range(n + before, len(b.shape()))])


@handles("index_select")
def index_select(b, x, dim, index):
    dim %= len(b.shape(x))
    rows = b.op("gather_nd", b.value[x], b.value[index], dims=[dim])
    rank = len(b.shape())
    return rows if dim == 0 else b.op("transpose", rows, perm=[*range(1, dim + 1), 0, *range(dim + 1, rank)])


@handles("gather")
def gather(b, x, dim, index, sparse_grad=False):
    rank, shape = len(b.shape(x)), b.shape(index)
    dim %= rank
    at = [b.value[index] if d == dim else b.iota(shape, d) for d in range(rank)]
    return b.op("gather_nd", b.value[x], *at)


@handles("index_put", "_unsafe_index_put")
def index_put(b, x, index, values, accumulate=False):
    shape, dims = b.shape(x), [d for d, i in enumerate(index) if i is not None]
    first = index[dims[0]].meta["val"]
    if first.dtype == torch.bool:
        if len(dims) > 1 or dims[0] or math.prod(b.shape(values)) > 1:
            b.refuse("how many elements a mask chooses depends on data")
        mask = b.reshape(b.value[index[0]], list(first.shape) + [1] * (len(shape) - first.dim()))
        new = b.reshape(b.read(values), [])
        return b.op("select", mask, b.op("add", b.read(x), new) if accumulate else new, b.read(x))
    common = list(torch.broadcast_shapes(*[index[d].meta["val"].shape for d in dims]))
    at = [indices(b, index[d], shape[d]) for d in dims]
    at = [a if b.shape(index[d]) == common else b.broadcast(a, common) for a, d in zip(at, dims)]
    rest = [n for d, n in enumerate(shape) if d not in dims]
    before = dims[0] if dims == list(range(dims[0], dims[-1] + 1)) else 0
    wanted = rest[:before] + common + rest[before:]
    v = b.read(values)
    v = v if b.shape(values) == wanted else b.broadcast(v, wanted)
    if before:
        n = len(common)
        v = b.op("transpose", v, perm=[*range(before, before + n), *range(before), *range(before + n, len(wanted))])
    return placed(b, b.read(x), v, at, dims, "add" if accumulate else "set", common)


def placed(b, x, v, at, dims, how, common):
    """x with v [indices.., the other dims of x], whose indices of `dims` of x are `at`. "set" writes the last one of those with
    the same index, as torch does on a CPU."""
    shape, rank = b.shape(), len(b.shape())
    sizes = [shape[d] for d in dims]
    if how != "set":
        total = b.op("scatter_nd", v, *at, sizes=sizes, dims=dims, how=None if how == "add" else how)
        return b.op({"add": "add", "max": "maximum", "min": "minimum", "mul": "mul"}[how], x, total)
    rest = [d for d in range(rank) if d not in dims]
    many, one = math.prod(common), b.number(1, torch.int64)
    order = b.reshape(b.op("add", b.iota([many], 0), one), common)
    last = b.op("scatter_nd", order, *at, sizes=sizes, how="max")
    chosen = b.op("maximum", b.op("sub", last, one), b.number(0, torch.int64))
    rows = b.op("gather", b.reshape(v, [many] + [shape[d] for d in rest]), chosen)
    perm = [(list(dims) + rest).index(d) for d in range(rank)]
    if perm != list(range(rank)):
        rows = b.op("transpose", rows, perm=perm)
        last = b.op("transpose", last, perm=[sorted(dims).index(d) for d in dims]) if sorted(dims) != list(dims) else last
    mask = b.reshape(b.op("gt", last, b.number(0, torch.int64)), [n if d in dims else 1 for d, n in enumerate(shape)])
    return b.op("select", mask, rows, x)


@handles("scatter", "scatter_add", "scatter_reduce")
def scatter(b, x, dim, index, source, reduce=None, include_self=True):
    how = b.which()
    if how == "scatter" and reduce is not None:
        how, reduce = "scatter_reduce", {"add": "sum", "multiply": "prod"}[reduce]
    rank, shape, size = len(b.shape()), b.shape(index), b.shape()
    if not rank:
        b.refuse("of a scalar")
    dim %= rank
    at = [indices(b, index, size[d]) if d == dim else b.iota(shape, d) for d in range(rank)]
    v = b.read(source)
    if not isinstance(source, torch.fx.Node):
        v = b.broadcast(v, shape)
    for d, n in enumerate(b.shape(source) if isinstance(source, torch.fx.Node) else []):
        if n != shape[d]:
            v = b.op("slice", v, dims=[d], start=[0], limit=[shape[d]])
    y, dims, t = b.read(x), list(range(rank)), b.dtype()
    if how != "scatter_reduce":
        return placed(b, y, v, at, dims, "add" if how == "scatter_add" else "set", shape)
    op = {"sum": "add", "mean": "add", "prod": "mul", "amax": "max", "amin": "min"}[reduce]
    many = None
    if reduce == "mean" or not include_self:
        ones = b.full(1, shape, t)
        many = b.op("scatter_nd", ones, *at, sizes=size)
    if include_self:
        total = placed(b, y, v, at, dims, op, shape)
        return b.op("div", total, b.op("add", many, b.number(1, t))) if reduce == "mean" else total
    total = b.op("scatter_nd", v, *at, sizes=size, how=op)
    if reduce == "mean":
        total = b.op("div", total, b.op("maximum", many, b.number(1, t)))
    return b.op("select", b.op("gt", many, b.number(0, t)), total, y)


@handles("topk")
def topk(b, x, k, dim=-1, largest=True, sorted=True):
    y = b.read(x) if largest else b.op("neg", b.read(x))
    value, where_ = b.op("topk", y, results=2, k=k, dim=dim % len(b.shape(x)))
    return [value if largest else b.op("neg", value), b.convert(where_, torch.int32, torch.int64)]


@handles("sort")
def sort(b, x, *args, dim=-1, descending=False, stable=None):
    if args:
        args = [a for a in args if not (a is None)]
        dim = args[-2] if len(args) >= 2 else args[0]
        descending = args[-1] if len(args) >= 2 else False
    value, where_ = b.op("sort", b.value[x], results=2, dim=dim % len(b.shape(x)), descending=descending or None)
    return [value, b.convert(where_, torch.int32, torch.int64)]


@handles("one_hot")
def one_hot(b, x, classes=-1):
    return b.op("one_hot", b.value[x], size=b.shape()[-1], to=RawName("i64"))


# Products.


@handles("mm", "bmm", "matmul", "dot", "mv")
def matmul(b, x, y):
    (m, n), (p, q) = (b.read(x), b.shape(x)), (b.read(y), b.shape(y))
    if len(n) == 1:
        m = b.reshape(m, [1, *n])
    if len(q) == 1:
        p = b.reshape(p, [*q, 1])
    product = b.op("matmul", m, p)
    return product if len(n) > 1 and len(q) > 1 else b.reshape(product, b.shape())


@handles("addmm", "baddbmm")
def addmm(b, bias, x, y, beta=1, alpha=1):
    product = b.op("matmul", b.read(x), b.read(y))
    if alpha != 1:
        product = b.op("mul", product, b.number(alpha, b.dtype()))
    if beta == 0:
        return product
    add = b.read(bias) if beta == 1 else b.op("mul", b.read(bias), b.number(beta, b.dtype()))
    return b.op("add", product, add)


@handles("linear")
def linear(b, x, w, bias=None):
    lead = "abcdefg"[:len(b.shape(x)) - 1]
    y = b.op("contract", b.read(x), b.read(w), spec=f"{lead}i,oi->{lead}o")
    return b.op("add", y, b.read(bias)) if bias is not None else y


@handles("einsum")
def einsum(b, spec, operands, path=None):
    spec = spec.replace(" ", "")
    if "." in spec:
        parts, _, result = spec.partition("->")
        free = [c for c in "zyxwvutsrqponmlkjihgfedcba" if c not in spec]
        many = [len(b.shape(x)) - len(p.replace("...", "")) for p, x in zip(parts.split(","), operands)]
        most = "".join(free[:max(many)])
        parts = ",".join(p.replace("...", most[len(most) - n:]) for p, n in zip(parts.split(","), many))
        letters = sorted(c for c in set(parts) if c.isalpha() and parts.count(c) == 1 and c not in most)
        spec = parts + "->" + (result.replace("...", most) if "->" in spec else most + "".join(letters))
    if "->" not in spec:
        letters = sorted(c for c in set(spec) if c.isalpha() and spec.count(c) == 1)
        spec += "->" + "".join(letters)
    values, (parts, _, result) = [b.read(x) for x in operands], spec.partition("->")
    parts = parts.split(",")
    for i, (part, x) in enumerate(zip(parts, operands)):
        for c in [c for c in dict.fromkeys(part) if part.count(c) > 1]:  # a diagonal
            dims = [d for d, other in enumerate(part) if other == c]
            at = b.iota([b.shape(x)[part.index(c)]], 0) if len(parts[i]) == len(part) else b.refuse("two diagonals")
            values[i] = b.op("gather_nd", values[i], *[at] * len(dims), dims=dims)
            parts[i] = c + part.replace(c, "")
    return b.op("contract", *values, spec=",".join(parts) + "->" + result)


@handles("convolution", "conv1d", "conv2d", "conv3d")
def convolution(b, x, w, bias=None, stride=1, padding=0, dilation=1, *rest):
    """conv1d is one of images that have one row; conv3d one of images whose channels are those of some neighbouring images."""
    how, n = b.which(), len(b.shape(x)) - 2
    transposed, _, groups = rest if how == "convolution" else (False, [0], rest[0] if rest else 1)
    stride, dilation, shape, filters = spread(stride, n), spread(dilation, n), b.shape(x), b.shape(w)
    if isinstance(padding, str):
        total = [e * (k - 1) if padding == "same" else 0 for e, k in zip(dilation, filters[2:])]
        low, high = [t // 2 for t in total], [t - t // 2 for t in total]
    else:
        low = high = spread(padding, n)
    a, f, new = b.read(x), b.read(w), b.shape()
    if n == 1:
        a, f = b.reshape(a, shape[:-1] + [1, shape[-1]]), b.reshape(f, filters[:-1] + [1, filters[-1]])
        low, high, stride, dilation = [0, *low], [0, *high], [1, *stride], [1, *dilation]
    said = {"stride": stride[-2:], "low": low[-2:], "high": high[-2:], "dilation": dilation[-2:], "groups": groups}
    if transposed:
        said.pop("high")
    deep = convolution_3d_data if transposed else convolution_3d
    if n == 3:
        y = deep(b, a, f, shape, filters, new, (stride[0], low[0], high[0], dilation[0]), said)
    elif transposed:
        y = b.op("conv2d_data", a, f, height=new[2] if n == 2 else 1, width=new[-1], **said)
    else:
        y = b.op("conv2d", a, f, **said)
    y = y if n > 1 else b.reshape(y, new)
    return y if bias is None else b.op("add", y, b.reshape(b.read(bias), [new[1]] + [1] * n))


def convolution_3d(b, a, f, shape, filters, new, depth, said):
    (rows, channels, _, *image), (out, each, k, *window) = shape, filters
    stride, low, up, dilation = depth
    a = b.op("transpose", a, perm=[0, 2, 1, 3, 4])
    a = b.op("pad", a, dims=[1], low=[low], high=[up]) if low or up else a
    parts = [b.op("slice", a, dims=[1], start=[i * dilation], limit=[i * dilation + (new[2] - 1) * stride + 1], step=[stride])
             for i in range(k)]
    a = joined(b, [b.reshape(p, [rows, new[2], channels, 1, *image]) for p in parts], 3)
    a = b.reshape(a, [rows, new[2], channels * k, *image])
    y = b.op("conv2d", a, b.reshape(f, [out, each * k, *window]), **said)
    return b.op("transpose", y, perm=[0, 2, 1, 3, 4])


def convolution_3d_data(b, a, f, shape, filters, new, depth, said):
    (rows, _, n, *_), (channels, each, k, *window) = shape, filters
    stride, low, _, dilation = depth
    a = b.op("transpose", a, perm=[0, 2, 1, 3, 4])
    y = b.op("conv2d_data", a, b.reshape(f, [channels, each * k, *window]), height=new[3], width=new[4], **said)
    y = b.reshape(y, [rows, n, new[1], k, *new[3:]])
    total = None
    for i in range(k):
        part = b.reshape(b.op("slice", y, dims=[3], start=[i], limit=[i + 1]), [rows, n, new[1], *new[3:]])
        before = i * dilation - low
        part = b.op("pad", part, dims=[1], low=[before], high=[new[2] - before - (n - 1) * stride - 1], interior=[stride - 1])
        total = part if total is None else b.op("add", total, part)
    return b.op("transpose", total, perm=[0, 2, 1, 3, 4])


@handles("scaled_dot_product_attention")
def attention(b, q, k, v, mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    """The heads of q that share one of k and v are a dim of their own, so that the latter are not repeated."""
    shape, keys, t = b.shape(q), b.shape(k), b.dtype()
    lead, (rows, depth), columns = shape[:-2], shape[-2:], keys[-2]
    letters = "abcdefg"[:len(lead)]
    shared = lead[-1] // keys[-3] if enable_gqa and len(shape) > 2 else 1
    query, group = b.read(q), ""
    if shared > 1:
        query, group = b.reshape(query, lead[:-1] + [keys[-3], shared, rows, depth]), "n"
    scores = b.op("contract", query, b.read(k), spec=f"{letters}{group}td,{letters}sd->{letters}{group}ts")
    scores = b.op("mul", scores, b.number(float(scale if scale is not None else depth ** -0.5), t))
    if is_causal:
        seen = b.op("le", b.iota([rows, columns], 1, torch.int32), b.iota([rows, columns], 0, torch.int32))
        scores = b.op("select", seen, scores, b.number(float("-inf"), t))
    if mask is not None:
        given = b.value[mask]
        if shared > 1 and len(b.shape(mask)) > 2:
            heads = b.shape(mask)[-3]
            split_ = [keys[-3], shared] if heads > 1 else [1, 1]
            given = b.reshape(given, b.shape(mask)[:-3] + split_ + b.shape(mask)[-2:])
        if mask.meta["val"].dtype == torch.bool:
            scores = b.op("select", given, scores, b.number(float("-inf"), t))
        else:
            scores = b.op("add", scores, b.convert(given, mask.meta["val"].dtype, t))
    p = dropped(b, softmax_last(b, scores, t), t, dropout_p)
    mixed = b.op("contract", p, b.read(v), spec=f"{letters}{group}ts,{letters}sd->{letters}{group}td")
    return b.reshape(mixed, b.shape()) if shared > 1 else mixed


# Norms, activations of rows, losses.


def softmax_last(b, value, dtype, log=False):
    """Computed in f32 at least, as torch does."""
    wide = torch.float32 if dtype in (torch.float16, torch.bfloat16) else dtype
    y = b.op("call @log_softmax" if log else "call @softmax", b.convert(value, dtype, wide))
    return b.convert(y, wide, dtype)


@handles("softmax", "_softmax", "log_softmax", "_log_softmax")
def softmax(b, x, dim, *_, **__):
    log, rank = "log" in b.which(), len(b.shape(x))
    dim %= rank
    if dim == rank - 1:
        return softmax_last(b, b.read(x), b.dtype(), log)
    perm = list(range(rank))
    perm[dim], perm[-1] = perm[-1], perm[dim]
    y = softmax_last(b, b.op("transpose", b.read(x), perm=perm), b.dtype(), log)
    return b.op("transpose", y, perm=perm)


def dropped(b, value, dtype, rate):
    if rate == 0:
        return value
    if rate == 1:
        return b.op("mul", value, b.number(0.0, dtype))
    y = b.op("call @dropout", b.convert(value, dtype, torch.float32), **{"as": b.fresh("dropout")[1:], "rate": rate})
    return b.convert(y, torch.float32, dtype)


@handles("dropout", "native_dropout")
def dropout(b, x, p, train=True):
    """A mask of its own in each step, none while a program evaluates."""
    y = dropped(b, b.read(x), b.dtype(), p if train else 0)
    return [y, None] if b.which().endswith("native_dropout") else y


@handles("rand_like", "randn_like", "rand", "randn", "bernoulli")
def random(b, x, p=None, **_):
    how = b.which()
    like = b.read(x) if isinstance(x, torch.fx.Node) else b.full(0, b.shape(), b.dtype())
    name = b.fresh("random")[1:]
    n = b.counter()
    if how.startswith("randn"):
        return b.op("random_normal", n, like, symbol=name, to=RawName(TYPES[b.dtype()]))
    u = b.op("random_uniform", n, like, symbol=name, to=RawName(TYPES[b.dtype()]))
    if how != "bernoulli":
        return u
    drawn = b.op("lt", u, b.number(p, b.dtype()) if p is not None else like)
    return b.convert(drawn, torch.bool, b.dtype())


def normalized(b, y, dims, eps, dtype, centre=True):
    if centre:
        y = b.op("sub", y, b.op("mean", y, dims=dims, keep=True))
    v = b.op("mean", b.op("square", y), dims=dims, keep=True)
    return b.op("mul", y, b.op("rsqrt", b.op("add", v, b.number(float(eps), dtype))))


def scaled(b, y, w, bias, shape, dtype):
    for op, arg in (("mul", w), ("add", bias)):
        if arg is not None:
            value = b.read(arg, dtype)
            y = b.op(op, y, value if b.shape(arg) == shape else b.reshape(value, shape))
    return y


def wide_type(b, x):
    t = x.meta["val"].dtype
    return torch.float32 if t in (torch.float16, torch.bfloat16) else t


@handles("layer_norm", "rms_norm")
def layer_norm(b, x, shape, w=None, *rest):
    rms = "rms_norm" in b.which()
    bias, eps = (None, rest[0] if rest else None) if rms else (rest[0] if rest else None, rest[1] if len(rest) > 1 else 1e-5)
    t = wide_type(b, x)
    eps = eps if eps is not None else torch.finfo(x.meta["val"].dtype).eps
    rank = len(b.shape(x))
    y = normalized(b, b.read(x, t), list(range(rank - len(shape), rank)), eps, t, not rms)
    return b.convert(scaled(b, y, w, bias, list(shape), t), t, b.dtype())


@handles("group_norm")
def group_norm(b, x, groups, w=None, bias=None, eps=1e-5, *_):
    shape, t = b.shape(x), wide_type(b, x)
    parts = b.reshape(b.read(x, t), [shape[0], groups, shape[1] // groups, *shape[2:]])
    y = b.reshape(normalized(b, parts, list(range(2, len(shape) + 1)), eps, t), shape)
    y = scaled(b, y, w, bias, [shape[1]] + [1] * (len(shape) - 2), t)
    return b.convert(y, t, b.dtype())


@handles("_native_batch_norm_legit_functional", "_native_batch_norm_legit", "_native_batch_norm_legit_no_training")
def batch_norm(b, x, w, bias, mean=None, var=None, *rest):
    """In training the statistics are those of the whole batch, on however many devices; while a program evaluates, the
    running ones. Results as ATen has them: y, mean, 1 / deviation, the next running mean and variance."""
    how = b.which()
    if isinstance(mean, bool):  # without running statistics
        mean, var, rest = None, None, (mean, var, *rest)
    training, momentum, eps = (False, *rest) if how.endswith("no_training") else rest
    t, shape = wide_type(b, x), b.shape(x)
    dims = [0, *range(2, len(shape))]
    each = [shape[1]] + [1] * (len(shape) - 2)
    y = b.read(x, t)
    old = [b.reshape(b.read(s, t), each) if isinstance(s, torch.fx.Node) else None for s in (mean, var)]
    if training:
        batch = [b.op("mean", y, dims=dims, keep=True)]
        batch.append(b.op("mean", b.op("square", b.op("sub", y, batch[0])), dims=dims, keep=True))
        used = [b.op("select", b.learning(), n, o) if o else n for n, o in zip(batch, old)]
    else:
        used = old
    factor = b.op("rsqrt", b.op("add", used[1], b.number(float(eps), t)))
    out = scaled(b, b.op("mul", b.op("sub", y, used[0]), factor), w, bias, each, t)
    results = [b.convert(out, t, x.meta["val"].dtype), None, None]
    if training and old[0] and how.endswith("functional"):
        n = math.prod(shape[d] for d in dims)
        sample = b.op("mul", batch[1], b.op("div", b.number(n, t), b.number(max(n - 1, 1), t)))
        for running, new in ((mean, batch[0]), (var, sample)):
            new = b.reshape(new, [shape[1]])
            move = b.op("mul", b.op("sub", new, b.read(running, t)), b.number(float(momentum), t))
            results.append(b.op("add", b.read(running, t), move))
    return results


@handles("cross_entropy_loss", "nll_loss", "nll_loss_nd", "nll_loss2d")
def cross_entropy(b, z, y, weight=None, reduction=1, ignore=-100, smoothing=0.0):
    """Classes are dim 1, of rows dim -1. A label that is ignored picks 0."""
    shape, t = b.shape(z), wide_type(b, z)
    value = b.read(z, t)
    if len(shape) > 2:
        value = b.op("transpose", value, perm=[0, *range(2, len(shape)), 1])
    if b.which().startswith("cross"):
        value = softmax_last(b, value, t, log=True)
    if y.meta["val"].dtype.is_floating_point:
        p = b.read(y, t)
        p = b.op("transpose", p, perm=[0, *range(2, len(shape)), 1]) if len(shape) > 2 else p
        if smoothing:
            p = b.op("add", b.op("mul", p, b.number(1 - smoothing, t)),
                     b.number(smoothing / shape[1 if len(shape) > 1 else 0], t))
        if weight is not None:
            p = b.op("mul", p, b.read(weight, t))
        each, many = b.op("sum", b.op("mul", value, p), dims=[-1]), None
        rows = math.prod(shape) // shape[1 if len(shape) > 1 else 0]
    else:
        each = b.op("pick", value, b.value[y])
        rows = math.prod(b.shape(y))
        inside = 0 <= ignore < shape[1 if len(shape) > 1 else 0]
        counted = None
        if b.ignored or inside:
            counted = b.op("ne", b.value[y], b.number(ignore, y.meta["val"].dtype))
            if inside or smoothing:
                each = b.op("select", counted, each, b.number(0.0, t))
        if weight is not None:
            factor = b.op("gather", b.read(weight, t), b.value[y])
            each = b.op("mul", each, factor)
            factor = factor if counted is None else b.op("select", counted, factor, b.number(0.0, t))
            many = b.op("sum", factor)
        else:
            many = b.op("sum", b.convert(counted, torch.bool, t)) if counted else None
        if smoothing:
            classes = shape[1 if len(shape) > 1 else 0]
            flat = b.op("sum", value if weight is None else b.op("mul", value, b.read(weight, t)), dims=[-1])
            if counted:
                flat = b.op("select", counted, flat, b.number(0.0, t))
            each = b.op("add", b.op("mul", each, b.number(1 - smoothing, t)),
                        b.op("mul", flat, b.number(smoothing / classes, t)))
    lost = b.op("neg", each)
    if reduction == 1:
        total = b.op("sum", lost)
        lost = b.op("div", total, many) if many else b.op("div", total, b.number(rows, t))
    elif reduction == 2:
        lost = b.op("sum", lost)
    return b.convert(lost, t, b.dtype())


def reduced(b, each, reduction):
    return each if reduction == 0 else b.op("mean" if reduction == 1 else "sum", each)


@handles("mse_loss")
def mse_loss(b, x, y, reduction=1):
    return reduced(b, b.op("square", b.op("sub", b.read(x), b.read(y))), reduction)


@handles("binary_cross_entropy_with_logits")
def bce_logits(b, x, y, weight=None, pos_weight=None, reduction=1):
    """softplus(x) - x y; with a weight of the positive: (1 - y) x + (1 + (weight - 1) y) softplus(-x)."""
    z, t = b.read(x), b.read(y)
    if pos_weight is None:
        each = b.op("sub", b.op("softplus", z), b.op("mul", z, t))
    else:
        one = b.number(1.0, b.dtype())
        more = b.op("add", one, b.op("mul", b.op("sub", b.read(pos_weight), one), t))
        each = b.op("add", b.op("mul", b.op("sub", one, t), z), b.op("mul", more, b.op("softplus", b.op("neg", z))))
    if weight is not None:
        each = b.op("mul", each, b.read(weight))
    return reduced(b, each, reduction)


# Pools.


def spread(v, n):
    v = list(v) if isinstance(v, (list, tuple)) else [v]
    return v * n if len(v) == 1 else v


@handles("max_pool2d_with_indices", "max_pool2d", "max_pool3d_with_indices", "max_pool3d")
def max_pool(b, x, window, stride=(), padding=0, dilation=1, ceil_mode=False):
    rank, n = len(b.shape(x)), 3 if "3d" in b.which() else 2
    low, window, stride, dilation = (spread(v, n) for v in (padding, window, stride or window, dilation))
    new, old = b.shape()[-n:], b.shape(x)[-n:]
    reach = [(m - 1) * s + (w - 1) * e + 1 for m, s, w, e in zip(new, stride, window, dilation)]
    high = [max(r - n_ - a, 0) for r, n_, a in zip(reach, old, low)]
    y = b.read(x)
    if n == 2 and dilation == [1, 1]:
        y = b.op("max_pool", y, window=window, stride=stride, low=low, high=high)
    else:  # the maximum of the elements at each place of the window, a dim at a time
        integer = not b.dtype().is_floating_point
        y = b.op("pad", y, low=[0] * (rank - n) + low, high=[0] * (rank - n) + high,
                 value=torch.iinfo(b.dtype()).min if integer else float("-inf"))
        for i in range(n):
            each = [b.op("slice", y, dims=[rank - n + i], start=[k * dilation[i]], step=[stride[i]],
                         limit=[k * dilation[i] + (new[i] - 1) * stride[i] + 1]) for k in range(window[i])]
            y = functools.reduce(lambda a, c: b.op("maximum", a, c), each)
    return [y, None] if "indices" in b.which() else y


@handles("avg_pool2d", "avg_pool3d")
def avg_pool(b, x, window, stride=(), padding=0, ceil_mode=False, count_include_pad=True, divisor=None):
    rank, n = len(b.shape(x)), 3 if "3d" in b.which() else 2
    low, window, stride = (spread(v, n) for v in (padding, window, stride or window))
    if n == 2 and not ceil_mode and not divisor and (low == [0, 0] or count_include_pad):
        return b.op("avg_pool", b.read(x), window=window, stride=stride, low=low, high=low)
    new, old = b.shape()[-n:], b.shape(x)[-n:]
    y, ones = b.read(x), torch.ones(1, *old, dtype=torch.float64)
    for i in range(n):
        high = (new[i] - 1) * stride[i] + window[i] - old[i] - low[i]
        y = b.op("window", y, dim=rank - n + i, size=window[i], stride=stride[i], low=low[i], high=max(high, 0))
    pool = aten.avg_pool3d if n == 3 else aten.avg_pool2d
    rest = (window, stride, low, ceil_mode)
    scale = (pool(ones, *rest, count_include_pad, divisor) / pool(ones, *rest, False, 1))[0]
    if (scale == scale.flatten()[0]).all():
        return b.op("mul", y, b.number(scale.flatten()[0].item(), b.dtype()))
    return b.op("mul", y, b.literal(scale.to(b.dtype())))


@handles("adaptive_avg_pool2d", "_adaptive_avg_pool2d", "adaptive_avg_pool3d", "_adaptive_avg_pool3d")
def adaptive_pool(b, x, size):
    n = 3 if "3d" in b.which() else 2
    old, new = b.shape(x)[-n:], b.shape()[-n:]
    if n == 2 and not any(m % k for m, k in zip(old, new)):
        window = [m // k for m, k in zip(old, new)]
        return b.op("avg_pool", b.read(x), window=window, stride=window)
    return by_dims(b, b.read(x), [averages(m, k) for m, k in zip(old, new)])


def by_dims(b, value, matrices):
    """The last dims times a matrix each, [new,old]."""
    rank = len(b.shape())
    letters = "abcdefg"[:rank]
    for i, matrix in enumerate(matrices):
        at = rank - len(matrices) + i
        if matrix.shape[0] != matrix.shape[1] or not torch.equal(matrix, torch.eye(len(matrix), dtype=matrix.dtype)):
            value = b.op("contract", value, b.literal(matrix.to(b.dtype())),
                         spec=f"{letters},z{letters[at]}->{letters[:at]}z{letters[at + 1:]}")
    return value


@handles("adaptive_max_pool2d", "adaptive_max_pool3d")
def adaptive_max_pool(b, x, size):
    n = 3 if "3d" in b.which() else 2
    y, rank = b.read(x), len(b.shape())
    for d, old, new in zip(range(rank - n, rank), b.shape(x)[-n:], b.shape()[-n:]):
        inside = averages(old, new) > 0
        wide = int(inside.sum(1).max())
        first, last = inside.int().argmax(1), inside.sum(1) - 1
        at = first[:, None] + torch.minimum(torch.arange(wide), last[:, None])
        y = b.op("max", b.op("gather_nd", y, b.literal(at), dims=[d]), dims=[1])
        y = b.op("transpose", y, perm=[*range(1, d + 1), 0, *range(d + 1, rank)]) if d else y
    return [y, None]


def averages(n, m):
    """[m,n]: element i of m is the mean of n from floor(i n / m) to ceil((i + 1) n / m)."""
    rows = torch.zeros(m, n)
    for i in range(m):
        a, e = i * n // m, -(-(i + 1) * n // m)
        rows[i, a:e] = 1 / (e - a)
    return rows


@handles(*[f"{kind}upsample_{mode}" for kind in ("", "_") for mode in (
    "nearest1d", "nearest2d", "nearest3d", "nearest_exact1d", "nearest_exact2d", "nearest_exact3d", "linear1d", "bilinear2d",
    "trilinear3d", "bicubic2d", "bilinear2d_aa", "bicubic2d_aa")])
def upsample(b, x, size=None, *rest, **named):
    """Along each dim a matrix, whose columns are what torch makes of unit vectors, or a choice of elements."""
    how = b.which()
    n = int(re.search(r"(\d)d", how).group(1))
    old, new = b.shape(x)[-n:], b.shape()[-n:]
    corners = [] if "nearest" in how else [bool(named.get("align_corners", rest[0] if rest else False))]
    after = list(rest[len(corners):])
    if b.node.target._overloadname == "vec":
        scales = named.get("scale_factors", after[0] if after else None) or [None] * n
    else:
        scales = [named.get(f"scales_{k}", after[i] if i < len(after) else None)
                  for i, k in enumerate("dhw"[3 - n:])] if n > 1 else [after[0] if after else named.get("scales")]
    mode = {"nearest": "upsample_nearest2d", "nearest_exact": "_upsample_nearest_exact2d", "bicubic": "upsample_bicubic2d",
            "bilinear_aa": "_upsample_bilinear2d_aa", "bicubic_aa": "_upsample_bicubic2d_aa"}.get(
                re.sub(r"^_?upsample_|\dd", "", how), "upsample_bilinear2d")
    matrices = [getattr(aten, mode)(torch.eye(m, dtype=torch.float64).view(m, 1, m, 1).repeat(1, 1, 1, 2), [k, 2],
                                           *corners, scale, None)[:, 0, :, 0].T for m, k, scale in zip(old, new, scales)]
    if "nearest" not in how:
        return by_dims(b, b.read(x), matrices)
    y, rank, lead = b.read(x), len(b.shape()), b.shape()[:-n]
    at = [matrix.argmax(1) for matrix in matrices]
    if all(torch.equal(a, torch.arange(k) // max(k // m, 1)) for a, m, k in zip(at, old, new)):
        y = b.reshape(y, lead + [size for m in old for size in (m, 1)])
        return b.reshape(b.broadcast(y, lead + [size for m, k in zip(old, new) for size in (m, k // m)]), b.shape())
    for d, a in enumerate(at, rank - n):
        rows = b.op("gather_nd", y, b.literal(a), dims=[d])
        y = b.op("transpose", rows, perm=[*range(1, d + 1), 0, *range(d + 1, rank)])
    return y


@handles("embedding_bag", "_embedding_bag", "_embedding_bag_forward_only")
def embedding_bag(b, table, index, offsets, by_frequency=False, mode=0, sparse=False, weights=None, last=False, padding=-1):
    """Bags of one size are offsets from a reshaped matrix; else the offsets say to which bag a row is added."""
    bags = b.shape()[0]
    if padding not in (None, -1) or last:
        b.refuse("padding_idx and include_last_offset are not translated")
    if name_of(offsets.target) != "arange" if offsets.op == "call_function" else True:
        return [ragged_bags(b, table, index, offsets, mode, weights), None, None, None]
    many = b.shape(index)[0] // bags
    rows = b.op("gather", b.value[table], b.reshape(b.value[index], [bags, many]))
    if weights is not None:
        rows = b.op("mul", rows, b.reshape(b.read(weights), [bags, many, 1]))
    y = b.op({0: "sum", 1: "mean", 2: "max"}[mode], rows, dims=[1])
    return [y, None, None, None]


def ragged_bags(b, table, index, offsets, mode, weights):
    rows = b.op("gather", b.value[table], b.value[index])
    (bags, width), many, t = b.shape(), b.shape(index)[0], b.dtype()
    if weights is not None:
        rows = b.op("mul", rows, b.reshape(b.read(weights), [many, 1]))
    begins = b.op("le", b.reshape(b.read(offsets, torch.int64), [1, bags]), b.reshape(b.iota([many], 0), [many, 1]))
    bag = b.op("sub", b.op("sum", b.convert(begins, torch.bool, torch.int64), dims=[1]), b.number(1, torch.int64))
    y = b.op("scatter_nd", rows, bag, sizes=[bags], how="max" if mode == 2 else None)
    if mode == 0:
        return y
    count = b.op("scatter_nd", b.full(1, [many], t), bag, sizes=[bags])
    count = b.reshape(b.op("maximum", count, b.number(1, t)) if mode == 1 else count, [bags, 1])
    return b.op("div", y, count) if mode == 1 else b.op("select", b.op("gt", count, b.number(0, t)), y, b.number(0, t))


# Complex numbers: most operations move or add elements, or are products.

PARTWISE = set("""view reshape _unsafe_view unsqueeze squeeze flatten unflatten permute transpose t expand repeat slice select
    split split_with_sizes chunk unbind flip index _unsafe_index index_select gather clone contiguous alias lift_fresh_copy
    detach add sub rsub neg sum mean cat stack slice_scatter select_scatter constant_pad_nd where zeros zeros_like ones full
    full_like new_zeros empty copy roll diagonal masked_fill""".split())
BILINEAR = {"mul", "mm", "bmm", "matmul", "dot", "mv", "einsum", "linear"}
COMPLEX = {}


def complex_handles(*names):
    def add(function):
        for name in names:
            COMPLEX[name] = function
        return function
    return add


def complex_call(b, node, named):
    name = b.which()
    made = handler(node.target)
    if name in COMPLEX:
        return COMPLEX[name](b, *node.args, **named)
    if name in PARTWISE and made:
        parts = [b_part(b, made, node, named, i) for i in (0, 1)]
        return [Pair(*p) for p in zip(*parts)] if isinstance(parts[0], list) else Pair(*parts)
    if name in BILINEAR and made:
        operands = [n for n in node.all_input_nodes]
        if len(operands) > 2:
            b.refuse("a product of more than two complex values")

        def product(i, j):
            return b_part(b, made, node, named, {operands[0]: i, operands[-1]: j})
        if len(operands) == 2 and all(map(is_complex, operands)):
            return Pair(b.op("sub", product(0, 0), product(1, 1)), b.op("add", product(0, 1), product(1, 0)))
        if len(operands) == 1 and all(not isinstance(a, complex) for a in node.args) and \
                [a for a in node.args].count(operands[0]) < 2:
            return Pair(product(0, 0), product(1, 1))
        if len(operands) == 2:
            return Pair(product(0, 0), product(1, 1))
    b.refuse("this operation is not translated for complex numbers")


def b_part(b, made, node, named, part):
    """A handler applied to the real (0) or the imaginary parts (1) of what is complex; the imaginary part of a number that is
    added is 0."""
    linear = isinstance(part, int)
    held = dict(b.value)

    def chosen(arg):
        which = part if linear else part.get(arg, 0)
        if isinstance(arg, torch.fx.Node):
            val = arg.meta["val"]
            if is_complex(arg):
                b.value[arg] = held[arg][which]
            elif linear and which and isinstance(val, torch.Tensor) and val.is_floating_point():
                b.value[arg] = b.full(0, b.shape(arg), PARTS.get(val.dtype, val.dtype))
            return arg
        if isinstance(arg, complex):
            return arg.imag if linear and part else arg.real
        return arg
    args = torch.fx.node.map_arg(node.args, chosen)
    numbers = {"add": (1,), "sub": (1,), "rsub": (1,), "where": (1, 2), "masked_fill": (2,), "full": (1,), "full_like": (1,)}
    if linear:
        args = tuple((a.imag if part else a.real) if i in numbers.get(b.which(), ()) and isinstance(a, (int, float, complex))
                     else a for i, a in enumerate(args))
    if linear and part and b.which() == "ones":
        return b.full(0, b.shape(), b.dtype())
    value = made(b, *args, **named)
    b.value = held
    return value


def pair(b, x):
    """The parts of an argument, a tensor or a number."""
    if not isinstance(x, torch.fx.Node):
        x = complex(x)
        return b.number(x.real, b.dtype()), b.number(x.imag, b.dtype())
    if is_complex(x):
        return b.value[x]
    return b.read(x), b.full(0, b.shape(x), b.dtype())


@complex_handles("view_as_complex")
def view_as_complex(b, x):
    shape = b.shape()
    d = len(shape)
    return Pair(*[b.reshape(b.op("slice", b.value[x], dims=[d], start=[i], limit=[i + 1]), shape) for i in (0, 1)])


@complex_handles("view_as_real")
def view_as_real(b, x):
    parts = [b.reshape(v, b.shape(x) + [1]) for v in b.value[x]]
    return b.op("concat", *parts, dim=len(b.shape(x)))


@complex_handles("real", "imag")
def real_part(b, x):
    return b.value[x][b.which() == "imag"]


@complex_handles("complex")
def complex_of(b, x, y):
    return Pair(b.read(x), b.read(y))


@complex_handles("polar")
def polar(b, size, angle):
    r, a = b.read(size), b.read(angle)
    return Pair(b.op("mul", r, b.op("cos", a)), b.op("mul", r, b.op("sin", a)))


@complex_handles("_to_copy", "to")
def complex_copy(b, x, *_, **__):
    re, im = pair(b, x)
    t, old = b.dtype(), x.meta["val"].dtype
    re, im = b.convert(re, old if is_complex(x) else t, t), b.convert(im, old if is_complex(x) else t, t)
    return Pair(re, im) if is_complex(b.node) else re


@complex_handles("_conj", "conj", "conj_physical", "_conj_physical")
def conjugate(b, x):
    re, im = b.value[x]
    return Pair(re, b.op("neg", im))


@complex_handles("resolve_conj", "resolve_neg")
def same(b, x):
    return b.value[x]


def squares(b, re, im):
    return b.op("add", b.op("square", re), b.op("square", im))


@complex_handles("abs")
def complex_abs(b, x):
    """The gradient at 0 is 0."""
    total, zero, one = squares(b, *b.value[x]), b.number(0.0, b.dtype()), b.number(1.0, b.dtype())
    inside = b.op("gt", total, zero)
    return b.op("select", inside, b.op("sqrt", b.op("select", inside, total, one)), zero)


@complex_handles("angle")
def angle(b, x):
    re, im = b.value[x]
    return b.op("atan2", im, re)


@complex_handles("exp")
def complex_exp(b, x):
    re, im = b.value[x]
    r = b.op("exp", re)
    return Pair(b.op("mul", r, b.op("cos", im)), b.op("mul", r, b.op("sin", im)))


@complex_handles("div", "reciprocal")
def complex_div(b, x, y=None):
    if y is None:
        x, y = 1.0, x
    (c, d), (e, f) = pair(b, x), pair(b, y)
    if not (is_complex(y) if isinstance(y, torch.fx.Node) else isinstance(y, complex)):
        return Pair(b.op("div", c, e), b.op("div", d, e))
    many = squares(b, e, f)
    re = b.op("add", b.op("mul", c, e), b.op("mul", d, f))
    im = b.op("sub", b.op("mul", d, e), b.op("mul", c, f))
    return Pair(b.op("div", re, many), b.op("div", im, many))


@complex_handles("pow", "square")
def complex_square(b, x, power=2):
    if power != 2:
        b.refuse("a power other than 2 of a complex number")
    re, im = b.value[x]
    return Pair(b.op("sub", b.op("square", re), b.op("square", im)),
                b.op("mul", b.op("mul", re, im), b.number(2.0, b.dtype())))


FACTOR = 32  # the largest factor of a size that a Fourier transform is split into, if it has one


def table(b, rows, columns, n, sign):
    """cos and sin of 2 pi rows columns / n, of all rows and columns; computed in f64."""
    place = b.op("mul", b.iota([rows, columns], 0), b.iota([rows, columns], 1))
    turn = b.op("convert", b.op("rem", place, b.number(n, torch.int64)), to=RawName("f64"))
    turn = b.op("mul", turn, b.number(sign * 2 * math.pi / n, torch.float64))
    return [b.convert(b.op(f, turn), torch.float64, b.dtype()) for f in ("cos", "sin")]


def product_with(b, re, im, cos, sin, op, **how):
    """(re + i im) (cos + i sin); im may be None, which is 0."""
    a, c = b.op(op, re, cos, **how), b.op(op, re, sin, **how)
    if im is None:
        return a, c
    return b.op("sub", a, b.op(op, im, sin, **how)), b.op("add", c, b.op(op, im, cos, **how))


def transform(b, re, im, lead, n, sign):
    """The Fourier transform of [..lead, n], not scaled: for n = p q, transforms of p elements, factors, and those of q."""
    letters = "abcdefg"[:len(lead)]
    p = max((d for d in range(2, FACTOR + 1) if n % d == 0), default=n) if n > FACTOR else n
    if p == n:
        return product_with(b, re, im, *table(b, n, n, n, sign), "contract", spec=f"{letters}x,xy->{letters}y")
    q = n // p
    re, im = (None if v is None else b.reshape(v, [*lead, p, q]) for v in (re, im))
    re, im = product_with(b, re, im, *table(b, p, p, p, sign), "contract", spec=f"{letters}xz,xy->{letters}yz")
    re, im = product_with(b, re, im, *table(b, p, q, n, sign), "mul")
    re, im = transform(b, re, im, [*lead, p], q, sign)
    perm = [*range(len(lead)), len(lead) + 1, len(lead)]
    return [b.reshape(b.op("transpose", v, perm=perm), [*lead, n]) for v in (re, im)]


def fourier(b, re, im, shape, dims, sign, kept=None):
    """Over dims, one after another; of the last of them the first `kept` results."""
    shape = list(shape)
    for d in dims:
        perm = [i for i in range(len(shape)) if i != d] + [d]
        back = [perm.index(i) for i in range(len(shape))]
        move = (lambda v, p: v if v is None or p == list(range(len(p))) else b.op("transpose", v, perm=p))
        lead = [shape[i] for i in perm[:-1]]
        re, im = transform(b, move(re, perm), move(im, perm), lead, shape[d], sign)
        re, im = move(re, back), move(im, back)
        if kept and d == dims[0] and kept != shape[d]:
            re, im = (b.op("slice", v, dims=[d], start=[0], limit=[kept]) for v in (re, im))
            shape[d] = kept
    return re, im


def fft_scale(b, values, shape, dims, norm):
    n = math.prod(shape[d] for d in dims)
    factor = {0: 1, 1: n ** -0.5, 2: 1 / n}[norm]
    return values if factor == 1 else [b.op("mul", v, b.number(factor, b.dtype())) for v in values]


@complex_handles("_fft_r2c")
def fft_r2c(b, x, dims, norm, onesided):
    dims = dims_of(b, x, dims)
    kept = b.shape()[dims[-1]] if onesided else None
    values = fourier(b, b.read(x), None, b.shape(x), dims[::-1], -1, kept)
    return Pair(*fft_scale(b, values, b.shape(x), dims, norm))


@complex_handles("_fft_c2c")
def fft_c2c(b, x, dims, norm, forward):
    dims = dims_of(b, x, dims)
    values = fourier(b, *b.value[x], b.shape(x), dims, -1 if forward else 1)
    return Pair(*fft_scale(b, values, b.shape(x), dims, norm))


@complex_handles("_fft_c2r")
def fft_c2r(b, x, dims, norm, size):
    """The second half of the last dim is the conjugate of the first, mirrored."""
    dims, shape = dims_of(b, x, dims), b.shape(x)
    last = dims[-1]
    re, im = fourier(b, *b.value[x], shape, dims[:-1], 1)
    have, n = shape[last], size
    index = torch.arange(n)
    at = b.literal(torch.minimum(index, n - index).clamp(max=have - 1))
    sign = torch.where(index <= n // 2, 1.0, -1.0)
    sign[0] = 0  # an imaginary part that a real result does not have
    if n % 2 == 0:
        sign[n // 2] = 0
    rank = len(shape)
    each = [n if d == last else 1 for d in range(rank)]
    perm = [*range(1, last + 1), 0, *range(last + 1, rank)]
    re, im = (b.op("transpose", b.op("gather_nd", v, at, dims=[last]), perm=perm) for v in (re, im))
    im = b.op("mul", im, b.reshape(b.literal(sign.to(b.dtype())), each))
    full = [*shape[:last], n, *shape[last + 1:]]
    values = fourier(b, re, im, full, [last], 1)
    return fft_scale(b, values[:1], full, dims, norm)[0]


# Operations that have graphs inside.

CONTROL = {}


def control(name):
    def add(function):
        CONTROL[name] = function
        return function
    return add


def operand(b, x):
    return b.value[x] if isinstance(x, torch.fx.Node) else b.number(x, torch.int64 if isinstance(x, int) else torch.float32)


@control("cond")
def cond(b, test, yes, no, operands=()):
    """Both branches, and a choice."""
    results = [b.inline(b.value[branch], [operand(b, x) for x in operands]) for branch in (yes, no)]
    return [y if y == n else b.op("select", b.value[test], y, n) for y, n in zip(*results)]


@control("with_effects")
def checked_in_order(b, token, op, *_):
    """A check, such as of the success of a factorization."""
    if not any(word in name_of(op) for word in ("check", "assert")):
        b.refuse(f"{op}: an operation with effects is not translated")
    return [b.value.get(token, "token"), "token"]


def rows_of(b, xs, i):
    return [b.reshape(b.op("slice", b.value[x], dims=[0], start=[i], limit=[i + 1]), b.shape(x)[1:]) for x in xs]


def stacked(b, rows):
    return [joined(b, [b.reshape(v, [1, *shape]) for v in each], 0) for each, shape in rows]


@control("scan")
def scan(b, body, init, xs, more=()):
    """Unrolled."""
    carry, found, many = [b.value[x] for x in init], [], b.shape(xs[0])[0]
    for i in range(many):
        results = b.inline(b.value[body], carry + rows_of(b, xs, i) + [operand(b, x) for x in more])
        carry = results[:len(init)]
        found.append(results[len(init):])
    shapes = [list(v.shape)[1:] for v in b.node.meta["val"][len(init):]]
    return carry + stacked(b, [([f[k] for f in found], shape) for k, shape in enumerate(shapes)])


@control("map_impl")
def map_(b, body, xs, more=()):
    found = [b.inline(b.value[body], rows_of(b, xs, i) + [operand(b, x) for x in more]) for i in range(b.shape(xs[0])[0])]
    return stacked(b, [([f[k] for f in found], list(v.shape)[1:]) for k, v in enumerate(b.node.meta["val"])])


# --- operations as others --------------------------------------------------------------------------------
#
# What has no row above is computed with other operations of torch. Where a value comes from an algorithm whose gradient would
# be that of its steps, the value is a constant plus a term that is 0 and has the gradient.

DECOMPOSED = {}


def decomposes(*names):
    def add(function):
        for name in names:
            packet = getattr(aten, name, None)  # None: a version of torch that lacks it
            for overload in packet.overloads() if packet else ():
                if not overload.endswith(("out", "hacked_twin")):
                    DECOMPOSED[getattr(packet, overload)] = function
        return function
    return add


def with_gradient(value, term):
    """`value`, a constant, with the gradient of `term`."""
    return value.detach() + (term - term.detach())


def safe_sqrt(square):
    """A length: its gradient at 0 is 0, as torch has it for norms."""
    inside = square > 0
    return torch.where(inside, torch.where(inside, square, 1).sqrt(), 0)


@decomposes("linalg_vector_norm")
def vector_norm(x, order=2, dim=None, keepdim=False, dtype=None):
    x = x.to(dtype) if dtype else x
    dim = list(range(x.dim())) if dim is None or dim == [] else dim
    if order == 2:
        return safe_sqrt(x.square().sum(dim, keepdim))
    size = x.abs()
    if math.isinf(order):
        return size.amax(dim, keepdim) if order > 0 else size.amin(dim, keepdim)
    if order == 0:
        return (x != 0).to(x.dtype).sum(dim, keepdim)
    if order == 1:
        return size.sum(dim, keepdim)
    total = size.pow(order).sum(dim, keepdim)
    inside = total > 0
    return torch.where(inside, torch.where(inside, total, 1).pow(1 / order), 0)


@decomposes("_cdist_forward")
def cdist(x, y, p, mode=None):
    return vector_norm(x.unsqueeze(-2) - y.unsqueeze(-3), p, [-1])


@decomposes("_pdist_forward")
def pdist(x, p=2.0):
    i, j = torch.triu_indices(len(x), len(x), 1).unbind(0)
    return vector_norm(x[i] - x[j], p, [-1])


@decomposes("hypot")
def hypot(x, y):
    return safe_sqrt(x.square() + y.square())


@decomposes("copysign")
def copysign(x, y):
    y = y if isinstance(y, torch.Tensor) else torch.full((), y, dtype=x.dtype)
    return torch.where((y < 0) | (1 / y < 0), -x.abs(), x.abs())


@decomposes("logcumsumexp")
def logcumsumexp(x, dim):
    x = x.movedim(dim, -1)
    before = torch.ones(x.shape[-1], x.shape[-1], dtype=torch.bool).tril()
    return torch.where(before, x.unsqueeze(-2), -math.inf).logsumexp(-1).movedim(-1, dim)


def scanned(x, dim, combine):
    """Of each element and all before it, in doubling steps."""
    at, n = 1, x.shape[dim]
    while at < n:
        x = torch.cat([x.narrow(dim, 0, at), combine(x.narrow(dim, at, n - at), x.narrow(dim, 0, n - at))], dim)
        at *= 2
    return x


@decomposes("cumprod")
def cumprod(x, dim, dtype=None):
    return scanned(x.to(dtype) if dtype else x, dim, torch.mul)



@decomposes("dist")
def dist(x, y, p=2):
    return vector_norm(x - y, p)


@decomposes("_trilinear")
def trilinear(x, y, z, expand1, expand2, expand3, sumdim, unroll_dim=1):
    for dims, name in ((expand1, "x"), (expand2, "y"), (expand3, "z")):
        for d in sorted(dims):
            x, y, z = (v.unsqueeze(d) if who == name else v for v, who in ((x, "x"), (y, "y"), (z, "z")))
    return (x * y * z).sum(sumdim)


@decomposes("median", "nanmedian")
def median(x, dim=None, keepdim=False):
    if dim is None:
        return x.flatten().sort()[0][(x.numel() - 1) // 2]
    return kthvalue(x, (x.shape[dim] - 1) // 2 + 1, dim, keepdim)


@decomposes("kthvalue")
def kthvalue(x, k, dim=-1, keepdim=False):
    value, place = x.sort(dim)
    value, place = value.select(dim, k - 1), place.select(dim, k - 1)
    return (value.unsqueeze(dim), place.unsqueeze(dim)) if keepdim else (value, place)


@decomposes("searchsorted")
def searchsorted(edges, x, *, out_int32=False, right=False, side=None, sorter=None):
    x = x if isinstance(x, torch.Tensor) else torch.full((), x, dtype=edges.dtype)
    e, v = edges.unsqueeze(-2) if edges.dim() > 1 else edges, x.unsqueeze(-1)
    before = e <= v if right or side == "right" else e < v
    return before.sum(-1, dtype=torch.int32 if out_int32 else torch.int64)


@decomposes("bucketize")
def bucketize(x, edges, *, out_int32=False, right=False):
    return searchsorted(edges, x, out_int32=out_int32, right=right)


@decomposes("histc")
def histc(x, bins=100, min=0, max=0):
    low, high = (x.amin(), x.amax()) if min == max else (min, max)
    place = ((x - low) * bins / (high - low)).floor().clamp(0, bins - 1)
    inside = (x >= low) & (x <= high)
    return ((place.flatten()[:, None] == torch.arange(bins)) & inside.flatten()[:, None]).to(x.dtype).sum(0)


# Views.


@decomposes("unfold")
def unfold(x, dim, size, step):
    dim %= x.dim()
    many = (x.shape[dim] - size) // step + 1
    at = torch.arange(many)[:, None] * step + torch.arange(size)
    return x.index_select(dim, at.flatten()).unflatten(dim, (many, size)).movedim(dim + 1, -1)


@decomposes("as_strided")
def as_strided(x, size, stride, offset=None):
    if not x.is_contiguous():
        raise Unsupported("as_strided of a view")
    at = torch.full((), offset or 0)
    for n, step in zip(size, stride):
        at = at.unsqueeze(-1) + torch.arange(n) * step
    return x.flatten()[at.flatten()].reshape(size)


@decomposes("diagonal", "diagonal_copy")
def diagonal(x, offset=0, dim1=0, dim2=1):
    x = x.movedim((dim1, dim2), (-2, -1))
    many = min(x.shape[-2] + min(offset, 0), x.shape[-1] - max(offset, 0))
    at = torch.arange(many)
    return x.flatten(-2).index_select(-1, (at - min(offset, 0)) * x.shape[-1] + at + max(offset, 0))


@decomposes("diagonal_scatter")
def diagonal_scatter(x, source, offset=0, dim1=0, dim2=1):
    rows, columns = x.shape[dim1], x.shape[dim2]
    row, column = torch.arange(rows)[:, None], torch.arange(columns)
    at = torch.where(column - row == offset, row + min(offset, 0), 0).flatten()
    spread = source.index_select(-1, at).unflatten(-1, (rows, columns))
    return torch.where(column - row == offset, spread, x.movedim((dim1, dim2), (-2, -1))).movedim((-2, -1), (dim1, dim2))


# Draws.


@decomposes("uniform")
def uniform(x, low=0.0, high=1.0, **_):
    return torch.rand_like(x) * (high - low) + low


@decomposes("normal_functional")
def normal_like(x, mean=0.0, std=1.0, **_):
    return torch.randn_like(x) * std + mean


@decomposes("normal")
def normal(mean, std=1.0, size=None, **_):
    shape = size if size is not None else torch.broadcast_shapes(*[v.shape for v in (mean, std) if isinstance(v, torch.Tensor)])
    kind = [v.dtype for v in (mean, std) if isinstance(v, torch.Tensor)]
    return torch.randn(shape, dtype=kind[0] if kind else _.get("dtype")) * std + mean


@decomposes("exponential")
def exponential(x, rate=1.0, **_):
    return -torch.log1p(-torch.rand_like(x)) / rate


def integers(low, high, shape, dtype=None):
    drawn = torch.floor(torch.rand(shape, dtype=torch.float64) * (high - low)).to(dtype or torch.int64)
    return drawn.clamp(max=high - low - 1) + low


@decomposes("randint")
def randint(*args, dtype=None, **_):
    low, high, shape = (0, *args) if len(args) == 2 else args
    return integers(low, high, shape, dtype)


@decomposes("randint_like")
def randint_like(x, *args, dtype=None, **_):
    low, high = (0, *args) if len(args) == 1 else args
    return integers(low, high, x.shape, dtype or x.dtype)


@decomposes("randperm")
def randperm(n, **_):
    return torch.rand(n).sort()[1]


@decomposes("multinomial")
def multinomial(p, many, replacement=False, **_):
    """The largest of log p and noise of Gumbel's distribution."""
    shape = [*p.shape[:-1], many, p.shape[-1]] if replacement else p.shape
    noisy = (p.unsqueeze(-2) if replacement else p).log() - (-torch.rand(shape, dtype=p.dtype).clamp(min=1e-30).log()).log()
    return noisy.argmax(-1) if replacement else noisy.topk(many)[1]


@decomposes("rrelu_with_noise_functional", "rrelu_with_noise")
def rrelu(x, noise, lower=0.125, upper=1 / 3, training=False, **_):
    slope = torch.rand_like(x) * (upper - lower) + lower if training else torch.full_like(x, (lower + upper) / 2)
    y = torch.where(x > 0, x, x * slope)
    return y, noise


# Special functions.


@decomposes("lgamma")
def lgamma(x):
    """Lanczos' approximation with g = 7; below 1/2 by reflection."""
    small = x < 0.5
    z = torch.where(small, 1 - x, x) - 1
    total = torch.full_like(z, 0.99999999999980993)
    for k, c in enumerate((676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059,
                           12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7), 1):
        total = total + c / (z + k)
    t = z + 7.5
    value = 0.5 * math.log(2 * math.pi) + (z + 0.5) * t.log() - t + total.log()
    sine = torch.where(small, torch.sin(math.pi * x).abs(), 1)
    return torch.where(small, math.log(math.pi) - sine.log() - value, value)


@decomposes("digamma", "special_digamma")
def digamma(x):
    """The series for large arguments, reached in steps of 1; below 1/2 by reflection."""
    small = x < 0.5
    z = torch.where(small, 1 - x, x)
    value = torch.zeros_like(z)
    for _ in range(8):
        value = value - 1 / z
        z = z + 1
    w = 1 / z.square()
    series = w * (1 / 12 - w * (1 / 120 - w * (1 / 252 - w * (1 / 240 - w * (1 / 132 - w * (691 / 32760))))))
    value = value + z.log() - 0.5 / z - series
    tangent = torch.where(small, torch.tan(math.pi * torch.where(small, x - x.round(), 0.25)), 1)
    return torch.where(small, value - math.pi / tangent, value)


@decomposes("polygamma")
def polygamma(n, x):
    """(-1)^(n+1) n! zeta(n + 1, x) of a positive x: some terms, and the formula of Euler and Maclaurin for the others."""
    if n == 0:
        return digamma(x)
    s, total, z = n + 1, torch.zeros_like(x), x
    for _ in range(10):
        total = total + z ** -s
        z = z + 1
    total = total + z ** (1 - s) / (s - 1) + 0.5 * z ** -s
    factor, power = s / 1.0, z ** (-s - 1)
    for j, c in enumerate((1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000)):
        total = total + c * factor * power
        factor, power = factor * (s + 2 * j + 1) * (s + 2 * j + 2), power / z.square()
    return (-1) ** (n + 1) * math.factorial(n) * total


@decomposes("erfinv", "special_erfinv")
def erfinv(x):
    """Winitzki's approximation, and steps of Newton's method; the gradient is that of the inverse."""
    v = x.detach()
    log = torch.log1p(-v * v)
    a = 2 / (math.pi * 0.147) + log / 2
    y = v.sign() * ((a.square() - log / 0.147).sqrt() - a).clamp(min=0).sqrt()
    slope = 2 / math.sqrt(math.pi)
    for _ in range(4):
        y = y - torch.where(v.abs() < 1, (torch.erf(y) - v) / (slope * torch.exp(-y.square())), 0)
    y = torch.where(v.abs() < 1, y, v.sign() * math.inf)
    return torch.where(v.abs() < 1, with_gradient(y, x * (torch.exp(y.square()) / slope).detach()), y)


@decomposes("special_ndtri")
def ndtri(x):
    return math.sqrt(2) * erfinv(2 * x - 1)


@decomposes("special_erfcx")
def erfcx(x):
    return torch.exp(x.square()) * torch.erfc(x)


@decomposes("special_log_ndtr")
def log_ndtr(x):
    return torch.where(x < -1, torch.log(torch.erfc(-x / math.sqrt(2)) / 2), torch.log1p(-torch.erfc(x / math.sqrt(2)) / 2))


# Linear algebra, by columns: the number of operations grows with the size of the matrices.

COLUMNS = 64  # the most columns of a matrix that is factored or inverted: about ten operations for each


def inverse_and_pivots(a):
    """Gauss and Jordan, with pivots of columns: the inverse, the product of the signs of pivots, and the logarithm of their
    sizes; constants."""
    a, n = a.detach(), a.shape[-1]
    if n > COLUMNS:
        raise Unsupported(f"a matrix of {n} columns is factored: at most {COLUMNS} are")
    eye = torch.eye(n, dtype=a.dtype).expand(a.shape)
    both, row = torch.cat([a, eye], -1), torch.arange(n)
    sign, size = torch.ones_like(a[..., 0, 0]), torch.zeros_like(a[..., 0, 0])
    for k in range(n):
        best = torch.where(row >= k, both[..., k].abs(), -1).argmax(-1, keepdim=True)
        order = torch.where(row == k, best, torch.where(row == best, k, row))
        both = both.gather(-2, order.unsqueeze(-1).expand(both.shape))
        pivot = both[..., k, k]
        sign = sign * pivot.sign() * torch.where(best[..., 0] == k, 1, -1)
        size = size + pivot.abs().log()
        top = both[..., k, :] / pivot.unsqueeze(-1)
        others = both - both[..., k].unsqueeze(-1) * top.unsqueeze(-2)
        both = torch.where((row == k)[:, None], top.unsqueeze(-2), others)
    return both[..., n:], sign, size


def inverse(a):
    """A step of Newton's method, whose gradient is that of the inverse."""
    x = inverse_and_pivots(a)[0].detach()
    return 2 * x - x @ a @ x


@decomposes("linalg_inv_ex")
def inv_ex(a, check_errors=False):
    return inverse(a), torch.zeros(a.shape[:-2], dtype=torch.int32)


@decomposes("_linalg_solve_ex")
def solve_ex(a, y, *, left=True, check_errors=False):
    vector = y.dim() == 1 or y.dim() == a.dim() - 1 and y.shape == a.shape[:-1]
    y = y.unsqueeze(-1) if vector else y
    x = inverse(a) @ y if left else y @ inverse(a)
    return (x.squeeze(-1) if vector else x), a, torch.zeros(a.shape[:-1], dtype=torch.int32), \
        torch.zeros(a.shape[:-2], dtype=torch.int32)


@decomposes("linalg_solve_triangular")
def solve_triangular(a, y, *, upper, left=True, unitriangular=False):
    a = a.triu() if upper else a.tril()
    if unitriangular:
        a = torch.where(torch.eye(a.shape[-1], dtype=torch.bool), 1, a)
    return inverse(a) @ y if left else y @ inverse(a)


@decomposes("triangular_solve")
def triangular_solve(y, a, upper=True, transpose=False, unitriangular=False):
    x = solve_triangular(a.mT if transpose else a, y, upper=upper != transpose, unitriangular=unitriangular)
    return x, a


@decomposes("_linalg_slogdet")
def slogdet(a):
    x, sign, size = inverse_and_pivots(a)
    size = with_gradient(size, (x.mT.detach() * a).sum((-2, -1)))
    return sign.detach(), size, a, torch.zeros(a.shape[:-1], dtype=torch.int32)


@decomposes("_linalg_det")
def det(a):
    sign, size, lu, pivots = slogdet(a)
    return sign * size.exp(), lu, pivots


@decomposes("linalg_cholesky_ex")
def cholesky_ex(a, *, upper=False, check_errors=False):
    n = a.shape[-1]
    if n > COLUMNS:
        raise Unsupported(f"a matrix of {n} columns is factored: at most {COLUMNS} are")
    row, rest, columns = torch.arange(n), a, []
    for k in range(n):
        column = torch.where(row >= k, rest[..., k] / rest[..., k, k].sqrt().unsqueeze(-1), 0)
        rest = rest - column.unsqueeze(-1) * column.unsqueeze(-2)
        columns.append(column)
    factor = torch.stack(columns, -1)
    return factor.mT if upper else factor, torch.zeros(a.shape[:-2], dtype=torch.int32)


@decomposes("cholesky")
def cholesky(a, upper=False):
    return cholesky_ex(a, upper=upper)[0]


@decomposes("cholesky_solve")
def cholesky_solve(y, factor, upper=False):
    low = inverse(factor.triu().mT if upper else factor.tril())
    return low.mT @ (low @ y)


@decomposes("cholesky_inverse")
def cholesky_inverse(factor, upper=False):
    low = inverse(factor.triu().mT if upper else factor.tril())
    return low.mT @ low


@decomposes("linalg_qr")
def qr(a, mode="reduced"):
    """Householder's reflections."""
    rows, columns = a.shape[-2:]
    many, row = min(rows, columns), torch.arange(rows)
    if mode != "reduced" or many > COLUMNS:
        raise Unsupported(f"of QR factors the reduced ones are translated, of at most {COLUMNS} columns")
    r, vectors = a, []
    for k in range(many):
        column = torch.where(row >= k, r[..., k], 0)
        head = column[..., k:k + 1]
        length = safe_sqrt(column.square().sum(-1, keepdim=True))
        v = column + torch.where(row == k, torch.where(head < 0, -length, length), 0)
        v = v / safe_sqrt(v.square().sum(-1, keepdim=True)).clamp(min=torch.finfo(a.dtype).tiny)
        if k == rows - 1:
            continue  # of one row, which LAPACK leaves as it is
        r = r - 2 * v.unsqueeze(-1) * (v.unsqueeze(-2) @ r)
        vectors.append(v)
    q = torch.eye(rows, many, dtype=a.dtype).expand(*a.shape[:-2], rows, many)
    for v in vectors[::-1]:
        q = q - 2 * v.unsqueeze(-1) * (v.unsqueeze(-2) @ q)
    return q, r[..., :many, :].triu()


SQUARINGS = 16  # of the exponential of a matrix: norms up to 2^15


@decomposes("linalg_matrix_exp")
def matrix_exp(a):
    """Taylor's series of a / 2^k, squared k times, so that the norm of the former is at most 1/2."""
    norm = a.detach().abs().sum(-2).amax(-1)[..., None, None].clamp(min=1e-30)
    times = (norm.log2().ceil() + 1).clamp(0, SQUARINGS - 1)
    x = a * torch.exp2(-times)
    eye = torch.eye(a.shape[-1], dtype=a.dtype)
    total = eye + x / 14
    for k in range(13, 0, -1):
        total = eye + x @ total / k
    for k in range(SQUARINGS - 1):
        total = torch.where(k < times, total @ total, total)
    return total


# Functions of torch that read values, which an export does not have.


def gaussian_nll(x, target, var, full=False, eps=1e-6, reduction="mean"):
    var = torch.as_tensor(var, dtype=x.dtype) if not isinstance(var, torch.Tensor) else var
    if var.shape != x.shape and x.shape[:-1] == var.shape:
        var = var.unsqueeze(-1)
    var = var + (var.clamp(min=eps) - var).detach()
    each = 0.5 * (var.log() + (x - target).square() / var) + (0.5 * math.log(2 * math.pi) if full else 0)
    return each.mean() if reduction == "mean" else each.sum() if reduction == "sum" else each


def covariance(x, *, correction=1, fweights=None, aweights=None):
    if fweights is not None or aweights is not None:
        raise Unsupported("weights of cov are not translated")
    x = x.reshape(1, -1) if x.dim() < 2 else x
    c = x - x.mean(1, keepdim=True)
    return (c @ c.mT / max(x.shape[1] - correction, 0)).squeeze()


def correlation(x):
    c = covariance(x)
    d = c.diagonal().sqrt()
    return (c / d[:, None] / d).clamp(-1, 1)


def ctc(logs, labels, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False):
    """The forward recursion over the labels with blanks between them."""
    single = logs.dim() == 2
    if labels.dim() == 1 and not single:
        raise Unsupported("ctc_loss: targets are padded, [rows, length]")
    logs, labels = (logs.unsqueeze(1), labels.unsqueeze(0)) if single else (logs, labels)
    many, n, _ = logs.shape
    count = [torch.as_tensor(v).reshape(-1).expand(n) for v in (input_lengths, target_lengths)]
    width = 2 * labels.shape[1] + 1
    spread = torch.stack([torch.full_like(labels, blank), labels], -1).flatten(1)
    spread = torch.cat([spread, torch.full_like(spread[:, :1], blank)], 1)
    skips = torch.cat([torch.zeros(n, 2, dtype=torch.bool), (spread[:, 2:] != spread[:, :-2]) & (spread[:, 2:] != blank)], 1)
    low = -1e30 if logs.dtype == torch.float64 else -1e15  # log 0, without infinite differences
    step = logs.gather(2, spread.expand(many, n, width))
    place = torch.arange(width)
    alpha = torch.where(place < 2, step[0], low)
    for t in range(1, many):
        one = padded_front(alpha[:, :-1], low, 1)
        two = torch.where(skips, padded_front(alpha[:, :-2], low, 2), low)
        following = torch.logsumexp(torch.stack([alpha, one, two]), 0) + step[t]
        alpha = torch.where((t < count[0])[:, None], following.clamp(min=low), alpha)
    last = 2 * count[1][:, None]
    ends = alpha.gather(1, torch.cat([last, (last - 1).clamp(min=0)], 1))
    loss = -torch.where(count[1] > 0, torch.logsumexp(ends, 1), ends[:, 0])
    if zero_infinity:
        loss = torch.where(loss > -low / 2, 0, loss)
    if reduction == "mean":
        return (loss / count[1].clamp(min=1)).mean()
    return loss.sum() if reduction == "sum" else loss.squeeze(0) if single else loss


def padded_front(x, value, many):
    return torch.nn.functional.pad(x, (many, 0), value=value)


REPLACED = {torch.nn.functional.gaussian_nll_loss: gaussian_nll, torch.cov: covariance, torch.corrcoef: correlation,
            torch.nn.functional.ctc_loss: ctc}
