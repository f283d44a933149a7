"""Linear algebra, by columns: the number of operations grows with the size of the matrices."""
import torch

from .composed import decomposes, safe_sqrt, with_gradient
from .table import Unsupported

COLUMNS = 64  # the most columns of a matrix that is factored or inverted: about ten operations for each


def inverse_and_pivots(a):
    """Gauss and Jordan, with pivots of columns: the inverse, the product of the signs of pivots, and the logarithm of their
    sizes; constants."""
    a, n = a.detach(), a.shape[-1]
    if n > COLUMNS:
        raise Unsupported(f"a matrix of {n} columns is factored: at most {COLUMNS} are")
    eye = torch.eye(n, dtype=a.dtype).expand(a.shape)
    both, row = torch.cat([a, eye], -1), torch.arange(n)
    sign, size = torch.ones_like(a[..., 0, 0]), torch.zeros_like(a[..., 0, 0].real)
    for k in range(n):
        best = torch.where(row >= k, both[..., k].abs(), -1).argmax(-1, keepdim=True)
        order = torch.where(row == k, best, torch.where(row == best, k, row))
        both = both.gather(-2, order.unsqueeze(-1).expand(both.shape))
        pivot = both[..., k, k]
        sign = sign * pivot.sgn() * torch.where(best[..., 0] == k, 1, -1)
        size = size + pivot.abs().log()
        top = both[..., k, :] / pivot.unsqueeze(-1)
        others = both - both[..., k].unsqueeze(-1) * top.unsqueeze(-2)
        both = torch.where((row == k)[:, None], top.unsqueeze(-2), others)
    return both[..., n:], sign, size


def inverse(a):
    """A step of Newton's method, whose gradient is that of the inverse."""
    x = inverse_and_pivots(a)[0].detach()
    return 2 * x - x @ a @ x


@decomposes("linalg_inv_ex")
def inv_ex(a, check_errors=False):
    return inverse(a), torch.zeros(a.shape[:-2], dtype=torch.int32)


@decomposes("_linalg_solve_ex")
def solve_ex(a, y, *, left=True, check_errors=False):
    vector = y.dim() == 1 or y.dim() == a.dim() - 1 and y.shape == a.shape[:-1]
    y = y.unsqueeze(-1) if vector else y
    x = inverse(a) @ y if left else y @ inverse(a)
    return (x.squeeze(-1) if vector else x), a, torch.zeros(a.shape[:-1], dtype=torch.int32), \
        torch.zeros(a.shape[:-2], dtype=torch.int32)


@decomposes("linalg_solve_triangular")
def solve_triangular(a, y, *, upper, left=True, unitriangular=False):
    a = a.triu() if upper else a.tril()
    if unitriangular:
        a = torch.where(torch.eye(a.shape[-1], dtype=torch.bool), 1, a)
    return inverse(a) @ y if left else y @ inverse(a)


@decomposes("triangular_solve")
def triangular_solve(y, a, upper=True, transpose=False, unitriangular=False):
    x = solve_triangular(a.mT if transpose else a, y, upper=upper != transpose, unitriangular=unitriangular)
    return x, a


@decomposes("_linalg_slogdet")
def slogdet(a):
    x, sign, size = inverse_and_pivots(a)
    slope = (x.mT.detach() * a).sum((-2, -1))
    sign = sign.detach()
    if a.is_complex():
        sign = sign * (1 + (slope - slope.detach()).imag * 1j)
        slope = slope.real
    size = with_gradient(size, slope)
    return sign, size, a, torch.zeros(a.shape[:-1], dtype=torch.int32)


@decomposes("_linalg_det")
def det(a):
    sign, size, lu, pivots = slogdet(a)
    return sign * size.exp(), lu, pivots


@decomposes("linalg_cholesky_ex")
def cholesky_ex(a, *, upper=False, check_errors=False):
    n = a.shape[-1]
    if n > COLUMNS:
        raise Unsupported(f"a matrix of {n} columns is factored: at most {COLUMNS} are")
    row, rest, columns = torch.arange(n), a, []
    for k in range(n):
        column = torch.where(row >= k, rest[..., k] / rest[..., k, k].real.sqrt().unsqueeze(-1), 0)
        rest = rest - column.unsqueeze(-1) * column.conj().unsqueeze(-2)
        columns.append(column)
    factor = torch.stack(columns, -1)
    return factor.mH if upper else factor, torch.zeros(a.shape[:-2], dtype=torch.int32)


@decomposes("cholesky")
def cholesky(a, upper=False):
    return cholesky_ex(a, upper=upper)[0]


@decomposes("cholesky_solve")
def cholesky_solve(y, factor, upper=False):
    low = inverse(factor.triu().mH if upper else factor.tril())
    return low.mH @ (low @ y)


@decomposes("cholesky_inverse")
def cholesky_inverse(factor, upper=False):
    low = inverse(factor.triu().mH if upper else factor.tril())
    return low.mH @ low


@decomposes("linalg_qr")
def qr(a, mode="reduced"):
    """Householder's reflections."""
    rows, columns = a.shape[-2:]
    many, row = min(rows, columns), torch.arange(rows)
    if mode != "reduced" or many > COLUMNS or a.is_complex():
        raise Unsupported(f"of QR factors the reduced ones of real matrices are translated, of at most {COLUMNS} columns")
    r, vectors = a, []
    for k in range(many):
        column = torch.where(row >= k, r[..., k], 0)
        head = column[..., k:k + 1]
        length = safe_sqrt(column.square().sum(-1, keepdim=True))
        v = column + torch.where(row == k, torch.where(head < 0, -length, length), 0)
        v = v / safe_sqrt(v.square().sum(-1, keepdim=True)).clamp(min=torch.finfo(a.dtype).tiny)
        if k == rows - 1:
            continue  # of one row, which LAPACK leaves as it is
        r = r - 2 * v.unsqueeze(-1) * (v.unsqueeze(-2) @ r)
        vectors.append(v)
    q = torch.eye(rows, many, dtype=a.dtype).expand(*a.shape[:-2], rows, many)
    for v in vectors[::-1]:
        q = q - 2 * v.unsqueeze(-1) * (v.unsqueeze(-2) @ q)
    return q, r[..., :many, :].triu()


@decomposes("linalg_householder_product")
def householder_product(a, tau):
    """The first columns of the product of 1 - tau v v^T, of vectors v that are 0 above and 1 on the diagonal."""
    if a.is_complex() or a.shape[-1] > COLUMNS:
        raise Unsupported(f"reflections of complex vectors, or of more than {COLUMNS} columns")
    rows, columns = a.shape[-2:]
    q = torch.eye(rows, columns, dtype=a.dtype).expand(a.shape)
    v = a.tril(-1) + q
    for k in range(tau.shape[-1] - 1, -1, -1):
        q = q - tau[..., k, None, None] * v[..., k, None] @ (v[..., None, :, k] @ q)
    return q


SQUARINGS = 16  # of the exponential of a matrix: norms up to 2^15


@decomposes("linalg_matrix_exp")
def matrix_exp(a):
    """Taylor's series of a / 2^k, squared k times, so that the norm of the former is at most 1/2."""
    norm = a.detach().abs().sum(-2).amax(-1)[..., None, None].clamp(min=1e-30)
    times = (norm.log2().ceil() + 1).clamp(0, SQUARINGS - 1)
    x = a * torch.exp2(-times)
    eye = torch.eye(a.shape[-1], dtype=a.dtype)
    total = eye + x / 14
    for k in range(13, 0, -1):
        total = eye + x @ total / k
    for k in range(SQUARINGS - 1):
        total = torch.where(k < times, total @ total, total)
    return total


EIGEN_COLUMNS = 32  # unrolled, too: some twenty operations for each column and sweep
SWEEPS = {torch.float32: 9, torch.float64: 13}  # of the importer of StableHLO, which has measured them


def rotated(z, rows):
    """Columns of the first `rows` rows made orthogonal by rotations of pairs of columns (Hestenes), which all rows follow. Every
    round rotates all columns in pairs, and other pairs than the round before it: the circle of a tournament."""
    n = z.shape[-1]
    if z.is_complex():
        raise Unsupported("of complex numbers; those of the real matrix [[re, -im], [im, re]] are the same, each of them twice")
    if n > EIGEN_COLUMNS:
        raise Unsupported(f"eigenvalues and singular values of a matrix of {n} columns: at most {EIGEN_COLUMNS} are translated")
    z = torch.cat([z, torch.zeros_like(z[..., :1])], -1) if n % 2 else z  # no rotation changes a column of zeros
    half = z.shape[-1] // 2
    least = 2 * torch.finfo(z.dtype).eps
    for _ in range(SWEEPS[z.dtype] * (2 * half - 1)):
        x, y = z[..., :half], z[..., half:]
        top, low = x[..., :rows, :], y[..., :rows, :]
        a, b, c = top.square().sum(-2, True), low.square().sum(-2, True), (top * low).sum(-2, True)
        done = c.abs() <= least * a.sqrt() * b.sqrt()
        cot = (b - a) / (2 * torch.where(done, 1, c))
        tan = torch.where(cot < 0, -1.0, 1.0).to(z.dtype) / (cot.abs() + (cot.square() + 1).sqrt())
        tan = torch.where(done, 0, tan)
        cos = (tan.square() + 1).rsqrt()
        x, y = (x - y * tan) * cos, (x * tan + y) * cos
        parts = (x[..., :1], y[..., :1], *([x[..., 1:-1]] if half > 2 else ()), y[..., 1:], x[..., -1:]) if half > 1 else (x, y)
        z = torch.cat(parts, -1)
    return z[..., :n]


def in_order(columns, numbers, descending):
    numbers, at = numbers.sort(dim=-1, descending=descending)
    return columns.gather(-1, at.unsqueeze(-2).expand(columns.shape)), numbers


def differences(w):
    """1 / (w_j - w_i), 0 on the diagonal."""
    same = torch.eye(w.shape[-1], dtype=torch.bool)
    return torch.where(same, 0, 1 / torch.where(same, 1, w.unsqueeze(-2) - w.unsqueeze(-1)))


@decomposes("_linalg_eigh")
def eigh(a, uplo="L", compute_v=True):
    """Of a / d + 1, whose eigenvalues are between 1/2 and 3/2, so that the rotated columns are eigenvectors times them."""
    c, n = a.detach(), a.shape[-1]
    c = c.tril() + c.tril(-1).mT if uplo == "L" else c.triu() + c.triu(1).mT
    d = 2 * c.abs().sum(-1).amax(-1)[..., None, None]
    z = rotated(c / torch.where(d == 0, 1, d) + torch.eye(n, dtype=a.dtype), n)
    v = z / z.square().sum(-2, True).sqrt()
    v, w = in_order(v, (v * (c @ v)).sum(-2), False)
    v, w = v.detach(), w.detach()
    slope = v.mT @ a @ v
    w = with_gradient(w, slope.diagonal(0, -2, -1))
    return w, with_gradient(v, v @ (differences(w.detach()) * (slope + slope.mT) / 2)) if compute_v else v


@decomposes("_linalg_svd")
def svd(a, full_matrices=False, compute_uv=True, driver=None):
    m, n = a.shape[-2:]
    if full_matrices and compute_uv and m != n:
        raise Unsupported("svd: give full_matrices=False")
    if m < n:
        u, s, vh = svd(a.mT, False, compute_uv)
        return vh.mT, s, u.mT
    c = a.detach()
    both = rotated(torch.cat([c, torch.eye(n, dtype=a.dtype).expand(*a.shape[:-2], n, n)], -2), m)
    both, s = in_order(both, both[..., :m, :].square().sum(-2).sqrt(), True)
    u, v = (both[..., :m, :] / torch.where(s == 0, 1, s).unsqueeze(-2)).detach(), both[..., m:, :].detach()
    s = s.detach()
    slope = u.mT @ a @ v
    value = with_gradient(s, slope.diagonal(0, -2, -1))
    if not compute_uv:
        return u, value, v.mT
    f, row = differences(s.square()), s.unsqueeze(-2)
    outside = (a @ v - u @ slope) / row
    u_term = u @ (f * (slope * row + row.mT * slope.mT)) + outside
    v_term = v @ (f * (row.mT * slope + slope.mT * row)) + (a.mT @ u - v @ slope.mT) / row
    return with_gradient(u, u_term), value, with_gradient(v, v_term).mT


@decomposes("linalg_pinv")
def pinv(a, rcond=None, hermitian=False, *, atol=None, rtol=None):
    """By singular values, without those that count as zero; the gradient is that at a constant rank (Golub and Pereyra)."""
    c, eps = a.detach(), max(a.shape[-2:]) * torch.finfo(a.dtype).eps
    u, s, vh = svd(c)
    rtol = rcond if rtol is None else rtol
    least = s[..., :1] * ((eps if atol is None else 0.0) if rtol is None else rtol)
    least = least if atol is None else torch.clamp(least, min=atol)
    some = s > least
    p = ((vh.mT * torch.where(some, 1 / torch.where(some, s, 1), 0).unsqueeze(-2)) @ u.mT).detach()
    rows = a.mT - a.mT @ (c @ p)
    term = -p @ a @ p + p @ p.mT @ rows + (a.mT - p @ (c @ a.mT)) @ p.mT @ p
    return with_gradient(p, term)
