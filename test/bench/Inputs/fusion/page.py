"""The results as a page of Markdown."""
import slow_links
import page_imported
import page_real
import page_searches
import searches
import steps
import tool
from page_parts import commands, gb, ms, ran
from tables import filled, number, table

HEAD = """# Fusion: policies and searches

Written by `test/bench/fusion BUILD -page docs/fusion.md`. Results of policies and searches on training steps:
predicted for the clusters of DisCo, which can be reproduced to the last digit, and measured on two ranks of one
machine. Passes are described in [passes.md](passes.md), searches in [search.md](search.md), the estimation of times
in [cost.md](cost.md) and [estimator.md](estimator.md).
"""


def steps_of(rows):
    return [step for step in steps.ALL if step.name in rows]


STEPS = """
## The steps

The models of [models.md](models.md), data-parallel over all devices of a cluster: A is {a}, B is {b} (see
[clusters.md](clusters.md)). Each step is made by its command; the other commands on this page read its file.
"""

BATCHES = """The batch of each device fills its memory, as in the paper (section 6.1): it is the largest of 1, 2, 3, 4, 6, 8, 12,
16, ... with which all plans on this page fit; those of searches may need up to half as much again as the step, since
without `-budget` memory is not limited. Reformer's texts are truncated to 4096 characters, because one of 65,536
exceeds the memory of these devices. ResNet-50 normalizes the slice of each device separately, as frameworks do.
RNNLM's hidden states, which are whole tensors in a step, are gathered from all devices."""


def memory(data, step):
    """Of the largest plan: bytes, and whether all fit."""
    plans = [*data["policies"][step.name]["times"].values()]
    found = data.get("searches", {}).get(step.name, {})
    plans += [found[engine] for engine in searches.ENGINES if engine in found]
    return max(plan["peak_bytes"] for plan in plans), all(plan["fits"] for plan in plans)


def steps_section(data):
    rows = []
    for step in steps_of(data["policies"]):
        of = data["policies"][step.name]
        cost = of["times"]["no fusion"]
        most, fits = memory(data, step)
        rows.append(
            [step.name, step.model.optimizer, of["batch"], gb(cost["peak_bytes"]), gb(most) + ("" if fits else " !")]
            + [number(cost["events"]), ms(cost["compute"]), ms(cost["communication"])]
        )
    head = ["step", "optimizer", "batch per device", "memory, GB", "of the largest plan, GB"]
    head += ["kernels and collectives", "kernels, ms", "collectives, ms"]
    a, b = (cluster.name for cluster in steps.CLUSTERS)
    made = [tool.shown([*step.build(step.batch), "-o", step.file]) for step in steps_of(data["policies"])]
    return STEPS.format(a=a, b=b) + commands(made) + "\n" + filled(BATCHES) + "\n" + table(head, rows)


POLICIES = """The baselines of the paper (section 6.1) as passes, and other policies that need no search. Predicted times of a step
in ms; the best of the paper's five is marked with `*`, and is the baseline of the searches."""


def best_baseline(times):
    return min(steps.BASELINES, key=lambda name: times[name]["iteration"])


def policy_row(name, of):
    best = best_baseline(of["times"])
    cells = [ms(of["times"][p]["iteration"]) + (" *" if p == best else "") for p in steps.BASELINES | steps.OTHERS]
    return [name, *cells]


def policies_section(data):
    rows = [policy_row(step.name, data["policies"][step.name]) for step in steps_of(data["policies"])]
    first = steps_of(data["policies"])[0]
    passes = [[name, f"`{p}`" if p else "-"] for name, p in (steps.BASELINES | steps.OTHERS).items()]
    return (
        "\n## Policies\n\n" + filled(POLICIES) + "\n" + table(["policy", "passes"], passes) + "\n"
        + table(["step", *steps.BASELINES, *steps.OTHERS], rows)
        + "\n" + filled("Made by " + ran(data, "policies") + " The command of a cell:")
        + commands([tool.shown(first.costs(steps.BASELINES["both"]))])
    )  # fmt: skip


# What each part of the data becomes, in the order of the page.
SECTIONS = {
    "policies": (steps_section, policies_section),
    "searches": (page_searches.table1, page_searches.search_times),
    "links": (slow_links.section,),
    "methods": (page_searches.methods,),
    "alpha": (page_searches.alpha,),
    "beta": (page_searches.beta,),
    "speedups": (page_searches.speedups,),
    "exhausted": (page_searches.exhausted, page_searches.estimator),
    "imported": (page_imported.section,),
    "real": (page_real.section,),
}


def text(data):
    parts = [section(data) for name, sections in SECTIONS.items() if data.get(name) for section in sections]
    return "".join([HEAD, *parts])


def broken(path, lines):
    """Rows of tables that have not as many cells as their head."""
    cells = 0
    for i, line in enumerate(lines, 1):
        n = line.count("|") if line.startswith("|") else 0
        if cells and n and n != cells:
            yield f"{path}:{i}: a row of {n - 1} cells in a table of {cells - 1}"
        cells = n if not cells or not n else cells


def compare(data, path):
    """Are these predictions what the page has, and its tables whole? An exit status; says what is not."""
    with open(path) as page:
        lines = page.read().splitlines()
    rows = [policy_row(name, of) for name, of in data["policies"].items()]
    missing = [line for line in ("| " + " | ".join(row) + " |" for row in rows) if line not in lines]
    wrong = [f"{path} does not have: {line}" for line in missing] + list(broken(path, lines))
    for message in wrong:
        print(message)
    print(f"{len(rows) - len(missing)} of {len(rows)} rows match the page")
    return 1 if wrong else 0
