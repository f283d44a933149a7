"""steps.py record FOLDER [NAME ...] | steps.py check DOPT FOLDER [NAME ...]: PyTorch modules as training steps.

record   exports them, with data and the losses that PyTorch has in training: NAME.dir, .safetensors, .data, .json
check    does that, builds and runs programs of it (run.py), and evaluates what these have trained in PyTorch

Needs torch. recorded/ is what record has written of some of them, for machines without."""
import json
import pathlib
import re
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[4]
sys.path.append(str(SOURCE / "docs" / "python"))

import run
import torch
import torch.nn as nn
import torch.nn.functional as F
from dopt import from_torch

STEPS = 200
SHORT = {"gpt_bf16": 100}  # later, one of Adam's spikes magnifies roundings: PyTorch's own runs in bf16 and f32 differ by 2 % there
BATCHES = 4  # of the data set, taken in order


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(12, 24, bias=False), nn.BatchNorm1d(24, momentum=None), nn.ReLU(), nn.Linear(24, 24), nn.Tanh(),
                                 nn.LayerNorm(24), nn.Linear(24, 5))

    def forward(self, x):
        return self.net(x)


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (y.view(b, t, self.heads, c // self.heads).transpose(1, 2) for y in self.qkv(x).split(c, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).contiguous().view(b, t, c))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn = Attention(width, heads)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(approximate="tanh"), nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.mlp(self.ln2(x))


class Gpt(nn.Module):
    """The table of words is also the head."""

    def __init__(self, words=17, places=8, width=16, heads=2, blocks=2):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(places, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(blocks))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, words, bias=False)
        self.head.weight = self.words.weight

    def forward(self, x):
        h = self.words(x) + self.places(torch.arange(x.shape[1]))
        for block in self.blocks:
            h = block(h)
        return self.head(self.norm(h))


class Residual(nn.Module):
    def __init__(self, a, b, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(a, b, 3, stride, 1, bias=False)
        self.bn1, self.bn2 = nn.BatchNorm2d(b), nn.BatchNorm2d(b)
        self.conv2 = nn.Conv2d(b, b, 3, 1, 1, bias=False)
        self.short = nn.Sequential(nn.Conv2d(a, b, 1, stride, bias=False), nn.BatchNorm2d(b))

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(y)) + self.short(x))


class Resnet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, 1, 1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
        self.body = nn.Sequential(Residual(8, 8, 1), Residual(8, 16, 2))
        self.pool, self.fc = nn.AdaptiveAvgPool2d(1), nn.Linear(16, 4)

    def forward(self, x):
        return self.fc(self.pool(self.body(self.stem(x))).flatten(1))


class RMSNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight


class Llama(nn.Module):
    """Grouped queries, rotary positions from a buffer, SwiGLU."""

    def __init__(self, words=19, width=16, heads=4, groups=2, places=8):
        super().__init__()
        self.heads, self.groups, self.depth = heads, groups, width // heads
        self.words = nn.Embedding(words, width)
        self.q = nn.Linear(width, width, bias=False)
        self.k = nn.Linear(width, groups * self.depth, bias=False)
        self.v = nn.Linear(width, groups * self.depth, bias=False)
        self.o = nn.Linear(width, width, bias=False)
        self.gate, self.up = nn.Linear(width, 24, bias=False), nn.Linear(width, 24, bias=False)
        self.down = nn.Linear(24, width, bias=False)
        self.norm1, self.norm2, self.norm = RMSNorm(width), RMSNorm(width), nn.RMSNorm(width)
        self.head = nn.Linear(width, words, bias=False)
        angle = torch.outer(torch.arange(places).float(), 1e4 ** -(torch.arange(0, self.depth, 2) / self.depth))
        self.register_buffer("cos", torch.cat([angle.cos()] * 2, -1), persistent=False)
        self.register_buffer("sin", torch.cat([angle.sin()] * 2, -1), persistent=False)

    def rotate(self, x):
        a, b = x.chunk(2, dim=-1)
        return x * self.cos + torch.cat([-b, a], -1) * self.sin

    def forward(self, x):
        h = self.words(x)
        n = self.norm1(h)
        b, t, _ = n.shape
        q = self.rotate(self.q(n).view(b, t, self.heads, self.depth).transpose(1, 2))
        k = self.rotate(self.k(n).view(b, t, self.groups, self.depth).transpose(1, 2))
        v = self.v(n).view(b, t, self.groups, self.depth).transpose(1, 2)
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        h = h + self.o(a.transpose(1, 2).reshape(b, t, -1))
        n = self.norm2(h)
        h = h + self.down(F.silu(self.gate(n)) * self.up(n))
        return self.head(self.norm(h))


class Encoder(nn.Module):
    """torch's own layers, with padding: words of number 0."""

    def __init__(self, words=11, width=16):
        super().__init__()
        self.words = nn.Embedding(words, width, padding_idx=0)
        layer = nn.TransformerEncoderLayer(width, 2, 32, dropout=0.0, activation="gelu", batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(width, 3)

    def forward(self, x):
        padding = x == 0
        h = self.layers(self.words(x), src_key_padding_mask=padding)
        seen = (~padding).float().unsqueeze(-1)
        return self.head((h * seen).sum(1) / seen.sum(1))


class Dlrm(nn.Module):
    def __init__(self):
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(n, 8, mode="sum") for n in (20, 30))
        self.bottom = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 8), nn.ReLU())
        self.top = nn.Sequential(nn.Linear(8 + 3, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, dense, a, b):
        x = self.bottom(dense)
        all_ = torch.stack([x, self.tables[0](a), self.tables[1](b)], 1)
        pairs = torch.bmm(all_, all_.transpose(1, 2))
        i, j = torch.tril_indices(3, 3, offset=-1)
        return self.top(torch.cat([x, pairs[:, i, j]], 1)).squeeze(1)


class Lstm(nn.Module):
    def __init__(self, kind=nn.LSTM):
        super().__init__()
        self.words = nn.Embedding(9, 8)
        self.rnn = kind(8, 12, batch_first=True)
        self.head = nn.Linear(12, 9)

    def forward(self, x):
        return self.head(self.rnn(self.words(x))[0])


class Unet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.GroupNorm(2, 8), nn.SiLU())
        self.mid = nn.Sequential(nn.Conv2d(8, 16, 3, 2, 1), nn.GroupNorm(4, 16), nn.SiLU())
        self.up = nn.ConvTranspose2d(16, 8, 2, 2)
        self.near = nn.Upsample(scale_factor=2, mode="nearest")
        self.thin = nn.Conv2d(16, 8, 1)
        self.out = nn.Conv2d(16, 1, 3, padding=1)

    def forward(self, x):
        a = self.down(x)
        m = self.mid(a)
        return self.out(torch.cat([a, self.up(m) + self.thin(self.near(m))], 1))


class Vit(nn.Module):
    def __init__(self):
        super().__init__()
        self.patch = nn.Conv2d(3, 16, 4, 4)
        self.first = nn.Parameter(torch.zeros(1, 1, 16))
        self.places = nn.Parameter(torch.randn(1, 5, 16) * 0.02)
        self.layer = nn.MultiheadAttention(16, 2, batch_first=True)
        self.norm, self.head = nn.LayerNorm(16), nn.Linear(16, 4)

    def forward(self, x):
        p = self.patch(x).flatten(2).transpose(1, 2)
        h = torch.cat([self.first.expand(x.shape[0], -1, -1), p], 1) + self.places
        n = self.norm(h)
        h = h + self.layer(n, n, n, need_weights=False)[0]
        return self.head(h[:, 0])


class Moe(nn.Module):
    """Two of four experts for each row, all of which are computed."""

    def __init__(self):
        super().__init__()
        self.router = nn.Linear(8, 4, bias=False)
        self.w1 = nn.Parameter(torch.randn(4, 8, 16) / 3)
        self.w2 = nn.Parameter(torch.randn(4, 16, 8) / 4)
        self.head = nn.Linear(8, 3)

    def forward(self, x):
        p = F.softmax(self.router(x), -1)
        w, which = torch.topk(p, 2)
        w = w / w.sum(-1, keepdim=True)
        weight = torch.zeros_like(p).unsqueeze(1) + F.one_hot(which, 4) * w.unsqueeze(-1)
        y = torch.einsum("bd,edf->bef", x, self.w1)
        y = torch.einsum("bef,efd->bed", F.relu(y), self.w2)
        return self.head(x + (weight.sum(1).unsqueeze(-1) * y).sum(1))


class Conv1d(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv1d(4, 8, 3, padding=2, dilation=2), nn.LeakyReLU(0.1), nn.AvgPool2d((1, 2)),
                                 nn.Conv1d(8, 8, 3, groups=4), nn.ELU(), nn.Flatten(), nn.Linear(8 * 6, 3))

    def forward(self, x):
        return self.net(x)


class Frozen(nn.Module):
    """Values without gradients: a power iteration that updates buffers, a target of a second network that follows the first, and
    a third network that the step freezes."""

    def __init__(self):
        super().__init__()
        self.net = nn.utils.parametrizations.spectral_norm(nn.Linear(6, 4))
        self.target = nn.Linear(6, 4).requires_grad_(False)
        self.judge = nn.Linear(4, 4)
        self.register_buffer("count", torch.zeros(()))

    def forward(self, x):
        self.judge.requires_grad_(False)
        self.count = self.count + 1
        with torch.no_grad():
            self.target.bias.mul_(0.9).add_(self.net.bias, alpha=0.1)
            top = self.target(x).max(1)[0] + self.net(x + 1)[:, 0]
        return self.judge(self.net(x) * top[:, None]) * (1 + 1 / self.count)


def square(model, x):
    return model(x).square().mean()


def functions(model, x, y):
    """Operations without a handler of their own, as functions of a linear layer."""
    z = model(x)
    n, pairs = len(z), z.reshape(-1, 2, 4)
    low = torch.triu(torch.full((4, 4), float("-inf")), 1)
    part = torch.zeros(n, 9).scatter(1, y[:, None] * 2, z[:, :1])
    part = part.scatter_(1, y[:, None], 1.0) + torch.zeros(n, 9).scatter_reduce(1, y[:, None], z[:, 1:2], "amax")
    rows = torch.zeros(n, 8)
    rows[:, ::2] = z
    rows[torch.arange(n), y] = 0.5
    rows[rows > 3] = 3
    normal = torch.distributions.Normal(z, 1.0)
    return sum(v.mean() for v in (
        torch.cdist(pairs, pairs.detach() + 1), F.pairwise_distance(z, z.roll(1, 1)), torch.cumprod(z * 0.1 + 1, 1),
        torch.logcumsumexp(z, 1), z.median(1)[0], z.kthvalue(2, 1)[0], z.topk(2, largest=False)[0], part.square(), rows.square(),
        torch.hypot(z, z + 1), torch.diagonal(pairs.mT @ pairs, dim1=1, dim2=2), z.unfold(1, 2, 1).square(),
        torch.diag_embed(z).square(), torch.einsum("...i,...j->...ij", z, z), torch.einsum("bii->bi", pairs.mT @ pairs + low.exp()),
        pairs[torch.arange(n // 2)[:, None], :, y.view(-1, 2)].square(), -normal.log_prob(z.detach() + 1), F.selu(z),
        torch.searchsorted(torch.linspace(-1, 1, 5), z.detach()) * z, torch.bucketize(z.detach(), torch.linspace(-1, 1, 5)) * z,
        F.nll_loss(z.log_softmax(1), y), F.cross_entropy(z, y, label_smoothing=0.1, weight=torch.tensor([1.0, 2.0, 0.5, 1.0])),
        F.cross_entropy(z, z.detach().softmax(1), label_smoothing=0.1), F.normalize(z * (y[:, None] > 0)),
        F.embedding_bag(y, z, torch.tensor([0, 3]), mode="mean")))


class Pictures(nn.Module):
    def __init__(self):
        super().__init__()
        self.flat, self.deep, self.up = nn.Conv2d(3, 4, 3, padding="same"), nn.Conv3d(1, 2, 3, 2, 1), nn.ConvTranspose3d(2, 1, 2, 2)

    def forward(self, x):
        y, d = self.flat(x), self.deep(x[:, None])
        grid = F.affine_grid(torch.tensor([[[1.0, 0.2, 0.1], [0.0, 0.8, 0.0]]]).expand(len(x), 2, 3), list(y.shape),
                             align_corners=False)
        results = [F.interpolate(y, size=(11, 7), mode=m) for m in ("bilinear", "bicubic", "nearest", "nearest-exact", "area")]
        results += [F.interpolate(y, size=(3, 3), mode="bilinear", antialias=True), F.grid_sample(y, grid, align_corners=False),
                    F.interpolate(y, scale_factor=2, mode="bilinear", align_corners=True), self.up(d), F.max_pool3d(d, 2),
                    F.max_pool2d(y, 3, 2, 1, dilation=2), F.avg_pool2d(y, 3, 2, 1, ceil_mode=True, count_include_pad=False),
                    F.adaptive_max_pool2d(y, 3), F.adaptive_avg_pool3d(d, (1, 3, 2)), F.avg_pool2d(y, 2, divisor_override=3),
                    F.local_response_norm(y, 3), F.fold(F.unfold(y, 3, padding=1), (8, 8), 3, padding=1), F.instance_norm(y)]
        return sum(r.square().mean() for r in results)


class Spectra(nn.Module):
    """Complex numbers: filters of frequencies, and rotary positions."""

    def __init__(self):
        super().__init__()
        self.filter, self.plane, self.net = (nn.Parameter(torch.randn(*s)) for s in ((37, 2), (4, 6, 2), (8, 8)))
        turns = torch.outer(torch.arange(9.0), 1 / 10 ** torch.arange(4.0))
        self.turns = torch.polar(torch.ones(9, 4), turns)

    def forward(self, x):
        a = torch.fft.irfft(torch.fft.rfft(x) * torch.view_as_complex(self.filter), n=72)
        y = x.view(-1, 3, 4, 6)
        c = torch.fft.ifft2(torch.fft.fft2(y, norm="ortho") * torch.view_as_complex(self.plane)).real
        z = torch.view_as_complex((x.view(-1, 9, 8) @ self.net).unflatten(2, (4, 2))) * self.turns
        d = torch.view_as_real(z).flatten(2) / (1 + z.abs().repeat(1, 1, 2))
        e = torch.stft(a, 16, 8, window=torch.hann_window(16), return_complex=True).abs()
        return a.square().mean() + c.square().mean() + d.sum(2).square().mean() + e.square().mean()


def labels(model, x, y):
    return F.cross_entropy(model(x), y)


def words(model, x, y):
    return F.cross_entropy(model(x).flatten(0, 1), y.flatten())


def padded(model, x, y):
    """Words of number -100 do not count; and a second result."""
    z = model(x).flatten(0, 1)
    return {"loss": F.cross_entropy(z, y.flatten(), label_smoothing=0.1),
            "accuracy": (z.argmax(-1) == y.flatten()).float().mean()}


def weighted(model, x, y):
    return F.cross_entropy(model(x), y, weight=torch.tensor([1.0, 2.0, 0.5]))


def clicks(model, dense, a, b, y):
    return F.binary_cross_entropy_with_logits(model(dense, a, b), y)


def images(model, x):
    return F.mse_loss(model(x), x)


def autocast(model, x, y):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return words(model, x, y)


def numbers(shape, below=None, above=0):
    return lambda g: torch.randint(above, below, shape, generator=g) if below else torch.randn(shape, generator=g)


def some_padding(g):
    y = torch.randint(0, 17, (6, 8), generator=g)
    y[torch.rand(6, 8, generator=g) < 0.2] = -100
    return y


def bag(below):
    return lambda g: torch.randint(0, below, (8, 3), generator=g)


# name: module, step, inputs; the tolerance of losses, relative, and of parameters: rounding that training magnifies.
ADAMW = ("adamw{lr=0.003,weight_decay=0.01}", lambda p: torch.optim.AdamW(p, 3e-3, weight_decay=0.01))
SGD = ("momentum{lr=0.05,momentum=0.9}", lambda p: torch.optim.SGD(p, 0.05, momentum=0.9))
SMALL = ("sgd{lr=0.001}", lambda p: torch.optim.SGD(p, 1e-3))
SLOW = ("sgd{lr=0.0001}", lambda p: torch.optim.SGD(p, 1e-4))
STEP = {
    "mlp": (Mlp, labels, {"x": numbers((16, 12)), "y": numbers((16,), 5)}, ADAMW, 1e-3),
    "mlp_sgd": (Mlp, labels, {"x": numbers((16, 12)), "y": numbers((16,), 5)}, SGD, 1e-3),
    "gpt": (Gpt, words, {"x": numbers((6, 8), 17), "y": numbers((6, 8), 17)}, ADAMW, 1e-3),
    "gpt_padded": (Gpt, padded, {"x": numbers((6, 8), 17), "y": some_padding}, ADAMW, 1e-3),
    "gpt_bf16": (Gpt, autocast, {"x": numbers((6, 8), 17), "y": numbers((6, 8), 17)}, ADAMW, 1e-2),
    "llama": (Llama, words, {"x": numbers((6, 8), 19), "y": numbers((6, 8), 19)}, ADAMW, 1e-3),
    "encoder": (Encoder, weighted, {"x": numbers((8, 6), 11, 0), "y": numbers((8,), 3)}, ADAMW, 1e-3),
    "resnet": (Resnet, labels, {"x": numbers((8, 3, 16, 16)), "y": numbers((8,), 4)}, SGD, 2e-2),
    "vit": (Vit, labels, {"x": numbers((8, 3, 8, 8)), "y": numbers((8,), 4)}, ADAMW, 1e-3),
    "dlrm": (Dlrm, clicks, {"dense": numbers((8, 5)), "a": bag(20), "b": bag(30),
                            "y": lambda g: torch.randint(0, 2, (8,), generator=g).float()}, ADAMW, 1e-3),
    "lstm": (Lstm, words, {"x": numbers((4, 7), 9), "y": numbers((4, 7), 9)}, ADAMW, 1e-3),
    "gru": (lambda: Lstm(nn.GRU), words, {"x": numbers((4, 7), 9), "y": numbers((4, 7), 9)}, ADAMW, 1e-3),
    "unet": (Unet, images, {"x": numbers((4, 1, 8, 8))}, ADAMW, 1e-3),
    "moe": (Moe, labels, {"x": numbers((12, 8)), "y": numbers((12,), 3)}, ADAMW, 1e-3),
    "frozen": (Frozen, square, {"x": numbers((8, 6))}, SGD, 1e-3),
    "functions": (lambda: nn.Linear(5, 4), functions, {"x": numbers((6, 5)), "y": numbers((6,), 4)}, SMALL, 1e-3),
    "pictures": (Pictures, lambda model, x: model(x), {"x": numbers((2, 3, 8, 8))}, SLOW, 1e-3),
    "spectra": (Spectra, lambda model, x: model(x), {"x": numbers((2, 72))}, SLOW, 1e-3),
    "conv1d": (Conv1d, labels, {"x": numbers((8, 4, 16)), "y": numbers((8,), 3)}, ADAMW, 1e-3),
}


def loss_of(step, model, batch):
    result = step(model, *batch.values())
    return result["loss"] if isinstance(result, dict) else result


def record(folder, name):
    """The model as it is after training in PyTorch."""
    make, step, inputs, (pipeline, optimizer), tolerance = STEP[name]
    torch.manual_seed(1)
    model = make()
    g = torch.Generator().manual_seed(2)
    batches = [{k: f(g) for k, f in inputs.items()} for _ in range(BATCHES)]
    path = str(folder / name)
    from_torch.export(path, step, model, *batches[0].values())
    from_torch.save_rows(path + ".data", train={k: torch.cat([b[k] for b in batches]) for k in inputs})
    opt = optimizer(model.parameters())
    losses = []
    for i in range(SHORT.get(name, STEPS)):
        opt.zero_grad()
        loss = loss_of(step, model, batches[i % BATCHES])
        loss.backward()
        opt.step()
        losses.append(float(f"{loss.item():.9g}"))
    text = json.dumps({"torch": torch.__version__, "pipeline": pipeline, "tolerance": tolerance, "losses": losses})
    (folder / (name + ".json")).write_text(text.replace(", ", ",\n ") + "\n")
    return model, batches[0], step, tolerance


def check(dopt, folder, name):
    """What has been trained does the same in torch, wherever it was trained. Parameters themselves may differ where the loss does
    not depend on them, such as a bias before a batch norm."""
    model, batch, step, tolerance = record(folder, name)
    (folder / name).mkdir(exist_ok=True)
    run.check(dopt, folder, folder, name)
    # With another size of the batch the text is that of an export with another batch.
    twice = [torch.cat([x, x]) for x in batch.values()]
    from_torch.export(str(folder / name / "twice"), step, model.train(), *twice, batch=None)
    rows = len(twice[0])
    texts = [subprocess.run([dopt, *command], check=True, capture_output=True, text=True).stdout.partition("\n")[2]
             for command in (["-D", f"B={rows}", folder / f"{name}.dir"], [folder / name / "twice.dir"])]
    initial = re.compile(r" \{init = .*?\}")  # the parameters are those of another time
    if initial.sub("", texts[0]) != initial.sub("", texts[1]):
        sys.exit(f"{name}: another step with -D B={rows}")
    model.eval()
    with torch.no_grad():
        there = loss_of(step, model, batch)
        for tensor in model.state_dict().values():
            tensor.zero_()
        from_torch.load(folder / (name + ".after"), model)
        here = loss_of(step, model, batch)
    run.compare(f"{name}: evaluated after training", [here], [there], tolerance)


def main():
    command, *rest = sys.argv[1:]
    dopt = rest.pop(0) if command == "check" else None
    folder, *names = rest
    pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    for name in names or STEP:
        check(dopt, pathlib.Path(folder), name) if dopt else record(pathlib.Path(folder), name)


if __name__ == "__main__":
    main()
