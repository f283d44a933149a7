"""replay_best.py DOPT [-sharded] OPTIONS...: tensorfuse without options is not slower by replay than any policy and bucket.

-sharded: the step has gathers of params, which policies fuse or leave; the default fuses some.
"""
import json
import re
import subprocess
import sys

OTHERS = ["policy=none", "policy=size", "policy=ddp", "policy=horovod"]
OTHERS += [f"bucket={kib}KiB" for kib in (64, 256, 1024, 2048, 4096, 8192, 16384)]
OTHERS += [f"policy=ddp,bucket={mib}MiB" for mib in (1, 4, 8)]
PASSES = "grad,sgd,dp{axis=dp},canonicalize,cse,dce,opfuse,"
OPTIONS = sys.argv[2:]
SHARDED = OPTIONS[0] == "-sharded"
if SHARDED:
    PASSES = "dp{axis=dp},grad,shard{axis=dp},sgd,opfuse,"
    OTHERS = [f"{other},gathers={gathers}" for other in OTHERS for gathers in ("true", "false")]
    OPTIONS = OPTIONS[1:]


def gathers(*passes):
    words = [sys.argv[1], f"-pass={PASSES}" + ",".join(passes), *OPTIONS]
    return len(re.findall(r" = allgather", subprocess.run(words, check=True, capture_output=True, text=True).stdout))


def iteration(fuse):
    words = [sys.argv[1], f"-pass={PASSES}{fuse}", "-stats=json", "-emit=none", *OPTIONS]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    return json.loads(done.stdout or done.stderr)[-1]["cost"]["iteration"]


default = iteration("tensorfuse")
times = {other: iteration(f"tensorfuse{{{other}}}") for other in OTHERS}
slower = [f"{other}: {time}, default: {default}" for other, time in times.items() if time < default]
if slower:
    sys.exit("\n".join(slower))
if default not in times.values():
    sys.exit(f"{default} is not the time of any of {times}")
if SHARDED and not gathers("tensorfuse") < gathers("dce"):
    sys.exit("no gathers are fused")
