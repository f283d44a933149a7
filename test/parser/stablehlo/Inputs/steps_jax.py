"""steps_jax.py STEPS_FOLDER > steps_jax.json: what XLA makes of the programs of steps/, as JAX's library has it. Run by hand
where the programs or steps.py change: python3 -m venv jax; jax/bin/pip install jax==0.10.2; jax/bin/python steps_jax.py ..."""
import json
import os
import pathlib
import re
import sys

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"

import numpy as np

import steps
import xla


def as_main(text):
    """XLA runs @main."""
    return re.sub(r"func\.func (public )?@(?!main\b)(\w+)\((%\w+: )", r"func.func public @main(\3", text, count=1) \
        if "@main(" not in text else text


def on_replicas(text, count):
    """A text that was traced on one device leaves their number open: its groups have one member."""
    everyone = ", ".join(str(i) for i in range(count))
    text = text.replace("dense<0> : tensor<1x1xi64>", f"dense<[[{everyone}]]> : tensor<1x{count}xi64>")
    return text.replace("mhlo.num_replicas = 1 ", f"mhlo.num_replicas = {count} ")


def run(folder, file):
    carry, loss, replicas = steps.FILES[file]
    text = as_main(steps.path_of(folder, file).read_text())
    if replicas > 1:
        text = on_replicas(text, replicas)
    pairs = steps.carried(carry)
    arguments = steps.signature(text)
    now = []
    for i, (name, shape, element) in enumerate(arguments):
        each = replicas > 1 and i not in pairs  # has something of its own
        shape = [replicas] * each + shape
        a = np.array(steps.values(file, name, shape, element), dtype=np.int32 if element == "i32" else np.float32)
        a = a.reshape(shape)
        now.append(list(a) if each else [a] * replicas)
    start, losses = list(now), []
    executable, count = xla.compile_text(text)
    for _ in range(steps.STEPS):
        results = xla.run(executable, count, now)
        if loss is not None:
            losses.append(float(results[loss][0]))
        for argument, result in pairs.items():
            now[argument] = results[result]
    return {"loss": losses,
            "tensors": {arguments[i][0]: steps.summary(start[i][0].reshape(-1).astype(float).tolist(),
                                                       now[i][0].reshape(-1).astype(float).tolist())
                        for i in pairs}}


def short(value):
    """Nine digits tell floats apart."""
    if isinstance(value, dict):
        return {k: short(v) for k, v in value.items()}
    if isinstance(value, list):
        return [short(v) for v in value]
    return float("%.9g" % value) if isinstance(value, float) else value


def main():
    folder = pathlib.Path(sys.argv[1])
    xla.jax.numpy.linalg.svd(np.eye(2))  # JAX finds LAPACK in the first call
    result = {"made by": f"steps_jax.py, jax {xla.jax.__version__}, numpy {np.__version__}, on a CPU",
              "steps": steps.STEPS, "files": {file: short(run(folder, file)) for file in steps.FILES}}
    text = json.dumps(result, indent=1)
    # a list of numbers on one line
    print(re.sub(r"\[[^\[\]{}]*\]", lambda m: " ".join(m.group(0).split()), text))


main()
