"""Operations on elements, and reductions."""
import math

import torch

from .table import OPS, handles


def unary(op):
    return lambda b, x: b.op(op, b.read(x))


for torch_name, name in {
        "abs": "abs", "neg": "neg", "exp": "exp", "log": "log", "tanh": "tanh", "erf": "erf", "erfc": "erfc",
        "sqrt": "sqrt", "rsqrt": "rsqrt", "sigmoid": "sigmoid", "sin": "sin", "cos": "cos", "relu": "relu",
        "log1p": "log1p", "expm1": "expm1", "log2": "log2", "exp2": "exp2", "tan": "tan", "asin": "asin", "acos": "acos",
        "atan": "atan", "sinh": "sinh", "cosh": "cosh", "asinh": "asinh", "acosh": "acosh", "atanh": "atanh",
        "sign": "sign", "silu": "silu",
        "square": "square", "bitwise_not": "not"}.items():
    OPS[torch_name] = unary(name)


@handles("log_sigmoid")
def log_sigmoid(b, x):
    return b.op("neg", b.op("softplus", b.op("neg", b.read(x))))


@handles("reciprocal")
def reciprocal(b, x):
    return b.op("div", b.number(1.0, b.dtype()), b.read(x))


@handles("round")
def rounded(b, x, decimals=0):
    if not decimals:
        return b.op("round", b.read(x))
    factor, (there, back) = b.number(10.0 ** abs(decimals), b.dtype()), ("mul", "div") if decimals > 0 else ("div", "mul")
    return b.op(back, b.op("round", b.op(there, b.read(x), factor)), factor)


@handles("floor", "ceil", "trunc")
def rounded_to(b, x):
    return b.op(b.which(), b.read(x)) if b.dtype().is_floating_point else b.read(x)


@handles("isnan", "isinf", "isfinite")
def is_number(b, x):
    return b.op({"isnan": "is_nan", "isinf": "is_inf", "isfinite": "is_finite"}[b.which()],
                b.read(x, torch.result_type(x.meta["val"], 1.0)))


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


@handles("celu")
def celu(b, x, alpha=1.0):
    return elu(b, x, alpha, input_scale=1 / alpha)


@handles("softplus")
def softplus(b, x, beta=1.0, threshold=20.0):
    """Above the threshold, y itself: of 20 and more that is only rounding."""
    y = b.read(x)
    factor = b.number(float(beta), b.dtype())
    wide = y if beta == 1 else b.op("mul", y, factor)
    soft = b.op("softplus", wide)
    soft = soft if beta == 1 else b.op("div", soft, factor)
    return soft if threshold >= 20 else b.op("select", b.op("gt", wide, b.number(float(threshold), b.dtype())), y, soft)


@handles("silu_backward", "mish_backward")
def gate_backward(b, g, x):
    """Of x times a gate: the gate and x times its slope. No table of decompositions reaches these two."""
    y, one, s = b.read(x), b.number(1.0, b.dtype()), b.op("sigmoid", b.read(x))
    gate, slope = s, b.op("mul", s, b.op("sub", one, s))
    if b.which() == "mish_backward":
        gate = b.op("tanh", b.op("softplus", y))
        slope = b.op("mul", s, b.op("sub", one, b.op("square", gate)))
    return b.op("mul", b.read(g), b.op("add", gate, b.op("mul", y, slope)))


def arithmetic(op):
    def make(b, x, y, alpha=1):
        right = b.read(y)
        if alpha != 1:
            right = b.op("mul", right, b.number(alpha, b.dtype()))
        return b.op(OF_BOOLS.get(op, op) if b.dtype() == torch.bool else op, b.read(x), right)
    return make


OF_BOOLS = {"add": "or", "mul": "and", "maximum": "or", "minimum": "and"}


for torch_name, name in {"add": "add", "sub": "sub", "mul": "mul", "maximum": "maximum", "minimum": "minimum",
                         "fmod": "rem", "atan2": "atan2", "bitwise_and": "and", "bitwise_or": "or",
                         "bitwise_xor": "xor", "bitwise_left_shift": "shift_left",
                         "bitwise_right_shift": "shift_right", "__lshift__": "shift_left",
                         "__rshift__": "shift_right"}.items():
    OPS[torch_name] = arithmetic(name)


@handles("pow")
def power(b, x, y):
    if y == 0:  # without a gradient, at 0 too
        return b.full(1, b.shape(), b.dtype())
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
    """The gradient at a limit that is a number is 0; at one that is a tensor, half is that of each, as torch has it."""
    y = b.read(x)
    if b.which().endswith("hardtanh"):
        low, high = -1.0 if low is None else low, 1.0 if high is None else high
    for limit, op, outside in ((low, "maximum", "le"), (high, "minimum", "ge")):
        if limit is not None:
            edge = b.read(limit)
            y = b.op(op, edge, y) if isinstance(limit, torch.fx.Node) else b.op("select", b.op(outside, y, edge), edge, y)
    return y


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
    rank = len(b.shape(x))
    if dims is None or dims == [] or not rank:
        return None
    return [d % rank for d in (dims if isinstance(dims, (list, tuple)) else [dims])]


def of_type(b, op):
    """The maximum of truth values is whether any is true."""
    return {"max": "any", "min": "all"}.get(op, op) if b.dtype() == torch.bool else op


def reduction(op):
    def make(b, x, dim=None, keepdim=False, dtype=None):
        if not b.shape(x):
            return b.read(x)
        return b.op(of_type(b, op), b.read(x), dims=dims_of(b, x, dim), keep=keepdim or None)
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
    value = b.op(of_type(b, op), b.read(x), dims=dims_of(b, x, dim), keep=keepdim or None)
    return value if dim is None else [value, place_of(b, "arg" + op, x, dim, keepdim)]


def place_of(b, op, x, dim, keepdim):
    t = x.meta["val"].dtype
    if not b.shape(x):
        return b.number(0, torch.int64)
    y = b.convert(b.value[x], t, torch.int32 if t == torch.bool else t)
    return b.convert(b.op(op, y, dims=dims_of(b, x, dim), keep=keepdim or None), torch.int32, torch.int64)


@handles("argmax", "argmin")
def arg(b, x, dim=None, keepdim=False):
    return place_of(b, b.which(), x, dim, keepdim)


@handles("prims::var")
def prims_var(b, x, dims=None, correction=1.0, output_dtype=None):
    return variance(b, x, dims, correction=correction)


@handles("var", "std", "var_mean", "std_mean")
def variance(b, x, dim=None, unbiased=None, keepdim=False, *, correction=None):
    if isinstance(dim, bool):  # of all elements
        dim, unbiased = None, dim
    if isinstance(unbiased, (int, bool)) and correction is None:
        correction = int(unbiased)
    dims = dims_of(b, x, dim) or list(range(len(b.shape(x))))
    n = math.prod(b.shape(x)[d] for d in dims)
    y = b.read(x)
    centred = b.op("sub", y, b.op("mean", y, dims=dims, keep=True))
    total = b.op("sum", b.op("square", centred), dims=dims, keep=keepdim or None)
    v = b.op("div", total, b.number(max(n - (1 if correction is None else correction), 0), b.dtype()))
    if b.which().startswith("std"):  # its gradient is 0 where it is 0
        zero, varies = b.number(0.0, b.dtype()), b.op("ne", v, b.number(0.0, b.dtype()))
        v = b.op("select", varies, b.op("sqrt", b.op("select", varies, v, b.number(1.0, b.dtype()))), zero)
    return [v, b.op("mean", y, dims=dims, keep=keepdim or None)] if b.which().endswith("mean") else v


@handles("cumsum")
def cumsum(b, x, dim, dtype=None):
    if not b.shape(x):
        return b.read(x)
    return b.op("cumsum", b.read(x), dim=dim % len(b.shape(x)))


@handles("logsumexp")
def logsumexp(b, x, dim, keepdim=False):
    y, dims = b.read(x), dims_of(b, x, dim)
    top = b.op("stop_gradient", b.op("max", y, dims=dims, keep=True))
    total = b.op("add", b.op("log", b.op("sum", b.op("exp", b.op("sub", y, top)), dims=dims, keep=True)), top)
    return total if keepdim else b.reshape(total, b.shape())
