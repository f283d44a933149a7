"""The searches: what they find, how long they take, and what each of their parts is good for."""
import itertools
import os
import re
import subprocess

import paper
import steps
import tool

ENGINES = ("disco", "dpro", "dopt")
# The goals, in s: as good as the paper, and as good as it gets.
SOON, FINAL = 1, 10
# Seconds after which ours is looked at on its way, and after which every search ends.
LADDER = (0.1, 0.2, 0.5, 1, 2)
LIMIT = 10
# Of ours where it is not the table's point how far it comes: those of the papers end by themselves.
SHORT = 3
# dopt searches on all cores; the others are one thread each, so several run at a time.
ALONE = "dopt"

# What a search may do, one more after another: the paper's three (figure 10), then what it has not.
METHODS = [
    ("duplicate", "disco", "copy"),
    ("+ non-duplicate", "disco", "copy+fuse"),
    ("+ AllReduce", "disco", "copy+fuse+pack"),
    ("duplicate", "dopt", "copy"),
    ("+ non-duplicate", "dopt", "copy+fuse"),
    ("+ AllReduce", "dopt", "copy+fuse+pack"),
    ("+ parts", "dopt", "copy+fuse+pack+part"),
    ("+ order", "dopt", "all"),
]
# dPRO's speed-ups, one more after another (table 5).
SPEEDUPS = ("none", "+ coarsened view", "+ partial replay", "+ symmetry")
V100 = steps.Cluster("v100x128_rdma", "V", 16)
# Its models, of which this project has another VGG; 32 images or texts on a device (dpro.txt, section 7.1).
DPRO_MODELS = ("resnet50", "vgg19", "inception_v3", "bert")
DPRO_STEPS = [
    steps.Step(steps.Model(name, "adam" if name == "bert" else "momentum", {"V": 32}, steps.APART.get(name, ())), V100)
    for name in DPRO_MODELS
]


def joint(**options):
    return "joint{" + ",".join(f"{name}={value}" for name, value in options.items()) + "}"


def words_of(step, **options):
    """The words of dopt for a search, which says in the end how it went."""
    return ["-progress=always", *step.costs(joint(**options))]


def search(dopt, step, **options):
    found = dopt.search(words_of(step, **options))
    told = ", ".join(f"{name}={value}" for name, value in options.items())
    dopt.say(f"{step.name}: {told}: {found['iteration'] * 1e3:.3f} ms, {found['evaluations']} evaluations, {found['seconds']:.3f} s, best after {found['best_at']:.3f} s")
    return found


def each(dopt, jobs):
    """Searches by their keys; jobs are (key, step, options). Those of one thread go several at a time."""
    for _, step, _ in jobs:
        dopt.make(step)
    one = lambda job: (job[0], search(dopt, job[1], **job[2]))
    alone = [job for job in jobs if job[2]["engine"] == ALONE]
    others = [job for job in jobs if job[2]["engine"] != ALONE]
    return dict(dopt.together(one, others) + [one(job) for job in alone])


def nested(results):
    """Dictionaries in a dictionary, of one by pairs."""
    outer = {}
    for (a, b), value in results.items():
        outer.setdefault(a, {})[b] = value
    return outer


def searches(dopt, chosen, limit):
    """The part `searches`: each engine on each step, ours on its way, and ours where messages are free."""
    jobs = [((s.name, e), s, {"engine": e, "time": f"{limit:g}s"}) for s in chosen for e in ENGINES]
    jobs += [((s.name, "alone"), s.alone(), {"engine": ALONE, "time": f"{limit / 2:g}s"}) for s in chosen]
    results = nested(each(dopt, jobs))
    for step in chosen:
        late = results[step.name][ALONE]["best_at"]
        results[step.name]["ladder"] = {
            str(t): search(dopt, step, engine=ALONE, time=f"{t:g}s") for t in LADDER if t < min(limit, 2 * late)
        }
    return results


def limit_of(engine, limit):
    return min(limit, SHORT) if engine == ALONE else limit


def methods(dopt, chosen, limit):
    """The part `methods`: on cluster A, as the paper has it."""
    pairs = itertools.product((s for s in chosen if s.cluster.letter == "A"), METHODS)
    jobs = [((s.name, f"{e}: {n}"), s, {"engine": e, "moves": m, "time": f"{limit_of(e, limit):g}s"}) for s, (n, e, m) in pairs]
    return nested(each(dopt, jobs))


def settings(dopt, chosen, limit, option, values):
    """Of DisCo's search; the other one stays at its default."""
    pairs = itertools.product((s for s in chosen if s.cluster.letter == "A"), values)
    jobs = [((s.name, str(v)), s, {"engine": "disco", option: v, "time": f"{limit:g}s"}) for s, v in pairs]
    return nested(each(dopt, jobs))


def alpha(dopt, chosen, limit):
    return settings(dopt, chosen, limit, "alpha", paper.ALPHA["vgg19"])


def beta(dopt, chosen, limit):
    return settings(dopt, chosen, limit, "beta", paper.BETA["vgg19"])


def speedups(dopt, limit):
    """The part `speedups`: dPRO's search with more and more of what makes it faster."""
    on = [dict(coarsen=i > 0, partial=i > 1, symmetry=i > 2) for i in range(len(SPEEDUPS))]
    texts = [{name: str(value).lower() for name, value in options.items()} for options in on]
    pairs = itertools.product(DPRO_STEPS, zip(SPEEDUPS, texts))
    jobs = [((s.name, n), s, {"engine": "dpro", **o, "time": f"{limit:g}s"}) for s, (n, o) in pairs]
    return nested(each(dopt, jobs))


# What test/passes/search/exhaust_test.c prints.
EXHAUSTED = re.compile(r"(\d+) plans, (\d+) partial orders; optimum found by dopt (\d+), disco (\d+), dpro (\d+) of (\d+)")


def exhausted(build, say):
    """The part `exhausted`: the unit test that knows the optimum of small steps."""
    program = os.path.join(build, "test", "unit", "passes_search_exhaust_test")
    done = subprocess.run([program], capture_output=True, text=True, timeout=tool.SECONDS)
    counts = EXHAUSTED.search(done.stdout + done.stderr)
    if done.returncode or not counts:
        raise RuntimeError(f"{program}: exit status {done.returncode}: {done.stderr[-500:]}")
    say(f"exhausted: {counts[0]}")
    return dict(zip(("plans", "orders", "dopt", "disco", "dpro", "steps"), map(int, counts.groups())))
