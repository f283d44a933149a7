"""parallelize.py DOPT TESTS SEEDS: random plans of random networks and of models at toy sizes, and the plans that are found
for them, on meshes of one axis and of two: what they compute, by layout too, is what the step computes on one device
(dopt -check). TESTS: the folder test/. Prints a line for each step that differs, and how many there were; exits 1 if one
does."""
import os
import pathlib
import subprocess
import sys
import tempfile

dopt, tests, seeds = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3])
sys.path.append(str(tests / "models/Inputs"))
import models

MESHES = ("dp = 2", "dp = 4", "dp = 2, tp = 2", "dp = 2, b = 3, c = 2")
MODELS = ("char_gpt", "dlrm", "mixtral_8x7b", "rnnlm", "reformer", "bert_base", "llama3_70b", "candle_uno")
PIPELINES = (
    "grad,adam,parallelize{engine=random,seed=%d}",
    "grad,parallelize{engine=random,seed=%d},adamw{clip=1}",
    "parallelize{engine=random,seed=%d},grad,sgd",
    "grad,recompute,adam,parallelize,canonicalize,cse,dce,opfuse,tensorfuse",
    "amp,grad,adam,parallelize{engine=random,seed=%d},prefetch,opfuse",
    "amp,grad,lamb,parallelize{policy=megatron},cse",
    "grad,momentum,parallelize{policy=data},tensorfuse",
    "grad,recompute,adam,offload{least=1,policy=all},parallelize{engine=random,seed=%d}",
    "grad,adam,parallelize{budget=2KB}",
    "grad,sgd,parallelize{overlap}",
    "grad,adam,parallelize{engine=random,axes=dp},parallelize{engine=random,seed=%d}",
    "accumulate{steps=2},grad,adam,parallelize{engine=random,seed=%d}",
)


def networks():
    for seed in range(1, seeds + 1):
        command = [sys.executable, tests / "random/networks.py", str(seed)]
        yield f"network {seed}", subprocess.run(command, capture_output=True, text=True, check=True).stdout, []


def toys():
    for i, name in enumerate(MODELS):
        m = models.model(name)
        text = m.path.read_text().replace("mesh [dp = N]", f"mesh [{MESHES[i % len(MESHES)]}]")
        yield name, text, [*m.defines, *m.toy]


steps = differ = 0
with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder) / "step.dir"
    for number, (name, text, options) in enumerate([*networks(), *toys()]):
        path.write_text(text)
        pipeline = PIPELINES[number % len(PIPELINES)]
        pipeline = "inline," + (pipeline % number if "%" in pipeline else pipeline)
        run = subprocess.run([dopt, "-check", "-emit=none", f"-pass={pipeline}", *options, path], capture_output=True, text=True)
        steps += 1
        if run.returncode:
            differ += 1
            print(f"{name}, {pipeline}: exit {run.returncode}\n{run.stderr}")
print(f"{steps} steps, {differ} differ")
sys.exit(differ > 0)
