"""The metadata of a safetensors file, or a copy with another.

usage: metadata.py FILE                        prints it, sorted by key
       metadata.py FILE -write COPY KEY=VALUE ...   none without keys; laid out as the runtime does it
"""
import json
import struct
import sys

content = open(sys.argv[1], "rb").read()
(length,) = struct.unpack("<Q", content[:8])
header, data = json.loads(content[8 : 8 + length]), content[8 + length :]
if len(sys.argv) == 2:
    print(" ".join("%s=%s" % pair for pair in sorted(header.get("__metadata__", {}).items())))
else:
    header.pop("__metadata__", None)
    metadata = dict(word.split("=", 1) for word in sys.argv[4:])
    if metadata:
        header = {"__metadata__": metadata, **header}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(len(text) + 8) % 64)
    with open(sys.argv[3], "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text + data)
