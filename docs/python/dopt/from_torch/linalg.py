"""Linear algebra, by columns: the number of operations grows with the size of the matrices."""
import torch

from .composed import decomposes, safe_sqrt, with_gradient
from .table import Unsupported

COLUMNS = 64  # the most columns of a matrix that is factored or inverted: about ten operations for each


def columns_of(a):
    if min(a.shape[-2:]) > COLUMNS:
        raise Unsupported(f"a matrix of {min(a.shape[-2:])} columns is factored: at most {COLUMNS} are")
    return min(a.shape[-2:])


def swapped(x, k, best):
    """Rows k and `best` of each matrix, or elements of each vector, in each other's place."""
    row = torch.arange(x.shape[best.dim() - 1])
    order = torch.where(row == k, best, torch.where(row == best, k, row))
    return x.gather(best.dim() - 1, order if x.dim() == best.dim() else order.unsqueeze(-1).expand(x.shape))


def inverse_and_pivots(a):
    """Gauss and Jordan, with pivots of columns: the inverse, the product of the signs of pivots, and the logarithm of their
    sizes; constants."""
    a, n = a.detach(), columns_of(a)
    eye = torch.eye(n, dtype=a.dtype).expand(a.shape)
    both, row = torch.cat([a, eye], -1), torch.arange(n)
    sign, size = torch.ones_like(a[..., 0, 0]), torch.zeros_like(a[..., 0, 0].real)
    for k in range(n):
        best = torch.where(row >= k, both[..., k].abs(), -1).argmax(-1, keepdim=True)
        both = swapped(both, k, best)
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
    n = columns_of(a)
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


@decomposes("linalg_lu_factor_ex")
def lu_factor_ex(a, *, pivot=True, check_errors=False):
    rows, columns = a.shape[-2:]
    row, column, places = torch.arange(rows), torch.arange(columns), []
    for k in range(columns_of(a)):
        top = a[..., k].detach()
        size = top.abs() if not a.is_complex() else top.real.abs() + top.imag.abs()  # as LAPACK has it
        best = torch.where(row >= k, size, -1).argmax(-1, keepdim=True) if pivot else torch.full((*a.shape[:-2], 1), k)
        a = swapped(a, k, best)
        places.append(best)
        factor = torch.where(row > k, a[..., k] / a[..., k, k].unsqueeze(-1), 0).unsqueeze(-1)
        rest = a - factor * torch.where(column > k, a[..., k, :], 0).unsqueeze(-2)
        a = torch.where((row > k)[:, None] & (column == k), factor, rest)
    return a, torch.cat(places, -1).to(torch.int32) + 1, torch.zeros(a.shape[:-2], dtype=torch.int32)


@decomposes("lu_unpack")
def lu_unpack(lu, pivots, unpack_data=True, unpack_pivots=True):
    rows, columns = lu.shape[-2:]
    row, many = torch.arange(rows), min(rows, columns)
    order = row.expand(*lu.shape[:-2], rows)
    for k in range(many):
        order = swapped(order, k, pivots[..., k:k + 1].long() - 1)
    eye = torch.eye(rows, many, dtype=lu.dtype)
    return (row[:, None] == order.unsqueeze(-2)).to(lu.dtype), lu[..., :many].tril(-1) + eye, lu[..., :many, :].triu()


@decomposes("linalg_lu")
def lu(a, *, pivot=True):
    return lu_unpack(*lu_factor_ex(a, pivot=pivot)[:2])


@decomposes("linalg_lu_solve")
def lu_solve(factors, pivots, y, *, left=True, adjoint=False):
    p, low, up = lu_unpack(factors, pivots)
    x = inverse(p @ low @ up)
    x = x.mH if adjoint else x
    return x @ y if left else y @ x


def real_part(x):
    return x.real if x.is_complex() else x


def squares(x):
    return x.real.square() + x.imag.square() if x.is_complex() else x.square()


@decomposes("linalg_qr")
def qr(a, mode="reduced"):
    """Householder's reflections 1 - c v v^H, which make a column real, as LAPACK's do."""
    rows, columns = a.shape[-2:]
    many, row = min(rows, columns), torch.arange(rows)
    if mode != "reduced" or many > COLUMNS:
        raise Unsupported(f"of QR factors the reduced ones are translated, of at most {COLUMNS} columns")
    r, reflections = a, []
    for k in range(many):
        column = torch.where(row >= k, r[..., k], 0)
        head, square = column[..., k:k + 1], squares(column).sum(-1, keepdim=True)
        length = safe_sqrt(square)
        image = torch.where(real_part(head) < 0, length, -length)
        v, size = column - torch.where(row == k, image, 0), square - image * head
        c = torch.where(size == 0, 0, 1 / torch.where(size == 0, 1, size)).unsqueeze(-1)
        v = v.unsqueeze(-1)
        if k == rows - 1 and not a.is_complex():
            continue  # of one row, which LAPACK leaves as it is
        r = r - c * v @ (v.mH @ r)
        reflections.append((v, c.conj() if a.is_complex() else c))
    q = torch.eye(rows, many, dtype=a.dtype).expand(*a.shape[:-2], rows, many)
    for v, c in reflections[::-1]:
        q = q - c * v @ (v.mH @ q)
    return q, r[..., :many, :].triu()


@decomposes("linalg_householder_product")
def householder_product(a, tau):
    """The first columns of the product of 1 - tau v v^H, of vectors v that are 0 above and 1 on the diagonal."""
    if a.shape[-1] > COLUMNS:
        raise Unsupported(f"reflections of more than {COLUMNS} columns")
    q = torch.eye(*a.shape[-2:], dtype=a.dtype).expand(a.shape)
    v = a.tril(-1) + q
    for k in range(tau.shape[-1] - 1, -1, -1):
        q = q - tau[..., k, None, None] * v[..., k, None] @ (v[..., None, :, k].conj() @ q)
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
    round rotates all columns in pairs, and other pairs than the round before it: the circle of a tournament. Of complex columns the
    second of a pair is turned first, so that their product is real."""
    n = z.shape[-1]
    if n > EIGEN_COLUMNS:
        raise Unsupported(f"eigenvalues and singular values of a matrix of {n} columns: at most {EIGEN_COLUMNS} are translated")
    z = torch.cat([z, torch.zeros_like(z[..., :1])], -1) if n % 2 else z  # no rotation changes a column of zeros
    half = z.shape[-1] // 2
    real = torch.zeros((), dtype=z.dtype).abs().dtype
    least = 2 * torch.finfo(real).eps
    for _ in range(SWEEPS[real] * (2 * half - 1)):
        x, y = z[..., :half], z[..., half:]
        top, low = x[..., :rows, :], y[..., :rows, :]
        a, b, c = squares(top).sum(-2, True), squares(low).sum(-2, True), (top.conj() * low).sum(-2, True)
        done = c.abs() <= least * a.sqrt() * b.sqrt()
        if z.is_complex():
            y = y * torch.where(done, 1, c.conj() / torch.where(done, 1, c.abs()))
            c = c.abs()
        cot = (b - a) / (2 * torch.where(done, 1, c))
        tan = torch.where(cot < 0, -1.0, 1.0).to(real) / (cot.abs() + (cot.square() + 1).sqrt())
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
    c = c.tril() + c.tril(-1).mH if uplo == "L" else c.triu() + c.triu(1).mH
    d = 2 * c.abs().sum(-1).amax(-1)[..., None, None]
    z = rotated(c / torch.where(d == 0, 1, d) + torch.eye(n, dtype=a.dtype), n)
    v = z / squares(z).sum(-2, True).sqrt()
    v, w = in_order(v, real_part((v.conj() * (c @ v)).sum(-2)), False)
    v, w = v.detach(), w.detach()
    slope = v.mH @ a @ v
    w = with_gradient(w, real_part(slope.diagonal(0, -2, -1)))
    return w, with_gradient(v, v @ (differences(w.detach()) * (slope + slope.mH) / 2)) if compute_v else v


@decomposes("_linalg_svd")
def svd(a, full_matrices=False, compute_uv=True, driver=None):
    m, n = a.shape[-2:]
    if full_matrices and compute_uv and m != n:
        raise Unsupported("svd: give full_matrices=False")
    if m < n:
        u, s, vh = svd(a.mH, False, compute_uv)
        return vh.mH, s, u.mH
    c = a.detach()
    both = rotated(torch.cat([c, torch.eye(n, dtype=a.dtype).expand(*a.shape[:-2], n, n)], -2), m)
    both, s = in_order(both, squares(both[..., :m, :]).sum(-2).sqrt(), True)
    u, v = (both[..., :m, :] / torch.where(s == 0, 1, s).unsqueeze(-2)).detach(), both[..., m:, :].detach()
    s = s.detach()
    slope = u.mH @ a @ v
    value = with_gradient(s, real_part(slope.diagonal(0, -2, -1)))
    if not compute_uv:
        return u, value, v.mH
    f, row = differences(s.square()), s.unsqueeze(-2)
    outside = (a @ v - u @ slope) / row
    u_term = u @ (f * (slope * row + row.mT * slope.mH)) + outside
    v_term = v @ (f * (row.mT * slope + slope.mH * row)) + (a.mH @ u - v @ slope.mH) / row
    if a.is_complex():  # one of the two turns with the phase of what a changes by
        u_term = u_term + u * (1j * slope.diagonal(0, -2, -1).imag / s).unsqueeze(-2)
    return with_gradient(u, u_term), value, with_gradient(v, v_term).mH


@decomposes("linalg_pinv")
def pinv(a, rcond=None, hermitian=False, *, atol=None, rtol=None):
    """By singular values, without those that count as zero; the gradient is that at a constant rank (Golub and Pereyra)."""
    c, eps = a.detach(), max(a.shape[-2:]) * torch.finfo(a.dtype).eps
    u, s, vh = svd(c)
    rtol = rcond if rtol is None else rtol
    least = s[..., :1] * ((eps if atol is None else 0.0) if rtol is None else rtol)
    least = least if atol is None else torch.clamp(least, min=atol)
    some = s > least
    p = ((vh.mH * torch.where(some, 1 / torch.where(some, s, 1), 0).unsqueeze(-2)) @ u.mH).detach()
    rows = a.mH - a.mH @ (c @ p)
    term = -p @ a @ p + p @ p.mH @ rows + (a.mH - p @ (c @ a.mH)) @ p.mH @ p
    return with_gradient(p, term)
