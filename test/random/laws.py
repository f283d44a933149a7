"""Laws that hold for all pipelines, each tried by some seeds of pipelines.py:

- A budget between the least and the greatest peak of the pipeline's modules is met or refused, and one pass with more
  budget is never slower.
- A pipeline interrupted after half of its passes, printed, read and continued gives what it gives in one go.
"""
import json
import re

from running import RUN_SECONDS, SEARCH, first_error, run, run_apart

BUDGETS = (0.05, 0.5, 0.9)  # of the way from the least to the greatest peak of a pipeline's modules
LAW_EVERY = 2  # seeds
# These searches end by time, too, and see times of kernels.
SEARCHES = re.compile(r"^joint|policy=(joint|replay|search)")
EVALUATIONS = 100  # of a joint search without a limit of them
SLOWER = 1e-9  # a step that is longer by less of itself is not slower
# Passes that plan for a budget (pass_budget): with more of it their step is never slower.
PLANNERS = ("recompute", "prefetch", "unshard", "offload", "tensorfuse", "joint")


def limited(text):
    """A pass as text, which ends, and not by the clock: what it finds until then depends on the load."""
    name, _, options = text.rstrip("}").partition("{")
    given = [o for o in options.split(",") if o and o != "evaluations=0" and not o.startswith("time=")]
    if name != "joint":
        return text
    if not any(o.startswith("evaluations=") for o in given):
        given.append(f"evaluations={EVALUATIONS}")
    return f"joint{{{','.join(given)}}}"


def rows_of(case, dopt, file, passes, *more):
    """Exit status, and the rows of -stats=json: one for the module as it is, one for each pass."""
    options = [o for o in case.options if not o.startswith(("-stats", "-budget", "-remarks", SEARCH))]
    pipeline = [f"-pass={','.join(map(limited, passes))}"] if passes else []
    status, out, err = run_apart([dopt, *options, "-stats=json", "-emit=none", *more, *pipeline, str(file)], RUN_SECONDS)
    return status, json.loads(out) if status == 0 else err


def breaks_budget(case, dopt, out):
    """A finding where a budget is exceeded, or where the last planner's step is slower with more budget."""
    at = max((i for i, p in enumerate(case.passes) if p.split("{")[0] in PLANNERS), default=None)
    if at is None or "-keep=better" in case.options:
        return None
    status, rows = rows_of(case, dopt, case.file, case.passes[:at + 1])
    if status == "no end":
        return ("budget: no end", "")
    if status != 0:
        return None
    peaks = [row["cost"]["peak_bytes"] for row in rows if row["pass"] != "inline"]
    least, greatest = min(peaks), max(peaks)
    before = out.with_suffix(".before")
    prefix = [f"-pass={','.join(case.passes[:at])}"] if at else []
    options = [o for o in case.options if not o.startswith(("-stats", "-budget", "-remarks"))]
    if run([dopt, *options, *prefix, str(case.file), "-o", str(before)], RUN_SECONDS)[0] != 0:
        return None
    seen = []  # (budget, seconds), by growing budget
    for share in BUDGETS:
        budget = int(least + share * (greatest - least))
        status, rows = rows_of(case, dopt, before, case.passes[at:at + 1], f"-budget={budget}")
        if status not in (0, 1):
            return (f"budget: exit {status} {first_error(rows)}", f"-budget={budget}\n{rows}")
        if status == 1:
            continue
        cost = rows[-1]["cost"]
        if cost["peak_bytes"] > budget:
            return (f"budget: exceeded after {case.passes[at].split('{')[0]}", f"-budget={budget}: {cost['peak_bytes']}")
        if seen and cost["iteration"] > seen[-1][1] * (1 + SLOWER):
            return (f"budget: more is slower after {case.passes[at].split('{')[0]}",
                    f"{seen[-1][0]} bytes: {seen[-1][1]} s; {budget} bytes: {cost['iteration']} s")
        seen.append((budget, cost["iteration"]))
    return None


def numbered(text):
    """A module whose values are numbered in the order of their definitions: passes make up names for copies of values."""
    numbers = {}
    return re.sub(r"%[\w.]+", lambda name: f"%{numbers.setdefault(name[0], len(numbers))}", text)


def breaks_text(case, dopt, out):
    """A finding where the pipeline, interrupted after half of its passes, does not give what it gives in one go."""
    half = len(case.passes) // 2
    if not half or any(SEARCHES.search(p) for p in case.passes):
        return None
    options = [o for o in case.options if o != "-keep=better"]
    texts = []
    for file, passes, to in ((case.file, case.passes, ".whole"), (case.file, case.passes[:half], ".half"),
                             (out.with_suffix(".half"), case.passes[half:], ".rest")):
        status, said = run([dopt, *options, "-pass=" + ",".join(passes), str(file), "-o", str(out.with_suffix(to))], RUN_SECONDS)
        if status not in (0, 1):
            return (f"continued: exit {status} {first_error(said)}", said)
        if status:
            return None
        texts.append(numbered(out.with_suffix(to).read_text()))
    return None if texts[0] == texts[2] else ("continued: another module", f"-pass={','.join(case.passes[half:])}")


LAWS = (breaks_budget, breaks_text)


def breaks(case, dopt, out):
    """The law that the seed tries."""
    return LAWS[case.seed // 2 % len(LAWS)](case, dopt, out) if case.seed % LAW_EVERY == 0 else None
