"""chain.py N: a step of N tanh, one after the other."""
import sys

n = int(sys.argv[1])
print('module @chain\nfunc @main() {\n  %x = input("x") : f32[4]\n  %w = param("w") : f32[4]\n  %v0 = mul(%x, %w)')
for i in range(1, n):
    print("  %%v%d = tanh(%%v%d)" % (i, i - 1))
print('  %%l = mean(%%v%d)\n  output("loss", %%l)\n}' % (n - 1))
