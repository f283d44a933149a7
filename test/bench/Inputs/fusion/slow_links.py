"""The same steps on links with a tenth of the bandwidth, where collectives count as much as kernels."""
import dataclasses
import os
import re

import paper
import searches
import steps
import tool
from page_parts import commands, ms, percent, ran
from tables import filled, table

SLOWER = 10
# Of each search: no limit of time, so the table is the same on every machine.
EVALUATIONS = 20000
# What `joint` remarks on its result (passes/search/joint_run.c).
BOUND = re.compile(r"no issue order of these kernels and collectives takes less than ([0-9.e+]+) ms")


def file_of(name):
    return f"{name}_{SLOWER}th.cluster"


def cluster_file(dopt, name):
    """The shipped cluster with slower links, in the folder; returns the file's name."""
    with open(os.path.join(tool.ROOT, "parser", "cluster", "shipped", name + ".cluster")) as text:
        lines, link = [], False
        for line in text:
            begins = re.match(r"\s*(link|device|switch|node|host)\b", line)
            link = begins[1] == "link" if begins else link
            slow = lambda m: f"{m[1]}{float(m[2]) / SLOWER:g}"
            lines.append(re.sub(r"(bandwidth = )([0-9.]+)", slow, line) if link else line)
    path = file_of(name)
    with open(os.path.join(dopt.folder, path), "w") as out:
        out.writelines(lines)
    return path


def slower(dopt, step):
    """The step on the slower cluster: the same file."""
    return on(step, cluster_file(dopt, step.cluster.name))


def on(step, cluster):
    return dataclasses.replace(step, cluster=dataclasses.replace(step.cluster, name=cluster))


def of_step(dopt, step):
    times, found = steps.of_step(dopt, step)["times"], {}
    for engine in searches.ENGINES:
        words = ["-remarks", *searches.words_of(step, engine=engine, evaluations=EVALUATIONS)]
        done = dopt.done(words)
        bound = BOUND.search(done.stderr)
        if not bound:
            raise RuntimeError(f"{tool.shown(words)}: no remark on a bound")
        found[engine] = tool.costs_of(done.stdout) | {"bound": float(bound[1]) / 1e3}
        dopt.say(f"{step.name}, slow links: {engine}: {found[engine]['iteration'] * 1e3:.3f} ms, bound {bound[1]} ms")
    return {"times": times, "found": found}


def links(dopt, chosen):
    """The part `links`: policies, and each engine with the bound on issue orders of its result."""
    for step in chosen:
        dopt.make(step)
    return {step.name: of_step(dopt, slower(dopt, step)) for step in chosen}


ABOUT = """Where the links of the clusters have a tenth of their bandwidth, collectives take as long as kernels, or longer. Full
overlap cannot be reached there: the first gradient is available only after the forward pass and a part of the backward
pass. The order bound ([search.md](search.md#optimum-and-bounds)) knows that: no issue order of the kernels and
collectives of a plan takes less. The share of full overlap is as above, with the smallest times of kernels and of
collectives in this table; the share of the order bound is (T_base - T) / (T_base - T_bound) with the bound of dopt's own
plan. It says how well the plan is ordered; other kernels or other groups of gradients may have a lower bound. `over the
bound` is how much longer the step takes than that bound. Each search has {evaluations:,} evaluations, so the table is the
same on every machine."""


def section(data):
    rows, cells = data["links"], []
    for name, of in rows.items():
        times, found = of["times"], of["found"]
        best = min(steps.BASELINES, key=lambda policy: times[policy]["iteration"])
        base, ours = times[best]["iteration"], found["dopt"]
        plans = [*times.values(), *found.values()]
        full = max(min(p[what] for p in plans) for what in ("compute", "communication"))
        cells.append(
            [name, best, ms(base), *(ms(found[e]["iteration"]) for e in searches.ENGINES), ms(full), ms(ours["bound"]), ms(ours["exposed"])]
            + [percent(paper.share(base, ours["iteration"], full)), percent(paper.share(base, ours["iteration"], ours["bound"]))]
            + [f"{max(100 * (ours['iteration'] / ours['bound'] - 1), 0):.2f}"]
        )
    head = ["step", "best baseline", "its time, ms", *(f"time, ms: {e}" if i == 0 else e for i, e in enumerate(searches.ENGINES))]
    head += ["full overlap", "order bound of dopt's plan", "exposed in it", "share of full overlap, %", "share of the order bound, %", "over the bound, %"]
    step = next(s for s in steps.ALL if s.name == next(iter(rows)))
    slow = on(step, file_of(step.cluster.name))
    shown = tool.shown(["-remarks", *searches.words_of(slow, engine="dopt", evaluations=EVALUATIONS)])
    return (
        "\n## Slow links\n\n" + filled(ABOUT.format(evaluations=EVALUATIONS)) + "\n" + table(head, cells)
        + "\n" + filled("Made by " + ran(data, "links") + " The command of the first row's last search:") + commands([shown])
    )  # fmt: skip
