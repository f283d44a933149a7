"""run.py DOPT RECORDED SCRATCH NAME...: builds programs of what steps.py has recorded, trains, and compares the losses with those
that PyTorch has."""
import json
import pathlib
import subprocess
import sys


def compare(what, ours, theirs, tolerance):
    if len(ours) != len(theirs):
        sys.exit(f"{what}: {len(ours)} losses, PyTorch has {len(theirs)}")
    for i, (a, b) in enumerate(zip(ours, theirs)):
        if not abs(a - b) <= tolerance * max(abs(b), 0.1):
            sys.exit(f"{what}: step {i + 1}: {a}, PyTorch has {b}")
    worst = max(abs(a - b) / max(abs(b), 0.1) for a, b in zip(ours, theirs))
    print(f"{what}: {len(ours)} losses, {theirs[0]:.5f} to {theirs[-1]:.5f}, apart by {worst:.1e} at most", flush=True)


def check(dopt, recorded, scratch, name):
    recorded, scratch = pathlib.Path(recorded), pathlib.Path(scratch)
    scratch.mkdir(parents=True, exist_ok=True)
    said = json.loads((recorded / f"{name}.json").read_text())
    program, metrics = scratch / f"{name}.train", scratch / f"{name}.jsonl"
    metrics.unlink(missing_ok=True)
    subprocess.run([dopt, "-emit=program", "-o", program, f"-pass=grad,{said['pipeline']}", recorded / f"{name}.dir"],
                   check=True)
    done = subprocess.run([program, "-load", recorded / f"{name}.safetensors", "-data", recorded / f"{name}.data",
                           "-no-shuffle", "-steps", str(len(said["losses"])), "-report-every", "1", "-metrics", metrics,
                           "-save", scratch / f"{name}.after"], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{name}: {done.stdout}{done.stderr}")
    ours = [json.loads(line)["outputs"]["loss"] for line in metrics.read_text().splitlines()]
    compare(name, ours, said["losses"], said["tolerance"])


if __name__ == "__main__":
    for name in sys.argv[4:]:
        check(*sys.argv[1:4], name)
