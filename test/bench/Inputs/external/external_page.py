"""docs/external.md."""
import collections
import math

import rows
from tables import filled, table

HEAD = """# Predicted, and measured by others

Written by `test/bench/external BUILD -o docs/external.md`. Others have published how long training steps took, of which
models, on which machines and in which plans. This page has what dopt predicts for the same steps, from the models in
`test/models/`, the [installed clusters](clusters.md#installed-clusters) and passes that are closest to what the
source's framework did. Nothing was run: every time here that is called predicted was computed on one processor.

"""

ABOUT = """The table is `test/bench/Inputs/external/steps.tsv`; where its rows are from and under which license is in `SOURCES`
beside it. `test/bench/external BUILD FILE.tsv` makes this page of any file with the same columns, `-only REGEX` of some
rows, and `-commands` prints the command of each row. *Off* is predicted divided by measured, less 1. The mean and the
worst are of absolute values; *ranks* is Spearman's correlation of predicted and measured times: 1 where dopt puts the
steps of a source in the order in which they were measured. *Params* is the largest difference between the parameters
that dopt counts and those that the source states, which are often rounded."""

NOTES = """What differs from what was run:

- Times are those of the cost model with peak rates of data sheets ([cost.md](cost.md)): kernels reach less, which makes
  nearly all predictions too short.
- Kernels are fused by `opfuse`, where most of these frameworks ran an op at a time. Flash attention (MPT, Megatron-Core,
  llm.c) is `opfuse{online}`. A step marked ! does not fit as dopt would run it, and did as it was run.
- MPT reduced gradients in f32 where dopt scatters bf16. Megatron-Core's table does not tie the embedding to the output,
  `megatron.dir` does. The sources do not say the micro-batches of Megatron's tables: the largest power of two of at
  most 16 is taken with which the predicted step fits. Of llm.c, the recomputation of GELU is left out.
- BERT's rows are micro-steps, and how many of them there are between two updates is not in the table: the prediction has
  an update and an allreduce in each.
- The DGX-2H of four of BERT's rows has faster cards than the DGX-2 that is installed.

No number of dopt was fitted to any row of this table: all rows are held out.
"""

HOST = """## What a host would add

What is missing most where steps are short is the host, which issues one kernel after another: eager frameworks need tens of
microseconds for what one fused kernel of dopt does. As a test of that, and of nothing else on this page: a step that takes at least *h* for each
kernel and collective, and *g* times what is predicted where the device is the limit, max(g x predicted, h x kernels). Both numbers are fitted, by the
least mean of the absolute errors, to the rows of a source on one node without tensor parallelism, and held against its other
rows. dopt does not use them."""

LEAST = 10  # rows that are fitted, and rows that are held out
FACTORS = [1 + i / 50 for i in range(101)]
HOSTS = [i * 1e-6 for i in range(0, 101)]


def spread(values):
    return f"{values * 100:.1f} %"


def summary(groups):
    lines = []
    for name, done in groups.items():
        off = [abs(r["off"]) for r in done]
        if not off:
            continue
        order = rows.spearman([r["predicted"] for r in done], [r["step"].measured for r in done])
        params = [abs(r["parameters"] / r["step"].params - 1) for r in done if r["step"].params]
        lines.append([name, len(done), spread(sum(off) / len(off)), spread(max(off)),
                      "-" if math.isnan(order) else f"{order:.2f}", sum(not r["fits"] for r in done),
                      spread(max(params)) if params else "-"])
    return table(["source", "rows", "off, mean", "worst", "ranks", "do not fit", "params"], lines)


def line(cells):
    return "| " + " | ".join(str(c) for c in cells) + " |"


def missed(done, factor, host):
    """The mean of the absolute errors."""
    return sum(abs(max(factor * r["predicted"], host * r["events"]) / r["step"].measured - 1) for r in done) / len(done)


def hosts(groups):
    """Rows of a table: what a factor and a time for each kernel, fitted to some of the rows, do for the others."""
    lines = []
    for name, done in groups.items():
        fitted = [r for r in done if r["step"].devices <= 8 and int(r["step"].row["tp"] or 1) == 1]
        others = [r for r in done if r not in fitted]
        if min(len(fitted), len(others)) < LEAST:
            continue
        factor, host = min(((g, h) for g in FACTORS for h in HOSTS), key=lambda pair: missed(fitted, *pair))
        lines.append([name, f"{factor:.2f}", f"{host * 1e6:.0f}"] + [cell for rs in (fitted, others) for cell in (
            len(rs), spread(missed(rs, 1, 0)), spread(missed(rs, factor, host)))])
    return lines


def row_line(result):
    step = result["step"]
    return [step.label(result["command"]), f"{step.measured * 1e3:,.1f}", f"{result['predicted'] * 1e3:,.1f}",
            f"{result['off'] * 100:+.1f}", f"{result['memory'] / 1e9:.1f}" + ("" if result["fits"] else " !")]


def shown(command):
    return "dopt -stats -emit=none " + " ".join(f"'{w}'" if "{" in w else w for w in command)


def page(results, refused):
    groups = collections.OrderedDict()
    for result in results:
        groups.setdefault(result["step"].group, []).append(result)
    text = HEAD + filled(" ".join(ABOUT.split())) + "\n" + summary(groups) + "\n"
    if refused:
        text += "Rows that dopt cannot express yet:\n\n"
        count = collections.Counter((step.group, step.reason) for step in refused)
        text += table(["source", "reason", "rows"], [[*key, n] for key, n in count.items()]) + "\n"
    text += NOTES
    fits = hosts(groups)
    if fits:
        head = ["source", "g", "h, us", "fitted rows", "off before", "after", "held out", "off before", "after"]
        text += "\n" + HOST.split("\n")[0] + "\n\n" + filled(" ".join(HOST.split("\n", 2)[2].split())) + "\n" + table(head, fits)
    for name, done in groups.items():
        text += f"\n## {name}\n\n{done[0]['step'].row['source']}. The first row is\n\n"
        text += "```text\n" + shown(done[0]["command"]) + "\n```\n\n"
        text += table(["sizes", "measured, ms", "predicted, ms", "off, %", "GB"], [row_line(r) for r in done])
    return text
