"""Fails unless, in what dopt-profile evaluate prints, the network has more kernels within 14 % and a smaller median
error than the analytic estimate."""
import sys

rows = {}
for line in sys.stdin.read().splitlines()[1:]:
    name, source, _, *numbers = line.split()
    if name == "all":
        rows[source] = [float(x) for x in numbers]
within, median = 2, -1  # of 5, 10, 14, 20 and 50 %, and the median
network, analytic = rows["network"], rows["analytic"]
if not (network[within] > analytic[within] and network[median] < analytic[median]):
    sys.exit(f"network {network}, analytic {analytic}")
