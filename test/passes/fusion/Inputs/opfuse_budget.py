"""opfuse_budget.py DOPT MODELS: opfuse keeps a step within -budget.

Kernels raise the peak of each of these steps. With every budget from that of the step without kernels, the step with
kernels must fit, and more budget must not make it slower; so must a step that offload has made fit, in either order."""
import json
import subprocess
import sys

BUDGETS = 4
STEPS = [
    ("digits_cnn", "greedy", "grad,adam"),
    ("digits_cnn", "xla", "grad,adam"),
    ("rnnlm", "greedy", "dp{axis=dp},grad,recompute,shard{axis=dp},adam"),
    ("vgg19", "greedy", "amp,grad,adam,canonicalize,cse,dce"),
]


def run(dopt, model, passes, budget=None):
    """Predicted seconds and bytes."""
    command = [dopt, "-cluster=h200x8", "-stats=json", "-emit=none", *([f"-budget={budget}"] if budget else []),
               f"-pass={passes}", model]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr}")
    last = json.loads(done.stdout)[-1]["cost"]
    return last["iteration"], last["peak_bytes"]


def main():
    dopt, models = sys.argv[1:]
    for name, policy, passes in STEPS:
        opfuse = f"opfuse{{policy={policy}}}"
        model = f"{models}/{name}.dir"
        plain, low = run(dopt, model, passes)
        fused, high = run(dopt, model, passes + f",{opfuse}")
        assert fused < plain and high > low, name
        before = plain
        for i in range(BUDGETS):
            budget = low + (high - low) * i // (BUDGETS - 1)
            seconds, peak = run(dopt, model, passes + f",{opfuse}", budget)
            assert peak <= budget and seconds <= before, (name, budget, peak, seconds, before)
            before = seconds
        assert seconds == fused, name
        budget = low * 95 // 100
        for order in f"offload,{opfuse}", f"{opfuse},offload":
            assert run(dopt, model, f"{passes},{order}", budget)[1] <= budget, (name, order)
        print(f"{name} {policy}: {high / low:.3f} times the memory with all kernels")


main()
