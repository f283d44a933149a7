"""refused_jax.py SCRATCH: jitted steps whose text lacks some of the carry, so that values would get the names of others."""
import sys

import jax
import jax.numpy as jnp
from dopt import from_jax


def step(carry, x):
    return {"w": carry["w"] - x.sum(), "unread": jnp.ones(4)}, {"loss": (carry["w"] * x).sum()}


for how in ({}, {"donate_argnums": 0}, {"donate_argnums": 0, "keep_unused": True}):
    try:
        from_jax.export(sys.argv[1], jax.jit(step, **how), {"w": jnp.ones(3), "unread": jnp.ones(4)}, jnp.ones(3))
        print("exported")
    except ValueError as refused:
        print(f"ValueError: {refused}")

# A key of jax.random.key is data of the text, and read as a key.
carry = {"key": jax.random.key(3), "w": jnp.ones(3)}


def draw(key):
    return jax.random.randint(key, (), 0, 1 << 20)


def drawing(carry, x):
    return {"key": jax.random.split(carry["key"])[0], "w": carry["w"] - x}, {"drawn": draw(carry["key"])}


from_jax.export(sys.argv[1], drawing, carry, jnp.ones(3))
read = from_jax.load(sys.argv[1] + ".safetensors", {"key": jax.random.key(0), "w": jnp.zeros(3)})
print("key", read["key"].dtype, draw(read["key"]) == draw(carry["key"]))
with open(sys.argv[1] + ".drawn", "w") as out:
    out.write(f"KEY: drawn = {draw(carry['key'])}\nKEY: drawn = {draw(jax.random.split(carry['key'])[0])}\n")
