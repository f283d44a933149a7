"""prelude_reference.py DOPT PRELUDE: the templates of the prelude against plain Python, in double precision.

A case is a template called on params, inputs and labels, and a function of Python that says what comes out. dopt runs
the call with a loss, the sum of the result times fixed numbers, and its gradients; Python computes result and loss
from the same numbers, and the gradients as difference quotients of its own loss. Prints a line a case; exits 1 at the
first difference, or if a template of the file PRELUDE has no case."""
import json
import math
import re
import subprocess
import sys

VALUE_TOLERANCE = 1e-6     # dopt prints nine digits of what goes in and comes out
GRADIENT_TOLERANCE = 2e-5  # and the quotient of a loss of size 10 has an error of 1e-9 / STEP
STEP = 1e-4


# ---- tensors are nested lists ----

def shape(x):
    return [len(x), *shape(x[0])] if isinstance(x, list) else []


def flat(x):
    return [y for row in x for y in flat(row)] if isinstance(x, list) else [x]


def shaped(dims, numbers):
    numbers = iter(numbers)

    def build(d):
        return [build(d + 1) for _ in range(dims[d])] if d < len(dims) else next(numbers)
    return build(0)


def build(dims, f):
    """The tensor whose element at i, j, ... is f(i, j, ...)."""
    def make(index):
        return [make((*index, i)) for i in range(dims[len(index)])] if len(index) < len(dims) else f(*index)
    return make(())


def rows(f, x, *more):
    """f on the innermost rows of x."""
    return f(x, *more) if not isinstance(x[0], list) else [rows(f, y, *more) for y in x]


def dot(a, b):
    return sum(x * y for x, y in zip(a, b))


def matmul(x, w):
    return rows(lambda row: [dot(row, column) for column in zip(*w)], x)


# ---- what the templates say ----

def softmax_row(x):
    e = [math.exp(v - max(x)) for v in x]
    return [v / sum(e) for v in e]


def variance(x):
    mean = sum(x) / len(x)
    return sum((v - mean) ** 2 for v in x) / len(x)


def normal(x):
    mean, deviation = sum(x) / len(x), math.sqrt(variance(x) + 1e-5)
    return [(v - mean) / deviation for v in x]


def layernorm(t):
    return rows(lambda x: [v * s + b for v, s, b in zip(normal(x), t["n.scale"], t["n.shift"])], t["x"])


def rmsnorm(t):
    def row(x):
        root = math.sqrt(sum(v * v for v in x) / len(x) + 1e-5)
        return [v / root * s for v, s in zip(x, t["n.scale"])]
    return rows(row, t["x"])


def channels(t, parts):
    """Each list of positions of x to mean 0 and variance 1, then scale and shift by channel."""
    n, c, h, w = shape(t["x"])
    out = build([n, c, h, w], lambda *_: 0)
    for part in parts(n, c, h, w):
        values = normal([t["x"][i][j][y][z] for i, j, y, z in part])
        for (i, j, y, z), v in zip(part, values):
            out[i][j][y][z] = v * t["n.scale"][j] + t["n.shift"][j]
    return out


def of_channels(n, c, h, w):
    return [[(i, j, y, z) for i in range(n) for y in range(h) for z in range(w)] for j in range(c)]


def of_halves(n, c, h, w):
    return [[(i, j, y, z) for i in range(b, b + n // 2) for y in range(h) for z in range(w)]
            for b in (0, n // 2) for j in range(c)]


def of_groups(n, c, h, w):
    return [[(i, j, y, z) for j in range(g, g + 2) for y in range(h) for z in range(w)]
            for i in range(n) for g in range(0, c, 2)]


def evaluated(t):
    def at(i, j, y, z):
        return t["x"][i][j][y][z] / math.sqrt(1 + 1e-5) * t["n.scale"][j] + t["n.shift"][j]
    return build(shape(t["x"]), at)  # the running mean is 0 and the variance 1


def attention(t, seen):
    """seen(batch, t, s): may row t see row s?"""
    q, k, v = t["q"], t["k"], t["v"]
    heads, shared, wide = len(q[0][0]), len(k[0][0]), len(q[0][0][0])

    def row(b, i, h):
        g = h // (heads // shared)
        visible = [s for s in range(len(k[0])) if seen(b, i, s)]
        p = softmax_row([dot(q[b][i][h], k[b][s][g]) / math.sqrt(wide) for s in visible])
        return [sum(p[n] * v[b][s][g][d] for n, s in enumerate(visible)) for d in range(wide)]
    return build([len(q), len(q[0]), heads], row)


def silu(x):
    return x / (1 + math.exp(-x))


def swiglu(t):
    gate, up = matmul(t["x"], t["f.gate"]), matmul(t["x"], t["f.up"])
    hidden = shaped(shape(gate), [silu(a) * b for a, b in zip(flat(gate), flat(up))])
    return matmul(hidden, t["f.down"])


def log_softmax_row(x):
    return [math.log(p) for p in softmax_row(x)]


def cross_entropy(t):
    labels, z = flat(t["y"]), t["z"]
    return -sum(log_softmax_row(row)[y] for row, y in zip(z, labels)) / len(z)


def mix(x):
    """The finalizer of splitmix64."""
    x = (x + 0x9E3779B97F4A7C15) % 2**64
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    x = (x ^ x >> 27) * 0x94D049BB133111EB % 2**64
    return x ^ x >> 31


def key_of(name):
    """With program and tensor seed 0: FNV-1a of the name behind two mixes."""
    fnv = 0xCBF29CE484222325
    for byte in name.encode():
        fnv = (fnv ^ byte) * 0x100000001B3 % 2**64
    return mix(mix(mix(0)) ^ fnv)


def philox(key, low, high):
    """Philox4x32-10 of a counter of two halves: four words of 32 bits."""
    c, k = [low % 2**32, low >> 32, high % 2**32, high >> 32], [key % 2**32, key >> 32]
    for _ in range(10):
        p, q = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [q >> 32 ^ c[1] ^ k[0], q % 2**32, p >> 32 ^ c[3] ^ k[1], p % 2**32]
        k = [(k[0] + 0x9E3779B9) % 2**32, (k[1] + 0xBB67AE85) % 2**32]
    return c


def dropout(t):
    """At the first step, with rate 0.25."""
    first = philox(key_of("d.draw"), 0, 0)
    counter = round(1e15 + 1e15 * (2 * ((first[0] << 32 | first[1]) >> 11) / 2**53 - 1))
    key, x = mix(key_of("d.mask") >> 11), flat(t["x"])
    kept = [(philox(key, i, counter)[0] >> 8) / 2**24 >= 0.25 for i in range(len(x))]
    return shaped(shape(t["x"]), [v / 0.75 if keep else 0.0 for v, keep in zip(x, kept)])


def rope(t):
    def row(b, i, h):
        x = t["x"][b][i][h]
        half = len(x) // 2
        angle = [i / 100 ** (j / half) for j in range(half)]
        turned = [complex(x[j], x[j + half]) * complex(math.cos(a), math.sin(a)) for j, a in enumerate(angle)]
        return [z.real for z in turned] + [z.imag for z in turned]
    return build(shape(t["x"])[:3], row)


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def cell(h, c, xw, w):
    n, gates = len(h), [x + dot(h, column) for x, column in zip(xw, zip(*w))]
    c = [sigmoid(gates[n + i]) * c[i] + sigmoid(gates[i]) * math.tanh(gates[2 * n + i]) for i in range(n)]
    return [sigmoid(gates[3 * n + i]) * math.tanh(c[i]) for i in range(n)], c


def lstm_cell(t, part):
    return [cell(h, c, x, t["w"])[part] for h, c, x in zip(t["h"], t["c"], t["x"])]


def lstm(t, part):
    """part 0: h of every step; 1: the last h; 2: the last c."""
    all_h, last_h, last_c = [], [], []
    for b in range(len(t["x"])):
        h, c, steps = t["h"][b], t["c"][b], []
        for x in t["x"][b]:
            xw = [dot(x, column) + bias for column, bias in zip(zip(*t["l.wx"]), t["l.b"])]
            h, c = cell(h, c, xw, t["l.wh"])
            steps.append(h)
        all_h.append(steps)
        last_h.append(h)
        last_c.append(c)
    return (all_h, last_h, last_c)[part]


def router(t, part, places=2, choices=2, parts=1):
    """part 0: which place a token takes; 1: with its share; 2: the mean balance of parts of the batch."""
    x, experts = t["x"], len(t["r.w"][0])
    p = rows(softmax_row, matmul(x, t["r.w"]))
    ranked = rows(lambda q: sorted(range(experts), key=lambda e: -q[e])[:choices], p)
    out = build([len(x), len(x[0]), experts, places], lambda *_: 0)
    for b in range(len(x)):
        taken = [0] * experts
        for choice in range(choices):
            for i, best in enumerate(ranked[b]):
                e = best[choice]
                if taken[e] < places:
                    share = p[b][i][e] / sum(p[b][i][f] for f in best)
                    out[b][i][e][taken[e]] = share if part == 1 else 1
                taken[e] += 1
    if part < 2:
        return out
    balance = 0
    for k in range(parts):
        own = slice(k * len(x) // parts, (k + 1) * len(x) // parts)
        tokens, chosen = [q for row in p[own] for q in row], flat(ranked[own])
        likely = [sum(q[e] for q in tokens) / len(tokens) for e in range(experts)]
        balance += experts * sum(chosen.count(e) / len(chosen) * likely[e] for e in range(experts))
    return balance / parts


LSTM_CELL = {"h": [2, 3], "c": [2, 3], "x": [2, 12], "w": [3, 12]}
LSTM = {"x": [2, 4, 2], "h": [2, 3], "c": [2, 3]}
ROUTER = 'moe_router(%x) {as = "r", E = 3, K = 2, C = 2}'

# name, params, integer inputs and their ranges, the call, the sizes of its result, what it is
CASES = [
    ("softmax", {"x": [2, 3, 4]}, {}, "softmax(%x)", [2, 3, 4], lambda t: rows(softmax_row, t["x"])),
    ("log_softmax", {"x": [3, 4]}, {}, "log_softmax(%x)", [3, 4], lambda t: rows(log_softmax_row, t["x"])),
    ("cross_entropy", {"z": [6, 4]}, {"y": ([6], 4)}, "cross_entropy(%z, %y)", [], cross_entropy),
    ("mse", {"a": [3, 2], "b": [3, 2]}, {}, "mse(%a, %b)", [],
     lambda t: sum((a - b) ** 2 for a, b in zip(flat(t["a"]), flat(t["b"]))) / 6),
    ("linear", {"x": [2, 3, 4]}, {}, 'linear(%x) {as = "l", N = 5}', [2, 3, 5],
     lambda t: rows(lambda y: [v + b for v, b in zip(y, t["l.b"])], matmul(t["x"], t["l.w"]))),
    ("layernorm", {"x": [2, 3, 4]}, {}, 'layernorm(%x) {as = "n"}', [2, 3, 4], layernorm),
    ("rmsnorm", {"x": [2, 3, 4]}, {}, 'rmsnorm(%x) {as = "n"}', [2, 3, 4], rmsnorm),
    ("batchnorm", {"x": [3, 4, 2, 2]}, {}, 'batchnorm(%x) {as = "n"}', [3, 4, 2, 2],
     lambda t: channels(t, of_channels)),
    ("batchnorm, evaluated", {"x": [3, 4, 2, 2]}, {}, 'batchnorm(%x) {as = "n"}', [3, 4, 2, 2], evaluated),
    ("batchnorm_apart", {"x": [4, 3, 2, 2]}, {}, 'batchnorm_apart(%x) {as = "n", S = 2}', [4, 3, 2, 2],
     lambda t: channels(t, of_halves)),
    ("batchnorm_apart, evaluated", {"x": [4, 3, 2, 2]}, {}, 'batchnorm_apart(%x) {as = "n", S = 2}', [4, 3, 2, 2],
     evaluated),
    ("groupnorm", {"x": [2, 6, 2, 2]}, {}, 'groupnorm(%x) {as = "n", G = 3}', [2, 6, 2, 2],
     lambda t: channels(t, of_groups)),
    ("embedding", {}, {"i": ([2, 3], 5)}, 'embedding(%i) {as = "e", V = 5, N = 4}', [2, 3, 4],
     lambda t: rows(lambda row: [t["e.table"][i] for i in row], t["i"])),
    ("swiglu", {"x": [2, 3, 4]}, {}, 'swiglu(%x) {as = "f", N = 5}', [2, 3, 4], swiglu),
    ("attention", {"q": [2, 3, 4, 2], "k": [2, 5, 2, 2], "v": [2, 5, 2, 2]}, {}, "attention(%q, %k, %v)",
     [2, 3, 4, 2], lambda t: attention(t, lambda b, i, s: True)),
    ("attention, one head", {"q": [1, 3, 1, 2], "k": [1, 3, 1, 2], "v": [1, 3, 1, 2]}, {}, "attention(%q, %k, %v)",
     [1, 3, 1, 2], lambda t: attention(t, lambda b, i, s: True)),
    ("causal_attention", {"q": [2, 3, 4, 2], "k": [2, 3, 2, 2], "v": [2, 3, 2, 2]}, {},
     "causal_attention(%q, %k, %v)", [2, 3, 4, 2], lambda t: attention(t, lambda b, i, s: s <= i)),
    ("causal_attention, two rows ahead", {"q": [1, 3, 2, 2], "k": [1, 5, 1, 2], "v": [1, 5, 1, 2]}, {},
     "causal_attention(%q, %k, %v)", [1, 3, 2, 2], lambda t: attention(t, lambda b, i, s: s <= i + 2)),
    ("padded_attention", {"q": [2, 3, 2, 2], "k": [2, 4, 2, 2], "v": [2, 4, 2, 2]}, {"n": ([2, 4], 3)},
     "padded_attention(%q, %k, %v, %seen)", [2, 3, 2, 2], lambda t: attention(t, lambda b, i, s: t["n"][b][s] > 0)),
    ("dropout", {"x": [2, 3, 8]}, {}, 'dropout(%x) {as = "d", rate = 0.25}', [2, 3, 8], dropout),
    ("rope", {"x": [1, 4, 2, 6]}, {}, "rope(%x) {theta = 100}", [1, 4, 2, 6], rope),
    ("lstm_cell", LSTM_CELL, {}, "%r, %c1 = lstm_cell(%h, %c, %x, %w)", [2, 3], lambda t: lstm_cell(t, 0)),
    ("lstm_cell, c", LSTM_CELL, {}, "%h1, %r = lstm_cell(%h, %c, %x, %w)", [2, 3], lambda t: lstm_cell(t, 1)),
    ("lstm", LSTM, {}, '%r, %h1, %c1 = lstm(%x, %h, %c) {as = "l"}', [2, 4, 3], lambda t: lstm(t, 0)),
    ("lstm, last h", LSTM, {}, '%y, %r, %c1 = lstm(%x, %h, %c) {as = "l"}', [2, 3], lambda t: lstm(t, 1)),
    ("lstm, last c", LSTM, {}, '%y, %h1, %r = lstm(%x, %h, %c) {as = "l"}', [2, 3], lambda t: lstm(t, 2)),
    ("moe_router, places", {"x": [2, 4, 3]}, {}, "%r, %f, %b = " + ROUTER, [2, 4, 3, 2], lambda t: router(t, 0)),
    ("moe_router, shares", {"x": [2, 4, 3]}, {}, "%to, %r, %b = " + ROUTER, [2, 4, 3, 2], lambda t: router(t, 1)),
    ("moe_router, balance", {"x": [2, 4, 3]}, {}, "%to, %f, %r = " + ROUTER, [], lambda t: router(t, 2)),
    ("moe_router_apart", {"x": [4, 3, 3]}, {}, '%to, %f, %r = moe_router_apart(%x) {as = "r", E = 3, K = 2, C = 2, S = 2}', [],
     lambda t: router(t, 2, parts=2)),
    ("moe_router_apart, one part", {"x": [2, 4, 3]}, {}, '%to, %f, %r = moe_router_apart(%x) {as = "r", E = 3, K = 2, C = 2, S = 1}',
     [], lambda t: router(t, 2)),
]
# What prelude_values.dir looks at, for no gradient leads through it; and parts of others.
ELSEWHERE = {"accuracy", "lstm_step", "mean_apart", "moe_assign", "spread_apart"}


# ---- running them ----

def dopt(text, *options):
    run = subprocess.run([sys.argv[1], *options, "-"], input=text, capture_output=True, text=True)
    if run.returncode:
        sys.exit(f"{text}\n{run.stderr}")
    return run.stdout


def module(name, params, inputs, call, result):
    """The inlined call, with a loss, reporting all that goes in and comes out."""
    lines = ["module @case", "func @main() {"]
    for i, (of, dims) in enumerate(params.items()):
        lines.append(f'%{of} = param("{of}") {{init = "normal", seed = {i}}} : f32{dims}')
    for of, (dims, many) in inputs.items():
        lines.append(f'%{of} = input("{of}") {{range = {many}}} : i32{dims}')
    if "n" in inputs:
        lines += ["%zero = constant() {value = 0} : i32[]", "%seen = gt(%n, %zero)"]
    weight = 'input("weight") : f32[' + ",".join(map(str, result)) + "]"
    results, call = call.split(" = ", 1) if call.startswith("%") else ("%r", call)
    lines += [f"{results} = call @{call}", f"%weight = {weight}", "%each = mul(%r, %weight)", "%loss = sum(%each)",
              'output("loss", %loss)',
              'output("r", %r)', 'output("weight", %weight)', "}"]
    text = dopt("\n".join(lines), "-pass=inline")
    shown = re.findall(r"(%[\w.]+) = (?:param|input)\(\"([\w.]+)\"", text)
    if name.endswith("evaluated"):
        text = re.sub(r'\{init = "ones", test = 0\S*\}', '{init = "zeros"}', text)
    more = [f'output("in {of}", {value})' for value, of in shown if of != "weight"]
    more += [f'output("{value[3:]}", {value})' for value in ("%n.new_mean", "%n.new_variance") if value in text]
    return text.rstrip().removesuffix("}") + "\n".join(more) + "\n}\n"


def outputs(text):
    found = {}
    for line in text.splitlines():
        if match := re.match(r"step 0 (.*?) = (.*)", line):
            found[match.group(1)] = json.loads(match.group(2))
    return found


def close(name, what, got, want, tolerance):
    if shape(got) != shape(want):
        sys.exit(f"{name}: {what} has shape {shape(got)}, not {shape(want)}")
    for a, b in zip(flat(got), flat(want)):
        if not abs(a - b) <= tolerance * max(1, abs(b)):
            sys.exit(f"{name}: {what} is {got}, not {want}")


def quotients(function, tensors, weight, name):
    """The gradient of the loss by one tensor, by differences."""
    numbers, dims, result = flat(tensors[name]), shape(tensors[name]), []
    for i in range(len(numbers)):
        loss = []
        for step in (STEP, -STEP):
            moved = numbers[:i] + [numbers[i] + step] + numbers[i + 1:]
            loss.append(dot(flat(function({**tensors, name: shaped(dims, moved)})), flat(weight)))
        result.append((loss[0] - loss[1]) / (2 * STEP))
    return shaped(dims, result)


def running(name, out, tensors, parts):
    """What batchnorm keeps: a tenth of the way from mean 0 and variance 1 to those of a sample, the mean over parts."""
    x, of_parts = tensors["x"], []
    for b in range(parts):
        images = x[b * len(x) // parts:(b + 1) * len(x) // parts]
        values = [[v for image in images for v in flat(image[c])] for c in range(len(x[0]))]
        of_parts.append([(sum(v) / len(v), variance(v) * len(v) / (len(v) - 1)) for v in values])
    means, sample = [[sum(row[k] for row in channel) / parts for channel in zip(*of_parts)] for k in (0, 1)]
    close(name, "mean", out["new_mean"], [0.1 * v for v in means], VALUE_TOLERANCE)
    close(name, "variance", out["new_variance"], [1 + 0.1 * (v - 1) for v in sample], VALUE_TOLERANCE)


def check(name, params, inputs, call, result, function):
    passes = [] if name.endswith("places") else ["-pass=grad"]  # to places leads no gradient, and grad says so
    out = outputs(dopt(module(name, params, inputs, call, result), "-run", "-f64", *passes))
    tensors = {key[3:]: value for key, value in out.items() if key.startswith("in ")}
    close(name, "the result", out["r"], function(tensors), VALUE_TOLERANCE)
    for key in out:
        if key.startswith("grad."):
            want = quotients(function, tensors, out["weight"], key[5:])
            close(name, f"the gradient of {key[5:]}", out[key], want, GRADIENT_TOLERANCE)
    if "new_mean" in out:
        running(name, out, tensors, 2 if "apart" in name else 1)
    print(f"{name}: as in Python, {sum(key.startswith('grad.') for key in out)} gradients")


listed = set(re.findall(r"^func @(\w+)", open(sys.argv[2]).read(), re.M))
missing = listed - ELSEWHERE - {re.search(r"(\w+)\(", case[3]).group(1) for case in CASES}
if not listed or missing:
    sys.exit(f"no case for {sorted(missing)}")
for case in CASES:
    check(*case)
