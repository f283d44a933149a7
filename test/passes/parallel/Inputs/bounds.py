"""Steps whose time is below the bound of their mesh: there must be none.

    bounds.py DOPT MODELS CASES SEED

A case is a model of random sizes, large enough that kernels take longer than their launches, on a random mesh of a cluster with
reached rates, or of one without, where models of images and of tables are drawn, too. Its bound is compared with the predicted times of steps by pipelines that make kernels and layouts in
different ways; and a plan on this mesh, within a budget near what these steps need, with the bound that it prints.
"""
import json
import os
import random
import re
import subprocess
import sys

dopt, models, cases, seed = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
draw = random.Random(seed)
UNITS = {"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
MADE = "inline,{amp}grad,adam,"
PIPELINES = (
    MADE + "parallelize{{replay=false}},{fuse}",
    MADE + "parallelize{{policy=data}},{fuse},overlap,tensorfuse",
    MADE + "parallelize{{policy=megatron}},{fuse},tensorfuse,overlap",
    MADE + "parallelize{{engine=random}},{fuse}",
    MADE + "parallelize,{fuse},prefetch,overlap,joint{{evaluations=60}}",
    "inline,{amp}grad,recompute,adam,parallelize{{policy=sharded}},{fuse},overlap",
)
FUSE = ("opfuse", "opfuse{online=true}", "opfuse{policy=xla}", "opfuse{online=true},joint{evaluations=100}", "random-fuse",
        "joint{evaluations=40}")


REACHED = ("h100x32",)
CLUSTERS = REACHED + ("summit_x192", "v100x128_tcp")


def seconds(text):
    number, unit = re.fullmatch(r"([0-9.]+)(\w+)", text).groups()
    return float(number) * UNITS[unit]


def sizes(reached):
    model = draw.choice(("llama3", "gpt2", "vit", "bert", "mixtral") + (() if reached else ("resnet50", "dlrm", "mlp_unity", "xdl") * 2))
    heads = draw.choice((2, 4, 8))
    width = heads * draw.choice((64, 128))
    given = {"B": 8 * draw.choice((1, 2, 4)), "D": width, "A": heads, "L": draw.randint(1, 3), "T": draw.choice((256, 512, 1024)),
             "G": draw.choice((1, heads)), "F": draw.choice((3, 4)) * width, "V": 8192}
    if model == "resnet50":
        given = {"B": 16 * draw.choice((1, 2, 4)), "P": draw.choice((32, 64)), "C": draw.choice((16, 32)), "W": 64, "G": 1,
                 "R1": 1, "R2": draw.choice((1, 2)), "R3": 1, "R4": 1}
    if model == "dlrm":
        given = {"B": draw.choice((1024, 8192)), "V2": draw.choice((1001, 65536)), "V3": 10007, "V11": draw.choice((4096, 160000)),
                 "V15": 12345, "V20": 1 << 16}
    text = open(os.path.join(models, model + ".dir")).read()
    return model, [f"-D{name}={n}" for name, n in given.items() if re.search(rf"^let {name} =", text, re.M)]


def run(words):
    return subprocess.run([dopt, *words], text=True, capture_output=True, timeout=300)


done = wrong = 0
for case in range(cases):
    cluster = draw.choice(CLUSTERS)
    model, lets = sizes(cluster in REACHED)
    path, amp = os.path.join(models, model + ".dir"), draw.choice(("", "amp,"))
    mesh = draw.choice(("d=2", "d=4", "d=8", "n=2,d=4", "n=2,d=8"))
    base = [f"-cluster={cluster}", f"-mesh={mesh}", *lets, "-emit=none"]
    told = run([*base, "-remarks", f"-pass={MADE.format(amp=amp)}parallelize{{policy=data}}", path])
    found = re.search(r"lower bound for this mesh: (\w[\w.]*)", told.stderr)
    if not found:
        sys.exit(f"no bound: {base} {path}\n{told.stderr[-1000:]}")
    bound = seconds(found[1])
    peaks = []
    for pipeline in PIPELINES:
        passes = pipeline.format(amp=amp, fuse=draw.choice(FUSE))
        made = run([*base, "-stats=json", f"-seed={case}", f"-pass={passes}", path])
        if made.returncode:
            continue
        cost = json.loads(made.stdout)[-1]["cost"]
        took = cost["iteration"]
        peaks.append(cost["peak_bytes"])
        done += 1
        if took < bound * 0.995:  # the bound is told with three digits
            wrong += 1
            print(f"{took:.6g} s is below {bound:.6g}: {' '.join(base)} -pass='{passes}' {path}")
    budget = int(min(peaks) * draw.choice((0.9, 1, 1.1, 1.2, 1.5, 2)))
    plan = run([*base, f"-budget={budget}", f"-pass=plan{{{amp}evaluations=8}}", path])
    if found := re.search(r"without micro-batches: \S+, (\S+) % less", plan.stderr):
        done += 1
        if float(found[1]) < -0.5:
            wrong += 1
            print(f"{found[1]} % of {budget} bytes: {model} {lets} {amp}")
print(f"{done} steps, {wrong} below their bounds")
