"""recompute{policy=budget} before shard: the sharded step with its kernels fits each budget, and is no slower than with all blocks computed again.

    finish.py DOPT MODEL.dir OPTION...
"""
import json
import subprocess
import sys

DOPT, MODEL, *OPTIONS = sys.argv[1:]
BUDGETS = 80, 60, 50, 45, 42  # MB: between all kept and all blocks computed again


def cost(again):
    passes = f"inline,amp,dp{{axis=dp}},grad,{again}shard{{axis=dp}},adam,opfuse{{online=true}}"
    out = subprocess.run([DOPT, *OPTIONS, "-emit=none", "-stats=json", f"-pass={passes}", MODEL], check=True, text=True, capture_output=True).stdout
    step = json.loads(out)[-1]["cost"]
    return step["iteration"], step["peak_bytes"] / 1e6


none, every = cost(""), cost("recompute,")
assert none[1] > BUDGETS[0] and every[1] < BUDGETS[-1], (none, every)
for budget in BUDGETS:
    seconds, bytes = cost(f"recompute{{policy=budget,budget={budget}MB}},")
    assert bytes <= budget, f"{budget}: needs {bytes}"
    assert seconds <= every[0], f"{budget}: {seconds}, with all blocks {every[0]}"
