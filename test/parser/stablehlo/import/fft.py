"""Writes programs that compare stablehlo.fft with the sum that defines it, computed in double precision. The error of an
element is at most 12 units of rounding of f32 times the root of the mean square of the elements; of f64 40, as what it is
compared with is rounded, too.

    fft.py > programs.mlir
"""

import cmath
import math
import random

UNIT = {"f32": 2.0**-24, "f64": 2.0**-53}
UNITS = {"f32": 12, "f64": 40}
numbers = random.Random(1)


def dft(x, sign):
    n = len(x)
    root = [cmath.rect(1, 2 * math.pi * sign * t / n) for t in range(n)]
    return [math.fsum((x[j] * root[j * k % n]).real for j in range(n)) +
            1j * math.fsum((x[j] * root[j * k % n]).imag for j in range(n)) for k in range(n)]


def along(x, shape, dim, sign, scale):
    """The transform along one dim of a list in row-major order."""
    stride, n = math.prod(shape[dim + 1:]), shape[dim]
    y = list(x)
    for start in range(len(x)):
        if start // stride % n == 0:
            row = dft([x[start + stride * j] for j in range(n)], sign)
            for k in range(n):
                y[start + stride * k] = row[k] * scale
    return y


def transform(x, shape, dims, sign):
    for d in dims:
        x = along(x, shape, d, sign, 1 / shape[d] if sign > 0 else 1)
    return x


def dense(values, kind):
    text = ", ".join("(%r, %r)" % (z.real, z.imag) if kind else "%r" % z.real for z in values)
    return "dense<[%s]> : tensor<%dx%s>" % (text, len(values), kind if kind else "f64")


def half(x, shape):
    """The first n / 2 + 1 elements of the last dim."""
    n = shape[-1]
    return [z for i, z in enumerate(x) if i % n <= n // 2], shape[:-1] + (n // 2 + 1,)


def value(name, x, shape, t, is_complex):
    """A constant in f64 or c128, converted to the type, in that shape."""
    wide, kind = ("complex<f64>", "complex<%s>" % t) if is_complex else ("f64", t)
    flat = "tensor<%dx" % len(x)
    print("  %%%s0 = stablehlo.constant %s" % (name, dense(x, wide if is_complex else None)))
    print("  %%%s1 = stablehlo.convert %%%s0 : (%s%s>) -> %s%s>" % (name, name, flat, wide, flat, kind))
    whole = "tensor<%s%s>" % ("".join("%dx" % n for n in shape), kind)
    print("  %%%s = stablehlo.reshape %%%s1 : (%s%s>) -> %s" % (name, name, flat, kind, whole))
    return whole


def program(kind, t, shape, rank):
    count, dims = math.prod(shape), range(len(shape) - rank, len(shape))
    real_in, real_out = kind == "RFFT", kind == "IRFFT"
    x = [complex(numbers.uniform(-1, 1), 0 if real_in or real_out else numbers.uniform(-1, 1)) for _ in range(count)]
    y = transform(x, shape, dims, -1)
    if kind == "IFFT":
        x, y = y, x
    if real_out:
        x, y = y, x
    in_shape = out_shape = shape
    if real_in:
        y, out_shape = half(y, shape)
    if real_out:
        x, in_shape = half(x, shape)
    size = math.sqrt(sum(abs(z)**2 for z in y) / len(y))
    x, y = [z / size for z in x], [z / size for z in y]
    # what is compared are parts of elements whose mean square is 1
    print("func.func @%s_%s_%s_%d() {" % (kind.lower(), t, "x".join(map(str, shape)), rank))
    source = value("x", x, in_shape, t, not real_in)
    expected = value("e", y, out_shape, t, not real_out)
    lengths = ", ".join(str(shape[d]) for d in dims)
    print("  %%y = stablehlo.fft %%x, type = %s, length = [%s] : (%s) -> %s" % (kind, lengths, source, expected))
    print('  "check.expect_almost_eq"(%%y, %%e) {tolerance = %r : f64} : (%s, %s) -> ()' %
          (UNITS[t] * UNIT[t], expected, expected))
    print("  return\n}\n\n// -----\n")


for kind in ("FFT", "IFFT", "RFFT", "IRFFT"):
    for t in ("f32", "f64"):
        # one element, primes, one and several levels, a prime above the largest matrix of a size that can be factored
        for n in (1, 2, 3, 7, 16, 17, 30, 48, 62, 127, 256):
            program(kind, t, (2, n), 1)
        program(kind, t, (2, 3, 4), 2)
        program(kind, t, (3, 20, 5), 3)
        program(kind, t, (18, 4), 2)
    program(kind, "f32", (1000,), 1)
    # a prime factor above the largest matrix
    for t in ("f32", "f64"):
        program(kind, t, (2, 521), 1)
        program(kind, t, (1042,), 1)
