"""From a PyTorch module to files that dopt and its programs read: docs/from-torch.md.

    from_torch.export("gpt", step, model, x, y)     gpt.dir and gpt.safetensors, the parameters and buffers
    from_torch.save_rows("data.safetensors", train={"x": x, "y": y})
    from_torch.load("trained.safetensors", model)

A step is a function (model, inputs ...) -> loss, or -> {"loss": loss, name: another result}. It is exported as it is, in
training or evaluation mode: the passes of dopt add gradients and the optimizer. Tried with torch 2.15.
"""
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
            if name in header:
                begin, end = header[name]["data_offsets"]
                value = torch.frombuffer(bytearray(data[begin:end]), dtype=types[header[name]["dtype"]])
                tensor.copy_(value.reshape(tensor.shape))
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
    for op in [op for op in table if handler(op)]:
        table.pop(op)
    program = torch.export.export(Step(step, model), tuple(inputs)).run_decompositions(table)
    return Text(program, list(inspect.signature(step).parameters)[1:], ignored).module(name)


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
        return self.op("constant", type=f"{TYPES[dtype]}[]", value=value)

    def read(self, arg, dtype=None):
        """An argument of the node, a tensor or a number, in an element type."""
        dtype = dtype or self.dtype()
        if not isinstance(arg, torch.fx.Node):
            return self.number(arg, dtype)
        return self.convert(self.value[arg], arg.meta["val"].dtype, dtype)

    def convert(self, value, old, new):
        return value if old == new else self.op("convert", value, to=RawName(TYPES[new]))

    def dtype(self):
        val = self.node.meta["val"]
        return (val[0] if isinstance(val, (tuple, list)) else val).dtype

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
            self.define(node, "input", symbol)
            return
        if not node.users:
            return
        symbol = spec.target.removeprefix("model.")
        tensor = (self.program.constants[spec.target] if spec.target in self.program.constants
                  else self.program.state_dict[spec.target])
        updated = spec.target in self.program.graph_signature.buffers_to_mutate.values()
        if kind != "PARAMETER" and not updated and tensor.numel() <= LITERAL:
            self.value[node] = self.literal(tensor)
            return
        trained = kind == "PARAMETER" and tensor.requires_grad
        self.files[symbol] = tensor
        self.define(node, "param" if trained else "state", symbol, self.initial(tensor))

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

    def define(self, node, op, symbol, how={}):
        val = node.meta["val"]
        if not isinstance(val, torch.Tensor):
            raise Unsupported(f"the input '{symbol}' is not a tensor")
        if val.dtype not in TYPES:
            raise Unsupported(f"'{symbol}' has elements of {val.dtype}, which dopt does not have")
        name = self.fresh(symbol)
        said = ", ".join(f"{k} = {self.attribute(v)}" for k, v in how.items())
        self.lines.append(f"  {name} = {op}({json.dumps(symbol)})" + (f" {{{said}}}" if said else "") +
                          f" : {TYPES[val.dtype]}[{','.join(map(str, val.shape))}]")
        self.value[node] = name

    def call(self, node):
        self.node = node
        if node.target is operator.getitem:
            values = self.value[node.args[0]]
            self.value[node] = values[node.args[1]] if isinstance(values, list) else None
            if self.value[node] is None and node.users:
                self.refuse("this result is not translated")
            return
        if not isinstance(node.target, torch._ops.OpOverload):
            self.refuse("not an operation on tensors; "
                        "if it is a checkpoint, leave it out and use the pass recompute")
        made = handler(node.target)
        if not made:
            self.refuse("this operation is not translated")
        known = [a.name for a in node.target._schema.arguments]
        named = {k: v for k, v in node.kwargs.items() if k in known}
        self.value[node] = made(self, *node.args, **named)

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
    if scale != 1 or input_scale != 1:
        b.refuse("scales are not translated")
    return b.op("elu", b.read(x), alpha=float(alpha))


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


@handles("_to_copy", "to", "clone", "contiguous", "alias", "lift_fresh_copy", "detach_copy")
def copy(b, x, *_, **__):
    return b.read(x)


@handles("copy")
def copy_from(b, x, source, *_):
    y = b.read(source)
    return y if b.shape(source) == b.shape() else b.broadcast(y, b.shape())


@handles("_assert_tensor_metadata", "_assert_scalar", "sym_constrain_range_for_size")
def checked(b, *_, **__):
    """What export has found is so for the examples."""


@handles("detach")
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
        b.refuse("a step is not translated")
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
    if dims != list(range(dims[0], dims[-1] + 1)):
        b.refuse("indices of dims that are apart")
    common = list(torch.broadcast_shapes(*[index[d].meta["val"].shape for d in dims]))
    at = [indices(b, index[d], b.shape(x)[d]) for d in dims]
    at = [a if b.shape(index[d]) == common else b.broadcast(a, common) for a, d in zip(at, dims)]
    rows = b.op("gather_nd", b.value[x], *at, dims=dims)  # indices first, then the other dims of x
    if dims[0] == 0:
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
    if not accumulate or any(i is None for i in index):
        b.refuse("only sums by numbers of the first dims are translated (accumulate=True)")
    shape = b.shape(x)
    at = [indices(b, i, shape[d]) for d, i in enumerate(index)]
    common = list(torch.broadcast_shapes(*[i.meta["val"].shape for i in index]))
    at = [a if b.shape(i) == common else b.broadcast(a, common) for a, i in zip(at, index)]
    v = b.read(values)
    wanted = common + shape[len(index):]
    v = v if b.shape(values) == wanted else b.broadcast(v, wanted)
    return b.op("add", b.read(x), b.op("scatter_nd", v, *at, sizes=shape[:len(index)]))


@handles("topk")
def topk(b, x, k, dim=-1, largest=True, sorted=True):
    if not largest:
        b.refuse("the smallest elements: negate x")
    value, where_ = b.op("topk", b.value[x], results=2, k=k, dim=dim % len(b.shape(x)))
    return [value, b.convert(where_, torch.int32, torch.int64)]


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
    if "." in spec:
        b.refuse("an ellipsis: name all indices")
    if "->" not in spec:
        letters = sorted(c for c in set(spec) if c.isalpha() and spec.count(c) == 1)
        spec += "->" + "".join(letters)
    return b.op("contract", *map(b.read, operands), spec=spec.replace(" ", ""))


@handles("convolution", "conv1d", "conv2d")
def convolution(b, x, w, bias=None, stride=1, padding=0, dilation=1, *rest):
    """conv1d is one of images that have one row."""
    how = b.which()
    transposed, output_padding, groups = rest if how == "convolution" else (False, [0], rest[0] if rest else 1)
    spatial = len(b.shape(x)) - 2
    if spatial > 2 or isinstance(padding, str):
        b.refuse("of convolutions those of one or two dims are translated, with padding in numbers")

    def two(v, fill):
        v = list(v) if isinstance(v, (list, tuple)) else [v] * spatial
        v = v * spatial if len(v) == 1 else v
        return [fill] * (2 - spatial) + v

    def image(value, shape):
        return value if spatial == 2 else b.reshape(value, shape[:-1] + [1, shape[-1]])

    a, f = image(b.read(x), b.shape(x)), image(b.read(w), b.shape(w))
    low = two(padding, 0)
    if transposed:
        h, v = ([1] + b.shape()[2:])[-2:] if spatial == 1 else b.shape()[2:]
        y = b.op("conv2d_data", a, f, height=h, width=v, stride=two(stride, 1), low=low, dilation=two(dilation, 1),
                 groups=groups)
    else:
        y = b.op("conv2d", a, f, stride=two(stride, 1), low=low, high=low, dilation=two(dilation, 1), groups=groups)
    y = y if spatial == 2 else b.reshape(y, b.shape())
    return y if bias is None else b.op("add", y, b.reshape(b.read(bias), [b.shape()[1]] + [1] * spatial))


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
    training, momentum, eps = (False, *rest) if how.endswith("no_training") else rest if how.endswith("functional") \
        else (True, rest[-2], rest[-1])
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
        if weight is not None or smoothing:
            b.refuse("weights and smoothing of probabilities are not translated")
        p = b.read(y, t)
        p = b.op("transpose", p, perm=[0, *range(2, len(shape)), 1]) if len(shape) > 2 else p
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
            if weight is not None:
                b.refuse("weights with smoothing are not translated")
            classes = shape[1 if len(shape) > 1 else 0]
            flat = b.op("sum", value, dims=[-1])
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
    lost = b.convert(lost, t, b.dtype())
    return lost if b.which().startswith("cross") else [lost, None]


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


def pair(v):
    v = list(v) if isinstance(v, (list, tuple)) else [v]
    return v * 2 if len(v) == 1 else v


@handles("max_pool2d_with_indices", "max_pool2d")
def max_pool(b, x, window, stride=(), padding=0, dilation=1, ceil_mode=False):
    if pair(dilation) != [1, 1]:
        b.refuse("dilation is not translated")
    low, window, stride = pair(padding), pair(window), pair(stride or window)
    high = [(m - 1) * s + w - n - a for m, s, w, n, a in zip(b.shape()[-2:], stride, window, b.shape(x)[-2:], low)]
    y = b.op("max_pool", b.read(x), window=window, stride=stride, low=low, high=[max(h, 0) for h in high])
    return [y, None] if "indices" in b.which() else y


@handles("avg_pool2d")
def avg_pool(b, x, window, stride=(), padding=0, ceil_mode=False, count_include_pad=True, divisor=None):
    low = pair(padding)
    if ceil_mode or divisor or low != [0, 0] and not count_include_pad:
        b.refuse("ceil_mode, divisor_override and padding that is not counted are not translated")
    return b.op("avg_pool", b.read(x), window=pair(window), stride=pair(stride or window), low=low, high=low)


@handles("adaptive_avg_pool2d", "_adaptive_avg_pool2d")
def adaptive_pool(b, x, size):
    old, new = b.shape(x)[-2:], b.shape()[-2:]
    if not any(n % m for n, m in zip(old, new)):
        window = [n // m for n, m in zip(old, new)]
        return b.op("avg_pool", b.read(x), window=window, stride=window)
    part = [b.literal(averages(n, m).to(b.dtype())) for n, m in zip(old, new)]
    lead = "abcdefg"[:len(b.shape()) - 2]
    return b.op("contract", b.read(x), *part, spec=f"{lead}hw,yh,xw->{lead}yx")


def averages(n, m):
    """[m,n]: element i of m is the mean of n from floor(i n / m) to ceil((i + 1) n / m)."""
    rows = torch.zeros(m, n)
    for i in range(m):
        a, e = i * n // m, -(-(i + 1) * n // m)
        rows[i, a:e] = 1 / (e - a)
    return rows


@handles("upsample_nearest2d")
def upsample(b, x, size=None, *_, **__):
    *lead, h, w = b.shape(x)
    up = [n // m for n, m in zip(b.shape()[-2:], (h, w))]
    if [h * up[0], w * up[1]] != b.shape()[-2:]:
        b.refuse("only whole factors are translated")
    y = b.broadcast(b.reshape(b.read(x), lead + [h, 1, w, 1]), lead + [h, up[0], w, up[1]])
    return b.reshape(y, b.shape())


@handles("embedding_bag", "_embedding_bag", "_embedding_bag_forward_only")
def embedding_bag(b, table, index, offsets, by_frequency=False, mode=0, sparse=False, weights=None, last=False, padding=-1):
    """Bags of one size, that is, offsets from a reshaped matrix; else how many rows a bag has depends on data."""
    bags = b.shape()[0]
    if b.shape(index)[0] % bags or padding not in (None, -1):
        b.refuse("bags of different sizes: pad the numbers with -1, which adds 0, and sum an embedding")
    many = b.shape(index)[0] // bags
    rows = b.op("gather", b.value[table], b.reshape(b.value[index], [bags, many]))
    if weights is not None:
        rows = b.op("mul", rows, b.reshape(b.read(weights), [bags, many, 1]))
    y = b.op({0: "sum", 1: "mean", 2: "max"}[mode], rows, dims=[1])
    return [y, None, None, None]
