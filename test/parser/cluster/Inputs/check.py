"""Compares the messages of dopt about clusters with what comments in their texts say.

    check.py DOPT FOLDER

`//! COLUMN WORDS` behind a line is an error of that line; `//! N:COLUMN WORDS` one of the line N further on.
"""
import pathlib
import re
import subprocess
import sys


def expected(text):
    for number, line in enumerate(text.splitlines(), 1):
        for further, column, words in re.findall(r"//! (?:(\d+):)?(\d+) (.*)", line):
            yield number + int(further or 0), int(column), words


def check(dopt, path):
    text = path.read_text()
    done = subprocess.run([dopt, f"-list-clusters={path}"], capture_output=True, text=True, timeout=60)
    found = [(int(line), int(column), words) for line, column, words in
             re.findall(r"^\S*:(\d+):(\d+): error: (.*)$", done.stderr, re.M)]
    wanted = list(expected(text))
    for message in wanted:
        if message not in found:
            print(f"{path.name}: not reported: {message}")
    for message in found:
        if message not in wanted:
            print(f"{path.name}: reported: {message}")
    if len(found) != len(wanted) or done.returncode != 1:
        print(f"{path.name}: {len(found)} messages for {len(wanted)}, exit status {done.returncode}")
    return wanted and sorted(found) == sorted(wanted) and done.returncode == 1


paths = sorted(pathlib.Path(sys.argv[2]).glob("*.cluster"))
results = [check(sys.argv[1], path) for path in paths]
sys.exit(0 if results and all(results) else 1)
