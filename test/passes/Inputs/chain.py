"""Prints a step of N layers, or with `params` one of N layers with a param each, on N devices."""
import sys

n, params = int(sys.argv[1]), sys.argv[2:] == ["params"]
out = ["module @chain", "let N = 1", "mesh [dp = N]", "func @main() {",
       '  %x = input("x") : f32[4]', '  %w = param("w") : f32[4]', "  %v0 = mul(%x, %w)"]
for i in range(n):
    if params:
        out += ['  %%w%d = param("w%d") : f32[]' % (i, i), "  %%v%d = mul(%%v%d, %%w%d)" % (i + 1, i, i)]
    else:
        out += ["  %%v%d = tanh(%%v%d)" % (i + 1, i)]
print("\n".join(out + ["  %%l = mean(%%v%d)" % n, '  output("loss", %l)', "}"]))
