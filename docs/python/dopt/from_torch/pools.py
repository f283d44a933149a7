"""Windows: pools, resampling, bags of embeddings."""
import functools
import re

import torch

from .table import aten, handles, name_of


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
    if by_frequency:
        b.refuse("scale_grad_by_freq is not translated")
    padded = padding not in (None, -1)
    if padded or last or (name_of(offsets.target) != "arange" if offsets.op == "call_function" else True):
        return [ragged_bags(b, table, index, offsets, mode, weights, padding % b.shape(table)[0] if padded else None),
                None, None, None]
    many = b.shape(index)[0] // bags
    rows = b.op("gather", b.value[table], b.reshape(b.value[index], [bags, many]))
    if weights is not None:
        rows = b.op("mul", rows, b.reshape(b.read(weights), [bags, many, 1]))
    y = b.op({0: "sum", 1: "mean", 2: "max"}[mode], rows, dims=[1])
    return [y, None, None, None]


def ragged_bags(b, table, index, offsets, mode, weights, padding):
    """Rows of the padding index are of a bag that is left out, and so is what follows a last offset."""
    rows = b.op("gather", b.value[table], b.value[index])
    (bags, width), many, t = b.shape(), b.shape(index)[0], b.dtype()
    if weights is not None:
        rows = b.op("mul", rows, b.reshape(b.read(weights), [many, 1]))
    first = b.reshape(b.read(offsets, torch.int64), [1, b.shape(offsets)[0]])
    begins = b.op("le", first, b.reshape(b.iota([many], 0), [many, 1]))
    bag = b.op("sub", b.op("sum", b.convert(begins, torch.bool, torch.int64), dims=[1]), b.number(1, torch.int64))
    if padding is not None:
        empty = b.op("eq", b.read(index, torch.int64), b.number(padding, torch.int64))
        bag = b.op("select", empty, b.number(bags, torch.int64), bag)
    y = b.op("scatter_nd", rows, bag, sizes=[bags], how="max" if mode == 2 else None)
    if mode == 0:
        return y
    count = b.op("scatter_nd", b.full(1, [many], t), bag, sizes=[bags])
    count = b.reshape(b.op("maximum", count, b.number(1, t)) if mode == 1 else count, [bags, 1])
    return b.op("div", y, count) if mode == 1 else b.op("select", b.op("gt", count, b.number(0, t)), y, b.number(0, t))
