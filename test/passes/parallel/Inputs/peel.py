"""python peel.py DOPT FILE: see peel.test. Writes the step to FILE."""
import json
import math
import subprocess
import sys

DOPT, FILE = sys.argv[1:]
LAYERS = 6
text = ["module @deep\nmesh [dp = 2]\nlet B = 4096\nlet W = 512\nfunc @main() {\n  %h0 = input(\"x\") : f32[B,W]"]
for i in range(LAYERS):
    text.append(f"  %w{i} = param(\"w{i}\") {{init = \"xavier\"}} : f32[W,W]\n  %h{i + 1} = matmul(%h{i}, %w{i})")
text.append(f"  %s = mul(%h{LAYERS}, %h{LAYERS})\n  %l = mean(%s)\n  output(\"loss\", %l)\n}}\n")
with open(FILE, "w") as out:
    out.write("\n".join(text))


def predicted(steps, peel):
    """Seconds of the step and of its kernels, and those of each message of a gradient."""
    subprocess.run([DOPT, "-D", f"B={4096 * steps}", FILE, "-o", FILE + ".grad",
                    f"-pass=accumulate{{steps={steps},peel={peel}}},dp{{axis=dp}},grad"], check=True)
    command = [DOPT, "-cluster=h100", "-D", "nodes=1", FILE + ".grad"]
    stats = subprocess.run([*command, "-stats=json", "-emit=none"], capture_output=True, text=True, check=True)
    cost = json.loads(stats.stdout)[-1]["cost"]
    trace = subprocess.run([*command, "-emit=timeline", "-o", "-"], capture_output=True, text=True, check=True)
    events = json.loads(trace.stdout)
    events = events["traceEvents"] if isinstance(events, dict) else events
    sent = [e["dur"] * 1e-6 for e in events if e.get("args", {}).get("kind") == "allreduce" and e["args"]["bytes"] > 4]
    assert len(sent) == LAYERS, sent
    return cost["iteration"], cost["compute"], sent, cost["communication"]


def same(what, a, b):
    assert math.isclose(a, b, rel_tol=1e-3), f"{what}: {a} and not {b}"


for steps in 4, 16:
    whole, kernels, sent, comm = predicted(steps, "false")
    same("all messages after the loop", whole, kernels + comm)
    whole, kernels, sent, comm = predicted(steps, "true")
    assert sum(sent) > 5 * (whole - kernels), sent
    same("all but the last message are hidden", whole, kernels + sent[-1])
