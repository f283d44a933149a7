"""Special functions."""
import math

import torch

from .composed import decomposes, with_gradient


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
    sine = torch.where(small, torch.sin(math.pi * x).abs(), 1)
    return torch.where(small, math.log(math.pi) - sine.log() - value, value)


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
    return torch.where(small, value - math.pi / tangent, value)


@decomposes("polygamma")
def polygamma(n, x):
    """(-1)^(n+1) n! zeta(n + 1, x) of a positive x: some terms, and the formula of Euler and Maclaurin for the others."""
    if n == 0:
        return digamma(x)
    s, total, z = n + 1, torch.zeros_like(x), x
    for _ in range(10):
        total = total + z ** -s
        z = z + 1
    total = total + z ** (1 - s) / (s - 1) + 0.5 * z ** -s
    factor, power = s / 1.0, z ** (-s - 1)
    for j, c in enumerate((1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000)):
        total = total + c * factor * power
        factor, power = factor * (s + 2 * j + 1) * (s + 2 * j + 2), power / z.square()
    return (-1) ** (n + 1) * math.factorial(n) * total


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
    y = torch.where(v.abs() < 1, y, v.sign() * math.inf)
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
