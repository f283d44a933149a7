"""every_pass.py DOPT MODELS pipelines|policies|all [-one|-everything]: runs `dopt -check` with pipelines that together hold every pass that
`dopt -list-passes` knows, on every model of MODELS/table.txt at its toy size, but for the deep ones, which would take
minutes; their own tests check one pipeline. A model has some of the pipelines and policies, other ones than the model
before it. DOPT_RANDOM_SLICE=K in the environment chooses others;
DOPT_RANDOM_SLICE=all and -everything take all. With -one each second model has one pipeline or policy. Policies are all that passes list, of fusion and of the search,
each behind a data-parallel training step. Prints a line a run; exits 1 if one differs or a pass is in none."""
import os
import pathlib
import re
import subprocess
import sys

PIPELINES = [
    "inline,canonicalize,cse,dce,grad,sgd,canonicalize,cse,dce,dp{axis=dp},canonicalize,cse,dce,opfuse,tensorfuse",
    "dp{axis=dp},grad,adam,dce,tensorfuse{bucket=1KB},opfuse,cse,canonicalize",
    "grad,dp{axis=dp},adagrad,random-fuse,tensorfuse,dce",
    "grad,dp{axis=dp},rmsprop{momentum=0.9,centered=true},opfuse{policy=none},tensorfuse,dce",
    "amp{to=f16},grad,lamb{clip=1,schedule=cosine,steps=9},dp{axis=dp},canonicalize,cse,dce,opfuse",
    "dp{axis=dp},amp{scale=8},grad,momentum{nesterov,clip=1},dce",
    "grad,adamw{warmup=3},dp{axis=dp},tensorfuse,tensorpart{policy=fixed,parts=3},overlap",
    "spatial{axis=dp},grad,lion,canonicalize,cse,hoist",
    "grad,nadam{weight_decay=0.1},dp{axis=dp},canonicalize,cse,dce,opfuse",
    "dp{axis=dp},grad,shard{axis=dp},radam{clip=1},opfuse,tensorfuse",
    "amp{to=f16},dp{axis=dp},grad,shard{axis=dp},adafactor,dce,opfuse",
    "dp{axis=dp},grad,muon,shard{axis=dp},cse,dce,opfuse,tensorfuse",
    "accumulate{steps=2},dp{axis=dp},grad,adam{clip=1},canonicalize,cse,dce,opfuse,tensorfuse",
    "amp,dp{axis=dp},grad,shard{axis=dp},adamw{clip=1},canonicalize,cse,dce,opfuse,tensorfuse",
    "amp,dp{axis=dp},grad,recompute,shard{axis=dp},adam,prefetch,unshard,offload{least=1,policy=all},canonicalize,cse,dce,opfuse",
    "accumulate{steps=2},grad,lamb,dp{axis=dp},shard{axis=dp,stage=2},canonicalize,cse,dce,opfuse",
    "pipeline{stages=3,steps=2,schedule=1f1b},dp{axis=dp},grad,scatter-sends{axis=dp},adam{clip=1},canonicalize,cse,dce,opfuse,tensorfuse",
    "grad,adam,dp{axis=dp},cse,joint{evaluations=300}",
    "grad,adam,parallelize,canonicalize,cse,dce,opfuse,tensorfuse",
    "amp,grad,parallelize{engine=random,seed=2},sgd,cse,dce",
    "rewrite{policy=all},grad,adam,dp{axis=dp},rewrite,canonicalize,cse,dce,opfuse,tensorfuse",
    "plan{evaluations=16,summary=false}",
    "dp{axis=dp},grad,adadelta,shard{axis=dp},opfuse",
    "grad,rprop,dp{axis=dp},opfuse",
    "dp{axis=dp},grad,asgd,shard{axis=dp},cse,dce",
    "grad,adamax,dp{axis=dp},propagate,merge-replica-dim,sink-transpose,channels-last,canonicalize,cse,dce",
]

dopt, folder = sys.argv[1], pathlib.Path(sys.argv[2])
sys.path.append(str(folder / "Inputs"))
import models

listed = subprocess.run([dopt, "-list-passes=md"], capture_output=True, text=True, check=True).stdout
names = set(re.findall(r"^### (\w+)", listed, re.M))
used = set(re.findall(r"\w+", re.sub(r"\{[^}]*\}", "", ",".join(PIPELINES))))
if not names:
    sys.exit("no passes are listed")
if names - used:
    sys.exit(f"in no pipeline: {sorted(names - used)}")

# The choices of `policy` of every pass that has it, and the engines of the search but for the one that
# tries everything; a search ends soon.
TRAIN = "grad,sgd,dp{axis=dp},"
CHOICES = re.compile(r"^\| `(policy|engine)` \| ([^ ]+) \|", re.M)
policies = []
for section in re.split(r"^### ", listed, flags=re.M)[1:]:
    found = CHOICES.search(section)
    for choice in found[2].replace("\\", "").split("|") if found else []:
        limit = ",evaluations=200" if found[1] == "engine" else ""
        if section.startswith("recompute") and choice not in ("blocks", "gathers"):
            limit = ",budget=100KB" + ",evaluations=60" * (choice == "search")
        if choice != "exhaust":
            policies.append(f"{TRAIN}{section.split()[0]}{{{found[1]}={choice}{limit}}}")
if not any("policy" in p for p in policies) or not any("engine" in p for p in policies):
    sys.exit("no policies or no engines are listed")

# Images go through 16 convolutions, which the interpreter takes ten times as long for as for any other model.
SLOW = {"vgg19": 3}

# What each model has: of which list, every how many of it from its own number on; a slow one has fewer.
CHOSEN = {"pipelines": [(PIPELINES, 3)], "policies": [(policies, 6)]}
CHOSEN["all"] = CHOSEN["pipelines"] + CHOSEN["policies"]
chosen = CHOSEN[sys.argv[3]]
slice = os.environ.get("DOPT_RANDOM_SLICE", "0")
if "-one" in sys.argv[4:]:
    chosen = [(texts, len(texts)) for texts, _ in chosen]
if "-everything" in sys.argv[4:] or slice == "all":
    chosen, slice = [(texts, 1) for texts, _ in chosen], "0"
print(f"DOPT_RANDOM_SLICE={slice}")
failed = False
for number, model in enumerate(m for m in models.toys() if m.name not in models.DEEP):
    steps = [step * SLOW.get(model.name, 1) if step > 1 else 1 for _, step in chosen]
    if "-one" in sys.argv[4:] and (number + int(slice)) % 2:
        continue
    texts = [text for (list, _), step in zip(chosen, steps) for text in list[(number + int(slice)) % step :: step]]
    for text in texts:
        options = [*model.defines, *model.toy, "-D", "N=2"]
        options += ["-time-limit=1s"] if "policy=joint" in text else []  # any plan will do, in place of that after 10 s
        run = subprocess.run([dopt, "-check", "-emit=none", f"-pass={text}", *options, model.path],
                             capture_output=True, text=True)
        print(f"{model.name} {text}: {'same' if run.returncode == 0 else 'differs'}")
        print(run.stderr, end="")
        failed = failed or run.returncode != 0
sys.exit(failed)
