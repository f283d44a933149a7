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
JOINT_PASS = "joint{{engine=dopt,time={limit:g}s,moves=\"{moves}\"}}"
# A search starts from the ops, or from the kernels of a policy, which it takes as they are: all of those were timed.
STARTS = {"ops": "", "greedy": "opfuse{policy=greedy},", "xla": "opfuse{policy=xla},"}
# A real link takes cores from computation, more than is predicted where many messages go: there also with one, whose
# kernels and order alone are searched for.
ONE = "one message"
STARTS_REAL = STARTS | {ONE: "opfuse{policy=greedy},tensorfuse{policy=size},"}
# Seconds of a search, at most; these steps are small.
LIMIT = 2
# A search chooses kernels that nobody has measured; they are, and it searches again, until all are known. What it
# has chosen then is measured again before it is believed.
SEARCHES = 3
# Plans of the searches that are tried in fact: those that are predicted to be fastest. Beside them, for each policy of
# messages, the policy of kernels that is.
TRIED = 3
# What a trial says of a plan, and which it keeps.
KEPT = re.compile(r"^trial: '(.*)' is the fastest and is kept$", re.M)


def file_of(*words):
    return re.sub(r"\W+", "_", " ".join(words))


def starts(link):
    return STARTS_REAL if link.real else STARTS


def step_of(model):
    return file_of(model, "step")


class Runs:
    def __init__(self, pair, rounds, limit, say):
        self.pair, self.rounds, self.say = pair, rounds, say
        self.limit = min(limit, LIMIT)
        self.results, self.failures = {}, {}

    def build(self, model):
        """The programs of all policies, and the times of their kernels."""
        pair = self.pair
        pair.step(step_of(model), MODELS[model], PASSES, "-D", f"N={RANKS}")
        programs = {policy: file_of(model, policy) for policy in POLICIES}
        for policy, name in programs.items():
            pair.build(name, pair.path(step_of(model) + ".dir"), POLICIES[policy])
        pair.measure(programs.values())
        # Messages do not change kernels: these have all that the policies have.
        pair.measure_again([programs[f"{ops}, none"] for ops in OPS])
        return programs

    def searched(self, model, link):
        """Plans of the joint search for that link, with what they do."""
        pair, plans = self.pair, {}
        for start, passes in starts(link).items():
            joint = JOINT_PASS.format(limit=self.limit, moves="fuse,copy,order" if start == ONE else "all")
            again = False
            for number in range(1, SEARCHES + 1):
                name = file_of(model, JOINT, link.name, start, str(number))
                source = pair.path(step_of(model) + ".dir")
                pair.step(name, source, passes + joint, *pair.costs(link))
                new = pair.measure_more([name])
                plans[name] = f"from {start}, search {number}"
                self.say(f"{model}/{link.name}: {plans[name]}: {pair.predict(name, link).iteration:.0f} us, {new} new")
                if not new and again:
                    break
                if not new:
                    pair.measure_again([name])
                    again = True
        return plans

    def best_of(self, names, link, most):
        """Of these steps those that are predicted to be fastest."""
        said = {name: self.pair.predict(name, link).iteration for name in names}
        return sorted(said, key=said.get)[:most]

    def search(self, model, link, programs):
        """The program of joint for that link, and which plan it is: of those that were found and of the policies that
        may be as fast, the one that a trial found fastest."""
        pair, plans = self.pair, self.searched(model, link)
        policies = {name: policy for policy, name in programs.items()}
        tried = self.best_of(plans, link, TRIED)
        for start in starts(link):
            of_start = [name for name in plans if plans[name].startswith(f"from {start},")]
            tried += [name for name in self.best_of(of_start, link, 1) if name not in tried]
        for tensors in TENSORS:
            tried += self.best_of([programs[f"{ops}, {tensors}"] for ops in OPS], link, 1)
        best = file_of(model, JOINT, link.name)
        said = pair.trial(tried, link, best)
        names = {pair.path(name + ".dir"): (plans | policies)[name] for name in tried}
        names["baseline"] = plans[tried[0]]
        for path, plan in names.items():
            said = said.replace(f"'{path}'", f"'{plan}'")
        for line in said.splitlines():
            self.say(f"{model}/{link.name}: {line}")
        pair.compile(best)
        return best, KEPT.search(said)[1]

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
        best, plan = self.search(model, link, programs)
        programs = programs | {JOINT: best}
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
        rows[JOINT]["plan"] = plan

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
        "dopt -measure=again -profile=profile.db policy.dir",
        f"dopt {costs} '-pass={JOINT_PASS.format(limit=LIMIT, moves='all')}' step.dir -o joint.dir",
        "dopt -measure -profile=profile.db joint.dir  # and again what it searches anew",
        f"dopt {costs} -trial=another.dir -trial=policy.dir -trial-run='{{}} -bind -link 1000000000B/s,20000ns' "
        "joint.dir -o fastest.dir",
        f"dopt {costs} -emit=timeline fastest.dir -o timeline.json",
        "dopt -emit=program fastest.dir -o joint",
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
