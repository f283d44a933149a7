"""Of the page: programs that ran."""
import real
from page_parts import commands, ran
from tables import filled, number, table

REAL = """Programs on two ranks of one machine: the digits CNN, the character GPT, and a wide MLP
(`test/bench/Inputs/fusion/wide_mlp.dir`), each with every policy and with `joint`. Over the emulated links ranks are
threads on their own cores (`-bind -link`); over `veth` they are MPI processes in two network namespaces, connected by
a link of {rate}. The kernels of all policies were timed by `dopt -measure` before, as the mean of two processes.
`joint` searches with these times and a description of the link: from the ops, and from the kernels of greedy and xla
(`opfuse,joint`), which were all timed. The kernels of its plan are measured too, and it searches again, up to
{searches} times, until there are no new kernels; then its kernels are measured once more by another process, because
a search prefers kernels whose measured times were too low. Of these plans the {tried} with the shortest predicted
times and the best of each start run over the link in turn, with the best policy of kernels for each policy of
collectives (`-trial`), and the fastest of them is `joint`: the plan that a user gets in the end. Over `veth` it also
searches for the kernels and their order with one collective, because communication uses more of the cores there than
is predicted. After that all run again, and only these runs count. Runs of {seconds:g} s are interleaved, one of each
program and then the next of each; the result is the median over its steps, then over {rounds} rounds, followed by the
range of the rounds."""


def times(of):
    return [number(of["predicted"]), f"{number(of['measured'])} ({number(of['least'])} to {number(of['most'])})"]


class Case:
    """A model over a link: joint against the best policy."""

    def __init__(self, name, rows):
        self.name, self.joint = name, rows[real.JOINT]
        others = {policy: of for policy, of in rows.items() if policy != real.JOINT}
        self.best = min(others, key=lambda policy: others[policy]["measured"])
        self.other = others[self.best]
        self.least = min(of["predicted"] for of in others.values())

    def gain(self):
        return self.other["measured"] / self.joint["measured"] - 1

    def wins(self):
        return self.gain() > 0

    def verdict(self):
        apart = self.joint["most"] < self.other["least"] if self.wins() else self.other["most"] < self.joint["least"]
        if apart:
            return "fastest" if self.wins() else "slower !"
        return "fastest, within the spread" if self.wins() else "as fast, within the spread"

    def cells(self):
        predicted = self.least / self.joint["predicted"] - 1
        off = self.joint["predicted"] / self.joint["measured"] - 1
        return [
            self.name, self.best, number(self.other["measured"]), self.joint.get("plan", ""), number(self.joint["measured"]),
            f"{100 * self.gain():+.1f}", f"{100 * predicted:+.1f}", f"{100 * off:+.1f}", self.verdict(),
        ]  # fmt: skip


def why(cases):
    """Of each case that joint did not win, what the numbers say."""
    for case in cases:
        if case.wins():
            continue
        off = [of["predicted"] / of["measured"] - 1 for of in (case.joint, case.other)]
        if case.joint.get("plan") == case.best:
            yield f"**{case.name}**: the trial kept {case.best}, so that both are one plan, which took {number(case.other['measured'])} and {number(case.joint['measured'])} us."
            continue
        lost = f"**{case.name}**: {case.best} took {number(case.other['measured'])} us, joint {number(case.joint['measured'])}."
        if "within" in case.verdict():
            yield f"{lost} The runs of both overlap ({number(case.other['least'])} to {number(case.other['most'])} and {number(case.joint['least'])} to {number(case.joint['most'])} us), so the difference is not significant."
        else:
            yield f"{lost} Joint's step was predicted {100 * off[0]:+.1f} % off, the other's {100 * off[1]:+.1f} %: the prediction that it was chosen by is further off than the two are apart."


LOADED = """Other programs wanted the cores all the time (load {load:.1f} when it began), so that measured times are longer than
predicted ones, and who is fastest says little."""
# Processes that want to run where nothing else does but what starts this.
IDLE = 1.5


def section(data):
    of = data["real"]
    text = REAL.format(rate=of["rate"], searches=real.SEARCHES, tried=real.TRIED, seconds=of["seconds"], rounds=of["rounds"])
    cases = [Case(name, rows) for name, rows in of["cases"].items()]
    won = [case for case in cases if case.wins()]
    parts = ["\n## Measured programs\n\n", filled(text), "\n"]
    head = ["case", "fastest policy", "us", "joint's plan", "us", "faster, %", "predicted faster, %", "joint's prediction off, %", ""]
    parts.append(table(head, [case.cells() for case in cases]))
    parts.append("\n" + filled(f"Goal: the measured time of `joint` is the shortest. It was in {len(won)} of {len(cases)} cases."))
    load = data["settings"]["real"]["load"]
    if load > IDLE:
        parts.append("\n" + filled(LOADED.format(load=load)))
    parts += ["\n" + filled(reason) for reason in why(cases)]
    for model in real.MODELS:
        chosen = [link for link in real.LINKS if f"{model}/{link.name}" in of["cases"]]
        if chosen:
            parts.append(f"\nEvery policy, {model}, in us; its name is that of opfuse, then that of tensorfuse:\n\n")
            head = ["policy"] + [h for link in chosen for h in (f"{link.name}: predicted", "measured")]
            rows = [[p, *(c for l in chosen for c in times(of["cases"][f"{model}/{l.name}"][p]))] for p in [*real.POLICIES, real.JOINT]]
            parts.append(table(head, rows))
    for name, reason in of["failures"].items():
        parts.append("\n" + filled(f"**Failed**: {name}: {reason}"))
    if of["missing"]:
        parts.append("\n" + filled(f"Over veth nothing ran: {of['missing']}."))
    parts.append("\n" + filled("Made by " + ran(data, "real") + " In a folder of its own, for each model and link:"))
    parts.append(commands(real.shown()))
    return "".join(parts)
