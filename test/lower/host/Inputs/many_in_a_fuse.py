"""A fuse of N ops with what kernels list: rows are read again and again (stages), or each op has another slice of an
index of its own (arguments): many_in_a_fuse.py stages|arguments N"""
import sys

what, n = sys.argv[1], int(sys.argv[2])
body, last = "", "%x"
for i in range(n):
    if what == "stages":
        body += f"    %m{i} = max({last}) {{dims = [1], keep = true}} : f32[4,1]\n" \
                f"    %y{i} = sub(%x, %m{i}) : f32[4,8]\n"
    else:
        body += f"    %i{i} = iota() {{dim = 0}} : f32[{2 * i + 2}/dp]\n    %s{i} = sum(%i{i}) {{dims = [0]}} : f32[]+dp\n" \
                f"    %y{i} = add({last}, %s{i}) : f32[]+dp\n"
    last = f"%y{i}"
source = '%x = input("x") : f32[4,8]' if what == "stages" else '%v = input("x") : f32[4/dp]\n  %x = sum(%v) : f32[]+dp'
result = "%z = sum(%y)" if what == "stages" else "%z = allreduce(%y) {axis = dp}"
print(f"""module @many
mesh [dp = 2]
func @main() {{
  {source}
  %y = fuse(%x) {{kind = "many"}} {{
{body}    yield({last})
  }} : {"f32[4,8]" if what == "stages" else "f32[]+dp"}
  {result}
  output("z", %z)
}}""")
