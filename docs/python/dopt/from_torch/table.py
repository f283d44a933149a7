"""The tables of what writes an operation, and what all of it shares."""
import torch

aten = torch.ops.aten

TYPES = {torch.float64: "f64", torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16", torch.int64: "i64",
         torch.int32: "i32", torch.int16: "i16", torch.int8: "i8", torch.uint8: "u8", torch.bool: "bool"}
PARTS = {torch.complex64: torch.float32, torch.complex128: torch.float64}  # a complex value is two real ones

OPS = {}  # by the name of an operation in ATen, without overload: a function of the Text and of the arguments of the node
CONTROL = {}  # the same for operations that have graphs inside
COMPLEX = {}  # the same for operations that are others for complex numbers


def handles(*names, table=OPS):
    def add(function):
        for name in names:
            table[name] = function
        return function
    return add


def name_of(op):
    """aten::sum.dim_IntList is sum."""
    return op.name().split("::")[1].split(".")[0]


def handler(op):
    """That of prims::var, whose arguments are others than those of aten::var, has both parts as its name."""
    return OPS.get(op.name().split(".")[0]) or OPS.get(name_of(op))


class Unsupported(Exception):
    """What cannot be said in a .dir, with the line of the model."""


class Pair(tuple):
    """The real and the imaginary part of a complex value."""

    def __new__(cls, re, im):
        return super().__new__(cls, (re, im))


def is_complex(node):
    val = node.meta.get("val")
    return isinstance(val, torch.Tensor) and val.dtype in PARTS


class RawName:
    def __init__(self, text):
        self.text = text
