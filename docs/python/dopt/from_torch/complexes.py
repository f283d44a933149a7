"""Complex numbers, which are two values here: most operations move or add elements, or are products. Fourier transforms."""
import itertools
import math

import torch

from .elementwise import checked, dims_of
from .table import COMPLEX, PARTS, Pair, RawName, handler, handles, is_complex

PARTWISE = set("""view reshape _unsafe_view unsqueeze squeeze flatten unflatten permute transpose t expand repeat slice select
    split split_with_sizes chunk unbind flip index _unsafe_index index_select gather clone contiguous alias lift_fresh_copy
    detach detach_copy add sub rsub neg sum mean cat stack slice_scatter select_scatter constant_pad_nd where zeros zeros_like ones ones_like full
    full_like new_zeros empty copy roll diagonal masked_fill cumsum eye tril triu""".split())
OF_REALS = ("complex", "polar")  # they have a complex result alone
BIASED = {"linear": 0, "conv1d": 1, "conv2d": 2, "conv3d": 3}  # and the dims of an image, by which a bias is repeated
BILINEAR = {"mul", "mm", "bmm", "matmul", "dot", "mv", "einsum", *BIASED}


def complex_call(b, node, named):
    name = b.which()
    made = handler(node.target)
    if name in COMPLEX:
        return COMPLEX[name](b, *node.args, **named)
    if name in PARTWISE and made:
        parts = [b_part(b, made, node, named, i) for i in (0, 1)]
        return [Pair(*p) for p in zip(*parts)] if isinstance(parts[0], list) else Pair(*parts)
    if name in BILINEAR and made:
        bias = node.args[2] if name in BIASED and len(node.args) > 2 else None
        if name == "mul" and len(node.all_input_nodes) == 1 and node.args[0] is not node.args[1]:
            (c, d), (e, f) = pair(b, node.args[0]), pair(b, node.args[1])
            return Pair(b.op("sub", b.op("mul", c, e), b.op("mul", d, f)), b.op("add", b.op("mul", c, f), b.op("mul", d, e)))
        factors = []
        args = torch.fx.node.map_arg((*node.args[:2], None, *node.args[3:]) if bias else node.args, lambda x: factors.append(stand_in(b, x)) or factors[-1])
        complexes, whole = [x for x in factors if is_complex(x)], [None, None]
        for parts in itertools.product((0, 1), repeat=len(complexes)):
            term = b_part(b, made, node, named, dict(zip(complexes, parts)), args)
            turns, old = sum(parts), whole[sum(parts) % 2]
            whole[turns % 2] = b.op("sub" if turns // 2 % 2 else "add", old, term) if old else term
        if bias is None:
            return Pair(*whole)
        rows = b.shape(bias) + [1] * BIASED[name]
        return Pair(*[b.op("add", v, b.reshape(w, rows)) for v, w in zip(whole, pair(b, bias))])
    b.refuse("this operation is not translated for complex numbers")


def stand_in(b, x):
    """A node with the value of x: a factor that occurs twice has two parts at a time."""
    node = torch.fx.Node(x.graph, x.name, "placeholder", x.name, (), {})
    node.meta, b.value[node] = x.meta, b.value[x]
    return node


def b_part(b, made, node, named, part, args=None):
    """A handler applied to the real (0) or the imaginary parts (1) of what is complex; the imaginary part of a number that is
    added is 0."""
    linear = isinstance(part, int)
    held = dict(b.value)

    def chosen(arg):
        which = part if linear else part.get(arg, 0)
        if isinstance(arg, torch.fx.Node):
            val = arg.meta["val"]
            if is_complex(arg):
                b.value[arg] = held[arg][which]
            elif linear and which and isinstance(val, torch.Tensor) and val.is_floating_point():
                b.value[arg] = b.full(0, b.shape(arg), PARTS.get(val.dtype, val.dtype))
            return arg
        if isinstance(arg, complex):
            return arg.imag if linear and part else arg.real
        return arg
    args = torch.fx.node.map_arg(node.args if args is None else args, chosen)
    numbers = {"add": (1,), "sub": (1,), "rsub": (1,), "where": (1, 2), "masked_fill": (2,), "full": (1,), "full_like": (1,)}
    if linear:
        args = tuple((a.imag if part else a.real) if i in numbers.get(b.which(), ()) and isinstance(a, (int, float, complex))
                     else a for i, a in enumerate(args))
    if linear and part and b.which() in ("ones", "ones_like", "eye"):
        return b.full(0, b.shape(), b.dtype())
    value = made(b, *args, **named)
    b.value = held
    return value


def parts_in(b, x, other):
    """Those of an argument of a comparison with `other`, in its element type."""
    if isinstance(x, torch.fx.Node) and is_complex(x):
        return b.value[x]
    t = PARTS[other.meta["val"].dtype]
    if isinstance(x, torch.fx.Node):
        return b.read(x, t), b.number(0.0, t)
    return b.number(complex(x).real, t), b.number(complex(x).imag, t)


def pair(b, x):
    """The parts of an argument, a tensor or a number."""
    if not isinstance(x, torch.fx.Node):
        x = complex(x)
        return b.number(x.real, b.dtype()), b.number(x.imag, b.dtype())
    if is_complex(x):
        return b.value[x]
    return b.read(x), b.full(0, b.shape(x), b.dtype())


@handles("view_as_complex", table=COMPLEX)
def view_as_complex(b, x):
    shape = b.shape()
    d = len(shape)
    return Pair(*[b.reshape(b.op("slice", b.value[x], dims=[d], start=[i], limit=[i + 1]), shape) for i in (0, 1)])


@handles("view_as_real", table=COMPLEX)
def view_as_real(b, x):
    parts = [b.reshape(v, b.shape(x) + [1]) for v in b.value[x]]
    return b.op("concat", *parts, dim=len(b.shape(x)))


@handles("real", "imag", table=COMPLEX)
def real_part(b, x):
    return b.value[x][b.which() == "imag"]


@handles("complex", table=COMPLEX)
def complex_of(b, x, y):
    return Pair(*[b.read(v) if b.shape(v) == b.shape() else b.broadcast(b.read(v), b.shape()) for v in (x, y)])


@handles("polar", table=COMPLEX)
def polar(b, size, angle):
    r, a = b.read(size), b.read(angle)
    return Pair(b.op("mul", r, b.op("cos", a)), b.op("mul", r, b.op("sin", a)))


@handles("_to_copy", "to", table=COMPLEX)
def complex_copy(b, x, *_, **__):
    re, im = pair(b, x)
    t, old = b.dtype(), x.meta["val"].dtype
    re, im = b.convert(re, old if is_complex(x) else t, t), b.convert(im, old if is_complex(x) else t, t)
    return Pair(re, im) if is_complex(b.node) else re


@handles("_conj", "conj", "conj_physical", "_conj_physical", table=COMPLEX)
def conjugate(b, x):
    re, im = b.value[x]
    return Pair(re, b.op("neg", im))


handles("_assert_tensor_metadata", table=COMPLEX)(checked)


@handles("resolve_conj", "resolve_neg", table=COMPLEX)
def same(b, x):
    return b.value[x]


def squares(b, re, im):
    return b.op("add", b.op("square", re), b.op("square", im))


def absolute(b, re, im):
    """The gradient at 0 is 0."""
    total, zero, one = squares(b, re, im), b.number(0.0, b.dtype()), b.number(1.0, b.dtype())
    inside = b.op("gt", total, zero)
    return b.op("select", inside, b.op("sqrt", b.op("select", inside, total, one)), zero)


@handles("abs", table=COMPLEX)
def complex_abs(b, x):
    return absolute(b, *b.value[x])


@handles("exp", table=COMPLEX)
def complex_exp(b, x):
    re, im = b.value[x]
    return turned(b, re, im)


def turned(b, size, angle):
    """exp(size + i angle)."""
    r = b.op("exp", size)
    return Pair(b.op("mul", r, b.op("cos", angle)), b.op("mul", r, b.op("sin", angle)))


@handles("div", "reciprocal", table=COMPLEX)
def complex_div(b, x, y=None):
    if y is None:
        x, y = 1.0, x
    (c, d), (e, f) = pair(b, x), pair(b, y)
    if not (is_complex(y) if isinstance(y, torch.fx.Node) else isinstance(y, complex)):
        return Pair(b.op("div", c, e), b.op("div", d, e))
    return quotient(b, c, d, e, f)


def quotient(b, c, d, e, f):
    many = squares(b, e, f)
    re = b.op("add", b.op("mul", c, e), b.op("mul", d, f))
    im = b.op("sub", b.op("mul", d, e), b.op("mul", c, f))
    return Pair(b.op("div", re, many), b.op("div", im, many))


@handles("pow", "square", table=COMPLEX)
def complex_power(b, x, power=2):
    """Small whole powers are products. Of another number, |x|^p with p times the angle; that of 0 is 0 and has no gradient."""
    re, im = pair(b, x)
    if power == 0:
        return Pair(b.full(1, b.shape(), b.dtype()), b.full(0, b.shape(), b.dtype()))
    if power in (1, 2, 3):
        found = Pair(re, im)
        for _ in range(int(power.real) - 1):
            found = Pair(*product_with(b, *found, re, im, "mul"))
        return found
    (p, q), total = pair(b, power), squares(b, re, im)
    zero, one, half, nan = (b.number(v, b.dtype()) for v in (0.0, 1.0, 0.5, math.nan))
    inside = b.op("gt", total, zero)
    a = b.op("mul", b.op("log", b.op("select", inside, total, one)), half)
    t = b.op("atan2", im, b.op("select", inside, re, one))
    found = turned(b, b.op("sub", b.op("mul", a, p), b.op("mul", t, q)), b.op("add", b.op("mul", a, q), b.op("mul", t, p)))
    of_0 = b.op("select", b.op("gt", p, zero), zero, nan)
    return Pair(*[b.op("select", inside, v, of_0) for v in found])


@handles("sqrt", table=COMPLEX)
def complex_sqrt(b, x):
    return complex_power(b, x, 0.5)


@handles("log", table=COMPLEX)
def complex_log(b, x):
    re, im = b.value[x]
    return Pair(b.op("log", absolute(b, re, im)), b.op("atan2", im, re))


def hyperbolic(b, name, re, im):
    """sinh and cosh of re + i im; the sine and the cosine are those of its i-fold."""
    first, other = ("sinh", "cosh") if name == "sinh" else ("cosh", "sinh")
    return Pair(b.op("mul", b.op(first, re), b.op("cos", im)), b.op("mul", b.op(other, re), b.op("sin", im)))


@handles("sinh", "cosh", "sin", "cos", table=COMPLEX)
def complex_curve(b, x):
    name, (re, im) = b.which(), b.value[x]
    if name in ("sinh", "cosh"):
        return hyperbolic(b, name, re, im)
    found = hyperbolic(b, name + "h", b.op("neg", im), re)  # of i z = -im + i re
    return found if name == "cos" else Pair(found[1], b.op("neg", found[0]))


@handles("tanh", "sigmoid", table=COMPLEX)
def complex_step(b, x):
    """By p = sigmoid(2 re), q = 1 - p, and d = p - q, none of which overflows; for the sigmoid of half of x. The divisor is
    |cosh x|^2 / cosh(re)^2."""
    name, (re, im), half, two = b.which(), b.value[x], b.number(0.5, b.dtype()), b.number(2.0, b.dtype())
    twice, once = (b.op("mul", re, two), re) if name == "tanh" else (re, b.op("mul", re, half))
    angle = im if name == "tanh" else b.op("mul", im, half)
    p, q, d = b.op("sigmoid", twice), b.op("sigmoid", b.op("neg", twice)), b.op("tanh", once)
    cos, sin, rest = b.op("cos", angle), b.op("sin", angle), b.op("mul", q, two)
    turn = b.op("mul", b.op("mul", p, rest), cos)
    divisor = b.op("add", b.op("square", d), b.op("mul", b.op("mul", turn, two), cos))
    im = b.op("mul", turn, sin)
    re, im = (d, b.op("mul", im, two)) if name == "tanh" else (
        b.op("mul", p, b.op("add", d, b.op("mul", rest, b.op("square", cos)))), im)
    return Pair(b.op("div", re, divisor), b.op("div", im, divisor))


@handles("eq", "ne", "isnan", table=COMPLEX)
def complex_test(b, x, y=None):
    name = b.which()
    parts = [b.op("is_nan", v) for v in b.value[x]] if name == "isnan" else [
        b.op(name, v, w) for v, w in zip(*(parts_in(b, a, x if is_complex(x) else y) for a in (x, y)))]
    return b.op("and" if name == "eq" else "or", *parts)


@handles("var", table=COMPLEX)
def complex_variance(b, x, *args, **named):
    return b.op("add", *[b_part(b, handler(b.node.target), b.node, dict(b.node.kwargs), i) for i in (0, 1)])


FACTOR = 32  # the largest factor of a size that a Fourier transform is split into, if it has one
PRIME = 512  # a larger prime factor is a convolution instead of one matrix


def table(b, rows, columns, n, sign):
    """cos and sin of 2 pi rows columns / n, of all rows and columns; computed in f64."""
    place = b.op("mul", b.iota([rows, columns], 0), b.iota([rows, columns], 1))
    turn = b.op("convert", b.op("rem", place, b.number(n, torch.int64)), to=RawName("f64"))
    turn = b.op("mul", turn, b.number(sign * 2 * math.pi / n, torch.float64))
    return [b.convert(b.op(f, turn), torch.float64, b.dtype()) for f in ("cos", "sin")]


def product_with(b, re, im, cos, sin, op, **how):
    """(re + i im) (cos + i sin); im may be None, which is 0."""
    a, c = b.op(op, re, cos, **how), b.op(op, re, sin, **how)
    if im is None:
        return a, c
    return b.op("sub", a, b.op(op, im, sin, **how)), b.op("add", c, b.op(op, im, cos, **how))


def transform(b, re, im, lead, n, sign):
    """The Fourier transform of [..lead, n], not scaled: for n = p q, transforms of p elements, factors, and those of q."""
    letters = "abcdefg"[:len(lead)]
    p = max((d for d in range(2, FACTOR + 1) if n % d == 0), default=n) if n > FACTOR else n
    if p == n and n > PRIME:
        return chirped(b, re, im, lead, n, sign)
    if p == n:
        return product_with(b, re, im, *table(b, n, n, n, sign), "contract", spec=f"{letters}x,xy->{letters}y")
    q = n // p
    re, im = (None if v is None else b.reshape(v, [*lead, p, q]) for v in (re, im))
    re, im = product_with(b, re, im, *table(b, p, p, p, sign), "contract", spec=f"{letters}xz,xy->{letters}yz")
    re, im = product_with(b, re, im, *table(b, p, q, n, sign), "mul")
    re, im = transform(b, re, im, [*lead, p], q, sign)
    perm = [*range(len(lead)), len(lead) + 1, len(lead)]
    return [b.reshape(b.op("transpose", v, perm=perm), [*lead, n]) for v in (re, im)]


def chirp(b, n, size, sign):
    """cos and sin of pi j^2 / n, and 0 from j = n on; cyclic in `size`: the same for -j."""
    j = b.iota([size], 0)
    j = b.op("minimum", j, b.op("sub", b.number(size, torch.int64), j)) if size > n else j
    turn = b.op("convert", b.op("rem", b.op("mul", j, j), b.number(2 * n, torch.int64)), to=RawName("f64"))
    turn = b.op("mul", turn, b.number(sign * math.pi / n, torch.float64))
    inside = b.convert(b.op("lt", j, b.number(n, torch.int64)), torch.bool, b.dtype())
    return [b.op("mul", b.convert(b.op(f, turn), torch.float64, b.dtype()), inside) for f in ("cos", "sin")]


def chirped(b, re, im, lead, n, sign):
    """A convolution with the transform of a chirp, since 2 j k = j^2 + k^2 - (k - j)^2 (Bluestein), in a power of two."""
    size = 1 << (2 * n - 2).bit_length()
    c = chirp(b, n, n, sign)
    long = [b.op("pad", v, low=[0] * (len(lead) + 1), high=[0] * len(lead) + [size - n])
            for v in product_with(b, re, im, *c, "mul")]
    product = product_with(b, *transform(b, *long, lead, size, -1), *transform(b, *chirp(b, n, size, -sign), [], size, -1), "mul")
    whole = transform(b, *product, lead, size, 1)
    short = (b.op("mul", b.op("slice", v, dims=[len(lead)], start=[0], limit=[n]), b.number(1 / size, b.dtype())) for v in whole)
    return product_with(b, *short, *c, "mul")


def fourier(b, re, im, shape, dims, sign, kept=None):
    """Over dims, one after another; of the last of them the first `kept` results."""
    shape = list(shape)
    for d in dims:
        perm = [i for i in range(len(shape)) if i != d] + [d]
        back = [perm.index(i) for i in range(len(shape))]
        move = (lambda v, p: v if v is None or p == list(range(len(p))) else b.op("transpose", v, perm=p))
        lead = [shape[i] for i in perm[:-1]]
        re, im = transform(b, move(re, perm), move(im, perm), lead, shape[d], sign)
        re, im = move(re, back), move(im, back)
        if kept and d == dims[0] and kept != shape[d]:
            re, im = (b.op("slice", v, dims=[d], start=[0], limit=[kept]) for v in (re, im))
            shape[d] = kept
    return re, im


def fft_scale(b, values, shape, dims, norm):
    n = math.prod(shape[d] for d in dims)
    factor = {0: 1, 1: n ** -0.5, 2: 1 / n}[norm]
    return values if factor == 1 else [b.op("mul", v, b.number(factor, b.dtype())) for v in values]


@handles("_fft_r2c", table=COMPLEX)
def fft_r2c(b, x, dims, norm, onesided):
    dims = dims_of(b, x, dims)
    kept = b.shape()[dims[-1]] if onesided else None
    values = fourier(b, b.read(x), None, b.shape(x), dims[::-1], -1, kept)
    return Pair(*fft_scale(b, values, b.shape(x), dims, norm))


@handles("_fft_c2c", table=COMPLEX)
def fft_c2c(b, x, dims, norm, forward):
    dims = dims_of(b, x, dims)
    values = fourier(b, *b.value[x], b.shape(x), dims, -1 if forward else 1)
    return Pair(*fft_scale(b, values, b.shape(x), dims, norm))


@handles("_fft_c2r", table=COMPLEX)
def fft_c2r(b, x, dims, norm, size):
    """The second half of the last dim is the conjugate of the first, mirrored."""
    dims, shape = dims_of(b, x, dims), b.shape(x)
    last = dims[-1]
    re, im = fourier(b, *b.value[x], shape, dims[:-1], 1)
    have, n = shape[last], size
    index = torch.arange(n)
    at = b.literal(torch.minimum(index, n - index).clamp(max=have - 1))
    sign = torch.where(index <= n // 2, 1.0, -1.0)
    sign[0] = 0  # an imaginary part that a real result does not have
    if n % 2 == 0:
        sign[n // 2] = 0
    rank = len(shape)
    each = [n if d == last else 1 for d in range(rank)]
    perm = [*range(1, last + 1), 0, *range(last + 1, rank)]
    re, im = (b.op("transpose", b.op("gather_nd", v, at, dims=[last]), perm=perm) for v in (re, im))
    im = b.op("mul", im, b.reshape(b.literal(sign.to(b.dtype())), each))
    full = [*shape[:last], n, *shape[last + 1:]]
    values = fourier(b, re, im, full, [last], 1)
    return fft_scale(b, values[:1], full, dims, norm)[0]
