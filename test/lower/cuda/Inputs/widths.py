"""widths.py KERNELS_CU: reads the indices of CUDA kernels and prints each operation in 32 bits whose value may not fit them: the
ranges of variables follow from loops and from what they are declared as. What is not of this form (elements, floats) is left out.
Prints the number of operations that were read at the end."""

import re
import sys

BITS = {"int": 31, "int32_t": 31, "uint32_t": 32, "unsigned": 32, "int64_t": 63, "uint64_t": 64, "auto": 64}
TOKEN = re.compile(r"\s*(?:(INT64_C|UINT64_C)\((\d+)\)|(\d[\w.]*)|([A-Za-z_][\w.]*)|(<=|>=|==|!=|&&|\|\||<<|>>|.))")
# of a launch: CUDA_GRID and CUDA_BLOCK_MOST
GIVEN = {"blockIdx.x": (32, 0, (1 << 20) - 1), "threadIdx.x": (32, 0, 1023), "gridDim.x": (32, 1, 1 << 20)}
LEVELS = [["&&", "||"], ["<", ">", "<=", ">=", "==", "!="], ["<<", ">>", "&"], ["+", "-"], ["*", "/", "%"]]


class Unknown(Exception):
    """No integer whose range is known."""


class Reader:
    """One expression; values are (bits, least, most)."""

    def __init__(self, text, known, report):
        self.token = [m for m in TOKEN.findall(text) if any(m)]
        self.known, self.report, self.at = known, report, 0

    def peek(self, k=0):
        return self.token[self.at + k][4] or self.token[self.at + k][3] if self.at + k < len(self.token) else ""

    def whole(self):
        value = self.choice()
        if self.at < len(self.token):
            raise Unknown
        return value

    def choice(self):
        value = self.binary(0)
        if self.peek() != "?":
            return value
        self.at += 1
        a = self.choice()
        self.at += 1
        b = self.choice()
        return max(a[0], b[0]), min(a[1], b[1]), max(a[2], b[2])

    def binary(self, level):
        if level == len(LEVELS):
            return self.unary()
        a = self.binary(level + 1)
        while self.peek() in LEVELS[level]:
            op = self.peek()
            self.at += 1
            a = self.combine(op, a, self.binary(level + 1))
        return a

    def combine(self, op, a, b):
        global read
        bits = max(a[0], b[0])
        read += 1
        if op in "+*":
            ends = [x + y if op == "+" else x * y for x in a[1:] for y in b[1:]]
            if bits <= 32 and max(ends) >= 1 << bits:
                self.report(f"{max(ends)} by {op} in {bits} bits")
            return bits, min(ends), max(ends)
        if op == "-":
            return bits, min(0, a[1] - b[2]), a[2] - b[1]
        if op in "/%" and b[1] > 0:
            return (bits, a[1] // b[2], a[2] // b[1]) if op == "/" else (bits, 0, min(a[2], b[2] - 1))
        if op in ("<", ">", "<=", ">=", "==", "!=", "&&", "||"):
            return 31, 0, 1
        raise Unknown

    def unary(self):
        if self.peek() == "(" and self.peek(1) in BITS and self.peek(2) == ")":
            to = BITS[self.peek(1)]
            self.at += 3
            value = self.unary()
            return to, value[1], value[2]
        if self.peek() == "(":
            self.at += 1
            value = self.choice()
            self.at += 1
            return value
        if self.at == len(self.token):
            raise Unknown
        wide, long, number, name, _ = self.token[self.at]
        self.at += 1
        if wide or re.fullmatch(r"\d+", number):
            n = int(long or number)
            return 63 if wide or n >= 1 << 31 else 31, n, n
        if name not in self.known or self.peek() in ("(", "["):
            raise Unknown
        return self.known[name]


read, known, kernel = 0, {}, ""
LOOP = re.compile(r"for \((\w+) (\w+) = (.*?); \2 < (.*?)(?: && .*)?; \2(?:\+\+| \+= (.*))\)")
LOCAL = re.compile(r"(?:const )?(\w+) (\w+) = (.*)")
for number, line in enumerate(open(sys.argv[1]), 1):
    line = line.strip().rstrip("{").strip()

    def report(what, number=number, line=line):
        print(f"{kernel}: {what}: {line}")

    def value(text):
        try:
            return Reader(text, known, report).whole()
        except (Unknown, IndexError):
            return None

    def declare(kind, name, x):
        if x and BITS[kind] <= 32 and x[2] >= 1 << BITS[kind]:
            report(f"{x[2]} in {name}")
        known[name] = x and (BITS[kind], max(x[1], 0), x[2])
        if not x:
            del known[name]

    if line.startswith("DOPT_KERNEL"):
        kernel, known = line.split("(")[1].split(",")[0], dict(GIVEN)
    loop = LOOP.match(line)
    if loop and loop[1] in BITS:
        first, end, step = value(loop[3]), value(loop[4]), value(loop[5] or "1")
        past = end and step and end[2] - 1 + step[2]
        if past and BITS[loop[1]] <= 32 and past >= 1 << BITS[loop[1]]:
            report(f"{past} in {loop[2]}")
        declare(loop[1], loop[2], end and (0, first[1] if first else 0, end[2] - 1))
        continue
    for part in re.split(r";", line):
        local = LOCAL.match(part.strip())
        if local and local[1] in BITS:
            # several variables of one type, at commas outside of parentheses
            for k, each in enumerate(re.split(r", (?=\w+ = )", local[3])):
                name, text = (local[2], each) if k == 0 else each.split(" = ", 1)
                declare(local[1], name, value(text))
        for index in re.findall(r"\[([^\[\]]*)\]", part):
            value(index)
print(f"{read} operations")
