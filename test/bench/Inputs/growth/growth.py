"""growth.py PASSES SOURCE: what passes do for each op of a step, counted, on steps of one, two and four times as many blocks.

PASSES is test/bench/passes of a build whose libdopt counts its work (count.c), SOURCE the tree. Prints a table of work an op and of
its growth. Exit status 1 where twice the blocks take more than 2.3 times the work in a row that has no bound of its own in
BOUND, or where a pass of passes.def has no row.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

BLOCKS = (32, 64, 128)
MOST = 2.3 / 2  # growth of the work for each op: 2 is linear, and 2.3 is n log n at these sizes
# Rows whose work for each op grows by more, how much that may be, and why time stays linear in the end.
BOUND = {
    "opfuse{policy=xla}": (1.6, "a param's readers, 64 at most, are compared in pairs"),
    "memory: fused": (1.6, "offsets are tried in several orders where gaps remain, 80,000 buffers in total"),
    "-stats: fused": (1.6, "as memory"),
}
# Rows that the step of dense blocks has nothing for, and one that has.
MODEL = {"spatial": "images", "merge-replica-dim": "replicas", "sink-transpose": "replicas", "channels-last": "images"}


def measure(passes, folder, model, only):
    text = (pathlib.Path(__file__).parent / f"{model}.dir").read_text()
    files = []
    for n in BLOCKS:
        files.append(folder / f"{model}{n}.dir")
        files[-1].write_text(re.sub(r"^let L = \d+", f"let L = {n}", text, flags=re.M))
    said = subprocess.run([passes, *only, "1", *map(str, files)], capture_output=True, text=True)
    if said.returncode != 0:
        sys.exit(f"{model}: exit {said.returncode}\n{said.stderr}")
    rows = (line.rsplit(":", 1) for line in said.stdout.splitlines())
    return {name: [float(n) for n in figures.split()] for name, figures in rows}


def main():
    passes, source = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="dopt-growth-") as folder:
        rows = measure(passes, pathlib.Path(folder), "blocks", [])
        for name, model in MODEL.items():
            rows.update(measure(passes, pathlib.Path(folder), model, [f"-{name}"]))
    wrong = []
    for name in re.findall(r"^PASS\((\w+)\)", (pathlib.Path(source) / "passes/passes.def").read_text(), re.M):
        if not any(re.split("[{:]", row)[0] == name.replace("_", "-") for row in rows):
            wrong.append(f"{name}: test/bench/passes.c has no row for this pass")
    print(f"| row | {' | '.join(f'{n} blocks' for n in BLOCKS)} | work of twice the blocks |\n| --- | ---: | ---: | ---: | ---: |")
    for name, work in rows.items():
        growth = [b / a for a, b in zip(work, work[1:])]
        print(f"| {name} | {' | '.join(f'{w:,.0f}' for w in work)} | {', '.join(f'x {2 * g:.2f}' for g in growth)} |")
        most, _ = BOUND.get(name, (MOST, ""))
        if max(growth) > most:
            wrong.append(f"{name}: twice the blocks take {2 * max(growth):.2f} times the work, more than {2 * most:.1f}")
    if wrong:
        sys.exit("\n".join(wrong))
    print(f"{len(rows)} rows grow with the step")


if __name__ == "__main__":
    main()
