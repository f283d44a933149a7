"""Functions of torch that read values, which an export does not have."""
import importlib
import itertools
import math

import torch

from .masks import Rows
from .pools import averages, spread
from .table import Unsupported


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
    if not c.dim():
        return c / c
    d = c.diagonal().sqrt()
    return (c / d[:, None] / d).clamp(-1, 1)


def flex_attention(*arguments):
    """What torch computes without a kernel, called as it is: its operator refuses gradients on CPUs."""
    return importlib.import_module("torch._higher_order_ops.flex_attention").math_attention(*arguments)


def adaptive_log_softmax(module, x, target):
    """Of all classes, where torch computes each cluster for the rows that are in it."""
    output = module.log_prob(x).gather(-1, target.unsqueeze(-1)).squeeze(-1)
    return torch.nn.modules.adaptive._ASMoutput(output, -output.mean())


BATCH_NORM = torch.nn.modules.batchnorm._BatchNorm.forward


def batch_norm(module, x):
    """With momentum=None running statistics are means of all batches; torch reads their number."""
    if module.momentum is not None or not module.training or module.running_mean is None:
        return BATCH_NORM(module, x)
    module._check_input_dim(x)
    module.num_batches_tracked.add_(1)
    means = module.running_mean, module.running_var
    before = [v.clone() for v in means]
    y = torch.nn.functional.batch_norm(x, *means, module.weight, module.bias, True, 1.0, module.eps)  # sets those of the batch
    for v, old in zip(means, before):
        v.copy_(old + (v - old) / module.num_batches_tracked)
    return y


class Solution:
    def __init__(self, solution):
        self.solution = solution

    def __getattr__(self, name):
        raise Unsupported(f"torch.linalg.lstsq(a, b).{name}: only the solution is translated")

    def __iter__(self):
        raise Unsupported("torch.linalg.lstsq(a, b): write .solution, the only part that is translated")


def least_squares(a, b, rcond=None, *, driver=None):
    """Of several solutions that of the smallest norm."""
    vector = b.dim() == a.dim() - 1
    x = torch.linalg.pinv(a, rtol=rcond) @ (b.unsqueeze(-1) if vector else b)
    return Solution(x.squeeze(-1) if vector else x)


class Sparse:
    """A matrix of torch.sparse_coo_tensor: rows, columns, values; a product with a dense matrix adds up rows of that."""

    def __init__(self, places, values, shape):
        self.places, self.values_, self.shape = places, values, torch.Size(shape)

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        if function in PRODUCTS and isinstance(args[0], Sparse) and len(args) == 2 and not kwargs:
            return args[0] @ args[1]
        raise Unsupported(f"{getattr(function, '__name__', function)} of a sparse tensor: a sparse matrix times a dense one, t, coalesce "
                          "and to_dense are translated; d @ s is (s.t() @ d.t()).t()")

    def __getattr__(self, name):
        raise Unsupported(f"{name} of a sparse tensor: a sparse matrix times a dense one, t, coalesce and to_dense are translated")

    def arithmetic(self, *others):
        raise Unsupported("arithmetic of a sparse tensor: change its values before they are made a matrix")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __neg__ = __pow__ = arithmetic

    def coalesce(self):
        return self

    def size(self, dim=None):
        return self.shape if dim is None else self.shape[dim]

    def t(self):
        return Sparse(self.places.flip(0), self.values_, self.shape[::-1])

    def to_dense(self):
        return self.values_.new_zeros(self.shape).index_put((self.places[0], self.places[1]), self.values_, accumulate=True)

    def __matmul__(self, dense):
        if not isinstance(dense, torch.Tensor) or isinstance(dense, Rows):
            raise Unsupported("a sparse matrix times what is no dense tensor, or times the rows that a mask chooses")
        rows = self.values_.reshape(-1, *[1] * (dense.dim() - 1)) * dense[self.places[1]]
        return dense.new_zeros(self.shape[0], *dense.shape[1:]).index_add(0, self.places[0], rows)


def sparse_matrix(indices, values, size=None, **named):
    if size is None or len(size) != 2:
        raise Unsupported("torch.sparse_coo_tensor(indices, values, size): a matrix, with its size, is translated")
    values = torch.as_tensor(values)
    return Sparse(torch.as_tensor(indices), values.to(named["dtype"]) if named.get("dtype") else values, size)


PRODUCTS = (torch.sparse.mm, torch.mm, torch.spmm, torch.matmul, torch.Tensor.matmul, torch.Tensor.mm)


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


def pooled(many):
    def pool(*args, return_indices=False, **named):
        found = pool_with_indices(many)(*args, return_indices=return_indices, **named)
        return found if return_indices else found[0]
    return pool


def averaged(many):
    """Of sums in windows, as products with a filter of ones."""
    def pool(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
        x, window, low = input, spread(kernel_size, many), spread(padding, many)
        if ceil_mode:
            raise Unsupported("a mean in windows with ceil_mode, in a step that has gradients inside")
        channels = x.shape[-many - 1]
        ones = torch.ones(channels, 1, *window, dtype=x.dtype)
        sums = lambda v: getattr(torch.nn.functional, f"conv{many}d")(v, ones, None, stride or window, low, 1, channels)
        count = divisor_override or (math.prod(window) if count_include_pad else sums(torch.ones_like(x)))
        return sums(x) / count
    return pool


def power_means(many):
    def pool(input, norm_type, kernel_size, stride=None, ceil_mode=False):
        if math.isinf(norm_type):
            sign = math.copysign(1, norm_type)
            return sign * pooled(many)(sign * input.abs(), kernel_size, stride, 0, 1, ceil_mode)
        total = averaged(many)(input.pow(norm_type), kernel_size, stride, 0, ceil_mode, divisor_override=1)
        return (total.sign() * total.abs().relu()).pow(1 / norm_type)
    return pool


def new_sizes(x, size, many):
    return [n if m is None else m for n, m in zip(x.shape[-many:], spread(size, many))]


def adaptive_means(many):
    def pool(input, output_size):
        x = input
        for d, m in enumerate(new_sizes(x, output_size, many), -many):
            x = (x.transpose(d, -1) @ averages(x.shape[d], m).T.to(x.dtype)).transpose(d, -1)
        return x
    return pool


def largest(x, of_nans):
    """Where the first maximum of the last dim is; with `of_nans` the last NaN, if there is one, whose place torch's pools return."""
    first = x.argmax(-1, keepdim=True)
    if not of_nans:
        return first
    last = torch.where(x.isnan(), torch.arange(x.shape[-1]), -1).amax(-1, keepdim=True)
    return torch.where(last < 0, first, last)


def adaptive_maxima(many, indices=False):
    """Narrow windows repeat their last element; of equal elements the first is the maximum."""
    def pool(input, output_size, return_indices=False):
        x, new = input.unsqueeze(-1), new_sizes(input, output_size, many)
        place = torch.arange(math.prod(input.shape[-many:])).reshape(*input.shape[-many:], 1)
        for d, m in zip(range(-many - 1, -1), new):
            n = input.shape[d + 1]
            ranges = [(i * n // m, -(-(i + 1) * n // m)) for i in range(m)]
            wide = max(e - a for a, e in ranges)
            at = [min(a + k, e - 1) for a, e in ranges for k in range(wide)]
            x, place = ((v if len(at) == n else v.index_select(d, torch.tensor(at))).unflatten(d, (m, wide)).movedim(d, -1).flatten(-2)
                        for v in (x, place))
        best = largest(x.detach(), indices or return_indices)
        values = x.gather(-1, best).squeeze(-1)
        return (values, place.expand(x.shape).gather(-1, best).squeeze(-1)) if indices or return_indices else values
    return pool


def resized(x, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None, antialias=False):
    """By a product along each dim: what becomes of the columns of a unit matrix."""
    many = x.dim() - 2
    for d in range(many):
        alone = lambda v: None if v is None else [spread(v, many)[d] if e == d else 1 for e in range(many)]
        n = x.shape[d + 2]
        unit = torch.eye(n, dtype=x.dtype).reshape(1, n, *alone(n))
        with torch._C.DisableTorchFunction():
            matrix = torch.nn.functional.interpolate(unit, alone(size), alone(scale_factor), mode, align_corners,
                                                     recompute_scale_factor, antialias).reshape(n, -1)
        x = (x.transpose(d + 2, -1) @ matrix).transpose(d + 2, -1)
    return x


def pool_with_indices(many):
    """The first maximum of each window, and its place in the last `many` dims."""
    def pool(x, window, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=True):
        window, low, dilation = (spread(v, many) for v in (window, padding, dilation))
        stride, old = spread(stride or window, many), x.shape[-many:]
        reach = [(w - 1) * d + 1 for w, d in zip(window, dilation)]
        new = []
        for n, r, s, a in zip(old, reach, stride, low):
            size = (n + 2 * a - r + (s - 1 if ceil_mode else 0)) // s + 1
            new.append(size - (ceil_mode and (size - 1) * s >= n + a))  # a window begins inside or before
        sides = [v for n, m, r, s, a in zip(old, new, reach, stride, low) for v in (max((m - 1) * s + r - n - a, 0), a)][::-1]
        place = torch.arange(math.prod(old)).reshape(old)
        padded = torch.nn.functional.pad(x, sides, value=float("-inf")), torch.nn.functional.pad(place, sides)
        each = [[v[(..., *(slice(k * d, k * d + (m - 1) * s + 1, s) for k, d, m, s in zip(at, dilation, new, stride)))]
                 for at in itertools.product(*map(range, window))] for v in padded]
        values, places = torch.stack(each[0], -1), torch.stack(each[1], -1)
        best = largest(values.detach(), return_indices)
        return values.gather(-1, best).squeeze(-1), places.expand(values.shape).gather(-1, best).squeeze(-1)
    return pool


def unpooled(many):
    def unpool(x, indices, window, stride=None, padding=0, output_size=None):
        window, low = spread(window, many), spread(padding, many)
        stride = spread(stride or window, many)
        new = list(output_size)[-many:] if output_size else [
            (n - 1) * s - 2 * a + w for n, s, a, w in zip(x.shape[-many:], stride, low, window)]
        zeros = x.new_zeros(*x.shape[:-many], math.prod(new))
        return zeros.scatter(-1, indices.flatten(-many), x.flatten(-many)).reshape(*x.shape[:-many], *new)
    return unpool


def grid_sample(x, grid, mode="bilinear", padding_mode="zeros", align_corners=None):
    """Of three dims; torch itself decomposes that of two."""
    if x.dim() != 5:
        with torch._C.DisableTorchFunction():
            return torch.nn.functional.grid_sample(x, grid, mode, padding_mode, align_corners)
    at = []
    for i, n in enumerate(x.shape[:1:-1]):  # x, y, z
        p = grid[..., i]
        p = (p + 1) / 2 * (n - 1) if align_corners else ((p + 1) * n - 1) / 2
        if padding_mode == "reflection":
            low, span = (0, n - 1) if align_corners else (-0.5, n)
            away = (p - low).abs()
            p = away.remainder(2 * span) if span else torch.zeros_like(p)
            p = torch.where(p > span, 2 * span - p, p) + low
        at.append(p.clamp(0, n - 1) if padding_mode != "zeros" else p)
    corner = [p.floor() for p in at] if mode == "bilinear" else [p.round() for p in at]
    flat, total = x.flatten(2), 0
    for add in itertools.product((0, 1), repeat=3) if mode == "bilinear" else [(0, 0, 0)]:
        place, weight = 0, 1
        for p, c, k, n in zip(at[::-1], corner[::-1], add, x.shape[2:]):
            q = (c + k).detach()
            weight = weight * ((1 - (p - q).abs()) if mode == "bilinear" else 1) * ((q >= 0) & (q < n)).to(x.dtype)
            place = place * n + q.clamp(0, n - 1).long()
        chosen = flat.gather(2, place.flatten(1).unsqueeze(1).expand(-1, x.shape[1], -1))
        total = total + chosen.reshape(*x.shape[:2], *grid.shape[1:4]) * weight.unsqueeze(1)
    return total


def padded_front(x, value, many):
    return torch.nn.functional.pad(x, (many, 0), value=value)


def fill_diagonal(x, value, wrap=False):
    if wrap or x.dim() != 2:
        raise Unsupported("fill_diagonal_ is of matrices, without wrap")
    return x.copy_(torch.where(torch.eye(*x.shape, dtype=torch.bool), value, x))


def fake_quantized(x, scale, zero, low, high):
    """Rounded to steps; the gradient is that of a clamp."""
    place = torch.round(x.detach() / scale) + zero
    y = (place.clamp(low, high) - zero) * scale
    return torch.where((place >= low) & (place <= high), x + (y - x).detach(), y)


def fake_quantized_channels(x, scale, zero, axis, low, high):
    shape = [-1 if d == axis % x.dim() else 1 for d in range(x.dim())]
    return fake_quantized(x, scale.detach().reshape(shape), zero.reshape(shape), low, high)


def counts(x, weights=None, minlength=0):
    if not minlength:
        raise Unsupported("bincount: give minlength, the number of classes, which then does not depend on data")
    chosen = x[:, None] == torch.arange(minlength)
    return chosen.sum(0) if weights is None else torch.where(chosen, weights[:, None], 0).sum(0)


def dropped_channels(x, p=0.5, training=True, inplace=False):
    """A mask for each channel of each row; as a dropout, it is off while a program evaluates."""
    y = x * torch.nn.functional.dropout(torch.ones(*x.shape[:2], *[1] * (x.dim() - 2), dtype=x.dtype), p, training)
    return x.copy_(y) if inplace else y


def dropped_channels_1d(x, p=0.5, training=True, inplace=False):
    y = dropped_channels(x.unsqueeze(0) if x.dim() == 2 else x, p, training)
    return x.copy_(y.reshape(x.shape)) if inplace else y.reshape(x.shape)


def dropped_rows(x, p, mode, training=True):
    """torchvision's stochastic_depth."""
    if not training or p == 0:
        return x
    size = x.shape[:1] if mode == "row" else [1]
    return x * torch.nn.functional.dropout(torch.ones(*size, *[1] * (x.dim() - 1), dtype=x.dtype), p)


def distinct(*args, **named):
    raise Unsupported("unique: how many values there are depends on data; with known classes, use bincount with minlength or "
                      "a mask for each class")


def of_each(name):
    """torch._foreach_add_ as Tensor.add_ of each: lists have an element for each, other arguments are those of all."""
    one = {"norm": torch.linalg.vector_norm}.get(name) or getattr(torch.Tensor, name, None)

    def made(tensors, *args, **named):
        many = len(tensors)
        return [one(x, *[a[i] if isinstance(a, (list, tuple)) else a for a in args], **named)
                for i, x in zip(range(many), tensors)]
    return made if one else None


EACH = {getattr(torch, name): of_each(name.removeprefix("_foreach_")) for name in dir(torch) if name.startswith("_foreach_")}


TENSOR = torch.tensor


def made_of_numbers(data, **named):
    """In a graph inside the step a tensor cannot be a constant."""
    if not torch.compiler.is_dynamo_compiling() or isinstance(data, torch.Tensor):
        return TENSOR(data, **named)
    if isinstance(data, (list, tuple)):
        return torch.stack([made_of_numbers(x, **named) for x in data])
    known = {bool: torch.bool, int: torch.int64}.get(type(data), torch.get_default_dtype())
    return torch.full((), data, dtype=named.get("dtype") or known)


def loop_of_tensors(test, body, carried, more=()):
    """Numbers become tensors."""
    made = lambda found: tuple(made_of_numbers(x) if isinstance(x, (int, float)) else x for x in found)
    return torch.ops.higher_order.while_loop(test, lambda *v: made(body(*v)), made(carried), more)


REPLACED = {**{f: made for f, made in EACH.items() if made},
            torch.nn.functional.gaussian_nll_loss: gaussian_nll, torch.cov: covariance, torch.corrcoef: correlation,
            torch.nn.functional.ctc_loss: ctc, torch.linalg.lstsq: least_squares, torch.Tensor.fill_diagonal_: fill_diagonal,
            torch.fake_quantize_per_tensor_affine: fake_quantized, torch.fake_quantize_per_channel_affine: fake_quantized_channels,
            torch.nn.functional.grid_sample: grid_sample,
            **{getattr(torch.nn.functional, f"max_pool{n}d_with_indices"): pool_with_indices(n) for n in (1, 2, 3)},
            **{getattr(torch.nn.functional, f"max_unpool{n}d"): unpooled(n) for n in (1, 2, 3)},
            **{getattr(torch.nn.functional, f"adaptive_max_pool{n}d"): adaptive_maxima(n) for n in (1, 2, 3)},
            **{getattr(torch.nn.functional, f"adaptive_max_pool{n}d_with_indices"): adaptive_maxima(n, True) for n in (1, 2, 3)},
            torch.sparse_coo_tensor: sparse_matrix, torch.ops.higher_order.while_loop: loop_of_tensors,
            torch.bincount: counts, torch.Tensor.bincount: counts,
            torch.nn.functional.dropout1d: dropped_channels_1d, torch.nn.functional.dropout2d: dropped_channels,
            torch.nn.functional.dropout3d: dropped_channels,
            **{f: distinct for f in (torch.unique, torch.Tensor.unique, torch.unique_consecutive, torch.Tensor.unique_consecutive)}}

# In a step that has gradients inside: what torch differentiates by a function that it does not differentiate again.
TWICE = {torch.nn.functional.interpolate: resized,
         **{getattr(torch.nn.functional, f"{name}_pool{n}d"): made(n) for n in (1, 2, 3) for name, made in (
             ("max", pooled), ("avg", averaged), ("lp", power_means), ("adaptive_avg", adaptive_means))}}
