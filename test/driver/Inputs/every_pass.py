"""every_pass.py DOPT MODELS [-rotate]: runs `dopt -check` with pipelines that together hold every pass that
`dopt -list-passes` knows, on every model of MODELS/table.txt at its toy size, but for the deep ones, which would take
minutes; their own tests check one pipeline. With -rotate each model has one
pipeline, another than the one before it. Prints a line a run; exits 1 if one differs or a pass is in none."""
import pathlib
import re
import subprocess
import sys

PIPELINES = [
    "inline,canonicalize,cse,dce,grad,sgd,canonicalize,cse,dce,dp{axis=dp},canonicalize,cse,dce,opfuse,tensorfuse",
    "dp{axis=dp},grad,adam,dce,tensorfuse{bucket=1KB},opfuse,cse,canonicalize",
    "grad,dp{axis=dp},sgd,opfuse{policy=none},tensorfuse,dce",
    "amp{to=f16},grad,lamb{clip=1,schedule=cosine,steps=9},dp{axis=dp},canonicalize,cse,dce,opfuse",
    "dp{axis=dp},amp{scale=8},grad,momentum{nesterov,clip=1},dce",
    "grad,adamw{warmup=3},dp{axis=dp},tensorfuse",
    "spatial{axis=dp},grad,sgd,canonicalize,cse",
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

rotate = "-rotate" in sys.argv[3:]
failed = False
for number, model in enumerate(m for m in models.models() if m.name not in models.DEEP):
    for text in [PIPELINES[number % len(PIPELINES)]] if rotate else PIPELINES:
        options = [*model.defines, *model.toy, "-D", "N=2"]
        run = subprocess.run([dopt, "-check", "-emit=none", f"-pass={text}", *options, model.path],
                             capture_output=True, text=True)
        print(f"{model.name} {text}: {'same' if run.returncode == 0 else 'differs'}")
        print(run.stderr, end="")
        failed = failed or run.returncode != 0
sys.exit(failed)
