"""Folders of several safetensors files, without the runtime's own code.

shards.py merge DIR FILE      puts the parts together and compares all bytes with those of a file
shards.py foreign FILE DIR    divides a file as other frameworks do: whole tensors, an index without parts
shards.py uneven FILE DIR     divides a file into parts of different sizes, up to four of a tensor
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


def xxh64(data, seed):
    """XXH64 of its specification."""
    mask, p = (1 << 64) - 1, (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)

    def rotate(x, by):
        return (x << by | x >> (64 - by)) & mask

    def mix(lane, x):
        return rotate((lane + x * p[1]) & mask, 31) * p[0] & mask

    at, h = 0, (seed + p[4]) & mask
    if len(data) >= 32:
        lanes = [(seed + p[0] + p[1]) & mask, (seed + p[1]) & mask, seed, (seed - p[0]) & mask]
        while len(data) - at >= 32:
            lanes = [mix(lane, x) for lane, x in zip(lanes, struct.unpack_from("<4Q", data, at))]
            at += 32
        h = sum(rotate(lane, by) for lane, by in zip(lanes, (1, 7, 12, 18))) & mask
        for lane in lanes:
            h = ((h ^ mix(0, lane)) * p[0] + p[3]) & mask
    h = (h + len(data)) & mask
    while len(data) - at >= 8:
        h = (rotate(h ^ mix(0, struct.unpack_from("<Q", data, at)[0]), 27) * p[0] + p[3]) & mask
        at += 8
    if len(data) - at >= 4:
        h = (rotate(h ^ struct.unpack_from("<I", data, at)[0] * p[0] & mask, 23) * p[1] + p[2]) & mask
        at += 4
    for byte in data[at:]:
        h = rotate(h ^ byte * p[4] & mask, 11) * p[0] & mask
    h = (h ^ h >> 33) * p[1] & mask
    h = (h ^ h >> 29) * p[2] & mask
    return h ^ h >> 32


def xxh64_chain(contents):
    h = 0
    for content in contents:
        h = xxh64(content, h)
    return h


def read(path):
    with open(path, "rb") as f:
        size, = struct.unpack("<Q", f.read(8))
        header, data = json.loads(f.read(size)), f.read()
    metadata = header.pop("__metadata__", {})
    return metadata, {name: (t["dtype"], t["shape"], data[slice(*t["data_offsets"])]) for name, t in header.items()}


def write(path, tensors, metadata=None):
    header, data = {"__metadata__": metadata} if metadata else {}, b""
    for name, (dtype, shape, content) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text + data)


def whole(name, t, part_of):
    """The bytes of a tensor, element by element: each comes from the part whose box it is in."""
    size, shape, content = BYTES[t["dtype"]], t["shape"], b""
    if len(t["cuts"]) == 1 and len(shape) > 1:  # parts of the elements in order
        return t["dtype"], shape, whole(name, {**t, "shape": [math.prod(shape)]}, part_of)[2]
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


def uneven(path, folder):
    metadata, tensors = read(path)
    files, described = [{} for _ in range(4)], {}
    for name, (dtype, shape, content) in tensors.items():
        size, cuts = BYTES[dtype], [[0, 1] if n > 1 else [0] for n in shape]
        for number, cell in enumerate(itertools.product(*cuts)):
            box = [range(at, at + 1 if at + 1 in c else n) for at, c, n in zip(cell, cuts, shape)]
            part = b""
            for index in itertools.product(*box):
                at = 0
                for i, n in zip(index, shape):
                    at = at * n + i
                part += content[at * size:(at + 1) * size]
            files[number][name] = (dtype, [len(r) for r in box], part)
        described[name] = {"dtype": dtype, "shape": shape, "cuts": cuts, "files": list(range(number + 1))}
    names = ["part%d.safetensors" % i for i in range(4)]
    for name, parts in zip(names, files):
        write(os.path.join(folder, name), parts, metadata)
    own = {"files": [{"name": n, "bytes": os.path.getsize(os.path.join(folder, n))} for n in names], "tensors": described}
    for file, parts in zip(own["files"], files):
        file["digest"] = "%016x" % xxh64_chain([t[2] for t in parts.values()])
    with open(os.path.join(folder, INDEX), "w") as out:
        json.dump({"metadata": metadata, "weight_map": {}, "dopt": own}, out)


def same(one, other):
    assert read(one)[1] == read(other)[1]


def edit(folder, change):
    path = os.path.join(folder, INDEX)
    text, (old, new) = open(path).read(), change.split("=")
    assert old in text
    open(path, "w").write(text.replace(old, new, 1))


{"merge": merge, "foreign": foreign, "uneven": uneven, "same": same, "edit": edit}[sys.argv[1]](*sys.argv[2:])
