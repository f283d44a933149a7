"""joint.py DOPT FILE DEFINES...: a step split over the 8 H100 of a server: with a plan alone, with rules that pay on one device
and then a plan, and with rules that pay with the plan. Prints the rules, and which step is faster."""
import json
import re
import subprocess
import sys

PLAN = "grad,sgd,parallelize{%sdevices=8},opfuse"
RULES = 'rewrite{policy=search,confirm=false,before="%s"},'
RUNS = {"plan": "", "apart": RULES % "grad,sgd,opfuse", "joint": RULES % (PLAN % "sweeps=10,replay=false,known=true,")}

dopt, file, *defines = sys.argv[1:]
took = {}
for name, rules in RUNS.items():
    done = subprocess.run([dopt, "-cluster=h100", "-remarks", "-stats=json", "-emit=none", *(f"-D={d}" for d in defines),
                           f"-pass=inline,{rules}{PLAN % ''}", file], text=True, capture_output=True, check=True)
    took[name] = json.loads(done.stdout)[-1]["cost"]["iteration"]
    print(f"{name}:", *re.findall(r"rewrite: applied: rule (\w+)", done.stderr))
for name in ("plan", "apart"):
    a, b = took["joint"], took[name]
    print("joint is", "faster than" if a < 0.999 * b else "slower than" if a > 1.001 * b else "as fast as", name)
