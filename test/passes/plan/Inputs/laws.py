"""laws.py DOPT MODELS: laws of plan on small models, meshes and budgets that are drawn at random.

- The step is never slower than a recipe run by hand through -pass that fits, and fits if one of them does: for drawn budgets.
- More budget never gives a slower step, for drawn budgets and for those of the series 1, 2, 4, 10, ..., whose plans no larger budget
  may miss; what is printed fits.
- The command that is printed makes the same module, byte for byte, and -check accepts the pass.
- With many equal blocks, where steps are estimated first: the estimate of a recipe is near what its command gives, and no
  recipe that fits is faster than the plan by more than estimates may be wrong.

DOPT_RANDOM_SLICE=K in the environment draws others, K=all eight cases. Prints what is wrong, and how much was checked.
"""
import json
import os
import pathlib
import random
import re
import shlex
import subprocess
import sys

DOPT, MODELS = sys.argv[1], pathlib.Path(sys.argv[2])
SLICE = os.environ.get("DOPT_RANDOM_SLICE", "0")
ROUNDING = 1e-9  # of seconds in the JSON text
CASES, BUDGETS, EVALUATIONS = 8 if SLICE == "all" else 1, 3, 14
CLUSTERS = ("h100x32", "v100x128_tcp")
TOYS = {
    "char_gpt": "-D B=8 -D T=8 -D V=11 -D H=16 -D A=2 -D L=1",
    "llama3": "-D B=8 -D T=8 -D V=13 -D D=16 -D L=1 -D A=4 -D G=2 -D F=12",
    "digits_mlp": "",
}
SHARD = "dp{axis=x},grad,recompute,shard{axis=x},adam,opfuse"
RECIPES = {
    "dp": "dp{axis=x},grad,adam,opfuse,tensorfuse",
    "zero3": SHARD + ",prefetch{policy=zero3}",
    "fsdp": SHARD + ",prefetch{policy=fsdp}",
    "sharded": SHARD + ",prefetch,overlap,unshard",
    "megatron": "grad,recompute,adam,parallelize{policy=megatron},opfuse,prefetch,overlap,unshard",
    "layouts": "grad,recompute,adam,parallelize,opfuse,prefetch,overlap,unshard",
}


def dopt(*words):
    return subprocess.run([DOPT, *words], capture_output=True, text=True)


def predicted(*words):
    """Seconds and bytes of the last row; None where it is refused."""
    done = dopt("-stats=json", "-emit=none", *words)
    if done.returncode not in (0, 1):
        sys.exit(f"{words}: exit {done.returncode}\n{done.stderr}")
    if not done.stdout or "error: plan" in done.stderr:
        return None
    cost = json.loads(done.stdout)[-1]["cost"]
    return cost["iteration"], cost["peak_bytes"]


# A step of twenty blocks, and how far estimates of seconds and bytes may be from the whole step. Of a step that is told to be slow
# by two blocks alone, all that it needs in addition to the sharded step counts as needed by its blocks.
DEEP = (f"-cluster=h100x32 -mesh=x=4 -D B=64 -D T=64 -D V=32 -D H=256 -D A=4 -D L=20 {MODELS}/char_gpt.dir").split()
SECONDS_OFF, BYTES_OFF = 0.05, 0.15
UNITS = {"s": 1, "ms": 1e-3, "us": 1e-6, "GB": 1e9, "MB": 1e6, "KB": 1e3}


def deep():
    free = predicted("-pass=" + RECIPES["sharded"], *DEEP)
    words = [f"-budget={int(1.2 * free[1])}", *DEEP]
    made = dopt("-remarks", f'-pass=plan{{evaluations={EVALUATIONS},decide="shards,memory,fusion,order"}}', *words)
    found = re.findall(r"^dopt: note: plan: ((?:-budget=\d+ )?(?:-mesh=\S+ )?-pass='.*')$", made.stderr, re.M)
    again = dopt(*words, *shlex.split(found[0])) if found else made
    if not found or again.stdout != made.stdout or not made.stdout:
        return [f"twenty blocks: the printed command makes another module\n{made.stderr}"]
    planned = predicted(*words, *shlex.split(found[0]))
    wrong = [] if planned[1] <= free[1] * 1.2 else [f"twenty blocks: needs {planned[1]}"]
    told = re.findall(r"remark: plan: (\w+): ([^;:]+): about ([0-9.]+)(\w+), ([0-9.]+)(\w+).*with (-pass.*)", made.stderr)
    for kind, name, seconds, unit, size, bytes_unit, command in told:
        real = predicted(*shlex.split(command), *words)
        about = float(seconds) * UNITS[unit], float(size) * UNITS[bytes_unit]
        fits = real[1] <= free[1] * 1.2
        if fits and planned[0] > real[0] * (1 + SECONDS_OFF):
            wrong.append(f"twenty blocks: {planned[0]} s, {name} {real[0]} s")
        if kind == "applied" and abs(about[0] / real[0] - 1) > SECONDS_OFF or abs(about[1] / real[1] - 1) > BYTES_OFF:
            wrong.append(f"twenty blocks: {name} about {about}, in fact {real}")
    return wrong if len(told) > 2 else wrong + [f"twenty blocks: {len(told)} recipes were estimated"]


def main():
    draw = random.Random(int(SLICE) if SLICE.isdigit() else 0)
    wrong = deep()
    fitted = 0
    for _ in range(CASES):
        model = draw.choice(sorted(TOYS))
        cluster, n = draw.choice(CLUSTERS), draw.choice((2, 4))
        base = [f"-cluster={cluster}", f"-mesh=x={n}", *TOYS[model].split(), str(MODELS / f"{model}.dir")]
        free = {name: predicted(f"-pass={text}", *base) for name, text in RECIPES.items()}
        peaks = [found[1] for found in free.values() if found]
        before, of_series = None, None
        drawn = [int(min(peaks) * draw.uniform(0.7, 1.5)) for _ in range(BUDGETS)]
        series = [s * 10**k for k in range(3, 10) for s in (1, 2, 4)]
        for budget in sorted(drawn + [b for b in series if 0.7 * min(peaks) < b < 4 * min(peaks)]):
            what = f"{model} x={n} {cluster} {budget} bytes"
            words = [f"-budget={budget}", *base]
            plan = predicted(f"-pass=plan{{summary=false,evaluations={EVALUATIONS}}}", *words)
            by_hand = RECIPES.items() if budget in drawn else ()
            hand = {name: predicted(f"-pass={text}", *words) for name, text in by_hand}
            fits = {name: found[0] for name, found in hand.items() if found and found[1] <= budget}
            if fits and not plan:
                wrong.append(f"{what}: nothing fits, but {min(fits, key=fits.get)} does")
            if not plan:
                continue
            fitted += 1
            if plan[1] > budget:
                wrong.append(f"{what}: needs {plan[1]}")
            for name, seconds in fits.items():
                if plan[0] > seconds * (1 + ROUNDING):
                    wrong.append(f"{what}: {plan[0]} s, {name} {seconds} s")
            for less in (of_series, before if budget in drawn else None):
                if less and plan[0] > less * (1 + ROUNDING):
                    wrong.append(f"{what}: {plan[0]} s, with less {less} s")
            if budget in drawn:
                before = plan[0]
            else:
                of_series = plan[0]
        words = [f"-budget={int(max(peaks))}", *base]
        text = f"-pass=plan{{evaluations={EVALUATIONS}}}"
        made = dopt(text, *words)
        found = re.findall(r"^dopt: note: plan: ((?:-budget=\d+ )?(?:-mesh=\S+ )?-pass='.*')$", made.stderr, re.M)
        again = dopt(*words, *shlex.split(found[0])) if found else made
        if not found or again.stdout != made.stdout or not made.stdout:
            wrong.append(f"{model}: the printed command makes another module\n{made.stderr}")
        checked = dopt("-check", "-emit=none", text, *words)
        if checked.returncode:
            wrong.append(f"{model}: -check\n{checked.stderr}")
    print("\n".join(wrong))
    print(f"{CASES} cases, {fitted} budgets fit, {len(wrong)} wrong")
    sys.exit(bool(wrong))


main()
