"""Kills dopt while it measures, as soon as a few results are stored; then lets it measure the rest."""
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time

model, folder = sys.argv[1:]
path = os.path.join(folder, "p.db")
command = [
    "dopt", "-measure", "-measure-buffers=rotate", f"-profile={path}", "-D", "N=1", "-D", "B=30",
    "-pass=grad,adam", model,
]
# Results that are waited for before the kill.
ENOUGH = 3
SECONDS = 100
env = dict(os.environ, TMPDIR=folder)


def entries():
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        return set(db.execute("SELECT * FROM op"))
    finally:
        db.close()


def wait_for(condition):
    end = time.time() + SECONDS
    while not condition():
        assert time.time() < end, "took too long"
        time.sleep(0.002)


def enough():
    try:
        return len(entries()) >= ENOUGH
    except sqlite3.Error:  # not there yet
        return False


def measuring():
    """Processes whose program lies in the folder."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink(f"/proc/{pid}/exe").startswith(folder):
                found.append(pid)
        except OSError:
            pass
    return found


started = subprocess.Popen(command, env=env, start_new_session=True, stdout=subprocess.DEVNULL)
wait_for(enough)
assert started.poll() is None, "it ended by itself"
started.send_signal(signal.SIGKILL)
started.wait()
wait_for(lambda: not measuring())

db = sqlite3.connect(path)
assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
db.close()
first = entries()
assert len(first) >= ENOUGH

again = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
added = int(re.match(r"measured: (\d+) kernels", again.stdout).group(1))
everything = entries()
assert first <= everything and len(everything) == len(first) + added and added > 0
nothing = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
assert nothing.stdout.startswith("measured: 0 kernels and 0 collectives"), nothing.stdout
left = [name for name in os.listdir(folder) if not name.startswith("p.db")]
assert not left, left
print(f"killed with {len(first)} of {len(everything)} kernels; the rest was added")
