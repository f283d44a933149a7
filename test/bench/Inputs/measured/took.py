# For test/passes/analysis/trace/Inputs/edit.py: kernels take `took[name]` us, by the name of their value, one after
# another; steps take what their kernels take.
at = 1000.0
for step in sorted({e["args"]["step"] for e in events if "step" in e["args"]}):
    mine = [e for e in events if e["args"].get("step") == step]
    begin = at
    for e in sorted((e for e in mine if e["cat"] == "kernel"), key=lambda e: e["ts"]):
        e["ts"], e["dur"] = at, took[e["name"].split()[-1]]
        at += e["dur"]
    for e in mine:
        if e["cat"] == "step":
            e["ts"], e["dur"] = begin, at - begin
