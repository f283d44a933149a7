"""JAX's turns: peer_jax.py CASE. As many threads as the process may use; the step is one function, compiled, with Adam
in it, and its parameters and moments are donated."""
import sys

import cases
import jax
import jax.numpy as jnp
import jax_models
import turns


def main():
    case = cases.find(sys.argv[1])
    params, kept, loss, data = jax_models.MODELS[case.kind](case.sizes)
    zeros = {name: jnp.zeros_like(v) for name, v in params.items()}

    def adam(state, *data):
        t, p, m, v, kept = state
        t = t + 1
        (value, kept), g = jax.value_and_grad(loss, has_aux=True)(p, kept, *data)
        m = {n: 0.9 * m[n] + 0.1 * g[n] for n in p}
        v = {n: 0.999 * v[n] + 0.001 * g[n] * g[n] for n in p}
        fix = jnp.sqrt(1 - 0.999**t) / (1 - 0.9**t)
        p = {n: p[n] - 1e-3 * fix * m[n] / (jnp.sqrt(v[n]) + 1e-8) for n in p}
        return value, (t, p, m, v, kept)

    compiled = jax.jit(adam, donate_argnums=0)
    state = [(jnp.zeros(()), params, zeros, {name: jnp.zeros_like(v) for name, v in params.items()}, kept)]

    def step():
        value, state[0] = compiled(state[0], *data)
        jax.block_until_ready(state[0])

    turns.take(f"JAX {jax.__version__}", step)


main()
