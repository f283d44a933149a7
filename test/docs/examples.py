"""Takes the examples out of a page and sees to it that dopt does what the page says.

    examples.py PAGE FOLDER [SOURCE]

What is looked at are the blocks between lines ```:

    ```dir            a module: must be read without a message, and its canonical text be a fixed point
    ```dir errors     `// error: text` in it must be the errors that dopt reports, line for line
    ```... FILE       text that is put into FILE, in FOLDER; a module must be right, as above
    ```console        commands behind `$ `, each followed by what it prints

Commands run in FOLDER, in which the folders of SOURCE can be seen, so that a page's paths are those from
the top of the tree. A line `...` stands for any lines, `...` in a line for any text. A block ```console
measured has numbers that are not the same everywhere: any number will do in place of one, and any
blanks in place of some; that a busy machine is warned of does not count. A command must succeed unless its
output has an error, or an exit status behind `$ echo $?`. In a block ```console stats only what passes took
may differ.
"""
import os
import re
import subprocess
import sys

# A command builds a program, or trains one for some hundred small steps.
COMMAND_SECONDS = 300


def dopt(path):
    done = subprocess.run(["dopt", path], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout, done.stderr


def check_right(path):
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


# What -measure says where other processes use the cores.
BUSY = re.compile(r"^\S+: (?:warning: measured times vary|warning: the machine was busy|note: other processes ran|note: load average).*\n", re.M)
# A number, with a unit of time or without.
NUMBER = r"\d+(?:\.\d+)?(?:e[-+]?\d+)?(?:[num]?s\b)?"
# Where the column "pass time" stands in the table of -stats.
TOOK = 7


def any_number(line):
    parts = re.split("(" + NUMBER + "| +)", line)
    same = {" ": " +"}
    return "".join(
        re.escape(part) if i % 2 == 0 else same.get(part[0], NUMBER) for i, part in enumerate(parts)
    )


def any_took(line):
    columns = line.split()
    took = [r"\S+" if i == TOOK else re.escape(column) for i, column in enumerate(columns)]
    return " +".join(took)


def pattern(lines, words):
    """A regular expression for what a page shows."""
    of_line = any_number if "measured" in words else any_took if "stats" in words else re.escape
    whole = ""
    for line in lines:
        if line == "...":
            whole += r"(?:.*\n)*"
        else:
            whole += r".*".join(of_line(piece) for piece in line.split("...")) + r"\n"
    return whole


def check_commands(text, folder, words):
    """The commands of a block, one after another; a command goes on after a line that ends in \\."""
    lines = text.splitlines()
    while lines:
        command = lines.pop(0)
        if not command.startswith("$ "):
            return f"has {command!r} where a command is expected"
        while command.endswith("\\"):
            command += "\n" + lines.pop(0)
        wanted = []
        while lines and not lines[0].startswith("$ "):
            wanted.append(lines.pop(0))
        shell = command[2:]
        status_too = bool(lines) and lines[0] == "$ echo $?"
        if status_too:
            shell += "; " + lines.pop(0)[2:]
            while lines and not lines[0].startswith("$ "):
                wanted.append(lines.pop(0))
        done = subprocess.run(
            ["timeout", str(COMMAND_SECONDS), "sh", "-c", shell],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        printed = BUSY.sub("", done.stdout) if "measured" in words else done.stdout
        if not re.fullmatch(pattern(wanted, words), printed):
            return f"{command!r} prints\n{printed}and not\n" + "\n".join(wanted)
        if done.returncode and not any("error: " in line for line in wanted):
            return f"{command!r} fails with status {done.returncode}"
    return None


def check(language, words, text, folder, number):
    if language == "console":
        return check_commands(text, folder, words)
    files = [word for word in words if "." in word]
    path = os.path.join(folder, files[0] if files else f"example{number}.{language}")
    with open(path, "w") as out:
        out.write(text)
    if language != "dir":
        return None
    return check_wrong(path, text) if "errors" in words else check_right(path)


def link(source, folder):
    for name in os.listdir(source):
        path = os.path.join(folder, name)
        if os.path.isdir(os.path.join(source, name)) and name[0] != "." and name != "build":
            if os.path.islink(path):
                os.unlink(path)
            os.symlink(os.path.join(source, name), path)


def main():
    page, folder = sys.argv[1:3]
    if len(sys.argv) > 3:
        link(sys.argv[3], folder)
    blocks = re.findall(r"^```(\w+)([^\n]*)\n(.*?)^```", open(page).read(), re.M | re.S)
    blocks = [b for b in blocks if b[0] in ("dir", "console") or b[1]]
    failed = 0
    for i, (language, words, text) in enumerate(blocks):
        fault = check(language, words.split(), text, folder, i)
        if fault:
            failed += 1
            print(f"example {i} of {page}, {text.splitlines()[0]!r}, {fault}")
    print(f"{len(blocks) - failed} of {len(blocks)} examples")
    sys.exit(failed > 0 or not blocks)


main()
