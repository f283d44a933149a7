"""PyTorch's turns: peer_torch.py CASE eager|compile THREADS. The models are those of test/bench/torch_cpu.py."""
import os
import sys

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")]
import cases  # noqa: E402
import torch  # noqa: E402
import torch_cpu  # noqa: E402
import turns  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        wide = [layer for k in range(self.L) for layer in (nn.Linear(self.H if k else self.I, self.H), nn.ReLU())]
        self.all = nn.Sequential(*wide, nn.Linear(self.H, self.K))

    def batch(self):
        return torch.rand(self.B, self.I), torch.randint(self.K, (self.B,))

    def forward(self, x, y):
        return F.cross_entropy(self.all(x), y)


KINDS = {"gpt": torch_cpu.CharGPT, "cnn": torch_cpu.DigitsCNN, "mlp": MLP}


def main():
    name, mode, threads = sys.argv[1:]
    torch.set_num_threads(int(threads))
    case = cases.find(name)
    model = type(case.name, (KINDS[case.kind],), case.sizes)()
    adam = torch.optim.Adam(model.parameters(), fused=True)
    data = model.batch()
    run = torch.compile(model) if mode == "compile" else model

    def step():
        adam.zero_grad(set_to_none=True)
        run(*data).backward()
        adam.step()

    turns.take(f"PyTorch {torch.__version__}", step)


main()
