"""PyTorch's turns: peer_torch.py CASE eager|compile THREADS. The models are those of test/bench/torch_cpu.py and
torch_large.py."""
import os
import sys

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")]
import cases  # noqa: E402
import torch  # noqa: E402
import torch_cpu  # noqa: E402
import torch_large  # noqa: E402
import turns  # noqa: E402

KINDS = {
    "gpt": torch_cpu.CharGPT,
    "cnn": torch_cpu.DigitsCNN,
    "mlp": torch_cpu.MLP,
    "bert": torch_large.Bert,
    "resnet50": torch_large.ResNet50,
}


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
