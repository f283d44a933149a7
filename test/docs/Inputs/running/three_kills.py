"""three_kills.py DOPT MODEL DATA SCRATCH SECONDS LAUNCH...: a run that is killed three times, by SIGKILL of one of its ranks, by SIGTERM
and by SIGINT, and continues with -resume, in the end on fewer ranks. Compared with runs that end by themselves where it changes the
number of ranks: all losses, params and states have the same bits. LAUNCH starts ranks as processes: mpirun -n."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

dopt, model, data, scratch, seconds, *launch = sys.argv[1:]
scratch = pathlib.Path(scratch)
scratch.mkdir(parents=True)
PASSES = "grad,adam{clip=1,warmup=100,schedule=cosine,steps=1000000},dp{axis=dp},shard{axis=dp},opfuse,tensorfuse"
SAVED = 75  # the exit status after a signal
# Ranks, how they end (None: by themselves), and the status with which they do. mpirun chooses its own status for a killed rank.
PHASES = [(4, signal.SIGKILL, None), (4, signal.SIGTERM, SAVED), (2, signal.SIGINT, SAVED), (2, None, 0)]


def program(ranks):
    path = scratch / f"train.{ranks}"
    if not path.exists():
        subprocess.run([dopt, "-emit=program", f"-pass={PASSES}", "-D", f"N={ranks}", "-D", "B=60", "-D", "H=32", model, "-o", path], check=True)
    return path


def options(metrics):
    return ["-data", data, "-no-eval", "-report-every", "1", "-metrics", scratch / metrics]


def newest():
    steps = [int(f.parent.name.rpartition("-")[2]) for f in scratch.glob("run.step-*/model.safetensors.index.json")]
    return max(steps, default=0)


def losses(metrics):
    lines = (scratch / metrics).read_text().splitlines()
    return [(line["step"], line["outputs"]["loss"]) for line in map(json.loads, (x for x in lines if x.endswith("}"))) if "step" in line]


def heed():
    """A shell starts what runs in the background with SIGINT ignored, and programs leave that as it is."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def run(phase, until):
    """Starts or continues the run; ends it after its share of the time. The step from which it went on."""
    ranks, by, status = PHASES[phase]
    command = [program(ranks), *options(f"run.{phase}.jsonl"), "-save", f"{scratch}/run/", "-save-every", "1s", "-resume", "-until", until]
    if by == signal.SIGKILL:  # of a process among others
        command = [*launch, str(ranks), "sh", pathlib.Path(__file__).parents[3] / "runtime/Inputs/ranked.sh", *command]
    before = newest()
    child = subprocess.Popen([str(x) for x in command], env={**os.environ, "PIDS": str(scratch / "pid")}, stdout=subprocess.DEVNULL,
                             stderr=subprocess.PIPE, text=True, preexec_fn=heed)
    if by:
        time.sleep(float(seconds) / 4)
        while newest() <= before and child.poll() is None:
            time.sleep(0.05)
        os.kill(int((scratch / "pid.2").read_text()) if by == signal.SIGKILL else child.pid, by)
    said = child.communicate()[1]
    if child.returncode != status if status is not None else not child.returncode:
        sys.exit(f"phase {phase}: status {child.returncode}: {said}")
    return losses(f"run.{phase}.jsonl")[0][0] - 1


starts = []
for phase in range(len(PHASES)):
    last = 10**9
    if not PHASES[phase][1]:  # as many steps again as before
        last = losses(f"run.{phase - 1}.jsonl")[-1][0] + len(losses(f"run.{phase - 1}.jsonl"))
    starts.append(run(phase, last))
if not 0 == starts[0] < starts[1] < starts[2] < starts[3] < last:
    sys.exit(f"the run went on from steps {starts}, to {last}")

theirs, previous = {}, None
for part, (ranks, until) in enumerate([(4, starts[2]), (2, last)]):
    begin = ["-load", previous] if previous else []
    previous = scratch / f"whole.{part}.safetensors"
    subprocess.run([str(x) for x in [program(ranks), *options(f"whole.{part}.jsonl"), *begin, "-until", until, "-save", previous]], check=True,
                   stdout=subprocess.DEVNULL)
    theirs.update(losses(f"whole.{part}.jsonl"))
subprocess.run([str(program(2)), "-data", data, "-no-eval", "-load", f"{scratch}/run", "-steps", "0", "-save", str(scratch / "run.safetensors")],
               check=True, stdout=subprocess.DEVNULL)
ours = [x for phase in range(len(PHASES)) for x in losses(f"run.{phase}.jsonl")]
wrong = [(step, loss, theirs.get(step)) for step, loss in ours if theirs.get(step) != loss]
missing = set(range(1, last + 1)) - {step for step, _ in ours}
if wrong or missing:
    sys.exit(f"{len(wrong)} losses differ, first {wrong[:3]}; {len(missing)} steps are missing")
if (scratch / "run.safetensors").read_bytes() != previous.read_bytes():
    sys.exit("other params or states")
print(f"killed in steps after {starts[1:]}, {last} steps: the same bits")
