"""Files of named tensors, in the format safetensors."""
import json

TAGS = {"float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16", "int64": "I64", "int32": "I32",
        "int16": "I16", "int8": "I8", "uint64": "U64", "uint32": "U32", "uint16": "U16", "uint8": "U8", "bool": "BOOL"}


def write(path, tensors):
    """(name, element type as numpy calls it, shape, bytes) of each tensor."""
    header, parts, at = {}, [], 0
    for name, dtype, shape, raw in tensors:
        header[name] = {"dtype": TAGS[dtype], "shape": list(shape), "data_offsets": [at, at + len(raw)]}
        parts.append(raw)
        at += len(raw)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as out:
        out.write(len(text).to_bytes(8, "little") + text + b"".join(parts))


def read(path):
    """{name: (element type, shape, bytes)}."""
    names = {tag: name for name, tag in TAGS.items()}
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        data = file.read()
    return {name: (names[said["dtype"]], said["shape"], data[slice(*said["data_offsets"])])
            for name, said in header.items() if name != "__metadata__"}


def rows(parts):
    """The tensors of a data set: {"train": {"x": rows, ...}, "test": ...} have the names train.x ..."""
    return {f"{part}.{name}": value for part, tensors in parts.items() for name, value in tensors.items()}
