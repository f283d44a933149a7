"""Of the page: steps that were read as StableHLO."""
import imported
import paper
import searches
import steps
import tool
from page_parts import commands, gb, ms, percent, ran
from tables import filled, number, table

TEXT = """Training steps that other systems exported as StableHLO (see [stablehlo.md](stablehlo.md)), on the clusters of DisCo:
ResNet-50 as JAX and flax lower it under `pmap` for 4 devices, which are 4 of the cluster's, with 256 images each and
an allreduce for each gradient and statistic. Predicted times in ms; `*` marks the best of the paper's baselines, the
speed-up is (T_base - T) / T relative to it, and the share is the fraction of the possible gain, both as above.
Batches are not chosen to fit in memory: `!` marks plans that are larger than the device."""


def memory(cost):
    return gb(cost["peak_bytes"]) + ("" if cost["fits"] else " !")


def section(data):
    found = [(step, data["imported"][step.name]) for step in imported.ALL if step.name in data["imported"]]
    policies, engines = [], []
    for step, of in found:
        best = min(steps.BASELINES, key=lambda name: of["times"][name]["iteration"])
        base = of["times"][best]["iteration"]
        plans = [*of["times"].values(), *of["engines"].values()]
        bound = max(min(p["compute"] for p in plans), min(p["communication"] for p in plans))
        policies.append([step.name] + [ms(of["times"][p]["iteration"]) + (" *" if p == best else "") for p in steps.BASELINES | steps.OTHERS])
        none = of["times"]["no fusion"]
        for engine in searches.ENGINES:
            cost = of["engines"][engine]
            engines.append([step.name, engine, number(none["events"]), memory(none), ms(cost["iteration"]), memory(cost)]
                + [percent(paper.speedup(base, cost["iteration"])), percent(paper.share(base, cost["iteration"], bound))]
                + [number(cost["evaluations"]), f"{cost['seconds']:.2f}"])  # fmt: skip
    head = ["step", "engine", "kernels and collectives", "memory, GB", "time", "memory, GB", "speed-up, %", "share, %", "evaluations", "s"]
    step = found[0][0]
    made = [tool.shown([*step.build(step.batch), "-o", step.file]), tool.shown(searches.words_of(step, engine="dopt", time="10s"))]
    return (
        "\n## Imported steps\n\n" + filled(TEXT) + "\n" + table(["step", *steps.BASELINES, *steps.OTHERS], policies) + "\n"
        + table(head, engines) + "\n" + filled("Made by " + ran(data, "imported") + " The commands of a row:") + commands(made)
    )  # fmt: skip
