"""What the programs of steps/ are run with: for each file the arguments that results replace (-carry), and inputs and
initial values as safetensors, the same on every machine. Python alone, for tests."""
import array
import json
import random
import re
import struct

STEPS = 2

# name: (arguments that results replace, as -carry takes them; the result that is the loss, or None; replicas)
FILES = {
    "lean4mlir_mnist_mlp_train_step": ("0-5:0-5", 6, 1),
    "lean4mlir_mnist_cnn_train_step": ("0-9:0-9", 10, 1),
    "verified_mlir_mlp_train_step": ("1-6:0-5", 6, 1),
    "verified_mlir_cnn_train_step": ("1-10:0-9", 10, 1),
    "jax_rotary": ("0-2:0-2", 3, 1),
    "jax_fourier_operator": ("0-3:0-3", 4, 1),
    "jax_state_space": ("0-2:0-2", 3, 1),
    "jax_principal": ("0-0:0-0", 1, 1),
    "jax_low_rank": ("0-0:0-0", 1, 1),
    "hespas_jax_example_mlp_dp": ("0-5:0-5", None, 1),
    "hespas_jax_example_mlp_dp on 4": ("0-5:0-5", None, 4),
}


def path_of(folder, name):
    return folder / f"{name.split()[0]}.mlir"


def signature(text):
    """(name, shape, element type) by argument of the step, the first public function."""
    head = re.search(r"func\.func (?:public )?@\w+\((.*?)\) -> ", text).group(1)
    found = re.findall(r'%(\w+): tensor<((?:\d+x)*)(\w+)>(?: loc\("(.*?)"\))?', head)
    return [(name or value, [int(d) for d in dims.split("x") if d], element)
            for value, dims, element, name in found]


def carried(carry):
    """argument -> result"""
    arguments, results = (range(int(r.split("-")[0]), int(r.split("-")[1]) + 1) for r in carry.split(":"))
    return dict(zip(arguments, results))


def values(file, name, shape, element):
    """Numbers of an argument: images, labels, a rate, weights of a size that keeps activations about 1."""
    draw, count = random.Random(f"{file} {name}"), 1
    for d in shape:
        count *= d
    if element == "i32":
        return array.array("i", (draw.randrange(10) for _ in range(count)))
    if name == "lr":
        return array.array("f", [0.1])
    if name in ("onehot", "arg7"):  # rows of ten
        rows = array.array("f", bytes(4 * count))
        for row in range(count // 10):
            rows[10 * row + draw.randrange(10)] = 1.0
        return rows
    if name in ("x", "arg6"):
        return array.array("f", (draw.random() - 0.5 for _ in range(count)))
    if len(shape) == 4:  # filters: [height,width,in,out] or [out,in,height,width]
        fan = count // (shape[3] if shape[0] == 3 else shape[0])
    else:
        fan = shape[-2] if len(shape) > 1 else 1
    is_bias = len(shape) - (shape[:1] == [1]) == 1
    scale = 0.1 if is_bias else (3 / fan) ** 0.5
    return array.array("f", (scale * (2 * draw.random() - 1) for _ in range(count)))


def read_safetensors(path):
    """name -> numbers, of tensors of f32."""
    data = open(path, "rb").read()
    start = 8 + struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:start])
    return {name: array.array("f", data[start + t["data_offsets"][0]:start + t["data_offsets"][1]])
            for name, t in header.items() if name != "__metadata__"}


def write_safetensors(path, tensors):
    """tensors: (name, shape, array)"""
    header, at = {}, 0
    for name, shape, data in tensors:
        size = data.itemsize * len(data)
        header[name] = {"dtype": "I32" if data.typecode == "i" else "F32", "shape": list(shape),
                        "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text)
        for _, _, data in tensors:
            out.write(data.tobytes())


def places(count):
    """Elements that are kept of a tensor."""
    draw = random.Random(count)
    return sorted(draw.randrange(count) for _ in range(min(count, 6)))


def summary(start, end):
    """A tensor in some numbers: norms of it and of how it has changed, and elements of both."""
    at = places(len(end))
    return {"norm": sum(v * v for v in end) ** 0.5,
            "moved": sum((b - a) ** 2 for a, b in zip(start, end)) ** 0.5,
            "largest": max(abs(v) for v in end),
            "furthest": max(abs(b - a) for a, b in zip(start, end)),
            "elements": [end[i] for i in at],
            "changes": [end[i] - start[i] for i in at]}
