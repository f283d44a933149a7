"""What a step makes of constants alone, such as a mask of eye(n): computed beside the trace, so that what needs its values has
them. Without that, the rows that such a mask chooses would have a number that depends on data."""
import contextlib

import torch

from .masks import ROWWISE, Rows, name_of

MADE = set("""eye arange zeros ones full tensor linspace triu_indices tril_indices zeros_like ones_like full_like""".split())
KEPT = (ROWWISE - {"dropout"}) | MADE | set("""getitem setitem cat stack concat repeat repeat_interleave tile expand permute transpose
    t roll flip tril triu diagonal diag fill_diagonal scatter fill zero index_fill copy lshift rshift where nonzero
    unique argsort outer meshgrid one_hot movedim item tolist numel count_nonzero""".split())
READ = {torch.Tensor.item, torch.Tensor.tolist, torch.Tensor.__bool__, torch.Tensor.__int__, torch.Tensor.__float__,
        torch.Tensor.__index__}
COUNTED = {torch.nonzero, torch.Tensor.nonzero, torch.unique, torch.Tensor.unique}
MOST = 1 << 20  # elements: they become numbers in the text


def leaves(x):
    return [v for v in torch.utils._pytree.tree_leaves(x) if isinstance(v, (torch.Tensor, Rows))]


def plain():
    """Without the modes of a trace: tensors have values."""
    modes = contextlib.ExitStack()
    modes.enter_context(torch.utils._python_dispatch._disable_current_modes())
    modes.enter_context(torch._C.DisableTorchFunction())
    modes.enter_context(torch.inference_mode(False))
    return modes


class Known:
    def __init__(self):
        self.of = {}  # by id: the tensor of the trace, one with its values, and by how many writes more torch has counted of the first

    def keep(self, x, real):
        if not x.is_inference():  # torch counts no writes into those
            self.of[id(x)] = x, real, x._version - real._version

    def is_known(self, x):
        """Whether all that was written into it, or into a view of it, was written into its values too."""
        _, real, more = self.of.get(id(x), (None, None, None))
        return real is not None and x._version - real._version == more

    def are_known(self, args, kwargs):
        return all(map(self.is_known, leaves((args, kwargs))))

    def value(self, function, args, kwargs):
        args, kwargs = torch.utils._pytree.tree_map_only(torch.Tensor, lambda x: self.of[id(x)][1], (args, kwargs))
        with plain():
            return function(*args, **kwargs)

    def traced(self, real):
        """A constant of the trace with these values."""
        with plain():
            numbers = real.tolist()
        x = torch.tensor(numbers, dtype=real.dtype)
        self.keep(x, real)
        return x

    def is_mask(self, x):
        """Whether the places that x chooses are known. Without any, there is nothing to gather: it stays a mask."""
        return self.is_known(x) and x.dtype == torch.bool and self.value(lambda m: m.any().item(), (x,), {})

    def places(self, index):
        """An index whose masks are numbers of elements."""
        found = []
        for x in index if isinstance(index, tuple) else (index,):
            found += [self.traced(p) for p in self.value(torch.where, (x,), {})] if self.is_mask(x) else [x]
        return tuple(found)

    def chosen(self, function, args, kwargs):
        """The arguments, or None and the result."""
        masks = function is torch.Tensor.__getitem__ or function is torch.Tensor.__setitem__ and isinstance(args[2], torch.Tensor) \
            and args[2].dim() > 0
        if function in (torch.masked_select, torch.Tensor.masked_select) and len(args) == 2 and self.is_mask(args[1]) \
                and args[0].shape == args[1].shape:
            return None, args[0][self.places(args[1])]
        index = args[1] if masks else ()
        if any(map(self.is_mask, index if isinstance(index, tuple) else (index,))):
            return (args[0], self.places(index), *args[2:]), None
        counts = function in COUNTED or function is torch.where and len(args) == 1
        if (function in READ or counts) and self.are_known(args, kwargs):
            found = self.value(function, args, kwargs)
            if all(x.numel() for x in leaves(found)):
                return None, torch.utils._pytree.tree_map_only(torch.Tensor, self.traced, found)
        return args, None

    def track(self, function, args, kwargs, result):
        """Of a function whose arguments were known before it was called."""
        name = name_of(function)
        made = name in MADE or leaves((args, kwargs)) and (name.removesuffix("_") in KEPT or name[:1] == "i" and name[1:] in KEPT)
        if made and all(isinstance(x, torch.Tensor) and x.numel() <= MOST for x in leaves(result)):
            for x, real in zip(leaves(result), leaves(self.value(function, args, kwargs))):
                self.keep(x, real)
