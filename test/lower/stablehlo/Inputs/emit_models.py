"""emit_models.py DOPT MODELS SCRATCH MLIR_OPT: writes every model of table.txt as StableHLO and lets mlir-opt read it."""
import pathlib
import subprocess
import sys

dopt, models, scratch, mlir_opt = sys.argv[1:]
PIPELINES = ([], ["-pass=grad,sgd"], ["-D", "N=4", "-pass=grad,sgd,dp{axis=dp}"])
count = 0

for line in (pathlib.Path(models) / "table.txt").read_text().splitlines():
    if line.startswith("#") or "|" not in line:
        continue
    name, file, toy = (column.strip() for column in line.split("|")[:3])
    sizes = [word for size in toy.split() for word in ("-D", size)]
    for options in PIPELINES:
        command = [dopt, "-emit=stablehlo", "-o", scratch, *options, *sizes, f"{models}/{file.split()[0]}"]
        for step in (command, [mlir_opt, "--allow-unregistered-dialect", scratch, "-o", "/dev/null"]):
            done = subprocess.run(step, capture_output=True, text=True)
            if done.returncode:
                sys.exit(f"{' '.join(step)}\n{done.stderr}")
        count += 1
if count < 60:
    sys.exit(f"only {count} texts")
