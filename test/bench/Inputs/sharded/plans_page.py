"""The section of docs/sharding.md that is written by test/bench/sharded."""
import cells
from tables import filled, table

BEGIN = "<!-- Written by test/bench/sharded BUILD -page docs/sharding.md: -->"
END = "<!-- End of what test/bench/sharded writes. -->"

ABOUT = """Predicted steps on the 32 devices of `h100x32` for the settings of DeepCompile's section 5: 16 bits with params, gradients
and states in f32, Adam, each block computed again as a block. A row is so many sequences of so many tokens on each device
and micro-batch; *slow* rows have a network with a quarter of the bandwidth. Kernels have the [rates that an H100
reaches](clusters.md#what-kernels-reach), links their full bandwidth. All plans start with `{before}` (after
`accumulate`, where there are micro-batches) and are then: {plans}."""

GOAL = 0.9  # of the way to full overlap, for a search
NEAR = 1.05  # times full overlap

SHARE = """*Overlap* is how much of the way from `{base}` to full overlap a plan goes: full overlap would take the longer of
the compute time and the communication of `{base}`. More than 100 % is possible where a plan communicates less, and less than 0 where a plan is slower; - where `{base}` is
within 5 % of full overlap. *GB* is the
peak memory of a device, of which P, S and search may use 76.5 GB: 90 % of what CUDA reports for a card; a time marked ! is of a plan
that does not fit in all of it, 85 GB. The paper measured about {without} GB without and about {with_} GB with unsharding."""

AS_RUN = """These are steps of programs of dopt, the baselines too. The last table of a model has them *as run*: with the kernels and the
host of PyTorch FSDP, `-framework={framework}` ([cost.md](cost.md#frameworks)). There are no numbers of DeepSpeed, whose kernels are
PyTorch's, so `zero3` has the same; and so has P+S, which DeepCompile runs in PyTorch. The gain of P+S of dopt over a baseline as it is run is
the product of two: that of the plan, with both as run, and that of the program, P+S of dopt over P+S as run."""


def as_run(plan):
    return plan + " as run"


def base_of(row):
    return "zero3" if "zero3" in row else "shard"


def share(row, plan):
    """None where nothing is worth saying: the base is there already."""
    base = row[base_of(row)]
    full = max(base["compute"], base["communication"])
    if base["iteration"] < NEAR * full:
        return None
    return (base["iteration"] - row[plan]["iteration"]) / (base["iteration"] - full)


def seconds(cost):
    return f"{cost['iteration']:.3g}" + ("" if cost["fits"] else " !")


def speedup(row, base, plan):
    return f"{row[base]['iteration'] / row[plan]['iteration']:.2f}" if base in row and plan in row else "-"


def best(row):
    return "search" if "search" in row else "P+S"


def time_row(cell, row, plans):
    base = base_of(row)
    line = [label(cell), *(seconds(row[plan]) for plan in plans), speedup(row, base, "P+S")]
    line += [speedup(row, base, "search")] if "search" in row else []
    line += [cells.paper(cell, "zero3")]
    if "fsdp" in row:
        line += [speedup(row, "fsdp", "P+S"), cells.paper(cell, "fsdp")]
    return line


def label(cell):
    return f"{cell.sequences} x {cell.tokens}, {cell.micro}" + (", slow" if cell.slow else "")


def time_head(row, plans):
    base = base_of(row)
    head = ["sequences x tokens, micro-batches", *(f"{plan}, s" for plan in plans), f"P+S over {base}"]
    head += [f"search over {base}"] if "search" in row else []
    head += ["paper, over ZeRO-3"]
    return head + (["P+S over fsdp", "paper"] if "fsdp" in row else [])


def percent(x):
    return "-" if x is None else f"{100 * x:.0f} %"


def share_row(cell, row, plans):
    base = base_of(row)
    full = max(row[base]["compute"], row[base]["communication"])
    line = [label(cell), f"{row[base]['compute']:.3g}", f"{row[base]['communication']:.3g}", f"{full:.3g}"]
    line += [percent(share(row, plan)) for plan in plans if plan not in ("shard", base)]
    return line + [f"{row[plan]['peak_bytes'] / 1e9:.1f}" for plan in (base, "P+S", best(row))][:3 if "search" in row else 2]


def share_head(row, plans):
    base = base_of(row)
    head = ["sequences x tokens, micro-batches", "compute, s", "communication, s", "full overlap, s"]
    head += [f"{plan}: overlap" for plan in plans if plan not in ("shard", base)]
    return head + [f"{plan}, GB" for plan in (base, "P+S", "search")][:3 if "search" in row else 2]


def model_part(data, model):
    rows = [(cell, data[cell.name]) for cell in cells.ALL if cell.model == model and cell.name in data]
    if not rows:
        return ""
    plans = [plan for plan in cells.PLANS if plan in rows[0][1]]
    without, with_ = cells.PAPER_MEMORY[model]
    return "\n".join([
        f"#### {cells.MODELS[model]}\n",
        table(time_head(rows[0][1], plans), [time_row(cell, row, plans) for cell, row in rows]),
        filled(SHARE.format(base=base_of(rows[0][1]), without=without, with_=with_)),
        table(share_head(rows[0][1], plans), [share_row(cell, row, plans) for cell, row in rows]),
        searched(rows),
        as_run_part(rows),
    ])


def as_run_row(cell, row):
    ours = as_run("P+S")
    line = [label(cell), *(seconds(row[as_run(plan)]) for plan in cells.AS_RUN), seconds(row["P+S"])]
    for base in ("zero3", "fsdp"):
        line += [speedup(row, as_run(base), "P+S"), speedup(row, as_run(base), ours)]
    return line + [speedup(row, ours, "P+S")]


AS_RUN_HEAD = ["sequences x tokens, micro-batches", *(f"{plan} as run, s" for plan in cells.AS_RUN), "P+S of dopt, s",
               "over zero3 as run", "from the plan", "over fsdp as run", "from the plan", "from the program"]


def as_run_part(rows):
    lines = [as_run_row(cell, row) for cell, row in rows if all(as_run(plan) in row for plan in cells.AS_RUN)]
    return table(AS_RUN_HEAD, lines) if lines else ""


def searched(rows):
    """What the goals of a search are, and how many cells meet them."""
    found = [row for _, row in rows if "search" in row]
    if not found:
        return ""
    fast = sum(row["search"]["iteration"] <= row["P+S"]["iteration"] for row in found)
    shares = [way for way in (share(row, "search") for row in found) if way is not None]
    far = sum(way >= GOAL for way in shares)
    took = max(row["search"]["seconds"] for row in found)
    return filled(f"Search is at least as fast as P+S in {fast} of {len(found)} rows. Of the {len(shares)} rows that have a way to full "
                  f"overlap it goes at least {100 * GOAL:.0f} % of it in {far}. Its passes took {took:.0f} s at most.")


def section(data):
    plans = [plan for plan in cells.PLANS if plan in next(iter(data.values()))]
    passes = "; ".join(f"{plan}: `{cells.PLANS[plan]}`" if cells.PLANS[plan] else f"{plan}: nothing more" for plan in plans)
    parts = [filled(ABOUT.format(before=cells.BEFORE, plans=passes)), filled(AS_RUN.format(framework=cells.FRAMEWORK))]
    return "\n".join(parts + [text for text in (model_part(data, model) for model in cells.MODELS) if text]).rstrip() + "\n"


def replace(path, data):
    with open(path) as text:
        before, _, rest = text.read().partition(BEGIN)
        _, found, after = rest.partition(END)
    if not found:
        raise SystemExit(f"{path}: it has no lines {BEGIN} and {END}")
    with open(path, "w") as out:
        out.write(f"{before}{BEGIN}\n\n{section(data)}\n{END}{after}")


def compare(path, data, names):
    """Exit status: do the rows of these cells stand in the page?"""
    with open(path) as text:
        page = text.read()
    wrong = 0
    for cell in (cell for cell in cells.ALL if cell.name in names):
        plans = [plan for plan in cells.PLANS if plan in data[cell.name]]
        row = data[cell.name]
        for line in (time_row(cell, row, plans), share_row(cell, row, plans), as_run_row(cell, row)):
            text = "| " + " | ".join(map(str, line)) + " |"
            if text not in page:
                print(f"{path} does not have: {text}")
                wrong += 1
    print(f"{3 * len(names) - wrong} of {3 * len(names)} rows match the page")
    return 1 if wrong else 0
