"""A step that cannot be exported."""
from dopt import from_torch
import torch


class Model(torch.nn.Module):
    def forward(self, x): return torch.linalg.eigh(x).eigenvalues.sum()


from_torch.export("refused", lambda model, x: model(x), Model(), torch.randn(4, 4))
