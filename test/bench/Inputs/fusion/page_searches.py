"""Of the page: the searches."""
import paper
import searches
import steps
import tool
from page_parts import commands, ms, percent, ran
from tables import filled, number, table

GOAL = 0.9  # of the way to full overlap, on most rows


class Row:
    """A step: its best baseline, full overlap, and the searches."""

    def __init__(self, step, policies, found):
        times = policies["times"]
        self.step, self.name, self.found = step, step.name, {e: found[e] for e in searches.ENGINES}
        self.ladder = {float(t): at for t, at in found["ladder"].items()}
        self.unfused = times["no fusion"]["iteration"]
        self.best = min(steps.BASELINES, key=lambda name: times[name]["iteration"])
        self.base = times[self.best]["iteration"]
        self.greedy = min(times[name]["iteration"] for name in times if "greedy" in name)
        plans = [*times.values(), *self.found.values(), *self.ladder.values()]
        self.kernels = min(p["compute"] for p in [*plans, found["alone"]])
        self.messages = min(p["communication"] for p in plans)
        self.bound = max(self.kernels, self.messages)
        self.paper = paper.disco_share(self.name)

    def time(self, engine):
        return self.found[engine]["iteration"]

    def share(self, engine):
        return paper.share(self.base, self.time(engine), self.bound)

    def reached(self, target):
        """When ours was as fast as that; None: never."""
        looks = [(t, at["iteration"]) for t, at in sorted(self.ladder.items())]
        ours = self.found["dopt"]
        looks.append((ours["best_at"], ours["iteration"]))
        return next((t for t, iteration in looks if iteration <= target * (1 + 1e-12)), None)

    def gained(self, seconds):
        """Of what ours gains over the step as it is, how much it had after so many seconds."""
        looks = [at["iteration"] for t, at in self.ladder.items() if t <= seconds]
        if self.found["dopt"]["best_at"] <= seconds or not looks:
            return 1
        return (self.unfused - min(looks)) / (self.unfused - self.time("dopt"))

    def as_paper(self):
        """The time that is the paper's share of the way."""
        return self.base - self.paper * (self.base - self.bound)


def missed(names, more=""):
    return f" (not in {', '.join(names)}{more})" if names else ""


def rows_of(data):
    both = [step for step in steps.ALL if step.name in data["searches"] and step.name in data["policies"]]
    return [Row(step, data["policies"][step.name], data["searches"][step.name]) for step in both]


TABLE1 = """The engines of `joint` on these steps, compared with DisCo's Table 1. As there, a speed-up is (T_base - T) / T with
the best of the five baselines as T_base. Full overlap is the larger of the times of kernels and of collectives. Each
of these is the smallest known: of all plans on this page, and, for kernels, of what dopt's engine finds with free
communication, the same work on one device. The share is the fraction of the possible gain that is reached, (T_base -
T) / (T_base - T_bound); the paper's is computed from its published speed-ups, T = T_base / (1 + s). 100 % means that
nothing is exposed and that no plan with faster kernels is known, not that there is none."""

REGIME = """Kernels are described by the peak of the device and links by their bandwidth, so that with full memories all these
steps are bound by their kernels; communication can overlap completely, and most of a speed-up is due to kernels. The
last column compares the engine dopt with the best of dopt's own greedy policies, which are not among the paper's
baselines."""

LEFT = """The remaining difference between the plan of the engine dopt and full overlap, in ms: exposed communication, and
kernels that take longer than in the plan with the fastest ones."""


def table1(data):
    rows = rows_of(data)
    times = [[r.name, r.best, ms(r.base), *(ms(r.time(e)) for e in searches.ENGINES), ms(r.bound)] for r in rows]
    shares = []
    for r in rows:
        speeds = [percent(paper.speedup(r.base, t)) for t in (*(r.time(e) for e in searches.ENGINES), r.bound)]
        ours = percent(r.share("dopt")) + ("" if r.share("dopt") > r.paper else " !")
        theirs = [f"{x:.1f}" for x in paper.DISCO[r.name]]
        shares.append([r.name, *speeds, percent(r.share("disco")), percent(r.share("dpro")), ours, *theirs, percent(r.paper), percent(paper.speedup(r.greedy, r.time("dopt")))])
    left = [[r.name, ms(r.time("dopt") - r.bound), ms(r.found["dopt"]["exposed"]), ms(r.found["dopt"]["compute"] - r.kernels)] for r in rows]
    above = [r for r in rows if r.share("dopt") > r.paper]
    most = [r for r in rows if r.share("dopt") > GOAL]
    beats = [r for r in rows if r.time("dopt") <= min(r.time("disco"), r.time("dpro"))]
    below, less = ([r.name for r in rows if r not in these] for these in (above, most))
    goals = (
        f"Goals: a share above the paper's in every row, over {GOAL * 100:.0f} % on most. Met: above the paper's in {len(above)} of "
        f"{len(rows)}{missed(below, ', marked with `!`')}, over {GOAL * 100:.0f} % in {len(most)} of {len(rows)}{missed(less)}. `dopt` is as fast as the best "
        f"of the other engines, or faster, in {len(beats)} of {len(rows)}, each with at most {data['settings']['searches']['limit']:g} s."
    )
    engines = [f"time, ms: {e}" if i == 0 else e for i, e in enumerate(searches.ENGINES)]
    head = ["step", "speed-up, %: disco", "dpro", "dopt", "full overlap", "share, %: disco", "dpro", "dopt"]
    head += ["paper: DisCo, %", "full overlap, %", "share, %", "over greedy, %"]
    return (
        "\n## Searches compared with DisCo's Table 1\n\n" + filled(TABLE1) + "\n" + filled(REGIME) + "\n" + table(head, shares) + "\n" + filled(goals)
        + "\n" + table(["step", "best baseline", "its time, ms", *engines, "full overlap"], times)
        + "\n" + filled(LEFT) + "\n"
        + table(["step", "left", "exposed", "kernels above the least"], left)
        + "\n" + filled("Made by " + ran(data, "searches") + " The commands of the first row:")
        + commands(first_row(data, rows))
    )  # fmt: skip


def first_row(data, rows):
    limit = f"{data['settings']['searches']['limit']:g}s"
    return [tool.shown(searches.words_of(rows[0].step, engine=e, time=limit)) for e in searches.ENGINES]


TIMES = """The duration of the searches, their number of replays of the step, in full or from the first change on (evaluations),
and the rate per second; `dopt` on two cores, the others on one each. A search that ends by its own rule ends before
its limit. The times at which dopt reached the quality of others are from searches of {ladder} s, so they are upper
bounds; the paper's minutes are those of its Table 3, with its settings, on its machine. The fraction of the final
gain over no fusion after {soon} s shows how flat the end of the search is: more time than the limit gains little."""


def when(seconds):
    return "never" if seconds is None else f"{seconds:.3g}"


def search_times(data):
    rows, cells = rows_of(data), []
    for r in rows:
        cell = [r.name]
        for engine in searches.ENGINES:
            of = r.found[engine]
            cell += [f"{of['seconds']:.2f}", number(of["evaluations"]), number(of["evaluations"] / max(of["seconds"], 1e-9))]
        published = paper.ALPHA[r.step.model.name][1.05][1] if r.step.cluster.letter == "A" else None
        cell += [f"{r.found['dopt']['best_at']:.2f}", percent(r.gained(searches.SOON)), when(r.reached(r.time("disco"))), when(r.reached(r.as_paper())), published or "-"]
        cells.append(cell)
    soon = [r for r in rows if (r.reached(r.as_paper()) or 1e9) <= searches.SOON]
    final = [r for r in rows if r.found["dopt"]["best_at"] <= searches.FINAL]
    goals = (
        f"Goals: the paper's share within {searches.SOON} s, met in {len(soon)} of {len(rows)}; the final quality within {searches.FINAL} s, "
        f"met in {len(final)} of {len(rows)}, by searches with that time limit."
    )
    head = ["step"] + [h for e in searches.ENGINES for h in (f"{e}: s", "evaluations", "a second")]
    head += ["dopt: best after, s", f"gain by {searches.SOON} s, %", "disco's result after, s", "the paper's share after, s", "paper, min"]
    ladder = ", ".join(f"{t:g}" for t in searches.LADDER)
    return "\n## Search time\n\n" + filled(TIMES.format(ladder=ladder, soon=searches.SOON)) + "\n" + table(head, cells) + "\n" + filled(goals)


METHODS = """Kinds of moves added one after another, as in DisCo's Figure 10: first duplicate fusion of ops, then non-duplicate
fusion, then fusion of tensors; and two that DisCo does not have, collectives in chunks and the order. Times of a step
on cluster A in ms, after {limit:g} s of `dopt`; `disco` ends by its own rule. The figure has bars without numbers."""


def methods(data):
    names = [f"{engine}: {name}" for name, engine, _ in searches.METHODS]
    rows = []
    for step in steps.ALL:
        of = data["methods"].get(step.name)
        if of:
            base = data["policies"][step.name]["times"]["no fusion"]["iteration"]
            rows.append([step.name, ms(base), *(ms(of[name]["iteration"]) for name in names)])
    limit = f"{data['settings']['methods']['limit']:g}s"
    second = searches.words_of(steps.ALL[0], engine="disco", moves=searches.METHODS[1][2], time=limit)
    return (
        "\n## Each method added (DisCo, Figure 10)\n\n" + filled(METHODS.format(limit=searches.limit_of(searches.ALONE, data["settings"]["methods"]["limit"]))) + "\n" + table(["step", "no fusion", *names], rows)
        + "\n" + filled("Made by " + ran(data, "methods") + " The command of the second search of a row:")
        + commands([tool.shown(second)])
    )  # fmt: skip


SETTINGS = """DisCo's search with other settings, on cluster A: the step in ms, and the duration of the search in s; in parentheses
the paper's {table}: s per step, and minutes. alpha is how much slower than the best plan a candidate may be to be
expanded, beta the maximum number of changes between two replays; the other parameter has its default, 1.05 or 10. A
search ends by its own rule, {unchanged} steps without a better plan, or after {limit:g} s."""


def settings(data, name, published, title, which):
    values = list(published["vgg19"])
    rows = []
    for step in steps.ALL:
        of = data[name].get(step.name)
        if of:
            cells = [(of[str(v)], published[step.model.name][v]) for v in values]
            rows.append([step.name, *(f"{ms(c['iteration'])} / {c['seconds']:.2f} ({p[0]:.2f} / {p[1]})" for c, p in cells)])
    limit = data["settings"][name]["limit"]
    text = SETTINGS.format(table=which, limit=limit, unchanged="1,000")
    command = tool.shown(searches.words_of(steps.ALL[0], engine="disco", time=f"{limit:g}s", **{name: values[0]}))
    return (
        f"\n## {title}\n\n" + filled(text) + "\n" + table(["step", *(f"{name} = {v:g}" for v in values)], rows)
        + "\n" + filled("Made by " + ran(data, name) + " The command of the first cell:") + commands([command])
    )  # fmt: skip


def alpha(data):
    return settings(data, "alpha", paper.ALPHA, "DisCo's alpha (Table 3)", "Table 3")


def beta(data):
    return settings(data, "beta", paper.BETA, "DisCo's beta (Table 4)", "Table 4")


SPEEDUPS = """dPRO's search with its accelerations added one after another, on 16 V100 (two servers of `v100x128_rdma`), 32 images
or texts on each device: duration of the search in s / evaluations / the resulting step in ms, and in parentheses the
hours of the paper's Table 5. The paper has VGG16, here it is VGG19. A search ends by its own rule, or after {limit:g}
s."""


def speedups(data):
    rows = []
    for step in searches.DPRO_STEPS:
        of = data["speedups"].get(step.name)
        if of:
            hours = paper.SPEEDUPS["vgg16" if step.model.name == "vgg19" else step.model.name]
            cells = zip((of[name] for name in searches.SPEEDUPS), hours)
            rows.append([step.model.name] + [f"{c['seconds']:.2f} / {number(c['evaluations'])} / {ms(c['iteration'])} ({'> 24' if h is None else h})" for c, h in cells])
    limit = data["settings"]["speedups"]["limit"]
    made = [tool.shown([*s.build(s.batch), "-o", s.file]) for s in searches.DPRO_STEPS]
    off = dict(coarsen="false", partial="false", symmetry="false")
    made.append(tool.shown(searches.words_of(searches.DPRO_STEPS[0], engine="dpro", **off, time=f"{limit:g}s")))
    return (
        "\n## dPRO's accelerations (Table 5)\n\n" + filled(SPEEDUPS.format(limit=limit)) + "\n" + table(["model", *searches.SPEEDUPS], rows)
        + "\n" + filled("Made by " + ran(data, "speedups") + " The steps, and the search of the first cell:") + commands(made)
    )  # fmt: skip


EXHAUSTED = """Random steps of up to a dozen ops, of which all {plans} plans and {orders} partial orders were enumerated (engine
`exhaust`): the number of steps, of {steps}, for which each engine found the optimum. Goal: 99 of 100."""


def exhausted(data):
    of = data["exhausted"]
    text = EXHAUSTED.format(plans=number(of["plans"]), orders=number(of["orders"]), steps=of["steps"])
    return (
        "\n## Steps whose optimum is known\n\n" + filled(text) + "\n" + table(searches.ENGINES, [[of[e] for e in searches.ENGINES]])
        + "\n" + filled("Made by " + ran(data, "exhausted") + " By itself:") + commands(["BUILD/test/unit/passes_search_exhaust_test"])
    )  # fmt: skip


ESTIMATOR = """
## Estimated kernels

The accuracy of estimated times of fused kernels, by the analytic estimate (which this page uses throughout) and by the
graph network, on kernels and models that are not in its training set, is in [estimator.md](estimator.md), written by
`test/bench/estimator`.
"""


def estimator(_):
    return ESTIMATOR
