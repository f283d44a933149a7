#!/usr/bin/env python3
"""Random StableHLO programs of products, windows, indices and orders, with the values that XLA gives.

    random_programs.py OP COUNT SEED [parallel] > programs.mlir

OP is one of those at the end of this file, or "all". A program is one function with constants, the
op, and check ops with what XLA's CPU client computed. `parallel`: two replicas run it, which differ in
some of the constants. Needs jax and numpy. Numbers are small integers,
also of floats, so that sums are exact in any order.
"""
import random
import sys

import jax
import numpy as np
import ml_dtypes
from jax._src import xla_bridge
from jax._src.lib import xla_client

jax.config.update("jax_enable_x64", True)

FLOATS = ["f16", "bf16", "f32", "f64"]
INTS = ["i8", "i16", "i32", "i64", "ui8", "ui16", "ui32", "ui64"]
NUMPY = {"i1": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
         "ui8": np.uint8, "ui16": np.uint16, "ui32": np.uint32, "ui64": np.uint64,
         "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64}
R = random.Random()


def tensor(shape, t):
    return "tensor<%s>" % "x".join([str(n) for n in shape] + [t])


def number(x, t):
    if t == "i1":
        return "true" if x else "false"
    if t not in FLOATS:
        return str(int(x))
    x = float(x)
    bits = {"f16": (np.uint16, 4), "bf16": (np.uint16, 4), "f32": (np.uint32, 8),
            "f64": (np.uint64, 16)}[t]
    if np.isnan(x) or np.isinf(x):
        return "0x%0*X" % (bits[1], int(np.array(x, NUMPY[t]).view(bits[0])))
    return "%.17e" % x


def dense(a, t):
    def nest(v):
        if v.ndim == 0:
            return number(v[()], t)
        return "[" + ", ".join(nest(w) for w in v) + "]"
    return "dense<%s> : %s" % ("" if a.size == 0 else nest(a), tensor(a.shape, t))


def values(shape, t, low=-4, high=4):
    if t == "i1":
        return np.array([R.random() < 0.5 for _ in range(int(np.prod(shape)))],
                        np.bool_).reshape(shape)
    if t.startswith("u"):
        low = 0
    return np.array([R.randint(low, high) for _ in range(int(np.prod(shape)))]).reshape(
        shape).astype(NUMPY[t])


def run(text, args):
    backend = xla_bridge.get_backend("cpu")
    devices = xla_client.DeviceList(tuple(backend.local_devices()[:1]))
    exe = backend.compile_and_load(text, devices)
    out = exe.execute([jax.device_put(a) for a in args])
    return [np.asarray(o) for o in out]


class Program:
    def __init__(self):
        self.args, self.types, self.body, self.results = [], [], [], []
        self.expected = None  # what numpy computed; else XLA does

    def arg(self, a, t):
        self.args.append(np.asarray(a))
        self.types.append(t)
        return "%%a%d" % (len(self.args) - 1)

    def result(self, name, shape, t):
        self.results.append((name, tuple(shape), t))

    def module(self, name, public=""):
        ins = ", ".join("%%a%d: %s" % (i, tensor(a.shape, t))
                        for i, (a, t) in enumerate(zip(self.args, self.types)))
        outs = ", ".join(tensor(s, t) for _, s, t in self.results)
        return "func.func %s@%s(%s) -> (%s) {\n%s\n  return %s : %s\n}\n" % (
            public, name, ins, outs, "\n".join(self.body),
            ", ".join(n for n, _, _ in self.results), outs)

    def values(self, args):
        got = self.expected(args) if self.expected else run(self.module("main"), args)
        return [np.asarray(g).astype(NUMPY[t]) for (_, _, t), g in zip(self.results, got)]

    def checks(self, names, values, exact):
        return ["  check.expect_%s_const %s, %s" % (
            "eq" if t not in FLOATS or exact else "almost_eq", n, dense(g, t))
            for n, (_, _, t), g in zip(names, self.results, values)]

    def text(self, name, exact=True):
        got = self.values(self.args)
        lines = ["func.func @%s() {" % name]
        for i, (a, t) in enumerate(zip(self.args, self.types)):
            lines.append("  %%a%d = stablehlo.constant %s" % (i, dense(a, t)))
        lines += self.body + self.checks([n for n, _, _ in self.results], got, exact)
        return "\n".join(lines + ["  return", "}", ""])

    def parallel(self, name, exact=True):
        """The same at two replicas, the second one with some arguments shuffled."""
        other = []
        for a in self.args:
            shuffled = a.reshape(-1).copy()
            if exact and R.random() < 0.6:
                R.shuffle(shuffled)
            other.append(shuffled.reshape(a.shape))
        first, second = self.values(self.args), self.values(other)
        lines = [self.module("replica", "private ") + "func.func @%s() {" % name]
        operands = []
        for r, args in enumerate((self.args, other)):
            for i, (a, t) in enumerate(zip(args, self.types)):
                operands.append("%%a%d_%d" % (i, r))
                lines.append("  %s = stablehlo.constant %s" % (operands[-1], dense(a, t)))
        ins = ", ".join(tensor(a.shape, t) for a, t in zip(self.args, self.types))
        outs = ", ".join(tensor(s, t) for _, s, t in self.results)
        n = len(self.results)
        lines.append('  %%p:%d = "interpreter.run_parallel"(%s) {programs = [[@replica], [@replica]]} '
                     ": (%s, %s) -> (%s, %s)" % (2 * n, ", ".join(operands), ins, ins, outs, outs))
        for r, values in enumerate((first, second)):
            lines += self.checks(["%%p#%d" % (r * n + k) for k in range(n)], values, exact)
        return "module @parallel {\n" + "\n".join(lines + ["  return", "}", "}", ""])


def ints(name, v):
    return "%s = array<i64%s>" % (name, ": " + ", ".join(map(str, v)) if v else "")


def padding(v):
    return "padding = dense<%s> : tensor<%dx2xi64>" % (str([list(p) for p in v]), len(v))


def region(body, n, t, results=None):
    args = ", ".join("%%r%d: tensor<%s>" % (i, t[i % len(t)]) for i in range(n))
    return "({\n  ^bb0(%s):\n%s\n  })" % (args, body)


def monoid(t):
    ops = ["add", "maximum", "minimum", "multiply"]
    if t == "i1":
        ops = ["and", "or", "xor", "add", "maximum", "minimum", "multiply"]
    elif t not in FLOATS:
        ops += ["and", "or", "xor"]
    return R.choice(ops)


def monoid_region(op, t):
    return region("    %%z = stablehlo.%s %%r0, %%r1 : tensor<%s>\n"
                  "    stablehlo.return %%z : tensor<%s>" % (op, t, t), 2, [t])


IDENTITY = {"add": 0, "multiply": 1, "or": 0, "xor": 0}


def initial(op, t, other=0.3):
    """An initial value: the identity, most of the time."""
    if op in IDENTITY and R.random() >= other:
        return np.array(IDENTITY[op]).astype(NUMPY[t])
    if op in ("maximum", "minimum") and R.random() >= other:
        if t == "i1":
            return np.array(op == "minimum")
        if t in FLOATS:
            return np.array(-np.inf if op == "maximum" else np.inf).astype(NUMPY[t])
        return np.array(getattr(np.iinfo(NUMPY[t]), "min" if op == "maximum" else "max"))
    if op == "and" and R.random() >= other:
        return np.array(True) if t == "i1" else np.array(-1).astype(NUMPY[t])
    return values((), t)


def any_type(bool_too=True):
    return R.choice(FLOATS * 2 + INTS + (["i1"] if bool_too else []))


# --- products ---

def dot_general(p):
    t = R.choice(FLOATS + INTS)
    nb, nc, nl, nr = R.randint(0, 2), R.randint(0, 2), R.randint(0, 2), R.randint(0, 2)
    size = lambda n: [R.randint(1, 4) for _ in range(n)]
    b, c, l, r = size(nb), size(nc), size(nl), size(nr)
    def side(free):
        names = [("b", i) for i in range(nb)] + [("c", i) for i in range(nc)] + \
                [("f", i) for i in range(len(free))]
        R.shuffle(names)
        shape = [{"b": b, "c": c, "f": free}[k][i] for k, i in names]
        # free dims keep their order in the result: name them by place
        return names, shape
    ln, ls = side(l)
    rn, rs = side(r)
    x, y = p.arg(values(ls, t), t), p.arg(values(rs, t), t)
    at = lambda names, k, n: [names.index((k, i)) for i in range(n)]
    out = t if R.random() < 0.8 else {"i8": "i32", "f16": "f32", "bf16": "f32", "i32": "i64",
                                      "f32": "f64", "i16": "i32"}.get(t, t)
    shape = b + [s for (k, _), s in zip(ln, ls) if k == "f"] + \
        [s for (k, _), s in zip(rn, rs) if k == "f"]
    p.body.append("  %%r = stablehlo.dot_general %s, %s, batching_dims = %s x %s, contracting_dims = "
                  "%s x %s : (%s, %s) -> %s" % (
                      x, y, at(ln, "b", nb), at(rn, "b", nb), at(ln, "c", nc), at(rn, "c", nc),
                      tensor(ls, t), tensor(rs, t), tensor(shape, out)))
    p.result("%r", shape, out)


def convolution(p):
    t = R.choice(["f32", "f32", "f16", "bf16", "f64", "i32", "i8", "i64", "ui8", "i16"])
    n = R.choice([0, 1, 1, 2, 2, 2, 2, 3])
    groups, batch_groups = R.choice([(1, 1)] * 3 + [(2, 1), (3, 1), (1, 2), (1, 3)])
    cin, cout = R.randint(1, 3), R.randint(1, 2) * groups * batch_groups
    batch = R.randint(1, 2) * batch_groups
    while True:
        image = [R.randint(1, 7) for _ in range(n)]
        kernel = [R.randint(1, 4) for _ in range(n)]
        stride = [R.choice([1, 1, 2, 3]) for _ in range(n)]
        base = [R.choice([1, 1, 1, 2, 3]) for _ in range(n)]
        if R.random() < 0.4:
            stride = [1] * n
        dil = [R.choice([1, 1, 2, 3]) for _ in range(n)]
        pad = [(R.randint(-1, 3), R.randint(-1, 3)) for _ in range(n)]
        full = [l + (i - 1) * b + 1 + h for (l, h), i, b in zip(pad, image, base)]
        out = [(f - ((k - 1) * d + 1)) // s + 1 for f, k, d, s in zip(full, kernel, dil, stride)]
        if all(f > (k - 1) * d for f, k, d in zip(full, kernel, dil)):
            break
    rev = [R.random() < 0.3 for _ in range(n)]
    if R.random() < 0.2:
        rev = [True] * n
    def order(a, b):
        names = [a, b] + [str(i) for i in range(n)]
        R.shuffle(names)
        return names
    io, ko, oo = order("b", "f"), order("i", "o"), order("b", "f")
    pick = lambda names, sizes: [sizes[k] if k in sizes else None for k in names]
    spatial = lambda v: {str(i): v[i] for i in range(n)}
    ishape = pick(io, {"b": batch, "f": cin * groups, **spatial(image)})
    kshape = pick(ko, {"i": cin, "o": cout, **spatial(kernel)})
    oshape = pick(oo, {"b": batch // batch_groups, "f": cout, **spatial(out)})
    x, f = p.arg(values(ishape, t, -3, 3), t), p.arg(values(kshape, t, -3, 3), t)
    p.body.append(
        "  %%r = stablehlo.convolution(%s, %s) dim_numbers = [%s]x[%s]->[%s], window = {stride = %s, "
        "pad = %s, lhs_dilate = %s, rhs_dilate = %s, reverse = %s} {batch_group_count = %d : i64, "
        "feature_group_count = %d : i64} : (%s, %s) -> %s" % (
            x, f, ", ".join(io), ", ".join(ko), ", ".join(oo), stride, [list(q) for q in pad], base,
            dil, "[" + ", ".join("true" if v else "false" for v in rev) + "]", batch_groups, groups,
            tensor(ishape, t), tensor(kshape, t), tensor(oshape, t)))
    p.result("%r", oshape, t)


# --- reductions and windows ---

def reduce(p):
    kind = R.choice(["monoid", "monoid", "argmax", "two"])
    shape = [R.randint(1, 9) for _ in range(R.randint(1, 4))]
    dims = sorted(R.sample(range(len(shape)), R.randint(1, len(shape))))
    out = [s for i, s in enumerate(shape) if i not in dims]
    attrs = "{dimensions = array<i64%s>}" % (": " + ", ".join(map(str, dims)) if dims else "")
    if kind == "monoid":
        t = any_type()
        op = monoid(t)
        high = 1 if op == "multiply" else 4
        x = p.arg(values(shape, t, -high, high), t)
        # XLA leaves the initial value out where there is one element
        one = all(shape[d] == 1 for d in dims)
        i = p.arg(initial(op, t, 0 if one else 0.3), t)
        p.body.append('  %%r = "stablehlo.reduce"(%s, %s) %s %s : (%s, %s) -> %s' % (
            x, i, monoid_region(op, t), attrs, tensor(shape, t), tensor([], t), tensor(out, t)))
        p.result("%r", out, t)
        return
    t = any_type(False)
    x, k = p.arg(values(shape, t), t), p.arg(values(shape, "i32", 0, 99), "i32")
    if kind == "argmax":
        low = -np.inf if t in FLOATS else np.iinfo(NUMPY[t]).min
        i, j = p.arg(np.array(low).astype(NUMPY[t]), t), p.arg(np.array(0, np.int32), "i32")
        body = """    %%g = stablehlo.compare GT, %%r0, %%r2 : (tensor<%s>, tensor<%s>) -> tensor<i1>
    %%e = stablehlo.compare EQ, %%r0, %%r2 : (tensor<%s>, tensor<%s>) -> tensor<i1>
    %%l = stablehlo.compare LT, %%r1, %%r3 : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %%f = stablehlo.and %%e, %%l : tensor<i1>
    %%h = stablehlo.or %%g, %%f : tensor<i1>
    %%v = stablehlo.select %%g, %%r0, %%r2 : tensor<i1>, tensor<%s>
    %%w = stablehlo.select %%h, %%r1, %%r3 : tensor<i1>, tensor<i32>
    stablehlo.return %%v, %%w : tensor<%s>, tensor<i32>""" % ((t,) * 6)
    else:
        i, j = p.arg(np.array(0).astype(NUMPY[t]), t), p.arg(np.array(0, np.int32), "i32")
        body = """    %%v = stablehlo.add %%r0, %%r2 : tensor<%s>
    %%w = stablehlo.maximum %%r1, %%r3 : tensor<i32>
    stablehlo.return %%v, %%w : tensor<%s>, tensor<i32>""" % ((t,) * 2)
    p.body.append('  %%r:2 = "stablehlo.reduce"(%s, %s, %s, %s) %s %s : (%s, %s, %s, %s) -> (%s, %s)' % (
        x, k, i, j, region(body, 4, [t, "i32"]), attrs, tensor(shape, t), tensor(shape, "i32"),
        tensor([], t), tensor([], "i32"), tensor(out, t), tensor(out, "i32")))
    p.result("%r#0", out, t)
    p.result("%r#1", out, "i32")


def window(n, least_pad, dilate=True):
    while True:
        shape = [R.randint(1, 8) for _ in range(n)]
        size = [R.choice([1, 1, 2, 3, 4]) for _ in range(n)]
        stride = [R.choice([1, 1, 2, 3]) for _ in range(n)]
        base = [R.choice([1, 1, 1, 2, 3]) if dilate else 1 for _ in range(n)]
        dil = [R.choice([1, 1, 1, 2, 3]) if dilate else 1 for _ in range(n)]
        pad = [(R.randint(least_pad, 2), R.randint(least_pad, 2)) for _ in range(n)]
        full = [l + (i - 1) * b + 1 + h for (l, h), i, b in zip(pad, shape, base)]
        reach = [(k - 1) * d + 1 for k, d in zip(size, dil)]
        if all(f >= r for f, r in zip(full, reach)):
            out = [(f - r) // s + 1 for f, r, s in zip(full, reach, stride)]
            return shape, size, stride, base, dil, pad, out


def reduce_window(p):
    shape, size, stride, base, dil, pad, out = window(R.randint(1, 4), -1)
    attrs = "<{%s, %s, %s, %s, %s}>" % (
        ints("window_dimensions", size), ints("window_strides", stride), ints("base_dilations", base),
        ints("window_dilations", dil), padding(pad))
    if R.random() < 0.8:
        t = any_type()
        op = monoid(t)
        x = p.arg(values(shape, t, -2, 2) if op == "multiply" else values(shape, t), t)
        # XLA counts the initial value once, the specification wherever there is padding
        padded = any(q != (0, 0) for q in pad) or any(b > 1 for b in base)
        i = p.arg(initial(op, t, 0 if padded else 0.3), t)
        p.body.append('  %%r = "stablehlo.reduce_window"(%s, %s) %s %s : (%s, %s) -> %s' % (
            x, i, attrs, monoid_region(op, t), tensor(shape, t), tensor([], t), tensor(out, t)))
        p.result("%r", out, t)
        return
    t, u = any_type(False), R.choice(["i32", "f32"])
    x, y = p.arg(values(shape, t), t), p.arg(values(shape, u), u)
    low = -np.inf if t in FLOATS else np.iinfo(NUMPY[t]).min
    i, j = p.arg(np.array(low).astype(NUMPY[t]), t), p.arg(np.array(0).astype(NUMPY[u]), u)
    body = """    %%v = stablehlo.maximum %%r0, %%r2 : tensor<%s>
    %%w = stablehlo.add %%r1, %%r3 : tensor<%s>
    stablehlo.return %%v, %%w : tensor<%s>, tensor<%s>""" % (t, u, t, u)
    p.body.append('  %%r:2 = "stablehlo.reduce_window"(%s, %s, %s, %s) %s %s : (%s, %s, %s, %s) -> '
                  '(%s, %s)' % (x, y, i, j, attrs, region(body, 4, [t, u]), tensor(shape, t),
                                tensor(shape, u), tensor([], t), tensor([], u), tensor(out, t),
                                tensor(out, u)))
    p.result("%r#0", out, t)
    p.result("%r#1", out, u)


def select_and_scatter(p):
    shape, size, stride, _, _, pad, out = window(R.randint(1, 4), 0, False)
    t = any_type(False)
    op = R.choice(["add", "add", "add", "maximum", "multiply"])
    x, s = p.arg(values(shape, t), t), p.arg(values(out, t), t)
    i = p.arg(initial(op, t), t)
    how = R.choice(["GE", "GE", "GT", "LE", "LT"])
    select = region("    %%c = stablehlo.compare %s, %%r0, %%r1 : (tensor<%s>, tensor<%s>) -> tensor<i1>\n"
                    "    stablehlo.return %%c : tensor<i1>" % (
                        how, t, t), 2, [t])
    p.body.append('  %%r = "stablehlo.select_and_scatter"(%s, %s, %s) <{%s, %s, %s}> %s, %s : '
                  '(%s, %s, %s) -> %s' % (
                      x, s, i, ints("window_dimensions", size), ints("window_strides", stride),
                      padding(pad), select[:-1], monoid_region(op, t)[1:], tensor(shape, t),
                      tensor(out, t), tensor([], t), tensor(shape, t)))
    p.result("%r", shape, t)
    # XLA takes ties and windows of nothing but padding in its own way
    p.expected = lambda args: [select_and_scatter_value(args, size, stride, pad, how, op)]


def select_and_scatter_value(args, size, stride, pad, how, op):
    x, source, init = args
    stays = {"GE": np.greater_equal, "GT": np.greater, "LE": np.less_equal, "LT": np.less}[how]
    combine = {"add": np.add, "maximum": np.maximum, "multiply": np.multiply}[op]
    r = np.full(x.shape, init, x.dtype)
    for w in np.ndindex(*source.shape):
        best = None
        for k in np.ndindex(*size):
            q = tuple(a * s + d - l for a, s, d, (l, _) in zip(w, stride, k, pad))
            if any(a < 0 or a >= n for a, n in zip(q, x.shape)):
                continue
            if best is None or not stays(x[best], x[q]):
                best = q
        if best is not None:
            r[best] = combine(r[best], source[w])
    return r


# --- by index ---

def index_setup():
    """A table and index vectors: shapes, which dims are batching, mapped, left out."""
    rank = R.randint(1, 4)
    table = [R.randint(1, 5) for _ in range(rank)]
    dims = list(range(rank))
    R.shuffle(dims)
    batch = dims[:min(R.choice([0, 0, 0, 1, 2]), rank - 1)]
    rest = [d for d in range(rank) if d not in batch]
    mapped = R.sample(rest, R.randint(0 if len(rest) > 1 else 1, len(rest)))
    out = sorted(d for d in mapped if R.random() < 0.6)
    window = [1 if d in batch or d in out else R.randint(1, table[d]) if R.random() < 0.6
              else table[d] for d in range(rank)]
    others = [R.randint(1, 4) for _ in range(R.randint(0, 2))]
    # batch dims of the indices, in any order: (size, the table's dim or None)
    places = [(table[d], d) for d in batch] + [(s, None) for s in others]
    R.shuffle(places)
    bshape = [s for s, _ in places]
    vector = R.randint(0, len(bshape)) if R.random() < 0.5 else len(bshape)
    has_dim = len(mapped) != 1 or vector != len(bshape) or R.random() < 0.5
    ishape = bshape[:vector] + [len(mapped)] + bshape[vector:] if has_dim else bshape
    where = lambda i: i + 1 if has_dim and i >= vector else i
    pairs = [(d, where(i)) for i, (_, d) in enumerate(places) if d is not None]
    pairs.sort()
    return table, window, out, mapped, pairs, bshape, ishape, vector


def index_values(table, mapped, ishape, vector, t, outside):
    a = np.zeros(ishape, np.int64)
    for place in np.ndindex(*ishape):
        k = place[vector] if vector < len(ishape) and len(ishape) else 0
        n = table[mapped[k if vector < len(ishape) else 0]] if mapped else 1
        low = -2 if outside and not t.startswith("u") else 0
        a[place] = R.randint(low, n + 1 if outside else n - 1)
    return a.astype(NUMPY[t])


def gather(p):
    table, window, out, mapped, pairs, bshape, ishape, vector = index_setup()
    if not mapped:
        return gather(p)
    t, it = any_type(), R.choice(["i32", "i64", "ui32", "i8", "ui64", "i16"])
    kept = [d for d in range(len(table)) if d not in out and d not in [q[0] for q in pairs]]
    rank = len(bshape) + len(kept)
    offset = sorted(R.sample(range(rank), len(kept)))
    shape, b, k = [], iter(bshape), iter(kept)
    for r in range(rank):
        shape.append(window[next(k)] if r in offset else next(b))
    x = p.arg(values(table, t), t)
    i = p.arg(index_values(table, mapped, ishape, vector, it, R.random() < 0.4), it)
    p.body.append('  %%r = "stablehlo.gather"(%s, %s) <{dimension_numbers = #stablehlo.gather<offset_dims '
                  '= %s, collapsed_slice_dims = %s, operand_batching_dims = %s, '
                  'start_indices_batching_dims = %s, start_index_map = %s, index_vector_dim = %d>, %s}> '
                  ': (%s, %s) -> %s' % (
                      x, i, offset, out, [q[0] for q in pairs], [q[1] for q in pairs], mapped, vector,
                      ints("slice_sizes", window), tensor(table, t), tensor(ishape, it),
                      tensor(shape, t)))
    p.result("%r", shape, t)


def scatter(p):
    table, window, out, mapped, pairs, bshape, ishape, vector = index_setup()
    if not mapped:
        return scatter(p)
    kept = [d for d in range(len(table)) if d not in out and d not in [q[0] for q in pairs]]
    rank = len(bshape) + len(kept)
    wdims = sorted(R.sample(range(rank), len(kept)))
    shape, b, k = [], iter(bshape), iter(kept)
    for r in range(rank):
        shape.append(window[next(k)] if r in wdims else next(b))
    it = R.choice(["i32", "i64", "ui32", "i8"])
    kind = R.choice(["monoid", "monoid", "second", "other", "two"])
    t = any_type(kind in ("monoid", "second"))
    x, u = p.arg(values(table, t), t), p.arg(values(shape, t), t)
    i = p.arg(index_values(table, mapped, ishape, vector, it, R.random() < 0.4), it)
    attrs = ("<{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = %s, "
             "inserted_window_dims = %s, input_batching_dims = %s, scatter_indices_batching_dims = %s, "
             "scatter_dims_to_operand_dims = %s, index_vector_dim = %d>}>" % (
                 wdims, out, [q[0] for q in pairs], [q[1] for q in pairs], mapped, vector))
    if kind == "two":
        y, w = p.arg(values(table, "i32"), "i32"), p.arg(values(shape, "i32"), "i32")
        body = """    %%v = stablehlo.add %%r0, %%r2 : tensor<%s>
    %%w = stablehlo.subtract %%r1, %%r3 : tensor<i32>
    stablehlo.return %%v, %%w : tensor<%s>, tensor<i32>""" % (t, t)
        p.body.append('  %%r:2 = "stablehlo.scatter"(%s, %s, %s, %s, %s) %s %s : (%s, %s, %s, %s, %s) -> '
                      '(%s, %s)' % (x, y, i, u, w, attrs, region(body, 4, [t, "i32"]),
                                    tensor(table, t), tensor(table, "i32"), tensor(ishape, it),
                                    tensor(shape, t), tensor(shape, "i32"), tensor(table, t),
                                    tensor(table, "i32")))
        p.result("%r#0", table, t)
        p.result("%r#1", table, "i32")
        return
    if kind == "monoid":
        body = monoid_region(monoid(t), t)
    elif kind == "second":
        body = region("    stablehlo.return %%r1 : tensor<%s>" % t, 2, [t])
    else:
        body = region("    %%y = stablehlo.add %%r0, %%r0 : tensor<%s>\n"
                      "    %%z = stablehlo.subtract %%y, %%r1 : tensor<%s>\n"
                      "    stablehlo.return %%z : tensor<%s>" % (t, t, t), 2, [t])
    p.body.append('  %%r = "stablehlo.scatter"(%s, %s, %s) %s %s : (%s, %s, %s) -> %s' % (
        x, i, u, attrs, body, tensor(table, t), tensor(ishape, it), tensor(shape, t), tensor(table, t)))
    p.result("%r", table, t)


# --- in order ---

def sort(p):
    shape = [R.randint(1, 7) for _ in range(R.randint(1, 3))]
    dim = R.randrange(len(shape))
    n = R.randint(1, 3)
    types = [any_type(False) for _ in range(n)]
    args = [p.arg(values(shape, t), t) for t in types]
    cmp = lambda name, how, i, a, b, total=False: (
        "    %%%s = stablehlo.compare %s, %s, %s%s : (tensor<%s>, tensor<%s>) -> tensor<i1>\n" % (
            name, how, a, b, ", TOTALORDER" if total and types[i] in FLOATS else "", types[i],
            types[i]))
    how = R.choice(["LT", "GT"])
    kind = R.choice(["plain", "plain", "lexicographic", "negated", "other"])
    total = R.random() < 0.5
    if kind == "lexicographic" and n > 1:
        body = cmp("c1", R.choice(["LT", "GT"]), 1, "%r2", "%r3", total) + \
            cmp("c0", how, 0, "%r0", "%r1", total) + cmp("e0", "EQ", 0, "%r0", "%r1", total) + \
            "    %b = stablehlo.and %e0, %c1 : tensor<i1>\n    %c = stablehlo.or %c0, %b : tensor<i1>\n"
    elif kind == "negated" and not types[0].startswith("u"):
        body = "    %%n0 = stablehlo.negate %%r0 : tensor<%s>\n    %%n1 = stablehlo.negate %%r1 : " \
            "tensor<%s>\n" % (types[0], types[0]) + cmp("c", how, 0, "%n0", "%n1")
    elif kind == "other" and n > 1:
        # smaller first elements; where both are odd in the second one, larger ones
        body = cmp("c0", "LT", 0, "%r0", "%r1") + cmp("d0", "EQ", 0, "%r0", "%r1") + \
            cmp("c1", "GT", 1, "%r2", "%r3") + \
            "    %c = stablehlo.select %d0, %c1, %c0 : tensor<i1>, tensor<i1>\n"
    else:
        body = cmp("c", how, 0, "%r0", "%r1", total)
    args_text = ", ".join("%%r%d: tensor<%s>" % (i, types[i // 2]) for i in range(2 * n))
    ins = ", ".join(tensor(shape, t) for t in types)
    p.body.append('  %%r:%d = "stablehlo.sort"(%s) ({\n  ^bb0(%s):\n%s    stablehlo.return %%c : '
                  'tensor<i1>\n  }) {dimension = %d : i64, is_stable = true} : (%s) -> (%s)' % (
                      n, ", ".join(args), args_text, body, dim, ins, ins))
    for i, t in enumerate(types):
        p.result("%r#" + str(i) if n > 1 else "%r#0", shape, t)


# --- solvers and random numbers ---

def triangular_solve(p):
    t = R.choice(["f32", "f64"])
    m, n = R.randint(1, 5), R.randint(1, 4)
    batch = [R.randint(1, 3) for _ in range(R.randint(0, 2))]
    left = R.random() < 0.5
    a = values(batch + [m, m], t, -2, 2)
    for i in range(m):
        a[..., i, i] = R.choice([1, 2, -1, 4, -2])
    bshape = batch + ([m, n] if left else [n, m])
    x, y = p.arg(a, t), p.arg(values(bshape, t), t)
    flag = lambda v: "true" if v else "false"
    p.body.append('  %%r = "stablehlo.triangular_solve"(%s, %s) <{left_side = %s, lower = %s, '
                  'unit_diagonal = %s, transpose_a = #stablehlo<transpose %s>}> : (%s, %s) -> %s' % (
                      x, y, flag(left), flag(R.random() < 0.5), flag(R.random() < 0.3),
                      R.choice(["NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"]), tensor(a.shape, t),
                      tensor(bshape, t), tensor(bshape, t)))
    p.result("%r", bshape, t)


def cholesky(p):
    t = R.choice(["f32", "f64"])
    m = R.randint(1, 5)
    batch = [R.randint(1, 3) for _ in range(R.randint(0, 1))]
    low = np.tril(values(batch + [m, m], t, -2, 2))
    for i in range(m):
        low[..., i, i] = R.randint(1, 3)
    a = p.arg((low @ np.swapaxes(low, -1, -2)).astype(NUMPY[t]), t)
    lower = R.random() < 0.5
    shape = batch + [m, m]
    p.body.append('  %%c = "stablehlo.cholesky"(%s) <{lower = %s}> : (%s) -> %s' % (
        a, "true" if lower else "false", tensor(shape, t), tensor(shape, t)))
    # the other triangle is not defined
    mask = np.broadcast_to(np.tril(np.ones((m, m))) if lower else np.triu(np.ones((m, m))), shape)
    k = p.arg(mask.astype(np.bool_), "i1")
    z = p.arg(np.zeros(shape, NUMPY[t]), t)
    p.body.append("  %%r = stablehlo.select %s, %%c, %s : %s, %s" % (
        k, z, tensor(shape, "i1"), tensor(shape, t)))
    p.result("%r", shape, t)


def rng_bit_generator(p):
    t = R.choice(["ui8", "ui16", "ui32", "ui32", "ui64", "i32", "i64"])
    shape = [R.randint(1, 7) for _ in range(R.randint(0, 3))]
    algorithm = R.choice(["THREE_FRY", "PHILOX", "DEFAULT"])
    state = 2 if algorithm == "THREE_FRY" else R.choice([2, 3])
    s = p.arg(np.array([R.choice([0, 1, R.getrandbits(64), 2**64 - 1, 2**64 - 2])
                        for _ in range(state)], np.uint64), "ui64")
    p.body.append("  %%r:2 = stablehlo.rng_bit_generator %s, algorithm = %s : (tensor<%dxui64>) -> "
                  "(tensor<%dxui64>, %s)" % (s, algorithm, state, state, tensor(shape, t)))
    p.result("%r#0", [state], "ui64")
    p.result("%r#1", shape, t)


OPS = {f.__name__: f for f in (
    dot_general, convolution, reduce, reduce_window, select_and_scatter, gather, scatter, sort,
    triangular_solve, cholesky, rng_bit_generator)}
INEXACT = ("triangular_solve", "cholesky")


def main():
    which, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    R.seed("%s %d" % (which, seed))
    make = Program.parallel if sys.argv[4:] == ["parallel"] else Program.text
    np.seterr(all="ignore")
    failures = 0
    for i in range(count):
        name = R.choice(sorted(OPS)) if which == "all" else which
        while True:
            p = Program()
            OPS[name](p)
            try:
                text = make(p, "%s_%d" % (name, i), name not in INEXACT)
            except Exception as e:  # XLA does not take it: another one
                print("// %s: %s" % (name, str(e).split("\n")[0]), file=sys.stderr)
                failures += 1
                if failures > 20 + count:
                    sys.exit("XLA refuses too many of these programs")
                continue
            break
        print(("// -----\n\n" if i else "") + text, flush=True)


main()
