"""What tests of many functions share: each is checked, and all that differ are named."""
import functools
import pathlib
import sys


def attempt(check, dopt, scratch, name):
    try:
        return check(dopt, scratch, name)
    except Exception as failed:
        return f"{name}: {type(failed).__name__}: {str(failed)[:300]}"


def main(check, functions, executor):
    """SCRIPT DOPT SCRATCH [NAME...]; check(dopt, scratch, name) says what is wrong with a function, or \"\"."""
    dopt, scratch = sys.argv[1], pathlib.Path(sys.argv[2])
    scratch.mkdir(parents=True, exist_ok=True)
    names = sys.argv[3:] or list(functions)
    with executor(2) as pool:
        wrong = [said for said in pool.map(functools.partial(attempt, check, dopt, scratch), names) if said]
    print("\n".join([*wrong, f"{len(names)} functions, {len(wrong)} differ"]))
    sys.exit(bool(wrong))
