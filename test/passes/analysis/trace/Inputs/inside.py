"""Is the true offset of the second clock, ns, within the bounds of an alignment? inside.py CLOCKS OFFSET

Two ranks that meet in every step bound it from both sides.
"""
import json
import sys

with open(sys.argv[1]) as f:
    clock = json.load(f)["clocks"][1]
off = int(sys.argv[2]) - clock["offset_ns"]
print("off by %.3f us, bounds %.3f to %.3f us" % (off / 1e3, clock["low_ns"] / 1e3, clock["high_ns"] / 1e3))
sys.exit(not clock["low_ns"] - 1 <= off <= clock["high_ns"] + 1)
