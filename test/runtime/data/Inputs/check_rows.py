"""What layouts.test expects of the dump of layouts.c: rows of arange data, and a parameter's copy."""

import json
import struct
import sys


def read(path):
    content = open(path, "rb").read()
    length = struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8 : 8 + length])
    data = content[8 + length :]
    return {name: data[slice(*entry["data_offsets"])] for name, entry in header.items()
            if name != "__metadata__"}


dump, saved = read(sys.argv[1]), read(sys.argv[2])
x = struct.unpack("<96f", dump["x_again"])
rows = [x[12 * i : 12 * i + 12] for i in range(8)]
if all(row == tuple(range(int(row[0]), int(row[0]) + 12)) and row[0] % 12 == 0 for row in rows):
    print("rows are whole")
# Five rows end the first epoch, three begin the second: each part without a repetition.
if len(set(rows[:5])) == 5 and len(set(rows[5:])) == 3 and dump["p0_again"] == saved["p0"]:
    print("p0_again is p0")
