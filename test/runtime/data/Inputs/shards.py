"""Folders of several safetensors files, without the runtime's own code.

shards.py merge DIR FILE      puts the parts together and compares all bytes with those of a file
shards.py foreign FILE DIR    divides a file as other frameworks do: whole tensors, an index without parts
shards.py same FILE FILE      compares the tensors of two files
shards.py edit DIR JSON=JSON  replaces text in the index
"""
import glob
import itertools
import json
import math
import os
import struct
import sys

BYTES = {"F64": 8, "F32": 4, "BF16": 2, "I32": 4, "I64": 8, "U64": 8}
INDEX = "model.safetensors.index.json"


def read(path):
    with open(path, "rb") as f:
        size, = struct.unpack("<Q", f.read(8))
        header, data = json.loads(f.read(size)), f.read()
    metadata = header.pop("__metadata__", {})
    return metadata, {name: (t["dtype"], t["shape"], data[slice(*t["data_offsets"])]) for name, t in header.items()}


def write(path, tensors):
    header, data = {}, b""
    for name, (dtype, shape, content) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text + data)


def whole(name, t, part_of):
    """The bytes of a tensor, element by element: each comes from the part whose box it is in."""
    size, shape, content = BYTES[t["dtype"]], t["shape"], b""
    grid = list(itertools.product(*(range(len(cuts)) for cuts in t["cuts"])))
    assert len(grid) == len(t["files"])
    for index in itertools.product(*map(range, shape)):
        cell = tuple(max(k for k, at in enumerate(cuts) if at <= i) for i, cuts in zip(index, t["cuts"]))
        dtype, extent, part = part_of(t["files"][grid.index(cell)], name)
        assert dtype == t["dtype"]
        at = 0
        for i, k, cuts, n in zip(index, cell, t["cuts"], extent):
            at = at * n + i - cuts[k]
        content += part[at * size:(at + 1) * size]
    return t["dtype"], shape, content


def merge(folder, path):
    index = json.load(open(os.path.join(folder, INDEX)))
    metadata, expected = read(path)
    files = [read(os.path.join(folder, f["name"])) for f in index["dopt"]["files"]]
    found = {name: whole(name, t, lambda file, name: files[file][1][name]) for name, t in index["dopt"]["tensors"].items()}
    assert found == expected, [name for name in expected if found.get(name) != expected[name]]
    total = sum(len(content) for _, _, content in expected.values())
    # Every part is written once, and by no file that the index does not name.
    assert sum(len(content) for _, tensors in files for _, _, content in tensors.values()) == total
    assert index["metadata"] == {"total_size": total, **metadata}
    names = sorted(f["name"] for f in index["dopt"]["files"])
    assert names == sorted(map(os.path.basename, glob.glob(folder + "/*.safetensors")))
    for name, file in index["weight_map"].items():
        assert read(os.path.join(folder, file))[1][name] == expected[name]
    held = [sum(len(content) for _, _, content in tensors.values()) for _, tensors in files]
    print("%d files, %d of %d tensors whole, largest file %d %% of all" % (
        len(files), len(index["weight_map"]), len(expected), math.ceil(100 * max(held) / total)))


def foreign(path, folder):
    tensors = read(path)[1]
    names = sorted(tensors)
    weight_map = {}
    for i, part in enumerate((names[::2], names[1::2])):
        name = "model-%05d-of-00002.safetensors" % (i + 1)
        write(os.path.join(folder, name), {n: tensors[n] for n in part})
        weight_map.update({n: name for n in part})
    with open(os.path.join(folder, INDEX), "w") as out:
        json.dump({"metadata": {"total_size": sum(len(t[2]) for t in tensors.values())}, "weight_map": weight_map}, out)


def same(one, other):
    assert read(one)[1] == read(other)[1]


def edit(folder, change):
    path = os.path.join(folder, INDEX)
    text, (old, new) = open(path).read(), change.split("=")
    assert old in text
    open(path, "w").write(text.replace(old, new, 1))


{"merge": merge, "foreign": foreign, "same": same, "edit": edit}[sys.argv[1]](*sys.argv[2:])
