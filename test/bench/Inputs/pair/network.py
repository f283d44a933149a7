"""Two network namespaces on this machine, joined by a link of limited rate, as two nodes for MPI.

Each end of a veth pair passes a token bucket filter. What its bucket holds goes at the speed of memory, so
that it is small: one segment of the largest size that TCP gives to a device at once.
"""
import os
import shutil
import signal
import subprocess
import tempfile

RATE = "1gbit"
BURST = "64kb"
QUEUE = "50ms"
ADDRESSES = ["10.213.7.1", "10.213.7.2"]
SUBNET = "10.213.7.0/24"
# Setting up takes milliseconds; a command that hangs is cut off.
SECONDS = 20
# What mpirun is given to come to an end by itself once it was told to.
GRACE = 5
# Reno takes what the queue gives; others pace by themselves, and each in its own way.
CONTROL = ["net.ipv4.tcp_congestion_control=reno"]

# What starts a command of mpirun in the second node: mpirun calls it as it would call ssh.
AGENT = """#!/bin/bash
shift
exec ip netns exec {name} unshare -u bash -c 'hostname {name}; exec bash -c "$0"' "$*"
"""

# Each process has a core of its own; mpirun takes the first one of each node, which here is the same.
BIND = 'exec taskset -c $OMPI_COMM_WORLD_RANK "$@"'


def missing():
    """Why there can be no such network; empty if it can."""
    if os.geteuid() != 0:
        return "not root"
    for tool in ("ip", "tc", "unshare", "taskset", "mpirun"):
        if not shutil.which(tool):
            return f"no {tool}"
    return ""


def call(*words):
    subprocess.run(words, check=True, capture_output=True, text=True, timeout=SECONDS)


class Network:
    """with Network() as network: network.command([...]) is a command that runs on both nodes."""

    def __enter__(self):
        self.names = [f"dopt-{os.getpid()}-{i}" for i in range(2)]
        self.folder = tempfile.TemporaryDirectory()
        try:
            self.create()
        except BaseException:
            self.__exit__()
            raise
        return self

    def create(self):
        ends = [f"dopt{i}" for i in range(2)]
        for name in self.names:
            call("ip", "netns", "add", name)
        a, b = self.names
        call("ip", "link", "add", ends[0], "netns", a, "type", "veth", "peer", "name", ends[1], "netns", b)
        for name, end, address in zip(self.names, ends, ADDRESSES):
            inside = ["ip", "netns", "exec", name]
            call("ip", "-n", name, "link", "set", "lo", "up")
            call("ip", "-n", name, "addr", "add", address + "/24", "dev", end)
            call("ip", "-n", name, "link", "set", end, "up")
            call(*inside, "sysctl", "-qw", *CONTROL)
            shape = ["rate", RATE, "burst", BURST, "latency", QUEUE]
            call(*inside, "tc", "qdisc", "add", "dev", end, "root", "tbf", *shape)
        self.agent = os.path.join(self.folder.name, "agent")
        with open(self.agent, "w") as out:
            out.write(AGENT.format(name=b))
        os.chmod(self.agent, 0o755)

    def __exit__(self, *_):
        for name in self.names:
            pids = subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True, timeout=SECONDS)
            for pid in pids.stdout.split():
                try:
                    os.kill(int(pid), signal.SIGKILL)
                except ProcessLookupError:
                    pass
            subprocess.run(["ip", "netns", "del", name], capture_output=True, timeout=SECONDS)
        self.folder.cleanup()

    def command(self, words, seconds):
        settings = {
            "plm": "rsh",
            "plm_rsh_agent": self.agent,
            "pml": "ob1",
            "btl": "self,tcp",
            "btl_tcp_if_include": SUBNET,
            "oob_tcp_if_include": SUBNET,
            "hwloc_base_binding_policy": "none",
        }
        first = self.names[0]
        return [
            *["ip", "netns", "exec", first, "unshare", "-u"],
            *["bash", "-c", f'hostname {first}; exec "$@"', "bash"],
            *["timeout", "-k", str(GRACE), str(seconds), "mpirun", "-n", "2", "--host", ",".join(ADDRESSES)],
            *(word for name, value in settings.items() for word in ("--mca", name, value)),
            *["bash", "-c", BIND, "bash", *words],
        ]
