"""Prints a module of about N ops in groups of four: N is the first argument."""
import sys

groups = int(sys.argv[1]) // 4
out = ["module @large", "func @main() {",
       '  %x = input("x") : f32[4]', '  %y = input("y") : f32[4]',
       "  %one = constant() {value = 1.0} : f32[]", "  %v0 = relu(%x)"]
for i in range(groups):
    out += ["  %%a%d = add(%%v%d, %%y)" % (i, i), "  %%b%d = add(%%y, %%v%d)" % (i, i),
            "  %%c%d = mul(%%a%d, %%b%d)" % (i, i, i), "  %%v%d = mul(%%c%d, %%one)" % (i + 1, i)]
out += ['  output("o", %%v%d)' % groups, "}"]
print("\n".join(out))
