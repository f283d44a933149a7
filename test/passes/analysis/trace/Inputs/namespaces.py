"""Runs a program, one rank in each of two or more network namespaces:

    namespaces.py [-nodes=N] SECONDS PROGRAM ARGUMENTS ...

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
words = sys.argv[1:]
nodes = int(words.pop(0).split("=")[1]) if words[0].startswith("-nodes=") else 2
with network.Network(nodes) as all_nodes:
    seconds = int(words[0])
    done = subprocess.run(all_nodes.command(words[1:], seconds), timeout=2 * seconds)
sys.exit(done.returncode)
