"""Operations that have graphs inside."""
import torch

from .shapes import joined
from .table import CONTROL, Pair, handles, name_of


def operand(b, x):
    return b.value[x] if isinstance(x, torch.fx.Node) else b.number(x, torch.int64 if isinstance(x, int) else torch.float32)


@handles("cond", table=CONTROL)
def cond(b, test, yes, no, operands=()):
    """Both branches, and a choice."""
    results = [b.inline(b.value[branch], [operand(b, x) for x in operands]) for branch in (yes, no)]
    return [y if y == n else b.op("select", b.value[test], y, n) for y, n in zip(*results)]


@handles("with_effects", table=CONTROL)
def checked_in_order(b, token, op, *_):
    """A check, such as of the success of a factorization."""
    if not any(word in name_of(op) for word in ("check", "assert")):
        b.refuse(f"{op}: an operation with effects is not translated")
    return [b.value.get(token, "token"), "token"]


def rows_of(b, xs, i):
    return [b.reshape(b.op("slice", b.value[x], dims=[0], start=[i], limit=[i + 1]), b.shape(x)[1:]) for x in xs]


def stacked(b, rows):
    return [joined(b, [b.reshape(v, [1, *shape]) for v in each], 0) for each, shape in rows]


@handles("scan", table=CONTROL)
def scan(b, body, init, xs, more=()):
    """Unrolled."""
    carry, found, many = [b.value[x] for x in init], [], b.shape(xs[0])[0]
    for i in range(many):
        results = b.inline(b.value[body], carry + rows_of(b, xs, i) + [operand(b, x) for x in more])
        carry = results[:len(init)]
        found.append(results[len(init):])
    shapes = [list(v.shape)[1:] for v in b.node.meta["val"][len(init):]]
    return carry + stacked(b, [([f[k] for f in found], shape) for k, shape in enumerate(shapes)])


@handles("map_impl", table=CONTROL)
def map_(b, body, xs, more=()):
    found = [b.inline(b.value[body], rows_of(b, xs, i) + [operand(b, x) for x in more]) for i in range(b.shape(xs[0])[0])]
    return stacked(b, [([f[k] for f in found], list(v.shape)[1:]) for k, v in enumerate(b.node.meta["val"])])


@handles("while_loop", table=CONTROL)
def while_loop(b, test, body, carried, more=()):
    """A loop of dopt; what it reads and does not change is carried, too."""
    outside = [operand(b, x) for x in (*carried, *more)]
    parts = lambda values: [p for v in values for p in (v if isinstance(v, Pair) else (v,))]
    whole = lambda names: [Pair(next(names), next(names)) if isinstance(v, Pair) else next(names) for v in outside]
    go, = b.inline(b.value[test], list(outside))
    around, b.looping = b.looping, True
    names, first = [b.fresh("again"), *(b.fresh("carried") for _ in parts(outside))], len(b.lines)
    inside = whole(iter(names[1:]))
    new = b.inline(b.value[body], list(inside))
    new += inside[len(new):]
    more_of_it, = b.inline(b.value[test], list(new))
    b.looping, inside = around, b.lines[first:]
    if any(word in line for line in inside for word in (" = state(", " = call @")):
        b.refuse("a loop with draws, dropout or batch norm inside")
    results = [b.fresh("loop") for _ in names]
    given = ", ".join(f"{name} = {value}" for name, value in zip(names, [go, *parts(outside)]))
    b.lines[first:] = [f"  {', '.join(results)} = while({given}) {{", *("  " + line for line in inside),
                       f"    yield({', '.join([more_of_it, *parts(new)])})", "  }"]
    return whole(iter(results[1:]))[:len(carried)]
