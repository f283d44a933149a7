"""compare_steps.py RUN LOG: are the outputs of `dopt -run` (step K NAME = VALUE, from step 0) and of a program
(step K NAME VALUE ..., from step 1) equal to single precision? Exits 1 with the first difference."""
import sys

TOLERANCE = 2e-5  # relative: single precision sums of 60 rows in another order, over five steps


def interpreter(path):
    for line in open(path):
        word = line.split()
        if word and word[0] == "step":
            yield (int(word[1]), word[2]), float(word[4])


def program(path):
    for line in open(path):
        word = line.split()
        if word and word[0] == "step":
            for name, value in zip(word[2::2], word[3::2]):
                yield (int(word[1]) - 1, name), float(value)


a, b = dict(interpreter(sys.argv[1])), dict(program(sys.argv[2]))
if not a or a.keys() != b.keys():
    sys.exit(f"other outputs: {sorted(a)} and {sorted(b)}")
for key in a:
    if abs(a[key] - b[key]) > TOLERANCE * max(1, abs(a[key])):
        sys.exit(f"{key}: {a[key]} and {b[key]}")
