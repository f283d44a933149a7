"""What has no row elsewhere is computed with other operations of torch. Where a value comes from an algorithm whose gradient
would be that of its steps, the value is a constant plus a term that is 0 and has the gradient."""
import math

import torch

from .table import Unsupported, aten

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


def roi_align(x, boxes, scale, height, width, samples, aligned):
    """Means of `samples` by `samples` bilinear samples of each cell; outside of the image they are 0."""
    if samples <= 0:
        raise Unsupported("roi_align: give sampling_ratio, which otherwise depends on the sizes of boxes")
    batch, box = boxes[:, 0].to(torch.int64), boxes[:, 1:] * scale - (0.5 if aligned else 0)

    def places(first, last, cells, size):
        length = last - first if aligned else (last - first).clamp(min=1)
        at = first[:, None] + (torch.arange(cells * samples, dtype=x.dtype) + 0.5) / samples * (length / cells)[:, None]
        inside, at = (at >= -1) & (at <= size), at.clamp(0, size - 1)
        low = at.floor().to(torch.int64)
        return inside, low, (low + 1).clamp(max=size - 1), at - low
    rows = places(box[:, 1], box[:, 3], height, x.shape[2])
    columns = places(box[:, 0], box[:, 2], width, x.shape[3])
    total = 0
    for row, down in ((rows[1], 1 - rows[3]), (rows[2], rows[3])):
        for column, right in ((columns[1], 1 - columns[3]), (columns[2], columns[3])):
            weight = (down * rows[0])[:, :, None] * (right * columns[0])[:, None, :]
            total = total + x[batch[:, None, None], :, row[:, :, None], column[:, None, :]] * weight.unsqueeze(-1)
    return total.unflatten(2, (width, samples)).unflatten(1, (height, samples)).mean((2, 4)).movedim(-1, 1)
