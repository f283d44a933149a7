#!/usr/bin/env python3
"""sass.py KERNELS_CU [ARCH...]: what nvcc makes of a CUDA program's own kernels, without a GPU: a row of a table for each
architecture: kernels, most registers, bytes of stack and of registers that are spilled (all kernels), most shared memory;
of all instructions, products of tensor cores (HMMA), loads and stores of global memory, and those of 16 bytes among them."""

import os
import re
import subprocess
import sys
import tempfile

TOP = os.path.normpath(f"{os.path.dirname(os.path.abspath(__file__))}/../..")


def row(source, arch):
    with tempfile.TemporaryDirectory() as folder:
        cubin = f"{folder}/kernels.cubin"
        said = subprocess.run(["nvcc", "-O3", f"-arch={arch}", "-Xptxas", "-v", f"-I{TOP}", "-cubin", "-x", "cu", "-o", cubin, source],
                              check=True, capture_output=True, text=True).stderr
        sass = subprocess.run(["cuobjdump", "-sass", cubin], check=True, capture_output=True, text=True).stdout

    def numbers(pattern):
        return [int(n) for n in re.findall(pattern, said)] or [0]

    def count(pattern):
        return len(re.findall(rf"^\s+/\*[0-9a-f]+\*/\s+(?:@!?U?P\d+ )?{pattern}", sass, re.M))

    return [arch, len(re.findall("Compiling entry", said)), max(numbers(r"Used (\d+) registers")), sum(numbers(r"(\d+) bytes stack")),
            sum(numbers(r"(\d+) bytes spill stores")), max(numbers(r"(\d+) bytes smem")), count("HMMA"), count(r"(?:LDG|STG)\."),
            count(r"(?:LDG|STG)\.\S*128")]


for arch in sys.argv[2:] or ["sm_80", "sm_90"]:
    print("|", " | ".join(map(str, row(sys.argv[1], arch))), "|", flush=True)
