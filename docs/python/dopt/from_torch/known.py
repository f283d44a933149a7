"""What a step makes of constants alone, such as a mask of eye(n): computed beside the trace, so that what needs its values has
them. Without that, the rows that such a mask chooses would have a number that depends on data."""
import contextlib

import torch

from .masks import ROWWISE, Rows, name_of

MADE = set("""eye arange zeros ones full tensor linspace triu_indices tril_indices zeros_like ones_like full_like""".split())
KEPT = (ROWWISE - {"dropout"}) | MADE | set("""getitem setitem cat stack concat repeat repeat_interleave tile expand permute transpose
    t roll flip tril triu diagonal diag fill_diagonal scatter scatter_ fill_diagonal_ fill_ zero_ masked_fill_ index_fill_ copy_ where
    nonzero unique argsort outer meshgrid one_hot movedim item tolist numel count_nonzero""".split())
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
    return modes


class Known:
    def __init__(self):
        self.of = {}  # by id: the tensor of the trace, and one with its values

    def is_known(self, x):
        return isinstance(x, torch.Tensor) and id(x) in self.of

    def value(self, function, args, kwargs):
        args, kwargs = torch.utils._pytree.tree_map_only(torch.Tensor, lambda x: self.of[id(x)][1], (args, kwargs))
        with plain():
            return function(*args, **kwargs)

    def traced(self, real):
        """A constant of the trace with these values."""
        with plain():
            numbers = real.tolist()
        x = torch.tensor(numbers, dtype=real.dtype)
        self.of[id(x)] = x, real
        return x

    def places(self, index):
        """An index whose masks are numbers of elements."""
        found = []
        for x in index if isinstance(index, tuple) else (index,):
            mask = self.is_known(x) and x.dtype == torch.bool
            found += [self.traced(p) for p in self.value(torch.where, (x,), {})] if mask else [x]
        return tuple(found)

    def chosen(self, function, args, kwargs):
        """The arguments, or None and the result."""
        masks = function is torch.Tensor.__getitem__ or function is torch.Tensor.__setitem__ and isinstance(args[2], torch.Tensor) \
            and args[2].dim() > 0
        if function in (torch.masked_select, torch.Tensor.masked_select) and len(args) == 2 and self.is_known(args[1]) \
                and args[0].shape == args[1].shape:
            return None, args[0][self.places(args[1])]
        index = args[1] if masks else ()
        if any(self.is_known(x) and x.dtype == torch.bool for x in (index if isinstance(index, tuple) else (index,))):
            return (args[0], self.places(index), *args[2:]), None
        counts = function in COUNTED or function is torch.where and len(args) == 1
        if (function in READ or counts) and all(map(self.is_known, leaves((args, kwargs)))):
            return None, torch.utils._pytree.tree_map_only(torch.Tensor, self.traced, self.value(function, args, kwargs))
        return args, None

    def track(self, function, args, kwargs, result):
        name, given = name_of(function), leaves((args, kwargs))
        written = name.endswith("_") or name == "setitem"
        if not all(map(self.is_known, given)) or name not in KEPT or not given and name not in MADE:
            if written and given and (self.is_known(given[0]) or isinstance(given[0], torch.Tensor) and given[0]._is_view()):
                self.of.clear()  # perhaps a part of what is known
            return
        if not all(isinstance(x, torch.Tensor) and x.numel() <= MOST for x in leaves(result)):
            return
        made = self.value(function, args, kwargs)
        for x, real in zip(leaves(result), leaves(made)):
            self.of[id(x)] = x, real
