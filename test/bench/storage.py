#!/usr/bin/env python3
"""storage.py BUILD: how far above what lives at one moment the arenas of the models are, and what finding them takes."""
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "models" / "Inputs"))
import models  # noqa: E402

build = pathlib.Path(sys.argv[1])
PIPELINES = ((1, "grad,adam"), (2, "grad,adam,dp{axis=dp},opfuse,tensorfuse"))
HEAD = """\
| step | ops | buffers | live, MB | arena over that, % | storage, ms | of it placing, ms |
| --- | ---: | ---: | ---: | ---: | ---: | ---: |"""


def row(name, path, pipeline, *sizes):
    command = [build / "test/bench/storage", name, path, pipeline, *sizes]
    print(subprocess.run(command, capture_output=True, text=True, check=True).stdout, end="", flush=True)


print(HEAD)
for model in models.models():
    for devices, pipeline in PIPELINES:
        row(f"{model.name}, N = {devices}", model.path, pipeline, *model.sizes, f"N={devices}")
for ops in (200000, 1000000):
    text = build / f"storage-{ops}.dir"
    with open(text, "w") as out:
        subprocess.run([sys.executable, HERE / "gen_ops.py", str(ops)], stdout=out, check=True)
    row(f"{ops} ops of perceptrons", text, "dce")
    text.unlink()
