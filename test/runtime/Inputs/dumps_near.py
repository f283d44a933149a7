"""dumps_near.py A B: two dumps have the same f32 tensors, within what another order of a few terms makes."""
import array
import json
import sys

TOLERANCE = 1e-5  # of the largest number of a tensor


def tensors(path):
    with open(path, "rb") as file:
        head = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        data = file.read()
    for name, entry in head.items():
        if name != "__metadata__":
            assert entry["dtype"] == "F32", entry
            yield name, array.array("f", data[slice(*entry["data_offsets"])])


one, other = (dict(tensors(path)) for path in sys.argv[1:])
assert one and one.keys() == other.keys(), (one.keys(), other.keys())
for name, a in one.items():
    b, most = other[name], max(map(abs, a))
    wrong = [(x, y) for x, y in zip(a, b, strict=True) if not abs(x - y) <= TOLERANCE * most]  # NaNs are among them
    assert most > 0 and not wrong, f"{name}: {wrong[:9]}, of {most}"
