"""ring.py CC FOLDER N: N sources FOLDER/tree/ir/f*.c, each of which calls the next one, and their objects in FOLDER/objects/ir."""
import pathlib
import subprocess
import sys

compiler, folder, n = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3])
for part in ("tree", "objects"):
    (folder / part / "ir").mkdir(parents=True)
for i in range(n):
    source, to = folder / f"tree/ir/f{i}.c", (i + 1) % n
    source.write_text(f"int f{i}(void), f{to}(void);\nint f{i}(void) {{ return f{to}(); }}\n")
    subprocess.run([compiler, "-c", source, "-o", folder / f"objects/ir/f{i}.c.o"], check=True)
