"""steps_emit.py DOPT STEPS_FOLDER SCRATCH [MLIR_OPT]: every program of steps/ is read, verified and printed; the text that is
printed is read and printed the same; what is emitted is read again, by mlir-opt too."""
import pathlib
import subprocess
import sys

dopt, folder, scratch, *mlir_opt = sys.argv[1:]
scratch = pathlib.Path(scratch)
scratch.mkdir(parents=True, exist_ok=True)
count = 0


def run(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout[-500:]}{done.stderr[:2000]}")


for path in sorted(pathlib.Path(folder).glob("*.mlir")):
    once, twice, emitted = scratch / "once.dir", scratch / "twice.dir", scratch / "emitted.mlir"
    run(dopt, path, "-o", once)
    run(dopt, once, "-o", twice)
    if once.read_bytes() != twice.read_bytes():
        sys.exit(f"{path.name}: printed, read and printed it is another text")
    run(dopt, "-emit=stablehlo", path, "-o", emitted)
    run(dopt, emitted, "-emit=none")
    if mlir_opt:
        run(mlir_opt[0], "--allow-unregistered-dialect", emitted, "-o", "/dev/null")
    print(path.name)
    count += 1
print(f"{count} programs")
