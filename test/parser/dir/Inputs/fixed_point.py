"""Prints every module below a folder, parses that and prints it again: the texts must be the same.

    fixed_point.py FOLDER SCRATCH [-part]

Files hold several modules with lines `// -----` between them. Modules that are wrong on purpose are
passed over; there must be many that are right. With -part, for sanitizers, one module in eight
(DOPT_RANDOM_SLICE, as in test/random/seeds.h).
"""
import itertools
import os
import pathlib
import subprocess
import sys

PARTS = 8
LEAST_RIGHT = 20  # modules: there are more in the tests of the parser and the passes alone


def dopt(path):
    done = subprocess.run(["dopt", str(path)], capture_output=True, text=True, timeout=60)
    return done.stdout if done.returncode == 0 else None


def main():
    folder, scratch = (pathlib.Path(p) for p in sys.argv[1:3])
    slice = os.environ.get("DOPT_RANDOM_SLICE", "0")
    chosen = itertools.cycle([True])
    if sys.argv[3:] == ["-part"] and slice != "all":
        chosen = (n % PARTS == int(slice) % PARTS for n in itertools.count())
        print(f"DOPT_RANDOM_SLICE={slice}")
    right = failed = 0
    for path in sorted(folder.rglob("*.dir")):
        for i, text in enumerate(path.read_text(errors="surrogateescape").split("\n// -----\n")):
            if not next(chosen):
                continue
            piece = scratch / "piece.dir"
            piece.write_text(text, errors="surrogateescape")
            once = dopt(piece)
            if once is None:
                continue
            right += 1
            piece.write_text(once)
            if dopt(piece) != once:
                failed += 1
                print(f"module {i} of {path} does not print as a fixed point")
    print(f"{right - failed} of {right} modules")
    sys.exit(failed > 0 or right < LEAST_RIGHT)


main()
