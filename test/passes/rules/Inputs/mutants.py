"""mutants.py SEED COUNT FILE...: changes rules at random, as text: another op, operand, number, name, class of elements or
condition, or two operands exchanged. What dopt-rules verify proves of these for all sizes must not have a counterexample.
Prints how many were proven, refuted and left open, and each contradiction; exits 1 if there is one."""
import os
import random
import re
import subprocess
import sys
import tempfile

KINDS = [
    ["add", "sub", "mul", "div", "maximum", "minimum"],
    ["neg", "abs", "relu", "square", "sign"],
    ["exp", "log", "sqrt", "rsqrt", "tanh", "sin", "floor"],
    ["sum", "max", "min", "prod"],
    ["gt", "lt", "ge", "le", "eq", "ne"],
    ["and", "or", "xor"],
    ["mean", "sum"],
]
TRIES = 400


def choose(rng, pattern, line, start, change):
    """One of the matches at or after `start`, changed."""
    found = [m for m in re.finditer(pattern, line) if m.start() >= start]
    if not found:
        return line
    m = rng.choice(found)
    return line[: m.start()] + change(m.group()) + line[m.end() :]


def change_head(rng, lines):
    head, where, conditions = lines[0].partition(" where ")
    if not where:
        letter = rng.choice("NFZ")
        return [re.sub(r"\b[NFZ](?=\[)", letter, line) for line in lines]
    kept = conditions.removesuffix(" {").split(", ")
    kept.pop(rng.randrange(len(kept)))
    return [head + (where + ", ".join(kept) if kept else "") + " {"] + lines[1:]


def mutant(rng, rule):
    lines = rule.split("\n")
    arrow = next(i for i, line in enumerate(lines) if line.startswith("} =>"))
    body = [i for i, line in enumerate(lines) if re.match(r"  %", line)]
    kind = rng.randrange(6)
    if kind == 5 or not body:
        return "\n".join(change_head(rng, lines))
    i = rng.choice(body)
    line = lines[i]
    brace = line.find("{") if "{" in line else len(line)
    if kind == 0:
        op = re.search(r"= (\w+)\(", line).group(1)
        others = [o for k in KINDS if op in k for o in k if o != op]
        line = line.replace(f"= {op}(", f"= {rng.choice(others or [op])}(", 1)
    elif kind == 1:
        before = lines[1:i] if i < arrow else lines[arrow + 1 : i]
        values = re.findall(r"%\w+", lines[0]) + [b.split()[0] for b in before]
        line = choose(rng, r"%\w+(?=[,)])", line, 0, lambda had: rng.choice(values or [had]))
    elif kind == 2:
        line = re.sub(r"\((%\w+), (%\w+)\)", r"(\2, \1)", line, count=1)
    elif kind == 3:
        step = rng.choice([-1, 1])
        line = choose(rng, r"(?<=[\[,= ])-?\d+(?=[\],} ])", line, brace, lambda had: str(int(had) + step))
    else:
        sizes = re.findall(r"(?<=[\[,])[a-z](?=[\],])", lines[0])
        line = choose(rng, r"(?<=[\[,= ])[a-z]\w*(?=[\],} ])", line, brace, lambda had: rng.choice(sizes or [had]))
    return "\n".join(lines[:i] + [line] + lines[i + 1 :])


def tool(*arguments):
    return subprocess.run(["dopt-rules", *arguments], capture_output=True, text=True)


def write(path, rules):
    with open(path, "w") as out:
        out.write("\n".join(rules) + "\n")


def valid(path, rules):
    """Those that are read."""
    while True:
        write(path, rules)
        wrong = {int(n) for n in re.findall(r":(\d+):\d+: error", tool("show", path).stderr)}
        if not wrong:
            return rules
        at, kept = 1, []
        for rule in rules:
            end = at + rule.count("\n") + 1
            if not any(at <= n < end for n in wrong):
                kept.append(rule)
            at = end
        rules = kept


def name(rule):
    return re.match(r"rule @(\w+)", rule).group(1)


def main(seed, count, *files):
    rng = random.Random(int(seed))
    rules = [r for f in files for r in re.findall(r"^rule @.*?^\} => \{.*?^\}$", open(f).read(), re.S | re.M)]
    made = {}
    while len(made) < int(count):
        had = rng.choice(rules)
        new = mutant(rng, had)
        if rng.random() < 0.3:
            new = mutant(rng, new)
        if new != had:
            made.setdefault(new.replace("@" + name(new), "@"), re.sub(r"(?<=^rule @)\w+", f"{name(new)}_{len(made)}", new))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "mutants.rules")
        read = valid(path, list(made.values()))
        verdicts = tool("verify", path).stdout
        if f"\n{len(read)} rules: " not in verdicts:
            sys.exit(f"verify did not end: {verdicts[-300:]}")
        proven = set(re.findall(r"^(\w+): proven(?!.*; where )", verdicts, re.M))
        write(path, [r for r in read if name(r) in proven])
        wrong = re.findall(r"^((\w+): refuted: .*)", tool("refute", f"-tries={TRIES}", f"-seed={seed}", path).stdout, re.M)
        print(verdicts.strip().split("\n")[-1] + f", {len(wrong)} proven and refuted")
        for line, rule in wrong:
            print(line, next(r for r in read if name(r) == rule), sep="\n")
    sys.exit(len(wrong) > 0)


main(*sys.argv[1:])
