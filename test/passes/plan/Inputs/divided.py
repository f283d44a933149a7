"""divided.py DOPT MODEL: plan finds the fewest micro-batches of divided.dir that fit, with recipes alone.

For one row the backward pass needs a and its gradient, and that of c; the loss needs four numbers. The whole step holds its
inputs, and each param six times: itself, two states of Adam, its gradient, the sum of these, and the update. More budget makes no step
slower. On four devices no pass that a whole step had no memory for, such as overlap, would make the divided step faster.
"""
import re
import subprocess
import sys

DOPT, MODEL = sys.argv[1:]
ROWS, WIDTH, HIDDEN = 4096, 64, 512
NEAR = 0.01  # rounding of buffers
SECONDS = {"s": 1, "ms": 1e-3, "us": 1e-6}
BYTES = {"GB": 1e9, "MB": 1e6, "KB": 1e3}


def needs(n):
    return 4 * (ROWS * (WIDTH + 1) + 6 * 2 * WIDTH * HIDDEN + ROWS // n * (2 * HIDDEN + WIDTH + 4))


def unit(text, units):
    number, name = re.fullmatch(r"([0-9.]+)(\w+)", text).groups()
    return float(number) * units[name]


def plan(*words, evaluations=1):
    passes = f"-pass=plan{{evaluations={evaluations}}}"
    notes = subprocess.run([DOPT, *words, "-emit=none", passes, MODEL], text=True, capture_output=True).stderr
    told = re.search(r"note: plan: (\S+), (\S+) of .*\n.*note: plan: (?:-mesh=(\S+) )?-pass='(.*)'", notes)
    if not told:
        sys.exit(notes)
    return unit(told[1], SECONDS), unit(told[2], BYTES), told[3], told[4]


def run(budget, passes, *words):
    """Seconds, or None if it does not fit."""
    done = subprocess.run([DOPT, *words, f"-budget={budget}", "-emit=none", "-stats=json", f"-pass={passes}", MODEL], text=True, capture_output=True)
    found = re.findall(r'"iteration": *([0-9.e-]+)', done.stdout)
    return float(found[-1]) if done.returncode == 0 else None


wrong, before = 0, 0.0
for n in (2, 4, 8, 16):
    budget = int(needs(n) + needs(n // 2)) // 2
    seconds, bytes_, _, passes = plan(f"-budget={budget}")
    fewer = passes.replace(f"{{steps={n}}}", f"{{steps={n // 2}}}")
    ok = f"accumulate{{steps={n}}}" in passes and abs(bytes_ / needs(n) - 1) < NEAR and seconds >= before and run(budget, fewer) is None
    if not ok:
        print(f"{n}: {budget}: {seconds} s, {bytes_} of {needs(n)} bytes with {passes}")
    before = seconds
    wrong += not ok

# A step that a move has made smaller as a whole may need more micro-batches than the recipe itself, and is slower then.
seconds, _, _, passes = plan("-budget=3MB", evaluations=15)
by_hand = min(t for n in (8, 16, 32, 64) if (t := run("3MB", f"inline,accumulate{{steps={n}}},grad,adam,opfuse")))
if seconds > by_hand * (1 + NEAR):
    print(f"{passes}: {seconds} s; the recipe by hand {by_hand} s")
    wrong += 1

MESH = ("-cluster=h100", "-D", "nodes=1")
seconds, _, mesh, passes = plan(*MESH, "-budget=2500KB")
for entry in ("overlap", "unshard"):
    other = run("2500KB", passes.replace("prefetch", f"prefetch,{entry}", 1), *MESH, f"-mesh={mesh}") if entry not in passes else None
    if "accumulate" not in passes or (other and other < seconds * (1 - NEAR)):
        print(f"{passes}: {seconds} s; with {entry} {other} s")
        wrong += 1
print(f"4 budgets, {wrong} wrong")
