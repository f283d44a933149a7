"""Writes programs that check eigenvectors and singular vectors by their definition: A V = V diag(w), V' V = 1 and ascending w;
A = U diag(s) W', U' U = 1, W' W = 1 and descending s. Matrices are random, singular, with equal eigenvalues, and badly scaled.

    eigen.py > programs.mlir
"""

import random

numbers = random.Random(1)
TOLERANCE = {"f32": 2e-5, "f64": 1e-13}  # of a matrix whose largest element is 1


def rounded(rows):
    """Multiples of 2^-20, which f32 represents."""
    return [[round(x * 2**20) / 2**20 for x in row] for row in rows]


def random_rows(m, n):
    return [[numbers.uniform(-1, 1) for _ in range(n)] for _ in range(m)]


def product(a, b):
    return [[sum(x * y for x, y in zip(row, column)) for column in zip(*b)] for row in a]


def general(m, n):
    yield "random", random_rows(m, n)
    yield "ones", [[1.0] * n for _ in range(m)]
    yield "zeros", [[0.0] * n for _ in range(m)]
    yield "rank1", product(random_rows(m, 1), random_rows(1, n))
    yield "graded", [[numbers.uniform(-1, 1) * 10.0**-j for j in range(n)] for _ in range(m)]


def symmetric(n):
    for name, a in general(n, n):
        yield name, [[(a[i][j] + a[j][i]) / 2 for j in range(n)] for i in range(n)]
    # a reflection: all eigenvalues but one are equal
    v = random_rows(1, n)[0]
    size = sum(x * x for x in v)
    yield "reflection", [[(i == j) - 2 * v[i] * v[j] / size for j in range(n)] for i in range(n)]
    yield "chain", [[float(abs(i - j) == 1) for j in range(n)] for i in range(n)]
    yield "diagonal", [[float(i == j) * (n - i) / n for j in range(n)] for i in range(n)]


class Program:
    def __init__(self, name, t):
        self.t, self.n = t, 0
        print("func.func @%s_%s() {" % (name, t))

    def kind(self, *shape):
        return "tensor<%s%s>" % ("".join("%dx" % n for n in shape), self.t)

    def op(self, text):
        self.n += 1
        print("  %%%d = %s" % (self.n, text))
        return "%%%d" % self.n

    def constant(self, rows):
        text = ", ".join("[%s]" % ", ".join(map(repr, row)) for row in rows)
        return self.op("stablehlo.constant dense<[%s]> : %s" % (text, self.kind(len(rows), len(rows[0]))))

    def dot(self, a, sa, da, b, sb, db):
        out = self.kind(sa[1 - da], sb[1 - db])
        return self.op("stablehlo.dot_general %s, %s, contracting_dims = [%d] x [%d] : (%s, %s) -> %s" %
                       (a, b, da, db, self.kind(*sa), self.kind(*sb), out))

    def columns(self, a, shape, w):
        """a diag(w)"""
        b = self.op("stablehlo.broadcast_in_dim %s, dims = [1] : (%s) -> %s" % (w, self.kind(shape[1]), self.kind(*shape)))
        return self.op("stablehlo.multiply %s, %s : %s" % (a, b, self.kind(*shape)))

    def same(self, a, b, *shape):
        print('  "check.expect_almost_eq"(%s, %s) {tolerance = %r : f64} : (%s, %s) -> ()' %
              (a, b, TOLERANCE[self.t], self.kind(*shape), self.kind(*shape)))

    def orthogonal(self, v, m, n):
        one = self.constant([[float(i == j) for j in range(n)] for i in range(n)])
        self.same(self.dot(v, (m, n), 0, v, (m, n), 0), one, n, n)

    def ordered(self, w, n, how):
        if n < 2:
            return
        parts = [self.op("stablehlo.slice %s [%d:%d] : (%s) -> %s" % (w, i, n - 1 + i, self.kind(n), self.kind(n - 1)))
                 for i in range(2)]
        flags = "tensor<%dxi1>" % (n - 1)
        holds = self.op("stablehlo.compare %s, %s, %s : (%s, %s) -> %s" % (how, *parts, *[self.kind(n - 1)] * 2, flags))
        print("  check.expect_eq_const %s, dense<true> : %s" % (holds, flags))

    def end(self):
        print("  return\n}\n\n// -----\n")


def call(p, target, a, config, operand, results):
    letter = "s" if p.t == "f32" else "d"
    p.n += 1
    print("  %%%d:%d = stablehlo.custom_call @lapack_%s%s_ffi(%s) {mhlo.backend_config = {%s}} : (%s) -> (%s)" %
          (p.n, len(results), letter, target, a, config, operand, ", ".join(results)))
    return ["%%%d#%d" % (p.n, i) for i in range(len(results))]


def eigh(name, t, a, lower):
    n = len(a)
    p = Program("eigh_%s_%d" % (name, n), t)
    a = rounded(a)
    whole = p.constant(a)
    # the other triangle is not read
    given = p.constant([[x if (j <= i if lower else j >= i) else 9.0 for j, x in enumerate(row)] for i, row in enumerate(a)])
    v, w, info = call(p, "syevd", given, "mode = 86 : ui8, uplo = %d : ui8" % ord("L" if lower else "U"), p.kind(n, n),
                      [p.kind(n, n), p.kind(n), "tensor<i32>"])
    p.same(p.dot(whole, (n, n), 1, v, (n, n), 0), p.columns(v, (n, n), w), n, n)
    p.orthogonal(v, n, n)
    p.ordered(w, n, "LE")
    print("  check.expect_eq_const %s, dense<0> : tensor<i32>" % info)
    p.end()


def svd(name, t, a, full):
    m, n = len(a), len(a[0])
    k = min(m, n)
    p = Program("svd_%s_%dx%d_%s" % (name, m, n, "full" if full else "thin"), t)
    given = p.constant(rounded(a))
    nu, nv = (m, n) if full else (k, k)
    _, s, u, vt, info = call(p, "gesdd", given, "mode = %d : ui8" % ord("A" if full else "S"), p.kind(m, n),
                             [p.kind(m, n), p.kind(k), p.kind(m, nu), p.kind(nv, n), "tensor<i32>"])
    p.orthogonal(u, m, nu)
    v = p.op("stablehlo.transpose %s, dims = [1, 0] : (%s) -> %s" % (vt, p.kind(nv, n), p.kind(n, nv)))
    p.orthogonal(v, n, nv)
    p.ordered(s, k, "GE")
    first = p.op("stablehlo.slice %s [0:%d, 0:%d] : (%s) -> %s" % (u, m, k, p.kind(m, nu), p.kind(m, k)))
    last = p.op("stablehlo.slice %s [0:%d, 0:%d] : (%s) -> %s" % (vt, k, n, p.kind(nv, n), p.kind(k, n)))
    p.same(p.dot(p.columns(first, (m, k), s), (m, k), 1, last, (k, n), 0), given, m, n)
    print("  check.expect_eq_const %s, dense<0> : tensor<i32>" % info)
    p.end()


for t in ("f32", "f64"):
    for n in (1, 2, 3, 8):
        for name, a in symmetric(n):
            eigh(name, t, a, n % 2 == 0)
    for m, n in ((3, 3), (5, 2), (2, 5), (6, 4)):
        for name, a in general(m, n):
            svd(name, t, a, (m + n) % 3 == 1)
