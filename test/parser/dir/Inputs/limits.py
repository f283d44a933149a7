"""Writes a module that goes beyond one limit of the language: limits.py NAME."""
import sys


def main_of(*ops):
    return "func @main() {\n" + "\n".join(ops) + "\n}\n"


X = '%x = input("x") : f32[2]'
DEPTH = 120
TEXT = {
    "parentheses": "let A = " + "(" * 20000 + "1" + ")" * 20000 + "\n" + main_of(X),
    "expression": "let A = 1\n" + main_of('%x = input("x") : f32[' + "+".join(["A"] * 300) + "]"),
    "fuses": main_of(X, *["%y = fuse(%x) {"] * 40, *["yield(%x)\n}"] * 40),
    "list": main_of(X, "%y = broadcast(%x) {shape = [" + ",".join(["1"] * 70000) + "]}"),
    "axes": "mesh [" + ", ".join(f"a{i} = 1" for i in range(17)) + "]\n" + main_of(X),
    "places": "mesh [a = 65536, b = 65536]\n" + main_of(X),
    "calls": main_of(X, "%y = call @f0(%x)")
    + "".join(f"func @f{i}(%x) {{\n%y = call @f{i + 1}(%x)\nreturn(%y)\n}}\n" for i in range(DEPTH))
    + f"func @f{DEPTH}(%x) {{\nreturn(%x)\n}}\n",
    "errors": main_of(X, *(f"%y{i} = relu(%z{i})" for i in range(250))),
    "name": main_of(X, "%y = relu(%" + "n" * 1000000 + ")"),
    "lets": "let a0 = 2\n"
    + "".join(f"let a{i} = a{i - 1} + 1\n" for i in range(1, 20000))
    + main_of('%x = input("x") : f32[a19999]', 'output("x", %x)'),
    "chains": main_of(X, "%y = call @a(%x) {repeat = 100000}", 'output("y", %y)')
    + "func @a(%x) {\n%y = call @b(%x) {repeat = 100000}\nreturn(%y)\n}\n"
    + "func @b(%x) {\n%y = relu(%x)\nreturn(%y)\n}\n",
}
print("module @limits\n" + TEXT[sys.argv[1]])
