#!/usr/bin/env python3
"""Writes a module of many ops, for timing what reads, checks and prints modules.

    gen_ops.py 100000 > /tmp/big.dir
    gen_ops.py 100000 -mlir > /tmp/big.mlir     the same in MLIR's generic form, with local shapes

A stack of perceptron layers over a mesh of two axes, with every name and type written as the printer
writes them: about two operands an op, an attribute on every third.
"""
import re
import sys

DIMS, ROWS, CLASSES = 64, 256, 64


def layer(k):
    """Ten ops from %x{k} to %x{k+1}."""
    rows = f"f32[{ROWS}/dp,{DIMS}]"
    yield f'%w{k} = param("w{k}") {{init = "he", seed = {k}}} : f32[{DIMS},{DIMS}/tp]'
    yield f"%g{k} = allgather(%w{k}) {{axis = tp}} : f32[{DIMS},{DIMS}]"
    yield f"%h{k} = matmul(%x{k}, %g{k}) : {rows}"
    yield f"%m{k} = mean(%h{k}) {{dims = [1], keep = true}} : f32[{ROWS}/dp,1]"
    yield f"%c{k} = sub(%h{k}, %m{k}) : {rows}"
    yield f"%r{k} = relu(%c{k}) : {rows}"
    yield f"%t{k} = tanh(%r{k}) : {rows}"
    yield f"%p{k} = mul(%t{k}, %c{k}) : {rows}"
    yield f"%s{k} = maximum(%p{k}, %h{k}) : {rows}"
    yield f"%x{k + 1} = add(%s{k}, %x{k}) : {rows}"


TENSOR = {
    "w": f"tensor<{DIMS}x{DIMS // 2}xf32>",
    "g": f"tensor<{DIMS}x{DIMS}xf32>",
    "m": f"tensor<{ROWS // 4}x1xf32>",
}
ROW = f"tensor<{ROWS // 4}x{DIMS}xf32>"


def mlir_of(op):
    """An op in MLIR's generic form; lists of attributes are the same there, axes are strings."""
    result, name, operands, attrs = re.match(r"(%\w+) = (\w+)\((.*?)\)(?: {(.*)})? :", op).groups()
    type_of = lambda value: TENSOR.get(value[1], ROW)
    if operands.startswith('"'):
        operands, attrs = "", f"name = {operands}, {attrs}"
    types = ", ".join(type_of(value) for value in operands.split(", ") if value)
    attrs = " {" + attrs.replace("axis = tp", 'axis = "tp"') + "}" if attrs else ""
    return f'{result} = "dir.{name}"({operands}){attrs} : ({types}) -> {type_of(result)}'


def main_mlir(n):
    print(f"func.func @main(%x0: {ROW}) -> {ROW} {{")
    for k in range(n // 10):
        for op in layer(k):
            print("  " + mlir_of(op))
    print(f"  return %x{n // 10} : {ROW}\n}}")


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 100000
    if "-mlir" in sys.argv:
        return main_mlir(n)
    print("module @big\nmesh [dp = 4, tp = 2]\n\nfunc @main() {")
    print(f'  %x0 = input("x") : f32[{ROWS}/dp,{DIMS}]')
    for k in range(n // 10):
        for op in layer(k):
            print("  " + op)
    print(f"  %loss = mean(%x{n // 10}) : f32[]+dp")
    print("  %all = allreduce(%loss) {axis = dp} : f32[]")
    print('  output("loss", %all)\n}')


if __name__ == "__main__":
    main()
