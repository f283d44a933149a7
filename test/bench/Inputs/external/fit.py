"""external -fit: the numbers of frameworks and of A100 and V100 from the rows marked f.

A step takes, in seconds, a + products / P + convolutions / C + attention / T + memory / M of the device and n I of the host,
which overlap as docs/cost.md says: P, C, T are factors on the shares that products, convolutions and attention reach, M is the
share of the memory bandwidth that all other kernels reach, I the host's time for a kernel or collective. How much of a row is of
which sort is found out by dopt itself, which predicts it with one of the numbers changed at a time, by a cluster file that has
them. Then a search along coordinates finds the numbers with the least mean of absolute errors, to three digits.
"""
import math
import os
import re
import statistics

import rows
from tables import table

SHIPPED = os.path.join(rows.TREE, "parser", "cluster", "shipped")
SORTS = {"products": ("product", "batched"), "convolutions": ("conv", "conv_data", "conv_filter"), "attention": ("attention",)}
MEMORY = ("flat", "rows", "columns", "both", "gather", "scatter")
CHANGED = 0.8  # times as much is a number where a row is looked at with another one
SMALLEST = 0.001  # a step of the search
SAME = 0.01  # numbers that differ by no more are the same: another start of the search moves them, as rounding does
LEAST, MOST = 0.02, 4.0  # factors and shares are sought between these; times of hosts, in units of HOST, too
PEAK = 1.0  # no share is larger; but of convolutions and attention, which a mask halves, fewer operations are done than counted
HOST = 50e-6

# What is fitted to the rows of a group, in this order: each takes the numbers of those before it. `shares`: of which cluster the
# factors are of; what is not named keeps the value of framework.def.
STAGES = [
    ("llm-foundry, MPT on H100", "fsdp", "h100x32", "products attention memory"),
    ("llm-foundry, MPT on A100", "fsdp", "a100", "products attention"),
    ("vTrain, GPT on A100", "megatron", "a100", "issue products memory"),
    ("Megatron-LM 2021, GPT on A100", "megatron_2021", "a100", "products"),
    ("DeepLearningExamples, BERT-large on V100", "eager", "a100", "issue products memory"),
    ("llm.c, GPT-2 on A100", "fused", "a100", "products"),
    ("DeepLearningExamples, ResNet-50 on A100", "fused", "a100", "convolutions"),
]
NAMES = ("issue", "sums", "products", "convolutions", "attention", "memory")


def frameworks():
    with open(os.path.join(rows.TREE, "ir", "cluster", "framework.def")) as text:
        found = re.findall(r"^FRAMEWORK\((\w+), (.*)\)", text.read(), re.M)
    return {name: dict(zip(NAMES, map(float, numbers.split(",")))) for name, numbers in found}


def items(text, device):
    return re.findall(rf"^  reach {device} \{{[^}}]*\}}\n", text, re.M)


def cluster_text(name, shares, numbers):
    """The cluster with kernels and a host as of a framework: as device_use_framework (ir/cluster/framework.c) makes them."""
    with open(os.path.join(SHIPPED, name + ".cluster")) as text:
        body = text.read()
    with open(os.path.join(SHIPPED, shares + ".cluster")) as text:
        of = text.read()
    device, other = (re.search(r"^  device (\w+)", t, re.M)[1] for t in (body, of))
    lines = []
    for item in items(of, other):
        kernel = re.search(r"kernel = (\w+)", item)[1]
        sort = next((s for s, kernels in SORTS.items() if kernel in kernels), None)
        if sort:
            item = re.sub(r", start = [^,}]*", "", item).replace(f"reach {other} ", f"reach {device} ")
            lines.append(re.sub(r"share = ([\d.e-]+)", lambda m: f"share = {float(m[1]) * numbers[sort]:.9g}", item))
    lines += [f"  reach {device} {{kernel = {kernel}, share = {numbers['memory']:.9g}}}\n" for kernel in MEMORY]
    for item in items(body, device):
        body = body.replace(item, "")
    body = re.sub(rf"^  device {device}\n", f"  device {device} {{issue = {numbers['issue'] * 1e9:.6g}ns, sums = {numbers['sums']:g}}}\n", body, flags=re.M)
    return re.sub(r"^  link ", lambda m: "".join(lines) + m[0], body, count=1, flags=re.M)


def largest(shares):
    """The largest number of each name, with which no product is faster than the peak."""
    with open(os.path.join(SHIPPED, shares + ".cluster")) as text:
        body = text.read()
    reached = [float(x) for kernel in SORTS["products"] for x in re.findall(rf"kernel = {kernel}, [^}}]*?share = ([\d.]+)", body)]
    return dict.fromkeys(NAMES, MOST) | {"issue": MOST * HOST, "memory": PEAK, "products": PEAK / max(reached)}


class Row:
    """A row, as a sum of shares of time: `part` by name of the number."""

    def __init__(self, step, base, took):
        self.step, self.base = step, base
        device = {name: took[name] - took[""] for name in took if name and name != "issue"}
        # with one number CHANGED times as large its part takes 1 / CHANGED times as long
        self.part = {name: more / (1 / CHANGED - 1) for name, more in device.items()}
        self.rest = took[""] - sum(self.part.values())
        self.host = (max(0, took["issue"] ** 3 - took[""] ** 3)) ** (1 / 3) / HOST if "issue" in took else 0

    def off(self, numbers):
        device = self.rest + sum(part * self.base[name] / numbers[name] for name, part in self.part.items())
        return math.cbrt(device**3 + (self.host * numbers["issue"]) ** 3) / self.step.measured - 1


def mean_error(some, numbers):
    return statistics.fmean(abs(row.off(numbers)) for row in some)


def search(some, start, free, limit):
    """One number after the other is moved by a factor as long as that helps; then by a smaller one."""
    best = {name: min(x, limit[name]) for name, x in start.items()}
    least, by = mean_error(some, best), 1.3
    while by > 1 + SMALLEST / 2:
        moved = False
        for name in free:
            for factor in by, 1 / by:
                value = min(max(best[name] * factor, LEAST * (HOST if name == "issue" else 1)), limit[name])
                error = mean_error(some, best | {name: value})
                if error < least * (1 - 1e-9):
                    best, least, moved = best | {name: value}, error, True
        by = by if moved else math.sqrt(by)
    return best


def rounded(numbers):
    return {name: float(f"{x:.3g}") for name, x in numbers.items()}


def look(stage, steps, start, predicted, folder):
    """Rows with what dopt says of them with each number changed."""
    group, framework, shares, free = stage
    changed = dict.fromkeys(free.split() + (["issue"] if start["issue"] else []))
    found = []
    for step in steps:
        took = {}
        for name in ["", *changed]:
            # products and attention are of the same calls: without a host, so that times add up
            numbers = start | {"issue": HOST if name == "issue" else 0}
            if name and name != "issue":
                numbers[name] *= CHANGED
            path = os.path.join(folder, f"{step.cluster}.{framework}.{name or 'as'}.cluster")
            with open(path, "w") as out:
                out.write(cluster_text(step.cluster, shares, numbers))
            took[name] = path
        found.append((step, took))
    times = predicted([(step, path) for step, took in found for path in took.values()])
    at = iter(times)
    return [Row(step, start, {name: next(at) for name in took}) for step, took in found]


def leave_out(some, start, free, limit):
    """The error on the rows of each model with numbers from the other models' rows."""
    off = []
    for model in sorted({row.step.row["model"] for row in some}):
        rest = [row for row in some if row.step.row["model"] != model]
        if not rest:
            return math.nan
        numbers = search(rest, start, free, limit)
        off += [abs(row.off(numbers)) for row in some if row.step.row["model"] == model]
    return statistics.fmean(off)


def fit(steps, predicted, folder):
    """Prints what to write into framework.def and the clusters, and the errors. `predicted`: pairs of a step and a cluster file
    to seconds."""
    known = frameworks()
    fitted = {name: dict(numbers) for name, numbers in known.items()}
    lines, pasted, changed = [], [], []  # changed: factors on what is there
    larger = 1  # the shares of an A100's products become so many times as large: what is a factor on them, by that much smaller
    for stage in STAGES:
        group, framework, shares, names = stage
        free = names.split()
        some = [step for step in steps if step.group == group and step.fitted]
        if not some:
            continue
        start = dict(fitted[framework])
        if group.endswith("V100"):
            start["products"] *= like_factor()
        seen = look(stage, some, start, predicted, folder)
        limit = largest(shares)
        numbers = rounded(search(seen, start, free, limit))
        lines.append([group, framework, len(some), *("-" if math.isnan(x) else f"{x * 100:.1f} %" for x in (
            mean_error(seen, start), mean_error(seen, numbers), leave_out(seen, start, free, limit)))])
        if shares != "h100x32" and framework == "fsdp":
            larger = numbers["products"] / start["products"]
            changed += [larger, numbers["attention"] / start["attention"]]
            pasted.append(f"a100.cluster: the shares of products, and of attention, times {larger:.3g} and {changed[-1]:.3g}")
        elif group.endswith("V100"):
            like = numbers["products"] / larger
            changed.append(like / like_factor())
            pasted.append(f'v100_dgx1.cluster, v100_dgx2.cluster: reach v100 {{like = "NVIDIA A100", products = {like:.3g}}}')
            fitted[framework].update(issue=numbers["issue"], memory=numbers["memory"])
        elif free == ["convolutions"]:
            changed.append(numbers["convolutions"] / start["convolutions"])
            pasted.append(f"a100.cluster: the shares of convolutions, but in f32, times {changed[-1]:.3g}")
        else:
            fitted[framework].update({name: numbers[name] / (larger if name == "products" else 1) for name in free})
    print(table(["rows marked f of", "-framework", "rows", "error before", "fitted", "each model left out"], lines))
    for name, numbers in fitted.items():
        print(f"FRAMEWORK({name}, {numbers['issue'] * 1e6:.3g}e-6, " + ", ".join(f"{numbers[n]:.3g}" for n in NAMES[1:]) + ")")
    print("\n".join(pasted))
    changed += [numbers[n] / known[name][n] for name, numbers in fitted.items() for n in NAMES if known[name][n]]
    print("the numbers that are there are these" if all(abs(c - 1) <= SAME for c in changed) else "the numbers that are there are others")


def like_factor():
    """What the clusters of V100 multiply the shares of an A100's products by."""
    with open(os.path.join(SHIPPED, "v100_dgx1.cluster")) as text:
        return float(re.search(r"products = ([\d.]+)", text.read())[1])
