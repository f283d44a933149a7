"""Steps that run: every policy, and the joint search, on two ranks over links that are slow enough to matter."""
import os
import re
import statistics
import subprocess

import links
import network
import tool
from pair import RANKS, TRIAL_STEPS, Pair

MODELS = {
    "cnn": tool.model("digits_cnn"),
    "gpt": tool.model("char_gpt"),
    "mlp": os.path.join(os.path.dirname(os.path.abspath(__file__)), "wide_mlp.dir"),
}
LINKS = [link for link in links.ALL if link.name in ("0.25GB/s", "1GB/s", "veth")]
PASSES = "grad,sgd,dp{axis=dp},canonicalize,cse,dce"
OPS = {"none": "", "xla": "opfuse{policy=xla}", "greedy": "opfuse{policy=greedy}"}
TENSORS = {
    "none": "",
    "size": "tensorfuse{policy=size}",
    "ddp": "tensorfuse{policy=ddp}",
    "horovod": "tensorfuse{policy=horovod}",
}
POLICIES = {
    f"{ops}, {tensors}": ",".join(passes for passes in (OPS[ops], TENSORS[tensors]) if passes)
    for ops in OPS
    for tensors in TENSORS
}
JOINT = "joint"
JOINT_PASS = "joint{{engine=dopt,time={limit:g}s}}"
# A search starts from the ops, or from the kernels of a policy, which it takes as they are: all of those were timed.
STARTS = {"ops": "", "greedy": "opfuse{policy=greedy},", "xla": "opfuse{policy=xla},"}
# Seconds of a search, at most; these steps are small.
LIMIT = 2
# A search chooses kernels that nobody has measured; they are, and it searches again, until all are known.
SEARCHES = 6


def file_of(*words):
    return re.sub(r"\W+", "_", " ".join(words))


def step_of(model):
    return file_of(model, "step")


class Runs:
    def __init__(self, pair, rounds, limit, say):
        self.pair, self.rounds, self.say = pair, rounds, say
        self.joint = JOINT_PASS.format(limit=min(limit, LIMIT))
        self.results, self.failures = {}, {}

    def build(self, model):
        """The programs of all policies, and the times of their kernels."""
        pair = self.pair
        pair.step(step_of(model), MODELS[model], PASSES, "-D", f"N={RANKS}")
        programs = {policy: file_of(model, policy) for policy in POLICIES}
        for policy, name in programs.items():
            pair.build(name, pair.path(step_of(model) + ".dir"), POLICIES[policy])
        pair.measure(programs.values())
        return programs

    def search(self, model, link):
        """The program that the joint search makes for that link: of several, the best by measured kernels."""
        pair, found = self.pair, {}
        for start, passes in STARTS.items():
            for number in range(SEARCHES):
                name = file_of(model, JOINT, link.name, start, str(number))
                source = pair.path(step_of(model) + ".dir")
                pair.step(name, source, passes + self.joint, *pair.costs(link))
                new = pair.measure_more([name])
                found[name] = pair.predict(name, link).iteration
                self.say(f"{model}/{link.name}: from {start}, search {number + 1}: {found[name]:.0f} us, {new} new")
                if not new:
                    break
        best = min(found, key=found.get)
        pair.compile(best)
        return best

    def interleaved(self, programs, link):
        """Iteration times by program: one run of each, then the next one of each."""
        steps, took = {}, {name: [] for name in programs}
        for name in programs:
            once = self.pair.start(name, link, TRIAL_STEPS).iteration
            steps[name] = max(TRIAL_STEPS, int(self.pair.seconds * 1e6 / once))
        for _ in range(self.rounds):
            for name in programs:
                took[name].append(self.pair.start(name, link, steps[name]).iteration)
        return took

    def case(self, model, link, programs):
        programs = programs | {JOINT: self.search(model, link)}
        took = self.interleaved(list(programs.values()), link)
        rows = self.results[f"{model}/{link.name}"] = {}
        for policy, name in programs.items():
            said, times = self.pair.predict(name, link), took[name]
            rows[policy] = {
                "predicted": said.iteration,
                "measured": statistics.median(times),
                "least": min(times),
                "most": max(times),
                "kernels": len(said.kernels),
                "messages": len(said.collectives),
            }
            self.say(f"{model}/{link.name}: {policy}: " + ", ".join(f"{k} {v:.0f}" for k, v in rows[policy].items()))

    def cases(self, model, chosen):
        try:
            programs = self.build(model)
            for link in chosen:
                self.case(model, link, programs)
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            self.failures[model] = str(error)
            self.say(f"{model}: {error}")


def shown():
    """The commands of one case, as the page has them."""
    make = f"dopt -D N={RANKS} '-pass={PASSES}' MODEL.dir -o step.dir"
    costs = "-profile=profile.db -cluster=pair.cluster -replay=coarse"
    return [
        make,
        "dopt '-pass=opfuse{policy=xla},tensorfuse{policy=size}' step.dir -o policy.dir  # and so each policy",
        "dopt -measure -profile=profile.db policy.dir",
        f"dopt {costs} '-pass={JOINT_PASS.format(limit=LIMIT)}' step.dir -o joint.dir",
        "dopt -measure -profile=profile.db joint.dir",
        f"dopt {costs} -emit=timeline joint.dir -o timeline.json",
        "dopt -emit=program joint.dir -o joint",
        "./joint -steps 100 -report-every 100 -trace trace -bind -link 1000000000B/s,20000ns",
    ]


def real(dopt, folder, only, rounds, seconds, limit, say):
    """The part `real`: what programs take, predicted and measured."""
    missing = network.missing()
    names = {(m, l): f"{m}/{l.name}" for m in MODELS for l in LINKS}
    chosen = {key for key, name in names.items() if re.search(only, name) and not (key[1].real and missing)}
    used = [link for link in LINKS if any(link is l for _, l in chosen)]
    runs = Runs(Pair(dopt, folder, seconds, say), rounds, limit, say)
    with links.opened(used):
        links.calibrate(runs.pair, used)
        for model in MODELS:
            of_model = [link for link in used if (model, link) in chosen]
            if of_model:
                runs.cases(model, of_model)
    return {
        "cases": runs.results,
        "failures": runs.failures,
        "rounds": rounds,
        "seconds": seconds,
        "missing": missing,
        "rate": network.RATE,
        "links": {l.name: {"latency": l.latency, "bandwidth": l.bandwidth} for l in used},
    }
