"""Writes docs/published-rules.md: published.py FLEXFLOW.json TASO.pb TENSORRIGHT.rules XLA.rules FOLDER, which verifies all of them."""
import re
import subprocess
import sys

VERDICTS = ["proven", "under a condition", "refuted", "unusable", "unknown"]
HEAD = """# Published rules

This page is written by `test/passes/rules/Inputs/published.py`. It says what `dopt-rules verify` proves of the rules that
others published, and which of them do not hold: [rules.md](rules.md) says what the verdicts and the readings are. A rule is
refuted by sizes with which both sides are different, or with which the right side has no type and the left side has one.
Sizes are called as in the text that `dopt-rules convert` writes.

"""


def tool(*arguments):
    return subprocess.run(["dopt-rules", *arguments], capture_output=True, text=True, check=False).stdout


def verdicts(path):
    """[(name, verdict, what is said of it)]"""
    found = []
    for name, verdict, text in re.findall(r"^(\w+): (proven|refuted|unusable|unknown)[:,] (.*)$", tool("verify", path), re.M):
        condition = re.search(r"where (.*)", text)
        if verdict == "proven" and condition:
            verdict, text = "under a condition", condition[1]
        found.append((name, verdict, text))
    return found


def by_name(found):
    """The rules of a set by verdict, with what a proof assumes, in a table."""
    groups = {}
    for rule, verdict, text in found:
        groups.setdefault(verdict if verdict != "proven" else f"proven, {text}", []).append(rule)
    print("| verdict | rules |\n| --- | --- |")
    for verdict, rules in sorted(groups.items()):
        print(f"| {re.sub(': .*', '', verdict)} | " + ", ".join(f"`{r}`" for r in rules) + " |")


def main(flexflow, taso, tensorright, xla, folder):
    sets = {}
    for reading in "dopt", "device", "lin0":
        path = f"{folder}/{reading}.rules"
        tool("convert", f"-reading={reading}", flexflow, "-o", path)
        sets[f"FlexFlow, `{reading}`"] = verdicts(path)
    tool("convert", taso, "-o", f"{folder}/taso.rules")
    sets["TASO"] = verdicts(f"{folder}/taso.rules")
    named = {"XLA's in TensorRight": verdicts(tensorright), "others of XLA and PyTorch": verdicts(xla)}
    sets.update(named)
    print(HEAD + "| rules | number | " + " | ".join(VERDICTS) + " |")
    print("| --- " * (2 + len(VERDICTS)) + "|")
    for name, found in sets.items():
        print(f"| {name} | {len(found)} |", " | ".join(str(sum(v == w for _, v, _ in found)) for w in VERDICTS), "|")
    readings = [s for s in sets if s.startswith("FlexFlow")]
    for name, found in sets.items():
        wrong = [r for r in found if r[1] == "refuted"]
        if not wrong:
            continue
        others = [s for s in readings if s != name and name in readings]
        print(f"\n## {name}: refuted\n")
        print("| rule | counterexample |" + (" holds in |" if others else ""))
        print("| --- | --- |" + (" --- |" if others else ""))
        for rule, _, text in wrong:
            holds = [
                re.search(r"`.*`", s)[0] + (f", where {t}" if v == "under a condition" else "")
                for s in others
                for r, v, t in sets[s]
                if r == rule and v in VERDICTS[:2]
            ]
            text = text.replace("|", "\\|")
            print(f"| {rule} | {text} |" + (f" {'; '.join(holds) or 'none'} |" if others else ""))
    for name, found in named.items():
        print(f"\n## {name[0].upper()}{name[1:]}, by name\n")
        by_name(found)


main(*sys.argv[1:])
