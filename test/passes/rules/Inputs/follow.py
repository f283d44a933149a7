"""Which rules follow from others: follow.py RULES BY ...

A rule of RULES follows where rewriting both of its sides by the rules of BY, each from left to right and
the operands of add and mul in any order, ends in the same terms. What is left is tried in both
directions, a few hundred terms of each side. Sizes are not looked at: RULES must be known to hold.
Prints the names of those that do not follow and how many do."""
import re
import sys

COMMUTE = {'add', 'mul', 'maximum'}
MOST = 400  # terms that a search in both directions sees of a side


def read(path):
    """[name, [left terms], [right terms]]; a term is (op, operand ...) or the name of a parameter."""
    rules = []
    for text in open(path).read().split('rule @')[1:]:
        sides = []
        for side in text.split('=>'):
            value = {}
            for name, op, operands, attributes in re.findall(r'%(\w+) = (\w+)\(([^)]*)\)(.*)', side):
                key = attributes
                if op == 'slice':  # which part: where it is cut is where the operands of a concat meet
                    key = ('0' if 'start = [0]' in attributes else '1') + re.search(r'dims = .*', attributes)[0]
                elif op == 'conv2d':  # groups follow from the channels
                    key = ''
                axis = re.search(r'axis = (\w+)', key)
                key = re.sub(r'axis = \w+', '', key).replace(' ', '')
                arguments = [value.get(x, x) for x in re.findall(r'%(\w+)', operands)]
                value[name] = (op + key, axis[1] if axis else None, *arguments)
            result = re.search(r'return\((.*)\)', side)[1]
            sides.append([value.get(x, x) for x in re.findall(r'%(\w+)', result)])
        rules.append((re.match(r'\w+', text)[0], *sides))
    return rules


def match(pattern, term, bound):
    """All ways in which a pattern is the term."""
    if isinstance(pattern, str):
        if bound.get(pattern, term) == term:
            yield {**bound, pattern: term}
        return
    if isinstance(term, str) or pattern[0] != term[0] or len(pattern) != len(term):
        return
    if pattern[1]:
        if bound.get('axis ' + pattern[1], term[1]) != term[1]:
            return
        bound = {**bound, 'axis ' + pattern[1]: term[1]}
    orders = [term[2:]]
    if term[0] in COMMUTE:
        orders.append(term[:1:-1])
    for order in orders:
        ways = [bound]
        for p, t in zip(pattern[2:], order):
            ways = [b for w in ways for b in match(p, t, w)]
        yield from ways


def put(pattern, bound):
    if isinstance(pattern, str):
        return bound.get(pattern)
    operands = [put(p, bound) for p in pattern[2:]]
    axis = pattern[1] and bound.get('axis ' + pattern[1])
    if None in operands or (pattern[1] and not axis):
        return None
    return order((pattern[0], axis, *operands))


def order(term):
    if term[0] in COMMUTE and repr(term[2]) > repr(term[3]):
        return (term[0], term[1], term[3], term[2])
    return term


def ordered(term):
    return term if isinstance(term, str) else order((term[0], term[1], *map(ordered, term[2:])))


def size(term):
    return 0 if isinstance(term, str) else 1 + sum(map(size, term[2:]))


class By:
    def __init__(self, rules):
        self.left, self.both = {}, {}
        for _, left, right in rules:
            if len(left) == 1:
                x, y = ordered(left[0]), ordered(right[0])
                self.left.setdefault(x[0], []).append((x, y))
                self.both.setdefault(x[0], []).append((x, y))
                if not isinstance(y, str):
                    self.both.setdefault(y[0], []).append((y, x))
        self.known = {}

    def normal(self, term):
        if isinstance(term, str):
            return term
        if term in self.known:
            return self.known[term]
        self.known[term] = term
        now = order((term[0], term[1], *map(self.normal, term[2:])))
        for x, y in self.left.get(now[0], []):
            to = next((t for b in match(x, now, {}) if (t := put(y, b))), None)
            if to and (size(to), repr(to)) < (size(now), repr(now)):
                now = self.normal(to)
                break
        self.known[term] = now
        return now

    def neighbours(self, term):
        if isinstance(term, str):
            return
        for x, y in self.both.get(term[0], []):
            for b in match(x, term, {}):
                to = put(y, b)
                if to:
                    yield to
        for i in range(2, len(term)):
            for to in self.neighbours(term[i]):
                yield order((*term[:i], to, *term[i + 1:]))

    def reached(self, term):
        seen, todo = {term}, [term]
        most = size(term) + 2
        while todo and len(seen) < MOST:
            for to in self.neighbours(todo.pop(0)):
                if to not in seen and size(to) <= most:
                    seen.add(to)
                    todo.append(to)
        return seen | {self.normal(t) for t in seen}

    def equal(self, x, y):
        x, y = ordered(x), ordered(y)
        return self.normal(x) == self.normal(y) or bool(self.reached(x) & self.reached(y))


def main():
    rules = read(sys.argv[1])
    by = By([r for path in sys.argv[2:] for r in read(path)])
    n = 0
    for name, left, right in rules:
        if all(by.equal(x, y) for x, y in zip(left, right)):
            n += 1
        else:
            print(name)
    print(f'{n} of {len(rules)} rules follow')


main()
