"""Changes traces: a copy of a folder in which a piece of Python has been at each file.

    edit.py FROM TO CODE [RANK]      of all files rank-N.json, or of one rank

CODE sees `header`, `events` (a list), `rank` and `clock(f)`, which changes all times, and may change them;
`copy` copies the file FROM.
"""
import glob
import json
import os
import shutil
import sys


def clock(f, events):
    """Events as a clock sees them that shows f(t) instead of t, t in us."""
    for e in events:
        if "ts" in e:
            begin, end = f(e["ts"]), f(e["ts"] + e["dur"])
            e["ts"], e["dur"] = begin, end - begin
        if "posted" in e["args"]:
            e["args"]["posted"] = f(e["args"]["posted"])


def main():
    source, target, code = sys.argv[1:4]
    if code == "copy":
        shutil.copy(source, target)
        return
    os.makedirs(target, exist_ok=True)
    for path in sorted(glob.glob(source + "/rank-*.json")):
        with open(path) as f:
            trace = json.load(f)
        names = {"header": trace["otherData"], "events": trace["traceEvents"]}
        names["clock"] = lambda f, events=trace["traceEvents"]: clock(f, events)
        names["rank"] = names["header"]["rank"]
        if len(sys.argv) < 5 or int(sys.argv[4]) == names["rank"]:
            exec(code, names)
        with open(os.path.join(target, os.path.basename(path)), "w") as out:
            out.write('{"otherData":\n%s,\n"traceEvents":[\n%s\n]}\n' % (
                json.dumps(names["header"]), ",\n".join(json.dumps(e) for e in names["events"])))


main()
