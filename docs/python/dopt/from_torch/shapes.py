"""Operations that move elements: shapes, slices, indices, sorting."""
import math

import torch

from .elementwise import dims_of
from .table import RawName, handles


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
    y = b.reshape(b.value[x], [s for r, n in zip(repeats, shape) for s in ((1, n) if r != 1 else (n,))])
    y = b.broadcast(y, [s for r, n in zip(repeats, shape) for s in ((r, n) if r != 1 else (n,))])
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
    if not dims:
        return b.value[x]
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


@handles("tril_indices", "triu_indices", "linspace", "logspace", "eye", "bartlett_window", "blackman_window", "hamming_window",
         "hann_window", "kaiser_window")
def evaluated(b, *args, **named):
    """What depends on numbers alone, as torch computes it."""
    return b.literal(b.node.target(*args, **{**named, "dtype": b.dtype(), "device": "cpu"}))


# By index.


@handles("embedding")
def embedding(b, table, index, padding=-1, scale_grad_by_freq=False, sparse=False):
    if scale_grad_by_freq:
        b.refuse("scale_grad_by_freq is not translated")
    rows = b.op("gather", b.value[table], b.value[index])
    if padding < 0:
        return rows
    fixed = b.op("gather", b.op("stop_gradient", b.value[table]), b.value[index])
    chosen = b.op("eq", b.value[index], b.number(padding, index.meta["val"].dtype))
    return b.op("select", b.reshape(chosen, b.shape(index) + [1]), fixed, rows)


@handles("embedding_renorm")
def renorm(b, *_):
    b.refuse("max_norm writes into a parameter that an optimizer updates, too; normalize the rows that the embedding returns")


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
    if reduce == "prod":
        b.refuse("a product has no gradient here")
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
    op = {"sum": "add", "mean": "add", "amax": "max", "amin": "min"}[reduce]
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
