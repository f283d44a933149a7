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
blanks in place of some. A command must succeed unless its output has an error, or an exit status
behind `$ echo $?`.
"""
import os
import re
import subprocess
import sys

# A command builds a program, or trains one for some hundred small steps.
COMMAND_SECONDS = 120


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


def pattern(lines, measured):
    """A regular expression for what a page shows."""
    whole = ""
    for line in lines:
        if line == "...":
            whole += r"(?:.*\n)*"
            continue
        part = r".*".join(re.escape(piece) for piece in line.split("..."))
        if measured:
            part = re.sub(r"\d+(?:\\\.\d+)?(?:e-?\d+)?", r"\\d+(?:\\.\\d+)?(?:e[-+]?\\d+)?", part)
            part = re.sub(r"(?:\\ )+", " +", part)
        whole += part + r"\n"
    return whole


def check_commands(text, folder, measured):
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
            shell,
            shell=True,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=COMMAND_SECONDS,
        )
        if not re.fullmatch(pattern(wanted, measured), done.stdout):
            return f"{command!r} prints\n{done.stdout}and not\n" + "\n".join(wanted)
        if done.returncode and not any("error: " in line for line in wanted):
            return f"{command!r} fails with status {done.returncode}"
    return None


def check(language, words, text, folder, number):
    if language == "console":
        return check_commands(text, folder, "measured" in words)
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
