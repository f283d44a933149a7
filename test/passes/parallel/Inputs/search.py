"""search.py DOPT FILE BUDGET STEPS...: the schedule that pipeline searches for, against those that have a name: of steps with
gradients and Adam whose memory is within the budget, none is shorter. Prints for each number of steps whether the search found
a shorter one than all of these."""
import json
import subprocess
import sys

dopt, path, budget, steps = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]


def predict(schedule, m):
    run = subprocess.run([dopt, "-stats=json", "-emit=none", *["-budget=" + budget] * (schedule == "search"), "-D", "B=16", path,
                          f"-pass=pipeline{{stages=4,steps={m},schedule={schedule}}},grad,adam"], capture_output=True, text=True)
    if run.returncode:
        sys.exit(f"{schedule}: exit {run.returncode}\n{run.stderr}")
    cost = json.loads(run.stdout)[-1]["cost"]
    return cost["iteration"], cost["peak_bytes"]


for m in steps:
    named = [predict(name, m) for name in ("gpipe", "1f1b", "zb1p", "zb2p")]
    fits = [time for time, peak in named if peak <= float(budget[:-2]) * 1e9]
    time, peak = predict("search", m)
    if fits and (time > min(fits) * (1 + 1e-9) or peak > float(budget[:-2]) * 1e9):
        sys.exit(f"{m}: {time} s and {peak} bytes, by name {named}")
    print(f"{m}:", "shorter" if fits and time < .99 * min(fits) else "as short")
