"""rows_random.py DOPT SCRATCH FIRST COUNT: steps drawn from the seeds FIRST, FIRST + 1 ..., whose params and states mostly have rows
that the devices cannot divide, and next values computed with identities, broadcasts, reshapes and sums. `dopt -check` compares each
before and after every pass with the interpreter: every optimizer, stage and place of shard in the pipeline."""
import math
import pathlib
import random
import subprocess
import sys

SHAPES = ((9, 4), (7, 8), (15, 8), (13, 1, 12), (5, 6), (5, 3, 4), (8, 3), (1, 8), (3, 3), (12,))
OPTIMIZERS = ("sgd", "momentum", "adam", "adamw", "lamb", "nadam", "radam", "adafactor", "adamax", "rmsprop", "adagrad", "adadelta",
              "rprop", "asgd", "lion", "muon")
SECONDS = 120  # for one step, which takes a tenth of a second


def ints(numbers):
    return f"[{', '.join(map(str, numbers))}]"


class Step:
    """The text of a step under construction."""

    def __init__(self, rng):
        self.rng, self.lines, self.n = rng, [], 0
        self.shaped = rng.choice((0, 0, 0.05, 0.3))  # the share of ops that list dims

    def op(self, text):
        self.n += 1
        self.lines.append(f"  %v{self.n} = {text}")
        return f"%v{self.n}"

    def scalar(self):
        return self.op(f"constant() {{value = {self.rng.choice((0.5, 0.25, -1.5))}}} : f32[]")

    def value(self, leaves, shape, depth):
        """A tensor of the shape, computed from the leaves."""
        rng, all_dims = self.rng, ints(range(len(shape)))
        kind = rng.randrange(4, 10) if rng.random() < self.shaped else rng.randrange(4)
        if depth == 0:
            return rng.choice(leaves)
        if kind == 9:
            return self.op(f"broadcast({self.scalar()}) {{shape = {ints(shape)}, dims = []}}")
        if kind < 2:
            a, b = self.value(leaves, shape, depth - 1), self.value(leaves, shape, depth - 1)
            return self.op(f"{rng.choice(('add', 'mul', 'sub', 'maximum'))}({a}, {b})")
        x = self.value(leaves, shape, depth - 1)
        if kind == 2:
            return self.op(f"tanh({x})")
        if kind == 3:
            return self.op(f"mul({x}, {self.op(f'mean({x})') if rng.random() < 0.5 else self.scalar()})")
        if kind == 4:
            flat = self.op(f"reshape({x}) {{shape = [{math.prod(shape)}]}}")
            return self.op(f"reshape({flat}) {{shape = {ints(shape)}}}")
        if kind == 5:
            s = self.op(f"sum({x}) {{dims = [{rng.randrange(len(shape))}], keep = true}}")
            return self.op(f"add({x}, {s})")
        return self.op(rng.choice((
            f"transpose({x}) {{perm = {all_dims}}}",
            f"broadcast({x}) {{shape = {ints(shape)}, dims = {all_dims}}}",
            f"slice({x}) {{start = {ints([0] * len(shape))}, limit = {ints(shape)}}}",
            f"concat({x}) {{dim = {rng.randrange(len(shape))}}}",
            f"split({x}) {{dim = {rng.randrange(len(shape))}, parts = 1, index = 0}}",
            f"reverse({x}) {{dims = [{rng.randrange(len(shape))}]}}")))


def draw(seed):
    rng = random.Random(seed)
    devices, step, losses, tensors = rng.choice((2, 2, 2, 3, 4)), Step(rng), [], {}
    shapes = rng.sample(SHAPES, rng.randint(1, 3))
    for i, shape in enumerate(shapes):
        for j in range(rng.randint(1, 3)):
            kind = "param" if j == 0 or rng.random() < 0.3 else "state"
            init = ' {init = "normal"}' if kind == "param" else ""
            step.lines.append(f'  %t{i}_{j} = {kind}("t{i}_{j}"){init} : f32{ints(shape)}')
            tensors.setdefault(shape, []).append((f"%t{i}_{j}", kind))
    step.lines.append(f'  %x = input("x") : f32[{devices * 4}]')
    forward = {shape: [step.value([t for t, k in of if k == "param"], shape, rng.randrange(3))] for shape, of in tensors.items()}
    for shape, (v, ) in forward.items():
        v = step.op(f"add({v}, {tensors[shape][0][0]})")
        dims = "abc"[:len(shape)]
        each = step.op(f"contract(%x, {v}) {{spec = \"x,{dims}->x{dims}\"}}")  # its gradient is a sum over devices
        losses.append(step.op(f"mean({step.op(f'tanh({each})')})"))
    loss = losses[0]
    for more in losses[1:]:
        loss = step.op(f"add({loss}, {more})")
    step.lines.append(f'  output("loss", {loss})')
    for shape, of in tensors.items():
        for t, kind in of:
            if kind == "state" and rng.random() < 0.9:
                leaves = [name for name, _ in of] + (forward[shape] if rng.random() < 0.4 else [])
                step.lines.append(f"  update({t}, {step.value(leaves, shape, rng.randrange(4))})")
    text = "\n".join((f"module @s{seed}", f"mesh [dp = {devices}]", "func @main() {", *step.lines, "}", ""))
    optimizer, stage = rng.choice(OPTIMIZERS), rng.choice((1, 2, 3, 3))
    if rng.random() < 0.2:
        optimizer += "{clip=1}"
    late = stage == 3 and rng.random() < 0.5
    passes = ["dp{axis=dp}", "grad", *([] if late else [optimizer]), f"shard{{axis=dp,stage={stage}}}", *([optimizer] if late else [])]
    if rng.random() < 0.2:
        passes.insert(0, "accumulate{steps=2}")
    if rng.random() < 0.3:
        passes += ["canonicalize", "cse", "dce"]
    return text, ",".join(passes)


def main():
    dopt, scratch, first, count = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    scratch.mkdir(exist_ok=True)
    failed = rows = 0
    for seed in range(first, first + count):
        text, passes = draw(seed)
        file = scratch / f"{seed}.dir"
        file.write_text(text)
        done = subprocess.run([dopt, "-check", f"-pass={passes}", file], capture_output=True, text=True, timeout=SECONDS, check=False)
        rows += any("shape = [" in line for line in done.stdout.splitlines() if " = param(" in line or " = state(" in line)
        if done.returncode:
            failed += 1
            print(f"{dopt} -check -pass='{passes}' {file}\n{done.stderr}")
    print(f"{failed} of {count} steps failed; {rows} have tensors that are rows")
    sys.exit(failed > 0)


main()
