"""Prints a profile as text with its lines and words in another order."""
import sys

lines = open(sys.argv[1]).read().splitlines()
print(lines[0] + "\n# a comment\n\n" + lines[2] + "\n")
for line in reversed(lines[3:]):
    head, equals, key = line.partition(" key=")
    words = head.split()
    print(" ".join(words[:1] + words[:0:-1]) + equals + key + "\n")
