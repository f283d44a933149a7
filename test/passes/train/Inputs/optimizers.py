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
    "adadelta": {"lr": 1, "rho": 0.9, "eps": 1e-6},
    "rprop": {"lr": 0.01, "grow": 1.2, "shrink": 0.5, "least": 1e-6, "most": 50},
    "asgd": {"lr": 0.01, "lambd": 1e-4, "alpha": 0.75},
    "nadam": {"lr": 2e-3, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "momentum_decay": 4e-3},
    "radam": {"lr": 1e-3, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8},
    "adafactor": {"lr": 0.01, "beta2_decay": -0.8, "eps_scale": 1e-3, "d": 1},
    "muon": {"lr": 1e-3, "momentum": 0.95, "weight_decay": 0.1, "adam_lr": 1e-3, "adam_weight_decay": 0.01, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8},
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


def product(x, y):
    return [[sum(a * b for a, b in zip(row, column)) for column in zip(*y)] for row in x]


def orthogonal(x):
    """Five iterations of Newton and Schulz on a matrix of 3 columns."""
    size = max(norm(x), 1e-7)
    x = [[v / size for v in x[i:i + 3]] for i in range(0, len(x), 3)]
    for _ in range(5):
        gram = product(list(zip(*x)), x)
        square = product(gram, gram)
        step = product(x, [[-4.775 * a + 2.0315 * b for a, b in zip(*rows)] for rows in zip(gram, square)])
        x = [[3.4445 * a + b for a, b in zip(*rows)] for rows in zip(x, step)]
    return flat(x)


def adafactor(key, w, g, t, decay):
    r, c, _ = state[key]
    take, eps = t ** option("beta2_decay"), 2 ** -23
    squares = [x * x for x in g]
    mean = lambda v: sum(v) / len(v)
    if rank[key] == 2:
        r[:4] = [(1 - take) * x + take * mean(squares[3 * i:3 * i + 3]) for i, x in enumerate(r[:4])]
        c[:3] = [(1 - take) * x + take * mean(squares[j::3]) for j, x in enumerate(c[:3])]
        v = [x * y / max(mean(r[:4]), eps) for x in r[:4] for y in c[:3]]
    else:
        v = r[:] = [(1 - take) * x + take * y for x, y in zip(r, squares)]
    rms = lambda v: math.sqrt(mean([x * x for x in v]))
    u = [x / math.sqrt(max(y, eps * eps)) for x, y in zip(g, v)]
    size = max(option("eps_scale"), rms(w)) / max(1, rms(u) / option("d")) * min(1, 1 / (max(rate(t), 1e-300) * math.sqrt(t)))
    return [x * size + decay * y for x, y in zip(u, w)]


def nesterov_momentum(t):
    return option("beta1") * (1 - 0.5 * 0.96 ** (t * option("momentum_decay")))


state = {name: ([0.0] * len(v), [0.0] * len(v), [0.0] * len(v)) for name, v in param.items()}


def direction(key, w, g, t):
    m, v, u = state[key]
    decay = option("weight_decay") if rank[key] >= option("decay_rank") else 0
    if given.get("maximize") == "true":
        g = [-x for x in g]
    if name == "adafactor":
        return adafactor(key, w, g, t, decay)
    if name in ("sgd", "adam", "adamax") or name in ("nadam", "radam") and given.get("decoupled") != "true":
        g, decay = [x + decay * y for x, y in zip(g, w)], 0
    if name == "sgd":
        return g
    if name == "muon" and rank[key] == 2 and given.get("others") != '"a*"':
        mu = option("momentum")
        m[:] = [mu * x + (1 - mu) * y for x, y in zip(m, g)]
        x = orthogonal(m if given.get("nesterov") == "false" else [mu * x + (1 - mu) * y for x, y in zip(m, g)])
        return [math.sqrt(4 / 3) * x + decay * y for x, y in zip(x, w)]
    if name == "momentum":
        mu = option("momentum")
        g = [x + decay * y for x, y in zip(g, w)]
        part = 1 if t == 1 else 1 - option("dampening")
        m[:] = [mu * x + part * y for x, y in zip(m, g)]
        return [y + mu * x for x, y in zip(m, g)] if given.get("nesterov") == "true" else list(m)
    if name in ("adadelta", "asgd"):
        g = [x + decay * y for x, y in zip(g, w)]
    if name == "adadelta":
        rho, eps = option("rho"), option("eps")
        v[:] = [rho * x + (1 - rho) * y * y for x, y in zip(v, g)]
        step = [math.sqrt(x + eps) / math.sqrt(y + eps) * z for x, y, z in zip(u, v, g)]
        u[:] = [rho * x + (1 - rho) * y * y for x, y in zip(u, step)]
        return step
    if name == "rprop":
        turn = [x * y for x, y in zip(m, g)]
        factor = [option("grow") if x > 0 else option("shrink") if x < 0 else 1 for x in turn]
        v[:] = [min(max((x if t > 1 else rate(1)) * y, option("least")), option("most")) for x, y in zip(v, factor)]
        m[:] = [0 if x < 0 else y for x, y in zip(turn, g)]
        return [((x > 0) - (x < 0)) * y for x, y in zip(m, v)]
    if name == "asgd":
        fall = (1 + option("lambd") * option("lr") * (t - 1)) ** -option("alpha")
        return [(x + option("lambd") * y) * fall for x, y in zip(g, w)]
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
    if given.get("amsgrad") == "true":
        u[:] = [max(x, y) for x, y in zip(u, v)]
        v = u
    divisor = [math.sqrt(y / (1 - b2**t)) + option("eps") for y in v]
    if name == "nadam":
        now = (1 - nesterov_momentum(t)) / (1 - math.prod(map(nesterov_momentum, range(1, t + 1))))
        past = nesterov_momentum(t + 1) / (1 - math.prod(map(nesterov_momentum, range(1, t + 2))))
        step = [(now * x + past * y) / z for x, y, z in zip(g, m, divisor)]
    elif name == "radam":
        most = 2 / (1 - b2) - 1
        r = most - 2 * t * b2**t / (1 - b2**t)
        step = [x / (1 - b1**t) for x in m]
        if r > 5:
            root = math.sqrt((r - 4) * (r - 2) * most / ((most - 4) * (most - 2) * r) * (1 - b2**t))
            step = [root * x / (math.sqrt(y) + option("eps")) for x, y in zip(step, v)]
    else:
        step = [x / (1 - b1**t) / y for x, y in zip(m, divisor)]
    if name == "muon":
        decay = option("adam_weight_decay")
    u = [x + decay * y for x, y in zip(step, w)]
    if name == "muon":
        u = [x * option("adam_lr") / option("lr") for x in u]
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
        w[:] = [x - (1 if name == "rprop" else rate(t)) * u for x, u in zip(w, direction(key, w, g[key], t))]
    for key, w in param.items():
        for i, (x, y) in enumerate(zip(w, flat(printed[t, key]))):
            if not abs(x - y) <= TOLERANCE * max(1, abs(x)):
                sys.exit(f"step {t} {key}[{i}]: {y}, expected {x}")
    moved = moved or printed[t, "zero"] != printed[0, "zero"]
if not moved:
    sys.exit("nothing moved")
print(f"{text}: the same over {steps - 1} steps")
