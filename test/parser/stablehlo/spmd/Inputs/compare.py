"""compare.py A B TOLERANCE: do two safetensors files have the same F32 tensors, relative to the largest element of each?"""

import array
import json
import struct
import sys


def tensors(path):
    """Name -> elements."""
    with open(path, "rb") as file:
        data = file.read()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + size])
    found = {}
    for name, entry in header.items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            begin, end = entry["data_offsets"]
            found[name] = array.array("f", data[8 + size + begin : 8 + size + end])
    return found


def main():
    a, b, tolerance = tensors(sys.argv[1]), tensors(sys.argv[2]), float(sys.argv[3])
    if not a or a.keys() != b.keys():
        sys.exit(f"{sorted(a)} and {sorted(b)}")
    for name, values in a.items():
        largest = max(abs(x) for x in values) or 1
        wrong = [(x, y) for x, y in zip(values, b[name]) if not abs(x - y) <= tolerance * largest]  # NaNs are among them
        if len(values) != len(b[name]) or wrong:
            sys.exit(f"{name}: {wrong[:9]} of {largest}")


main()
