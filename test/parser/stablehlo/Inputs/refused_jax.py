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
