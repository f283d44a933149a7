"""terminal.py SIGNALS COMMAND...: what a terminal shows after a command that gets the next of SIGNALS, with commas between
them, after each second line of progress."""
import os
import pty
import re
import signal
import subprocess
import sys

ours, theirs = pty.openpty()
run = subprocess.Popen(sys.argv[2:], stdout=theirs, stderr=theirs)
os.close(theirs)
text, sent, signals = "", 0, sys.argv[1].split(",")
while True:
    try:
        text += os.read(ours, 4096).decode()
    except OSError:  # the command has ended
        break
    if sent < len(signals) and text.count("left\r") >= 2 * sent + 2:
        run.send_signal(getattr(signal, "SIG" + signals[sent]))
        sent += 1
for line in text.replace("\r\n", "\n").split("\n"):
    shown, at = "", 0
    for piece in re.findall("\r|\033\\[K|[^\r\033]+", line):
        if piece == "\r":
            at = 0
        elif piece == "\033[K":  # erases the rest
            shown = shown[:at]
        else:
            shown, at = shown[:at] + piece + shown[at + len(piece):], at + len(piece)
    print(shown)
