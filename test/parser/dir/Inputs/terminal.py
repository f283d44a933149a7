"""terminal.py COMMAND...: what the command writes to a terminal, with the escape character as ESC. Ends as the command does."""
import os
import pty
import subprocess
import sys

ours, theirs = pty.openpty()
ended = subprocess.run(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, timeout=60)
os.close(theirs)
text = b""
try:
    while part := os.read(ours, 65536):  # the terminal keeps a few lines until they are read
        text += part
except OSError:  # all has been read
    pass
print(text.decode().replace("\r\n", "\n").replace("\033", "ESC"), end="")
sys.exit(ended.returncode)
