#!/usr/bin/env python3
"""Optimizer states in host memory, as a table of Markdown: predicted and measured time of each policy of offload.

    test/bench/offload.py BUILD [-rounds N] [-steps N] [-link BW,LAT] [-D NAME=VALUE]... [-quick]

char_gpt.dir on two ranks in threads, sharded, with Adam; -hostlink emulates the link to host memory, and the prediction
knows its bandwidth and latency; kernels and collectives are those that -measure finds first. Programs run in turns; a
program's figure is the least of its runs' medians, since other work on the machine only makes it larger. Not a test:
nothing here fails because of a time.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
MODEL = os.path.join(HERE, "..", "models", "char_gpt.dir")
PASSES = "dp{axis=dp},grad,shard{axis=dp},adam,canonicalize,cse,dce,opfuse"
# Smaller states than 1 KB would only be latency.
LEAST = "least=1KB"
SECONDS = 600
UNITS = {"KB/s": 1e3, "MB/s": 1e6, "GB/s": 1e9, "us": 1e-6, "ms": 1e-3}


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    if done.returncode:
        sys.exit("%s: %s" % (" ".join(command), done.stderr))
    return done.stdout


def number(text):
    value, unit = re.fullmatch(r"([\d.]+)([A-Za-z/]+)", text).groups()
    return float(value) * UNITS[unit]


def profile_of(build, defines, link, folder):
    """What -measure finds, but for the link, which is the emulated one."""
    found, emulated = os.path.join(folder, "found.db"), os.path.join(folder, "emulated.db")
    run(os.path.join(build, "bin/dopt"), "-measure", "-measure-limit=300ms", "-profile=" + found, *defines,
        "-pass=%s,offload{policy=all,%s}" % (PASSES, LEAST), "-emit=none", MODEL)
    text = run(os.path.join(build, "bin/dopt-profile"), "dump", found)
    for name, value in zip(("host_bandwidth", "host_latency"), map(number, link.split(","))):
        text, n = re.subn("(name=%s value=)[^ ]*" % name, r"\g<1>%.9g" % value, text)
        assert n == 1, name
    with open(os.path.join(folder, "text"), "w") as file:
        file.write(text)
    run(os.path.join(build, "bin/dopt-profile"), "load", os.path.join(folder, "text"), emulated)
    return emulated


def build_program(build, defines, profile, offload, output):
    passes = PASSES + (",offload{%s,%s}" % (offload, LEAST) if offload else "")
    run(os.path.join(build, "bin/dopt"), *defines, "-profile=" + profile, "-pass=" + passes, "-emit=program", MODEL, "-o",
        output)


class Case:
    def __init__(self, name, program):
        self.name, self.program, self.times, self.losses = name, program, [], None

    def run(self, steps, link):
        text = run(self.program, "-steps", str(steps), "-no-eval", "-hostlink", link)
        found = re.search(r"iteration: ([\d.]+) us .*predicted ([\d.]+) us", text)
        self.times.append(float(found[1]) / 1e3)
        self.predicted = float(found[2]) / 1e3
        memory = [int(x) for x in re.findall(r"(\d+) bytes (?:per rank|of host memory) \(predicted (\d+)\)", text) for x in x]
        assert memory[0::2] == memory[1::2], text
        self.device, self.host = memory[0], memory[2] if len(memory) > 2 else 0
        losses = re.findall(r"^step .*", text, re.M)
        assert self.losses in (None, losses), text
        self.losses = losses


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("-rounds", type=int, default=7)
    parser.add_argument("-steps", type=int, default=20)
    parser.add_argument("-link", default="1GB/s,20us")
    parser.add_argument("-D", dest="defines", action="append", default=[])
    parser.add_argument("-quick", action="store_true", help="one short round, as a smoke test")
    o = parser.parse_args()
    defines = ["-DN=2"] + ["-D" + d for d in o.defines]
    rounds, steps = (1, 2) if o.quick else (o.rounds, o.steps)
    with tempfile.TemporaryDirectory() as folder:
        profile = profile_of(o.build, defines, o.link, folder)
        cases = []
        for name, offload in (("none", ""), ("all_sync", "policy=all_sync"), ("all", "policy=all"), ("adaptive", None)):
            if offload is None:  # half of the way to the least memory
                offload = "policy=adaptive,budget=%d" % ((cases[0].device + cases[1].device) // 2)
            program = os.path.join(folder, name)
            build_program(o.build, defines, profile, offload, program)
            cases.append(Case(name, program))
            cases[-1].run(1, o.link)
            cases[-1].times.clear()
            cases[-1].losses = None
        for _ in range(rounds):
            for case in cases:
                case.run(steps, o.link)
        print("-hostlink %s, %s; load %.1f processes\n" % (o.link, " ".join(defines), os.getloadavg()[0]))
        print("| policy | device, MB | host, MB | predicted, ms | measured, ms | longer than none: predicted | measured |")
        print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
        none = cases[0]
        for case in cases:
            assert case.losses == none.losses, case.name
            print("| `%s` | %.2f | %.2f | %.2f | %.2f | %.2f | %.2f |" % (case.name, case.device / 1e6, case.host / 1e6,
                case.predicted, min(case.times), case.predicted - none.predicted, min(case.times) - min(none.times)))


main()
