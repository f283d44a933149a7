"""StableHLO text run by XLA, as JAX's library has it (jax 0.10): the reference of the tests.

    python xla.py step.mlir [STEPS [SEED]]

runs a text that `dopt -emit=stablehlo` wrote, from the initial values and made-up inputs that
`dopt -run` has, and prints its outputs, all elements of each. Other scripts use `compile_text` and
`run`.
"""
import os
import re
import sys


def replicas_of(text):
    found = re.search(r"mhlo.num_replicas = (\d+)", text)
    return int(found.group(1)) if found else 1


if __name__ == "__main__":
    count = replicas_of(open(sys.argv[1]).read())
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=%d" % count

import numpy as np
import jax
from jaxlib import _jax

jax.config.update("jax_enable_x64", True)

TYPES = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": jax.numpy.bfloat16,
         "i64": np.int64, "i32": np.int32, "i16": np.int16, "i8": np.int8, "i1": np.bool_,
         "ui64": np.uint64, "ui32": np.uint32, "ui16": np.uint16, "ui8": np.uint8}


def compile_text(text):
    """The executable of a text, and on how many replicas it runs."""
    count = replicas_of(text)
    options = _jax.CompileOptions()
    options.num_replicas = count
    client = jax.devices()[0].client
    devices = _jax.DeviceList(tuple(jax.devices()[:count]))
    return client.compile_and_load(text.encode(), devices, options), count


def run(executable, count, arguments):
    """Results by replica: arguments[i] is an array, or a list with one for each replica."""
    devices = jax.devices()[:count]
    mesh = jax.sharding.Mesh(np.array(devices), "replica")
    everywhere = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
    put = []
    for value in arguments:
        each = value if isinstance(value, list) else [value] * count
        each = [jax.device_put(v, d) for v, d in zip(each, devices)]
        # "the same everywhere" to JAX, which does not look
        put.append(jax.make_array_from_single_device_arrays(each[0].shape, everywhere, each))
    results = executable.execute_sharded(put).disassemble_into_single_device_arrays()
    return [[np.asarray(v) for v in r] for r in results]


# --- initial values: runtime/kernel/rng.h, runtime/kernel/init.h ---------------------------------------------

MASK32, MASK64 = 0xFFFFFFFF, (1 << 64) - 1


def mix64(x):
    x = (x + 0x9E3779B97F4A7C15) & MASK64
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & MASK64
    x = (x ^ x >> 27) * 0x94D049BB133111EB & MASK64
    return x ^ x >> 31


def key_of(program_seed, seed, name):
    value = 0xCBF29CE484222325
    for byte in name.encode():
        value = (value ^ byte) * 0x100000001B3 & MASK64
    return mix64(mix64(mix64(program_seed) ^ seed & MASK64) ^ value)


def blocks(key, n):
    index = np.arange(n, dtype=np.uint64)
    low = np.uint64(MASK32)
    c = [index & low, index >> np.uint64(32), index * np.uint64(0), index * np.uint64(0)]
    k0, k1 = key & MASK32, key >> 32
    for _ in range(10):
        p0, p1 = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [p1 >> np.uint64(32) ^ c[1] ^ np.uint64(k0), p1 & low,
             p0 >> np.uint64(32) ^ c[3] ^ np.uint64(k1), p0 & low]
        k0, k1 = (k0 + 0x9E3779B9) & MASK32, (k1 + 0xBB67AE85) & MASK32
    return c


def unit(high, low):
    return ((high << np.uint64(32) | low) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def uniform(key, n):
    c = blocks(key, n)
    return unit(c[0], c[1])


def normal(key, n):
    c = blocks(key, n)
    return np.sqrt(-2 * np.log(1 - unit(c[0], c[1]))) * np.cos(2 * np.pi * unit(c[2], c[3]))


def initial(shape, name, attrs, seed):
    n = int(np.prod(shape))
    init, key = attrs.get("init", "zeros"), key_of(seed, int(attrs.get("seed", 0)), name)
    scale, mean = float(attrs.get("scale", 1)), float(attrs.get("value", 0))
    fan_in = fan_out = 1
    if len(shape) == 1:
        fan_in = fan_out = shape[0]
    elif len(shape) == 4:
        fan_in, fan_out = (shape[1] * shape[2] * shape[3], shape[0] * shape[2] * shape[3])
    elif len(shape) >= 2:
        fan_in, fan_out = shape[-2], shape[-1]
    if init == "he":
        scale *= np.sqrt(2 / fan_in)
    if init == "xavier":
        scale *= np.sqrt(6 / (fan_in + fan_out))
    if init in ("zeros", "ones", "constant"):
        v = np.full(n, {"zeros": 0.0, "ones": 1.0}.get(init, mean))
    elif init in ("normal", "he"):
        v = mean + scale * normal(key, n)
    else:
        v = mean + scale * (2 * uniform(key, n) - 1)
    return v.reshape(shape)


def made_up(shape, name, attrs, seed, isfloat):
    n, key = int(np.prod(shape)), key_of(seed, 0, name)
    if isfloat:
        return normal(key, n).reshape(shape)
    return np.floor((int(attrs.get("range", 0)) or 2) * uniform(key, n)).reshape(shape)


# --- layouts: "f32[8/dp,4]@pp=1" on the mesh "dp = 2, pp = 2" ----------------------------------

def mesh_of(text):
    found = re.search(r'dopt.mesh = "(.*?)"', text)
    return [(n, int(s)) for n, s in re.findall(r"(\w+) = (\d+)", found.group(1))] if found else []


def cut(whole, layout, mesh):
    """What each replica has of a tensor: places are row-major over the mesh."""
    splits = [d.split("/")[1:] for d in re.search(r"\[(.*?)\]", layout).group(1).split(",")]
    size, parts = dict(mesh), []
    for place in np.ndindex(*(s for _, s in mesh)):
        at, part = dict(zip((n for n, _ in mesh), place)), whole
        for d, axes in enumerate(splits):
            for axis in axes:
                part = np.split(part, size[axis], d)[at[axis]]
        parts.append(part)
    return parts


def join(parts, layout, mesh):
    """The whole tensor, from the places that have it."""
    splits = [d.split("/")[1:] for d in re.search(r"\[(.*?)\]", layout).group(1).split(",")]
    single = dict((n, int(k)) for n, k in re.findall(r"@(\w+)=(\d+)", layout))
    size, grid, whole = dict(mesh), list(np.ndindex(*(s for _, s in mesh))), None
    for place, part in zip(grid, parts):
        at = dict(zip((n for n, _ in mesh), place))
        if any(at[n] != k for n, k in single.items()):
            continue
        if whole is None:
            times = [int(np.prod([size[a] for a in axes])) for axes in splits]
            whole = np.zeros([n * t for n, t in zip(part.shape, times)], part.dtype)
        box = []
        for n, axes in zip(part.shape, splits):
            number = 0
            for a in axes:
                number = number * size[a] + at[a]
            box.append(slice(number * n, number * n + n))
        whole[tuple(box)] = part
    return whole


# --- the arguments and results of a text of ours -----------------------------------------------

ARGUMENT = re.compile(r"%arg(\d+): tensor<((?:\d+x)*)(\w+)> \{dopt\.(\w+) = \{(.*?)\}"
                      r"(.*?)\} loc\(\"(.*?)\"\)")
RESULT = re.compile(r'\{jax.result_info = "(.*?)"(?:, dopt.type = "(.*?)")?\}')


def whole_shape(layout):
    dims = re.search(r"\[(.*?)\]", layout).group(1)
    return tuple(int(d.split("/")[0]) for d in dims.split(",") if d)


def read_arguments(text, seed):
    """(name, what each replica has, result that replaces it or None) by argument."""
    out, mesh = [], mesh_of(text)
    for _, dims, element, kind, attrs, rest, name in ARGUMENT.findall(text):
        layout = re.search(r'dopt.type = "(.*?)"', rest)
        shape = (whole_shape(layout.group(1)) if layout
                 else tuple(int(d) for d in dims.split("x") if d))
        attrs = {k: v.strip('"') for k, v in re.findall(r'(\w+) = ("[^"]*"|[^ ,]+)', attrs)}
        isfloat = element[0] in "fb"
        value = (made_up(shape, name, attrs, seed, isfloat) if kind == "input"
                 else initial(shape, name, attrs, seed)).astype(TYPES[element])
        alias = re.search(r"tf.aliasing_output = (\d+)", rest)
        out.append((name, cut(value, layout.group(1), mesh) if layout else [value],
                    int(alias.group(1)) if alias else None))
    return out


def text_of(a):
    flat = np.asarray(a, dtype=np.float64).reshape(-1)
    return " ".join("%.9g" % v for v in flat)


def main():
    text = open(sys.argv[1]).read()
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    arguments, results, mesh = read_arguments(text, seed), RESULT.findall(text), mesh_of(text)
    carried = {alias for _, _, alias in arguments}
    executable, count = compile_text(text)
    values = [v for _, v, _ in arguments]
    for step in range(steps):
        made = run(executable, count, values)
        for i, (name, layout) in enumerate(results):
            if i not in carried:
                whole = join(made[i], layout, mesh) if layout else made[i][0]
                print("step %d %s = %s" % (step, name, text_of(whole)))
        values = [v if alias is None else made[alias]
                  for v, (_, _, alias) in zip(values, arguments)]


if __name__ == "__main__":
    main()
