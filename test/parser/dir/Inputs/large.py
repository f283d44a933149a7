"""large.py dir|mlir: a module with one constant of 272 MB of digits, which is more than a chunk of talloc has."""
import sys

NUMBERS = 34 << 20
digits = "0x" + "0000803F" * NUMBERS
if sys.argv[1] == "dir":
    print('module @m\nfunc @main() {\n  %%c = literal() {hex = "%s"} : f32[%d]' % (digits, NUMBERS))
    print('  %l = sum(%c)\n  output("l", %l)\n}')
else:
    t = "tensor<%dxf32>" % NUMBERS
    print("module @m {\n func.func public @main(%%a: %s) -> (%s) {" % (t, t))
    print(' %%c = stablehlo.constant dense<"%s"> : %s' % (digits, t))
    print(" %%0 = stablehlo.add %%a, %%c : %s\n return %%0 : %s\n }\n}" % (t, t))
