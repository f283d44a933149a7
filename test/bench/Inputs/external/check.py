"""The page's arithmetic against numbers worked out by hand."""
import math
import types

import choice
import external_page
import fit
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
# Steps whose times are made of known numbers: the search finds these, also from one model's steps alone, and no error is left.
KNOWN = {"issue": 30e-6, "sums": 0, "products": 0.8, "convolutions": 1, "attention": 1.4, "memory": 0.45}
START = {"issue": 52e-6, "sums": 0, "products": 1.1, "convolutions": 1, "attention": 1, "memory": 0.6}


def step_of(model, products, attention, memory, rest, calls):
    """The same arithmetic, from parts in seconds at factors of 1."""

    def device(numbers):
        return products / numbers["products"] + attention / numbers["attention"] + memory / numbers["memory"] + rest

    def both(numbers):
        return (device(numbers) ** 3 + (calls * numbers["issue"]) ** 3) ** (1 / 3)

    took = {"": device(START), "issue": both(START | {"issue": fit.HOST})}
    took |= {name: device(START | {name: START[name] * fit.CHANGED}) for name in ("products", "attention", "memory")}
    return fit.Row(types.SimpleNamespace(row={"model": model}, measured=both(KNOWN)), START, took)


steps = [step_of("ab"[i % 2], 1 + i % 3, 0.2 * (i % 4), 0.5 + 0.3 * (i % 5), 0.1, 20000 * (1 + i % 7)) for i in range(24)]
free = ["issue", "products", "attention", "memory"]
limit = dict.fromkeys(KNOWN, 4)
found = fit.search(steps, START, free, limit)
assert all(math.isclose(found[name], KNOWN[name], rel_tol=0.03) for name in free), found
assert fit.mean_error(steps, found) < 0.003 and fit.leave_out(steps, START, free, limit) < 0.01
# No product becomes faster than the peak: the number stops there, where it starts above it too.
assert fit.search(steps, START, free, limit | {"products": 0.7})["products"] == 0.7
assert ", share = 1," in fit.cluster_text("a100", "a100", KNOWN | fit.largest("a100"))
# A cluster with the numbers of a framework is what -framework makes of it.
text = fit.cluster_text("a100", "a100", KNOWN)
assert "{issue = 30000ns, sums = 0}" in text and "{kernel = flat, share = 0.45}" in text and "half = " not in text and "start" not in text


def plan_of(tensor, predicted, measured, model="m"):
    row = {"model": model, "seq": "8", "global_batch": "8", "devices": "8", "device_type": "x", "precision": "p", "tp": tensor, "pp": "",
           "micro_batch": "1"}
    return {"step": types.SimpleNamespace(row=row, devices=8, measured=measured), "predicted": predicted}


# Of three plans the one that is predicted to be the fastest is measured 0.5 slower than the fastest one, and any of them
# (0 + 0.5 + 1) / 3; of the next three the chosen one is the fastest; two plans are no choice.
plans = [plan_of("2", 1, 3), plan_of("4", 1.1, 2), plan_of("8", 5, 4)]
plans += [plan_of("2", 2, 2, "n"), plan_of("4", 3, 3, "n"), plan_of("8", 4, 4, "n"), plan_of("2", 1, 2, "o"), plan_of("4", 2, 1, "o")]
told = choice.text({"made": plans})
assert "| made | 8 | 2 | 6 | 1 | 25.0 % | 50.0 % | 50.0 % |" in told, told
assert "| m | 8 | 8 | 3 | t=2 d=4 p=1, micro-batch 1 | 1,000.0 | 3,000.0 | t=4 d=2 p=1, micro-batch 1 | 1,100.0 | 2,000.0 | 50.0 % |" in told
assert not choice.text({"made": plans[-2:]})
print("right")
