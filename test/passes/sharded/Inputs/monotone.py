"""monotone.py DOPT MODELS CLUSTER: more memory never makes a step slower, and cse takes no memory.

Each pass that decides by a budget runs on a toy with rising budgets, from less than the step needs without it to
more than it can use. Of those that fit, none may have a longer predicted step than one with a smaller budget; and a
step that fits before the pass fits behind it.
"""
import json
import pathlib
import subprocess
import sys

BUDGETS = 6
ROUNDING = 1e-9  # of seconds in the JSON text
GAPS = 0.01  # of a peak: cse lets no more bytes live at once, but gaps between buffers depend on all of them
SHARDED = "dp{axis=dp},grad,recompute,shard{axis=dp},adam"
MODELS = {
    "char_gpt": "-D N=2 -D B=8 -D T=8 -D V=11 -D H=16 -D A=2 -D L=1".split(),
    "llama3": "-D N=2 -D B=8 -D T=8 -D V=13 -D D=16 -D L=1 -D A=4 -D G=2 -D F=12".split(),
}
PIPELINES = {
    "prefetch": (SHARDED, "prefetch"),
    "search": (SHARDED, "prefetch{policy=search}"),
    "fused": (SHARDED + ",opfuse", "prefetch"),
    "unshard": (SHARDED, "unshard"),
    "unshard search": (SHARDED, "unshard{policy=search}"),
    "overlap": (SHARDED + ",unshard", "overlap"),
    "offload": (SHARDED, "offload{least=1}"),
    "tensorfuse": (SHARDED, "tensorfuse"),
    "opfuse": ("amp,grad,adam,canonicalize,cse,dce", "opfuse"),
    "recompute": ("dp{axis=dp},grad,adam", "recompute{policy=budget}"),
}
MERGING = ("grad,adam", "grad,recompute,adam")


def run(dopt, cluster, model, options, passes, budget=None):
    """Predicted seconds and bytes of the last row; None where the passes do not apply."""
    limit = [f"-budget={budget}"] if budget else []
    command = [dopt, f"-cluster={cluster}", "-stats=json", "-emit=none", *limit, *options, f"-pass={passes}", model]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        sys.exit(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr}")
    if not done.stdout:
        return None
    last = json.loads(done.stdout)[-1]["cost"]
    return last["iteration"], last["peak_bytes"]


def main():
    dopt, models, cluster = sys.argv[1:]
    wrong = 0
    for model, options in MODELS.items():
        path = f"{models}/{model}.dir"
        for name, (before, last) in PIPELINES.items():
            if model != "char_gpt" and "search" in name:
                continue  # seconds a run
            peak = run(dopt, cluster, path, options, before)[1]
            best = fits = 0
            for i in range(BUDGETS):
                budget = int(peak * (0.6 + 1.4 * i / (BUDGETS - 1)))
                seconds, needs = run(dopt, cluster, path, options, f"{before},{last}", budget)
                if needs > budget:
                    without = run(dopt, cluster, path, options, before, budget)[1]
                    if without <= budget:
                        print(f"{model} {name}: {budget} bytes: {needs} needed, without the pass {without}")
                        wrong += 1
                    continue
                if fits and seconds > best * (1 + ROUNDING):
                    print(f"{model} {name}: {budget} bytes: {seconds} s, with less {best} s")
                    wrong += 1
                best = min(best, seconds) if fits else seconds
                fits += 1
            print(f"{model} {name}: {fits} budgets fit")
            wrong += not fits
    for path in sorted(pathlib.Path(models).glob("*.dir")):
        for before in MERGING:
            peak = [run(dopt, cluster, str(path), [], passes) for passes in (before, before + ",cse")]
            if not all(peak):
                continue  # a pass that does not apply to the model
            if peak[1][1] > peak[0][1] * (1 + GAPS):
                print(f"{path.name} {before}: {peak[0][1]} bytes, after cse {peak[1][1]}")
                wrong += 1
    print(f"{wrong} wrong")


main()
