"""kept.py FILE: name, type, shape and bytes of the tensors of a safetensors file."""
import json
import struct
import sys

data = open(sys.argv[1], "rb").read()
start = 8 + struct.unpack("<Q", data[:8])[0]
for name, t in json.loads(data[8:start]).items():
    if name == "__metadata__":
        continue
    begin, end = t["data_offsets"]
    print(name, t["dtype"], t["shape"], data[start + begin:start + end].hex())
