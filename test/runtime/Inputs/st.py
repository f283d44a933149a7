"""Writes a safetensors file for the tests, without the runtime's own writer.

usage: st.py FILE NAME=TYPE:SHAPE:EXPRESSION ...   the expression gives element i (row-major)
"""

import json
import math
import struct
import sys

TYPES = {"F32": "f", "F64": "d", "F16": "e", "BF16": None, "I64": "q", "U64": "Q", "I32": "i", "U8": "B", "I8": "b", "I16": "h"}


def pack(dtype, values):
    if dtype == "BF16":  # the upper half of an F32: only for values that need no rounding
        return b"".join(struct.pack("<f", x)[2:] for x in values)
    return struct.pack("<%d%s" % (len(values), TYPES[dtype]), *values)


header, data = {}, b""
for argument in sys.argv[2:]:
    name, rest = argument.split("=", 1)
    dtype, shape, expression = rest.split(":", 2)
    shape = [int(size) for size in shape.split(",") if size]
    values = [eval(expression, {"i": i, "sin": math.sin}) for i in range(math.prod(shape))]
    bytes_ = pack(dtype, values)
    offsets = [len(data), len(data) + len(bytes_)]
    header[name] = {"dtype": dtype, "shape": shape, "data_offsets": offsets}
    data += bytes_
text = json.dumps(header).encode()
with open(sys.argv[1], "wb") as out:
    out.write(struct.pack("<Q", len(text)) + text + data)
