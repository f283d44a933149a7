"""Cuts FILE to 4096 bytes as soon as the command that follows has it mapped; prints how the command ends."""
import glob
import os
import subprocess
import sys
import time

file, command = os.path.realpath(sys.argv[1]), sys.argv[2:]
process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def family(pid):
    """A process and its children."""
    found = [pid]
    for path in glob.glob("/proc/%d/task/*/children" % pid):
        with open(path) as children:
            found += [int(child) for child in children.read().split()]
    return found


def has_mapped(pid):
    try:
        with open("/proc/%d/maps" % pid) as maps:
            return file in maps.read()
    except OSError:
        return False


while process.poll() is None and not any(has_mapped(pid) for pid in family(process.pid)):
    time.sleep(0.001)
os.truncate(file, 4096)
print(process.communicate()[0], end="")
print("exit", process.returncode)
