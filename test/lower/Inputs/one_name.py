"""Builds two modules under one name at the same time, again and again: what is there in the end is a program and
sources of one of them, and the files that somebody else had put among the sources.

    one_name.py FOLDER MODULE MODULE
"""
import filecmp
import os
import subprocess
import sys

folder, modules = sys.argv[1], sys.argv[2:]
ROUNDS, PROCESSES = 4, 4
SECONDS = 300


def start(module, output):
    return subprocess.Popen(["dopt", "-emit=program", "-o", os.path.join(folder, output), module])


def is_build_of(output, other):
    """The same program, and the same sources but for the files of others."""
    a, b = os.path.join(folder, output), os.path.join(folder, other)
    names = [name for name in os.listdir(b + ".src") if name.endswith((".c", ".h"))]
    return filecmp.cmp(a, b, shallow=False) and sorted(names) == sorted(
        name for name in os.listdir(a + ".src") if name.endswith((".c", ".h"))
    ) and filecmp.cmpfiles(a + ".src", b + ".src", names, shallow=False)[0] == names


alone = [f"alone-{i}" for i in range(len(modules))]
for module, output in zip(modules, alone):
    assert start(module, output).wait(SECONDS) == 0
assert not is_build_of(*alone)

sources = os.path.join(folder, "same.src")
os.makedirs(sources)
with open(os.path.join(sources, "notes.txt"), "w") as text:
    text.write("mine")
for _ in range(ROUNDS):
    started = [start(modules[i % len(modules)], "same") for i in range(PROCESSES)]
    assert all(process.wait(SECONDS) == 0 for process in started)
    assert any(is_build_of("same", output) for output in alone), sorted(os.listdir(sources))
    subprocess.run([os.path.join(folder, "same"), "-steps", "1"], check=True, stdout=subprocess.DEVNULL)
    with open(os.path.join(sources, "notes.txt")) as text:
        assert text.read() == "mine"
left = sorted(os.listdir(folder))
assert left == sorted([*alone, *(a + ".src" for a in alone), "same", "same.src"]), left
print(f"{ROUNDS * PROCESSES} builds of one name")
