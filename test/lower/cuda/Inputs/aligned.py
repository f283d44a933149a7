"""aligned.py STEP: counts the products of a CUDA program by whether all rows of their matrices begin at multiples of 16 bytes.
A leading dimension of less than 16 bytes is not counted: such a matrix is a vector or nearly one."""
import re
import sys

BYTES = {"f64": 8, "f32": 4, "bf16": 2, "f16": 2}
counts = {True: 0, False: 0}
for line in open(sys.argv[1]):
    row = re.match(r"\t\{RT_(\w+), (?:true|false), (.*)\},$", line)
    if not row:
        continue
    lda, ldb, ldc = map(int, row[2].split(", ")[7:10])
    rows = [n * BYTES[row[1]] for n in (lda, ldb, ldc)]
    counts[all(n % 16 == 0 for n in rows if n >= 16)] += 1
print(f"{counts[True]} aligned, {counts[False]} not")
