"""From a JAX training step to files that dopt and its programs read: docs/from-jax.md.

    from_jax.export("step", step, carry, x, y)      step.mlir and step.safetensors, the first values of the carry
    from_jax.save_rows("data.safetensors", train={"x": x, "y": y})
    carry = from_jax.load("trained.safetensors", carry)

A step is a function (carry, inputs ...) -> (next carry, outputs): the carry is a tree of what lives from step to step,
outputs a tree of what is reported. Tried with jax 0.10.
"""
import json
import re

import jax
import numpy as np

TAGS = {"float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16", "int64": "I64", "int32": "I32",
        "int16": "I16", "int8": "I8", "uint64": "U64", "uint32": "U32", "uint16": "U16", "uint8": "U8", "bool": "BOOL"}


def export(name, step, carry, *inputs):
    """Writes NAME.mlir and NAME.safetensors. `step` may be jitted already, over a mesh too; it donates the carry."""
    jitted = step if hasattr(step, "lower") else jax.jit(step, donate_argnums=0, keep_unused=True)
    text = jitted.lower(carry, *inputs).as_text(debug_info=True)
    with open(name + ".mlir", "w") as out:
        out.write(text)
    save(name + ".safetensors", dict(zip(carried_names(text), jax.tree.leaves(carry))))


def carried_names(text):
    """What dopt calls the arguments that come from the carry, in their order: "carry['w'][0]" is carry.w.0 to it."""
    head = re.search(r"func\.func public @main\((.*)\) -> ", text).group(1)
    found = re.findall(r"%arg\d+: tensor<[^>]*>(?: (\{.*?\}))? loc\(\"(.*?)\"\)", head)
    return [clean(name) for attributes, name in found
            if "tf.aliasing_output" in attributes or "jax.buffer_donor" in attributes]


def clean(name):
    return re.sub(r"[^A-Za-z0-9_]+", ".", name).strip(".")


def save(path, tensors):
    """A safetensors file of named arrays."""
    header, parts, at = {}, [], 0
    for name, value in tensors.items():
        value = np.ascontiguousarray(np.asarray(value)).reshape(np.shape(value))
        header[name] = {"dtype": TAGS[value.dtype.name], "shape": list(value.shape),
                        "data_offsets": [at, at + value.nbytes]}
        parts.append(value.tobytes())
        at += value.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as out:
        out.write(len(text).to_bytes(8, "little") + text + b"".join(parts))


def save_rows(path, **parts):
    """A data set: train={"x": rows, ...}, and perhaps test."""
    save(path, {f"{part}.{name}": rows for part, tensors in parts.items() for name, rows in tensors.items()})


def load(path, carry, argument="carry"):
    """A tree like `carry` with the values that a program's -save wrote."""
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        data = file.read()

    def value(place, old):
        name = clean(argument + jax.tree_util.keystr(place))
        begin, end = header[name]["data_offsets"]
        return np.frombuffer(data[begin:end], np.asarray(old).dtype).reshape(np.shape(old))

    return jax.tree_util.tree_map_with_path(value, carry)


def compiled(path):
    """A StableHLO text for one device, of dopt -emit=stablehlo, as a function of arrays in the order of its arguments.
    jaxlib compiles texts, but jax has no function of its own for that."""
    from jaxlib import _jax
    with open(path) as file:
        text = file.read()
    device = jax.devices()[0]
    executable = device.client.compile_and_load(text.encode(), _jax.DeviceList((device,)), _jax.CompileOptions())
    return lambda *arrays: [r[0] for r in executable.execute_sharded(
        [jax.device_put(a, device) for a in arrays]).disassemble_into_single_device_arrays()]
