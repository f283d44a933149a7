"""Turns a text into a data set for char_gpt.dir, and says what two letters at a time can tell of it.

usage: char_gpt.py TEXT FILE [T [STRIDE]]   FILE: safetensors; T: characters of a window (64)

The last tenth of the text is held out. Training windows begin every STRIDE characters (8) of the rest, test
windows follow each other; x is the number of each character among the text's characters, y that of
its successor. Prints, in nats a character, the entropy of a character given the one before it:

    bigram whole TEXT's own frequencies, on the whole text: no table of pairs can be better there
    bigram test  frequencies of the training part, one added to each, on the held-out part
"""
import collections
import json
import math
import struct
import sys

HELD_OUT = 10  # one part of so many


def windows(ids, length, stride):
    return [ids[i : i + length + 1] for i in range(0, len(ids) - length, stride)]


def bigram(counted, measured, kinds, added):
    pairs = collections.Counter(zip(counted, counted[1:]))
    firsts = collections.Counter(counted[:-1])
    bits = [(pairs[p] + added) / (firsts[p[0]] + added * kinds) for p in zip(measured, measured[1:])]
    return -sum(math.log(p) for p in bits) / len(bits)


def tensors(part, rows):
    for name, first in (("x", 0), ("y", 1)):
        ids = [c for row in rows for c in row[first : first + len(row) - 1]]
        yield f"{part}.{name}", [len(rows), len(rows[0]) - 1], struct.pack(f"<{len(ids)}i", *ids)


def write(path, named):
    header, data = {}, b""
    for name, shape, content in named:
        header[name] = {"dtype": "I32", "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text + data)


with open(sys.argv[1], encoding="ascii") as source:
    text = source.read()
length = int(sys.argv[3]) if len(sys.argv) > 3 else 64
stride = int(sys.argv[4]) if len(sys.argv) > 4 else 8
kinds = sorted(set(text))
ids = [kinds.index(c) for c in text]
cut = len(ids) - len(ids) // HELD_OUT
train, test = ids[:cut], ids[cut:]
write(sys.argv[2], [*tensors("train", windows(train, length, stride)), *tensors("test", windows(test, length, length))])
print(f"characters {len(ids)} kinds {len(kinds)}")
print(f"bigram whole {bigram(ids, ids, len(kinds), 0):.4f}")
print(f"bigram test {bigram(train, test, len(kinds), 1):.4f}")
