"""JAX's turns: peer_jax.py CASE. As many threads as the process may use; the step is one function, compiled, with Adam
in it, and its parameters and moments are donated."""
import sys

import cases
import jax
import jax.numpy as jnp
import turns


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


def entropy(z, y):
    return -jnp.take_along_axis(jax.nn.log_softmax(z), y[..., None], -1).mean()


def gpt(s):
    p = Params()
    p.add("chars", s["V"], s["H"], scale=0.02)
    p.add("places", s["T"], s["H"], scale=0.02)
    add_linear(p, "head", s["H"], s["V"])
    names = [f"b{k}" for k in range(s["L"])]
    for name in [*(f"{b}.{n}" for b in names for n in ("norm1", "norm2")), "norm"]:
        p.add(name + ".g", s["H"], scale=0)
        p.add(name + ".b", s["H"], scale=0)
    for b in names:
        p.add(b + ".qkv", s["H"], 3 * s["H"])
        add_linear(p, b + ".out", s["H"], s["H"])
        add_linear(p, b + ".up", s["H"], 4 * s["H"])
        add_linear(p, b + ".down", 4 * s["H"], s["H"])

    def loss(p, x, y):
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
        return entropy(linear(p, "head", norm(p, "norm", h)), y)

    key = jax.random.PRNGKey(1)
    return p.all, loss, [jax.random.randint(key, (s["B"], s["T"]), 0, s["V"])] * 2


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

    def loss(p, x, y, key):
        x = conv(p, "c2", conv(p, "c1", moved(x, key)))
        x = x.reshape(s["B"], 4, 2, 4, 2, 2 * c).max((2, 4)).reshape(s["B"], -1)
        return entropy(linear(p, "f2", jax.nn.relu(linear(p, "f1", x))), y)

    key = jax.random.PRNGKey(1)
    return p.all, loss, [jax.random.uniform(key, (s["B"], 64)), jax.random.randint(key, (s["B"],), 0, 10), key]


def mlp(s):
    p = Params()
    for k in range(s["L"]):
        add_linear(p, f"l{k}", s["H"] if k else s["I"], s["H"])
    add_linear(p, "out", s["H"], s["K"])

    def loss(p, x, y):
        for k in range(s["L"]):
            x = jax.nn.relu(linear(p, f"l{k}", x))
        return entropy(linear(p, "out", x), y)

    key = jax.random.PRNGKey(1)
    return p.all, loss, [jax.random.uniform(key, (s["B"], s["I"])), jax.random.randint(key, (s["B"],), 0, s["K"])]


def main():
    case = cases.find(sys.argv[1])
    params, loss, data = {"gpt": gpt, "cnn": cnn, "mlp": mlp}[case.kind](case.sizes)
    zeros = {name: jnp.zeros_like(v) for name, v in params.items()}

    def adam(state, *data):
        t, p, m, v = state
        t = t + 1
        value, g = jax.value_and_grad(loss)(p, *data)
        m = {n: 0.9 * m[n] + 0.1 * g[n] for n in p}
        v = {n: 0.999 * v[n] + 0.001 * g[n] * g[n] for n in p}
        fix = jnp.sqrt(1 - 0.999**t) / (1 - 0.9**t)
        p = {n: p[n] - 1e-3 * fix * m[n] / (jnp.sqrt(v[n]) + 1e-8) for n in p}
        return value, (t, p, m, v)

    compiled = jax.jit(adam, donate_argnums=0)
    state = [(jnp.zeros(()), params, zeros, {name: jnp.zeros_like(v) for name, v in params.items()})]

    def step():
        value, state[0] = compiled(state[0], *data)
        jax.block_until_ready(state[0])

    turns.take(f"JAX {jax.__version__}", step)


main()
