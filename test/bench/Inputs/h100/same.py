#!/usr/bin/env python3
"""same.py CLUSTER FITTED: is what the cluster says that an H100 reaches what `dopt-profile fit` printed?"""
import re
import sys

# The order in which sums are added up differs between machines, and with it the end of the search for the least error.
TOLERANCE = 0.02
UNITS = {"us": 1, "MB": 1, "KB": 1e-3, "": 1}


def items(path):
    found = {}
    for body in re.findall(r"reach h100 \{(kernel[^}]*)\}", open(path).read()):
        fields = dict(re.findall(r"(\w+) = ([^,\s]+)", re.sub(r'source = "[^"]*"', "", body)))
        name = fields.pop("kernel"), fields.pop("type", "f32")
        values = (re.fullmatch(r"([\d.e+-]+)(\D*)", v).groups() for v in fields.values())
        found[name] = {k: float(number) * UNITS[unit] for k, (number, unit) in zip(fields, values)}
    return found


cluster, fitted = items(sys.argv[1]), items(sys.argv[2])
wrong = [name for name in cluster.keys() | fitted.keys() if cluster.get(name, {}).keys() != fitted.get(name, {}).keys() or any(
    abs(v - fitted[name][k]) > TOLERANCE * abs(v) for k, v in cluster[name].items())]
for name in sorted(wrong):
    print(*name, cluster.get(name), fitted.get(name))
print(len(cluster), "items,", len(wrong), "differ")
sys.exit(bool(wrong))
