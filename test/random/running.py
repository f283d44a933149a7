"""Running dopt, and what it said, for pipelines.py and laws.py."""
import re
import signal
import subprocess

RUN_SECONDS = 240  # of a processor, for one run of dopt: 20 for the largest toy model, more under sanitizers
LOADED = 4  # times as long may pass before a run has no end: others use the machine, too
SEARCH = "-time-limit=2s"  # a search ends there; toys are searched through in less


def run_apart(command, seconds, **more):
    """Exit status, or a word where there is none; standard output and standard error."""
    limited = ["/bin/sh", "-c", f'ulimit -S -t {seconds}; exec "$@"', "sh", *command]
    try:
        done = subprocess.run(limited, capture_output=True, text=True, errors="replace",
                              timeout=LOADED * seconds, **more)
    except subprocess.TimeoutExpired:
        return "no end", "", ""
    return "no end" if done.returncode == -signal.SIGXCPU else done.returncode, done.stdout, done.stderr


def run(command, seconds, **more):
    """Exit status, or a word where there is none, and what it said on standard error or output."""
    status, out, err = run_apart(command, seconds, **more)
    return status, err + out


def first_error(text):
    for line in text.splitlines():
        if re.search(r"error|bug|Assert|runtime error|Sanitizer", line):
            return re.sub(r"'?\b[%\w.]*\d[\w.]*\b'?", "#", line[line.find("error"):] if "error" in line else line)
    return ""


def is_refusal(status, said):
    return status == 1 and "error:" in said and "out of memory" not in said
