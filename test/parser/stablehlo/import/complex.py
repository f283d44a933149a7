"""Writes programs that compare functions of complex numbers with Python's cmath, which computes in double precision.
Results are compared relative to their absolute value: f32 within 4e-6, f64 within 1e-14.

    complex.py > programs.mlir
"""

import cmath
import itertools
import math
import struct

# Both parts from these; the first are small, the last near the overflow of exp in f32.
PARTS = [0.0, 1e-3, -0.25, 0.75, -1.5, 3.0, 20.0, -80.0]
POINTS = [complex(a, b) for a, b in itertools.product(PARTS, PARTS)]
# Squares of these overflow f32, and their quotients do not.
LARGE = [1e30 + 2e30j, -3e30 + 1e28j, 1e25 - 3e37j, 2e-30 + 1e-25j]


def half(z):
    return abs(z.imag) < 30 and abs(z.real) < 30


def sign(z):
    return z / abs(z) if z else z


def expm1(z):
    re = math.expm1(z.real) * math.cos(z.imag) - 2 * math.sin(z.imag / 2) ** 2
    return complex(re, math.exp(z.real) * math.sin(z.imag))


def log1p(z):
    if abs(z) < 0.5:
        x = z.real * (2 + z.real) + z.imag ** 2
        return complex(math.log1p(x) / 2, math.atan2(z.imag, 1 + z.real))
    return cmath.log(1 + z)


def cbrt(z):
    return cmath.rect(abs(z) ** (1 / 3), cmath.phase(z) / 3)


def atan2(y, x):
    return -1j * cmath.log((x + 1j * y) / cmath.sqrt(x * x + y * y))


def lexical(less):
    def pick(z, w):
        first = (z.real, z.imag) < (w.real, w.imag)
        return z if first == less else w
    return pick


# Name: function, the points that it is compared at.
UNARY = {
    "stablehlo.exponential": (cmath.exp, lambda z: True),
    "stablehlo.exponential_minus_one": (expm1, lambda z: True),
    "stablehlo.log": (cmath.log, lambda z: z != 0),
    "stablehlo.log_plus_one": (log1p, lambda z: True),
    "stablehlo.sqrt": (cmath.sqrt, lambda z: True),
    "stablehlo.rsqrt": (lambda z: 1 / cmath.sqrt(z), lambda z: z != 0),
    "stablehlo.cbrt": (cbrt, lambda z: True),
    "stablehlo.sine": (cmath.sin, half),
    "stablehlo.cosine": (cmath.cos, half),
    "stablehlo.tan": (cmath.tan, lambda z: abs(z.real) < 30 and abs(z.imag) < 10),
    "stablehlo.tanh": (cmath.tanh, lambda z: abs(z.imag) < 30 and abs(z.real) < 10),
    "chlo.sinh": (cmath.sinh, half),
    "chlo.cosh": (cmath.cosh, half),
    "chlo.asin": (cmath.asin, lambda z: True),
    "chlo.acos": (cmath.acos, lambda z: True),
    "chlo.atan": (cmath.atan, lambda z: abs(z.imag) != 1),
    "chlo.asinh": (cmath.asinh, lambda z: True),
    "chlo.acosh": (cmath.acosh, lambda z: True),
    "chlo.atanh": (cmath.atanh, lambda z: abs(z.real) != 1),
    "stablehlo.logistic": (lambda z: 1 / (1 + cmath.exp(-z)), lambda z: abs(z.real) < 30),
    "stablehlo.sign": (sign, lambda z: True),
    "stablehlo.negate": (lambda z: -z, lambda z: True),
    "chlo.square": (lambda z: z * z, lambda z: True),
    "chlo.conj": (lambda z: z.conjugate(), lambda z: True),
}
BINARY = {
    "stablehlo.add": (lambda z, w: z + w, lambda z, w: True),
    "stablehlo.subtract": (lambda z, w: z - w, lambda z, w: True),
    "stablehlo.multiply": (lambda z, w: z * w, lambda z, w: True),
    "stablehlo.divide": (lambda z, w: z / w, lambda z, w: w != 0),
    "stablehlo.power": (lambda z, w: z ** w, lambda z, w: abs(z) < 5 and abs(w) < 5 and z != 0),
    # the formula for a quotient near 1 loses what the logarithm of it has
    "stablehlo.atan2": (atan2, lambda z, w: half(z) and half(w) and abs(z) > 0.2 and z * z != -w * w),
    "stablehlo.maximum": (lexical(False), lambda z, w: True),
    "stablehlo.minimum": (lexical(True), lambda z, w: True),
}


def rounded(x, t):
    return struct.unpack("f", struct.pack("f", x))[0] if t == "f32" else x


def at(z, t):
    return complex(rounded(z.real, t), rounded(z.imag, t))


def dense(values):
    return "dense<[%s]>" % ", ".join("(%r, %r)" % (z.real, z.imag) for z in values)


def program(name, t, operands, expected):
    """The op on columns of points, against the values: both divided by the absolute value of what is expected."""
    n = len(expected)
    kind = "tensor<%dxcomplex<%s>>" % (n, t)
    weight = [1 / abs(e) if e and 1e-35 < abs(e) < 1e35 else 1.0 for e in expected]
    print("func.func @%s_%s() {" % (name.partition(".")[2], t))
    for i, values in enumerate(operands):
        print("  %%x%d = stablehlo.constant %s : %s" % (i, dense(values), kind))
    print('  %%y = "%s"(%s) : (%s) -> %s' % (name, ", ".join("%%x%d" % i for i in range(len(operands))),
                                          ", ".join([kind] * len(operands)), kind))
    print("  %%w = stablehlo.constant %s : %s" % (dense([complex(w) for w in weight]), kind))
    print("  %%yw = stablehlo.multiply %%y, %%w : %s" % kind)
    print("  %%e = stablehlo.constant %s : %s" % (dense([e * w for e, w in zip(expected, weight)]), kind))
    print('  "check.expect_almost_eq"(%%yw, %%e) {tolerance = %s : f64} : (%s, %s) -> ()' %
          ("4.0e-6" if t == "f32" else "1.0e-14", kind, kind))
    print("  return\n}\n\n// -----\n")


for t in ("f32", "f64"):
    points = [at(z, t) for z in POINTS]
    for name, (f, fits) in UNARY.items():
        z = [p for p in points if fits(p)]
        program(name, t, [z], [f(p) for p in z])
    for name, (f, fits) in BINARY.items():
        pairs = [p for p in zip(points, points[5:] + points[:5]) if fits(*p)]
        program(name, t, list(zip(*pairs)), [f(*p) for p in pairs])
    large = [at(z, t) for z in LARGE]
    pairs = [(a, b) for a in large[:3] for b in large[:3]] + [(large[3], large[3])]
    program("stablehlo.divide", t, list(zip(*pairs)), [a / b for a, b in pairs])
    program("stablehlo.sqrt", t, [large], [cmath.sqrt(z) for z in large])
