"""fewest.py NOTES COMMAND...: does the pipeline that plan printed to NOTES fit, and not one that computes a block less again?"""
import re
import subprocess
import sys

pipeline = re.search(r"-pass='([^']*)'", open(sys.argv[1]).read())[1]
first = int(re.search(r"recompute\{first=(\d+)\}", pipeline)[1])


def fits(n):
    passes = pipeline.replace(f"recompute{{first={first}}}", f"recompute{{first={n}}}")
    return subprocess.run([*sys.argv[2:], f"-pass={passes}", "-emit=none"], stderr=subprocess.PIPE).returncode == 0


print("fits" if fits(first) else "does not fit", f"with {first} of 16,", "but also" if fits(first - 1) else "not", "with one less")
