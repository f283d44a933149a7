"""paste.py NOTES COMMAND...: runs the command with the options that the note of plan in NOTES says, and prints what it prints."""
import re
import shlex
import subprocess
import sys

notes = open(sys.argv[1]).read()
found = re.findall(r"^dopt: note: plan: ((?:-budget=\d+ )?(?:-mesh=\S+ )?-pass='.*')$", notes, re.M)
if len(found) != 1:
    sys.exit(f"expected one command, found {len(found)}\n{notes}")
sys.exit(subprocess.run([*sys.argv[2:], *shlex.split(found[0])]).returncode)
