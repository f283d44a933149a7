"""Did every kernel of the first profile get more runs in the second, those alone on buffers in turn excepted?"""
import re
import sys


def runs(path):
    with open(path) as text:
        found = (re.match(r"op .*buffers=step .*runs=(\d+) .*key=(.*)$", line) for line in text)
        return {entry[2]: int(entry[1]) for entry in found if entry}


before, after = (runs(path) for path in sys.argv[1:])
if not before or any(after[key] <= n for key, n in before.items()):
    sys.exit(f"runs before: {before}, and after: {after}")
