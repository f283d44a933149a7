"""Wrong programs: is what StableHLO's verifier (in jaxlib) refuses also refused by dopt?

    mutations.py DOPT OUT N FILES    the first N ops of each name in these files

Each op of the files becomes a function of its operands. Then one thing at a time is changed: a type of an
operand, result or argument of a region, a number of an attribute, whether there is an attribute, what a region
returns. jaxlib reads every text; dopt reads all of them (OUT, a program each). Prints how many of those that
jaxlib refuses dopt accepts, by op and change, and which unchanged ops it calls wrong. Exit status 1: one of them has no
reason in KNOWN.
"""
import collections
import json
import os
import re
import struct
import subprocess
import sys

from jax._src.interpreters import mlir as jax_mlir
from jaxlib.mlir import ir

CONTEXT = jax_mlir.make_ir_context()
CONTEXT.allow_unregistered_dialects = True

# Another element type of the same and of another kind.
OTHERS = {"f32": ["f64", "i32"], "f64": ["f32"], "f16": ["f32"], "bf16": ["f32"], "i1": ["i32"], "i8": ["i32"],
          "i16": ["i32"], "i32": ["i64", "f32", "ui32"], "i64": ["i32", "f32"], "ui8": ["i8"], "ui16": ["i16"],
          "ui32": ["i32"], "ui64": ["i64"], "complex<f32>": ["f32", "complex<f64>"], "complex<f64>": ["f64"]}

# (op, change or message): why dopt accepts what is wrong, or calls wrong what jaxlib accepts.
KNOWN = [
    ("dot_general", "_count|_operations|_type", "the algorithm of a product is read past"),
    ("custom_call", "index number", "aliases of results are read past"),
    ("exponential", "element", "complex numbers, none of them"),
    ("constant_like", "result 1 element", "the value has the type of its use"),
    ("tuple|get_tuple_element", "expected a tensor, found tuple", "an argument of the step is a tensor"),
    ("all_gather", "has the written type", "the sizes depend on the groups of the whole program"),
    ("custom_call", "check 0", "a check of inputs"),
    ("reduce_window", "2.50 elements", "the size is limited"),
    ("rng_bit_generator", "2 numbers, not 3", "the state depends on the algorithm"),
]


def is_valid(text):
    try:
        with CONTEXT:
            ir.Module.parse(text)
        return True
    except Exception:
        return False


class Verifier:
    """is_valid in a process of its own, as some texts end it: None."""

    def __init__(self):
        self.child = None

    def start(self):
        asked, ask = os.pipe()
        answered, answer = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(ask)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            texts = os.fdopen(asked, "rb")
            while len(head := texts.read(4)) == 4:
                os.write(answer, b"%d" % is_valid(texts.read(struct.unpack("I", head)[0]).decode()))
            os._exit(0)
        os.close(asked)
        os.close(answer)
        self.child = pid, ask, answered

    def __call__(self, text):
        if not self.child:
            self.start()
        pid, ask, answered = self.child
        text = text.encode()
        os.write(ask, struct.pack("I", len(text)) + text)
        answer = os.read(answered, 1)
        if answer:
            return answer == b"1"
        os.waitpid(pid, 0)
        os.close(ask)
        os.close(answered)
        self.child = None
        return None


def read_op(op):
    text = op.get_asm(print_generic_op_form=True, use_local_scope=True, assume_verified=True)
    rest = text[re.search(r'"[\w.\-]+"\([^)]*\)', text).end():]
    return {"name": op.name, "operands": [str(v.type) for v in op.operands],
            "results": [str(r.type) for r in op.results], "body": rest[:rest.rfind(" : (")]}


def write_op(op, name):
    operands, results = op["operands"], op["results"]
    result = results[0] if len(results) == 1 else "(%s)" % ", ".join(results)
    left = "" if not results else "%r = " if len(results) == 1 else "%%r:%d = " % len(results)
    return 'func.func @%s(%s) {\n  %s"%s"(%s)%s : (%s) -> %s\n  func.return\n}\n' % (
        name, ", ".join("%%a%d: %s" % item for item in enumerate(operands)), left, op["name"],
        ", ".join("%%a%d" % i for i in range(len(operands))), op["body"], ", ".join(operands), result)


def tensor(dims, element):
    return "tensor<%s%s>" % ("".join("%dx" % d for d in dims), element)


def other_types(text):
    found = re.fullmatch(r"tensor<((?:\d+x)*)(.+)>", text)
    if not found:
        return
    dims, element = [int(d) for d in found[1].split("x") if d], found[2]
    for other in OTHERS.get(element, []):
        yield "element", tensor(dims, other)
    for i, d in enumerate(dims):
        for size in (d - 1, d + 1):
            if size > 0:
                yield "size", tensor(dims[:i] + [size] + dims[i + 1:], element)
    yield "rank", tensor(dims + [1], element)
    if dims:
        yield "rank", tensor(dims[:-1], element)


def changed(items, i, item):
    return items[:i] + [item] + items[i + 1:]


def other_numbers(numbers, is_list):
    for i, number in enumerate(numbers):
        for other in ("-1", "0", "1000", str(int(number) + 1)):
            if other != number:
                yield "number", changed(numbers, i, other)
    if len(numbers) > 1:
        yield "order", [numbers[1], numbers[0]] + numbers[2:]
        yield "repeated", [numbers[0]] * 2 + numbers[2:]
    if is_list:
        yield "length", numbers + ["1"]
        yield "length", numbers[:-1]


def split_numbers(text):
    return [x.strip() for x in (text or "").split(",") if x.strip()]


def attribute_changes(body):
    """(what, from, to, text)"""
    for m in re.finditer(r"(\w+) = array<i64(?:: ([^>]*))?>", body):
        for what, numbers in other_numbers(split_numbers(m[2]), True):
            colon = ": " if numbers else ""
            yield m[1] + " " + what, m.start(), m.end(), "%s = array<i64%s%s>" % (m[1], colon, ", ".join(numbers))
    for m in re.finditer(r"(\w+) = \[(-?\d+(?:, -?\d+)*)\]", body):
        for what, numbers in other_numbers(split_numbers(m[2]), True):
            yield m[1] + " " + what, m.start(), m.end(), "%s = [%s]" % (m[1], ", ".join(numbers))
    for m in re.finditer(r"(\w+) = (-?\d+)\b", body):
        for what, numbers in other_numbers([m[2]], False):
            yield m[1] + " " + what, m.start(2), m.end(2), numbers[0]
    for m in re.finditer(r"(\w+) = dense<([^>]*)> : (tensor<[^>]*>)", body.split("({")[0]):
        for what, other in other_types(m[3]):
            yield m[1] + " " + what, m.start(3), m.end(3), other
        yield m[1] + " number", m.start(2), m.end(2), re.sub(r"-?\d+", "-1", m[2], count=1)
    properties = re.search(r"<\{(.*?)\}>", body, re.S)
    if properties:
        parts = re.split(r", (?=\w+ = )", properties[1])
        for i, part in enumerate(parts):
            yield part.split(" ")[0] + " missing", properties.start(1), properties.end(1), ", ".join(
                parts[:i] + parts[i + 1:])


def returned(values, types):
    return '"stablehlo.return"(%s) : (%s) -> ()' % (", ".join(values), ", ".join(types))


def constant(name, type):
    value = "(0.0,0.0)" if "complex" in type else "0.0" if re.search(r"\bb?f\d", type) else "0"
    return '%s = "stablehlo.constant"() <{value = dense<%s> : %s}> : () -> %s\n' % (name, value, type, type)


def region_changes(body):
    for m in re.finditer(r"\^bb0\((.*?)\):", body):
        arguments = re.split(r", (?=%)", m[1])
        yield "argument more", m.end(1), m.end(1), ", %more: tensor<f32>"
        for i, argument in enumerate(arguments):
            name, type = argument.split(": ", 1)
            for what, other in other_types(type):
                yield "argument " + what, m.start(1), m.end(1), ", ".join(
                    changed(arguments, i, "%s: %s" % (name, other)))
        last = re.compile(r'"stablehlo.return"\((.*?)\) : \((.*?)\) -> \(\)').search(body, m.end())
        if not last or not last[1]:
            continue
        values, types = last[1].split(", "), re.split(r", (?=tensor)", last[2])
        name, type = arguments[0].split(": ", 1)
        yield "returns more", last.start(), last.end(), returned(values + [name], types + [type])
        yield "returns fewer", last.start(), last.end(), returned(values[:-1], types[:-1])
        for what, other in other_types(types[0]):
            yield "returns " + what, last.start(), last.end(), constant("%other", other) + returned(
                ["%other"] + values[1:], [other] + types[1:])
        for element, others in OTHERS.items():
            for other in others:
                new = [a.replace("tensor<%s>" % element, "tensor<%s>" % other) for a in arguments]
                if new != arguments:
                    pairs = [a.split(": ", 1) for a in new][:len(values)]
                    yield "signature element", m.start(1), last.end(), ", ".join(new) + "):\n" + returned(
                        [p[0] for p in pairs], [p[1] for p in pairs])


def mutations(op):
    for side in ("operands", "results"):
        for i, type in enumerate(op[side]):
            for what, other in other_types(type):
                yield "%s %d %s" % (side[:-1], i + 1, what), dict(op, **{side: changed(op[side], i, other)})
    body = op["body"]
    for kind, changes in (("", attribute_changes), ("region ", region_changes)):
        for what, start, end, text in changes(body):
            yield kind + what, dict(op, body=body[:start] + text + body[end:])


def ops_of(path):
    """All ops of the programs of a file, checks left out: jaxlib does not know them."""
    for text in re.split(r"^// -----.*$", open(path).read(), flags=re.M):
        text = re.sub(r'^\s*(?:check|interpreter)\.[^\n]*(?:\n(?!\s*(?:func|return|%|stablehlo|check|"|\})).*)*', "",
                      text, flags=re.M)
        try:
            with CONTEXT:
                module = ir.Module.parse(text)
        except Exception:
            continue
        todo = [module.operation]
        while todo:
            op = todo.pop(0)
            todo += [o.operation for region in op.regions for block in region.blocks for o in block.operations]
            if re.match("stablehlo|chlo", op.name) and op.name not in ("stablehlo.return", "stablehlo.constant"):
                yield read_op(op)


def programs(files, limit):
    """(op, change, text, valid): what is valid, and what became of it."""
    seen, count, verify = set(), collections.Counter(), Verifier()
    for op in (op for path in files for op in ops_of(path)):
        key = json.dumps(op)
        if key in seen or count[op["name"]] == limit or not is_valid(write_op(op, "main")):
            continue
        seen.add(key)
        count[op["name"]] += 1
        for what, other in [("none", op)] + list(mutations(op)):
            text = write_op(other, "p%d" % len(seen))
            if text in seen:
                continue
            seen.add(text)
            valid = verify(text)
            if valid is not None:
                yield op["name"], what, write_op(other, "p%d" % len(seen)), valid


def main(dopt, out, limit, *files):
    made = list(programs(files, int(limit)))
    with open(out, "w") as f:
        f.write("// -----\n".join(text for _, _, text, _ in made))
    lines = subprocess.run([dopt, "-expect", "-split-input-file", out], capture_output=True, text=True).stdout
    says = dict(re.findall(r"^(\w+): (.*)$", lines, flags=re.M))
    accepted, refused = collections.Counter(), collections.Counter()
    for op, what, text, valid in made:
        said = says.get(re.search(r"@(\w+)", text)[1], "failed: syntax")
        if not valid and (said.startswith("passed") or "it has no checks" in said):
            accepted[op, what] += 1
        if what == "none" and said.startswith("failed"):
            refused[op, said] += 1
    print("%d wrong programs, %d accepted" % (sum(not m[3] for m in made), sum(accepted.values())))
    unknown = False
    for kind, found in (("accepted", accepted), ("refused", refused)):
        for (op, what), n in sorted(found.items()):
            why = next((why for name, pattern, why in KNOWN
                        if re.fullmatch(r"\w+\.(%s)" % name, op) and re.search(pattern, what)), None)
            unknown = unknown or not why
            print("%s: %s: %s: %d: %s" % (kind, op, what, n, why or "no reason is known"))
    sys.exit(unknown)


if __name__ == "__main__":
    main(*sys.argv[1:])
