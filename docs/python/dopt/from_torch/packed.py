"""Packed sequences: rows of [time, batch] that a mask of the lengths chooses."""
import torch
import torch.nn.functional as F

from .masks import Rows, name_of
from .table import Unsupported

CELLS = {"lstm", "gru", "rnn_tanh", "rnn_relu"}


class Longest(int):
    """The longest length, where torch has a number."""


class Lengths:
    """What torch calls batch_sizes: the number of sequences is known, the lengths are a value."""

    device = torch.device("cpu")

    def __init__(self, lengths, times):
        self.lengths, self.times = lengths, times

    def __getitem__(self, t):
        return len(self.lengths) if t == 0 else (self.lengths > t).sum()

    def size(self, dim=0):
        return Longest()

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        raise Unsupported(f"{name_of(function)} of the batch sizes of packed sequences")


def packed_sequences(function, args, kwargs):
    """What a function of torch makes of packed sequences; None: it is not one of those."""
    name = getattr(function, "__name__", "")
    if name == "_pack_padded_sequence":
        x, lengths, batch_first = args
        x = x.transpose(0, 1) if batch_first else x
        sizes = Lengths(lengths, x.shape[0])
        inside = torch.arange(sizes.times)[:, None] < lengths
        return Rows(x.flatten(0, 1), inside.flatten(), ("packed", id(sizes))), sizes
    if len(args) < 2 or not isinstance(args[1], Lengths):
        return None
    data, sizes = args[:2]
    padded = data.dense.unflatten(0, (sizes.times, -1))
    inside = data.mask.reshape(sizes.times, -1, 1)
    if name == "_pad_packed_sequence":
        batch_first, value, total = args[2:]
        if isinstance(total, Longest):
            raise Unsupported("pad_packed_sequence has as many columns as the longest sequence: "
                              "give total_length=x.shape[1], so that the number does not depend on data")
        y = torch.where(inside.reshape(*inside.shape[:2], *[1] * (padded.dim() - 2)), padded, value)[:total]
        y = torch.cat([y, y.new_full((total - len(y), *y.shape[1:]), value)]) if total > len(y) else y
        return y.transpose(0, 1) if batch_first else y, sizes.lengths
    if name not in CELLS:
        return None
    output, *last = recurrent(name, padded, inside, *args[2:])
    return (Rows(output.flatten(0, 1), data.mask, data.of), *last)


def recurrent(kind, x, inside, hidden, weights, bias, layers, dropout, training, bidirectional):
    """What a layer has at the end of a sequence stays as it is after it, and before it for the other direction."""
    h0, c0 = hidden if kind == "lstm" else (hidden, hidden)
    ways, each = 2 if bidirectional else 1, len(weights) // (layers * (2 if bidirectional else 1))
    ends = []
    for layer in range(layers):
        found = []
        for way in range(ways):
            at = layer * ways + way
            w = weights[at * each:(at + 1) * each]
            w_in, w_h, b_in, b_h = [*w[:2], *(w[2:4] if bias else (None, None))]
            h, c, out = h0[at], c0[at], [None] * len(x)
            for t in range(len(x))[::-1 if way else 1]:
                new = cell(kind, F.linear(x[t], w_in, b_in), F.linear(h, w_h, b_h), h, c)
                new = (new[0] @ w[-1].T, new[1]) if kind == "lstm" and each % 2 else new
                h, c = torch.where(inside[t], new[0], h), torch.where(inside[t], new[1], c)
                out[t] = h
            found.append(torch.stack(out))
            ends.append((h, c))
        x = torch.cat(found, -1)
        if dropout and training and layer + 1 < layers:
            x = F.dropout(x, dropout)
    hs, cs = (torch.stack(e) for e in zip(*ends))
    return (x, hs, cs) if kind == "lstm" else (x, hs)


def cell(kind, a, b, h, c):
    if kind == "lstm":
        i, f, g, o = (a + b).chunk(4, -1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        return o.sigmoid() * c.tanh(), c
    if kind == "gru":
        (r, z, n), (hr, hz, hn) = a.chunk(3, -1), b.chunk(3, -1)
        n = (n + (r + hr).sigmoid() * hn).tanh()
        return (n + (z + hz).sigmoid() * (h - n),) * 2
    return ((a + b).tanh() if kind == "rnn_tanh" else (a + b).relu(),) * 2
