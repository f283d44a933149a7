#!/usr/bin/env python3
"""Adds up what the runners reported in one or more build folders.

    summary.py <build folder>...

Reads ctest.xml, which ctest wrote with the output of each unit test, and test/lit.json, which lit
wrote. Names every skipped and every failed test. The last line is `N passed, N failed, N skipped`;
the exit status is 0 when nothing failed and something passed.
"""

import json
import os
import re
import sys
import xml.etree.ElementTree as xml

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
LIT_OUTCOMES = {"PASS": PASSED, "XFAIL": PASSED, "FLAKYPASS": PASSED, "UNSUPPORTED": SKIPPED}
WHOLE = ("fuzzer_", "growth")  # how the names of tests begin that are one result each
CMOCKA_OUTCOMES = {"OK": PASSED, "FAILED": FAILED, "SKIPPED": SKIPPED}


def lit_results(path):
    """Yields (name, outcome, reason) for each test that lit saw."""
    try:
        with open(path) as file:
            tests = json.load(file)["tests"]
    except (OSError, ValueError):
        yield "lit", FAILED, "wrote no results"
        return
    for test in tests:
        outcome = LIT_OUTCOMES.get(test["code"], FAILED)
        reason = test["output"].strip().split("\n")[0] if outcome == SKIPPED else test["code"]
        yield test["name"], outcome, reason


def cmocka_results(executable, ran_well, output):
    """Yields (name, outcome, reason) for each test of an executable, from what cmocka printed.

    RUN announces a test and the next outcome is its own; outcomes with no test announced are the
    list that cmocka prints at the end. An announced test without an outcome died.
    """
    running, failed = None, False
    for tag, case in re.findall(r"^\[ +(RUN|OK|FAILED|SKIPPED) +\] (\w+)$", output, re.M):
        if tag == "RUN":
            running = "%s: %s" % (executable, case)
        elif running:
            failed = failed or tag == "FAILED"
            yield running, CMOCKA_OUTCOMES[tag], tag
            running = None
    if running:
        yield running, FAILED, "died"
    elif not ran_well and not failed:
        yield executable, FAILED, "the executable itself failed"


def ctest_results(path):
    """Yields (name, outcome, reason) for each unit test; lit's own results are in its file."""
    try:
        cases = xml.parse(path).getroot().findall("testcase")
    except (OSError, xml.ParseError):
        yield "ctest", FAILED, "wrote no results"
        return
    for case in cases:
        name, ran_well = case.get("name"), case.get("status") == "run"
        if name.startswith(WHOLE):
            yield name, PASSED if ran_well else FAILED, "found something" if not ran_well else ""
        elif name != "lit":
            yield from cmocka_results(name, ran_well, case.findtext("system-out") or "")


def counts(results):
    outcomes = [outcome for _, outcome, _ in results]
    return ", ".join("%d %s" % (outcomes.count(o), o) for o in (PASSED, FAILED, SKIPPED))


def main(builds):
    everything = []
    for build in builds:
        results = list(ctest_results(os.path.join(build, "ctest.xml")))
        if not results or any(not name.startswith(WHOLE) for name, _, _ in results):
            results += lit_results(os.path.join(build, "test", "lit.json"))
        print("%s: %s" % (build, counts(results)))
        for name, outcome, reason in results:
            if outcome != PASSED:
                print("  %s: %s (%s)" % (outcome, name, reason))
        everything += results
    print(counts(everything))
    outcomes = {outcome for _, outcome, _ in everything}
    return 0 if FAILED not in outcomes and PASSED in outcomes else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
