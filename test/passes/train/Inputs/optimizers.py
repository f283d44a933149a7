"""optimizers.py DOPT FILE 'PASS{options}' STEPS [dopt options]: trains FILE (optimizers.dir) with grad and PASS in
the interpreter, and by the formulas of the papers in plain Python from the same initial values; exits 1 if a
param differs at any step, or if it never moved."""
import json
import math
import re
import subprocess
import sys

dopt, path, text, steps, options = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5:]
run = subprocess.run([dopt, "-run", "-f64", f"-steps={steps}", f"-pass=grad,{text}", *options, path],
                     capture_output=True, text=True)
if run.returncode:
    sys.exit(run.stderr)

printed = {}
for line in run.stdout.splitlines():
    m = re.match(r"step (\d+) (\w+) = (.*)", line)
    printed[int(m[1]), m[2]] = json.loads(m[3])


def flat(x):
    return [x] if isinstance(x, (int, float)) else [v for y in x for v in flat(y)]


rank = {"a": 2, "b": 1, "c": 1, "zero": 1}
param = {name: flat(printed[0, name]) for name in rank}

name, given = re.match(r"(\w+)(?:\{(.*)\})?$", text).groups()
given = dict((item.split("=") + ["true"])[:2] for item in given.split(",")) if given else {}
defaults = {
    "sgd": {"lr": 0.1},
    "momentum": {"lr": 0.1, "momentum": 0.9, "weight_decay": 0},
    "adam": {"lr": 1e-3, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8},
    "adamw": {"lr": 1e-3, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "weight_decay": 0.01},
    "lamb": {"lr": 1e-3, "beta1": 0.9, "beta2": 0.999, "eps": 1e-6, "weight_decay": 0.01},
    "adamax": {"lr": 2e-3, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8},
    "rmsprop": {"lr": 0.01, "alpha": 0.99, "eps": 1e-8},
    "adagrad": {"lr": 0.01, "eps": 1e-10},
    "lion": {"lr": 1e-4, "beta1": 0.9, "beta2": 0.99},
}[name]


def option(key):
    return float(given.get(key, defaults.get(key, 0)))


def gradients(p):
    d = [p["a"][3 * i + j] + p["b"][j] - i for i in range(4) for j in range(3)]
    return {"a": [2 * x for x in d], "b": [sum(2 * d[3 * i + j] for i in range(4)) for j in range(3)],
            "c": [2 * x for x in p["c"]], "zero": [2 * (x - 1) for x in p["zero"]]}


def norm(v):
    return math.sqrt(sum(x * x for x in v))


def rate(t):
    lr, warmup, last, end = (option(k) for k in ("lr", "warmup", "steps", "end"))
    if warmup:
        lr *= min(1, t / warmup)
    kind = given.get("schedule", "constant")
    if kind != "constant":
        p = min(1, max(0, (t - 1 - warmup) / (last - warmup)))
        f = 1 - p if kind == "linear" else (1 + math.cos(math.pi * p)) / 2
        lr *= end + (1 - end) * f
    return lr


state = {name: ([0.0] * len(v), [0.0] * len(v), [0.0] * len(v)) for name, v in param.items()}


def direction(key, w, g, t):
    m, v, u = state[key]
    decay = option("weight_decay") if rank[key] >= option("decay_rank") else 0
    if name == "sgd":
        return g
    if name == "momentum":
        mu = option("momentum")
        g = [x + decay * y for x, y in zip(g, w)]
        m[:] = [mu * x + y for x, y in zip(m, g)]
        return [y + mu * x for x, y in zip(m, g)] if given.get("nesterov") == "true" else list(m)
    if name in ("rmsprop", "adagrad"):
        a = option("alpha")
        g = [x + decay * y for x, y in zip(g, w)]
        v[:] = [x + y * y if name == "adagrad" else a * x + (1 - a) * y * y for x, y in zip(v, g)]
        m[:] = [a * x + (1 - a) * y for x, y in zip(m, g)]
        spread = [x - y * y if given.get("centered") == "true" else x for x, y in zip(v, m)]
        u[:] = [option("momentum") * x + y / (math.sqrt(z) + option("eps")) for x, y, z in zip(u, g, spread)]
        return list(u)
    b1, b2 = option("beta1"), option("beta2")
    if name == "lion":
        mix = [b1 * x + (1 - b1) * y for x, y in zip(m, g)]
        m[:] = [b2 * x + (1 - b2) * y for x, y in zip(m, g)]
        return [(x > 0) - (x < 0) + decay * y for x, y in zip(mix, w)]
    if name == "adamax":
        m[:] = [b1 * x + (1 - b1) * y for x, y in zip(m, g)]
        v[:] = [max(b2 * x, abs(y) + option("eps")) for x, y in zip(v, g)]
        return [x / (1 - b1**t) / y for x, y in zip(m, v)]
    m[:] = [b1 * x + (1 - b1) * y for x, y in zip(m, g)]
    v[:] = [b2 * x + (1 - b2) * y * y for x, y in zip(v, g)]
    u = [x / (1 - b1**t) / (math.sqrt(y / (1 - b2**t)) + option("eps")) for x, y in zip(m, v)]
    u = [x + decay * y for x, y in zip(u, w)]
    if name == "lamb":
        nw, nu = norm(w), norm(u)
        ratio = nw / nu if nw > 0 and nu > 0 else 1
        u = [ratio * x for x in u]
    return u


TOLERANCE = 2e-8  # values are printed with 9 digits, and the first ones are read from there
moved = False
for t in range(1, steps):
    g = gradients(param)
    if option("clip"):
        total = norm([x for v in g.values() for x in v])
        factor = option("clip") / max(total, option("clip"))
        g = {key: [factor * x for x in v] for key, v in g.items()}
    for key, w in param.items():
        w[:] = [x - rate(t) * u for x, u in zip(w, direction(key, w, g[key], t))]
    for key, w in param.items():
        for i, (x, y) in enumerate(zip(w, flat(printed[t, key]))):
            if not abs(x - y) <= TOLERANCE * max(1, abs(x)):
                sys.exit(f"step {t} {key}[{i}]: {y}, expected {x}")
    moved = moved or printed[t, "zero"] != printed[0, "zero"]
if not moved:
    sys.exit("nothing moved")
print(f"{text}: the same over {steps - 1} steps")
