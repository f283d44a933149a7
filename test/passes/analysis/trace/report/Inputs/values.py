"""Are the values of ops those of the module? values.py MODULE REPORT...

The line of the module that defines the value must be of the op that the name of the kernel or collective begins with.
"""
import json
import re
import sys


def main():
    defined = {}
    with open(sys.argv[1]) as f:
        for line in f:
            m = re.match(r"  (%[^ ,:=]+)[^=]* = (\w+)", line)
            if m:
                defined[m.group(1)] = m.group(2)
    for path in sys.argv[2:]:
        with open(path) as f:
            ops = json.load(f)["ops"]
        communication = [o for o in ops if o["kind"] == "communication"]
        assert communication and len(ops) > 10, path
        for o in ops:
            code = o["name"].split()[0]
            if code == "output":
                assert o["value"] == "#%d" % o["op"], o
            else:
                assert defined[o["value"]] == code, (o, defined[o["value"]])
    print("ok")


main()
