"""Which of several measured plans of one step dopt would have chosen, and what that costs."""
import collections

from tables import table

PLANS = 3  # that a step was measured in: between fewer there is little to choose

ABOUT = """Where a source has the same step, that is model, batch and number of devices, in at least {plans} plans, the predictor
can be asked which of them to run. *Regret* is how much slower, as measured, the plan that is predicted to be the fastest is
than the one that was the fastest; 0 where they are the same. *Any plan* is the regret of a plan drawn at random: what
there is to lose by not choosing.

"""


def key(step):
    """What stays the same where only the plan differs."""
    return tuple(step.row[name] for name in ("model", "seq", "global_batch", "devices", "device_type", "precision"))


def plan_text(step):
    row = step.row
    tensor, stages = int(row["tp"] or 1), int(row["pp"] or 1)
    return f"t={tensor} d={step.devices // tensor // stages} p={stages}, micro-batch {row['micro_batch']}"


def choices(results):
    """Of each step with several plans: the results, that of the chosen plan, that of the fastest."""
    steps = collections.OrderedDict()
    for result in results:
        steps.setdefault(key(result["step"]), []).append(result)
    return [(plans, min(plans, key=lambda r: r["predicted"]), min(plans, key=lambda r: r["step"].measured))
            for plans in steps.values() if len(plans) >= PLANS]


def regret(result, best):
    return result["step"].measured / best["step"].measured - 1


def percent(values):
    return f"{100 * sum(values) / len(values):.1f} %"


def text(groups):
    """The section of the page; empty without steps in several plans."""
    lines, worst = [], []
    for name, results in groups.items():
        by_devices = collections.defaultdict(list)
        for choice in choices(results):
            by_devices[choice[0][0]["step"].devices].append(choice)
        for devices, made in sorted(by_devices.items()):
            lost = [regret(chosen, best) for _, chosen, best in made]
            anyone = [sum(regret(r, best) for r in plans) / len(plans) for plans, _, best in made]
            lines.append([name, devices, len(made), sum(len(plans) for plans, *_ in made), sum(x == 0 for x in lost), percent(lost),
                          percent([max(lost)]), percent(anyone)])
        worst += [(regret(chosen, best), name, plans, chosen, best) for plans, chosen, best in choices(results) if chosen is not best]
    if not lines:
        return ""
    made = "\n## Which plan to run\n\n" + ABOUT.format(plans=PLANS)
    made += table(["source", "devices", "steps", "plans", "fastest chosen", "regret, mean", "worst", "any plan"], lines)
    if worst:
        made += "\nSteps of which another plan was the fastest:\n\n"
        made += table(["model", "batch", "devices", "plans", "chosen", "predicted, ms", "measured, ms", "fastest", "predicted, ms",
                       "measured, ms", "regret"],
                      [[plans[0]["step"].row["model"], plans[0]["step"].row["global_batch"], plans[0]["step"].devices, len(plans),
                        *cells(chosen), *cells(best), percent([lost])]
                       for lost, name, plans, chosen, best in sorted(worst, key=lambda w: -w[0])])
    return made


def cells(result):
    return plan_text(result["step"]), f"{result['predicted'] * 1e3:,.1f}", f"{result['step'].measured * 1e3:,.1f}"
