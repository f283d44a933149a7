"""The page of test/bench/peers, from the results of its rows."""
import statistics

import cases
from tables import filled, table
from texts import OPS_FOR_PEAK
from torch_ddp import BURST, CASES
from network import RATE

HEAD = """# Peers: dopt compared with PyTorch, JAX and mlir-opt

Written by `test/bench/peers BUILD -torch PYTHON -jax PYTHON -keep FILE -page docs/peers.md`: the programs that users
would run instead of one of dopt's, on the same cores, in turns. More of data-parallel training over a network is in
[measurements/2026-11-23-network.md](measurements/2026-11-23-network.md), a GPU in
[measurements/2026-11-22-h100.md](measurements/2026-11-22-h100.md) and, of a later tree,
[2026-11-26-h100.md](measurements/2026-11-26-h100.md).
"""

ABOUT = """Times of a training step in ms: the median of {rounds} rounds, in which each program had a turn of {seconds:g} s
(and of five steps at least), and in brackets the least and the most of a round. A ratio is dopt's time over the other's,
below 1 where dopt is faster: the median of the rounds' ratios. All programs are bound to the same cores; dopt has a rank
a core, the others that many threads."""

LINK = """Two ranks with a core each, on a link of {rate} (tbf, burst {burst}): the time of a step in ms, the median of
{rounds} rounds of {steps} steps, in turns, and in brackets the least and the most of a round. dopt has measured its
kernels and the link before; predicted is what its fine replay says, the buckets of gradients are what tensorfuse chooses.
DDP runs over gloo."""

TEXT = """A module of so many ops is read, verified and printed: speed of the whole process (its user and system time),
the median of {rounds} rounds in turns, in brackets the least and the most; and the peak of its memory without the text.
Generated modules are in dopt's language for dopt and in MLIR's generic form, with unregistered ops, for mlir-opt, which
therefore verifies less. The step (80 layers of Llama 3 with its gradient and Adam) is one file of StableHLO for both;
dopt makes a module of its own language of it."""

TITLES = {"eager": "PyTorch eager", "compile": "torch.compile", "JAX": "JAX jit"}


def spread(values, form="{:.2f}"):
    values = [statistics.median(values), min(values), max(values)]
    return "{} [{}, {}]".format(*(form.format(v) for v in values))


def ms(us):
    return spread([t / 1e3 for t in us])


def made(results):
    """When, where and by what."""
    all = list(results.values())
    when = sorted(r["when"] for r in all)
    when = when[0] if when[0] == when[-1] else f"{when[0]} to {when[-1]}"
    versions = sorted({v for r in all for v in [*r.get("versions", {}).values(), r.get("version")] if v})
    loads = [r["load"] for r in all]
    machines = "; ".join(sorted({r["machine"] for r in all}))
    return f"{when}: {machines}; {', '.join(versions)}; load when a row began: {min(loads):.1f} to {max(loads):.1f} processes."


def of(results, kind):
    return {name.split("/", 1)[1]: r for name, r in results.items() if name.startswith(kind + "/")}


def missed(slower):
    return f"**Slower** than one of them: {', '.join(slower)}." if slower else "No ratio is above 1.00."


def ratio(rounds, name):
    return statistics.median(r["dopt"] / r[name] for r in rounds)


def steps(results):
    order = [case.name for case in cases.CASES]
    found = sorted((order.index(name.split("/")[0]), int(name.split("/")[1]), r) for name, r in of(results, "step").items())
    names = [name for name in TITLES if any(name in r["versions"] for _, _, r in found)]
    rows, slower = [], []
    for at, cores, r in found:
        case, rounds = cases.CASES[at], r["turns"]
        row = [f"{case.name}: {case.about}", cores, ms([t["dopt"] for t in rounds])]
        for name in names:
            there = name in r["versions"]
            row += [ms([t[name] for t in rounds]), f"{ratio(rounds, name):.2f}"] if there else ["-", "-"]
            if there and ratio(rounds, name) > 1.005:
                slower.append(f"{case.name} on {cores} ({TITLES[name]})")
        rows.append(row)
    head = ["step", "cores", "dopt"] + [cell for name in names for cell in (TITLES[name], "ratio")]
    about = ABOUT.format(**found[0][2])
    return "## Training steps\n\n" + filled(about) + "\n" + table(head, rows) + "\n" + filled(missed(slower))


def link(results):
    rows, slower = [], []
    for name, r in of(results, "ddp").items():
        took, theirs = statistics.median(r["us"]), statistics.median(r["DDP"])
        off = 100 * (1e3 * r["predicted"] / took - 1)
        model = " ".join([CASES[name][0].rsplit("/", 1)[1], *CASES[name][1]])
        rows.append([model, ms(r["us"]), ms(r["DDP"]), f"{took / theirs:.2f}", f"{r['predicted']:.2f}", f"{off:+.1f}", r["tensorfuse"]])
        slower += [name] if took > 1.005 * theirs else []
    head = ["model", "dopt", "DDP", "ratio", "predicted", "off, %", "tensorfuse"]
    about = LINK.format(**next(iter(of(results, "ddp").values())), rate=RATE, burst=BURST)
    return "## Over a link\n\n" + filled(about) + "\n" + table(head, rows) + "\n" + filled(missed(slower))


def text(results):
    rows, slower = [], []
    for name, r in of(results, "text").items():
        speed = {tool: [r["ops"] / seconds / 1e6 for seconds, _ in t["runs"]] for tool, t in r["of"].items()}
        size = {tool: (statistics.median(peak for _, peak in t["runs"]) - t["file"]) / r["ops"] for tool, t in r["of"].items()}
        mine, theirs = (statistics.median(v) for v in speed.values())
        bytes = [f"{v:,.0f}" if r["ops"] >= OPS_FOR_PEAK else "-" for v in size.values()]
        what = f"{r['ops']:,}" + (" (the step)" if name == "step" else "")
        rows.append([what, *map(spread, speed.values()), f"{theirs / mine:.2f}", *bytes])
        slower += [what] if theirs > 1.005 * mine else []
    head = ["ops", "dopt, M ops/s", "mlir-opt, M ops/s", "ratio of times", "dopt, bytes an op", "mlir-opt, bytes an op"]
    about = TEXT.format(**next(iter(of(results, "text").values())))
    return "## Reading, verifying and printing\n\n" + filled(about) + "\n" + table(head, rows) + "\n" + filled(missed(slower))


def page(results):
    """Only what was measured."""
    parts = [make(results) for kind, make in (("step", steps), ("ddp", link), ("text", text)) if of(results, kind)]
    return "\n".join([HEAD, filled("Measured " + made(results)), *parts])
