"""Adds what docs/contributing.md adds to a copy of the tree, one section after the other, and builds it.

    contributing.py SOURCE FOLDER PAGE OPTION...

Blocks of the page, each with its file:

    ```new FILE               a new file
    ```row FILE after TEXT    lines behind the first line that begins with TEXT; `before`: in front of it
    ```dir FILE               a module in FOLDER, for the commands
    ```console                commands, each followed by what it prints; see examples.py, which looks at them
    ```console cuda           only where dopt builds programs for CUDA

The table at the top of the page says how many places a section touches; there must be as many blocks `new` and `row`.
The options are those of cmake.
"""
import os
import re
import shutil
import subprocess
import sys

source, folder, page = sys.argv[1:4]
options = sys.argv[4:]
tree, build = os.path.join(folder, "tree"), os.path.join(folder, "build")


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}:\n{done.stdout[-4000:]}")


def add(kind, words, text):
    path = os.path.join(tree, words[0])
    if kind == "new":
        if os.path.exists(path):
            sys.exit(f"{words[0]} is there already")
        with open(path, "w") as out:
            out.write(text)
        return
    where, anchor = words[1].split(" ", 1)
    lines = open(path).read().splitlines(keepends=True)
    at = next((i for i, line in enumerate(lines) if line.startswith(anchor)), None)
    if at is None:
        sys.exit(f"{words[0]}: no line begins with '{anchor}'")
    at += where == "after"
    with open(path, "w") as out:
        out.writelines(lines[:at] + [text] + lines[at:])


def places_of(text):
    """The places that the table at the top promises, by the files of the last column."""
    rows = re.findall(r"^\| (.*?) \| (\d+) \| (.*) \|$", text, re.M)
    return {name: (int(n), re.findall(r"`([^`]*)`", files)) for name, n, files in rows}


def fits(pattern, path):
    return re.fullmatch(re.sub("NAME|FAMILY", "[a-z0-9_]+", re.escape(pattern)), path)


def check_places(heading, promised, touched):
    n, patterns = promised
    if n != len(touched) or n != len(patterns):
        sys.exit(f"{heading}: the table promises {n} places, the section touches {', '.join(touched)}")
    for path in touched:
        if not any(fits(pattern, path) for pattern in patterns):
            sys.exit(f"{heading}: {path} is not in the table")


def main():
    text = open(page).read()
    promised = places_of(text)
    for name in ("ir", "parser", "passes", "lower", "runtime", "docs", "test/passes/api", "test/models"):
        shutil.copytree(os.path.join(source, name), os.path.join(tree, name))
    for name in ("CMakeLists.txt", "CMakePresets.json", "LICENSE", "README.md"):
        shutil.copy(os.path.join(source, name), tree)
    os.makedirs(build, exist_ok=True)
    examples = os.path.join(folder, "examples.md")
    for section in re.split(r"^## ", text, flags=re.M)[1:]:
        heading = section.splitlines()[0]
        blocks = re.findall(r"^```(\S+) ?([^\n]*)\n(.*?)^```$", section, re.S | re.M)
        touched = []
        for kind, rest, body in blocks:
            if kind in ("new", "row"):
                words = rest.split(" ", 1)
                add(kind, words, body)
                touched.append(words[0])
        key = heading[0].lower() + heading[1:]
        if not touched and key not in promised:
            continue  # about something else
        check_places(heading, promised[key], touched)
        run("cmake", "-S", tree, "-B", build, "-G", "Ninja", "-DBUILD_TESTING=OFF", *options)
        run("cmake", "--build", build)
        print(f"{heading}: {len(touched)} places, builds", flush=True)
    has_cuda = "#define DOPT_NVCC \"\"" not in open(os.path.join(build, "gen", "dopt_config.h")).read()
    wanted = re.sub(r"^```(?:new|row) .*?^```$\n", "", text, flags=re.S | re.M)
    wanted = wanted.replace("```console cuda", "```console" if has_cuda else "```text")
    with open(examples, "w") as out:
        out.write(wanted)
    os.environ["PATH"] = os.path.join(build, "bin") + os.pathsep + os.environ["PATH"]
    run(sys.executable, os.path.join(os.path.dirname(__file__), "examples.py"), examples, folder)
    print("the commands print what the page shows")


main()
