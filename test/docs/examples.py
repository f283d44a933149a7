"""Takes the examples out of a page and runs dopt on each.

    examples.py PAGE FOLDER

A block ```dir must be read without a message, and its canonical text must be a fixed point. In a block
```dir errors the comments `// error: text` must be the errors that dopt reports, line for line.
"""
import re
import subprocess
import sys


def dopt(path):
    done = subprocess.run(["dopt", path], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout, done.stderr


def check_right(path, text):
    status, printed, messages = dopt(path)
    if status or messages:
        return f"is not right:\n{messages}"
    with open(path + ".out", "w") as out:
        out.write(printed)
    again = dopt(path + ".out")
    return None if again == (0, printed, "") else "does not print as a fixed point"


def check_wrong(path, text):
    status, _, messages = dopt(path)
    found = {(int(line), what) for line, what in re.findall(r":(\d+):\d+: error: (.*)", messages)}
    wanted = {
        (number, line.split("// error: ")[1])
        for number, line in enumerate(text.splitlines(), 1)
        if "// error: " in line
    }
    if status == 0:
        return "is accepted"
    return None if found == wanted and wanted else f"gives {sorted(found)}, not {sorted(wanted)}"


def main():
    page, folder = sys.argv[1:]
    blocks = re.findall(r"^```dir( errors)?\n(.*?)^```", open(page).read(), re.M | re.S)
    failed = 0
    for i, (errors, text) in enumerate(blocks):
        path = f"{folder}/example{i}.dir"
        with open(path, "w") as out:
            out.write(text)
        fault = (check_wrong if errors else check_right)(path, text)
        if fault:
            failed += 1
            print(f"example {i} of {page}, {text.splitlines()[0]!r}, {fault}")
    print(f"{len(blocks) - failed} of {len(blocks)} examples")
    sys.exit(failed > 0 or not blocks)


main()
