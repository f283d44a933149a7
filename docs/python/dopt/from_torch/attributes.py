"""What modules keep outside of parameters and buffers, such as counters, lists and caches. The graph of a step has the values of
its first call, so that what the step changes is looked for, and restored."""
import collections
import types

import torch

OF_TORCH = set(vars(torch.nn.Module()))  # what each module has, such as its parameters
PLAIN = (int, float, str, bytes, tuple, type(None), torch.dtype)


class Attributes:
    """The attributes of modules, and the containers and objects in them, as they are now."""

    def __init__(self, model):
        self.held = {}  # by id: a container, the attribute that has it or the class of the module, and a copy
        for module in model.modules():
            own = vars(module)
            self.held[id(own)] = own, type(module), contents(own)
            for name, x in contents(own).items():
                self.walk(x, f"{name} of {type(module).__name__}")

    def walk(self, x, name):
        if isinstance(x, (torch.Tensor, torch.nn.Module, type, types.ModuleType, types.FunctionType, types.MethodType)):
            return
        if isinstance(x, tuple):
            for v in x:
                self.walk(v, name)
            return
        if not isinstance(x, (dict, list, collections.deque, set)):
            if not hasattr(x, "__dict__") or type(x).__module__.startswith("torch."):
                return
            x = vars(x)
        if id(x) not in self.held:
            self.held[id(x)] = x, name, contents(x)
            for v in x.values() if isinstance(x, dict) else x:
                self.walk(v, name)

    def changes(self):
        """Containers with names, old and new contents."""
        found = []
        for x, name, old in self.held.values():
            new = contents(x)
            if isinstance(x, dict):
                other = [str(k) for k in old.keys() | new.keys() if k not in old or k not in new or differ(old[k], new[k])]
                name = name if isinstance(name, str) else f"{min(other)} of {name.__name__}" if other else ""
            else:
                other = old != new if isinstance(x, set) else len(old) != len(new) or any(map(differ, old, new))
            if other:
                found.append((x, name, old, new))
        return found

    def restore(self):
        for x, _, old in self.held.values():
            fill(x, old)


def contents(x):
    return {k: v for k, v in x.items() if k not in OF_TORCH} if isinstance(x, dict) else x.copy()


def differ(a, b):
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) != len(b) or any(map(differ, a, b))
    return a is not b and (type(a) is not type(b) or not isinstance(a, PLAIN) or a != b)


def fill(x, new):
    """Makes `new` the contents of a container."""
    if isinstance(x, dict):
        for k in contents(x).keys() - new.keys():
            del x[k]
        x.update(new)
    else:
        x.clear()
        x.update(new) if isinstance(x, set) else x.extend(new)


def made_real(new):
    """Contents with zeros for the tensors that only a graph has."""
    return torch.utils._pytree.tree_map_only(torch.Tensor, lambda x: torch.zeros(x.shape, dtype=x.dtype), new)
