"""indices.py DOPT MODELS: more indices never make the step of a plan slower, on several models and numbers of devices."""
import json
import subprocess
import sys

CHOICES = ("outputs", "no-heads", "all")  # each allows what those before it do
# Model, options, optimizer, devices. The two of bert had faster steps with fewer indices, as the sum misjudges messages.
CASES = [("bert", ["B=3", "D=256", "L=2", "A=4"], "adam", (6, 12)), ("gpt2", ["B=8", "D=256", "L=1", "A=4"], "adam", (6,)),
         ("mlp_unity", ["B=1024"], "sgd", (12,)), ("dlrm", ["B=12288"], "sgd", (6,)), ("candle_uno", ["B=3072"], "sgd", (6,)),
         ("xdl", ["B=12288"], "sgd", (12,))]


def seconds(model, defines, optimizer, devices, indices):
    words = [sys.argv[1], "-cluster=summit_x192", "-stats=json", "-emit=none", *(f"-D={d}" for d in [*defines, "N=1"]),
             f"-pass=inline,grad,{optimizer},parallelize{{indices={indices},devices={devices}}},opfuse", f"{sys.argv[2]}/{model}.dir"]
    return json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)[-1]["cost"]["iteration"]


slower = distinct = 0
for model, defines, optimizer, counts in CASES:
    for n in counts:
        step = [seconds(model, defines, optimizer, n, i) for i in CHOICES]
        distinct += step[0] > step[2]
        if step != sorted(step, reverse=True):
            slower += 1
            print(f"{model} on {n} devices: {dict(zip(CHOICES, step))}")
print(f"{slower} slower with more indices, {distinct} faster")
