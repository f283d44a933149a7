"""BERT and ResNet-50 in PyTorch, as test/models/bert.dir and test/models/resnet50.dir have them."""
import torch
from torch import nn
from torch.nn import functional as F


class Encoder(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))
        self.attended, self.done = nn.LayerNorm(width), nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x, seen):
        split = lambda t: t.view(*x.shape[:2], self.heads, -1).transpose(1, 2)
        q, k, v = (split(part(x)) for part in (self.query, self.key, self.value))
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=seen).transpose(1, 2).reshape(x.shape)
        x = self.attended(x + self.out(mixed))
        return self.done(x + self.down(F.gelu(self.up(x))))


class Bert(nn.Module):
    """Pretraining: masked words and the next sentence. B, T, M, V, D, L and A are those of bert.dir."""

    def __init__(self):
        super().__init__()
        width = self.D
        self.table, self.segments = nn.Embedding(self.V, width), nn.Embedding(2, width)
        self.positions = nn.Parameter(0.02 * torch.randn(self.T, width))
        self.embedded, self.transformed = nn.LayerNorm(width), nn.LayerNorm(width)
        self.blocks = nn.ModuleList(Encoder(width, self.A) for _ in range(self.L))
        self.transform, self.pooler, self.next = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, 2)
        self.bias = nn.Parameter(torch.zeros(self.V))

    def batch(self):
        tokens = [torch.randint(n, (self.B, self.T)) for n in (self.V, 2, 2)]
        return *tokens, *(torch.randint(n, (self.B, self.M)) for n in (self.T, self.V)), torch.randint(2, (self.B,))

    def forward(self, tokens, segments, present, masked, words, follows):
        h = self.embedded(self.table(tokens) + self.segments(segments) + self.positions)
        for block in self.blocks:
            h = block(h, present[:, None, None, :] > 0)
        rows = h.gather(1, masked[..., None].expand(-1, -1, self.D))
        guess = self.transformed(F.gelu(self.transform(rows))) @ self.table.weight.T + self.bias
        word = F.cross_entropy(guess.view(-1, self.V), words.view(-1))
        return word + F.cross_entropy(self.next(torch.tanh(self.pooler(h[:, 0]))), follows)


def conv(i, o, k, stride=1):
    return nn.Sequential(nn.Conv2d(i, o, k, stride, k // 2, bias=False), nn.BatchNorm2d(o))


class Bottleneck(nn.Module):
    def __init__(self, i, o, stride):
        super().__init__()
        self.c1, self.c2, self.c3 = conv(i, o, 1), conv(o, o, 3, stride), conv(o, 4 * o, 1)
        self.direct = conv(i, 4 * o, 1, stride) if i != 4 * o else nn.Identity()

    def forward(self, x):
        return F.relu(self.direct(x) + self.c3(F.relu(self.c2(F.relu(self.c1(x))))))


class ResNet50(nn.Module):
    """B images of P pixels a side, K classes."""

    def __init__(self):
        super().__init__()
        blocks, wide = [], 64
        for stage, many in enumerate([3, 4, 6, 3]):
            for k in range(many):
                blocks.append(Bottleneck(wide, 64 << stage, 2 if stage and not k else 1))
                wide = 4 * 64 << stage
        self.stem, self.blocks, self.top = conv(3, 64, 7, 2), nn.Sequential(*blocks), nn.Linear(wide, self.K)

    def batch(self):
        return torch.rand(self.B, 3, self.P, self.P), torch.randint(self.K, (self.B,))

    def forward(self, x, y):
        x = self.blocks(F.max_pool2d(F.relu(self.stem(x)), 3, 2, 1))
        return F.cross_entropy(self.top(x.mean((2, 3))), y)
