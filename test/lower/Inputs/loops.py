"""Checks the outputs of loops.mlir, from the interpreter or a program, against the same loops here."""

import re
import sys


def collatz(n):
    steps = 0
    while n != 1:
        n = 3 * n + 1 if n % 2 else n // 2
        steps += 1
    return steps


def drawn(x):
    tries = 0
    while tries == 0 or x >= 1 << 26:
        x = (x * 1664525 + 1013904223) % (1 << 32)
        tries += 1
    return tries, x


tries, last = drawn(12345)
want = {
    "collatz": (collatz(97), 0),
    "root": (0, 1e-6),
    "solution": (0, 1e-5),
    "scan": (0, 1e-3),  # 10000 additions, each rounded to f32
    "tries": (tries, 0),
    "drawn": (last, 0),
    "pairs": (sum(i + 1 for i in range(12)), 0),
    "swapped": (3, 0),
}
text = sys.stdin.read()
for name, (value, error) in want.items():
    found = re.findall(rf"\b{name}(?: =)? (\S+)", text)
    if not found or any(abs(float(x) - value) > error for x in found):
        sys.exit(f"{name}: expected {value} within {error}, found {found or 'nothing'} in\n{text}")
