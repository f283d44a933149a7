"""Writes the generated part of docs/stablehlo.md: what the importer's table of ops says, and which
programs of StableHLO's own interpreter tests pass, the rest by reason.

    table.py DOPT SOURCE            the text
    table.py DOPT SOURCE --check N  compares it with the page, and fails where fewer than N pass
"""

import collections
import glob
import os
import re
import subprocess
import sys
import textwrap

BEGIN, END = "<!-- begin generated -->\n", "<!-- end generated -->\n"

# Reasons that many programs share: the pattern in a message, the words of the table.
REASONS = [
    (r"complex", "complex numbers"),
    (r"quant", "quantized types"),
    (r"tensors of u?i[24]\b", "integers of 2 and 4 bits"),
    (r"tensors of f[4-8]E", "floats of 4, 6 and 8 bits"),
    (r"it has no checks", "nothing is checked: the test compares printed text"),
]


def rows(source):
    """(op, what it becomes) in the order of the table."""
    files = [os.path.join(source, "parser/stablehlo", name) for name in ("mlir/point.def", "import/import.def")]
    text = "".join(open(name).read() for name in files)
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    for kind, args in re.findall(r'^(POINT|POINT_BITS|TEMPLATE|IMPORT|MOVED|BITS|REFUSED)\((.*)\)$', text, flags=re.M):
        name, rest = re.match(r'"([^"]+)", (.*)', args).groups()
        if kind.startswith("POINT"):
            numbers, bools = (x.strip() for x in rest.split(","))
            parts = [] if numbers == "NCODES" else ["`%s`" % numbers]
            if bools not in ("NCODES", numbers):
                parts.append("of i1 `%s`" % bools)
            yield name, ", ".join(parts)
        elif kind != "REFUSED":
            yield name, "yes"
        else:
            yield name, "no: " + rest.strip('"')


def complex_rows(source):
    """Ops that may have complex operands or results."""
    text = open(os.path.join(source, "parser/stablehlo/import/complex.def")).read()
    return re.findall(r'^[A-Z]+\("([^"]+)"', text, flags=re.M)


def reason(text):
    for pattern, words in REASONS:
        if re.search(pattern, text):
            return words
    text = re.sub(r"^[^ ]+:\d+: ", "", text)
    return "`" + re.sub(r" \(\d+ times, first here\)| is not supported", "", text) + "`"


def run(dopt, source):
    """By file: programs that pass, all programs; the rest by reason; failures."""
    files, rest, failed = {}, collections.Counter(), []
    for path in sorted(glob.glob(os.path.join(source, "test/parser/stablehlo/Inputs/interpret/*.mlir"))):
        done = subprocess.run(
            [dopt, "-split-input-file", "-expect", path], capture_output=True, text=True
        )
        passed = total = 0
        for line in done.stdout.splitlines():
            name, _, what = line.partition(": ")
            if what == "passed":
                passed += 1
            elif what.startswith("unsupported: "):
                rest[reason(what[len("unsupported: "):])] += 1
            elif what.startswith("failed: "):
                failed.append(os.path.basename(path) + ": " + line)
            else:
                continue
            total += 1
        if done.returncode not in (0, 1) or done.stderr:
            failed.append("%s: exit %d: %s" % (path, done.returncode, done.stderr[:200]))
        files[os.path.basename(path)] = (passed, total)
    return files, rest, failed


def page(source, files, rest, failed):
    passed, total = (sum(x[i] for x in files.values()) for i in (0, 1))
    out = ["", "%d of %d programs pass, %d fail; %d use features that are not supported:" %
           (passed, total, len(failed), sum(rest.values())), "", "| programs | reason |", "| ---: | --- |"]
    out += ["| %d | %s |" % (n, why) for why, n in sorted(rest.items(), key=lambda x: (-x[1], x[0]))]
    out += ["", "The ops, and what each becomes (a dopt op, or yes: ops of several kinds):", "",
            "| op | supported |", "| --- | --- |"]
    out += ["| `%s` | %s |" % row for row in rows(source)]
    out += ["", "Ops that may have complex operands or results:", "",
            textwrap.fill(", ".join("`%s`" % name for name in complex_rows(source)), 120, break_on_hyphens=False)]
    return passed, BEGIN + "\n".join(out) + "\n\n" + END


def main():
    dopt, source = sys.argv[1:3]
    files, rest, failed = run(dopt, source)
    passed, text = page(source, files, rest, failed)
    if len(sys.argv) < 5:
        sys.stdout.write(text)
        return 0
    for line in failed:
        print("failed:", line)
    written = open(os.path.join(source, "docs/stablehlo.md")).read()
    fresh = text in written
    if not fresh:
        print("docs/stablehlo.md: the generated part is to be:\n" + text)
    print("%d passed" % passed)
    return 0 if fresh and not failed and passed >= int(sys.argv[4]) else 1


sys.exit(main())
