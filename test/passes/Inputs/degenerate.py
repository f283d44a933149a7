"""Prints a module that grows in one direction: degenerate.py KIND N.

chain      N ops, each on the result of the one before
readers    one value with N readers
constants  N ops on a constant, added to a value of the batch
scalars    N params with one element each
"""
import sys

kind, n = sys.argv[1], int(sys.argv[2])
functions = "sin", "cos", "tanh", "sigmoid"


def ops():
    """The names of the results, and the ops."""
    last = "v"
    if kind == "constants":
        yield "c0", "constant() {value = 0.5} : f32[8,4]"
        last = "c0"
    if kind == "scalars":
        for i in range(n):
            yield "p%d" % i, 'param("p%d") : f32[]' % i
    for i in range(n):
        yield {
            "chain": ("v%d" % i, "%s(%%%s)" % (functions[i % 4], last)),
            "readers": ("v%d" % i, "add(%%v, %%%s)" % last),
            "constants": ("c%d" % (i + 1), "%s(%%%s)" % (functions[i % 4], last)),
            "scalars": ("v%d" % i, "mul(%%%s, %%p%d)" % (last, i)),
        }[kind]
        last = "v%d" % i if kind != "constants" else "c%d" % (i + 1)
    yield "sum", "add(%%v, %%%s)" % last
    yield "loss", "mean(%sum)"


print('module @degenerate\nmesh [dp = 2]\nfunc @main() {\n  %x = input("x") : f32[8,4]')
print('  %w = param("w") : f32[4]\n  %v = mul(%x, %w)')
for result, op in ops():
    print("  %%%s = %s" % (result, op))
print('  output("loss", %loss)\n}')
