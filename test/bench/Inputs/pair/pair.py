"""Programs on two ranks of this machine: built, run over a link, and what is predicted of them."""
import os
import re
import shlex
import signal
import subprocess
import tempfile

import network
import traces

RANKS = 2
DEVICE = "here"
# One program, with its start; dopt -measure takes seconds. One that hangs is cut off.
SECONDS = 60
# Steps of the first run, by which it is known how many fill the time.
TRIAL_STEPS = 10


def run(words, seconds=SECONDS, said=subprocess.PIPE):
    """Output of a command, which is ended with all that it has started if it takes too long. `said`: a file for
    what it says beside its output."""
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=said, text=True, start_new_session=True
    ) as process:
        try:
            out, err = process.communicate(timeout=seconds)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    if process.returncode:
        raise RuntimeError(f"{' '.join(words)}: exit status {process.returncode}: {(err or '')[-500:]}")
    return out


def environment(path):
    with open(path) as text:
        for line in text:
            if re.match("O[A-Z]*_", line):
                yield line.strip().split("=", 1)


class Pair:
    """Steps and programs of a folder, by name. `seconds`: how long a run takes."""

    def __init__(self, dopt, folder, seconds, say):
        self.dopt, self.folder, self.seconds, self.say = dopt, folder, seconds, say
        self.profile_tool = dopt + "-profile"

    def path(self, name):
        return os.path.join(self.folder, name)

    def step(self, name, source, passes, *options):
        """The step NAME.dir."""
        words = [self.dopt, *options] + (["-pass=" + passes] if passes else [])
        run([*words, source, "-o", self.path(name + ".dir")])

    def build(self, name, source, passes, *options):
        """The step NAME.dir and the program NAME."""
        self.step(name, source, passes, *options)
        self.compile(name)

    def compile(self, name):
        run([self.dopt, "-emit=program", self.path(name + ".dir"), "-o", self.path(name)])

    def execute(self, name, link, seconds):
        """Runs a program for about so long; what it did."""
        once = self.start(name, link, TRIAL_STEPS)
        steps = int(seconds * 1e6 / once.iteration)
        return self.start(name, link, max(steps, TRIAL_STEPS))

    def start(self, name, link, steps):
        with tempfile.TemporaryDirectory(dir=self.folder) as trace:
            words = [self.path(name), "-steps", str(steps), "-report-every", str(steps), "-trace", trace]
            run(link.command(words, SECONDS), SECONDS + 2 * network.GRACE)
            return traces.Run(trace, link.real)

    def measure(self, steps):
        """Times the kernels of these steps."""
        if os.path.exists(self.path("measured.db")):
            os.remove(self.path("measured.db"))
        self.measure_more(steps)

    def measure_again(self, steps):
        """Times all kernels of these steps, in another process than before; the mean counts."""
        return self.measure_more(steps, "-measure=again")

    def measure_more(self, steps, how="-measure"):
        """Times the kernels of these steps that have no time yet; how many these were."""
        new = 0
        measured, profile, text = (self.path(name) for name in ("measured.db", "profile.db", "profile.text"))
        for name in steps:
            said = run([self.dopt, how, "-profile=" + measured, self.path(name + ".dir")], 5 * SECONDS)
            new += sum(int(n) for n in re.findall(r"^measured: (\d+) kernels", said, re.M))
        dump = run([self.profile_tool, "dump", measured])
        # The device gets a name that a cluster can have.
        with open(text, "w") as out:
            out.write(re.sub(r'^device "[^"]*"', f'device "{DEVICE}"', dump, flags=re.M))
        if os.path.exists(profile):
            os.remove(profile)
        run([self.profile_tool, "load", text, profile])
        self.fields = {n: float(v) for n, v in re.findall(r"^field name=(\w+) value=(\S+)", dump, re.M)}
        return new

    def trial(self, steps, link, best):
        """The step that is fastest of these when they run over the link, as BEST.dir and a program; what was said."""
        first, *others = (self.path(name + ".dir") for name in steps)
        started = " ".join(w if w == "{}" else shlex.quote(w) for w in link.command(["{}"], SECONDS))
        words = [f"-trial={other}" for other in others] + ["-trial-run=" + started, first]
        with tempfile.TemporaryFile("w+") as said:
            run([self.dopt, *self.costs(link), *words, "-o", self.path(best + ".dir")], 10 * SECONDS, said)
            said.seek(0)
            return said.read()

    def costs(self, link):
        """Options by which dopt knows the machine and the link."""
        cluster = self.path("pair.cluster")
        with open(cluster, "w") as out:
            out.write(link.describe(DEVICE, self.fields))
        return ["-profile=" + self.path("profile.db"), "-cluster=" + cluster, "-replay=" + link.replay]

    def predict(self, name, link):
        timeline = self.path("timeline.json")
        run([self.dopt, *self.costs(link), "-emit=timeline", self.path(name + ".dir"), "-o", timeline])
        return traces.Prediction(timeline)
