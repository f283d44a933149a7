"""Ends dopt by signals while it compiles and while it measures: of what it started nothing goes on, and of the
folders that it created nothing is left.

    killed.py FOLDER MODEL
"""
import os
import signal
import subprocess
import sys
import time

folder, model = os.path.abspath(sys.argv[1]), sys.argv[2]
work, output = os.path.join(folder, "tmp"), os.path.join(folder, "out")
SECONDS = 120  # for whatever is waited for
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL)
PASSES = ["-D", "N=1", "-D", "B=30", "-pass=grad,adam"]
COMMANDS = {
    "program": ["dopt", "-emit=program", "-o", os.path.join(output, "p"), *PASSES, model],
    "measure": ["dopt", "-measure", "-profile=" + os.path.join(folder, "p.db"), *PASSES, model],
    "trial": ["dopt", "-trial=opfuse", "-emit=none", *PASSES, model],
    "reproducer": ["dopt", "-reproducer=" + os.path.join(folder, "r.dir"), "-emit=program",
                   "-o", os.path.join(output, "p"), *PASSES, model],
}


def wait_for(what, condition):
    end = time.time() + SECONDS
    while not condition():
        assert time.time() < end, f"waited for {what}: {processes()}, {os.listdir(work)}, {os.listdir(output)}"
        time.sleep(0.005)


def processes():
    """Names of the processes that have our $TMPDIR, or a folder below it, and have not ended."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as text:
                ours = any(v.startswith(b"TMPDIR=" + folder.encode()) for v in text.read().split(b"\0"))
            if ours:
                with open(f"/proc/{pid}/comm") as text:
                    found.append(text.read().strip())
        except OSError:
            pass
    return found


def heed_signals():
    """Shells start what runs in the background with these ignored."""
    for number in SIGNALS[:-1]:
        signal.signal(number, signal.SIG_DFL)


def kill(command, number, moment):
    started = subprocess.Popen(command, env=dict(os.environ, TMPDIR=work), stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, start_new_session=True,
                               preexec_fn=heed_signals)
    wait_for(moment, lambda: started.poll() is not None or moment in processes())
    assert started.poll() is None, f"{command} ended before there was a process {moment}"
    started.send_signal(number)
    assert started.wait(SECONDS) == -number, started.returncode
    wait_for("processes to end", lambda: not processes())
    wait_for("folders to go", lambda: not os.listdir(work) and not os.listdir(output))


os.makedirs(work)
os.makedirs(output)
count = 0
for name, command in COMMANDS.items():
    for number in SIGNALS:
        kill(command, number, "cc1")
        count += 1
for number in SIGNALS:
    kill(COMMANDS["measure"] + ["-measure=all", "-measure-buffers=rotate"], number, "program")
    count += 1
print(f"{count} killed, nothing is left")
