"""Rows that a mask chooses, whose number depends on data: x[mask], masked_select, where(mask), nonzero. All rows stay where they
are, with the mask, and what sums over rows leaves the others out. Those have a value at which common functions and their
derivatives are finite."""
import inspect

import torch
import torch.nn.functional as F

from .table import Unsupported

ROWWISE = set("""abs neg exp log tanh erf erfc sqrt rsqrt sigmoid sin cos relu log1p expm1 log2 exp2 tan asin acos atan sinh cosh
    floor ceil round trunc sign silu square bitwise_not logical_not reciprocal isnan isinf isfinite gelu leaky_relu elu selu celu
    softplus logsigmoid hardtanh hardswish relu6 mish softsign add sub mul div true_divide pow rsub fmod remainder floor_divide
    atan2 maximum minimum eq ne lt le gt ge logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor and or xor
    invert truediv floordiv mod where masked_fill clamp clamp_min clamp_max float double half bfloat16 long int bool to type type_as
    detach clone contiguous lerp nan_to_num linear softmax log_softmax layer_norm rms_norm normalize dropout embedding one_hot
    unsqueeze squeeze expand_as cosine_similarity pairwise_distance addcmul addcdiv logit xlogy sum mean amax amin max min argmax
    argmin logsumexp prod all any norm vector_norm gather select cumsum matmul mm flatten view reshape index_select chunk
    unbind split topk sort var std""".split())
LOSSES = {F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.huber_loss, F.binary_cross_entropy, F.binary_cross_entropy_with_logits,
          F.kl_div, F.cross_entropy, F.nll_loss, F.poisson_nll_loss, F.soft_margin_loss}
FILLED = {"sum": 0, "prod": 1, "amax": -torch.inf, "max": -torch.inf, "amin": torch.inf, "min": torch.inf, "any": 0, "all": 1,
          "logsumexp": -torch.inf, "norm": 0, "vector_norm": 0}
ADDING = {"index_add", "index_add_", "scatter_add", "scatter_add_", "index_put", "index_put_"}
HARMLESS = 0.25, 0.75  # logarithms, roots and quotients between these are finite, and their derivatives


class Rows:
    """The rows of `dense`, [n, ..], that `mask`, [n], chooses."""

    def __init__(self, dense, mask, of):
        fill = harmless(dense) if dense.is_floating_point() else 0
        self.dense, self.mask, self.of = torch.where(wide(mask, dense), dense, fill), mask, of

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return applied(function, args, kwargs or {})

    def __getattr__(self, name):
        if name in ("dtype", "device", "ndim", "requires_grad", "is_cuda", "is_sparse", "is_nested", "is_meta", "layout"):
            return getattr(self.dense, name)
        method = getattr(torch.Tensor, name, None)
        if not callable(method):
            raise AttributeError(name)
        return lambda *args, **kwargs: called(method, (self, *args), kwargs)

    @property
    def shape(self):
        return (self.mask.sum(), *self.dense.shape[1:])

    def size(self, dim=None):
        return self.shape if dim is None else self.shape[dim]

    def numel(self):
        return self.mask.sum() * self.dense[0].numel()

    def dim(self):
        return self.dense.dim()

    def is_floating_point(self):
        return self.dense.is_floating_point()

    def __getitem__(self, at):
        return called(torch.Tensor.__getitem__, (self, at), {})

    def __len__(self):
        raise Unsupported("how many elements a mask chooses is a value in the step, mask.sum(), not a number")


def harmless(x):
    """Values that differ along the last dim of rows, so that their deviation has a derivative."""
    if x.dim() < 2:
        return HARMLESS[0]
    return HARMLESS[0] + (HARMLESS[1] - HARMLESS[0]) / x.shape[-1] * torch.arange(x.shape[-1], dtype=x.dtype)


def operator(name):
    return lambda self, *args: called(getattr(torch.Tensor, name), (self, *args), {})


for name in ("add", "sub", "mul", "truediv", "pow", "mod", "floordiv", "and", "or", "xor", "matmul"):
    setattr(Rows, f"__{name}__", operator(f"__{name}__"))
    setattr(Rows, f"__r{name}__", operator(f"__r{name}__"))
for name in ("eq", "ne", "lt", "le", "gt", "ge", "neg", "invert", "abs"):
    setattr(Rows, f"__{name}__", operator(f"__{name}__"))


def called(function, args, kwargs):
    """As torch does it: with the modes that are active."""
    return torch.overrides.handle_torch_function(function, [a for a in args if isinstance(a, Rows)], *args, **kwargs)


def wide(mask, x):
    return mask.reshape(-1, *[1] * (x.dim() - 1))


def chosen(x, mask, of):
    """x[mask]."""
    n = mask.dim()
    if tuple(x.shape[:n]) != tuple(mask.shape):
        raise Unsupported(f"a mask of {list(mask.shape)} for a tensor of {list(x.shape)}")
    return Rows(x.reshape(-1, *x.shape[n:]), mask.flatten(), of)


def places(mask, of):
    """where(mask): an index for each dim."""
    return tuple(Rows(torch.arange(n).reshape(-1, *[1] * (mask.dim() - d - 1)).expand(mask.shape).flatten(), mask.flatten(), of)
                 for d, n in enumerate(mask.shape))


class Masks:
    """Which tensors choose the same rows: those that the same functions made of the same tensors."""

    TRACKED = set("""eq ne lt le gt ge and or xor invert bool to long int getitem view reshape flatten unsqueeze squeeze logical_and
        logical_or logical_not bitwise_and bitwise_or bitwise_not t transpose expand expand_as isfinite isnan""".split())

    def __init__(self):
        self.known = {}

    def key(self, x):
        if isinstance(x, torch.Tensor):
            if x.is_inference():  # torch counts no writes into it: equal to no other
                return object()
            _, version, key = self.known.setdefault(id(x), (x, x._version, ("tensor", id(x))))
            return key, x._version - version
        return tuple(map(self.key, x)) if isinstance(x, (list, tuple)) else repr(x)

    def track(self, function, args, kwargs, result):
        if isinstance(result, torch.Tensor) and not result.is_floating_point() and not result.is_inference() \
                and name_of(function) in self.TRACKED and id(result) not in self.known:
            self.known[id(result)] = (result, result._version, (name_of(function), self.key(args), self.key([*kwargs.items()])))

    def choose(self, function, args, kwargs):
        """What a function makes of a mask; None: it is not one of those."""
        name = name_of(function)
        if name == "getitem":
            first, *more = args[1] if isinstance(args[1], tuple) and args[1] else (args[1],)
            if is_mask(first):
                rows = chosen(args[0], first, self.key(first))
                return Rows(rows.dense[(slice(None), *more)], rows.mask, rows.of) if more else rows
        if name == "setitem" and is_mask(args[1]) and isinstance(args[2], Rows):
            same_mask(function, [args[2], chosen(args[0], args[1], self.key(args[1]))])
            new = args[2].dense.reshape(args[0].shape).to(args[0].dtype)
            mask = args[1].reshape(*args[1].shape, *[1] * (new.dim() - args[1].dim()))
            return [args[0].copy_(torch.where(mask, new, args[0]))]
        if name == "masked_select":
            x, mask = torch.broadcast_tensors(args[0], kwargs.get("mask", args[1] if len(args) > 1 else None))
            return chosen(x, mask, self.key([args[1:], [*kwargs.items()]]))
        if name in ("where", "nonzero", "argwhere") and len(args) == 1 and not set(kwargs) - {"as_tuple"}:
            found = places(args[0] != 0, self.key(args[0]))
            return found if name == "where" or kwargs.get("as_tuple") else \
                Rows(torch.stack([f.dense for f in found], -1), found[0].mask, found[0].of)
        return None


def is_mask(x):
    return isinstance(x, torch.Tensor) and x.dtype == torch.bool and x.dim() > 0


def refuse(function):
    raise Unsupported(f"{name_of(function)}: how many elements a mask chooses depends on data. Functions of elements and of rows, "
                      "sums, means, losses and index_add of them are translated; for others, use where(mask, x, value)")


def name_of(function):
    name = getattr(function, "__name__", str(function)).removeprefix("linalg_")
    return name.strip("_") if name.startswith("__") else name


def same_mask(function, rows):
    if len({r.of for r in rows}) > 1:
        raise Unsupported(f"{name_of(function)}: elements that different masks choose")
    return rows[0].mask, rows[0].of


def applied(function, args, kwargs):
    """A function of arguments some of which are rows."""
    name = name_of(function)
    flat = [x for a in (*args, *kwargs.values()) for x in (a if isinstance(a, (list, tuple)) else [a])]
    rows = [x for x in flat if isinstance(x, Rows)]
    mask, of = same_mask(function, rows)
    dense = lambda a: a.dense if isinstance(a, Rows) else type(a)(map(dense, a)) if type(a) in (list, tuple) else a
    if name == "getitem" and not isinstance(args[0], Rows):
        return Rows(args[0][dense(args[1])], mask, of)
    if name in ADDING and not isinstance(args[0], Rows):
        if "put" in name and not (kwargs.get("accumulate") or args[3:]):
            refuse(function)
        values = kwargs.get("source", kwargs.get("src", args[2 if "put" in name else 3] if len(args) > 2 else None))
        zero = torch.where(wide(mask, values.dense), values.dense, 0) if isinstance(values, Rows) else refuse(function)
        args = [zero if a is values else dense(a) for a in args]
        return function(*args, **{k: zero if v is values else dense(v) for k, v in kwargs.items()})
    if function in LOSSES:
        refuse_all_rows(name, flat, max(r.dense.dim() for r in rows))
        return loss(function, args, kwargs, mask, of, dense)
    if not isinstance(args[0], Rows) and name not in ("embedding", "where") and not isinstance(args[0], (torch.Tensor, int, float)):
        refuse(function)
    rank = max(r.dense.dim() for r in rows)
    if name == "getitem":
        at = args[1] if isinstance(args[1], tuple) else (args[1],)
        if at[0] is not Ellipsis and at[0] != slice(None) or any(isinstance(a, (torch.Tensor, Rows)) for a in at):
            refuse(function)
        return Rows(args[0].dense[args[1]], mask, of)
    if name not in ROWWISE:
        refuse(function)
    if name in ("linear", "embedding", "matmul", "mm"):
        if not isinstance(args[1 if name == "embedding" else 0], Rows) or rank < 2 and name != "embedding" or len(rows) > 1:
            refuse(function)
        return Rows(function(*map(dense, args), **kwargs), mask, of)
    if name in ("view", "reshape", "flatten"):
        sizes = args[1:] if len(args) == 2 or name != "flatten" else (args[1],)
        sizes = sizes[0] if len(sizes) == 1 and isinstance(sizes[0], (list, tuple)) else sizes
        if name == "flatten" and (not sizes or sizes[0] == 0) and rank > 1 or name != "flatten" and (
                sizes[0] != -1 or [*sizes[1:]] != [*args[0].dense.shape[1:]]):
            refuse(function)
        return args[0] if name != "flatten" else Rows(args[0].dense.flatten(*args[1:]), mask, of)
    dims = named_dims(name, args, kwargs, rank)
    if dims is not None and (0 in dims or not dims):
        return summed(function, name, args[0], dims, options(name, args, kwargs))
    refuse_all_rows(name, flat, rank)
    result = function(*map(dense, args), **{k: dense(v) for k, v in kwargs.items()})
    if isinstance(result, torch.Tensor):
        return Rows(result, mask, of)
    return type(result)(*[Rows(r, mask, of) for r in result]) if hasattr(result, "_fields") else \
        type(result)([Rows(r, mask, of) for r in result])


def refuse_all_rows(name, flat, rank):
    for x in flat:
        if isinstance(x, torch.Tensor) and x.dim() >= rank and x.shape[x.dim() - rank] != 1:
            raise Unsupported(f"{name}: rows that a mask chooses with all rows of another tensor")


ONE_DIM = set("""softmax log_softmax argmax argmin gather select cumsum unsqueeze squeeze index_select chunk unbind split topk sort
    normalize cosine_similarity pairwise_distance logsumexp""".split())


def named_dims(name, args, kwargs, rank):
    """The dims that a function works along; all are []; None: it works on elements. A dim that is put before the rows is 0."""
    given = kwargs.get("dim", kwargs.get("axis"))
    if name in ("max", "min") and (len(args) > 1 and isinstance(args[1], (torch.Tensor, Rows))):
        return None
    if name in FILLED or name in ("mean", "var", "std"):
        given = options(name, args, kwargs)["dim"]
        given = [] if given is None else given
    elif name in ONE_DIM:
        place = {"split": 2, "chunk": 2, "topk": 2, "normalize": 2, "cosine_similarity": 2}.get(name, 1)
        default = {"topk": -1, "sort": -1, "argmax": 0, "argmin": 0, "normalize": 1, "cosine_similarity": 1,
                   "pairwise_distance": -1}.get(name, 0)
        given = args[place] if given is None and len(args) > place else default if given is None else given
    elif name in ("layer_norm", "rms_norm"):
        return list(range(rank - len(args[1] if len(args) > 1 else kwargs["normalized_shape"]), rank))
    elif given is None:
        return None
    many = rank + (name == "unsqueeze")
    return [d % many for d in (given if isinstance(given, (list, tuple)) else [given])]


def options(name, args, kwargs):
    """The arguments of a sum, after the tensor, by name."""
    args, known = args[1:], ["dim", "keepdim"]
    if name in ("norm", "vector_norm"):
        known = ["p" if name == "norm" else "ord", *known, "dtype"]
    if name in ("var", "std"):
        known = ["unbiased"] if args and isinstance(args[0], bool) else ["dim", "unbiased", "keepdim"]
    found = dict(zip(known, args))
    clear = len(args) <= len(known) and not set(found) & set(kwargs)
    found |= {{"axis": "dim", "ord": "p", "unbiased": "correction"}.get(k, k): v for k, v in (found | kwargs).items()
             if k != "out" or v is not None}
    found = {"dim": None, "keepdim": False, "p": 2, "correction": 1, "dtype": None} | {
        k: v for k, v in found.items() if k not in ("axis", "ord", "unbiased")}
    found["p"] = 2 if found["p"] == "fro" else found["p"]
    if not clear or len(found) > 5 or isinstance(found["p"], str) or found["p"] < 0:
        raise Unsupported(f"{name}: these arguments are not translated for what a mask chooses")
    return found


def summed(function, name, x, dims, said):
    """Over rows, perhaps with other dims."""
    dims, keep = dims or list(range(x.dense.dim())), said["keepdim"]
    if said["dtype"] is not None:
        x = Rows(x.dense.to(said["dtype"]), x.mask, x.of)
    every = len(dims) == x.dense.dim()
    count = x.mask.sum()
    for d in dims:
        count = count * x.dense.shape[d] if d else count
    if name in ("var", "std"):
        if not every and dims != [0]:
            refuse(function)
        centred = x.dense - filled(x, 0).sum(dims, True) / count.to(x.dense.dtype)
        less = 1 if said["correction"] is None else int(said["correction"])
        v = filled(Rows(centred, x.mask, x.of), 0).square().sum(dims, keep) / (count - less).clamp(min=0).to(x.dense.dtype)
        return v.sqrt() if name == "std" else v
    if name == "mean":
        return filled(x, 0).sum(dims, keep) / count.to(x.dense.dtype)
    if name not in FILLED or name in ("max", "min") and said["dim"] is not None or name == "prod" and not every:
        refuse(function)
    y = filled(x, FILLED[name])
    if name in ("norm", "vector_norm"):
        return torch.linalg.vector_norm(y, said["p"], dims, keep)
    if name in ("max", "min", "prod"):
        y = getattr(torch, name)(y)
        return y.reshape([1] * x.dense.dim()) if keep else y
    return getattr(torch, name)(y, dims, keepdim=keep)


def filled(x, value):
    if not x.dense.is_floating_point() and value in (torch.inf, -torch.inf):
        value = torch.iinfo(x.dense.dtype).max if value > 0 else torch.iinfo(x.dense.dtype).min
    return torch.where(wide(x.mask, x.dense), x.dense, bool(value) if x.dense.dtype == torch.bool else value)


def loss(function, args, kwargs, mask, of, dense):
    said = inspect.signature(function).bind(*args, **kwargs)
    said.apply_defaults()
    said = dict(said.arguments)
    if not isinstance(kwargs.get("target", args[1] if len(args) > 1 else None), Rows) or \
            not isinstance(kwargs.get("input", args[0] if args else None), Rows) or \
            any(said.pop(k, None) is not None for k in ("size_average", "reduce")):
        refuse(function)
    said = {k: dense(v) for k, v in said.items()}
    how, labels, weight = said.pop("reduction"), said["target"], said.get("weight")
    counts = None
    if function in (F.cross_entropy, F.nll_loss) and not labels.is_floating_point():
        counts = wide(mask, labels) & (labels != said["ignore_index"])
    elif weight is not None and function in (F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.huber_loss):
        refuse(function)
    each = Rows(function(**said, reduction="none"), mask, of)
    if how == "none":
        return each
    total = filled(each, 0).sum()
    if how == "mean":
        factor = mask.sum() * each.dense[0].numel() if counts is None else \
            counts.sum() if weight is None else torch.where(counts, weight[torch.where(counts, labels, 0)], 0).sum()
    else:
        factor = mask.sum() if how == "batchmean" else None
    return total if factor is None else total / factor.to(total.dtype)
