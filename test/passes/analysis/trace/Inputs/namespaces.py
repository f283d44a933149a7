"""Runs a program of two ranks in two network namespaces: namespaces.py SECONDS PROGRAM ARGUMENTS ...

The network is that of test/bench/Inputs/pair.
"""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../../bench/Inputs/pair"))
import network

why = network.missing()
if why:
    sys.exit("no network namespaces: " + why)
with network.Network() as both:
    seconds = int(sys.argv[1])
    done = subprocess.run(both.command(sys.argv[2:], seconds), timeout=2 * seconds)
sys.exit(done.returncode)
