"""Writes programs that convert f32 to the floats of 8 bits, at all their numbers, half way between them, next to that, and beyond;
what is expected is the nearest of the format's numbers, of two the one with an even last bit.

    narrow.py > programs.mlir
"""

import math
import struct

# bits of exponent and mantissa, bias, whether there are infinities; None: nor a NaN among numbers without a sign
FORMATS = {"f8E4M3FN": (4, 3, 7, False), "f8E5M2": (5, 2, 15, True), "f8E4M3": (4, 3, 7, True), "f8E3M4": (3, 4, 3, True),
           "f8E4M3FNUZ": (4, 3, 8, None), "f8E5M2FNUZ": (5, 2, 16, None), "f8E4M3B11FNUZ": (4, 3, 11, None)}


def numbers(exponent, mantissa, bias, infinite):
    """All that are not negative, by their bits."""
    out = []
    for code in range(1 << (exponent + mantissa)):
        e, m = code >> mantissa, code & ((1 << mantissa) - 1)
        if (e == (1 << exponent) - 1 and infinite) or infinite is not None and code == (1 << (exponent + mantissa)) - 1:
            break
        out.append(math.ldexp(m + (1 << mantissa) * (e > 0), max(e, 1) - bias - mantissa))
    return out


def nearest(x, all_numbers, infinite):
    limit = all_numbers[-1] + (all_numbers[-1] - all_numbers[-2]) / 2  # from here on it is beyond the largest
    size = abs(x)
    if math.isnan(x) or size > limit or (size == limit and len(all_numbers) % 2 == 0):
        return math.copysign(math.inf, x) if infinite and not math.isnan(x) else math.nan
    code = min(range(len(all_numbers)), key=lambda i: (abs(all_numbers[i] - size), i % 2))
    return math.copysign(all_numbers[code], x)


def next_up(x):
    return struct.unpack("f", struct.pack("i", struct.unpack("i", struct.pack("f", x))[0] + 1))[0]


def text(x):
    if math.isfinite(x):
        return repr(x)
    return "0x7FC00000" if math.isnan(x) else "0x7F800000" if x > 0 else "0xFF800000"


def expect(value, numbers_expected, kind):
    """Equal, where both may be NaN."""
    print("  %%e%s = stablehlo.constant dense<[%s]> : %sf32>" % (value, ", ".join(map(text, numbers_expected)), kind))
    print('  "check.expect_almost_eq"(%%%s, %%e%s) {tolerance = 0.0 : f64} : (%sf32>, %sf32>) -> ()' %
          (value, value, kind, kind))


for name, form in FORMATS.items():
    known = numbers(*form)
    points = [math.inf, math.nan, 1e30, 1e-30, known[-1] * 2]
    for a, b in zip(known, known[1:] + [2 * known[-1] - known[-2]]):
        points += [a, (a + b) / 2, next_up((a + b) / 2), -next_up(a)]
    points += [-x for x in points]
    n, kind = len(points), "tensor<%dx" % len(points)
    print("func.func @%s() {" % name)
    print("  %%x = stablehlo.constant dense<[%s]> : %sf32>" % (", ".join(map(text, points)), kind))
    print("  %%n = stablehlo.convert %%x : (%sf32>) -> %s%s>" % (kind, kind, name))
    print("  %%y = stablehlo.convert %%n : (%s%s>) -> %sf32>" % (kind, name, kind))
    expect("y", [nearest(x, known, form[3]) for x in points], kind)
    # constants are rounded, too
    print("  %%c = stablehlo.constant dense<[%s]> : %s%s>" % (
        ", ".join("0.0" if not math.isfinite(x) else text(x) for x in points), kind, name))
    print("  %%z = stablehlo.convert %%c : (%s%s>) -> %sf32>" % (kind, name, kind))
    expect("z", [nearest(x if math.isfinite(x) else 0.0, known, form[3]) for x in points], kind)
    print("  return\n}\n\n// -----\n")
