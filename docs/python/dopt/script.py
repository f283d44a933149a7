"""What the scripts share that convert files: python3 -m dopt.NAME."""
import argparse
import sys


def arguments(name, doc):
    return argparse.ArgumentParser(prog=f"dopt.{name}", description=doc.split("\n", 1)[0])


def read(reader, path):
    """Ends the script with all faults that the reader has found in a file."""
    with open(path, encoding="utf-8", errors="replace") as file:
        reader.read(file.read())
    if reader.faults:
        sys.exit("\n".join(reader.faults))


def run(convert):
    try:
        convert()
    except OSError as error:
        sys.exit(f"{error.filename}: {error.strerror}")
