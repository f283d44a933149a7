"""The models of peer_jax.py: each function makes its parameters, what it keeps from step to step, its loss and its data.

A loss gets the parameters, what is kept and the data, and gives its value and what is kept then.
"""
import jax
import jax.numpy as jnp


class Params:
    """Makes parameters by name, each normal with a scale."""

    def __init__(self):
        self.key, self.all = jax.random.PRNGKey(0), {}

    def add(self, name, *shape, scale=None):
        self.key, key = jax.random.split(self.key)
        scale = (2 / shape[0]) ** 0.5 if scale is None else scale
        self.all[name] = scale * jax.random.normal(key, shape)


def norm(p, name, x):
    x = x - x.mean(-1, keepdims=True)
    return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5) * p[name + ".g"] + p[name + ".b"]


def linear(p, name, x):
    return x @ p[name + ".w"] + p[name + ".b"]


def add_linear(p, name, i, o):
    p.add(name + ".w", i, o)
    p.add(name + ".b", o, scale=0)


def add_norm(p, name, width):
    p.add(name + ".g", width, scale=0)
    p.add(name + ".b", width, scale=0)


def entropy(z, y):
    return -jnp.take_along_axis(jax.nn.log_softmax(z), y[..., None], -1).mean()


def gpt(s):
    p = Params()
    p.add("chars", s["V"], s["H"], scale=0.02)
    p.add("places", s["T"], s["H"], scale=0.02)
    add_linear(p, "head", s["H"], s["V"])
    names = [f"b{k}" for k in range(s["L"])]
    for name in [*(f"{b}.{n}" for b in names for n in ("norm1", "norm2")), "norm"]:
        add_norm(p, name, s["H"])
    for b in names:
        p.add(b + ".qkv", s["H"], 3 * s["H"])
        add_linear(p, b + ".out", s["H"], s["H"])
        add_linear(p, b + ".up", s["H"], 4 * s["H"])
        add_linear(p, b + ".down", 4 * s["H"], s["H"])

    def loss(p, kept, x, y):
        h = p["chars"][x] + p["places"]
        mask = jnp.tril(jnp.ones((s["T"], s["T"]), bool))
        for b in names:
            q, k, v = jnp.split(norm(p, b + ".norm1", h) @ p[b + ".qkv"], 3, -1)
            heads = lambda t: t.reshape(s["B"], s["T"], s["A"], -1)
            score = jnp.einsum("btad,bsad->bats", heads(q), heads(k)) * (s["H"] / s["A"]) ** -0.5
            share = jax.nn.softmax(jnp.where(mask, score, -1e30))
            mixed = jnp.einsum("bats,bsad->btad", share, heads(v)).reshape(h.shape)
            h = h + linear(p, b + ".out", mixed)
            h = h + linear(p, b + ".down", jax.nn.gelu(linear(p, b + ".up", norm(p, b + ".norm2", h)), approximate=False))
        return entropy(linear(p, "head", norm(p, "norm", h)), y), kept

    key = jax.random.PRNGKey(1)
    return p.all, {}, loss, [jax.random.randint(key, (s["B"], s["T"]), 0, s["V"])] * 2


def cnn(s):
    p, c = Params(), s["C"]
    p.add("c1", 3, 3, 1, c, scale=0.3)
    p.add("c1.b", c, scale=0)
    p.add("c2", 3, 3, c, 2 * c, scale=0.05)
    p.add("c2.b", 2 * c, scale=0)
    add_linear(p, "f1", 2 * c * 16, s["H"])
    add_linear(p, "f2", s["H"], 10)
    between = lambda at, k: jax.nn.relu(1 - jnp.abs(at - k))
    i, j = jnp.arange(8.0)[:, None], jnp.arange(8.0)

    def moved(x, key):
        down, right, lean = jax.random.uniform(key, (3, s["B"], 1, 1), minval=-1)
        at = between(i + down, j) @ x.reshape(-1, 8, 8)
        off = (i - 3.5) * 0.25 * lean + right
        cols = between(i + off[..., None], j)
        return jnp.einsum("bijk,bik->bij", cols, at)[..., None]

    def conv(p, name, x):
        y = jax.lax.conv_general_dilated(x, p[name], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        return jax.nn.relu(y + p[name + ".b"])

    def loss(p, kept, x, y, key):
        x = conv(p, "c2", conv(p, "c1", moved(x, key)))
        x = x.reshape(s["B"], 4, 2, 4, 2, 2 * c).max((2, 4)).reshape(s["B"], -1)
        return entropy(linear(p, "f2", jax.nn.relu(linear(p, "f1", x))), y), kept

    key = jax.random.PRNGKey(1)
    return p.all, {}, loss, [jax.random.uniform(key, (s["B"], 64)), jax.random.randint(key, (s["B"],), 0, 10), key]


def mlp(s):
    p = Params()
    for k in range(s["L"]):
        add_linear(p, f"l{k}", s["H"] if k else s["I"], s["H"])
    add_linear(p, "out", s["H"], s["K"])

    def loss(p, kept, x, y):
        for k in range(s["L"]):
            x = jax.nn.relu(linear(p, f"l{k}", x))
        return entropy(linear(p, "out", x), y), kept

    key = jax.random.PRNGKey(1)
    return p.all, {}, loss, [jax.random.uniform(key, (s["B"], s["I"])), jax.random.randint(key, (s["B"],), 0, s["K"])]


def bert(s):
    p, d = Params(), s["D"]
    for name, rows in (("table", s["V"]), ("segments", 2), ("positions", s["T"])):
        p.add(name, rows, d, scale=0.02)
    p.add("bias", s["V"], scale=0)
    names = [f"b{k}" for k in range(s["L"])]
    for name in ["embedded", "transformed", *(f"{b}.{n}" for b in names for n in ("attended", "done"))]:
        add_norm(p, name, d)
    for name in ["transform", "pooler", *(f"{b}.{n}" for b in names for n in ("query", "key", "value", "out"))]:
        add_linear(p, name, d, d)
    add_linear(p, "next", d, 2)
    for b in names:
        add_linear(p, b + ".up", d, 4 * d)
        add_linear(p, b + ".down", 4 * d, d)

    def attention(p, b, h, seen):
        q, k, v = (linear(p, b + n, h).reshape(s["B"], s["T"], s["A"], -1) for n in (".query", ".key", ".value"))
        score = jnp.einsum("btad,bsad->bats", q, k) * (d / s["A"]) ** -0.5
        share = jax.nn.softmax(jnp.where(seen, score, -1e30))
        return linear(p, b + ".out", jnp.einsum("bats,bsad->btad", share, v).reshape(h.shape))

    def loss(p, kept, tokens, segments, present, masked, words, follows):
        h = norm(p, "embedded", p["table"][tokens] + p["segments"][segments] + p["positions"])
        for b in names:
            h = norm(p, b + ".attended", h + attention(p, b, h, present[:, None, None, :] > 0))
            up = jax.nn.gelu(linear(p, b + ".up", h), approximate=False)
            h = norm(p, b + ".done", h + linear(p, b + ".down", up))
        rows = jnp.take_along_axis(h, masked[..., None], 1)
        guess = norm(p, "transformed", jax.nn.gelu(linear(p, "transform", rows), approximate=False))
        word = entropy(guess @ p["table"].T + p["bias"], words)
        return word + entropy(linear(p, "next", jnp.tanh(linear(p, "pooler", h[:, 0]))), follows), kept

    draw = lambda n, *shape: jax.random.randint(jax.random.PRNGKey(n), shape, 0, n)
    tokens = [draw(n, s["B"], s["T"]) for n in (s["V"], 2, 2)]
    return p.all, {}, loss, [*tokens, draw(s["T"], s["B"], s["M"]), draw(s["V"], s["B"], s["M"]), draw(2, s["B"])]


STAGES = [3, 4, 6, 3]  # blocks of each stage of ResNet-50


def resnet50(s):
    p, kept = Params(), {}

    def add(name, i, o, k):
        p.add(name, k, k, i, o, scale=(2 / (k * k * i)) ** 0.5)
        add_norm(p, name, o)
        kept[name + ".mean"], kept[name + ".var"] = jnp.zeros(o), jnp.ones(o)

    def blocks():
        """Of each block: name, channels in and within, stride."""
        wide = 64
        for stage, many in enumerate(STAGES):
            for k in range(many):
                yield f"s{stage}.b{k}", wide, 64 << stage, 2 if stage and not k else 1
                wide = 4 * 64 << stage

    add("stem", 3, 64, 7)
    for name, i, o, _ in blocks():
        if name.endswith("b0"):
            add(name + ".direct", i, 4 * o, 1)
        add(name + ".c1", i, o, 1)
        add(name + ".c2", o, o, 3)
        add(name + ".c3", o, 4 * o, 1)
    add_linear(p, "top", 2048, s["K"])

    def loss(p, kept, x, y):
        now = {}

        def conv(x, name, stride):
            pad = p[name].shape[0] // 2
            dims = ("NHWC", "HWIO", "NHWC")
            x = jax.lax.conv_general_dilated(x, p[name], (stride, stride), [(pad, pad)] * 2, dimension_numbers=dims)
            mean, var = x.mean((0, 1, 2)), x.var((0, 1, 2))
            for what, value in ((".mean", mean), (".var", var)):
                now[name + what] = 0.9 * kept[name + what] + 0.1 * jax.lax.stop_gradient(value)
            return (x - mean) * (jax.lax.rsqrt(var + 1e-5) * p[name + ".g"]) + p[name + ".b"]

        x = jax.nn.relu(conv(x, "stem", 2))
        x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), [(0, 0), (1, 1), (1, 1), (0, 0)])
        for name, _, _, stride in blocks():
            inner = jax.nn.relu(conv(x, name + ".c1", 1))
            inner = conv(jax.nn.relu(conv(inner, name + ".c2", stride)), name + ".c3", 1)
            x = jax.nn.relu(inner + (conv(x, name + ".direct", stride) if name.endswith("b0") else x))
        return entropy(linear(p, "top", x.mean((1, 2))), y), now

    key = jax.random.PRNGKey(1)
    x = jax.random.uniform(key, (s["B"], s["P"], s["P"], 3))
    return p.all, kept, loss, [x, jax.random.randint(key, (s["B"],), 0, s["K"])]


MODELS = {"gpt": gpt, "cnn": cnn, "mlp": mlp, "bert": bert, "resnet50": resnet50}
