"""replay.py DOPT MODELS: the step that parallelize leads to, kernels fused by opfuse, is predicted to take at most what the
steps of its policies and of its cheapest plan take, and as long as it says; and the bound that it prints is below
every one of them (bounds.py compares it with more). And with a budget, the steps of large models after prefetch, overlap and unshard are faster than those
of the passes dp and shard, and fit. A pipeline without opfuse is replayed without it, and fits. Prints a line for each step."""
import json
import pathlib
import re
import subprocess
import sys

dopt, models = sys.argv[1], pathlib.Path(sys.argv[2])
UNIT = {"s": 1, "ms": 1e-3, "us": 1e-6}
ROUNDED = 1.01  # remarks have three digits
STEPS = (("mlp_unity.dir", "-mesh=node=4,card=8", ["B=8192", "H=1024"]), ("mlp_unity.dir", "-mesh=card=8", ["B=64", "H=2048"]),
         ("xdl.dir", "-mesh=node=4,card=8", ["B=32768", "V=100000"]), ("dlrm.dir", "-mesh=node=4,card=8", ["B=32768"]),
         ("bert.dir", "-mesh=node=2,card=4", ["B=32", "T=128", "L=2"]), ("digits_cnn.dir", "-mesh=card=4", ["B=64", "N=1"]),
         ("candle_uno.dir", None, ["B=1024", "H=512"]))


def run(model, mesh, defines, options):
    command = [dopt, "-cluster=h100", "-remarks", "-stats=json", "-emit=none", *([mesh] if mesh else []), *(f"-D={d}" for d in defines),
               f"-pass=inline,grad,adam,parallelize{{{options}}},opfuse", models / model]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{model} {options}: exit {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout)[-1]["cost"]["iteration"], done.stderr


for step in STEPS:
    best, remarks = run(*step, "replay")
    others = {options: run(*step, options)[0] for options in ("policy=data", "policy=megatron", "policy=dlrm", "replay=false")}
    said = re.search(r"the step takes ([0-9.]+)(\w+) after .* bound for this mesh: ([0-9.]+)(\w+),", remarks)
    wrong = [f"{name} {t}" for name, t in others.items() if t < best * (1 - 1e-9)]
    if not best / ROUNDED <= float(said[1]) * UNIT[said[2]] <= best * ROUNDED:
        wrong.append(f"said {said[1]}{said[2]}")
    if float(said[3]) * UNIT[said[4]] > min(best, *others.values()) * ROUNDED:
        wrong.append(f"bound {said[3]}{said[4]}")
    print(f"{step[0]} {step[2]}:", "as it should be" if not wrong else f"{best}, but {', '.join(wrong)}")

# A step that fits with its kernels fused need not fit without.
over = []
for budget in (2, 3, 5, 6):
    done = subprocess.run([dopt, "-cluster=h100", "-mesh=card=8", f"-budget={budget}MB", "-stats=json", "-emit=none",
                           "-pass=grad,sgd,parallelize", models / "digits_mlp.dir"], capture_output=True, text=True, check=True)
    peak = json.loads(done.stdout)[-1]["cost"]["peak_bytes"]
    over += [f"{peak} bytes with {budget} MB"] if peak > budget * 1e6 else []
print("digits_mlp.dir:", "as it should be" if not over else f"but {over}")

AFTER = "opfuse,prefetch,overlap,unshard"
for name, budget, defines in (("llama3.dir", 12, ["L=4", "B=64", "T=1024", "N=32"]), ("mixtral.dir", 40, ["L=6", "B=32", "T=4096", "N=32"])):
    cost = []
    for passes in (f"dp{{axis=dp}},grad,recompute,shard{{axis=dp}},adam,{AFTER}", f"grad,recompute,adam,parallelize,{AFTER}"):
        command = [dopt, "-cluster=h100x32", "-stats=json", "-emit=none", f"-budget={budget}GB", *(f"-D={d}" for d in defines),
                   f"-pass=inline,amp,{passes}", models / name]
        cost.append(json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)[-1]["cost"])
    sharded, best = cost
    good = best["iteration"] <= sharded["iteration"] and best["peak_bytes"] <= budget * 1e9
    print(f"{name} {defines}:", "as it should be" if good else f"{best}, but sharded {sharded}")
