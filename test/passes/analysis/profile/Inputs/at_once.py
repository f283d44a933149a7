"""Several `dopt -measure` create one profile at the same time: each must end well, with all kernels in the profile.

    at_once.py MODEL FOLDER
"""
import os
import subprocess
import sys

model, folder = sys.argv[1:]
# Of two processes one failed in a quarter of all rounds when tables were made in place.
ROUNDS, PROCESSES = 6, 6
SECONDS = 300  # for a round

for i in range(ROUNDS):
    path = os.path.join(folder, f"{i}.db")
    command = ["dopt", "-measure", "-measure-limit=5ms", f"-profile={path}", model]
    started = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
               for _ in range(PROCESSES)]
    for process in started:
        errors = process.communicate(timeout=SECONDS)[1]
        assert process.returncode == 0, errors
    again = subprocess.run(command, capture_output=True, text=True, check=True)
    assert again.stdout.startswith("measured: 0 kernels"), again.stdout
left = sorted(name for name in os.listdir(folder) if not name.endswith((".db", ".db-wal", ".db-shm")))
assert not left, left
print(f"{ROUNDS * PROCESSES} processes, {ROUNDS} profiles")
