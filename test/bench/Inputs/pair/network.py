"""Network namespaces on this machine, joined by links of limited rate, as nodes for MPI.

Two nodes are the ends of one veth pair; more are connected to a bridge, each by a veth pair. Each end of a pair passes a
token bucket filter. What its bucket holds goes at the speed of memory, so that it is small: one segment of the largest
size that TCP gives to a device at once.
"""
import os
import shutil
import signal
import subprocess
import tempfile

RATE = "1gbit"
BURST = "64kb"
QUEUE = "50ms"
SUBNET = "10.213.7.0/24"
ADDRESS = "10.213.7.{}"
# Setting up takes milliseconds; a command that hangs is cut off.
SECONDS = 20
# What mpirun is given to come to an end by itself once it was told to.
GRACE = 5
# Reno takes what the queue gives; others pace by themselves, and each in its own way.
CONTROL = ["net.ipv4.tcp_congestion_control=reno"]

# What starts a command of mpirun in another node: mpirun calls it as it would call ssh.
AGENT = """#!/bin/bash
name={prefix}-${{1##*.}}
shift
exec ip netns exec $name unshare -u bash -c 'hostname '$name'; exec bash -c "$0"' "$*"
"""

# Each process has a core of its own while there are enough; mpirun takes the first one of each node, which here is the
# same.
BIND = 'exec taskset -c $((OMPI_COMM_WORLD_RANK % {cores})) "$@"'


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
    """with Network() as network: network.command([...]) is a command that runs on all nodes."""

    def __init__(self, nodes=2, burst=BURST):
        self.nodes, self.burst = nodes, burst

    def __enter__(self):
        self.prefix = f"dopt-{os.getpid()}"
        self.names = [f"{self.prefix}-{i + 1}" for i in range(self.nodes)]
        self.addresses = [ADDRESS.format(i + 1) for i in range(self.nodes)]
        self.hub = f"{self.prefix}-hub" if self.nodes > 2 else None
        self.folder = tempfile.TemporaryDirectory()
        try:
            self.create()
        except BaseException:
            self.__exit__()
            raise
        return self

    def spaces(self):
        return self.names + ([self.hub] if self.hub else [])

    def create(self):
        for name in self.spaces():
            call("ip", "netns", "add", name)
        if self.hub:
            call("ip", "-n", self.hub, "link", "add", "hub", "type", "bridge")
            call("ip", "-n", self.hub, "link", "set", "hub", "up")
            for i, name in enumerate(self.names):
                self.connect(name, "dopt", self.hub, f"port{i}")
                call("ip", "-n", self.hub, "link", "set", f"port{i}", "master", "hub")
        else:
            self.connect(self.names[0], "dopt", self.names[1], "dopt")
        for name, address in zip(self.names, self.addresses):
            call("ip", "-n", name, "link", "set", "lo", "up")
            call("ip", "-n", name, "addr", "add", address + "/24", "dev", "dopt")
            call("ip", "netns", "exec", name, "sysctl", "-qw", *CONTROL)
        self.agent = os.path.join(self.folder.name, "agent")
        with open(self.agent, "w") as out:
            out.write(AGENT.format(prefix=self.prefix))
        os.chmod(self.agent, 0o755)

    def connect(self, a, end_a, b, end_b):
        """A veth pair between two namespaces, limited in both directions."""
        call("ip", "link", "add", end_a, "netns", a, "type", "veth", "peer", "name", end_b, "netns", b)
        for name, end in ((a, end_a), (b, end_b)):
            call("ip", "-n", name, "link", "set", end, "up")
            shape = ["rate", RATE, "burst", self.burst, "latency", QUEUE]
            call("ip", "netns", "exec", name, "tc", "qdisc", "add", "dev", end, "root", "tbf", *shape)

    def __exit__(self, *_):
        for name in self.spaces():
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
        first, hosts = self.names[0], ",".join(self.addresses)
        return [
            *["ip", "netns", "exec", first, "unshare", "-u"],
            *["bash", "-c", f'hostname {first}; exec "$@"', "bash"],
            *["timeout", "-k", str(GRACE), str(seconds), "mpirun", "-n", str(self.nodes), "--host", hosts],
            *(word for name, value in settings.items() for word in ("--mca", name, value)),
            *["bash", "-c", BIND.format(cores=os.cpu_count()), "bash", *words],
        ]
