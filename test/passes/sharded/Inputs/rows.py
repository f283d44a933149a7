"""rows.py DOPT SCRATCH SHARDS: programs of rows.dir that have its table whole, by rows, by columns, and as the row of its
elements. Outputs of all of them are those of the plain step, and what each saves, as a file and as a folder with a part for each
rank, is loaded and saved again by each, to the byte. SHARDS is shards.py, which reads folders by itself."""
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[3] / "models/Inputs"))
import step  # noqa: E402

# The table and the state of Muon for it, which needs rows: after shard it takes them from the row of elements.
LAYOUTS = {
    "whole": (1, "grad,muon", "f32[9,4]"),
    "row2": (2, "dp{axis=dp},grad,shard{axis=dp},muon", "f32[36/dp]"),
    "row4": (4, "dp{axis=dp},grad,shard{axis=dp},muon", "f32[36/dp]"),
    "rows": (3, "dp{axis=dp},grad,shard{axis=dp},muon", "f32[9/dp,4]"),
    "columns": (2, "dp{axis=dp},grad,muon,shard{axis=dp}", "f32[9,4/dp]"),
}
SOURCE = pathlib.Path(__file__).with_name("rows.dir")


def build(dopt, scratch, name):
    ranks, pipeline, layout = LAYOUTS[name]
    common = ["-D", f"N={ranks}", f"-pass={pipeline}", SOURCE]
    declared = [line for line in step.run(dopt, *common).splitlines() if "param(\"w\")" in line or "state(\"muon.m.w\")" in line]
    assert len(declared) == 2 and all(line.endswith(f": {layout}") for line in declared), declared
    step.run(dopt, "-emit=program", "-o", scratch / name, *common)


def main():
    dopt, scratch, shards = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
    scratch.mkdir(exist_ok=True)
    logs, start = {}, None
    for name, (ranks, _, _) in LAYOUTS.items():
        build(dopt, scratch, name)
        program = [scratch / name, "-ranks", str(ranks), "-no-eval"]
        logs[name] = step.outputs(step.run(*program, "-steps", "3", "-report-every", "1", "-save", scratch / f"{name}.st"))
        start = start or (scratch / f"{name}.st").read_bytes()
        step.run(*program, "-load", scratch / "whole.st", "-steps", "0", "-save", f"{scratch / name}.d/")
        step.run(sys.executable, shards, "merge", scratch / f"{name}.d", scratch / "whole.st")
    for name in LAYOUTS:
        step.compare_outputs(name, logs["whole"], logs[name])
        for other, (ranks, _, _) in LAYOUTS.items():
            again = scratch / f"{name}.{other}"
            for source in (scratch / f"{name}.d", scratch / "whole.st"):
                step.run(scratch / other, "-ranks", str(ranks), "-no-eval", "-load", source, "-steps", "0", "-save", again)
                assert again.read_bytes() == start, (source, other)
    print(len(LAYOUTS), "layouts, each loaded by each")


main()
