"""A module with one allreduce of N tensors, of which some are reported: many_tensors.py N"""
import sys

n = int(sys.argv[1])
made = "".join(f"  %c{i} = constant() {{value = {i % 7 + 1}}} : f32[]\n  %v{i} = mul(%s, %c{i})\n" for i in range(n))
results, operands = (", ".join(f"%{name}{i}" for i in range(n)) for name in "rv")
shown = "".join(f"  output(\"o{i}\", %r{i})\n" for i in (0, n // 2, n - 1))
print(f"""module @many
mesh [dp = 2]
func @main() {{
  %x = input("x") : f32[4/dp]
  %s = sum(%x) : f32[]+dp
{made}  {results} = allreduce({operands}) {{axis = dp}}
{shown}}}""")
