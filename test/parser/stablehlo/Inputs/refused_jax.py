"""refused_jax.py SCRATCH: jitted steps whose text lacks some of the carry, so that values would get the names of others."""
import subprocess
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


# Complex arrays are two for dopt, and one again in JAX; those without elements, as some optimizers have them, are not saved.
def turning(carry, x):
    return {**carry, "w": carry["w"] * jnp.exp(1j * x), "n": carry["n"] + 1}, {"size": jnp.abs(carry["w"]).sum()}


carry = {"w": jnp.array([1 + 2j, 3 - 1j], "complex64"), "n": jnp.zeros((), "int32"), "none": jnp.zeros((0, 2))}
from_jax.export(sys.argv[1] + "_complex", turning, carry, jnp.ones(2))
from_jax.save_rows(sys.argv[1] + "_complex.data", train={"x": jnp.full(2, 0.5)})
done = subprocess.run([sys.argv[2], "-run", "-steps=3", f"-data={sys.argv[1]}_complex.data", f"-initial={sys.argv[1]}_complex.safetensors",
                       f"-save={sys.argv[1]}_complex.after", f"{sys.argv[1]}_complex.mlir"], check=True, capture_output=True, text=True)
after = from_jax.load(sys.argv[1] + "_complex.after", carry)
for _ in range(3):
    carry, _ = turning(carry, jnp.full(2, 0.5))
print("complex", after["w"].dtype, bool(abs(after["w"] - carry["w"]).max() < 1e-6), int(after["n"]), done.stderr)

# What a step calls its carry is found in the file; a file of another model is refused.
from_jax.export(sys.argv[1] + "_named", lambda c, x: ({"w": c["w"] - x}, {"loss": x.sum()}), {"w": jnp.ones(3)}, jnp.ones(3))
print(*from_jax.load(sys.argv[1] + "_named.safetensors", {"w": jnp.zeros(3)})["w"])
try:
    from_jax.load(sys.argv[1] + "_named.safetensors", {"v": jnp.zeros(3)})
except KeyError as refused:
    print(refused.args[0].rpartition("/")[2])
