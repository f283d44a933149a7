"""Products, convolutions, attention, norms and losses."""
import itertools
import math
import string

import torch

from .pools import spread
from .shapes import joined
from .table import RawName, TYPES, handles


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
    if "->" not in spec:  # capitals come first, which is decided before they have other names
        letters = sorted(c for c in set(spec) if c.isalpha() and spec.count(c) == 1)
        spec += "->" + ("..." if "." in spec else "") + "".join(letters)
    if "." in spec:
        parts, _, result = spec.partition("->")
        free = [chr(c) for c in range(ord("\u0430"), ord("\u0430") + 26)]  # letters that are in no spec
        many = [len(b.shape(x)) - len(p.replace("...", "")) for p, x in zip(parts.split(","), operands)]
        most = "".join(free[:max(many)])
        parts = ",".join(p.replace("...", most[len(most) - n:]) for p, n in zip(parts.split(","), many))
        spec = parts + "->" + result.replace("...", most)
    values, (parts, _, result) = [b.read(x) for x in operands], spec.partition("->")
    parts = parts.split(",")
    size = {c: n for part, x in zip(parts, operands) for c, n in zip(part, b.shape(x))}
    for i, (part, x) in enumerate(zip(parts, operands)):
        for c in [c for c in dict.fromkeys(part) if part.count(c) > 1]:  # a diagonal
            dims = [d for d, other in enumerate(part) if other == c]
            at = b.iota([b.shape(x)[part.index(c)]], 0) if len(parts[i]) == len(part) else b.refuse("two diagonals")
            values[i] = b.op("gather_nd", values[i], *[at] * len(dims), dims=dims)
            parts[i] = c + part.replace(c, "")
    while len(parts) > 2:  # the two of the smallest product: all at once would cost the product of all sizes
        kept, i, k = min(((shared(parts, result, *p), *p) for p in itertools.combinations(range(len(parts)), 2)),
                         key=lambda p: math.prod(size[c] for c in p[0]))
        if len(kept) > RANK:
            b.refuse(f"a product inside has {len(kept)} dims: at most {RANK} are translated")
        values.append(b.op("contract", values[i], values[k], spec=named([parts[i], parts[k]], kept)))
        parts.append(kept)
        for n in (k, i):
            del parts[n], values[n]
    return b.op("contract", *values, spec=named(parts, result))


RANK = 8  # the most dims of a tensor


def shared(parts, result, i, k):
    """Letters of two parts that others have, or the result."""
    others = "".join(p for n, p in enumerate(parts) if n not in (i, k)) + result
    return "".join(c for c in dict.fromkeys(parts[i] + parts[k]) if c in others)


def named(parts, result):
    """The spec of a contraction, with letters from a on if one is not lowercase."""
    spec = ",".join(parts) + "->" + result
    letters = [c for c in dict.fromkeys(spec) if c.isalpha()]
    small = dict(zip(letters, letters if set(letters) <= set(string.ascii_lowercase) else string.ascii_lowercase))
    return "".join(small.get(c, c) for c in spec)


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
    x = b.convert(value, dtype, wide)
    if b.looping:  # a loop has no calls
        x = b.op("sub", x, b.op("max", x, dims=[-1], keep=True))
        e = b.op("exp", x)
        total = b.op("sum", e, dims=[-1], keep=True)
        y = b.op("sub", x, b.op("log", total)) if log else b.op("div", e, total)
    else:
        y = b.op("call @log_softmax" if log else "call @softmax", x)
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
    results = [b.convert(out, t, x.meta["val"].dtype)]
    read = {user.args[1] for user in b.node.users if user.users}  # by gradients inside the step
    results += [b.reshape(v, [shape[1]]) if i in read else None for i, v in enumerate((used[0], factor), 1)]
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
