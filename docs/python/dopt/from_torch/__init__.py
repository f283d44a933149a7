"""From a PyTorch module to files that dopt and its programs read: docs/from-torch.md.

    from_torch.export("gpt", step, model, x, y)     gpt.dir and gpt.safetensors, the parameters and buffers
    from_torch.save_rows("data.safetensors", train={"x": x, "y": y})
    from_torch.load("trained.safetensors", model)

A step is a function (model, inputs ...) -> loss, or -> {"loss": loss, name: another result}. It is exported as it is, in
training or evaluation mode: the passes of dopt add gradients and the optimizer. Tried with torch 2.15.
"""
import inspect
import logging
import re

import torch

from .. import tensors
from .attributes import Attributes, fill, made_real
from .complexes import OF_REALS
from .composed import DECOMPOSED, grouped_mm, roi_align
from .custom import check_linear
from .table import Unsupported, handler, name_of
from .text import NOT_THE_STEP, Text
from .trace import Step, cut_gradients, exported


def save(path, values):
    """A safetensors file of named tensors; complex ones are two, NAME.re and NAME.im, as they are to dopt."""
    def raw(value):
        value = value.detach().cpu().contiguous().reshape(-1)
        return value.view(torch.uint8).numpy().tobytes() if value.numel() else b""
    split = [(name + end, part) for name, v in values.items()
             for end, part in ((("", v),) if not v.is_complex() else ((".re", v.detach().real), (".im", v.detach().imag)))]
    tensors.write(path, [(name, str(v.dtype).removeprefix("torch."), v.shape, raw(v)) for name, v in split])


def save_rows(path, **parts):
    """A data set: train={"x": rows, ...}, and perhaps test."""
    save(path, tensors.rows(parts))


def load(path, model, strict=True):
    """Copies the values that a program's -save wrote into the parameters and buffers of a model; optimizer states in the
    file are left alone. Parameters that share a tensor are written once, under one of their names. A program has no parameters
    that its step does not use: with strict=False they keep their values."""
    saved, found = tensors.read(path), set()
    with torch.no_grad():
        for name, tensor in (*model.named_parameters(remove_duplicate=False),
                             *model.named_buffers(remove_duplicate=False)):
            for said, part in ((name, tensor),) if not tensor.is_complex() else (
                    (name + ".re", tensor.real), (name + ".im", tensor.imag)):
                if said in saved:
                    dtype, _, raw = saved[said]
                    part.copy_(torch.frombuffer(bytearray(raw), dtype=getattr(torch, dtype)).reshape(part.shape))
                    found.add(tensor.data_ptr())
        missing = [n for n, p in model.named_parameters(remove_duplicate=False) if p.data_ptr() not in found]
    if missing and strict:
        raise KeyError(f"{path}: no value of {', '.join(missing)}; if the step does not use them: load(..., strict=False)")


def export(name, step, model, *inputs, ignored=True, batch="B"):
    """Writes NAME.dir and NAME.safetensors. `inputs` are examples, one batch: their names are those of the arguments of
    `step`. With ignored=False, no label of a cross entropy is its ignore_index: the loss is then the mean of all rows, which
    several devices and micro-batches sum without knowing how many labels the others have. The text has the first size of
    the inputs as `let B`, or by another name; with batch=None, or if the step does something else for another batch, all
    sizes are numbers."""
    module = re.sub(r"\W|^(?=\d)", "_", name.rsplit("/", 1)[-1])
    text, values = translate(module, step, model, inputs, ignored)
    sizes = {x.shape[0] if x.dim() else 0 for x in inputs}
    if batch and len(sizes) == 1 and min(sizes) > 1:
        rows = sizes.pop()
        muted = logging.root.manager.disable
        logging.disable(logging.CRITICAL)  # what torch logs of a step that fails for another size
        try:
            more = [translate(module, step, model, [torch.cat([x] * n) for x in inputs], ignored)[0] for n in (2, FAR)]
            try:
                more.append(translate(module, step, model, [torch.cat([x, x[:1]]) for x in inputs], ignored)[0])
            except Exception:  # a step for even sizes, or the like
                pass
        except Exception:  # a step for one size, such as one that reshapes to it
            more = []
        finally:
            logging.disable(muted)
        text = more and with_batch(text, *more, rows=rows, name=batch) or text
    save(name + ".safetensors", values)
    with open(name + ".dir", "w") as out:
        out.write(text)


INTEGER = re.compile(r"(?<![\w.%-])\d+(?![\w.]|e-)")


FAR = 5  # times the rows: numbers that grow by steps, such as a third that is rounded up, are not in proportion there


def with_batch(text, twice, far, odd=None, *, rows, name):
    """A text for `rows`, in which what grows with the batch is an expression of its name. None: those of twice and FAR times
    the rows, or of one more, differ in another way."""
    found = [[int(n) for n in INTEGER.findall(t)] for t in (text, twice, far)]
    skeleton = INTEGER.sub("0", text)
    if any(INTEGER.sub("0", t) != skeleton for t in (twice, far)):
        return None
    said, following = [], []
    for a, b, c in zip(*found):
        each, rest = (b - a), a - (b - a)  # a = each + rest, of which `each` is for `rows`
        if c != FAR * each + rest:
            return None
        factor = name if each == rows else f"{each // rows}*{name}" if each % rows == 0 else \
            f"{name}/{rows // each}" if each and rows % each == 0 else None
        if factor is None:
            return None
        said.append(str(a) if not each else factor if not rest else f"{factor}{rest:+d}")
        following.append(each * (rows + 1) / rows + rest)
    if odd and all(n == int(n) for n in following) and (
            INTEGER.sub("0", odd) != skeleton or [int(n) for n in INTEGER.findall(odd)] != following):
        return None
    text = INTEGER.sub(lambda _, said=iter(said): next(said), text)
    return text.replace("\n\n", f"\n\nlet {name} = {rows}\n\n", 1)


def decomposed(program, table):
    try:
        return program.run_decompositions(table)
    except Exception as failed:
        said = str(failed)
        at = [line for line in re.findall(r'File "[^"]*", line \d+, in \S+', said) if not any(f in line for f in NOT_THE_STEP)]
        what = re.search(r"target=torch\.ops\.(?:higher_order\.)?([\w.]+)", said)
        why = said.split("\n", 1)[0]
        if what and what[1] == "while_loop":
            why = "a tensor is made of numbers inside; make it before the loop, which then reads it" \
                if "FunctionalTensor" in said else why + " (carry tensors, as torch.tensor(0))"
        raise Unsupported(": ".join([at[-1] if at else "in the step", *([what[1]] if what else []), why])) from failed


def translate(name, step, model, inputs, ignored=True, again=False):
    table = torch.export.default_decompositions()
    for op, function in torch._decomp.decomposition_table.items():
        if op not in table:
            table[op] = function
    for op in [op for op in table if isinstance(op, torch._ops.OpOverload) and (handler(op) or name_of(op) in OF_REALS)]:
        table.pop(op)
    table.update(DECOMPOSED)
    module, before = Step(step, model), Attributes(model)
    try:
        program = exported(module, inputs)
        if hasattr(torch.ops.torchvision, "roi_align"):  # torchvision is in use
            table[torch.ops.torchvision.roi_align.default] = roi_align
        if hasattr(torch.ops.transformers, "grouped_mm_fallback"):  # and transformers
            table[torch.ops.transformers.grouped_mm_fallback.default] = grouped_mm
        if module.found.functions and not again:
            check_linear(step, model, inputs)
        cut_gradients(program.graph_module)
        program = decomposed(program, table)
        made = Text(program, list(inspect.signature(step).parameters)[1:], ignored).module(name)
        if module.found.changed and not again:  # such as counters: does the next step depend on them?
            before.restore()
            for container, _, _, new in module.found.changed:
                fill(container, made_real(new))
            try:
                other, _ = translate(name, step, model, inputs, ignored, again=True)
            except Exception:
                other = None
            if other != made[0]:
                raise Unsupported(f"the step depends on {' or '.join(c[1] for c in module.found.changed)}, which it changes: "
                                  "make it a buffer, or compute it before the export")
        return made
    finally:
        before.restore()
