"""mutants.py SEED COUNT FILE...: changes rules at random, as text: another op, operand, number, name, class of elements or
condition, operands or attributes exchanged, types and sizes of parameters, no op, the same op after both sides. What dopt-rules verify proves of these for all sizes must not have a counterexample.
Prints how many were proven, refuted and left open, and each contradiction; exits 1 if there is one."""
import os
import random
import re
import subprocess
import sys
import tempfile

KINDS = [
    ["add", "sub", "mul", "div", "maximum", "minimum", "rem", "pow"],
    ["neg", "abs", "relu", "square", "sign", "exp", "log", "sqrt", "rsqrt", "tanh", "sin", "floor", "not", "sigmoid"],
    ["sum", "max", "min", "prod", "mean", "cumsum", "reverse"],
    ["gt", "lt", "ge", "le", "eq", "ne"],
    ["and", "or", "xor"],
    ["allgather", "allreduce", "replicate", "combine", "reduce"],
]
LETTERS = ["N", "F", "Z", "T", "L", "i8", "u8", "i32", "u32", "f16", "f32", "bool"]
TYPE = r"\b(?:[NFZTLI]|[iuf]\d+|bf16|bool)(?=\[)"
SIZE = r"(?<=[\[,])[a-z](?=[\],])"
RULE = r"^rule @[^\n]* \} => \{[^\n]*\}$|^rule @.*?^\} => \{.*?^\}$"
TRIES = 400
KEEP = os.environ.get("KEEP")  # a file for all verdicts and mutants
AROUND = [  # what is done to the result of both sides
    "relu(%s)", "neg(%s)", "exp(%s)", "abs(%s)", "sign(%s)", "square(%s)", "not(%s)", "cumsum(%s) {dim = -1}",
    "sum(%s) {dims = [-1]}", "max(%s) {dims = [-1]}", "min(%s) {dims = [0]}", "prod(%s) {dims = [-1]}",
    "reverse(%s) {dims = [-1]}", "transpose(%s)", "pad(%s) {low = [-1], dims = [-1]}",
    "pad(%s) {low = [1], high = [0], interior = [1], dims = [-1]}", "slice(%s) {start = [1], limit = [2], dims = [-1]}",
    "convert(%s) {to = i8}", "convert(%s) {to = u8}", "add(%s, %s)", "sub(%s, %s)", "lt(%s, %s)",
    "maximum(%s, %s)", "concat(%s, %s) {dim = -1}", "concat(%s, %s) {dim = 0}", "broadcast(%s) {shape = [2, 1]}",
]


def choose(rng, pattern, line, start, change):
    """One of the matches at or after `start`, changed."""
    found = [m for m in re.finditer(pattern, line) if m.start() >= start]
    if not found:
        return line
    m = rng.choice(found)
    return line[: m.start()] + change(m.group()) + line[m.end() :]


class Rule:
    """The lines of a rule, in parts."""

    def __init__(self, rng, text):
        text = re.sub(r" \{ (?=%)|(?<!,) (?=%\w+(?:, %\w+)* =)| (?=return\()| (?=\})", lambda m: m.group().rstrip() + "\n  ", text)
        text = re.sub(r"\n +(?=\})", "\n", re.sub(r"\n\s*\n", "\n", text))
        self.rng, self.lines = rng, [re.sub(r"^ +", "  ", line) for line in text.split("\n")]
        self.arrow = next(i for i, line in enumerate(self.lines) if line.startswith("} =>"))
        self.body = [i for i, line in enumerate(self.lines) if re.match(r"  %", line)]
        self.sizes = re.findall(SIZE, self.lines[0])

    def line(self):
        """One that makes a value: its number, text, and where its attributes begin."""
        i = self.rng.choice(self.body)
        return i, self.lines[i], self.lines[i].find("{") if "{" in self.lines[i] else len(self.lines[i])

    def values(self, i):
        before = self.lines[1:i] if i < self.arrow else self.lines[self.arrow + 1 : i]
        return re.findall(r"%\w+", self.lines[0]) + [b.split()[0].rstrip(",") for b in before]

    def another_op(self):
        i, line, _ = self.line()
        op = re.search(r"= (\w+)\(", line).group(1)
        others = [o for k in KINDS if op in k for o in k if o != op]
        self.lines[i] = line.replace(f"= {op}(", f"= {self.rng.choice(others or [op])}(", 1)

    def another_operand(self):
        i, line, _ = self.line()
        values = self.values(i)
        self.lines[i] = choose(self.rng, r"%\w+(?=[,)])", line, 0, lambda had: self.rng.choice(values or [had]))

    def exchanged_operands(self):
        i, line, _ = self.line()
        self.lines[i] = re.sub(r"\((%\w+), (%\w+)", r"(\2, \1", line, count=1)

    def another_number(self):
        i, line, brace = self.line()
        self.lines[i] = choose(self.rng, r"(?<=[\[,= ])-?\d+(?=[\],} ])", line, brace,
                               lambda had: str(self.rng.choice([int(had) - 1, int(had) + 1, -int(had), 0, 1, 2])))

    def another_name(self):
        i, line, brace = self.line()
        names = self.sizes + ["0", "1", "2", "-1"]
        self.lines[i] = choose(self.rng, r"(?<=[\[,= ])[a-z]\w*(?=[\],} ])", line, brace, lambda had: self.rng.choice(names))

    def another_sum(self):
        i, line, brace = self.line()
        self.lines[i] = choose(self.rng, r" [-+*] ", line, brace, lambda had: f" {self.rng.choice('-+*')} ")

    def no_attribute(self):
        i, line, brace = self.line()
        line = choose(self.rng, r"(, )?\w+ = (\[.*?\]|[^],}]+)", line, brace, lambda had: "")
        self.lines[i] = line.replace("{, ", "{")

    def exchanged_attributes(self):
        i, line, _ = self.line()
        for a, b in (("low", "high"), ("start", "limit"), ("step", "start"), ("stride", "dilation")):
            line = re.sub(rf"\b{a} =", "@ =", line)
            line = re.sub(rf"\b{b} =", f"{a} =", line).replace("@ =", f"{b} =")
            if line != self.lines[i]:
                break
        self.lines[i] = line

    def no_op(self):
        i, line, _ = self.line()
        value, operands = line.split()[0], re.findall(r"%\w+(?=[,)])", line)
        if operands:
            end = self.arrow if i < self.arrow else len(self.lines)
            by = self.rng.choice(operands)
            self.lines[i:end] = [re.sub(rf"{value}\b", by, s) for s in self.lines[i + 1 : end]]

    def another_class(self):
        letter = self.rng.choice("NFZ")
        self.lines = [re.sub(r"\b[NFZ](?=\[)", letter, line) for line in self.lines]

    def another_type(self):
        had = self.rng.choice(re.findall(TYPE, "\n".join(self.lines)) or ["N"])
        to = self.rng.choice(LETTERS)
        lines = [i for i, line in enumerate(self.lines) if re.search(rf"\b{had}(?=\[)", line)]
        for i in lines:
            self.lines[i] = re.sub(rf"\b{had}(?=\[)", to, self.lines[i])

    def another_size(self):
        """Of a parameter: 1, a number, or that of another."""
        if not self.sizes:
            return
        had, to = self.rng.choice(self.sizes), self.rng.choice(self.sizes + ["1", "1", "2", "3"])
        if self.rng.random() < 0.3:
            self.lines[0] = choose(self.rng, SIZE, self.lines[0], 0, lambda _: to)
        else:
            self.lines = [re.sub(rf"(?<![%\w.]){had}\b(?!\w*(?: =|\())", to, line) for line in self.lines]

    def condition(self):
        head, where, conditions = self.lines[0].partition(" where ")
        if not where:
            return self.another_class()
        kept = conditions.removesuffix(" {").split(", ")
        k = self.rng.randrange(len(kept))
        kind = self.rng.randrange(3)
        if kind == 0:
            kept.pop(k)
        elif kind == 1:
            kept[k] = re.sub(r"[<>=]=|[<>]", self.rng.choice(["<", "<=", ">", ">=", "==", "!="]), kept[k])
        else:
            kept[k] = re.sub(r"\d+", lambda m: str(int(m.group()) + self.rng.choice([-1, 1])), kept[k])
        self.lines[0] = head + (where + ", ".join(kept) if kept else "") + " {"

    def around(self):
        """The same op after both sides."""
        op = self.rng.choice(AROUND)
        for i in reversed([i for i, line in enumerate(self.lines) if line.startswith("  return(")]):
            results = re.findall(r"%\w+", self.lines[i])
            new = op.replace("%s", results[0])
            self.lines[i : i + 1] = [f"  %around = {new}", "  return(%s)" % ", ".join(["%around"] + results[1:])]

    def instance(self):
        """A parameter becomes a constant or positions on both sides."""
        params = re.findall(r"(%\w+) : (\w+\[[^]]*\])", self.lines[0])
        if not params:
            return
        name, type = self.rng.choice(params)
        made = self.rng.choice(["iota() {dim = -1}", "iota() {dim = 0}", "constant() {value = 0}", "constant() {value = 1}",
                                "constant() {value = 2}", "constant() {value = -1}", "constant() {value = v}"])
        line = f"  {name} = {made} : {type}"
        self.lines[0] = re.sub(rf"(, )?{name} : {re.escape(type)}(@param)?", "", self.lines[0], count=1).replace("(, ", "(")
        self.lines[self.arrow : self.arrow + 1] = [self.lines[self.arrow], line]
        self.lines[0:1] = [self.lines[0], line]


CHANGES = [f for name, f in vars(Rule).items() if not name.startswith("_") and name not in ("line", "values")]


def mutant(rng, text):
    rule = Rule(rng, text)
    change = rng.choice(CHANGES)
    if rule.body or change in (Rule.another_class, Rule.another_type, Rule.another_size, Rule.condition, Rule.around, Rule.instance):
        change(rule)
    return "\n".join(rule.lines)


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


def is_applied(rule):
    """Not where the right side has a name that the left side lacks."""
    left, right = (set(re.findall(r"(?<![%\w])[a-z]\w?\b(?! =)", side)) for side in rule.split("} => {"))
    return right <= left


def within(rule, conditions):
    """With the conditions that the proof found."""
    head, rest = rule.split("\n", 1)
    if not conditions:
        return rule
    return head.removesuffix(" {") + (", " if " where " in head else " where ") + conditions + " {\n" + rest


def main(seed, count, *files):
    rng = random.Random(int(seed))
    families = {}  # rules whose words are those of one text count as one
    for f in files:
        for r in re.findall(RULE, tool("show", f).stdout, re.S | re.M):
            families.setdefault(name(r), []).append(re.sub(r"(?<=^rule @)[\w.]+", name(r), r))
    rules = list(families.values())
    made = {}
    while len(made) < int(count):
        had = rng.choice(rng.choice(rules))
        new = mutant(rng, had)
        while rng.random() < 0.5:
            new = mutant(rng, new)
        if new != had:
            if is_applied(new):
                made.setdefault(new.replace("@" + name(new), "@"), re.sub(r"(?<=^rule @)\w+", f"{name(new)}_{len(made)}", new))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "mutants.rules")
        read = valid(path, list(made.values()))
        verdicts = tool("verify", path).stdout
        if f"\n{len(read)} rules: " not in verdicts:
            sys.exit(f"verify did not end: {verdicts[-300:]}")
        proven = dict(re.findall(r"^(\w+): proven.*?(?:; where (.*))?$", verdicts, re.M))
        write(path, [within(r, proven[name(r)]) for r in read if name(r) in proven])
        wrong = re.findall(r"^((\w+): refuted: .*)", tool("refute", f"-tries={TRIES}", f"-seed={seed}", path).stdout, re.M)
        print(verdicts.strip().split("\n")[-1] + f", {len(wrong)} proven and refuted")
        if KEEP:
            open(KEEP, "w").write(verdicts + "\n".join(read))
        for line, rule in wrong:
            print(line, next(r for r in read if name(r) == rule), sep="\n")
    sys.exit(len(wrong) > 0)


main(*sys.argv[1:])
