"""Special functions."""
import functools
import math

import torch

from . import composed
from .composed import with_gradient

decomposes = functools.partial(composed.decomposes, floats=True)


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
    sine = torch.where(small, torch.sin(math.pi * (x - x.round())).abs(), 1)
    infinite = (x.abs() == math.inf) | small & (x == x.round())
    return torch.where(infinite, math.inf, torch.where(small, math.log(math.pi) - sine.log() - value, value))


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
    return torch.where((x < 0) & (x == x.round()), math.nan, torch.where(small, value - math.pi / tangent, value))


def hurwitz(s, q):
    """Sum of (q + k)^-s: some terms, and the formula of Euler and Maclaurin for the others. Below -10 they are not enough: NaN."""
    pole = (q <= 0) & (q == q.floor())
    q = torch.where(pole, 1, q)
    terms = (q.unsqueeze(-1) + torch.arange(20, dtype=q.dtype)) ** (-s.unsqueeze(-1) if isinstance(s, torch.Tensor) else -s)
    z = torch.where(q > -10, q + 20, math.nan)
    total = terms.sum(-1) + z ** (1 - s) / (s - 1) + 0.5 * z ** -s
    factor, power = s / 1.0, z ** (-s - 1)
    for j, c in enumerate((1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000)):
        total = total + c * factor * power
        factor, power = factor * (s + 2 * j + 1) * (s + 2 * j + 2), power / z.square()
    return torch.where(pole, math.inf, total)


@decomposes("polygamma")
def polygamma(n, x):
    return digamma(x) if n == 0 else (-1) ** (n + 1) * math.factorial(n) * hurwitz(n + 1, x)


@decomposes("special_zeta")
def zeta(s, q):
    """Its gradient is that by q, as torch has it; of s = 1 it is infinite, and below 1 and of an infinite q NaN."""
    s, q = torch.broadcast_tensors(*[v if isinstance(v, torch.Tensor) else torch.full((), v, dtype=other.dtype)
                                     for v, other in ((s, q), (q, s))])
    s = s.detach()
    value = hurwitz(torch.where(s > 1, s, 2), q)
    return torch.where((s > 1) & (q != math.inf), value, torch.where(s == 1, math.inf, math.nan))


ROUND, REACH, TERMS = 32, 30, 20  # of cosines, up to which argument, and of the series of large ones: 1e-15 in f64


def bessel(n, x):
    """exp(-|x|) I_n(x) of n = 0 and 1: Poisson's integral by the rule of midpoints, which has no error but rounding for what is
    periodic, or Hankel's series."""
    size = x.abs()
    small, large = torch.where(size < REACH, size, 0), torch.where(size < REACH, REACH, size)
    angle = (torch.arange(ROUND, dtype=x.dtype) + 0.5) * (math.pi / ROUND)
    each = torch.exp(small.unsqueeze(-1) * (angle.cos() - 1))
    near = (each * angle.sin().square()).mean(-1) * small if n else each.mean(-1)
    term = far = torch.ones_like(x)
    for k in range(1, TERMS + 1):
        term = term * ((2 * k - 1) ** 2 - 4 * n * n) / (8 * k) / large
        far = far + term
    value = torch.where(size < REACH, near, far * (2 * math.pi) ** -0.5 * large.rsqrt())
    return torch.where(x < 0, -value, value) if n else value


decomposes("special_i0e")(lambda x: bessel(0, x))
decomposes("special_i1e")(lambda x: bessel(1, x))
decomposes("i0", "special_i0", "special_modified_bessel_i0")(lambda x: bessel(0, x) * x.abs().exp())
decomposes("special_i1", "special_modified_bessel_i1")(lambda x: bessel(1, x) * x.abs().exp())


def incomplete_gamma(a, x):
    """Both parts, P and Q, of the integral, computed in f64: exp(a log x - x) / gamma(a) times
    (1 + x times the integral of exp(x (1 - exp(-y)) - (a + 1) y)) / a up to the larger of a and 1, or else times that of
    (1 + t)^(a - 1) exp(-x t), over all y and t > 0, at points that are dense near 0 (Takahasi and Mori): 1e-13 for a up to a million."""
    a, v = (y.detach().double() for y in torch.broadcast_tensors(a, x))
    u = torch.arange(64, dtype=torch.float64) * (8 / 63) - 3.8
    point = torch.exp(u - torch.exp(-u))
    weight = point * (1 + torch.exp(-u)) * (8 / 63)
    below = v <= a.clamp(min=1)
    low, high = torch.where(below, v, 0), torch.where(below, a.clamp(min=1), v).clamp(max=1e300)
    log = torch.where(v > 0, v, 1).log() * a - v - lgamma(a + 1)
    factor, a1 = torch.exp(log), a + 1
    scale = 1 / (a1 - low + a1.sqrt())
    y = point * scale.unsqueeze(-1)
    p = 1 + low * scale * (torch.exp(-a1.unsqueeze(-1) * y - low.unsqueeze(-1) * torch.expm1(-y)) * weight).sum(-1)
    scale = 1 / (high - a + high.sqrt())
    t = point * scale.unsqueeze(-1)
    q = a * scale * (torch.exp((a - 1).unsqueeze(-1) * torch.log1p(t) - high.unsqueeze(-1) * t) * weight).sum(-1)
    p = torch.where(below, factor * p, 1 - factor * q)
    q = torch.where(below, 1 - p, factor * q)
    infinite, none = (a == math.inf, v == math.inf), v == 0
    outside = (v < 0) | (a < 0) | (v != v) | (a != a) | ((v == 0) & (a == 0)) | infinite[0] & infinite[1]
    slope = torch.where(none, torch.where(a > 1, 0, torch.where(a == 1, 1, math.inf)), factor * a / torch.where(none, 1, v))
    slope = torch.where(infinite[0] | infinite[1], 0, slope).clamp(max=torch.finfo(x.dtype).max)
    p, q = (torch.where(outside, math.nan, torch.where(none | infinite[0], other, torch.where((a == 0) | infinite[1], 1 - other, y)))
            for y, other in ((p, 0.0), (q, 1.0)))
    return p, q, torch.where(infinite[1], 0, x) * slope.to(x.dtype).detach()


@decomposes("igamma", "special_gammainc")
def igamma(a, x):
    p, _, term = incomplete_gamma(a, x)
    return with_gradient(p.to(x.dtype), term)


@decomposes("igammac", "special_gammaincc")
def igammac(a, x):
    _, q, term = incomplete_gamma(a, x)
    return with_gradient(q.to(x.dtype), -term)


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
    y = torch.where(v.abs() < 1, y, torch.where(v.abs() == 1, v * math.inf, math.nan))
    return torch.where(v.abs() < 1, with_gradient(y, x * (torch.exp(y.square()) / slope).detach()), y)


@decomposes("special_ndtri")
def ndtri(x):
    return math.sqrt(2) * erfinv(2 * x - 1)


@decomposes("special_erfcx")
def erfcx(x):
    """exp(x^2) erfc(x), of which the factors overflow and underflow above 5: there by a continued fraction."""
    large = x > 5
    small, z = torch.where(large, 0, x), torch.where(large, x, 5)
    fraction = z
    for k in range(24, 0, -1):
        fraction = z + k / 2 / fraction
    return torch.where(large, 1 / (math.sqrt(math.pi) * fraction), torch.exp(small.square()) * torch.erfc(small))


@decomposes("special_log_ndtr")
def log_ndtr(x):
    low = x < -1
    below, above = torch.where(low, x, -1), torch.where(low, 0, x)
    return torch.where(low, torch.log(erfcx(-below / math.sqrt(2)) / 2) - below.square() / 2,
                       torch.log1p(-torch.erfc(above / math.sqrt(2)) / 2))
