"""layouts.py DOPT MODULE TEXT: are the outputs of a module, by meaning, those of its StableHLO text, where each replica has
its part of them? dopt.mesh and dopt.type in the text say which."""
import itertools
import json
import re
import subprocess
import sys

dopt, module, path = sys.argv[1:]


def run(file):
    """name -> value of the outputs of one step, as nested lists."""
    done = subprocess.run([dopt, "-run", file], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    lines = (line.split(" = ", 1) for line in done.stdout.splitlines())
    return {head.split(" ", 2)[2]: json.loads(value) for head, value in lines}


def element(value, at):
    for i in at:
        value = value[i]
    return value


text = open(path).read()
mesh = [(n, int(s)) for n, s in re.findall(r"(\w+) = (\d+)", re.search(r'dopt.mesh = "(.*?)"', text).group(1))]
size = dict(mesh)
whole, parts, count = run(module), run(path), 0

for name, layout in re.findall(r'jax.result_info = "(.*?)", dopt.type = "(.*?)"', text):
    dims = [d.split("/") for d in re.search(r"\[(.*?)\]", layout).group(1).split(",") if d]
    single = {n: int(k) for n, k in re.findall(r"@(\w+)=(\d+)", layout)}
    local = []
    for d in dims:
        local.append(int(d[0]))
        for axis in d[1:]:
            local[-1] //= size[axis]
    ranges = [range(n) for n in local]
    shape, probe = [], parts[name]
    while isinstance(probe, list):
        shape.append(len(probe))
        probe = probe[0]
    lead = shape[:len(shape) - len(dims)]  # one for each axis that the value differs over; no two have one size
    if shape[len(lead):] != local or any(n not in size.values() for n in lead):
        sys.exit(f"{name}: shape {shape} of parts {local}")
    axes = [axis for axis in size if size[axis] in lead]
    for place in itertools.product(*(range(s) for _, s in mesh)):
        at = dict(zip(size, place))
        if any(at[n] != k for n, k in single.items()):
            continue
        for index in itertools.product(*ranges):
            place_of = [at[axis] for axis in axes]
            there = []
            for i, n, d in zip(index, local, dims):
                number = 0
                for axis in d[1:]:
                    number = number * size[axis] + at[axis]
                there.append(number * n + i)
            a, b = element(whole[name], there), element(parts[name], place_of + list(index))
            if not abs(a - b) <= 2e-6 * max(1, abs(a)):
                sys.exit(f"{name}{there}: {a}, of replica {place} {b}")
    count += 1
print(f"{count} outputs are the same")
