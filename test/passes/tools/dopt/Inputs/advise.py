"""advise.py DOPT BUDGET OPTION...: runs dopt with a budget that the step exceeds, and then each pipeline that its notes
offer: it has to need what the note says, and to be accepted with the budget exactly where the note says so. Prints the
passes and `fits` or `over` for each."""
import json
import re
import subprocess
import sys

NOTE = re.compile(r"note: (.*) would reduce it to (\S+), (which is within|still \S+ more than) the budget: -pass='(.*)'$")
UNITS = {"B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}


def dopt(*options):
    return subprocess.run([sys.argv[1], "-emit=none", *options], capture_output=True, text=True)


def size(text):
    number, unit = re.fullmatch(r"([0-9.]+)(\w+)", text).groups()
    return float(number) * UNITS[unit]


budget, options = "-budget=" + sys.argv[2], sys.argv[3:]
first = dopt(budget, *options)
if first.returncode != 1:
    sys.exit(f"exit status {first.returncode} instead of 1\n{first.stderr}")
rest = [o for o in options if not o.startswith("-pass=")]
notes = [NOTE.search(line) for line in first.stderr.splitlines() if " would reduce it to " in line]
for note in notes:
    if not note:
        sys.exit(f"a note that cannot be read\n{first.stderr}")
    passes, said, how, pipeline = note.groups()
    stats = dopt("-stats=json", budget, f"-pass={pipeline}", *rest)
    fits = stats.returncode == 0
    if not stats.stdout:
        sys.exit(f"-pass='{pipeline}': {stats.stderr}")
    peak = json.loads(stats.stdout)[-1]["cost"]["peak_bytes"]
    if abs(size(said) / peak - 1) > 0.005 or fits != how.startswith("which"):
        sys.exit(f"-pass='{pipeline}': said {said}, {how} the budget; found {peak}, {'fits' if fits else 'over'}")
    print(passes, "fits" if fits else "over")
print("others", "not tried" if "were not tried" in first.stderr else "none")
