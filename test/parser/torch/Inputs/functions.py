"""functions.py DOPT SCRATCH: functions of torch, one a line, each with its gradients: three steps of gradient descent in the
interpreter against those of torch, all in f64. z is what a linear layer makes, [18, 4]; y is data."""
import concurrent.futures
import math
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve()
sys.path += [str(HERE.parents[4] / "docs" / "python"), str(HERE.parents[2] / "Inputs")]

import attempts
import torch
import torch.nn.functional as F
from dopt import from_torch
from torch._higher_order_ops import associative_scan, map as torch_map, scan, while_loop
from torch.distributions import Categorical, Normal
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from torch.utils.checkpoint import checkpoint

F64 = torch.float64
STEPS, RATE, TOLERANCE = 3, 0.05, 1e-6
NUMBERS = lambda g: torch.randn(18, 4, generator=g).double()
ADAPTIVE = torch.nn.AdaptiveLogSoftmaxWithLoss(4, 9, [3, 6], div_value=2.0, dtype=torch.float64).requires_grad_(False)
SHARES = lambda g: torch.rand(18, 4, generator=g).double()


def below(n, *columns):
    return lambda g: torch.randint(0, n, (18, *columns), generator=g)


def set_rows(z, y):
    w = z.clone()
    w[torch.arange(5), torch.tensor([0, 1, 2, 3, 0])] = 0.0
    w[y[:1]] = 1.0
    return w.square().mean()


def set_slices(z, y):
    w = torch.zeros(18, 8).double()
    w[:, ::2] = z
    w[:, 1::2] = y
    w[3:5, 0] += 1
    w[w > 3] = 3
    w[:, -1].mul_(0.5)
    w[5:5, :4] = y[:0]  # nothing
    return torch.cat([w, w[4:4], torch.zeros(0, 8)]).square().mean()


def chosen(z, y):
    """Rows and elements that masks choose."""
    k = y[:, 0] > 0
    kept, w = z[k], z.clone()
    w[k] = kept * 2
    found = z[z > 0].log().mean() + z[z < 0].sum() / (z < 0).sum() + kept.amax() + kept.norm() + kept.std() + kept.shape[0]
    found = found + kept[:, 1:3].softmax(-1).square().mean(1).sum() + F.normalize(z[y[:, 0] > 0], dim=-1).mean(0).square().sum()
    found = found + torch.masked_select(z, y > 1).sum() + z[k, 1].sigmoid().prod() + w.square().mean()
    return found + F.binary_cross_entropy_with_logits(kept, (y[k] > 0).to(F64), reduction="sum") / kept.shape[0]


def chosen_labels(z, y):
    return F.cross_entropy(z[y != 3], y[y != 3]) + F.cross_entropy(z, y, reduction="none")[y > 0].mean()


def chosen_options(z, y):
    """Sums of what a mask chooses, with options by place and by name."""
    k = y[:, 0] > 0
    v = z[k]
    total = v.norm(1) + v.norm(p=1) + torch.norm(v, 3) + v.norm(1, 0).square().sum() + torch.linalg.vector_norm(v, 1, 0).sum()
    total = total + torch.norm(v, p=float("inf")) + v.norm("fro", 0, True).square().sum() + v.norm(1, -1).square().mean()
    total = total + v.var(0, False).sum() + v.std(0, False).sum() + v.var(False) + v.var(0, correction=2).sum()
    total = total + v.std(unbiased=False) + v.var(0, False, True).square().sum() + v.std(0, correction=0).sum()
    total = total + (v.sum(0, True) * v.mean(0, True)).sum() + v.logsumexp(0, True).square().sum() + (v > 0).any(0).sum() * z.mean()
    total = total + v.amax(0, True).mean() * v.amin(0).mean() + v[:, 1].prod(0, keepdim=True).sum()
    return total + v.std(-1).mean() + v.var(-1, False).sum()


def chosen_classes(z, y):
    k = y != 3
    weight = torch.arange(1.0, 5, dtype=F64)
    given = torch.where(y == 2, -100, y)[k]
    total = F.cross_entropy(z[k], y[k], label_smoothing=0.1) + F.cross_entropy(z[k], y[k], weight)
    total = total + F.cross_entropy(z[k], y[k], weight=weight, label_smoothing=0.2) * 2
    total = total + F.nll_loss(z[k].log_softmax(-1), y[k], weight, reduction="sum")
    total = total + F.l1_loss(z[k, 0], y[k] * 1.0, None, None, "sum")
    return total + F.cross_entropy(z[k], given, weight) + F.cross_entropy(z[k], given) + F.cross_entropy(z[k], y[k], ignore_index=0)


def routed(z, y):
    """Experts take the rows that are theirs."""
    weight, expert = z.softmax(-1).topk(2, -1)
    total = torch.zeros_like(z)
    for e in range(4):
        row, place = torch.where(expert == e)
        total.index_add_(0, row, torch.tanh(z[row] * (e + 1)) * weight[row, place, None])
    return (total - y).square().mean()


def packed(kind):
    """A recurrent network whose parameters are made of z, over sequences of several lengths."""
    net = getattr(torch.nn, kind)(4, 3, 1, bidirectional=True).double().requires_grad_(False)

    def step(z, y):
        rows = pack_padded_sequence(z.view(3, 6, 4), y[:6] % 3 + 1, enforce_sorted=False)
        out, last = net(rows)
        padded, lengths = pad_packed_sequence(out, total_length=4, padding_value=0.5)
        last = last[0] + last[1] if kind == "LSTM" else last
        return padded.square().mean() + out.data.mean() + last.square().sum() + lengths.sum()
    return step


def diagonal_filled(z, y):
    w = z @ z.T
    w.fill_diagonal_(-1.0)
    return w.tanh().mean()


class Sign(torch.autograd.Function):
    """A gradient of its own: that of a clamp."""

    @staticmethod
    def forward(ctx, x, factor):
        ctx.save_for_backward(x)
        ctx.factor = factor
        return x.sign() * factor

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return g * ctx.factor * (x.abs() <= 1), None


sign = Sign.apply


def slope_with_constants(z, y):
    v = (y * 0.5).requires_grad_()
    factor = torch.tensor([1.0, 2.0, 3.0, 4.0])
    return (torch.autograd.grad((v * z * factor).tanh().sum(), v, create_graph=True)[0] * factor).square().mean()


def penalty(*layers):
    """Gradients of gradients through layers; of z as images of two channels."""
    def function(z, y):
        x = z.reshape(1, 2, 6, 6)
        at = 0
        for layer in layers:  # filters from data
            x = layer(x, y.flatten()[at:at + 32])
            at += 8
        grad, = torch.autograd.grad(x.tanh().sum(), z, create_graph=True)
        return grad.square().mean() + x.square().mean()
    return function


def filters(w, *shape):
    return w[:math.prod(shape)].reshape(shape)


def stopped_slopes(z, y):
    """Gradients inside a step that are constants to its own."""
    x = y.detach().requires_grad_()
    total = sum(f(x * 2).sum() for f in (F.silu, F.mish, F.softshrink, F.hardshrink))
    return (z - torch.autograd.grad(total, x)[0]).square().mean()


def complex_input(z, y):
    x = torch.exp(1j * z) * (0.5 - 2j) * y + y * y
    return F.linear(x, y[:3], y[3, :3]).abs().square().mean() + (2j * F.linear(x.conj(), y[:3])).imag.square().mean()


def checkpointed(z, y):
    """Checkpoints, of both kinds, and inside each other."""
    again = lambda f, x, reentrant=False: checkpoint(f, x, use_reentrant=reentrant)
    inside = lambda x: again(torch.sin, x * y.exp().clamp(max=2)) * again(torch.tanh, x + z)
    return again(inside, again(torch.sigmoid, z, True)).square().mean()


def looping(z, y):
    """As long as data says, and what follows has gradients of what the loop has found."""
    x = z.detach()
    n, root = while_loop(lambda n, r: ((r * r - y.exp()).abs().max() > 1e-6) & (n < 99), lambda n, r: (n + 1, (r + y.exp() / r) / 2),
                         (torch.tensor(0), x.abs() + 1))
    near = while_loop(lambda p: p.sum() < 18.05, lambda p: ((p * 2 + x).softmax(-1) * p.sum() / 17.98,), (x.softmax(-1),))[0]
    return (z * root.detach() + near.detach() + n).square().mean()


def more_looping(z, y):
    """Loops that carry numbers and complex numbers, make tensors of numbers, and have loops inside."""
    factor = lambda v: v * torch.tensor([0.5, 1.0, 1.5, 0.25])
    small = while_loop(lambda n, v: n < 3, lambda n, v: (n + 1, factor(v)), (0, z.detach()))[1]
    again = lambda n, v: while_loop(lambda k, w: k < n + 2, lambda k, w: (k + 1, w * 1.1), (torch.tensor(0), v))[1]
    wide = while_loop(lambda n, v: n < 3, lambda n, v: (n + 1, again(n, v) + 1), (torch.tensor(0), z.detach()))[1]
    far = while_loop(lambda v: v.abs().max() < 9, lambda v: (v * (1 + 0.5j),), (torch.complex(z, y).detach(),))[0]
    return (z * (small + wide + far.real)).square().mean()


def complex_products(z, y):
    """Products of more than two factors, and of a factor with itself."""
    c = torch.complex(z[:4], y[:4])
    total = (c @ c).abs().sum() + (c * c * c).imag.sum() + torch.linalg.matrix_power(c, 3).abs().mean()
    return total + torch.einsum("ij,ij,kj->k", c, c, c.conj()).abs().sum() + torch.einsum("ij,kj,kl->il", c, c, c).real.square().mean()


def complex_functions(z, y):
    c = torch.complex(z, y)
    total = c.log().real.mean() + c.sqrt().abs().sum() + c.tanh().abs().mean() + c.sigmoid().abs().sum() + (c.sin() + c.cos()).abs().sum()
    total = total + c.sinh().real.sum() + c.cosh().imag.sum() + c.pow(2.5).abs().mean() + (c ** c.conj()).abs().mean() + (2 ** c).abs().mean()
    total = total + c.var().abs() + c.flip(0).cumsum(0).abs().sum() + torch.linalg.vector_norm(c) + (c != 0).sum() * c.imag.mean()
    a = c[:4] + 3 * torch.eye(4)
    total = total + torch.linalg.solve(a, c[4:8]).abs().sum() + torch.linalg.det(a).real + torch.linalg.slogdet(a)[1] + torch.linalg.inv(a).imag.sum()
    total = total + torch.linalg.cholesky(c.mH @ c + torch.eye(4)).imag.sum() + (a == c[0]).sum() * c.isnan().sum() * z.mean()
    return total / 1000


def factored(z, y):
    """Factors with pivots, of square, tall and wide matrices."""
    a, more = z[:4] + 3 * torch.eye(4, dtype=F64), z.view(2, 4, 9)
    p, low, up = torch.linalg.lu(z)
    lu, pivots = torch.linalg.lu_factor(a)
    total = low.square().sum() + up.cos().sum() + p[:, 0].sum() * z.mean() + torch.linalg.lu_factor(more)[0].sin().sum()
    total = total + torch.linalg.lu_solve(lu, pivots, y[:4]).square().sum() + torch.lu_unpack(lu, pivots)[2].sum()
    return total + (torch.linalg.lu_solve(lu, pivots, y[:4], adjoint=True) - torch.linalg.lu_solve(lu, pivots, y, left=False).sum()).mean()


def complex_matrices(z, y):
    """Of eigenvectors and singular vectors, what does not depend on their phase."""
    c, w = torch.complex(z, y), torch.complex(y, z.detach() * 0 + 0.5)[:4]
    a = c.view(3, 6, 4).mH @ c.view(3, 6, 4)
    value, vector = torch.linalg.eigh(a)
    total = (((vector * (value + 1).log().unsqueeze(-2)) @ vector.mH) * w).real.sum()
    for x in (c[:4], c[:3]):
        u, s, vh = torch.linalg.svd(x, full_matrices=False)
        total = total + (((u * (s + 1).log()) @ vh) * w[:len(x)]).imag.sum() + torch.linalg.pinv(x).abs().square().sum() / 9
        q, r = torch.linalg.qr(x)
        total = total + q.real.sin().sum() + r.abs().square().cos().sum()
    total = total + torch.linalg.matrix_norm(c, "nuc") + torch.linalg.eigvalsh(a).sqrt().sum()
    low, up = torch.linalg.lu(c[:4] + 3 * torch.eye(4))[1:]
    return total + (low * w).imag.sum() + (up @ w).abs().sum()


def complex_convolutions(z, y):
    c = torch.complex(z, y)
    total = F.conv1d(c.view(2, 4, 9), c[:8].view(4, 4, 2), c[0], padding=1).abs().sum()
    return total + F.conv2d(c[:16].view(1, 4, 4, 4), c[:4].view(2, 2, 2, 2), groups=2, stride=2).real.square().sum()


def bessel(z, y):
    """On both sides of 30, where a series takes the place of an integral."""
    special = torch.special
    total = sum((f(z.tanh() * 9) * y).mean() for f in (special.i0, special.i0e, special.i1, special.i1e))
    return total + (special.i0e(z * 40) * y + special.i1e(z * 40)).mean() + torch.i0(z * torch.zeros(4, dtype=F64)).sum()


def incomplete(z, y):
    """Small and large, equal, and zero."""
    many = torch.tensor([0.01, 0.5, 1, 900], dtype=F64)
    total = (torch.special.gammainc(y.abs() * 3 + 0.1, z.exp() * 2) * y).mean() + torch.igammac(y.abs() * 30 + 0.1, z.exp() * 20).mean()
    total = total + torch.special.gammaincc(many, z.exp() * many).square().mean() + (torch.igamma(many, many) * z).mean()
    return total + torch.igamma(many + 2, (z * torch.tensor([0, 1, 0, 0.5], dtype=F64)).abs()).sum()


def zetas(z, y):
    special = torch.special
    total = special.zeta(y.abs() + 1.1, z.exp() + 0.1).mean() + special.zeta(3.0, z.exp() + 0.2).mean()
    total = total + (special.zeta(torch.tensor([1.5, 2, 1, 7], dtype=F64), 1.5)[[0, 1, 3]] * z[:, :3]).sum()
    return total + torch.polygamma(3, z.exp() + 0.3).mean() + (torch.polygamma(2, y * 3 - 1).tanh() * z).mean()


def of_integers(z, y):
    """What torch computes in f32 then."""
    special, k = torch.special, y + 1
    functions = (special.i0, special.i0e, special.i1, special.i1e, torch.lgamma, torch.digamma, torch.sinc, torch.log10, torch.angle,
                 special.erfcx, special.log_ndtr, special.entr, special.ndtr, torch.erf, torch.exp2, torch.isnan)
    total = sum((f(k) * z).mean() for f in functions) + sum((torch.polygamma(n, k) * z).mean() for n in range(3))
    total = total + ((torch.erfinv(k // 4) + special.ndtri(k // 4)).isinf() * z).sum() + (torch.copysign(k, -k) * z).mean()
    for f in (special.zeta, special.xlogy, special.xlog1py):
        total = total + ((f(k + 1, k) + f(2.5, k) + f(k + 1, 2.5) + f(k + 1, y.double() + 0.3)) * z).mean()
    return total


def special_limits(z, y):
    """Where values are infinite, or are not numbers."""
    def values(x):
        return (z * x.nan_to_num(7, 8, 9)).mean()
    special, inf = torch.special, torch.inf
    far, whole, total = torch.tensor([[1e308], [-1e308], [inf], [-inf]], dtype=F64), 0 - torch.arange(4.0, dtype=F64), 0
    for f in (special.i0, special.i0e, special.i1, special.i1e, torch.lgamma, torch.digamma, torch.erfinv, special.ndtri):
        total = total + sum(values(f(x)) for x in (*far, whole))
    total = total + sum(values(special.zeta(s, torch.tensor([-1, -15, 0, inf], dtype=F64))) for s in (2.0, 2.5)) \
        + values(torch.polygamma(2, whole))
    for f in (torch.igamma, torch.igammac):
        total = total + values(f(torch.tensor([0.5, 2, 0, inf], dtype=F64), far[2])) + values(f(far[2], y[0].abs())) \
            + values(f(torch.tensor([0.5, 1, 2, inf], dtype=F64), torch.zeros(4, dtype=F64)))
    return total + torch.igamma(torch.tensor([2, 2, 2, 3], dtype=F64), z.abs() * torch.tensor([0, 0, 0, 1.0], dtype=F64)).sum()


def long_einsum(z, y):
    """Products of two at a time; more letters than the alphabet has."""
    pairs = [chr(k) + chr(k + 1) for k in (*range(65, 90), *range(97, 110))]
    chain = torch.einsum(",".join(pairs) + "->Ae", *[(z if k % 2 else y)[k % 14:k % 14 + 4] / 2 for k in range(len(pairs))])
    return chain.tanh().sum() + torch.einsum("...B,bB,cB->b...c", z.view(3, 6, 4), y[:3], z[:2]).square().mean() \
        + torch.einsum("aab,bc,ac,xy->ay", z[:16].view(4, 4, 4), y[:4], z[:4], y[4:9]).cos().sum()


def averaged(z, y, model):
    """An average as many write it: a new .data."""
    model.slow.data = 0.9 * model.slow.data + 0.1 * z.detach().mean(0)
    return ((z - model.slow) * y).square().mean()


def known_masks(z, y):
    """Masks of numbers of elements choose as many in each step; their values are there."""
    s, label = z[:6] @ z[:6].T, torch.cat([torch.arange(3)] * 2)
    mask = torch.eye(6, dtype=torch.bool)
    same = (label[None] == label[:, None])[~mask].view(6, -1)
    s = s[~mask].view(6, -1)
    logits = torch.cat([s[same].view(6, -1), s[~same].view(6, -1)], 1)
    upper = torch.ones(4, 4, dtype=torch.bool).triu(1)
    upper[0, 1] = False
    factor = 2.0 if upper.sum().item() == 5 else 0.0
    return F.cross_entropy(logits, torch.zeros(6, dtype=torch.long)) + factor * torch.masked_select(z[:4], upper).std() \
        + z[:4][upper.nonzero(as_tuple=True)].view(5, 1).repeat(1, 1, 1, 1, 1, 3).square().sum()


def written_masks(z, y):
    """Writes of constants, of which the values stay known, also through views, and by operators."""
    m, k = torch.eye(4, dtype=torch.bool), torch.arange(4)
    m |= torch.arange(4) > 2
    m[1:] ^= torch.arange(4) > 1
    m.t()[0].logical_not_()
    torch.logical_and(m, k[:, None] < 3, out=m)
    k[1:] += 3
    k //= 2
    k <<= 1
    none = torch.zeros(4, dtype=torch.bool)
    total = z[:4][none].square().sum() + torch.masked_select(z[:4], none).sum() + z[torch.nonzero(none).squeeze(1)].sum()
    return total + z[:4][m].view(5).square().cumsum(0).sum() + z[k].view(4, 2, 2).sin().sum() + z[:4][k > 2].cumsum(0).square().sum()


def overwritten_masks(z, y):
    """Writes of what depends on data, or of whose writes torch keeps no count."""
    total, masks = 0, [torch.arange(4) < 1 for _ in range(7)]
    with torch.inference_mode():
        last = torch.arange(4) > 2
    masks[6] |= last
    masks[0] |= y[0] > 0
    masks[1][1:] &= y[0, 1:] > 0
    torch.gt(y[1], 0, out=masks[2])
    masks[3].data = y[2] > 0
    masks[4].unbind(0)[3].copy_(y[3, 0] > -9)
    torch._foreach_add_(masks[5:6], [y[4] > 0])
    for i, m in enumerate(masks):
        total = total + z[i:i + 4][m].square().sum() * (i + 1)
    return total


def written_with_slope(z, y):
    """In a step that has gradients inside."""
    m = torch.arange(4) < 2
    v = (y * 0.5).requires_grad_()
    m ^= torch.arange(4) > 0
    return torch.autograd.grad((v[:4][m] * z[:4][m]).tanh().sum(), v, create_graph=True)[0].square().mean()


def complex_limits(z, y):
    """Powers of 0 and others, of which the first have gradients there, and curves far from 0."""
    zero, c = (torch.arange(18) % 3 == 0)[:, None], torch.complex(z, y)
    w = c - torch.where(zero, c, 0).detach()
    total = sum((w ** p).real.sum() + (w ** p).imag.sum() for p in (0, 1, 2, 3))
    total = total + w.angle().sum() + (w.sgn() * (1 - 2j)).real.sum() + (z.sgn() * z).sum()
    w = torch.where(zero, 0, c)
    total = total + sum((w ** p).real.sum() + (w ** p).imag.sum() for p in (0.5, 2.5, 1 + 1j, y.abs() + 1, c * 0 + 1.5))
    total = total + w.sqrt().real.sum() + sum((torch.tanh(torch.complex(z * far, y)) * (1 - 2j)).real.sum() / far
                                             + (torch.sigmoid(torch.complex(z.abs() * far - 1, y)) * (1 - 2j)).real.sum() / far
                                             for far in (1, 1000))  # PyTorch has NaNs for a sigmoid far below 0
    return total / 500


def adapted(z, y):
    """Steps of gradient descent inside the step, by torch.func."""
    loss, w = lambda w: (torch.tanh(y @ w) - 0.5).square().mean(), z[:4]
    for _ in range(3):
        slope, value = torch.func.grad_and_value(loss)(w)
        w = w - 0.3 * slope * value
    out, back = torch.func.vjp(lambda v: v.sin().cumsum(0), w)
    return loss(w) + (back(y[:4])[0] * out).mean()


def with_gaps(z, y):
    """Medians of what has NaNs."""
    w = torch.where(y > 1, float("nan"), z)
    return (w.median(0)[0].nansum() + w.median(1, True)[0].nansum() + w.nanmedian(0)[0].nansum() + w.nanmedian(1)[0].nansum()
            + torch.nanmedian(w) + torch.median(z) + w.nanmedian(0)[1].sum() * z.mean() + torch.nanquantile(w, 0.4, 1).nansum())


def places(z, y):
    at = torch.nonzero_static(y > 1, size=9, fill_value=0)
    total = z[at[:, 0], at[:, 1]].square().sum() + torch.combinations(z[:4, 0], 2).prod(1).sum() + (torch.signbit(z) * y).sum()
    return total + torch.repeat_interleave(z, y[:, 0].argsort() % 3, 0, output_size=18).cumsum(0).square().mean()


def outside_of_gradients(z, y):
    w = z * 2
    w.detach_()
    return ((z + z.data.tanh()) * w).square().mean()


def stopped(z, y):
    with torch.no_grad():
        target = torch.tanh(z + y)
    return (z - target).square().mean()


def stopped_with_slope(z, y):
    """Several results, and complex ones, under no_grad in a step that has gradients inside."""
    v = (y * 0.5).requires_grad_()
    slope = torch.autograd.grad((v * z).tanh().sum(), v, create_graph=True)[0]
    with torch.no_grad():
        best, most, parts = z.topk(2, -1)[0], z.max(1)[0], z.split(2, -1)
        turned = torch.view_as_complex(z.view(18, 2, 2)) * 2
    return slope.square().mean() + (z[:, :2] * (best + parts[1] + turned.real)).sum() + (z[:, 0] * most).mean()


def some_rows(z):
    """Every third row is 0."""
    return z * (torch.arange(18) % 3 > 0)[:, None]


def deviations(z, y):
    """Of all and of rows, some of which do not vary: their gradient is 0."""
    w = some_rows(z)
    total = torch.std_mean(w, 1, correction=0)[0].sum() + torch.var_mean(z, 0, unbiased=False)[0].sum()
    total = total + torch.std_mean(z, unbiased=False)[0] + z.std(unbiased=False) + z.var(False) + z.var(correction=2)
    square = z[:4] * 1  # a size that broadcasts with any dim of it
    total = total + (square / square.std(1, False, True)).square().mean()
    total = total + (z - z.var(1, unbiased=False, keepdim=True)).square().mean()
    return total + w.std(-1).sum() + torch.var_mean(z, 1, correction=2)[1].square().sum() + (w * 0).std()


def at_limits(z, y):
    """Where functions have no derivative, or infinite parts."""
    w, one = some_rows(z), torch.ones(4, dtype=F64)
    total = w.clamp(0, 1).sum() + w.clamp(min=0).sum() + w.clamp_max(0).sum() + F.relu6(w).sum() + F.hardtanh(w + 1).sum()
    total = total + w.clamp(0 * one, one).sum() + torch.clamp(w, max=0 * one).sum() + F.logsigmoid(w * 100).mean()
    total = total + (w ** 0).sum() + w.norm(0.5, -1).sum() + torch.sinc(w).sum() + F.celu(w * 1e3).sum()
    total = total + F.hinge_embedding_loss(w + 1, -one)
    total = total + F.binary_cross_entropy((z * 50).sigmoid(), (y > 0).double())
    total = total + torch.special.log_ndtr(w * 50).mean() + torch.special.erfcx(z.abs() * 40).sum()
    return total / 500


def not_a_number(z, y):
    """A norm of what has a NaN is one."""
    w = torch.where(y > 2, float("nan"), z)
    found = (w.norm(dim=-1), w.norm(3, -1), w.norm(), w.std(-1))
    return z.square().sum() + sum(torch.where(v.isnan(), 0.1, 0.2).sum() for v in found)


def of_lists(z, y):
    a, b = [z * 1, z[:3] * 2], [y, y[:3]]
    torch._foreach_add_(a, b, alpha=0.5)
    torch._foreach_lerp_(a, b, 0.3)
    total = sum(v.square().sum() for v in torch._foreach_mul(a, [2.0, 3.0])) + sum(torch._foreach_norm(a, 1))
    torch._foreach_zero_(b)
    return (total + sum(v.sum() for v in (*torch._foreach_sqrt(torch._foreach_exp(a)), *b))) / 100


def of_bools(z, y):
    k = y > 0
    total = k.max() + k.min() + k.amax(1).sum() + k.max(1)[0].sum() + k.max(1)[1].sum() + k.cumprod(0).sum()
    total = total + k.cumprod(1).bool().sum()
    total = total + z[y[0].argmax()].sum() * y[torch.tensor(-1)].sum() + z.flip(()).sum() + z.mean() * y.flip(())[0, 0]
    v = (y * 9).long()
    found = torch.searchsorted(torch.tensor([0.5, -0.5, 0.0], dtype=F64), y, sorter=torch.tensor([1, 2, 0]))
    total = total + found.sum() + v.floor().sum() + v.ceil().sum() + v.cummax(0)[0].sum() + torch.fmax(v, v.flip(0)).sum()
    return z.mean() * (total + k.long().argmax() + (v >> 1).sum() + (v << 2).sum() + (v & 5).sum())


def furthest(z, y):
    """Of equal elements the last one has the gradient."""
    w = F.relu(z)
    total = (z.cummax(0)[0] * y).sum() + (w.cummax(1)[0] * y).sum() + (w.cummin(0)[0] * y).sum() + (z.cummin(-1)[1] * z).sum()
    return total + torch.fmax(w, w * y).sum() + torch.fmin(torch.where(y > 1, float("nan"), z), w).sum()


def written(z, y):
    w = z * 1
    w.as_strided((4,), (5,)).mul_(3)
    total = w.square().sum() + torch.zeros(3, 4).double().put(torch.tensor([1, 5, 11]), z[0, :3]).square().sum()
    total = total + z.masked_scatter(y > 0, z * y).square().sum()
    total = total + torch.addbmm(z[:2], z[:6].view(3, 2, 4)[..., :1], y[:3].view(3, 1, 4), alpha=2).sum()
    at = torch.arange(18) % 5
    return total + sum(torch.ones(6, 4).double().index_reduce(0, at, z, how, include_self=inside).square().sum()
                       for how in ("mean", "amax", "amin") for inside in (True, False))


def bags(z, y):
    """Bags of embeddings with an index that is left out, and a last offset."""
    index, at = y[:, 0] + 1, torch.tensor([0, 4, 4, 10])
    total = sum(F.embedding_bag(index, z, at, mode=mode, padding_idx=2).square().sum() for mode in ("sum", "mean", "max"))
    last = torch.tensor([0, 5, 11, 18])
    total = total + F.embedding_bag(index, z, last, mode="mean", include_last_offset=True).square().sum()
    weight = z[:, 1].view(3, 6)
    return total + F.embedding_bag(index.view(3, 6), z, padding_idx=-14, per_sample_weights=weight, mode="sum").square().sum()


def turned(z, y):
    """Complex numbers with types that torch asserts."""
    w, c = torch.view_as_complex(z.view(18, 2, 2)), torch.polar(torch.ones(2), torch.arange(2.0))
    d = torch.complex(z[:, :1], y[0]).abs().sum() + torch.polar(z.exp(), y[:, :1]).real.sum()
    return d + torch.view_as_real(w * c.to(w.dtype)).cumsum(0).square().mean() + z.angle().sum() + (z.square() + 1).log10().sum()


def flexible(z, y):
    """flex_attention of two heads on one, with a mask that leaves nothing to the first row; torch has no gradient of it on CPUs."""
    q, k, v = z.view(1, 2, 9, 4), y.view(1, 2, 9, 4)[:, :1], z.tanh().view(1, 2, 9, 4)[:, :1]
    near, i = lambda b, h, i, j: (i > j) & (i - j < 4), torch.arange(9)
    if torch.compiler.is_exporting():
        from torch.nn.attention.flex_attention import create_block_mask, flex_attention
        out = flex_attention(q, k, v, enable_gqa=True, score_mod=lambda s, b, h, i, j: s + z[i][h] * (i - j) + (z[i] * y[j]).sum(),
                             block_mask=create_block_mask(near, None, None, 9, 9, device="cpu"))
    else:
        scores = q @ k.mT / 2 + z[:9, :2].T[..., None] * (i[:, None] - i) + z[:9] @ y[:9].T
        out = torch.softmax(scores.masked_fill(~near(0, 0, i[:, None], i), -1e9), -1) * (i > 0)[:, None] @ v
    return out.square().mean()


def penalty_and_out(z, y):
    """A penalty of gradients beside F.normalize(out=...), as spectral_norm has it."""
    x = y.detach().requires_grad_(True)
    with torch.no_grad():
        u = F.normalize(z.sum(0), dim=0, out=torch.zeros_like(z[0]))
    grad, = torch.autograd.grad((x * z).tanh().sum(), x, create_graph=True)
    return grad.square().mean() + (z @ u).square().mean()


FUNCTIONS = {
    "adaptive_softmax": (below(9), lambda z, y: ADAPTIVE(z, y).loss),
    "flexible": (NUMBERS, flexible),
    "penalty_and_out": (NUMBERS, penalty_and_out),
    "ctc": (below(4),
         lambda z, y: F.ctc_loss(z.view(6, 3, 4).log_softmax(-1), y[:6].view(3, 2) % 3 + 1, torch.full((3,), 6),
                                    torch.full((3,), 2))),
    "kl": (NUMBERS, lambda z, y: F.kl_div(z.log_softmax(-1), y.softmax(-1), reduction="batchmean")),
    "kl_log": (NUMBERS, lambda z, y: F.kl_div(z.log_softmax(-1), y.log_softmax(-1), log_target=True)),
    "nll": (below(4), lambda z, y: F.nll_loss(z.log_softmax(-1), y)),
    "nll_w": (below(4), lambda z, y: F.nll_loss(z.log_softmax(-1), y, weight=torch.arange(1.0, 5).double(), ignore_index=1)),
    "bce": (SHARES, lambda z, y: F.binary_cross_entropy(z.sigmoid(), y)),
    "bcepos": (SHARES, lambda z, y: F.binary_cross_entropy_with_logits(z, y, pos_weight=torch.arange(1.0, 5).double())),
    "huber": (NUMBERS, lambda z, y: F.huber_loss(z, y, delta=0.5)),
    "smoothl1": (NUMBERS, lambda z, y: F.smooth_l1_loss(z, y, beta=0.3)),
    "l1": (NUMBERS, lambda z, y: F.l1_loss(z, y)),
    "triplet": (NUMBERS, lambda z, y: F.triplet_margin_loss(z, y, y.flip(0))),
    "cosemb": (NUMBERS, lambda z, y: F.cosine_embedding_loss(z, y, torch.where(y[:, 0] > 0, 1, -1))),
    "multimargin": (below(4), lambda z, y: F.multi_margin_loss(z, y)),
    "mlmargin": (SHARES, lambda z, y: F.multilabel_soft_margin_loss(z, y)),
    "mlm2": (below(4, 4), lambda z, y: F.multilabel_margin_loss(z, y)),
    "gnll": (NUMBERS, lambda z, y: F.gaussian_nll_loss(z, y, z.square() + 0.1)),
    "pnll": (SHARES, lambda z, y: F.poisson_nll_loss(z, y, full=True)),
    "margin": (NUMBERS, lambda z, y: F.margin_ranking_loss(z, y, torch.sign(y), 0.2)),
    "hinge": (NUMBERS, lambda z, y: F.hinge_embedding_loss(z, torch.sign(y))),
    "rounded": (NUMBERS, lambda z, y: (z.round(decimals=2) * z + torch.round(z * 100, decimals=-1) * z).sum() + z.round().mean()),
    "softplus": (NUMBERS, lambda z, y: (F.softplus(z, threshold=0.5) * y + F.softplus(z * 2, 0.5, 0.2)
                                        + F.softplus(z, 2)).square().sum()),
    "channels_dropped": (NUMBERS, lambda z, y: F.dropout2d(z.view(3, 6, 2, 2), 1.0).sum() + F.dropout1d(z, 0.0).sum()
                         + F.dropout3d(z.view(1, 2, 3, 3, 4), 0.5, False).square().sum()),
    "softmargin": (NUMBERS, lambda z, y: F.soft_margin_loss(z, torch.sign(y))),
    "ce_smooth": (below(4), lambda z, y: F.cross_entropy(z, y, label_smoothing=0.1)),
    "ce_smooth_w": (below(4), lambda z, y: F.cross_entropy(z, y, label_smoothing=0.1, weight=torch.arange(1.0, 5).double())),
    "ce_prob": (NUMBERS, lambda z, y: F.cross_entropy(z, y.softmax(-1))),
    "ce_prob_s": (NUMBERS,
         lambda z, y: F.cross_entropy(z, y.softmax(-1), label_smoothing=0.1, weight=torch.arange(1.0, 5).double())),
    "ce_sum": (below(4), lambda z, y: F.cross_entropy(z, y, reduction="sum")),
    "ce_none": (below(4), lambda z, y: (F.cross_entropy(z, y, reduction="none") * torch.arange(18)).mean()),
    "ce_2d": (below(4), lambda z, y: F.cross_entropy(z.view(3, 6, 4).mT, y.view(3, 6))),
    "focal": (below(4),
         lambda z, y: ((1 - torch.exp(-F.cross_entropy(z, y, reduction="none"))) ** 2
                       * F.cross_entropy(z, y, reduction="none")).mean()),
    "dice": (SHARES, lambda z, y: 1 - (2 * (z.sigmoid() * y).sum() + 1) / (z.sigmoid().sum() + y.sum() + 1)),
    "clip": (NUMBERS, lambda z, y: F.cross_entropy(F.normalize(z) @ F.normalize(y).T / 0.07, torch.arange(18))),
    "simclr": (NUMBERS,
         lambda z, y: F.cross_entropy((F.cosine_similarity(z[:, None], z[None], -1) / 0.5).masked_fill(
             torch.eye(18, dtype=torch.bool), float("-inf")), torch.arange(18).roll(9))),
    "barlow": (NUMBERS,
         lambda z, y: ((((z - z.mean(0)) / z.std(0)).T @ ((y - y.mean(0)) / y.std(0)) / 18 - torch.eye(4)) ** 2).sum()),
    "pdist": (NUMBERS, lambda z, y: F.pdist(z).mean()),
    "cdist": (NUMBERS, lambda z, y: torch.cdist(z, y).mean()),
    "cdist1": (NUMBERS, lambda z, y: torch.cdist(z, y, p=1).mean()),
    "pairdist": (NUMBERS, lambda z, y: F.pairwise_distance(z, y).mean()),
    "logcosh": (NUMBERS, lambda z, y: torch.log(torch.cosh(z - y)).mean()),
    "quantile": (NUMBERS, lambda z, y: torch.quantile(z - y, 0.3)),
    "quantloss": (NUMBERS, lambda z, y: torch.maximum(0.9 * (y - z), -0.1 * (y - z)).mean()),
    "median": (NUMBERS, lambda z, y: (z - y).median(0).values.sum()),
    "tv": (NUMBERS, lambda z, y: z.diff(dim=0).abs().mean() + y.mean()),
    "logitnorm": (below(4), lambda z, y: F.cross_entropy(z / (z.norm(p=2, dim=-1, keepdim=True) + 1e-07), y)),
    "kldist": (NUMBERS,
         lambda z, y: torch.distributions.kl_divergence(Normal(z, 1 + y * y), Normal(0.0, 1.0)).mean()),
    "categ": (below(4),
         lambda z, y: -Categorical(logits=z).log_prob(y).mean() - 0.01 * Categorical(logits=z).entropy().mean()),
    "bern": (SHARES, lambda z, y: -torch.distributions.Bernoulli(logits=z).log_prob((y > 0.5).double()).mean()),
    "ppo": (NUMBERS, lambda z, y: -torch.min(torch.exp(z - y) * y, torch.clamp(torch.exp(z - y), 0.8, 1.2) * y).mean()),
    "beta": (SHARES, lambda z, y: -torch.distributions.Beta(z.exp(), 2.0).log_prob(y).mean()),
    "gamma": (SHARES, lambda z, y: -torch.distributions.Gamma(z.exp(), 2.0).log_prob(y + 0.1).mean()),
    "studt": (NUMBERS, lambda z, y: -torch.distributions.StudentT(3.0, z, 1.0).log_prob(y).mean()),
    "laplace": (NUMBERS, lambda z, y: -torch.distributions.Laplace(z, 1.0).log_prob(y).mean()),
    "mvn": (NUMBERS, lambda z, y: -torch.distributions.MultivariateNormal(z, torch.eye(4, dtype=F64) * 2).log_prob(y).mean()),
    "mixture": (NUMBERS,
         lambda z, y: -torch.distributions.MixtureSameFamily(Categorical(logits=z), Normal(z, 1.0)).log_prob(y[:, 0]).mean()),
    "logsumexp": (below(4), lambda z, y: (torch.logsumexp(z, -1) - z.gather(1, y[:, None])[:, 0]).mean()),
    "logaddexp": (NUMBERS, lambda z, y: torch.logaddexp(z, y).mean()),
    "slogdet": (NUMBERS, lambda z, y: -torch.linalg.slogdet(z[:4] + 3 * torch.eye(4))[1] + y.mean()),
    "logdet_batch": (NUMBERS, lambda z, y: torch.logdet(z[:16].view(4, 4, 4) @ z[:16].view(4, 4, 4).mT + torch.eye(4)).sum()),
    "inv": (NUMBERS, lambda z, y: torch.linalg.inv(z[:4] + 3 * torch.eye(4)).sum() + y.mean()),
    "solve": (NUMBERS, lambda z, y: torch.linalg.solve(z[:4] + 3 * torch.eye(4), y[:4]).square().sum()),
    "cholesky": (NUMBERS, lambda z, y: torch.linalg.cholesky(z.T @ z + torch.eye(4)).sum() + y.mean()),
    "cholsolve": (NUMBERS,
         lambda z, y: torch.cholesky_solve(y[:4], torch.linalg.cholesky(z.T @ z + torch.eye(4))).square().sum()),
    "qr": (NUMBERS, lambda z, y: torch.linalg.qr(z)[1].abs().sum() + y.mean()),
    "matexp": (NUMBERS, lambda z, y: torch.linalg.matrix_exp(z[:4] / 4).sum() + y.mean()),
    "det": (NUMBERS, lambda z, y: torch.linalg.det(z[:4]) + y.mean()),
    "matpow": (NUMBERS, lambda z, y: torch.linalg.matrix_power(z[:4], 3).sum() + y.mean()),
    "tril_solve": (NUMBERS,
         lambda z, y: torch.linalg.solve_triangular(z[:4].tril() + 3 * torch.eye(4), y[:4], upper=False).square().sum()),
    "cumprod": (NUMBERS, lambda z, y: torch.cumprod(z + y, 0).mean()),
    "logcumsumexp": (NUMBERS, lambda z, y: torch.logcumsumexp(z + y, 0).mean()),
    "sort": (NUMBERS, lambda z, y: (z.sort(0)[0] - y.sort(0)[0]).square().mean()),
    "topk_small": (NUMBERS, lambda z, y: (z - y).square().topk(2, largest=False)[0].mean()),
    "kthvalue": (NUMBERS, lambda z, y: (z - y).kthvalue(2)[0].mean()),
    "ndtri": (NUMBERS,
         lambda z, y: torch.special.ndtri(z.sigmoid() * 0.9 + 0.05).mean() + torch.erfinv(z.tanh() * 0.9).mean() + y.mean()),
    "scatterred": (below(5),
         lambda z, y: sum(torch.ones(5, 4).double().scatter_reduce(0, y[:, None].expand(18, 4), z + 2, how).square().mean()
                           for how in ("sum", "mean", "amax", "amin"))),
    "scatter_set": (below(4),
         lambda z, y: torch.zeros(18, 9).double().scatter(1, y[:, None] * 2, z[:, :1]).square().mean()
         + torch.zeros(18, 9).double().scatter_(1, y[:, None], 1.0).mean()),
    "scatter_add": (below(5),
         lambda z, y: torch.zeros(5, 4).double().scatter_add(0, y[:, None].expand(18, 4), z).square().mean()),
    "index_put": (below(5), lambda z, y: torch.zeros(5, 4).double().index_put((y,), z, accumulate=True).square().mean()),
    "index_set": (below(5), set_rows),
    "index_copy": (NUMBERS,
         lambda z, y: torch.zeros(20, 4).double().index_copy(0, torch.arange(18) + 1, z).square().mean() + y.mean()),
    "index_fill": (NUMBERS, lambda z, y: z.index_fill(0, torch.tensor([1, 3]), 0.5).square().mean() + y.mean()),
    "take": (below(18), lambda z, y: z.take(y).square().mean() + torch.take_along_dim(z, y[:, None] % 4, 1).mean()),
    "maskscat": (NUMBERS, lambda z, y: torch.where(y > 0, z, z.detach()).square().mean() + z.masked_fill(y > 1, 0).sum()),
    "histc": (below(5), lambda z, y: (torch.histc(y.double(), 5, 0, 5) * z[:5, 0]).mean()),
    "search": (NUMBERS,
         lambda z, y: (torch.searchsorted(torch.linspace(-1, 1, 5).double(), y) * z).mean()
         + (torch.bucketize(y, torch.linspace(-1, 1, 5).double()) * z).mean()),
    "apart": (below(4), lambda z, y: z.view(3, 6, 4)[torch.arange(3)[:, None], :, y.view(3, 6) % 4].square().mean()),
    "neg_idx": (below(5), lambda z, y: z[y - 2, -1].mean() + z[..., ::2].mean() + z[:, None, [0, 2]].mean() + z[-3:].mean()),
    "strided": (NUMBERS, lambda z, y: z.unfold(0, 4, 2).square().mean() + z.as_strided((3, 4), (8, 1)).mean() + y.mean()),
    "setslice": (NUMBERS, set_slices),
    "diag": (NUMBERS,
         lambda z, y: torch.diagonal(z[:4]).sum() + torch.diag(z[0]).square().sum() + torch.trace(z[:4])
         + torch.diag_embed(z).mean() + torch.block_diag(z[:2], y[:2]).mean()),
    "tensordot": (NUMBERS,
         lambda z, y: torch.tensordot(z.view(3, 6, 4), y.view(3, 6, 4), ([0, 1], [0, 1])).square().mean()
         + torch.kron(z[:2], y[:2]).mean() + torch.outer(z[0], y[0]).mean() + torch.inner(z, y).mean()
         + torch.linalg.cross(z[:, :3], y[:, :3]).mean() + torch.chain_matmul(z.T, y).mean()
         + torch.linalg.multi_dot([z, y.T, z]).mean() + torch.vdot(z[0], y[0]) + torch.linalg.vecdot(z, y).mean()),
    "einsum_dots": (NUMBERS,
         lambda z, y: torch.einsum("...i,...j->...ij", z, y).square().mean() + torch.einsum("ii->i", z[:4]).mean()
         + torch.einsum("bi,bi->b", z, y).mean() + torch.einsum("ij,kj", z, y).mean()
         + (torch.einsum("aB", z) * y.T).mean() + (torch.einsum("b...A,A->...Ab", z.view(3, 6, 4), y[0]) * z.view(6, 4, 3)).sum()
         + (torch.einsum("z...Ab", z.view(3, 3, 2, 4)) * y.view(3, 2, 4, 3)).sum()),
    "norms": (NUMBERS,
         lambda z, y: z.norm() + z.norm(1) + z.norm(float("inf")) + torch.linalg.vector_norm(y * z, 3, dim=-1).mean()
         + torch.linalg.norm(z) + F.normalize(z, p=1, dim=0).square().mean() + z.norm(dim=0, p=0).mean()),
    "stats": (NUMBERS,
         lambda z, y: z.var() + z.std(1).mean() + z.var(0, unbiased=False).sum() + torch.var_mean(z, 0)[1].mean()
         + torch.cov(z.T).sum() + torch.corrcoef(z.T + y.T).sum() + z.prod(1).mean() + torch.nanmean(z) + z.nansum()),
    "minmaxdim": (NUMBERS,
         lambda z, y: z.max(1)[0].mean() + z.min(0).values.sum() + z.amax((0, 1)) + (z.argmax(1) * y[:, 0]).mean() + z.max()
         + torch.max(z, y).mean()),
    "bool_ops": (NUMBERS,
         lambda z, y: (z * ((y > 0) & ~(y > 1) | (y < -1)).double()).mean()
         + (z.isnan().any().double() + (z > 0).all(1).sum() + (y > 0).sum()) * z.mean()
         + torch.logical_xor(z > 0, y > 0).double().mean() * z.mean()),
    "meshgrid": (NUMBERS, lambda z, y: torch.stack(torch.meshgrid(z[:, 0], y[:3, 0], indexing="ij")).square().mean()
                 + torch.cartesian_prod(z[:2, 0], y[:2, 1]).mean()),
    "shapes": (NUMBERS,
         lambda z, y: torch.rot90(z.view(3, 6, 4), 1, (0, 1)).cumsum(0).square().mean() + z.tile(2, 2)[20:].mean()
         + z.repeat_interleave(2, 0)[3:20].square().mean() + torch.hstack([z, y]).movedim(0, 1)[5].mean()
         + torch.swapaxes(z, 0, 1).flatten()[3:9].mean() + z.unflatten(0, (3, 6)).mT.narrow(1, 1, 2).mean()
         + z.expand(2, 18, 4)[1, 3].sum() + torch.vstack([z, y]).split([4, 32])[0].mean() + z.roll(5).mean(0)[1]
         + z.fliplr().tensor_split(3)[1].mean()),
    "cond": (NUMBERS, lambda z, y: torch.cond(y.sum() > 0, lambda v: v.square().mean(), lambda v: v.mean(), (z,))),
    "scan": (NUMBERS, lambda z, y: scan(lambda c, v: ((n := torch.tanh(c * 0.5 + v)), n.clone()), z[0], y)[1].square().mean()),
    "associative_scan": (NUMBERS, lambda z, y: associative_scan(torch.mul, z + y, 0, combine_mode="generic").square().mean()),
    "map": (NUMBERS, lambda z, y: torch_map(lambda v: torch.tanh(v), z + y).square().mean()),
    "fft": (NUMBERS, lambda z, y: torch.fft.fft(torch.fft.fft(z, dim=-1), dim=-2).real.square().mean()
            + torch.fft.fft2(z * y).real.mean()),
    "rfft": (NUMBERS, lambda z, y: torch.fft.irfft(torch.fft.rfft(z, dim=0) * torch.fft.rfft(y, dim=0), n=18, dim=0)
             .square().mean()),
    "stft": (NUMBERS, lambda z, y: torch.stft(z.flatten(), 8, 4, window=torch.hann_window(8, dtype=F64), return_complex=True)
             .abs().sum()),
    "complex": (NUMBERS, lambda z, y: torch.view_as_real(torch.view_as_complex(z.view(18, 2, 2))
                                                         * torch.view_as_complex(y.view(18, 2, 2)))[..., 0].square().mean()),
    "slope": (NUMBERS, lambda z, y: torch.autograd.grad((z.tanh() * y).square().sum(), z, create_graph=True)[0].square().mean()),
    "jacobian": (NUMBERS, lambda z, y: torch.func.vmap(torch.func.jacrev(lambda v: torch.tanh(v).cumsum(0)))(z).square().mean()),
    "jvp": (NUMBERS, lambda z, y: torch.func.jvp(lambda v: torch.sin(v) * v, (z,), (y,))[1].square().mean()),
    "hessian": (NUMBERS, lambda z, y: torch.func.vmap(torch.func.jacrev(torch.func.grad(lambda v: (v.tanh() * v).sum())))(z)
                .square().mean()),
    "no_grad": (NUMBERS, stopped),
    "eigh": (NUMBERS, lambda z, y: (lambda w, v: (w * torch.arange(4)).sum() + (v[..., 0].square() * torch.arange(4)).sum())(
        *torch.linalg.eigh(z.view(18, 2, 2)[:4].reshape(4, 4)))),
    "svd": (NUMBERS, lambda z, y: (lambda u, s, v: (u[..., :1] * v[..., :1, :]).sum((1, 2)).square().sum() + s.log().sum())(
        *torch.linalg.svd(z[:6].view(2, 3, 4), full_matrices=False))),
    "singular_values": (NUMBERS, lambda z, y: torch.linalg.matrix_norm(z, "nuc") + torch.linalg.matrix_norm(z[:3], 2)),
    "fake_quantize": (NUMBERS, lambda z, y: torch.fake_quantize_per_tensor_affine(z, 0.25, 1, -3, 3).mul(y).tanh().sum()),
    "fake_quantize_channels": (NUMBERS, lambda z, y: torch.fake_quantize_per_channel_affine(
        z, torch.arange(1, 5) / 4, torch.arange(4, dtype=torch.int32), 1, -3, 3).mul(y).tanh().sum()),
    "pinv": (NUMBERS, lambda z, y: torch.linalg.pinv(z.view(6, 3, 4)).square().sum() + torch.linalg.pinv(z[:9]).sum()
             + torch.linalg.pinv(z[:4] @ y[:4, :2] @ y[4:6], rtol=1e-6).sum() * 0.01
             + torch.linalg.lstsq(z.view(3, 6, 4), y.view(3, 6, 4)).solution.sum()),
    "bincount": (below(4), lambda z, y: F.cross_entropy(z, y, weight=1 / (torch.bincount(y, minlength=4).double() + 1))),
    "bool_sums": (NUMBERS, lambda z, y: (z * ((y > 0) + (y > 1))).sum() + (z * ((y > 0) * (y < 1))).square().sum()),
    "own_gradient": (NUMBERS, lambda z, y: (Sign.apply(z, 2.0) + sign(z * 2, 0.5) + y).tanh().square().mean()),
    "slope_with_constants": (NUMBERS, slope_with_constants),
    "stopped_with_slope": (NUMBERS, stopped_with_slope),
    "complex_functions": (NUMBERS, complex_functions),
    "complex_limits": (NUMBERS, complex_limits),
    "averaged": (NUMBERS, averaged),
    "known_masks": (NUMBERS, known_masks),
    **{f.__name__: (NUMBERS, f) for f in (written_masks, overwritten_masks, written_with_slope)},
    "complex_matrices": (NUMBERS, complex_matrices),
    "complex_convolutions": (NUMBERS, complex_convolutions),
    "factored": (NUMBERS, factored),
    "bessel": (NUMBERS, bessel),
    "incomplete_gamma": (NUMBERS, incomplete),
    "zeta": (NUMBERS, zetas),
    "of_integers": (below(4, 4), of_integers),
    "special_limits": (NUMBERS, special_limits),
    "long_einsum": (NUMBERS, long_einsum),
    "adapted": (NUMBERS, adapted),
    "with_gaps": (NUMBERS, with_gaps),
    "places": (NUMBERS, places),
    "sublists": (NUMBERS, lambda z, y: torch.einsum(z.view(3, 6, 4), [0, 1, 2], y, [3, 2], [0, 3]).square().mean()),
    "conv_tbc": (NUMBERS, lambda z, y: torch.conv_tbc(z.view(6, 3, 4), y[:6].reshape(3, 4, 2), y[0, :2], 1).square().mean()),
    "reflections": (NUMBERS, lambda z, y: torch.linalg.householder_product(z.view(3, 6, 4), y[:3].abs()).mul(y.view(3, 6, 4)).sum()),
    "windows": (NUMBERS, lambda z, y: sum((z[:, 0] * w(18, dtype=F64)).square().sum() for w in (
        torch.blackman_window, torch.hamming_window, torch.bartlett_window, torch.kaiser_window))),
    "outside_of_gradients": (NUMBERS, outside_of_gradients),
    "looping": (NUMBERS, looping),
    "more_looping": (NUMBERS, more_looping),
    "complex_products": (NUMBERS, complex_products),
    "checkpointed": (NUMBERS, checkpointed),
    "penalty_conv": (NUMBERS, penalty(lambda x, w: F.conv2d(x, filters(w, 4, 1, 2, 3), None, (2, 1), (1, 2), (1, 2), 2).sigmoid(),
                                      lambda x, w: F.conv_transpose2d(x, filters(w, 4, 1, 2, 2), None, 2, 1, 0, 2))),
    "penalty_conv1d": (NUMBERS, penalty(lambda x, w: F.conv1d(x.flatten(2), filters(w, 3, 2, 4), None, 3, 1, 2).sigmoid(),
                                        lambda x, w: F.conv_transpose1d(x, filters(w, 3, 2, 3), None, 2, 1, 1))),
    "penalty_conv3d": (NUMBERS, penalty(lambda x, w: F.conv3d(x.reshape(1, 2, 4, 3, 3), filters(w, 2, 2, 2, 2, 2), None, 1, 1, 1)
                                        .sigmoid())),
    "penalty_pools": (NUMBERS, penalty(lambda x, w: F.max_pool2d(x.exp(), 3, 2, 1), lambda x, w: F.avg_pool2d(x.square(), 2, 1, 1),
                                       lambda x, w: F.avg_pool1d(x.flatten(2).sin(), 3, 2, 1, count_include_pad=False),
                                       lambda x, w: F.max_pool1d(x.cos(), 2))),
    "penalty_more_pools": (NUMBERS, penalty(lambda x, w: F.adaptive_avg_pool2d(x.exp(), (4, None)), lambda x, w: F.lp_pool2d(x.exp(), 3, (2, 1)),
                                            lambda x, w: F.adaptive_max_pool2d(x.sin(), (1, 4)), lambda x, w: F.lp_pool1d(x[0].exp(), 2, 2),
                                            lambda x, w: F.adaptive_avg_pool1d(x, 1))),
    "penalty_more_rows": (NUMBERS, penalty(lambda x, w: F.conv_transpose2d(x, filters(w, 2, 2, 2, 2), None, 2, 0, 2, 1, 3))),
    "penalty_resized": (NUMBERS, penalty(lambda x, w: F.interpolate(x.exp(), scale_factor=2), lambda x, w: F.interpolate(x.sin(), (5, 7)),
                                         lambda x, w: F.interpolate(x.square(), scale_factor=1.5, mode="bilinear"),
                                         lambda x, w: F.interpolate(x.cos(), 5, mode="bicubic", align_corners=True),
                                         lambda x, w: F.interpolate(x.exp().flatten(2), 9, mode="linear"))),
    "stopped_slopes": (NUMBERS, stopped_slopes),
    "complex_input": (lambda g: torch.randn(18, 4, generator=g, dtype=torch.complex128), complex_input),
    "penalty_norm": (NUMBERS, penalty(lambda x, w: F.instance_norm(x, None, None, w[:2], w[2:4]))),
    "chosen": (NUMBERS, chosen),
    "chosen_labels": (below(4), chosen_labels),
    "chosen_options": (NUMBERS, chosen_options),
    "chosen_classes": (below(4), chosen_classes),
    "all_labels_chosen": (below(4), lambda z, y: F.cross_entropy(z[y != 3], y[y != 3]), {"ignored": False}),
    "routed": (NUMBERS, routed),
    **{f"packed_{kind}": (below(9), packed(kind)) for kind in ("LSTM", "GRU", "RNN")},
    "diagonal_filled": (NUMBERS, diagonal_filled),
    "deviations": (NUMBERS, deviations),
    "at_limits": (NUMBERS, at_limits),
    "not_a_number": (NUMBERS, not_a_number),
    "of_lists": (NUMBERS, of_lists),
    "of_bools": (NUMBERS, of_bools),
    "furthest": (NUMBERS, furthest),
    "written": (NUMBERS, written),
    "bags": (below(15, 1), bags),
    "turned": (NUMBERS, turned),
    "chirps": (NUMBERS, lambda z, y: torch.fft.rfft(z, 521, dim=0).abs().square().mean()
               + torch.fft.ifft(torch.complex(z.T, y.T), 1042).imag.square().sum()
               + torch.fft.irfft(torch.complex(z.T, y.T), 521).square().sum()),
    "conv3d": (NUMBERS, lambda z, y: F.conv3d(z.view(1, 2, 3, 3, 4), y[:4].view(1, 2, 2, 2, 2)).square().mean()),
    "conv_transpose3d": (NUMBERS, lambda z, y: F.conv_transpose3d(z.view(1, 2, 3, 3, 4), y[:4].view(2, 1, 2, 2, 2), stride=2)
                         .square().mean()),
    "pools3d": (NUMBERS, lambda z, y: F.max_pool3d(z.view(1, 2, 3, 3, 4), 2, 1).square().mean()
                + F.avg_pool3d(z.view(1, 2, 3, 3, 4), 2).sum()),
    "pool_indices": (NUMBERS, lambda z, y: sum((p * (i + 1)).sum() for p, i in (
        F.max_pool2d(z.view(1, 2, 6, 6), 3, 2, 1, return_indices=True, ceil_mode=True),
        F.max_pool2d(z.view(1, 2, 4, 9), (2, 3), (1, 2), dilation=(2, 1), return_indices=True, ceil_mode=True),
        F.max_pool1d(z.view(2, 4, 9), 4, 3, 2, ceil_mode=True, return_indices=True)))
                     + F.max_pool2d(z.view(1, 2, 6, 6).log(), 3, 2, 1, return_indices=True)[1].double().mean()),  # NaNs
    "adaptive_maxima": (NUMBERS, lambda z, y: 0.01 * (lambda h: F.adaptive_max_pool2d(h, (4, 5)).square().sum() + F.adaptive_max_pool2d(h, 1).sum()
                                               + F.adaptive_max_pool1d(h.flatten(2), 5).exp().sum()
                                               + F.adaptive_max_pool3d(h[:, None], (1, 3, 2)).sin().sum()
                                               + F.adaptive_max_pool2d((h - 0.5).log(), (2, 4), return_indices=True)[1].double().mean()  # NaNs
                                               + (lambda v, i: (v * i).sum())(*F.adaptive_max_pool2d(h, (None, 4), return_indices=True)))(
                                                   z.view(1, 2, 6, 6).relu())),
    "unpools": (NUMBERS, lambda z, y: F.max_unpool2d(*F.max_pool2d(z.view(1, 2, 6, 6), 2, return_indices=True), 2).square().sum()
                + F.max_unpool1d(*F.max_pool1d(z.view(2, 4, 9), 2, return_indices=True), 2, output_size=(9,)).square().sum()
                + F.max_unpool3d(*F.max_pool3d(z.view(1, 1, 4, 3, 6), 2, return_indices=True), 2, output_size=(4, 3, 6))
                .square().sum()),
    "grid3d": (NUMBERS, lambda z, y: sum(
        F.grid_sample(a.view(1, 2, 3, 3, 4), 1.6 * torch.tanh(c[:6]).reshape(1, 2, 2, 2, 3), m, p, corners).square().sum()
        for m in ("bilinear", "nearest") for p in ("zeros", "border", "reflection") for corners in (True, False)
        for a, c in ((z, y), *([(y, z)] if m == "bilinear" else [])))),
    "sparse": (NUMBERS, lambda z, y: (lambda a: torch.sparse.mm(a, z).square().sum() + (a.t() @ z[:5]).sin().sum() + torch.mm(
        a.coalesce(), z).sum() + a.to_dense().square().sum())(torch.sparse_coo_tensor(
            torch.tensor([[0, 1, 1, 4, 4], [2, 0, 17, 3, 3]]), y[:, 0][:5] * z[:5, 1], (5, 18)))),
    "pools": (NUMBERS, lambda z, y: F.max_pool2d(z.view(1, 2, 6, 6), 3, 2, 1, ceil_mode=True).square().mean()
              + F.avg_pool2d(z.view(1, 2, 6, 6), 3, 2, 1, count_include_pad=False).square().mean()
              + F.adaptive_max_pool2d(z.view(1, 2, 6, 6), (4, 5)).mean() + F.lp_pool2d(z.view(1, 2, 6, 6).abs() + 1, 3, 2).mean()),
    "resized": (NUMBERS, lambda z, y: F.interpolate(z.view(1, 2, 6, 6), size=(11, 7), mode="bilinear").square().mean()
                + F.interpolate(z.view(1, 2, 6, 6), size=(4, 9), mode="bicubic", align_corners=True).square().mean()
                + F.interpolate(z.view(1, 2, 6, 6), size=(4, 9)).square().mean()),
    "grid_sample": (NUMBERS, lambda z, y: F.grid_sample(z.view(1, 2, 6, 6), y[:10].view(1, 5, 4, 2), padding_mode="border",
                                                        align_corners=False).square().mean()),
    "fold": (NUMBERS, lambda z, y: F.fold(F.unfold(z.view(1, 2, 6, 6), 3, padding=1), (6, 6), 3, padding=1).square().mean()),
}


class Step(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(5, 4)
        self.register_buffer("slow", torch.zeros(4))

    def forward(self, x):
        return self.linear(x)


def check(dopt, scratch, name):
    torch.set_num_threads(1)
    numbers, function, *options = FUNCTIONS[name]
    g = torch.Generator().manual_seed(2)
    batch = {"x": torch.randn(18, 5, generator=g).double(), "y": numbers(g)}
    torch.manual_seed(1)
    model = Step().double()
    step = lambda model, x, y: function(model(x), y, *[model][:function.__code__.co_argcount - 2])
    path = scratch / name
    from_torch.export(str(path), step, model, *batch.values(), batch=None, **dict(*options))
    from_torch.save_rows(f"{path}.data", train=batch)
    done = subprocess.run([dopt, "-run", "-f64", f"-steps={STEPS}", f"-pass=grad,sgd{{lr={RATE}}}", "-no-shuffle",
                           f"-data={path}.data", f"-initial={path}.safetensors", f"-save={path}.after", f"{path}.dir"],
                          capture_output=True, text=True)
    if done.returncode:
        return f"{name}: {done.stderr}"
    losses = []
    optimizer = torch.optim.SGD(model.parameters(), RATE)
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = step(model, *[x.clone() for x in batch.values()])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    ours = [float(line.rpartition(" = ")[2]) for line in done.stdout.splitlines() if " loss = " in line]
    after = Step().double()
    from_torch.load(f"{path}.after", after)
    pairs = [*zip(ours, losses), *zip(after.slow.tolist(), model.slow.tolist()), *zip(after.linear.weight.flatten().tolist(), model.linear.weight.flatten().tolist()),
             *zip(after.linear.bias.tolist(), model.linear.bias.tolist())]
    apart = [abs(a - b) / max(abs(b), 0.1) for a, b in pairs]
    wrong = [d for d in apart if not d <= TOLERANCE]  # NaNs are among them
    return f"{name}: {len(wrong)} apart, by {max(wrong, default=0):.1e}: {ours}, PyTorch has {losses}" if wrong or len(ours) != STEPS else ""


if __name__ == "__main__":
    attempts.main(check, FUNCTIONS, concurrent.futures.ProcessPoolExecutor)
