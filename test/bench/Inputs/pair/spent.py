"""What one run of a command takes."""
import os
import subprocess
import sys


def consumption(command):
    """Seconds on a core and peak memory in bytes of one run."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = status
    if status:
        sys.exit(f"{command[0]}: exit status {status}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss * 1024
