"""Training steps from PyTorch (from_torch) and JAX (from_jax) for the tool dopt."""
