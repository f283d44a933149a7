"""races.py LINK LIBDIR FOLDER PROGRAM: runs a CUDA program on this processor with its accesses to memory checked, as it is and
without each barrier of its kernels.cu and of the sums of a block (runtime/cuda/device.h) in turn. Prints which of these runs a
race ends: the barrier's line and the next ones."""

import os
import re
import subprocess
import sys

link, libdir, folder, program = sys.argv[1:]
os.environ["SHIM_CHECKED"] = "1"
CALL = re.compile(r"__sync(threads|warp)\(\);")
RACE = re.compile(r"(\w+) (?:shared|global) memory at .* (\w+), and no barrier is between them")


def run(text):
    open(f"{folder}/kernels.cu", "w").write(text)
    subprocess.run(["rm", "-f", f"{folder}/shim/kernels.o"], check=True)
    subprocess.run([link, folder, f"{folder}/run", libdir], check=True)
    return subprocess.run([f"{folder}/run", "-steps", "1"], capture_output=True, text=True)


def header(name):
    top = os.path.normpath(f"{os.path.dirname(link)}/../../../..")
    return open(f"{top}/runtime/cuda/{name}.h").read()


subprocess.run(["cp", "-r", f"{program}.src/.", folder], check=True)
include = '#include "runtime/cuda/device.h"\n'
device, kernels = header("device"), open(f"{folder}/kernels.cu").read()
sums = device.index("#define DEV_BLOCK("), device.index("DEV_WARP(warp_sum")
done = run(kernels)
print(f"as it is: {'ran' if done.returncode == 0 else done.stderr}")
whole = kernels.replace(include, device)
offset = kernels.index(include)
for c in CALL.finditer(whole):
    if offset <= c.start() < offset + len(device) and not sums[0] <= c.start() - offset < sums[1]:
        continue
    done = run(whole[:c.start()] + whole[c.end():])
    race = RACE.search(done.stderr)
    after = " ".join(whole[c.end():].replace("\\", "").split())[:40]
    print(f"before '{after}': {' after '.join(race.groups()) if race else 'nothing'}")
