"""Runs a command whose files may have as many bytes as FILE, less one: writing any that is as long fails.

    short_disk.py FILE COMMAND ...
"""
import os
import resource
import signal
import sys

limit = os.path.getsize(sys.argv[1]) - 1
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # writes fail in place of it
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
os.execvp(sys.argv[2], sys.argv[2:])
