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


def result(number, devices):
    """A step that takes 1.5 times what is predicted, or 40 us for each of its kernels."""
    predicted, events = 1e-3 * number, 1000 + 7 * (number % 5)
    step = types.SimpleNamespace(measured=max(1.5 * predicted, 40e-6 * events), devices=devices, row={"tp": "1"})
    return {"step": step, "predicted": predicted, "events": events}


made = [result(number, 8 if number % 2 else 16) for number in range(5, 65)]
assert external_page.hosts({"made": made})[0][:4] == ["made", "1.50", "40", 30]
assert external_page.hosts({"made": made})[0][5] == external_page.hosts({"made": made})[0][8] == "0.0 %"
assert external_page.hosts({"few": made[:15]}) == []
print("right")
