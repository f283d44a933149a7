"""Prints tensors of a safetensors file. tensor.py FILE NAME..."""
import json
import struct
import sys

TYPES = {"F32": "f", "I32": "i"}

with open(sys.argv[1], "rb") as f:
    size, = struct.unpack("<Q", f.read(8))
    header, data = json.loads(f.read(size)), f.read()
for name in sys.argv[2:]:
    begin, end = header[name]["data_offsets"]
    print(name, *(x for x, in struct.iter_unpack("<" + TYPES[header[name]["dtype"]], data[begin:end])))
