"""mutants.py TOP LIBDIR LINK COMPARE MPIRUN COLLECTIVES OFFLOAD TRAIN: waits and orders of CUDA programs that are not there.

Each mutant of the runtime or of a program's step lacks a wait, has an event for another, or lets go of something too
early. COLLECTIVES, OFFLOAD and TRAIN are folders with the sources of three programs; TRAIN's goes on with what its
collectives bring. For some choice of streams that hurry
(SHIM_STREAMS, see shim/streams.h) it has to fail or to compute something else than the program as it is, which computes
the same for all of them. Prints a line a mutant.
"""
import os
import pathlib
import re
import subprocess
import sys

TOP, LIBDIR, LINK, COMPARE, MPIRUN, COLLECTIVES, OFFLOAD, TRAIN = sys.argv[1:]
# A digit a rank: 1 for the stream that computes, 2 communicates, 4 and 8 copy.
HURRY = ["0", "0xffff", "0x2222", "0xdddd", "0x1111", "0x2221", "0x3332", "0x0003", "0xfff0", "0xf0f0", "0x4444", "0x8888", "0xbbbb"]
SOURCES = {"threads": COLLECTIVES, "mpi": COLLECTIVES, "graph": COLLECTIVES, "offload": OFFLOAD, "train": TRAIN}
SECONDS = 60  # a run takes a tenth of one

# file, what is there, what takes its place, how it runs
RUNTIME = [
    ("engine", "rt_cuda_check(d, cudaStreamWaitEvent(d->communication, e->posted[coll], 0),\n\t\t\"posting a collective\");", "", "threads"),
    ("engine", "rt_cuda_wait_event(e->device, e->complete[coll], RT_EVENT_WAIT, coll);", "", "train"),
    ("engine", "rt_cuda_wait_event(e->device, e->complete[coll]", "rt_cuda_wait_event(e->device, e->posted[coll]", "train"),
    ("engine", "cudaEventRecord(e->posted[coll], d->compute)", "cudaEventRecord(e->posted[coll], d->communication)", "threads"),
    ("engine", "d, cudaEventRecord(e->complete[coll], d->communication)", "d, cudaEventRecord(e->complete[coll], d->compute)", "train"),
    ("engine", "rt_cuda_drop_graph(e->device);", "", "graph"),
    ("engine", "rt_cuda_wait_event(e->device, e->complete[coll], RT_EVENT_WAIT, coll);", "", "graph"),
    ("engine", "rt_cuda_check(d, cudaStreamWaitEvent(d->communication, e->posted[coll], 0),\n\t\t\"posting a collective\");", "", "graph"),
    ("peers", "cudaStreamWaitEvent(d->communication, marks_of(s, c, q)->ready, 0)", "cudaSuccess", "threads"),
    ("peers", "cudaStreamWaitEvent(d->communication, marks_of(s, c, q)->done, 0)", "cudaSuccess", "train"),
    ("peers", "marks_of(s, c, q)->done, 0)", "marks_of(s, c, q)->ready, 0)", "train"),
    ("peers", "marks_of(s, c, q)->ready, 0)", "mine->ready, 0)", "threads"),
    ("peers", "marks_of(s, c, q)->done, 0)", "mine->done, 0)", "train"),
    ("rounds", "pack(r, false);", ";", "mpi"),
    ("rounds", "pack(r, true);", ";", "mpi"),
    ("rounds", "put_own(r);", ";", "mpi"),
    ("rounds", "put_sums(r);", ";", "mpi"),
    ("rounds", "put_group(r, put_shares);", ";", "mpi"),
    ("nccl", "g->me == 0 ? ncclGetUniqueId(&mine) : ncclSuccess", "ncclGetUniqueId(&mine)", "mpi"),
    ("transfers", "rt_cuda_check(d, cudaStreamWaitEvent(stream, t->posted[transfer], 0), \"posting a copy\");", "", "offload"),
    ("transfers", "rt_cuda_wait_event(t->device, t->complete[transfer], RT_EVENT_TRANSFER_WAIT, transfer);", "", "offload"),
    ("transfers", "rt_cuda_wait_event(t->device, t->complete[transfer]", "rt_cuda_wait_event(t->device, t->posted[transfer]", "offload"),
    ("transfers", "cudaEventRecord(t->complete[transfer], stream)", "cudaEventRecord(t->complete[transfer], d->compute)", "offload"),
    ("device", "rt_cuda_check(d, cudaStreamSynchronize(d->compute), \"a copy to the device\");", "", "threads"),
    ("device", "rt_cuda_check(d, cudaStreamSynchronize(d->compute), \"a copy from the device\");", "", "threads"),
]


def run(program, how, hurry, where):
    environment = os.environ | {"SHIM_STREAMS": hurry}
    command = {"threads": [program, "-ranks", "4"], "mpi": [*MPIRUN.split(), "-n", "4", program],
               "graph": [*MPIRUN.split(), "-n", "4", program, "-graph"], "offload": [program], "train": [program]}[how]
    command += ["-steps", "3", *(["-save", where] if how == "offload" else ["-dump", where])]
    try:
        done = subprocess.run(command, env=environment, capture_output=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def same(how, a, b):
    if how == "offload":
        return pathlib.Path(a).read_bytes() == pathlib.Path(b).read_bytes()
    return subprocess.run([COMPARE, a, b], capture_output=True).returncode == 0


def link(sources, program):
    subprocess.run(["sh", LINK, sources, program, LIBDIR], check=True)


def dies(program, how, want):
    """For which choice of streams; None: for none."""
    for hurry in HURRY[:4] if how in ("mpi", "graph") else HURRY:
        if not run(program, how, hurry, f"{program}.out") or not same(how, want, f"{program}.out"):
            return hurry
    return None


def judge(name, how, sources, want, survivors):
    link(sources, f"{sources}.mutant")
    found = dies(f"{sources}.mutant", how, want[how])
    print(f"{name}: {'survives' if found is None else f'dies with SHIM_STREAMS={found}'}", flush=True)
    survivors += [name] * (found is None)


def mutate_runtime(want, survivors):
    for file, old, new, how in RUNTIME:
        path = pathlib.Path(TOP) / f"runtime/cuda/{file}.c"
        text = path.read_text().replace("(64 << 10)", "64")  # shares of small sums
        if text.count(old) != 1:
            sys.exit(f"{path}: {text.count(old)} times: {old}")
        sources = SOURCES[how]
        mutant = pathlib.Path(sources) / "shim" / "mutant"
        mutant.with_suffix(".c").write_text(text.replace(old, new))
        judge(f"{file}.c, {how}: {' '.join(old.split())} -> {new or 'nothing'}", how, sources, want, survivors)
        mutant.with_suffix(".c").unlink()
        mutant.with_suffix(".o").unlink()


def binding(text, kind):
    """The waits of a step (as matches) that nothing else stands for: work comes behind them, as the host waits for all
    streams at the end of a step, and no wait on a later post of the same stream comes before that work."""
    calls = list(re.finditer(r"^\t(rt_\w+|k_\w+)\(c, (\w+).*\);$", text, re.M))
    calls = [c for c in calls if not c[1].startswith("rt_cuda_kernel")]
    # a transfer's stream is its direction; all collectives are in one
    stream = re.findall(r'^\t\{"[^"]+", (true|false), ', text, re.M) if kind == "rt_transfer" else [""] * len(calls)
    posts = {c[2]: c.start() for c in calls if c[1] == f"{kind}_post"}
    found, waited = [], []  # waited: what the waits before the next work wait for
    for i, c in enumerate(calls):
        if c[1] != f"{kind}_wait":
            continue
        end = next((k for k in range(i, len(calls)) if not calls[k][1].endswith("_wait")), None)
        others = waited + [w[2] for w in calls[i + 1 : end] if w[1] == c[1]]
        if end and all(posts[n] < posts[c[2]] for n in others if stream[int(n)] == stream[int(c[2])]):
            found.append(c)
        waited.append(c[2])
    return found


def mutate_step(sources, how, kind, want, survivors):
    path = pathlib.Path(sources) / "step.c"
    text = path.read_text()
    waits = binding(text, kind)
    if not waits:
        sys.exit(f"{path}: no {kind}_wait")
    for w in waits:
        path.write_text(text[: w.start()] + text[w.end() :])
        judge(f"step.c, {how}: {w[0].strip()}", how, sources, want, survivors)
    path.write_text(text)


def main():
    want, survivors = {}, []
    for how, sources in SOURCES.items():
        link(sources, f"{sources}.whole")
        want[how] = f"{sources}.{how}.want"
        if not run(f"{sources}.whole", how, "0", want[how]):
            sys.exit(f"{how}: the program fails as it is")
        found = dies(f"{sources}.whole", how, want[how])
        if found is not None:
            sys.exit(f"{how}: the program as it is computes something else with SHIM_STREAMS={found}")
    mutate_runtime(want, survivors)
    mutate_step(TRAIN, "train", "rt", want, survivors)
    mutate_step(OFFLOAD, "offload", "rt_transfer", want, survivors)
    print(f"{len(survivors)} survive")


main()
