"""What has no row elsewhere is computed with other operations of torch. Where a value comes from an algorithm whose gradient
would be that of its steps, the value is a constant plus a term that is 0 and has the gradient."""
import functools
import math

import torch
from torch._prims_common import ELEMENTWISE_TYPE_PROMOTION_KIND, elementwise_dtypes

from .table import Unsupported, aten

DECOMPOSED = {}


def in_floats(function):
    """Of integers in the default type of torch, of halves in f32."""
    def made(*args):
        wide, kind = elementwise_dtypes(*args, type_promotion_kind=ELEMENTWISE_TYPE_PROMOTION_KIND.INT_TO_FLOAT)
        return function(*(a.to(wide) if isinstance(a, torch.Tensor) else a for a in args)).to(kind)
    return made


def decomposes(*names, floats=False):
    def add(function):
        made = in_floats(function) if floats else function
        for name in names:
            packet = getattr(aten, name, None)  # None: a version of torch that lacks it
            for overload in packet.overloads() if packet else ():
                if not overload.endswith(("out", "hacked_twin")):
                    DECOMPOSED[getattr(packet, overload)] = made
        return function
    return add


def with_gradient(value, term):
    """`value`, a constant, with the gradient of `term`."""
    return value.detach() + (term - term.detach())


def safe_sqrt(square):
    """A length: its gradient at 0 is 0, as torch has it for norms."""
    inside = square != 0
    return torch.where(inside, torch.where(inside, square, 1).sqrt(), 0)


@decomposes("linalg_vector_norm")
def vector_norm(x, order=2, dim=None, keepdim=False, dtype=None):
    x = x.to(dtype) if dtype else x
    x = x.abs() if x.is_complex() else x
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
    each = size.pow(order) if order > 1 else torch.where(size != 0, torch.where(size != 0, size, 1).pow(order), 0)
    total = each.sum(dim, keepdim)
    inside = total != 0
    return torch.where(inside, torch.where(inside, total, 1).pow(1 / order), 0)


@decomposes("_cdist_forward")
def cdist(x, y, p, mode=None):
    return vector_norm(x.unsqueeze(-2) - y.unsqueeze(-3), p, [-1])


@decomposes("_pdist_forward")
def pdist(x, p=2.0):
    i, j = torch.triu_indices(len(x), len(x), 1).unbind(0)
    return vector_norm(x[i] - x[j], p, [-1])


@decomposes("sinc", floats=True)
def sinc(x):
    inside = x != 0
    y = math.pi * torch.where(inside, x, 1)
    return torch.where(inside, y.sin() / y, 1)


@decomposes("hypot")
def hypot(x, y):
    return safe_sqrt(x.square() + y.square())


@decomposes("fmax")
def fmax(x, y):
    return torch.where((x >= y) | (y != y), x, y)


@decomposes("fmin")
def fmin(x, y):
    return torch.where((x <= y) | (y != y), x, y)


@decomposes("log10", floats=True)
def log10(x):
    return torch.log(x) / math.log(10)


@decomposes("angle")
def angle(x):
    if x.is_complex():
        re, im = torch.view_as_real(torch.where(x == 0, x.detach(), x)).unbind(-1)
        return torch.atan2(im, re)
    return torch.where(x < 0, math.pi, torch.where(x.isnan(), x.detach(), 0))


@decomposes("sgn")
def sgn(x):
    if not x.is_complex():
        return x.sign()
    size = x.abs()
    return torch.where(x == 0, x.detach(), x) / torch.where(size == 0, 1, size)


@decomposes("copysign", floats=True)
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
    if not x.dim():
        return x.to(dtype or x.dtype)
    wide = torch.int64 if not x.is_floating_point() and not x.is_complex() else x.dtype
    return scanned(x.to(dtype or wide), dim, torch.mul)


def furthest(x, dim, before):
    """What is so far the largest or the smallest, the last of equal ones, and its place; a NaN comes before all others."""
    if not x.dim():
        return x * 1, torch.zeros((), dtype=torch.int64)
    places = torch.arange(x.shape[dim]).reshape([-1 if d == dim % x.dim() else 1 for d in range(x.dim())]).expand(x.shape)
    at, found = 1, (x.detach(), places)
    while at < x.shape[dim]:
        old, new = ([v.narrow(dim, start, x.shape[dim] - at) for v in found] for start in (0, at))
        taken = before(new[0], old[0]) | (new[0] != new[0])
        found = [torch.cat([v.narrow(dim, 0, at), torch.where(taken, n, o)], dim) for v, n, o in zip(found, new, old)]
        at *= 2
    return x.gather(dim, found[1]), found[1]


@decomposes("cummax")
def cummax(x, dim):
    return furthest(x, dim, torch.ge)


@decomposes("cummin")
def cummin(x, dim):
    return furthest(x, dim, torch.le)


@decomposes("binary_cross_entropy")
def binary_cross_entropy(x, y, weight=None, reduction=1):
    """Logarithms are -100 at least, and so is what the gradient divides by, as torch has it: neither is infinite."""
    one, other = ((v.detach().log()).clamp(min=-100) for v in (x, 1 - x))
    value = (y.detach() - 1) * other - y.detach() * one
    slope = ((x - y) / ((1 - x) * x).clamp(min=1e-12)).detach()
    each = with_gradient(value, x * slope + y * (other - one))
    each = each if weight is None else each * weight
    return each if reduction == 0 else each.mean() if reduction == 1 else each.sum()


@decomposes("dist")
def dist(x, y, p=2):
    return vector_norm(x - y, p)


@decomposes("_trilinear")
def trilinear(x, y, z, expand1, expand2, expand3, sumdim, unroll_dim=1):
    for dims, name in ((expand1, "x"), (expand2, "y"), (expand3, "z")):
        for d in sorted(dims):
            x, y, z = (v.unsqueeze(d) if who == name else v for v, who in ((x, "x"), (y, "y"), (z, "z")))
    return (x * y * z).sum(sumdim)


def median(skips, x, dim=None, keepdim=False):
    """Sorting puts NaNs last; of a row with one, the median is the first of them, the nanmedian that of the numbers before them."""
    if dim is None or not x.dim():
        return median(skips, x.flatten(), 0)[0] if dim is None else (x * 1, torch.zeros((), dtype=torch.int64))
    value, place = x.sort(dim)
    many = (x == x).sum(dim, keepdim=True)
    k = ((many - 1) // 2).clamp(min=0)
    k = k if skips else torch.where(many < x.shape[dim], many, k)
    found = value.gather(dim, k), place.gather(dim, k)
    return found if keepdim else tuple(v.squeeze(dim) for v in found)


decomposes("median")(functools.partial(median, False))
decomposes("nanmedian")(functools.partial(median, True))


@decomposes("kthvalue")
def kthvalue(x, k, dim=-1, keepdim=False):
    value, place = x.sort(dim)
    value, place = value.select(dim, k - 1), place.select(dim, k - 1)
    return (value.unsqueeze(dim), place.unsqueeze(dim)) if keepdim else (value, place)


@decomposes("searchsorted")
def searchsorted(edges, x, *, out_int32=False, right=False, side=None, sorter=None):
    edges = edges if sorter is None else edges.gather(-1, sorter)
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


@decomposes("signbit")
def signbit(x):
    return (x < 0) | (1 / x < 0) if x.is_floating_point() else x < 0


@decomposes("conv_tbc")
def conv_tbc(x, w, bias, pad=0):
    return torch.nn.functional.conv1d(x.permute(1, 2, 0), w.permute(2, 1, 0), bias, padding=pad).permute(2, 0, 1)


@decomposes("nonzero_static")
def nonzero_static(x, *, size, fill_value=-1):
    """Places in order: those of zeros become larger than all others."""
    n, place = x.numel(), torch.arange(x.numel())
    found = torch.where(x.flatten() != 0, place, n)
    found = torch.cat([found, torch.full((max(size - n, 0),), n)]).sort()[0][:size]
    return torch.stack([torch.where(found < n, found // math.prod(x.shape[d + 1:]) % x.shape[d], fill_value)
                        for d in range(x.dim())], -1)


def repeat_interleave(repeats, *, output_size=None):
    if output_size is None:
        raise Unsupported("repeat_interleave with a tensor of repeats: give output_size, their sum")
    return searchsorted(repeats.cumsum(0), torch.arange(output_size), right=True)


DECOMPOSED[aten.repeat_interleave.Tensor] = repeat_interleave


@decomposes("_grouped_mm")
def grouped_mm(x, w, offs=None, bias=None, out_dtype=None):
    """Rows of x up to offs[0] times w[0], up to offs[1] times w[1] ...: all rows times each, of which the others are 0. Also groups of
    columns of w, and of what is summed."""
    if offs is None:
        return x @ w
    dim, size = (0, len(x)) if w.dim() == 3 else (1, w.shape[-1]) if x.dim() == 3 else (1, x.shape[-1])
    chosen = searchsorted(offs, torch.arange(size, dtype=offs.dtype), right=True) == torch.arange(len(offs))[:, None]
    if w.dim() == 3:
        y = (torch.where(chosen[..., None], x, 0) @ w).sum(0)
    elif x.dim() == 3:
        y = torch.where(chosen[:, None], x @ w, 0).sum(0)
    else:
        y = torch.where(chosen[:, None], x, 0) @ w
    return y if bias is None else y + bias


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
    return x.flatten()[numbered(size, stride, offset).flatten()].reshape(size)


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


def numbered(size, stride, offset):
    """Of an as_strided, which elements of the storage it has."""
    at = torch.full((), offset or 0)
    for n, step in zip(size, stride):
        at = at.unsqueeze(-1) + torch.arange(n) * step
    return at


@decomposes("as_strided_scatter")
def as_strided_scatter(x, source, size, stride, offset=None):
    return put(x, numbered(size, stride, offset), source)


@decomposes("masked_scatter")
def masked_scatter(x, mask, source):
    """Elements of the source, one after another, where the mask is."""
    mask = mask.broadcast_to(x.shape)
    at = (mask.flatten().to(torch.int64).cumsum(0) - 1).clamp(min=0)
    return torch.where(mask, source.flatten()[at].reshape(x.shape), x)


@decomposes("put")
def put(x, index, source, accumulate=False):
    return x.flatten().index_put((index.flatten(),), source.flatten(), accumulate).reshape(x.shape)


@decomposes("index_reduce")
def index_reduce(x, dim, index, source, reduce, *, include_self=True):
    at = index.reshape([-1 if d == dim % x.dim() else 1 for d in range(x.dim())]).expand(source.shape)
    return x.scatter_reduce(dim, at, source, reduce, include_self=include_self)


@decomposes("addbmm")
def addbmm(x, a, c, *, beta=1, alpha=1):
    return beta * x + alpha * (a @ c).sum(0)


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


def filter_gradient(g, x, shape, stride, padding, dilation, groups):
    """Of a convolution's filters: one of x by g, whose channels are the rows of a batch and whose rows are channels."""
    rows, window = len(x), shape[2:]
    images = x.reshape(rows, groups, -1, *x.shape[2:]).movedim(2, 0).transpose(1, 2).flatten(1, 2)
    filters = g.reshape(rows, groups, -1, *g.shape[2:]).movedim(0, 2).flatten(0, 1)
    found = torch.ops.aten.convolution(images, filters, None, dilation, padding, stride, False, [0] * len(window), groups)
    for d, k in enumerate(window, 2):
        found = found.narrow(d, 0, k)
    return found.transpose(0, 1)


@decomposes("convolution_backward")
def convolution_backward(g, x, w, bias, stride, padding, dilation, transposed, extra, groups, wanted):
    n = x.dim() - 2
    stride, padding, dilation = (list(v) * n if len(v) == 1 else list(v) for v in (stride, padding, dilation))
    rest = [a - ((b - 1) * s - 2 * p + d * (k - 1) + 1)
            for a, b, s, p, d, k in zip(x.shape[2:], g.shape[2:], stride, padding, dilation, w.shape[2:])]
    inputs = torch.ops.aten.convolution(g, w, None, stride, padding, dilation, not transposed, [0] * n if transposed else rest,
                                        groups) if wanted[0] else None
    for d in range(n if wanted[0] else 0):  # a transposed one may leave more at the end than a step of it
        inputs = inputs.narrow(d + 2, 0, x.shape[d + 2]).contiguous()
    a, b = (x, g) if transposed else (g, x)
    return (inputs, filter_gradient(a, b, w.shape, stride, padding, dilation, groups) if wanted[1] else None,
            g.sum([0, *range(2, n + 2)]) if wanted[2] else None)


@decomposes("softshrink_backward", "hardshrink_backward")
def shrink_backward(g, x, width):
    return torch.where(x.abs() <= width, 0, g)  # of NaN: g, as of torch
