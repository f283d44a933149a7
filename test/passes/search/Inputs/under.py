"""under.py MEGABYTES COMMAND...: runs the command; fails where it fails, or where its memory (peak resident set) is not
below that many MB, which a search that cannot allocate must not hide."""
import resource
import subprocess
import sys

limit = int(sys.argv[1])
status = subprocess.run(sys.argv[2:]).returncode
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 / 1e6
print("peak of %d MB, limit of %d MB" % (peak, limit), file=sys.stderr)
sys.exit(status if status else peak >= limit)
