"""steps_export.py FOLDER: writes the programs jax_*.mlir of steps/: training steps with complex numbers, Fourier
transforms, eigenvectors and singular vectors. Run by hand, with the JAX of steps_jax.py. Params come first, then the batch."""
import pathlib
import sys

import jax
import jax.numpy as jnp


def rotary(p, x, y):
    """Attention whose queries and keys are turned by complex numbers."""
    rows, time, heads, size = *x.shape[:2], 2, 8
    angle = jnp.outer(jnp.arange(time), 1e4 ** (-jnp.arange(0, size, 2) / size))
    turn = jnp.exp(1j * angle)[None, :, None, :]

    def turned(z):
        z = z.reshape(rows, time, heads, size // 2, 2)
        z = jax.lax.complex(z[..., 0], z[..., 1]) * turn
        return jnp.stack([z.real, z.imag], -1).reshape(rows, time, heads, size)

    q, k = (turned(x @ w) for w in p[:2])
    scores = jax.nn.softmax(jnp.einsum("bthd,bshd->bhts", q, k) / size ** 0.5, -1)
    out = jnp.einsum("bhts,bshd->bthd", scores, (x @ p[2]).reshape(rows, time, heads, size))
    return jnp.mean((out.reshape(x.shape) - y) ** 2)


def fourier_operator(p, x, y):
    """A Fourier neural operator of one layer, its weights as real and imaginary parts."""
    hidden = x[..., None] @ p[0]
    low = jnp.fft.rfft(hidden, axis=1)[:, :6]
    low = jnp.einsum("bkc,cok->bko", low, jax.lax.complex(p[1], p[2]))
    low = jnp.pad(low, ((0, 0), (0, 17 - 6), (0, 0)))
    return jnp.mean((jnp.tanh(jnp.fft.irfft(low, n=32, axis=1)) @ p[3] - y) ** 2)


def state_space(p, x, y):
    """A convolution with the powers of complex numbers, by transforms."""
    n = x.shape[1]
    root = -jnp.exp(p[0]) + 3j * p[1]
    kernel = jnp.real((p[2] / root)[:, None] * jnp.exp(root[:, None] * jnp.arange(n))).sum(0)
    out = jnp.fft.irfft(jnp.fft.rfft(kernel, n=2 * n) * jnp.fft.rfft(x, n=2 * n), n=2 * n)[:, :n]
    return jnp.mean((out - y) ** 2)


def principal(p, x, y):
    """The share of the largest eigenvalues, and the plane of their vectors."""
    z = x @ p[0]
    w, v = jnp.linalg.eigh(z.T @ z / len(x))
    return jnp.mean((z @ v[:, -2:] @ v[:, -2:].T - y) ** 2) - w[-2:].sum() / w.sum()


def low_rank(p, x, y):
    u, s, vt = jnp.linalg.svd(p[0], full_matrices=False)
    return jnp.mean((x @ (u[:, :3] * s[:3]) @ vt[:3] - y) ** 2) + 0.01 * s.sum() + 0.1 * jnp.linalg.norm(p[0], 2)


PROGRAMS = {
    "rotary": (rotary, [(16, 16)] * 3, (4, 12, 16), (4, 12, 16)),
    "fourier_operator": (fourier_operator, [(1, 8), (8, 8, 6), (8, 8, 6), (8,)], (4, 32), (4, 32)),
    "state_space": (state_space, [(5,), (5,), (5,)], (4, 20), (4, 20)),
    "principal": (principal, [(8, 6)], (20, 8), (20, 6)),
    "low_rank": (low_rank, [(8, 6)], (20, 8), (20, 6)),
}


def step(loss):
    def run(p, x, y):
        value, slope = jax.value_and_grad(loss)(p, x, y)
        return [w - 0.05 * g for w, g in zip(p, slope)], value
    return run


for name, (loss, params, x, y) in PROGRAMS.items():
    shapes = [[jax.ShapeDtypeStruct(s, "float32") for s in params], *(jax.ShapeDtypeStruct(s, "float32") for s in (x, y))]
    text = jax.jit(step(loss)).lower(*shapes).as_text()
    (pathlib.Path(sys.argv[1]) / f"jax_{name}.mlir").write_text(text)
