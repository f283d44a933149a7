"""From a JAX training step to files that dopt and its programs read: docs/from-jax.md.

    from_jax.export("step", step, carry, x, y)      step.mlir and step.safetensors, the first values of the carry
    from_jax.save_rows("data.safetensors", train={"x": x, "y": y})
    carry = from_jax.load("trained.safetensors", carry)

A step is a function (carry, inputs ...) -> (next carry, outputs): the carry is a tree of what lives from step to step,
outputs a tree of what is reported. Tried with jax 0.10.
"""
import re

import jax
import numpy as np

from . import tensors


def export(name, step, carry, *inputs):
    """Writes NAME.mlir and NAME.safetensors. `step` may be jitted already, over a mesh too: with donate_argnums=0, so that the
    text says what the carry is, and keep_unused=True, so that all of it is there."""
    jitted = step if hasattr(step, "lower") else jax.jit(step, donate_argnums=0, keep_unused=True)
    text = jitted.lower(carry, *inputs).as_text(debug_info=True)
    names, leaves = carried_names(text), jax.tree.leaves(carry)
    if len(names) != len(leaves):
        raise ValueError(f"the carry has {len(leaves)} arrays, of which the text has {len(names)}: "
                         "jit the step with donate_argnums=0 and keep_unused=True")
    with open(name + ".mlir", "w") as out:
        out.write(text)
    save(name + ".safetensors", dict(zip(names, leaves)))


TENSOR = r"tensor<(?:[^<>]|<[^<>]*>)*>"  # with complex<f32> inside


def carried_names(text):
    """What dopt calls the arguments that come from the carry, in their order: "carry['w'][0]" is carry.w.0 to it."""
    head = re.search(r"func\.func public @main\((.*)\) -> ", text).group(1)
    found = re.findall(rf"%arg\d+: {TENSOR}(?: (\{{.*?\}}))? loc\(\"(.*?)\"\)", head)
    return [clean(name) for attributes, name in found
            if "tf.aliasing_output" in attributes or "jax.buffer_donor" in attributes]


def clean(name):
    return re.sub(r"[^A-Za-z0-9_]+", ".", name).strip(".")


def is_key(value):
    """Whether it is of keys of jax.random.key, which are arrays of integers in a text."""
    return isinstance(value, jax.Array) and jax.numpy.issubdtype(value.dtype, jax.dtypes.prng_key)


def save(path, values):
    """A safetensors file of named arrays; complex ones are two, NAME.re and NAME.im, as they are to dopt."""
    arrays = {}
    for name, value in values.items():
        a = np.asarray(jax.random.key_data(value) if is_key(value) else value)
        arrays.update({f"{name}.re": a.real, f"{name}.im": a.imag} if np.iscomplexobj(a) else {name: a})
    tensors.write(path, [(name, a.dtype.name, a.shape, a.tobytes()) for name, a in arrays.items()])


def save_rows(path, **parts):
    """A data set: train={"x": rows, ...}, and perhaps test."""
    save(path, tensors.rows(parts))


def load(path, carry, argument=None):
    """A tree like `carry` with the values that a program's -save wrote. `argument`: what the step calls its carry; without it
    the one name of the file below which all of the carry is."""
    found = tensors.read(path)
    wanted = [(jax.tree_util.keystr(place), np.iscomplexobj(x)) for place, x in jax.tree_util.tree_leaves_with_path(carry)
              if np.size(x)]  # a file has no arrays without elements
    lacks = lambda head: [name for name in (clean(head + key) + ".re" * split for key, split in wanted) if name not in found]
    heads = sorted({name.partition(".")[0] for name in found}) if argument is None else [argument]
    fits = [head for head in heads if not lacks(head)]
    if len(fits) != 1 and wanted:
        missing = min((lacks(head) for head in heads or ["carry"]), key=len)
        raise KeyError(f"{path}: no value of {', '.join(missing[:5])}; it has {', '.join(list(found)[:5])}..."
                       if missing else f"{path}: argument={' or '.join(fits)}?")

    def value(place, old):
        if not np.size(old):
            return old
        name = clean(fits[0] + jax.tree_util.keystr(place))
        if is_key(old):
            data = jax.random.key_data(old)
            raw = np.frombuffer(found[name][2], data.dtype).reshape(data.shape)
            return jax.random.wrap_key_data(raw, impl=jax.random.key_impl(old))
        if np.iscomplexobj(old):
            new = np.empty(np.shape(old), np.asarray(old).dtype)
            new.real, new.imag = (np.frombuffer(found[f"{name}.{part}"][2], new.real.dtype).reshape(new.shape) for part in ("re", "im"))
            return new
        return np.frombuffer(found[name][2], np.asarray(old).dtype).reshape(np.shape(old))

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
