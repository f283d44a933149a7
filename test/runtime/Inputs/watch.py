"""Starts a program that prints a line a step and acts on what it prints: tests of what happens while it runs.

usage: watch.py STAGES COMMAND...   stages, with commas between them, are done one after the other, each at one of the
                                    lines "step ...":
  SIGNAL         sends it to the process that was started
  SIGNAL@RANK    to the process of a rank under mpirun, whose number is in the file $PIDS.RANK (ranked.sh)
  SIGNAL+SIGNAL  sends the second one a moment after the first
  +SIGNAL        a moment after the line: in the midst of a next step that takes longer
  saved          waits until a file exists whose path begins with $SAVED
  cut:N:FILE     cuts the file to N bytes

Prints the other lines, stderr's too, and "exit STATUS". mpirun may put a message behind half a line of a step: what is
more than a step and its outputs is printed.
"""
import glob
import os
import re
import signal
import subprocess
import sys
import threading
import time

# Between two signals of one stage: the first has been handled by then.
MOMENT = 0.3
# Far more than any of these programs needs; lit has a limit of its own, but kills nothing that it did not start.
SECONDS = 120
STEP = re.compile(r"step \d+( \S+ [-+.0-9einfa]+)*\s*")

stages, command = sys.argv[1].split(","), sys.argv[2:]
# Whoever started us may ignore SIGINT, as a shell does in the background.
process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                           preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
limit = threading.Timer(SECONDS, process.kill)
limit.start()


def pid_of(rank):
    if not rank:
        return process.pid
    with open("%s.%s" % (os.environ["PIDS"], rank)) as file:
        return int(file.read())


def done(stage):
    """Does what it says; False if it must be tried again."""
    if stage == "saved":
        return bool(glob.glob(os.environ["SAVED"] + "*"))
    if stage.startswith("cut:"):
        _, size, path = stage.split(":", 2)
        os.truncate(path, int(size))
    else:
        names, _, rank = stage.partition("@")
        try:
            for i, name in enumerate(names.split("+")):
                time.sleep(MOMENT if i else 0)
                if name:
                    os.kill(pid_of(rank), getattr(signal, "SIG" + name))
        except ProcessLookupError:
            pass  # an earlier signal was enough
    return True


for line in process.stdout:
    if not STEP.fullmatch(line):
        print(line, end="")
    if line.startswith("step ") and stages and done(stages[0]):
        stages.pop(0)
print("exit", process.wait())
limit.cancel()
