"""folders.py TREE PAGE [-objects|-files FOLDER]: which folders of TREE (ir, parser, passes, lower, runtime and below) include from
which, held against the tables of PAGE, docs/architecture.md, section "Folders":

- The first table has a row for each folder with sources, and for no other one: folders in backquotes, what they hold.
- Includes go one way: no folder includes from one that includes from it, directly or through others, but for those of the
  second table, `FROM/` -> `TO/` and a reason. Each of these must be there, and without it there must be a cycle.
- A folder below test/ mirrors one with sources, or has a row in the first table, too: test/ir/base/ has the tests of ir/base/.
  What Inputs folders hold belongs to the tests beside them.

With -objects the same is asked of symbols that object files below FOLDER define and use (nm), for instance
build/gcc/CMakeFiles/libdopt.dir. Then rows `FROM/` -> `TO/` (symbols) count too: prototypes that a table makes need no
include. And files are held against each other: at most MOST_FILES may be in one circle, in which each needs all others. With
-files only this is asked of symbols: folders of the runtime use functions of main.c and of their devices.
Prints what is wrong and exits 1, else prints what it has counted.
"""
import collections
import pathlib
import re
import subprocess
import sys

# Parts of one thing that was cut for its length may need each other. More than that, and the cause is a table of many
# functions in the file with the helpers that each of them calls: the table belongs into a file of its own.
MOST_FILES = 8
TOPS = ("ir", "parser", "passes", "lower", "runtime")
SOURCE = re.compile(r"\.(c|h|def|y|l|cu|cmake)$")
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
FOLDER_ROW = re.compile(r"^\| ((?:`[\w/]+/`(?:, )?)+) \| (.+) \|$", re.M)
TIE_ROW = re.compile(r"^\| ([`\w/, ]+) -> ([`\w/, ]+?)( \(symbols\))? \| (.+) \|$", re.M)


class Ties:
    """From folder to folder, with one pair of names as the example of each."""

    def __init__(self):
        self.example = collections.defaultdict(dict)

    def add(self, user, used, example):
        if user != used:
            self.example[user].setdefault(used, example)

    def cycle(self, without):
        """A shortest way from a folder back to itself, or None."""
        ways = [way for start in sorted(self.example) if (way := self.way(start, start, without))]
        return min(ways, key=len, default=None)

    def way(self, start, goal, without):
        """The folders of a shortest way of one tie or more."""
        before, queue = {}, collections.deque([start])
        while queue:
            at = queue.popleft()
            for to in sorted(self.example[at] if at in self.example else ()):
                if (at, to) in without:
                    continue
                if to == goal:
                    way = [to, at]
                    while way[-1] != start:
                        way.append(before[way[-1]])
                    return way[::-1]
                if to not in before:
                    before[to] = at
                    queue.append(to)
        return None

    def reach(self, start):
        """All that start needs, itself or through others."""
        seen, stack = set(), [start]
        while stack:
            new = self.example.get(stack.pop(), {}).keys() - seen
            seen |= new
            stack += new
        return seen

    def circles(self):
        """Sets whose members all need each other, largest first."""
        reach = {name: self.reach(name) for name in self.example}
        circles = {frozenset(other for other in reach[name] if name in reach.get(other, ())) for name in reach}
        return sorted(circles, key=lambda circle: (-len(circle), min(circle, default="")))


def sources(tree):
    return [path for top in TOPS for path in sorted((tree / top).rglob("*")) if SOURCE.search(path.name)]


def test_folders(tree):
    """Folders below test/ with files of their own, relative to the tree."""
    files = (file.relative_to(tree) for file in (tree / "test").rglob("*") if file.is_file())
    folders = {file.parent for file in files if not {"Inputs", "__pycache__"} & set(file.parts)}
    return {folder.as_posix() for folder in folders} - {"test"}


def include_ties(tree, files):
    """An include names a file from the top, or one of its own folder; those of generated files have the folder's name."""
    ties, folders = Ties(), {file.parent for file in files}
    for file in files:
        for name in INCLUDE.findall(file.read_text(errors="replace")):
            for found in (tree / name, file.parent / name):
                if found.parent in folders:
                    ties.add(file.parent.relative_to(tree).as_posix(), found.parent.relative_to(tree).as_posix(),
                             f"{file.relative_to(tree)} includes {name}")
                    break
    return ties


def has_source(tree, name):
    """Is the source of an object there, or that of a generated source: a grammar, or a text that became an array?"""
    source = name.with_suffix("").as_posix().removeprefix("gen/")
    of = [source, source.replace(".tab.c", ".y"), source.replace(".lex.c", ".l"), source.removesuffix(".c")]
    return any((tree / path).is_file() for path in of)


def symbol_ties(tree, objects):
    """Of folders and of files, from object files as CMake places them, FOLDER/ir/base/arena.c.o, whose source is still there."""
    ties, file_ties, owner, used = Ties(), Ties(), {}, []
    files = [file for file in sorted(objects.rglob("*.o")) if has_source(tree, file.relative_to(objects))]
    listed = subprocess.run(["nm", "-A", *files], capture_output=True, text=True, check=True).stdout if files else ""
    for line in listed.splitlines():  # FILE:VALUE KIND SYMBOL; what is only used has no value
        file, _, rest = line.partition(":")
        file = pathlib.Path(file)
        kind, symbol = rest.split()[-2:]
        source = pathlib.PurePath(file.relative_to(objects).as_posix().removeprefix("gen/")).with_suffix("")
        if kind == "U":
            used.append((source, symbol))
        elif kind.isupper():
            owner[symbol] = source
    for source, name in used:
        if name in owner:
            other = owner[name]
            ties.add(source.parent.as_posix(), other.parent.as_posix(), f"{source.name}.o uses {name}")
            file_ties.add(source.as_posix(), other.as_posix(), name)
    return ties, file_ties


def file_faults(ties):
    for circle in ties.circles():
        if len(circle) <= MOST_FILES:
            continue
        yield f"{len(circle)} files need each other, more than {MOST_FILES}:"
        for file in sorted(circle):
            for other in sorted(circle & ties.example[file].keys()):
                yield f"  {file} uses {ties.example[file][other]} of {other}"


def names(cell):
    return re.findall(r"`([\w/]+)/`", cell)


def faults(page, folders, tests, ties, with_symbols):
    section = page.partition("\n## Folders\n")[2].partition("\n## ")[0]
    rows = [name for cell, _ in FOLDER_ROW.findall(section) for name in names(cell)]
    named = {(user, used) for users, targets, symbols, _ in TIE_ROW.findall(section) if with_symbols or not symbols
             for user in names(users) for used in names(targets)}
    for folder in sorted(folders - set(rows)):
        yield f"{folder}/ has no row"
    for folder in sorted(set(rows) - folders - tests - {"test"}):
        yield f"the row {folder}/ is about no folder with sources"
    for folder in sorted(tests - set(rows)):
        if folder.removeprefix("test/") not in folders:
            yield f"{folder}/ has the name of no folder with sources, and no row"
    for folder in sorted(name for name, n in collections.Counter(rows).items() if n > 1):
        yield f"{folder}/ has several rows"
    if way := ties.cycle(named):
        yield "a cycle that the page does not name: " + " -> ".join(f"{name}/" for name in way)
        for user, used in zip(way, way[1:]):
            yield f"  {ties.example[user][used]}"
    for user, used in () if with_symbols else sorted(named):
        if used not in ties.example.get(user, {}):
            yield f"{user}/ -> {used}/ is named, but nothing in {user}/ includes from {used}/"
        elif not ties.way(used, user, named):
            yield f"{user}/ -> {used}/ is named, but in no cycle"


def main():
    tree, page = map(pathlib.Path, sys.argv[1:3])
    files = sources(tree)
    folders = {file.parent.relative_to(tree).as_posix() for file in files}
    with_objects = sys.argv[3:4] == ["-objects"]
    ties, file_ties = include_ties(tree, files), Ties()
    if len(sys.argv) > 3:
        symbols, file_ties = symbol_ties(tree, pathlib.Path(sys.argv[4]))
        ties = symbols if with_objects else ties
    wrong = [*faults(page.read_text(), folders, test_folders(tree), ties, with_objects), *file_faults(file_ties)]
    print("\n".join(wrong) or f"{len(folders)} folders, {sum(map(len, ties.example.values()))} ties")
    sys.exit(1 if wrong else 0)


main()
