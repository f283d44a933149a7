"""names.py SAVED TRACE: what names.dir, as a program, has written."""
import json
import struct
import sys

saved = open(sys.argv[1], "rb").read()
(length,) = struct.unpack("<Q", saved[:8])
header = json.loads(saved[8 : 8 + length])
header.pop("__metadata__")
assert list(header) == ['a\n"b*/c??/\\%s\x01'], list(header)
assert struct.unpack("<4f", saved[8 + length :]) == (1, 1, 1, 1)
json.load(open(sys.argv[2]))
