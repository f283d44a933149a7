"""The links between the ranks, and what is measured of them.

The latency and the bandwidth of an emulated link are known, since it is made from them. Those of a real one are fitted
to messages of several sizes that overlap with nothing. In both cases the cores that compute also move and add up the
bytes: a message slows the computation that it overlaps with, by a time that does not depend on its size and one that does.
"""
import contextlib
import itertools
import os

import network

LATENCY = 20e-6
# Messages to fit latency and bandwidth to: bytes.
LADDER = [1 << 10, 1 << 14, 1 << 18, 1 << 20, 1 << 21]
# In some runs every message waits for a tick of the scheduler besides; the fastest of some has the link alone.
LADDER_RUNS = 3
# Messages beside products of matrices of so many rows, which take longer.
BESIDE = [(1 << 12, 256), (1 << 18, 512)]
BESIDE_MESSAGES = 8
# A few hundred steps of most programs: medians good to a percent.
CALIBRATION_SECONDS = 0.5


class Link:
    """What both kinds have: after calibration latency and bandwidth in s and B/s; `post`: what a message costs what
    computes beside it in s, and `steal`: what each of its bytes costs besides."""

    real = False
    post = steal = 0
    replay = "coarse"

    def command(self, words, seconds):
        raise NotImplementedError

    def weigh(self, bench):
        """What messages cost products of matrices beside them."""
        extra = []
        for size, width in BESIDE:
            names = [f"beside_{messages}_{size}" for messages in (0, BESIDE_MESSAGES)]
            make(bench, names[0], 0, size, width)
            make(bench, names[1], BESIDE_MESSAGES, size, width)
            times = [besides(bench.execute(name, self, seconds(bench))) for name in names]
            extra.append((size, (times[1] - times[0]) / BESIDE_MESSAGES))
        (small, a), (large, b) = extra
        self.steal = max(0, (b - a) / (large - small))
        self.post = max(0, a - self.steal * small)

    def describe(self, device, fields):
        """The cluster of two devices of that kind on this link, for dopt -cluster."""
        times = {
            "launch": fields.get("launch", 0),
            "step": fields.get("step", 0),
            "post": self.post,
            "link_latency": self.latency,
        }
        listed = "".join(f"{name} = {seconds * 1e9:.1f}ns, " for name, seconds in times.items())
        slowdown = 1 + self.steal * self.bandwidth
        rest = f"link_bandwidth = {self.bandwidth:.0f}B/s, slowdown = {slowdown:.5f}, async = 0, overlap = 1"
        return f"cluster @pair {{\n  device {device} {{{listed}{rest}}}\n}}\n"


class Emulated(Link):
    def __init__(self, name, bandwidth):
        self.name, self.bandwidth, self.latency = name, bandwidth, LATENCY

    def command(self, words, seconds):
        return [*words, "-bind", "-link", f"{self.bandwidth:.0f}B/s,{self.latency * 1e9:.0f}ns"]

    def fit(self, bench):
        pass


class Real(Link):
    real = True
    replay = "fine"  # computation is slowed

    def __init__(self):
        self.name = "veth"
        self.network = None

    def command(self, words, seconds):
        return self.network.command(words, seconds)

    def fit(self, bench):
        """For two places a ring takes 2 latencies and as long as the bandwidth has for the bytes."""
        took = []
        for size in LADDER:
            name = f"ladder_{size}"
            make(bench, name, 1, size, 0)
            runs = [bench.execute(name, self, seconds(bench) / LADDER_RUNS) for _ in range(LADDER_RUNS)]
            took.append((size, min(run.communication for run in runs) * 1e-6))
        constant, rate = line(took)
        self.latency, self.bandwidth = constant / 2, 1 / rate
        bench.say(f"{self.name}: " + ", ".join(f"{size} bytes {t * 1e6:.1f} us" for size, t in took))

ALL = [Emulated("0.25GB/s", 0.25e9), Emulated("1GB/s", 1e9), Emulated("4GB/s", 4e9), Real()]


@contextlib.contextmanager
def opened(links):
    """The networks of the real ones among them, which are gone afterwards."""
    with contextlib.ExitStack() as stack:
        for link in links:
            if link.real:
                link.network = stack.enter_context(network.Network())
        yield


def seconds(bench):
    return min(CALIBRATION_SECONDS, bench.seconds)


def line(points):
    """Latency and seconds a byte: of the lines through two points, the one whose relative errors add up to least."""

    def through(p, q):
        slope = (q[1] - p[1]) / (q[0] - p[0])
        return p[1] - slope * p[0], slope

    def error(fit):
        return sum(abs((fit[0] + fit[1] * size) / took - 1) for size, took in points)

    fits = [through(p, q) for p, q in itertools.combinations(points, 2)]
    return min((fit for fit in fits if fit[0] >= 0 and fit[1] > 0), key=error)


def make(bench, name, messages, size, width):
    """A step that sends messages of so many bytes, each beside a product of matrices if there is a width."""
    if os.path.exists(bench.path(name)):
        return
    text = [f"module @{name}", "mesh [dp = 2]", "func @main() {"]
    if width:
        text.append(f'  %b0 = param("a") {{init = "xavier"}} : f32[{width},{width}]')
    for i in range(messages):
        text.append(f'  %v{i} = param("v{i}") {{init = "normal", seed = {i}}} : f32[2,{size // 4}]')
        text.append(f"  %p{i} = partition(%v{i}) {{dim = 0, axis = dp}}")
        text.append(f"  %s{i} = sum(%p{i}) {{dims = [0]}}")
    for i in range(max(messages, BESIDE_MESSAGES)):
        if i < messages:
            text.append(f"  %r{i} = allreduce(%s{i}) {{axis = dp}}")
        if width:
            text.append(f"  %b{i + 1} = matmul(%b{i}, %b0)")
    for i in range(messages):
        text += [f"  %n{i} = neg(%r{i})", f'  output("n{i}", %n{i})']
    if width:
        text.append(f'  output("b", %b{BESIDE_MESSAGES})')
    source = bench.path(name + ".source")
    with open(source, "w") as out:
        out.write("\n".join(text) + "\n}\n")
    bench.build(name, source, "")


def besides(did):
    """What a step took without waiting and without what messages read and write, in s."""
    products = max(did.kernels.values(), default=0)
    others = sum(time for time in did.kernels.values() if time < products / 2)
    return (did.iteration - did.wait - others) * 1e-6


def calibrate(bench, links):
    for link in links:
        link.fit(bench)
        link.weigh(bench)
        bench.say(
            f"{link.name}: latency {link.latency * 1e6:.1f} us, {link.bandwidth / 1e9:.4f} GB/s, "
            f"a message costs {link.post * 1e6:.1f} us and {link.steal * 1e9:.4f} ns a byte"
        )
