"""networks.py SEED: prints a random network that passes for sharded training apply to: a batch of 8 rows, repeated blocks with
params of odd and even shapes, some read more than once, and a loss. Module `draw.c` draws programs of single ops."""
import random
import sys

BATCH = 8  # two micro-batches of two devices each, and four
UNARY = ("relu", "tanh", "gelu_tanh", "silu", "sigmoid", "softplus")
INIT = ("he", "xavier", "normal", "uniform")
MESHES = ("[dp = 2]", "[dp = 2]", "[dp = 4]", "[dp = 1]", "[dp = 2, tp = 2]", "[tp = 2, dp = 2]")


class Block:
    """The lines of a template, of which each maps [B,T,D] or [B,D] to the same shape."""

    def __init__(self, r, width, sequence, shared):
        self.r, self.width, self.sequence, self.shared = r, width, sequence, shared
        self.lines, self.n, self.value = [], 0, "%x"

    def op(self, text, hint=None):
        self.n += 1
        name = f"%{hint or 'v'}{self.n}"
        self.lines.append(f"  {name} = {text}")
        return name

    def param(self, shape, init=None):
        init = init or self.r.choice(INIT)
        name = f"p{self.n + 1}"
        return self.op(f'param("{name}") {{init = "{init}"}} : f32[{",".join(map(str, shape))}]', "p")

    def dense(self):
        inner = self.r.choice((1, 3, 4, 6, 8, 16))
        up, down = self.param((self.width, inner)), self.param((inner, self.width))
        h = self.op(f"matmul({self.value}, {up})")
        if self.r.random() < 0.5:
            h = self.op(f"add({h}, {self.param((inner,))})")
        return self.op(f"matmul({self.op(f'{self.r.choice(UNARY)}({h})')}, {down})")

    def tied(self):
        """A param that is read twice, the second time transposed."""
        w = self.param((self.width, self.r.choice((2, 4, 5))))
        h = self.op(f"{self.r.choice(UNARY)}({self.op(f'matmul({self.value}, {w})')})")
        return self.op(f"matmul({h}, {self.op(f'transpose({w})')})")

    def outer(self):
        """Multiplies by a param of the network, which other blocks read, too."""
        return self.op(f"tanh({self.op(f'matmul({self.value}, %shared)')})") if self.shared else self.scale()

    def scale(self):
        return self.op(f"{self.r.choice(('mul', 'add', 'sub'))}({self.value}, {self.param((self.width,))})")

    def norm(self):
        return self.op(f'call @{self.r.choice(("layernorm", "rmsnorm"))}({self.value}) {{as = "n{self.n}"}}')

    def gated(self):
        return self.op(f'call @swiglu({self.value}) {{as = "g{self.n}", N = {self.r.choice((3, 4, 6))}}}')

    def dropout(self):
        return self.op(f'call @dropout({self.value}) {{as = "d{self.n}", rate = 0.25}}')

    def attention(self):
        heads = [self.op(f"matmul({self.value}, {self.param((self.width, self.width))})") for _ in range(3)]
        shape = f"{{shape = [dim(%x, 0), dim(%x, 1), 2, {self.width // 2}]}}"
        q, k, v = (self.op(f"reshape({h}) {shape}") for h in heads)
        a = self.op(f"call @causal_attention({q}, {k}, {v})")
        return self.op(f"reshape({a}) {{shape = [dim(%x, 0), dim(%x, 1), {self.width}]}}")

    def text(self, name):
        layers = [self.dense, self.dense, self.tied, self.outer, self.scale, self.norm, self.gated, self.dropout]
        if self.sequence and self.width % 2 == 0:
            layers += [self.attention, self.attention]
        for _ in range(self.r.randint(1, 4)):
            before = self.value
            self.value = self.r.choice(layers)()
            if self.r.random() < 0.4:
                self.value = self.op(f"add({before}, {self.value})")
        head = f"func @{name}(%x{', %shared' if self.shared else ''}) {{"
        result = f"  return({self.value}{', %shared' if self.shared else ''})"
        return "\n".join([head, *self.lines, result, "}"])


def network(seed):
    r = random.Random(seed)
    width, sequence, shared = r.choice((3, 4, 4, 6, 8)), r.random() < 0.5, r.random() < 0.3
    rows = f"{BATCH},3" if sequence else f"{BATCH}"
    main, blocks = [], []
    if sequence and r.random() < 0.5:
        main.append(f'  %i = input("i") {{range = 5}} : i32[{rows}]')
        main.append(f'  %h0 = call @embedding(%i) {{as = "rows", V = {r.choice((5, 8))}, N = {width}}}')
    else:
        main.append(f'  %h0 = input("x") : f32[{rows},{width}]')
    if shared:
        main.append(f'  %s0 = param("shared") {{init = "xavier"}} : f32[{width},{width}]')
    n = r.randint(1, 3)
    for i in range(n):
        blocks.append(Block(r, width, sequence, shared).text(f"block{i}"))
        more, given = (f", %s{i + 1}", f", %s{i}") if shared else ("", "")
        main.append(f'  %h{i + 1}{more} = call @block{i}(%h{i}{given}) {{as = "b{i}", repeat = {r.randint(1, 3)}}}')
    if sequence and r.random() < 0.5:
        main.append(f'  %y = input("y") {{range = {width}}} : i32[{rows}]')
        main.append(f"  %loss = call @cross_entropy(%h{n}, %y)")
    else:
        main.append(f'  %y = input("y") : f32[{rows},{width}]')
        main.append(f"  %loss = call @mse(%h{n}, %y)")
    main.append('  output("loss", %loss)')
    return "\n".join(["module @network", f"mesh {r.choice(MESHES)}", "func @main() {", *main, "}", *blocks, ""])


if __name__ == "__main__":
    print(network(int(sys.argv[1])), end="")
