"""Cuts a profile off at every byte: dopt-profile refuses it, or takes what are whole lines of it."""
import os
import subprocess
import sys

whole, stem = open(sys.argv[1]).read(), sys.argv[2]
lines = set(whole.splitlines())
refused = 0
for end in range(0, len(whole), 7):
    with open(stem, "w") as out:
        out.write(whole[:end])
    if os.path.exists(stem + ".db"):
        os.remove(stem + ".db")
    done = subprocess.run(["dopt-profile", "load", stem, stem + ".db"], capture_output=True, text=True)
    if done.returncode:
        assert done.returncode == 1 and "error: " in done.stderr, (end, done.stderr)
        assert not os.path.exists(stem + ".db"), end
        refused += 1
        continue
    dump = subprocess.run(["dopt-profile", "dump", stem + ".db"], capture_output=True, text=True)
    strange = set(dump.stdout.splitlines()) - lines
    # A key may be cut: nothing tells a whole one.
    assert len(strange) <= 1 and all(" key=" in line for line in strange), (end, strange)
print("nothing half:", refused, "cuts refused")
