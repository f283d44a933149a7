"""Prints the events of a timeline, one a line, after seeing to it that the file is what a viewer wants."""
import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    trace = json.load(file)
names = {"process": {}, "thread": {}}
busy = {}
for event in trace["traceEvents"]:
    if event["ph"] == "M":
        kind = event["name"].split("_")[0]
        where = (event["pid"], event.get("tid")) if kind == "thread" else event["pid"]
        names[kind][where] = event["args"]["name"]
        continue
    if event["ph"] == "C":
        print("memory %.3f %s" % (event["ts"], event["args"]))
        continue
    assert event["ph"] == "X" and event["dur"] >= 0, event
    lane = (event["pid"], event["tid"])
    # Events of one stream follow each other; six digits of a microsecond are a picosecond.
    assert round((event["ts"] - busy.get(lane, 0)) * 1e6) >= 0, event
    busy[lane] = event["ts"] + event["dur"]
    args = event["args"]
    more = {key: args[key] for key in sys.argv[2:] if key in args}
    print(
        "%s/%s %s %s at %.3f for %.3f turn %d %s"
        % (names["process"][event["pid"]], names["thread"][lane], event["cat"], event["name"],
           event["ts"], event["dur"], args["turn"], more)
    )
other = trace["otherData"]
print(
    "%(format)s %(version)d of %(program)s on %(device)s: %(predicted_us).3f us, %(devices)d device"
    % other
)
