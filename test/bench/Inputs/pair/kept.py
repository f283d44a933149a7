"""Results of a bench that is run in parts."""
import json
import os
import time


class Kept:
    """Results by name. With a file they are saved whenever one is added, and those of earlier runs are there."""

    def __init__(self, path=None):
        self.path, self.results = path, {}
        if path and os.path.exists(path):
            with open(path) as text:
                self.results = json.load(text)

    def add(self, name, result):
        self.results[name] = result
        if not self.path:
            return
        with open(self.path + ".new", "w") as out:
            json.dump(self.results, out, indent=1)
        os.replace(self.path + ".new", self.path)

    def fill(self, work, limit):
        """Adds what is missing of `work`, functions by name, but begins none after `limit` seconds. One that gives None
        has failed, and the next one is begun. The names that are still missing then."""
        end = time.monotonic() + limit
        for name in work:
            if name not in self.results and time.monotonic() < end:
                result = work[name]()
                if result is not None:
                    self.add(name, result)
        return [name for name in work if name not in self.results]
