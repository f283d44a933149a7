"""The page's arithmetic against numbers worked out by hand."""
import math
import types

import external_page
import rows

# Equal orders, opposite ones, and equal values, which have the mean of their ranks, 1.5, 1.5, 3: 1.5 / sqrt(1.5 * 2).
assert math.isclose(rows.spearman([1, 5, 9], [2, 3, 7]), 1)
assert math.isclose(rows.spearman([1, 2, 3], [9, 5, 1]), -1)
assert math.isclose(rows.spearman([4, 4, 6], [1, 2, 3]), math.sqrt(0.75))
assert math.isnan(rows.spearman([1, 1], [1, 2]))


def result(off, fitted, fits=True):
    step = types.SimpleNamespace(fitted=fitted, framework="x", measured=1 + off, params=None)
    return {"step": step, "predicted": (1 + off) * (1 + off), "off": off, "fits": fits, "parameters": 1}


# Fitted rows and those that are held out have means and worsts of their own; ranks are of the latter.
made = [result(0.1, True), result(-0.3, True), result(0.02, False), result(-0.04, False, fits=False)]
lines = external_page.summary({"made": made}).splitlines()
assert lines[2] == "| made | x | 2 | 20.0 % | 30.0 % | 2 | 3.0 % | 4.0 % | 1.00 | 3 of 4 | - |", lines[2]
assert lines[3].startswith("| all |")
print("right")
