"""launches.py DOPT LINK LIBDIR OUT [-run "OPTIONS"] OPTIONS MODEL: on the shim, does the program launch in each
step what -stats=json predicts, with bundles, and more without? Prints both numbers."""

import json
import re
import subprocess
import sys

STEPS = 2

dopt, link, libdir, out, *options = sys.argv[1:]
run = []
if options[0] == "-run":
    run = options[1].split()
    options = options[2:]


def done(*command, env=None):
    p = subprocess.run(command, capture_output=True, text=True, env=env)
    if p.returncode:
        sys.exit(f"{' '.join(command)}\n{p.stdout}{p.stderr}")
    return p


def launches(form):
    stats = done(dopt, "-target=cuda", "-stats=json", "-emit=none", *form, *options).stdout
    predicted = json.loads(stats)[-1]["cost"]["launches"]
    done(dopt, "-target=cuda", "-emit=program", *form, *options, "-o", out)
    done(link, out + ".src", out + ".shim", libdir)
    log = done(out + ".shim", "-steps", str(STEPS), *run, env={"SHIM_COUNT": "1"}).stderr
    ran = int(re.search(r"shim: (\d+) launches of kernels", log).group(1))
    if ran != STEPS * predicted:
        sys.exit(f"{form}: {predicted} launches predicted, {ran} in {STEPS} steps")
    return predicted


apart, together = launches(["-without=bundles"]), launches([])
print(together, "launches,", apart, "without bundles")
if not 0 < together < apart:
    sys.exit("no bundles")
