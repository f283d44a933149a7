"""editors.py SOURCE: are the syntax files of docs/editors those of the language? Keywords are the lexer's, and the words of all
models have the kinds that they should: what is read as a keyword, value, function, op, type, string, number, comment."""
import collections
import json
import pathlib
import re
import sys

source = pathlib.Path(sys.argv[1])
editors = source / "docs" / "editors"
for path in (editors / "vscode").glob("*.json"):
    json.loads(path.read_text())

keywords = set(re.findall(r'^"(\w+)"\s+\{', (source / "parser/dir/dir.l").read_text(), re.M)) - {"dim"}
vim = (editors / "vim/syntax/dir.vim").read_text()
grammar = json.loads((editors / "vscode/dir.tmLanguage.json").read_text())
rules = [(p["name"], re.compile(p["match"])) for p in grammar["patterns"]]
found = {
    "vim": set(re.search(r"^syn keyword dirKeyword (.*)$", vim, re.M).group(1).split()),
    "vscode": set(re.search(r"\(([a-z|]+)\)", dict((p["name"], p["match"]) for p in grammar["patterns"])["keyword.other.dir"]).group(1).split("|")),
}
for editor, words in found.items():
    if words != keywords:
        sys.exit(f"{editor}: keywords {sorted(words ^ keywords)} differ from the lexer's")


def tokens(line):
    """As an editor reads it: the match that begins first, of these the first of the grammar."""
    at = 0
    while True:
        best = None
        for name, pattern in rules:
            m = pattern.search(line, at)
            if m and (best is None or m.start() < best[1].start()):
                best = name, m
        if not best:
            return
        yield best[0].split(".")[0], best[1].group()
        at = max(best[1].end(), at + 1)


sample = '  %y = call @act(%x, %b.1) {as = "up", N = 4*H, p = 1.5e-3, on = true} : f32[B/dp,T]+ep  // %not a value'
wanted = [
    ("variable", "%y"), ("support", "call"), ("entity", "@act"), ("variable", "%x"), ("variable", "%b.1"), ("variable", "as"),
    ("string", '"up"'), ("variable", "N"), ("constant", "4"), ("variable", "p"), ("constant", "1.5e-3"), ("variable", "on"),
    ("constant", "true"), ("storage", "f32"), ("comment", "// %not a value"),
]
if list(tokens(sample)) != wanted:
    sys.exit(f"read as {list(tokens(sample))}")
ops = set(re.findall(r"^OP\((\w+)", (source / "ir/ops/ops.def").read_text(), re.M))
kinds = collections.Counter()
for path in sorted((source / "test/models").glob("*.dir")):
    for number, line in enumerate(path.read_text().split("\n"), 1):
        for kind, text in tokens(line):
            kinds[kind] += 1
            if kind == "support" and text not in ops and text not in ("dim", "return"):
                sys.exit(f"{path}:{number}: '{text}' is read as an op")
            if kind == "keyword" and not re.match(rf"\s*{text}\b", line):
                sys.exit(f"{path}:{number}: '{text}' is read as a keyword")
        code = re.sub(r'"[^"]*"|//.*', "", line)
        had = sum(kind == "variable" and text[0] == "%" for kind, text in tokens(line))
        if had != len(re.findall(r"%[\w.]+", code)):
            sys.exit(f"{path}:{number}: values are missing")
print(f"{sum(kinds.values())} words of models:", ", ".join(sorted(kinds)))
