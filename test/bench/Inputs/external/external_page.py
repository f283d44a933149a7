"""docs/external.md."""
import collections
import math

import choice
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
worst are of absolute values; *ranks* is Spearman's correlation of predicted and measured times of the rows that are held
out: 1 where dopt puts the steps of a source in the order in which they were measured. *Fit* counts the steps that fit into
the device as dopt would run them; all of them did as they were run. *Params* is the largest difference between the
parameters that dopt counts and those that the source states, which are often rounded.

The numbers of [`-framework`](cost.md#frameworks) and what an A100 and a V100 [reach](clusters.md#what-kernels-reach) were
fitted to the rows marked f below: of MPT, BERT and vTrain every second row on at most 8 devices without tensor parallelism, of
Megatron-LM 2021 every second row, of
ResNet-50 one device, of llm.c all. `test/bench/external BUILD -fit` fits them, prints them as they are written into
`ir/cluster/framework.def` and the clusters, and says how large the errors are on each model of these rows when it is left out: of MPT
on H100 3.0 % in the mean, 3.6 % on models that are left out, of MPT on A100 4.7 and 5.0 %, of vTrain 2.5 and 2.6 %. What an H100 reaches is from measured kernels. No number of dopt was fitted to any other row;
all of them were seen when the form of the model was chosen."""

NOTES = """What differs from what was run:

- Kernels are fused by `opfuse`, where most of these frameworks ran an op at a time; what that costs is in the numbers of
  the framework. Flash attention (MPT, Megatron-Core, llm.c) is `opfuse{online}`. A step marked ! does not fit as dopt would
  run it, and did as it was run; there is none now.
- Params are in 16 bits where they compute, and so is the residual stream (`amp{params=low}`), as in these frameworks. Where
  they are f16, gradients are summed over micro-batches in f16, too (`grad{accumulate=own}`), as the gradients of such params are.
- MPT reduced gradients in f32 where dopt scatters bf16. Megatron-Core's table does not tie the embedding to the output,
  nor does `megatron_core.dir`, but `gpt2.dir` of its first row does. The sources do not say the micro-batches of Megatron's tables: the largest power of two of at
  most 16 is taken with which the predicted step fits, and with stages of a pipeline the fastest of 4, 2 and 1 texts that fits.
  Of llm.c, the recomputation of GELU is left out.
- Stages of a pipeline begin at blocks, as many in each (`pipeline{cut=...}`); vTrain's schedule is 1F1B. Megatron-LM's is
  interleaved, with a number of stages on a device that its tables do not say: the smallest that divides the blocks is
  taken, or 1F1B where the micro-batches are no multiple of the stages. Devices of a tensor-parallel
  group send slices between stages, as both do by default (`scatter-sends`). Tied tables are sent to the last stage once a step, where
  Megatron-LM has a copy and sums the gradients. A host waits for what its stage receives, so it does not issue kernels
  ahead while the device waits: `-framework` counts what it needs in each micro-batch.
- Megatron-LM computes the loss in f32, an op at a time, where dopt has kernels that read 16 bits: its large tensors are kept out of
  kernels (`opfuse{unfused=...}`), but in the rows of Megatron-Core, which has a fused one. Its kernel of scores, mask and softmax
  refuses numbers of heads times texts that are not multiples of 4 (`is_kernel_available` in `fused_softmax.py`), as 2 of one text at
  tp = 8: each is a kernel of its own then.
- BERT's rows are micro-steps. For those on DGX-2H the source says how many there are between two updates, with 32,768 texts in all:
  the step has as many, and is compared with as many times the measured time. For the others it does not say, and the prediction has
  an update and an allreduce in each. The cards of a DGX-2H are faster than those of the DGX-2 that is installed.

What misses most:

- Megatron-Core with tensor parallelism was missed by up to 64 % as long as the step was not as it is run. What counted at tp = 8,
  of the 0.89 s measured: with whole params in the optimizer and activations that are whole on each device four micro-batches were
  needed, and took 1.4 s. `megatron_core.dir` has its sequence parallelism, and `shard` its distributed optimizer, whose params
  are gathered during the forward pass; as 48 divides no dim of the params, they are sharded over 16 devices, and there are 3
  copies (C), which sends 4 % more than shards of a flat buffer would. Then one micro-batch fits, which needs no sum of gradients
  over micro-batches. Messages of tensor parallelism do not wait for those of data parallelism, since process groups of PyTorch
  have queues of their own. What is left is that messages of the forward pass (0.1 s) are not sent in chunks beside
  chunks of the products before or after, as Transformer Engine does. No number was fitted to these rows; but they were
  looked at when the plan was made.
- Megatron-LM of 2021 has uniformly slower kernels than the Megatron-DeepSpeed that vTrain measured: with its rates
  all four rows were 16 to 18 % too fast, at tp = 1 as at tp = 8. So it has a row of its own in the table of
  frameworks, of which one number is fitted to two rows.
- As long as sums of gradients were f32, the fitted rows of vTrain were off by 4.1 % in the mean, and 5.0 % with their model left out;
  with sums in f16, 2.5 and 2.6 %. As long as the residual stream was f32, 18 steps were predicted not to fit.
- A link of 240 GB/s instead of 300 for NVLink of an A100, what NCCL reaches of it, makes the one-node rows worse (vTrain 4.1 to 4.3 %, Megatron-LM
  2021 1.2 to 2.0 %, fitted again), so the data sheet's is kept. A higher power in the rule for hosts (4 or 5 for 3) makes
  the fitted rows of vTrain better, 4.1 to 3.4 %, and those with tensor parallelism worse.
- Rows of vTrain at tp = 4 with micro-batches of two texts (D=2048): all of those that are missed by more than 20 %. A block
  takes 2.8 ms for two texts there, but 3.0 ms for one and 5.0 ms for four. These steps wait for their hosts, which need 2.8 to 3.6 ms
  a block at tp = 2 and 4, in an order that follows neither sizes nor the number of calls (D=1024 at tp = 2: 3.3, 3.6 and 3.2 ms for
  one, two and four texts), but is the same in all rows of one size. A host's time is one number here.
- With tensor parallelism the error of a row of vTrain follows from its width, tp and the texts of a micro-batch: rows that differ only in
  blocks, stages or the number of micro-batches are missed alike, within 10 %. Their measured times are sums of a time for a block and one for
  what is before and after the blocks, to 0.1 % at most sizes, so these are no noise of single runs; but at equal tp, width and work they
  differ by up to 26 % in no order. Where host and device need about the same time, rows are predicted 11 to 27 % too slow (D=1024 at
  tp = 2 with four texts, D=2048 at tp = 4 with one and two) or 13 to 15 % too fast (D=2048 at tp = 2 with two texts and at tp = 4 with four);
  at tp = 8, where messages count, 5 to 21 % too fast.
- Neighbours contradict each other there: 16 blocks at tp = 4 took 394 ms for eight micro-batches of two texts with D=2048, and 457 ms
  with D=1024, which has less than half of the work and as many calls. 19 rows took longer than such with more texts in as many micro-batches
  and the same kernels, by up to 8 %.
- What was tried for these rows, each fitted again to the marked rows among 156 rows without stages, of which 7.1 % (mean) and 24 % (worst)
  of the others are missed as it is: in place of the third power, hosts that run ahead of their devices until both wait for each other at the ends of
  micro-batches, or of the forward and the backward pass, as with Megatron's timers (8.0 to 10 %, 25 to 35 %), or that do not run ahead (9.3 %, 27 %);
  a power of 4, 6 or 10 (8.1 to 11 %, 27 to 33 %); besides it, a time of the host for each micro-batch (7.3 %, 25 %) or message (11 %, 40 %), and
  one of the device for each call (fitted, it is 0). NVLink at 150 GB/s, which the source's own simulator assumes, makes 7.0 of 7.4 % among 206 rows, but
  28 of 27 % in the worst case, and 3.3 of 2.7 % in the fitted rows.
- Rows of vTrain with stages and without tensor parallelism are predicted 4.7 % too fast in the mean, up to 20 % with four stages of D=2048.
- Steps of MPT that are missed by more than 20 %: 30B with sequences of 8,192 on 8 devices, and 760M on A100 with texts of 512. The former
  took 2.6 times as long as with half of the tokens on H100, 2.8 times on A100, for 2.2 times the arithmetic; memory is short there
  (79.5 GB of 85), and an allocator that frees and allocates again in each step would make them slower. On H100 it shows in
  all steps of 30B on 8 devices, 6 to 9 % too fast, where those on 16 and 32 devices, with 49 to 59 GB, are 4 to 6 % too slow; on A100 it does not.
  The latter took 10 % longer than with 2,048 for the same number of tokens, where 350M and 1B took 15 and 11 % less.
- Steps of MPT were predicted to need up to 87 GB as long as each slice of a param was kept in 16 bits twice, for the forward and for the
  backward pass: `cse` at the end leaves one.
- Two steps of Megatron-Core, 314B and 462B, were predicted not to fit. They needed 105 and 119 GB of 85 as long as the tables of tokens and outputs
  were one and gradients that scatter by token were whole on each device; then 90 and 102 as long as each norm kept two values in
  f32 behind the barriers of `recompute`, where fused norms keep their input in 16 bits; now 76 and 82.
- Megatron-Core with stages of a pipeline was predicted 9 to 22 % too slow as long as a kernel added each gradient to the sum over
  micro-batches: of GPT 70B, that and the conversion to f32 before it were 0.27 s of 2.65. There the product adds as it writes
  (fused gradient accumulation, on by default), which `-framework=megatron_core` has. What a block gathers along the text is
  gathered again in its backward pass, as there (`recompute{policy=gathers}`): of GPT 70B 134 MB a block and micro-batch, of 270 in
  all. What is left, up to 10 %, is that messages of tensor parallelism overlap with chunks of products there, of which dopt has only what is
  independent anyway. Megatron-LM of 2021, which sends them between products, is predicted within 9.1 % with 2 to 64 stages on 512 to 3,072
  GPUs, though no row with stages was fitted.
"""

def spread(values):
    return f"{values * 100:.1f} %"


def errors(done):
    """Cells: rows, the mean and the worst of the absolute errors."""
    off = [abs(r["off"]) for r in done]
    return [len(off), spread(sum(off) / len(off)), spread(max(off))] if off else [0, "-", "-"]


def summary(groups):
    every = [r for done in groups.values() for r in done]
    lines = []
    for name, done in [*groups.items(), ("all", every)]:
        others = [r for r in done if not r["step"].fitted]
        order = rows.spearman([r["predicted"] for r in others], [r["step"].measured for r in others])
        params = [abs(r["parameters"] / r["step"].params - 1) for r in done if r["step"].params]
        lines.append([name, done[0]["step"].framework or "-" if name != "all" else "", *errors([r for r in done if r["step"].fitted]),
                      *errors(others), "-" if math.isnan(order) else f"{order:.2f}",
                      f"{sum(r['fits'] for r in done)} of {len(done)}", spread(max(params)) if params else "-"])
    return table(["source", "-framework", "fitted rows", "off, mean", "worst", "held out", "off, mean", "worst", "ranks", "fit",
                  "params"], lines)


# What predictions are meant to reach: of held-out rows, but for whether a step fits, which is asked of all.
MEAN, WORST, FITS, RANKS = 0.08, 0.20, 0.95, 0.98


def goals(groups):
    """The goals, what is reached over all rows, and by the source that is the furthest from it."""
    every = [r for done in groups.values() for r in done]

    def off(done, of):
        others = [abs(r["off"]) for r in done if not r["step"].fitted]
        return of(others) if others else math.nan

    def mean(values):
        return sum(values) / len(values)

    def order(done):
        others = [r for r in done if not r["step"].fitted]
        return rows.spearman([r["predicted"] for r in others], [r["step"].measured for r in others])

    asked = [
        ("mean error", f"at most {MEAN * 100:.0f} %", lambda done: off(done, mean), max, spread),
        ("worst error", f"at most {WORST * 100:.0f} %", lambda done: off(done, max), max, spread),
        ("rank correlation", f"at least {RANKS}", order, min, lambda x: f"{x:.3f}"),
        ("steps that fit, as all of them did", f"at least {FITS * 100:.0f} %", lambda done: mean([r["fits"] for r in done]), min, spread),
    ]
    lines = []
    for what, goal, value, furthest, shown in asked:
        found = {name: value(done) for name, done in groups.items()}
        found = {name: x for name, x in found.items() if not math.isnan(x)}
        last = furthest(found, key=found.get) if found else None
        lines.append([what, goal, shown(value(every)) if found else "-", f"{last}: {shown(found[last])}" if found else "-"])
    lines.append(["peak memory", "within 5 %", "no source states it", "-"])
    return "\n" + table(["", "goal", "all rows", "the source furthest from it"], lines)


def line(cells):
    return "| " + " | ".join(str(c) for c in cells) + " |"


def row_line(result):
    step = result["step"]
    return [step.label(result["command"]), f"{step.measured * 1e3:,.1f}", f"{result['predicted'] * 1e3:,.1f}",
            f"{result['off'] * 100:+.1f}" + (" f" if step.fitted else ""), f"{result['memory'] / 1e9:.1f}" + ("" if result["fits"] else " !")]


def shown(command):
    return "dopt -stats -emit=none " + " ".join(f"'{w}'" if "{" in w else w for w in command)


PLACES = 3  # rows that a reason names


def refused_text(refused, file):
    """A line for each source and reason, with where the first rows are."""
    lines = collections.OrderedDict()
    for step in refused:
        lines.setdefault((step.group, step.reason), []).append(step.line)
    return "Rows that are not predicted:\n\n" + table(["source", "reason", "rows", "where"], [
        [*(text.replace("|", "\\|") for text in key), len(at), ", ".join(f"{file}:{n}" for n in at[:PLACES]) + (" ..." if at[PLACES:] else "")]
        for key, at in lines.items()]) + "\n"


def page(results, refused, file):
    groups = collections.OrderedDict()
    for result in results:
        groups.setdefault(result["step"].group, []).append(result)
    text = HEAD + "\n".join(filled(" ".join(part.split())) for part in ABOUT.split("\n\n")) + "\n" + summary(groups) + goals(groups) + "\n"
    if refused:
        text += refused_text(refused, file)
    text += NOTES + choice.text(groups)
    for name, done in groups.items():
        text += f"\n## {name}\n\n{done[0]['step'].row['source']}. The first row is\n\n"
        text += "```text\n" + shown(done[0]["command"]) + "\n```\n\n"
        text += table(["sizes", "measured, ms", "predicted, ms", "off, %", "GB"], [row_line(r) for r in done])
    return text
