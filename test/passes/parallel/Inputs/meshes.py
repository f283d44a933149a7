"""meshes.py DOPT FILE [DEVICES...]: the meshes that parallelize makes for so many devices (default: 1 to 1024), against all meshes of at most three axes
that text can give it. What its plan costs is at most what the mesh of servers and cards leads to, and
at most 1 % more than the best of all meshes does. Prints a line for each number of devices."""
import itertools
import re
import subprocess
import sys

dopt, path, devices = sys.argv[1], sys.argv[2], sys.argv[3:] or (1, 2, 6, 8, 16, 24, 64, 1024)
UNIT = {"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
CARDS = 8  # of a server of cluster h100
ALL = 24  # up to so many devices every mesh is tried


def cost(path, nodes, options, *more):
    run = subprocess.run([dopt, "-cluster=h100", f"-D=nodes={nodes}", "-emit=none", "-remarks", *more,
                          f"-pass=grad,adam,parallelize{{replay=false{options}}}", path], capture_output=True, text=True)
    found = re.search(r"kernels and messages of the plan take ([0-9.]+)([a-z]+) together", run.stderr)
    if run.returncode or (not found and options != ",devices=1"):
        sys.exit(f"{path}, {options} {more}: exit {run.returncode}\n{run.stderr}")
    return float(found[1]) * UNIT[found[2]] if found else 0


def meshes(n):
    for sizes in itertools.product([d for d in range(1, n + 1) if n % d == 0], repeat=3):
        if sizes[0] * sizes[1] * sizes[2] == n and sorted(sizes, key=lambda d: d == 1) == list(sizes):
            yield "-mesh=" + ",".join(f"{name}={d}" for name, d in zip("abc", sizes) if d > 1)


for n in map(int, devices):
    nodes = -(-n // CARDS)
    made = cost(path, nodes, f",devices={n}")
    levels = cost(path, nodes, "", f"-mesh=node={nodes},card={n // nodes}") if n > 1 else 0
    best = min(cost(path, nodes, "", mesh) for mesh in meshes(n)) if 1 < n <= ALL else levels
    worse = made > levels * 1.001 or made > best * 1.01
    print(f"{path.split('/')[-1]}, {n} devices: {'worse: ' if worse else 'as good'}{made if worse else ''}{f' {levels} {best}' if worse else ''}")
