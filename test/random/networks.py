"""networks.py SEED: prints a random network that passes for sharded training apply to: a batch of 8 rows, repeated blocks with
params of odd and even shapes, some read more than once, mixtures of experts, and a loss. Module `draw.c` draws programs of
single ops."""
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
        self.lines, self.n, self.value, self.balance = [], 0, "%x", "%balance"

    def ops(self, text, hints):
        """An op of several results."""
        self.n += 1
        names = [f"%{hint}{self.n}" for hint in hints]
        self.lines.append(f"  {', '.join(names)} = {text}")
        return names

    def op(self, text, hint="v"):
        return self.ops(text, [hint])[0]

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

    def similar(self):
        """Rows mixed by their cosine similarities, or by products with their own lengths as weights."""
        w = self.r.choice((2, 4, 6))
        unit = []
        for _ in range(2):
            h = self.op(f"matmul({self.value}, {self.param((self.width, w))})")
            n = self.op(f"sum({self.op(f'square({h})')}) {{dims = [-1], keep = true}}")
            small = self.op(f"add({n}, {self.op('constant() {value = 0.01} : f32[]')})")
            unit.append(self.op(f"mul({h}, {self.op(f'rsqrt({small})') if self.r.random() < 0.7 else small})"))
        at = "b" if self.sequence else ""
        s = self.op(f'contract({unit[0]}, {unit[1]}) {{spec = "{at}id,{at}jd->{at}ij"}}')
        p = self.op(f"call @softmax({s})") if self.r.random() < 0.7 else self.op(f"tanh({s})")
        return self.op(f'contract({p}, {self.value}) {{spec = "{at}ij,{at}jd->{at}id"}}')

    def columns(self):
        """Weights that are shares over the sequence and not over the last dim, as of slots; or over both in turn."""
        slots = self.r.choice((2, 3, 4))
        z = self.op(f"matmul({self.value}, {self.param((self.width, slots))})")
        e = self.op(f"exp({self.op(f'tanh({z})')})")
        share = self.op(f"div({e}, {self.op(f'sum({e}) {{dims = [1], keep = true}}')})")
        if self.r.random() < 0.5:
            share = self.op(f"call @softmax({share})")
        slot = self.op(f'contract({share}, {self.value}) {{spec = "bts,btd->bsd"}}')
        back = self.op(f"call @softmax({z})") if self.r.random() < 0.5 else e
        return self.op(f'contract({back}, {slot}) {{spec = "bts,bsd->btd"}}')

    def decay(self):
        """Linear attention: products of earlier rows, weighted by how much is forgotten between them."""
        gate = self.op(f"matmul({self.value}, {self.param((self.width, 1))})")
        past = self.op(f"cumsum({self.op(f'softplus({gate})')}) {{dim = 1}}")
        lag = self.op(f"sub({self.op(f'transpose({past}) {{perm = [0, 2, 1]}}')}, {past})")
        weight = self.op(f"exp({self.op(f'clamp({lag}) {{low = -9, high = 0}}')})")
        k, v = (self.op(f"matmul({self.value}, {self.param((self.width, self.width))})") for _ in range(2))
        s = self.op(f'contract({k}, {self.value}) {{spec = "bid,bjd->bij"}}')
        return self.op(f'contract({self.op(f"mul({s}, {weight})")}, {v}) {{spec = "bij,bjd->bid"}}')

    def shifted(self):
        """Each row and the one before it, as a token shift or a convolution of two rows."""
        size = "dim(%x, 1)"
        first = self.op(f"slice({self.value}) {{start = [0, 0, 0], limit = [dim(%x, 0), 1, {self.width}]}}")
        rest = self.op(f"slice({self.value}) {{start = [0, 0, 0], limit = [dim(%x, 0), {size} - 1, {self.width}]}}")
        before = self.op(f"concat({first}, {rest}) {{dim = 1}}")
        if self.r.random() < 0.5:
            before = self.op(f"reverse({before}) {{dims = [1]}}")
        mix = self.op(f"sigmoid({self.param((self.width,))})")
        more = self.op(f"sub({before}, {self.value})")
        return self.op(f"add({self.value}, {self.op(f'mul({more}, {mix})')})")

    def experts(self):
        """A mixture of experts: each token goes through the best k of them, of which each has room for some tokens, as in
        mixtral.dir, or for all; the loss that balances them is added to that of earlier blocks."""
        experts, inner = self.r.randint(2, 4), self.r.choice((1, 3, 4))
        k = self.r.randint(1, min(2, experts))
        if self.sequence and self.r.random() < 0.6:
            size = f"E = {experts}, K = {k}, C = {self.r.randint(1, 4)}"
            to, back, more = self.ops(f'call @moe_router({self.value}) {{as = "m{self.n}", {size}}}', ("to", "from", "more"))
            given = self.op(f'contract({to}, {self.value}) {{spec = "btec,btd->ebcd"}}')
            into, out, sum_up = "ebcd,edf->ebcf", "ebcf,efd->ebcd", "btec,ebcd->btd"
        else:
            back, more = self.routed(experts, k)
            given, at = self.value, "bt" if self.sequence else "b"
            into, out, sum_up = f"{at}d,edf->{at}ef", f"{at}ef,efd->{at}ed", f"{at}e,{at}ed->{at}d"
        self.balance = self.op(f"add({self.balance}, {more})", "balance")

        def product(x, shape, spec):
            return self.op(f'contract({x}, {self.param((experts, *shape))}) {{spec = "{spec}"}}')

        h = self.op(f"{self.r.choice(UNARY)}({product(given, (self.width, inner), into)})")
        if self.r.random() < 0.5:
            h = self.op(f"mul({h}, {product(given, (self.width, inner), into)})")
        return self.op(f'contract({back}, {product(h, (inner, self.width), out)}) {{spec = "{sum_up}"}}')

    def routed(self, experts, k):
        """The weight of each expert for each token, of which all but k are 0, and the loss that balances them."""
        z = self.op(f"matmul({self.value}, {self.param((self.width, experts))})")
        p = self.op(f"call @softmax({z})")
        best, which = self.ops(f"topk({self.r.choice((z, p))}) {{k = {k}}}", ("best", "which"))
        share = self.op(f"call @softmax({best})") if self.r.random() < 0.5 else best
        chosen = self.op(f"one_hot({which}) {{size = {experts}, to = f32}}")
        spec = "btk,btke->bte" if self.sequence else "bk,bke->be"
        weights = self.op(f'contract({share}, {chosen}) {{spec = "{spec}"}}')
        rows = "0, 1" if self.sequence else "0"
        often = self.op(f"mean({chosen}) {{dims = [{rows}, {2 if self.sequence else 1}]}}")
        likely = self.op(f"mean({p}) {{dims = [{rows}]}}")
        return weights, self.op(f"sum({self.op(f'mul({often}, {likely})')})")

    def text(self, name):
        layers = [self.dense, self.dense, self.tied, self.outer, self.scale, self.norm, self.gated, self.dropout, self.experts]
        layers.append(self.similar)
        if self.sequence and self.width % 2 == 0:
            layers += [self.attention, self.attention]
        if self.sequence:
            layers += [self.columns, self.decay, self.shifted]
        for _ in range(self.r.randint(1, 4)):
            before = self.value
            self.value = self.r.choice(layers)()
            if self.r.random() < 0.4:
                self.value = self.op(f"add({before}, {self.value})")
        more = ", %shared" if self.shared else ""
        head = f"func @{name}(%x, %balance{more}) {{"
        result = f"  return({self.value}, {self.balance}{more})"
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
    main.append("  %b0 = constant() {value = 0} : f32[]")
    n = r.randint(1, 3)
    for i in range(n):
        blocks.append(Block(r, width, sequence, shared).text(f"block{i}"))
        more, given = (f", %s{i + 1}", f", %s{i}") if shared else ("", "")
        main.append(f'  %h{i + 1}, %b{i + 1}{more} = call @block{i}(%h{i}, %b{i}{given}) {{as = "b{i}", repeat = {r.randint(1, 3)}}}')
    if sequence and r.random() < 0.5:
        main.append(f'  %y = input("y") {{range = {width}}} : i32[{rows}]')
        main.append(f"  %far = call @cross_entropy(%h{n}, %y)")
    else:
        main.append(f'  %y = input("y") : f32[{rows},{width}]')
        main.append(f"  %far = call @mse(%h{n}, %y)")
    main.append(f"  %loss = add(%far, %b{n})")
    main.append('  output("loss", %loss)')
    return "\n".join(["module @network", f"mesh {r.choice(MESHES)}", "func @main() {", *main, "}", *blocks, ""])


if __name__ == "__main__":
    print(network(int(sys.argv[1])), end="")
