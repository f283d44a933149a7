"""Small steps, drawn at random, whose best step is found by trying layouts, kernels and orders: none may be below its bound.

    small_bounds.py DOPT CASES SEED

A step is a chain of products, biases, activations, normalizations over the batch and residuals, some with tables of rows, on two to
six devices of a cluster with or without reached rates, and its gradients and updates. For each, layouts are drawn or
chosen, kernels formed by rules, at random or by search, and messages grouped.
"""
import os
import random
import re
import subprocess
import sys
import tempfile

dopt, cases, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
draw = random.Random(seed)
UNITS = {"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
CLUSTERS = ("summit_x192", "v100x128_tcp", "h100x32")
LAYOUTS = ("parallelize{engine=random}",) * 4 + ("parallelize{policy=data}", "parallelize{policy=sharded}", "parallelize{policy=megatron}",
           "parallelize{policy=dlrm}", "parallelize{replay=false}", "parallelize")
KERNELS = ("opfuse", "opfuse,tensorfuse,overlap", "random-fuse", "opfuse{policy=xla}", "joint{evaluations=60}",
           "opfuse,tensorfuse,joint{evaluations=60}", "opfuse{online=true},prefetch,overlap")


def seconds(text):
    number, unit = re.fullmatch(r"([0-9.]+)(\w+)", text).groups()
    return float(number) * UNITS[unit]


def step():
    batch, width = 2 ** draw.randint(6, 14), 2 ** draw.randint(4, 10)
    lines = [f'  %x = input("x") : f32[{batch},{width}]', f'  %y = input("y") {{range = 16}} : i32[{batch}]']
    if draw.random() < 0.4:
        rows = draw.choice((1000, 10007, 65536, 300000))
        lines = [f'  %c = input("c") {{range = {rows}}} : i32[{batch}]', f'  %t = param("t") {{init = "he"}} : f32[{rows},{width}]',
                 "  %x = gather(%t, %c)", lines[1]]
    value = "x"
    for i in range(draw.randint(1, 3)):
        n, before = draw.choice((width, 2 ** draw.randint(4, 11))), value
        lines += [f'  %w{i} = param("w{i}") {{init = "he"}} : f32[{width},{n}]', f"  %p{i} = matmul(%{value}, %w{i})"]
        value = f"p{i}"
        if draw.random() < 0.5:
            lines += [f'  %b{i} = param("b{i}") {{init = "zeros"}} : f32[{n}]', f"  %a{i} = add(%{value}, %b{i})"]
            value = f"a{i}"
        if draw.random() < 0.4:
            dims = draw.choice(("[0]", "[1]"))
            lines += [f"  %m{i} = mean(%{value}) {{dims = {dims}, keep = true}}", f"  %d{i} = sub(%{value}, %m{i})", f"  %s{i} = mul(%d{i}, %d{i})",
                      f"  %v{i} = mean(%s{i}) {{dims = {dims}, keep = true}}", f"  %r{i} = rsqrt(%v{i})", f"  %n{i} = mul(%d{i}, %r{i})"]
            value = f"n{i}"
        if draw.random() < 0.7:
            lines += [f"  %h{i} = {draw.choice(('relu', 'tanh', 'exp'))}(%{value})"]
            value = f"h{i}"
        if n == width and draw.random() < 0.3:
            lines += [f"  %z{i} = add(%{value}, %{before})"]
            value = f"z{i}"
        width = n
    lines += [f'  %o = param("o") {{init = "he"}} : f32[{width},16]', f"  %q = matmul(%{value}, %o)", "  %l = call @cross_entropy(%q, %y)",
              '  output("loss", %l)']
    return "module @small\nfunc @main() {\n" + "\n".join(lines) + "\n}\n"


def run(words):
    return subprocess.run([dopt, *words], text=True, capture_output=True, timeout=300)


done = wrong = 0
near = []
for case in range(cases):
    text = step()
    with tempfile.NamedTemporaryFile("w", suffix=".dir") as file:
        file.write(text)
        file.flush()
        made = "inline," + draw.choice(("", "amp,")) + "grad," + draw.choice(("adam", "sgd", "momentum"))
        base = [f"-cluster={draw.choice(CLUSTERS)}", f"-mesh={draw.choice(('d=2', 'd=3', 'd=4', 'n=2,d=2', 'n=2,d=3'))}", "-emit=none"]
        told = run([*base, "-remarks", f"-pass={made},parallelize{{policy=data}}", file.name])
        found = re.search(r"lower bound for this mesh: (\w[\w.]*)", told.stderr)
        if not found:
            sys.exit(f"no bound: {base}\n{text}{told.stderr[-1000:]}")
        bound, best = seconds(found[1]), float("inf")
        for _ in range(8):
            passes = f"{made},{draw.choice(LAYOUTS)},{draw.choice(KERNELS)}"
            step_made = run([*base, "-stats", f"-seed={draw.randrange(1000)}", f"-pass={passes}", file.name])
            if step_made.returncode:
                continue
            took = seconds(step_made.stdout.splitlines()[-1].split()[2])
            best = min(best, took)
            done += 1
            if took < bound * 0.99:  # both are told with three digits
                wrong += 1
                print(f"{took:.6g} s is below {bound:.6g}: {' '.join(base)} -pass='{passes}'\n{text}")
        near.append(bound / best)
print(f"{done} steps, {wrong} below their bounds, which are {100 * sum(near) / len(near):.0f} % of the best in the mean")
