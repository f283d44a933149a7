"""Prints the architectures of the machine code in a file of nvcc's -fatbin: its header, then entries, each a header
(kind, 2: machine code; its own size; the size of what follows; the architecture) and its bytes."""

import struct
import sys

data = open(sys.argv[1], "rb").read()
magic, _, size, body = struct.unpack_from("<IHHQ", data)
assert magic == 0xBA55ED50
found, at = [], size
while at < size + body:
    kind, _, header, payload = struct.unpack_from("<HHIQ", data, at)
    if kind == 2:
        found.append(struct.unpack_from("<I", data, at + 28)[0])
    at += header + payload
print(*sorted(found))
